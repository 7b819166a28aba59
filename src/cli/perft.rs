//! Counts of leaves, a line a move.

use crate::board::{Game, divide};
use crate::evaluate::Stop;

/// The leaves `depth` plies on: a line for those below each legal move, and how many there are in all. Nothing where it was to stop first.
pub fn perft(game: &Game, depth: u32, chess960: bool, stop: &Stop) -> Option<(Vec<String>, u64)> {
    let parts = divide(game.position(), depth, &|| stop.is_set())?;
    let total = parts.iter().map(|(_, n)| n).sum();
    Some((parts.into_iter().map(|(m, n)| format!("{}: {n}", game.uci(m, chess960))).collect(), total))
}
