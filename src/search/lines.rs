//! Lines between sliders and a king.

use shakmaty::{Bitboard, Board, Color, Square};

/// Men of either side that [alone](crate::board::alone) stand between a king and a slider of `side`.
pub(super) fn alone(board: &Board, king: Square, side: Color) -> Bitboard {
    let own = board.by_color(side);
    crate::board::alone(king, board.occupied(), board.bishops_and_queens() & own, board.rooks_and_queens() & own)
}
