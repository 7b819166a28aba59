//! MicroChess's pipeline: bonuses on the logits, a blunder check, and one ply of replies in one batch.
//!
//! The steps are those of MicroChess-20M (kruuusher/Chess-Bot-20M), with its mistakes mended: an en passant
//! capture earns its bonus, the blunder check keeps its word, and the five replies go through the network at once.

use shakmaty::{Move, Position, Role};

use super::mate::mating_move;
use super::material::{captured, cheaper_takes_piece, value};
use super::report::{Line, Report, Score};
use super::task::{Answer, Search, Task};
use crate::board::{Game, Terminal};
use crate::evaluate::Query;

/// Candidates looked at closely.
const CANDIDATES: usize = 5;
/// What the opponent's best reply weighs against one's own logit.
const REPLY_WEIGHT: f32 = 0.5;

/// The parts of the pipeline, each with its own switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guards {
    /// Small bonuses on the logits: checks, captures, promotions, mate.
    pub bonuses: bool,
    /// Candidates that allow mate in one, or leave a piece to something cheaper, stand back.
    pub blunders: bool,
    /// One ply: the opponent's best reply counts against a candidate.
    pub replies: bool,
}

impl Default for Guards {
    fn default() -> Guards {
        Guards { bonuses: true, blunders: true, replies: true }
    }
}

/// The pipeline.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookahead {
    /// Which parts are on.
    pub guards: Guards,
}

struct Candidate {
    m: Move,
    probability: f32,
    logit: f32,
    after: Game,
    blunder: bool,
    score: f32,
    reply: Option<Move>,
}

/// Check +0.3, mate +100, capture +0.05 × the piece taken and 0.1 × the gain when a cheaper piece takes a dearer one,
/// promotion +2.
fn bonus(game: &Game, m: Move, after: &Game) -> f32 {
    let mut bonus = 0.0;
    if after.position().is_check() {
        bonus += 0.3;
    }
    if after.terminal() == Some(Terminal::Checkmate) {
        bonus += 100.0;
    }
    if let Some(taken) = captured(m) {
        let gain = value(taken) - value(m.role());
        bonus += 0.05 * value(taken);
        if m.role() != Role::King && gain > 0.0 {
            bonus += 0.1 * gain;
        }
    }
    if m.is_promotion() {
        bonus += 2.0;
    }
    debug_assert!(game.position().is_legal(m));
    bonus
}

/// Whether the opponent can mate at once, or take a piece worth three or more with something cheaper.
fn is_blunder(after: &Game) -> bool {
    let position = after.position();
    mating_move(position, &position.legal_moves()).is_some() || cheaper_takes_piece(position)
}

impl Search for Lookahead {
    fn search(&self, task: &Task, _: &mut dyn FnMut(&Report)) -> Answer {
        let evaluation = task.evaluator.glance(task.game, task.conditions);
        let mut report = Report { depth: 1, seldepth: 1, nodes: 1, ..Report::default() };
        let allowed = task.moves();
        let mut candidates: Vec<Candidate> = evaluation
            .moves
            .iter()
            .filter(|e| allowed.contains(&e.m))
            .map(|e| {
                let after = task.game.after(e.m);
                let bonus = if self.guards.bonuses { bonus(task.game, e.m, &after) } else { 0.0 };
                let logit = e.logit + bonus;
                Candidate {
                    m: e.m,
                    probability: e.probability,
                    logit,
                    after,
                    blunder: false,
                    score: logit,
                    reply: None,
                }
            })
            .collect();
        candidates.sort_by(|a, b| b.logit.total_cmp(&a.logit));
        let close = candidates.len().min(CANDIDATES);
        let (best, rest) = candidates.split_at_mut(close);
        if self.guards.blunders {
            for c in best.iter_mut() {
                c.blunder = c.after.terminal().is_none() && is_blunder(&c.after);
            }
        }
        if self.guards.replies && !task.is_over(report.nodes) {
            self.look_at_replies(task, best, &mut report);
        }
        // Blunders stand behind every other candidate, and moves that were not looked at behind those.
        let lowest = best.iter().map(|c| c.score).fold(f32::INFINITY, f32::min);
        let span = 1.0 + best.iter().map(|c| c.score).fold(f32::NEG_INFINITY, f32::max) - lowest;
        if best.iter().any(|c| !c.blunder) {
            best.iter_mut().filter(|c| c.blunder).for_each(|c| c.score -= span);
        }
        let top = rest.first().map_or(0.0, |c| c.logit);
        rest.iter_mut().for_each(|c| c.score = lowest - 2.0 * span + c.logit - top);
        let lines = candidates
            .into_iter()
            .map(|c| {
                let mate = c.after.terminal() == Some(Terminal::Checkmate);
                let score = if mate { Score::Mate(1) } else { Score::Expected(evaluation.wdl) };
                Line {
                    moves: std::iter::once(c.m).chain(c.reply).collect(),
                    score,
                    probability: c.probability,
                    rank: score.rank(c.score),
                }
            })
            .collect();
        Answer::new(report, lines, task.lines)
    }
}

impl Lookahead {
    /// `score = own logit − 0.5 × the opponent's best reply logit`; a move that ends the game in a draw scores zero.
    fn look_at_replies(&self, task: &Task, best: &mut [Candidate], report: &mut Report) {
        let open: Vec<usize> = (0..best.len()).filter(|&i| best[i].after.terminal().is_none()).collect();
        let queries: Vec<Query> =
            open.iter().map(|&i| Query { game: &best[i].after, conditions: task.conditions }).collect();
        let Ok(replies) = task.evaluator.evaluate(&queries, task.stop) else {
            return;
        };
        report.nodes += replies.len() as u64;
        (report.depth, report.seldepth) = (2, 2);
        for (&i, reply) in open.iter().zip(&replies) {
            if let Some(first) = reply.moves.first() {
                best[i].score = best[i].logit - REPLY_WEIGHT * first.logit;
                best[i].reply = Some(first.m);
            }
        }
        // "A drawn end counts 0": neither the logit nor a reply.
        for c in best.iter_mut() {
            match c.after.terminal() {
                Some(Terminal::Checkmate) | None => {}
                Some(_) => c.score = 0.0,
            }
        }
    }
}
