//! What the numbers of a value head mean, and what they are to be.

use super::Wdl;
use crate::network::ValueHead;

/// Evaluations in AlphaMinusTwo's unit: pawns, clamped to ±60, times this.
const EVALUATION: f32 = 4.0 / 60.0;

/// What a value head says, for the player to move.
pub fn wdl_of(head: &ValueHead, numbers: &[f32]) -> Wdl {
    let first = numbers.first().copied().unwrap_or_default();
    match head {
        ValueHead::Wdl { .. } => match *numbers {
            [win, draw, loss] => Wdl::from_logits([win, draw, loss]),
            _ => Wdl::DRAW,
        },
        ValueHead::Tanh { .. } => Wdl::from_balance(first.tanh()),
        ValueHead::Evaluation { .. } => {
            let cp = (first / EVALUATION * 100.0).clamp(-6000.0, 6000.0);
            Wdl::from_centipawns(if cp.is_finite() { cp.round() as i32 } else { 0 })
        }
        ValueHead::Bins { .. } => {
            let max = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let weights = || numbers.iter().map(|x| (x - max).exp());
            let centres = (0..numbers.len()).map(|i| (i as f32 + 0.5) / numbers.len() as f32);
            let score: f32 = weights().zip(centres).map(|(w, c)| w * c).sum::<f32>() / weights().sum::<f32>();
            Wdl::from_balance(2.0 * score - 1.0)
        }
        ValueHead::None => Wdl::DRAW,
    }
}

/// An evaluation in pawns for the player to move, as AlphaMinusTwo's head is to give it.
pub fn evaluation_target(pawns: f32) -> f32 {
    pawns.clamp(-60.0, 60.0) * EVALUATION
}

/// The share of each of `count` equal bins of the expected score in a normal distribution around `score`, of a deviation of
/// three quarters of a bin (HL-Gauss, Imani & White 2018; the width is Farebrother et al.'s, 2024).
pub fn bins_target(score: f32, count: usize) -> Vec<f32> {
    let deviation = 0.75 / count as f32;
    // Φ by the logistic function, to 0.01: only its shape counts.
    let below = |x: f32| 1.0 / (1.0 + (-1.702 * (x - score) / deviation).exp());
    let edges: Vec<f32> = (0..=count).map(|i| below(i as f32 / count as f32)).collect();
    let all = (edges[count] - edges[0]).max(1e-6);
    edges.windows(2).map(|w| (w[1] - w[0]) / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_head_says_what_it_was_taught() {
        let pawns = wdl_of(&ValueHead::Evaluation { hidden: 8 }, &[evaluation_target(1.5)]);
        assert_eq!(pawns.centipawns(), 150);
        let balance = wdl_of(&ValueHead::Tanh { compress: None, hidden: None }, &[0.5_f32.atanh()]);
        assert!((balance.balance() - 0.5).abs() < 0.01, "{balance:?}");
        let bins = ValueHead::Bins { compress: 1, hidden: 1, count: 64 };
        for score in [0.02_f32, 0.3, 0.5, 0.95] {
            let target = bins_target(score, 64);
            assert!((target.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            let logits: Vec<f32> = target.iter().map(|p| p.max(1e-9).ln()).collect();
            assert!((wdl_of(&bins, &logits).score() - score).abs() < 0.02, "{score}");
        }
        assert_eq!(wdl_of(&ValueHead::None, &[]), Wdl::DRAW);
        assert_eq!(wdl_of(&ValueHead::Evaluation { hidden: 8 }, &[f32::NAN]).balance(), 0.0);
        assert!(wdl_of(&ValueHead::Tanh { compress: None, hidden: None }, &[f32::INFINITY]).win > 0.99);
    }
}
