//! A round robin through the engine itself, from openings of real games.

use std::fmt::Write as _;
use std::path::Path;

use glance::board::{Game, Terminal};
use glance::evaluate::Stop;
use glance::play::{Engine, EngineError, Go, SearchName, Settings};
use glance::search::Limits;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use shakmaty::Position;

use crate::data::shard::{Kind, Shard};

/// Plies of an opening.
const OPENING: usize = 8;
/// A game is a draw after so many plies.
const LONGEST: usize = 300;

/// The first plies of different games, in UCI notation: `count` different ones, or as many as there are.
pub fn openings(shards: &[Shard], count: usize) -> Vec<Vec<String>> {
    let shards: Vec<&Shard> = shards.iter().filter(|s| s.kind() == Kind::Games && !s.is_empty()).collect();
    let mut rng = StdRng::seed_from_u64(3);
    let mut found: Vec<Vec<String>> = Vec::new();
    for i in 0..if shards.is_empty() { 0 } else { count * 20 } {
        let shard = shards[i % shards.len()];
        let Some(record) = shard.game(rng.random_range(0..shard.len())) else { continue };
        let line: Vec<String> =
            record.line().take(OPENING).map(|(before, m)| Game::new(before).uci(m, false)).collect();
        if line.len() == OPENING && !found.contains(&line) {
            found.push(line);
        }
        if found.len() == count {
            break;
        }
    }
    found
}

/// An engine with these weights, that plays the best move of this search.
///
/// # Errors
/// When the weights cannot be loaded or do not allow the search.
pub fn player(weights: &Path, search: SearchName) -> Result<Engine, EngineError> {
    let mut engine = Engine::default();
    let settings = Settings { weights_file: Some(weights.to_owned()), own_book: false, search, ..Settings::default() };
    match engine.configure(settings).into_iter().next() {
        Some(error) => Err(error),
        None => Ok(engine),
    }
}

/// A game that was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Points of White: 0, ½ or 1.
    pub points: f64,
    /// All moves.
    pub moves: Vec<String>,
}

impl Played {
    /// As PGN, with moves in standard notation.
    pub fn pgn(&self, white: &str, black: &str, round: usize) -> String {
        let result = if self.points == 1.0 {
            "1-0"
        } else if self.points == 0.0 {
            "0-1"
        } else {
            "1/2-1/2"
        };
        let mut out = format!(
            "[Event \"zoo\"]\n[Round \"{round}\"]\n[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"{result}\"]\n\n"
        );
        let mut game = Game::default();
        for (ply, text) in self.moves.iter().enumerate() {
            let Ok(m) = game.parse_uci(text) else { break };
            let san = game.san(m);
            if ply % 2 == 0 {
                let _ = write!(out, "{}. ", ply / 2 + 1);
            }
            let _ = write!(out, "{san}{}", if ply % 12 == 11 { "\n" } else { " " });
            game.play(m);
        }
        out + result + "\n\n"
    }
}

/// One game from an opening.
///
/// # Errors
/// When an engine cannot evaluate.
pub fn play(opening: &[String], white: &mut Engine, black: &mut Engine, nodes: u64) -> Result<Played, EngineError> {
    let mut game = Game::default();
    let mut moves = Vec::new();
    for text in opening {
        let Ok(m) = game.parse_uci(text) else { break };
        moves.push(text.clone());
        game.play(m);
    }
    let go = Go { limits: Limits { nodes: Some(nodes), ..Limits::default() }, ..Go::default() };
    while game.terminal().is_none() && moves.len() < LONGEST {
        let engine = game.position().turn().fold_wb(&mut *white, &mut *black);
        let Some(best) = engine.go(&game, &go, &Stop::new(false, None), &mut |_| {})?.best else { break };
        moves.push(game.uci(best, false));
        game.play(best);
    }
    let points = match game.terminal() {
        Some(Terminal::Checkmate) => game.position().turn().fold_wb(0.0, 1.0),
        _ => 0.5,
    };
    Ok(Played { points, moves })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glance::evaluate::Scripted;

    #[test]
    fn games_end_and_are_written() {
        let scripted = || {
            let mut engine = Engine::with_evaluator(Box::new(Scripted::default()));
            engine.configure(Settings { own_book: false, search: SearchName::Policy, ..Settings::default() });
            engine
        };
        let opening: Vec<String> = ["e2e4", "e7e5"].map(str::to_owned).to_vec();
        let played = play(&opening, &mut scripted(), &mut scripted(), 1).expect("no weights to miss");
        assert!(played.moves.len() > 10 && played.moves.len() <= LONGEST);
        let pgn = played.pgn("a", "b", 1);
        assert!(pgn.starts_with("[Event \"zoo\"]") && pgn.contains("1. e4 e5 2. "), "{pgn}");
        assert!(["1-0\n\n", "0-1\n\n", "1/2-1/2\n\n"].iter().any(|end| pgn.ends_with(end)));
    }
}
