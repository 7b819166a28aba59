//! A linear layer on rows: `[rows, in] → [rows, out]`.

use burn::module::{Module, Param};
use burn::tensor::backend::Backend;
use burn::tensor::{Distribution, Tensor};

use super::kernels::{Kernels, add_row, product};

/// `x·W + b`, always on two dimensions: one matrix product, whatever the backend makes of batches.
#[derive(Module, Debug)]
pub(crate) struct Linear<B: Kernels> {
    /// `[in, out]`
    pub(super) weight: Param<Tensor<B, 2>>,
    pub(super) bias: Option<Param<Tensor<B, 1>>>,
}

impl<B: Kernels> Linear<B> {
    /// Weights drawn from a normal distribution of deviation `gain / √in`; biases zero.
    pub(crate) fn new(from: usize, to: usize, gain: f64, bias: bool, device: &B::Device) -> Linear<B> {
        Linear {
            weight: normal([from, to], gain / (from as f64).sqrt(), device),
            bias: bias.then(|| Param::from_tensor(Tensor::zeros([to], device))),
        }
    }

    /// A layer of the same shape, of weights of its own, that gives zeros.
    pub(super) fn silent(self) -> Linear<B> {
        Linear {
            weight: Param::from_tensor(self.weight.val().zeros_like()),
            bias: self.bias.map(|bias| Param::from_tensor(bias.val().zeros_like())),
        }
    }

    /// `[rows, in] → [rows, out]`
    pub(crate) fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let y = product(x, self.weight.val());
        match &self.bias {
            Some(bias) => add_row(y, bias.val().unsqueeze()),
            None => y,
        }
    }
}

/// A parameter drawn from a normal distribution.
pub(crate) fn normal<B: Backend, const D: usize>(
    shape: [usize; D],
    deviation: f64,
    device: &B::Device,
) -> Param<Tensor<B, D>> {
    Param::from_tensor(Tensor::random(shape, Distribution::Normal(0.0, deviation), device))
}
