//! The two operations that a transformer spends its time in besides matrix products, each as one
//! differentiable operation instead of the dozen that automatic differentiation would record.
//!
//! A backend gets the plain composition (or its own fused kernel); under [`Autodiff`] the gradients are written
//! out by hand, which saves both time and memory on every backend.

mod attention;
#[cfg(all(feature = "training", target_arch = "x86_64"))]
mod bf16;
#[cfg(feature = "gpu")]
mod cube;
pub(super) mod edges;
mod flex;
mod fused;
#[cfg(feature = "training")]
mod fused_gradients;
#[cfg(feature = "gpu")]
mod fusion;
#[cfg(feature = "training")]
mod gradients;
mod heads;
#[cfg(feature = "training")]
mod layers;
mod matrices;
#[cfg(feature = "gpu")]
mod over_rows;
mod pairs;
#[cfg(feature = "training")]
mod rounding;
pub(super) mod rows;
#[cfg(feature = "gpu")]
mod tensor_cores;

use burn::tensor::activation::softmax;
use burn::tensor::backend::Backend;
use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{DType, ElementConversion, Int, Tensor, TensorData, TensorPrimitive};

use super::curve::Curve;
use super::precision::{cast, wide};
pub use fused::{AttentionInputs, FeedForwardInputs, Fused};
#[cfg(feature = "training")]
pub use rounding::Rounding;

/// A backend that can run the network.
///
/// Tokens are rows: a batch of n positions is `[n × tokens, d]`, and heads lie side by side in a row.
pub trait Kernels: Backend {
    /// Whether computing in bfloat16 means here that matrix products round what they multiply (`Rounding`), while tensors stay
    /// in single precision: where nothing but products would gain.
    fn rounds_products() -> bool {
        false
    }

    /// The fused parts of an encoder block with their gradients, where this backend has them and they are of use now.
    fn fused() -> Option<Fused<Self>> {
        None
    }

    /// Whether [`fused_attention`](Kernels::fused_attention) and [`fused_feed_forward`](Kernels::fused_feed_forward) are there.
    fn fuses_blocks() -> bool {
        false
    }

    /// The attention of an encoder block, fused; `None` where it is to be composed.
    fn fused_attention(_given: AttentionInputs<FloatTensor<Self>>, _shape: Shape) -> Option<FloatTensor<Self>> {
        None
    }

    /// The feed-forward part of an encoder block, fused; `None` where it is to be composed.
    fn fused_feed_forward(_given: FeedForwardInputs<FloatTensor<Self>>) -> Option<FloatTensor<Self>> {
        None
    }

