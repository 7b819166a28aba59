//! What is certain of nodes, and how that travels up: a move that leads to a certain draw is worth no less to who may play it, and where all
//! moves lead to no more, nothing is. (Winands, Björnsson and Saito 2008 have it of wins and losses; Cazenave and Saffidine 2010 of draws too.)

use super::{Edge, Node, Nodes};
use crate::evaluate::Wdl;
use crate::search::outcome::{Bounds, Outcome};
use crate::search::report::Score;

impl Node {
    /// What is certain of it, for the player to move.
    pub(in crate::search::tree) fn bounds(&self) -> Bounds {
        self.proved.map_or(self.bounds, |score| Bounds::of(score).and(self.bounds))
    }

    /// Plies until a win or a loss is one to tablebases too, or mate.
    pub(in crate::search::tree) fn far(&self) -> u32 {
        match self.proved {
            Some(Score::Mate(n)) => n.unsigned_abs().saturating_mul(2),
            _ => self.far,
        }
    }
}

impl Nodes {
    /// Has the nodes of a path know what follows from what is certain of its last one.
    pub(in crate::search::tree) fn narrow(&mut self, path: &[u32]) {
        // Most ends are not: positions that another way has led to, or that come up again.
        if path.last().is_none_or(|&last| self.all[last as usize].bounds() == Bounds::default()) {
            return;
        }
        for above in (1..path.len()).rev().map(|end| &path[..end]) {
            let Some(&at) = above.last() else { break };
            let (found, far) = self.by_moves(at as usize);
            let node = &mut self.all[at as usize];
            let bounds = node.bounds.and(found);
            if bounds == node.bounds {
                break;
            }
            (node.bounds, node.far) = (bounds, far);
            self.hold(above);
        }
    }

    /// Takes it to be certain that who is to move at a node has no more than a draw.
    pub(in crate::search::tree) fn draw_at_most(&mut self, at: u32) {
        let node = &mut self.all[at as usize];
        node.bounds = node.bounds.and(Bounds { most: Outcome::Draw, ..Bounds::default() });
    }

    /// What is certain of a move, for who makes it, and after how many plies.
    pub(in crate::search::tree) fn certain(&self, edge: &Edge) -> (Bounds, u32) {
        self.child(edge).map_or_else(Default::default, |child| (child.bounds().flipped(), child.far()))
    }

    /// What is certain of a node by what is of its moves, and after how many plies.
    fn by_moves(&self, at: usize) -> (Bounds, u32) {
        let moves: Vec<(Bounds, u32)> = self.all[at].edges.iter().map(|edge| self.certain(edge)).collect();
        let best = |a: Bounds, b: Bounds| Bounds { least: a.least.max(b.least), most: a.most.max(b.most) };
        let bounds = moves.iter().map(|known| known.0).reduce(best).unwrap_or_default();
        let far = |known: &(Bounds, u32)| known.1;
        // The soonest win, or the latest loss.
        let wins = moves.iter().filter(|(bounds, _)| bounds.least == Outcome::Win).map(far).min();
        (bounds, wins.or_else(|| moves.iter().map(far).max()).map_or(0, |far| far.saturating_add(1)))
    }

