//! The nodes of a tree, what is known of each, and how results travel up.

mod bounds;

use std::num::NonZeroU32;

use shakmaty::{Move, Position};

use super::places::{self, Key, Places};
use crate::board::Game;
use crate::evaluate::Wdl;
use crate::search::mate::mating_move;
use crate::search::outcome::Bounds;
use crate::search::quiescence::Exchanges;
use crate::search::report::{MoveStats, Score};
use crate::search::tactics::Known;

/// A move at a node.
#[derive(Clone)]
pub(super) struct Edge {
    pub(super) m: Move,
    pub(super) prior: f32,
    /// Pawns that the prior takes it to win.
    pub(super) pawns: f32,
    /// The root is nobody's child, so no child has number 0.
    pub(super) child: Option<NonZeroU32>,
}

/// A position of the tree.
#[derive(Clone, Default)]
pub(super) struct Node {
    /// The move with the greatest prior first; empty until the network has looked, where the game is over, and where memory was short.
    pub(super) edges: Vec<Edge>,
    pub(super) visits: u32,
    /// Visits under way in the batch at hand.
    pub(super) pending: u32,
    /// Sums over the visits, for the player to move.
    win: f64,
    draw: f64,
    loss: f64,
    /// The exact score, for the player to move.
    pub(super) proved: Option<Score>,
    /// The plies before exchanges that its priors know of; until there are any they are the network's.
    pub(super) weighed: Option<u32>,
    /// What is certain of it by its moves, for the player to move.
    bounds: Bounds,
    /// Plies until a win or a loss is certain even to tablebases, where it is one.
    far: u32,
    /// Positions of mates by checks that were looked at.
    pub(super) checks: u32,
    /// What its position is found by, where other ways may lead to it too.
    key: Option<Key>,
}

impl Node {
    /// The mean over the visits; certain where it is proved.
    pub(super) fn wdl(&self) -> Wdl {
        let n = f64::from(self.visits.max(1));
        match self.proved {
            Some(score) => score.wdl(),
            None => self.bounds.hold(Wdl {
                win: (self.win / n) as f32,
                draw: (self.draw / n) as f32,
                loss: (self.loss / n) as f32,
            }),
        }
    }

    /// The node without what is below it: its moves are asked for anew when it is visited again.
    fn folded(&self) -> Node {
        let Node { visits, win, draw, loss, proved, bounds, far, checks, .. } = *self;
        Node { visits, win, draw, loss, proved, bounds, far, checks, ..Node::default() }
    }

    fn bytes(&self) -> usize {
        size_of::<Node>() + places::BYTES + self.edges.capacity() * size_of::<Edge>()
    }
}

/// All nodes; the first is the root.
#[derive(Clone, Default)]
pub(super) struct Nodes {
    all: Vec<Node>,
    bytes: usize,
    places: Places,
}

impl Nodes {
    pub(super) fn node(&self, at: usize) -> &Node {
        &self.all[at]
    }

    pub(super) fn node_mut(&mut self, at: usize) -> &mut Node {
        &mut self.all[at]
    }

    pub(super) fn root(&self) -> &Node {
        &self.all[0]
    }

