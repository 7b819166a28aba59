//! What a network said of the time that people take, against the time that they took.

use glance::board::TIME_BINS;
use glance::evaluate::MoveTime;

use crate::data::sample::Taken;

/// The quantiles that are looked at.
pub const QUANTILES: [f32; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// What was written as no time at all counts as so many seconds.
const NO_TIME: f32 = 0.3;

/// What was said of the time of one move, and the time.
#[derive(Clone, Copy, Debug)]
pub struct OfTime {
    /// Cross-entropy of the bins, nats.
    pub loss: f64,
    /// The distribution expected.
    pub said: MoveTime,
    /// The time taken.
    pub taken: Taken,
}

impl OfTime {
    /// What was said, and what was.
    pub fn new(taken: Taken, said: MoveTime) -> OfTime {
        let loss = |(was, said): (f32, &f32)| -f64::from(was) * f64::from(*said).max(1e-30).ln();
        OfTime { loss: taken.bins().into_iter().zip(said.bins()).map(loss).sum(), said, taken }
    }
}

/// Cross-entropy of the bins, nats, for one who says the distribution of all these times each time.
pub fn marginal(times: &[OfTime]) -> f64 {
    let mut mean = [0.0; TIME_BINS];
    for t in times {
        mean.iter_mut().zip(t.taken.bins()).for_each(|(mean, p)| *mean += f64::from(p) / times.len() as f64);
    }
    mean.iter().filter(|&&p| p > 0.0).map(|p: &f64| -p * p.ln()).sum()
}

/// Pearson's correlation of the mean logarithm expected with the logarithm of the seconds taken. 0 where there is
/// nothing to correlate.
pub fn correlation(times: &[OfTime]) -> f64 {
    let said = |t: &OfTime| f64::from(t.said.mean_log() + t.taken.fair.ln());
    let pairs = || times.iter().map(|t| (said(t), f64::from(t.taken.seconds.max(NO_TIME).ln())));
    let n = times.len().max(1) as f64;
    let mean = |of: fn((f64, f64)) -> f64| pairs().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs().map(|(a, b)| of(a - x, b - y)).sum::<f64>();
    let (xy, xx, yy) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

/// Share of the times below this quantile of what was expected of them: the quantile itself where all is well. Clocks show
/// whole seconds, so a time counts as spread over its second.
pub fn below(times: &[OfTime], quantile: f32) -> f64 {
    let share = |t: &OfTime| {
        let edge = t.said.quantile(quantile) * t.taken.fair;
        let (low, high) = ((t.taken.seconds - 0.5).max(0.1), t.taken.seconds + 0.5);
        f64::from(((edge - low) / (high - low)).clamp(0.0, 1.0))
    };
    times.iter().map(share).sum::<f64>() / times.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One who says what is written.
    fn knowing(seconds: f32) -> OfTime {
        let taken = Taken { seconds, fair: 10.0 };
        let said = MoveTime::from_logits(&taken.bins().map(f32::ln)).expect("numbers");
        OfTime::new(taken, said)
    }

    #[test]
    fn who_knows_is_told_from_who_does_not() {
        let times: Vec<OfTime> = (0..100).map(|i| knowing(if i % 2 == 0 { 1.0 } else { 40.0 })).collect();
        let mean = times.iter().map(|t| t.loss).sum::<f64>() / 100.0;
        assert!((marginal(&times) - mean - 2_f64.ln()).abs() < 1e-5, "{} {mean}", marginal(&times));
        assert!(correlation(&times) > 0.999);
        let crossed: Vec<OfTime> = times
            .iter()
            .map(|t| OfTime { taken: Taken { seconds: 41.0 - t.taken.seconds, ..t.taken }, ..*t })
            .collect();
        assert!(correlation(&crossed) < -0.999);
        assert_eq!(correlation(&times[..1]), 0.0);
        assert_eq!((correlation(&[]), below(&[], 0.5), marginal(&[])), (0.0, 0.0, 0.0));
    }

    #[test]
    fn quantiles_are_met_by_who_is_right() {
        let times: Vec<OfTime> = (2..60).map(|i| knowing(i as f32)).collect();
        for q in QUANTILES {
            assert!((below(&times, q) - f64::from(q)).abs() < 0.08, "{q}: {}", below(&times, q));
        }
    }
}
