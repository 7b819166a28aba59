//! One search of a tree: what simulations do to it, and when it is over.

use std::time::Instant;

use shakmaty::Move;

use super::super::ends::{ended, judged};
use super::super::exchange::Exchanges;
use super::super::mate::find_mate_by_checks;
use super::super::report::{Line, MoveStats, Report, Score};
use super::super::tactics::{self, Known};
use super::super::task::{Answer, Task};
use super::Tree;
use super::halving::Root;
use super::kept::Kept;
use super::nodes::{Edge, Nodes};
use crate::board::Game;
use crate::evaluate::{Evaluation, Query, Stop, Stopped, Wdl};

/// Simulations when nothing else ends the search.
pub(super) const NATURAL: u64 = 128;
/// Simulations at most: what a node can count.
const MOST: u64 = 1 << 31;
/// Plies from the root that a simulation goes at most.
const DEEPEST: usize = 200;

/// Where a simulation ended.
pub(super) struct Leaf {
    /// Nodes from the root, the leaf last.
    path: Vec<u32>,
    game: Game,
    /// The exact score, where no network is needed.
    known: Option<Score>,
    /// A node on the path that was visited often enough to be looked at more closely.
    due: Option<Due>,
}

/// A node whose moves are to be searched for a mate, or some plies deeper before exchanges.
struct Due {
    at: u32,
    game: Game,
    /// Plies before exchanges; none to be searched: 0.
    plies: u32,
    /// Positions of a mate by checks; none to be looked for: 0.
    checks: u32,
    moves: Vec<Known>,
    /// A mate by checks that was found instead.
    mate: Option<Vec<Move>>,
}

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
    /// Sum and maximum of the plies that simulations went down.
    plies: u64,
    seldepth: u32,
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

/// What the network says, with what exchanges add to it.
fn weighed(exchanges: Option<Exchanges>, game: &Game, wdl: Wdl) -> Wdl {
    exchanges.map_or(wdl, |exchanges| exchanges.weigh(game.position(), wdl))
}

/// Positions that are looked at for a mate by checks at a node with so many visits. At the root the player looks for one.
fn checks(visits: u64) -> u32 {
    match visits {
        0..2 => 0,
        2..8 => 40,
        _ => 200 * visits.ilog(8),
    }
}

impl Due {
    fn look(&mut self, stop: &Stop) {
        if self.checks > 0 {
            let moves: Vec<Move> = self.moves.iter().map(|known| known.m).collect();
            self.mate = find_mate_by_checks(&self.game, &moves, self.checks.into(), stop);
        }
        if self.plies > 0 && self.mate.is_none() {
            tactics::force(self.game.position(), &mut self.moves, self.plies);
        }
    }
}

impl Leaf {
    /// Asks about a batch, and looks more closely at the moves that are due; without the run, which others may use meanwhile.
    pub(super) fn evaluate(
        batch: &mut [Leaf],
        task: &Task,
        exchanges: Option<Exchanges>,
    ) -> Result<Vec<Evaluation>, Stopped> {
        for due in batch.iter_mut().filter_map(|leaf| leaf.due.as_mut()) {
            due.look(task.stop);
        }
        let queries: Vec<Query> = batch.iter().map(|l| Query { game: &l.game, conditions: task.conditions }).collect();
        let mut found = task.evaluator.evaluate(&queries, task.stop)?;
        for (leaf, evaluation) in batch.iter().zip(&mut found) {
            evaluation.wdl = weighed(exchanges, &leaf.game, evaluation.wdl);
        }
        Ok(found)
    }
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

