//! What is known of a position without a network: that the game is over, or that it can be repeated.

use super::report::Score;
use crate::board::{Game, Repetitions, Terminal};
use crate::evaluate::Wdl;

/// The score of a game that is over, for the player to move.
pub(super) fn ended(game: &Game) -> Option<Score> {
    game.terminal().map(|end| match end {
        Terminal::Checkmate => Score::Mate(0),
        _ => Score::Expected(Wdl::DRAW),
    })
}

/// What the network says, and half a draw where the position came up before: whoever wants to may repeat again.
pub(super) fn judged(game: &Game, wdl: Wdl) -> Wdl {
    let half = |x: f32| x * 0.5;
    match game.repetitions() {
        Repetitions::None => wdl,
        _ => Wdl { win: half(wdl.win), draw: half(wdl.draw) + 0.5, loss: half(wdl.loss) },
    }
}
