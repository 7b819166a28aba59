//! At which rating a move is found, as a table, JSON or a plot.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::board::{Game, write_fen};
use crate::human::{MoveCurve, curves};
use crate::play::Engine;
use crate::plot::{Curve, lines};

/// Moves that are shown in text and drawn: those that reach this probability at some rating, at most [`MOST`].
const SHOWN: f32 = 0.03;
const MOST: usize = 8;

/// What is asked about a position.
#[derive(Args)]
pub struct Human {
    /// The position; without one, the start of the game
    fen: Option<String>,
    /// Ratings, LOW..HIGH: from 400 to 3200
    #[arg(long, value_name = "LOW..HIGH", default_value = "800..2800", value_parser = range)]
    elo: (u32, u32),
    /// Points between the ratings
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=1000))]
    step: u32,
    /// Seconds left on both clocks
    #[arg(long, value_parser = seconds, allow_negative_numbers = true)]
    clock: Option<f32>,
    /// Seconds added after each move
    #[arg(long, value_parser = seconds, allow_negative_numbers = true)]
    increment: Option<f32>,
    /// JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Draw the curves into this SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn range(text: &str) -> Result<(u32, u32), String> {
    let expected = || format!("'{text}': LOW..HIGH with 400 ≤ LOW ≤ HIGH ≤ 3200 is expected");
    let (low, high) = text.split_once("..").ok_or_else(expected)?;
    let number = |text: &str| text.trim().parse().ok().filter(|n| (400..=3200).contains(n)).ok_or_else(expected);
    let (low, high) = (number(low)?, number(high)?);
    if low <= high { Ok((low, high)) } else { Err(expected()) }
}

fn seconds(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|x| (0.0..=1e6).contains(x));
    number.ok_or_else(|| format!("'{text}': seconds from 0 to 1000000 are expected"))
}

impl Human {
    fn ratings(&self) -> Vec<f32> {
        (self.elo.0..=self.elo.1).step_by(self.step as usize).map(|r| r as f32).collect()
    }

    /// Answers with a table or JSON; draws the plot where one was asked for.
    ///
    /// # Errors
    /// When the position is none, the weights cannot be loaded, or the plot cannot be written.
    pub fn run(self, engine: &mut Engine) -> Result<String, Box<dyn std::error::Error>> {
        let game = self.fen.as_deref().map_or_else(|| Ok(Game::default()), Game::from_fen)?;
        if let Some(end) = game.terminal() {
            return Err(format!("{}: the game is over: {end:?}", write_fen(game.position())).into());
        }
        let ratings = self.ratings();
        let found = curves(engine.evaluator()?, &game, &ratings, (self.clock, self.increment));
        if let Some(path) = &self.svg {
            let svg = svg(&game, &ratings, &found)?;
            std::fs::write(path, svg).map_err(|e| format!("--svg {}: {e}", path.display()))?;
        }
        Ok(if self.json { json(&game, &ratings, &found) } else { text(&game, &ratings, &found) })
    }
}

fn shown(found: &[MoveCurve]) -> usize {
    found.iter().take(MOST).take_while(|c| c.probabilities.iter().any(|&p| p >= SHOWN)).count().max(1).min(found.len())
}

/// A row for each rating, a column for each move that counts, and from which rating on each is the first choice.
fn text(game: &Game, ratings: &[f32], found: &[MoveCurve]) -> String {
    let (main, rest) = found.split_at(shown(found));
    let mut out = String::from("rating");
    main.iter().for_each(|c| {
        let _ = write!(out, " {:>7}", game.san(c.m));
    });
    out += if rest.is_empty() { "\n" } else { "    other\n" };
    let mut firsts: Vec<(usize, usize, usize)> = Vec::new();
    for (i, rating) in ratings.iter().enumerate() {
        let best = (0..found.len()).max_by(|&a, &b| found[a].probabilities[i].total_cmp(&found[b].probabilities[i]));
        let _ = write!(out, "{rating:>6}");
        for (column, c) in main.iter().enumerate() {
            let mark = if best == Some(column) { "*" } else { " " };
            let _ = write!(out, " {:>5.1}%{mark}", c.probabilities[i] * 100.0);
        }
        if !rest.is_empty() {
            let _ = write!(out, "   {:>5.1}%", rest.iter().map(|c| c.probabilities[i]).sum::<f32>() * 100.0);
        }
        out.push('\n');
        match (best, firsts.last_mut()) {
            (Some(best), Some((of, _, to))) if *of == best => *to = i,
            (Some(best), _) => firsts.push((best, i, i)),
            _ => {}
        }
    }
    let spans: Vec<String> = firsts
        .into_iter()
        .map(|(of, from, to)| match (from, to) {
            (from, to) if from == to => format!("{} at {}", game.san(found[of].m), ratings[from]),
            (from, to) => format!("{} from {} to {}", game.san(found[of].m), ratings[from], ratings[to]),
        })
        .collect();
    let _ = write!(out, "first choice: {}", spans.join(", "));
    out
}

fn json(game: &Game, ratings: &[f32], found: &[MoveCurve]) -> String {
    let moves: Vec<_> = found
        .iter()
        .map(|c| json!({ "move": game.uci(c.m, false), "san": game.san(c.m), "probability": c.probabilities }))
        .collect();
    json!({ "fen": write_fen(game.position()), "ratings": ratings, "moves": moves }).to_string()
}

fn svg(game: &Game, ratings: &[f32], found: &[MoveCurve]) -> Result<String, Box<dyn std::error::Error>> {
    let curve = |c: &MoveCurve| Curve {
        name: game.san(c.m),
        points: ratings.iter().zip(&c.probabilities).map(|(&r, &p)| (f64::from(r), f64::from(p) * 100.0)).collect(),
    };
    let curves: Vec<Curve> = found[..shown(found)].iter().map(curve).collect();
    // One curve alone has no legend.
    let what = if let [only] = &curves[..] { only.name.as_str() } else { "Moves" };
    lines(&format!("{what} by the player's rating"), "rating", "probability, %", &curves)
}
