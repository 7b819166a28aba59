//! One pre-norm encoder block.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, relu};

use super::config::{Activation, Smolgen};
use super::kernels::{Kernels, from, into};
use super::linear::Linear;
use super::smolgen::{Generator, StaticBias};

/// `x + attention(norm(x))`, then `x + ffn(norm(x))`.
#[derive(Module, Debug)]
pub(super) struct Block<B: Kernels> {
    query: Linear<B>,
    key: Linear<B>,
    value: Linear<B>,
    out: Linear<B>,
    static_bias: Option<StaticBias<B>>,
    generator: Option<Generator<B>>,
    ffn_in: Linear<B>,
    ffn_out: Linear<B>,
    heads: usize,
    #[module(skip)]
    activation: Activation,
}

/// The sizes of a block.
pub(super) struct Sizes<'a> {
    pub(super) layers: usize,
    pub(super) d: usize,
    pub(super) heads: usize,
    pub(super) ffn: usize,
    pub(super) activation: Activation,
    pub(super) static_bias: bool,
    pub(super) smolgen: Option<&'a Smolgen>,
}

impl<B: Kernels> Block<B> {
    pub(super) fn new(s: &Sizes, device: &B::Device) -> Self {
        // Residual branches start small, so that the sum of all of them keeps its size (GPT-2).
        let small = 1.0 / (2.0 * s.layers as f64).sqrt();
        Block {
            query: Linear::new(s.d, s.d, 1.0, true, device),
            key: Linear::new(s.d, s.d, 1.0, false, device),
            value: Linear::new(s.d, s.d, 1.0, true, device),
            out: Linear::new(s.d, s.d, small, true, device),
            static_bias: s.static_bias.then(|| StaticBias::new(s.heads, device)),
            generator: s.smolgen.map(|c| Generator::new(c, s.d, s.heads, device)),
            ffn_in: Linear::new(s.d, s.ffn, std::f64::consts::SQRT_2, true, device),
            ffn_out: Linear::new(s.ffn, s.d, small, true, device),
            heads: s.heads,
            activation: s.activation,
        }
    }

    /// `[batch × 64, d]` to the same; `shared` is the generators' matrix.
    pub(super) fn forward(&self, x: Tensor<B, 2>, shared: Option<Tensor<B, 2>>) -> Tensor<B, 2> {
        let y = norm(x.clone());
        let x = x + self.out.forward(self.attend(y, shared));
        let hidden = self.ffn_in.forward(norm(x.clone()));
        let hidden = match self.activation {
            Activation::Relu => relu(hidden),
            Activation::Gelu => gelu(hidden),
        };
        x + self.ffn_out.forward(hidden)
    }

    fn attend(&self, y: Tensor<B, 2>, shared: Option<Tensor<B, 2>>) -> Tensor<B, 2> {
        let [rows, _] = y.dims();
        let (n, heads) = (rows / 64, self.heads);
        let (q, k, v) = (self.query.forward(y.clone()), self.key.forward(y.clone()), self.value.forward(y.clone()));
        let made = self.generator.as_ref().zip(shared).map(|(g, shared)| g.forward(y.clone(), shared));
        let fixed = self.static_bias.as_ref().map(StaticBias::forward);
        let bias = match (made, fixed) {
            // Added as two-dimensional rows: the shape that backends broadcast best.
            (Some(made), Some(fixed)) => made.reshape([n, heads * 64 * 64]) + fixed,
            (Some(made), None) => made.reshape([n, heads * 64 * 64]),
            (None, Some(fixed)) => fixed.expand([n, heads * 64 * 64]),
            (None, None) => Tensor::zeros([n, heads * 64 * 64], &y.device()),
        };
        let bias = bias.reshape([n, heads, 64, 64]);
        from(B::biased_attention(into(q), into(k), into(v), into(bias)))
    }
}

/// Root-mean-square normalisation of rows.
pub(super) fn norm<B: Kernels>(x: Tensor<B, 2>) -> Tensor<B, 2> {
    from(B::rms_norm(into(x)))
}
