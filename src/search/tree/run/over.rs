//! When a search is over.

use super::Run;
use crate::search::outcome::Outcome;

/// Simulations that a search for a depth may always have, or as many as the tree has that it goes on with…
const TRIES: u64 = 1000;
/// …and how many times those that its depth took before it is given up: a ply more takes one and a half times to four times as many,
/// until the mean grows no more (at 10 to 15 in four positions that were tried); where all lines end in draws that is much sooner.
const PATIENCE: u64 = 8;

/// Simulations when nothing else ends the search.
pub(in crate::search::tree) const NATURAL: u64 = 128;
/// Simulations at most: what a node can count.
const MOST: u64 = 1 << 31;

/// How deep a search has come, and the simulations that it may have to come deeper.
pub(super) struct Growth {
    depth: u32,
    enough: u64,
}

impl Growth {
    /// Of a search that begins with a tree so deep, of so many visits.
    pub(super) fn from(depth: u32, visits: u32) -> Growth {
        Growth { depth, enough: TRIES.max(visits.into()) }
    }

    /// Takes note of the depth after so many simulations.
    pub(super) fn note(&mut self, depth: u32, simulations: u64) {
        if depth > self.depth {
            *self = Growth { depth, enough: self.enough.max(PATIENCE.saturating_mul(simulations)) };
        }
    }

    /// Whether the depth has long been the same after so many.
    fn has_ended(&self, simulations: u64) -> bool {
        simulations > self.enough
    }
}

impl Run<'_> {
    /// Whether the search is to end: asked to, at a limit, or because nothing that is still possible would change the move.
    pub(in crate::search::tree) fn is_over(&self) -> bool {
        let (task, limits) = (self.task, self.task.limits);
        let natural = !limits.deepen && limits.nodes.is_none() && limits.depth.is_none();
        if self.cut_short
            || self.simulations >= MOST
            || task.is_over(self.evaluated)
            || natural && self.simulations >= NATURAL
        {
            return true;
        }
        let deep = |most| self.depth() >= most || self.growth.has_ended(self.simulations);
        if limits.depth.is_some_and(deep) || self.is_proved() {
            return true;
        }
        // Positions that cost nothing (mates, draws) do not count as evaluated, but they end at some time too.
        if limits.nodes.is_some_and(|most| self.simulations > most.saturating_mul(20).saturating_add(1000)) {
            return true;
        }
        if task.stop.is_held() {
            return false;
        }
        let won = !self.wants_others() && self.nodes.root().bounds().least == Outcome::Win;
        self.nodes.root().edges.len() == 1 || limits.save && (won || self.is_settled())
    }

    /// Whether there is no more to be found. Where several lines are wanted and time is not saved, a mate leaves the other moves to be looked at.
    pub(super) fn is_proved(&self) -> bool {
        let root = self.nodes.root();
        let goes_on = || {
            let others = self.wants_others() && !self.task.limits.save;
            others && root.edges.iter().any(|edge| self.nodes.is_open(edge))
        };
        root.proved.is_some() && !goes_on()
    }

    /// Whether other moves of the root than the best are of interest.
    pub(super) fn wants_others(&self) -> bool {
        self.task.lines > 1
    }

    /// On a clock, asks for as much time as the position deserves. A search that is planned for a number of looks keeps to it.
    pub(in crate::search::tree) fn take_time(&self) {
        let on_a_clock = self.task.limits.save && !self.wants_others() && self.halving.is_none();
        if on_a_clock && self.simulations >= 8 {
            self.task.stop.stretch(self.params.effort.of(&self.nodes, self.before));
        }
    }

    /// Whether the second most visited move could not catch up with the first in the time that is left.
    fn is_settled(&self) -> bool {
        let Some(time) = self.task.stop.remaining().filter(|_| !self.wants_others() && self.simulations >= 8) else {
            return false;
        };
        let mut visits: Vec<u32> = self.nodes.root().edges.iter().map(|e| self.nodes.visits(e)).collect();
        visits.sort_unstable_by(|a, b| b.cmp(a));
        let lead = u64::from(visits[0] - visits.get(1).copied().unwrap_or(0));
        let pace = self.start.elapsed().as_secs_f64() / self.simulations as f64;
        let left = (time.as_secs_f64() / pace.max(1e-9)) as u64;
        lead > left
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;

    #[test]
    fn growth_ends_after_eight_times_what_it_took() {
        let mut growth = Growth::from(0, 0);
        assert!(!growth.has_ended(1000) && growth.has_ended(1001));
        growth.note(3, 500);
        growth.note(2, 900);
        assert!(!growth.has_ended(4000) && growth.has_ended(4001));
        growth.note(4, 5000);
        assert!(!growth.has_ended(40_000) && growth.has_ended(40_001));
        // Nor before there were as many as the tree had before.
        let growth = Growth::from(3, 7000);
        assert!(!growth.has_ended(7000) && growth.has_ended(7001));
    }
}
