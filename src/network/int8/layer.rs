//! A linear layer as plain numbers.

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use super::super::kernels::Kernels;
use super::super::linear::Linear;
use super::floats::{Begin, Left, Rows, product};

/// A tensor's numbers.
pub(super) fn numbers<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().iter().collect()
}

/// `x·W + b`
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// `[inputs, outputs]`
    weights: Vec<f32>,
    /// `[outputs]`
    biases: Vec<f32>,
}

impl Layer {
    /// A layer's numbers.
    pub(super) fn of<B: Kernels>(linear: &Linear<B>) -> Layer {
        let [_, outputs] = linear.weight.dims();
        let biases = linear.bias.as_ref().map_or_else(|| vec![0.0; outputs], |bias| numbers(bias.val()));
        Layer { weights: numbers(linear.weight.val()), biases }
    }

    /// A layer of weights `[inputs, outputs]` alone.
    pub(super) fn without_bias(weights: Vec<f32>, outputs: usize) -> Layer {
        Layer { weights, biases: vec![0.0; outputs] }
    }

    /// The layer whose outputs are so many times this one's.
    pub(super) fn scaled(mut self, by: f32) -> Layer {
        self.weights.iter_mut().chain(&mut self.biases).for_each(|x| *x *= by);
        self
    }

    /// Numbers that it takes.
    pub(super) fn inputs(&self) -> usize {
        self.weights.len() / self.outputs().max(1)
    }

    /// Numbers that it gives.
    pub(super) fn outputs(&self) -> usize {
        self.biases.len()
    }

    /// The weights and the bias of each output.
    pub(super) fn columns(&self) -> impl Iterator<Item = (Vec<f32>, f32)> {
        let column = |c| self.weights.iter().skip(c).step_by(self.outputs()).copied().collect();
        self.biases.iter().enumerate().map(move |(c, &bias)| (column(c), bias))
    }

    /// `[inputs]` to `[outputs]`, in single precision.
    pub(super) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let stride = self.outputs();
        let mut out = self.biases.clone();
        let x = Left::Plain(Rows { numbers: x, stride: x.len() });
        let weights = Rows { numbers: &self.weights, stride };
        product(x, weights, Begin::Held, &mut out, stride, [1, self.inputs(), stride]);
        out
    }
}
