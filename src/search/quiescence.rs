//! What is left on the board when exchanges are played out, and what that adds to a glance.
//!
//! A glance sees the men as they stand, and a small network misses what hangs. Captures and promotions alone, searched to their end
//! (quiescence, Shannon 1950), cost a small part of an evaluation and say what the material will be.

use shakmaty::{Chess, Move, Position, Role};

use super::captures::captures;
use super::material::{balance, captured, value};
use super::see::loses;
use crate::board::played;
use crate::evaluate::Wdl;

/// Plies that exchanges are followed at most.
const DEEPEST: u32 = 8;
/// Positions that are looked at before what is left of an exchange is taken to be even: a board full of queens takes no longer than
/// any.
const MOST: u32 = 500;
/// Pawns that being mated costs.
pub(super) const MATED: f32 = 20.0;
/// Pawns ahead that are most of a win already: more adds less and less.
const SCALE: f32 = 5.0;

/// How a glance and the material are put together: the win's probability times e to the power of `settled` · tanh(pawns ahead after
/// exchanges / 5) + `standing` · tanh(pawns ahead now / 5), the loss's divided by it, normalised; a move's probability times e to the power
/// of `choice` · tanh(pawns won by it / 5), normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchanges {
    /// Weight of the material after exchanges.
    pub settled: f32,
    /// Weight of the material as it stands.
    pub standing: f32,
    /// Weight of what a move wins in the logarithm of its probability.
    pub choice: f32,
    /// What a move that has hardly been tried is taken to be better by than its position, times how much more it is seen to win than those that
    /// were: tanh(pawns / 5) of the one less that of the others.
    pub hope: f32,
    /// Visits from which on a move counts as tried.
    pub tries: u32,
    /// Visits from which on it is also seen what a node's moves win by force a ply before exchanges, and another ply with each eight times
    /// as many, up to four; an eighth of them at the root. 0: exchanges alone.
    pub deeper: u32,
}

impl Exchanges {
    /// What the position is worth, for the player to move, whose glance says `wdl`.
    pub fn weigh(&self, position: &Chess, wdl: Wdl) -> Wdl {
        let now = balance(position);
        let lean = (self.settled * pull(now + gain(position)) + self.standing * pull(now)).exp();
        let (win, draw, loss) = (wdl.win * lean, wdl.draw, wdl.loss / lean);
        let sum = win + draw + loss;
        Wdl { win: win / sum, draw: draw / sum, loss: loss / sum }
    }

    /// What a move's probability is multiplied with, before all are normalised, once it is seen to win so many pawns and not `before`.
    pub(super) fn factor(&self, before: f32, pawns: f32) -> f32 {
        (self.choice * (pull(pawns) - pull(before))).exp()
    }

    /// How much better than its position (win less loss) a move is taken to be until it was tried, where it is seen to win `pawns` and none of
    /// those that were more than `tried`.
    pub(super) fn hope(&self, tried: f32, pawns: f32) -> f32 {
        if pawns > tried && tried.is_finite() { self.hope * (pull(pawns) - pull(tried)) } else { 0.0 }
    }
}

fn pull(pawns: f32) -> f32 {
    (pawns / SCALE).tanh()
}

/// Pawns that the player to move comes out ahead, or behind where something is lost whatever is played: captures and promotions are
/// played to their end, in check any move, and a quiet move first where one is needed.
fn gain(position: &Chess) -> f32 {
    let mut left = MOST;
    let taking = play_out(position, f32::NEG_INFINITY, f32::INFINITY, DEEPEST, &mut left);
    if taking > 0.0 || position.is_check() {
        return taking;
    }
    // Nothing is won. Whether all can be kept: it can where the other has nothing to take if nothing is done.
    let Ok(passed) = position.clone().swap_turn() else { return taking };
    if play_out(&passed, f32::NEG_INFINITY, f32::INFINITY, DEEPEST, &mut left) <= 0.0 {
        return taking;
    }
    let mut best = f32::NEG_INFINITY;
    for m in position.legal_moves() {
        let after = played(position, m);
        best = best.max(won(m) - play_out(&after, f32::NEG_INFINITY, won(m) - best, DEEPEST, &mut left));
        if best >= 0.0 {
            return 0.0;
        }
    }
    // There is no move in a stalemate, which is judged elsewhere.
    if best.is_finite() { best } else { taking }
}

/// Pawns that a move wins at once.
pub(super) fn won(m: Move) -> f32 {
    let promoted = m.promotion().map_or(0.0, |role| value(role) - value(Role::Pawn));
    captured(m).map_or(0.0, value) + promoted
}

