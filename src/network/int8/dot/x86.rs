//! x86-64's instructions.

use std::arch::x86_64::{
    __m128i, _mm_set1_epi32, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_cvtepu8_epi16, _mm256_madd_epi16,
    _mm256_setzero_si256, _mm512_dpbusd_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
};

use super::{Group, ROWS, Start, Sums, Words};

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

#[target_feature(enable = "avx2")]
pub(super) fn avx2<const G: usize>(rows: &[Words], weights: &[Group], start: &Start<G>, sums: &mut Sums<G>) {
    /// Rows whose sums fit in the registers.
    const FEW: usize = 2;
    for first in (0..ROWS).step_by(FEW) {
        for g in 0..G {
            // Of four columns each, two sums a column.
            let mut held = [[_mm256_setzero_si256(); 4]; FEW];
            for (words, weights) in rows.iter().zip(weights.chunks_exact(G)) {
                let (quarters, _) = weights[g].as_chunks::<16>();
                let mut x = [_mm256_setzero_si256(); FEW];
                for r in 0..FEW {
                    x[r] = _mm256_cvtepu8_epi16(_mm_set1_epi32(i32::from_ne_bytes(words[first + r])));
                }
                for (q, quarter) in quarters.iter().enumerate() {
                    let w = _mm256_cvtepi8_epi16(pulp::cast::<[i8; 16], __m128i>(*quarter));
                    for r in 0..FEW {
                        held[r][q] = _mm256_add_epi32(held[r][q], _mm256_madd_epi16(x[r], w));
                    }
                }
            }
            for r in 0..FEW {
                for q in 0..4 {
                    let pairs: [i32; 8] = pulp::cast(held[r][q]);
                    for c in 0..4 {
                        sums[first + r][g][4 * q + c] = start[g][4 * q + c] + pairs[2 * c] + pairs[2 * c + 1];
                    }
                }
            }
        }
    }
}
