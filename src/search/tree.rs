//! A tree of many glances: PUCT (Rosin 2011; Silver et al. 2017), with mates proved and drawn back through the tree.
//!
//! Each simulation walks from the root to a position that was not looked at yet, by the values found below each move
//! and the policy's liking for it, and brings that position's win, draw and loss back to the root. The most visited
//! move is played. Mates, stalemates, repetitions and the fifty-move rule are known exactly.

use std::num::NonZeroU32;
use std::time::Instant;

use shakmaty::{Move, Position};

use super::ends::{ended, judged};
use super::mate::mating_move;
use super::report::{Line, Report, Score};
use super::task::{Answer, Search, Task};
use crate::board::Game;
use crate::evaluate::{Evaluation, Query, Wdl};

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
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { c_puct: 1.75, c_factor: 2.0, c_base: 10_000.0, fpu_reduction: 0.4 }
    }
}

struct Edge {
    m: Move,
    prior: f32,
    /// The root is nobody's child, so no child has number 0.
    child: Option<NonZeroU32>,
}

#[derive(Default)]
struct Node {
    /// The most probable move first; empty until the network has looked, and where the game is over.
    edges: Vec<Edge>,
    visits: u32,
    /// Visits under way in the batch at hand.
    pending: u32,
    /// Sums over the visits, for the player to move.
    win: f64,
    draw: f64,
    loss: f64,
    /// The exact score, for the player to move.
    proved: Option<Score>,
}

impl Node {
    fn wdl(&self) -> Wdl {
        let n = f64::from(self.visits.max(1));
        match self.proved {
            Some(score) => score.wdl(),
            None => Wdl { win: (self.win / n) as f32, draw: (self.draw / n) as f32, loss: (self.loss / n) as f32 },
        }
    }

    fn open(&mut self, moves: impl Iterator<Item = (Move, f32)>) {
        self.edges = moves.map(|(m, prior)| Edge { m, prior, child: None }).collect();
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
    nodes: Vec<Node>,
    bytes: usize,
    evaluated: u64,
    simulations: u64,
    /// Sum and maximum of the plies that simulations went down.
    plies: u64,
    seldepth: u32,
}

impl Search for Tree {
    fn search(&self, task: &Task, tell: &mut dyn FnMut(&Report)) -> Answer {
        let start = Instant::now();
        let mut run = Run::new(task, *self);
        let root = run.look_at_root();
        let batch = task.evaluator.batch().max(1);
        let mut told = 16;
        while !run.is_over(&root, start) {
            if run.simulate(batch).is_err() {
                break;
            }
            if run.simulations >= told {
                told *= 2;
                tell(&run.answer(&root).report);
            }
        }
        run.answer(&root)
    }
}

/// The batch was cut short, or there is nothing left to look at.
struct Ended;

impl<'a> Run<'a> {
    fn new(task: &'a Task<'a>, params: Tree) -> Self {
        Run { task, params, nodes: Vec::new(), bytes: 0, evaluated: 0, simulations: 0, plies: 0, seldepth: 1 }
    }

    fn look_at_root(&mut self) -> Evaluation {
        let evaluation = self.task.evaluator.glance(self.task.game, self.task.conditions);
        let allowed = self.task.moves();
        let mut root = Node::default();
        root.open(evaluation.moves.iter().filter(|e| allowed.contains(&e.m)).map(|e| (e.m, e.probability)));
        self.evaluated = 1;
        self.nodes.push(root);
        self.back_up(&[0], evaluation.wdl);
        evaluation
    }

    /// Whether the search is to end: asked to, at a limit, or because nothing that is still possible would change the move.
    fn is_over(&self, root: &Evaluation, start: Instant) -> bool {
        let (task, limits) = (self.task, self.task.limits);
        let natural = !limits.deepen && limits.nodes.is_none() && limits.depth.is_none();
        if self.simulations >= MOST
            || task.is_over(self.evaluated)
            || natural && self.simulations >= NATURAL
            || self.bytes > task.memory
        {
            return true;
        }
        if limits.depth.is_some_and(|most| self.depth() >= most) || self.nodes[0].proved.is_some() {
            return true;
        }
        // Positions that cost nothing (mates, draws) do not count as evaluated, but they end at some time too.
        if limits.nodes.is_some_and(|most| self.simulations > most.saturating_mul(20).saturating_add(1000)) {
            return true;
        }
        if task.stop.is_held() {
            return false;
        }
        root.moves.len() == 1 || self.nodes[0].edges.len() == 1 || limits.save && self.is_settled(start)
    }

    /// Whether the second most visited move could not catch up with the first in the time that is left.
    fn is_settled(&self, start: Instant) -> bool {
        let Some(time) = self.task.stop.remaining().filter(|_| self.task.lines == 1 && self.simulations >= 8) else {
            return false;
        };
        let mut visits: Vec<u32> = self.nodes[0].edges.iter().map(|e| self.visits(e)).collect();
        visits.sort_unstable_by(|a, b| b.cmp(a));
        let lead = u64::from(visits[0] - visits.get(1).copied().unwrap_or(0));
        let pace = start.elapsed().as_secs_f64() / self.simulations as f64;
        let left = (time.as_secs_f64() / pace.max(1e-9)) as u64;
        lead > left
    }

