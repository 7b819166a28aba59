//! Every legal move maps to the vocabulary and back, for both sides, castling and promotions included.

mod common;

use glance::board::MoveIndex;
use shakmaty::{Color, Position};

#[test]
fn every_legal_move_goes_there_and_back() {
    let (mut moves, mut castles, mut promotions, mut en_passant) = (0, 0, 0, 0);
    common::random_positions(30_000, |game| {
        let turn = game.position().turn();
        let legal = game.position().legal_moves();
        let mut seen = std::collections::HashSet::new();
        for &m in &legal {
            let index = MoveIndex::of(m);
            assert_eq!(index.find(&legal), Some(m));
            assert!(seen.insert(index), "{index:?} means two moves");
            let own = MoveIndex::seen_by(m, turn);
            assert_eq!(turn.fold_wb(own, own.mirrored()), index);
            if turn == Color::Black && own.promotion().is_some() {
                assert_eq!(own.to().rank(), shakmaty::Rank::Eighth);
            }
            // And through UCI text, as a GUI would send it back.
            assert_eq!(game.parse_uci(&game.uci(m, false)), Ok(m));
            assert_eq!(game.parse_uci(&game.uci(m, true)), Ok(m));
            moves += 1;
            castles += usize::from(m.is_castle());
            promotions += usize::from(m.is_promotion());
            en_passant += usize::from(m.is_en_passant());
        }
    });
    assert!(moves > 500_000 && castles > 500 && promotions > 5_000 && en_passant > 100);
}
