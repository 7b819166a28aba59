//! Matrices as tiles of rounded numbers.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_epi16, _mm512_loadu_ps, _mm512_maskz_loadu_ps,
    _mm512_permutexvar_epi16, _mm512_shuffle_i32x4, _mm512_store_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};
use std::mem::transmute;
use std::ops::Range;

use super::super::matrices::Matrix;
use super::{DEPTH, LANES, Tile};

/// Whether this processor can make them.
pub(super) fn allowed() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512bf16")
}

/// What a tile has in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Major {
    /// The numbers of a lane.
    Lane,
    /// Two numbers of each lane.
    Depth,
}

/// Some lanes of a matrix `[lanes, depth]`, to some of their depth, as tiles `[lanes / 16, depth / 32]`, zeros where a tile goes beyond. Lanes are the rows of
/// what is multiplied from the left, the columns of what is multiplied from the right; along the depth it is summed up.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) fn pack(matrix: Matrix, lanes: Range<usize>, depth: Range<usize>, major: Major, tiles: &mut Vec<Tile>) {
    let Matrix { numbers, rows, columns, steps: [down, right] } = matrix;
    assert!(lanes.end <= rows && depth.end <= columns, "a part of the matrix");
    let (size, count) = ([lanes.len(), depth.len()], lanes.len().div_ceil(LANES) * depth.len().div_ceil(DEPTH));
    let from = &numbers[lanes.start * down + depth.start * right..];
    tiles.clear();
    tiles.reserve(count);
    let to = tiles.as_mut_ptr();
    // SAFETY: all numbers that are read are of the matrix, which lies in the slice; room for so many tiles was made.
    let is = unsafe {
        match [down, right] {
            [_, 1] => along(from.as_ptr(), down, size, to),
            [1, _] => across(from.as_ptr(), right, size, to),
            _ => along(gathered(from, [down, right], size).as_ptr(), depth.len(), size, to),
        }
    };
    // SAFETY: each of their rows has been written.
    unsafe { tiles.set_len(count) };
    if is != major {
        tiles.iter_mut().for_each(|tile| turn(tile));
    }
}

/// Numbers that lie anyhow, one lane after another.
fn gathered(from: &[f32], [down, right]: [usize; 2], [lanes, depth]: [usize; 2]) -> Vec<f32> {
    (0..lanes * depth).map(|i| from[i / depth * down + i % depth * right]).collect()
}

/// Masks of the first `count` of 32, sixteen each.
#[inline(always)]
fn first(count: usize) -> [u16; 2] {
    let mask = if count >= 32 { u32::MAX } else { (1 << count) - 1 };
    [mask as u16, (mask >> 16) as u16]
}

/// Lanes whose numbers lie one after another, in the order in which they lie.
///
/// # Safety
/// There must be so many lanes, `step` numbers apart, of so many numbers, and room for `[lanes / 16, depth / 32]` tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn along(from: *const f32, step: usize, [lanes, depth]: [usize; 2], tiles: *mut Tile) -> Major {
    let deep = depth.div_ceil(DEPTH);
    let whole = lanes.is_multiple_of(LANES) && depth.is_multiple_of(DEPTH);
    for lane in 0..lanes.next_multiple_of(LANES) {
        for k in 0..deep {
            // SAFETY: numbers of a lane that is there, others are masked; a row of a tile, which is a vector, of which any bits stand for something.
            unsafe {
                let from = from.wrapping_add(lane * step + k * DEPTH);
                let halves = if whole {
                    [_mm512_loadu_ps(from), _mm512_loadu_ps(from.wrapping_add(16))]
                } else {
                    let [low, high] = first(if lane < lanes { depth - k * DEPTH } else { 0 });
                    [_mm512_maskz_loadu_ps(low, from), _mm512_maskz_loadu_ps(high, from.wrapping_add(16))]
                };
                let row = tiles.add(lane / LANES * deep + k).cast::<__m512i>().add(lane % LANES);
                _mm512_store_si512(row, transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(halves[1], halves[0])));
            }
        }
    }
    Major::Lane
}

