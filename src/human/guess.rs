//! Whose moves are these? The likelihood of a player's moves over ratings.

use shakmaty::{Color, Move, Position};

use super::at_ratings;
use crate::board::{Game, PgnGame};
use crate::evaluate::Evaluator;

/// Number of ratings that are tried.
pub const GRID: usize = 23;
const LOWEST: f32 = 600.0;
const STEP: f32 = 100.0;

// Fitted by benches/guess.py on 800 players of online games after the network's training (Lichess, rapid): what makes their ratings likeliest.
/// What is thought of players before they have moved: a normal distribution of this mean and deviation; the mean is above that of those
/// players, 1537, because people's moves look to the network like those of somewhat weaker ones…
const PRIOR: (f64, f64) = (1762.0, 350.0);
/// …and how much the moves of a game count together: less than each by itself, since the moves of one game are not
/// independent of each other.
const WEIGHT: f64 = 0.625;

/// How much the moves of an opponent of about the same rating count against one's own.
const OF_EQUAL: f64 = 0.85;

/// The rating of the much stronger player that moves are compared with: its place in the grid.
pub const STRONG: usize = 21;
/// What people's moves exceed in one of a hundred: the logarithm of how much more probable a move is for that player than for one of
/// a rating, at some ratings. From those players and 800 more.
const SIGNALS: [(f32, f32); 4] = [(1000.0, 1.24), (1400.0, 0.95), (1800.0, 0.82), (2200.0, 0.38)];

/// The logarithm of how much likelier a move must be from a much stronger player to be told of a player of this rating.
pub fn signal(rating: f32) -> f32 {
    let above = SIGNALS.iter().position(|&(r, _)| r >= rating).unwrap_or(SIGNALS.len() - 1).max(1);
    let ((a, low), (b, high)) = (SIGNALS[above - 1], SIGNALS[above]);
    low + (high - low) * ((rating - a) / (b - a)).clamp(0.0, 1.0)
}

/// The ratings that are tried, rising.
pub fn ratings() -> [f32; GRID] {
    std::array::from_fn(|i| LOWEST + STEP * i as f32)
}

/// How probable a move of a game is, by the rating of the player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likelihood {
    /// Plies before the move.
    pub ply: usize,
    /// The move.
    pub m: Move,
    /// Natural logarithms of its probability at each of the [ratings].
    pub log: [f32; GRID],
}

impl Likelihood {
    /// By how much a much stronger player is likelier to play it than one of this rating: a difference of logarithms.
    pub fn strength(&self, rating: f32) -> f32 {
        let place = ((rating - LOWEST) / STEP).clamp(0.0, (GRID - 1) as f32);
        let (low, share) = (place.floor() as usize, place.fract());
        let own = self.log[low] * (1.0 - share) + self.log[(low + 1).min(GRID - 1)] * share;
        self.log[STRONG] - own
    }
}

/// The likelihoods of White's and of Black's moves: each player's rating is tried against an equal opponent's, whatever the
/// file says of either, with clocks as they are in the file. Moves without a choice tell nothing and are left out.
pub fn likelihoods(evaluator: &dyn Evaluator, pgn: &PgnGame) -> [Vec<Likelihood>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    let mut game = Game::new(pgn.start.clone());
    let base = pgn.time_control.map(|(base, _)| base).filter(|_| pgn.moves.iter().any(|m| m.clock.is_some()));
    let increment = pgn.time_control.map(|(_, increment)| increment);
    for (ply, played) in pgn.moves.iter().enumerate() {
        let turn = game.position().turn();
        if game.position().legal_moves().len() > 1 {
            let clock = |back: usize| ply.checked_sub(back).map_or(base, |earlier| pgn.moves[earlier].clock);
            let (own, other) = (clock(2), clock(1));
            let (white, black) = turn.fold_wb((own, other), (other, own));
            let said = at_ratings(evaluator, &game, &ratings(), (white, black, increment), pgn.pool);
            let mut log = [0.0; GRID];
            log.iter_mut().zip(&said).for_each(|(log, e)| *log = e.probability(played.m).max(1e-6).ln());
            found[usize::from(turn == Color::Black)].push(Likelihood { ply, m: played.m, log });
        }
        game.play(played.m);
    }
    found
}

/// What the moves of a player say of the rating.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// Probability of each of the [ratings].
    pub posterior: [f64; GRID],
    /// The mean: what is off by least.
    pub mean: f64,
    /// The rating that is most probable, between those tried.
    pub peak: f64,
    /// The rating lies above this with a probability of 90 %…
    pub low: f64,
    /// …and below this.
    pub high: f64,
}

