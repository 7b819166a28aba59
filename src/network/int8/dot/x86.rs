//! x86-64's instructions.

#[cfg(test)]
use std::arch::x86_64::_mm256_dpbusd_epi32;
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_cvtepu8_epi16, _mm256_dpbusd_avx_epi32, _mm256_madd_epi16,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm512_dpbusd_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
};

use super::{Group, ROWS, Start, Sums, WideWords, Words};

/// The first `R` of the rows.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn vnni<const R: usize, const G: usize>(
    rows: &[Words],
    weights: &[Group],
    start: &Start<G>,
    sums: &mut Sums<G>,
) {
    let mut held = [[_mm512_setzero_si512(); G]; R];
    for row in &mut held {
        for g in 0..G {
            row[g] = pulp::cast(start[g]);
        }
    }
    for (words, weights) in rows.iter().zip(weights.chunks_exact(G)) {
        for r in 0..R {
            let x = _mm512_set1_epi32(i32::from_ne_bytes(words[r]));
            for g in 0..G {
                held[r][g] = _mm512_dpbusd_epi32(held[r][g], x, pulp::cast(weights[g]));
            }
        }
    }
    for r in 0..R {
        for g in 0..G {
            sums[r][g] = pulp::cast(held[r][g]);
        }
    }
}

/// The same with vectors half as wide, of eight columns each; the first `count` of the rows, and what fills up four.
macro_rules! vnni_256 {
    ($name:ident, $features:literal, $dpbusd:ident) => {
        #[target_feature(enable = $features)]
        pub(super) fn $name<const G: usize>(
            count: usize,
            rows: &[Words],
            weights: &[Group],
            start: &Start<G>,
            sums: &mut Sums<G>,
        ) {
            for first in (0..count.min(ROWS)).step_by(TILE[0]) {
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

/// Adds the rows of words with their bytes widened.
#[target_feature(enable = "avx2")]
pub(super) fn widen(words: &[Words], wide: &mut Vec<WideWords>) {
    wide.extend(words.iter().map(|words| -> WideWords {
        let halves: [[u8; 16]; 2] = pulp::cast(*words);
        pulp::cast(halves.map(|half| _mm256_cvtepu8_epi16(pulp::cast(half))))
    }));
}

#[target_feature(enable = "avx2")]
pub(super) fn avx2<const G: usize>(
    count: usize,
    rows: &[WideWords],
    weights: &[Group],
    start: &Start<G>,
    sums: &mut Sums<G>,
) {
    for first in (0..count.min(ROWS)).step_by(TILE[0]) {
        for g in 0..G {
            let start: [__m256i; TILE[1]] = pulp::cast(start[g]);
            let mut held = [start; TILE[0]];
            for (words, weights) in rows.iter().zip(weights.chunks_exact(G)) {
                let quarters: &[[i8; 16]] = weights[g].as_chunks().0;
                for pair in 0..2 {
                    let mut w = [_mm256_setzero_si256(); TILE[1]];
                    for v in 0..TILE[1] {
                        w[v] = _mm256_cvtepi8_epi16(pulp::cast(quarters[TILE[1] * pair + v]));
                    }
                    for r in 0..TILE[0] {
                        let x = _mm256_set1_epi32(words[first + r][pair]);
                        for v in 0..TILE[1] {
                            held[r][v] = _mm256_add_epi32(held[r][v], _mm256_madd_epi16(x, w[v]));
                        }
                    }
                }
            }
            for r in 0..TILE[0] {
                sums[first + r][g] = pulp::cast(held[r]);
            }
        }
    }
}
