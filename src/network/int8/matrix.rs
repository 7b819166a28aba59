//! A matrix of weights as bytes, each column with a scale of its own.

use super::balance::Balance;
use super::bytes::{Bytes, Numbers, SHIFT};
use super::dot::{COLUMNS, Dot, Group, ROWS, Sums};
use super::layer::Layer;

/// Groups of columns whose sums fit in the registers.
const GROUPS: usize = 3;

/// What is done with the products.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then<'a> {
    /// They are written.
    Write,
    /// Those below zero become zero.
    Relu,
    /// They are added to what is there.
    Add,
    /// They are added to these, which lie as they do, and written.
    AddTo(&'a [f32]),
}

/// `x·W + b` of rows of bytes.
#[derive(Debug)]
pub(super) struct Matrix {
    dot: Dot,
    /// Words of a row of inputs.
    length: usize,
    /// [`GROUPS`] at a time, then what is left; each of these `[length, groups]`.
    weights: Vec<Group>,
    /// A group of columns each.
    columns: Vec<Columns>,
}

/// What belongs to the columns of a group.
#[derive(Debug)]
struct Columns {
    /// What one in a weight stands for.
    scales: [f32; COLUMNS],
    biases: [f32; COLUMNS],
    /// What the sums begin with where bytes are shifted: it takes the shift off again.
    unshifted: [i32; COLUMNS],
}

