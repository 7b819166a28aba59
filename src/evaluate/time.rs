//! How long a person thinks about a move, as a distribution.

use crate::board::{TIME_BINS, TIME_EDGES};

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

    /// The time in seconds that a share of all moves like this one stays below (`share` from 0 to 1): within a bin, times
    /// are spread evenly on the logarithmic scale. A share drawn evenly gives a time drawn from the distribution.
    pub fn quantile(&self, share: f32) -> f32 {
        let mut rest = share.clamp(0.0, 1.0);
        for (bin, &p) in self.bins.iter().enumerate() {
            let (low, high) = (TIME_EDGES[bin], TIME_EDGES[bin + 1]);
            if rest < p {
                return low * (high / low).powf(rest / p);
            }
            rest -= p;
        }
        // What rounding leaves: the end of the last bin that has any probability.
        let last = self.bins.iter().rposition(|&p| p > 0.0).unwrap_or_default();
        TIME_EDGES[last + 1]
    }

    /// The mean of the natural logarithm of the seconds.
    pub fn mean_log(&self) -> f32 {
        let middle = |bin: usize| (TIME_EDGES[bin] * TIME_EDGES[bin + 1]).sqrt().ln();
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
        assert!((time.quantile(0.0) - 0.5).abs() < 1e-5);
        assert!((time.quantile(0.25) - 2.5).abs() < 1e-4, "a quarter is in the first bin");
        assert!(time.quantile(0.24) < 1.5 && time.quantile(0.26) > 2.5);
        assert!((time.quantile(1.0) - 3.5).abs() < 1e-3);
        let expected = 0.25 * (0.5_f32 * 1.5).sqrt().ln() + 0.75 * (2.5_f32 * 3.5).sqrt().ln();
        assert!((time.mean_log() - expected).abs() < 1e-5);
        assert_eq!(MoveTime::from_logits(&[f32::NAN; TIME_BINS]), None);
        assert_eq!(MoveTime::from_logits(&[0.0; 3]), None);
    }
}
