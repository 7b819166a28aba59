//! How men bear on squares, as the edges of a graph: what a network's squares may look at each other by.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};
use shakmaty::attacks::attacks;
use shakmaty::{Bitboard, Board, Color, Piece, Role, Square};

use super::consequences::Consequences;
use super::exchange::gains;
use super::features::{Features, MARKS};
use super::outlook::Outlook;
use super::ways::{after, checks, pushes, those, ways};

/// How the man on one square bears on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// It attacks what stands there, or would (own men are protected).
    Attacks,
    /// It would attack it if of the men in its way the nearest were not there.
    XRays,
    /// A pawn that may go there, if it is not pinned.
    Pushes,
    /// A man that may go there, if it is not pinned, and loses nothing by what is then taken there.
    Safe,
    /// A man that may take there, if it is not pinned, and wins something by it, whatever is then taken there.
    Wins,
    /// A man that may go there, if it is not pinned, and the other king is in check then.
    Checks,
    /// A man that may go there, and the other king is mated then; one of the player to move also where it checks and then mates, at once or after
    /// a check, whatever the ways out.
    Mates,
    /// A man that may go there, if it is not pinned, and then nothing that the other may take, there or elsewhere, wins it more than was taken.
    Sound,
    /// A man that may go there, if it is not pinned, and then its side would win by taking where before it would not; one of the player to move
    /// also where it [holds](Edge::Holds), without a check, and would come out better than any move does, if the other did not move and both
    /// then took.
    Threatens,
    /// A man that may go there, if it is not pinned, and so threatens two men that are no pawns, or one and the king.
    Forks,
    /// A man of the player to move that may go there, its king safe, and comes out no worse than level once both sides have taken in turn,
    /// anywhere, what they like, and mated where they can; each may begin with a check or two, of which the move may be one. A king that
    /// castles goes to its rook's square here, and in the kinds below; a pawn may take en passant.
    Holds,
    /// The same, and no other move comes out better.
    Best,
    /// A man of the player to move that may go there, its king safe, and then the other may mate, at once or after a check or two.
    Exposes,
    /// A man of the player to move that may go there, its king safe, without a check, and could mate, at once or after a check, if the other did
    /// not move.
    ThreatensMate,
}

impl Edge {
    /// Of each square, as the player to move sees it ([`Features::codes`]), the set of squares that the man on it bears on so; none of a square
    /// where none stands.
    pub fn on(self, features: &Features) -> [u64; 64] {
        self.sets(&Seen::of(features))
    }

    /// The same for several kinds.
    pub fn all(kinds: &[Edge], features: &Features) -> Vec<[u64; 64]> {
        let seen = Seen::of(features);
        kinds.iter().map(|kind| kind.sets(&seen)).collect()
    }

    /// What men attack on a board that was [`placed`].
    pub(super) fn attacks(board: &Board) -> [u64; 64] {
        by_man(board, |square, man| attacks(square, man, board.occupied()))
    }

    /// The same, where what several kinds want is worked out once.
    fn sets(self, seen: &Seen) -> [u64; 64] {
        let board = &seen.board;
        let consequences = || seen.consequences.get_or_init(|| Consequences::of(board));
        let outlook = || seen.outlook.get_or_init(|| Outlook::of(board, seen.marks));
        match self {
            Edge::Attacks => Edge::attacks(board),
            Edge::XRays => by_man(board, |square, man| {
                let direct = attacks(square, man, board.occupied());
                attacks(square, man, board.occupied() & !direct) & !direct
            }),
            Edge::Pushes => by_man(board, |square, man| pushes(square, man, board.occupied())),
            Edge::Safe => {
                by_man(board, |square, man| those(ways(board, square, man), |to| gains(board, square, to, 0)))
            }
            Edge::Wins => by_man(board, |square, man| {
                let taking = ways(board, square, man) & board.by_color(!man.color);
                those(taking, |to| gains(board, square, to, 1))
            }),
            Edge::Checks => by_man(board, |square, man| {
                those(ways(board, square, man), |to| checks(&after(board, square, man, to), man.color))
            }),
            Edge::Mates => either(consequences().mates, outlook().mates),
            Edge::Sound => consequences().sound,
            Edge::Threatens => either(consequences().threatens, outlook().threatens),
            Edge::Forks => consequences().forks,
            Edge::Holds => outlook().holds,
            Edge::Best => outlook().best,
            Edge::Exposes => outlook().exposes,
            Edge::ThreatensMate => outlook().threatens_mate,
        }
    }
}

/// What of a position has been looked at already.
struct Seen<'a> {
    board: Board,
    marks: &'a [u64; MARKS],
    consequences: OnceCell<Consequences>,
    outlook: OnceCell<Outlook>,
}

impl Seen<'_> {
    fn of(features: &Features) -> Seen<'_> {
        Seen {
            board: placed(&features.codes[0]),
            marks: &features.marks,
            consequences: OnceCell::new(),
            outlook: OnceCell::new(),
        }
    }
}

/// What is in one set or the other.
fn either(sets: [u64; 64], others: [u64; 64]) -> [u64; 64] {
    std::array::from_fn(|i| sets[i] | others[i])
}

