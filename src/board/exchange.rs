//! What taking on a square comes to: static exchange evaluation, by the threshold rule that Stockfish uses.

use shakmaty::attacks::{bishop_attacks, king_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, Board, Color, Piece, Role, Square};

use super::ways::arrived;

/// Pawns that a man is worth: 1, 3, 3, 5, 9; a king counts for nothing.
pub(crate) fn worth(role: Role) -> i8 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => 0,
    }
}

/// Pawns that a man is ahead by once it has gone to a square: what it takes there, and what it becomes.
pub(super) fn takes(board: &Board, man: Piece, to: Square) -> i8 {
    board.role_at(to).map_or(0, worth) + worth(arrived(man, to).role) - worth(man.role)
}

/// The cheapest of some men, and where it stands.
pub(super) fn cheapest(board: &Board, men: Bitboard) -> Option<(Role, Square)> {
    Role::ALL.into_iter().find_map(|role| Some((role, (men & board.by_role(role)).first()?)))
}

/// Whether the man on a square, if it goes to another, comes out at least so many pawns ahead when both sides then take there with their
/// cheapest men, and stop when they like. Pins are not seen, nor is what else is attacked, nor taking en passant; a pawn that arrives
/// promotes to a queen. A king must not go where it can be taken.
pub(crate) fn gains(board: &Board, from: Square, to: Square, least: i8) -> bool {
    let Some(man) = board.piece_at(from) else { return false };
    let gain = takes(board, man, to);
    let mut occupied = (board.occupied() ^ Bitboard::from_square(from)) | Bitboard::from_square(to);
    if man.role == Role::King {
        let protected = || (board.attacks_to(to, !man.color, occupied) & occupied).any();
        return gain >= least && !protected();
    }
    let stands = worth(arrived(man, to).role);
    // How far the side that took last is beyond what it needs, before and after what took is lost as well.
    let beyond = gain - least;
    if beyond < 0 {
        return false;
    }
    let mut behind = stands - beyond;
    if behind <= 0 {
        return true;
    }
    let diagonal = board.bishops() | board.queens();
    let straight = board.rooks() | board.queens();
    let mut attackers = attackers(board, to, occupied);
    let mut side = !man.color;
    // Whether the one that began has what it needs if nobody takes any more.
    let mut pays = true;
    loop {
        attackers &= occupied;
        let own = attackers & board.by_color(side);
        let Some((role, square)) = cheapest(board, own) else { return pays };
        pays = !pays;
        if role == Role::King {
            // It may take only what is not protected.
            let protected = (attackers & board.by_color(!side)).any();
            return if protected { !pays } else { pays };
        }
        behind = worth(role) - behind;
        // Even what took last may be lost for it. Level is enough for the one that began, not for the other.
        if behind < i8::from(pays) {
            return pays;
        }
        occupied ^= Bitboard::from_square(square);
        // Who stood behind it attacks now.
        if matches!(role, Role::Pawn | Role::Bishop | Role::Queen) {
            attackers |= bishop_attacks(to, occupied) & diagonal;
        }
        if matches!(role, Role::Rook | Role::Queen) {
            attackers |= rook_attacks(to, occupied) & straight;
        }
        side = !side;
    }
}

/// The squares that a side attacks. Role by role: man by man, how moves come out takes 1.4 times as long to see.
pub(super) fn reach(board: &Board, color: Color) -> Bitboard {
    let (own, occupied) = (board.by_color(color), board.occupied());
    let each = |men: Bitboard, attacks: &dyn Fn(Square) -> Bitboard| {
        men.into_iter().fold(Bitboard::EMPTY, |set, square| set | attacks(square))
    };
    each(own & board.pawns(), &|square| pawn_attacks(color, square))
        | each(own & board.knights(), &knight_attacks)
        | each(own & (board.bishops() | board.queens()), &|square| bishop_attacks(square, occupied))
        | each(own & (board.rooks() | board.queens()), &|square| rook_attacks(square, occupied))
        | each(own & board.kings(), &king_attacks)
}

/// The men of both sides that attack a square, where men stand on some.
pub(super) fn attackers(board: &Board, to: Square, occupied: Bitboard) -> Bitboard {
    let pawns = |color: Color| pawn_attacks(!color, to) & board.by_color(color);
    rook_attacks(to, occupied) & (board.rooks() | board.queens())
        | bishop_attacks(to, occupied) & (board.bishops() | board.queens())
        | knight_attacks(to) & board.knights()
        | king_attacks(to) & board.kings()
        | (pawns(Color::White) | pawns(Color::Black)) & board.pawns()
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;
    use crate::board::Game;

    /// Pawns won by taking on a square as often as it pays, played out on boards.
    fn retaken(board: &Board, to: Square, color: shakmaty::Color) -> i8 {
        let men = board.attacks_to(to, color, board.occupied());
        let cheapest = Role::ALL.into_iter().find_map(|role| (men & board.by_role(role)).first());
        let (Some(from), Some(on)) = (cheapest, board.role_at(to)) else { return 0 };
        let mut after = board.clone();
        let man = after.remove_piece_at(from).expect("it attacks");
        after.set_piece_at(to, man);
        if man.role == Role::King {
            let taken = after.attacks_to(to, !color, after.occupied()).any();
            return if taken { 0 } else { worth(on) };
        }
        (worth(on) - retaken(&after, to, !color)).max(0)
    }

    #[test]
    fn thresholds_are_those_of_exchanges_played_out() {
        let mut seen = [0; 2];
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
            "2r1r1k1/p1q1bppp/1pn1pn2/3p4/3P1B2/1PN1PN2/P1Q2PPP/2R1R1K1 w - - 0 1",
            "4r1k1/4r3/3b4/4p3/3P1P2/2B5/1Q2R3/4R1K1 w - - 0 1",
            "1n2k3/P7/8/8/8/8/r7/R3K3 w - - 0 1",
        ] {
            let game = Game::from_fen(fen).expect(fen);
            let board = game.position().board();
            for m in game.position().legal_moves() {
                let (Some(from), to) = (m.from(), m.to()) else { continue };
                if m.is_castle() || m.is_en_passant() || m.promotion().is_some_and(|role| role != Role::Queen) {
                    continue;
                }
                let mut after = board.clone();
                let man = after.remove_piece_at(from).expect("it moves");
                after.set_piece_at(to, m.promotion().map_or(man, |role| role.of(man.color)));
                let promoted = m.promotion().map_or(0, |role| worth(role) - 1);
                let won = m.capture().map_or(0, worth) + promoted - retaken(&after, to, !man.color);
                for least in -10..=10 {
                    assert_eq!(gains(board, from, to, least), won >= least, "{m} in {fen}, at least {least}");
                    seen[usize::from(won >= least)] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
    }
}
