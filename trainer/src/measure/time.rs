//! What a network said of the time that people take, against the time that they took.

use glance::board::{TIME_BINS, TIME_EDGES, time_bin};
use glance::evaluate::MoveTime;

/// The quantiles that are looked at.
pub const QUANTILES: [f32; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// What was said of the time of one move, and the time.
#[derive(Clone, Copy, Debug)]
pub struct OfTime {
    /// Cross-entropy of the bin, nats.
    pub loss: f64,
    /// The distribution expected.
    pub said: MoveTime,
    /// Seconds taken.
    pub seconds: f32,
}

/// Cross-entropy of the bins, nats, for one who says the distribution of all these times each time.
pub fn marginal(times: &[OfTime]) -> f64 {
    let mut counts = [0.0; TIME_BINS];
    times.iter().for_each(|t| counts[time_bin(t.seconds)] += 1.0 / times.len() as f64);
    counts.iter().filter(|&&c| c > 0.0).map(|c: &f64| -c * c.ln()).sum()
}

/// Pearson's correlation of the mean logarithm expected with the logarithm of the time taken; what was written as no time at
/// all counts as the middle of the first bin. 0 where there is nothing to correlate.
pub fn correlation(times: &[OfTime]) -> f64 {
    let zero = (TIME_EDGES[0] * TIME_EDGES[1]).sqrt();
    let pairs = || times.iter().map(|t| (f64::from(t.said.mean_log()), f64::from(t.seconds.max(zero).ln())));
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
        let edge = t.said.quantile(quantile);
        let (low, high) = ((t.seconds - 0.5).max(TIME_EDGES[0]), t.seconds + 0.5);
        f64::from(((edge - low) / (high - low)).clamp(0.0, 1.0))
    };
    times.iter().map(share).sum::<f64>() / times.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One who knows, half and half, that a move takes about 1 or about 12 seconds.
    fn knowing(seconds: f32) -> OfTime {
        let mut logits = [f32::NEG_INFINITY; TIME_BINS];
        logits[time_bin(seconds)] = 1.0;
        let said = MoveTime::from_logits(&logits).expect("numbers");
        OfTime { loss: 0.0, said, seconds }
    }

    #[test]
    fn who_knows_is_told_from_who_does_not() {
        let times: Vec<OfTime> = (0..100).map(|i| knowing(if i % 2 == 0 { 1.0 } else { 12.0 })).collect();
        assert!((marginal(&times) - 2_f64.ln()).abs() < 1e-9);
        assert!(correlation(&times) > 0.999);
        let crossed: Vec<OfTime> = times.iter().map(|t| OfTime { seconds: 13.0 - t.seconds, ..*t }).collect();
        assert!(correlation(&crossed) < -0.999);
        assert_eq!(correlation(&times[..1]), 0.0);
        assert_eq!((correlation(&[]), below(&[], 0.5), marginal(&[])), (0.0, 0.0, 0.0));
    }

    #[test]
    fn quantiles_are_met_by_who_is_right() {
        // Ten seconds in the bin from 9.5 to 12.5: 10, 11 and 12 as often as each other.
        let times: Vec<OfTime> = (0..99).map(|i| knowing(10.0 + (i % 3) as f32)).collect();
        for q in QUANTILES {
            assert!((below(&times, q) - f64::from(q)).abs() < 0.05, "{q}: {}", below(&times, q));
        }
    }
}