    /// `softmax(q·kᵀ/√c + bias)·v` in each head, over rows `[n × tokens, heads × c]`. The bias is `[n, heads, tokens, tokens]`, or
    /// 1 in the place of any of the first three: the same for all of these.
    fn biased_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        shape: Shape,
    ) -> FloatTensor<Self> {
        let [out, _] = Self::weighed_attention([q, k, v], bias, shape);
        out
    }

    /// [`biased_attention`](Kernels::biased_attention), and the weights of its softmax, `[n, heads, tokens, tokens]`.
    fn weighed_attention(
        qkv: [FloatTensor<Self>; 3],
        bias: Option<FloatTensor<Self>>,
        shape: Shape,
    ) -> [FloatTensor<Self>; 2] {
        attention::composed::<Self>(qkv, bias, shape)
    }

    /// From the gradient of [`weighed_attention`](Kernels::weighed_attention)'s rows those of q, k and v, and of the scores with their bias,
    /// `[n, heads, tokens, tokens]`. Made from q, k, v and the softmax's weights.
    fn attention_gradient(
        dy: FloatTensor<Self>,
        made_from: [FloatTensor<Self>; 4],
        shape: Shape,
    ) -> [FloatTensor<Self>; 4] {
        attention::composed_gradient::<Self>(dy, made_from, shape)
    }

    /// `softmax(scores × scale + bias)` over the last dimension of `[n, heads, tokens, tokens]`; the bias as in
    /// [`biased_attention`](Kernels::biased_attention).
    fn attend(scores: FloatTensor<Self>, bias: Option<FloatTensor<Self>>, scale: f64) -> FloatTensor<Self> {
        into(weighed::<Self>(from(scores), bias.map(from), scale))
    }

    /// The gradient of the scores before [`attend`](Kernels::attend)'s softmax, from the weights p and their gradient dp: `p ∘ (dp − Σ p ∘ dp)`.
    fn attend_gradient(p: FloatTensor<Self>, dp: FloatTensor<Self>) -> FloatTensor<Self> {
        into(weighed_gradient::<Self>(from(p), from(dp)))
    }

    /// A bias on attention logits, `[n, heads, tokens, tokens]`, with what these gain along edges between squares: by `gates`,
    /// `[n × tokens, kinds × 4 × heads]`. `edges`, `[n, kinds × tokens × 8]`, are of each token the 8 bytes of the set of tokens that its edges of a kind
    /// lead to, the first in the lowest bit.
    fn add_edges(
        bias: FloatTensor<Self>,
        gates: FloatTensor<Self>,
        edges: IntTensor<Self>,
        shape: Shape,
    ) -> FloatTensor<Self> {
        edges::composed::<Self>(bias, gates, edges, shape)
    }

    /// The gradient of [`add_edges`](Kernels::add_edges)'s gates from that of the bias.
    fn edges_gradient(dy: FloatTensor<Self>, edges: IntTensor<Self>, shape: Shape) -> FloatTensor<Self> {
        edges::composed_gradient::<Self>(dy, edges, shape)
    }

    /// `a·bᵀ × factor` of each position: rows `[n × tokens, c]` twice to `[n, tokens, tokens]`.
    fn pairs(a: FloatTensor<Self>, b: FloatTensor<Self>, tokens: usize, factor: f64) -> FloatTensor<Self> {
        pairs::composed::<Self>(a, b, tokens, factor)
    }

    /// From the gradient of [`pairs`](Kernels::pairs) those of a and b.
    fn pairs_gradient(
        dy: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        factor: f64,
    ) -> [FloatTensor<Self>; 2] {
        pairs::composed_gradient::<Self>(dy, a, b, factor)
    }

    /// `[n, heads, tokens, c]` to rows `[n × tokens, heads × c]`.
    fn merge_heads(x: FloatTensor<Self>) -> FloatTensor<Self> {
        into(heads_to_rows(from::<Self, 4>(x)))
    }

    /// An activation of every number: the values, and the derivatives where they are `wanted`.
    fn activate(x: FloatTensor<Self>, kind: Curve, wanted: bool) -> (FloatTensor<Self>, Option<FloatTensor<Self>>) {
        let (x, dtype) = widen(from::<Self, 2>(x));
        let derivative = wanted.then(|| into(cast(kind.derivative(x.clone()), dtype)));
        (into(cast(kind.values(x), dtype)), derivative)
    }

    /// For each of 64 squares the rows of the squares around it, row by row from below left, zeros beyond the edge:
    /// `[n × 64, c]` to `[n × 64, 9 × c]`.
    fn neighbours(x: FloatTensor<Self>) -> FloatTensor<Self> {
        into(around(from::<Self, 2>(x), false))
    }

    /// The adjoint of [`neighbours`](Kernels::neighbours): each square collects what its neighbours hold for it,
    /// `[n × 64, 9 × c]` to `[n × 64, c]`.
    fn collect(x: FloatTensor<Self>) -> FloatTensor<Self> {
        into(gather_around(from::<Self, 2>(x)))
    }

    /// Bytes as integers: `[rows, columns]`. They travel four to a word, and are taken apart on the device.
    fn bytes(bytes: Vec<u8>, shape: [usize; 2], device: &Self::Device) -> IntTensor<Self> {
        unpack::<Self>(&bytes, device).reshape(shape).into_primitive()
    }

    /// A linear layer's product of rows `[rows, in]` and weights `[in, out]`.
    fn product(x: FloatTensor<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_matmul(x, weights)
    }

    /// The gradient of [`product`](Kernels::product)'s rows, `dy·wᵀ`: `[rows, out]` and `[in, out]` to `[rows, in]`.
    fn row_gradient(dy: FloatTensor<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::product(dy, Self::float_transpose(weights))
    }

    /// The gradient of [`product`](Kernels::product)'s weights, `xᵀ·dy` over all rows: `[in, out]` in single precision.
    fn weight_gradient(x: FloatTensor<Self>, dy: FloatTensor<Self>) -> FloatTensor<Self> {
        into(weights_gradient::<Self>(from(x), from(dy)))
    }

    /// A row `[1, d]` added to each of `[rows, d]`.
    fn add_row(x: FloatTensor<Self>, row: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_add(x, row)
    }

    /// Each of `[rows, d]` times a row `[1, d]`.
    fn scale_by_row(x: FloatTensor<Self>, row: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_mul(x, row)
    }

    /// The sum of all rows: `[rows, d]` to `[1, d]` in single precision.
    fn sum_rows(x: FloatTensor<Self>) -> FloatTensor<Self> {
        into(sum_of_rows::<Self>(from(x)))
    }

    /// `x / √(mean(x²) + ε)` over the last dimension of `[rows, d]`.
    fn rms_norm(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::rms_norm_scaled(x).0
    }

    /// [`rms_norm`](Kernels::rms_norm), and what each row was multiplied by, `[rows, 1]` in single precision.
    fn rms_norm_scaled(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (y, scale) = rms_norm_parts(from::<Self, 2>(x));
        (into(y), into(scale))
    }

    /// The gradient of [`rms_norm`](Kernels::rms_norm)'s rows from that of the normalised rows y: `(dy − y · mean(dy ∘ y)) × scale`.
    fn rms_norm_gradient(dy: FloatTensor<Self>, y: FloatTensor<Self>, scale: FloatTensor<Self>) -> FloatTensor<Self> {
        into(rms_norm_parts_gradient::<Self>(from(dy), from(y), from(scale)))
    }
}

