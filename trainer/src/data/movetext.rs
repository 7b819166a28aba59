//! PGN movetext: the moves of a game, with evaluations and clocks where the comments have them.

use std::io;
use std::ops::ControlFlow;

use glance::board::{comment_command, parse_clock};
use pgn_reader::{RawComment, Reader, SanPlus, Skip, Visitor};
use shakmaty::{Chess, Position};

use super::rank_of;

/// Evaluation that says "none".
pub const NO_EVAL: i16 = i16::MIN;
/// Clock that says "none".
pub const NO_CLOCK: u16 = u16::MAX;
/// Mate in n is written as ±(this − n).
pub const MATE: i16 = 32_000;

/// The moves of a game.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Each move's place among the legal moves in the fixed order.
    pub ranks: Vec<u8>,
    /// After each move, from White's side, in centipawns.
    pub evals: Vec<i16>,
    /// After each move, the mover's clock in seconds.
    pub clocks: Vec<u16>,
}

/// Why a movetext was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MovetextError {
    /// A move that cannot be played.
    #[error("illegal move {san} at ply {ply}")]
    Illegal {
        /// As written.
        san: String,
        /// Counted from 1.
        ply: usize,
    },
    /// Not PGN.
    #[error("no movetext: {0}")]
    Syntax(String),
}

struct Parser;

#[derive(Default)]
struct State {
    position: Chess,
    moves: Moves,
}

impl Visitor for Parser {
    type Tags = ();
    type Movetext = State;
    type Output = Result<Moves, MovetextError>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, ()> {
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, (): ()) -> ControlFlow<Self::Output, State> {
        ControlFlow::Continue(State::default())
    }

    fn san(&mut self, state: &mut State, san: SanPlus) -> ControlFlow<Self::Output> {
        match san.san.to_move(&state.position) {
            Ok(m) => {
                state.moves.ranks.push(rank_of(&state.position, m));
                state.moves.evals.push(NO_EVAL);
                state.moves.clocks.push(NO_CLOCK);
                state.position.play_unchecked(m);
                ControlFlow::Continue(())
            }
            Err(_) => {
                let ply = state.moves.ranks.len() + 1;
                ControlFlow::Break(Err(MovetextError::Illegal { san: san.to_string(), ply }))
            }
        }
    }

    fn comment(&mut self, state: &mut State, comment: RawComment<'_>) -> ControlFlow<Self::Output> {
        let text = String::from_utf8_lossy(comment.as_bytes());
        if let (Some(value), Some(last)) = (comment_command(&text, "eval"), state.moves.evals.last_mut()) {
            *last = parse_eval(value).unwrap_or(NO_EVAL);
        }
        if let (Some(value), Some(last)) = (comment_command(&text, "clk"), state.moves.clocks.last_mut()) {
            *last = whole_seconds(value).unwrap_or(NO_CLOCK);
        }
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, _: &mut State) -> ControlFlow<Self::Output, Skip> {
        ControlFlow::Continue(Skip(true))
    }

    fn end_game(&mut self, state: State) -> Self::Output {
        Ok(state.moves)
    }
}

fn parse_eval(text: &str) -> Option<i16> {
    if let Some(mate) = text.strip_prefix('#') {
        let n: i16 = mate.parse().ok()?;
        return Some(if n < 0 { -MATE + n.saturating_abs().min(999) } else { MATE - n.min(999) });
    }
    // Some tools add the depth behind a comma.
    let pawns: f32 = text.split(',').next()?.parse().ok()?;
    pawns.is_finite().then(|| (pawns * 100.0).round().clamp(-30_000.0, 30_000.0) as i16)
}

/// Whole seconds, as far as a shard can hold them.
fn whole_seconds(clock: &str) -> Option<u16> {
    parse_clock(clock).map(|seconds| seconds.min(f32::from(NO_CLOCK - 1)) as u16)
}

/// Reads the movetext of one game from the standard starting position.
///
/// # Errors
/// At the first move that cannot be played, or when there is no game in the text.
pub fn parse(text: &str) -> Result<Moves, MovetextError> {
    let mut reader = Reader::new(io::Cursor::new(text.as_bytes()));
    match reader.read_game(&mut Parser) {
        Ok(Some(result)) => result,
        Ok(None) => Err(MovetextError::Syntax("empty".into())),
        Err(error) => Err(MovetextError::Syntax(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_and_clocks_belong_to_the_move_before() {
        let text = "1. e4 { [%eval 0.31] [%clk 0:05:00] } 1... e5 { [%clk 1:00:01] } 2. Nf3 { [%eval #-3] } 1-0";
        let moves = parse(text).expect("a game");
        assert_eq!(moves.ranks.len(), 3);
        assert_eq!(moves.evals, [31, NO_EVAL, -MATE + 3]);
        assert_eq!(moves.clocks, [300, 3601, NO_CLOCK]);
    }

    #[test]
    fn bad_text_is_refused() {
        assert_eq!(parse("1. e4 e4").expect_err("illegal").to_string(), "illegal move e4 at ply 2");
        assert!(parse("").is_err());
        let odd = parse("1. e4 { [%eval x] [%clk 5:x] } e5 { [%eval 999999999] }").expect("a game");
        assert_eq!(odd.evals, [NO_EVAL, 30_000]);
        assert_eq!(odd.clocks, [NO_CLOCK; 2]);
    }
}
