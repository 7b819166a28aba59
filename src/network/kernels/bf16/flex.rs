//! The fused parts of a block for tensors of burn-flex.

use burn::tensor::ops::FloatTensor;
use burn_flex::{Flex, FlexTensor};

use super::super::flex::{matrix, owned, tensor};
use super::super::matrices::Matrix;
use super::super::{AttentionInputs, FeedForwardInputs, Fused, Shape};
use super::attention::{Attention, Gradients};
use super::feed_forward::FeedForward;
use super::unit::Unit;

type T = FloatTensor<Flex>;

/// Both parts. Where there are [instructions](super::Instructions::best) for it.
pub(in super::super) const FUSED: Fused<Flex> =
    Fused { attention, attention_gradient, feed_forward, feed_forward_gradient };

fn weights(x: &FlexTensor) -> Matrix<'_> {
    matrix(x).unwrap_or_else(|| panic!("{:?} are no weights in single precision", x.layout()))
}

fn attention(given: AttentionInputs<T>, shape: Shape) -> (T, AttentionInputs<T>) {
    let [x, made, fixed, query, key, value, out, biases @ ..] = given;
    // Weights may be parts of a larger tensor.
    let [x, fixed] = [x, fixed].map(|x| x.to_contiguous());
    let [query_bias, value_bias, out_bias] = biases.map(|x| x.to_contiguous());
    let mut map = owned(made);
    let rest = [query, key, value, out, query_bias, value_bias, out_bias];
    let y = part(&rest, shape).forward(&Unit::begin(), x.storage(), map.storage_mut(), fixed.storage());
    let y = tensor(y, x.layout().shape().dims::<2>());
    let [query, key, value, out, query_bias, value_bias, out_bias] = rest;
    (y, [x, map, fixed, query, key, value, out, query_bias, value_bias, out_bias])
}

/// Weights of queries, their biases, and so on.
fn part([query, key, value, out, query_bias, value_bias, out_bias]: &[T; 7], shape: Shape) -> Attention<'_> {
    Attention {
        tokens: shape.tokens,
        heads: shape.heads,
        weights: [query, key, value, out].map(weights),
        biases: [query_bias, value_bias, out_bias].map(|x| x.storage()),
    }
}

fn attention_gradient(dy: T, given: AttentionInputs<T>, shape: Shape) -> AttentionInputs<T> {
    let [x, softmaxed, fixed, rest @ ..] = given;
    let dy = dy.to_contiguous();
    let dims = x.layout().shape().dims::<2>();
    let mut map = owned(softmaxed);
    let Gradients { x, weights, biases, fixed: of_fixed } =
        part(&rest, shape).gradients(&Unit::begin(), dy.storage(), x.storage(), map.storage_mut());
    let [query, key, value, out] = weights.map(|numbers| tensor(numbers, [dims[1]; 2]));
    let [query_bias, value_bias, out_bias] = biases.map(|numbers| tensor(numbers, [dims[1]]));
    let of_fixed = tensor(of_fixed, fixed.layout().shape().dims::<2>());
    [tensor(x, dims), map, of_fixed, query, key, value, out, query_bias, value_bias, out_bias]
}

/// Weights may be parts of a larger tensor.
fn contiguous([x, up, up_bias, down, down_bias]: FeedForwardInputs<T>) -> FeedForwardInputs<T> {
    [x.to_contiguous(), up, up_bias.to_contiguous(), down, down_bias.to_contiguous()]
}

fn feed_forward(given: FeedForwardInputs<T>) -> T {
    let given = contiguous(given);
    let out = feeding(&given).forward(&Unit::begin(), given[0].storage());
    tensor(out, given[0].layout().shape().dims::<2>())
}

fn feeding([_, up, up_bias, down, down_bias]: &FeedForwardInputs<T>) -> FeedForward<'_> {
    FeedForward { up: weights(up), up_bias: up_bias.storage(), down: weights(down), down_bias: down_bias.storage() }
}

fn feed_forward_gradient(dy: T, given: FeedForwardInputs<T>) -> FeedForwardInputs<T> {
    let (dy, given) = (dy.to_contiguous(), contiguous(given));
    let part = feeding(&given);
    let [d, ffn] = [part.up.rows, part.up.columns];
    let [x, up, up_bias, down, down_bias] = part.gradients(&Unit::begin(), dy.storage(), given[0].storage());
    let x = tensor(x, given[0].layout().shape().dims::<2>());
    [x, tensor(up, [d, ffn]), tensor(up_bias, [ffn]), tensor(down, [ffn, d]), tensor(down_bias, [d])]
}
