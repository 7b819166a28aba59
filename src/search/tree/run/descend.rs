//! The way from the root to a position that nobody has looked at.

use super::super::nodes::{Edge, Node};
use super::super::places;
use super::{Leaf, Run};
use crate::board::Game;
use crate::evaluate::Wdl;
use crate::search::ends::ended;
use crate::search::report::Score;

/// Plies from the root that a simulation goes at most.
const DEEPEST: usize = 200;

impl Run<'_> {
    /// Walks down to a position without an evaluation, or with an exact score; `None` where another simulation of the
    /// same batch is waiting already.
    pub(super) fn descend(&mut self) -> Option<Leaf> {
        let mut path = vec![0_u32];
        let mut game = self.task.game.clone();
        let mut at = 0_usize;
        let mut due = None;
        loop {
            self.weigh_moves(at, &game);
            // Halving has its own moves of the root, by their places.
            if due.is_none() && (at > 0 || self.halving.is_none()) {
                due = self.due(at, &game, self.nodes.node(at).visits.into());
            }
            // Where all moves considered are proved, the others are tried by their bounds.
            let considered = match &mut self.halving {
                Some(root) if at == 0 => root.select(&self.nodes),
                _ => None,
            };
            let edge = considered.or_else(|| self.select(at))?;
            game.play(self.nodes.node(at).edges[edge].m);
            match self.nodes.node(at).edges[edge].child {
                Some(child) => {
                    path.push(child.get());
                    at = child.get() as usize;
                    let node = self.nodes.node(at);
                    let tired = path.len() > DEEPEST;
                    if let Some(score) = node.proved.or_else(|| tired.then(|| Score::Expected(node.wdl()))) {
                        return Some(Leaf { path, game, known: Some(score), due });
                    }
                    if node.edges.is_empty() && node.pending > 0 {
                        return None;
                    }
                    if node.edges.is_empty() {
                        // A batch that was cut short left it so, it was a draw, or its moves made room.
                        let known = self.repeated(&path, &game);
                        return Some(Leaf { path, game, known, due });
                    }
                }
                None => {
                    let known = ended(&game).or_else(|| self.endings(&game));
                    let child = self.nodes.add_child(at, edge, known);
                    path.push(child);
                    let known = known.or_else(|| self.repeated(&path, &game));
                    // Who mates at once where another way led to was seen to there.
                    let known = known.or_else(|| self.transposed(child as usize, &game));
                    let known = known.or_else(|| self.nodes.mate_at_once(child as usize, &game));
                    return Some(Leaf { path, game, known, due });
                }
            }
        }
    }

    /// A draw, where a way from the root has come back to a position on it: whoever wants to may go round once more. It is none for ever: once
    /// the root has moved on, the first time may have been before it.
    fn repeated(&self, path: &[u32], game: &Game) -> Option<Score> {
        (self.params.repetitions && game.recurs_within(path.len() - 1)).then_some(Score::Expected(Wdl::DRAW))
    }

    /// What the position of a new node is worth by now, where another way has led to it before.
    fn transposed(&mut self, at: usize, game: &Game) -> Option<Score> {
        let key = self.key(game)?;
        self.nodes.take_over(at, key).map(Score::Expected)
    }

    /// What a position is found by where another way leads to it, if it is to be.
    pub(super) fn key(&self, game: &Game) -> Option<places::Key> {
        places::key(game).filter(|_| self.params.transpositions)
    }

    /// What tablebases know, for the player to move.
    pub(super) fn endings(&mut self, game: &Game) -> Option<Score> {
        let wdl = self.task.endings?.outcome(game)?;
        self.tbhits += 1;
        Some(Score::Expected(wdl))
    }

    /// The edge with the greatest upper bound; moves that are proved to lose stand back.
    fn select(&self, at: usize) -> Option<usize> {
        let node = self.nodes.node(at);
        let n = (node.visits + node.pending) as f32;
        let tried: f32 = node.edges.iter().filter(|e| self.nodes.visits(e) > 0).map(|e| e.prior).sum();
        let untried = node.wdl().balance() - self.params.fpu_reduction * tried.sqrt();
        // What is seen to win more than all that was tried is tried next, and more than once, however improbable: a small network overlooks
        // sacrifices, before they are made and right after.
        let hope = self.hope(node);
        let c = self.params.c_puct + self.params.c_factor * ((n + self.params.c_base) / self.params.c_base).ln();
        let c = c * n.max(1.0).sqrt();
        let bound = |edge: &Edge| {
            let Some(child) = self.nodes.child(edge) else {
                return untried + hope(edge) + c * edge.prior;
            };
            let lost = matches!(child.proved, Some(Score::Mate(n)) if n > 0);
            let value = if child.visits > 0 || child.proved.is_some() { -child.wdl().balance() } else { untried };
            let hope = if child.proved.is_some() { 0.0 } else { hope(edge) };
            let value = if hope > 0.0 { value.max(untried + hope) } else { value };
            let value = child.bounds().flipped().hold_balance(value);
            let bound = value + c * edge.prior / (1 + child.visits + child.pending) as f32;
            // Nor is there more to be found where other lines are wanted.
            let told = at == 0 && self.wants_others() && !self.nodes.is_open(edge);
            if lost || told { bound - 1e6 } else { bound }
        };
        let bounds = node.edges.iter().map(bound).enumerate();
        bounds.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(i, _)| i)
    }

    /// How much better than its position each move of a node is taken to be by what it wins, beyond those that were tried; nothing for these.
    fn hope(&self, node: &Node) -> impl Fn(&Edge) -> f32 {
        let most = self.exchanges().map(|exchanges| {
            let visits = |child: &Node| child.visits + child.pending;
            let tried = |edge: &&Edge| self.nodes.child(edge).is_some_and(|child| visits(child) >= exchanges.tries);
            (exchanges, node.edges.iter().filter(tried).map(|edge| edge.pawns).fold(f32::NEG_INFINITY, f32::max))
        });
        move |edge| most.map_or(0.0, |(exchanges, most)| exchanges.hope(most, edge.pawns))
    }
}
