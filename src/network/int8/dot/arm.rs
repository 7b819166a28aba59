//! NEON's dot products of bytes (FEAT_DotProd: Apple's M1, most of ARM's own since 2018).

use std::arch::aarch64::{
    int8x16_t, int32x4_t, vaddq_s32, vdupq_n_s8, vdupq_n_s32, vdupq_n_u8, veorq_u8, vld1q_s8, vld1q_s32, vld1q_u8,
    vreinterpretq_s8_u8, vst1q_s32, vsubq_s32,
};
use std::arch::asm;

use super::{COLUMNS, Group, ROWS, Start, Sums, Word, first};

/// Sums of an instruction: a column each.
const LANES: usize = 4;
/// Vectors of columns whose sums fit in the registers, for all rows.
const FEW: usize = 2;

/// Both factors of NEON's products are signed. So 128 is taken from each byte of the rows, and put back in the end: as the products of
/// 128 and the weights.
#[target_feature(enable = "neon,dotprod")]
pub(super) fn dot_product<const G: usize>(rows: &[Word], weights: &[Group], start: &Start<G>, sums: &mut Sums<G>) {
    let rows: [&[Word]; ROWS] = first(rows, weights.len() / G);
    for g in 0..G {
        for few in (0..COLUMNS / LANES).step_by(FEW) {
            let column = |v: usize| (few + v) * LANES;
            let mut held = [[vdupq_n_s32(0); FEW]; ROWS];
            let mut taken = [vdupq_n_s32(0); FEW];
            for (four, weights) in weights.chunks_exact(4 * G).enumerate() {
                let mut words = [vdupq_n_s8(0); ROWS];
                for r in 0..ROWS {
                    words[r] = signed(&rows[r].as_chunks().0[four]);
                }
                for v in 0..FEW {
                    let mut w = [vdupq_n_s8(0); 4];
                    for word in 0..4 {
                        // SAFETY: 16 of the 64 bytes of a group.
                        w[word] = unsafe { vld1q_s8(weights[word * G + g][4 * column(v)..][..4 * LANES].as_ptr()) };
                    }
                    taken[v] = add_all(taken[v], w, vdupq_n_s8(i8::MIN));
                    for r in 0..ROWS {
                        held[r][v] = add_all(held[r][v], w, words[r]);
                    }
                }
            }
            for r in 0..ROWS {
                for v in 0..FEW {
                    let start = &start[g][column(v)..][..LANES];
                    let out = &mut sums[r][g][column(v)..][..LANES];
                    // SAFETY: four numbers each.
                    unsafe {
                        let sum = vaddq_s32(vld1q_s32(start.as_ptr()), vsubq_s32(held[r][v], taken[v]));
                        vst1q_s32(out.as_mut_ptr(), sum);
                    }
                }
            }
        }
    }
}

/// Four words of a row, each byte less 128.
#[inline]
#[target_feature(enable = "neon")]
fn signed(words: &[Word; 4]) -> int8x16_t {
    // SAFETY: 16 bytes.
    let bytes = unsafe { vld1q_u8(words.as_flattened().as_ptr()) };
    vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(0x80)))
}

/// `sums` and the products of the weights for four words, and these.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn add_all(sums: int32x4_t, weights: [int8x16_t; 4], words: int8x16_t) -> int32x4_t {
    let sums = add::<1>(add::<0>(sums, weights[0], words), weights[1], words);
    add::<3>(add::<2>(sums, weights[2], words), weights[3], words)
}

/// `sums` and the products of each four of `weights` and the four bytes at place `WORD` of `words`. (The function for it in `std::arch` is not
/// stable: rust-lang/rust#117224.)
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn add<const WORD: usize>(mut sums: int32x4_t, weights: int8x16_t, words: int8x16_t) -> int32x4_t {
    // SAFETY: it changes nothing but the register.
    unsafe {
        asm!(
            "sdot {sums:v}.4s, {weights:v}.16b, {words:v}.4b[{word}]",
            sums = inout(vreg) sums,
            weights = in(vreg) weights,
            words = in(vreg) words,
            word = const WORD,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}
