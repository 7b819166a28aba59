//! An opening book in Polyglot's format from games.

use std::collections::HashMap;
use std::path::Path;

use glance::board::{polyglot_key, polyglot_move};
use shakmaty::{Color, Position};

use super::shard::{GameResult, Kind, Shard, ShardError};

/// Which games and moves go into a book.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Both players' least rating.
    pub rating: u16,
    /// Plies from the start.
    pub plies: usize,
    /// Games that a move needs.
    pub games: u32,
    /// Share of a position's games that a move needs.
    pub share: f64,
    /// Expected score, from the mover's side, that a move needs.
    pub score: f64,
}

/// Why a book could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// A shard is damaged.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// The file system refused.
    #[error("{0}")]
    Io(String),
}

#[derive(Default)]
struct Count {
    games: u32,
    points: f64,
}

/// Makes a book from shards of games. Returns its number of entries.
///
/// # Errors
/// When a shard or the book's file fails.
pub fn build(shards: &[&Path], selection: &Selection, out: &Path) -> Result<usize, BookError> {
    let mut counts: HashMap<(u64, u16), Count> = HashMap::new();
    for path in shards {
        let shard = Shard::open(path)?;
        let games = if shard.kind() == Kind::Games { shard.len() } else { 0 };
        for game in (0..games).filter_map(|i| shard.game(i)) {
            let strong = |r: Option<u16>| r.is_some_and(|r| r >= selection.rating);
            let white = match game.head.result {
                GameResult::White => 1.0,
                GameResult::Draw => 0.5,
                GameResult::Black => 0.0,
                GameResult::Unknown => continue,
            };
            if !strong(game.head.white) || !strong(game.head.black) {
                continue;
            }
            for (position, m) in game.line().take(selection.plies) {
                let count = counts.entry((polyglot_key(&position), polyglot_move(m))).or_default();
                count.games += 1;
                count.points += if position.turn() == Color::White { white } else { 1.0 - white };
            }
        }
    }
    let mut totals: HashMap<u64, u32> = HashMap::new();
    for ((key, _), count) in &counts {
        *totals.entry(*key).or_default() += count.games;
    }
    let mut entries: Vec<(u64, u16, u32)> = counts
        .into_iter()
        .filter(|((key, _), c)| {
            c.games >= selection.games
                && f64::from(c.games) >= selection.share * f64::from(totals[key])
                && c.points >= selection.score * f64::from(c.games)
        })
        .map(|((key, m), c)| (key, m, c.games))
        .collect();
    // By key, and within a key the usual move first.
    entries.sort_by_key(|&(key, m, games)| (key, std::cmp::Reverse(games), m));
    let most = entries.iter().map(|e| e.2).max().unwrap_or(1).max(1);
    let mut bytes = Vec::with_capacity(entries.len() * 16);
    for (key, m, games) in &entries {
        let weight = (f64::from(*games) * f64::from(u16::MAX) / f64::from(most)).max(1.0);
        bytes.extend(key.to_be_bytes());
        bytes.extend(m.to_be_bytes());
        bytes.extend((weight as u16).to_be_bytes());
        bytes.extend([0; 4]);
    }
    std::fs::write(out, bytes).map_err(|e| BookError::Io(format!("{}: {e}", out.display())))?;
    Ok(entries.len())
}
