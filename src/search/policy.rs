//! One glance: the most probable legal move.

use super::rank::Rank;
use super::report::{Line, Report, Score};
use super::task::{Answer, Search, Task};

/// Masked argmax of the policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policy;

impl Search for Policy {
    fn search(&self, task: &Task, _: &mut dyn FnMut(&Report)) -> Answer {
        let evaluation = task.evaluator.glance(task.game, task.conditions);
        let allowed = task.moves();
        let lines = evaluation
            .moves
            .iter()
            .filter(|e| allowed.contains(&e.m))
            .map(|e| Line {
                moves: vec![e.m],
                score: Score::Expected(evaluation.wdl),
                probability: e.probability,
                rank: Rank::open(e.probability.max(1e-9).ln()),
            })
            .collect();
        Answer::new(Report { depth: 1, seldepth: 1, nodes: 1, ..Report::default() }, lines, task.lines)
    }
}
