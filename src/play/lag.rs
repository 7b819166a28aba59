//! What moves cost beyond the time that they were given, learnt from the clocks that come back.

use std::time::Duration;

use super::clock::Clock;

/// How much of the worst that was seen still counts a move later: half of it after 69 moves.
const MEMORY: f64 = 0.99;
/// Milliseconds that are believed at most: more is a computer that slept, or a GUI that set the clock.
const MOST: i64 = 1000;

/// The delays of a machine and its GUI. A core that is taken away for a third of a second costs a game of a second, unless so much is left
/// on the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lag {
    /// Milliseconds.
    worst: f64,
    /// The ply of the last move, and its clock.
    last: Option<(usize, Clock)>,
}

impl Lag {
    /// Notes the clock at a ply. `given`: the time that the move before was to take at most; what the clock lost beyond it was lag.
    /// Clocks that do not go on from the last one (another game, the next time control, no clock) teach nothing.
    pub fn learn(&mut self, ply: usize, clock: Clock, given: Option<Duration>) {
        let before = self.last.replace((ply, clock)).filter(|&(earlier, _)| earlier + 2 == ply);
        let lost = before.and_then(|(_, before)| {
            let full = before.left?.checked_add(before.increment)?;
            full.checked_sub(clock.left?).filter(|&lost| lost >= 0)
        });
        let (Some(lost), Some(given)) = (lost, given) else { return };
        let given = i64::try_from(given.as_millis()).unwrap_or(i64::MAX);
        let lag = lost.saturating_sub(given).clamp(0, MOST);
        self.worst = (self.worst * MEMORY).max(lag as f64);
    }

    /// Milliseconds that a move may cost beyond its time, as far as can be told.
    pub fn millis(&self) -> u64 {
        self.worst as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(left: i64) -> Clock {
        Clock { left: Some(left), increment: 10, ..Clock::default() }
    }

    #[test]
    fn what_the_clock_lost_beyond_the_time_given_is_lag() {
        let given = |ms| Some(Duration::from_millis(ms));
        let mut lag = Lag::default();
        lag.learn(0, clock(1000), None);
        lag.learn(2, clock(970), given(35));
        assert_eq!(lag.millis(), 5, "1010 - 970 - 35");
        lag.learn(4, clock(600), given(30));
        assert_eq!(lag.millis(), 350);
        lag.learn(6, clock(600), given(30));
        assert_eq!(lag.millis(), 346, "it fades");
        for _ in 0..4 {
            lag.learn(8, clock(590), given(30));
            assert_eq!(lag.millis(), 343, "the same ply again is not the next move");
        }
        lag.learn(0, clock(1), given(0));
        lag.learn(2, clock(1000), given(0));
        lag.learn(4, Clock::default(), given(0));
        lag.learn(6, clock(i64::MIN), given(0));
        lag.learn(8, clock(i64::MAX), given(0));
        lag.learn(10, clock(i64::MAX), None);
        assert_eq!(lag.millis(), 343, "another game, a control reached, no clock, nonsense");
        lag.learn(12, clock(0), given(0));
        assert_eq!(lag.millis(), 343);
        lag.learn(13, clock(3_600_000), None);
        lag.learn(15, clock(1), given(30));
        assert_eq!(lag.millis(), 1000, "nobody waits so long for a move");
    }

    /// The moves that a game of a second and ten milliseconds a move lasts, 300 at most, when 0.3 s are lost at every eightieth
    /// move.
    fn moves(learning: bool) -> usize {
        let (mut lag, mut left, mut given) = (Lag::default(), 1000, None);
        for ply in 0..300 {
            if learning {
                lag.learn(2 * ply, clock(left), given);
            }
            let span = clock(left).span(20, lag.millis()).expect("a clock");
            given = Some(span.plan);
            left -= span.plan.as_millis() as i64 + if ply % 80 == 20 { 300 } else { 1 };
            if left < 0 {
                return ply;
            }
            left += 10;
        }
        300
    }

    #[test]
    fn a_machine_that_stalls_loses_no_second_game() {
        assert!(moves(false) < 300, "{} without learning", moves(false));
        assert_eq!(moves(true), 300);
    }
}
