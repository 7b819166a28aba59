//! One glance: the most probable legal move, unless one mates.

use super::mate::mating_move;
use super::report::{Line, Report, Score};
use super::task::{Answer, Search, Task};

/// Masked argmax of the policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policy;

impl Search for Policy {
    fn search(&self, task: &Task, _: &mut dyn FnMut(&Report)) -> Answer {
        let evaluation = task.evaluator.glance(task.game, task.conditions);
        let allowed = task.moves();
        let mate = mating_move(task.game.position(), &allowed);
        let lines = evaluation
            .moves
            .iter()
            .filter(|e| allowed.contains(&e.m))
            .map(|e| {
                let score = if mate == Some(e.m) { Score::Mate(1) } else { Score::Expected(evaluation.wdl) };
                let rank = score.rank(e.probability.max(1e-9).ln());
                Line { moves: vec![e.m], score, probability: e.probability, rank }
            })
            .collect();
        Answer::new(Report { depth: 1, seldepth: 1, nodes: 1, ..Report::default() }, lines, task.lines)
    }
}
