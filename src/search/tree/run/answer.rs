//! What a search has found.

use super::super::nodes::Edge;
use super::Run;
use crate::search::outcome::{Bounds, Outcome};
use crate::search::rank::{Rank, Standing};
use crate::search::report::{Line, MoveStats, Report, Score};
use crate::search::task::Answer;

/// Win less loss that is hardly different from none.
const LITTLE: f32 = 0.05;

impl Run<'_> {
    /// Mean plies looked ahead in the tree, at least one.
    pub(in crate::search::tree) fn depth(&self) -> u32 {
        (self.plies / u64::from(self.nodes.root().visits.max(1))).max(1) as u32
    }

    pub(in crate::search::tree) fn answer(&self) -> Answer {
        let ranks = self.halving.as_ref().map(|root| root.ranks(&self.nodes));
        let edges = self.nodes.root().edges.iter().enumerate();
        let mut lines: Vec<Line> = edges.map(|(i, edge)| self.line(edge, ranks.as_ref().map(|r| r[i]))).collect();
        self.rank_by_bounds(&mut lines);
        let (depth, nodes) = (self.depth(), self.evaluated);
        let (seldepth, tbhits) = (self.seldepth.max(depth), self.tbhits);
        let report = Report { depth, seldepth, nodes, tbhits, stats: self.stats(), ..Report::default() };
        Answer::new(report, lines, self.task.lines)
    }

    /// Ranks moves by what is certain of them before all else. What does not win is behind where another move is expected to be worth more, and
    /// what does not lose is ahead where the best is expected to.
    fn rank_by_bounds(&self, lines: &mut [Line]) {
        let edges = &self.nodes.root().edges;
        let (bounds, far): (Vec<Bounds>, Vec<u32>) = edges.iter().map(|edge| self.nodes.certain(edge)).unzip();
        let value = |line: &Line| line.score.wdl().balance();
        let tried = |i: usize| self.nodes.visits(&edges[i]) > 0;
        let free = (0..lines.len()).filter(|&i| tried(i) && bounds[i].most == Outcome::Win).map(|i| value(&lines[i]));
        let free = free.fold(f32::NEG_INFINITY, f32::max);
        for ((line, bounds), far) in lines.iter_mut().zip(&bounds).zip(far) {
            match (line.score, bounds.least, bounds.most) {
                (Score::Mate(_), ..) => {}
                // The soonest, whatever the visits, so that each move comes nearer.
                (_, Outcome::Win, _) => line.rank = Rank { standing: Standing::Won, worth: -(far as f32) },
                // The latest.
                (_, _, Outcome::Loss) => line.rank = Rank { standing: Standing::Lost, worth: far as f32 },
                (_, _, Outcome::Draw) if free > LITTLE => line.rank.standing = Standing::Behind,
                _ => {}
            }
        }
        let first = lines.iter().max_by(|a, b| a.rank.order(&b.rank)).map(value);
        if first.is_some_and(|first| first < -LITTLE) {
            let draws = lines.iter_mut().zip(&bounds).filter(|(_, bounds)| bounds.least == Outcome::Draw);
            draws.for_each(|(line, _)| {
                line.rank.standing = match line.rank.standing {
                    Standing::Behind => Standing::Open,
                    Standing::Open => Standing::Ahead,
                    other => other,
                }
            });
        }
    }

    fn stats(&self) -> Vec<MoveStats> {
        let mut stats: Vec<MoveStats> = self.nodes.root().edges.iter().map(|e| self.nodes.stats(e)).collect();
        stats.sort_by_key(|s| std::cmp::Reverse(s.visits));
        stats
    }

    /// A root move with what follows, ranked by the logarithm of its visits unless it is given its worth; mates by their length.
    fn line(&self, edge: &Edge, worth: Option<f32>) -> Line {
        let MoveStats { visits, score, .. } = self.nodes.stats(edge);
        let score = score.unwrap_or_else(|| Score::Expected(self.nodes.root().wdl()));
        // An unvisited move is ranked by its prior, below all visited ones.
        let worth = worth.unwrap_or_else(|| (visits as f32 + 0.5 * edge.prior).max(1e-9).ln());
        let mut moves = vec![edge.m];
        let mut at = self.nodes.child(edge);
        while let Some(best) = at.and_then(|node| self.nodes.best(node)) {
            moves.push(best.m);
            at = self.nodes.child(best);
        }
        Line { moves, score, probability: edge.prior, rank: score.rank(worth) }
    }
}
