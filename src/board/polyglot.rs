//! Positions and moves as Polyglot's books write them.

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, Position};

use super::MoveIndex;

/// A position's key in Polyglot's books (shakmaty's Zobrist keys are Polyglot's).
pub fn polyglot_key(position: &Chess) -> u64 {
    let Zobrist64(key) = position.zobrist_hash(EnPassantMode::PseudoLegal);
    key
}

/// A move as Polyglot writes it: three bits each for file and rank to, file and rank from, promotion; castling is
/// king takes rook.
pub fn polyglot_move(m: Move) -> u16 {
    let index = MoveIndex::of(m);
    let piece = index.promotion().map_or(0, |role| role as u16 - 1);
    (piece << 12) | (index.from().to_u32() as u16) << 6 | index.to().to_u32() as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::parse_fen;

    #[test]
    fn keys_are_polyglots() {
        // From the format's description (hgm.nubati.net/book_format.html).
        let cases = [
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 0x463b_9618_1691_fc9c),
            ("rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPPKPPP/RNBQ1BNR b kq - 0 3", 0x652a_607c_a3f2_42c1),
            ("rnbq1bnr/ppp1pkpp/8/3pPp2/8/8/PPPPKPPP/RNBQ1BNR w - - 0 4", 0x00fd_d303_c946_bdd9),
            ("rnbqkbnr/p1pppppp/8/8/PpP4P/8/1P1PPPP1/RNBQKBNR b KQkq c3 0 3", 0x3c81_23ea_7b06_7637),
        ];
        for (fen, expected) in cases {
            assert_eq!(polyglot_key(&parse_fen(fen).expect(fen)), expected, "{fen}");
        }
    }
}
