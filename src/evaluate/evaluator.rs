//! The joint between searches and networks.

use shakmaty::{Chess, Move, Position};
use thiserror::Error;

use super::{MoveTime, Stop, Wdl};
use crate::board::{Conditions, Game};

/// A position to look at, and what is known about the players.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The position with its history. It has legal moves.
    pub game: &'a Game,
    /// Ratings and clocks.
    pub conditions: &'a Conditions,
}

/// What a network thinks of one legal move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveEvaluation {
    /// The move.
    pub m: Move,
    /// As the network gives it: unbounded.
    pub logit: f32,
    /// Among the legal moves: these sum to one.
    pub probability: f32,
}

/// What a network thinks of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Every legal move, most probable first.
    pub moves: Vec<MoveEvaluation>,
    /// How the game stands for the player to move.
    pub wdl: Wdl,
}

impl Evaluation {
    /// From the logits of the legal moves, in the order of `legal`.
    pub fn from_logits(legal: &[Move], logits: impl IntoIterator<Item = f32>, wdl: Wdl) -> Evaluation {
        // A broken network is no reason to play an illegal move, or none.
        let finite = |x: f32| if x.is_finite() { x } else { -1e4 };
        let mut moves: Vec<MoveEvaluation> = legal
            .iter()
            .zip(logits)
            .map(|(&m, logit)| MoveEvaluation { m, logit: finite(logit), probability: 0.0 })
            .collect();
        let max = moves.iter().fold(f32::NEG_INFINITY, |max, m| max.max(m.logit));
        let sum: f32 = moves.iter().map(|m| (m.logit - max).exp()).sum();
        for m in &mut moves {
            m.probability = (m.logit - max).exp() / sum;
        }
        moves.sort_by(|a, b| b.logit.total_cmp(&a.logit));
        Evaluation { moves, wdl }
    }

    /// The same probability for every move, and a draw: what can be said without a network.
    pub fn unknown(position: &Chess) -> Evaluation {
        let legal = position.legal_moves();
        Evaluation::from_logits(&legal, legal.iter().map(|_| 0.0), Wdl::DRAW)
    }

    /// The probability of a move.
    pub fn probability(&self, m: Move) -> f32 {
        self.moves.iter().find(|e| e.m == m).map_or(0.0, |e| e.probability)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<Evaluation>() + self.moves.capacity() * size_of::<MoveEvaluation>()
    }
}

/// The evaluation was cut short by the stop signal.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("stopped")]
pub struct Stopped;

/// Evaluates batches of positions.
pub trait Evaluator: Send + Sync {
    /// Evaluates positions, all of which have legal moves.
    ///
    /// # Errors
    /// When the signal was set before the batch was done; a batch of one is always done.
    fn evaluate(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped>;

    /// Evaluates one position.
    fn glance(&self, game: &Game, conditions: &Conditions) -> Evaluation {
        let query = Query { game, conditions };
        let one = self.evaluate(&[query], &Stop::new(false, None));
        one.ok().and_then(|mut e| e.pop()).unwrap_or_else(|| Evaluation::unknown(game.position()))
    }

    /// Whether it knows how a game stands; if not, every position is a draw to it.
    fn has_value(&self) -> bool {
        true
    }

    /// How long a person would think about a position under these conditions, which say the clock of the player to move; `None` where
    /// it does not know.
    fn move_time(&self, game: &Game, conditions: &Conditions) -> Option<MoveTime> {
        let _ = (game, conditions);
        None
    }

    /// Positions that are best given at once.
    fn batch(&self) -> usize {
        1
    }

    /// Threads that may ask at the same time, each of them answered as fast as one alone.
    fn threads(&self) -> usize {
        1
    }

    /// How full the cache is, in thousandths; 0 without one.
    fn hashfull(&self) -> u32 {
        0
    }

    /// Forgets everything cached.
    fn clear(&self) {}
}

impl<E: Evaluator + ?Sized> Evaluator for Box<E> {
    fn evaluate(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
        (**self).evaluate(batch, stop)
    }

    fn has_value(&self) -> bool {
        (**self).has_value()
    }

    fn move_time(&self, game: &Game, conditions: &Conditions) -> Option<MoveTime> {
        (**self).move_time(game, conditions)
    }

    fn batch(&self) -> usize {
        (**self).batch()
    }

    fn threads(&self) -> usize {
        (**self).threads()
    }

    fn hashfull(&self) -> u32 {
        (**self).hashfull()
    }

    fn clear(&self) {
        (**self).clear();
    }
}
