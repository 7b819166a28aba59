//! A matrix of weights as bytes, each column with a scale of its own.

use super::super::vectors::widest;
use super::balance::Balance;
use super::bytes::{Bytes, SHIFT};
use super::dot::{COLUMNS, Dot, Group, ROWS, Sums};
use super::layer::Layer;

/// Groups of columns whose sums fit in the registers.
const GROUPS: usize = 3;

/// What is done with the products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// They are written.
    Write,
    /// Those below zero become zero.
    Relu,
    /// They are added to what is there.
    Add,
}

impl Then {
    #[inline(always)]
    fn finish(self, mut x: [f32; COLUMNS], out: &mut [f32; COLUMNS]) {
        match self {
            Then::Write => {}
            Then::Relu => {
                for x in &mut x {
                    *x = if *x > 0.0 { *x } else { 0.0 };
                }
            }
            Then::Add => {
                for c in 0..COLUMNS {
                    x[c] += out[c];
                }
            }
        }
        *out = x;
    }
}

/// `x·W + b` of rows of bytes.
#[derive(Debug)]
pub(super) struct Matrix {
    dot: Dot,
    /// Words of a row of inputs.
    length: usize,
    /// [`GROUPS`] at a time, then what is left; each of these `[length, groups]`.
    weights: Vec<Group>,
    /// What one in a weight of each column stands for.
    scales: Vec<f32>,
    biases: Vec<f32>,
    /// The sums where bytes are shifted: what takes the shift off again.
    unshifted: Vec<[i32; COLUMNS]>,
}

impl Matrix {
    /// The matrices of layers of the same inputs, side by side. With a balance they take rows that are balanced.
    pub(super) fn of(layers: &[Layer], balance: Option<&Balance>) -> Matrix {
        let inputs = layers.iter().map(Layer::inputs).max().unwrap_or(0);
        let mut columns: Vec<(Vec<f32>, f32)> = layers.iter().flat_map(Layer::columns).collect();
        if let Some(Balance { centres, factors }) = balance {
            for (weights, bias) in &mut columns {
                *bias += weights.iter().zip(centres).map(|(w, centre)| w * centre).sum::<f32>();
                weights.iter_mut().zip(factors).for_each(|(w, factor)| *w /= factor);
            }
        }
        let (dot, groups) = (Dot::best(), columns.len().div_ceil(COLUMNS));
        let width = groups * COLUMNS;
        let length = inputs.div_ceil(4);
        let mut of_column = vec![vec![0_i8; 4 * length]; width];
        let (mut scales, mut biases) = (vec![0.0; width], vec![0.0; width]);
        for (c, (weights, bias)) in columns.iter().enumerate() {
            let most = weights.iter().fold(0.0_f32, |most, w| most.max(w.abs()));
            scales[c] = most / 127.0;
            biases[c] = *bias;
            if most > 0.0 {
                of_column[c].iter_mut().zip(weights).for_each(|(byte, w)| *byte = (w / most * 127.0).round() as i8);
            }
        }
        let group =
            |g: usize, k: usize| -> Group { std::array::from_fn(|i| of_column[g * COLUMNS + i / 4][4 * k + i % 4]) };
        let mut packed = Vec::with_capacity(groups * length);
        for first in (0..groups).step_by(GROUPS) {
            for k in 0..length {
                packed.extend((first..groups.min(first + GROUPS)).map(|g| dot.arranged(group(g, k))));
            }
        }
        let total = |column: &Vec<i8>| column.iter().map(|&w| i32::from(w)).sum::<i32>();
        let unshifted =
            of_column.chunks_exact(COLUMNS).map(|of| std::array::from_fn(|c| -SHIFT * total(&of[c]))).collect();
        Matrix { dot, length, weights: packed, scales, biases, unshifted }
    }

    /// Columns, with those that only fill up the last group.
    pub(super) fn width(&self) -> usize {
        self.scales.len()
    }

    /// `[rows, inputs]` to `[rows, width]`.
    ///
    /// # Panics
    /// When rows or `out` are of another shape.
    pub(super) fn multiply(&self, rows: &Bytes, out: &mut [f32], then: Then) {
        assert_eq!((rows.length(), out.len()), (self.length, rows.rows() * self.width()), "rows of the matrix's shape");
        let groups = self.unshifted.len();
        for first in (0..groups).step_by(GROUPS) {
            match groups - first {
                1 => self.some::<1>(first, rows, out, then),
                2 => self.some::<2>(first, rows, out, then),
                _ => self.some::<GROUPS>(first, rows, out, then),
            }
        }
    }

    /// `G` groups of columns, from the first on.
    fn some<const G: usize>(&self, first: usize, rows: &Bytes, out: &mut [f32], then: Then) {
        let weights = &self.weights[first * self.length..][..G * self.length];
        let unshifted = &self.unshifted[first..][..G];
        let start = std::array::from_fn(|g| if rows.shifted() { unshifted[g] } else { [0; COLUMNS] });
        let (from, width) = (first * COLUMNS, self.width());
        let (scales, _) = self.scales[from..].as_chunks::<COLUMNS>();
        let (biases, _) = self.biases[from..].as_chunks::<COLUMNS>();
        let mut sums: Sums<G> = [start; ROWS];
        for (i, (block, of_rows)) in rows.blocks().enumerate() {
            self.dot.sums(block, weights, &start, &mut sums);
            let out = &mut out[i * ROWS * width..][..ROWS * width];
            widest(
                #[inline(always)]
                || {
                    for r in 0..ROWS {
                        let (out, _) = out[r * width + from..].as_chunks_mut::<COLUMNS>();
                        for g in 0..G {
                            // Apart from where it goes, so that the compiler sees that nothing of what it comes from is overwritten.
                            let mut x = [0.0; COLUMNS];
                            for c in 0..COLUMNS {
                                x[c] = (sums[r][g][c] as f32).mul_add(of_rows[r] * scales[g][c], biases[g][c]);
                            }
                            then.finish(x, &mut out[g]);
                        }
                    }
                },
            );
        }
    }
}