    fn child(&self, edge: &Edge) -> Option<&Node> {
        edge.child.map(|child| &self.nodes[child.get() as usize])
    }

    fn visits(&self, edge: &Edge) -> u32 {
        self.child(edge).map_or(0, |child| child.visits)
    }

    /// Gathers up to `batch` positions, has them evaluated and brings the results back.
    fn simulate(&mut self, batch: usize) -> Result<(), Ended> {
        let mut leaves: Vec<Leaf> = Vec::with_capacity(batch);
        // What is known without the network does not fill the batch; collisions would be met for ever.
        for _ in 0..4 * batch {
            if leaves.len() == batch || self.nodes[0].proved.is_some() {
                break;
            }
            let Some(leaf) = self.descend() else { break };
            match leaf.known {
                Some(score) => self.know(&leaf.path, score),
                None => {
                    leaf.path.iter().for_each(|&n| self.nodes[n as usize].pending += 1);
                    leaves.push(leaf);
                }
            }
        }
        if leaves.is_empty() {
            return Ok(());
        }
        let queries: Vec<Query> =
            leaves.iter().map(|l| Query { game: &l.game, conditions: self.task.conditions }).collect();
        let evaluations = self.task.evaluator.evaluate(&queries, self.task.stop).map_err(|_| Ended)?;
        self.evaluated += evaluations.len() as u64;
        for (leaf, evaluation) in leaves.iter().zip(evaluations) {
            leaf.path.iter().for_each(|&n| self.nodes[n as usize].pending -= 1);
            let Some(&last) = leaf.path.last() else { continue };
            let node = &mut self.nodes[last as usize];
            node.open(evaluation.moves.iter().map(|e| (e.m, e.probability)));
            self.bytes += node.edges.len() * size_of::<Edge>();
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
            let edge = self.select(at)?;
            game.play(self.nodes[at].edges[edge].m);
            match self.nodes[at].edges[edge].child {
                Some(child) => {
                    path.push(child.get());
                    at = child.get() as usize;
                    let node = &self.nodes[at];
                    let tired = path.len() > DEEPEST;
                    if let Some(score) = node.proved.or_else(|| tired.then(|| Score::Expected(node.wdl()))) {
                        return Some(Leaf { path, game, known: Some(score) });
                    }
                    if node.edges.is_empty() {
                        return None;
                    }
                }
                None => {
                    let child = self.nodes.len() as u32;
                    self.nodes[at].edges[edge].child = NonZeroU32::new(child);
                    let known = ended(&game);
                    self.add(known);
                    let known = known.or_else(|| self.mate_at_once(child as usize, &game));
                    path.push(child);
                    return Some(Leaf { path, game, known });
                }
            }
        }
    }

    fn add(&mut self, proved: Option<Score>) {
        self.nodes.push(Node { proved, ..Node::default() });
        self.bytes += size_of::<Node>();
    }

    /// Proves a new node where a move mates: no network is asked what the rules know, and it would try such a move late.
    fn mate_at_once(&mut self, at: usize, game: &Game) -> Option<Score> {
        let m = mating_move(game.position(), &game.position().legal_moves())?;
        let mated = self.nodes.len() as u32;
        self.add(Some(Score::Mate(0)));
        self.nodes[at].edges = vec![Edge { m, prior: 1.0, child: NonZeroU32::new(mated) }];
        self.nodes[at].proved = Some(Score::Mate(1));
        self.nodes[at].proved
    }

