//! Attention and its gradients, composed of products and softmax.

use burn::tensor::Tensor;
use burn::tensor::ops::FloatTensor;

use super::{Kernels, Shape, from, into, scale, split_heads};

/// [`Kernels::weighed_attention`].
pub(super) fn composed<B: Kernels>(
    qkv: [FloatTensor<B>; 3],
    bias: Option<FloatTensor<B>>,
    shape: Shape,
) -> [FloatTensor<B>; 2] {
    let [q, k, v] = qkv.map(from::<B, 2>);
    let scale = scale(&q, shape.heads);
    let scores = split_heads(q, shape).matmul(split_heads(k, shape).swap_dims(2, 3));
    let weights: Tensor<B, 4> = from(B::attend(into(scores), bias, scale));
    let out = weights.clone().matmul(split_heads(v, shape));
    [B::merge_heads(into(out)), into(weights)]
}

/// [`Kernels::attention_gradient`].
pub(super) fn composed_gradient<B: Kernels>(
    dy: FloatTensor<B>,
    [q, k, v, weights]: [FloatTensor<B>; 4],
    shape: Shape,
) -> [FloatTensor<B>; 4] {
    let [q, k, v] = [q, k, v].map(from::<B, 2>);
    let weights: Tensor<B, 4> = from(weights);
    let scale = scale(&q, shape.heads);
    let dy = split_heads(from::<B, 2>(dy), shape);
    let merge = |x: Tensor<B, 4>| from::<B, 2>(B::merge_heads(into(x)));
    let dv = weights.clone().swap_dims(2, 3).matmul(dy.clone());
    let dw = dy.matmul(split_heads(v, shape).swap_dims(2, 3));
    let scores: Tensor<B, 4> = from(B::attend_gradient(into(weights), into(dw)));
    let dq = merge(scores.clone().matmul(split_heads(k, shape))).mul_scalar(scale);
    let dk = merge(scores.clone().swap_dims(2, 3).matmul(split_heads(q, shape))).mul_scalar(scale);
    [into(dq), into(dk), into(merge(dv)), into(scores)]
}
