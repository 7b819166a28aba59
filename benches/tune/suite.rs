//! Several sides at the same test positions (EPD): the best moves named by `bm`, or points for each move in `c8` and `c9` as the Strategic
//! Test Suite gives them. Positions without either (`am` alone) are left out.

use std::collections::HashMap;

use glance::board::Game;
use shakmaty::Move;
use shakmaty::san::San;

use crate::side::Side;
use crate::workers::{Evaluators, Work, mean};

struct Problem {
    game: Game,
    /// What a move is worth of the most that could be had; nothing for others.
    worth: Vec<(Move, f64)>,
}

impl Problem {
    fn read(line: &str) -> Option<Problem> {
        let fields: Vec<&str> = line.splitn(5, ' ').collect();
        let game = Game::from_fen(&format!("{} 0 1", fields.get(..4)?.join(" "))).ok()?;
        let operations = fields.get(4)?.split(';').filter_map(|o| o.trim_start_matches([' ', '-']).split_once(' '));
        let operations: HashMap<&str, &str> =
            operations.map(|(name, text)| (name, text.trim().trim_matches('"'))).collect();
        let best = operations.get("bm").copied().unwrap_or_default().split_whitespace();
        let best = best.filter_map(|san| san.parse::<San>().ok()?.to_move(game.position()).ok());
        let named = operations.get("c9").copied().unwrap_or_default().split_whitespace();
        let points = operations.get("c8").copied().unwrap_or_default().split_whitespace();
        let points = named.zip(points).filter_map(|(m, p)| Some((game.parse_uci(m).ok()?, p.parse::<f64>().ok()?)));
        let mut worth: Vec<(Move, f64)> = points.collect();
        if worth.is_empty() {
            worth = best.map(|m| (m, 1.0)).collect();
        }
        let most = worth.iter().map(|w| w.1).fold(0.0, f64::max);
        worth.iter_mut().for_each(|w| w.1 /= most);
        (most > 0.0).then_some(Problem { game, worth })
    }

    fn points(&self, side: &Side, evaluators: &Evaluators) -> f64 {
        let chosen = side.choose(&self.game, evaluators);
        self.worth.iter().find(|w| Some(w.0) == chosen).map_or(0.0, |w| w.1)
    }
}

/// Prints each side's points, and how much better than the first it is.
pub fn compare(sides: &[(char, Side)], path: &str, work: &Work) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let problems: Vec<Problem> = text.lines().filter_map(Problem::read).collect();
    if problems.is_empty() {
        println!("suite='{path}': no test positions there");
        return;
    }
    let points: Vec<Vec<f64>> = work.each(
        &problems,
        |p, evaluators| sides.iter().map(|(_, side)| p.points(side, evaluators)).collect(),
        |found| eprint!("\r{} of {}", found.len(), problems.len()),
    );
    println!("\r{path}: the points of {} positions", points.len());
    for (i, (letter, _)) in sides.iter().enumerate() {
        let (share, _) = mean(points.iter().map(|p| p[i]));
        let (gain, error) = mean(points.iter().map(|p| p[i] - p[0]));
        println!("{letter}: {:.2} %, {:+.2} ± {:.2}", 100.0 * share, 100.0 * gain, 100.0 * error);
    }
}
