//! How much of the clock a position deserves.

use super::nodes::Nodes;

/// When more time than planned is taken, and when less; the numbers are set by `benches/effort.py`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// How many plans more for every whole point of expected score that was lost since the move before.
    pub falling: f64,
    /// How many times the plan while the most visited move is not the one with the best value.
    pub doubt: f64,
    /// How many times the plan when all looks went to one move; between that and half of the looks it falls evenly.
    pub sure: f64,
}

impl Effort {
    /// How many times the planned time the root deserves, whose player expected the score `before` at the move before.
    pub(super) fn of(&self, nodes: &Nodes, before: Option<f32>) -> f64 {
        let root = nodes.root();
        let score = root.wdl().score();
        let fall = f64::from((before.unwrap_or(score) - score).max(0.0));
        let tried = || root.edges.iter().filter_map(|edge| nodes.child(edge)).filter(|child| child.visits > 0);
        let Some(first) = tried().max_by_key(|child| child.visits) else { return 1.0 };
        // A few looks say nothing of a value.
        let rivals = tried().filter(|child| child.visits * 4 >= first.visits);
        let best = rivals.map(|child| -child.wdl().balance()).fold(f32::NEG_INFINITY, f32::max);
        let doubt = if best > -first.wdl().balance() { self.doubt } else { 1.0 };
        let share = f64::from(first.visits) / f64::from(root.visits.max(1));
        let sure = 1.0 - (1.0 - self.sure) * ((share - 0.5) * 2.0).clamp(0.0, 1.0);
        (1.0 + self.falling * fall) * doubt * sure
    }
}
