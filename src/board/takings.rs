//! What taking in turn, wherever there is something to take, comes to, after a few checks: quiescence search, as engines end their lines with.
//! It knows boards only, and answers one threshold; the tree's own (`search::quiescence`) follows positions and gives a number.

use shakmaty::{Bitboard, Board, Color, Rank, Role};

use super::exchange::{cheapest, reach, takes, worth};
use super::mate::{any_check, can_mate, evasions, flights};
use super::ways::{after, checks};

/// Boards that are looked at for one answer at most; who would have to look further stops taking.
pub(super) const LOOKED_AT: u8 = 128;

/// More pawns than can be taken in turn: who has to come out so many ahead has to mate.
pub(super) const MATE: i8 = 64;

/// Whether a side, to move, can come out at least so many pawns ahead, 1 or more, when it begins with so many checks in a row or fewer, and both
/// sides take in turn, anywhere, and stop when they like, or mate at once. The most valuable man is taken first, by the cheapest first; nobody may
/// leave his king to be taken. Taking en passant is left out, but not out of check; a pawn that arrives by taking promotes to a queen.
pub(super) fn ahead(board: &Board, color: Color, least: i8, checks: u8) -> bool {
    comes_out(board, color, least, checks, &mut { LOOKED_AT })
}

/// Whether a side, to move, can mate, after so many checks in a row or fewer.
pub(super) fn mates_soon(board: &Board, color: Color, checks: u8) -> bool {
    ahead(board, color, MATE, checks)
}

fn comes_out(board: &Board, color: Color, least: i8, in_a_row: u8, left: &mut u8) -> bool {
    let Some(fewer) = left.checked_sub(1) else { return false };
    *left = fewer;
    let (occupied, others) = (board.occupied(), board.by_color(!color));
    if checks(board, color) {
        return true;
    }
    // Where few men are worth enough, who attacks them is sooner seen of each.
    let others = if least < 2 { others & reach(board, color) } else { others };
    // As the other may stop, nobody wins more than he takes first; only a pawn that promotes by it takes more than stands there.
    let seventh = board.pawns() & board.by_color(color) & Bitboard::from_rank(color.relative_rank(Rank::Seventh));
    let enough = |role: Role| seventh.any() || worth(role) >= least;
    for role in [Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn].into_iter().take_while(|&r| enough(r))
    {
        for to in board.by_role(role) & others {
            let mut men = board.attacks_to(to, color, occupied);
            while let Some((role, from)) = cheapest(board, men) {
                men.discard(from);
                let man = role.of(color);
                let taken = takes(board, man, to);
                if taken >= least && !comes_out(&after(board, from, man, to), !color, taken - least + 1, 0, left) {
                    return true;
                }
            }
        }
    }
    match in_a_row.checked_sub(1) {
        None => can_mate(board, color),
        Some(more) => comes_out_by_check(board, color, least, more, left),
    }
}

