//! Several threads at one tree. Each takes a position from it, has that evaluated while the others go on, and brings the result back:
//! nobody waits for the slowest of a batch, and no more positions are under way than there are threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::report::Report;
use super::run::{Leaf, Run};

/// Simulations before the first report; each later one comes after twice as many…
const FIRST: u64 = 16;
/// …or after this time: who watches an analysis wants to see that it goes on.
const LONGEST: Duration = Duration::from_secs(3);

/// How long a walker waits for the others before it looks again whether the search is over.
const PATIENCE: Duration = Duration::from_millis(5);

/// When the next report is due.
struct Telling {
    simulations: u64,
    last: Instant,
}

impl Telling {
    fn from(now: Instant) -> Telling {
        Telling { simulations: FIRST, last: now }
    }

    /// Whether one is due; it counts as given then.
    fn is_due(&mut self, simulations: u64, now: Instant) -> bool {
        let (grown, late) = (simulations >= self.simulations, now - self.last >= LONGEST);
        if grown {
            self.simulations *= 2;
        }
        if grown || late {
            self.last = now;
        }
        grown || late
    }
}

/// What the walkers share.
struct Shared<'a> {
    run: Mutex<Run<'a>>,
    /// An evaluation was brought back.
    news: Condvar,
}

/// Searches with `threads` threads, this one among them, until the run is over. `tell` is called on this one.
pub(super) fn walk<'a>(run: Run<'a>, threads: usize, tell: &mut dyn FnMut(&Report)) -> Run<'a> {
    let shared = Shared { run: Mutex::new(run), news: Condvar::new() };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system has no thread to give, the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, || shared.walk(None));
        }
        shared.walk(Some(tell));
    });
    let mut run = shared.run.into_inner().unwrap_or_else(PoisonError::into_inner);
    // What came back last may have made the tree too large, while others still had paths in it.
    run.prune();
    run
}

/// Ends the search where a walker panics: what it had under way will never come back, and the others would wait for it.
struct Fall<'s, 'a>(&'s Shared<'a>);

impl Drop for Fall<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().cut_short();
            self.0.news.notify_all();
        }
    }
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, Run<'a>> {
        // A panic of another walker is passed on when its thread is joined.
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, run: MutexGuard<'g, Run<'a>>) -> MutexGuard<'g, Run<'a>> {
        self.news.wait_timeout(run, PATIENCE).unwrap_or_else(PoisonError::into_inner).0
    }

    fn walk(&self, mut tell: Option<&mut dyn FnMut(&Report)>) {
        let _fall = Fall(self);
        let mut telling = Telling::from(Instant::now());
        let mut run = self.lock();
        let (task, batch, exchanges) = (run.task, run.task.evaluator.batch().max(1), run.exchanges());
        while !run.is_over() {
            // Paths under way name nodes by their numbers, which change when a tree is pruned.
            if run.is_full() && run.is_waiting() {
                run = self.wait(run);
                continue;
            }
            run.prune();
            let before = run.simulations;
            let mut leaves = run.gather(batch);
            if !leaves.is_empty() {
                drop(run);
                let found = Leaf::evaluate(&mut leaves, task, exchanges);
                run = self.lock();
                run.bring_back(&leaves, found);
                self.news.notify_all();
            } else if run.is_waiting() && !run.is_over() {
                if run.simulations == before {
                    run = self.wait(run);
                } else {
                    // All that was met is known, and there is more; but whoever has something to bring back comes first.
                    drop(run);
                    thread::yield_now();
                    run = self.lock();
                }
                continue;
            }
            run.take_time();
            if let Some(tell) = tell.as_mut().filter(|_| telling.is_due(run.simulations, Instant::now())) {
                let report = run.answer().report;
                drop(run);
                tell(&report);
                run = self.lock();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_with_twice_the_simulations_or_in_time() {
        let start = Instant::now();
        let mut telling = Telling::from(start);
        let mut due =
            |simulations, milliseconds| telling.is_due(simulations, start + Duration::from_millis(milliseconds));
        assert!(!due(15, 1) && due(16, 2) && !due(31, 3) && due(40, 1000) && !due(63, 3900) && due(64, 3950));
        // Three seconds after the last, however few there were since.
        assert!(!due(70, 6900) && due(71, 6950) && !due(72, 9900) && due(73, 9950) && due(128, 10_000));
    }
}
