//! How the moves of the player to move come out, once both sides have checked and taken, and who may mate next.

use shakmaty::{Board, Color, Square};

use super::exchange::takes;
use super::features::MARKS;
use super::mate::evasions;
use super::special::specials;
use super::takings::{MATE, ahead, mates_soon};
use super::ways::{after, checks, ways};

/// Pawns beyond which nothing comes out, a mate aside.
const MOST: i8 = 30;
/// Checks in a row that either side may begin with: White with its move, the other with its answer.
const CHECKS: u8 = 2;
/// Checks in a row that may come before a mate that a quiet move threatens: seen of every such move, and rare.
const CHECKS_OF_THREATS: u8 = 1;
/// Queens on the board beyond which no checks are followed: there are too many of them.
const QUEENS: usize = 4;

/// Of each square of a man of the player to move, White as boards are seen, the set of those where it may go, its king safe, with one outlook
/// or another.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    /// It comes out no worse than level.
    pub(super) holds: [u64; 64],
    /// Nothing else comes out better.
    pub(super) best: [u64; 64],
    /// It checks, and White then mates, at once or after a check, whatever the ways out.
    pub(super) mates: [u64; 64],
    /// It holds, without a check, and White would come out better than any move does if it were to take next.
    pub(super) threatens: [u64; 64],
    /// The other may mate, at once or after checks.
    pub(super) exposes: [u64; 64],
    /// Without a check, White could mate, at once or after a check, if it were to move again.
    pub(super) threatens_mate: [u64; 64],
}

