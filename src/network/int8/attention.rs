//! Attention of the 64 squares of one position, in single precision.

use std::f32::consts::LOG2_E;

use super::super::kernels::rows::LANES;
use super::super::vectors::widest;
use super::bytes::ROUNDER;
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
                for most in &mut most {
                    *most *= -LOG2_E;
                }
                for row in map.chunks_exact_mut(SQUARES) {
                    let mut e = [0.0; LANES];
                    for i in 0..LANES {
                        e[i] = exp2(row[first + i].mul_add(LOG2_E, most[i]));
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

/// 2 to the power of a number that is not above zero, to 3e-6 of itself, without a branch: of its whole part and, by a polynomial, of the rest,
/// which is at most a half. Nothing below 2⁻¹⁰⁰ is told apart.
#[inline(always)]
fn exp2(x: f32) -> f32 {
    const LEAST: f32 = -100.0;
    /// With the smallest relative error that a polynomial of this degree has there.
    const POLYNOMIAL: [f32; 5] = [9.570_08e-3, 5.591_783e-2, 0.240_247_45, 0.693_121_8, 0.999_999_3];
    let x = if x > LEAST { x } else { LEAST };
    let whole = x + ROUNDER;
    let rest = x - (whole - ROUNDER);
    let mut power = POLYNOMIAL[0];
    for coefficient in &POLYNOMIAL[1..] {
        power = power.mul_add(rest, *coefficient);
    }
    f32::from_bits(power.to_bits().wrapping_add(whole.to_bits() << (f32::MANTISSA_DIGITS - 1)))
}

/// Maps of 64 × 64 with their rows and columns exchanged: what each square that is attended to is worth to each that attends.
pub(super) fn turned(maps: &[f32]) -> Vec<f32> {
    let turn = |map: &[f32]| -> Vec<f32> { (0..MAP).map(|i| map[i % SQUARES * SQUARES + i / SQUARES]).collect() };
    maps.chunks_exact(MAP).flat_map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_nearly_exact_and_end_at_the_least() {
        for x in (0..=100_000).map(|i| -(i as f32) / 1000.0) {
            let exact = f64::from(x).exp2();
            assert!((f64::from(exp2(x)) / exact - 1.0).abs() < 3e-6, "{} for {exact}, of {x}", exp2(x));
        }
        let least = (-100_f64).exp2();
        for x in [-100.5, -1e9, f32::NEG_INFINITY] {
            assert!((f64::from(exp2(x)) / least - 1.0).abs() < 3e-6, "{} for {least}, of {x}", exp2(x));
        }
    }

    #[test]
    fn attention_is_what_the_formula_says() {
        let (heads, c) = (2, 16);
        let (d, stride) = (heads * c, 3 * heads * c + 5);
        let number = |i: usize| (i * 37 % 101) as f32 / 25.0 - 2.0;
        let projected: Vec<f32> = (0..SQUARES * stride).map(number).collect();
        let given: Vec<f32> = (0..heads * MAP).map(|i| number(i * i % 977)).collect();
        let (mut maps, mut out) = (turned(&given), vec![0.0; SQUARES * d]);
        attend(&projected, stride, &mut maps, heads, &mut out);
        let at = |square: usize, column: usize| f64::from(projected[square * stride + column]);
        for (i, x) in out.iter().enumerate() {
            let (square, head, column) = (i / d, i % d / c, i % d);
            let logit = |to: usize| {
                let dot: f64 = (0..c).map(|j| at(square, head * c + j) * at(to, d + head * c + j)).sum();
                dot + f64::from(given[head * MAP + square * SQUARES + to])
            };
            let logits: Vec<f64> = (0..SQUARES).map(logit).collect();
            let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
            let sum: f64 = weights.iter().zip(0..).map(|(w, to)| w * at(to, 2 * d + column)).sum();
            let wanted = sum / weights.iter().sum::<f64>();
            assert!((f64::from(*x) - wanted).abs() < 1e-4, "square {square}, column {column}: {x}, not {wanted}");
        }
    }
}
