//! A board drawn in text.

use std::fmt::Write as _;

use shakmaty::{File, Position, Rank, Square};

use crate::board::{Game, write_fen};

/// The board, White at the bottom, with its FEN and key.
pub fn board(game: &Game) -> String {
    let mut out = String::from(" +---+---+---+---+---+---+---+---+\n");
    for rank in Rank::ALL.into_iter().rev() {
        for file in File::ALL {
            let piece = game.position().board().piece_at(Square::from_coords(file, rank));
            let _ = write!(out, " | {}", piece.map_or(' ', |p| p.char()));
        }
        let _ = write!(out, " | {}\n +---+---+---+---+---+---+---+---+\n", rank.char());
    }
    out.push_str("   a   b   c   d   e   f   g   h\n\n");
    let _ = writeln!(out, "Fen: {}", write_fen(game.position()));
    let _ = write!(out, "Key: {:016X}", game.key());
    out
}
