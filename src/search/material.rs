//! Values of pieces, and what hangs.

use shakmaty::{ByRole, Chess, Move, Position, Role};

use crate::board::worth;

/// The values that MicroChess uses: 1, 3, 3, 5, 9.
pub fn value(role: Role) -> f32 {
    f32::from(worth(role))
}

/// Own material less the other's, in pawns.
pub fn balance(position: &Chess) -> f32 {
    let of = |men: ByRole<u8>| men.into_iter().zip(Role::ALL).map(|(n, role)| f32::from(n) * value(role)).sum::<f32>();
    let board = position.board();
    of(board.material_side(position.turn())) - of(board.material_side(!position.turn()))
}

/// What a move takes, en passant included.
pub fn captured(m: Move) -> Option<Role> {
    if m.is_en_passant() { Some(Role::Pawn) } else { m.capture() }
}

/// Whether the side to move can take a piece worth three or more with something cheaper, by a legal move.
pub fn cheaper_takes_piece(position: &Chess) -> bool {
    position.capture_moves().iter().any(|&m| {
        captured(m).is_some_and(|taken| value(taken) >= 3.0 && m.role() != Role::King && value(m.role()) < value(taken))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;

    #[test]
    fn leads_are_counted_for_the_player_to_move() {
        let of = |fen: &str| balance(Game::from_fen(fen).expect(fen).position());
        assert_eq!(of("4k3/8/8/8/8/8/4P3/R3K3 w - - 0 1"), 6.0);
        assert_eq!(of("4k3/8/8/8/8/8/4P3/R3K3 b - - 0 1"), -6.0);
        assert_eq!(of("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), 0.0);
    }
}
