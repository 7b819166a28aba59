//! Attention on a CPU, head by head of each position: what one of them needs stays in the processor's cache, what all of a batch need
//! together does not.

use super::matrices::{Matrix, multiply};
use super::{Shape, rows};

/// Numbers `[n × tokens, heads × c]`, row after row.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    numbers: &'a [f32],
    shape: Shape,
    /// Numbers in a row.
    width: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(numbers: &'a [f32], shape: Shape, width: usize) -> Self {
        Rows { numbers, shape, width }
    }

    /// Numbers of a position.
    fn size(&self) -> usize {
        self.shape.tokens * self.width
    }

    fn positions(&self) -> usize {
        self.numbers.len() / self.size().max(1)
    }

    /// Where a head's numbers begin in each row.
    fn column(&self, head: usize) -> usize {
        head * (self.width / self.shape.heads)
    }

    /// One head of one position: `[tokens, c]`.
    fn head(&self, position: usize, head: usize) -> Matrix<'a> {
        let at = position * self.size() + self.column(head);
        let size = [self.shape.tokens, self.width / self.shape.heads];
        let matrix = self.numbers.get(at..).and_then(|from| Matrix::new(from, size, [self.width, 1]));
        matrix.unwrap_or_else(|| panic!("head {head} of position {position} lies outside"))
    }
}

/// The attended rows `[n × tokens, heads × c]`, and the weights of the softmax `[n, heads, tokens, tokens]`. `bias` gives what is added to
/// the scores of a token, by position, head and token.
pub(super) fn attend<'b>(
    [q, k, v]: [Rows; 3],
    bias: impl Fn(usize, usize, usize) -> Option<&'b [f32]>,
    scale: f32,
) -> [Vec<f32>; 2] {
    let Shape { tokens, heads } = q.shape;
    let mut scores = vec![0.0; tokens * tokens];
    let mut rows = vec![0.0; q.size()];
    let mut weights = Vec::with_capacity(q.positions() * heads * scores.len());
    let mut out = Vec::with_capacity(q.numbers.len());
    for position in 0..q.positions() {
        for head in 0..heads {
            multiply(&mut scores, tokens, q.head(position, head), k.head(position, head).transposed(), 1.0);
            rows::softmax(&mut scores, tokens, scale, |token| bias(position, head, token));
            multiply(&mut rows[q.column(head)..], q.width, square(&scores, tokens), v.head(position, head), 1.0);
            weights.extend_from_slice(&scores);
        }
        out.extend_from_slice(&rows);
    }
    [out, weights]
}

/// From the gradient of [`attend`]'s rows those of q, k and v, `[n × tokens, heads × c]`, and of the scores with their bias,
/// `[n, heads, tokens, tokens]`.
pub(super) fn gradients(dy: Rows, [q, k, v]: [Rows; 3], weights: &[f32], scale: f32) -> [Vec<f32>; 4] {
    let Shape { tokens, heads } = q.shape;
    let map = tokens * tokens;
    let mut scores = vec![0.0; map];
    let mut rows = [(); 3].map(|()| vec![0.0; q.size()]);
    let mut out = [(); 3].map(|()| Vec::with_capacity(q.numbers.len()));
    let mut of_scores = Vec::with_capacity(weights.len());
    for (i, weights) in weights.chunks_exact(map.max(1)).enumerate() {
        let (position, head) = (i / heads, i % heads);
        let [dq, dk, dv] = rows.each_mut().map(|rows| &mut rows[q.column(head)..]);
        let [q_head, k_head, v_head, dy_head] = [q, k, v, dy].map(|rows| rows.head(position, head));
        multiply(dv, q.width, square(weights, tokens).transposed(), dy_head, 1.0);
        multiply(&mut scores, tokens, dy_head, v_head.transposed(), 1.0);
        rows::softmax_gradient(weights, &mut scores, tokens);
        multiply(dq, q.width, square(&scores, tokens), k_head, scale);
        multiply(dk, q.width, square(&scores, tokens).transposed(), q_head, scale);
        of_scores.extend_from_slice(&scores);
        if head + 1 == heads {
            out.iter_mut().zip(&rows).for_each(|(out, rows)| out.extend_from_slice(rows));
        }
    }
    let [dq, dk, dv] = out;
    [dq, dk, dv, of_scores]
}

/// `a·bᵀ × factor` of each position: `[n, tokens, tokens]`.
pub(super) fn pairs(a: Rows, b: Rows, factor: f32) -> Vec<f32> {
    let tokens = a.shape.tokens;
    let mut out = vec![0.0; a.positions() * tokens * tokens];
    for (position, out) in out.chunks_exact_mut((tokens * tokens).max(1)).enumerate() {
        multiply(out, tokens, a.head(position, 0), b.head(position, 0).transposed(), factor);
    }
    out
}

/// From the gradient of [`pairs`] those of a and b, `[n × tokens, c]`.
pub(super) fn pairs_gradient(dy: &[f32], a: Rows, b: Rows, factor: f32) -> [Vec<f32>; 2] {
    let tokens = a.shape.tokens;
    let [mut of_a, mut of_b] = [a, b].map(|rows| vec![0.0; rows.numbers.len()]);
    let size = a.size().max(1);
    let parts = of_a.chunks_exact_mut(size).zip(of_b.chunks_exact_mut(size));
    for (position, (dy, (of_a, of_b))) in dy.chunks_exact((tokens * tokens).max(1)).zip(parts).enumerate() {
        let dy = square(dy, tokens);
        multiply(of_a, a.width, dy, b.head(position, 0), factor);
        multiply(of_b, a.width, dy.transposed(), a.head(position, 0), factor);
    }
    [of_a, of_b]
}

/// Rows one after another, as many as are numbers in each.
fn square(numbers: &[f32], side: usize) -> Matrix<'_> {
    let matrix = Matrix::new(numbers, [side, side], [side, 1]);
    matrix.unwrap_or_else(|| panic!("{} numbers are no square of {side}", numbers.len()))
}
