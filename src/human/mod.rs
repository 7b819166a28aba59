//! Playing as people of a rating do, and telling ratings from moves.
//!
//! The network is conditioned on the ratings of both players, on clocks and increment and on where the game is played. Asked
//! about one position at many ratings, it says at which of them a move is found ([`curves`]); asked about the moves of a game,
//! who may have played them ([`guess`]).

mod choice;
mod curves;
mod dial;
mod guess;

pub use choice::{Found, Style, draw, weights};
pub use curves::{MoveCurve, curves};
pub use dial::{Dial, DialError, Point};
pub use guess::{GRID, Guess, Likelihood, STRONG, guess, likelihoods, ratings, signal};

use shakmaty::{Color, Position};

use crate::board::{Conditions, Game, Pool, Seat};
use crate::evaluate::{Evaluation, Evaluator, Query, Stop};

/// The conditions of a game between people: ratings of the player to move and of the other, White's and Black's clocks
/// in seconds, the increment, and where it is played.
pub fn conditions(
    turn: Color,
    (own, other): (Option<f32>, Option<f32>),
    (white_clock, black_clock, increment): (Option<f32>, Option<f32>, Option<f32>),
    pool: Option<Pool>,
) -> Conditions {
    let (white, black) = turn.fold_wb((own, other), (other, own));
    Conditions {
        white: Seat { rating: white, clock: white_clock },
        black: Seat { rating: black, clock: black_clock },
        increment,
        pool,
    }
}

/// What is thought of a position at each of some ratings, of players against their equals.
fn at_ratings(
    evaluator: &dyn Evaluator,
    game: &Game,
    ratings: &[f32],
    clocks: (Option<f32>, Option<f32>, Option<f32>),
    pool: Option<Pool>,
) -> Vec<Evaluation> {
    let turn = game.position().turn();
    let asked: Vec<Conditions> = ratings.iter().map(|&r| conditions(turn, (Some(r), Some(r)), clocks, pool)).collect();
    let queries: Vec<Query> = asked.iter().map(|conditions| Query { game, conditions }).collect();
    // Nobody stops it.
    evaluator.evaluate(&queries, &Stop::new(false, None)).unwrap_or_default()
}
