//! NEON's dot products of bytes (FEAT_DotProd: Apple's M1, most of ARM's own since 2018).

use std::arch::aarch64::{
    int8x16_t, int32x4_t, vaddq_s32, vdupq_n_s8, vdupq_n_s32, vdupq_n_u8, veorq_u8, vld1q_s8, vld1q_s32, vld1q_u8,
    vreinterpretq_s8_u8, vst1q_s32, vsubq_s32,
};
use std::arch::asm;

use super::{COLUMNS, Group, ROWS, Start, Sums, Words};

/// Sums of an instruction: a column each.
const LANES: usize = 4;
/// Vectors of columns whose sums fit in the registers, for all rows.
const FEW: usize = 2;

/// Both factors of NEON's products are signed. So 128 is taken from each byte of the rows, and put back in the end: as the products of
/// 128 and the weights.
#[target_feature(enable = "neon,dotprod")]
pub(super) fn dot_product<const G: usize>(rows: &[Words], weights: &[Group], start: &Start<G>, sums: &mut Sums<G>) {
    for g in 0..G {
        for first in (0..COLUMNS / LANES).step_by(FEW) {
            let column = |v: usize| (first + v) * LANES;
            let mut held = [[vdupq_n_s32(0); FEW]; ROWS];
            let (mut taken, all) = ([vdupq_n_s32(0); FEW], vdupq_n_s8(i8::MIN));
            for (words, weights) in rows.iter().zip(weights.chunks_exact(G)) {
                let [upper, lower] = signed(words);
                for v in 0..FEW {
                    // SAFETY: 16 of the 64 bytes of a group.
                    let w = unsafe { vld1q_s8(weights[g][4 * column(v)..][..4 * LANES].as_ptr()) };
                    taken[v] = add::<0>(taken[v], w, all);
                    held[0][v] = add::<0>(held[0][v], w, upper);
                    held[1][v] = add::<1>(held[1][v], w, upper);
                    held[2][v] = add::<2>(held[2][v], w, upper);
                    held[3][v] = add::<3>(held[3][v], w, upper);
                    held[4][v] = add::<0>(held[4][v], w, lower);
                    held[5][v] = add::<1>(held[5][v], w, lower);
                    held[6][v] = add::<2>(held[6][v], w, lower);
                    held[7][v] = add::<3>(held[7][v], w, lower);
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

/// The words of the first four rows and of the others, each byte less 128.
#[inline]
#[target_feature(enable = "neon")]
fn signed(words: &Words) -> [int8x16_t; 2] {
    let (bytes, turn) = (words.as_flattened(), vdupq_n_u8(0x80));
    // SAFETY: each slice has 16 bytes.
    [0, 16].map(|at| vreinterpretq_s8_u8(veorq_u8(unsafe { vld1q_u8(bytes[at..][..16].as_ptr()) }, turn)))
}

/// `sums` and the products of each four of `weights` and the four bytes at place `ROW` of `words`. (The function for it in `std::arch` is not
/// stable: rust-lang/rust#117224.)
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn add<const ROW: usize>(mut sums: int32x4_t, weights: int8x16_t, words: int8x16_t) -> int32x4_t {
    // SAFETY: it changes nothing but the register.
    unsafe {
        asm!(
            "sdot {sums:v}.4s, {weights:v}.16b, {words:v}.4b[{row}]",
            sums = inout(vreg) sums,
            weights = in(vreg) weights,
            words = in(vreg) words,
            row = const ROW,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}
