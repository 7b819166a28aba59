//! Rows of numbers as bytes, each row with a scale of its own.

use super::super::kernels::rows::LANES;
use super::super::vectors::widest;
use super::balance::Balance;
use super::dot::{Block, Dot, ROWS, WideWord, Word};
use super::transpose::{SIDE, Transpose, halved};

/// Added to a number below 2²², whatever its sign, it has the nearest integer in its lowest bits.
pub(super) const ROUNDER: f32 = 12_582_912.0;
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

/// Rows as bytes.
#[derive(Debug)]
pub(super) struct Bytes {
    dot: Dot,
    transpose: Transpose,
    /// `[rows, width / 4]`, with rows that make them a multiple of eight.
    words: Vec<Word>,
    /// The same, where the processor's instructions do not take bytes.
    wide: Vec<WideWord>,
    /// What one in a byte of each row stands for.
    scales: Vec<f32>,
    /// Words of a row.
    length: usize,
    /// Whether [`SHIFT`] was added.
    shifted: bool,
    /// Eight rows, balanced.
    balanced: Vec<f32>,
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes {
            dot: Dot::best(),
            transpose: Transpose::best(),
            words: Vec::new(),
            wide: Vec::new(),
            scales: Vec::new(),
            length: 0,
            shifted: false,
            balanced: Vec::new(),
        }
    }
}

impl Bytes {
    /// Takes rows of so many numbers in the place of those that it had: of a multiple of sixteen numbers.
    ///
    /// # Panics
    /// When rows are of another width.
    pub(super) fn take(&mut self, rows: &[f32], width: usize, numbers: Numbers) {
        let count = rows.len() / width.max(1);
        assert!(width.is_multiple_of(LANES), "rows that fill whole vectors");
        self.length = width / 4;
        self.shifted = !matches!(numbers, Numbers::Positive);
        self.words.resize(count.next_multiple_of(ROWS) * self.length, [0; 4]);
        self.scales.resize(count, 0.0);
        let (largest, flip) = if self.shifted { (127.0, SHIFT as u8) } else { (255.0, 0) };
        self.balanced.resize(ROWS * width, 0.0);
        let (bytes, scales, transpose) = (self.words.as_flattened_mut(), &mut self.scales, self.transpose);
        let balanced = &mut self.balanced[..];
        widest(
            #[inline(always)]
            || {
                let blocks = rows.chunks(ROWS * width).zip(scales.chunks_mut(ROWS));
                for ((rows, scales), bytes) in blocks.zip(bytes.chunks_exact_mut(ROWS * width)) {
                    // One thing after another for eight rows, or what is left of them: each takes long to be known, but the rows do
                    // not wait for each other.
                    let rows = match numbers {
                        Numbers::Normalised(balance) => {
                            balance.apply(rows, balanced, transpose);
                            &balanced[..rows.len()]
                        }
                        Numbers::Positive | Numbers::Any => rows,
                    };
                    let mut most = [[0.0; SIDE]; ROWS];
                    for (row, most) in rows.chunks_exact(width).zip(&mut most) {
                        let mut lanes = [0.0; LANES];
                        for x in row.as_chunks::<LANES>().0 {
                            for i in 0..LANES {
                                lanes[i] = larger(x[i].abs(), lanes[i]);
                            }
                        }
                        *most = halved(lanes, larger);
                    }
                    let (most, mut factors) = (transpose.join(&most, larger), [0.0; ROWS]);
                    for ((scale, factor), most) in scales.iter_mut().zip(&mut factors).zip(most) {
                        *scale = most / largest;
                        *factor = if *scale > 0.0 { 1.0 / *scale } else { 0.0 };
                    }
                    for ((row, bytes), factor) in
                        rows.chunks_exact(width).zip(bytes.chunks_exact_mut(width)).zip(factors)
                    {
                        for (byte, x) in bytes.iter_mut().zip(row) {
                            *byte = (x * factor + ROUNDER).to_bits() as u8 ^ flip;
                        }
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
        let length = ROWS * self.length.max(1);
        let wide = move |i| self.wide.get(i * length..(i + 1) * length).unwrap_or_default();
        let blocks = self.words.chunks_exact(length).zip(self.scales.chunks(ROWS)).enumerate();
        blocks.map(move |(i, (words, scales))| (Block { rows: scales.len(), words, wide: wide(i) }, scales))
    }
}

/// Without the care of `f32::max` for NaN, which no vector instruction takes.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_for_the_numbers() {
        for (count, width) in [(16, 16), (16, 48), (3, 32), (1, 64)] {
            let any: Vec<f32> = (0..count * width)
                .map(|i| if i < width / 2 { 0.0 } else { (i * 29 % 83) as f32 / 10.0 - 4.0 })
                .collect();
            let positive: Vec<f32> = any.iter().map(|x| x.max(0.0)).collect();
            let balance = Balance::of(&any, width);
            let normalised: Vec<f32> = any
                .chunks_exact(width)
                .flat_map(|row| {
                    let mut balanced = vec![0.0; width];
                    balance.apply(row, &mut balanced, Transpose::best());
                    balanced
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
                assert_eq!((bytes.rows(), bytes.blocks().count()), (count, count.div_ceil(ROWS)));
                for (b, (Block { rows, words, .. }, scales)) in bytes.blocks().enumerate() {
                    assert_eq!((rows, scales.len()), (count.min(ROWS), count.min(ROWS)));
                    for r in 0..rows {
                        for (i, x) in wanted[(b * ROWS + r) * width..][..width].iter().enumerate() {
                            let shift = if bytes.shifted() { SHIFT } else { 0 };
                            let byte = words[(r * width + i) / 4][i % 4];
                            let found = (i32::from(byte) - shift) as f32 * scales[r];
                            assert!((found - x).abs() <= scales[r] * 0.501, "{found} for {x}");
                        }
                    }
                }
            }
        }
    }
}
