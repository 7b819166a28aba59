//! What attention logits gain along the edges of graphs on the tokens: sums of gates of the two ends.
//!
//! A token has four gates for each head and kind of edge. Where an edge leads from s to t, the logit of s looking at t gains the first gate of
//! s and the second of t, and that of t looking at s the third gate of t and the fourth of s.

use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{ElementConversion, Int, Tensor};

use super::super::precision::cast;
use super::{Kernels, Shape, from, into};

/// Gates of each head and kind.
pub(in crate::network) const GATES: usize = 4;
/// Bytes of the set of tokens that a token's edges lead to.
pub(in crate::network) const SET_BYTES: usize = 8;

/// As [`Kernels::add_edges`].
pub(super) fn composed<B: Kernels>(
    bias: FloatTensor<B>,
    gates: FloatTensor<B>,
    edges: IntTensor<B>,
    shape: Shape,
) -> FloatTensor<B> {
    let bias = from::<B, 4>(bias);
    let [n, heads, tokens, _] = bias.dims();
    let graphs = graphs::<B>(edges, shape, n);
    // `[kinds, gates, n, heads, tokens]`
    let gates = from::<B, 2>(gates).reshape([n, tokens, graphs.len(), GATES, heads]).permute([2, 3, 0, 4, 1]);
    into(graphs.into_iter().enumerate().fold(bias, |bias, (kind, (to, back))| {
        let gate = |i: usize| gates.clone().slice([kind..kind + 1, i..i + 1]);
        let looking = |i: usize| gate(i).reshape([n, heads, tokens, 1]);
        let looked_at = |i: usize| gate(i).reshape([n, heads, 1, tokens]);
        let [to, back] = [to, back].map(|edges| cast(edges, bias.dtype()));
        bias + to * (looking(0) + looked_at(1)) + back * (looking(2) + looked_at(3))
    }))
}

/// As [`Kernels::edges_gradient`].
pub(super) fn composed_gradient<B: Kernels>(dy: FloatTensor<B>, edges: IntTensor<B>, shape: Shape) -> FloatTensor<B> {
    let dy = from::<B, 4>(dy);
    let [n, heads, tokens, _] = dy.dims();
    let graphs = graphs::<B>(edges, shape, n);
    let kinds = graphs.len();
    let of_graph = |(to, back): (Tensor<B, 4>, Tensor<B, 4>)| {
        let [to, back] = [to, back].map(|edges| dy.clone() * cast(edges, dy.dtype()));
        [to.clone().sum_dim(3), to.sum_dim(2), back.clone().sum_dim(3), back.sum_dim(2)]
    };
    let sums = graphs.into_iter().flat_map(of_graph).map(|sum| sum.reshape([n, heads, tokens])).collect();
    into(Tensor::stack::<4>(sums, 0).permute([1, 3, 0, 2]).reshape([n * tokens, kinds * GATES * heads]))
}

/// Of each kind, one where an edge leads from the first token to the second, and where one leads from the second to the first; zero elsewhere:
/// `[n, 1, tokens, tokens]` each.
fn graphs<B: Kernels>(edges: IntTensor<B>, Shape { tokens, .. }: Shape, n: usize) -> Vec<(Tensor<B, 4>, Tensor<B, 4>)> {
    let bytes = Tensor::<B, 2, Int>::from_primitive(edges);
    let [_, columns] = bytes.dims();
    let (bytes, all) = (bytes.reshape([n * columns, 1]), [n * columns, 8]);
    let places = Tensor::<B, 1, Int>::arange(0..8, &bytes.device()).reshape([1, 8]).expand(all);
    let bits = bytes.expand(all).bitwise_right_shift(places).bitwise_and_scalar(1.elem()).float();
    let kinds = columns / (tokens * SET_BYTES);
    let bits = bits.reshape([n, kinds, tokens, tokens]);
    let graph = |kind: usize| bits.clone().narrow(1, kind, 1);
    (0..kinds).map(|kind| (graph(kind), graph(kind).swap_dims(2, 3))).collect()
}

/// As [`Kernels::add_edges`], on a CPU: in place, edge by edge.
pub(super) fn add(bias: &mut [f32], gates: &[f32], edges: &[i32], shape: Shape) {
    let Shape { tokens, heads } = shape;
    let kinds = gates.len() / (bias.len() / (tokens * tokens)).max(1) / (tokens * GATES).max(1);
    each(edges, kinds, tokens, |Edge { position, kind, from, to }| {
        let of_token = |token: usize, gate: usize| Gate { position, kind, token, gate }.at(kinds, shape);
        let [a, b, c, d] = [of_token(from, 0), of_token(to, 1), of_token(to, 2), of_token(from, 3)];
        for head in 0..heads {
            let at = |from: usize, to: usize| ((position * heads + head) * tokens + from) * tokens + to;
            bias[at(from, to)] += gates[a + head] + gates[b + head];
            bias[at(to, from)] += gates[c + head] + gates[d + head];
        }
    });
}

/// As [`Kernels::edges_gradient`], on a CPU.
pub(super) fn gradient(dy: &[f32], edges: &[i32], shape: Shape) -> Vec<f32> {
    let Shape { tokens, heads } = shape;
    let positions = dy.len() / (heads * tokens * tokens).max(1);
    let kinds = edges.len() / (positions * tokens * SET_BYTES).max(1);
    let mut gates = vec![0.0; positions * tokens * kinds * GATES * heads];
    each(edges, kinds, tokens, |Edge { position, kind, from, to }| {
        let of_token = |token: usize, gate: usize| Gate { position, kind, token, gate }.at(kinds, shape);
        let [a, b, c, d] = [of_token(from, 0), of_token(to, 1), of_token(to, 2), of_token(from, 3)];
        for head in 0..heads {
            let at = |from: usize, to: usize| ((position * heads + head) * tokens + from) * tokens + to;
            let (there, back) = (dy[at(from, to)], dy[at(to, from)]);
            gates[a + head] += there;
            gates[b + head] += there;
            gates[c + head] += back;
            gates[d + head] += back;
        }
    });
    gates
}

/// A gate of each head.
struct Gate {
    position: usize,
    kind: usize,
    token: usize,
    gate: usize,
}

impl Gate {
    /// Where the first head's lies among all.
    fn at(&self, kinds: usize, Shape { tokens, heads }: Shape) -> usize {
        (((self.position * tokens + self.token) * kinds + self.kind) * GATES + self.gate) * heads
    }
}

/// An edge from one token to another.
struct Edge {
    position: usize,
    kind: usize,
    from: usize,
    to: usize,
}

/// Calls `edge` for every edge.
fn each(bytes: &[i32], kinds: usize, tokens: usize, mut edge: impl FnMut(Edge)) {
    for (i, &byte) in bytes.iter().enumerate() {
        let (row, first) = (i / SET_BYTES, i % SET_BYTES * 8);
        let (graph, from) = (row / tokens, row % tokens);
        let mut rest = byte;
        while rest != 0 {
            let to = first + rest.trailing_zeros() as usize;
            edge(Edge { position: graph / kinds, kind: graph % kinds, from, to });
            rest &= rest - 1;
        }
    }
}
