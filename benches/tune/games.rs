//! Two sides against each other: every opening twice, with colours exchanged.

use glance::board::{Game, Terminal};
use shakmaty::Position;

use crate::side::{Player, Side};
use crate::workers::{Evaluators, Work, mean};

/// Points of White.
fn play(start: &Game, white: &Side, black: &Side, evaluators: &Evaluators) -> f64 {
    let mut game = start.clone();
    let (mut white, mut black) = (Player::new(white), Player::new(black));
    for _ in 0..300 {
        match game.terminal() {
            Some(Terminal::Checkmate) => return game.position().turn().fold_wb(0.0, 1.0),
            Some(_) => return 0.5,
            None => {}
        }
        let player = game.position().turn().fold_wb(&mut white, &mut black);
        let Some(m) = player.choose(&game, evaluators) else { break };
        game.play(m);
    }
    0.5
}

pub fn compare(a: &Side, b: &Side, openings: &str, pairs: usize, work: &Work) {
    let text = std::fs::read_to_string(openings).unwrap_or_default();
    let mut starts: Vec<Game> = text.lines().filter_map(|line| Game::from_fen(line).ok()).collect();
    if starts.is_empty() {
        println!(
            "openings='{openings}': no positions there; the start of the game is played, which gives two games only"
        );
        starts.push(Game::default());
    }
    // Spread over the file, always the same ones.
    let step = (starts.len() / pairs.max(1)).max(1);
    let starts: Vec<&Game> = starts.iter().step_by(step).take(pairs).collect();
    let pair = |start: &&Game, with: &Evaluators| (play(start, a, b, with) + 1.0 - play(start, b, a, with)) / 2.0;
    let points = work.each(&starts, pair, |points| eprint!("\r{}", result(points)));
    println!("\r{}", result(&points));
}

/// A's score of pairs of games, and what it says of the difference in strength.
fn result(points: &[f64]) -> String {
    let (mean, error) = mean(points.iter().copied());
    let elo = |score: f64| -400.0 * (1.0 / score.clamp(1e-3, 1.0 - 1e-3) - 1.0).log10();
    format!(
        "A: {:.1} % of {} games, {:+.0} Elo ({:+.0} to {:+.0})",
        100.0 * mean,
        2 * points.len(),
        elo(mean),
        elo(mean - error),
        elo(mean + error)
    )
}
