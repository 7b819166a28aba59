//! What orders the lines of a search.

use std::cmp::Ordering;

/// What is certain of a move, beside others; the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It is mated, proved.
    Mated,
    /// It loses.
    Lost,
    /// It does not win, where another may.
    Behind,
    /// Nothing that counts.
    Open,
    /// It does not lose, where others are expected to.
    Ahead,
    /// It wins.
    Won,
    /// It mates, proved.
    Mates,
}

/// What a line is ranked by: first by what is certain, then by what the search thinks of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// What is certain.
    pub standing: Standing,
    /// Of lines that stand the same the greater is better, in units of the search.
    pub worth: f32,
}

impl Rank {
    /// Of a move of which nothing is certain.
    pub fn open(worth: f32) -> Rank {
        Rank { standing: Standing::Open, worth }
    }

    /// Of a mate in so many moves, negative when being mated: the sooner and the later, the better.
    pub fn of_mate(moves: i32) -> Rank {
        let standing = if moves > 0 { Standing::Mates } else { Standing::Mated };
        Rank { standing, worth: -moves as f32 }
    }

    /// Which of two is better.
    pub fn order(&self, other: &Rank) -> Ordering {
        self.standing.cmp(&other.standing).then(self.worth.total_cmp(&other.worth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_certain_comes_before_any_worth() {
        let open = Rank::open;
        let won = Rank { standing: Standing::Won, worth: -90.0 };
        let worst_first =
            [Rank::of_mate(-1), Rank::of_mate(-4), open(-1e9), open(1e9), won, Rank::of_mate(7), Rank::of_mate(2)];
        assert!(worst_first.is_sorted_by(|a, b| a.order(b) == Ordering::Less), "{worst_first:?}");
    }
}
