//! Playing as a person of a rating does: the move is drawn, with the help of a search where the rating asks for it, and
//! a game that is won is brought home.

use std::time::Duration;

use rand::Rng;
use shakmaty::{Move, Position};

use super::decision::Go;
use super::settings::Settings;
use super::tablebase::Tablebases;
use crate::board::{Conditions, Game, Repetitions, fair_share};
use crate::evaluate::Evaluation;
use crate::human::{Found, Style, draw, weights};
use crate::search::{Limits, Line, MoveStats, Rank, Report, Score, Search, Task, Tree, balance, mating_move};

/// Pawns ahead from which the game is won and to be finished, at any rating: a rook.
const AHEAD: f32 = 5.0;
/// How a won game is searched and how much that is relied on, at least.
const FINISH: (u64, f32) = (160, 60.0);
/// Plies without capture or pawn move from which what makes progress is preferred more and more.
const PATIENCE: u32 = 16;

/// A move that a person would play, with the report that shows it.
pub(super) struct Chosen {
    /// The first line begins with the move.
    pub(super) report: Report,
    /// Whether tablebases were followed.
    pub(super) by_tables: bool,
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
        None if balance(position) >= AHEAD => {
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
    let left = seconds(task.game.position().turn().fold_wb(white, black)?).saturating_sub(overhead) / 4;
    let given = go.move_time.map_or(left, |time| time.saturating_sub(overhead));
    let most = left.min(given);
    let (own, _) = task.conditions.seats(task.game.position().turn());
    let fair = fair_share(own.clock?, task.conditions.increment.unwrap_or(0.0));
    let one = task.moves().len() == 1;
    // Where there is nothing to choose, a person needs no more than to see that.
    let share = rng.random::<f32>() * if one { 0.1 } else { 1.0 };
    Some(seconds(fair * task.evaluator.move_time(task.game, task.conditions)?.quantile(share)).min(most))
}

/// What a search of the style's nodes finds of the root's moves; nothing without a value to search by.
fn searched(task: &Task, style: &Style) -> (Vec<MoveStats>, u64) {
    if style.nodes == 0 || style.reliance <= 0.0 || !task.evaluator.has_value() {
        return (Vec::new(), 0);
    }
    let nodes = task.limits.nodes.map_or(style.nodes, |most| most.min(style.nodes));
    let limits = Limits { nodes: Some(nodes), ..task.limits.clone() };
    // The dial was measured with the network's word alone, asked for anew on every way to a position.
    let report = Tree { exchanges: None, transpositions: false, repetitions: false, ..Tree::default() }
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
            rank: Rank::open(weight),
        })
        .collect();
    Report { depth: 1, seldepth: 1, nodes, lines, stats: stats.to_vec(), ..Report::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Terminal;
    use crate::evaluate::{Scripted, Stop};
    use crate::play::{Engine, Source};

    fn person(settings: Settings) -> Engine {
        let mut engine = Engine::with_evaluator(Box::new(Scripted::default()));
        assert!(engine.configure(Settings { limit_strength: true, ..settings }).is_empty());
        engine
    }

    fn go(engine: &mut Engine, game: &Game) -> super::super::Decision {
        engine.go(game, &Go::default(), &Stop::new(false, None), &mut |_| {}).expect("scripted")
    }

    /// Whatever the network thinks: who is far ahead mates, even at the lowest rating, and against any defence.
    #[test]
    fn won_endings_are_brought_home() {
        for fen in ["8/8/8/3k4/8/8/8/KR6 w - - 0 1", "8/8/8/3k4/8/8/8/KQ6 w - - 0 1", "8/8/8/3k4/8/8/8/KBB5 w - - 0 1"]
        {
            for seed in 0..3_u64 {
                let mut engine = person(Settings { elo: 800, ..Settings::default() });
                let mut game = Game::from_fen(fen).expect(fen);
                let mut plies = 0;
                while game.terminal().is_none() && plies < 120 {
                    let m = if plies % 2 == 0 {
                        go(&mut engine, &game).best.expect("a move")
                    } else {
                        let moves = game.position().legal_moves();
                        moves[(plies as u64 * 7 + seed * 13) as usize % moves.len()]
                    };
                    game.play(m);
                    plies += 1;
                }
                assert_eq!(game.terminal(), Some(Terminal::Checkmate), "{fen}, {plies} plies");
            }
        }
    }

    #[test]
    fn mates_are_found_by_who_is_ahead() {
        let mut engine = person(Settings::default());
        // Two rooks against three pawns: no tables; the back rank is open.
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/1R6/R3K3 w - - 0 1").expect("legal");
        let decision = go(&mut engine, &game);
        assert!(game.after(decision.best.expect("a move")).terminal() == Some(Terminal::Checkmate));
        assert_eq!(decision.source, Source::Search);
    }

    #[test]
    fn what_was_asked_for_is_played_and_time_is_bounded() {
        let mut engine = person(Settings { self_elo: 1900, human_time: true, ..Settings::default() });
        let game = Game::default();
        let m = game.parse_uci("a2a3").expect("legal");
        let limits = Limits { moves: vec![m], ..Limits::default() };
        let go = Go { limits, clocks: (Some(10.0), Some(10.0), None), ..Go::default() };
        let decision = engine.go(&game, &go, &Stop::new(false, None), &mut |_| {}).expect("scripted");
        assert_eq!((decision.best, decision.think), (Some(m), None), "the script knows no times");
        // 1900 as it is, and the opponent the same, by nobody's word.
        let conditions = engine.conditions(shakmaty::Color::White, &go);
        assert_eq!((conditions.white.rating, conditions.black.rating), (Some(1900.0), Some(1900.0)));
        assert_eq!(conditions.white.clock, Some(10.0));
        let engine = person(Settings { self_elo: 1900, oppo_elo: 1200, ..Settings::default() });
        assert_eq!(engine.conditions(shakmaty::Color::Black, &go).white.rating, Some(1200.0));
    }
}
