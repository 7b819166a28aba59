//! The signal that ends a search: a command, or the clock.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Shared between the thread that listens and the thread that thinks.
///
/// ```
/// use glance::evaluate::Stop;
/// let stop = Stop::new(false, None);
/// assert!(!stop.is_set());
/// stop.set();
/// assert!(stop.is_set());
/// ```
#[derive(Clone, Debug)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The answer is wanted now.
    set: bool,
    /// No answer is wanted until `stop` (or `ponderhit`), however finished the search is.
    held: bool,
    /// When the answer is wanted at the latest.
    deadline: Option<Instant>,
    /// How long the answer may take once the opponent has made the move that was pondered on.
    after_ponder: Option<Duration>,
}

impl Stop {
    /// A signal that is not set. `held`: `go infinite` and `go ponder`, which wait for a command.
    pub fn new(held: bool, deadline: Option<Instant>) -> Stop {
        let state = State { set: false, held, deadline, after_ponder: None };
        Stop(Arc::new(Inner { state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// A signal for `go ponder`: held until [`ponder_hit`](Stop::ponder_hit), then `time` is left.
    pub fn pondering(time: Option<Duration>) -> Stop {
        let stop = Stop::new(true, None);
        stop.state().after_ponder = time;
        stop
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves nothing half done here.
        self.0.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Asks for the answer now.
    pub fn set(&self) {
        let mut state = self.state();
        (state.set, state.held) = (true, false);
        self.0.changed.notify_all();
    }

    /// The pondered move was played: the clock runs from now.
    pub fn ponder_hit(&self) {
        let mut state = self.state();
        state.held = false;
        if let Some(time) = state.after_ponder.take() {
            state.deadline = Some(Instant::now() + time);
        }
        self.0.changed.notify_all();
    }

    /// Lets a held search answer when it is done, without cutting it short.
    pub fn release(&self) {
        self.state().held = false;
        self.0.changed.notify_all();
    }

    /// Whether the search is to end.
    pub fn is_set(&self) -> bool {
        let state = self.state();
        state.set || (!state.held && state.deadline.is_some_and(|d| Instant::now() >= d))
    }

    /// The time left until the answer is wanted, where there is a deadline that counts already.
    pub fn remaining(&self) -> Option<Duration> {
        let state = self.state();
        let deadline = state.deadline.filter(|_| !state.held)?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether the answer has to wait for a command.
    pub fn is_held(&self) -> bool {
        self.state().held
    }

    /// Waits until a moment, or until a command asks for the answer; the deadline does not count.
    pub fn wait_for_command_until(&self, moment: Instant) {
        let mut state = self.state();
        while !state.set {
            let Some(rest) = moment.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) else {
                return;
            };
            let waited = self.0.changed.wait_timeout(state, rest).unwrap_or_else(|poisoned| poisoned.into_inner());
            (state, _) = waited;
        }
    }

    /// Waits until the answer may be given.
    pub fn wait_until_released(&self) {
        let mut state = self.state();
        while state.held {
            state = self.0.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_and_pondering() {
        assert!(Stop::new(false, Some(Instant::now())).is_set());
        let stop = Stop::pondering(Some(Duration::ZERO));
        assert!(stop.is_held() && !stop.is_set());
        stop.ponder_hit();
        assert!(!stop.is_held() && stop.is_set());
        stop.wait_until_released();
    }

    #[test]
    fn waiting_ends_at_the_moment_or_at_a_command() {
        let stop = Stop::new(false, Some(Instant::now()));
        let start = Instant::now();
        stop.wait_for_command_until(start + Duration::from_millis(30));
        assert!(start.elapsed() >= Duration::from_millis(30), "the deadline does not count");
        let (other, start) = (stop.clone(), Instant::now());
        let thread = std::thread::spawn(move || other.wait_for_command_until(start + Duration::from_secs(600)));
        stop.set();
        thread.join().expect("it ends");
        assert!(start.elapsed() < Duration::from_secs(300));
        stop.wait_for_command_until(start);
    }
}
