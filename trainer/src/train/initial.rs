//! What a run begins with: random weights, or those of a network that may lack some of the recipe's pieces.

use std::path::{Path, PathBuf};

use glance::network::{Config, Embedding, Kernels, Network, Trunk, load};

/// Why a run cannot begin with some weights.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct InitError {
    /// Their file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

/// The network that a run of this config begins with.
///
/// # Errors
/// As [`grown`].
pub fn initial<B: Kernels>(config: &Config, init: Option<&Path>, device: &B::Device) -> Result<Network<B>, InitError> {
    init.map_or_else(|| Ok(Network::new(config, device)), |path| grown(config, path, device))
}

/// The network of a file with what a config has besides: a head for the time that a person takes, the sight of what men attack, edges
/// between squares and in its policy, blocks of its encoder, hidden numbers in them. It says what it said before.
///
/// # Errors
/// When the file cannot be read, holds no weights, or those of a network that the config's cannot grow from.
pub fn grown<B: Kernels>(config: &Config, path: &Path, device: &B::Device) -> Result<Network<B>, InitError> {
    let fail = |reason: String| InitError { path: path.to_owned(), reason };
    let bytes = std::fs::read(path).map_err(|e| fail(e.to_string()))?;
    let mut network = load::<B>(&bytes, device).map_err(|e| fail(e.to_string()))?;
    if let (Some(head), None) = (config.time, network.config().time) {
        network = network.with_time(head, device);
    }
    if let Embedding::Squares { attacks: true, .. } = config.embedding {
        network = network.with_attacks();
    }
    if let Trunk::Encoder { layers, ffn, edges, .. } = &config.trunk {
        network = network.deeper(*layers).wider(*ffn).with_edges(edges);
    }
    network = network.with_edges_of_moves(config.policy.edges());
    if network.config() != config {
        return Err(fail("its network is not the recipe's".into()));
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use burn_flex::Flex;
    use glance::board::Edge;
    use glance::network::{PolicyHead, Precision, TimeHead, save};

    use super::*;

    #[test]
    fn a_network_grows_to_what_a_config_asks_for_and_no_other_way() {
        let small = Config::tiny();
        let path = std::env::temp_dir().join(format!("glance-initial-{}.safetensors", std::process::id()));
        let bytes = save(&Network::<Flex>::new(&small, &Default::default()), Precision::Full).expect("saved");
        std::fs::write(&path, bytes).expect("written");
        let grow = |config: &Config| grown::<Flex>(config, &path, &Default::default());
        let mut config = small.clone();
        config.embedding = Embedding::Squares { boards: 8, attacks: true };
        config.time = Some(TimeHead { compress: 4, hidden: 8 });
        if let Trunk::Encoder { layers, ffn, edges, .. } = &mut config.trunk {
            (*layers, *ffn, *edges) = (2, 48, vec![Edge::Attacks, Edge::XRays]);
        }
        if let PolicyHead::FromTo { edges, .. } = &mut config.policy {
            *edges = vec![Edge::Checks];
        }
        let large = grow(&config).expect("everything can be added");
        assert_eq!((large.config(), large.num_params()), (&config, config.parameters()));
        // What cannot be added, or is less than there is.
        let mut other = small.clone();
        other.embedding = Embedding::Squares { boards: 4, attacks: false };
        let mut narrow = small;
        if let Trunk::Encoder { ffn, .. } = &mut narrow.trunk {
            *ffn = 16;
        }
        for config in [other, narrow] {
            let error = grow(&config).expect_err("refused").to_string();
            assert!(error.contains("safetensors: its network is not the recipe's"), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
