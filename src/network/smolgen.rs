//! Biases on the attention logits: a static map a head, and a map made from the board.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::config;
use super::kernels::{Kernels, product};
use super::linear::Linear;
use super::norm::norm;

/// Makes a 64 × 64 map a head from the whole board: squares are compressed, flattened, summed up in one
/// hidden layer, and expanded a head by a matrix that all blocks share (after lc0's smolgen).
#[derive(Module, Debug)]
pub(super) struct Generator<B: Kernels> {
    pub(super) compress: Linear<B>,
    pub(super) hidden: Linear<B>,
    pub(super) generate: Linear<B>,
    pub(super) heads: usize,
}

impl<B: Kernels> Generator<B> {
    pub(super) fn new(c: &config::Smolgen, d: usize, heads: usize, device: &B::Device) -> Self {
        Generator {
            compress: Linear::new(d, c.compress, 1.0, false, device),
            hidden: Linear::new(64 * c.compress, c.hidden, 1.4, true, device),
            generate: Linear::new(c.hidden, heads * c.generate, 1.0, true, device),
            heads,
        }
    }

    /// Squares `[batch × 64, d]` and the shared matrix `[generate, 64 × 64]` to `[batch × heads, 64 × 64]`.
    pub(super) fn forward(&self, squares: Tensor<B, 2>, shared: Tensor<B, 2>) -> Tensor<B, 2> {
        let compressed = self.compress.forward(squares);
        let [rows, c] = compressed.dims();
        let n = rows / 64;
        let hidden = relu(self.hidden.forward(compressed.reshape([n, 64 * c])));
        let codes = self.generate.forward(hidden);
        let [generate, _] = shared.dims();
        let codes = norm(codes.reshape([n * self.heads, generate]));
        product(codes, shared)
    }
}

/// A learned map a head, the same for every board. Starts at zero.
#[derive(Module, Debug)]
pub(super) struct StaticBias<B: Kernels> {
    /// `[heads, tokens × tokens]`
    pub(super) map: Param<Tensor<B, 2>>,
}

impl<B: Kernels> StaticBias<B> {
    pub(super) fn new(heads: usize, tokens: usize, device: &B::Device) -> Self {
        StaticBias { map: Param::from_tensor(Tensor::zeros([heads, tokens * tokens], device)) }
    }

    /// `[1, heads × tokens × tokens]`
    pub(super) fn forward(&self) -> Tensor<B, 2> {
        let map = self.map.val();
        let [heads, squares] = map.dims();
        map.reshape([1, heads * squares])
    }
}
