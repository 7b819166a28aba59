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
    /// Edges of the root that are still considered.
    considered: Vec<usize>,
    /// Visits that each is to have before the next halving.
    goal: u32,
    /// Visits in all, and halvings to come.
    budget: u64,
    rounds: u32,
}

impl Root {
    /// For `budget` visits of moves that were not visited yet.
    pub(super) fn new(params: Halving, nodes: &Nodes, budget: u64) -> Root {
        let most = params.most.max(2).min(budget as usize).min(nodes.root().edges.len()).max(1);
        let considered: Vec<usize> = (0..most).collect();
        let rounds = usize::BITS - (most - 1).leading_zeros();
        let mut root = Root { params, considered, goal: 0, budget, rounds };
        root.next_goal();
        root
    }

    fn next_goal(&mut self) {
        let each = self.budget / (u64::from(self.rounds.max(1)) * self.considered.len() as u64);
        self.goal += each.max(1) as u32;
    }

    /// The edge to try next. Visits under way count; moves that are proved to lose are not tried again.
    pub(super) fn select(&mut self, nodes: &Nodes) -> Option<usize> {
        loop {
            let visits = |&edge: &usize| nodes.child(&nodes.root().edges[edge]).map_or(0, |c| c.visits + c.pending);
            let open = |&&edge: &&usize| nodes.child(&nodes.root().edges[edge]).is_none_or(|c| c.proved.is_none());
            let next = self.considered.iter().filter(open).min_by_key(|&edge| (visits(edge), *edge))?;
            if self.considered.len() <= 1 || visits(next) < self.goal {
                return Some(*next);
            }
            let scores: Vec<f32> = scores(nodes, &self.params);
            self.considered.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            self.considered.truncate(self.considered.len().div_ceil(2));
            self.rounds = self.rounds.saturating_sub(1);
            if self.considered.len() == 1 {
                return self.considered.first().copied();
            }
            self.next_goal();
        }
    }

    /// What ranks the moves of the root: the considered ones above the others.
    pub(super) fn ranks(&self, nodes: &Nodes) -> Vec<f32> {
        let mut ranks = scores(nodes, &self.params);
        let span = 1.0 + ranks.iter().copied().fold(f32::NEG_INFINITY, f32::max)
            - ranks.iter().copied().fold(f32::INFINITY, f32::min);
        self.considered.iter().for_each(|&edge| ranks[edge] += span);
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
