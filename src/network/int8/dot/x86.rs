//! x86-64's instructions.

#[cfg(test)]
use std::arch::x86_64::_mm256_dpbusd_epi32;
use std::arch::x86_64::{
    __m128i, __m256i, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_cvtepu8_epi16, _mm256_dpbusd_avx_epi32,
    _mm256_hadd_epi32, _mm256_madd_epi16, _mm256_permute4x64_epi64, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm512_dpbusd_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
};

use super::{COLUMNS, Group, ROWS, Start, Sums, Words};

#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn vnni<const G: usize>(rows: &[Words], weights: &[Group], start: &Start<G>, sums: &mut Sums<G>) {
    let mut held = [[_mm512_setzero_si512(); G]; ROWS];
    for row in &mut held {
        for g in 0..G {
            row[g] = pulp::cast(start[g]);
        }
    }
    for (words, weights) in rows.iter().zip(weights.chunks_exact(G)) {
        for r in 0..ROWS {
            let x = _mm512_set1_epi32(i32::from_ne_bytes(words[r]));
            for g in 0..G {
                held[r][g] = _mm512_dpbusd_epi32(held[r][g], x, pulp::cast(weights[g]));
            }
        }
    }
    for r in 0..ROWS {
        for g in 0..G {
            sums[r][g] = pulp::cast(held[r][g]);
        }
    }
}

/// The same with vectors half as wide, of eight columns each.
macro_rules! vnni_256 {
    ($name:ident, $features:literal, $dpbusd:ident) => {
        #[target_feature(enable = $features)]
        pub(super) fn $name<const G: usize>(rows: &[Words], weights: &[Group], start: &Start<G>, sums: &mut Sums<G>) {
            for first in (0..ROWS).step_by(TILE[0]) {
                for g in 0..G {
                    let start: [__m256i; TILE[1]] = pulp::cast(start[g]);
                    let mut held = [start; TILE[0]];
                    for (words, weights) in rows.iter().zip(weights.chunks_exact(G)) {
                        let w: [__m256i; TILE[1]] = pulp::cast(weights[g]);
                        for r in 0..TILE[0] {
                            let x = _mm256_set1_epi32(i32::from_ne_bytes(words[first + r]));
                            for v in 0..TILE[1] {
                                held[r][v] = $dpbusd(held[r][v], x, w[v]);
                            }
                        }
                    }
                    for r in 0..TILE[0] {
                        sums[first + r][g] = pulp::cast(held[r]);
                    }
                }
            }
        }
    };
}

vnni_256!(avx_vnni, "avx2,avxvnni", _mm256_dpbusd_avx_epi32);
// The same instruction in another coding, which more of the processors have that run the tests.
#[cfg(test)]
vnni_256!(avx_vnni_twin, "avx2,avx512vl,avx512vnni", _mm256_dpbusd_epi32);

/// Rows, and vectors of columns, whose sums fit in 16 registers together with what they are made from.
const TILE: [usize; 2] = [4, 2];

/// Words that are widened at a time.
const WORDS: usize = 32;

#[target_feature(enable = "avx2")]
pub(super) fn avx2<const G: usize>(rows: &[Words], weights: &[Group], start: &Start<G>, sums: &mut Sums<G>) {
    *sums = [*start; ROWS];
    let mut wide = [[0; ROWS]; WORDS];
    for (rows, weights) in rows.chunks(WORDS).zip(weights.chunks(WORDS * G)) {
        for (words, wide) in rows.iter().zip(&mut wide) {
            *wide = widened(words);
        }
        for first in (0..ROWS).step_by(TILE[0]) {
            for g in 0..G {
                for quarter in (0..COLUMNS / 4).step_by(TILE[1]) {
                    tile(&wide[..rows.len()], weights.iter().skip(g).step_by(G), (first, g, quarter), sums);
                }
            }
        }
    }
}

/// The bytes of a word of each row, as 16 bits each.
#[inline]
#[target_feature(enable = "avx2")]
fn widened(words: &Words) -> [i64; ROWS] {
    let halves: [[u8; 16]; 2] = pulp::cast(*words);
    pulp::cast(halves.map(|half| -> [i64; 4] { pulp::cast(_mm256_cvtepu8_epi16(pulp::cast(half))) }))
}

/// Adds the products of four rows and eight columns of a group, two sums a column.
#[inline]
#[target_feature(enable = "avx2")]
fn tile<'a, const G: usize>(
    rows: &[[i64; ROWS]],
    weights: impl Iterator<Item = &'a Group>,
    (first, g, quarter): (usize, usize, usize),
    sums: &mut Sums<G>,
) {
    let mut held = [[_mm256_setzero_si256(); TILE[1]]; TILE[0]];
    for (words, weights) in rows.iter().zip(weights) {
        let (quarters, _) = weights.as_chunks::<16>();
        let mut w = [_mm256_setzero_si256(); TILE[1]];
        for q in 0..TILE[1] {
            w[q] = _mm256_cvtepi8_epi16(pulp::cast::<[i8; 16], __m128i>(quarters[quarter + q]));
        }
        for r in 0..TILE[0] {
            let x = _mm256_set1_epi64x(words[first + r]);
            for q in 0..TILE[1] {
                held[r][q] = _mm256_add_epi32(held[r][q], _mm256_madd_epi16(x, w[q]));
            }
        }
    }
    for r in 0..TILE[0] {
        // Each lane of 128 bits has two columns of the first vector, then two of the second.
        let pairs = _mm256_hadd_epi32(held[r][0], held[r][1]);
        let columns: [i32; 8] = pulp::cast(_mm256_permute4x64_epi64::<0b11_01_10_00>(pairs));
        for (sum, column) in sums[first + r][g][4 * quarter..].iter_mut().zip(columns) {
            *sum += column;
        }
    }
}