    /// Bytes that the tree holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn child(&self, edge: &Edge) -> Option<&Node> {
        edge.child.map(|child| &self.all[child.get() as usize])
    }

    pub(super) fn visits(&self, edge: &Edge) -> u32 {
        self.child(edge).map_or(0, |child| child.visits)
    }

    /// Whether there is more to be found of a move.
    pub(super) fn is_open(&self, edge: &Edge) -> bool {
        self.child(edge).is_none_or(|child| child.proved.is_none())
    }

    /// What is known of a move.
    pub(super) fn stats(&self, edge: &Edge) -> MoveStats {
        let known = self.child(edge).filter(|c| c.visits > 0 || c.proved.is_some());
        let score = known.map(|c| c.proved.unwrap_or(Score::Expected(c.wdl())).before_move());
        MoveStats { m: edge.m, visits: self.visits(edge), prior: edge.prior, score }
    }

    /// The plies that all simulations together went down from the root, as far as nodes are left to tell: every visit of one below it is one.
    pub(super) fn plies(&self) -> u64 {
        self.all.iter().skip(1).map(|node| u64::from(node.visits)).sum()
    }

    /// A new node; returns its number.
    pub(super) fn add(&mut self, proved: Option<Score>) -> u32 {
        let node = Node { proved, ..Node::default() };
        self.bytes += node.bytes();
        self.all.push(node);
        self.all.len() as u32 - 1
    }

    /// A new node behind an edge.
    pub(super) fn add_child(&mut self, at: usize, edge: usize, proved: Option<Score>) -> u32 {
        let child = self.add(proved);
        self.all[at].edges[edge].child = NonZeroU32::new(child);
        child
    }

    /// Gives a node its moves with their probabilities.
    pub(super) fn open(&mut self, at: usize, moves: impl Iterator<Item = (Move, f32)>) {
        let node = &mut self.all[at];
        node.edges = moves.map(|(m, prior)| Edge { m, prior, pawns: 0.0, child: None }).collect();
        node.edges.shrink_to_fit();
        self.bytes += node.edges.capacity() * size_of::<Edge>();
    }

    /// Takes a node that was looked at to be the one to know its position by.
    pub(super) fn note(&mut self, at: usize, key: Key) {
        self.all[at].key = Some(key);
        self.places.note(key, at as u32);
    }

    /// Gives a new node the moves of one with the same position, and what is known of them; returns what that is worth by now. Nothing where
    /// there is none, or its value is exact: it may be so only on the way to it.
    pub(super) fn take_over(&mut self, at: usize, key: Key) -> Option<Wdl> {
        let same = self.node(self.places.find(key)? as usize);
        if same.edges.is_empty() || same.visits == 0 || same.proved.is_some() {
            return None;
        }
        let wdl = same.wdl();
        let (edges, weighed, checks) = (same.edges.clone(), same.weighed, same.checks);
        let node = &mut self.all[at];
        (node.edges, node.weighed, node.checks, node.key) = (edges, weighed, checks, Some(key));
        node.edges.iter_mut().for_each(|edge| edge.child = None);
        self.bytes += node.edges.capacity() * size_of::<Edge>();
        Some(wdl)
    }

    /// Takes a node's priors to the power of one over the temperature, normalised.
    pub(super) fn even_out(&mut self, at: usize, temperature: f32) {
        if temperature == 1.0 {
            return;
        }
        let edges = &mut self.all[at].edges;
        edges.iter_mut().for_each(|e| e.prior = e.prior.powf(1.0 / temperature));
        normalise(edges);
    }

    /// The moves of a node, and what is known of them.
    pub(super) fn known(&self, at: usize) -> Vec<Known> {
        self.all[at].edges.iter().map(|e| Known { m: e.m, probability: e.prior, pawns: e.pawns }).collect()
    }

    /// Leans a node's priors to what its moves are now known to win.
    pub(super) fn weigh(&mut self, at: usize, known: &[Known], exchanges: &Exchanges) {
        let edges = &mut self.all[at].edges;
        for edge in edges.iter_mut() {
            // Their order may have changed meanwhile.
            let Some(now) = known.iter().find(|known| known.m == edge.m) else { continue };
            edge.prior *= exchanges.factor(edge.pawns, now.pawns);
            edge.pawns = now.pawns;
        }
        normalise(edges);
        edges.sort_by(|a, b| b.prior.total_cmp(&a.prior));
    }

    /// Proves a new node where a move mates: no network is asked what the rules know, and it would try such a move late.
    pub(super) fn mate_at_once(&mut self, at: usize, game: &Game) -> Option<Score> {
        let m = mating_move(game.position(), &game.position().legal_moves())?;
        self.open(at, std::iter::once((m, 1.0)));
        self.add_child(at, 0, Some(Score::Mate(0)));
        self.all[at].proved = Some(Score::Mate(1));
        self.all[at].proved
    }

    /// Proves a node by a line of moves that ends in mate, and writes what follows below it.
    pub(super) fn mate(&mut self, mut at: usize, line: &[Move]) {
        for (i, &m) in line.iter().enumerate() {
            self.all[at].proved = Some(Score::mate_after(line.len() - i));
            if self.all[at].edges.is_empty() {
                self.open(at, std::iter::once((m, 1.0)));
            }
            let Some(edge) = self.all[at].edges.iter().position(|e| e.m == m) else { return };
            at = match self.all[at].edges[edge].child {
                Some(child) => child.get() as usize,
                None => self.add_child(at, edge, None) as usize,
            };
        }
        self.all[at].proved = Some(Score::mate_after(0));
    }

    /// Adds a result, as the player to move at the end of the path sees it, to every node of the path.
    pub(super) fn back_up(&mut self, path: &[u32], mut wdl: Wdl) {
        for &at in path.iter().rev() {
            let node = &mut self.all[at as usize];
            wdl = node.bounds().hold(wdl);
            node.visits += 1;
            node.win += f64::from(wdl.win);
            node.draw += f64::from(wdl.draw);
            node.loss += f64::from(wdl.loss);
            wdl = wdl.flipped();
        }
    }

    /// Draws a mate at the end of a path back as far as it is forced.
    pub(super) fn prove(&mut self, path: &[u32]) {
        for &at in path.iter().rev().skip(1) {
            let Some(score) = self.forced(at as usize) else { break };
            self.all[at as usize].proved = Some(score);
        }
    }

    /// The mate at a node, if its moves force one: the shortest for the player to move, else the longest against him.
    fn forced(&self, at: usize) -> Option<Score> {
        let proved = |edge: &Edge| {
            let score = self.child(edge)?.proved?;
            matches!(score, Score::Mate(_)).then(|| score.before_move())
        };
        let edges = &self.all[at].edges;
        let best = edges.iter().filter_map(proved).max_by(|a, b| a.order().total_cmp(&b.order()))?;
        let wins = matches!(best, Score::Mate(n) if n > 0);
        // Losing takes all legal moves; the root may have been given only some of them, and then that is the question.
        (wins || edges.iter().all(|e| proved(e).is_some())).then_some(best)
    }

    /// The move expected at a node: the one that proves its score, or the most visited.
    pub(super) fn best<'a>(&'a self, node: &'a Node) -> Option<&'a Edge> {
        if matches!(node.proved, Some(Score::Mate(_))) {
            let score = |e: &&Edge| self.child(e).and_then(|c| c.proved).map(Score::before_move);
            let of_mate = node.edges.iter().filter(|e| matches!(score(e), Some(Score::Mate(_))));
            return of_mate.max_by(|a, b| {
                let order = |e: &&Edge| score(e).map_or(f32::NEG_INFINITY, Score::order);
                order(a).total_cmp(&order(b))
            });
        }
        node.edges.iter().filter(|e| self.visits(e) > 0).max_by_key(|e| self.visits(e))
    }

    /// The tree below a node, which becomes the root, without what is below the nodes that were visited less than `least` times: of these
    /// only what they are worth stays. Where a mate is proved, so does its proof.
    pub(super) fn below(&self, root: usize, least: u32) -> Nodes {
        let mut kept =
            Nodes { all: vec![self.all[root].clone()], bytes: self.all[root].bytes(), places: Places::default() };
        // However it ends, of a root it is asked by which move.
        kept.all[0].proved = kept.all[0].proved.filter(|score| matches!(score, Score::Mate(_)));
        let mut next = 0;
        while next < kept.all.len() {
            let mut edges = std::mem::take(&mut kept.all[next].edges);
            for edge in &mut edges {
                let Some(child) = edge.child else { continue };
                let child = &self.all[child.get() as usize];
                let open = child.visits >= least || matches!(child.proved, Some(Score::Mate(_)));
                let child = if open { child.clone() } else { child.folded() };
                kept.bytes += child.bytes();
                kept.all.push(child);
                edge.child = NonZeroU32::new(kept.all.len() as u32 - 1);
            }
            kept.all[next].edges = edges;
            next += 1;
        }
        kept.find_places();
        kept
    }

    /// Has the places of all positions known, of several the most visited.
    fn find_places(&mut self) {
        for (at, node) in (0..).zip(&self.all) {
            let Some(key) = node.key else { continue };
            let other = self.places.find(key).map(|other| &self.all[other as usize]);
            if other.is_none_or(|other| other.visits <= node.visits) {
                self.places.note(key, at);
            }
        }
    }

    /// Lets what is below the least visited nodes go until at most `bytes` are held, or nothing but the root and its moves. What was found
    /// below a node stays in its value, so that nobody need look for it again.
    pub(super) fn prune(&mut self, bytes: usize) {
        let mut least = 2;
        while self.bytes > bytes && self.all.len() > 1 {
            *self = self.below(0, least);
            if least > self.all[0].visits {
                break;
            }
            least = least.saturating_mul(2);
        }
    }
}

