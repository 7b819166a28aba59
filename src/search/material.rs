//! Values of pieces, and what hangs.

use shakmaty::{Chess, Move, Position, Role};

/// The values that MicroChess uses: 1, 3, 3, 5, 9.
pub fn value(role: Role) -> f32 {
    match role {
        Role::Pawn => 1.0,
        Role::Knight | Role::Bishop => 3.0,
        Role::Rook => 5.0,
        Role::Queen => 9.0,
        Role::King => 0.0,
    }
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
