//! A tree of many glances: PUCT (Rosin 2011; Silver et al. 2017), sequential halving at the root when there are few looks, and mates
//! proved and drawn back through the tree.
//!
//! Each simulation walks from the root to a position that was not looked at yet, by the values found below each move
//! and the policy's liking for it, and brings that position's win, draw and loss back to the root. The most visited
//! move is played. Mates, stalemates, repetitions and the fifty-move rule are known exactly.

mod effort;
mod halving;
mod kept;
mod nodes;

use std::time::Instant;

use shakmaty::Move;

use super::ends::{ended, judged};
use super::report::{Line, MoveStats, Report, Score};
use super::task::{Answer, Search, Task};
use crate::board::Game;
use crate::evaluate::{Query, Wdl};

pub use effort::Effort;
pub use halving::Halving;
pub use kept::{Branch, Kept};

use halving::Root;
use nodes::{Edge, Nodes};

/// Simulations when nothing else ends the search.
const NATURAL: u64 = 128;
/// Simulations at most: what a node can count.
const MOST: u64 = 1 << 31;
/// Plies from the root that a simulation goes at most.
const DEEPEST: usize = 200;

/// The constants of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    /// Weight of the policy against values (win minus loss) at few visits…
    pub c_puct: f32,
    /// …how fast it grows with their logarithm…
    pub c_factor: f32,
    /// …and the visits at which it begins to.
    pub c_base: f32,
    /// How much worse than its position's value a move is taken to be before it was tried, times the root of the
    /// policy's share of the moves that were.
    pub fpu_reduction: f32,
    /// What the policy's probabilities are evened out by: taken to the power of one over it, and normalised.
    pub prior_temperature: f32,
    /// How the root is searched with few looks.
    pub halving: Halving,
    /// How the clock is used.
    pub effort: Effort,
}

impl Default for Tree {
    fn default() -> Tree {
        // Set by games of the shipped network: benches/README.md has them.
        let halving = Halving { below: 100, most: 4, visit: 50.0, scale: 1.0 };
        let effort = Effort { falling: 4.0, doubt: 1.5, sure: 0.6 };
        Tree {
            c_puct: 1.0,
            c_factor: 2.0,
            c_base: 10_000.0,
            fpu_reduction: 0.4,
            prior_temperature: 1.0,
            halving,
            effort,
        }
    }
}

/// Where a simulation ended.
struct Leaf {
    /// Nodes from the root, the leaf last.
    path: Vec<u32>,
    game: Game,
    /// The exact score, where no network is needed.
    known: Option<Score>,
}

struct Run<'a> {
    task: &'a Task<'a>,
    params: Tree,
    nodes: Nodes,
    /// How the root's moves are chosen with few looks; by upper bounds otherwise.
    halving: Option<Root>,
    evaluated: u64,
    tbhits: u64,
    simulations: u64,
    /// Sum and maximum of the plies that simulations went down.
    plies: u64,
    seldepth: u32,
    /// What was expected at the move before.
    before: Option<f32>,
    /// Bytes of the tree that is kept beside this one.
    beside: usize,
}

impl Search for Tree {
    fn search(&self, task: &Task, tell: &mut dyn FnMut(&Report)) -> Answer {
        let start = Instant::now();
        let mut run = Run::new(task, *self);
        run.begin();
        run.plan();
        let batch = task.evaluator.batch().max(1);
        let mut told = 16;
        while !run.is_over(start) {
            if run.simulate(batch).is_err() {
                break;
            }
            run.prune();
            run.take_time();
            if run.simulations >= told {
                told *= 2;
                tell(&run.answer().report);
            }
        }
        let answer = run.answer();
        if let Some(kept) = task.kept {
            if run.simulations >= 8 {
                kept.set_pace(start.elapsed() / run.simulations as u32);
            }
            kept.put(run.nodes, task.game, task.conditions);
        }
        answer
    }
}

/// The batch was cut short, or there is nothing left to look at.
struct Ended;

