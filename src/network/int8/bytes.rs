//! Rows of numbers as bytes, each row with a scale of its own.

use super::super::kernels::rows::{LANES, join};
use super::super::vectors::widest;
use super::balance::{Balance, normal};
use super::dot::{Block, Dot, ROWS, WideWords, Words};

/// Added to a number below 2²², it has the nearest integer in its lowest bits.
const ROUNDER: f32 = 12_582_912.0;
/// What is added to signed bytes, which are from -127 to 127, so that they are unsigned.
pub(super) const SHIFT: i32 = 128;

/// What rows are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers<'a> {
    /// At least zero.
    Positive,
    /// Any.
    Any,
    /// Any, to be divided by their root mean square, and balanced.
    Normalised(&'a Balance),
}

/// Rows as bytes: eight rows side by side, four bytes of each at a time.
#[derive(Debug)]
pub(super) struct Bytes {
    dot: Dot,
    /// `[rows / 8, width / 4]`
    words: Vec<Words>,
    /// The same, where the processor's instructions do not take bytes.
    wide: Vec<WideWords>,
    /// What one in a byte of each row stands for.
    scales: Vec<f32>,
    /// Words of a row.
    length: usize,
    /// Whether [`SHIFT`] was added.
    shifted: bool,
}

impl Default for Bytes {
    fn default() -> Bytes {
        let dot = Dot::best();
        Bytes { dot, words: Vec::new(), wide: Vec::new(), scales: Vec::new(), length: 0, shifted: false }
    }
}

impl Bytes {
    /// Takes rows of so many numbers in the place of those that it had: a multiple of eight rows, of a multiple of sixteen numbers.
    ///
    /// # Panics
    /// When rows are of another width.
    pub(super) fn take(&mut self, rows: &[f32], width: usize, numbers: Numbers) {
        let count = rows.len() / width.max(1);
        assert!(width.is_multiple_of(LANES), "rows that fill whole vectors");
        self.length = width / 4;
        self.shifted = !matches!(numbers, Numbers::Positive);
        self.words.resize(count / ROWS * self.length, [[0; 4]; ROWS]);
        self.scales.resize(count, 0.0);
        let (largest, flip) = if self.shifted { (127.0, SHIFT as u8) } else { (255.0, 0) };
        let (words, scales, length) = (&mut self.words, &mut self.scales, self.length);
        let (mut balanced, mut bytes) = (Vec::new(), vec![0; width]);
        // One thing after another for all rows: each takes long to be known, but the rows do not wait for each other.
        widest(
            #[inline(always)]
            || {
                if let Numbers::Normalised(balance) = numbers {
                    for (row, scale) in rows.chunks_exact(width).zip(scales.iter_mut()) {
                        *scale = normal(row);
                    }
                    balanced.resize(rows.len(), 0.0);
                    let to = balanced.chunks_exact_mut(width);
                    for ((row, to), normal) in rows.chunks_exact(width).zip(to).zip(scales.iter()) {
                        let by = balance.centres.iter().zip(&balance.factors);
                        for ((y, x), (centre, factor)) in to.iter_mut().zip(row).zip(by) {
                            *y = (x * normal - centre) * factor;
                        }
                    }
                }
                let rows = if balanced.is_empty() { rows } else { &balanced };
                for (row, scale) in rows.chunks_exact(width).zip(scales.iter_mut()) {
                    *scale = most(row) / largest;
                }
                for (r, row) in rows.chunks_exact(width).enumerate() {
                    let factor = if scales[r] > 0.0 { 1.0 / scales[r] } else { 0.0 };
                    for (byte, x) in bytes.iter_mut().zip(row) {
                        *byte = (x * factor + ROUNDER).to_bits() as u8 ^ flip;
                    }
                    let words = &mut words[r / ROWS * length..][..length];
                    for (word, four) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
                        word[r % ROWS] = *four;
                    }
                }
            },
        );
        self.dot.widen(&self.words, &mut self.wide);
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        self.scales.len()
    }

    /// Whether [`SHIFT`] was added to the bytes.
    pub(super) fn shifted(&self) -> bool {
        self.shifted
    }

    /// Words of each row.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Eight rows at a time: their bytes, and what one in them stands for.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (Block<'_>, &[f32])> {
        let length = self.length.max(1);
        let wide = move |i| self.wide.get(i * length..(i + 1) * length).unwrap_or_default();
        let block = move |(i, words)| Block { words, wide: wide(i) };
        self.words.chunks_exact(length).enumerate().map(block).zip(self.scales.chunks_exact(ROWS))
    }
}

/// The largest magnitude in a row.
#[inline(always)]
fn most(row: &[f32]) -> f32 {
    let mut most = [0.0_f32; LANES];
    for chunk in row.as_chunks::<LANES>().0 {
        for i in 0..LANES {
            let x = chunk[i].abs();
            most[i] = if x > most[i] { x } else { most[i] };
        }
    }
    join(most, |a, b| if b > a { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_for_the_numbers() {
        for width in [16, 48] {
            let any: Vec<f32> =
                (0..16 * width).map(|i| if i < width { 0.0 } else { (i * 29 % 83) as f32 / 10.0 - 4.0 }).collect();
            let positive: Vec<f32> = any.iter().map(|x| x.max(0.0)).collect();
            let balance = Balance::of(&any, width);
            let normalised: Vec<f32> = any
                .chunks_exact(width)
                .flat_map(|row| {
                    let balance = &balance;
                    row.iter()
                        .enumerate()
                        .map(move |(i, x)| (x * normal(row) - balance.centres[i]) * balance.factors[i])
                })
                .collect();
            let given = [
                (Numbers::Positive, &positive, &positive),
                (Numbers::Any, &any, &any),
                (Numbers::Normalised(&balance), &any, &normalised),
            ];
            let mut bytes = Bytes::default();
            bytes.take(&vec![1.0; 32 * width], width, Numbers::Positive);
            for (numbers, x, wanted) in given {
                bytes.take(x, width, numbers);
                assert_eq!((bytes.rows(), bytes.blocks().count()), (16, 2));
                for (b, (Block { words, .. }, scales)) in bytes.blocks().enumerate() {
                    for r in 0..ROWS {
                        for (i, x) in wanted[(b * ROWS + r) * width..][..width].iter().enumerate() {
                            let shift = if bytes.shifted() { SHIFT } else { 0 };
                            let found = (i32::from(words[i / 4][r][i % 4]) - shift) as f32 * scales[r];
                            assert!((found - x).abs() <= scales[r] * 0.501, "{found} for {x}");
                        }
                    }
                }
            }
        }
    }
}
