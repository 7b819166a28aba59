//! Accuracy and cross-entropies on positions that were never trained on.

use burn::tensor::{ElementConversion, Tensor};
use glance::network::{Kernels, Network};

use crate::data::sample::{MOST_LEGAL, Mixture, Sample};
use crate::train::batch::Batch;
use crate::train::step::{legal_log_probabilities, losses};

/// What a network does on a set of positions.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Figures {
    /// Positions with a move worth predicting.
    pub moves: usize,
    /// Share in which the move played is the network's first.
    pub top1: f64,
    /// Share in which it is among the first three.
    pub top3: f64,
    /// Cross-entropy of the moves, nats.
    pub policy_loss: f64,
    /// Positions whose outcome is known.
    pub outcomes: usize,
    /// Cross-entropy of the outcomes, nats.
    pub value_loss: f64,
}

/// A fixed set of positions for validation, with the name of its source.
pub struct ValidationSet {
    /// The source.
    pub name: String,
    /// The positions.
    pub samples: Vec<Sample>,
}

/// Draws `count` positions from each mixture, always the same ones.
pub fn sets(mixtures: &[(String, Mixture)], count: usize) -> Vec<ValidationSet> {
    mixtures
        .iter()
        .map(|(name, mixture)| ValidationSet { name: name.clone(), samples: mixture.batch(0x6715, 0, count) })
        .collect()
}

/// Measures a network on samples, `micro` at a time, on `workers` threads.
pub fn measure<B: Kernels>(
    network: &Network<B>,
    samples: &[Sample],
    workers: usize,
    micro: usize,
    device: &B::Device,
) -> Figures {
    let share = samples.len().div_ceil(workers.max(1)).max(1);
    let sums: Vec<[f64; 4]> = std::thread::scope(|scope| {
        let handles: Vec<_> = samples
            .chunks(share)
            .map(|part| {
                let network = network.clone();
                scope.spawn(move || {
                    let mut sums = [0.0; 4];
                    for micro in part.chunks(micro) {
                        let found = measure_batch(&network, micro, device);
                        sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
                    }
                    sums
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    let sum = |i: usize| sums.iter().map(|s| s[i]).sum::<f64>();
    let moves = samples.iter().filter(|s| s.policy).count();
    let outcomes = samples.iter().filter(|s| s.wdl.is_some()).count();
    let (of_moves, of_outcomes) = (moves.max(1) as f64, outcomes.max(1) as f64);
    Figures {
        moves,
        top1: sum(0) / of_moves,
        top3: sum(1) / of_moves,
        policy_loss: sum(2) / of_moves,
        outcomes,
        value_loss: sum(3) / of_outcomes,
    }
}

/// Hits among the first one and three, and the two summed losses.
fn measure_batch<B: Kernels>(network: &Network<B>, samples: &[Sample], device: &B::Device) -> [f64; 4] {
    let batch = Batch::<B>::pack(samples, device);
    let output = network.forward(batch.input.clone());
    let log_p: Vec<f32> = floats(legal_log_probabilities(&output, &batch));
    let (mut top1, mut top3) = (0, 0);
    for (sample, row) in samples.iter().zip(log_p.chunks(MOST_LEGAL)).filter(|(s, _)| s.policy) {
        let own = row[sample.target];
        let better = row[..sample.legal.len()].iter().filter(|&&p| p > own).count();
        top1 += usize::from(better == 0);
        top3 += usize::from(better < 3);
    }
    let sums = losses(&output, &batch);
    [top1 as f64, top3 as f64, sums.policy.into_scalar().elem(), sums.value.into_scalar().elem()]
}

fn floats<B: Kernels>(tensor: Tensor<B, 2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}