/// The same where the side begins with a check, whatever the way out of it.
fn comes_out_by_check(board: &Board, color: Color, least: i8, more: u8, left: &mut u8) -> bool {
    any_check(board, color, |next, man, to| {
        if *left == 0 {
            return false;
        }
        let needed = least - takes(board, man, to);
        let mut wins = |lost: i8, next: &Board| {
            let needed = needed + lost;
            needed <= 0 || comes_out(next, color, needed, more, left)
        };
        // A step of the king mostly is enough, and soon seen.
        let king = Role::King.of(!color);
        let step = next.king_of(!color).zip(flights(&next, !color).next());
        let stepped = step.map(|(from, to)| (takes(&next, king, to), after(&next, from, king, to)));
        stepped.as_ref().is_none_or(|(lost, next)| wins(*lost, next))
            && evasions(&next, !color).is_some_and(|ways| {
                let mut others = ways.iter().filter(|way| stepped.as_ref() != Some(*way));
                others.all(|(lost, next)| wins(*lost, next))
            })
    })
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;
    use crate::board::{Game, played};

    /// The most that a side comes out ahead, every line of taking played out; `None` where it takes the king.
    fn most(board: &Board, color: Color) -> Option<i8> {
        let mut most = 0;
        for (to, other) in board {
            if other.color == color {
                continue;
            }
            for from in board.attacks_to(to, color, board.occupied()) {
                if other.role == Role::King {
                    return None;
                }
                let man = board.piece_at(from).expect("it attacks");
                if let Some(back) = self::most(&after(board, from, man, to), !color) {
                    most = most.max(takes(board, man, to) - back);
                }
            }
        }
        Some(most)
    }

    #[test]
    fn a_side_comes_out_ahead_by_what_lines_of_taking_come_to() {
        let mut seen = [0; 2];
        for fen in [
            "4r1k1/4r3/3b4/4p3/3P1P2/2B5/1Q2R3/4R1K1 w - - 0 1",
            "1n2k3/P7/8/8/8/8/r7/R3K3 w - - 0 1",
            // A rook protects two men.
            "3r2k1/1r6/8/8/3N4/8/1B1R3P/7K b - - 0 1",
        ] {
            let game = Game::from_fen(fen).expect(fen);
            for m in game.position().legal_moves() {
                let position = played(game.position(), m);
                let (board, color) = (position.board(), position.turn());
                let most = most(board, color).expect("a legal position");
                for least in 1..=10 {
                    let mut left = u8::MAX;
                    let found = comes_out(board, color, least, 0, &mut left);
                    if left > 0 {
                        assert_eq!(found, most >= least, "{m} in {fen}, at least {least}");
                        seen[usize::from(found)] += 1;
                    }
                }
            }
        }
        assert!(seen.iter().all(|&n| n > 30), "{seen:?}");
    }

    #[test]
    fn who_may_be_taken_on_two_squares_is_seen_only_by_taking_on_both() {
        // The rook protects bishop and knight, and can take back but once.
        let game = Game::from_fen("3r2k1/1r6/8/8/3N4/8/1B1R3P/7K b - - 0 1").expect("a position");
        let board = game.position().board();
        assert!(ahead(board, Color::Black, 1, 0) && !ahead(board, Color::Black, 2, 0));
        assert!(!ahead(board, Color::White, 1, 0));
    }

    #[test]
    fn nothing_is_won_where_the_other_then_mates() {
        let wins = |fen: &str| ahead(Game::from_fen(fen).expect(fen).position().board(), Color::White, 1, 0);
        assert!(wins("6k1/5ppp/8/3q4/8/8/5PPP/3R2K1 w - - 0 1"));
        // The rook that takes was needed at home.
        assert!(!wins("4r1k1/5ppp/8/3q4/8/8/5PPP/3R2K1 w - - 0 1"));
    }

    #[test]
    fn a_check_may_win_what_is_taken_after_it() {
        let most = |fen: &str, checks| {
            let board = Game::from_fen(fen).expect(fen).position().board().clone();
            (0..20).take_while(|least| ahead(&board, Color::White, least + 1, checks)).count()
        };
        // A knight checks, and attacks a rook.
        assert_eq!([0, 1, 2].map(|checks| most("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1", checks)), [0, 5, 5]);
        // Two rooks check twice, and then mate.
        assert_eq!([0, 1, 2].map(|checks| most("8/8/7k/R7/1R6/8/8/4K3 w - - 0 1", checks)), [0, 0, 20]);
    }

    #[test]
    fn who_mates_after_checks_is_who_does_whatever_the_answers() {
        let mates = |fen: &str| {
            let board = Game::from_fen(fen).expect(fen).position().board().clone();
            [0, 1, 2].map(|checks| mates_soon(&board, Color::White, checks))
        };
        assert_eq!(mates("8/8/7k/R7/1R6/8/8/4K3 w - - 0 1"), [false, false, true]);
        assert_eq!(mates("7k/R7/1R6/8/8/8/8/4K3 w - - 0 1"), [true; 3]);
        // The rook that has to take the queen stands in its king's way.
        assert_eq!(mates("r6k/6pp/7N/8/2Q5/8/8/4K3 w - - 0 1"), [false, true, true]);
        assert_eq!(mates("r5rk/6pp/8/6N1/8/8/8/4K3 w - - 0 1"), [true; 3]);
    }

    #[test]
    fn what_takes_too_long_to_see_is_not_taken() {
        // Everything attacks everything.
        let board = Board::from_ascii_board_fen(b"QqQqQqQ1/qQqQqQqQ/QqQqQqQq/qQqQqQqQ/8/8/8/8").expect("a board");
        let left_of = |least| {
            let mut left = LOOKED_AT;
            comes_out(&board, Color::White, least, 0, &mut left);
            left
        };
        assert!((1..10).any(|least| left_of(least) == 0));
    }
}
