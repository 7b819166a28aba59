//! All squares into a few numbers: the shape of most value heads, and of policies over classes.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::super::config::Activation;
use super::super::curve::Curve;
use super::super::kernels::{Kernels, curved};
use super::super::linear::Linear;

/// Squares, compressed or not, one after another, through a hidden layer or not, to `out` numbers.
#[derive(Module, Debug)]
pub(in crate::network) struct Readout<B: Kernels> {
    pub(in crate::network) compress: Option<Linear<B>>,
    pub(in crate::network) hidden: Option<Linear<B>>,
    pub(in crate::network) out: Linear<B>,
    #[module(skip)]
    pub(in crate::network) activation: Activation,
}

impl<B: Kernels> Readout<B> {
    /// `(compress, hidden)` are the numbers that a square is compressed to and the width of the hidden layer.
    pub(in crate::network) fn new(
        d: usize,
        (compress, hidden): (Option<usize>, Option<usize>),
        out: usize,
        activation: Activation,
        device: &B::Device,
    ) -> Self {
        let flat = 64 * compress.unwrap_or(d);
        Readout {
            compress: compress.map(|c| Linear::new(d, c, 1.4, true, device)),
            hidden: hidden.map(|h| Linear::new(flat, h, 1.4, true, device)),
            out: Linear::new(hidden.unwrap_or(flat), out, 1.0, true, device),
            activation,
        }
    }

    /// `[batch × 64, d]` to `[batch, out]`.
    pub(in crate::network) fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let squares = match &self.compress {
            Some(compress) => self.activate(compress.forward(x)),
            None => x,
        };
        let [rows, width] = squares.dims();
        let flat = squares.reshape([rows / 64, 64 * width]);
        let hidden = match &self.hidden {
            Some(hidden) => self.activate(hidden.forward(flat)),
            None => flat,
        };
        self.out.forward(hidden)
    }

    fn activate(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        if self.activation == Activation::Relu { relu(x) } else { curved(x, Curve::Gelu) }
    }
}