    /// Makes the priors of a node those that the search goes by. Not before they are asked for: most nodes are visited only once.
    fn weigh_moves(&mut self, at: usize, game: &Game) {
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
    fn due(&self, at: usize, game: &Game, visits: u64) -> Option<Due> {
        let node = self.nodes.node(at);
        let weighs = self.exchanges().filter(|e| e.choice != 0.0);
        let mut plies = weighs.map_or(0, |exchanges| tactics::plies(visits, exchanges.deeper));
        let mut checks = checks(visits);
        if node.weighed.is_none_or(|known| known >= plies) {
            plies = 0;
        }
        if at == 0 || node.checks >= checks {
            checks = 0;
        }
        (plies > 0 || checks > 0).then(|| {
            let (game, moves) = (game.clone(), self.nodes.known(at));
            Due { at: at as u32, game, plies, checks, moves, mate: None }
        })
    }

    /// Notes that a node is looked at, so that nobody else does.
    fn mark(&mut self, due: &Due) {
        let node = self.nodes.node_mut(due.at as usize);
        node.weighed = node.weighed.max(Some(due.plies));
        node.checks = node.checks.max(due.checks);
    }

    /// Has a node on the path know what was found: a mate, or what its moves win.
    fn settle(&mut self, due: &Due, path: &[u32]) {
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
        let few = budget.filter(|&b| task.lines == 1 && b > 1 && b < self.params.halving.below);
        self.halving = few.map(|budget| Root::new(self.params.halving, &self.nodes, budget));
    }

    /// Whether the search is to end: asked to, at a limit, or because nothing that is still possible would change the move.
    pub(super) fn is_over(&self) -> bool {
        let (task, limits) = (self.task, self.task.limits);
        let natural = !limits.deepen && limits.nodes.is_none() && limits.depth.is_none();
        if self.cut_short
            || self.simulations >= MOST
            || task.is_over(self.evaluated)
            || natural && self.simulations >= NATURAL
        {
            return true;
        }
        if limits.depth.is_some_and(|most| self.depth() >= most) || self.nodes.root().proved.is_some() {
            return true;
        }
        // Positions that cost nothing (mates, draws) do not count as evaluated, but they end at some time too.
        if limits.nodes.is_some_and(|most| self.simulations > most.saturating_mul(20).saturating_add(1000)) {
            return true;
        }
        if task.stop.is_held() {
            return false;
        }
        self.nodes.root().edges.len() == 1 || limits.save && self.is_settled()
    }

    /// On a clock, asks for as much time as the position deserves. A search that is planned for a number of looks keeps to it.
    pub(super) fn take_time(&self) {
        let on_a_clock = self.task.limits.save && self.task.lines == 1 && self.halving.is_none();
        if on_a_clock && self.simulations >= 8 {
            self.task.stop.stretch(self.params.effort.of(&self.nodes, self.before));
        }
    }

    /// Whether the second most visited move could not catch up with the first in the time that is left.
    fn is_settled(&self) -> bool {
        let Some(time) = self.task.stop.remaining().filter(|_| self.task.lines == 1 && self.simulations >= 8) else {
            return false;
        };
        let mut visits: Vec<u32> = self.nodes.root().edges.iter().map(|e| self.nodes.visits(e)).collect();
        visits.sort_unstable_by(|a, b| b.cmp(a));
        let lead = u64::from(visits[0] - visits.get(1).copied().unwrap_or(0));
        let pace = self.start.elapsed().as_secs_f64() / self.simulations as f64;
        let left = (time.as_secs_f64() / pace.max(1e-9)) as u64;
        lead > left
    }

    /// Gathers up to `batch` positions to be evaluated. There may be none: where all that is met is known, or waits for another walker.
    pub(super) fn gather(&mut self, batch: usize) -> Vec<Leaf> {
        let left = self.task.limits.nodes.map_or(u64::MAX, |most| most.saturating_sub(self.evaluated + self.under_way));
        let batch = batch.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut leaves: Vec<Leaf> = Vec::with_capacity(batch);
        // What is known without the network does not fill the batch; collisions would be met for ever.
        for _ in 0..4 * batch {
            if leaves.len() == batch || self.nodes.root().proved.is_some() {
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
        }
    }

    /// Ends the search: positions under way were not evaluated.
    pub(super) fn cut_short(&mut self) {
        self.cut_short = true;
    }

    /// Walks down to a position without an evaluation, or with an exact score; `None` where another simulation of the
    /// same batch is waiting already.
    fn descend(&mut self) -> Option<Leaf> {
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
                        // A batch that was cut short left it so.
                        return Some(Leaf { path, game, known: None, due });
                    }
                }
                None => {
                    let known = ended(&game).or_else(|| self.endings(&game));
                    let child = self.nodes.add_child(at, edge, known);
                    let known = known.or_else(|| self.nodes.mate_at_once(child as usize, &game));
                    path.push(child);
                    return Some(Leaf { path, game, known, due });
                }
            }
        }
    }

    /// What tablebases know, for the player to move.
    fn endings(&mut self, game: &Game) -> Option<Score> {
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
        let c = self.params.c_puct + self.params.c_factor * ((n + self.params.c_base) / self.params.c_base).ln();
        let c = c * n.max(1.0).sqrt();
        let bound = |edge: &Edge| {
            let Some(child) = self.nodes.child(edge) else {
                return untried + c * edge.prior;
            };
            let lost = matches!(child.proved, Some(Score::Mate(n)) if n > 0);
            let value = if child.visits > 0 || child.proved.is_some() { -child.wdl().balance() } else { untried };
            let bound = value + c * edge.prior / (1 + child.visits + child.pending) as f32;
            if lost { bound - 1e6 } else { bound }
        };
        let bounds = node.edges.iter().map(bound).enumerate();
        bounds.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(i, _)| i)
    }

    fn back_up(&mut self, path: &[u32], wdl: Wdl) {
        self.nodes.back_up(path, wdl);
        self.simulations += 1;
        self.plies += path.len() as u64 - 1;
        self.seldepth = self.seldepth.max(path.len() as u32 - 1);
    }

    /// Adds an exact result, and draws mates back as far as they are forced.
    fn know(&mut self, path: &[u32], score: Score) {
        self.back_up(path, score.wdl());
        self.nodes.prove(path);
    }

    /// Mean plies looked ahead, at least one.
    fn depth(&self) -> u32 {
        (self.plies / self.simulations.max(1)).max(1) as u32
    }

    pub(super) fn answer(&self) -> Answer {
        let ranks = self.halving.as_ref().map(|root| root.ranks(&self.nodes));
        let edges = self.nodes.root().edges.iter().enumerate();
        let lines = edges.map(|(i, edge)| self.line(edge, ranks.as_ref().map(|r| r[i]))).collect();
        let (depth, nodes) = (self.depth(), self.evaluated);
        let (seldepth, tbhits) = (self.seldepth.max(depth), self.tbhits);
        let report = Report { depth, seldepth, nodes, tbhits, stats: self.stats(), ..Report::default() };
        Answer::new(report, lines, self.task.lines)
    }

    fn stats(&self) -> Vec<MoveStats> {
        let mut stats: Vec<MoveStats> = self.nodes.root().edges.iter().map(|e| self.nodes.stats(e)).collect();
        stats.sort_by_key(|s| std::cmp::Reverse(s.visits));
        stats
    }

    /// A root move with what follows, ranked by the logarithm of its visits unless it is given a rank; mates stand above and below all
    /// others.
    fn line(&self, edge: &Edge, rank: Option<f32>) -> Line {
        let child = self.nodes.child(edge);
        let known = child.filter(|c| c.visits > 0 || c.proved.is_some());
        let score = match known {
            Some(c) => c.proved.unwrap_or(Score::Expected(c.wdl())).before_move(),
            None => Score::Expected(self.nodes.root().wdl()),
        };
        let visits = child.map_or(0, |c| c.visits);
        let rank = match score {
            Score::Mate(n) if n > 0 => 1000.0 - n as f32,
            Score::Mate(n) => -1000.0 - n as f32,
            // An unvisited move is ranked by its prior, below all visited ones.
            Score::Expected(_) => rank.unwrap_or_else(|| (visits as f32 + 0.5 * edge.prior).max(1e-9).ln()),
        };
        let mut moves = vec![edge.m];
        let mut at = child;
        while let Some(best) = at.and_then(|node| self.nodes.best(node)) {
            moves.push(best.m);
            at = self.nodes.child(best);
        }
        Line { moves, score, probability: edge.prior, rank }
    }
}
