//! A tree search with constants of its own.

use glance::board::{Conditions, Game};
use glance::evaluate::{Evaluator, Stop};
use glance::search::{Exchanges, Limits, Search, Task, Tree};
use shakmaty::Move;

/// Exchanges that change nothing.
const ABSENT: Exchanges = Exchanges { settled: 0.0, standing: 0.0 };

#[derive(Clone, Copy)]
pub struct Side {
    tree: Tree,
    nodes: u64,
}

impl Default for Side {
    fn default() -> Side {
        Side { tree: Tree::default(), nodes: 32 }
    }
}

impl Side {
    /// # Panics
    ///
    /// Where there is no such constant.
    pub fn set(&mut self, name: &str, value: f32) {
        let Tree { c_puct, c_factor, c_base, fpu_reduction, prior_temperature, halving, exchanges, .. } =
            &mut self.tree;
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
            "nodes" => self.nodes = value as u64,
            _ => panic!("no constant '{name}'"),
        }
    }

    /// The move it plays; `None` where the game is over.
    pub fn choose(&self, game: &Game, evaluator: &dyn Evaluator) -> Option<Move> {
        let limits = Limits { nodes: Some(self.nodes), deepen: true, ..Limits::default() };
        let stop = Stop::new(false, None);
        let task = Task {
            game,
            conditions: &Conditions::STRONGEST,
            limits: &limits,
            lines: 1,
            stop: &stop,
            evaluator,
            memory: 32 << 20,
            kept: None,
            endings: None,
        };
        let answer = self.tree.search(&task, &mut |_| {});
        answer.best().map(|line| line.moves[0])
    }
}
