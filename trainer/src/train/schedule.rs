//! The learning rate over a run.

use std::f64::consts::PI;

/// Linear warm-up to `peak`, then a cosine down to a hundredth of it. `progress` runs from 0 to 1.
pub fn learning_rate(peak: f64, warmup: f64, progress: f64) -> f64 {
    if progress < warmup {
        return peak * (progress / warmup).max(1e-3);
    }
    let after = ((progress - warmup) / (1.0 - warmup)).clamp(0.0, 1.0);
    peak * (0.01 + 0.99 * 0.5 * (1.0 + (PI * after).cos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warms_up_and_decays() {
        assert!(learning_rate(1.0, 0.1, 0.0) <= 1e-3);
        assert!((learning_rate(1.0, 0.1, 0.05) - 0.5).abs() < 1e-9);
        assert!((learning_rate(1.0, 0.1, 0.1) - 1.0).abs() < 1e-9);
        assert!((learning_rate(1.0, 0.1, 1.0) - 0.01).abs() < 1e-9);
        assert!(learning_rate(1.0, 0.0, 0.0) > 0.999);
    }
}
