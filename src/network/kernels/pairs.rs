//! Each token of a position against each: the logits of moves from one square to another.

use burn::tensor::Tensor;
use burn::tensor::ops::FloatTensor;

use super::{Kernels, from, into};

/// [`Kernels::pairs`].
pub(super) fn composed<B: Kernels>(a: FloatTensor<B>, b: FloatTensor<B>, tokens: usize, factor: f64) -> FloatTensor<B> {
    let [a, b] = [from::<B, 2>(a).mul_scalar(factor), from(b)].map(|rows| by_position(rows, tokens));
    into(a.matmul(b.swap_dims(1, 2)))
}

/// [`Kernels::pairs_gradient`].
pub(super) fn composed_gradient<B: Kernels>(
    dy: FloatTensor<B>,
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    factor: f64,
) -> [FloatTensor<B>; 2] {
    let dy = from::<B, 3>(dy).mul_scalar(factor);
    let [_, tokens, _] = dy.dims();
    let (a, b) = (by_position(from::<B, 2>(a), tokens), by_position(from::<B, 2>(b), tokens));
    let [n, _, c] = a.dims();
    let rows = |x: Tensor<B, 3>| into(x.reshape([n * tokens, c]));
    [rows(dy.clone().matmul(b)), rows(dy.swap_dims(1, 2).matmul(a))]
}

fn by_position<B: Kernels>(rows: Tensor<B, 2>, tokens: usize) -> Tensor<B, 3> {
    let [all, c] = rows.dims();
    rows.reshape([all / tokens, tokens, c])
}
