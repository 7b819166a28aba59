//! `info` lines. (vampirc-uci's have no room for win, draw and loss, nor for mates beyond 127.)

use std::fmt::Write as _;
use std::time::Duration;

use crate::board::Game;
use crate::evaluate::{Evaluation, MoveEvaluation};
use crate::play::Settings;
use crate::search::{Line, MoveStats, Report, Score};

/// The moves of a line in UCI notation, as long as they are legal.
fn pv(game: &Game, line: &Line, chess960: bool) -> String {
    let mut game = game.clone();
    let mut out = String::new();
    for &m in &line.moves {
        let _ = write!(out, " {}", game.uci(m, chess960));
        game.play(m);
    }
    out
}

/// One `info` line for each line of a report.
pub fn lines(game: &Game, report: &Report, settings: &Settings, time: Duration) -> Vec<String> {
    let nps = report.nodes as f64 / time.as_secs_f64().max(1e-3);
    report
        .lines
        .iter()
        .enumerate()
        .map(|(i, line)| {
            let mut out = format!("info depth {} seldepth {} multipv {}", report.depth, report.seldepth, i + 1);
            let _ = match line.score {
                Score::Mate(n) => write!(out, " score mate {n}"),
                Score::Expected(wdl) => write!(out, " score cp {}", wdl.centipawns()),
            };
            if settings.show_wdl {
                let [win, draw, loss] = line.score.wdl().per_mille();
                let _ = write!(out, " wdl {win} {draw} {loss}");
            }
            let _ = write!(
                out,
                " nodes {} nps {:.0} hashfull {} tbhits {} time {}",
                report.nodes,
                nps,
                report.hashfull,
                report.tbhits,
                time.as_millis()
            );
            if !line.moves.is_empty() {
                let _ = write!(out, " pv{}", pv(game, line, settings.chess960));
            }
            out
        })
        .collect()
}

/// One `info string` line for each legal move, the best last, as `VerboseMoveStats` users know it: visits (N), prior (P), logit (L),
/// win, draw and loss (WDL), and win less loss (Q) of what was visited.
pub fn move_stats(game: &Game, evaluation: &Evaluation, stats: &[MoveStats], settings: &Settings) -> Vec<String> {
    let of = |m| stats.iter().find(|s| s.m == m);
    let mut moves: Vec<&MoveEvaluation> = evaluation.moves.iter().rev().collect();
    moves.sort_by_key(|e| of(e.m).map_or(0, |s| s.visits));
    moves
        .into_iter()
        .map(|e| {
            let name = game.uci(e.m, settings.chess960);
            let mut out = format!("info string {name:5} (P: {:5.2}%) (L: {:7.3})", e.probability * 100.0, e.logit);
            if let Some(stats) = of(e.m) {
                let _ = write!(out, " (N: {:5})", stats.visits);
                if let Some(score) = stats.score {
                    let [win, draw, loss] = score.wdl().per_mille();
                    let _ = write!(out, " (WDL: {win} {draw} {loss}) (Q: {:+.4})", score.wdl().balance());
                }
                if let Some(Score::Mate(n)) = stats.score {
                    let _ = write!(out, " (M: {n})");
                }
            }
            out
        })
        .collect()
}
