//! Draws by a desperado: whose last man that can move gives itself up for stalemate.

use shakmaty::{Chess, Move, MoveList, Position, Role};

use crate::board::played;

/// Moves of the desperado at most.
const MOVES: u32 = 2;
/// Positions that are looked at, at most.
const MOST: u32 = 200;

/// A move that draws at least, whatever the answer: each leaves no legal move, or so few men that nobody can mate, or the same once more. Only
/// where all legal moves are of one man, no king or pawn, so that hardly ever is anything looked for.
pub(super) fn saving_move(position: &Chess) -> Option<Move> {
    let moves = desperado(position)?;
    let mut left = MOST;
    (1..=MOVES).find_map(|n| moves.iter().copied().find(|&m| draws(&played(position, m), n, &mut left)))
}

/// The moves of a desperado, the only ones there are.
fn desperado(position: &Chess) -> Option<MoveList> {
    // In check, hardly anything can move in any case.
    let moves = Some(position.legal_moves()).filter(|_| !position.is_check())?;
    let first = moves.first()?;
    let alone = !matches!(first.role(), Role::King | Role::Pawn) && moves.iter().all(|m| m.from() == first.from());
    alone.then_some(moves)
}

/// Whether every answer to the desperado's move draws, within n moves of it.
fn draws(position: &Chess, n: u32, left: &mut u32) -> bool {
    let answers = position.legal_moves();
    // Mate is no less.
    answers.iter().all(|&answer| {
        *left = left.saturating_sub(1);
        let next = played(position, answer);
        *left > 0 && (next.is_stalemate() || next.is_insufficient_material() || n > 1 && goes_on(&next, n - 1, left))
    })
}

/// Whether the desperado still draws, within n moves.
fn goes_on(position: &Chess, n: u32, left: &mut u32) -> bool {
    desperado(position).is_some_and(|moves| moves.iter().any(|&m| draws(&played(position, m), n, left)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::parse_fen;

    fn saving(fen: &str) -> Option<String> {
        let position = parse_fen(fen).expect(fen);
        saving_move(&position).map(|m| m.to_uci(shakmaty::CastlingMode::Standard).to_string())
    }

    #[test]
    fn a_man_that_alone_can_move_gives_itself_up() {
        // A rook that either man may take, and has to.
        assert_eq!(saving("8/1R6/7p/8/p7/kpb5/3p4/1K6 w - - 0 74").as_deref(), Some("b7b3"));
        assert_eq!(saving("8/4Q2p/8/8/6q1/5k2/7K/3q4 w - - 3 64").as_deref(), Some("e7e3"));
        // Out of check there is one square, and the queen follows.
        assert_eq!(saving("5q1k/8/4Q1PP/6K1/8/8/8/8 b - - 34 103").as_deref(), Some("f8f4"));
        // A rook that follows the king for ever is not seen through.
        assert_eq!(saving("8/8/8/8/8/6pp/4rk2/R6K w - - 2 5"), None);
    }

    #[test]
    fn nothing_is_looked_for_where_others_can_move() {
        // The same with a pawn that can go on, and with a square for the king.
        for fen in ["8/1R6/P6p/8/p7/kpb5/3p4/1K6 w - - 0 74", "8/4Q2p/8/8/8/5kq1/8/3q3K w - - 3 64"] {
            let position = parse_fen(fen).expect(fen);
            assert!(desperado(&position).is_none(), "{fen}");
        }
        assert_eq!(saving("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), None);
    }
}
