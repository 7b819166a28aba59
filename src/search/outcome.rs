//! What is certain of how a game ends.

use super::report::Score;
use crate::evaluate::Wdl;

/// How a game ends for the player to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Loss,
    Draw,
    Win,
}

impl Outcome {
    /// The outcome that this is certain to be; `None` where it is only expected.
    pub(super) fn of(wdl: Wdl) -> Option<Outcome> {
        [Outcome::Loss, Outcome::Draw, Outcome::Win].into_iter().find(|outcome| outcome.wdl() == wdl)
    }

    pub(super) fn wdl(self) -> Wdl {
        match self {
            Outcome::Loss => Wdl::LOSS,
            Outcome::Draw => Wdl::DRAW,
            Outcome::Win => Wdl::WIN,
        }
    }

    /// The same for the other.
    pub(super) fn flipped(self) -> Outcome {
        match self {
            Outcome::Loss => Outcome::Win,
            Outcome::Draw => Outcome::Draw,
            Outcome::Win => Outcome::Loss,
        }
    }
}

/// The least and the most that the player to move can have, both with best play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) least: Outcome,
    pub(super) most: Outcome,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { least: Outcome::Loss, most: Outcome::Win }
    }
}

impl Bounds {
    pub(super) fn exactly(outcome: Outcome) -> Bounds {
        Bounds { least: outcome, most: outcome }
    }

    /// Of an exact score.
    pub(super) fn of(score: Score) -> Bounds {
        Outcome::of(score.wdl()).map_or_else(Bounds::default, Bounds::exactly)
    }

    /// The same for the other.
    pub(super) fn flipped(self) -> Bounds {
        Bounds { least: self.most.flipped(), most: self.least.flipped() }
    }

    /// What both say.
    pub(super) fn and(self, other: Bounds) -> Bounds {
        Bounds { least: self.least.max(other.least), most: self.most.min(other.most) }
    }

    /// The outcome, where there is only one left.
    pub(super) fn exact(self) -> Option<Outcome> {
        (self.least >= self.most).then_some(self.least)
    }

    /// What is expected, without what cannot be.
    pub(super) fn hold(self, wdl: Wdl) -> Wdl {
        if let Some(outcome) = self.exact() {
            return outcome.wdl();
        }
        let Wdl { win, draw, loss } = wdl;
        match (self.least, self.most) {
            (Outcome::Draw, _) => Wdl { win, draw: draw + loss, loss: 0.0 },
            (_, Outcome::Draw) => Wdl { win: 0.0, draw: draw + win, loss },
            _ => wdl,
        }
    }

    /// The same of win less loss.
    pub(super) fn hold_balance(self, balance: f32) -> f32 {
        balance.max(self.least.wdl().balance()).min(self.most.wdl().balance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_leave_out_what_cannot_be() {
        let wdl = Wdl { win: 0.5, draw: 0.25, loss: 0.25 };
        let all = Bounds::default();
        let drawn_at_least = Bounds { least: Outcome::Draw, ..all };
        assert_eq!((all.hold(wdl), all.exact()), (wdl, None));
        assert_eq!(drawn_at_least.hold(wdl), Wdl { win: 0.5, draw: 0.5, loss: 0.0 });
        assert_eq!(drawn_at_least.flipped().hold(wdl), Wdl { win: 0.0, draw: 0.75, loss: 0.25 });
        let drawn = drawn_at_least.and(drawn_at_least.flipped());
        assert_eq!((drawn.exact(), drawn.hold(wdl)), (Some(Outcome::Draw), Wdl::DRAW));
        assert_eq!(Bounds::exactly(Outcome::Win).flipped().hold(wdl), Wdl::LOSS);
        assert_eq!([-0.5, 0.5].map(|x| drawn_at_least.hold_balance(x)), [0.0, 0.5]);
        assert_eq!([-0.5, 0.5].map(|x| drawn_at_least.flipped().hold_balance(x)), [-0.5, 0.0]);
    }

    #[test]
    fn exact_scores_are_bounds_and_others_are_none() {
        assert_eq!(Bounds::of(Score::Mate(3)), Bounds::exactly(Outcome::Win));
        assert_eq!(Bounds::of(Score::Mate(0)), Bounds::exactly(Outcome::Loss));
        assert_eq!(Bounds::of(Score::Expected(Wdl::DRAW)), Bounds::exactly(Outcome::Draw));
        let unknown = Wdl { win: 0.9, draw: 0.1, loss: 0.0 };
        assert_eq!(Bounds::of(Score::Expected(unknown)), Bounds::default());
    }
}
