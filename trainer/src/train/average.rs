//! One network from several that were trained from each other's weights: the mean of their weights.
//!
//! Where a run ends depends on what it saw last; the mean of a few such ends lies nearer to what they have in common, and costs nothing
//! when it plays ([Izmailov et al. 2018](https://arxiv.org/abs/1803.05407), [Wortsman et al. 2022](https://arxiv.org/abs/2203.05482)).
//! Networks that were not trained from each other have nothing in common, and their mean knows nothing.

use std::path::{Path, PathBuf};

use burn::backend::Autodiff;
use burn::module::AutodiffModule;
use burn_flex::Flex;
use glance::network::{Network, Precision, WeightsError, load, save};

use super::trained::Trained;

type B = Autodiff<Flex>;

/// Why there is no mean of some networks.
#[derive(Debug, thiserror::Error)]
pub enum AverageError {
    /// Nothing to take a mean of.
    #[error("no weights: at least one file is expected")]
    Nothing,
    /// A share that is none.
    #[error("share {0}: a number above 0 is expected")]
    Share(f64),
    /// Networks of different shapes.
    #[error("{}: another network than {}'s, so that they have no mean", .other.display(), .first.display())]
    Different {
        /// The first file.
        first: PathBuf,
        /// The one whose config is not the same.
        other: PathBuf,
    },
    /// A file that holds no weights.
    #[error("{}: {reason}", .path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: WeightsError,
    },
    /// The file system refused.
    #[error("{}: {reason}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        reason: std::io::Error,
    },
}

/// The mean of the weights in some files, each by its share of the sum of all shares, as the bytes of a weights file.
///
/// # Errors
/// When a file cannot be read or holds no weights, networks differ in their configs, or a share is not a number above 0.
pub fn average(files: &[(PathBuf, f64)], precision: Precision) -> Result<Vec<u8>, AverageError> {
    if let Some(&(_, share)) = files.iter().find(|(_, share)| !(share.is_finite() && *share > 0.0)) {
        return Err(AverageError::Share(share));
    }
    let ((first, share), others) = files.split_first().ok_or(AverageError::Nothing)?;
    // Of the largest, so that no sum is beyond what a number can be.
    let most = files.iter().fold(0.0_f64, |most, (_, share)| most.max(*share));
    let all: f64 = files.iter().map(|(_, share)| share / most).sum();
    let part = |share: f64| share / most / all;
    let network = read(first)?;
    let config = network.config().clone();
    let mut mean = Trained::new(network);
    let mut sum = mean.weights().clone().mul_scalar(part(*share));
    for (other, share) in others {
        let network = read(other)?;
        if *network.config() != config {
            return Err(AverageError::Different { first: first.clone(), other: other.clone() });
        }
        sum = sum + Trained::new(network).weights().clone().mul_scalar(part(*share));
    }
    mean.set(sum);
    save(&mean.network().valid(), precision).map_err(|reason| AverageError::Weights { path: first.clone(), reason })
}

fn read(path: &Path) -> Result<Network<B>, AverageError> {
    let bytes = std::fs::read(path).map_err(|reason| AverageError::Io { path: path.to_owned(), reason })?;
    load(&bytes, &Default::default()).map_err(|reason| AverageError::Weights { path: path.to_owned(), reason })
}
