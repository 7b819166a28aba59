//! The learning rate over a run.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// How the learning rate falls after the warm-up, as a share of its peak.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Half a cosine, down to a hundredth.
    #[default]
    Cosine,
    /// A straight line, down to zero.
    Linear,
    /// It does not fall.
    Constant,
    /// Pairs of progress (0 to 1) and the factor from there on.
    Steps(Vec<[f64; 2]>),
}

impl Schedule {
    /// The learning rate after a share `progress` (0 to 1) of the run: a linear warm-up over the share `warmup` to
    /// `peak`, then down.
    pub fn rate(&self, peak: f64, warmup: f64, progress: f64) -> f64 {
        if progress < warmup {
            return peak * (progress / warmup).max(1e-3);
        }
        let after = ((progress - warmup) / (1.0 - warmup)).clamp(0.0, 1.0);
        peak * match self {
            Schedule::Cosine => 0.01 + 0.99 * 0.5 * (1.0 + (PI * after).cos()),
            Schedule::Linear => 1.0 - after,
            Schedule::Constant => 1.0,
            Schedule::Steps(steps) => {
                steps.iter().filter(|[from, _]| *from <= progress).map(|[_, factor]| *factor).next_back().unwrap_or(1.0)
            }
        }
    }

    /// Whether every number makes sense: progress rising from 0 to 1, factors from 0 to 1.
    pub fn is_sound(&self) -> bool {
        let Schedule::Steps(steps) = self else { return true };
        let within = |x: &f64| (0.0..=1.0).contains(x);
        steps.iter().flatten().all(within) && steps.is_sorted_by(|a, b| a[0] < b[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warms_up_and_decays() {
        let cosine = Schedule::Cosine;
        assert!(cosine.rate(1.0, 0.1, 0.0) <= 1e-3);
        assert!((cosine.rate(1.0, 0.1, 0.05) - 0.5).abs() < 1e-9);
        assert!((cosine.rate(1.0, 0.1, 0.1) - 1.0).abs() < 1e-9);
        assert!((cosine.rate(1.0, 0.1, 1.0) - 0.01).abs() < 1e-9);
        assert!(cosine.rate(1.0, 0.0, 0.0) > 0.999);
        assert!((Schedule::Linear.rate(2.0, 0.2, 0.6) - 1.0).abs() < 1e-9);
        assert!(Schedule::Linear.rate(2.0, 0.2, 1.0).abs() < 1e-9);
        assert!((Schedule::Constant.rate(2.0, 0.2, 0.9) - 2.0).abs() < 1e-9);
        let steps = Schedule::Steps(vec![[0.5, 0.1], [0.8, 0.01]]);
        let rates = [0.3, 0.5, 0.79, 0.9].map(|progress| steps.rate(1.0, 0.0, progress));
        assert_eq!(rates, [1.0, 0.1, 0.1, 0.01]);
    }

    #[test]
    fn steps_have_to_rise() {
        assert!(Schedule::Steps(vec![[0.5, 0.1], [0.8, 0.01]]).is_sound());
        assert!(!Schedule::Steps(vec![[0.8, 0.1], [0.5, 0.01]]).is_sound());
        assert!(!Schedule::Steps(vec![[0.5, -0.1]]).is_sound());
    }
}
