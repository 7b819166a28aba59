//! What is done to numbers between products.

use super::super::super::vectors::widest;
use super::super::matrices::Matrix;

/// Adds numbers to others.
pub(super) fn add(to: &mut [f32], numbers: &[f32]) {
    widest(
        #[inline(always)]
        || {
            for (to, x) in to.iter_mut().zip(numbers) {
                *to += x;
            }
        },
    );
}

/// Adds all rows to one.
pub(super) fn add_rows(to: &mut [f32], rows: &[f32]) {
    widest(
        #[inline(always)]
        || {
            for row in rows.chunks_exact(to.len()) {
                for (to, x) in to.iter_mut().zip(row) {
                    *to += x;
                }
            }
        },
    );
}

/// Multiplies numbers.
pub(super) fn scale(numbers: &mut [f32], by: f32) {
    widest(
        #[inline(always)]
        || {
            for x in &mut *numbers {
                *x *= by;
            }
        },
    );
}

/// Zeros in the place of negative numbers.
pub(super) fn relu(numbers: &mut [f32]) {
    widest(
        #[inline(always)]
        || {
            for x in &mut *numbers {
                *x = if *x > 0.0 { *x } else { 0.0 };
            }
        },
    );
}

/// The gradient of what came out of [`relu`], in its place.
pub(super) fn relu_gradient(dy: &mut [f32], y: &[f32]) {
    widest(
        #[inline(always)]
        || {
            for (dy, y) in dy.iter_mut().zip(y) {
                *dy = if *y > 0.0 { *dy } else { 0.0 };
            }
        },
    );
}

/// Rows that are all the same.
pub(super) fn repeat(row: &[f32], count: usize, to: &mut Vec<f32>) {
    to.clear();
    for _ in 0..count {
        to.extend_from_slice(row);
    }
}

/// Rows one after another, of so many numbers.
pub(super) fn rows_of(numbers: &[f32], columns: usize) -> Matrix<'_> {
    part_of(numbers, 0, columns, columns)
}

/// Some columns of rows of so many numbers, from one on.
pub(super) fn part_of(numbers: &[f32], from: usize, columns: usize, length: usize) -> Matrix<'_> {
    let size = [numbers.len() / length, columns];
    let matrix = numbers.get(from..).and_then(|numbers| Matrix::new(numbers, size, [length, 1]));
    matrix.unwrap_or_else(|| panic!("columns {from} to {} of {length}", from + columns))
}

/// Columns as rows.
pub(super) fn turned(numbers: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| numbers.iter().skip(column).step_by(columns)).copied().collect()
}
