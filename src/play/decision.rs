//! What a move is chosen under, and what was chosen.

use std::time::Duration;

use shakmaty::Move;

use crate::evaluate::Evaluation;
use crate::search::{Limits, Report};

/// What one move is to be chosen under.
#[derive(Clone, Debug, Default)]
pub struct Go {
    /// How far to search.
    pub limits: Limits,
    /// Look for a mate in at most so many moves.
    pub mate: Option<u32>,
    /// `go infinite` or `go ponder`: analysis, not a move to be played now.
    pub analysis: bool,
    /// The time given for this move alone.
    pub move_time: Option<Duration>,
    /// White's and Black's clocks in seconds, and the increment.
    pub clocks: (Option<f32>, Option<f32>, Option<f32>),
}

/// Where a move came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The game is over: there is no move.
    Over,
    /// A mate in one.
    Mate,
    /// The book.
    Book,
    /// Tablebases.
    Tablebase,
    /// The search.
    Search,
}

/// A chosen move.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The move; none when the game is over.
    pub best: Option<Move>,
    /// What the opponent is expected to answer.
    pub ponder: Option<Move>,
    /// Where the move came from.
    pub source: Source,
    /// The last report, its first line beginning with the move.
    pub report: Report,
    /// The network's view of the position, most probable move first.
    pub glance: Option<Evaluation>,
    /// The time after which a person would answer.
    pub think: Option<Duration>,
}
