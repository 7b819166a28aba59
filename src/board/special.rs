//! Castling and en passant, of which men on a board tell nothing.

use shakmaty::{Bitboard, Board, CastlingMode, CastlingSide, Color, Move, Position, Rank, Setup, Square};

use super::exchange::worth;
use super::features::MARKS;
use super::mate::with_rights;
use super::played;

/// Where White's king castles, as to its rook's square, and where its pawns take en passant: from, to, the pawns that it takes, and the board
/// then. Of a board, and of the [marks](super::Features::marks) of its squares, as the player to move sees them.
pub(super) fn specials(board: &Board, marks: &[u64; MARKS]) -> Vec<(Square, Square, i8, Board)> {
    let [castling_rights, en_passant] = marks.map(Bitboard);
    let castling_rights = castling_rights & Rank::First;
    if castling_rights.is_empty() && en_passant.is_empty() {
        return Vec::new();
    }
    let ep_square = en_passant.first();
    let setup = Setup { board: board.clone(), turn: Color::White, castling_rights, ep_square, ..Setup::empty() };
    // What Chess960 allows includes where kings and rooks mostly stand.
    let Some(position) = with_rights(setup, CastlingMode::Chess960) else { return Vec::new() };
    let castles = CastlingSide::ALL.into_iter().flat_map(|side| position.castling_moves(side));
    let moves = castles.chain(position.en_passant_moves());
    let seen = moves.filter_map(|m| match m {
        Move::Castle { king, rook } => Some((king, rook, m)),
        Move::EnPassant { from, to } => Some((from, to, m)),
        _ => None,
    });
    seen.map(|(from, to, m)| (from, to, m.capture().map_or(0, worth), played(&position, m).board().clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::edges::placed;
    use crate::board::{Conditions, Features, Game};

    #[test]
    fn who_castles_and_takes_en_passant_is_who_may_by_the_rules() {
        let mut seen = [0; 2];
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b Kq - 0 1",
            // Through an attacked square; into check; the rook alone is attacked.
            "4k3/8/8/8/8/5r2/8/R3K2R w KQ - 0 1",
            "4k3/8/8/8/8/1r4r1/8/R3K2R w KQ - 0 1",
            "4k3/8/8/8/3pP3/8/8/4K2R b K e3 0 31",
            "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
            // Chess960: the king stays; the king goes further than the rook.
            "4k3/8/8/8/8/8/8/RR4KR w HA - 0 1",
            "1r2k1r1/8/8/8/8/8/8/4K3 b gb - 0 1",
        ] {
            let game = Game::from_fen(fen).expect(fen);
            let features = Features::of(&game, &Conditions::default());
            let turn = game.position().turn();
            let as_seen = |square: Square| turn.fold_wb(square, square.flip_vertical());
            let found = specials(&placed(&features.codes[0]), &features.marks);
            let mut expected = Vec::new();
            for m in game.position().legal_moves().into_iter().filter(|m| m.is_castle() || m.is_en_passant()) {
                let mut after = played(game.position(), m).board().clone();
                if turn.is_black() {
                    after.flip_vertical();
                    after.swap_colors();
                }
                seen[usize::from(m.is_castle())] += 1;
                let taken = if m.is_en_passant() { 1 } else { 0 };
                expected.push((as_seen(m.from().expect("no drops")), as_seen(m.to()), taken, after));
            }
            let names = |moves: &[(Square, Square, i8, Board)]| moves.iter().map(|m| (m.0, m.1)).collect::<Vec<_>>();
            assert_eq!(found.len(), expected.len(), "{:?} for {:?} in {fen}", names(&found), names(&expected));
            assert!(found.iter().all(|m| expected.contains(m)), "{found:?} for {expected:?} in {fen}");
        }
        assert!(seen.iter().all(|&n| n > 1), "{seen:?}");
    }
}
