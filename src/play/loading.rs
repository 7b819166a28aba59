//! The network that the settings ask for, and what can go wrong with what they ask for.

use std::path::Path;

use thiserror::Error;

use super::book::BookError;
use super::settings::Settings;
use crate::evaluate::{BackendError, Cached, Evaluator, OpenError, open};
use crate::human::DialError;
use crate::network::WeightsError;

/// The network inside the program.
pub fn embedded_weights() -> &'static [u8] {
    include_bytes!("../../weights/glance.safetensors")
}

/// Something that was asked for cannot be had; what was there before stays.
#[derive(Debug, Error)]
pub enum EngineError {
    /// Weights.
    #[error("WeightsFile '{path}': {error}; the weights in use stay")]
    Weights {
        /// The file, or "(embedded)".
        path: String,
        /// What is wrong.
        error: WeightsError,
    },
    /// What networks are to run on.
    #[error("{0}; the backend in use stays")]
    Backend(#[from] BackendError),
    /// The file system refused.
    #[error("WeightsFile '{path}': {error}; the weights in use stay")]
    Io {
        /// The file.
        path: String,
        /// What it said.
        error: std::io::Error,
    },
    /// The weights know no values.
    #[error("Search '{asked}': the weights in use have no value head; policy or lookahead is allowed; {used} is used")]
    NoValue {
        /// The search.
        asked: &'static str,
        /// What plays instead.
        used: &'static str,
    },
    /// A book.
    #[error("{0}; the book in use stays")]
    Book(#[from] BookError),
    /// A calibration.
    #[error("{0}; the dial in use stays")]
    Dial(#[from] DialError),
    /// Tablebases.
    #[error("{0}; the tablebases in use stay")]
    Tablebases(String),
}

/// Loads the network that the settings ask for, with its cache, which has half of `Hash`; the search has the other half.
pub(super) fn load_evaluator(settings: &Settings) -> Result<Box<dyn Evaluator>, EngineError> {
    let build = |bytes: &[u8], path: String| {
        let inner = open(bytes, settings.backend, settings.threads).map_err(|error| match error {
            OpenError::Backend(error) => EngineError::Backend(error),
            OpenError::Weights(error) => EngineError::Weights { path, error },
        })?;
        let cached: Box<dyn Evaluator> = Box::new(Cached::new(inner, settings.half_of_hash()));
        Ok(cached)
    };
    match &settings.weights_file {
        None => build(embedded_weights(), "(embedded)".into()),
        Some(path) => {
            let shown = path.display().to_string();
            let bytes = read_weights(path).map_err(|error| EngineError::Io { path: shown.clone(), error })?;
            build(&bytes, shown)
        }
    }
}

/// Refuses what is no regular file or far too large before any of it is read.
fn read_weights(path: &Path) -> std::io::Result<Vec<u8>> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() || meta.len() > 1 << 30 {
        let reason = "a regular file of at most 1 GiB is expected";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, reason));
    }
    std::fs::read(path)
}
