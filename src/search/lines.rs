//! Lines between sliders and a king.

use shakmaty::attacks::{between, bishop_attacks, rook_attacks};
use shakmaty::{Bitboard, Board, Color, Square};

/// Men of either side that alone stand between a king and a slider of `side`: pinned where they are the king's, else they open a check when
/// they leave.
pub(super) fn alone(board: &Board, king: Square, side: Color) -> Bitboard {
    let sliders = rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens()
        | bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens();
    let alone = |slider| Some(between(king, slider) & board.occupied()).filter(|men| men.count() == 1);
    (sliders & board.by_color(side)).into_iter().filter_map(alone).fold(Bitboard::EMPTY, |all, men| all | men)
}
