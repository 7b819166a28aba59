//! A feed-forward part with its normalisation and shortcut, some rows at a time: what lies in between never leaves the processor's cache, and is
//! made anew for the gradients rather than kept.

use super::super::EPSILON;
use super::super::matrices::Matrix;
use super::super::rows::{rms_norm, rms_norm_gradient};
use super::loops::{add, add_rows, relu, relu_gradient, repeat, rows_of, turned};
use super::tiles::{Tiles, multiply};
use super::unit::Unit;

/// Rows at a time.
const ROWS: usize = 128;

/// `x + relu(rms_norm(x)·up + up_bias)·down + down_bias`
#[derive(Clone, Copy)]
pub(super) struct FeedForward<'a> {
    /// `[d, ffn]`
    pub(super) up: Matrix<'a>,
    /// `[ffn]`
    pub(super) up_bias: &'a [f32],
    /// `[ffn, d]`
    pub(super) down: Matrix<'a>,
    /// `[d]`
    pub(super) down_bias: &'a [f32],
}

/// Rows on their way.
struct Hidden {
    /// Normalised.
    y: Vec<f32>,
    /// What each was multiplied by.
    scales: Vec<f32>,
    /// After the activation.
    hidden: Vec<f32>,
    up: Tiles,
    left: Tiles,
}

impl Hidden {
    fn new(unit: &Unit, up: Matrix) -> Self {
        let up = Tiles::right().holding(unit, up);
        Hidden { y: Vec::new(), scales: Vec::new(), hidden: Vec::new(), up, left: Tiles::left() }
    }

    fn set(&mut self, unit: &Unit, x: &[f32], part: &FeedForward) {
        let d = part.up.rows;
        self.y.clear();
        self.y.extend_from_slice(x);
        self.scales = rms_norm(&mut self.y, d, EPSILON as f32);
        repeat(part.up_bias, x.len() / d, &mut self.hidden);
        let y = self.left.of(unit, rows_of(&self.y, d));
        multiply(unit, y, &self.up, &mut self.hidden, part.up.columns, true);
        relu(&mut self.hidden);
    }
}

impl FeedForward<'_> {
    /// Rows `[rows, d]` to the same.
    pub(super) fn forward(&self, unit: &Unit, x: &[f32]) -> Vec<f32> {
        let [d, ffn] = [self.up.rows, self.up.columns];
        let (mut hidden, mut left) = (Hidden::new(unit, self.up), Tiles::left());
        let down = Tiles::right().holding(unit, self.down);
        let mut out = Vec::with_capacity(x.len());
        for x in x.chunks(ROWS * d) {
            hidden.set(unit, x, self);
            let from = out.len();
            out.extend_from_slice(x);
            let out = &mut out[from..];
            out.chunks_exact_mut(d).for_each(|row| add(row, self.down_bias));
            multiply(unit, left.of(unit, rows_of(&hidden.hidden, ffn)), &down, out, d, true);
        }
        out
    }

    /// From the gradient of what comes out those of x, `up`, `up_bias`, `down` and `down_bias`.
    pub(super) fn gradients(&self, unit: &Unit, dy: &[f32], x: &[f32]) -> [Vec<f32>; 5] {
        let [d, ffn] = [self.up.rows, self.up.columns];
        let mut hidden = Hidden::new(unit, self.up);
        let [up, down] = [self.up, self.down].map(|m| Tiles::right().holding(unit, m.transposed()));
        let [mut left, mut right] = [Tiles::left(), Tiles::right()];
        let mut of_x = Vec::with_capacity(x.len());
        let (mut of_up, mut of_up_bias) = (vec![0.0; d * ffn], vec![0.0; ffn]);
        // Turned over: it is the narrower of the two whose tiles have to be turned then.
        let (mut of_down, mut of_down_bias) = (vec![0.0; d * ffn], vec![0.0; d]);
        let mut of_hidden = vec![0.0; ROWS * ffn];
        for (x, dy) in x.chunks(ROWS * d).zip(dy.chunks(ROWS * d)) {
            hidden.set(unit, x, self);
            let of_hidden = &mut of_hidden[..hidden.hidden.len()];
            add_rows(&mut of_down_bias, dy);
            let turned = left.of(unit, rows_of(dy, d).transposed());
            multiply(unit, turned, right.of(unit, rows_of(&hidden.hidden, ffn)), &mut of_down, ffn, true);
            multiply(unit, left.of(unit, rows_of(dy, d)), &down, of_hidden, ffn, false);
            relu_gradient(of_hidden, &hidden.hidden);
            add_rows(&mut of_up_bias, of_hidden);
            let turned = left.of(unit, rows_of(&hidden.y, d).transposed());
            multiply(unit, turned, right.of(unit, rows_of(of_hidden, ffn)), &mut of_up, ffn, true);
            let from = of_x.len();
            of_x.resize(from + x.len(), 0.0);
            let of_x = &mut of_x[from..];
            multiply(unit, left.of(unit, rows_of(of_hidden, ffn)), &up, of_x, d, false);
            rms_norm_gradient(of_x, &hidden.y, &hidden.scales, d);
            add(of_x, dy);
        }
        [of_x, of_up, of_up_bias, turned(&of_down, ffn), of_down_bias]
    }
}
