//! Which moves give check, without playing them: most do not, and a search of checks asks this of all.

use shakmaty::attacks::{self, aligned, bishop_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, Chess, Move, Piece, Position, Role, Square};

use super::lines::alone;
use crate::board::played;

/// From where the player to move gives check.
pub(super) struct Checks<'a> {
    position: &'a Chess,
    king: Square,
    pawns: Bitboard,
    knights: Bitboard,
    diagonal: Bitboard,
    straight: Bitboard,
    /// Own men that alone stand between a slider of their side and the king.
    before: Bitboard,
}

impl<'a> Checks<'a> {
    /// Nothing on a board without the other king.
    pub(super) fn of(position: &'a Chess) -> Option<Checks<'a>> {
        let (board, turn) = (position.board(), position.turn());
        let king = board.king_of(!turn)?;
        let occupied = board.occupied();
        Some(Checks {
            position,
            king,
            pawns: pawn_attacks(!turn, king),
            knights: knight_attacks(king),
            diagonal: bishop_attacks(king, occupied),
            straight: rook_attacks(king, occupied),
            before: alone(board, king, turn) & board.by_color(turn),
        })
    }

    /// Whether a legal move gives check.
    pub(super) fn is_given_by(&self, m: Move) -> bool {
        let Move::Normal { role, from, to, promotion, .. } = m else {
            // Castling, and taking in passing, change more than two squares.
            return played(self.position, m).is_check();
        };
        if self.before.contains(from) && !aligned(self.king, from, to) {
            return true;
        }
        if let Some(role) = promotion {
            // The pawn may have stood on the line.
            let occupied = self.position.board().occupied().without(from);
            return attacks::attacks(to, Piece { color: self.position.turn(), role }, occupied).contains(self.king);
        }
        let squares = match role {
            Role::Pawn => self.pawns,
            Role::Knight => self.knights,
            Role::Bishop => self.diagonal,
            Role::Rook => self.straight,
            Role::Queen => self.diagonal | self.straight,
            Role::King => Bitboard::EMPTY,
        };
        squares.contains(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::parse_fen;

    /// Compares with the position after every move, some moves deep; returns how many gave check.
    fn compare(position: &Chess, depth: u32) -> u32 {
        let checks = Checks::of(position).expect("a king");
        let each = |&m: &Move| {
            let after = played(position, m);
            assert_eq!(checks.is_given_by(m), after.is_check(), "{m} in {position:?}");
            u32::from(after.is_check()) + if depth > 1 { compare(&after, depth - 1) } else { 0 }
        };
        position.legal_moves().iter().map(each).sum()
    }

    #[test]
    fn every_check_is_seen_and_nothing_else() {
        for (fen, depth, given) in [
            // Numbers of checks from the tables of perft.
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 4, 12 + 469),
            ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 3, 3 + 993),
            ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4, 2 + 10 + 267 + 1680),
            // Castling into check, a pawn taken in passing that opens a line, a promotion along the line it leaves.
            ("5k2/8/8/8/8/8/8/4K2R w K - 0 1", 1, 3),
            ("8/8/8/k2pP2Q/8/8/8/4K3 w - d6 0 1", 1, 1),
            ("8/4P3/8/8/4k3/8/8/K7 w - - 0 1", 1, 2),
        ] {
            let position = parse_fen(fen).expect(fen);
            assert_eq!(compare(&position, depth), given, "{fen}");
        }
    }
}
