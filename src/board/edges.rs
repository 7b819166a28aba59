//! How men bear on squares, as the edges of a graph: what a network's squares may look at each other by.

use serde::{Deserialize, Serialize};
use shakmaty::attacks::attacks;
use shakmaty::{Bitboard, Color, Piece, Role, Square};

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
}

impl Edge {
    /// Of each square of a board as the player to move sees it ([`Features::codes`](super::Features::codes)), the set of squares that the man
    /// on it bears on so; none of a square where none stands.
    pub fn on(self, board: &[u8; 64]) -> [u64; 64] {
        let men = || Square::ALL.into_iter().zip(board).filter_map(|(square, &code)| Some((square, man(code)?)));
        let occupied: Bitboard = men().map(|(square, _)| square).collect();
        let mut sets = [0; 64];
        for (square, man) in men() {
            let set = match self {
                Edge::Attacks => attacks(square, man, occupied),
                Edge::XRays => {
                    let direct = attacks(square, man, occupied);
                    attacks(square, man, occupied & !direct) & !direct
                }
                Edge::Pushes => pushes(square, man, occupied),
            };
            sets[square.to_usize()] = set.0;
        }
        sets
    }
}

/// The man that a code stands for. The player to move is White here, as the board is seen.
fn man(code: u8) -> Option<Piece> {
    let index = usize::from(code.checked_sub(1)?);
    let color = *[Color::White, Color::Black].get(index / Role::ALL.len())?;
    Some(Role::ALL[index % Role::ALL.len()].of(color))
}

/// Where a pawn may go without taking.
fn pushes(square: Square, man: Piece, occupied: Bitboard) -> Bitboard {
    let ahead = |square: Square| {
        let next = square.offset(man.color.fold_wb(8, -8))?;
        (!occupied.contains(next)).then_some(next)
    };
    let first = ahead(square).filter(|_| man.role == Role::Pawn);
    let home = man.color.fold_wb(shakmaty::Rank::Second, shakmaty::Rank::Seventh);
    let second = first.filter(|_| square.rank() == home).and_then(ahead);
    first.into_iter().chain(second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Conditions, Features, Game};
    use shakmaty::Position;

    const FENS: [&str; 3] = [
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
        "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3",
    ];

    /// The edges of each square, as White sees the board, and the game.
    fn of(fen: &str, kind: Edge) -> (impl Fn(Square) -> Bitboard, Game) {
        let game = Game::from_fen(fen).expect(fen);
        let sets = kind.on(&Features::of(&game, &Conditions::default()).codes[0]);
        let turn = game.position().turn();
        let seen = move |square: Square| {
            let set = Bitboard(sets[turn.fold_wb(square, square.flip_vertical()).to_usize()]);
            turn.fold_wb(set, set.flip_vertical())
        };
        (seen, game)
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
        let squares = |names: &str| names.split_whitespace().map(|name| name.parse::<Square>().expect(name)).collect();
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
}
