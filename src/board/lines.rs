//! Lines between sliders and a king.

use shakmaty::attacks::{between, bishop_attacks, rook_attacks};
use shakmaty::{Bitboard, Square};

/// Men of either side that alone stand between a king and one of the sliders along diagonals, or along ranks and files: pinned where they are
/// the king's, else they open a check when they leave.
#[inline]
pub(crate) fn alone(king: Square, occupied: Bitboard, diagonal: Bitboard, straight: Bitboard) -> Bitboard {
    let sliders = rook_attacks(king, Bitboard::EMPTY) & straight | bishop_attacks(king, Bitboard::EMPTY) & diagonal;
    let alone = |slider| Some(between(king, slider) & occupied).filter(|men| men.count() == 1);
    sliders.into_iter().filter_map(alone).fold(Bitboard::EMPTY, |all, men| all | men)
}
