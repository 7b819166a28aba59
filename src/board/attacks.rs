//! What men attack: what any player sees at once, and a small network would have to work out from where they stand.

use shakmaty::attacks::{bishop_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, Color, Role};

use super::edges::{Edge, placed};
use super::lines::alone;

/// Sets of squares that [`attacked`] gives of each side.
const OF_SIDE: usize = 12;
/// Sets of squares that [`attacked`] gives.
pub const ATTACKS: usize = 2 * OF_SIDE;

/// Of a board as the player to move sees it ([`Features::codes`](super::Features::codes)), of the player and then of the other, bit sets of
///
/// - squares that pawns attack, knights, bishops, rooks, queens, the king (own men on them are protected);
/// - squares that at least two men attack;
/// - squares from which a pawn, a knight, a slider along a diagonal, a slider along a rank or a file would give check;
/// - men of either side that alone stand between such a slider and the king.
pub fn attacked(board: &[u8; 64]) -> [u64; ATTACKS] {
    let board = placed(board);
    let occupied = board.occupied();
    let map = Edge::attacks(&board);
    let mut sets = [0; ATTACKS];
    for (i, color) in [Color::White, Color::Black].into_iter().enumerate() {
        let of = |role: Role| board.by_piece(role.of(color));
        let sets = &mut sets[i * OF_SIDE..][..OF_SIDE];
        let (mut once, mut twice) = (Bitboard::EMPTY, Bitboard::EMPTY);
        for (role, set) in Role::ALL.into_iter().zip(&mut *sets) {
            let mut by_role = Bitboard::EMPTY;
            for square in of(role) {
                let by_man = Bitboard(map[square.to_usize()]);
                twice |= once & by_man;
                once |= by_man;
                by_role |= by_man;
            }
            *set = by_role.0;
        }
        sets[6] = twice.0;
        let Some(king) = board.king_of(!color) else { continue };
        sets[7] = pawn_attacks(!color, king).0;
        sets[8] = knight_attacks(king).0;
        sets[9] = bishop_attacks(king, occupied).0;
        sets[10] = rook_attacks(king, occupied).0;
        let queens = of(Role::Queen);
        let (diagonal, straight) = (of(Role::Bishop) | queens, of(Role::Rook) | queens);
        sets[11] = alone(king, occupied, diagonal, straight).0;
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Conditions, Features, Game};
    use shakmaty::attacks::attacks;
    use shakmaty::{Piece, Position, Square};

    fn of(fen: &str) -> ([u64; ATTACKS], Game) {
        let game = Game::from_fen(fen).expect(fen);
        (attacked(&Features::of(&game, &Conditions::default()).codes[0]), game)
    }

    fn squares(names: &str) -> u64 {
        names.split_whitespace().map(|name| Bitboard::from(name.parse::<Square>().expect(name)).0).sum()
    }

    #[test]
    fn attacks_are_those_that_the_rules_know() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 b - - 0 1",
        ] {
            let (sets, game) = of(fen);
            let (board, turn) = (game.position().board(), game.position().turn());
            for (i, color) in [turn, !turn].into_iter().enumerate() {
                for square in Square::ALL {
                    let seen = turn.fold_wb(square, square.flip_vertical());
                    let is_in = |set: usize| sets[i * OF_SIDE + set] >> seen.to_u32() & 1 == 1;
                    let attackers = board.attacks_to(square, color, board.occupied());
                    for role in Role::ALL {
                        let by_role = attackers & board.by_role(role);
                        assert_eq!(is_in(role as usize - 1), by_role.any(), "{square} by {color} {role:?} in {fen}");
                    }
                    assert_eq!(is_in(6), attackers.count() > 1, "{square} by {color} in {fen}");
                    // Who stood there would be attacked by the king, if it moved so.
                    let king = board.king_of(!color).expect("a king");
                    for (set, role) in [(7, Role::Pawn), (8, Role::Knight), (9, Role::Bishop), (10, Role::Rook)] {
                        let check = attacks(square, Piece { color, role }, board.occupied()).contains(king);
                        assert_eq!(is_in(set), check, "{color} {role:?} on {square} in {fen}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_stands_alone_before_a_king_is_seen_by_both() {
        // A knight is pinned; a bishop opens a check when it leaves; two men between are none alone.
        let fen = "3rk3/8/3n4/b7/4B3/2N5/3P4/3QKR2 w - - 0 1";
        let (sets, _) = of(fen);
        assert_eq!([sets[11], sets[23]], [0, 0], "{fen}");
        let fen = "4k3/4r3/8/b3B3/8/2N5/8/4K2R w - - 0 1";
        let (sets, _) = of(fen);
        assert_eq!([sets[11], sets[23]], [0, squares("c3 e5")], "{fen}");
        let fen = "4k3/4r3/8/b3B3/8/2N5/8/4K2R b - - 0 1";
        let (sets, _) = of(fen);
        assert_eq!([sets[11], sets[23]], [squares("c6 e4"), 0], "seen by Black: {fen}");
    }
}
