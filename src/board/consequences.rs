//! What moves leave on the board: what either side may then win by taking, and whether a king is mated.

use shakmaty::attacks::{bishop_attacks, knight_attacks, rook_attacks};
use shakmaty::{Bitboard, Board, ByColor, Color, Piece, Rank, Role, Square};

use super::exchange::{attackers, cheapest, gains, reach, takes, worth};
use super::mate::mates;
use super::ways::{after, checks, together, ways};

/// Of each man's square the set of those where it may go with one consequence or another.
#[derive(Clone, Debug)]
pub(super) struct Consequences {
    /// The other is mated.
    pub(super) mates: [u64; 64],
    /// The other can win no more by taking, anywhere, than the man took.
    pub(super) sound: [u64; 64],
    /// The man's side would win by taking where before it would not.
    pub(super) threatens: [u64; 64],
    /// So it would two men that are no pawns, or one and the other is in check.
    pub(super) forks: [u64; 64],
}

impl Consequences {
    /// Of what both sides may play.
    pub(super) fn of(board: &Board) -> Consequences {
        let none = [0; 64];
        let mut found = Consequences { mates: none, sound: none, threatens: none, forks: none };
        let before = Before::of(board);
        for (from, man) in board {
            let (i, opens) = (from.to_usize(), before.opens(from));
            for to in ways(board, from, man) {
                let (bit, after) = (1 << to.to_u32(), after(board, from, man, to));
                let here = before.touched(from, man, to);
                if !before.loses(&after, man, to, here, *opens.get(!man.color)) {
                    found.sound[i] |= bit;
                }
                let threats = before.threats(&after, man.color, to, here, *opens.get(man.color));
                if threats.any() {
                    found.threatens[i] |= bit;
                }
                let (men, check) = ((threats & !after.pawns()).count(), checks(&after, man.color));
                if men > 1 || men == 1 && check {
                    found.forks[i] |= bit;
                }
                if check && mates(after, man.color) {
                    found.mates[i] |= bit;
                }
            }
        }
        found
    }
}

/// What has to be known of a board to look, after a move, only at exchanges that it touches: elsewhere they go on as before.
struct Before<'a> {
    board: &'a Board,
    /// Of each square the men on whose squares exchanges may go on otherwise once another man, or none, stands there. Knights may come from
    /// further.
    bystanders: [Bitboard; 64],
    /// What each side attacks.
    attacked: ByColor<Bitboard>,
    /// Of each man of the other what each side wins by taking it.
    winnings: ByColor<[i8; 64]>,
}

impl Before<'_> {
    fn of(board: &Board) -> Before<'_> {
        Before {
            board,
            bystanders: bystanders(board),
            attacked: ByColor::new_with(|color| reach(board, color)),
            winnings: ByColor::new_with(|color| winnings(board, color)),
        }
    }

    /// Whether each side's sliders see further once the man on a square has gone.
    fn opens(&self, from: Square) -> ByColor<bool> {
        let occupied = self.board.occupied();
        ByColor::new_with(|color| (self.board.attacks_to(from, color, occupied) & self.board.sliders()).any())
    }

    /// The squares on which exchanges may go on otherwise after a move.
    fn touched(&self, from: Square, man: Piece, to: Square) -> Bitboard {
        let jumps = if man.role == Role::Knight { knight_attacks(to) } else { Bitboard::EMPTY };
        self.bystanders[from.to_usize()] | self.bystanders[to.to_usize()] | jumps | Bitboard::from_square(to)
    }

    /// Whether the other then wins more by taking, anywhere, than the man took.
    fn loses(&self, after: &Board, man: Piece, to: Square, touched: Bitboard, opens: bool) -> bool {
        let taken = takes(self.board, man, to);
        let attacked = if opens { Bitboard::FULL } else { *self.attacked.get(!man.color) };
        let own = after.by_color(man.color) & attacked;
        let winnings = self.winnings.get(!man.color);
        (own & !touched).into_iter().any(|square| winnings[square.to_usize()] > taken)
            || winnable(after, !man.color, own & touched, taken + 1).next().is_some()
    }

    /// The men by taking which a side that has just moved would win where before it would not.
    fn threats(&self, after: &Board, color: Color, to: Square, touched: Bitboard, opens: bool) -> Bitboard {
        let attacked = if opens { Bitboard::FULL } else { *self.attacked.get(color) | after.attacks_from(to) };
        let winnings = self.winnings.get(color);
        together(winnable(after, color, attacked & touched, 1).filter(|square| winnings[square.to_usize()] == 0))
    }
}

