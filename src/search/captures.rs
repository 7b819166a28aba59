//! Captures and promotions to queens, without the other moves: a search of exchanges asks for nothing else, at every position.

use shakmaty::attacks::{aligned, attacks};
use shakmaty::{Bitboard, Chess, Move, MoveList, Piece, Position, Rank, Role, Square};

use super::lines::alone;

/// The legal captures of a player who is not in check, and promotions to queens; under-promotions are left out.
pub(super) fn captures(position: &Chess) -> MoveList {
    let (board, turn) = (position.board(), position.turn());
    let (occupied, own, theirs) = (board.occupied(), board.by_color(turn), board.by_color(!turn));
    let mut moves = MoveList::new();
    let Some(king) = board.king_of(turn) else { return moves };
    let pinned = alone(board, king, !turn);
    let stays_safe = |from: Square, to: Square| !pinned.contains(from) || aligned(from, to, king);
    for from in own {
        let Some(role) = board.role_at(from) else { continue };
        for to in attacks(from, Piece { color: turn, role }, occupied) & theirs {
            let safe = match role {
                Role::King => board.attacks_to(to, !turn, occupied.without(from)).is_empty(),
                _ => stays_safe(from, to),
            };
            if safe {
                let promotion = (role == Role::Pawn && Bitboard::BACKRANKS.contains(to)).then_some(Role::Queen);
                moves.push(Move::Normal { role, from, capture: board.role_at(to), to, promotion });
            }
        }
    }
    if position.maybe_ep_square().is_some() {
        moves.extend(position.en_passant_moves());
    }
    let (seventh, forward) = turn.fold_wb((Rank::Seventh, 8), (Rank::Second, -8));
    for from in own & board.pawns() & Bitboard::from_rank(seventh) {
        let Some(to) = from.offset(forward).filter(|&to| !occupied.contains(to) && stays_safe(from, to)) else {
            continue;
        };
        moves.push(Move::Normal { role: Role::Pawn, from, capture: None, to, promotion: Some(Role::Queen) });
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{parse_fen, played};

    /// Compares with all legal moves, some moves deep; returns how many captures and promotions there were.
    fn compare(position: &Chess, depth: u32) -> usize {
        let legal = position.legal_moves();
        let mut found = 0;
        if !position.is_check() {
            let wanted =
                |m: &&Move| matches!(m.promotion(), None | Some(Role::Queen)) && (m.is_capture() || m.is_promotion());
            let sorted = |moves: &mut dyn Iterator<Item = Move>| {
                let mut moves: Vec<String> = moves.map(|m| format!("{m:?}")).collect();
                moves.sort();
                moves
            };
            let these = sorted(&mut captures(position).into_iter());
            assert_eq!(these, sorted(&mut legal.iter().filter(wanted).copied()), "{position:?}");
            found = these.len();
        }
        found + if depth > 1 { legal.iter().map(|&m| compare(&played(position, m), depth - 1)).sum() } else { 0 }
    }

    #[test]
    fn every_capture_is_found_and_nothing_else() {
        for (fen, depth) in [
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 4),
            ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 3),
            // Pins along ranks, a pawn taken in passing that would open one.
            ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4),
            // Promotions, with and without a capture, on both sides.
            ("n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1", 3),
            ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 3),
        ] {
            assert!(compare(&parse_fen(fen).expect(fen), depth) > 30, "{fen}");
        }
    }
}
