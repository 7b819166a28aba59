//! Reading and writing FEN, forgiving where GUIs are careless and strict where the rules are.

use shakmaty::fen::{Fen, ParseFenError};
use shakmaty::{CastlingMode, Chess, EnPassantMode, FromSetup, Position, PositionError, Setup};
use thiserror::Error;

/// The longest FEN that is looked at: longer text is refused unread.
const LONGEST: usize = 256;

/// Why a FEN was refused. The text names what was wrong and what is allowed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FenError {
    /// No FEN has this many bytes.
    #[error("fen of {0} bytes: at most {LONGEST} are allowed")]
    TooLong(usize),
    /// Not written as a FEN.
    #[error(
        "fen '{fen}': {reason} (six fields are expected: board, w or b, castling, en passant, halfmoves, fullmoves)"
    )]
    Syntax {
        /// The text.
        fen: String,
        /// The field that could not be read.
        reason: String,
    },
    /// A well written FEN of a position that cannot be played.
    #[error("fen '{fen}': {reason}")]
    Position {
        /// The text.
        fen: String,
        /// The rule that the position breaks.
        reason: String,
    },
}

/// Reads a position from a FEN of four to six fields; X-FEN and Shredder-FEN castling are understood.
///
/// Castling rights and en passant squares that the board contradicts are dropped, as other engines do;
/// a position in which the game cannot be played is refused.
///
/// # Errors
/// When the text is no FEN, or the position is impossible: no king, too many men, pawns on the back rank, the
/// side not to move in check.
///
/// ```
/// use glance::board::parse_fen;
/// assert!(parse_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").is_ok());
/// assert!(parse_fen("8/8/8/8/8/8/8/4K2R w K - 0 1").unwrap_err().to_string().contains("missing king"));
/// ```
pub fn parse_fen(text: &str) -> Result<Chess, FenError> {
    let text = text.trim();
    if text.len() > LONGEST {
        return Err(FenError::TooLong(text.len()));
    }
    let shown = || text.escape_debug().to_string();
    let fen: Fen =
        text.parse().map_err(|error: ParseFenError| FenError::Syntax { fen: shown(), reason: error.to_string() })?;
    let setup = fen.into_setup();
    let impossible = |reason: String| FenError::Position { fen: shown(), reason };
    check_counts(&setup).map_err(impossible)?;
    playable(setup).map_err(|e| impossible(e.to_string()))
}

/// The position, without what the board contradicts but play does not need.
#[allow(clippy::result_large_err, reason = "shakmaty's error holds the position, so that it can be forgiven")]
fn playable(setup: Setup) -> Result<Chess, PositionError<Chess>> {
    let mode = CastlingMode::detect(&setup);
    Chess::from_setup(setup, mode)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
}

/// Sixteen men and eight pawns a side: shakmaty only counts promoted pieces, and only when asked to.
fn check_counts(setup: &Setup) -> Result<(), String> {
    for color in shakmaty::Color::ALL {
        let men = setup.board.by_color(color).count();
        if men > 16 {
            return Err(format!("{men} {color} men: at most 16 are allowed"));
        }
        let pawns = (setup.board.by_color(color) & setup.board.pawns()).count();
        if pawns > 8 {
            return Err(format!("{pawns} {color} pawns: at most 8 are allowed"));
        }
    }
    if setup.halfmoves > 150 {
        return Err(format!("halfmove clock {}: 0 to 150 are allowed", setup.halfmoves));
    }
    Ok(())
}

/// Writes a position as FEN; castling rights as `KQkq` where those are unambiguous.
pub fn write_fen(position: &Chess) -> String {
    Fen::try_from_setup(position.to_setup(EnPassantMode::Legal)).unwrap_or_else(|lossy| lossy.ignore()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_positions_are_named() {
        let cases = [
            ("", "expected"),
            ("8/8/8/8/8/8/8/8 w - - 0 1", "empty board"),
            ("8/8/8/8/8/8/8/8/8 w - - 0 1", "board"),
            ("4k3/8/8/8/8/8/8/8 w - - 0 1", "missing king"),
            ("4k3/8/8/8/8/8/4K3/4K3 w - - 0 1", "too many kings"),
            ("QQQQQQQQ/QQQQQQQQ/QQQQQQQQ/QQQQQQQQ/QQQQQQQQ/8/8/K6k w - - 0 1", "41 white men"),
            ("4k3/4R3/8/8/8/8/8/4K3 w - - 0 1", "opposite check"),
            ("P3k3/8/8/8/8/8/8/4K3 w - - 0 1", "pawns on backrank"),
            ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "turn"),
            ("4k3/8/8/8/8/8/8/4K3 w - - 9999 1", "halfmove"),
        ];
        for (fen, expected) in cases {
            let error = parse_fen(fen).expect_err(fen).to_string();
            assert!(error.contains(expected), "{fen}: {error}");
            assert!(!error.contains('\n'));
        }
        let long = "k".repeat(5000);
        assert_eq!(parse_fen(&long), Err(FenError::TooLong(5000)));
    }

    #[test]
    fn careless_fens_are_read() {
        // Four fields, castling rights without a rook, an en passant square without a pawn.
        for fen in [
            "4k3/8/8/8/8/8/8/4K3 w - -",
            "4k3/8/8/8/8/8/8/4K3 w KQkq - 0 1",
            "4k3/8/8/8/8/8/8/4K3 w - e6 0 1",
            "  rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 1 ",
        ] {
            parse_fen(fen).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
