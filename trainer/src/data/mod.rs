//! From games and evaluations to batches: `prepare` writes shards, `mixture` draws positions from them.

pub mod book;
pub mod convert;
pub mod engine;
pub mod label;
pub mod loader;
pub mod manifest;
pub mod mixture;
pub mod movetext;
pub mod packed;
pub mod prepare;
pub mod read;
pub mod sample;
pub mod select;
pub mod shard;

use glance::board::MoveIndex;
use shakmaty::{Chess, Move, Position};

/// The legal moves in the fixed order of the shards: by their place in the vocabulary of 1,968 moves.
pub fn ordered_moves(position: &Chess) -> Vec<(MoveIndex, Move)> {
    let mut moves: Vec<_> = position.legal_moves().iter().map(|&m| (MoveIndex::of(m), m)).collect();
    moves.sort_unstable_by_key(|&(index, _)| index);
    moves
}

/// A move's place in that order.
pub fn rank_of(position: &Chess, m: Move) -> u8 {
    let index = MoveIndex::of(m);
    let before = position.legal_moves().iter().filter(|&&other| MoveIndex::of(other) < index).count();
    u8::try_from(before).expect("no position has more than 218 legal moves")
}

/// The move at a place in that order.
pub fn move_at(position: &Chess, rank: u8) -> Option<Move> {
    let legal = position.legal_moves();
    let mut moves: Vec<(MoveIndex, Move)> = legal.iter().map(|&m| (MoveIndex::of(m), m)).collect();
    let rank = usize::from(rank);
    if rank >= moves.len() {
        return None;
    }
    let (_, &mut (_, m), _) = moves.select_nth_unstable_by_key(rank, |&(index, _)| index);
    Some(m)
}
