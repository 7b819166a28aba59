//! The main lines of a search, drawn as a tree.

use std::fmt::Write as _;

use crate::board::Game;
use crate::evaluate::Stop;
use crate::play::{Engine, EngineError, Go, SearchName, Settings};
use crate::search::{Branch, Limits, Score};

/// Moves shown at each ply.
const WIDTHS: [usize; 6] = [4, 3, 2, 1, 1, 1];

/// A tree search over so many positions, and its most visited moves: visits, the network's probability as the search takes it, expected
/// score.
///
/// # Errors
/// When the weights cannot be loaded, or have no values to search by.
pub fn eval_tree(engine: &mut Engine, game: &Game, nodes: u64) -> Result<String, EngineError> {
    let before = engine.settings().clone();
    let settings = Settings { search: SearchName::Tree, own_book: false, limit_strength: false, ..before.clone() };
    let refused = engine.configure(settings).into_iter().next();
    let text = match refused {
        Some(error) => Err(error),
        None => search(engine, game, nodes),
    };
    engine.configure(before);
    text
}

fn search(engine: &mut Engine, game: &Game, nodes: u64) -> Result<String, EngineError> {
    let go = Go { limits: Limits { nodes: Some(nodes), ..Limits::default() }, analysis: true, ..Go::default() };
    engine.clear();
    let decision = engine.go(game, &go, &Stop::new(false, None), &mut |_| {})?;
    let Some(best) = decision.best else {
        return Ok(format!("the game is over: {:?}", game.terminal()));
    };
    let chess960 = engine.settings().chess960;
    let branches = engine.branches(&WIDTHS);
    if branches.is_empty() {
        return Ok(format!("{} at once ({:?}): no tree was needed", game.uci(best, chess960), decision.source));
    }
    let mut out = format!("{} positions; visits, prior, expected score\n", decision.report.nodes);
    draw(&mut out, "", game, &branches, chess960);
    Ok(out.trim_end().to_owned())
}

fn draw(out: &mut String, indent: &str, game: &Game, branches: &[Branch], chess960: bool) {
    for (i, Branch { stats, replies }) in branches.iter().enumerate() {
        let last = i + 1 == branches.len();
        let score = match stats.score {
            Some(Score::Mate(n)) => format!("mate {n}"),
            Some(score) => format!("{:5.1} %", score.wdl().score() * 100.0),
            None => String::new(),
        };
        let name = game.uci(stats.m, chess960);
        let branch = if last { "└" } else { "├" };
        let _ = writeln!(out, "{indent}{branch} {name:5} {:6}  {:5.1} %  {score}", stats.visits, stats.prior * 100.0);
        let deeper = format!("{indent}{} ", if last { " " } else { "│" });
        draw(out, &deeper, &game.after(stats.m), replies, chess960);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Scripted;

    #[test]
    fn the_tree_is_drawn_and_settings_come_back() {
        let mut engine = Engine::with_evaluator(Box::new(Scripted::default()));
        engine.configure(Settings { search: SearchName::Policy, ..Settings::default() });
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3";
        let text = eval_tree(&mut engine, &Game::from_fen(fen).expect("legal"), 200).expect("scripted");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("200 positions"), "{text}");
        assert_eq!(lines.iter().filter(|l| l.starts_with(['├', '└'])).count(), 4, "{text}");
        assert!(lines.iter().any(|l| l.starts_with("│ ├ ")) && text.contains(" %"), "{text}");
        assert_eq!(engine.settings().search, SearchName::Policy);
        let mate = eval_tree(&mut engine, &Game::from_fen("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1").expect("legal"), 50);
        assert_eq!(mate.expect("scripted"), "a1a8 at once (Mate): no tree was needed");
        let over = eval_tree(&mut engine, &Game::from_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").expect("legal"), 50);
        assert!(over.expect("scripted").contains("Stalemate"));
    }
}
