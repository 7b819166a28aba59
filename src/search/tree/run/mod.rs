//! One search of a tree: what simulations do to it.

mod answer;
mod closer;
mod descend;
mod leaf;
mod over;

use std::time::Instant;

pub(super) use leaf::Leaf;
#[cfg(test)]
pub(super) use over::NATURAL;

use shakmaty::Move;

use super::super::desperado::saving_move;
use super::super::ends::{ended, judged};
use super::super::quiescence::Exchanges;
use super::super::report::Score;
use super::super::task::Task;
use super::Tree;
use super::halving::Root;
use super::kept::Kept;
use super::nodes::Nodes;
use crate::board::Game;
use crate::evaluate::{Evaluation, Stopped, Wdl};
use leaf::weighed;
use over::Growth;

/// A search under way.
pub(super) struct Run<'a> {
    pub(super) task: &'a Task<'a>,
    params: Tree,
    pub(super) nodes: Nodes,
    /// How the root's moves are chosen with few looks; by upper bounds otherwise.
    halving: Option<Root>,
    pub(super) evaluated: u64,
    tbhits: u64,
    pub(super) simulations: u64,
    /// Plies that simulations went down, also of a search before whose tree this one goes on with; and at most, in this one.
    plies: u64,
    seldepth: u32,
    growth: Growth,
    /// What was expected at the move before.
    before: Option<f32>,
    /// Bytes of the tree that is kept beside this one.
    beside: usize,
    pub(super) start: Instant,
    /// Positions that are being evaluated.
    under_way: u64,
    /// The signal came while positions were being evaluated, or they were lost.
    cut_short: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(task: &'a Task<'a>, params: Tree) -> Self {
        Run {
            task,
            params,
            nodes: Nodes::default(),
            halving: None,
            evaluated: 0,
            tbhits: 0,
            simulations: 0,
            plies: 0,
            seldepth: 1,
            growth: Growth::from(0, 0),
            before: task.kept.and_then(|kept| kept.expected(task.game)),
            beside: 0,
            start: Instant::now(),
            under_way: 0,
            cut_short: false,
        }
    }

    /// What exchanges add to the network's word.
    pub(super) fn exchanges(&self) -> Option<Exchanges> {
        self.params.exchanges
    }

    /// Bytes that the tree may hold beside what is kept, so that there is room for a copy of half of it when it is pruned.
    fn memory(&self) -> usize {
        (self.task.memory - self.beside.min(self.task.memory)) / 3 * 2
    }

    /// Whether the tree has grown too large.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.bytes() > self.memory()
    }

    /// Makes room where the tree has grown too large. Nodes get other numbers: not while positions are being evaluated.
    pub(super) fn prune(&mut self) {
        if self.is_full() && self.under_way == 0 {
            self.nodes.prune(self.memory() / 2);
        }
    }

    /// Whether positions are being evaluated.
    pub(super) fn is_waiting(&self) -> bool {
        self.under_way > 0
    }

    /// Goes on with the tree of the search before, or looks at the root. What is limited by nodes always begins anew, so that it gives
    /// the same twice.
    pub(super) fn begin(&mut self) {
        let (task, allowed) = (self.task, self.task.moves());
        let legal = shakmaty::Position::legal_moves(task.game.position()).len();
        let goes_on = task.limits.nodes.is_none() && allowed.len() == legal;
        let below = task.kept.and_then(|kept| {
            if goes_on {
                // Held: the opponent has not moved yet.
                let spare = task.stop.is_held().then_some(task.memory / 4);
                return kept.below(task.game, task.conditions, spare);
            }
            // Its memory is this search's now.
            kept.clear();
            None
        });
        self.beside = task.kept.map_or(0, Kept::bytes);
        if let Some(nodes) = below {
            self.nodes = nodes;
            self.plies = self.nodes.plies();
            self.growth = Growth::from(self.depth(), self.nodes.root().visits);
            self.prune();
            return;
        }
        let evaluation = task.evaluator.glance(task.game, task.conditions);
        self.nodes.add(None);
        let moves = evaluation.moves.iter().filter(|e| allowed.contains(&e.m));
        self.nodes.open(0, moves.map(|e| (e.m, e.probability)));
        self.evaluated = 1;
        self.back_up(&[0], weighed(self.exchanges(), task.game, evaluation.wdl));
    }

    /// Decides how the root is searched, from the looks that there will be: known, or guessed from the pace of the search before.
    pub(super) fn plan(&mut self) {
        let task = self.task;
        let by_time = || {
            let pace = task.kept?.pace()?;
            Some((task.stop.remaining()?.as_secs_f64() / pace.as_secs_f64().max(1e-6)) as u64)
        };
        let budget = match task.limits.nodes {
            Some(nodes) => Some(nodes.saturating_sub(self.evaluated)),
            None => by_time(),
        };
        let visits = u64::from(self.nodes.root().visits) + budget.unwrap_or(0);
        self.weigh_moves(0, task.game);
        if let Some(mut due) = self.due(0, task.game, visits) {
            due.look(task.stop);
            self.mark(&due);
            self.settle(&due, &[0]);
        }
        if let Some(m) = saving_move(task.game.position()) {
            self.save(&[0], task.game, m);
        }
        let few = budget.filter(|&b| !self.wants_others() && b > 1 && b < self.params.halving.below);
        self.halving = few.map(|budget| Root::new(self.params.halving, &self.nodes, budget));
    }

    /// Gathers up to `batch` positions to be evaluated. There may be none: where all that is met is known, or waits for another walker.
    pub(super) fn gather(&mut self, batch: usize) -> Vec<Leaf> {
        let left = self.task.limits.nodes.map_or(u64::MAX, |most| most.saturating_sub(self.evaluated + self.under_way));
        let batch = batch.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut leaves: Vec<Leaf> = Vec::with_capacity(batch);
        // What is known without the network does not fill the batch; collisions would be met for ever.
        for _ in 0..4 * batch {
            if leaves.len() == batch || self.is_proved() {
                break;
            }
            let Some(leaf) = self.descend() else { break };
            match leaf.known {
                Some(score) => self.know(&leaf.path, score),
                None => {
                    leaf.path.iter().for_each(|&n| self.nodes.node_mut(n as usize).pending += 1);
                    if let Some(due) = &leaf.due {
                        self.mark(due);
                    }
                    leaves.push(leaf);
                }
            }
        }
        self.under_way += leaves.len() as u64;
        leaves
    }

    /// Brings the evaluations of gathered positions back to the root.
    pub(super) fn bring_back(&mut self, leaves: &[Leaf], found: Result<Vec<Evaluation>, Stopped>) {
        self.under_way -= leaves.len() as u64;
        for leaf in leaves {
            leaf.path.iter().for_each(|&n| self.nodes.node_mut(n as usize).pending -= 1);
            // Found before the network was asked, whatever came of that.
            if let Some(due) = &leaf.due {
                self.settle(due, &leaf.path);
            }
        }
        let Ok(evaluations) = found else {
            self.cut_short();
            return;
        };
        self.evaluated += evaluations.len() as u64;
        for (leaf, evaluation) in leaves.iter().zip(evaluations) {
            let Some(&last) = leaf.path.last() else { continue };
            self.nodes.open(last as usize, evaluation.moves.iter().map(|e| (e.m, e.probability)));
            self.back_up(&leaf.path, judged(&leaf.game, evaluation.wdl));
            if let Some(key) = self.key(&leaf.game) {
                self.nodes.note(last as usize, key);
            }
            if let Some(m) = saving_move(leaf.game.position()) {
                self.save(&leaf.path, &leaf.game, m);
            }
        }
    }

    /// Has the last node of a path, and those before it, know that a move of it draws at least.
    fn save(&mut self, path: &[u32], game: &Game, m: Move) {
        let Some(&at) = path.last() else { return };
        let Some(edge) = self.nodes.node(at as usize).edges.iter().position(|edge| edge.m == m) else { return };
        let child = match self.nodes.node(at as usize).edges[edge].child {
            Some(child) => child.get(),
            None => {
                let after = game.after(m);
                let known = ended(&after).or_else(|| self.endings(&after));
                self.nodes.add_child(at as usize, edge, known)
            }
        };
        self.nodes.draw_at_most(child);
        self.nodes.narrow(&[path, &[child]].concat());
    }

    /// Ends the search: positions under way were not evaluated.
    pub(super) fn cut_short(&mut self) {
        self.cut_short = true;
    }

    fn back_up(&mut self, path: &[u32], wdl: Wdl) {
        self.nodes.back_up(path, wdl);
        self.simulations += 1;
        self.plies += path.len() as u64 - 1;
        self.seldepth = self.seldepth.max(path.len() as u32 - 1);
        self.growth.note(self.depth(), self.simulations);
    }

    /// Adds a result that no network is needed for, and draws mates back as far as they are forced, and whatever else is certain.
    fn know(&mut self, path: &[u32], score: Score) {
        self.back_up(path, score.wdl());
        self.nodes.prove(path);
        self.nodes.narrow(path);
    }
}
