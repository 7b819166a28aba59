//! At which rating is a move found?

use shakmaty::{Move, Position};

use super::at_ratings;
use crate::board::{Game, Pool};
use crate::evaluate::Evaluator;

/// A move with its probability at each of some ratings.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveCurve {
    /// The move.
    pub m: Move,
    /// Its probability among the legal moves, for players of each rating against their equals.
    pub probabilities: Vec<f32>,
}

/// Every legal move at each rating, the one that is most probable anywhere first. `clock` is what both players have left, in
/// seconds, `increment` what each move adds.
pub fn curves(
    evaluator: &dyn Evaluator,
    game: &Game,
    ratings: &[f32],
    (clock, increment): (Option<f32>, Option<f32>),
) -> Vec<MoveCurve> {
    let said = at_ratings(evaluator, game, ratings, (clock, clock, increment), Some(Pool::Lichess));
    let mut curves: Vec<MoveCurve> = game
        .position()
        .legal_moves()
        .into_iter()
        .map(|m| MoveCurve { m, probabilities: said.iter().map(|e| e.probability(m)).collect() })
        .collect();
    let most = |c: &MoveCurve| c.probabilities.iter().copied().fold(0.0, f32::max);
    curves.sort_by(|a, b| most(b).total_cmp(&most(a)));
    curves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Scripted;

    #[test]
    fn every_move_has_a_probability_at_every_rating() {
        let found = curves(&Scripted::default(), &Game::default(), &[800.0, 1800.0, 2800.0], (Some(30.0), None));
        assert_eq!(found.len(), 20);
        for rating in 0..3 {
            let sum: f32 = found.iter().map(|c| c.probabilities[rating]).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        }
        let most = |c: &MoveCurve| c.probabilities.iter().copied().fold(0.0, f32::max);
        assert!(found.windows(2).all(|w| most(&w[0]) >= most(&w[1])));
    }
}
