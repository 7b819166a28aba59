//! By the values of successors: every legal move is played, the network judges all the positions that arise in
//! one batch, and the best judgement wins, weighed with the policy.
//!
//! With time left it deepens: the same again for the replies that the policy thinks of, and so on (a minimax of
//! the policy's choices, the evaluations kept in the cache between depths). Mates, stalemates, repetitions and the
//! fifty-move rule are known exactly at every depth.

use shakmaty::Move;

use super::ends::{ended, judged};
use super::rank::Rank;
use super::report::{Line, Report, Score};
use super::task::{Answer, Search, Task};
use crate::board::Game;
use crate::evaluate::{Evaluation, Query, Stopped, Wdl};

/// Deepest that the search goes.
const DEEPEST: u32 = 32;

/// How values and policy are weighed, and how wide deeper plies are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Weight of a move's log-probability against its value (win minus loss).
    pub policy_weight: f32,
    /// Below the root, replies are looked at until they make up this share of the policy…
    pub coverage: f32,
    /// …but no more than this many.
    pub width: usize,
}

impl Default for Value {
    fn default() -> Value {
        // By games against `policy` and puzzles: 0.05 and 0.3 are worse on one or the other.
        Value { policy_weight: 0.1, coverage: 0.92, width: 8 }
    }
}

struct Node {
    m: Move,
    probability: f32,
    after: Game,
    score: Score,
    line: Vec<Move>,
    /// The end of the game, if the move ends it.
    end: Option<Score>,
    evaluation: Option<Evaluation>,
}

struct Run<'a> {
    task: &'a Task<'a>,
    params: Value,
    nodes: u64,
    seldepth: u32,
}

impl Search for Value {
    fn search(&self, task: &Task, tell: &mut dyn FnMut(&Report)) -> Answer {
        let root = task.evaluator.glance(task.game, task.conditions);
        let mut run = Run { task, params: *self, nodes: 1, seldepth: 1 };
        let allowed = task.moves();
        let chosen = root.moves.iter().filter(|e| allowed.contains(&e.m));
        let mut nodes: Vec<Node> = chosen.map(|e| node(task.game, e.m, e.probability)).collect();
        let mut answer = run.answer(&nodes, &root, 1);
        if task.is_over(run.nodes) || run.judge(&mut nodes).is_err() {
            return answer;
        }
        answer = run.answer(&nodes, &root, 1);
        let most = task.limits.depth.unwrap_or(if task.limits.deepen { DEEPEST } else { 1 }).min(DEEPEST);
        for depth in 2..=most {
            let settled = nodes.iter().all(|n| n.end.is_some());
            let proved = answer.best().is_some_and(|l| matches!(l.score, Score::Mate(n) if n > 0));
            if task.is_over(run.nodes) || settled || proved || nodes.len() == 1 && !task.stop.is_held() {
                break;
            }
            tell(&answer.report);
            // The most promising first, so that what is known when time ends is about the moves that matter.
            nodes.sort_by(|a, b| run.rank(b).total_cmp(&run.rank(a)));
            if run.deepen(&mut nodes, depth).is_err() {
                break;
            }
            answer = run.answer(&nodes, &root, depth);
        }
        answer
    }

    fn rank_unit(&self) -> f32 {
        0.1
    }
}

fn node(game: &Game, m: Move, probability: f32) -> Node {
    let after = game.after(m);
    let end = ended(&after).map(Score::before_move);
    let score = end.unwrap_or(Score::Expected(Wdl::DRAW));
    Node { m, probability, after, score, line: vec![m], end, evaluation: None }
}

