//! What the network thinks of a position, as text or JSON.

use std::fmt::Write as _;

use serde_json::json;
use shakmaty::Position;

use crate::board::{Game, write_fen};
use crate::evaluate::Evaluation;
use crate::play::{Engine, EngineError, Go};

/// Moves shown in text.
const SHOWN: usize = 10;

fn glance(engine: &mut Engine, game: &Game) -> Result<Option<Evaluation>, EngineError> {
    if game.position().legal_moves().is_empty() {
        return Ok(None);
    }
    let conditions = engine.conditions(game.position().turn(), &Go::default());
    Ok(Some(engine.evaluator()?.glance(game, &conditions)))
}

/// A table of the most probable moves, and win, draw and loss as a bar.
///
/// # Errors
/// When the weights cannot be loaded.
pub fn eval_text(engine: &mut Engine, game: &Game) -> Result<String, EngineError> {
    let Some(e) = glance(engine, game)? else {
        return Ok(format!("the game is over: {:?}", game.terminal()));
    };
    let chess960 = engine.settings().chess960;
    let mut out = String::new();
    let most = e.moves.first().map_or(1.0, |m| m.probability).max(1e-6);
    for m in e.moves.iter().take(SHOWN) {
        let bar = "█".repeat((m.probability / most * 30.0).round() as usize);
        let _ = writeln!(out, "{:6} {:5.1} % {bar}", game.uci(m.m, chess960), m.probability * 100.0);
    }
    let rest = e.moves.len().saturating_sub(SHOWN);
    if rest > 0 {
        let share: f32 = e.moves.iter().skip(SHOWN).map(|m| m.probability).sum();
        let _ = writeln!(out, "{rest} more {:4.1} %", share * 100.0);
    }
    if !engine.evaluator()?.has_value() {
        out.push_str("no win, draw and loss: these weights have no value head");
        return Ok(out);
    }
    let [win, draw, loss] = e.wdl.per_mille();
    let cell = |n: i32, c: &str| c.repeat((n as f64 / 1000.0 * 40.0).round() as usize);
    let _ = writeln!(
        out,
        "win {:.1} %  draw {:.1} %  loss {:.1} %  ({} cp for {})",
        win as f64 / 10.0,
        draw as f64 / 10.0,
        loss as f64 / 10.0,
        e.wdl.centipawns(),
        game.position().turn()
    );
    let _ = write!(out, "{}{}{}", cell(win, "█"), cell(draw, "▒"), cell(loss, "░"));
    Ok(out)
}

/// Every legal move with its probability, and win, draw and loss.
///
/// # Errors
/// When the weights cannot be loaded.
pub fn eval_json(engine: &mut Engine, game: &Game) -> Result<String, EngineError> {
    let fen = write_fen(game.position());
    let value = match glance(engine, game)? {
        None => json!({ "fen": fen, "moves": [], "over": format!("{:?}", game.terminal()) }),
        Some(e) => {
            let chess960 = engine.settings().chess960;
            let moves: Vec<_> = e
                .moves
                .iter()
                .map(|m| json!({ "move": game.uci(m.m, chess960), "probability": m.probability, "logit": m.logit }))
                .collect();
            let wdl = engine.evaluator()?.has_value().then_some(e.wdl);
            json!({
                "fen": fen,
                "moves": moves,
                "wdl": wdl.map(|w| json!({ "win": w.win, "draw": w.draw, "loss": w.loss })),
                "cp": wdl.map(|w| w.centipawns()),
            })
        }
    };
    Ok(value.to_string())
}
