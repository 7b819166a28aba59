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
mod squares;

use glance::board::MoveIndex;
use shakmaty::{Chess, Move, Position};
use squares::Squares;

/// A move's place among the legal moves in the fixed order of the shards: by their place in the vocabulary of 1,968 moves.
pub fn rank_of(position: &Chess, m: Move) -> u8 {
    let (from, index) = (m.from(), MoveIndex::of(m));
    // The vocabulary goes by the square moved from: most moves need not be looked up in it.
    let is_before = |&other: &Move| other.from() < from || other.from() == from && MoveIndex::of(other) < index;
    let before = position.legal_moves().into_iter().filter(is_before).count();
    u8::try_from(before).expect("no position has more than 218 legal moves")
}

/// The move at a place in that order.
pub fn move_at(position: &Chess, rank: u8) -> Option<Move> {
    move_among(&position.legal_moves(), rank)
}

/// The same, where the legal moves are at hand.
pub fn move_among(legal: &[Move], rank: u8) -> Option<Move> {
    // The vocabulary goes by the square moved from: only the moves of one man need to be put in order.
    let from = Squares::moved_from(legal);
    // His square is the last before which there are no more moves than that.
    let further = |man, step| if from.before(man + step) <= rank { man + step } else { man };
    let man = [32, 16, 8, 4, 2, 1].into_iter().fold(0, further);
    let mut ordered = [(u16::MAX, u8::MAX); MOST_OF_A_MAN];
    let mut count = 0;
    for (place, i) in ordered.iter_mut().zip(from.places_of(man)) {
        *place = (MoveIndex::of(*legal.get(i)?).get() as u16, i as u8);
        count += 1;
    }
    let its = &mut ordered[..count];
    its.sort_unstable();
    let &(_, i) = its.get(usize::from(rank - from.before(man)))?;
    legal.get(usize::from(i)).copied()
}

/// Moves that a man has at most: a queen has 27.
const MOST_OF_A_MAN: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use glance::board::parse_fen;

    #[test]
    fn ranks_go_by_the_vocabulary() {
        // Castling both ways, promotions with and without a capture, en passant, a quiet position, no moves.
        for fen in [
            "r3k2r/pppq1ppp/2npbn2/1Bb1p3/4P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 0 1",
            "r3k2r/pppq1ppp/2npbn2/1Bb1p3/4P3/2NPBN2/PPPQ1PPP/R3K2R b KQkq - 0 1",
            "1n1r4/2P1P2k/8/8/8/8/2p1p2K/1N1R4 w - - 0 1",
            "1n1r4/2P1P2k/8/8/8/8/2p1p2K/1N1R4 b - - 0 1",
            "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
            "R6k/6pp/8/8/8/8/8/K7 b - - 0 1",
        ] {
            let position = parse_fen(fen).expect(fen);
            let mut moves: Vec<Move> = position.legal_moves().into_iter().collect();
            moves.sort_unstable_by_key(|&m| MoveIndex::of(m));
            for rank in 0..=u8::MAX {
                assert_eq!(move_at(&position, rank), moves.get(usize::from(rank)).copied(), "{rank} of {fen}");
            }
            let ranks: Vec<u8> = moves.iter().map(|&m| rank_of(&position, m)).collect();
            assert!(ranks.iter().copied().eq(0..moves.len() as u8), "{ranks:?}");
        }
    }
}