/// Of each square what is seen of the man on it.
fn by_man(board: &Board, seen: impl Fn(Square, Piece) -> Bitboard) -> [u64; 64] {
    let mut sets = [0; 64];
    for (square, man) in board {
        sets[square.to_usize()] = seen(square, man).0;
    }
    sets
}

/// The men that a board's codes stand for.
pub(super) fn placed(codes: &[u8; 64]) -> Board {
    let mut board = Board::empty();
    for (square, &code) in Square::ALL.into_iter().zip(codes) {
        if let Some(man) = man(code) {
            board.set_piece_at(square, man);
        }
    }
    board
}

/// The man that a code stands for. The player to move is White here, as the board is seen.
fn man(code: u8) -> Option<Piece> {
    let index = usize::from(code.checked_sub(1)?);
    let color = *[Color::White, Color::Black].get(index / Role::ALL.len())?;
    Some(Role::ALL[index % Role::ALL.len()].of(color))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Conditions, Game};
    use shakmaty::Position;

    const FENS: [&str; 3] = [
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
        "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3",
    ];

    /// The edges of each square, as White sees the board, and the game.
    fn of(fen: &str, kind: Edge) -> (impl Fn(Square) -> Bitboard, Game) {
        let game = Game::from_fen(fen).expect(fen);
        let sets = kind.on(&Features::of(&game, &Conditions::default()));
        let turn = game.position().turn();
        let seen = move |square: Square| {
            let set = Bitboard(sets[turn.fold_wb(square, square.flip_vertical()).to_usize()]);
            turn.fold_wb(set, set.flip_vertical())
        };
        (seen, game)
    }

    fn squares(names: &str) -> Bitboard {
        names.split_whitespace().map(|name| name.parse::<Square>().expect(name)).collect()
    }

    #[test]
    fn each_man_attacks_what_the_rules_know() {
        for fen in FENS {
            let (seen, game) = of(fen, Edge::Attacks);
            for square in Square::ALL {
                assert_eq!(seen(square), game.position().board().attacks_from(square), "{square} in {fen}");
            }
        }
    }

    #[test]
    fn pawns_go_where_the_rules_let_them() {
        for fen in FENS {
            let (seen, game) = of(fen, Edge::Pushes);
            let mut moves = [Bitboard::EMPTY; 64];
            for m in game.position().legal_moves().iter().filter(|m| m.role() == Role::Pawn && !m.is_capture()) {
                moves[m.from().expect("no drops").to_usize()].add(m.to());
            }
            for square in game.position().us() {
                assert_eq!(seen(square), moves[square.to_usize()], "{square} in {fen}");
            }
            assert!(game.position().them().into_iter().any(|square| seen(square).any()), "the other's pawns too");
        }
    }

    #[test]
    fn sliders_look_through_one_man() {
        let (seen, _) = of("4k3/8/8/1p2r3/8/1P6/8/RN2R1K1 w - - 0 1", Edge::XRays);
        let expected: [(&str, Bitboard); 5] = [
            ("a1", squares("c1 d1 e1")),
            ("e1", squares("a1 h1 e6 e7 e8")),
            ("e5", squares("a5")),
            ("g1", Bitboard::EMPTY),
            ("c6", Bitboard::EMPTY),
        ];
        for (square, set) in expected {
            assert_eq!(seen(square.parse().expect("a square")), set, "{square}");
        }
    }

    #[test]
    fn men_check_from_where_they_do_once_they_have_gone_there() {
        let discovered = "4k3/8/8/8/4N3/8/3P4/4R1K1 w - - 0 1";
        let promotes = "4k3/1P6/8/8/1b5Q/3n4/8/4K3 w - - 0 1";
        for fen in FENS.into_iter().chain([discovered, promotes]) {
            let (seen, game) = of(fen, Edge::Checks);
            for m in game.position().legal_moves() {
                let (Some(from), false) = (m.from(), m.is_castle() || m.is_en_passant()) else { continue };
                if m.promotion().is_some_and(|role| role != shakmaty::Role::Queen) {
                    continue;
                }
                let check = crate::board::played(game.position(), m).is_check();
                assert_eq!(seen(from).contains(m.to()), check, "{m} in {fen}");
            }
        }
        let (seen, game) = of(discovered, Edge::Checks);
        assert!(game.position().us().into_iter().any(|square| seen(square).any()), "something to see");
    }

    #[test]
    fn men_go_where_they_lose_nothing_and_win_where_they_take_more() {
        // The knight may take a pawn that a pawn protects, and go where pawns or the queen take it; the bishop may take the rook, the king
        // the queen.
        let fen = "6k1/1p6/2p5/8/1N4b1/8/5q2/3R2KQ w - - 0 1";
        let ((safe, _), (wins, _)) = (of(fen, Edge::Safe), of(fen, Edge::Wins));
        let square = |name: &str| name.parse::<Square>().expect(name);
        assert_eq!(safe(square("b4")), squares("d3"));
        assert_eq!(wins(square("b4")), Bitboard::EMPTY);
        assert_eq!(wins(square("g4")), squares("d1"));
        assert_eq!(wins(square("g1")), squares("f2"));
        assert_eq!(safe(square("b7")), squares("b6 b5"));
    }
}
