//! Shared by the integration tests: positions from random games.
#![allow(dead_code)]

use glance::board::Game;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use shakmaty::{Board, CastlingMode, Chess, FromSetup, Position, Setup};

/// A Chess960 starting position.
pub fn chess960(number: u32) -> Game {
    let board = Board::chess960(number);
    let setup = Setup { castling_rights: board.rooks(), board, ..Setup::initial() };
    let mode = CastlingMode::detect(&setup);
    Game::new(Chess::from_setup(setup, mode).expect("a starting position"))
}

/// Calls `visit` with `count` positions, each with legal moves, from random games: half of them Chess960, some from
/// positions where promotions are near.
pub fn random_positions(count: usize, mut visit: impl FnMut(&Game)) {
    let mut rng = StdRng::seed_from_u64(6);
    let mut seen = 0;
    while seen < count {
        let mut game = match rng.random_range(0..4) {
            0 | 1 => chess960(rng.random_range(0..960)),
            2 => Game::from_fen("r3k2r/PPP3pp/8/8/8/8/ppp3PP/R3K2R w KQkq - 0 1").expect("legal"),
            _ => Game::default(),
        };
        while seen < count && game.terminal().is_none() && game.plies() < 120 {
            visit(&game);
            seen += 1;
            let legal = game.position().legal_moves();
            game.play(*legal.choose(&mut rng).expect("not over"));
        }
    }
}
