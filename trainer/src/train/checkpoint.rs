//! Checkpoints: everything that a run needs to go on as if it had never stopped.

use std::fs;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::record::{BinFileRecorder, FullPrecisionSettings, Recorder};
use burn::tensor::backend::AutodiffBackend;
use glance::network::{Kernels, Network};
use serde::{Deserialize, Serialize};

use super::optimizer::Optimizer;
use super::recipe::Recipe;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Seconds spent training, over all resumptions.
    pub seconds: f64,
    /// What is being trained, and how.
    pub recipe: Recipe,
}

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
    },
    /// Something in the folder is not what it should be.
    #[error("checkpoint {path}: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

type Records = BinFileRecorder<FullPrecisionSettings>;

fn io(path: &Path) -> impl Fn(std::io::Error) -> CheckpointError + '_ {
    move |error| CheckpointError::Io { path: path.to_owned(), error }
}

fn content<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> CheckpointError + '_ {
    move |error| CheckpointError::Content { path: path.to_owned(), reason: error.to_string() }
}

/// The same of what cannot be read: a version that changed the network's pieces has other files.
pub(super) fn unreadable<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> CheckpointError + '_ {
    move |error| CheckpointError::Content {
        path: path.to_owned(),
        reason: format!("damaged, or made by another version of this program: {error}"),
    }
}

/// Writes a checkpoint into `<run>/checkpoint`: beside it first, then put in its place, so that a kill at any moment
/// leaves a whole one.
pub fn save<B>(
    run: &Path,
    network: &Network<B>,
    average: &Network<B::InnerBackend>,
    optimizer: &Optimizer<B>,
    state: &State,
) -> Result<(), CheckpointError>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    let new = begin(run)?;
    let records = Records::new();
    Recorder::<B>::record(&records, network.clone().into_record(), new.join("network")).map_err(content(&new))?;
    let record = average.clone().into_record();
    Recorder::<B::InnerBackend>::record(&records, record, new.join("average")).map_err(content(&new))?;
    optimizer.save(&new).map_err(content(&new))?;
    let text = serde_json::to_string_pretty(state).map_err(content(&new))?;
    fs::write(new.join("state.json"), text).map_err(io(&new))?;
    finish(run)
}

/// An empty folder beside the run's checkpoint, for the next one.
fn begin(run: &Path) -> Result<PathBuf, CheckpointError> {
    let new = run.join("checkpoint.new");
    let _ = fs::remove_dir_all(&new);
    fs::create_dir_all(&new).map_err(io(&new))?;
    Ok(new)
}

/// Puts what was written there in the checkpoint's place.
fn finish(run: &Path) -> Result<(), CheckpointError> {
    let (new, current, old) = (run.join("checkpoint.new"), run.join("checkpoint"), run.join("checkpoint.old"));
    let _ = fs::remove_dir_all(&old);
    if current.exists() {
        fs::rename(&current, &old).map_err(io(&current))?;
    }
    fs::rename(&new, &current).map_err(io(&new))?;
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

/// Files of a checkpoint, by their names.
pub type Files = Vec<(String, Vec<u8>)>;

/// A run's checkpoint as it lies in its folder.
pub fn files(run: &Path) -> Result<Files, CheckpointError> {
    let folder = find(run).unwrap_or_else(|| run.join("checkpoint"));
    let names =
        fs::read_dir(&folder).and_then(|entries| entries.map(|e| Ok(e?.file_name())).collect::<Result<Vec<_>, _>>());
    let read = |name: std::ffi::OsString| {
        let path = folder.join(&name);
        Ok((name.to_string_lossy().into_owned(), fs::read(&path).map_err(io(&path))?))
    };
    names.map_err(io(&folder))?.into_iter().map(read).collect()
}

/// Makes files the run's checkpoint: what [`files`] gave, on another machine.
pub fn keep(run: &Path, files: &Files) -> Result<(), CheckpointError> {
    let new = begin(run)?;
    for (name, bytes) in files {
        let path = new.join(name);
        fs::write(&path, bytes).map_err(io(&path))?;
    }
    finish(run)
}

/// The folder of the newest whole checkpoint of a run, if there is one.
pub fn find(run: &Path) -> Option<PathBuf> {
    ["checkpoint", "checkpoint.old"].map(|name| run.join(name)).into_iter().find(|p| p.join("state.json").exists())
}

/// Where the run of a checkpoint stands.
pub fn read_state(folder: &Path) -> Result<State, CheckpointError> {
    let path = folder.join("state.json");
    let text = fs::read_to_string(&path).map_err(io(&path))?;
    serde_json::from_str(&text).map_err(content(&path))
}

/// What training goes on with: the network, its average, and the optimiser.
type Restored<B> = (Network<B>, Network<<B as AutodiffBackend>::InnerBackend>, Optimizer<B>);

/// Puts a checkpoint's weights and optimiser back.
pub fn load<B>(
    folder: &Path,
    network: Network<B>,
    optimizer: Optimizer<B>,
    device: &B::Device,
) -> Result<Restored<B>, CheckpointError>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    use burn::module::AutodiffModule;
    let records = Records::new();
    let record =
        Recorder::<B::InnerBackend>::load(&records, folder.join("average"), device).map_err(unreadable(folder))?;
    let average = network.valid().load_record(record);
    let record = Recorder::<B>::load(&records, folder.join("network"), device).map_err(unreadable(folder))?;
    let network = network.load_record(record);
    let optimizer = optimizer.load(folder, &network, device).map_err(unreadable(&folder.join("optimizer")))?;
    Ok((network, average, optimizer))
}
