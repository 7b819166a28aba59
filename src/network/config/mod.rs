//! What a network is made of. The config travels inside the weights file.

mod embedding;
mod heads;
mod trunk;

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(super) use embedding::{
    BITS, CLOCK_BRACKETS, CONDITIONS, FEN_TOKENS, FEN_VOCABULARY, FLAGS, INCREMENT_BRACKETS, MEN, MEN_CODES, META,
    PLANES, RATING_BRACKETS,
};
pub use embedding::{Embedding, View};
pub use heads::{PolicyHead, Reads, TimeHead, ValueHead};
pub use trunk::{Activation, Biases, Experts, Norm, Smolgen, Trunk};

use crate::board::{BOARDS, Edge};

/// A config that no network can be built from.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("network config: {field} is {value}: {allowed}")]
pub struct ConfigError {
    /// The field, with its table.
    pub field: &'static str,
    /// What it was.
    pub value: String,
    /// What it may be.
    pub allowed: String,
}

impl ConfigError {
    fn new(field: &'static str, value: impl Display, allowed: impl Into<String>) -> ConfigError {
        ConfigError { field, value: value.to_string(), allowed: allowed.into() }
    }

    fn unless(ok: bool, field: &'static str, value: impl Display, allowed: &str) -> Result<(), ConfigError> {
        if ok { Ok(()) } else { Err(ConfigError::new(field, value, allowed)) }
    }
}

fn range(field: &'static str, value: usize, low: usize, high: usize) -> Result<(), ConfigError> {
    ConfigError::unless((low..=high).contains(&value), field, value, &format!("{low} to {high} are allowed"))
}

/// Whether each kind of edges is named once.
fn once(field: &'static str, kinds: &[Edge]) -> Result<(), ConfigError> {
    let ok = kinds.iter().enumerate().all(|(i, kind)| !kinds[..i].contains(kind));
    ConfigError::unless(ok, field, format!("{kinds:?}"), "each kind is allowed once")
}

/// A whole network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The system's name, for people.
    pub system: String,
    /// Input.
    pub embedding: Embedding,
    /// Body.
    pub trunk: Trunk,
    /// Moves.
    pub policy: PolicyHead,
    /// Outcome.
    pub value: ValueHead,
    /// How long a person thinks, if that is asked at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeHead>,
}

impl Config {
    /// Glance's own system at a given size.
    pub fn glance(layers: usize, d_model: usize, heads: usize, ffn: usize) -> Config {
        Config {
            system: "glance".into(),
            embedding: Embedding::Squares { boards: BOARDS, attacks: false },
            trunk: Trunk::Encoder {
                layers,
                d_model,
                heads,
                ffn,
                norm: Norm::Rms,
                activation: Activation::Relu,
                biases: Biases::Useful,
                input_norm: false,
                static_bias: true,
                smolgen: Some(Smolgen { compress: 8, hidden: 64, generate: 32 }),
                edges: Vec::new(),
                cls_map: false,
                experts: None,
            },
            policy: PolicyHead::FromTo { dim: d_model, edges: Vec::new() },
            value: ValueHead::Wdl { compress: 16, hidden: 64 },
            time: None,
        }
    }

    /// The smallest network that has every piece of Glance's own: for tests.
    pub fn tiny() -> Config {
        Config::glance(1, 32, 2, 32)
    }

    /// Checks that a network of this config can be built, and is of a size that this program is willing to hold.
    ///
    /// # Errors
    /// The first field that is out of its range or does not fit the others.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.embedding.check()?;
        self.trunk.check(&self.embedding)?;
        self.policy.check(&self.embedding, &self.trunk)?;
        self.value.check(&self.embedding)?;
        self.time.iter().try_for_each(|time| time.check(&self.embedding))
    }

    /// The kinds of edges between squares that it is shown: the trunk's, and after them what the policy has besides.
    pub fn edges(&self) -> Vec<Edge> {
        let of_trunk = self.trunk.edges();
        let others = self.policy.edges().iter().filter(|kind| !of_trunk.contains(kind));
        of_trunk.iter().chain(others).copied().collect()
    }

    /// Where among these the policy's lie.
    pub(super) fn edges_of_moves(&self) -> Vec<usize> {
        let all = self.edges();
        let place = |kind: &Edge| all.iter().position(|other| other == kind);
        self.policy.edges().iter().filter_map(place).collect()
    }

    /// Width of the trunk.
    pub fn d_model(&self) -> usize {
        self.trunk.d_model()
    }

    /// Number of weights.
    pub fn parameters(&self) -> usize {
        let d = self.d_model();
        self.embedding.parameters(d)
            + self.trunk.parameters(self.embedding.tokens())
            + self.policy.parameters(d)
            + self.value.parameters(d)
            + self.time.map_or(0, |time| time.parameters(d))
    }

    /// Multiply-adds of the matrix products for one position, to compare sizes.
    pub fn multiply_adds(&self) -> usize {
        let d = self.d_model();
        self.embedding.multiply_adds(d)
            + self.trunk.multiply_adds(self.embedding.tokens())
            + self.policy.multiply_adds(d, &self.trunk)
            + self.value.multiply_adds(d)
            + self.time.map_or(0, |time| time.multiply_adds(d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_named() {
        let mut config = Config::tiny();
        assert_eq!(config.check(), Ok(()));
        let Trunk::Encoder { heads, .. } = &mut config.trunk else { unreachable!("an encoder") };
        *heads = 3;
        assert_eq!(
            config.check().expect_err("3 does not divide 32").to_string(),
            "network config: trunk.heads is 3: a divisor of d_model = 32 is allowed"
        );
        config = Config::glance(1_000_000, 32, 2, 32);
        assert!(config.check().expect_err("too many layers").to_string().contains("1 to 64"));
    }

    #[test]
    fn pieces_that_do_not_fit_are_named() {
        let glance = Config::tiny;
        let wrong = |config: Config| config.check().expect_err("does not fit").to_string();
        let text = wrong(Config { embedding: Embedding::Fen, ..glance() });
        assert!(text.starts_with("network config: trunk.smolgen is a table: nothing is allowed"), "{text}");
        let text = wrong(Config { policy: PolicyHead::Autoregressive, ..glance() });
        assert!(text.starts_with("network config: policy.kind is autoregressive"), "{text}");
        let text = wrong(Config { policy: PolicyHead::Classes { reads: Reads::Cls, compress: None }, ..glance() });
        assert!(text.starts_with("network config: policy.reads is cls"), "{text}");
        let text = wrong(Config { trunk: Trunk::Residual { blocks: 1, channels: 8 }, ..glance() });
        assert!(text.starts_with("network config: trunk.kind is residual"), "{text}");
        let text = wrong(Config { time: Some(TimeHead { compress: 0, hidden: 8 }), ..glance() });
        assert!(text.starts_with("network config: time.compress is 0"), "{text}");
        let text = wrong(Config { embedding: Embedding::Planes, ..glance() });
        assert!(text.starts_with("network config: trunk.kind is encoder"), "{text}");
    }

    #[test]
    fn config_survives_json() {
        let config = Config::tiny();
        let text = serde_json::to_string(&config).expect("serialises");
        assert_eq!(serde_json::from_str::<Config>(&text).expect("parses"), config);
        let error =
            serde_json::from_str::<Config>(&text.replace("from-to", "from-two")).expect_err("unknown").to_string();
        assert!(error.contains("from-two") && error.contains("from-to-map"), "{error}");
    }
}
