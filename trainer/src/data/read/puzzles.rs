//! Lichess's puzzles (`.csv` or `.csv.zst`): for measuring only, never for training.

use std::path::Path;

use serde::Deserialize;

use super::{Progress, ReadError, bytes};

/// A puzzle: the opponent makes the first move, the solver has to find every second one after it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Puzzle {
    /// Its name on Lichess.
    pub puzzle_id: String,
    /// The position before the opponent's move.
    #[serde(rename = "FEN")]
    pub fen: String,
    /// Moves in UCI notation, separated by spaces.
    pub moves: String,
    /// How hard it is.
    pub rating: i32,
}

/// Reads all puzzles of a file.
///
/// # Errors
/// At the first row that is not a puzzle.
pub fn puzzles(path: &Path) -> Result<Vec<Puzzle>, ReadError> {
    let mut reader = csv::Reader::from_reader(bytes::open(path, Progress::default())?);
    reader.deserialize().map(|row| row.map_err(|e| ReadError::new(path, e))).collect()
}
