//! When a search is over.

use super::Run;

/// Simulations when nothing else ends the search.
pub(in crate::search::tree) const NATURAL: u64 = 128;
/// Simulations at most: what a node can count.
const MOST: u64 = 1 << 31;

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
        if limits.depth.is_some_and(|most| self.depth() >= most) || self.nodes.root().proved.is_some() {
            return true;
        }
        // Positions that cost nothing (mates, draws) do not count as evaluated, but they end at some time too.
        if limits.nodes.is_some_and(|most| self.simulations > most.saturating_mul(20).saturating_add(1000)) {
            return true;
        }
        if task.stop.is_held() {
            return false;
        }
        self.nodes.root().edges.len() == 1 || limits.save && self.is_settled()
    }

    /// On a clock, asks for as much time as the position deserves. A search that is planned for a number of looks keeps to it.
    pub(in crate::search::tree) fn take_time(&self) {
        let on_a_clock = self.task.limits.save && self.task.lines == 1 && self.halving.is_none();
        if on_a_clock && self.simulations >= 8 {
            self.task.stop.stretch(self.params.effort.of(&self.nodes, self.before));
        }
    }

    /// Whether the second most visited move could not catch up with the first in the time that is left.
    fn is_settled(&self) -> bool {
        let Some(time) = self.task.stop.remaining().filter(|_| self.task.lines == 1 && self.simulations >= 8) else {
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
