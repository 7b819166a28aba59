//! The signal that ends a search: a command, or the clock.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The time for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What is planned.
    pub plan: Duration,
    /// What it may become where more thought is worth it.
    pub most: Duration,
}

impl Span {
    /// So long, and no longer.
    pub fn exactly(time: Duration) -> Span {
        Span { plan: time, most: time }
    }

    /// So many times the plan, as far as that is allowed.
    fn stretched(self, by: f64) -> Duration {
        self.plan.mul_f64(by.clamp(0.0, 100.0)).min(self.most)
    }
}

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
    /// The time for the answer.
    span: Option<Span>,
    /// Since when it runs: not while the opponent thinks.
    since: Option<Instant>,
    /// How many times the plan the answer may take.
    stretch: f64,
}

impl State {
    fn given(&self) -> Option<Duration> {
        Some(self.span?.stretched(self.stretch))
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.since? + self.given()?)
    }
}

impl Stop {
    /// A signal that is not set; the time runs from now. `held`: `go infinite`, which waits for a command.
    pub fn new(held: bool, span: Option<Span>) -> Stop {
        Stop::since(Some(Instant::now()), held, span)
    }

    /// A signal for `go ponder`: held until [`ponder_hit`](Stop::ponder_hit), from when the time runs.
    pub fn pondering(span: Option<Span>) -> Stop {
        Stop::since(None, true, span)
    }

    /// A signal for a search that waits for another to end: its time runs from [`begin`](Stop::begin).
    pub fn waiting(span: Option<Span>) -> Stop {
        Stop::since(None, false, span)
    }

    fn since(since: Option<Instant>, held: bool, span: Option<Span>) -> Stop {
        let state = State { set: false, held, span, since, stretch: 1.0 };
        Stop(Arc::new(Inner { state: Mutex::new(state), changed: Condvar::new() }))
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

    /// The search begins: its time runs from now, if it does not run yet and the opponent is not thinking.
    pub fn begin(&self) {
        let mut state = self.state();
        if !state.held {
            state.since.get_or_insert_with(Instant::now);
        }
    }

    /// The pondered move was played: the clock runs from now.
    pub fn ponder_hit(&self) {
        let mut state = self.state();
        state.held = false;
        state.since.get_or_insert_with(Instant::now);
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
        state.set || (!state.held && state.deadline().is_some_and(|d| Instant::now() >= d))
    }

    /// The time left until the answer is wanted, where there is a deadline that counts already.
    pub fn remaining(&self) -> Option<Duration> {
        let state = self.state();
        let deadline = state.deadline().filter(|_| !state.held)?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// The time that the answer may take as things stand; `None` where there is no clock.
    pub fn given(&self) -> Option<Duration> {
        self.state().given()
    }

    /// Asks for so many times the planned time; the clock says how much of that is given.
    pub fn stretch(&self, by: f64) {
        self.state().stretch = by;
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
        let none = Span::exactly(Duration::ZERO);
        assert!(Stop::new(false, Some(none)).is_set());
        let stop = Stop::pondering(Some(none));
        assert!(stop.is_held() && !stop.is_set());
        stop.ponder_hit();
        assert!(!stop.is_held() && stop.is_set());
        stop.wait_until_released();
    }

    #[test]
    fn the_time_of_a_search_that_waits_runs_from_its_beginning() {
        let none = Some(Span::exactly(Duration::ZERO));
        let stop = Stop::waiting(none);
        assert!(!stop.is_held() && !stop.is_set() && stop.remaining().is_none());
        stop.begin();
        assert!(stop.is_set());
        // Pondering goes on until the opponent has moved.
        let stop = Stop::pondering(none);
        stop.begin();
        assert!(stop.is_held() && !stop.is_set());
    }

    #[test]
    fn a_plan_is_stretched_as_far_as_the_clock_allows() {
        let hour = Duration::from_secs(3600);
        let stop = Stop::new(false, Some(Span { plan: hour, most: 3 * hour }));
        let left = |by: f64| {
            stop.stretch(by);
            stop.remaining().expect("it runs").as_secs_f64() / 3600.0
        };
        assert!((left(1.0) - 1.0).abs() < 0.1 && (left(2.0) - 2.0).abs() < 0.1);
        assert!((left(1e9) - 3.0).abs() < 0.1, "no more than is allowed");
        stop.stretch(0.0);
        assert!(stop.is_set());
    }

    #[test]
    fn waiting_ends_at_the_moment_or_at_a_command() {
        let stop = Stop::new(false, Some(Span::exactly(Duration::ZERO)));
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
