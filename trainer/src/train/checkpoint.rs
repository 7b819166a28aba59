//! Checkpoints: everything that a run needs to go on as if it had never stopped.

use std::collections::BTreeMap;
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

/// The same of what is whole and cannot be read: a version that changed the network's pieces has other files. What the library says of
/// that fills a page, and speaks of its own versions.
pub(super) fn unreadable<E>(path: &Path) -> impl Fn(E) -> CheckpointError + '_ {
    let reason = "made by another version of this program, which can still export its weights, or damaged";
    move |_| CheckpointError::Content { path: path.to_owned(), reason: reason.into() }
}

/// The file with the checksums of the others.
const SUMS: &str = "sums.json";

/// CRC-32 of a checkpoint's files, by their names.
type Sums = BTreeMap<String, u32>;

/// Writes the checksums of a folder's files beside them, and has all of it on the disk.
fn seal(folder: &Path) -> Result<(), CheckpointError> {
    let on_disk = |path: &Path| fs::OpenOptions::new().write(true).open(path)?.sync_all();
    let mut sums = Sums::new();
    for name in names(folder)?.into_iter().filter(|name| name != SUMS) {
        let path = folder.join(&name);
        let sum = fs::read(&path).map(|bytes| crc32fast::hash(&bytes));
        sums.insert(name, on_disk(&path).and(sum).map_err(io(&path))?);
    }
    let path = folder.join(SUMS);
    let text = serde_json::to_string_pretty(&sums).map_err(content(&path))?;
    fs::write(&path, text).and_then(|()| on_disk(&path)).map_err(io(&path))
}

/// Compares a folder's files with their checksums. One of an earlier version of this program has none.
pub(super) fn check(folder: &Path) -> Result<(), CheckpointError> {
    let path = folder.join(SUMS);
    if !path.exists() {
        return Ok(());
    }
    let sums: Sums = serde_json::from_slice(&fs::read(&path).map_err(io(&path))?).map_err(content(&path))?;
    for (name, sum) in sums {
        let path = folder.join(name);
        if crc32fast::hash(&fs::read(&path).map_err(io(&path))?) != sum {
            return Err(CheckpointError::Content { path, reason: "damaged: its checksum does not match".into() });
        }
    }
    Ok(())
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
    seal(&new)?;
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
    let read = |name: String| {
        let path = folder.join(&name);
        Ok((name, fs::read(&path).map_err(io(&path))?))
    };
    names(&folder)?.into_iter().map(read).collect()
}

/// The names of a folder's files.
fn names(folder: &Path) -> Result<Vec<String>, CheckpointError> {
    let entries = fs::read_dir(folder).map_err(io(folder))?;
    entries.map(|e| Ok(e.map_err(io(folder))?.file_name().to_string_lossy().into_owned())).collect()
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

/// The folder of the newest whole checkpoint of a run, if there is one. One that has lost its state is named where there is no other, so that
/// nobody takes the run for a new one and writes over it.
pub fn find(run: &Path) -> Option<PathBuf> {
    let folders = ["checkpoint", "checkpoint.old"].map(|name| run.join(name));
    let whole = folders.iter().find(|folder| folder.join("state.json").exists());
    whole.or_else(|| folders.iter().find(|folder| folder.exists())).cloned()
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
    check(folder)?;
    let records = Records::new();
    let record =
        Recorder::<B::InnerBackend>::load(&records, folder.join("average"), device).map_err(unreadable(folder))?;
    let average = network.valid().load_record(record);
    let record = Recorder::<B>::load(&records, folder.join("network"), device).map_err(unreadable(folder))?;
    let network = network.load_record(record);
    let optimizer = optimizer.load(folder, &network, device).map_err(unreadable(&folder.join("optimizer")))?;
    Ok((network, average, optimizer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_as_it_was_written_is_named() {
        let run = std::env::temp_dir().join(format!("glance-checkpoint-{}", std::process::id()));
        let _ = fs::remove_dir_all(&run);
        fs::create_dir_all(&run).expect("temporary folder");
        let of = |step: u8| vec![("state.json".to_owned(), vec![step]), ("network.bin".to_owned(), vec![7; 100])];
        // What is kept of another machine brings its own checksums along.
        for step in 0..2 {
            keep(&run, &of(step)).expect("written");
            let all = files(&run).expect("readable");
            assert_eq!(all.len(), 3);
            keep(&run, &all).expect("written");
        }
        let folder = find(&run).expect("a checkpoint");
        assert_eq!(fs::read(folder.join("state.json")).expect("readable"), [1]);
        check(&folder).expect("whole");
        let network = folder.join("network.bin");
        let error = || check(&folder).expect_err("not whole").to_string();
        fs::write(&network, [7; 99]).expect("writable");
        assert_eq!(error(), format!("checkpoint {}: damaged: its checksum does not match", network.display()));
        fs::remove_file(&network).expect("there");
        assert!(error().starts_with(&format!("{}: ", network.display())), "{}", error());
        fs::write(folder.join(SUMS), "{").expect("writable");
        assert!(error().contains(SUMS), "{}", error());
        // Of an earlier version.
        fs::remove_file(folder.join(SUMS)).expect("there");
        check(&folder).expect("nothing to compare with");
        // Without its state it is still there, and not whole.
        fs::remove_file(folder.join("state.json")).expect("there");
        assert_eq!(find(&run).as_ref(), Some(&folder));
        let error = read_state(&folder).expect_err("no state").to_string();
        assert!(error.contains("state.json"), "{error}");
        fs::remove_dir_all(&run).expect("there");
    }
}
