//! Positions as tensors.

use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};

use super::heads::Question;

/// A batch of positions as a network takes it: made by [`Network::pack`](super::Network::pack), laid out as its embedding
/// wants it.
#[derive(Clone, Debug)]
pub struct Input<B: Backend> {
    /// Positions.
    pub(super) n: usize,
    /// What is looked up in tables: `[batch, …]`.
    pub(super) codes: Tensor<B, 2, Int>,
    /// What is multiplied: `[batch, …]`.
    pub(super) values: Tensor<B, 2>,
    /// Which moves the autoregressive head is asked about.
    pub(super) question: Question,
}

/// Rows of numbers being laid out for a batch.
#[derive(Default)]
pub(super) struct Pack {
    pub(super) codes: Vec<i32>,
    pub(super) values: Vec<f32>,
}

impl Pack {
    /// The rows of `n` positions as tensors. A side that nothing was written to gets a column of zeros.
    pub(super) fn into_input<B: Backend>(mut self, n: usize, question: Question, device: &B::Device) -> Input<B> {
        if self.codes.is_empty() {
            self.codes.resize(n, 0);
        }
        if self.values.is_empty() {
            self.values.resize(n, 0.0);
        }
        let (codes, values) = (self.codes.len() / n.max(1), self.values.len() / n.max(1));
        Input {
            n,
            codes: Tensor::from_data(TensorData::new(self.codes, [n, codes]), device),
            values: Tensor::from_data(TensorData::new(self.values, [n, values]), device),
            question,
        }
    }
}
