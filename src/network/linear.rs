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

    /// With so many outputs, if it has fewer: to the new ones lead weights as [`new`](Linear::new) draws them.
    pub(super) fn with_outputs(self, to: usize, gain: f64) -> Linear<B> {
        let ([from, own], device) = (self.weight.dims(), self.weight.device());
        if to <= own {
            return self;
        }
        let new = Linear::new(from, to - own, gain, self.bias.is_some(), &device);
        let bias = self.bias.zip(new.bias).map(|(own, new)| Tensor::cat(vec![own.val(), new.val()], 0).detach());
        Linear {
            weight: Param::from_tensor(Tensor::cat(vec![self.weight.val(), new.weight.val()], 1).detach()),
            bias: bias.map(Param::from_tensor),
        }
    }

    /// With so many outputs, if it has fewer: the new ones are zero.
    pub(super) fn with_silent_outputs(self, to: usize) -> Linear<B> {
        let ([from, own], device) = (self.weight.dims(), self.weight.device());
        if to <= own {
            return self;
        }
        let weight = Tensor::cat(vec![self.weight.val(), Tensor::zeros([from, to - own], &device)], 1);
        let bias = self.bias.map(|bias| Tensor::cat(vec![bias.val(), Tensor::zeros([to - own], &device)], 0));
        Linear { weight: Param::from_tensor(weight.detach()), bias: bias.map(|bias| Param::from_tensor(bias.detach())) }
    }

    /// With so many inputs, if it has fewer: the new ones count for nothing.
    pub(super) fn with_inputs(self, from: usize) -> Linear<B> {
        let ([own, to], device) = (self.weight.dims(), self.weight.device());
        if from <= own {
            return self;
        }
        let new = Tensor::zeros([from - own, to], &device);
        Linear { weight: Param::from_tensor(Tensor::cat(vec![self.weight.val(), new], 0).detach()), ..self }
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