fn normalise(edges: &mut [Edge]) {
    let sum = edges.iter().map(|e| e.prior).sum::<f32>().max(f32::MIN_POSITIVE);
    edges.iter_mut().for_each(|e| e.prior /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn m(text: &str) -> Move {
        Game::default().parse_uci(text).expect("legal")
    }

    impl Nodes {
        /// What a new node gets of another with this key: its value, and the first of its moves.
        fn take_over_by_new(&self, key: Key) -> Option<(Wdl, Move)> {
            let mut nodes = self.clone();
            let new = nodes.add(None) as usize;
            nodes.take_over(new, key).map(|wdl| (wdl, nodes.node(new).edges[0].m))
        }
    }

    /// A root with two moves; below the first, two visits and one child that has one.
    fn tree() -> Nodes {
        let mut nodes = Nodes::default();
        nodes.add(None);
        nodes.open(0, [(m("e2e4"), 0.6), (m("d2d4"), 0.4)].into_iter());
        nodes.back_up(&[0], Wdl::DRAW);
        let first = nodes.add_child(0, 0, None);
        nodes.open(first as usize, [(m("g1f3"), 1.0)].into_iter());
        nodes.back_up(&[0, first], Wdl::LOSS);
        let second = nodes.add_child(first as usize, 0, None);
        nodes.back_up(&[0, first, second], Wdl::DRAW);
        let other = nodes.add_child(0, 1, None);
        nodes.back_up(&[0, other], Wdl::DRAW);
        nodes
    }

    #[test]
    fn results_travel_up_and_turn_over() {
        let nodes = tree();
        assert_eq!(nodes.root().visits, 4);
        assert_eq!(nodes.root().wdl().win, 0.25);
        let first = nodes.best(nodes.root()).expect("visited");
        assert_eq!((first.m, nodes.visits(first)), (m("e2e4"), 2));
        assert_eq!(nodes.child(first).expect("a node").wdl().loss, 0.5);
    }

    #[test]
    fn a_line_to_mate_proves_what_it_passes() {
        let mut nodes = tree();
        let line = ["e2e4", "g1f3", "b1c3"].map(m);
        nodes.mate(0, &line);
        let mut at = nodes.root();
        for (&m, score) in line.iter().zip([2, -1, 1]) {
            assert_eq!(at.proved, Some(Score::Mate(score)));
            let edge = nodes.best(at).expect("a move that mates");
            assert_eq!(edge.m, m);
            at = nodes.child(edge).expect("what follows");
        }
        assert_eq!((at.proved, at.edges.len()), (Some(Score::Mate(0)), 0));
        // What was there is still there.
        assert_eq!((nodes.root().visits, nodes.root().edges.len()), (4, 2));
    }

    #[test]
    fn priors_are_evened_out() {
        let priors = |temperature| {
            let mut nodes = tree();
            nodes.even_out(0, temperature);
            nodes.root().edges.iter().map(|e| e.prior).collect::<Vec<f32>>()
        };
        assert_eq!(priors(1.0), [0.6, 0.4]);
        // √0.6 : √0.4
        let even = priors(2.0);
        assert!(
            (even[0] / even[1] - 1.5_f32.sqrt()).abs() < 1e-6 && (even[0] + even[1] - 1.0).abs() < 1e-6,
            "{even:?}"
        );
    }

    #[test]
    fn priors_lean_to_what_is_known_last_and_are_put_in_order() {
        let mut nodes = Nodes::default();
        nodes.add(None);
        nodes.open(0, [(m("e2e4"), 0.6), (m("d2d4"), 0.4)].into_iter());
        let exchanges = Exchanges { settled: 0.0, standing: 0.0, choice: 2.0, hope: 0.0, tries: 1, deeper: 8 };
        let priors = |nodes: &Nodes| nodes.root().edges.iter().map(|e| (e.m, e.prior)).collect::<Vec<_>>();
        for (pawns, first) in [(2.0, m("d2d4")), (-1.0, m("e2e4"))] {
            let mut known = nodes.known(0);
            known.iter_mut().find(|known| known.m == m("d2d4")).expect("one of the two").pawns = pawns;
            nodes.weigh(0, &known, &exchanges);
            let found = priors(&nodes);
            let leaning = 0.4 * (2.0 * (pawns / 5.0).tanh()).exp();
            let second = leaning / (leaning + 0.6);
            let wanted = found.iter().find(|found| found.0 == m("d2d4")).expect("one of the two").1;
            assert!(found[0].0 == first && (wanted - second).abs() < 1e-6, "{found:?}, not {second}");
        }
    }

    #[test]
    fn a_node_takes_over_what_one_with_the_same_position_knows() {
        let key = |n| Key::new(n).expect("not zero");
        let mut nodes = tree();
        let known = (nodes.node(1).wdl(), nodes.node(1).edges[0].m);
        nodes.note(1, key(7));
        assert_eq!(nodes.take_over(3, key(8)), None);
        let part = |nodes: &Nodes| (nodes.take_over_by_new(key(7)), nodes.take_over_by_new(key(8)));
        assert_eq!(part(&nodes), (Some(known), None));
        // Wherever it is in what is left of the tree, and whoever of the two is left.
        assert_eq!(part(&nodes.below(1, 0)), (Some(known), None));
        assert_eq!(part(&nodes.below(0, 2)), (Some(known), None));
        let bytes = nodes.bytes();
        nodes.take_over(3, key(7));
        assert!(nodes.bytes() > bytes && nodes.node(3).edges[0].child.is_none());
        let other = nodes.node(3).wdl();
        assert_eq!(part(&nodes.below(3, 0)), (Some((other, known.1)), None));
        // The one that was visited more often.
        assert_eq!(part(&nodes.below(0, 0)), (Some(known), None));
        (0..3).for_each(|_| nodes.back_up(&[3], Wdl::WIN));
        assert_eq!(part(&nodes.below(0, 0)), (Some((nodes.node(3).wdl(), known.1)), None));
        // What is exact need not be so on another way.
        nodes.node_mut(1).proved = Some(Score::Expected(Wdl::DRAW));
        assert_eq!(part(&nodes), (None, None));
    }

    #[test]
    fn a_part_of_the_tree_keeps_what_it_knows() {
        let nodes = tree();
        let part = nodes.below(1, 0);
        assert_eq!((part.root().visits, part.root().wdl().loss), (2, 0.5));
        assert_eq!(part.visits(&part.root().edges[0]), 1);
        assert!(part.bytes() < nodes.bytes());
        // What was visited once has no moves any more, and is worth what it was; then what was visited twice has none.
        let mut pruned = nodes.clone();
        pruned.open(3, [(m("a2a3"), 1.0)].into_iter());
        pruned.node_mut(3).weighed = Some(0);
        for (bytes, left) in [(pruned.bytes() - 1, 4), (0, 3)] {
            pruned.prune(bytes);
            assert_eq!((pruned.all.len(), pruned.root().visits, pruned.root().edges.len()), (left, 4, 2));
            let known =
                |nodes: &Nodes| [0, 1].map(|i| nodes.child(&nodes.root().edges[i]).map(|c| (c.visits, c.wdl())));
            assert_eq!(known(&pruned), known(&nodes));
            assert_eq!(pruned.node(2).edges.len() + usize::from(pruned.node(2).weighed.is_some()), 0);
            assert_eq!(pruned.bytes(), pruned.all.iter().map(Node::bytes).sum::<usize>());
        }
    }
}
