//! Forced mates, by trying everything, or every check: exact, and only for short ones.

use shakmaty::{Chess, Move, Position};

use super::checks::Checks;
use crate::board::{Game, played};
use crate::evaluate::Stop;

/// A move that mates at once.
pub fn mating_move(position: &Chess, moves: &[Move]) -> Option<Move> {
    let checks = Checks::of(position)?;
    moves.iter().copied().find(|&m| checks.is_given_by(m) && played(position, m).is_checkmate())
}

/// Moves of a mate by checks at most.
const CHECKS: u32 = 6;
/// Positions visited between looks at the signal.
const LOOK: u64 = 1024;

/// Moves that may mate, checks first, and how many of them are checks.
struct Tries {
    moves: Vec<Move>,
    checks: usize,
}

struct Solver<'a> {
    visited: u64,
    most: u64,
    stop: &'a Stop,
    /// Once true, every part of the search gives up.
    over: bool,
    /// Whether the mating side only gives check.
    checks: bool,
}

/// The shortest forced mate within `moves` moves, if one is found before the signal or after at most `most`
/// positions: the main line, from the mating side's first move to the mate.
///
/// Repetitions are not considered: a shortest mate has none. The fifty-move rule is.
pub fn find_mate(position: &Chess, root: &[Move], moves: u32, most: u64, stop: &Stop) -> Option<Vec<Move>> {
    Solver::new(most, stop, false).solve(position, root, moves)
}

/// The same where each move of the mating side is a check: far cheaper, as hardly anything can be answered. Not where the game would be drawn
/// by repetition on the way. Within six moves.
pub fn find_mate_by_checks(game: &Game, root: &[Move], most: u64, stop: &Stop) -> Option<Vec<Move>> {
    let line = Solver::new(most, stop, true).solve(game.position(), root, CHECKS)?;
    let mut after = game.clone();
    let goes_on = |&m: &Move| {
        after.play(m);
        after.terminal().is_none()
    };
    line[..line.len().saturating_sub(1)].iter().all(goes_on).then_some(line)
}

impl<'a> Solver<'a> {
    fn new(most: u64, stop: &'a Stop, checks: bool) -> Solver<'a> {
        Solver { visited: 0, most, stop, over: stop.is_set(), checks }
    }

    fn solve(mut self, position: &Chess, root: &[Move], moves: u32) -> Option<Vec<Move>> {
        let (stop, tries) = (self.stop, self.tries(position, root));
        (1..=moves).take_while(|_| !stop.is_set()).find_map(|n| self.attack(position, &tries, n))
    }

    /// What the mating side tries, checks first: most mates begin with one, and the last move always is one.
    fn tries(&self, position: &Chess, moves: &[Move]) -> Tries {
        let checks = Checks::of(position);
        let (mut tries, others): (Vec<Move>, Vec<Move>) =
            moves.iter().partition(|&&m| checks.as_ref().is_some_and(|checks| checks.is_given_by(m)));
        let checks = tries.len();
        if !self.checks {
            tries.extend(others);
        }
        Tries { moves: tries, checks }
    }

    fn exhausted(&mut self) -> bool {
        self.visited += 1;
        self.over |= self.visited > self.most || (self.visited.is_multiple_of(LOOK) && self.stop.is_set());
        self.over
    }

    fn attack(&mut self, position: &Chess, tries: &Tries, n: u32) -> Option<Vec<Move>> {
        let moves = if n == 1 { &tries.moves[..tries.checks] } else { &tries.moves };
        for &m in moves {
            if self.exhausted() {
                return None;
            }
            if let Some(mut line) = self.defend(&played(position, m), n) {
                line.insert(0, m);
                return Some(line);
            }
        }
        None
    }

    /// The longest resistance, if every reply is mated within n − 1 more moves.
    fn defend(&mut self, position: &Chess, n: u32) -> Option<Vec<Move>> {
        let replies = position.legal_moves();
        if replies.is_empty() {
            return position.is_check().then(Vec::new);
        }
        if n <= 1 || position.halfmoves() >= 100 || position.is_insufficient_material() {
            return None;
        }
        let mut longest: Option<Vec<Move>> = None;
        for &reply in &replies {
            if self.over {
                return None;
            }
            let next = played(position, reply);
            let tries = self.tries(&next, &next.legal_moves());
            let mut line = (1..n).find_map(|k| self.attack(&next, &tries, k))?;
            line.insert(0, reply);
            if longest.as_ref().is_none_or(|l| line.len() > l.len()) {
                longest = Some(line);
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::parse_fen;

    fn mate_length(fen: &str, n: u32) -> Option<usize> {
        let position = parse_fen(fen).expect(fen);
        let stop = Stop::new(false, None);
        find_mate(&position, &position.legal_moves(), n, 5_000_000, &stop).map(|line| line.len().div_ceil(2))
    }

    #[test]
    fn finds_the_shortest_mate() {
        assert_eq!(mate_length("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", 2), Some(1));
        // Two rooks: mate in two, whatever the king does.
        assert_eq!(mate_length("7k/8/8/8/8/8/R7/1R2K3 w - - 0 1", 3), Some(2));
        assert_eq!(mate_length("4k3/8/8/8/8/8/8/4K2R w - - 0 1", 2), None);
    }

    #[test]
    fn checks_alone_mate_where_they_can() {
        let stop = Stop::new(false, None);
        let found = |game: &Game, most| {
            find_mate_by_checks(game, &game.position().legal_moves(), most, &stop).map(|line| game.uci(line[0], false))
        };
        // A queen is given up: at once, and to smother the king.
        for (fen, first) in [
            ("r1bq2rk/pp3pbp/2p1p1pQ/7P/3P4/2PB1N2/PP3PPR/2KR4 w - - 0 1", "h6h7"),
            ("5r1k/1p4pp/p2N4/3Qp3/P2n1bP1/5P1q/1PP2R1P/4R2K w - - 0 1", "d6f7"),
        ] {
            let game = Game::from_fen(fen).expect(fen);
            assert_eq!(found(&game, 2_000).as_deref(), Some(first), "{fen}");
            assert_eq!(found(&game, 1), None, "{fen}");
        }
        let none = Game::from_fen("4k3/8/8/8/8/8/8/4K2R w - - 0 1").expect("legal");
        assert_eq!(found(&none, 2_000), None);
        // Two rooks; but when their first check has come up twice, it is a draw.
        let mut game = Game::from_fen("8/4k3/1R6/R7/8/8/8/4K3 w - - 0 1").expect("legal");
        for m in "a5a7 e7e8 a7a5 e8e7 a5a7 e7e8 a7a5 e8e7".split_whitespace() {
            assert_eq!(found(&game, 2_000).is_some(), game.position().turn().is_white(), "{m}");
            game.play(game.parse_uci(m).expect("legal"));
        }
        assert_eq!(found(&game, 2_000), None);
    }

    #[test]
    fn stops_when_told() {
        let position = Chess::default();
        let stop = Stop::new(false, None);
        stop.set();
        let start = std::time::Instant::now();
        assert_eq!(find_mate(&position, &position.legal_moves(), 20, u64::MAX, &stop), None);
        assert!(start.elapsed().as_secs() < 5);
        // Also when the number of positions ends it.
        let stop = Stop::new(false, None);
        assert_eq!(find_mate(&position, &position.legal_moves(), 20, 5_000, &stop), None);
    }
}
