//! Where each of the 1,968 moves stands among the logits of heads that know squares.

use std::sync::LazyLock;

use crate::board::{MOVES, MoveIndex};
use shakmaty::{Rank, Role};

/// Logits of the head: 64 × 64 squares, then 8 × 8 files × 4 promotion pieces.
pub(super) const LOGITS: usize = 64 * 64 + 8 * 8 * 4;

/// Squares that a move of the vocabulary, as the player to move sees it, starts and ends on, and where it is a promotion the piece: queen,
/// rook, bishop, knight. Promotions of the other side (second to first rank) never happen in that view: they are like moves without one.
pub(in crate::network) fn parts(m: MoveIndex) -> (usize, usize, Option<usize>) {
    let piece = match m.promotion() {
        Some(Role::Queen) => Some(0),
        Some(Role::Rook) => Some(1),
        Some(Role::Bishop) => Some(2),
        Some(Role::Knight) => Some(3),
        _ => None,
    };
    (m.from().to_usize(), m.to().to_usize(), piece.filter(|_| m.to().rank() == Rank::Eighth))
}

/// For each move of the vocabulary, as the player to move sees it, its logit.
pub(super) static FROM_TO: LazyLock<[i32; MOVES]> = LazyLock::new(|| {
    let mut table = [0; MOVES];
    let logits = (0..MOVES).filter_map(MoveIndex::new).map(|m| match parts(m) {
        (from, to, None) => (from * 64 + to) as i32,
        (from, to, Some(piece)) => (64 * 64 + (from % 8 * 8 + to % 8) * 4 + piece) as i32,
    });
    table.iter_mut().zip(logits).for_each(|(place, logit)| *place = logit);
    table
});

/// For each move of the vocabulary, its place in a 64 × 64 map of from and to.
pub(super) static MAP: LazyLock<[i32; MOVES]> = LazyLock::new(|| {
    let mut table = [0; MOVES];
    let places = (0..MOVES).filter_map(MoveIndex::new).map(|m| (m.from().to_usize() * 64 + m.to().to_usize()) as i32);
    table.iter_mut().zip(places).for_each(|(place, at)| *place = at);
    table
});

/// Whether a move of the vocabulary promotes to something else than a queen.
pub(super) fn is_underpromotion(m: MoveIndex) -> bool {
    m.promotion().is_some_and(|role| role != Role::Queen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn moves_that_can_happen_have_a_logit_each() {
        let table = &*FROM_TO;
        let seen: HashSet<i32> = (0..MOVES)
            .filter(|&i| {
                let m = MoveIndex::new(i).expect("in range");
                m.promotion().is_none() || m.to().rank() == Rank::Eighth
            })
            .map(|i| table[i])
            .collect();
        assert_eq!(seen.len(), 1792 + 88);
        assert!(table.iter().all(|&i| (0..LOGITS as i32).contains(&i)));
    }
}
