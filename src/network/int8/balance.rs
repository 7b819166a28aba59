//! What rows are shifted and scaled by before they are rounded, number by number, so that all numbers of a row are of the same size.
//!
//! In trained networks a few numbers of the rows between blocks are much larger than all others, and nearly the same for every square.
//! Rounded with one scale for the whole row, the others would keep only three or four of their eight bits. So each has its mean taken
//! off and is divided by what it varies by, which is put back into the bias and the weights that it is multiplied by (Xiao et al. 2023,
//! "SmoothQuant").

use super::super::kernels::EPSILON;
use super::super::kernels::rows::{LANES, dot};
use super::dot::ROWS;
use super::transpose::{SIDE, Transpose, halved};

/// How much of the range of a number is evened out; the rest is left to the weights.
const SHARE: f32 = 0.75;
/// The range of numbers that hardly vary.
const LEAST: f32 = 0.01;

/// Means and factors of the numbers of a row.
#[derive(Clone, Debug)]
pub(super) struct Balance {
    /// What is taken off.
    pub(super) centres: Vec<f32>,
    /// What the rest is multiplied by.
    pub(super) factors: Vec<f32>,
}

impl Balance {
    /// What suits rows of so many numbers, of which these are samples, when each has been divided by its root mean square.
    pub(super) fn of(samples: &[f32], width: usize) -> Balance {
        let count = (samples.len() / width) as f32;
        let rows: Vec<Vec<f32>> = samples
            .chunks_exact(width)
            .map(|row| {
                let normal = normal(dot(row, row), width);
                row.iter().map(|x| x * normal).collect()
            })
            .collect();
        let centres: Vec<f32> = (0..width).map(|i| rows.iter().map(|row| row[i]).sum::<f32>() / count).collect();
        let range = |i: usize| rows.iter().fold(LEAST, |most, row| most.max((row[i] - centres[i]).abs()));
        let factors = (0..width).map(|i| range(i).powf(-SHARE)).collect();
        Balance { centres, factors }
    }

    /// At most eight rows divided by their root mean square, and balanced. Their width is a multiple of [`LANES`].
    #[inline(always)]
    pub(super) fn apply(&self, rows: &[f32], out: &mut [f32], transpose: Transpose) {
        let width = self.centres.len();
        let mut squares = [[0.0; SIDE]; ROWS];
        for (row, squares) in rows.chunks_exact(width).zip(&mut squares) {
            let mut sums = [0.0; LANES];
            for x in row.as_chunks::<LANES>().0 {
                for i in 0..LANES {
                    sums[i] += x[i] * x[i];
                }
            }
            *squares = halved(sums, |a, b| a + b);
        }
        let mut normals = transpose.join(&squares, |a, b| a + b);
        for normal in &mut normals {
            *normal = self::normal(*normal, width);
        }
        for ((row, out), normal) in rows.chunks_exact(width).zip(out.chunks_exact_mut(width)).zip(normals) {
            let by = self.centres.iter().zip(&self.factors);
            for ((y, x), (centre, factor)) in out.iter_mut().zip(row).zip(by) {
                *y = (x * normal - centre) * factor;
            }
        }
    }
}

/// What a row of so many numbers is multiplied by to be divided by its root mean square, by the sum of their squares.
#[inline(always)]
fn normal(squares: f32, width: usize) -> f32 {
    1.0 / (squares / width as f32 + EPSILON as f32).sqrt()
}
