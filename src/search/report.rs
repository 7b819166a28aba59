//! What a search tells of itself while it runs and when it is done.

use shakmaty::Move;

use super::rank::Rank;
use crate::evaluate::{LARGEST_CP, Wdl};

/// How good a line is for the player to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// By win, draw and loss.
    Expected(Wdl),
    /// Mate in so many moves, proved; negative when being mated.
    Mate(i32),
}

impl Score {
    /// The score where so many plies to mate are left, the mating side's last.
    pub fn mate_after(plies: usize) -> Score {
        let moves = i32::try_from(plies.div_ceil(2)).unwrap_or(i32::MAX);
        Score::Mate(if plies % 2 == 1 { moves } else { -moves })
    }

    /// Centipawns, or `None` for mates.
    pub fn centipawns(self) -> Option<i32> {
        match self {
            Score::Expected(wdl) => Some(wdl.centipawns()),
            Score::Mate(_) => None,
        }
    }

    /// Win, draw and loss: certain for mates.
    pub fn wdl(self) -> Wdl {
        match self {
            Score::Expected(wdl) => wdl,
            Score::Mate(n) if n > 0 => Wdl::WIN,
            Score::Mate(_) => Wdl::LOSS,
        }
    }

    /// A number that orders scores: mates beyond everything, short ones first.
    pub fn order(self) -> f32 {
        match self {
            Score::Expected(wdl) => wdl.balance(),
            Score::Mate(n) if n > 0 => 3.0 - n as f32 / LARGEST_CP as f32,
            Score::Mate(n) => -3.0 - n as f32 / LARGEST_CP as f32,
        }
    }

    /// What a line of this score is ranked by: a mate by its length, others by what they are worth in units of the search.
    pub fn rank(self, worth: f32) -> Rank {
        match self {
            Score::Mate(n) => Rank::of_mate(n),
            Score::Expected(_) => Rank::open(worth),
        }
    }

    /// The score of a move, given the score of the position after it for the opponent.
    pub fn before_move(self) -> Score {
        match self {
            Score::Expected(wdl) => Score::Expected(wdl.flipped()),
            Score::Mate(n) if n > 0 => Score::Mate(-n),
            Score::Mate(n) => Score::Mate(-n + 1),
        }
    }
}

/// A move with what is expected after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The moves; the first is the line's own.
    pub moves: Vec<Move>,
    /// For the player to move.
    pub score: Score,
    /// The network's probability of the first move; a tree's prior.
    pub probability: f32,
    /// What the search ranked the line by.
    pub rank: Rank,
}

/// A search so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Plies looked ahead everywhere that matters.
    pub depth: u32,
    /// Plies looked ahead at most.
    pub seldepth: u32,
    /// Positions evaluated.
    pub nodes: u64,
    /// Positions found in tablebases.
    pub tbhits: u64,
    /// How full the cache is, in thousandths.
    pub hashfull: u32,
    /// The best first. Never empty once a search is done.
    pub lines: Vec<Line>,
    /// What a tree search knows of each of its root's moves, the most visited first; empty for other searches.
    pub stats: Vec<MoveStats>,
}

/// What a tree search knows of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveStats {
    /// The move.
    pub m: Move,
    /// How often it was tried.
    pub visits: u32,
    /// The network's probability of it, evened out as the search takes it.
    pub prior: f32,
    /// How the game stands after it, for the player who makes it; none before the first visit.
    pub score: Option<Score>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_are_ordered_and_counted_in_moves() {
        let order = |s: Score| s.order();
        assert!(order(Score::Mate(1)) > order(Score::Mate(5)));
        assert!(order(Score::Mate(5)) > order(Score::Expected(Wdl::WIN)));
        assert!(order(Score::Mate(-5)) > order(Score::Mate(-1)));
        assert!(order(Score::Mate(-9)) < order(Score::Expected(Wdl::LOSS)));
        // The opponent is mated where he stands: mate in one for us.
        assert_eq!(Score::Mate(0).before_move(), Score::Mate(1));
        assert_eq!(Score::Mate(1).before_move(), Score::Mate(-1));
        assert_eq!(Score::Mate(-1).before_move(), Score::Mate(2));
        for plies in 0..8 {
            assert_eq!(Score::mate_after(plies).before_move(), Score::mate_after(plies + 1));
        }
    }
}
