//! How long a person thinks about a move, as a distribution.

use crate::board::{TIME_BINS, time_edge};

/// The time that a move takes, as probabilities of the bins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveTime {
    bins: [f32; TIME_BINS],
}

impl MoveTime {
    /// From the logits of the bins. `None` unless there are as many as bins, and a number among them.
    pub fn from_logits(logits: &[f32]) -> Option<MoveTime> {
        let logits: &[f32; TIME_BINS] = logits.try_into().ok()?;
        let max = logits.iter().copied().filter(|l| l.is_finite()).reduce(f32::max)?;
        let weights = logits.map(|l| if l.is_finite() { (l - max).exp() } else { 0.0 });
        let sum: f32 = weights.iter().sum();
        Some(MoveTime { bins: weights.map(|w| w / sum) })
    }

    /// Probabilities of the bins: they sum to one.
    pub fn bins(&self) -> &[f32; TIME_BINS] {
        &self.bins
    }

    /// The time that a share of all moves like this one stays below (`share` from 0 to 1), in [fair
    /// shares](crate::board::fair_share) of the clock: within a bin, times are spread evenly on the logarithmic scale. A share
    /// drawn evenly gives a time drawn from the distribution.
    pub fn quantile(&self, share: f32) -> f32 {
        let mut rest = share.clamp(0.0, 1.0);
        for (bin, &p) in self.bins.iter().enumerate() {
            let (low, high) = (time_edge(bin), time_edge(bin + 1));
            if rest < p {
                return low * (high / low).powf(rest / p);
            }
            rest -= p;
        }
        // What rounding leaves: the end of the last bin that has any probability.
        let last = self.bins.iter().rposition(|&p| p > 0.0).unwrap_or_default();
        time_edge(last + 1)
    }

    /// The mean of the natural logarithm of the time in fair shares.
    pub fn mean_log(&self) -> f32 {
        let middle = |bin: usize| (time_edge(bin) * time_edge(bin + 1)).sqrt().ln();
        self.bins.iter().enumerate().map(|(bin, p)| p * middle(bin)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_follow_the_distribution() {
        let mut logits = [f32::NEG_INFINITY; TIME_BINS];
        (logits[1], logits[3]) = (0.0, 3_f32.ln());
        let time = MoveTime::from_logits(&logits).expect("numbers");
        let near = |share: f32, expected: f32| (time.quantile(share) / expected - 1.0).abs() < 1e-3;
        assert!(near(0.0, time_edge(1)) && near(1.0, time_edge(4)));
        assert!(near(0.25, time_edge(3)), "a quarter is in the first bin");
        assert!(time.quantile(0.24) < time_edge(2) && time.quantile(0.26) > time_edge(3));
        let middle = |bin: usize| (time_edge(bin) * time_edge(bin + 1)).sqrt().ln();
        assert!((time.mean_log() - (0.25 * middle(1) + 0.75 * middle(3))).abs() < 1e-4);
        assert_eq!(MoveTime::from_logits(&[f32::NAN; TIME_BINS]), None);
        assert_eq!(MoveTime::from_logits(&[0.0; 3]), None);
    }
}
