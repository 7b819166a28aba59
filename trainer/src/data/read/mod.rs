//! Files as the world publishes them, as streams of record batches with the columns of Lichess's Parquet files:
//! PGN, Parquet and JSON lines, the text ones plain or compressed with zstd.

mod bytes;
mod columns;
mod guard;
mod jsonl;
mod parquet;
mod pgn;
mod puzzles;
mod rows;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

pub use puzzles::{Puzzle, puzzles};

/// Why a file cannot be read, or not to its end.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{path}: {reason}")]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

impl ReadError {
    pub(super) fn new(path: &Path, reason: impl std::fmt::Display) -> ReadError {
        // Some libraries explain over several lines.
        let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        ReadError { path: path.to_owned(), reason }
    }
}

/// What a file's rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Games: a column `movetext`, and the tags.
    Games,
    /// Evaluated positions: `fen`, `line`, `depth`, `knodes`, `cp`, `mate`.
    Evaluations,
}

/// Some rows of a file.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The number of the first, counted from 0 in the whole file.
    pub first: u64,
    /// The rows.
    pub batch: RecordBatch,
    /// Rows of the batch that are not what they should be, and why; their cells are empty.
    pub bad: Vec<(usize, String)>,
}

/// How far reading has come.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Rows of Parquet files, bytes of others.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
}

/// Rows in the order of the file; an error is the last item.
pub type Stream = Box<dyn Iterator<Item = Result<Rows, ReadError>> + Send>;

/// A file whose columns are known and that has not been read yet.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    format: Format,
    /// What its rows are.
    pub content: Content,
    /// Its columns, those of its hive folders (`year=2024/`) included.
    pub schema: SchemaRef,
    /// Rows of a Parquet file, bytes of another.
    pub total: u64,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Pgn,
    JsonLines,
    Parquet,
}

/// Endings of the names of files that can be read.
pub const ENDINGS: [&str; 5] = [".parquet", ".pgn", ".pgn.zst", ".jsonl", ".jsonl.zst"];

/// Whether the name of a file ends in one of [`ENDINGS`].
pub fn is_known(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

impl Input {
    /// Looks at a file: its format by its name, its columns.
    ///
    /// # Errors
    /// When it cannot be opened, or is not what its name says.
    pub fn open(path: &Path) -> Result<Input, ReadError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let plain = name.strip_suffix(".zst").unwrap_or(&name);
        let format = match plain.rsplit_once('.').map(|(_, ending)| ending) {
            Some("pgn") => Format::Pgn,
            Some("jsonl") => Format::JsonLines,
            Some("parquet") if plain == name => Format::Parquet,
            _ => return Err(ReadError::new(path, format!("one of {} is expected", ENDINGS.join(", ")))),
        };
        let (content, schema, total) = match format {
            Format::Parquet => parquet::look(path)?,
            Format::Pgn => (Content::Games, columns::games(), bytes::size(path)?),
            Format::JsonLines => (Content::Evaluations, columns::evaluations(), bytes::size(path)?),
        };
        Ok(Input { path: path.to_owned(), format, content, schema, total })
    }

    /// Reads the columns that are needed to make shards, and `more` (where the file has a choice), from row `skip` on.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn read(&self, more: &[String], skip: u64, progress: &Progress) -> Result<Stream, ReadError> {
        match self.format {
            Format::Parquet => parquet::read(&self.path, self.content, more, skip, progress.clone()),
            Format::Pgn => pgn::read(&self.path, skip, progress.clone()),
            Format::JsonLines => jsonl::read(&self.path, skip, progress.clone()),
        }
    }
}
