//! Where the positions of a tree are: several ways lead to one, and what was seen of it at the end of the first need not be looked at again
//! at the end of the others.

use std::collections::HashMap;
use std::num::NonZeroU64;

use shakmaty::Position;

use crate::board::{Game, Repetitions};

/// Halfmoves without a capture or a pawn's move from which on their number counts: a draw is near, and not equally near on all ways.
const NEAR_A_DRAW: u32 = 50;

/// Bytes that a place takes, with what a map keeps free.
pub(super) const BYTES: usize = 40;

/// What positions are told apart by.
pub(super) type Key = NonZeroU64;

/// The key of a position whose value is the same on whatever way it was reached, but for the boards before, which say little.
pub(super) fn key(game: &Game) -> Option<Key> {
    let same = game.position().halfmoves() < NEAR_A_DRAW && game.repetitions() == Repetitions::None;
    Key::new(game.key()).filter(|_| same)
}

/// The nodes of positions, by their numbers.
#[derive(Clone, Default)]
pub(super) struct Places(HashMap<Key, u32>);

impl Places {
    /// Takes a node to be the one to know its position by.
    pub(super) fn note(&mut self, key: Key, node: u32) {
        self.0.insert(key, node);
    }

    /// The node of a position.
    pub(super) fn find(&self, key: Key) -> Option<u32> {
        self.0.get(&key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(fen: &str, moves: &str) -> Game {
        let mut game = Game::from_fen(fen).expect(fen);
        moves.split_whitespace().for_each(|text| game.play(game.parse_uci(text).expect("legal")));
        game
    }

    #[test]
    fn a_position_has_one_key_unless_the_way_to_it_counts() {
        let kings = |halfmoves| format!("4k3/8/8/8/8/8/4P3/4K3 w - - {halfmoves} 60");
        let of = |halfmoves, moves| key(&after(&kings(halfmoves), moves));
        let there = of(0, "e1d1 e8d8 d1d2 d8d7");
        assert!(there.is_some());
        assert_eq!(of(0, "e1d1 e8e7 d1d2 e7d7"), there);
        assert_ne!(of(0, "e1d1 e8e7 d1d2 e7e6"), there);
        // Twice the same, or close to the fifty-move rule.
        assert_eq!(of(0, "e1d1 e8d8 d1e1 d8e8"), None);
        assert_eq!(of(46, "e1d1 e8d8 d1d2 d8d7"), None);
        assert_eq!(of(45, "e1d1 e8d8 d1d2 d8d7"), there);
    }
}
