//! A tree search with constants of its own.

use std::sync::LazyLock;
use std::time::Instant;

use glance::board::{Conditions, Game, Pool};
use glance::evaluate::Stop;
use glance::play::{Clock, Tablebases};
use glance::search::{Exchanges, Kept, Limits, Search, Task, Tree};
use shakmaty::{Move, Position};

use crate::workers::Evaluators;

/// Exchanges that change nothing.
const ABSENT: Exchanges = Exchanges { settled: 0.0, standing: 0.0, choice: 0.0, hope: 0.0, tries: 1, deeper: 0 };

static TABLES: LazyLock<Tablebases> = LazyLock::new(Tablebases::embedded);

#[derive(Clone, Copy)]
pub struct Side {
    /// The number of its network.
    pub network: usize,
    tree: Tree,
    conditions: Conditions,
    nodes: u64,
    /// Milliseconds for a game, instead of nodes for a move; none where it is 0.
    clock: i64,
    /// Milliseconds more after each move.
    increment: i64,
}

impl Default for Side {
    fn default() -> Side {
        let conditions = Conditions::STRONGEST;
        Side { network: 0, tree: Tree::default(), conditions, nodes: 32, clock: 0, increment: 0 }
    }
}

impl Side {
    /// # Panics
    ///
    /// Where there is no such constant.
    pub fn set(&mut self, name: &str, value: f32) {
        let Tree {
            c_puct,
            c_factor,
            c_base,
            fpu_reduction,
            prior_temperature,
            halving,
            exchanges,
            effort,
            transpositions,
            repetitions,
        } = &mut self.tree;
        match name {
            "c_puct" => *c_puct = value,
            "c_factor" => *c_factor = value,
            "c_base" => *c_base = value,
            "fpu_reduction" => *fpu_reduction = value,
            "prior_temperature" => *prior_temperature = value,
            "below" => halving.below = value as u64,
            "most" => halving.most = value as usize,
            "visit" => halving.visit = value,
            "scale" => halving.scale = value,
            "exchanges" if value == 0.0 => *exchanges = None,
            "settled" => exchanges.get_or_insert(ABSENT).settled = value,
            "standing" => exchanges.get_or_insert(ABSENT).standing = value,
            "choice" => exchanges.get_or_insert(ABSENT).choice = value,
            "hope" => exchanges.get_or_insert(ABSENT).hope = value,
            "tries" => exchanges.get_or_insert(ABSENT).tries = value as u32,
            "deeper" => exchanges.get_or_insert(ABSENT).deeper = value as u32,
            "transpositions" => *transpositions = value != 0.0,
            "repetitions" => *repetitions = value != 0.0,
            "falling" => effort.falling = value.into(),
            "doubt" => effort.doubt = value.into(),
            "sure" => effort.sure = value.into(),
            "rating" => {
                let rating = (value > 0.0).then_some(value);
                self.conditions.white.rating = rating;
                self.conditions.black.rating = rating;
            }
            "pool" => self.conditions.pool = Pool::ALL.get(value as usize).copied().filter(|_| value >= 0.0),
            "nodes" => self.nodes = value as u64,
            "clock" => self.clock = value as i64,
            "increment" => self.increment = value as i64,
            _ => panic!("no constant '{name}'"),
        }
    }

    /// The move it plays with so many nodes; `None` where the game is over.
    pub fn choose(&self, game: &Game, evaluators: &Evaluators) -> Option<Move> {
        let limits = Limits { nodes: Some(self.nodes), deepen: true, ..Limits::default() };
        self.search(game, &limits, &Stop::new(false, None), None, evaluators)
    }

    fn search(
        &self,
        game: &Game,
        limits: &Limits,
        stop: &Stop,
        kept: Option<&Kept>,
        evaluators: &Evaluators,
    ) -> Option<Move> {
        // As the engine does.
        let legal = game.position().legal_moves();
        if let Some(verdict) = TABLES.probe(game.position(), &legal, usize::MAX, true).filter(|v| v.wdl != 0) {
            return verdict.moves.first().copied();
        }
        let task = Task {
            game,
            conditions: &self.conditions,
            limits,
            lines: 1,
            stop,
            evaluator: &evaluators[self.network],
            memory: 32 << 20,
            kept,
            endings: Some(&TABLES.within(usize::MAX, true)),
        };
        let answer = self.tree.search(&task, &mut |_| {});
        answer.best().map(|line| line.moves[0])
    }
}

/// A side in a game.
pub struct Player<'a> {
    side: &'a Side,
    kept: Kept,
    /// Milliseconds on its clock. Nobody loses by it: who has none left moves at once.
    left: i64,
}

impl<'a> Player<'a> {
    pub fn new(side: &'a Side) -> Player<'a> {
        Player { side, kept: Kept::default(), left: side.clock }
    }

    /// The move it plays; `None` where the game is over.
    pub fn choose(&mut self, game: &Game, evaluators: &Evaluators) -> Option<Move> {
        let Side { clock, increment, .. } = *self.side;
        if clock == 0 {
            return self.side.choose(game, evaluators);
        }
        let start = Instant::now();
        let span = Clock { left: Some(self.left), increment, ..Clock::default() }.span(0, 0);
        let limits = Limits { deepen: true, save: true, ..Limits::default() };
        let best = self.side.search(game, &limits, &Stop::new(false, span), Some(&self.kept), evaluators);
        self.left += increment - i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
        best
    }
}
