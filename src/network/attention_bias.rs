//! Biases on the attention logits: a static map a head, a map made from the board, and what how men bear on each other adds to it.

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

/// Lets squares look at each other by how their men bear on one another: along each [edge](crate::board::Edge) gates of both squares, numbers that are made from
/// their rows, are added to both logits ([`edges`](super::kernels::edges)). The gates start at zero.
#[derive(Module, Debug)]
pub(super) struct EdgeBias<B: Kernels> {
    /// `[d, kinds × 4 × heads]`
    pub(super) gates: Linear<B>,
}

impl<B: Kernels> EdgeBias<B> {
    /// For so many kinds of edges.
    pub(super) fn new(d: usize, heads: usize, kinds: usize, device: &B::Device) -> Self {
        EdgeBias { gates: Linear::new(d, kinds * GATES * heads, 1.0, true, device).silent() }
    }

    /// For so many kinds, if it is for fewer: the others have gates of zero.
    pub(super) fn with_kinds(self, kinds: usize, heads: usize) -> Self {
        EdgeBias { gates: self.gates.with_silent_outputs(kinds * GATES * heads) }
    }

    /// A map a head, `[batch, heads, 64, 64]`, with what squares `[batch × 64, d]` gain by their edges, in bytes: `[batch, kinds × 64 × 8]`.
    pub(super) fn add_to(&self, map: Tensor<B, 4>, squares: Tensor<B, 2>, edges: Tensor<B, 2, Int>) -> Tensor<B, 4> {
        let [_, heads, tokens, _] = map.dims();
        let gates = self.gates.forward(squares);
        from(B::add_edges(into(map), into(gates), edges.into_primitive(), Shape { tokens, heads }))
    }
}