    /// Takes what cannot be out of what the last node of a path is worth, and out of what it gave to those before it.
    fn hold(&mut self, path: &[u32]) {
        let Some((&last, above)) = path.split_last() else { return };
        let node = &mut self.all[last as usize];
        let visits = f64::from(node.visits.max(1));
        let before = [node.win, node.draw, node.loss];
        let [win, draw, loss] = before.map(|sum| (sum / visits) as f32);
        let held = node.bounds.hold(Wdl { win, draw, loss });
        let now = [held.win, held.draw, held.loss].map(|mean| f64::from(mean) * f64::from(node.visits));
        [node.win, node.draw, node.loss] = now;
        // Of a root it is asked by which move.
        if let Some(outcome) = node.bounds.exact().filter(|_| !above.is_empty() && node.proved.is_none()) {
            node.proved = Some(Score::Expected(outcome.wdl()));
        }
        let mut more = [now[0] - before[0], now[1] - before[1], now[2] - before[2]];
        for &at in above.iter().rev() {
            more.swap(0, 2);
            let node = &mut self.all[at as usize];
            node.win += more[0];
            node.draw += more[1];
            node.loss += more[2];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;
    use shakmaty::Move;

    fn m(text: &str) -> Move {
        Game::default().parse_uci(text).expect("legal")
    }

    /// A root with two moves, the first with two answers, all of them expected to be won by who plays them at the root.
    fn tree() -> Nodes {
        let mut nodes = Nodes::default();
        nodes.add(None);
        nodes.open(0, [(m("e2e4"), 0.6), (m("d2d4"), 0.4)].into_iter());
        let first = nodes.add_child(0, 0, None) as usize;
        nodes.open(first, [(m("g1f3"), 0.5), (m("g1h3"), 0.5)].into_iter());
        for (path, wdl) in [(vec![0, 1], Wdl::LOSS), (vec![0, nodes.add_child(0, 1, None)], Wdl::LOSS)] {
            nodes.back_up(&path, wdl);
        }
        for edge in 0..2 {
            let answer = nodes.add_child(first, edge, None);
            nodes.back_up(&[0, 1, answer], Wdl::WIN);
        }
        nodes
    }

    fn prove(nodes: &mut Nodes, path: &[u32], score: Score) {
        nodes.all[*path.last().expect("a node") as usize].proved = Some(score);
        nodes.narrow(path);
    }

    #[test]
    fn an_answer_that_draws_for_certain_takes_the_win_out_of_what_was_expected() {
        let mut nodes = tree();
        assert_eq!((nodes.root().wdl(), nodes.node(1).wdl()), (Wdl::WIN, Wdl::LOSS));
        prove(&mut nodes, &[0, 1, 3], Score::Expected(Wdl::DRAW));
        // Of four visits of the root three went there.
        assert_eq!((nodes.node(1).wdl(), nodes.root().wdl()), (Wdl::DRAW, Wdl { win: 0.25, draw: 0.75, loss: 0.0 }));
        let drawn_at_least = Bounds { least: Outcome::Draw, most: Outcome::Win };
        assert_eq!((nodes.node(1).bounds(), nodes.node(1).proved), (drawn_at_least, None));
        // The other move may still win.
        assert_eq!(nodes.root().bounds(), Bounds::default());
        // What is brought back later cannot say otherwise.
        nodes.back_up(&[0, 1, 4], Wdl::WIN);
        assert_eq!(nodes.node(1).wdl(), Wdl::DRAW);
    }

    #[test]
    fn what_all_moves_lead_to_is_certain() {
        let mut nodes = tree();
        prove(&mut nodes, &[0, 1, 3], Score::Expected(Wdl::DRAW));
        prove(&mut nodes, &[0, 1, 4], Score::Expected(Wdl::WIN));
        assert_eq!(nodes.node(1).proved, Some(Score::Expected(Wdl::DRAW)));
        prove(&mut nodes, &[0, 2], Score::Expected(Wdl::DRAW));
        assert_eq!((nodes.root().bounds(), nodes.root().proved), (Bounds::exactly(Outcome::Draw), None));
        assert_eq!(nodes.root().wdl(), Wdl::DRAW);
    }

    #[test]
    fn the_soonest_win_is_told_apart() {
        let mut nodes = tree();
        for answer in [3, 4] {
            prove(&mut nodes, &[0, 1, answer], Score::Expected(Wdl::WIN));
        }
        assert_eq!((nodes.node(1).proved, nodes.node(1).far()), (Some(Score::Expected(Wdl::LOSS)), 1));
        assert_eq!((nodes.root().bounds().least, nodes.root().far()), (Outcome::Win, 2));
        // Still so where the tree goes on, whose root is asked for its move.
        let below = nodes.below(1, 0);
        assert_eq!((below.root().proved, below.root().bounds()), (None, Bounds::exactly(Outcome::Loss)));
    }
}