impl Matrix {
    /// The matrices of layers of the same inputs, side by side. With a balance they take rows that are balanced.
    pub(super) fn of(layers: &[Layer], balance: Option<&Balance>) -> Matrix {
        let inputs = layers.iter().map(Layer::inputs).max().unwrap_or(0);
        let mut given: Vec<(Vec<f32>, f32)> = layers.iter().flat_map(Layer::columns).collect();
        if let Some(Balance { centres, factors }) = balance {
            for (weights, bias) in &mut given {
                *bias += weights.iter().zip(centres).map(|(w, centre)| w * centre).sum::<f32>();
                weights.iter_mut().zip(factors).for_each(|(w, factor)| *w /= factor);
            }
        }
        let (dot, groups) = (Dot::best(), given.len().div_ceil(COLUMNS));
        let width = groups * COLUMNS;
        let length = inputs.div_ceil(4);
        let mut of_column = vec![vec![0_i8; 4 * length]; width];
        let (mut scales, mut biases) = (vec![0.0; width], vec![0.0; width]);
        for (c, (weights, bias)) in given.iter().enumerate() {
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
        let columns = (0..width).step_by(COLUMNS).map(|first| Columns {
            scales: std::array::from_fn(|c| scales[first + c]),
            biases: std::array::from_fn(|c| biases[first + c]),
            unshifted: std::array::from_fn(|c| -SHIFT * total(&of_column[first + c])),
        });
        Matrix { dot, length, weights: packed, columns: columns.collect() }
    }

    /// Columns, with those that only fill up the last group.
    pub(super) fn width(&self) -> usize {
        self.columns.len() * COLUMNS
    }

    /// `[rows, inputs]` to `[rows, width]`.
    ///
    /// # Panics
    /// When rows, `out` or what is added are of another shape.
    pub(super) fn multiply(&self, rows: &Bytes, out: &mut [f32], then: Then) {
        assert_eq!((rows.length(), out.len()), (self.length, rows.rows() * self.width()), "rows of the matrix's shape");
        // Each has a loop of its own, that does not ask which it is.
        match then {
            Then::Write => self.each(
                rows,
                out,
                None,
                #[inline(always)]
                |x, _| x,
            ),
            Then::Relu => self.each(
                rows,
                out,
                None,
                #[inline(always)]
                |x, _| if x > 0.0 { x } else { 0.0 },
            ),
            Then::Add => self.each(
                rows,
                out,
                None,
                #[inline(always)]
                |x, held| x + held,
            ),
            Then::AddTo(others) => {
                assert_eq!(others.len(), out.len(), "numbers of the products' shape");
                self.each(
                    rows,
                    out,
                    Some(others),
                    #[inline(always)]
                    |x, other| x + other,
                );
            }
        }
    }

    /// One row of inputs to one of outputs.
    pub(super) fn row(&self, x: &[f32], numbers: Numbers, then: Then, bytes: &mut Bytes) -> Vec<f32> {
        let mut out = vec![0.0; self.width()];
        bytes.take(x, x.len(), numbers);
        self.multiply(bytes, &mut out, then);
        out
    }

    /// All groups of columns, and what becomes of each product and of what is in its place, or in that place of `others`.
    fn each(&self, rows: &Bytes, out: &mut [f32], others: Option<&[f32]>, then: impl Fn(f32, f32) -> f32 + Copy) {
        let groups = self.columns.len();
        let mut sums = [[[0; COLUMNS]; GROUPS]; ROWS];
        for first in (0..groups).step_by(GROUPS) {
            match groups - first {
                1 => self.some(first, rows, &mut [[[0; COLUMNS]; 1]; ROWS], out, others, then),
                2 => self.some(first, rows, &mut [[[0; COLUMNS]; 2]; ROWS], out, others, then),
                _ => self.some(first, rows, &mut sums, out, others, then),
            }
        }
    }

    /// `G` groups of columns, from the first on; `sums` are overwritten.
    fn some<const G: usize>(
        &self,
        first: usize,
        rows: &Bytes,
        sums: &mut Sums<G>,
        out: &mut [f32],
        others: Option<&[f32]>,
        then: impl Fn(f32, f32) -> f32 + Copy,
    ) {
        let Some(columns) = self.columns[first..].first_chunk::<G>() else { return };
        let weights = &self.weights[first * self.length..][..G * self.length];
        let (from, width) = (first * COLUMNS, self.width());
        let mut start = [[0; COLUMNS]; G];
        if rows.shifted() {
            for g in 0..G {
                start[g] = columns[g].unshifted;
            }
        }
        for (i, (block, of_rows)) in rows.blocks().enumerate() {
            let these = i * ROWS * width..(i * ROWS + block.rows) * width;
            let (out, others) = (&mut out[these.clone()], others.map(|others| &others[these]));
            self.dot.sums(
                block,
                weights,
                &start,
                sums,
                #[inline(always)]
                |r, sums| {
                    let (of_row, place) = (of_rows[r], r * width + from);
                    let out = &mut out[place..][..G * COLUMNS];
                    // Apart from where it goes, so that the compiler sees that nothing of what it comes from is overwritten.
                    let mut x = [[0.0; COLUMNS]; G];
                    x.as_flattened_mut()
                        .copy_from_slice(others.map_or(&*out, |others| &others[place..][..G * COLUMNS]));
                    for g in 0..G {
                        for c in 0..COLUMNS {
                            let scale = of_row * columns[g].scales[c];
                            x[g][c] = then((sums[g][c] as f32).mul_add(scale, columns[g].biases[c]), x[g][c]);
                        }
                    }
                    out.copy_from_slice(x.as_flattened());
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_nearly_those_in_single_precision() {
        // As many columns as fill groups of three, of one, of two; as many rows as fill blocks, and fewer.
        for (rows, inputs, outputs) in [(16, 32, 96), (3, 32, 64), (1, 64, 40), (12, 16, 5)] {
            let number = |i: usize| (i * 29 % 83) as f32 / 10.0 - 4.0;
            let layer = Layer::without_bias((0..inputs * outputs).map(|i| number(i * i + 1)).collect(), outputs);
            let matrix = Matrix::of(std::slice::from_ref(&layer), None);
            let x: Vec<f32> = (0..rows * inputs).map(number).collect();
            let mut bytes = Bytes::default();
            bytes.take(&x, inputs, Numbers::Any);
            let others: Vec<f32> = (0..rows * matrix.width()).map(|i| i as f32).collect();
            for then in [Then::Write, Then::Relu, Then::Add, Then::AddTo(&others)] {
                let mut out = vec![100.0; rows * matrix.width()];
                matrix.multiply(&bytes, &mut out, then);
                for (r, x) in x.chunks_exact(inputs).enumerate() {
                    for (c, y) in layer.forward(x).into_iter().enumerate() {
                        let at = r * matrix.width() + c;
                        let wanted = match then {
                            Then::Write => y,
                            Then::Relu => y.max(0.0),
                            Then::Add => y + 100.0,
                            Then::AddTo(others) => y + others[at],
                        };
                        assert!(
                            (out[at] - wanted).abs() < 3.0,
                            "row {r}, column {c}: {}, not {wanted} ({then:?})",
                            out[at]
                        );
                    }
                }
            }
        }
    }
}
