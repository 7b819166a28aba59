//! x86-64's instructions.

#[cfg(test)]
use std::arch::x86_64::_mm256_dpbusd_epi32;
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_cvtepu8_epi16, _mm256_dpbusd_avx_epi32,
    _mm256_madd_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm512_dpbusd_epi32, _mm512_set1_epi32,
};

use super::{Group, ROWS, Start, Sums, WideWord, Word, first};

/// The first `R` of the rows; those below `count` go on to `then`.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn vnni<const R: usize, const G: usize>(
    count: usize,
    rows: &[Word],
    weights: &[Group],
    start: &Start<G>,
    mut then: impl FnMut(usize, &Start<G>),
) {
    let length = weights.len() / G;
    let rows: [&[Word]; R] = first(rows, length);
    let begin: [__m512i; G] = start.map(pulp::cast);
    let mut held = [begin; R];
    for (k, weights) in (0..length).zip(weights.chunks_exact(G)) {
        for r in 0..R {
            let x = _mm512_set1_epi32(i32::from_ne_bytes(rows[r][k]));
            for g in 0..G {
                held[r][g] = _mm512_dpbusd_epi32(held[r][g], x, pulp::cast(weights[g]));
            }
        }
    }
    // Written out: a loop that the compiler leaves as one would have the sums in memory from the beginning.
    macro_rules! then {
        ($($r:literal)*) => {
            $(if $r < R && $r < count {
                then($r, &held[$r % R].map(pulp::cast));
            })*
        };
    }
    then!(0 1 2 3 4 5 6 7);
}

/// The same with vectors half as wide, of eight columns each; the first `count` of the rows, and what fills up four.
macro_rules! vnni_256 {
    ($name:ident, $features:literal, $dpbusd:ident) => {
        #[target_feature(enable = $features)]
        pub(super) fn $name<const G: usize>(
            count: usize,
            rows: &[Word],
            weights: &[Group],
            start: &Start<G>,
            sums: &mut Sums<G>,
        ) {
            let length = weights.len() / G;
            for from in (0..count.min(ROWS)).step_by(TILE[0]) {
                let rows: [&[Word]; TILE[0]] = first(&rows[from * length..], length);
                for g in 0..G {
                    let start: [__m256i; TILE[1]] = pulp::cast(start[g]);
                    let mut held = [start; TILE[0]];
                    for (k, weights) in (0..length).zip(weights.chunks_exact(G)) {
                        let w: [__m256i; TILE[1]] = pulp::cast(weights[g]);
                        for r in 0..TILE[0] {
                            let x = _mm256_set1_epi32(i32::from_ne_bytes(rows[r][k]));
                            for v in 0..TILE[1] {
                                held[r][v] = $dpbusd(held[r][v], x, w[v]);
                            }
                        }
                    }
                    for r in 0..TILE[0] {
                        sums[from + r][g] = pulp::cast(held[r]);
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

/// Adds words with their bytes widened, four at a time.
#[target_feature(enable = "avx2")]
pub(super) fn widen(words: &[Word], wide: &mut Vec<WideWord>) {
    wide.extend(
        words
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|words| -> [WideWord; 4] { pulp::cast(_mm256_cvtepu8_epi16(pulp::cast(*words))) }),
    );
}

#[target_feature(enable = "avx2")]
pub(super) fn avx2<const G: usize>(
    count: usize,
    rows: &[WideWord],
    weights: &[Group],
    start: &Start<G>,
    sums: &mut Sums<G>,
) {
    let length = weights.len() / G;
    for from in (0..count.min(ROWS)).step_by(TILE[0]) {
        let rows: [&[WideWord]; TILE[0]] = first(&rows[from * length..], length);
        for g in 0..G {
            let start: [__m256i; TILE[1]] = pulp::cast(start[g]);
            let mut held = [start; TILE[0]];
            for (k, weights) in (0..length).zip(weights.chunks_exact(G)) {
                let quarters: &[[i8; 16]] = weights[g].as_chunks().0;
                for pair in 0..2 {
                    let mut w = [_mm256_setzero_si256(); TILE[1]];
                    for v in 0..TILE[1] {
                        w[v] = _mm256_cvtepi8_epi16(pulp::cast(quarters[TILE[1] * pair + v]));
                    }
                    for r in 0..TILE[0] {
                        let x = _mm256_set1_epi32(rows[r][k][pair]);
                        for v in 0..TILE[1] {
                            held[r][v] = _mm256_add_epi32(held[r][v], _mm256_madd_epi16(x, w[v]));
                        }
                    }
                }
            }
            for r in 0..TILE[0] {
                sums[from + r][g] = pulp::cast(held[r]);
            }
        }
    }
}
