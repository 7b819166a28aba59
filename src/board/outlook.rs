//! How the moves of the player to move come out, once both sides have checked and taken, and who may mate next.

use shakmaty::{Board, Color, Square};

use super::exchange::takes;
use super::mate::{can_mate, evasions};
use super::takings::ahead;
use super::ways::{after, checks, ways};

/// Pawns beyond which nothing comes out, a mate aside.
const MOST: i8 = 30;
/// Checks in a row that either side may begin with: White with its move, the other with its answer.
const CHECKS: u8 = 2;

/// Of each square of a man of the player to move, White as boards are seen, the set of those where it may go, its king safe, with one outlook
/// or another.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    /// It comes out no worse than level.
    pub(super) holds: [u64; 64],
    /// Nothing else comes out better.
    pub(super) best: [u64; 64],
    /// The other may mate at once.
    pub(super) exposes: [u64; 64],
    /// Without a check, White could mate at once if it were to move again.
    pub(super) threatens_mate: [u64; 64],
}

impl Outlook {
    /// Of the moves of White.
    pub(super) fn of(board: &Board) -> Outlook {
        let moves = moves(board);
        let holding: Vec<bool> = moves.iter().map(|m| m.comes_out(0)).collect();
        let most = if holding.contains(&true) {
            let held = moves.iter().zip(&holding).filter(|&(_, &holds)| holds);
            held.fold(0, |most, (m, _)| (most..MOST).find(|&least| !m.comes_out(least + 1)).unwrap_or(MOST))
        } else {
            (-MOST..0).rev().find(|&least| moves.iter().any(|m| m.comes_out(least))).unwrap_or(-MOST)
        };
        let none = [0; 64];
        let mut found = Outlook { holds: none, best: none, exposes: none, threatens_mate: none };
        for (m, holds) in moves.iter().zip(holding) {
            let (i, bit) = (m.from.to_usize(), 1 << m.to.to_u32());
            found.holds[i] |= if holds { bit } else { 0 };
            let best = if most == 0 { holds } else { m.comes_out(most) };
            found.best[i] |= if best { bit } else { 0 };
            found.exposes[i] |= if can_mate(&m.after, Color::Black) { bit } else { 0 };
            let quiet = m.evasions.is_none();
            found.threatens_mate[i] |= if quiet && can_mate(&m.after, Color::White) { bit } else { 0 };
        }
        found
    }
}

/// A move of White, and what may follow.
struct Move {
    from: Square,
    to: Square,
    /// Pawns that it takes.
    taken: i8,
    after: Board,
    /// Where it checks, what the other takes by each of its ways out, and the board then.
    evasions: Option<Vec<(i8, Board)>>,
}

impl Move {
    /// Whether White comes out at least so many pawns ahead, or behind, however the other checks and takes.
    fn comes_out(&self, least: i8) -> bool {
        let too_much = self.taken - least + 1;
        match &self.evasions {
            // Who is not in check may as well take nothing.
            None => too_much > 0 && !ahead(&self.after, Color::Black, too_much, CHECKS),
            Some(evasions) => evasions.iter().all(|(taken, board)| {
                let back = taken - too_much + 1;
                back <= 0 || ahead(board, Color::White, back, CHECKS - 1)
            }),
        }
    }
}

/// White's moves after which its king cannot be taken.
fn moves(board: &Board) -> Vec<Move> {
    let mut moves = Vec::with_capacity(64);
    for from in board.white() {
        let Some(man) = board.piece_at(from) else { continue };
        for to in ways(board, from, man) {
            let after = after(board, from, man, to);
            if checks(&after, Color::Black) {
                continue;
            }
            let evasions = if checks(&after, Color::White) { evasions(&after, Color::Black) } else { None };
            moves.push(Move { from, to, taken: takes(board, man, to), after, evasions });
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;
    use crate::board::Game;
    use crate::board::ways::testing::at;

    fn of(fen: &str) -> Outlook {
        Outlook::of(Game::from_fen(fen).expect(fen).position().board())
    }

    #[test]
    fn a_move_holds_if_nobody_comes_out_ahead_by_taking() {
        // The rook protects bishop and knight, and can take back but once: a pawn's move leaves a pawn's worth, what protects one of them more
        // does not.
        let found = of("3r2k1/1r6/8/8/3N4/8/1B1R3P/7K w - - 0 1");
        assert_eq!(at(&found.holds, "h2"), Vec::<String>::new());
        assert!(at(&found.holds, "b2").contains(&"c3".to_owned()), "{:?}", at(&found.holds, "b2"));
        // Pinned, the knight goes nowhere, whatever it could take.
        let found = of("4k3/4r3/8/8/8/4N3/2q5/4K3 w - - 0 1");
        assert_eq!(at(&found.holds, "e3"), Vec::<String>::new());
    }

    #[test]
    fn a_move_does_not_hold_if_a_check_then_wins_something() {
        // The knight would check, and take the rook.
        let found = of("4k3/8/8/8/1n6/8/7P/R3K3 w - - 0 1");
        assert_eq!(at(&found.holds, "h2"), Vec::<String>::new());
        assert_eq!(at(&found.holds, "e1"), ["d1", "f1", "d2", "e2", "f2"].map(str::to_owned));
    }

    #[test]
    fn the_best_moves_are_those_that_nothing_comes_out_better_than() {
        // A rook may be taken, and a pawn.
        let found = of("4k3/8/8/1r3p2/8/3B4/8/4K3 w - - 0 1");
        assert_eq!([at(&found.best, "d3"), at(&found.best, "e1")], [vec!["b5".to_owned()], vec![]]);
        assert_eq!(at(&found.holds, "d3"), ["f1", "c2", "e2", "c4", "b5"].map(str::to_owned));
        // A check may win what is taken only after it.
        let found = of("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1");
        assert_eq!(at(&found.best, "b5"), ["c7"]);
        // Where both cannot be saved, the pawn is the less of two losses.
        let found = of("4k3/8/8/8/1r6/1P3R2/6b1/4K3 w - - 0 1");
        assert!(at(&found.best, "e1").is_empty() && !at(&found.best, "f3").is_empty(), "{found:?}");
        // Mate is better than any man.
        let found = of("6k1/q4ppp/8/8/8/8/8/1K1RR3 w - - 0 1");
        assert_eq!(at(&found.best, "e1"), ["e8"]);
    }

    #[test]
    fn a_move_exposes_the_king_that_may_then_be_mated() {
        let found = of("4r1k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1");
        assert_eq!(at(&found.exposes, "d1"), ["e1", "d2", "d3", "d4", "d5", "d6", "d7"].map(str::to_owned));
        assert_eq!([at(&found.exposes, "g1"), at(&found.exposes, "h2")], [Vec::<String>::new(), vec![]]);
    }

    #[test]
    fn a_move_threatens_mate_that_could_be_given_next() {
        let found = of("r4rk1/5ppp/8/8/8/8/2B2PPP/3Q2K1 w - - 0 1");
        assert_eq!(at(&found.threatens_mate, "d1"), ["d3", "h5"]);
        // A check is none.
        assert!(at(&found.threatens_mate, "c2").is_empty());
    }
}
