//! Playing as a person of a rating does: the move is drawn, with the help of a search where the rating asks for it, and
//! a game that is won is brought home.

use std::time::Duration;

use rand::Rng;
use shakmaty::{ByRole, Chess, Move, Position};

use super::engine::Go;
use super::settings::Settings;
use super::tablebase::Tablebases;
use crate::board::{Conditions, Game, Repetitions};
use crate::evaluate::Evaluation;
use crate::human::{Found, Style, draw, weights};
use crate::search::{Limits, Line, MoveStats, Report, Score, Search, Task, Tree, mating_move, value};

/// Pawns ahead from which the game is won and to be finished, at any rating: a rook.
const AHEAD: f32 = 5.0;
/// How a won game is searched and how much that is relied on, at least.
const FINISH: (u64, f32) = (64, 12.0);
/// Plies without capture or pawn move from which what makes progress is preferred more and more.
const PATIENCE: u32 = 16;

/// A move that a person would play, with the report that shows it.
pub(super) struct Chosen {
    /// The first line begins with the move.
    pub(super) report: Report,
    /// Whether tablebases were followed.
    pub(super) by_tables: bool,
}

/// Own material less the other's, in pawns.
fn lead(position: &Chess) -> f32 {
    let of = |men: ByRole<u8>| {
        men.into_iter().zip(shakmaty::Role::ALL).map(|(n, role)| f32::from(n) * value(role)).sum::<f32>()
    };
    let board = position.board();
    of(board.material_side(position.turn())) - of(board.material_side(!position.turn()))
}

/// What is known of a position that is to be won.
struct Won {
    /// The moves that keep the win, with the plies that they cost, more for slower ones; all moves where no table knows.
    moves: Vec<(Move, i32)>,
    /// Whether tables say so.
    by_tables: bool,
}

fn won(game: &Game, allowed: &[Move], tables: &Tablebases, settings: &Settings) -> Option<Won> {
    let position = game.position();
    let (limit, fifty) = (settings.syzygy_probe_limit, settings.syzygy_50_move_rule);
    match tables.probe(position, allowed, limit, fifty) {
        Some(verdict) if verdict.wdl > 0 => {
            Some(Won { moves: verdict.keeping.iter().map(|&(m, plies)| (m, -plies)).collect(), by_tables: true })
        }
        Some(_) => None,
        None if lead(position) >= AHEAD => {
            Some(Won { moves: allowed.iter().map(|&m| (m, 0)).collect(), by_tables: false })
        }
        None => None,
    }
}

/// Chooses a move. `task` has the conditions of the game between people; `style` says how the rating is played.
pub(super) fn choose(
    task: &Task,
    style: &Style,
    settings: &Settings,
    tables: &Tablebases,
    draws: bool,
    rng: &mut impl Rng,
) -> Chosen {
    let (game, allowed) = (task.game, task.moves());
    let evaluation = task.evaluator.glance(game, task.conditions);
    let won = won(game, &allowed, tables, settings);
    let by_tables = won.as_ref().is_some_and(|w| w.by_tables);
    if won.is_some()
        && let Some(mate) = mating_move(game.position(), &allowed)
    {
        return Chosen { report: shown(&evaluation, &[(mate, 1.0)], &[], 1), by_tables };
    }
    let mut style = *style;
    if won.is_some() && !by_tables {
        style.nodes = style.nodes.max(FINISH.0);
        style.reliance = style.reliance.max(FINISH.1);
    }
    let (stats, nodes) = searched(task, &style);
    let found = |m: Move| {
        if !allowed.contains(&m) {
            return None;
        }
        let q = stats.iter().find(|s| s.m == m && s.visits > 0).and_then(|s| s.score).map(|s| s.order());
        let factor = match &won {
            None => 1.0,
            Some(won) => progress(game, m, won)?,
        };
        Some(Found { q, factor })
    };
    let weights = weights(&evaluation, &style, &found);
    let best = || (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]));
    let chosen = if draws { draw(&weights, rng) } else { best() };
    let mut order: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    if let Some(at) = order.iter().position(|&i| Some(i) == chosen) {
        order[..=at].rotate_right(1);
    }
    let moves: Vec<(Move, f32)> = order.iter().map(|&i| (evaluation.moves[i].m, weights[i])).collect();
    Chosen { report: shown(&evaluation, &moves, &stats, nodes + 1), by_tables }
}

