//! Which move to try next at the root when there are few looks to spend: sequential halving over the most probable moves
//! (Karnin et al. 2013), and the choice by prior and value together, as in Gumbel AlphaZero (Danihelka et al. 2022) without its noise.

use super::nodes::Nodes;

/// The constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halving {
    /// Looks below which the root is searched so.
    pub below: u64,
    /// Moves considered at first.
    pub most: usize,
    /// Weight of the value (0 to 1) against the logarithm of the prior: this…
    pub visit: f32,
    /// …and the visits of the most visited move, times this.
    pub scale: f32,
}

/// The state of one search.
pub(super) struct Root {
    params: Halving,
    /// Edges of the root that are still considered, and the visits that they had before.
    considered: Vec<(usize, u32)>,
    /// New visits that each is to have before the next halving.
    goal: u32,
    /// Visits in all, and halvings to come.
    budget: u64,
    rounds: u32,
}

impl Root {
    /// For `budget` more visits: over the most probable moves of a new tree, the best so far of one that was kept.
    pub(super) fn new(params: Halving, nodes: &Nodes, budget: u64) -> Root {
        let edges = &nodes.root().edges;
        let most = params.most.max(2).min(budget as usize).min(edges.len()).max(1);
        let scores = scores(nodes, &params);
        let mut considered: Vec<(usize, u32)> = edges.iter().map(|e| nodes.visits(e)).enumerate().collect();
        considered.sort_by(|a, b| scores[b.0].total_cmp(&scores[a.0]));
        considered.truncate(most);
        let rounds = usize::BITS - (most - 1).leading_zeros();
        let mut root = Root { params, considered, goal: 0, budget, rounds };
        root.next_goal();
        root
    }

    fn next_goal(&mut self) {
        let each = self.budget / (u64::from(self.rounds.max(1)) * self.considered.len() as u64);
        self.goal += each.max(1) as u32;
    }

    /// The edge to try next. Visits under way count; moves that are proved are not tried again.
    pub(super) fn select(&mut self, nodes: &Nodes) -> Option<usize> {
        loop {
            let child = |edge: usize| nodes.child(&nodes.root().edges[edge]);
            let new = |&(edge, before): &(usize, u32)| child(edge).map_or(0, |c| c.visits + c.pending - before);
            let open = |&&(edge, _): &&(usize, u32)| nodes.is_open(&nodes.root().edges[edge]);
            let next = *self.considered.iter().filter(open).min_by_key(|&c| (new(c), c.0))?;
            if self.considered.len() <= 1 || new(&next) < self.goal {
                return Some(next.0);
            }
            let scores = scores(nodes, &self.params);
            self.considered.sort_by(|a, b| scores[b.0].total_cmp(&scores[a.0]));
            self.considered.truncate(self.considered.len().div_ceil(2));
            self.rounds = self.rounds.saturating_sub(1);
            if self.considered.len() == 1 {
                return self.considered.first().map(|c| c.0);
            }
            self.next_goal();
        }
    }

    /// What ranks the moves of the root: the considered ones above the others.
    pub(super) fn ranks(&self, nodes: &Nodes) -> Vec<f32> {
        let mut ranks = scores(nodes, &self.params);
        let low = ranks.iter().copied().fold(f32::INFINITY, f32::min);
        let span = 1.0 + ranks.iter().copied().fold(f32::NEG_INFINITY, f32::max) - low;
        self.considered.iter().for_each(|&(edge, _)| ranks[edge] += span);
        ranks
    }
}

/// `ln prior + (visit + most visits) · scale · value`, the value being the root's own for a move that was not tried.
fn scores(nodes: &Nodes, params: &Halving) -> Vec<f32> {
    let root = nodes.root();
    let most = root.edges.iter().map(|e| nodes.visits(e)).max().unwrap_or(0) as f32;
    let weight = (params.visit + most) * params.scale;
    root.edges
        .iter()
        .map(|edge| {
            let known = nodes.child(edge).filter(|c| c.visits > 0 || c.proved.is_some());
            let value = known.map_or(root.wdl().score(), |c| c.wdl().flipped().score());
            edge.prior.max(1e-9).ln() + weight * value
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;
    use crate::evaluate::Wdl;

    #[test]
    fn visits_are_spread_over_fewer_and_fewer_moves() {
        let game = Game::default();
        let mut nodes = Nodes::default();
        nodes.add(None);
        let moves = ["e2e4", "d2d4", "g1f3", "c2c4", "b2b3"];
        nodes.open(
            0,
            moves.iter().zip([0.3, 0.25, 0.2, 0.15, 0.1]).map(|(m, p)| (game.parse_uci(m).expect("legal"), p)),
        );
        nodes.back_up(&[0], Wdl::DRAW);
        let params = Halving { below: 100, most: 4, visit: 50.0, scale: 1.0 };
        let mut root = Root::new(params, &nodes, 24);
        for _ in 0..24 {
            let edge = root.select(&nodes).expect("nothing is proved");
            let child = match nodes.root().edges[edge].child {
                Some(child) => child.get(),
                None => nodes.add_child(0, edge, None),
            };
            // The third move is the best: the opponent loses after it.
            nodes.back_up(&[0, child], if edge == 2 { Wdl::from_centipawns(-300) } else { Wdl::DRAW });
        }
        let visits: Vec<u32> = nodes.root().edges.iter().map(|e| nodes.visits(e)).collect();
        assert_eq!(visits.iter().sum::<u32>(), 24);
        assert_eq!(visits[4], 0, "only four are considered");
        assert!(visits[2] >= 9 && visits.iter().filter(|&&v| v == 3).count() == 2, "{visits:?}");
        let ranks = root.ranks(&nodes);
        assert!((0..5).all(|i| i == 2 || ranks[i] < ranks[2]), "{ranks:?}");
        // A tree that was kept: what was visited before does not count, and the best so far is considered.
        let mut root = Root::new(params, &nodes, 8);
        assert_eq!(root.select(&nodes), Some(0));
        assert!(root.considered.iter().any(|c| c.0 == 2));
    }
}
