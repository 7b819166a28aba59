//! Lichess's puzzles at one glance: how many the network's first move solves.

use std::collections::BTreeMap;

use glance::board::{Conditions, Game, parse_fen};
use glance::evaluate::{Evaluator, Query, Stop};
use serde::{Deserialize, Serialize};

use crate::data::read::Puzzle;

/// How well puzzles went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solved {
    /// Puzzles looked at.
    pub puzzles: usize,
    /// Share in which every move was right; another mate at the end counts.
    pub solved: f64,
    /// Mean share of the solution reached before the first miss.
    pub advancement: f64,
}

/// A puzzle being solved.
struct Board {
    rating: i32,
    game: Game,
    moves: Vec<String>,
    /// Of `moves`, those played.
    at: usize,
    missed: bool,
}

impl Board {
    /// The puzzle after the opponent's first move; `None` where it is no puzzle.
    fn new(puzzle: &Puzzle) -> Option<Board> {
        let mut board = Board {
            rating: puzzle.rating,
            game: Game::new(parse_fen(&puzzle.fen).ok()?),
            moves: puzzle.moves.split_whitespace().map(str::to_owned).collect(),
            at: 0,
            missed: false,
        };
        (board.moves.len() >= 2).then_some(())?;
        board.play_next().then_some(board)
    }

    fn play_next(&mut self) -> bool {
        let m = self.moves.get(self.at).and_then(|m| self.game.parse_uci(m).ok());
        self.at += 1;
        if let Some(m) = m {
            self.game.play(m);
        }
        m.is_some()
    }

    fn solving(&self) -> bool {
        !self.missed && self.at < self.moves.len() && self.game.terminal().is_none()
    }

    /// The solver's move, and the opponent's answer.
    fn answer(&mut self, m: shakmaty::Move) {
        let right = self.game.parse_uci(&self.moves[self.at]).is_ok_and(|right| right == m);
        let mates = {
            let mut after = self.game.clone();
            after.play(m);
            shakmaty::Position::is_checkmate(after.position())
        };
        if !(right || mates) {
            self.missed = true;
            return;
        }
        self.game.play(m);
        self.at = if mates { self.moves.len() } else { self.at + 1 };
        if self.at < self.moves.len() && !self.play_next() {
            self.missed = true;
        }
    }

    /// Share of the solver's moves that were found.
    fn advancement(&self) -> f64 {
        let all = self.moves.len() / 2;
        let found = if self.missed { (self.at - 1) / 2 } else { all };
        found as f64 / all as f64
    }
}

/// Solves all puzzles at once, a batch a move. `told` hears of each round how many puzzles are still open. Returns the
/// figures of all, and of each bracket of 200 points of rating, by its lower end. What is no puzzle is left out.
pub fn solve(
    evaluator: &dyn Evaluator,
    puzzles: &[Puzzle],
    conditions: &Conditions,
    told: &dyn Fn(usize),
) -> (Solved, BTreeMap<i32, Solved>) {
    let mut boards: Vec<Board> = puzzles.iter().filter_map(Board::new).collect();
    loop {
        let mut open: Vec<&mut Board> = boards.iter_mut().filter(|b| b.solving()).collect();
        told(open.len());
        if open.is_empty() {
            break;
        }
        for part in open.chunks_mut(256) {
            let queries: Vec<Query> = part.iter().map(|b| Query { game: &b.game, conditions }).collect();
            let Ok(evaluations) = evaluator.evaluate(&queries, &Stop::new(false, None)) else { continue };
            for (board, evaluation) in part.iter_mut().zip(evaluations) {
                match evaluation.moves.first() {
                    Some(first) => board.answer(first.m),
                    None => board.missed = true,
                }
            }
        }
    }
    let mut brackets: BTreeMap<i32, Vec<&Board>> = BTreeMap::new();
    boards.iter().for_each(|b| brackets.entry(b.rating.div_euclid(200) * 200).or_default().push(b));
    let of = |boards: &[&Board]| {
        let n = boards.len().max(1) as f64;
        Solved {
            puzzles: boards.len(),
            solved: boards.iter().filter(|b| !b.missed).count() as f64 / n,
            advancement: boards.iter().map(|b| b.advancement()).sum::<f64>() / n,
        }
    };
    let all: Vec<&Board> = boards.iter().collect();
    (of(&all), brackets.into_iter().map(|(rating, boards)| (rating, of(&boards))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use glance::evaluate::Scripted;

    fn puzzle(fen: &str, moves: &str, rating: i32) -> Puzzle {
        Puzzle { puzzle_id: "x".into(), fen: fen.into(), moves: moves.into(), rating }
    }

    fn board(fen: &str, moves: &str) -> Board {
        Board::new(&puzzle(fen, moves, 1500)).expect("a puzzle")
    }

    #[test]
    fn moves_are_judged_as_lichess_does() {
        // Black moves first; then Re8 is mate, and so is Rd8.
        let fen = "6k1/5ppp/8/p7/8/8/8/3RR1K1 b - - 0 1";
        let mut b = board(fen, "a5a4 e1e8");
        b.answer(b.game.parse_uci("d1d8").expect("legal"));
        assert!(!b.missed && !b.solving() && b.advancement() == 1.0, "another mate counts");
        let mut b = board(fen, "a5a4 e1e8");
        b.answer(b.game.parse_uci("d1d2").expect("legal"));
        assert!(b.missed && !b.solving() && b.advancement() == 0.0);
        // Two moves, the first right, the second wrong: halfway.
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let mut b = board(start, "e2e4 e7e5 g1f3 b8c6");
        b.answer(b.game.parse_uci("e7e5").expect("legal"));
        assert!(b.solving());
        b.answer(b.game.parse_uci("a7a6").expect("legal"));
        assert_eq!(b.advancement(), 0.5);
    }

    #[test]
    fn every_puzzle_comes_to_an_end() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let puzzles = [
            puzzle(start, "e2e4 e7e5 g1f3 b8c6", 1450),
            puzzle(start, "e2e4 e7e6", 1650),
            puzzle(start, "e2e5 e7e5", 1650),
            puzzle("nonsense", "e2e4 e7e5", 1650),
        ];
        let (all, brackets) = solve(&Scripted::default(), &puzzles, &Conditions::STRONGEST, &|_| {});
        assert_eq!(all.puzzles, 2);
        assert_eq!(brackets.keys().copied().collect::<Vec<_>>(), [1400, 1600]);
    }
}