impl Outlook {
    /// Of the moves of White, where squares may have [marks](super::Features::marks).
    pub(super) fn of(board: &Board, marks: &[u64; MARKS]) -> Outlook {
        let in_a_row = if board.queens().count() > QUEENS { 0 } else { CHECKS };
        let moves = moves(board, marks);
        let holding: Vec<bool> = moves.iter().map(|m| m.comes_out(0, in_a_row)).collect();
        let most = if holding.contains(&true) {
            let held = moves.iter().zip(&holding).filter(|&(_, &holds)| holds);
            held.fold(0, |most, (m, _)| (most..MOST).find(|&least| !m.comes_out(least + 1, in_a_row)).unwrap_or(MOST))
        } else {
            (-MOST..0).rev().find(|&least| moves.iter().any(|m| m.comes_out(least, in_a_row))).unwrap_or(-MOST)
        };
        let none = [0; 64];
        let mut found =
            Outlook { holds: none, best: none, mates: none, threatens: none, exposes: none, threatens_mate: none };
        for (m, holds) in moves.iter().zip(holding) {
            let (i, bit) = (m.from.to_usize(), 1 << m.to.to_u32());
            let quiet = m.evasions.is_none();
            let mut sets = [
                (&mut found.holds, holds),
                (&mut found.best, if most == 0 { holds } else { m.comes_out(most, in_a_row) }),
                // Whoever mates comes out ahead: a mate is looked for only where somebody does.
                (&mut found.mates, most == MOST && m.comes_out(MATE, in_a_row)),
                (&mut found.exposes, !(quiet && holds) && mates_soon(&m.after, Color::Black, in_a_row)),
                (&mut found.threatens, quiet && holds && ahead(&m.after, Color::White, most + 1, 0)),
                (
                    &mut found.threatens_mate,
                    quiet && mates_soon(&m.after, Color::White, in_a_row.min(CHECKS_OF_THREATS)),
                ),
            ];
            for (set, so) in &mut sets {
                set[i] |= if *so { bit } else { 0 };
            }
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
    /// Whether White comes out at least so many pawns ahead, or behind, however the other checks, so many times in a row or fewer, and takes.
    fn comes_out(&self, least: i8, in_a_row: u8) -> bool {
        let too_much = self.taken - least + 1;
        match &self.evasions {
            // Who is not in check may as well take nothing.
            None => too_much > 0 && !ahead(&self.after, Color::Black, too_much, in_a_row),
            Some(evasions) => evasions.iter().all(|(taken, board)| {
                let back = taken - too_much + 1;
                back <= 0 || ahead(board, Color::White, back, in_a_row.saturating_sub(1))
            }),
        }
    }
}

/// White's moves after which its king cannot be taken.
fn moves(board: &Board, marks: &[u64; MARKS]) -> Vec<Move> {
    let mut moves = Vec::with_capacity(64);
    let mut add = |from, to, taken, after: Board| {
        if !checks(&after, Color::Black) {
            let evasions = if checks(&after, Color::White) { evasions(&after, Color::Black) } else { None };
            moves.push(Move { from, to, taken, after, evasions });
        }
    };
    for from in board.white() {
        let Some(man) = board.piece_at(from) else { continue };
        for to in ways(board, from, man) {
            add(from, to, takes(board, man, to), after(board, from, man, to));
        }
    }
    for (from, to, taken, after) in specials(board, marks) {
        add(from, to, taken, after);
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::edges::placed;
    use crate::board::ways::testing::at;
    use crate::board::{Conditions, Features, Game};

    fn of(fen: &str) -> Outlook {
        let features = Features::of(&Game::from_fen(fen).expect(fen), &Conditions::default());
        Outlook::of(&placed(&features.codes[0]), &features.marks)
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
    fn among_many_queens_no_checks_are_followed() {
        // Shut in, they change nothing but how many there are.
        let holds = |fen: &str| at(&of(fen).holds, "a2").contains(&"a3".to_owned());
        assert!(!holds("4kb1q/4pppq/6pp/8/1n6/8/P4PPP/R3KBQQ w - - 0 1"));
        assert!(holds("4kbqq/4pppq/6pp/8/1n6/8/P4PPP/R3KBQQ w - - 0 1"));
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
        // Two rooks mate after two checks, one does not.
        let found = of("7k/3B4/8/1r6/r7/7K/8/8 w - - 0 1");
        assert_eq!(at(&found.exposes, "h3"), ["g3"]);
        assert_eq!(
            [at(&found.holds, "d7"), at(&found.exposes, "d7")].map(|to| to.contains(&"b5".to_owned())),
            [true, false]
        );
    }

    #[test]
    fn a_move_mates_and_threatens_by_what_follows_it() {
        // After two more checks it is mate.
        let found = of("8/8/7k/R7/1R6/8/8/4K3 w - - 0 1");
        assert_eq!([at(&found.mates, "b4"), at(&found.mates, "a5")], [vec!["b6".to_owned()], vec![]]);
        // Protected, the pawn attacks two; without its king it would be taken.
        let found = of("4k3/8/8/2n1b3/8/3PK3/8/8 w - - 0 1");
        assert_eq!(at(&found.threatens, "d3"), ["d4"]);
        let found = of("4k3/8/8/2n1b3/8/3P4/8/4K3 w - - 0 1");
        assert!(at(&found.threatens, "d3").is_empty());
    }

    #[test]
    fn castling_and_taking_en_passant_come_out_as_other_moves() {
        // Castling saves the rook; the other way the king would go through a check.
        let found = of("4k3/8/8/8/3b4/8/P7/R3K2R w KQ - 0 1");
        assert_eq!(at(&found.holds, "e1"), ["a1"]);
        let found = of("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1");
        assert_eq!(
            [at(&found.holds, "e5"), at(&found.best, "e5")],
            [["d6", "e6"].map(str::to_owned).to_vec(), vec!["d6".to_owned()]]
        );
    }

    #[test]
    fn a_move_threatens_mate_that_could_be_given_next() {
        let found = of("r4rk1/5ppp/8/8/8/8/2B2PPP/3Q2K1 w - - 0 1");
        assert_eq!(at(&found.threatens_mate, "d1"), ["d3", "h5"]);
        // A check is none.
        assert!(at(&found.threatens_mate, "c2").is_empty());
        // After one check it may be, but not after two.
        assert_eq!(at(&of("8/7k/R7/1R6/8/8/8/4K3 w - - 0 1").threatens_mate, "e1").len(), 5);
        assert_eq!(at(&of("8/8/7k/R7/1R6/8/8/4K3 w - - 0 1").threatens_mate, "e1").len(), 0);
    }
}
