//! The end of a simulation.

use super::closer::Due;
use crate::board::Game;
use crate::evaluate::{Evaluation, Query, Stopped, Wdl};
use crate::search::quiescence::Exchanges;
use crate::search::report::Score;
use crate::search::task::Task;

/// Where a simulation ended.
pub(in crate::search::tree) struct Leaf {
    /// Nodes from the root, the leaf last.
    pub(super) path: Vec<u32>,
    pub(super) game: Game,
    /// The score, where no network is needed.
    pub(super) known: Option<Score>,
    /// A node on the path that was visited often enough to be looked at more closely.
    pub(super) due: Option<Due>,
}

impl Leaf {
    /// What its position is told apart by.
    #[cfg(test)]
    pub(in crate::search::tree) fn key(&self) -> u64 {
        self.game.key()
    }

    /// Whether it came up on the way from the root, or so many plies before.
    #[cfg(test)]
    pub(in crate::search::tree) fn comes_up_again(&self, before: usize) -> bool {
        self.game.recurs_within((self.path.len() - 1).saturating_add(before))
    }

    /// Asks about a batch, and looks more closely at the moves that are due; without the run, which others may use meanwhile.
    pub(in crate::search::tree) fn evaluate(
        batch: &mut [Leaf],
        task: &Task,
        exchanges: Option<Exchanges>,
    ) -> Result<Vec<Evaluation>, Stopped> {
        for due in batch.iter_mut().filter_map(|leaf| leaf.due.as_mut()) {
            due.look(task.stop);
        }
        let queries: Vec<Query> = batch.iter().map(|l| Query { game: &l.game, conditions: task.conditions }).collect();
        let mut found = task.evaluator.evaluate(&queries, task.stop)?;
        for (leaf, evaluation) in batch.iter().zip(&mut found) {
            evaluation.wdl = weighed(exchanges, &leaf.game, evaluation.wdl);
        }
        Ok(found)
    }
}

/// What the network says, with what exchanges add to it.
pub(super) fn weighed(exchanges: Option<Exchanges>, game: &Game, wdl: Wdl) -> Wdl {
    exchanges.map_or(wdl, |exchanges| exchanges.weigh(game.position(), wdl))
}
