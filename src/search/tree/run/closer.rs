//! Nodes that are visited often are looked at more closely.

use shakmaty::Move;

use super::Run;
use crate::board::Game;
use crate::evaluate::Stop;
use crate::search::mate::find_mate_by_checks;
use crate::search::tactics::{self, Known};

/// A node whose moves are to be searched for a mate, or some plies deeper before exchanges.
pub(super) struct Due {
    at: u32,
    game: Game,
    /// Plies before exchanges; none to be searched: 0.
    plies: u32,
    /// Those that were searched before.
    known: u32,
    /// Positions of a mate by checks; none to be looked for: 0.
    checks: u32,
    moves: Vec<Known>,
    /// A mate by checks that was found instead.
    mate: Option<Vec<Move>>,
}

/// Visits of another node that one of the root is worth: one of its moves is played, and it is searched but once.
const ROOT: u64 = 8;

/// Positions that are looked at for a mate by checks at a node with so many visits. At the root the player looks for one, unless several
/// lines are wanted.
fn checks(visits: u64) -> u32 {
    match visits {
        0..2 => 0,
        2..8 => 40,
        _ => 200 * visits.ilog(8),
    }
}

impl Due {
    pub(super) fn look(&mut self, stop: &Stop) {
        if self.checks > 0 {
            let moves: Vec<Move> = self.moves.iter().map(|known| known.m).collect();
            self.mate = find_mate_by_checks(&self.game, &moves, self.checks.into(), stop);
        }
        if self.plies > 0 && self.mate.is_none() {
            // A ply less first: what the last takes too long for is known from it.
            for plies in (self.known + 1).max(self.plies - 1)..=self.plies {
                tactics::force(self.game.position(), &mut self.moves, plies, stop);
            }
        }
    }
}

impl Run<'_> {
    /// Makes the priors of a node those that the search goes by. Not before they are asked for: most nodes are visited only once.
    pub(super) fn weigh_moves(&mut self, at: usize, game: &Game) {
        if self.nodes.node(at).weighed.is_some() {
            return;
        }
        self.nodes.node_mut(at).weighed = Some(0);
        self.nodes.even_out(at, self.params.prior_temperature);
        if let Some(exchanges) = self.exchanges().filter(|e| e.choice != 0.0) {
            let mut moves = self.nodes.known(at);
            tactics::exchange(game.position(), &mut moves);
            self.nodes.weigh(at, &moves, &exchanges);
        }
    }

    /// What is to be looked at more closely at a node that is worth so many visits; nothing where it was.
    pub(super) fn due(&self, at: usize, game: &Game, visits: u64) -> Option<Due> {
        let node = self.nodes.node(at);
        let weighs = self.exchanges().filter(|e| e.choice != 0.0);
        let worth = if at == 0 { visits.saturating_mul(ROOT) } else { visits };
        let mut plies = weighs.map_or(0, |exchanges| tactics::plies(worth, exchanges.deeper));
        let mut checks = checks(visits);
        if node.weighed.is_none_or(|known| known >= plies) {
            plies = 0;
        }
        if at == 0 && !self.wants_others() || node.checks >= checks {
            checks = 0;
        }
        (plies > 0 || checks > 0).then(|| {
            let (game, moves) = (game.clone(), self.nodes.known(at));
            Due { at: at as u32, game, plies, known: node.weighed.unwrap_or(0), checks, moves, mate: None }
        })
    }

    /// Notes that a node is looked at, so that nobody else does.
    pub(super) fn mark(&mut self, due: &Due) {
        let node = self.nodes.node_mut(due.at as usize);
        node.weighed = node.weighed.max(Some(due.plies));
        node.checks = node.checks.max(due.checks);
    }

    /// Has a node on the path know what was found: a mate, or what its moves win.
    pub(super) fn settle(&mut self, due: &Due, path: &[u32]) {
        let at = due.at as usize;
        match (&due.mate, self.exchanges()) {
            (Some(mate), _) => {
                self.nodes.mate(at, mate);
                let above = path.iter().position(|&n| n == due.at).unwrap_or(0);
                self.nodes.prove(&path[..=above]);
            }
            (None, Some(exchanges)) if due.plies > 0 => self.nodes.weigh(at, &due.moves, &exchanges),
            (None, _) => {}
        }
    }
}