/// Of each square the men on whose squares exchanges may go on otherwise once another man, or none, stands there: it attacks them, or stands in
/// the way of who does, or would by what is taken first. Knights may come from further.
fn bystanders(board: &Board) -> [Bitboard; 64] {
    let mut of = [Bitboard::EMPTY; 64];
    let (diagonal, straight) = (board.bishops() | board.queens(), board.rooks() | board.queens());
    for man in board.occupied() {
        let attackers = attackers(board, man, board.occupied());
        let mut matter = attackers;
        // A line ends at the first man that may not take, and leave it open, in its turn.
        let mut line = |attacks: fn(Square, Bitboard) -> Bitboard, sliders: Bitboard, mut open: Bitboard| {
            loop {
                let seen = attacks(man, board.occupied() & !open);
                let more = open | seen & sliders;
                if more == open {
                    return matter |= seen;
                }
                open = more;
            }
        };
        line(bishop_attacks, diagonal, attackers & board.pawns());
        line(rook_attacks, straight, Bitboard::EMPTY);
        for square in matter {
            of[square.to_usize()].add(man);
        }
    }
    of
}

/// Of each man of the other but its king, what a side wins by taking it, its cheapest man first: in pawns, 0 if it wins nothing.
fn winnings(board: &Board, color: Color) -> [i8; 64] {
    let mut most = [0; 64];
    for least in 1.. {
        let mut found = false;
        for square in winnable(board, color, Bitboard::FULL, least) {
            (most[square.to_usize()], found) = (least, true);
        }
        if !found {
            break;
        }
    }
    most
}

