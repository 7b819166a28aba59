//! Rows of numbers as bytes, each row with a scale of its own.

use super::super::kernels::rows::{LANES, join};
use super::super::vectors::widest;
use super::balance::Balance;
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
    /// Eight rows, balanced, and as bytes one after another.
    balanced: Vec<f32>,
    bytes: Vec<u8>,
}

impl Default for Bytes {
    fn default() -> Bytes {
        let dot = Dot::best();
        Bytes {
            dot,
            words: Vec::new(),
            wide: Vec::new(),
            scales: Vec::new(),
            length: 0,
            shifted: false,
            balanced: Vec::new(),
            bytes: Vec::new(),
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
        self.words.resize(count.div_ceil(ROWS) * self.length, [[0; 4]; ROWS]);
        self.scales.resize(count, 0.0);
        let (largest, flip) = if self.shifted { (127.0, SHIFT as u8) } else { (255.0, 0) };
        let (words, scales, length) = (&mut self.words, &mut self.scales, self.length);
        self.balanced.resize(ROWS * width, 0.0);
        self.bytes.resize(ROWS * width, 0);
        let (balanced, bytes) = (&mut self.balanced[..], &mut self.bytes[..]);
        widest(
            #[inline(always)]
            || {
                let blocks = rows.chunks(ROWS * width).zip(scales.chunks_mut(ROWS));
                for ((rows, scales), words) in blocks.zip(words.chunks_exact_mut(length)) {
                    // One thing after another for eight rows, or what is left of them: each takes long to be known, but the rows do
                    // not wait for each other.
                    let rows = match numbers {
                        Numbers::Normalised(balance) => {
                            balance.apply(rows, balanced);
                            &*balanced
                        }
                        Numbers::Positive | Numbers::Any => rows,
                    };
                    for (row, scale) in rows.chunks_exact(width).zip(scales.iter_mut()) {
                        *scale = most(row);
                    }
                    let mut factors = [0.0; ROWS];
                    for (scale, factor) in scales.iter_mut().zip(&mut factors) {
                        *scale /= largest;
                        *factor = if *scale > 0.0 { 1.0 / *scale } else { 0.0 };
                    }
                    for ((row, bytes), factor) in
                        rows.chunks_exact(width).zip(bytes.chunks_exact_mut(width)).zip(factors)
                    {
                        for (byte, x) in bytes.iter_mut().zip(row) {
                            *byte = (x * factor + ROUNDER).to_bits() as u8 ^ flip;
                        }
                    }
                    interleave(bytes, words);
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
        let blocks = self.words.chunks_exact(length).zip(self.scales.chunks(ROWS)).enumerate();
        blocks.map(move |(i, (words, scales))| (Block { rows: scales.len(), words, wide: wide(i) }, scales))
    }
}

/// Rows one after another to rows side by side.
#[inline(always)]
fn interleave(bytes: &[u8], words: &mut [Words]) {
    let (fours, length) = (bytes.as_chunks::<4>().0, words.len());
    for (k, words) in words.iter_mut().enumerate() {
        let mut side_by_side = [[0; 4]; ROWS];
        for r in 0..ROWS {
            side_by_side[r] = fours[r * length + k];
        }
        *words = side_by_side;
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
                    balance.apply(row, &mut balanced);
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
                            let found = (i32::from(words[i / 4][r][i % 4]) - shift) as f32 * scales[r];
                            assert!((found - x).abs() <= scales[r] * 0.501, "{found} for {x}");
                        }
                    }
                }
            }
        }
    }
}
