//! Biases on the attention logits: a static map a head, a map made from the board, and what the attacks of men add to it.

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::{Int, Tensor};

use super::config;
use super::kernels::edges::GATES;
use super::kernels::{Kernels, Shape, from, into, product};
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

/// Lets squares look at squares by who attacks whom: where the man on one attacks the other, gates of both, each a number a head that is
/// made from the square's row, are added to both logits. The gates start at zero.
#[derive(Module, Debug)]
pub(super) struct AttackBias<B: Kernels> {
    /// `[d, 4 × heads]`
    pub(super) gates: Linear<B>,
}

impl<B: Kernels> AttackBias<B> {
    pub(super) fn new(d: usize, heads: usize, device: &B::Device) -> Self {
        AttackBias { gates: Linear::new(d, GATES * heads, 1.0, true, device).silent() }
    }

    /// A map a head, `[batch, heads, 64, 64]`, with what squares `[batch × 64, d]` gain by the [`attack_map`](crate::board::attack_map),
    /// in bytes: `[batch, 64 × 8]`.
    pub(super) fn add_to(&self, map: Tensor<B, 4>, squares: Tensor<B, 2>, attacks: Tensor<B, 2, Int>) -> Tensor<B, 4> {
        let [_, heads, tokens, _] = map.dims();
        let gates = self.gates.forward(squares);
        from(B::add_edges(into(map), into(gates), attacks.into_primitive(), Shape { tokens, heads }))
    }
}