impl Run<'_> {
    /// Evaluates the positions after the moves, in one batch.
    fn judge(&mut self, nodes: &mut [Node]) -> Result<(), Stopped> {
        let open: Vec<&mut Node> = nodes.iter_mut().filter(|n| n.end.is_none()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let queries: Vec<Query> =
            open.iter().map(|n| Query { game: &n.after, conditions: self.task.conditions }).collect();
        let evaluations = self.task.evaluator.evaluate(&queries, self.task.stop)?;
        self.nodes += evaluations.len() as u64;
        for (node, evaluation) in open.into_iter().zip(evaluations) {
            node.score = Score::Expected(judged(&node.after, evaluation.wdl)).before_move();
            node.evaluation = Some(evaluation);
        }
        Ok(())
    }

    fn rank(&self, node: &Node) -> f32 {
        node.score.order() + self.handicap(node.probability)
    }

    /// What the policy holds against a move: its log-probability, weighed.
    fn handicap(&self, probability: f32) -> f32 {
        self.params.policy_weight * probability.max(1e-6).ln()
    }

    /// Looks `depth` plies below the root at every root move. Scores change only for moves that were looked at to the end.
    fn deepen(&mut self, nodes: &mut [Node], depth: u32) -> Result<(), Stopped> {
        // The ranks so far, best first: a move that cannot come among the lines wanted need not be judged exactly.
        let mut ranks: Vec<f32> = Vec::new();
        for node in nodes.iter_mut() {
            if node.end.is_none() {
                let worth = ranks.get(self.task.lines.max(1) - 1).copied().unwrap_or(f32::NEG_INFINITY);
                let handicap = self.handicap(node.probability);
                let evaluation = node.evaluation.clone();
                let (score, line) = self.look(&node.after, evaluation, depth - 1, 1, handicap - worth)?;
                node.score = score.before_move();
                node.line = std::iter::once(node.m).chain(line).collect();
            }
            let rank = self.rank(node);
            ranks.insert(ranks.partition_point(|&r| r > rank), rank);
        }
        Ok(())
    }

    /// The score of a position for the player to move, looking `depth` plies ahead; `enough` is what he need not
    /// exceed: his opponent has better elsewhere.
    fn look(
        &mut self,
        game: &Game,
        known: Option<Evaluation>,
        depth: u32,
        ply: u32,
        enough: f32,
    ) -> Result<(Score, Vec<Move>), Stopped> {
        self.seldepth = self.seldepth.max(ply + depth);
        let evaluation = match known {
            Some(evaluation) => evaluation,
            None => {
                let query = Query { game, conditions: self.task.conditions };
                let one = self.task.evaluator.evaluate(&[query], self.task.stop)?;
                self.nodes += 1;
                one.into_iter().next().ok_or(Stopped)?
            }
        };
        if self.task.is_over(self.nodes) {
            return Err(Stopped);
        }
        let mut covered = 0.0;
        let mut nodes: Vec<Node> = Vec::new();
        for e in &evaluation.moves {
            if nodes.len() >= self.params.width || (covered >= self.params.coverage && nodes.len() >= 2) {
                break;
            }
            covered += e.probability;
            nodes.push(node(game, e.m, e.probability));
        }
        self.judge(&mut nodes)?;
        nodes.sort_by(|a, b| self.rank(b).total_cmp(&self.rank(a)));
        // The best by value and policy together, as at the root: the largest of many noisy values alone is mostly noise.
        let mut best: Option<(f32, Score, Vec<Move>)> = None;
        for mut node in nodes {
            let (mut score, mut line) = (node.score, vec![node.m]);
            if node.end.is_none() && depth > 1 {
                let bound = best.as_ref().map_or(f32::INFINITY, |(rank, ..)| self.handicap(node.probability) - rank);
                let (below, moves) = self.look(&node.after, node.evaluation.take(), depth - 1, ply + 1, bound)?;
                score = below.before_move();
                line.extend(moves);
            }
            let rank = score.order() + self.handicap(node.probability);
            if best.as_ref().is_none_or(|(most, ..)| rank > *most) {
                best = Some((rank, score, line));
            }
            if best.as_ref().is_some_and(|(_, s, _)| s.order() > enough) {
                break;
            }
        }
        best.map(|(_, score, line)| (score, line)).ok_or(Stopped)
    }

    fn answer(&self, nodes: &[Node], root: &Evaluation, depth: u32) -> Answer {
        let judged = nodes.iter().any(|n| n.evaluation.is_some() || n.end.is_some());
        let lines = nodes
            .iter()
            .map(|n| Line {
                moves: n.line.clone(),
                // Before anything was judged, the root's own value is all there is.
                score: if judged { n.score } else { Score::Expected(root.wdl) },
                probability: n.probability,
                rank: Rank::open(if judged { self.rank(n) } else { n.probability }),
            })
            .collect();
        let report = Report { depth, seldepth: self.seldepth.max(depth), nodes: self.nodes, ..Report::default() };
        Answer::new(report, lines, self.task.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Conditions;
    use crate::evaluate::{Scripted, Stop};
    use crate::search::Limits;
    use shakmaty::Position;

    fn best(game: &Game, depth: u32, lines: usize) -> Answer {
        let limits = Limits { depth: Some(depth), deepen: true, ..Limits::default() };
        let task = Task {
            game,
            conditions: &Conditions::STRONGEST,
            limits: &limits,
            lines,
            stop: &Stop::new(false, None),
            evaluator: &Scripted::default(),
            memory: 1 << 20,
            kept: None,
            endings: None,
        };
        Value::default().search(&task, &mut |_| {})
    }

    #[test]
    fn looking_deeper_sees_what_is_taken_back() {
        // The pawn on e5 is protected: one ply wins it, two plies lose the queen for it.
        let game = Game::from_fen("4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1").expect("legal");
        let name = |a: &Answer| game.uci(a.report.lines[0].moves[0], false);
        assert_eq!(name(&best(&game, 1, 1)), "e2e5");
        assert_ne!(name(&best(&game, 2, 1)), "e2e5");
    }

    #[test]
    fn ends_of_the_game_are_exact() {
        // A mate is one, whatever the evaluator thinks; stalemate is a draw, however much is left on the board.
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1").expect("legal");
        assert_eq!(best(&game, 1, 1).report.lines[0].score, Score::Mate(1));
        let game = Game::from_fen("7k/8/6K1/8/8/8/5Q2/8 w - - 0 1").expect("legal");
        let lines = best(&game, 1, 218).report.lines;
        let stalemate = lines.iter().find(|l| game.after(l.moves[0]).position().is_stalemate()).expect("Qf7");
        assert_eq!(stalemate.score, Score::Expected(Wdl::DRAW));
    }

    #[test]
    fn as_many_lines_as_asked_for_each_legal() {
        let game = Game::default();
        let lines = best(&game, 3, 5).report.lines;
        assert_eq!(lines.len(), 5);
        for line in &lines {
            let mut game = game.clone();
            for &m in &line.moves {
                assert!(game.position().is_legal(m));
                game.play(m);
            }
        }
    }
}