/// The rating of who played these moves. The moves of an opponent of about the same rating, as on sites that pair equals, say nearly
/// as much; none are given for others.
pub fn guess(moves: &[Likelihood], of_equal: &[Likelihood]) -> Guess {
    let mut log = [0.0; GRID];
    for (i, rating) in ratings().into_iter().enumerate() {
        let deviation = (f64::from(rating) - PRIOR.0) / PRIOR.1;
        let sum = |moves: &[Likelihood]| moves.iter().map(|m| f64::from(m.log[i])).sum::<f64>();
        log[i] = WEIGHT * (sum(moves) + OF_EQUAL * sum(of_equal)) - 0.5 * deviation * deviation;
    }
    let max = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = log.iter().map(|l| (l - max).exp()).sum();
    let posterior = log.map(|l| (l - max).exp() / total);
    let mean = posterior.iter().zip(ratings()).map(|(p, r)| p * f64::from(r)).sum();
    Guess { posterior, mean, peak: peak(&log), low: quantile(&posterior, 0.1), high: quantile(&posterior, 0.9) }
}

/// The top of a parabola through the highest value and its neighbours.
fn peak(log: &[f64; GRID]) -> f64 {
    let top = (0..GRID).max_by(|&a, &b| log[a].total_cmp(&log[b])).unwrap_or_default();
    let middle = f64::from(ratings()[top]);
    if top == 0 || top == GRID - 1 {
        return middle;
    }
    let (a, b, c) = (log[top - 1], log[top], log[top + 1]);
    let bend = a - 2.0 * b + c;
    let shift = if bend < 0.0 { (0.5 * (a - c) / bend).clamp(-0.5, 0.5) } else { 0.0 };
    middle + shift * f64::from(STEP)
}

/// The rating below which a share of the probability lies, each rating standing for those within half a step.
fn quantile(posterior: &[f64; GRID], share: f64) -> f64 {
    let mut rest = share;
    for (p, rating) in posterior.iter().zip(ratings()) {
        if rest < *p {
            return f64::from(rating) + f64::from(STEP) * (rest / p - 0.5);
        }
        rest -= p;
    }
    f64::from(ratings()[GRID - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::pgn_games;
    use crate::evaluate::Scripted;

    fn move_of(top: usize, sharpness: f32) -> Likelihood {
        let m = Game::default().parse_uci("e2e4").expect("legal");
        let log = std::array::from_fn(|i| -sharpness * (i as f32 - top as f32).powi(2));
        Likelihood { ply: 0, m, log }
    }

    #[test]
    fn more_moves_say_more() {
        let none = guess(&[], &[]);
        assert!((none.peak - PRIOR.0).abs() < 1.0, "{}", none.peak);
        assert!(none.low < PRIOR.0 - 350.0 && none.high > PRIOR.0 + 350.0, "{} {}", none.low, none.high);
        let few = guess(&[move_of(14, 0.02); 5], &[]);
        let many = guess(&[move_of(14, 0.02); 100], &[move_of(14, 0.02); 100]);
        assert!(few.peak > none.peak && few.peak < many.peak);
        assert!((many.peak - 2000.0).abs() < 30.0, "{}", many.peak);
        assert!((many.mean - many.peak).abs() < 30.0 && many.low < many.mean && many.mean < many.high);
        assert!(many.high - many.low < few.high - few.low);
        assert!((many.posterior.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(guess(&[move_of(0, 5.0); 50], &[]).peak, 600.0);
    }

    #[test]
    fn strength_is_a_ratio_of_likelihoods() {
        let m = move_of(STRONG, 0.01);
        assert!((m.strength(2700.0)).abs() < 1e-6);
        assert!(m.strength(1500.0) > m.strength(2000.0));
        assert_eq!((signal(600.0), signal(1000.0), signal(1600.0), signal(2900.0)), (1.24, 1.24, 0.885, 0.38));
        assert!(m.strength(1500.0) - m.strength(1550.0) > 0.0 && m.strength(1e9).is_finite() && m.strength(-5.0) > 0.0);
    }

    #[test]
    fn both_players_are_looked_at() {
        let text = "[TimeControl \"60+0\"]\n\n1. e4 {[%clk 0:00:59]} e5 {[%clk 0:00:58]} 2. Nf3 {[%clk 0:00:57]} *";
        let pgn = pgn_games(text.as_bytes()).next().expect("a game").expect("legal");
        let [white, black] = likelihoods(&Scripted::default(), &pgn);
        assert_eq!((white.len(), black.len()), (2, 1));
        assert!(white[1].log.iter().all(|l| *l <= 0.0 && l.is_finite()));
        assert_eq!((white[1].ply, black[0].ply), (2, 1));
    }
}
