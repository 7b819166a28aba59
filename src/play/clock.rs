//! How long to think.

use std::time::Duration;

use crate::evaluate::Span;

/// What `go` says about time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Milliseconds left; may be negative.
    pub left: Option<i64>,
    /// Milliseconds added after each move.
    pub increment: i64,
    /// Moves to the next time control.
    pub moves_to_go: Option<u32>,
    /// Exactly this many milliseconds.
    pub move_time: Option<i64>,
}

/// Moves that the rest of a game is planned for…
const HORIZON: i64 = 30;
/// …how many fewer when every increment is a hundredth of what is left or more: no game ends for want of time then, and what is left at its end
/// is of no use (`benches/horizon.py`). The nearer a lag beyond the overhead comes to one part in `CALM` of what is left, the less so: what is
/// left is of use to a machine that stands still at times…
const FEWER: i64 = 15;
const CALM: i64 = 20;
/// …and how many more when no increment ever comes and less than [`SCARCE`] milliseconds are left: every move costs a
/// little that no plan can save.
const MORE: i64 = 40;
const SCARCE: i64 = 10_000;
/// Milliseconds that a move costs beyond its plan on a busy machine: without an increment, they are kept for every move
/// to come, of which there may be more than the horizon.
const LAG: i64 = 5;
const LAST: i64 = 100;
/// How many times its plan a move may take.
const STRETCH: i64 = 4;

impl Clock {
    /// The time for this move; `None` without a clock. `overhead`: milliseconds that are lost on the way; `lag`: milliseconds that a
    /// move was seen to cost beyond its time, of which what the overhead does not cover stays on the clock, up to three quarters of
    /// what is left.
    ///
    /// With a clock the plan is a thirtieth of what is left, up to a fifteenth with an increment (less when time is scarce, more when the
    /// time control is near) and most of the increment, but never more than half of what is left after the overhead. A move that deserves
    /// it may take up to four times as much, as long as that is no more than a quarter of what is left.
    pub fn span(&self, overhead: u64, lag: u64) -> Option<Span> {
        let unforeseen = i64::try_from(lag.saturating_sub(overhead)).unwrap_or(i64::MAX);
        let overhead = i64::try_from(overhead).unwrap_or(i64::MAX);
        let millis = |ms: i64| Duration::from_millis(ms.max(1).unsigned_abs());
        if let Some(time) = self.move_time {
            return Some(Span::exactly(millis(time.saturating_sub(overhead))));
        }
        // Some GUIs send nonsense: no clock has more than a few decades.
        let safe = self.left?.saturating_sub(overhead).clamp(0, 1 << 40);
        let safe = safe - unforeseen.min(safe / 4 * 3);
        let scarce = if self.increment > 0 { 0 } else { MORE * (SCARCE - safe).clamp(0, SCARCE) / SCARCE };
        let increment = self.increment.clamp(0, 1 << 40);
        let fewer = FEWER * (100 * increment).min(safe) / safe.max(1);
        let calm = safe - unforeseen.min(safe / CALM) * CALM;
        let horizon = HORIZON + scarce - fewer * calm / safe.max(1);
        let moves = self.moves_to_go.map_or(horizon, |n| i64::from(n).clamp(1, horizon));
        let lag = if self.increment > 0 { 0 } else { LAG * self.moves_to_go.map_or(LAST, |_| moves) };
        let spare = (safe - lag).max(0);
        let share = spare / moves + increment * 3 / 4;
        // The last move before the control may take nearly all; any other no more than half.
        let limit = if moves == 1 { safe * 9 / 10 } else { safe / 2 };
        let on_the_way = |time: i64| time.saturating_sub(overhead.min(time / 2));
        let plan = on_the_way(share.min(limit));
        let most = on_the_way((STRETCH * share).min(spare / 4)).max(plan);
        Some(Span { plan: millis(plan), most: millis(most) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is planned, and the most that it may become.
    fn millis(clock: Clock) -> [u128; 2] {
        let span = clock.span(20, 0).expect("a clock was given");
        assert!(span.plan <= span.most);
        [span.plan.as_millis(), span.most.as_millis()]
    }

    #[test]
    fn never_more_than_there_is() {
        for left in [i64::MIN, -50, 0, 1, 19, 21, 100, 1000, 60_000, i64::MAX] {
            for increment in [0, 10, 100_000, i64::MAX] {
                for moves_to_go in [None, Some(0), Some(1), Some(40), Some(u32::MAX)] {
                    let [_, time] = millis(Clock { left: Some(left), increment, moves_to_go, move_time: None });
                    assert!(time <= left.saturating_sub(20).max(1) as u128, "{left} {increment}: {time}");
                    for lag in [0, 30, u64::MAX] {
                        let clock = Clock { left: Some(left), increment, moves_to_go, move_time: None };
                        let span = clock.span(20, lag).expect("a clock was given");
                        assert!(span.plan <= span.most && span.most.as_millis() <= time.max(1), "{left} {lag}");
                    }
                }
            }
        }
        assert_eq!(millis(Clock { move_time: Some(100), ..Clock::default() }), [80; 2]);
        assert_eq!(millis(Clock { move_time: Some(-5), ..Clock::default() }), [1; 2]);
        assert_eq!(Clock::default().span(20, 0), None);
    }

    #[test]
    fn an_increment_lets_more_be_taken() {
        for (left, increment, plan) in [
            // A thirtieth, a fifteenth, and between them; three quarters of the increment; less what is lost on the way.
            (60_020, 0, (60_000 - 500) / 30 - 20),
            (60_020, 600, 60_000 / 15 + 450 - 20),
            (60_020, 300, 60_000 / 23 + 225 - 20),
            (1_020, 10, 1_000 / 15 + 7 - 20),
            // Half of what is left.
            (120, 100, 50 - 20),
        ] {
            let clock = Clock { left: Some(left), increment, ..Clock::default() };
            assert_eq!(millis(clock)[0], plan, "{left}+{increment}");
        }
    }

    #[test]
    fn whole_games_stay_on_the_clock() {
        for (start, increment, control) in
            [(1000, 0, None), (10_000, 100, None), (60_000, 0, Some(40)), (1000, 10, None)]
        {
            // Whether nothing is stretched or everything.
            for stretched in [0, 1] {
                let (mut left, mut to_go) = (start, control);
                for _ in 0..200 {
                    let clock = Clock { left: Some(left), increment, moves_to_go: to_go, move_time: None };
                    // A millisecond is really lost.
                    left -= millis(clock)[stretched] as i64 + 1;
                    assert!(left >= 0, "{start}+{increment}");
                    left += increment;
                    if let (Some(n), Some(all)) = (to_go.as_mut(), control) {
                        *n -= 1;
                        if *n == 0 {
                            (*n, left) = (all, left + start);
                        }
                    }
                }
            }
        }
    }
}
