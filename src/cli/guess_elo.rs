//! Each player's rating from the moves of a game, as text or JSON.

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use shakmaty::Position;

use crate::board::{Game, PgnError, PgnGame, PgnMove, pgn_games};
use crate::evaluate::Evaluator;
use crate::human::{Guess, Likelihood, STRONG, guess, likelihoods, ratings, signal};
use crate::play::Engine;

/// Moves that a player must have made for a guess to be worth anything.
const LEAST: usize = 5;

/// Which games are looked at, and what is told.
#[derive(Args)]
pub struct GuessElo {
    /// A PGN file
    pgn: PathBuf,
    /// The guess after every move
    #[arg(long)]
    moves: bool,
    /// Moves that a much stronger player would be far likelier to play
    #[arg(long)]
    signals: bool,
    /// Each player by its own moves: without this, players are taken to have been paired as equals, as online
    #[arg(long)]
    alone: bool,
    /// A line of JSON for each game instead
    #[arg(long)]
    json: bool,
    /// Games looked at, at most
    #[arg(long, value_name = "GAMES")]
    most: Option<usize>,
}

/// A player of a game, with what was found out.
struct Player<'a> {
    name: &'a str,
    rated: Option<f32>,
    moves: &'a [Likelihood],
    /// The opponent's, as far as they count.
    others: &'a [Likelihood],
    guess: Guess,
}

impl Player<'_> {
    /// The rating that moves are compared with: the one in the file, else the guess.
    fn rating(&self) -> f32 {
        self.rated.unwrap_or(self.guess.mean as f32)
    }

    fn signals(&self) -> impl Iterator<Item = &Likelihood> {
        self.moves.iter().filter(|m| m.strength(self.rating()) >= signal(self.rating()))
    }
}

/// Sums of what was off, over players whose rating the file gives.
#[derive(Default)]
struct Errors {
    players: usize,
    sum: f64,
}

impl GuessElo {
    /// Looks at the games, telling a line or more of each through `out`, and what was skipped through `skipped`.
    ///
    /// # Errors
    /// When the file cannot be opened or has no game, or the weights cannot be loaded.
    pub fn run(
        self,
        engine: &mut Engine,
        out: &mut dyn FnMut(String),
        skipped: &mut dyn FnMut(String),
    ) -> Result<(), Box<dyn std::error::Error>> {
        let path = self.pgn.display();
        let file = File::open(&self.pgn).map_err(|e| format!("{path}: {e}"))?;
        let evaluator = engine.evaluator()?;
        let mut errors = Errors::default();
        let mut games = 0;
        for game in pgn_games(file).take(self.most.unwrap_or(usize::MAX)) {
            games += 1;
            match game {
                Ok(game) if game.moves.len() < 2 * LEAST => {
                    skipped(format!(
                        "{path}: game {}: {} plies: too short to guess from",
                        game.number,
                        game.moves.len()
                    ));
                }
                Ok(game) => out(self.look(evaluator, &game, &mut errors)),
                Err(error @ PgnError::Io(_)) => return Err(format!("{path}: {error}").into()),
                Err(error) => skipped(format!("{path}: {error}")),
            }
        }
        if games == 0 {
            return Err(format!("{path}: no game in it; PGN is expected").into());
        }
        if errors.players > 0 && !self.json {
            let mean = errors.sum / errors.players as f64;
            out(format!("{} players with ratings: off by {mean:.0} points on average", errors.players));
        }
        if self.signals && !self.json {
            out(WARNING.to_owned());
        }
        Ok(())
    }

    fn look(&self, evaluator: &dyn Evaluator, game: &PgnGame, errors: &mut Errors) -> String {
        let [white, black] = likelihoods(evaluator, game);
        let labels = labels(game);
        let sides: [&[Likelihood]; 2] = [&white, &black];
        let players = [0, 1].map(|i| {
            let (moves, others) = (sides[i], if self.alone { &[] } else { sides[1 - i] });
            Player { name: &game.names[i], rated: game.ratings[i], moves, others, guess: guess(moves, others) }
        });
        for p in &players {
            if let Some(rated) = p.rated {
                errors.players += 1;
                errors.sum += (p.guess.mean - f64::from(rated)).abs();
            }
        }
        if self.json {
            return json!({ "game": game.number, "players": players.each_ref().map(|p| json_of(p, &labels)) })
                .to_string();
        }
        let mut text = format!("game {}", game.number);
        for (p, colour) in players.iter().zip(["White", "Black"]) {
            let name = if p.name.is_empty() { String::new() } else { format!(" ({})", p.name) };
            let Guess { mean, peak, low, high, .. } = p.guess;
            let _ = write!(
                text,
                "\n  {colour}{name}: {mean:.0}, 80 % within {low:.0} to {high:.0}, most probable {peak:.0}, from {} moves",
                p.moves.len()
            );
            if let Some(rated) = p.rated {
                let _ = write!(text, "; rated {rated:.0}");
            }
            if self.signals {
                let found: Vec<&str> = p.signals().map(|m| labels[m.ply].as_str()).collect();
                let expected = p.moves.len() as f64 / 100.0;
                let _ = write!(
                    text,
                    "\n    far likelier from {}: {} of {} moves",
                    ratings()[STRONG],
                    found.len(),
                    p.moves.len()
                );
                let _ = write!(
                    text,
                    " (people have {expected:.1}): {}",
                    if found.is_empty() { "none".into() } else { found.join(", ") }
                );
            }
            if self.moves {
                for i in 0..p.moves.len() {
                    let seen = p.others.partition_point(|m| m.ply < p.moves[i].ply);
                    let Guess { mean, low, high, .. } = guess(&p.moves[..=i], &p.others[..seen]);
                    let _ = write!(text, "\n    {:<14} {mean:.0} ({low:.0} to {high:.0})", labels[p.moves[i].ply]);
                }
            }
        }
        text
    }
}

const WARNING: &str = "These moves prove nothing: strong moves are found by people of every rating, by luck, by memory or by talent. \
                       They say where to look, not what happened.";

/// Every move of a game as "12. Nf3" or "12... Nf6".
fn labels(pgn: &PgnGame) -> Vec<String> {
    let mut game = Game::new(pgn.start.clone());
    let label = |played: &PgnMove| {
        let dots = game.position().turn().fold_wb(".", "...");
        let label = format!("{}{dots} {}", game.position().fullmoves(), game.san(played.m));
        game.play(played.m);
        label
    };
    pgn.moves.iter().map(label).collect()
}

fn json_of(p: &Player, labels: &[String]) -> Value {
    let Guess { posterior, mean, peak, low, high } = p.guess.clone();
    let moves: Vec<Value> = p
        .moves
        .iter()
        .map(|m| json!({ "ply": m.ply, "move": labels[m.ply], "log": m.log, "strength": m.strength(p.rating()) }))
        .collect();
    json!({
        "name": p.name, "rated": p.rated, "guess": mean, "peak": peak, "low": low, "high": high,
        "ratings": ratings(), "posterior": posterior, "moves": moves,
    })
}
