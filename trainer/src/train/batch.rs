//! Samples as tensors.

use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};
use glance::board::{MoveIndex, TIME_BINS};
use glance::evaluate::{bins_target, evaluation_target};
use glance::network::{Input, Kernels, Network, ValueHead};

use super::recipe::PolicyLoss;
use crate::data::sample::{MOST_LEGAL, Sample};

/// What training is to make small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aims {
    /// Weight of the value's loss against the policy's.
    pub value_weight: f64,
    /// Weight of the loss of the time taken.
    pub time_weight: f64,
    /// Among which moves the one played is to be found.
    pub policy: PolicyLoss,
    /// Share of the target that is spread evenly over the legal moves.
    pub smoothing: f32,
}

/// A batch on a device, laid out for one network.
#[derive(Clone, Debug)]
pub struct Batch<B: Backend> {
    /// What the network sees.
    pub input: Input<B>,
    /// The legal moves as the network names them, padded: `[n, 128]`.
    pub legal: Tensor<B, 2, Int>,
    /// Zero for a legal move, a large negative number for padding: `[n, 128]`.
    pub padding: Tensor<B, 2>,
    /// The move played among the legal ones, as a distribution; all zero where it is not worth learning: `[n, 128]`.
    pub target: Tensor<B, 2>,
    /// One where the move is worth learning: `[n]`.
    pub worth: Tensor<B, 1>,
    /// What the value head's numbers are to be; all zero where nobody knows: `[n, outputs]`, one column where there is no head.
    pub value: Tensor<B, 2>,
    /// One where somebody knows: `[n, 1]`.
    pub judged: Tensor<B, 2>,
    /// The time taken as probabilities of its bins; all zero where it is not known: `[n, TIME_BINS]`.
    pub time: Tensor<B, 2>,
}

const NEVER: f32 = -1e9;

/// What a value head is to say of a sample, as numbers; `None` where nobody knows.
pub fn value_target(head: &ValueHead, sample: &Sample) -> Option<Vec<f32>> {
    match head {
        ValueHead::Wdl { .. } => sample.wdl.map(|w| vec![w.win, w.draw, w.loss]),
        ValueHead::Tanh { .. } => sample.wdl.map(|w| vec![w.balance()]),
        ValueHead::Evaluation { .. } => sample.facts.pawns.map(|pawns| vec![evaluation_target(pawns)]),
        ValueHead::Bins { count, .. } => sample.wdl.map(|w| bins_target(w.score(), *count)),
        ValueHead::None => None,
    }
}

impl<B: Kernels> Batch<B> {
    /// Lays samples out for training.
    pub fn pack(samples: &[Sample], network: &Network<B>, aims: &Aims, device: &B::Device) -> Batch<B> {
        let n = samples.len();
        let head = &network.config().value;
        let columns = head.outputs().max(1);
        let mut legal = vec![0_i32; n * MOST_LEGAL];
        let mut padding = vec![NEVER; n * MOST_LEGAL];
        let mut target = vec![0_f32; n * MOST_LEGAL];
        let mut worth = Vec::with_capacity(n);
        let mut value = Vec::with_capacity(n * columns);
        let mut judged = Vec::with_capacity(n);
        let mut played = Vec::with_capacity(n);
        let mut time = vec![0_f32; n * TIME_BINS];
        for (i, sample) in samples.iter().enumerate() {
            let row = i * MOST_LEGAL;
            let named = |m: u16| MoveIndex::new(m.into()).map(|m| network.named(m, &sample.features));
            for (j, &m) in sample.legal.iter().enumerate() {
                legal[row + j] = named(m).map_or(0, |m| m.get() as i32);
                padding[row + j] = 0.0;
            }
            if sample.policy {
                let even = aims.smoothing / sample.legal.len().max(1) as f32;
                target[row..row + sample.legal.len()].fill(even);
                target[row + sample.target] += 1.0 - aims.smoothing;
            }
            worth.push(f32::from(u8::from(sample.policy)));
            played.extend(sample.legal.get(sample.target).and_then(|&m| named(m)));
            if let Some(taken) = &sample.taken {
                time[i * TIME_BINS..][..TIME_BINS].copy_from_slice(&taken.bins());
            }
            let known = value_target(head, sample);
            judged.push(f32::from(u8::from(known.is_some())));
            value.extend(known.unwrap_or_else(|| vec![0.0; columns]));
        }
        let shape = [n, MOST_LEGAL];
        let input = network.pack(samples.iter().map(|s| &s.features), device);
        Batch {
            input: network.ask_played(input, played.into_iter()),
            legal: Tensor::from_data(TensorData::new(legal, shape), device),
            padding: Tensor::from_data(TensorData::new(padding, shape), device),
            target: Tensor::from_data(TensorData::new(target, shape), device),
            worth: Tensor::from_data(TensorData::new(worth, [n]), device),
            value: Tensor::from_data(TensorData::new(value, [n, columns]), device),
            judged: Tensor::from_data(TensorData::new(judged, [n, 1]), device),
            time: Tensor::from_data(TensorData::new(time, [n, TIME_BINS]), device),
        }
    }
}
