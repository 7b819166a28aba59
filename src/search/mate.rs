//! Forced mates, by trying everything: exact, and only for short ones.

use shakmaty::{Chess, Move, Position};

use crate::board::played;
use crate::evaluate::Stop;

/// A move that mates at once.
pub fn mating_move(position: &Chess, moves: &[Move]) -> Option<Move> {
    moves.iter().copied().find(|&m| mates(position, m))
}

fn mates(position: &Chess, m: Move) -> bool {
    played(position, m).is_checkmate()
}

/// Positions visited between looks at the signal.
const LOOK: u64 = 1024;

struct Solver<'a> {
    visited: u64,
    most: u64,
    stop: &'a Stop,
    /// Once true, every part of the search gives up.
    over: bool,
}

/// The shortest forced mate within `moves` moves, if one is found before the signal or after at most `most`
/// positions: the main line, from the mating side's first move to the mate.
///
/// Repetitions are not considered: a shortest mate has none. The fifty-move rule is.
pub fn find_mate(position: &Chess, root: &[Move], moves: u32, most: u64, stop: &Stop) -> Option<Vec<Move>> {
    let mut solver = Solver { visited: 0, most, stop, over: stop.is_set() };
    (1..=moves).take_while(|_| !stop.is_set()).find_map(|n| solver.attack(position, root, n))
}

impl Solver<'_> {
    fn exhausted(&mut self) -> bool {
        self.visited += 1;
        self.over |= self.visited > self.most || (self.visited.is_multiple_of(LOOK) && self.stop.is_set());
        self.over
    }

    fn attack(&mut self, position: &Chess, moves: &[Move], n: u32) -> Option<Vec<Move>> {
        let mut successors: Vec<(Move, Chess)> = moves.iter().map(|&m| (m, played(position, m))).collect();
        // Checks first: most mates begin with one, and the last move always is one.
        successors.sort_by_key(|(_, next)| !next.is_check());
        for (m, next) in &successors {
            if n == 1 && !next.is_check() {
                return None;
            }
            if self.exhausted() {
                return None;
            }
            if let Some(mut line) = self.defend(next, n) {
                line.insert(0, *m);
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
            let legal = next.legal_moves();
            let mut line = (1..n).find_map(|k| self.attack(&next, &legal, k))?;
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
