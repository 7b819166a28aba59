//! What moves win or lose by force, on material alone.
//!
//! The policy of a small network overlooks forks, deflections and what defends against them. Each move is played, and what follows is
//! searched to exchanges: at once, or after a few plies of any moves (alpha-beta; Knuth and Moore 1975), where a pass that is good enough ends
//! the search (null move; Donninger 1993). It is cheap, as nothing but captures is counted, so that most moves are refuted by passing.

use shakmaty::{Chess, Move, Position};

use super::checks::Checks;
use super::material::value;
use super::quiescence::{MATED, play_out, won};
use super::see::loses;
use crate::board::played;
use crate::evaluate::Stop;

/// Plies that exchanges after a move are followed at most.
const EXCHANGED: u32 = 4;
/// Positions that are looked at after each of the moves, and after all of them, where exchanges are all that is asked for.
const MOST_BY_MOVE: u32 = 60;
const MOST_BY_MOVES: u32 = 1500;
/// The same where one ply is searched before exchanges, and how many times as many with each more.
const MOST_BY_PLY: u32 = 300;
const GROWTH: u32 = 6;
/// Positions after all moves, with up to three plies, and with more: some ten milliseconds and forty.
const MOST: u32 = 30_000;
const MOST_BY_MORE: u32 = 120_000;
/// Plies before exchanges that are searched at most.
const DEEPEST: u32 = 4;
/// Checks that are answered without counting as plies.
const CHECKS: u32 = 4;
/// Probability below which quiet moves are not looked at.
const UNTHOUGHT: f32 = 0.005;
/// Probability from which on it is seen whether a move loses something by force; whether it wins something is seen of all.
const THOUGHT: f32 = 0.02;
/// Half of the least that can be won.
const HALF: f32 = 0.5;

/// What is known of a move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) m: Move,
    /// How probable it is.
    pub(super) probability: f32,
    /// Pawns that it wins.
    pub(super) pawns: f32,
}

/// Plies before exchanges that are worth searching for the moves of a node with so many visits: the first from `deeper` on (0: none), the
/// next with eight times as many.
pub(super) fn plies(visits: u64, deeper: u32) -> u32 {
    let times = visits.checked_div(deeper.into()).unwrap_or(0);
    times.checked_ilog(8).map_or(0, |eights| (eights + 1).min(DEEPEST))
}

/// Finds what moves win in the exchanges that they begin, or lose. The most probable first: where exchanges never end, the last are taken
/// as they stand, and a quiet move that hardly anybody thinks of is left alone.
pub(super) fn exchange(position: &Chess, moves: &mut [Known]) {
    let mut all = MOST_BY_MOVES;
    for Known { m, probability, pawns } in moves {
        let after = played(position, *m);
        if *probability < UNTHOUGHT && !m.is_capture() && !m.is_promotion() && !after.is_check() {
            continue;
        }
        *pawns = won(*m)
            - share(&mut all, MOST_BY_MOVE, |left| play_out(&after, f32::NEG_INFINITY, f32::INFINITY, EXCHANGED, left));
    }
}

/// Finds what moves win or lose by force, when so many plies after each are searched before exchanges. The most probable first: the last
/// are left at what is known of them where all take too long or the search is to end, and so are those that win nothing and that hardly
/// anybody thinks of. Not more than [`plies`] ever gives.
pub(super) fn force(position: &Chess, moves: &mut [Known], plies: u32, stop: &Stop) {
    let each = MOST_BY_PLY * GROWTH.pow(plies.saturating_sub(1));
    let mut all = if plies > 3 { MOST_BY_MORE } else { MOST };
    for known in moves {
        if stop.is_set() {
            return;
        }
        let found = share(&mut all, each, |left| Scout { left }.won_by(position, known, plies));
        known.pawns = found.unwrap_or(known.pawns);
    }
}

