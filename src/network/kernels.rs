//! The two operations that a transformer spends its time in besides matrix products, each as one
//! differentiable operation instead of the dozen that automatic differentiation would record.
//!
//! A backend gets the plain composition (or its own fused kernel); under [`Autodiff`] the gradients are written
//! out by hand, which saves both time and memory on every backend.

use burn::tensor::activation::softmax;
use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Int, Tensor, TensorData, TensorPrimitive};

use super::curve::Curve;

/// A backend that can run the network.
///
/// Tokens are rows: a batch of n positions is `[n × tokens, d]`, and heads lie side by side in a row.
pub trait Kernels: Backend {
    /// `softmax(q·kᵀ/√c + bias)·v` in each head, over rows `[n × tokens, heads × c]`. The bias is `[n, heads, tokens, tokens]`, or
    /// 1 in the place of any of the first three: the same for all of these.
    fn biased_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        shape: Shape,
    ) -> FloatTensor<Self> {
        let [q, k, v] = [q, k, v].map(|t| from::<Self, 2>(t));
        let p = attention_weights(q, k, bias.map(from), shape);
        Self::merge_heads(into(p.matmul(split_heads(v, shape))))
    }

    /// `[n, heads, tokens, c]` to rows `[n × tokens, heads × c]`.
    fn merge_heads(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x: Tensor<Self, 4> = from(x);
        let [n, heads, squares, c] = x.dims();
        into(x.swap_dims(1, 2).reshape([n * squares, heads * c]))
    }

    /// An activation of every number: the values, and the derivatives where they are `wanted`.
    fn activate(x: FloatTensor<Self>, kind: Curve, wanted: bool) -> (FloatTensor<Self>, Option<FloatTensor<Self>>) {
        let x = from::<Self, 2>(x);
        let derivative = wanted.then(|| into(kind.derivative(x.clone())));
        (into(kind.values(x)), derivative)
    }

    /// For each of 64 squares the rows of the squares around it, row by row from below left, zeros beyond the edge:
    /// `[n × 64, c]` to `[n × 64, 9 × c]`.
    fn neighbours(x: FloatTensor<Self>) -> FloatTensor<Self> {
        into(around(from::<Self, 2>(x), false))
    }

    /// The adjoint of [`neighbours`](Kernels::neighbours): each square collects what its neighbours hold for it,
    /// `[n × 64, 9 × c]` to `[n × 64, c]`.
    fn collect(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x = from::<Self, 2>(x);
        let [rows, nine] = x.dims();
        let parts = around(x.reshape([rows * 9, nine / 9]), true);
        into(parts.reshape([rows, 9, nine / 9]).sum_dim(1).reshape([rows, nine / 9]))
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

    /// In one pass that the compiler can vectorise: burn-flex's own goes through the C library's erf and tanh, number by number.
    fn activate(x: FloatTensor<Self>, kind: Curve, wanted: bool) -> (FloatTensor<Self>, Option<FloatTensor<Self>>) {
        let x = x.to_contiguous();
        let dims = x.layout().shape().dims::<2>();
        let numbers: &[f32] = x.storage();
        let (values, derivatives) = kind.apply(numbers, wanted);
        let tensor = |data| burn_flex::FlexTensor::from_data(TensorData::new(data, dims));
        (tensor(values), derivatives.map(tensor))
    }

    /// Copies whole rows.
    fn neighbours(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x = x.to_contiguous();
        let [rows, c] = x.layout().shape().dims::<2>();
        let from: &[f32] = x.storage();
        let mut to = vec![0.0; rows * 9 * c];
        for (row, out) in to.chunks_exact_mut((9 * c).max(1)).enumerate() {
            for (k, out) in out.chunks_exact_mut(c).enumerate() {
                if let Some(other) = neighbour(row % 64, k) {
                    let at = (row / 64 * 64 + other) * c;
                    out.copy_from_slice(&from[at..at + c]);
                }
            }
        }
        burn_flex::FlexTensor::from_data(TensorData::new(to, [rows, 9 * c]))
    }

    /// Adds whole rows.
    fn collect(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x = x.to_contiguous();
        let [rows, nine] = x.layout().shape().dims::<2>();
        let (c, from): (usize, &[f32]) = (nine / 9, x.storage());
        let mut to = vec![0.0; rows * c];
        for (row, held) in from.chunks_exact(nine.max(1)).enumerate() {
            for (k, held) in held.chunks_exact(c).enumerate() {
                if let Some(other) = neighbour(row % 64, k) {
                    let at = (row / 64 * 64 + other) * c;
                    to[at..at + c].iter_mut().zip(held).for_each(|(sum, x)| *sum += x);
                }
            }
        }
        burn_flex::FlexTensor::from_data(TensorData::new(to, [rows, c]))
    }
}
impl Kernels for burn_ndarray::NdArray<f32> {}
#[cfg(feature = "cuda")]
impl Kernels for burn::backend::Cuda {}

