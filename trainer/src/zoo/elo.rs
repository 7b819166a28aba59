//! Ratings from the results of a round robin.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The games of two players from one opening, one with each colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// A player.
    pub first: usize,
    /// Another.
    pub second: usize,
    /// Points of the first, of two.
    pub points: f64,
}

/// A rating, relative to the mean of all players, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rated {
    /// Elo points.
    pub elo: f64,
    /// From…
    pub low: f64,
    /// …to.
    pub high: f64,
}

/// Points of a draw against a player of mean strength that each player is given: keeps a perfect score from being infinite.
const PRIOR: f64 = 1.0;

/// Maximum-likelihood ratings of the logistic model (Bradley, Terry 1952; a draw is half a win and half a loss), by the
/// minorisation of Hunter (2004).
fn ratings(players: usize, pairs: impl Iterator<Item = Pair> + Clone) -> Vec<f64> {
    let mut points = vec![PRIOR; players];
    for pair in pairs.clone() {
        points[pair.first] += pair.points;
        points[pair.second] += 2.0 - pair.points;
    }
    let mut strength = vec![1.0_f64; players];
    for _ in 0..2000 {
        // Two draws' worth of games against the mean.
        let mut games: Vec<f64> = strength.iter().map(|s| 2.0 * PRIOR / (s + 1.0)).collect();
        for Pair { first, second, .. } in pairs.clone() {
            let share = 2.0 / (strength[first] + strength[second]);
            games[first] += share;
            games[second] += share;
        }
        let new: Vec<f64> = points.iter().zip(&games).map(|(p, g)| p / g).collect();
        let moved = new.iter().zip(&strength).map(|(a, b)| (a / b).ln().abs()).fold(0.0, f64::max);
        strength = new;
        if moved < 1e-6 {
            break;
        }
    }
    let elo: Vec<f64> = strength.iter().map(|s| 400.0 * s.log10()).collect();
    let mean = elo.iter().sum::<f64>() / players.max(1) as f64;
    elo.iter().map(|e| e - mean).collect()
}

/// Ratings of all players, with intervals from drawing the pairs of games again with replacement.
pub fn rate(players: usize, pairs: &[Pair]) -> Vec<Rated> {
    let found = ratings(players, pairs.iter().copied());
    let mut rng = StdRng::seed_from_u64(1);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); players];
    for _ in 0..if pairs.is_empty() { 0 } else { 200 } {
        let again: Vec<Pair> = (0..pairs.len()).map(|_| pairs[rng.random_range(0..pairs.len())]).collect();
        ratings(players, again.into_iter()).into_iter().zip(&mut drawn).for_each(|(elo, all)| all.push(elo));
    }
    found
        .into_iter()
        .zip(&mut drawn)
        .map(|(elo, all)| {
            all.sort_by(f64::total_cmp);
            let at = |share: f64| all.get((share * all.len() as f64) as usize).copied().unwrap_or(elo);
            Rated { elo, low: at(0.025), high: at(0.975) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_fit_the_scores() {
        // 1.5 of 2, fifty times: 75 %, 191 points, a little less by the prior.
        let pairs = vec![Pair { first: 0, second: 1, points: 1.5 }; 50];
        let rated = rate(2, &pairs);
        let difference = rated[0].elo - rated[1].elo;
        assert!((180.0..192.0).contains(&difference), "{difference}");
        assert!((rated[0].elo + rated[1].elo).abs() < 1e-6);
        // A perfect score stays finite, and an interval is around its rating.
        let rated = rate(3, &[Pair { first: 0, second: 1, points: 2.0 }, Pair { first: 1, second: 2, points: 2.0 }]);
        assert!(rated[0].elo > rated[1].elo && rated[1].elo > rated[2].elo);
        assert!(rated.iter().all(|r| r.elo.is_finite() && r.low <= r.high), "{rated:?}");
        assert_eq!(rate(2, &[])[0].elo, 0.0);
    }
}