/// Looks at a move with so many positions of those that are left for all; what it does not need is the others'.
fn share<T>(all: &mut u32, most: u32, look: impl FnOnce(&mut u32) -> T) -> T {
    let given = most.min(*all);
    let mut left = given;
    let found = look(&mut left);
    *all -= given - left;
    found
}

/// A search under way, of so many positions more.
struct Scout<'a> {
    left: &'a mut u32,
}

impl Scout<'_> {
    /// Pawns that a move wins, or loses; nothing where that was not seen.
    fn won_by(&mut self, position: &Chess, known: &Known, plies: u32) -> Option<f32> {
        let (after, here) = (played(position, known.m), won(known.m));
        let mut lost = |alpha: f32, beta: f32| {
            let lost = self.best(&after, alpha, beta, plies, CHECKS);
            (*self.left > 0).then_some(lost)
        };
        // Whether anything is won, or lost, is asked first: it takes far less than how much.
        let beside = |bound: f32| (bound - 0.01, bound);
        let (even, worse) = (here - HALF, here + HALF);
        let (alpha, beta) = beside(even);
        if lost(alpha, beta)? < even {
            return Some(here - lost(f32::NEG_INFINITY, even)?);
        }
        if known.probability < THOUGHT {
            return Some(known.pawns.min(0.0));
        }
        let (alpha, beta) = beside(worse);
        if lost(alpha, beta)? < worse {
            return Some(0.0);
        }
        Some(here - lost(worse, f32::INFINITY)?)
    }

    /// The best that the player to move wins within so many plies and the exchanges after them. Alpha-beta, fail-soft.
    fn best(&mut self, position: &Chess, mut alpha: f32, beta: f32, plies: u32, checks: u32) -> f32 {
        let check = position.is_check();
        if plies == 0 && !(check && checks > 0) {
            return play_out(position, alpha, beta, EXCHANGED, self.left);
        }
        if *self.left == 0 {
            return 0.0;
        }
        *self.left -= 1;
        // Before there are any moves: most positions need none. Who is stalemated is taken to pass.
        if !check && let Ok(passed) = position.clone().swap_turn() {
            let value = -self.best(&passed, -beta, HALF - beta, plies.saturating_sub(2), checks);
            if value >= beta {
                return value;
            }
        }
        let mut moves = position.legal_moves();
        if moves.is_empty() {
            return if check { -MATED } else { 0.0 };
        }
        // With nothing but exchanges after it, a quiet move without a check wins nothing.
        let quiet = check || plies > 1 || alpha < 0.0;
        moves.sort_by_cached_key(|&m| std::cmp::Reverse(order(position, m)));
        let (after, checks) = if check { (plies, checks.saturating_sub(1)) } else { (plies - 1, checks) };
        let loud = if quiet { None } else { Checks::of(position) };
        let mut best = f32::NEG_INFINITY;
        for m in moves {
            let here = won(m);
            if quiet || here > 0.0 || loud.as_ref().is_some_and(|loud| loud.is_given_by(m)) {
                alpha = alpha.max(best);
                best = best.max(here - self.best(&played(position, m), here - beta, here - alpha, after, checks));
            } else {
                best = best.max(0.0);
            }
            if best >= beta {
                break;
            }
        }
        best
    }
}