impl Kernels for burn_ndarray::NdArray<f32> {
    /// It has no tensors of bfloat16, and nothing for such products: all stays in single precision.
    fn rounds_products() -> bool {
        true
    }

    fn bytes(bytes: Vec<u8>, shape: [usize; 2], device: &Self::Device) -> IntTensor<Self> {
        spread::<Self>(&bytes, shape, device)
    }
}

/// How rows are positions' tokens, and heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Tokens of a position.
    pub tokens: usize,
    /// Heads.
    pub heads: usize,
}

/// Rows `[n × tokens, heads × c]` as `[n, heads, tokens, c]`: a view.
pub(in crate::network) fn split_heads<B: Backend>(x: Tensor<B, 2>, Shape { tokens, heads }: Shape) -> Tensor<B, 4> {
    let [rows, d] = x.dims();
    x.reshape([rows / tokens, tokens, heads, d / heads]).swap_dims(1, 2)
}

/// `softmax(scores × scale + bias)` over the last dimension.
fn weighed<B: Backend>(scores: Tensor<B, 4>, bias: Option<Tensor<B, 4>>, scale: f64) -> Tensor<B, 4> {
    let scaled = scores.mul_scalar(scale);
    let biased = match bias {
        Some(bias) => scaled + bias,
        None => scaled,
    };
    let (biased, dtype) = widen(biased);
    cast(softmax(biased, 3), dtype)
}

/// `p ∘ (dp − Σ p ∘ dp)`: the gradient through a softmax over the last dimension.
fn weighed_gradient<B: Backend>(p: Tensor<B, 4>, dp: Tensor<B, 4>) -> Tensor<B, 4> {
    let (p, dtype) = widen(p);
    let dp = wide(dp) * p.clone();
    cast(dp.clone() - p * dp.sum_dim(3), dtype)
}

/// `xᵀ·dy`, in single precision.
fn weights_gradient<B: Backend>(x: Tensor<B, 2>, dy: Tensor<B, 2>) -> Tensor<B, 2> {
    wide(x.transpose().matmul(dy))
}

/// The sum of all rows, in single precision.
fn sum_of_rows<B: Backend>(x: Tensor<B, 2>) -> Tensor<B, 2> {
    wide(x.sum_dim(0))
}

/// In single precision, and as what it came.
fn widen<B: Backend, const D: usize>(x: Tensor<B, D>) -> (Tensor<B, D>, DType) {
    let dtype = x.dtype();
    (wide(x), dtype)
}

/// Bytes, widened on the host: where that is the device, nothing has to travel.
fn spread<B: Backend>(bytes: &[u8], shape: [usize; 2], device: &B::Device) -> IntTensor<B> {
    let numbers: Vec<i32> = bytes.iter().map(|&b| i32::from(b)).collect();
    Tensor::<B, 2, Int>::from_data(TensorData::new(numbers, shape), device).into_primitive()
}