/// Lanes that lie side by side, in the order in which they lie.
///
/// # Safety
/// There must be numbers to so much depth, `step` numbers apart, of so many lanes, and room for `[lanes / 16, depth / 32]` tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn across(from: *const f32, step: usize, [lanes, depth]: [usize; 2], tiles: *mut Tile) -> Major {
    /// The first of each half, the second of each, and so on.
    static IN_TURN: [i16; DEPTH] = {
        let mut order = [0; DEPTH];
        let mut i = 0;
        while i < DEPTH {
            order[i] = (i / 2 + i % 2 * LANES) as i16;
            i += 1;
        }
        order
    };
    // SAFETY: 32 numbers of 16 bits.
    let order = unsafe { _mm512_loadu_epi16(IN_TURN.as_ptr()) };
    let (wide, deep) = (lanes.div_ceil(LANES), depth.div_ceil(DEPTH));
    let whole = lanes.is_multiple_of(LANES) && depth.is_multiple_of(DEPTH);
    for pair in 0..deep * LANES {
        for l in 0..wide {
            // SAFETY: numbers that are there, others are masked; a row of a tile, which is a vector, of which any bits stand for something.
            unsafe {
                let from = from.wrapping_add(2 * pair * step + l * LANES);
                let [even, odd] = if whole {
                    [_mm512_loadu_ps(from), _mm512_loadu_ps(from.wrapping_add(step))]
                } else {
                    let there = |k: usize| if k < depth { first(lanes - l * LANES)[0] } else { 0 };
                    let odd = _mm512_maskz_loadu_ps(there(2 * pair + 1), from.wrapping_add(step));
                    [_mm512_maskz_loadu_ps(there(2 * pair), from), odd]
                };
                let both = transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(odd, even));
                let row = tiles.add(l * deep + pair / LANES).cast::<__m512i>().add(pair % LANES);
                _mm512_store_si512(row, _mm512_permutexvar_epi16(order, both));
            }
        }
    }
    Major::Depth
}

/// Rows and columns of words exchanged.
#[inline]
#[target_feature(enable = "avx512f")]
fn turn(tile: &mut Tile) {
    // SAFETY: both are 16 rows of 64 bytes, of which any stand for something.
    let rows: [__m512i; LANES] = unsafe { transmute(*tile) };
    // Within each quarter of 128 bits: four by four words are turned, and belong to four rows of the result.
    let mut fours = rows;
    for i in (0..LANES).step_by(4) {
        let [a, b, c, d] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
        let [ab_low, ab_high] = [_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)];
        let [cd_low, cd_high] = [_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d)];
        fours[i] = _mm512_unpacklo_epi64(ab_low, cd_low);
        fours[i + 1] = _mm512_unpackhi_epi64(ab_low, cd_low);
        fours[i + 2] = _mm512_unpacklo_epi64(ab_high, cd_high);
        fours[i + 3] = _mm512_unpackhi_epi64(ab_high, cd_high);
    }
    // Then the quarters are turned, four by four.
    let mut out = rows;
    for j in 0..4 {
        let [a, b, c, d] = [fours[j], fours[4 + j], fours[8 + j], fours[12 + j]];
        let [ab_even, ab_odd] = [_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b)];
        let [cd_even, cd_odd] = [_mm512_shuffle_i32x4::<0x88>(c, d), _mm512_shuffle_i32x4::<0xdd>(c, d)];
        out[j] = _mm512_shuffle_i32x4::<0x88>(ab_even, cd_even);
        out[8 + j] = _mm512_shuffle_i32x4::<0xdd>(ab_even, cd_even);
        out[4 + j] = _mm512_shuffle_i32x4::<0x88>(ab_odd, cd_odd);
        out[12 + j] = _mm512_shuffle_i32x4::<0xdd>(ab_odd, cd_odd);
    }
    // SAFETY: likewise.
    *tile = unsafe { transmute::<[__m512i; LANES], Tile>(out) };
}