/// How rows are positions' tokens, and heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Tokens of a position.
    pub tokens: usize,
    /// Heads.
    pub heads: usize,
}

/// Rows `[n × tokens, heads × c]` as `[n, heads, tokens, c]`: a view.
pub(super) fn split_heads<B: Backend>(x: Tensor<B, 2>, Shape { tokens, heads }: Shape) -> Tensor<B, 4> {
    let [rows, d] = x.dims();
    x.reshape([rows / tokens, tokens, heads, d / heads]).swap_dims(1, 2)
}

/// `softmax(q·kᵀ/√c + bias)`: `[n, heads, tokens, tokens]`.
fn attention_weights<B: Backend>(
    q: Tensor<B, 2>,
    k: Tensor<B, 2>,
    bias: Option<Tensor<B, 4>>,
    shape: Shape,
) -> Tensor<B, 4> {
    let scaled = q.clone().mul_scalar(scale(&q, shape.heads));
    let scores = split_heads(scaled, shape).matmul(split_heads(k, shape).swap_dims(2, 3));
    softmax(
        match bias {
            Some(bias) => scores + bias,
            None => scores,
        },
        3,
    )
}

/// `1/√c`
pub(super) fn scale<B: Backend>(q: &Tensor<B, 2>, heads: usize) -> f64 {
    1.0 / ((q.dims()[1] / heads) as f64).sqrt()
}

/// The `k`th of the nine squares around a square (itself is the fifth), if it is on the board.
fn neighbour(square: usize, k: usize) -> Option<usize> {
    let (file, rank) = ((square % 8 + k % 3).checked_sub(1)?, (square / 8 + k / 3).checked_sub(1)?);
    (file < 8 && rank < 8).then_some(rank * 8 + file)
}

/// Rows around each square, one after another: of `[n × 64, c]`, or, for the adjoint, what each neighbour of a square holds for it, of
/// `[n × 64 × 9, c]`.
fn around<B: Backend>(x: Tensor<B, 2>, adjoint: bool) -> Tensor<B, 2> {
    let [rows, c] = x.dims();
    let squares = if adjoint { rows / 9 } else { rows };
    let device = x.device();
    // The row after the last is zero.
    let table: Vec<i32> = (0..squares * 9)
        .map(|i| {
            let (row, k) = (i / 9, i % 9);
            let k = if adjoint { 8 - k } else { k };
            let other = neighbour(row % 64, k).map(|other| row / 64 * 64 + other);
            // What lies in direction k from here sees this square in direction 8 − k.
            other.map_or(rows, |other| if adjoint { other * 9 + 8 - k } else { other }) as i32
        })
        .collect();
    let table = Tensor::<B, 1, Int>::from_data(TensorData::new(table, [squares * 9]), &device);
    let rows = Tensor::cat(vec![x, Tensor::zeros([1, c], &device)], 0).select(0, table);
    if adjoint { rows } else { rows.reshape([squares, 9 * c]) }
}

const EPSILON: f64 = 1e-5;

