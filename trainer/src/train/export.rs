//! From a checkpoint to a weights file.

use std::path::Path;

use burn::module::Module;
use burn::record::{BinFileRecorder, FullPrecisionSettings, Recorder};
use glance::network::{Network, Precision, save};

use super::checkpoint::{self, CheckpointError, State};

/// Why a network could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No checkpoint.
    #[error("{0}: no checkpoint there; `train` makes one")]
    Missing(String),
    /// A damaged checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The weights could not be written.
    #[error(transparent)]
    Weights(#[from] glance::network::WeightsError),
    /// The file system refused.
    #[error("{0}")]
    Io(String),
}

/// Writes the averaged weights of a run's newest checkpoint.
///
/// # Errors
/// When there is no whole checkpoint, or the file cannot be written.
pub fn export(run: &Path, out: &Path, precision: Precision) -> Result<State, ExportError> {
    type B = burn_flex::Flex;
    let folder = checkpoint::find(run).ok_or_else(|| ExportError::Missing(run.display().to_string()))?;
    checkpoint::check(&folder)?;
    let state = checkpoint::read_state(&folder)?;
    let device = Default::default();
    let files = BinFileRecorder::<FullPrecisionSettings>::new();
    let record =
        Recorder::<B>::load(&files, folder.join("average"), &device).map_err(checkpoint::unreadable(&folder))?;
    let network = Network::<B>::new(&state.recipe.network, &device).load_record(record);
    let bytes = save(&network, precision)?;
    std::fs::write(out, bytes).map_err(|e| ExportError::Io(format!("{}: {e}", out.display())))?;
    Ok(state)
}
