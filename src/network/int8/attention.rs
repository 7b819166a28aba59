//! Attention of the 64 squares of one position, in single precision.

use super::super::curve::exp;
use super::super::kernels::rows::LANES;
use super::super::vectors::widest;
use super::floats::{Begin, Left, Rows, product};
use super::transpose::{SIDE, Transpose};

/// Squares that attend to squares.
pub(super) const SQUARES: usize = 64;
/// Numbers of a map: what each square is worth to each.
pub(super) const MAP: usize = SQUARES * SQUARES;

/// `softmax(Q·Kᵀ + bias)·V` of each head, side by side: `[64, d]`. The first 3·d of the `stride` numbers of each row of `projected`
/// are the query, already divided by the square root of the head's width, the key and the value. `maps` holds the biases, a [`turned`]
/// map a head, and something else afterwards.
pub(super) fn attend(projected: &[f32], stride: usize, maps: &mut [f32], heads: usize, out: &mut [f32]) {
    let d = out.len() / SQUARES;
    let c = d / heads;
    let from = |column: usize| Rows { numbers: &projected[column..], stride };
    let mut queries = vec![0.0; c * SQUARES];
    for (head, map) in maps.chunks_exact_mut(MAP).enumerate() {
        transpose(from(head * c), c, &mut queries);
        // A key a row, a query a column.
        let queries = Rows { numbers: &queries, stride: SQUARES };
        product(Left::Plain(from(d + head * c)), queries, Begin::Held, map, SQUARES, [SQUARES, c, SQUARES]);
        let sums = exponentials(map);
        let weights = Left::Transposed(Rows { numbers: map, stride: SQUARES });
        let out = &mut out[head * c..];
        product(weights, from(2 * d + head * c), Begin::Zero, out, d, [SQUARES, SQUARES, c]);
        widest(
            #[inline(always)]
            || {
                for (row, sum) in out.chunks_mut(d).zip(sums) {
                    let share = 1.0 / sum;
                    for x in &mut row[..c] {
                        *x *= share;
                    }
                }
            },
        );
    }
}

/// Of a row for each square the first `width` numbers, as a row of squares for each number: `[width, 64]`.
fn transpose(rows: Rows, width: usize, out: &mut [f32]) {
    let transpose = Transpose::best();
    widest(
        #[inline(always)]
        || {
            for square in (0..SQUARES).step_by(SIDE) {
                let row = |r| &rows.numbers[(square + r) * rows.stride..][..width];
                let rows: [&[f32]; SIDE] = std::array::from_fn(row);
                let mut number = 0;
                while number + SIDE <= width {
                    let mut numbers = [[0.0; SIDE]; SIDE];
                    for (numbers, row) in numbers.iter_mut().zip(rows) {
                        numbers.copy_from_slice(&row[number..][..SIDE]);
                    }
                    for (i, column) in transpose.columns(&numbers).iter().enumerate() {
                        out[(number + i) * SQUARES + square..][..SIDE].copy_from_slice(column);
                    }
                    number += SIDE;
                }
                for number in number..width {
                    for (i, row) in rows.iter().enumerate() {
                        out[number * SQUARES + square + i] = row[number];
                    }
                }
            }
        },
    );
}

/// e to the power of each number less the largest of its column, and each column's sum of these.
fn exponentials(map: &mut [f32]) -> [f32; SQUARES] {
    let mut sums = [0.0; SQUARES];
    widest(
        #[inline(always)]
        || {
            for first in (0..SQUARES).step_by(LANES) {
                let mut most = [f32::NEG_INFINITY; LANES];
                for row in map.chunks_exact(SQUARES) {
                    for i in 0..LANES {
                        most[i] = if row[first + i] > most[i] { row[first + i] } else { most[i] };
                    }
                }
                let mut sum = [0.0; LANES];
                for row in map.chunks_exact_mut(SQUARES) {
                    let mut e = [0.0; LANES];
                    for i in 0..LANES {
                        e[i] = exp(row[first + i] - most[i]);
                        sum[i] += e[i];
                    }
                    row[first..first + LANES].copy_from_slice(&e);
                }
                sums[first..first + LANES].copy_from_slice(&sum);
            }
        },
    );
    sums
}

/// Maps of 64 × 64 with their rows and columns exchanged: what each square that is attended to is worth to each that attends.
pub(super) fn turned(maps: &[f32]) -> Vec<f32> {
    let turn = |map: &[f32]| -> Vec<f32> { (0..MAP).map(|i| map[i % SQUARES * SQUARES + i / SQUARES]).collect() };
    maps.chunks_exact(MAP).flat_map(turn).collect()
}