/// The men of the other on some squares, its king left out, by taking which a side wins at least so many pawns, its cheapest man first.
fn winnable(board: &Board, color: Color, on: Bitboard, least: i8) -> impl Iterator<Item = Square> {
    // Only a pawn that promotes by it wins more than it takes.
    let seventh = Bitboard::from_rank(color.relative_rank(Rank::Seventh));
    let promotes = (board.pawns() & board.by_color(color) & seventh).any();
    let wins = move |&square: &Square| {
        if !promotes && board.role_at(square).is_none_or(|role| worth(role) < least) {
            return false;
        }
        let men = board.attacks_to(square, color, board.occupied());
        cheapest(board, men).is_some_and(|(_, from)| gains(board, from, square, least))
    };
    (board.by_color(!color) & !board.kings() & on).into_iter().filter(wins)
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;
    use crate::board::ways::testing::{at, two_plies_on};
    use crate::board::{Game, played};

    fn of(fen: &str) -> (Consequences, Game) {
        let game = Game::from_fen(fen).expect(fen);
        (Consequences::of(game.position().board()), game)
    }

    #[test]
    fn who_mates_is_who_the_rules_say_mates() {
        let mut mates = 0;
        for fen in [
            "6k1/5ppp/8/8/8/8/5PPP/3RR1K1 w - - 0 1",
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
            "6rk/6pp/8/6N1/8/8/8/6K1 w - - 0 1",
            // Pinned, the rook may not go where it would mate.
            "7k/6pp/8/8/q2R2K1/8/8/8 w - - 0 1",
            "k7/2P5/1K6/8/8/8/8/8 w - - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        ] {
            let (found, game) = of(fen);
            let mut legal = [0; 64];
            for m in game.position().legal_moves() {
                let (Some(from), false) = (m.from(), m.is_castle() || m.is_en_passant()) else { continue };
                if m.promotion().is_none_or(|role| role == Role::Queen) {
                    legal[from.to_usize()] |= u64::from(played(game.position(), m).is_checkmate()) << m.to().to_u32();
                }
            }
            for from in game.position().us() {
                assert_eq!(found.mates[from.to_usize()], legal[from.to_usize()], "{from} in {fen}");
            }
            mates += legal.iter().map(|set| set.count_ones()).sum::<u32>();
        }
        assert_eq!(mates, 5);
    }

    /// The same, where after each move all exchanges are looked at anew.
    fn anew(board: &Board) -> Consequences {
        let mut found = Consequences { mates: [0; 64], sound: [0; 64], threatens: [0; 64], forks: [0; 64] };
        for (from, man) in board {
            for to in ways(board, from, man) {
                let after = after(board, from, man, to);
                let promoted = if after.role_at(to) == Some(man.role) { 0 } else { 8 };
                let taken = board.role_at(to).map_or(0, worth) + promoted;
                let all = |board, color, least| winnable(board, color, Bitboard::FULL, least).collect::<Bitboard>();
                let threats = all(&after, man.color, 1) & !all(board, man.color, 1);
                let (men, check) = ((threats & !after.pawns()).count(), checks(&after, man.color));
                let (i, bit) = (from.to_usize(), 1 << to.to_u32());
                found.sound[i] |= if all(&after, !man.color, taken + 1).is_empty() { bit } else { 0 };
                found.threatens[i] |= if threats.any() { bit } else { 0 };
                found.forks[i] |= if men > 1 || men == 1 && check { bit } else { 0 };
            }
        }
        found
    }

    #[test]
    fn exchanges_that_a_move_is_not_seen_to_touch_go_on_as_before() {
        let mut counts = [0; 4];
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "2r1r1k1/p1q1bppp/1pn1pn2/3p4/3P1B2/1PN1PN2/P1Q2PPP/2R1R1K1 w - - 0 1",
            "3rr1k1/pp3ppp/2n1bq2/8/1b1P4/2NB1N2/PP1Q1PPP/R3R1K1 b - - 0 1",
            "1n2k2r/P5P1/4q3/2R1b3/2R5/2Q5/p3B2p/1N2K1N1 w - - 0 1",
        ] {
            for (moves, position) in two_plies_on(fen) {
                let (found, expected) = (Consequences::of(position.board()), anew(position.board()));
                assert_eq!(found.sound, expected.sound, "{moves} in {fen}");
                assert_eq!(found.threatens, expected.threatens, "{moves} in {fen}");
                assert_eq!(found.forks, expected.forks, "{moves} in {fen}");
                for (count, sets) in counts.iter_mut().zip([found.sound, found.threatens, found.forks, found.mates]) {
                    *count += sets.iter().map(|set| set.count_ones()).sum::<u32>();
                }
            }
        }
        assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
    }

    #[test]
    fn a_move_is_sound_if_it_leaves_no_more_than_it_took() {
        // Only the knight protects the rook from the queen, and only a rook is as much as that; a pawn is not.
        let (found, _) = of("3qk3/8/8/8/3R4/2p3r1/4N3/K7 w - - 0 1");
        assert_eq!(at(&found.sound, "e2"), ["g3"]);
        // A protected knight is as much as the bishop; on a3 a pawn takes it for nothing.
        let (found, _) = of("4k3/2p5/1p6/2b5/8/4N3/1P3P2/4K3 b - - 0 1");
        assert_eq!(at(&found.sound, "c5"), ["e3", "b4", "d4", "d6", "e7", "f8"]);
        // A new queen is worth the rook that is lost for it.
        let (found, _) = of("4k3/P7/8/8/8/8/3R4/K4n2 w - - 0 1");
        assert_eq!(at(&found.sound, "a7"), ["a8"]);
        assert_eq!(at(&found.sound, "a1"), Vec::<String>::new());
    }

    #[test]
    fn a_move_threatens_what_it_would_win_next() {
        // From c7 the knight attacks king and rook, from d6 the king alone.
        let (found, _) = of("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1");
        assert_eq!([at(&found.threatens, "b5"), at(&found.forks, "b5")], [["c7"], ["c7"]]);
        let (found, _) = of("4k3/8/8/2n1b3/8/3P4/8/4K3 w - - 0 1");
        assert_eq!([at(&found.threatens, "d3"), at(&found.forks, "d3")], [["d4"], ["d4"]]);
        // The bishop could be taken before, the knight could not.
        let (found, _) = of("4k3/6n1/8/3b4/8/8/3R4/4K3 w - - 0 1");
        assert_eq!(at(&found.threatens, "d2"), ["g2"]);
        assert_eq!(at(&found.forks, "d2"), Vec::<String>::new());
    }
}
