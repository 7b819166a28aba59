//! Samples as tensors.

use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};
use glance::network::Input;

use crate::data::sample::{MOST_LEGAL, Sample};

/// A batch on a device.
#[derive(Clone, Debug)]
pub struct Batch<B: Backend> {
    /// What the network sees.
    pub input: Input<B>,
    /// The legal moves, padded: `[n, 128]`.
    pub legal: Tensor<B, 2, Int>,
    /// Zero for a legal move, a large negative number for padding: `[n, 128]`.
    pub padding: Tensor<B, 2>,
    /// One where the move played is, zero elsewhere; all zero where it is not worth learning: `[n, 128]`.
    pub target: Tensor<B, 2>,
    /// Win, draw, loss; all zero where nobody knows: `[n, 3]`.
    pub wdl: Tensor<B, 2>,
}

const NEVER: f32 = -1e9;

impl<B: Backend> Batch<B> {
    /// Packs samples.
    pub fn pack(samples: &[Sample], device: &B::Device) -> Batch<B> {
        let n = samples.len();
        let mut legal = vec![0_i32; n * MOST_LEGAL];
        let mut padding = vec![NEVER; n * MOST_LEGAL];
        let mut target = vec![0_f32; n * MOST_LEGAL];
        let mut wdl = Vec::with_capacity(n * 3);
        for (i, sample) in samples.iter().enumerate() {
            let row = i * MOST_LEGAL;
            for (j, &m) in sample.legal.iter().enumerate() {
                legal[row + j] = i32::from(m);
                padding[row + j] = 0.0;
            }
            target[row + sample.target] = if sample.policy { 1.0 } else { 0.0 };
            wdl.extend(sample.wdl.map_or([0.0; 3], |w| [w.win, w.draw, w.loss]));
        }
        let shape = [n, MOST_LEGAL];
        Batch {
            input: Input::pack(samples.iter().map(|s| &s.features), device),
            legal: Tensor::from_data(TensorData::new(legal, shape), device),
            padding: Tensor::from_data(TensorData::new(padding, shape), device),
            target: Tensor::from_data(TensorData::new(target, shape), device),
            wdl: Tensor::from_data(TensorData::new(wdl, [n, 3]), device),
        }
    }
}
