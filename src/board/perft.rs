//! Counting the leaves of the tree of legal moves, to check move generation and to time it.

use shakmaty::{Chess, Move, Position};

use super::game::played;

/// Leaves `depth` plies below a position (shakmaty's own count).
pub fn perft(position: &Chess, depth: u32) -> u64 {
    shakmaty::perft(position, depth)
}

/// Leaves below each legal move.
pub fn divide(position: &Chess, depth: u32) -> Vec<(Move, u64)> {
    position.legal_moves().into_iter().map(|m| (m, perft(&played(position, m), depth.saturating_sub(1)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_position() {
        assert_eq!(perft(&Chess::default(), 3), 8902);
        let parts = divide(&Chess::default(), 3);
        assert_eq!(parts.len(), 20);
        assert_eq!(parts.iter().map(|(_, n)| n).sum::<u64>(), 8902);
    }
}
