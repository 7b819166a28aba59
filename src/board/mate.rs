//! Whether a king is mated, or may be at once; checks, and the ways out.

use shakmaty::attacks::{bishop_attacks, king_attacks, knight_attacks, pawn_attacks, queen_attacks, rook_attacks};
use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, FromSetup, Piece, Position, PositionError, Role, Setup, Square,
};

use super::exchange::worth;
use super::lines::alone;
use super::played;
use super::ways::{after, checks, ways};

/// The position on a board with a side to move; none where the other's king could be taken, or one is missing.
pub(super) fn with_turn(board: Board, turn: Color) -> Option<Chess> {
    with_rights(Setup { board, turn, ..Setup::empty() }, CastlingMode::Standard)
}

/// The same where a side may castle or take en passant; none either where it could not by what stands on the board.
pub(super) fn with_rights(setup: Setup, mode: CastlingMode) -> Option<Chess> {
    Chess::from_setup(setup, mode)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .ok()
}

/// Whether a side that has just moved and checks has mated the other; never where its own king could be taken. En passant is no way out here.
pub(super) fn mates(board: Board, color: Color) -> bool {
    flights(&board, !color).next().is_none() && with_turn(board, !color).is_some_and(|position| position.is_checkmate())
}

/// Where a side's king may go, or take, without being taken there: the commonest ways out of check, and soon seen.
pub(super) fn flights(board: &Board, color: Color) -> impl Iterator<Item = Square> {
    let king = board.king_of(color).map(Bitboard::from_square).unwrap_or_default();
    let occupied = board.occupied() ^ king;
    let ways = king.first().map_or(Bitboard::EMPTY, king_attacks) & !board.by_color(color);
    ways.into_iter().filter(move |&to| board.attacks_to(to, !color, occupied).is_empty())
}

/// What a side, in check, takes by each legal move, in pawns, and the board then; none where there are not two kings, or the other's could be
/// taken.
pub(super) fn evasions(board: &Board, color: Color) -> Option<Vec<(i8, Board)>> {
    let position = with_turn(board.clone(), color)?;
    let legal = position.legal_moves();
    let after = legal.into_iter().map(|m| {
        let promoted = m.promotion().map_or(0, |role| worth(role) - 1);
        (m.capture().map_or(0, worth) + promoted, played(&position, m).board().clone())
    });
    Some(after.collect())
}

/// Whether a side, to move, can mate with one move; castling and en passant are left out, a pawn that arrives is a queen.
pub(super) fn can_mate(board: &Board, color: Color) -> bool {
    any_check(board, color, |next, _, _| mates(next, color))
}

/// Whether something holds of any check that a side, to move, can give, of the board then and of what goes where; its own king may be left to be
/// taken. Castling and en passant are left out, a pawn that arrives is a queen.
pub(super) fn any_check(board: &Board, color: Color, mut holds: impl FnMut(Board, Piece, Square) -> bool) -> bool {
    let Some(king) = board.king_of(!color) else { return false };
    let (occupied, own) = (board.occupied(), board.by_color(color));
    let (diagonal, straight) = (bishop_attacks(king, occupied), rook_attacks(king, occupied));
    let bishops = own & (board.bishops() | board.queens());
    let rooks = own & (board.rooks() | board.queens());
    let opening = alone(king, occupied, bishops, rooks);
    let mut holds_by = |from: Square, role: Role, to: Bitboard| {
        (to & !own & !Bitboard::from_square(king)).into_iter().any(|to| {
            let next = after(board, from, role.of(color), to);
            checks(&next, color) && holds(next, role.of(color), to)
        })
    };
    // Role by role: man by man takes longer.
    let mut any = |role: Role, to: &dyn Fn(Square) -> Bitboard| {
        (board.by_role(role) & own & !opening).into_iter().any(|from| holds_by(from, role, to(from)))
    };
    let steps = |from, role: Role| ways(board, from, role.of(color));
    any(Role::Queen, &|from| queen_attacks(from, occupied) & (diagonal | straight))
        || any(Role::Rook, &|from| rook_attacks(from, occupied) & straight)
        || any(Role::Bishop, &|from| bishop_attacks(from, occupied) & diagonal)
        || any(Role::Knight, &|from| knight_attacks(from) & knight_attacks(king))
        || any(Role::Pawn, &|from| steps(from, Role::Pawn) & (Bitboard::BACKRANKS | pawn_attacks(!color, king)))
        || Role::ALL.into_iter().any(|role| {
            (board.by_role(role) & own & opening).into_iter().any(|from| holds_by(from, role, steps(from, role)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::played;
    use crate::board::ways::testing::two_plies_on;

    #[test]
    fn who_can_mate_is_who_has_a_move_that_mates() {
        let mut seen = [0; 2];
        for fen in [
            "6k1/5ppp/8/8/8/8/5PPP/3RR1K1 w - - 0 1",
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
            "6rk/6pp/8/6N1/8/8/8/6K1 w - - 0 1",
            // The knight opens the rook's line, and the pawn that of its own queen.
            "k7/p1K5/8/8/N7/8/8/R7 w - - 0 1",
            "8/8/8/4K2k/6p1/6Pp/4p2P/6r1 b - - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        ] {
            for (moves, position) in two_plies_on(fen) {
                let mates = position.legal_moves().into_iter().any(|m| {
                    let counts = !m.is_castle() && m.promotion().is_none_or(|role| role == Role::Queen);
                    counts && !m.is_en_passant() && played(&position, m).is_checkmate()
                });
                assert_eq!(can_mate(position.board(), position.turn()), mates, "{moves} in {fen}");
                seen[usize::from(mates)] += 1;
            }
        }
        assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
    }
}