/// An activation of every number.
pub(super) fn curved<B: Kernels>(x: Tensor<B, 2>, kind: Curve) -> Tensor<B, 2> {
    from(B::activate(into(x), kind, false).0)
}

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

    /// What the gradients are made from: q, k, v in rows, the attention weights, and how the rows are to be read.
    type Saved<B> = ([FloatTensor<B>; 4], Shape);

    /// Gradients of q, k and v in rows, and of the scores `[n, heads, tokens, tokens]`.
    struct Parts<B: Backend> {
        rows: [Tensor<B, 2>; 3],
        scores: Tensor<B, 4>,
    }

    fn attention_gradients<B: Kernels>(grad: FloatTensor<B>, (saved, shape): Saved<B>) -> Parts<B> {
        let [q, k, v, p] = saved;
        let [q, k, v] = [q, k, v].map(from::<B, 2>);
        let p: Tensor<B, 4> = from(p);
        let scale = scale(&q, shape.heads);
        let grad = split_heads(from::<B, 2>(grad), shape);
        let merge = |x: Tensor<B, 4>| from::<B, 2>(B::merge_heads(into(x)));
        let dv = p.clone().swap_dims(2, 3).matmul(grad.clone());
        // Softmax: ds = p ∘ dp − p · Σ p ∘ dp.
        let dp = grad.matmul(split_heads(v, shape).swap_dims(2, 3)) * p.clone();
        let ds = dp.clone() - p * dp.sum_dim(3);
        let dq = merge(ds.clone().matmul(split_heads(k, shape))).mul_scalar(scale);
        let dk = merge(ds.clone().swap_dims(2, 3).matmul(split_heads(q, shape))).mul_scalar(scale);
        Parts { rows: [dq, dk, merge(dv)], scores: ds }
    }

    impl<B: Kernels> Backward<B, 3> for Attention {
        type State = Saved<B>;

        fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
            let grad = grads.consume::<B>(&ops.node);
            let parts = attention_gradients::<B>(grad, ops.state);
            for (node, grad) in ops.parents.into_iter().zip(parts.rows) {
                if let Some(node) = node {
                    grads.register::<B>(node.id, into(grad));
                }
            }
        }
    }

    impl<B: Kernels> Backward<B, 4> for Attention {
        /// The same, and the shape of the bias.
        type State = (Saved<B>, [usize; 4]);

        fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
            let grad = grads.consume::<B>(&ops.node);
            let (saved, shape) = ops.state;
            let parts = attention_gradients::<B>(grad, saved);
            let [q, k, v, bias] = ops.parents;
            for (node, grad) in [q, k, v].into_iter().zip(parts.rows) {
                if let Some(node) = node {
                    grads.register::<B>(node.id, into(grad));
                }
            }
            if let Some(node) = bias {
                // What was the same for several takes the gradients of all of them.
                let summed = (0..4).fold(parts.scores, |sum, dim| {
                    if shape[dim] == 1 && sum.dims()[dim] != 1 { sum.sum_dim(dim) } else { sum }
                });
                grads.register::<B>(node.id, into(summed));
            }
        }
    }

    /// An activation; its state is the derivatives.
    #[derive(Debug)]
    struct Activate;

    impl<B: Backend> Backward<B, 1> for Activate {
        type State = FloatTensor<B>;

        fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
            let derivatives = from::<B, 2>(ops.state);
            unary::<B, _>(ops.parents, ops.node, grads, |grad| into(from::<B, 2>(grad) * derivatives));
        }
    }

    /// Squares and the squares around them; `true` collects.
    #[derive(Debug)]
    struct Around(bool);

    impl<B: Kernels> Backward<B, 1> for Around {
        type State = ();

        fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
            let Around(collects) = self;
            unary::<B, _>(
                ops.parents,
                ops.node,
                grads,
                |grad| {
                    if collects { B::neighbours(grad) } else { B::collect(grad) }
                },
            );
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
            bias: Option<FloatTensor<Self>>,
            shape: Shape,
        ) -> FloatTensor<Self> {
            let nodes = [&q, &k, &v].map(|t| t.node.clone());
            let (q, k, v) = (q.primitive, k.primitive, v.primitive);
            // The attended values, and what the gradients will want.
            let look = |bias: Option<FloatTensor<B>>, [q, k, v]: [FloatTensor<B>; 3]| {
                let p = attention_weights::<B>(from(q.clone()), from(k.clone()), bias.map(from), shape);
                let out = p.clone().matmul(split_heads(from::<B, 2>(v.clone()), shape));
                (([q, k, v, into(p)], shape), B::merge_heads(into(out)))
            };
            let Some(bias) = bias else {
                return match Attention.prepare::<C>(nodes).compute_bound().stateful() {
                    OpsKind::Tracked(prep) => {
                        let (saved, out) = look(None, [q, k, v]);
                        prep.finish(saved, out)
                    }
                    OpsKind::UnTracked(prep) => prep.finish(B::biased_attention(q, k, v, None, shape)),
                };
            };
            let [node_q, node_k, node_v] = nodes;
            let nodes = [node_q, node_k, node_v, bias.node.clone()];
            let bias = bias.primitive;
            match Attention.prepare::<C>(nodes).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let dims = from::<B, 4>(bias.clone()).dims();
                    let (saved, out) = look(Some(bias), [q, k, v]);
                    prep.finish((saved, dims), out)
                }
                OpsKind::UnTracked(prep) => prep.finish(B::biased_attention(q, k, v, Some(bias), shape)),
            }
        }

        fn activate(x: FloatTensor<Self>, kind: Curve, _: bool) -> (FloatTensor<Self>, Option<FloatTensor<Self>>) {
            let values = match Activate.prepare::<C>([x.node.clone()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let (values, derivatives) = B::activate(x.primitive, kind, true);
                    match derivatives {
                        Some(derivatives) => prep.finish(derivatives, values),
                        None => unreachable!("they were wanted"),
                    }
                }
                OpsKind::UnTracked(prep) => prep.finish(B::activate(x.primitive, kind, false).0),
            };
            (values, None)
        }

        fn neighbours(x: FloatTensor<Self>) -> FloatTensor<Self> {
            match Around(false).prepare::<C>([x.node.clone()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => prep.finish((), B::neighbours(x.primitive)),
                OpsKind::UnTracked(prep) => prep.finish(B::neighbours(x.primitive)),
            }
        }

        fn collect(x: FloatTensor<Self>) -> FloatTensor<Self> {
            match Around(true).prepare::<C>([x.node.clone()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => prep.finish((), B::collect(x.primitive)),
                OpsKind::UnTracked(prep) => prep.finish(B::collect(x.primitive)),
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
