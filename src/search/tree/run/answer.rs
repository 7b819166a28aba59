//! What a search has found.

use super::super::nodes::Edge;
use super::Run;
use crate::search::report::{Line, MoveStats, Report, Score};
use crate::search::task::Answer;

impl Run<'_> {
    /// Mean plies looked ahead in the tree, at least one.
    pub(in crate::search::tree) fn depth(&self) -> u32 {
        (self.plies / u64::from(self.nodes.root().visits.max(1))).max(1) as u32
    }

    pub(in crate::search::tree) fn answer(&self) -> Answer {
        let ranks = self.halving.as_ref().map(|root| root.ranks(&self.nodes));
        let edges = self.nodes.root().edges.iter().enumerate();
        let lines = edges.map(|(i, edge)| self.line(edge, ranks.as_ref().map(|r| r[i]))).collect();
        let (depth, nodes) = (self.depth(), self.evaluated);
        let (seldepth, tbhits) = (self.seldepth.max(depth), self.tbhits);
        let report = Report { depth, seldepth, nodes, tbhits, stats: self.stats(), ..Report::default() };
        Answer::new(report, lines, self.task.lines)
    }

    fn stats(&self) -> Vec<MoveStats> {
        let mut stats: Vec<MoveStats> = self.nodes.root().edges.iter().map(|e| self.nodes.stats(e)).collect();
        stats.sort_by_key(|s| std::cmp::Reverse(s.visits));
        stats
    }

    /// A root move with what follows, ranked by the logarithm of its visits unless it is given a rank; mates stand above and below all
    /// others.
    fn line(&self, edge: &Edge, rank: Option<f32>) -> Line {
        let child = self.nodes.child(edge);
        let known = child.filter(|c| c.visits > 0 || c.proved.is_some());
        let score = match known {
            Some(c) => c.proved.unwrap_or(Score::Expected(c.wdl())).before_move(),
            None => Score::Expected(self.nodes.root().wdl()),
        };
        let visits = child.map_or(0, |c| c.visits);
        let rank = match score {
            Score::Mate(n) if n > 0 => 1000.0 - n as f32,
            Score::Mate(n) => -1000.0 - n as f32,
            // An unvisited move is ranked by its prior, below all visited ones.
            Score::Expected(_) => rank.unwrap_or_else(|| (visits as f32 + 0.5 * edge.prior).max(1e-9).ln()),
        };
        let mut moves = vec![edge.m];
        let mut at = child;
        while let Some(best) = at.and_then(|node| self.nodes.best(node)) {
            moves.push(best.m);
            at = self.nodes.child(best);
        }
        Line { moves, score, probability: edge.prior, rank }
    }
}