impl<'a> Run<'a> {
    fn new(task: &'a Task<'a>, params: Tree) -> Self {
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
        }
    }

    /// Bytes that the tree may hold beside what is kept, so that there is room for a copy of half of it when it is pruned.
    fn memory(&self) -> usize {
        (self.task.memory - self.beside.min(self.task.memory)) / 3 * 2
    }

    /// Makes room where the tree has grown too large.
    fn prune(&mut self) {
        if self.nodes.bytes() > self.memory() {
            self.nodes.prune(self.memory() / 2);
        }
    }

    /// Goes on with the tree of the search before, or looks at the root. What is limited by nodes always begins anew, so that it gives
    /// the same twice.
    fn begin(&mut self) {
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
        self.open(0, moves.map(|e| (e.m, e.probability)));
        self.evaluated = 1;
        self.back_up(&[0], evaluation.wdl);
    }

    /// Gives a node its moves, with the policy as the search takes it.
    fn open(&mut self, at: usize, moves: impl Iterator<Item = (Move, f32)>) {
        self.nodes.open(at, moves);
        self.nodes.even_out(at, self.params.prior_temperature);
    }

    /// Decides how the root is searched, from the looks that there will be: known, or guessed from the pace of the search before.
    fn plan(&mut self) {
        let task = self.task;
        let by_time = || {
            let pace = task.kept?.pace()?;
            Some((task.stop.remaining()?.as_secs_f64() / pace.as_secs_f64().max(1e-6)) as u64)
        };
        let budget = match task.limits.nodes {
            Some(nodes) => Some(nodes.saturating_sub(self.evaluated)),
            None => by_time(),
        };
        let few = budget.filter(|&b| task.lines == 1 && b > 1 && b < self.params.halving.below);
        self.halving = few.map(|budget| Root::new(self.params.halving, &self.nodes, budget));
    }

    /// Whether the search is to end: asked to, at a limit, or because nothing that is still possible would change the move.
    fn is_over(&self, start: Instant) -> bool {
        let (task, limits) = (self.task, self.task.limits);
        let natural = !limits.deepen && limits.nodes.is_none() && limits.depth.is_none();
        if self.simulations >= MOST || task.is_over(self.evaluated) || natural && self.simulations >= NATURAL {
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
        self.nodes.root().edges.len() == 1 || limits.save && self.is_settled(start)
    }

    /// On a clock, asks for as much time as the position deserves. A search that is planned for a number of looks keeps to it.
    fn take_time(&self) {
        let on_a_clock = self.task.limits.save && self.task.lines == 1 && self.halving.is_none();
        if on_a_clock && self.simulations >= 8 {
            self.task.stop.stretch(self.params.effort.of(&self.nodes, self.before));
        }
    }

    /// Whether the second most visited move could not catch up with the first in the time that is left.
    fn is_settled(&self, start: Instant) -> bool {
        let Some(time) = self.task.stop.remaining().filter(|_| self.task.lines == 1 && self.simulations >= 8) else {
            return false;
        };
        let mut visits: Vec<u32> = self.nodes.root().edges.iter().map(|e| self.nodes.visits(e)).collect();
        visits.sort_unstable_by(|a, b| b.cmp(a));
        let lead = u64::from(visits[0] - visits.get(1).copied().unwrap_or(0));
        let pace = start.elapsed().as_secs_f64() / self.simulations as f64;
        let left = (time.as_secs_f64() / pace.max(1e-9)) as u64;
        lead > left
    }

    /// Gathers up to `batch` positions, has them evaluated and brings the results back.
    fn simulate(&mut self, batch: usize) -> Result<(), Ended> {
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
                    leaves.push(leaf);
                }
            }
        }
        if leaves.is_empty() {
            return Ok(());
        }
        let queries: Vec<Query> =
            leaves.iter().map(|l| Query { game: &l.game, conditions: self.task.conditions }).collect();
        let found = self.task.evaluator.evaluate(&queries, self.task.stop);
        for leaf in &leaves {
            leaf.path.iter().for_each(|&n| self.nodes.node_mut(n as usize).pending -= 1);
        }
        let evaluations = found.map_err(|_| Ended)?;
        self.evaluated += evaluations.len() as u64;
        for (leaf, evaluation) in leaves.iter().zip(evaluations) {
            let Some(&last) = leaf.path.last() else { continue };
            self.open(last as usize, evaluation.moves.iter().map(|e| (e.m, e.probability)));
            self.back_up(&leaf.path, judged(&leaf.game, evaluation.wdl));
        }
        Ok(())
    }

    /// Walks down to a position without an evaluation, or with an exact score; `None` where another simulation of the
    /// same batch is waiting already.
    fn descend(&mut self) -> Option<Leaf> {
        let mut path = vec![0_u32];
        let mut game = self.task.game.clone();
        let mut at = 0_usize;
        loop {
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
                        return Some(Leaf { path, game, known: Some(score) });
                    }
                    if node.edges.is_empty() && node.pending > 0 {
                        return None;
                    }
                    if node.edges.is_empty() {
                        // A batch that was cut short left it so.
                        return Some(Leaf { path, game, known: None });
                    }
                }
                None => {
                    let known = ended(&game).or_else(|| self.endings(&game));
                    let child = self.nodes.add_child(at, edge, known);
                    let known = known.or_else(|| self.nodes.mate_at_once(child as usize, &game));
                    path.push(child);
                    return Some(Leaf { path, game, known });
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

    fn answer(&self) -> Answer {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Conditions;
    use crate::evaluate::{Scripted, Span, Stop};
    use crate::search::Limits;
    use shakmaty::Position;
    use std::sync::LazyLock;
    use std::time::Duration;

    static SCRIPTED: LazyLock<Scripted> = LazyLock::new(Scripted::default);

    fn task<'a>(game: &'a Game, limits: &'a Limits, lines: usize, stop: &'a Stop, evaluator: &'a Scripted) -> Task<'a> {
        let conditions = &Conditions::STRONGEST;
        Task { game, conditions, limits, lines, stop, evaluator, memory: 8 << 20, kept: None, endings: None }
    }

    fn search(game: &Game, limits: &Limits, lines: usize, stop: &Stop) -> Answer {
        Tree::default().search(&task(game, limits, lines, stop, &SCRIPTED), &mut |_| {})
    }

    fn nodes(fen: &str, nodes: u64, lines: usize) -> (Game, Answer) {
        let game = Game::from_fen(fen).expect(fen);
        let limits = Limits { nodes: Some(nodes), deepen: true, ..Limits::default() };
        let answer = search(&game, &limits, lines, &Stop::new(false, None));
        (game, answer)
    }

    #[test]
    fn what_is_taken_back_is_seen() {
        // The pawn on e5 is protected: a glance takes it, a few more see the queen lost for it.
        let fen = "4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1";
        let name = |n| {
            let (game, answer) = nodes(fen, n, 1);
            game.uci(answer.report.lines[0].moves[0], false)
        };
        assert_eq!(name(1), "e2e5");
        assert_ne!(name(200), "e2e5");
    }

    #[test]
    fn mates_are_proved_and_counted() {
        let mated = |fen: &str, budget: u64| {
            let (game, answer) = nodes(fen, budget, 1);
            let line = &answer.report.lines[0];
            let mut after = game.clone();
            for &m in &line.moves {
                assert!(after.position().is_legal(m));
                after.play(m);
            }
            assert!(after.position().is_checkmate(), "{fen}: {:?}", line.moves);
            line.score
        };
        // Enough looks for bounds to choose: with few, only the most probable moves are considered.
        assert_eq!(mated("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", 200), Score::Mate(1));
        assert_eq!(mated("7k/8/8/8/8/6p1/R7/1R2K3 w - - 0 1", 3000), Score::Mate(2));
        // All there is loses by force.
        assert_eq!(mated("k7/7p/1K6/8/8/8/8/6R1 b - - 0 1", 400), Score::Mate(-1));
    }

    #[test]
    fn stalemate_and_repetition_are_draws() {
        // A queen up, but Qf7 leaves no move.
        let (game, answer) = nodes("7k/8/6K1/8/8/8/5Q2/8 w - - 0 1", 400, 218);
        let stalemate = answer.report.lines.iter().find(|l| game.after(l.moves[0]).position().is_stalemate());
        if let Some(line) = stalemate {
            assert!(line.score == Score::Expected(Wdl::DRAW) || line.rank < 0.0, "{line:?}");
        }
        assert!(!game.after(answer.report.lines[0].moves[0]).position().is_stalemate());
    }

    #[test]
    fn the_same_nodes_give_the_same_answer_and_limits_hold() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3";
        let (one, two) = (nodes(fen, 150, 5).1, nodes(fen, 150, 5).1);
        assert_eq!(one.report.lines, two.report.lines);
        assert!(one.report.nodes <= 150 && one.report.lines.len() == 5);
        let game = Game::from_fen(fen).expect(fen);
        // A set signal, a depth of one: the policy's move at once.
        let stop = Stop::new(false, None);
        stop.set();
        assert_eq!(search(&game, &Limits { deepen: true, ..Limits::default() }, 1, &stop).report.nodes, 1);
        let depth = Limits { depth: Some(1), ..Limits::default() };
        assert_eq!(search(&game, &depth, 1, &Stop::new(false, None)).report.nodes, 1);
        // Without any limit it ends by itself, and memory ends it too.
        let free = search(&game, &Limits::default(), 1, &Stop::new(false, None));
        assert!(free.report.nodes > 30 && free.report.nodes <= NATURAL + 1, "{}", free.report.nodes);
        // Little memory: the tree is pruned, and the search goes on.
        let limits = Limits { nodes: Some(3000), ..Limits::default() };
        let stop = Stop::new(false, None);
        let task = Task { memory: 150_000, ..task(&game, &limits, 2, &stop, &SCRIPTED) };
        let mut run = Run::new(&task, Tree::default());
        run.begin();
        let mut most = 0;
        while !run.is_over(Instant::now()) && run.simulate(4).is_ok() {
            run.prune();
            most = most.max(run.nodes.bytes());
        }
        assert!(run.evaluated >= 3000 && most <= 100_000, "{} {most}", run.evaluated);
        assert!(run.nodes.root().visits > 2500 && run.answer().best().is_some());
    }

    #[test]
    fn the_next_search_goes_on_with_the_tree() {
        let game = Game::from_fen("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3").expect("legal");
        let kept = Kept::default();
        let think = |game: &Game, depth, nodes| {
            let limits = Limits { depth, nodes, ..Limits::default() };
            let stop = Stop::new(false, None);
            let task = Task { kept: Some(&kept), ..task(game, &limits, 1, &stop, &SCRIPTED) };
            let mut run = Run::new(&task, Tree::default());
            run.begin();
            let known = run.nodes.root().visits;
            let answer = Tree::default().search(&task, &mut |_| {});
            (known, answer.report.lines[0].moves.clone())
        };
        // The first look at a tree takes it out: what `think` asks for is put back by its search.
        let (known, line) = think(&game, None, Some(400));
        assert_eq!(known, 1);
        let after = line[..2].iter().fold(game.clone(), |g, &m| g.after(m));
        let limits = Limits { depth: Some(3), ..Limits::default() };
        let stop = Stop::new(false, None);
        let next = Task { kept: Some(&kept), ..task(&after, &limits, 1, &stop, &SCRIPTED) };
        let mut run = Run::new(&next, Tree::default());
        run.begin();
        assert!(run.nodes.root().visits > 20 && run.evaluated == 0, "{}", run.nodes.root().visits);
        let moves = after.position().legal_moves();
        assert!(
            run.nodes.root().edges.iter().all(|e| moves.contains(&e.m)) && run.nodes.root().edges.len() == moves.len()
        );
        // Not with a limit in nodes, which is to give the same twice; not from another game.
        think(&game, None, Some(400));
        assert_eq!(think(&after, None, Some(5)).0, 1);
        think(&game, None, Some(400));
        let mut other = game.after(line[0]);
        let reply = other.position().legal_moves().into_iter().find(|&m| m != line[1]).expect("another move");
        other.play(reply);
        let elsewhere = Game::new(other.position().clone());
        assert_eq!(think(&elsewhere, Some(2), None).0, 1);
    }

    #[test]
    fn another_move_than_the_one_pondered_on_finds_its_tree() {
        let game = Game::from_fen("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3").expect("legal");
        let kept = Kept::default();
        let think = |game: &Game, limits: Limits, held| {
            let stop = Stop::new(held, None);
            let task = Task { kept: Some(&kept), ..task(game, &limits, 1, &stop, &SCRIPTED) };
            Tree::default().search(&task, &mut |_| {});
        };
        think(&game, Limits { nodes: Some(600), ..Limits::default() }, false);
        let [best] = &kept.branches(&[1, 2])[..] else { panic!("a best move") };
        let after = |branch: &Branch| game.after(best.stats.m).after(branch.stats.m);
        let [guessed, other] = &best.replies[..] else { panic!("two replies") };
        let known = |game: &Game| {
            let (limits, stop) = (Limits::default(), Stop::new(false, None));
            let task = Task { kept: Some(&kept), ..task(game, &limits, 1, &stop, &SCRIPTED) };
            let mut run = Run::new(&task, Tree::default());
            run.begin();
            (run.nodes.root().visits, run.evaluated)
        };
        think(&after(guessed), Limits { depth: Some(2), ..Limits::default() }, true);
        assert_eq!(known(&after(other)), (other.stats.visits, 0));
        // Once the opponent has moved, nothing else is kept.
        assert_eq!(known(&after(other)), (1, 1));
    }

    #[test]
    fn a_settled_root_saves_time_only_on_a_clock() {
        // The only capture wins a queen: there is no need to think about it for long.
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1").expect("legal");
        let think = |save| {
            let start = Instant::now();
            let stop = Stop::new(false, Some(Span::exactly(Duration::from_millis(400))));
            let limits = Limits { deepen: true, save, ..Limits::default() };
            let slow = Scripted::slow(Duration::from_millis(1));
            let task = task(&game, &limits, 1, &stop, &slow);
            let answer = Tree::default().search(&task, &mut |_| {});
            assert_eq!(game.uci(answer.report.lines[0].moves[0], false), "e4d5");
            start.elapsed()
        };
        let (saved, used) = (think(true), think(false));
        assert!(used >= Duration::from_millis(400), "{used:?}");
        assert!(saved < used - Duration::from_millis(50), "{saved:?}");
    }
}
