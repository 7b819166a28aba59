//! A position in 25 bytes: occupied squares, and a nibble for each man.

use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, EnPassantMode, FromSetup, Piece, Position, PositionError, Role, Setup,
    Square,
};

/// Bytes of a packed position.
pub const BYTES: usize = 25;

// Nibbles 0 to 11 are White's and Black's six roles; the rest carry what a man means besides.
const ROOK_MAY_CASTLE: u8 = 12;
const EN_PASSANT_PAWN: u8 = 14;

/// Packs a position: eight bytes of occupied squares, sixteen of nibbles in the order of the squares, and one of flags
/// (bit 0: Black to move).
///
/// The halfmove clock and the move number are left out. Returns `None` when there are more than 32 men.
pub fn pack(position: &Chess) -> Option<[u8; BYTES]> {
    let board = position.board();
    if board.occupied().count() > 32 {
        return None;
    }
    let castling = position.castles().castling_rights();
    let taken_en_passant =
        position.ep_square(EnPassantMode::Legal).map(|s| s.xor(Square::A2.xor(Square::A1)).to_u32()).map(Square::new);
    let mut out = [0; BYTES];
    out[..8].copy_from_slice(&board.occupied().0.to_le_bytes());
    for (i, square) in board.occupied().into_iter().enumerate() {
        let piece = board.piece_at(square)?;
        let black = u8::from(piece.color == Color::Black);
        let nibble = if castling.contains(square) {
            ROOK_MAY_CASTLE + black
        } else if taken_en_passant == Some(square) {
            EN_PASSANT_PAWN + black
        } else {
            piece.role as u8 - 1 + 6 * black
        };
        out[8 + i / 2] |= nibble << (4 * (i % 2));
    }
    out[24] = u8::from(position.turn() == Color::Black);
    Some(out)
}

/// The position that was packed, if the bytes are one.
pub fn unpack(bytes: &[u8; BYTES]) -> Option<Chess> {
    let occupied = Bitboard(u64::from_le_bytes(bytes[..8].try_into().ok()?));
    if occupied.count() > 32 {
        return None;
    }
    let mut setup = Setup::empty();
    let mut board = Board::empty();
    for (i, square) in occupied.into_iter().enumerate() {
        let nibble = bytes[8 + i / 2] >> (4 * (i % 2)) & 15;
        let (role, color) = match nibble {
            0..12 => (Role::try_from(nibble % 6 + 1).ok()?, Color::from_white(nibble < 6)),
            ROOK_MAY_CASTLE | 13 => {
                setup.castling_rights.add(square);
                (Role::Rook, Color::from_white(nibble == ROOK_MAY_CASTLE))
            }
            _ => {
                setup.ep_square = Some(square.xor(Square::A2.xor(Square::A1)));
                (Role::Pawn, Color::from_white(nibble == EN_PASSANT_PAWN))
            }
        };
        board.set_piece_at(square, Piece { color, role });
    }
    setup.board = board;
    setup.turn = Color::from_white(bytes[24] & 1 == 0);
    let mode = CastlingMode::detect(&setup);
    Chess::from_setup(setup, mode).or_else(PositionError::ignore_too_much_material).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glance::board::{parse_fen, write_fen};

    #[test]
    fn positions_go_there_and_back() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 0 1",
            "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
            "rnbqkbnr/pppp1ppp/8/3Pp3/8/8/PPP1PPPP/RNBQKBNR w KQkq e6 0 1",
            "8/P6k/8/8/8/8/p6K/8 w - - 0 1",
        ] {
            let position = parse_fen(fen).expect(fen);
            let packed = pack(&position).expect("at most 32 men");
            assert_eq!(write_fen(&unpack(&packed).expect("a position")), fen);
        }
    }

    #[test]
    fn noise_is_refused_or_legal() {
        let mut bytes = [0_u8; BYTES];
        for seed in 0..2000_u32 {
            for (i, b) in bytes.iter_mut().enumerate() {
                *b = (seed.wrapping_mul(2_654_435_761).rotate_left(i as u32) >> 7) as u8;
            }
            if let Some(position) = unpack(&bytes) {
                let _ = position.legal_moves();
            }
        }
    }
}
