//! The two operations that a transformer spends its time in besides matrix products, each as one
//! differentiable operation instead of the dozen that automatic differentiation would record.
//!
//! A backend gets the plain composition (or its own fused kernel); under [`Autodiff`] the gradients are written
//! out by hand, which saves both time and memory on every backend.

use burn::tensor::activation::softmax;
use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorData, TensorPrimitive};

/// A backend that can run the network.
///
/// Squares are rows: a batch of n positions is `[n × 64, d]`, and heads lie side by side in a row.
pub trait Kernels: Backend {
    /// `softmax(q·kᵀ/√c + bias)·v` in each head, over rows `[n × 64, heads × c]`, bias `[n, heads, 64, 64]`.
    fn biased_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let heads = from::<Self, 4>(bias.clone()).dims()[1];
        let [q, k, v] = [q, k, v].map(|t| from::<Self, 2>(t));
        let p = attention_weights(q, k, from(bias));
        Self::merge_heads(into(p.matmul(split_heads(v, heads))))
    }

    /// `[n, heads, 64, c]` to rows `[n × 64, heads × c]`.
    fn merge_heads(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x: Tensor<Self, 4> = from(x);
        let [n, heads, squares, c] = x.dims();
        into(x.swap_dims(1, 2).reshape([n * squares, heads * c]))
    }

    /// `x / √(mean(x²) + ε)` over the last dimension of `[rows, d]`.
    fn rms_norm(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let (y, _) = rms_norm_parts(from::<Self, 2>(x));
        into(y)
    }
}

impl Kernels for burn_flex::Flex {
    /// Copies runs of c numbers: burn-flex's own copy of a four-dimensional view goes number by number.
    fn merge_heads(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x = x.to_contiguous();
        let [n, heads, squares, c] = x.layout().shape().dims::<4>();
        let from: &[f32] = x.storage();
        let mut to = Vec::with_capacity(from.len());
        for position in from.chunks_exact((heads * squares * c).max(1)) {
            for square in 0..squares {
                for head in 0..heads {
                    let at = (head * squares + square) * c;
                    to.extend_from_slice(&position[at..at + c]);
                }
            }
        }
        burn_flex::FlexTensor::from_data(TensorData::new(to, [n * squares, heads * c]))
    }
}
impl Kernels for burn_ndarray::NdArray<f32> {}
#[cfg(feature = "cuda")]
impl Kernels for burn::backend::Cuda {}

/// Rows `[n × 64, heads × c]` as `[n, heads, 64, c]`: a view.
fn split_heads<B: Backend>(x: Tensor<B, 2>, heads: usize) -> Tensor<B, 4> {
    let [rows, d] = x.dims();
    x.reshape([rows / 64, 64, heads, d / heads]).swap_dims(1, 2)
}

/// `softmax(q·kᵀ/√c + bias)`: `[n, heads, 64, 64]`.
fn attention_weights<B: Backend>(q: Tensor<B, 2>, k: Tensor<B, 2>, bias: Tensor<B, 4>) -> Tensor<B, 4> {
    let heads = bias.dims()[1];
    let scaled = q.clone().mul_scalar(scale(&q, heads));
    let scores = split_heads(scaled, heads).matmul(split_heads(k, heads).swap_dims(2, 3));
    softmax(scores + bias, 3)
}

fn scale<B: Backend>(q: &Tensor<B, 2>, heads: usize) -> f64 {
    1.0 / ((q.dims()[1] / heads) as f64).sqrt()
}

const EPSILON: f64 = 1e-5;

pub(super) fn from<B: Backend, const D: usize>(x: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(x))
}

pub(super) fn into<B: Backend, const D: usize>(x: Tensor<B, D>) -> FloatTensor<B> {
    x.into_primitive().tensor()
}

/// The normalised rows, and what each was multiplied by.
fn rms_norm_parts<B: Backend>(x: Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 2>) {
    let scale = x.clone().square().mean_dim(1).add_scalar(EPSILON).sqrt().recip();
    (x * scale.clone(), scale)
}