/// Bytes, sent as words and taken apart on the device.
fn unpack<B: Backend>(bytes: &[u8], device: &B::Device) -> Tensor<B, 1, Int> {
    let words: Vec<i32> = bytes
        .chunks(4)
        .map(|four| {
            let mut word = [0; 4];
            word[..four.len()].copy_from_slice(four);
            i32::from_le_bytes(word)
        })
        .collect();
    let n = words.len();
    let words = Tensor::<B, 2, Int>::from_data(TensorData::new(words, [n, 1]), device).expand([n, 4]);
    let places = Tensor::<B, 2, Int>::from_data([[0, 8, 16, 24]], device).expand([n, 4]);
    // A negative word is shifted with its sign, which the mask takes off.
    let numbers = words.bitwise_right_shift(places).bitwise_and_scalar(255.elem());
    numbers.reshape([n * 4]).narrow(0, 0, bytes.len())
}

/// `[n, heads, tokens, c]` to rows.
fn heads_to_rows<B: Backend>(x: Tensor<B, 4>) -> Tensor<B, 2> {
    let [n, heads, squares, c] = x.dims();
    x.swap_dims(1, 2).reshape([n * squares, heads * c])
}

/// The adjoint of [`around`], summed up.
fn gather_around<B: Backend>(x: Tensor<B, 2>) -> Tensor<B, 2> {
    let [rows, nine] = x.dims();
    let parts = around(x.reshape([rows * 9, nine / 9]), true);
    parts.reshape([rows, 9, nine / 9]).sum_dim(1).reshape([rows, nine / 9])
}

/// `1/√c`
pub(in crate::network) fn scale<B: Backend>(q: &Tensor<B, 2>, heads: usize) -> f64 {
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
    let rows = Tensor::cat(vec![x.clone(), cast(Tensor::zeros([1, c], &device), x.dtype())], 0).select(0, table);
    if adjoint { rows } else { rows.reshape([squares, 9 * c]) }
}

pub(super) const EPSILON: f64 = 1e-5;

/// Rows `[rows, in]` through weights `[in, out]`, which are read in the weights' type.
pub(in crate::network) fn product<B: Kernels>(x: Tensor<B, 2>, weights: Tensor<B, 2>) -> Tensor<B, 2> {
    from(B::product(into(cast(x, weights.dtype())), into(weights)))
}

/// A row `[1, d]` added to each of `[rows, d]`.
pub(in crate::network) fn add_row<B: Kernels>(x: Tensor<B, 2>, row: Tensor<B, 2>) -> Tensor<B, 2> {
    from(B::add_row(into(x), into(row)))
}

/// Each of `[rows, d]` times a row `[1, d]`.
pub(in crate::network) fn scale_by_row<B: Kernels>(x: Tensor<B, 2>, row: Tensor<B, 2>) -> Tensor<B, 2> {
    from(B::scale_by_row(into(x), into(row)))
}

/// An activation of every number.
pub(in crate::network) fn curved<B: Kernels>(x: Tensor<B, 2>, kind: Curve) -> Tensor<B, 2> {
    from(B::activate(into(x), kind, false).0)
}

pub(in crate::network) fn from<B: Backend, const D: usize>(x: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(x))
}

pub(in crate::network) fn into<B: Backend, const D: usize>(x: Tensor<B, D>) -> FloatTensor<B> {
    x.into_primitive().tensor()
}

/// The normalised rows, as the rows came, and what each was multiplied by, in single precision.
fn rms_norm_parts<B: Backend>(x: Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 2>) {
    let (x, dtype) = widen(x);
    let scale = x.clone().square().mean_dim(1).add_scalar(EPSILON).sqrt().recip();
    (cast(x * scale.clone(), dtype), scale)
}

/// The gradient through [`rms_norm_parts`], as the gradient came.
fn rms_norm_parts_gradient<B: Backend>(dy: Tensor<B, 2>, y: Tensor<B, 2>, scale: Tensor<B, 2>) -> Tensor<B, 2> {
    let ((dy, dtype), y) = (widen(dy), wide(y));
    let along = (dy.clone() * y.clone()).mean_dim(1);
    cast((dy - y * along) * scale, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_however_they_travel() {
        type B = burn_flex::Flex;
        let device = Default::default();
        for columns in [1, 5, 256] {
            let bytes: Vec<u8> = (0..3 * columns).map(|i| (i * 37 % 256) as u8).collect();
            let spread = Tensor::<B, 2, Int>::from_primitive(spread::<B>(&bytes, [3, columns], &device));
            let unpacked = unpack::<B>(&bytes, &device).reshape([3, columns]);
            spread.into_data().assert_eq(&unpacked.into_data(), true);
        }
    }
}