/// The time after which a person would answer: drawn from the network's distribution under the clocks as they are. None where
/// the network does not know, or no clock of this player's runs; never more than a quarter of what is left on it, the overhead taken off,
/// nor more than the time given for this move.
pub(super) fn think(task: &Task, go: &Go, overhead: u64, rng: &mut impl Rng) -> Option<Duration> {
    let overhead = Duration::from_millis(overhead);
    let seconds = |s: f32| Duration::try_from_secs_f32(s).unwrap_or_default();
    let (white, black, _) = go.clocks;
    let left = task.game.position().turn().fold_wb(white, black).map(|left| seconds(left).saturating_sub(overhead) / 4);
    let most = [left, go.move_time.map(|time| time.saturating_sub(overhead))].into_iter().flatten().min()?;
    let one = task.moves().len() == 1;
    // Where there is nothing to choose, a person needs no more than to see that.
    let share = rng.random::<f32>() * if one { 0.1 } else { 1.0 };
    Some(seconds(task.evaluator.move_time(task.game, task.conditions)?.quantile(share)).min(most))
}

/// What a search of the style's nodes finds of the root's moves; nothing without a value to search by.
fn searched(task: &Task, style: &Style) -> (Vec<MoveStats>, u64) {
    if style.nodes == 0 || style.reliance <= 0.0 || !task.evaluator.has_value() {
        return (Vec::new(), 0);
    }
    let nodes = task.limits.nodes.map_or(style.nodes, |most| most.min(style.nodes));
    let limits = Limits { nodes: Some(nodes), ..task.limits.clone() };
    let report = Tree::default()
        .search(
            &Task { limits: &limits, conditions: &Conditions::STRONGEST, kept: None, lines: 1, ..*task },
            &mut |_| {},
        )
        .report;
    (report.stats, report.nodes)
}

/// How much a move is preferred in a won position; `None` for moves that throw it away or lead in circles.
fn progress(game: &Game, m: Move, won: &Won) -> Option<f32> {
    let &(_, plies) = won.moves.iter().find(|(known, _)| *known == m)?;
    let quickest = won.moves.iter().map(|&(_, plies)| plies).min()?;
    let waited = game.position().halfmoves();
    // Tables: each ply lost costs more the longer nothing has happened; in the end only the quickest way is left.
    let haste = 0.15 + f32::from(u8::try_from(waited).unwrap_or(u8::MAX)) / PATIENCE as f32;
    let mut factor = if won.by_tables { (-haste * (plies - quickest) as f32).exp() } else { 1.0 };
    if game.after(m).repetitions() != Repetitions::None {
        factor *= 1e-3;
    }
    if !won.by_tables && waited > PATIENCE && m.is_zeroing() {
        factor *= ((waited - PATIENCE) as f32 / 4.0).exp().min(1e6);
    }
    Some(factor)
}

/// A report of moves with their weights, the chosen one first.
fn shown(evaluation: &Evaluation, moves: &[(Move, f32)], stats: &[MoveStats], nodes: u64) -> Report {
    let score = |m: Move| {
        let searched = stats.iter().find(|s| s.m == m && s.visits > 0).and_then(|s| s.score);
        searched.unwrap_or(Score::Expected(evaluation.wdl))
    };
    let lines = moves
        .iter()
        .map(|&(m, weight)| Line {
            moves: vec![m],
            score: score(m),
            probability: evaluation.probability(m),
            rank: weight,
        })
        .collect();
    Report { depth: 1, seldepth: 1, nodes, lines, stats: stats.to_vec(), ..Report::default() }
}
