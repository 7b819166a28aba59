//! A tree that outlives its search: the next one goes on with the part that the game has come to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::report::MoveStats;
use super::nodes::{Edge, Nodes};
use crate::board::{Conditions, Game};

/// Plies that the game may have gone on since.
const FURTHEST: usize = 6;

/// The tree of the last search, for the next one. Empty at first.
#[derive(Default)]
pub struct Kept {
    /// The last tree; before it, while the opponent's move is only guessed, the one that it was taken from.
    trees: Mutex<Vec<Tree>>,
    /// Nanoseconds that a simulation of the last search took; 0 before any.
    pace: AtomicU64,
    /// The plies played before the last search, and the score that it expected.
    expected: Mutex<Option<(usize, f32)>>,
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
    fn trees(&self) -> MutexGuard<'_, Vec<Tree>> {
        // A panic elsewhere leaves nothing half done here.
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the tree.
    pub fn clear(&self) {
        self.trees().clear();
    }

    /// The most visited moves of the last search's tree: as many at each ply as `widths` says. Moves that were not tried are left out.
    pub fn branches(&self, widths: &[usize]) -> Vec<Branch> {
        self.trees().last().map_or_else(Vec::new, |tree| branches(&tree.nodes, 0, widths))
    }

    /// The time that a simulation of the last search took.
    pub(super) fn pace(&self) -> Option<Duration> {
        Some(self.pace.load(Ordering::Relaxed)).filter(|&n| n > 0).map(Duration::from_nanos)
    }

    pub(super) fn set_pace(&self, pace: Duration) {
        self.pace.store(pace.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The score that the same player expected at the move before, if that was searched.
    pub(super) fn expected(&self, game: &Game) -> Option<f32> {
        let expected = *self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.filter(|(plies, _)| plies + 2 == game.plies()).map(|(_, score)| score)
    }

    /// Bytes of what is kept.
    pub(super) fn bytes(&self) -> usize {
        self.trees().iter().map(|tree| tree.nodes.bytes()).sum()
    }

    pub(super) fn put(&self, nodes: Nodes, game: &Game, conditions: &Conditions) {
        let expected = (game.plies(), nodes.root().wdl().score());
        *self.expected.lock().unwrap_or_else(PoisonError::into_inner) = Some(expected);
        let tree = Tree { nodes, game: game.clone(), conditions: *conditions };
        self.trees().push(tree);
    }

    /// What is known below a position that the game has come to from one searched before, if the trees know it at all. They are
    /// forgotten, except that one of no more than `spare` bytes stays while the opponent has not moved yet: another move than the
    /// guessed one may come, and is in it too.
    pub(super) fn below(&self, game: &Game, conditions: &Conditions, spare: Option<usize>) -> Option<Nodes> {
        let mut trees = self.trees();
        let newest_first = std::mem::take(&mut *trees).into_iter().rev();
        let mut known = newest_first.filter(|tree| tree.conditions == *conditions);
        let (tree, at) = known.find_map(|tree| tree.find(game).map(|at| (tree, at)))?;
        let below = tree.nodes.below(at, 0);
        trees.extend(Some(tree).filter(|tree| spare.is_some_and(|bytes| tree.nodes.bytes() <= bytes)));
        Some(below)
    }
}

impl Tree {
    /// The node of a position that the game has come to, if there is one that was looked at.
    fn find(&self, game: &Game) -> Option<usize> {
        let plies = game.plies().checked_sub(self.game.plies()).filter(|p| (1..=FURTHEST).contains(p))?;
        let (mut at, mut now) = (0, self.game.clone());
        for left in (0..plies).rev() {
            // The board that the move is to lead to: one of those before the game's position, or its own.
            let wanted = match left {
                0 => shakmaty::Position::board(game.position()),
                _ => game.earlier().get(left - 1)?,
            };
            let (child, next) = self.nodes.node(at).edges.iter().find_map(|edge| {
                let next = now.after(edge.m);
                (shakmaty::Position::board(next.position()) == wanted).then_some((edge.child, next))
            })?;
            (at, now) = (child?.get() as usize, next);
        }
        // The same boards and the same rights, repetitions and counters.
        let node = self.nodes.node(at);
        (now == *game && node.visits > 0 && !node.edges.is_empty()).then_some(at)
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
