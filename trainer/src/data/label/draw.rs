//! Which positions are labelled: those of games, what random moves make of them, or what a search looks at from there.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use glance::board::{Conditions, Game};
use glance::evaluate::{Evaluation, Evaluator, Query, Stop, Stopped};
use glance::search::{Limits, Search, Task, Tree};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use shakmaty::{Chess, Position};

use super::{LabelError, Options};
use crate::data::convert::position_key;
use crate::data::shard::{self, Shard};

/// Draws that may fail one after another before there are taken to be no more positions.
const FAILURES: usize = 10_000;
/// Bytes that a tree may fill.
const MEMORY: usize = 64 << 20;

/// Positions that a tree search looks at, in the place of those that it begins from: there stands, half taken and half threatened, what no game
/// comes to, and there the network's word decides.
#[derive(Clone)]
pub struct Looks {
    /// The network.
    pub evaluator: Arc<dyn Evaluator>,
    /// Positions that a search looks at.
    pub nodes: u64,
    /// The share of them that is labelled.
    pub share: f64,
}

impl fmt::Debug for Looks {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Looks").field("nodes", &self.nodes).field("share", &self.share).finish_non_exhaustive()
    }
}

impl Looks {
    /// What a search from a position looks at, in its order; the same each time.
    fn from(&self, game: &Game) -> Vec<Chess> {
        let recorded = Recording { evaluator: &*self.evaluator, looked: Mutex::default() };
        let task = Task {
            game,
            conditions: &Conditions::STRONGEST,
            limits: &Limits { nodes: Some(self.nodes), deepen: true, ..Limits::default() },
            lines: 1,
            stop: &Stop::new(false, None),
            evaluator: &recorded,
            memory: MEMORY,
            kept: None,
            endings: None,
        };
        Tree::default().search(&task, &mut |_| {});
        recorded.looked.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An evaluator that remembers what it was asked, by one thread: its order is the same each time.
struct Recording<'a> {
    evaluator: &'a dyn Evaluator,
    looked: Mutex<Vec<Chess>>,
}

impl Evaluator for Recording<'_> {
    fn evaluate(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.extend(batch.iter().map(|query| query.game.position().clone()));
        self.evaluator.evaluate(batch, stop)
    }

    fn has_value(&self) -> bool {
        self.evaluator.has_value()
    }
}

/// A draw of positions without repetition.
pub(super) struct Draw {
    shards: Vec<Shard>,
    seen: HashSet<u64>,
    rng: StdRng,
    /// Drawn and not given out yet.
    waiting: VecDeque<Chess>,
}

impl Draw {
    pub(super) fn new(shards: Vec<Shard>, seed: u64) -> Draw {
        Draw { shards, seen: HashSet::new(), rng: StdRng::seed_from_u64(seed), waiting: VecDeque::new() }
    }

    /// The next so many positions, all different.
    ///
    /// # Errors
    /// When the games have no more, or when it is interrupted: searches take time.
    pub(super) fn positions(&mut self, size: usize, options: &Options) -> Result<Vec<Chess>, LabelError> {
        let mut failures = 0;
        while self.waiting.len() < size {
            let before = self.waiting.len();
            self.draw(options);
            failures = if self.waiting.len() > before { 0 } else { failures + 1 };
            if failures > FAILURES {
                return Err(LabelError::TooFew(self.seen.len()));
            }
            if options.interrupted.load(Ordering::Relaxed) {
                return Err(LabelError::Interrupted);
            }
        }
        Ok(self.waiting.drain(..size).collect())
    }

    /// New positions, unless this draw fails.
    fn draw(&mut self, options: &Options) -> Option<()> {
        let begin = self.begin(options)?;
        let Some(looks) = &options.looks else {
            self.take(begin.position());
            return Some(());
        };
        for position in looks.from(&begin) {
            if self.rng.random::<f64>() < looks.share {
                self.take(&position);
            }
        }
        Some(())
    }

    /// Keeps a position that was not seen before.
    fn take(&mut self, position: &Chess) {
        let key = shard::encode_position(position, 0, 0, 0).map(|bytes| position_key(&bytes));
        if key.is_some_and(|key| self.seen.insert(key)) {
            self.waiting.push_back(position.clone());
        }
    }

    /// A position of a game, as it was or after random moves, that is not the end of one, with few enough men.
    fn begin(&mut self, options: &Options) -> Option<Game> {
        let rng = &mut self.rng;
        let total: usize = self.shards.iter().map(Shard::len).sum();
        let mut i = rng.random_range(0..total);
        let shard = self.shards.iter().find(|s| {
            let here = i < s.len();
            i -= if here { 0 } else { s.len() };
            here
        })?;
        let record = shard.game(i)?;
        let ply =
            (record.ranks.len() > options.from_ply).then(|| rng.random_range(options.from_ply..record.ranks.len()))?;
        let mut game = Game::default();
        record.line().take(ply).for_each(|(_, m)| game.play(m));
        // Otherwise the record is damaged before it.
        (game.plies() == ply).then_some(())?;
        let at = rng.random::<f64>();
        let [one, two] = options.random;
        let moves = if at < two { 2 } else { usize::from(at < one + two) };
        for _ in 0..moves {
            let legal = game.position().legal_moves();
            (!legal.is_empty()).then_some(())?;
            game.play(legal[rng.random_range(0..legal.len())]);
        }
        let few = game.position().board().occupied().count() <= options.men;
        (few && game.terminal().is_none()).then_some(game)
    }
}