#[cfg(feature = "training")]
mod gradients {
    use super::*;
    use burn::backend::Autodiff;
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};

    #[derive(Debug)]
    struct Attention;

    impl<B: Kernels> Backward<B, 4> for Attention {
        /// q, k, v in rows, and the attention weights.
        type State = [FloatTensor<B>; 4];

        fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
            let grad: Tensor<B, 2> = from(grads.consume::<B>(&ops.node));
            let [q, k, v, p] = ops.state;
            let [q, k, v] = [q, k, v].map(from::<B, 2>);
            let p: Tensor<B, 4> = from(p);
            let heads = p.dims()[1];
            let scale = scale(&q, heads);
            let grad = split_heads(grad, heads);
            let merge = |x: Tensor<B, 4>| from::<B, 2>(B::merge_heads(into(x)));
            let [q_node, k_node, v_node, bias_node] = ops.parents;
            if let Some(node) = v_node {
                let dv = p.clone().swap_dims(2, 3).matmul(grad.clone());
                grads.register::<B>(node.id, into(merge(dv)));
            }
            // Softmax: ds = p ∘ dp − p · Σ p ∘ dp.
            let dp = grad.matmul(split_heads(v, heads).swap_dims(2, 3)) * p.clone();
            let ds = dp.clone() - p * dp.sum_dim(3);
            if let Some(node) = q_node {
                let dq = merge(ds.clone().matmul(split_heads(k, heads)));
                grads.register::<B>(node.id, into(dq.mul_scalar(scale)));
            }
            if let Some(node) = k_node {
                let dk = merge(ds.clone().swap_dims(2, 3).matmul(split_heads(q, heads)));
                grads.register::<B>(node.id, into(dk.mul_scalar(scale)));
            }
            if let Some(node) = bias_node {
                grads.register::<B>(node.id, into(ds));
            }
        }
    }

    #[derive(Debug)]
    struct RmsNorm;

    impl<B: Backend> Backward<B, 1> for RmsNorm {
        /// The normalised rows and their scales.
        type State = (FloatTensor<B>, FloatTensor<B>);

        fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
            let (y, scale) = ops.state;
            let (y, scale) = (from::<B, 2>(y), from::<B, 2>(scale));
            unary::<B, _>(ops.parents, ops.node, grads, |grad| {
                let grad = from::<B, 2>(grad);
                let along = (grad.clone() * y.clone()).mean_dim(1);
                into((grad - y * along) * scale)
            });
        }
    }

    impl<B: Kernels, C: CheckpointStrategy> Kernels for Autodiff<B, C> {
        fn biased_attention(
            q: FloatTensor<Self>,
            k: FloatTensor<Self>,
            v: FloatTensor<Self>,
            bias: FloatTensor<Self>,
        ) -> FloatTensor<Self> {
            let nodes = [&q, &k, &v, &bias].map(|t| t.node.clone());
            let (q, k, v, bias) = (q.primitive, k.primitive, v.primitive, bias.primitive);
            match Attention.prepare::<C>(nodes).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let heads = from::<B, 4>(bias.clone()).dims()[1];
                    let p = attention_weights::<B>(from(q.clone()), from(k.clone()), from(bias));
                    let out = p.clone().matmul(split_heads(from::<B, 2>(v.clone()), heads));
                    prep.finish([q, k, v, into(p)], B::merge_heads(into(out)))
                }
                OpsKind::UnTracked(prep) => prep.finish(B::biased_attention(q, k, v, bias)),
            }
        }

        fn rms_norm(x: FloatTensor<Self>) -> FloatTensor<Self> {
            match RmsNorm.prepare::<C>([x.node.clone()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let (y, scale) = rms_norm_parts(from::<B, 2>(x.primitive));
                    let y = into(y);
                    prep.finish((y.clone(), into(scale)), y)
                }
                OpsKind::UnTracked(prep) => prep.finish(B::rms_norm(x.primitive)),
            }
        }
    }
}