/// The best that captures and promotions to a queen win, or stopping at any time; in check, any move. Alpha-beta, fail-soft.
pub(super) fn play_out(position: &Chess, mut alpha: f32, beta: f32, plies: u32, left: &mut u32) -> f32 {
    if plies == 0 || *left == 0 {
        return 0.0;
    }
    *left -= 1;
    let check = position.is_check();
    let mut best = if check { -MATED } else { 0.0 };
    // Most need no moves: to take nothing is enough already.
    if best >= beta {
        return best;
    }
    let mut moves = if check { position.legal_moves() } else { captures(position) };
    for i in 0..moves.len() {
        if best >= beta {
            break;
        }
        // The dearest first, taken by the cheapest; they are not sorted, as the first is mostly enough.
        let rank = |m: Move| (won(m), -value(m.role()));
        let next = (i + 1..moves.len()).fold(i, |first, j| if rank(moves[j]) > rank(moves[first]) { j } else { first });
        moves[i..=next].rotate_right(1);
        let m = moves[i];
        if !check && loses(position, m) {
            continue;
        }
        alpha = alpha.max(best);
        let here = won(m);
        best = best.max(here - play_out(&played(position, m), here - beta, here - alpha, plies - 1, left));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;

    fn position(fen: &str) -> Chess {
        Game::from_fen(fen).expect(fen).position().clone()
    }

    #[test]
    fn exchanges_are_played_to_their_end() {
        for (fen, expected) in [
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 0.0),
            // A queen that stands to be taken; the same protected, by a rook's pawn against a rook.
            ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", 9.0),
            ("4k3/8/2p5/3q4/3R4/8/8/4K3 w - - 0 1", 4.0),
            // A protected pawn is left alone by the queen.
            ("4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1", 0.0),
            // A pawn goes through.
            ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", 8.0),
            // A knight and a bishop are attacked by a protected pawn: one of them is lost for it.
            ("7k/8/4p3/3p4/2N1B3/8/8/4K3 w - - 0 1", -2.0),
            // One of them attacked can go.
            ("4k3/8/4p3/3p4/4B3/8/8/4K3 w - - 0 1", 0.0),
            // In check, the rook behind the king is lost.
            ("8/k7/8/8/4q3/8/8/4K2R w - - 0 1", -5.0),
        ] {
            assert_eq!(gain(&position(fen)), expected, "{fen}");
        }
    }

    #[test]
    fn a_board_full_of_queens_takes_no_time() {
        let mut left = MOST;
        let full = position("qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1");
        play_out(&full, f32::NEG_INFINITY, f32::INFINITY, DEEPEST, &mut left);
        assert_eq!(left, 0);
    }

    #[test]
    fn moves_count_for_what_they_win() {
        let exchanges = Exchanges { settled: 0.0, standing: 0.0, choice: 2.0, hope: 3.0, tries: 1, deeper: 8 };
        let of = |pawns: f32| (2.0 * (pawns / 5.0).tanh()).exp();
        assert_eq!((exchanges.factor(0.0, 9.0), exchanges.factor(3.0, 3.0)), (of(9.0), 1.0));
        assert!((exchanges.factor(0.0, 2.0) * exchanges.factor(2.0, -1.0) - of(-1.0)).abs() < 1e-6);
        // Nothing is hoped for before anything was tried, or where what was tried wins as much.
        let hope = [(0.0, 5.0), (5.0, 5.0), (9.0, 5.0), (f32::NEG_INFINITY, 5.0)]
            .map(|(tried, pawns)| exchanges.hope(tried, pawns));
        assert_eq!(hope, [3.0 * 1_f32.tanh(), 0.0, 0.0, 0.0]);
    }

    #[test]
    fn what_hangs_counts_for_who_may_take_it() {
        let even = Wdl { win: 0.2, draw: 0.6, loss: 0.2 };
        let exchanges = Exchanges { settled: 1.1, standing: -0.2, choice: 0.0, hope: 0.0, tries: 1, deeper: 0 };
        let weigh = |fen| exchanges.weigh(&position(fen), even);
        let start = weigh("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        assert!((start.win - 0.2).abs() < 1e-6 && (start.draw - 0.6).abs() < 1e-6, "{start:?}");
        // A pawn against a queen, which it may take, or not.
        let ahead = weigh("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1");
        let behind = weigh("4k3/8/8/3q4/8/4P3/8/4K3 w - - 0 1");
        assert!(ahead.balance() > 0.1 && behind.balance() < -0.2, "{ahead:?} {behind:?}");
        assert!((ahead.win + ahead.draw + ahead.loss - 1.0).abs() < 1e-6);
        // What was certain stays so.
        for wdl in [Wdl::WIN, Wdl::DRAW, Wdl::LOSS] {
            let found = exchanges.weigh(&position("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1"), wdl);
            assert!((found.balance() - wdl.balance()).abs() < 1e-6, "{found:?}");
        }
    }
}
