//! Counting the leaves of the tree of legal moves, to check move generation and to time it.

use shakmaty::{Chess, Move, Position};

use super::game::played;

/// Plies that are counted without a look at whether to stop.
const AT_ONCE: u32 = 3;

/// Leaves `depth` plies below a position (shakmaty's own count).
pub fn perft(position: &Chess, depth: u32) -> u64 {
    shakmaty::perft(position, depth)
}

/// Leaves below each legal move; nothing where `stop` said so first, which is asked every few milliseconds.
pub fn divide(position: &Chess, depth: u32, stop: &dyn Fn() -> bool) -> Option<Vec<(Move, u64)>> {
    let below = |m| Some((m, count(&played(position, m), depth.saturating_sub(1), stop)?));
    position.legal_moves().into_iter().map(below).collect()
}

fn count(position: &Chess, depth: u32, stop: &dyn Fn() -> bool) -> Option<u64> {
    if stop() {
        return None;
    }
    if depth <= AT_ONCE {
        return Some(perft(position, depth));
    }
    position.legal_moves().into_iter().map(|m| count(&played(position, m), depth - 1, stop)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_position() {
        assert_eq!(perft(&Chess::default(), 3), 8902);
        for (depth, leaves) in [(3, 8902), (5, 4_865_609)] {
            let parts = divide(&Chess::default(), depth, &|| false).expect("nothing stops it");
            assert_eq!(parts.len(), 20);
            assert_eq!(parts.iter().map(|(_, n)| n).sum::<u64>(), leaves);
        }
    }

    #[test]
    fn a_count_that_would_take_years_ends_when_it_is_asked_to() {
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 20
        };
        assert_eq!(divide(&Chess::default(), 12, &stop), None);
        assert_eq!(asked.get(), 21);
    }
}
