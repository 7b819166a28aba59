//! What a shard was made of: a JSON file beside it, by which `prepare` goes on where it was stopped.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What became of a file's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Rows looked at.
    pub rows: u64,
    /// Records written.
    pub kept: u64,
    /// Plies (or positions) written.
    pub plies: u64,
    /// Rows that the predicate did not want.
    pub not_wanted: u64,
    /// Rows dropped as seen already, in this file or in another.
    pub duplicates: u64,
    /// Games with too few plies.
    pub short: u64,
    /// Games of variants, or from other starting positions.
    pub variants: u64,
    /// Ratings left out because nobody has them.
    pub absurd_ratings: u64,
    /// Rows that could not be read.
    pub bad: u64,
    /// The first few of those, with their rows.
    pub examples: Vec<String>,
}

impl Counts {
    /// Counts a row that could not be read; rows are numbered from 1.
    pub fn bad(&mut self, path: &Path, row: u64, reason: &str) {
        self.bad += 1;
        if self.examples.len() < 5 {
            self.examples.push(format!("{} row {row}: {reason}", path.display()));
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} rows ({} plies)", self.kept, self.rows, self.plies)?;
        let left_out = [
            (self.not_wanted, "not wanted"),
            (self.duplicates, "duplicates"),
            (self.short, "short"),
            (self.variants, "variants"),
            (self.bad, "bad"),
        ];
        let left_out: Vec<String> =
            left_out.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if !left_out.is_empty() {
            write!(f, "; left out: {}", left_out.join(", "))?;
        }
        if self.absurd_ratings > 0 {
            write!(f, "; {} absurd ratings forgotten", self.absurd_ratings)?;
        }
        Ok(())
    }
}

/// The shards of one file, and how far it has been read for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The file.
    pub input: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The predicate that chose its rows.
    pub selection: Option<String>,
    /// Seed of the shuffle.
    pub seed: u64,
    /// The shards' names, in the order of the file's rows.
    pub shards: Vec<String>,
    /// Of the rows that these shards are made of.
    pub counts: Counts,
    /// Whether the file was read to its end.
    pub finished: bool,
    /// Why that end came early: the file is cut short or damaged there.
    pub cut_short: Option<String>,
}

/// Why a manifest could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct ManifestError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

impl Manifest {
    /// Where the manifest of an input of this name is.
    pub fn path(out: &Path, name: &str) -> PathBuf {
        out.join(format!("{name}.json"))
    }

    /// Reads a manifest, if there is one.
    ///
    /// # Errors
    /// When there is something else in its place.
    pub fn read(path: &Path) -> Result<Option<Manifest>, ManifestError> {
        let fail = |reason: String| ManifestError { path: path.to_owned(), reason };
        match std::fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|e| fail(e.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    /// Writes it in one piece: a kill leaves the old one or the new one.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn write(&self, path: &Path) -> Result<(), ManifestError> {
        let fail = |reason: String| ManifestError { path: path.to_owned(), reason };
        let text = serde_json::to_string_pretty(self).map_err(|e| fail(e.to_string()))?;
        let partial = path.with_extension("json.partial");
        let written = std::fs::File::create(&partial).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| std::fs::rename(&partial, path)).map_err(|e| fail(e.to_string()))
    }
}
