//! What a search is given and what it gives back.

use shakmaty::{Move, MoveList, Position};

use super::report::{Line, Report};
use super::tree::Kept;
use crate::board::{Conditions, Game};
use crate::evaluate::{Evaluator, Stop, Wdl};

/// How far a search may go. The clock is in the stop signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Positions evaluated at most.
    pub nodes: Option<u64>,
    /// Plies looked ahead at most; of the tree on average, and fewer where more looks no longer deepen it.
    pub depth: Option<u32>,
    /// Only these moves at the root; empty means all.
    pub moves: Vec<Move>,
    /// Whether there is time to deepen: without a clock, a limit or a command to end it, a search ends at its
    /// natural depth.
    pub deepen: bool,
    /// Whether time that is not used now is there later: with a clock, a search ends when its move is settled. What is given
    /// for this move alone (`movetime`, `nodes`) is used.
    pub save: bool,
}

/// One move to be found.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The position, with at least one legal move.
    pub game: &'a Game,
    /// Ratings and clocks.
    pub conditions: &'a Conditions,
    /// How far to go.
    pub limits: &'a Limits,
    /// Number of lines wanted.
    pub lines: usize,
    /// When to end.
    pub stop: &'a Stop,
    /// Who evaluates.
    pub evaluator: &'a dyn Evaluator,
    /// Bytes that the search itself may fill.
    pub memory: usize,
    /// The tree of the search before, to go on with, and where this one's is left.
    pub kept: Option<&'a Kept>,
    /// Who knows how endings end.
    pub endings: Option<&'a dyn Endings>,
}

/// Knows some endings exactly.
pub trait Endings: Send + Sync {
    /// How the game ends with best play, for the player to move; `None` where it is not known.
    fn outcome(&self, game: &Game) -> Option<Wdl>;
}

impl Task<'_> {
    /// The moves that may be played: the legal ones, or those asked for among them.
    pub fn moves(&self) -> MoveList {
        let mut legal = self.game.position().legal_moves();
        if self.limits.moves.iter().any(|m| legal.contains(m)) {
            legal.retain(|m| self.limits.moves.contains(m));
        }
        legal
    }

    /// Whether the search is to end, given the positions evaluated so far.
    pub fn is_over(&self, nodes: u64) -> bool {
        self.stop.is_set() || self.limits.nodes.is_some_and(|most| nodes >= most)
    }
}

/// What came of a search.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The last report; its first line is the answer.
    pub report: Report,
}

impl Answer {
    /// From lines in any order: the best first, as many as were asked for.
    pub fn new(mut report: Report, mut lines: Vec<Line>, wanted: usize) -> Answer {
        lines.sort_by(|a, b| b.rank.order(&a.rank));
        lines.truncate(wanted.max(1));
        report.lines = lines;
        Answer { report }
    }

    /// The best line.
    pub fn best(&self) -> Option<&Line> {
        self.report.lines.first()
    }
}

/// A way of choosing a move.
pub trait Search: Send + Sync {
    /// Finds a move. `tell` is given reports while the search runs; the answer is not among them.
    ///
    /// The answer has at least one line as long as [`Task::moves`] is not empty.
    fn search(&self, task: &Task, tell: &mut dyn FnMut(&Report)) -> Answer;

    /// How much worth of a rank makes a line e times as likely when moves are drawn at temperature 1.
    fn rank_unit(&self) -> f32 {
        1.0
    }
}