    /// The edge with the greatest upper bound; moves that are proved to lose stand back.
    fn select(&self, at: usize) -> Option<usize> {
        let node = &self.nodes[at];
        let n = (node.visits + node.pending) as f32;
        let tried: f32 = node.edges.iter().filter(|e| self.visits(e) > 0).map(|e| e.prior).sum();
        let untried = node.wdl().balance() - self.params.fpu_reduction * tried.sqrt();
        let c = self.params.c_puct + self.params.c_factor * ((n + self.params.c_base) / self.params.c_base).ln();
        let c = c * n.max(1.0).sqrt();
        let bound = |edge: &Edge| {
            let Some(child) = self.child(edge) else {
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

    /// Adds a result, as the player to move at the end of the path sees it, to every node of the path.
    fn back_up(&mut self, path: &[u32], mut wdl: Wdl) {
        for &at in path.iter().rev() {
            let node = &mut self.nodes[at as usize];
            node.visits += 1;
            node.win += f64::from(wdl.win);
            node.draw += f64::from(wdl.draw);
            node.loss += f64::from(wdl.loss);
            wdl = wdl.flipped();
        }
        self.simulations += 1;
        self.plies += path.len() as u64 - 1;
        self.seldepth = self.seldepth.max(path.len() as u32 - 1);
    }

    /// Adds an exact result, and draws mates back as far as they are forced.
    fn know(&mut self, path: &[u32], score: Score) {
        self.back_up(path, score.wdl());
        for &at in path.iter().rev().skip(1) {
            let Some(score) = self.forced(at as usize) else { break };
            self.nodes[at as usize].proved = Some(score);
        }
    }

    /// The mate at a node, if its moves force one: the shortest for the player to move, else the longest against him.
    fn forced(&self, at: usize) -> Option<Score> {
        let proved = |edge: &Edge| {
            let score = self.child(edge)?.proved?;
            matches!(score, Score::Mate(_)).then(|| score.before_move())
        };
        let edges = &self.nodes[at].edges;
        let best = edges.iter().filter_map(proved).max_by(|a, b| a.order().total_cmp(&b.order()))?;
        let wins = matches!(best, Score::Mate(n) if n > 0);
        // Losing takes all legal moves; the root may have been given only some of them, and then that is the question.
        (wins || edges.iter().all(|e| proved(e).is_some())).then_some(best)
    }

    /// Mean plies looked ahead, at least one.
    fn depth(&self) -> u32 {
        (self.plies / self.simulations.max(1)).max(1) as u32
    }

    fn answer(&self, root: &Evaluation) -> Answer {
        let lines = self.nodes[0].edges.iter().map(|edge| self.line(edge, root)).collect();
        let (depth, nodes) = (self.depth(), self.evaluated);
        let report = Report { depth, seldepth: self.seldepth.max(depth), nodes, ..Report::default() };
        Answer::new(report, lines, self.task.lines)
    }

    /// A root move with what follows, ranked by the logarithm of its visits; mates stand above and below all others.
    fn line(&self, edge: &Edge, root: &Evaluation) -> Line {
        let child = self.child(edge);
        let known = child.filter(|c| c.visits > 0 || c.proved.is_some());
        let score = match known {
            Some(c) => c.proved.unwrap_or(Score::Expected(c.wdl())).before_move(),
            None => Score::Expected(root.wdl),
        };
        let visits = child.map_or(0, |c| c.visits);
        let rank = match score {
            Score::Mate(n) if n > 0 => 1000.0 - n as f32,
            Score::Mate(n) => -1000.0 - n as f32,
            // An unvisited move is ranked by its prior, below all visited ones.
            Score::Expected(_) => (visits as f32 + 0.5 * edge.prior).max(1e-9).ln(),
        };
        let mut moves = vec![edge.m];
        let mut at = child;
        while let Some(best) = at.and_then(|node| self.best(node)) {
            moves.push(best.m);
            at = self.child(best);
        }
        Line { moves, score, probability: edge.prior, rank }
    }

    /// The move expected at a node: the one that proves its score, or the most visited.
    fn best<'b>(&'b self, node: &'b Node) -> Option<&'b Edge> {
        if node.proved.is_some() {
            let score = |e: &&Edge| self.child(e).and_then(|c| c.proved).map(Score::before_move);
            let of_mate = node.edges.iter().filter(|e| matches!(score(e), Some(Score::Mate(_))));
            return of_mate.max_by(|a, b| {
                let order = |e: &&Edge| score(e).map_or(f32::NEG_INFINITY, Score::order);
                order(a).total_cmp(&order(b))
            });
        }
        node.edges.iter().filter(|e| self.visits(e) > 0).max_by_key(|e| self.visits(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Conditions;
    use crate::evaluate::{Scripted, Stop};
    use crate::search::Limits;
    use std::time::Duration;

    fn search(game: &Game, limits: &Limits, lines: usize, stop: &Stop) -> Answer {
        let task = Task {
            game,
            conditions: &Conditions::STRONGEST,
            limits,
            lines,
            stop,
            evaluator: &Scripted::default(),
            memory: 8 << 20,
        };
        Tree::default().search(&task, &mut |_| {})
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
        assert_eq!(mated("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", 60), Score::Mate(1));
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
        let endless = Limits { deepen: true, ..Limits::default() };
        assert!(search(&game, &endless, 2, &Stop::new(false, None)).report.nodes < 60_000);
    }

    #[test]
    fn a_settled_root_saves_time_only_on_a_clock() {
        // The only capture wins a queen: there is no need to think about it for long.
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1").expect("legal");
        let think = |save| {
            let start = Instant::now();
            let stop = Stop::new(false, Some(start + Duration::from_millis(400)));
            let limits = Limits { deepen: true, save, ..Limits::default() };
            let task = Task {
                game: &game,
                conditions: &Conditions::STRONGEST,
                limits: &limits,
                lines: 1,
                stop: &stop,
                evaluator: &Scripted::slow(Duration::from_millis(1)),
                memory: 8 << 20,
            };
            let answer = Tree::default().search(&task, &mut |_| {});
            assert_eq!(game.uci(answer.report.lines[0].moves[0], false), "e4d5");
            start.elapsed()
        };
        let (saved, used) = (think(true), think(false));
        assert!(used >= Duration::from_millis(400), "{used:?}");
        assert!(saved < used - Duration::from_millis(50), "{saved:?}");
    }
}
