//! A tree that outlives its search: the next one goes on with the part that the game has come to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::super::report::MoveStats;
use super::nodes::{Edge, Nodes};
use crate::board::{Conditions, Game};

/// Plies that the game may have gone on since.
const FURTHEST: usize = 6;

/// The tree of the last search, for the next one. Empty at first.
#[derive(Default)]
pub struct Kept {
    tree: Mutex<Option<Tree>>,
    /// Nanoseconds that a simulation of the last search took; 0 before any.
    pace: AtomicU64,
}

struct Tree {
    nodes: Nodes,
    game: Game,
    conditions: Conditions,
}

/// A move of a tree with what follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// What is known of it.
    pub stats: MoveStats,
    /// The answers to it, the most visited first.
    pub replies: Vec<Branch>,
}

impl Kept {
    /// Forgets the tree.
    pub fn clear(&self) {
        self.take();
    }

    /// The most visited moves of the last search's tree: as many at each ply as `widths` says. Moves that were not tried are left out.
    pub fn branches(&self, widths: &[usize]) -> Vec<Branch> {
        let tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        tree.as_ref().map_or_else(Vec::new, |tree| branches(&tree.nodes, 0, widths))
    }

    /// The time that a simulation of the last search took.
    pub(super) fn pace(&self) -> Option<Duration> {
        Some(self.pace.load(Ordering::Relaxed)).filter(|&n| n > 0).map(Duration::from_nanos)
    }

    pub(super) fn set_pace(&self, pace: Duration) {
        self.pace.store(pace.as_nanos() as u64, Ordering::Relaxed);
    }

    fn take(&self) -> Option<Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn put(&self, nodes: Nodes, game: &Game, conditions: &Conditions) {
        let tree = Tree { nodes, game: game.clone(), conditions: *conditions };
        *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree);
    }

    /// What is known below a position that the game has come to from the one searched last, if the tree knows it at all. The tree is
    /// taken out.
    pub(super) fn below(&self, game: &Game, conditions: &Conditions) -> Option<Nodes> {
        let tree = self.take().filter(|t| t.conditions == *conditions)?;
        let plies = game.plies().checked_sub(tree.game.plies()).filter(|p| (1..=FURTHEST).contains(p))?;
        let (mut at, mut now) = (0, tree.game.clone());
        for left in (0..plies).rev() {
            // The board that the move is to lead to: one of those before the game's position, or its own.
            let wanted = match left {
                0 => shakmaty::Position::board(game.position()),
                _ => game.earlier().get(left - 1)?,
            };
            let (child, next) = tree.nodes.node(at).edges.iter().find_map(|edge| {
                let next = now.after(edge.m);
                (shakmaty::Position::board(next.position()) == wanted).then_some((edge.child, next))
            })?;
            (at, now) = (child?.get() as usize, next);
        }
        // The same boards and the same rights, repetitions and counters.
        let node = tree.nodes.node(at);
        (now == *game && node.visits > 0 && !node.edges.is_empty()).then(|| tree.nodes.below(at, 0))
    }
}

fn branches(nodes: &Nodes, at: usize, widths: &[usize]) -> Vec<Branch> {
    let Some((&width, deeper)) = widths.split_first() else { return Vec::new() };
    let mut edges: Vec<&Edge> = nodes.node(at).edges.iter().filter(|e| nodes.visits(e) > 0).collect();
    edges.sort_by_key(|e| std::cmp::Reverse(nodes.visits(e)));
    let branch = |edge: &&Edge| Branch {
        stats: nodes.stats(edge),
        replies: edge.child.map_or_else(Vec::new, |child| branches(nodes, child.get() as usize, deeper)),
    };
    edges.iter().take(width).map(branch).collect()
}
