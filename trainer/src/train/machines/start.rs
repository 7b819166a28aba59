//! All machines begin with the leader's checkpoint.

use std::path::Path;

use super::gather::each;
use super::{Machines, MachinesError};
use crate::train::checkpoint::{self, Files};

/// Files of a checkpoint at most, and bytes of one.
const FILES: usize = 64;
const BYTES: u64 = 64 << 30;

/// What comes before the files.
#[derive(serde::Serialize, serde::Deserialize)]
struct Contents {
    step: u64,
    names: Vec<String>,
}

impl Machines {
    /// The leader's part: sends its run's checkpoint to all who follow.
    ///
    /// # Errors
    /// When a file or a machine is lost.
    pub fn send_start(&mut self, run: &Path, step: u64) -> Result<(), MachinesError> {
        if !self.leads() || self.lines.is_empty() {
            return Ok(());
        }
        let files = checkpoint::files(run)?;
        let contents = Contents { step, names: files.iter().map(|(name, _)| name.clone()).collect() };
        each(&mut self.lines, |line| {
            line.send_json(&contents)?;
            files.iter().try_for_each(|(_, bytes)| line.send(bytes))
        })?;
        Ok(())
    }

    /// The followers' part: makes the leader's checkpoint their run's.
    ///
    /// # Errors
    /// When the leader is lost, the files cannot be kept, or this machine's run is further than the leader's.
    pub fn receive_start(&mut self, run: &Path) -> Result<(), MachinesError> {
        let (false, [leader]) = (self.leads(), self.lines.as_mut_slice()) else { return Ok(()) };
        let Contents { step, names } = leader.receive_json()?;
        // Names of files, and nothing that leads out of the folder.
        let plain = |name: &String| {
            name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        if names.len() > FILES || !names.iter().all(plain) {
            return Err(leader.strange(format!("files that no checkpoint has: {names:?}")));
        }
        if let Some(own) = checkpoint::find(run).and_then(|folder| checkpoint::read_state(&folder).ok())
            && own.step > step
        {
            return Err(MachinesError::Ahead { path: run.to_owned(), own: own.step, leader: step });
        }
        let mut files = Files::new();
        for name in names {
            files.push((name, leader.receive(BYTES)?));
        }
        Ok(checkpoint::keep(run, &files)?)
    }
}
