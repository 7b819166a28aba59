//! Softmax and root-mean-square normalisation of rows of numbers, and their gradients, each in one pass.
//!
//! Sums are kept in the same [`LANES`] partial sums whatever vectors the processor has, so that every processor finds the same numbers.

use super::super::curve::exp;
use super::super::vectors::widest;

/// Partial sums: as many as the widest vectors hold.
pub(in crate::network) const LANES: usize = 16;

/// `Σ a ∘ b`
#[inline(always)]
pub(in crate::network) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for ((lane, x), y) in lanes.iter_mut().zip(a.remainder()).zip(b.remainder()) {
        *lane += x * y;
    }
    for (a, b) in a.zip(b) {
        for i in 0..LANES {
            lanes[i] += a[i] * b[i];
        }
    }
    total(lanes)
}

/// The sum, and before it [`exp`] of what each number is above `most`, in its place.
#[inline(always)]
fn exponentials(row: &mut [f32], most: f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let mut chunks = row.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        for i in 0..LANES {
            chunk[i] = exp(chunk[i] - most);
            lanes[i] += chunk[i];
        }
    }
    for (lane, x) in lanes.iter_mut().zip(chunks.into_remainder()) {
        *x = exp(*x - most);
        *lane += *x;
    }
    total(lanes)
}

/// Folds the upper half of the lanes onto the lower, and so on: four steps, where one after another would be sixteen.
#[inline(always)]
pub(in crate::network) fn join(mut lanes: [f32; LANES], with: impl Fn(f32, f32) -> f32) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = with(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn total(lanes: [f32; LANES]) -> f32 {
    join(lanes, |a, b| a + b)
}

/// The largest number.
#[inline(always)]
fn most(row: &[f32]) -> f32 {
    // Without the care of `f32::max` for NaN, which no vector instruction takes.
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = row.chunks_exact(LANES);
    for (lane, &x) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = larger(*lane, x);
    }
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    join(lanes, larger)
}

#[inline(always)]
fn multiply(row: &mut [f32], by: f32) {
    for x in row {
        *x *= by;
    }
}

/// `softmax(row × scale + bias)` of each row of so many numbers, in its place. `bias` gives what is added to a row.
pub(super) fn softmax<'a>(numbers: &mut [f32], length: usize, scale: f32, bias: impl Fn(usize) -> Option<&'a [f32]>) {
    widest(
        #[inline(always)]
        || {
            for (i, row) in numbers.chunks_exact_mut(length.max(1)).enumerate() {
                match bias(i) {
                    Some(bias) => {
                        for (x, b) in row.iter_mut().zip(bias) {
                            *x = *x * scale + b;
                        }
                    }
                    None => multiply(row, scale),
                }
                let most = most(row);
                let sum = exponentials(row, most);
                multiply(row, 1.0 / sum);
            }
        },
    );
}

/// `p ∘ (dp − Σ p ∘ dp)` of each row of so many numbers, in dp's place.
pub(super) fn softmax_gradient(p: &[f32], dp: &mut [f32], length: usize) {
    widest(
        #[inline(always)]
        || {
            for (p, dp) in p.chunks_exact(length.max(1)).zip(dp.chunks_exact_mut(length.max(1))) {
                let along = dot(p, dp);
                for (dp, p) in dp.iter_mut().zip(p) {
                    *dp = p * (*dp - along);
                }
            }
        },
    );
}

/// `x / √(mean(x²) + ε)` of each row of so many numbers, in its place; what each was multiplied by.
pub(in crate::network) fn rms_norm(numbers: &mut [f32], length: usize, epsilon: f32) -> Vec<f32> {
    let length = length.max(1);
    let mut scales = vec![0.0; numbers.len() / length];
    widest(
        #[inline(always)]
        || {
            for (row, scale) in numbers.chunks_exact_mut(length).zip(&mut scales) {
                *scale = 1.0 / (dot(row, row) / length as f32 + epsilon).sqrt();
                multiply(row, *scale);
            }
        },
    );
    scales
}

/// `(dy − y · mean(dy ∘ y)) × scale` of each row of so many numbers, in dy's place; a scale a row.
pub(super) fn rms_norm_gradient(dy: &mut [f32], y: &[f32], scale: &[f32], length: usize) {
    let length = length.max(1);
    widest(
        #[inline(always)]
        || {
            for ((dy, y), scale) in dy.chunks_exact_mut(length).zip(y.chunks_exact(length)).zip(scale) {
                let along = dot(dy, y) / length as f32;
                for (dy, y) in dy.iter_mut().zip(y) {
                    *dy = (*dy - y * along) * scale;
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that repeat after a while, between -4 and 4, with one far off.
    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| if i == 5 { 90.0 } else { (i * 29 % 81) as f32 / 10.0 - 4.0 }).collect()
    }

    fn close(found: &[f32], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len());
        for (i, (x, y)) in found.iter().zip(wanted).enumerate() {
            assert!((f64::from(*x) - y).abs() <= 2e-6 * y.abs().max(1.0), "number {i} is {x}, not {y}");
        }
    }

    #[test]
    fn rows_of_any_length_agree_with_the_formulas() {
        for length in [1, 3, 16, 64, 67, 78] {
            let (x, b) = (numbers(3 * length), numbers(length));
            let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| f64::from(x)).collect() };

            let mut p = x.clone();
            softmax(&mut p, length, 0.5, |row| (row != 1).then_some(&b[..]));
            let rows = wide(&x).chunks_exact(length).map(<[f64]>::to_vec).collect::<Vec<_>>();
            let weights = rows.iter().enumerate().flat_map(|(i, row)| {
                let added = |k: usize| if i == 1 { 0.0 } else { f64::from(b[k]) };
                let e: Vec<f64> = row.iter().enumerate().map(|(k, x)| (x * 0.5 + added(k)).exp()).collect();
                let sum: f64 = e.iter().sum();
                e.into_iter().map(move |e| e / sum)
            });
            close(&p, &weights.collect::<Vec<_>>());

            let mut dp = x.clone();
            softmax_gradient(&p, &mut dp, length);
            let p = wide(&p);
            let slopes = p.chunks_exact(length).zip(&rows).flat_map(|(p, dp)| {
                let along: f64 = p.iter().zip(dp).map(|(p, dp)| p * dp).sum();
                p.iter().zip(dp).map(|(p, dp)| p * (dp - along)).collect::<Vec<_>>()
            });
            close(&dp, &slopes.collect::<Vec<_>>());

            let mut y = x.clone();
            let scales = rms_norm(&mut y, length, 1e-5);
            let scale = |row: &[f64]| 1.0 / (row.iter().map(|x| x * x).sum::<f64>() / length as f64 + 1e-5).sqrt();
            close(&scales, &rows.iter().map(|row| scale(row)).collect::<Vec<_>>());
            let normal = rows.iter().flat_map(|row| row.iter().map(|x| x * scale(row)).collect::<Vec<_>>());
            close(&y, &normal.collect::<Vec<_>>());

            let mut dy = x.clone();
            rms_norm_gradient(&mut dy, &y, &scales, length);
            let y = wide(&y);
            let slopes = y.chunks_exact(length).zip(&rows).zip(&scales).flat_map(|((y, dy), &scale)| {
                let along = y.iter().zip(dy).map(|(y, dy)| y * dy).sum::<f64>() / length as f64;
                y.iter().zip(dy).map(|(y, dy)| (dy - y * along) * f64::from(scale)).collect::<Vec<_>>()
            });
            close(&dy, &slopes.collect::<Vec<_>>());
        }
    }
}