/// Captures that gain first, the dearest by the cheapest; then quiet moves, the dearest first, as they are what most often has to go; then
/// captures that lose.
fn order(position: &Chess, m: Move) -> i32 {
    let (won, man) = (won(m) as i32, value(m.role()) as i32);
    match won {
        0 => man - 20,
        _ if m.is_capture() && loses(position, m) => won - 100,
        _ => 10 * won - man,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;

    /// What a move is found to win at once, and with so many plies before exchanges.
    fn found(fen: &str, m: &str, probability: f32, plies: u32) -> (f32, f32) {
        let game = Game::from_fen(fen).expect(fen);
        let mut one = [Known { m: game.parse_uci(m).expect(m), probability, pawns: 0.0 }];
        exchange(game.position(), &mut one);
        let at_once = one[0].pawns;
        force(game.position(), &mut one, plies, &Stop::new(false, None));
        (at_once, one[0].pawns)
    }

    #[test]
    fn exchanges_after_moves_are_counted() {
        for (fen, m, probability, expected) in [
            // A queen won; a queen thrown away; a fork in check that wins the queen; nothing at all.
            ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "e4d5", 0.001, 9.0),
            ("4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1", "e2e5", 0.001, -8.0),
            ("3q3k/8/8/6N1/8/8/8/4K3 w - - 0 1", "g5f7", 0.001, 9.0),
            ("5k2/8/8/8/8/8/4Q3/4K3 w - - 0 1", "e2e5", 0.5, 0.0),
            // A quiet move that leaves a queen, where it is thought of, and where it is not.
            ("7k/8/8/3p4/4Q3/8/8/4K3 w - - 0 1", "e1d1", 0.5, -9.0),
            ("7k/8/8/3p4/4Q3/8/8/4K3 w - - 0 1", "e1d1", 0.001, 0.0),
        ] {
            assert_eq!(found(fen, m, probability, 1).0, expected, "{fen} {m}");
        }
    }

    #[test]
    fn what_is_forced_is_seen_some_plies_ahead() {
        for (fen, m, probability, plies, expected) in [
            // A pawn forks two knights: one is lost, protected by the other, for the pawn. Nobody need think of it.
            ("7k/8/8/2n1n3/8/8/3P4/7K w - - 0 1", "d2d4", 0.001, 1, (0.0, 2.0)),
            // The bishop for a pawn, and a check in between that wins the queen.
            ("4k3/5ppq/8/8/2B5/5N2/8/4K3 w - - 0 1", "c4f7", 0.1, 1, (-2.0, 1.0)),
            // What loses to a fork two plies later, where it is thought of.
            ("7k/3p4/8/8/2N1N3/8/8/6K1 w - - 0 1", "g1f2", 0.5, 2, (0.0, -2.0)),
            ("7k/3p4/8/8/2N1N3/8/8/6K1 w - - 0 1", "g1f2", 0.01, 2, (0.0, 0.0)),
            // Mate at once, on the back rank.
            ("6k1/5ppp/8/8/8/8/r4PPP/1R4K1 w - - 0 1", "b1b8", 0.001, 1, (20.0, 20.0)),
            // Quiet, and nothing comes of it.
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "g1f3", 0.5, 3, (0.0, 0.0)),
        ] {
            assert_eq!(found(fen, m, probability, plies), expected, "{fen} {m} {plies}");
        }
    }

    #[test]
    fn nothing_is_looked_for_once_the_search_is_to_end() {
        let game = Game::from_fen("7k/8/8/2n1n3/8/8/3P4/7K w - - 0 1").expect("legal");
        let pawns = |stopped: bool| {
            let stop = Stop::new(false, None);
            if stopped {
                stop.set();
            }
            let mut one = [Known { m: game.parse_uci("d2d4").expect("legal"), probability: 0.5, pawns: 0.0 }];
            force(game.position(), &mut one, 1, &stop);
            one[0].pawns
        };
        assert_eq!([false, true].map(pawns), [2.0, 0.0]);
    }

    #[test]
    fn more_visits_are_worth_more_plies() {
        assert_eq!(
            [0, 7, 8, 63, 64, 511, 512, 4095, 4096, 1 << 40].map(|n| plies(n, 8)),
            [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
        );
        assert_eq!(plies(1000, 0), 0);
    }

    #[test]
    fn a_board_full_of_queens_takes_no_time() {
        let game = Game::from_fen("qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1").expect("legal");
        let moves = game.position().legal_moves();
        let mut known: Vec<Known> = moves.iter().map(|&m| Known { m, probability: 1.0, pawns: 7.5 }).collect();
        force(game.position(), &mut known, DEEPEST, &Stop::new(false, None));
        // Most are left at what was known of them.
        assert!(known.iter().filter(|known| known.pawns == 7.5).count() > moves.len() / 2, "{known:?}");
    }
}
