//! What an attention logit gains where the man on one token attacks the other: sums of gates of the two.
//!
//! Of each head there are four gates a token. Where the man on s attacks t, the logit of s looking at t gains the first gate of s and the second
//! of t, and that of t looking at s the third gate of t and the fourth of s.

use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{ElementConversion, Int, Tensor};

use super::super::precision::cast;
use super::{Kernels, Shape, from, into};

/// Gates of each head.
pub(in crate::network) const GATES: usize = 4;
/// Bytes of the set of tokens that a token's man attacks.
pub(in crate::network) const SET_BYTES: usize = 8;

/// As [`Kernels::add_edges`].
pub(super) fn composed<B: Kernels>(
    map: FloatTensor<B>,
    gates: FloatTensor<B>,
    edges: IntTensor<B>,
    shape: Shape,
) -> FloatTensor<B> {
    let map = from::<B, 4>(map);
    let [n, heads, tokens, _] = map.dims();
    let (to, back) = adjacent::<B>(edges, shape, n);
    let (to, back) = (cast(to, map.dtype()), cast(back, map.dtype()));
    // `[gates, n, heads, tokens]`
    let gates = from::<B, 2>(gates).reshape([n, tokens, GATES, heads]).permute([2, 0, 3, 1]);
    let gate = |i: usize| gates.clone().narrow(0, i, 1);
    let looking = |i: usize| gate(i).reshape([n, heads, tokens, 1]);
    let looked_at = |i: usize| gate(i).reshape([n, heads, 1, tokens]);
    into(map + to * (looking(0) + looked_at(1)) + back * (looking(2) + looked_at(3)))
}

/// As [`Kernels::edges_gradient`].
pub(super) fn composed_gradient<B: Kernels>(dy: FloatTensor<B>, edges: IntTensor<B>, shape: Shape) -> FloatTensor<B> {
    let dy = from::<B, 4>(dy);
    let [n, heads, tokens, _] = dy.dims();
    let (to, back) = adjacent::<B>(edges, shape, n);
    let [to, back] = [to, back].map(|edges| dy.clone() * cast(edges, dy.dtype()));
    let sums = [to.clone().sum_dim(3), to.sum_dim(2), back.clone().sum_dim(3), back.sum_dim(2)];
    let gates = Tensor::stack::<4>(sums.map(|sum| sum.reshape([n, heads, tokens])).to_vec(), 0);
    into(gates.permute([1, 3, 0, 2]).reshape([n * tokens, GATES * heads]))
}

/// One where the man on the first token attacks the second, and where the man on the second attacks the first; zero elsewhere:
/// `[n, 1, tokens, tokens]` each.
fn adjacent<B: Kernels>(edges: IntTensor<B>, Shape { tokens, .. }: Shape, n: usize) -> (Tensor<B, 4>, Tensor<B, 4>) {
    let bytes = Tensor::<B, 2, Int>::from_primitive(edges).reshape([n * tokens * SET_BYTES, 1]);
    let all = [n * tokens * SET_BYTES, 8];
    let places = Tensor::<B, 1, Int>::arange(0..8, &bytes.device()).reshape([1, 8]).expand(all);
    let bits = bytes.expand(all).bitwise_right_shift(places).bitwise_and_scalar(1.elem()).float();
    let to = bits.reshape([n, 1, tokens, tokens]);
    (to.clone(), to.swap_dims(2, 3))
}

/// As [`Kernels::add_edges`], on a CPU: in place, edge by edge.
pub(super) fn add(map: &mut [f32], gates: &[f32], edges: &[i32], Shape { tokens, heads }: Shape) {
    each(edges, tokens, |position, s, t| {
        let gate =
            |token: usize, gate: usize, head: usize| gates[((position * tokens + token) * GATES + gate) * heads + head];
        for head in 0..heads {
            let at = |from: usize, to: usize| ((position * heads + head) * tokens + from) * tokens + to;
            map[at(s, t)] += gate(s, 0, head) + gate(t, 1, head);
            map[at(t, s)] += gate(t, 2, head) + gate(s, 3, head);
        }
    });
}

/// As [`Kernels::edges_gradient`], on a CPU.
pub(super) fn gradient(dy: &[f32], edges: &[i32], Shape { tokens, heads }: Shape) -> Vec<f32> {
    let rows = edges.len() / SET_BYTES;
    let mut gates = vec![0.0; rows * GATES * heads];
    each(edges, tokens, |position, s, t| {
        let place =
            |token: usize, gate: usize, head: usize| ((position * tokens + token) * GATES + gate) * heads + head;
        for head in 0..heads {
            let at = |from: usize, to: usize| ((position * heads + head) * tokens + from) * tokens + to;
            let (to, back) = (dy[at(s, t)], dy[at(t, s)]);
            gates[place(s, 0, head)] += to;
            gates[place(t, 1, head)] += to;
            gates[place(t, 2, head)] += back;
            gates[place(s, 3, head)] += back;
        }
    });
    gates
}

/// Calls `edge(position, s, t)` wherever the man on s attacks t.
fn each(bytes: &[i32], tokens: usize, mut edge: impl FnMut(usize, usize, usize)) {
    for (i, &byte) in bytes.iter().enumerate() {
        let (row, first) = (i / SET_BYTES, i % SET_BYTES * 8);
        let mut rest = byte;
        while rest != 0 {
            edge(row / tokens, row % tokens, first + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}
