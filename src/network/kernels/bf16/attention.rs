//! Attention with its normalisation, linear layers and shortcut, a position at a time: what lies in between never leaves the processor's cache, and
//! is made anew for the gradients rather than kept, but for the weights of the softmax.

use super::super::EPSILON;
use super::super::matrices::Matrix;
use super::super::rows::{rms_norm, rms_norm_gradient, softmax, softmax_gradient};
use super::loops::{add, add_rows, part_of, repeat, rows_of, scale};
use super::tiles::{Tiles, multiply};
use super::unit::Unit;

/// `x + attended(rms_norm(x))·out + out_bias`, where what is attended to is `softmax(q·kᵀ/√c + made + fixed)·v` in each head.
#[derive(Clone, Copy)]
pub(super) struct Attention<'a> {
    /// Rows of a position.
    pub(super) tokens: usize,
    pub(super) heads: usize,
    /// Of queries, keys, values and of what is attended to: `[d, d]`.
    pub(super) weights: [Matrix<'a>; 4],
    /// Of queries, values and of what is attended to: `[d]`.
    pub(super) biases: [&'a [f32]; 3],
}

/// Of what goes into [`Attention`], but for what is made from the board.
pub(super) struct Gradients {
    /// `[n × tokens, d]`
    pub(super) x: Vec<f32>,
    /// `[d, d]` each, as in [`Attention`].
    pub(super) weights: [Vec<f32>; 4],
    /// `[d]` each, as in [`Attention`].
    pub(super) biases: [Vec<f32>; 3],
    /// `[heads, tokens, tokens]`
    pub(super) fixed: Vec<f32>,
}

/// What is computed for a position both on the way forward and on the way back.
struct Position {
    /// The rows, normalised.
    y: Vec<f32>,
    /// What each was multiplied by.
    scales: Vec<f32>,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    attended: Vec<f32>,
    /// Of queries, keys and values.
    weights: [Tiles; 3],
    left: Tiles,
    right: Tiles,
}

impl Position {
    fn new(unit: &Unit, part: &Attention) -> Self {
        let numbers = || vec![0.0; part.size()];
        let [query, key, value, _] = part.weights;
        Position {
            y: numbers(),
            scales: Vec::new(),
            q: numbers(),
            k: numbers(),
            v: numbers(),
            attended: numbers(),
            weights: [query, key, value].map(|weights| Tiles::right().holding(unit, weights)),
            left: Tiles::left(),
            right: Tiles::right(),
        }
    }

    /// Queries, keys and values of a position.
    fn set(&mut self, unit: &Unit, x: &[f32], part: &Attention) {
        let d = part.width();
        self.y.copy_from_slice(x);
        self.scales = rms_norm(&mut self.y, d, EPSILON as f32);
        let [of_q, of_v, _] = part.biases;
        repeat(of_q, part.tokens, &mut self.q);
        repeat(of_v, part.tokens, &mut self.v);
        let y = self.left.of(unit, rows_of(&self.y, d));
        let [q, k, v] = &self.weights;
        multiply(unit, y, q, &mut self.q, d, true);
        multiply(unit, y, k, &mut self.k, d, false);
        multiply(unit, y, v, &mut self.v, d, true);
    }

    /// What a head attends to, by the weights of its softmax.
    fn attend(&mut self, unit: &Unit, head: usize, weights: &[f32], part: &Attention) {
        let [d, c] = [part.width(), part.width() / part.heads];
        let weights = self.left.of(unit, rows_of(weights, part.tokens));
        let values = self.right.of(unit, part_of(&self.v, head * c, c, d));
        multiply(unit, weights, values, &mut self.attended[head * c..], d, false);
    }
}

impl Attention<'_> {
    fn width(&self) -> usize {
        self.weights[0].rows
    }

    /// Numbers of a position.
    fn size(&self) -> usize {
        self.tokens * self.width()
    }

    /// What scores are multiplied by.
    fn scale(&self) -> f32 {
        1.0 / ((self.width() / self.heads) as f32).sqrt()
    }

    /// Rows `[n × tokens, d]` to the same. `made`, `[n, heads, tokens, tokens]`, gives way to the weights of the softmax; `fixed` is
    /// `[heads, tokens, tokens]`.
    pub(super) fn forward(&self, unit: &Unit, x: &[f32], made: &mut [f32], fixed: &[f32]) -> Vec<f32> {
        let ([d, c], map) = ([self.width(), self.width() / self.heads], self.tokens * self.tokens);
        let mut position = Position::new(unit, self);
        let (out_weights, mut left) = (Tiles::right().holding(unit, self.weights[3]), Tiles::left());
        let mut scores = vec![0.0; map];
        let mut out = Vec::with_capacity(x.len());
        for (x, made) in x.chunks_exact(self.size()).zip(made.chunks_exact_mut(self.heads * map)) {
            position.set(unit, x, self);
            for (head, (made, fixed)) in made.chunks_exact_mut(map).zip(fixed.chunks_exact(map)).enumerate() {
                let q = position.left.of(unit, part_of(&position.q, head * c, c, d));
                let k = position.right.of(unit, part_of(&position.k, head * c, c, d).transposed());
                multiply(unit, q, k, &mut scores, self.tokens, false);
                add(made, fixed);
                softmax(&mut scores, self.tokens, self.scale(), |token| made[token * self.tokens..].get(..self.tokens));
                made.copy_from_slice(&scores);
                position.attend(unit, head, &scores, self);
            }
            let from = out.len();
            out.extend_from_slice(x);
            let out = &mut out[from..];
            out.chunks_exact_mut(d).for_each(|row| add(row, self.biases[2]));
            multiply(unit, left.of(unit, rows_of(&position.attended, d)), &out_weights, out, d, true);
        }
        out
    }

    /// The gradients of what went in, from that of what came out. The weights of the softmax give way to the gradient of `made`.
    pub(super) fn gradients(&self, unit: &Unit, dy: &[f32], x: &[f32], softmaxed: &mut [f32]) -> Gradients {
        let ([d, c], map) = ([self.width(), self.width() / self.heads], self.tokens * self.tokens);
        let mut position = Position::new(unit, self);
        let turned = self.weights.map(|weights| Tiles::right().holding(unit, weights.transposed()));
        let [mut left, mut right] = [Tiles::left(), Tiles::right()];
        let mut of_x = Vec::with_capacity(x.len());
        let mut of_weights = [(); 4].map(|()| vec![0.0; d * d]);
        let mut of_biases = [(); 3].map(|()| vec![0.0; d]);
        let mut of_fixed = vec![0.0; self.heads * map];
        let mut scores = vec![0.0; map];
        let [mut of_q, mut of_k, mut of_v, mut of_attended] = [(); 4].map(|()| vec![0.0; self.size()]);
        let all = x.chunks_exact(self.size()).zip(dy.chunks_exact(self.size()));
        for ((x, dy), softmaxed) in all.zip(softmaxed.chunks_exact_mut(self.heads * map)) {
            position.set(unit, x, self);
            multiply(unit, left.of(unit, rows_of(dy, d)), &turned[3], &mut of_attended, d, false);
            for (head, (p, of_fixed)) in softmaxed.chunks_exact_mut(map).zip(of_fixed.chunks_exact_mut(map)).enumerate()
            {
                position.attend(unit, head, p, self);
                let [q, k, v, dy] =
                    [&position.q, &position.k, &position.v, &of_attended].map(|x| part_of(x, head * c, c, d));
                let column = head * c;
                let of_p = left.of(unit, rows_of(p, self.tokens).transposed());
                multiply(unit, of_p, right.of(unit, dy), &mut of_v[column..], d, false);
                multiply(unit, left.of(unit, dy), right.of(unit, v.transposed()), &mut scores, self.tokens, false);
                softmax_gradient(p, &mut scores, self.tokens);
                p.copy_from_slice(&scores);
                add(of_fixed, &scores);
                scale(&mut scores, self.scale());
                let of_scores = rows_of(&scores, self.tokens);
                multiply(unit, left.of(unit, of_scores), right.of(unit, k), &mut of_q[column..], d, false);
                multiply(unit, left.of(unit, of_scores.transposed()), right.of(unit, q), &mut of_k[column..], d, false);
            }
            let [of_query, of_key, of_value, of_out] = &mut of_weights;
            multiply(
                unit,
                left.of(unit, rows_of(&position.attended, d).transposed()),
                right.of(unit, rows_of(dy, d)),
                of_out,
                d,
                true,
            );
            for (sum, rows) in of_biases.iter_mut().zip([&of_q[..], &of_v, dy]) {
                add_rows(sum, rows);
            }
            let from = of_x.len();
            of_x.resize(from + x.len(), 0.0);
            let of_x = &mut of_x[from..];
            left.set(unit, rows_of(&position.y, d).transposed());
            for (sum, rows) in [(of_query, &of_q), (of_key, &of_k), (of_value, &of_v)] {
                multiply(unit, &left, right.of(unit, rows_of(rows, d)), sum, d, true);
            }
            for (i, rows) in [&of_q, &of_k, &of_v].into_iter().enumerate() {
                multiply(unit, left.of(unit, rows_of(rows, d)), &turned[i], of_x, d, i > 0);
            }
            rms_norm_gradient(of_x, &position.y, &position.scales, d);
            add(of_x, dy);
        }
        Gradients { x: of_x, weights: of_weights, biases: of_biases, fixed: of_fixed }
    }
}
