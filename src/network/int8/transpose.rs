//! Rows and columns of numbers exchanged, eight by eight. Of plain loops the compiler makes one number after another.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256;

#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;

use super::super::kernels::rows::LANES;

/// Rows, and columns, that are exchanged.
pub(super) const SIDE: usize = 8;
/// As many rows of as many numbers.
pub(super) type Square = [[f32; SIDE]; SIDE];

/// The instructions that are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transpose {
    /// AVX2, where the processor has it.
    #[cfg(target_arch = "x86_64")]
    v3: Option<V3>,
}

impl Transpose {
    /// The best that this processor has.
    pub(super) fn best() -> Transpose {
        Transpose {
            #[cfg(target_arch = "x86_64")]
            v3: V3::try_new(),
        }
    }

    /// All that this processor has.
    #[cfg(test)]
    fn all() -> Vec<Transpose> {
        let plain = Transpose {
            #[cfg(target_arch = "x86_64")]
            v3: None,
        };
        vec![Transpose::best(), plain]
    }

    /// The columns of a square. To be called where loops are compiled for the widest vectors.
    #[inline(always)]
    pub(super) fn columns(self, rows: &Square) -> Square {
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = self.v3 {
            return columns(v3, rows);
        }
        let mut columns = [[0.0; SIDE]; SIDE];
        for (r, row) in rows.iter().enumerate() {
            for (c, x) in row.iter().enumerate() {
                columns[c][r] = *x;
            }
        }
        columns
    }

    /// What [`join`](super::super::kernels::rows::join) makes of each of eight rows of which these are [`halved`], in the same order.
    #[inline(always)]
    pub(super) fn join(self, halves: &Square, with: impl Fn(f32, f32) -> f32) -> [f32; SIDE] {
        // A row of these has the same number of each of the eight.
        let mut lanes = self.columns(halves);
        let mut half = SIDE / 2;
        while half > 0 {
            let (lower, upper) = lanes.split_at_mut(half);
            for (lower, upper) in lower.iter_mut().zip(upper) {
                for row in 0..SIDE {
                    lower[row] = with(lower[row], upper[row]);
                }
            }
            half /= 2;
        }
        lanes[0]
    }
}

/// The upper half of the lanes folded onto the lower.
#[inline(always)]
pub(super) fn halved(lanes: [f32; LANES], with: impl Fn(f32, f32) -> f32) -> [f32; SIDE] {
    let mut half = [0.0; SIDE];
    for i in 0..SIDE {
        half[i] = with(lanes[i], lanes[i + SIDE]);
    }
    half
}

/// Pairs of rows are interleaved, then pairs of these, then halves. Without closures, which the compiler may keep apart, without AVX.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn columns(v3: V3, rows: &Square) -> Square {
    /// The first two of each four of one, then of the other; and the last two.
    const FIRST: i32 = 0b01_00_01_00;
    const LAST: i32 = 0b11_10_11_10;
    /// The lower halves of both, and the upper.
    const LOWER: i32 = 0x20;
    const UPPER: i32 = 0x31;
    let (avx, [a, b, c, d, e, f, g, h]): (_, [__m256; SIDE]) = (v3.avx, pulp::cast(*rows));
    let (ab, cd) = (avx._mm256_unpacklo_ps(a, b), avx._mm256_unpacklo_ps(c, d));
    let (ef, gh) = (avx._mm256_unpacklo_ps(e, f), avx._mm256_unpacklo_ps(g, h));
    let (ab_2, cd_2) = (avx._mm256_unpackhi_ps(a, b), avx._mm256_unpackhi_ps(c, d));
    let (ef_2, gh_2) = (avx._mm256_unpackhi_ps(e, f), avx._mm256_unpackhi_ps(g, h));
    let upper = [
        avx._mm256_shuffle_ps::<FIRST>(ab, cd),
        avx._mm256_shuffle_ps::<LAST>(ab, cd),
        avx._mm256_shuffle_ps::<FIRST>(ab_2, cd_2),
        avx._mm256_shuffle_ps::<LAST>(ab_2, cd_2),
    ];
    let lower = [
        avx._mm256_shuffle_ps::<FIRST>(ef, gh),
        avx._mm256_shuffle_ps::<LAST>(ef, gh),
        avx._mm256_shuffle_ps::<FIRST>(ef_2, gh_2),
        avx._mm256_shuffle_ps::<LAST>(ef_2, gh_2),
    ];
    let mut columns = [a; SIDE];
    for i in 0..SIDE / 2 {
        columns[i] = avx._mm256_permute2f128_ps::<LOWER>(upper[i], lower[i]);
        columns[i + SIDE / 2] = avx._mm256_permute2f128_ps::<UPPER>(upper[i], lower[i]);
    }
    pulp::cast(columns)
}

#[cfg(test)]
mod tests {
    use super::super::super::kernels::rows::join;
    use super::*;

    #[test]
    fn columns_are_what_rows_were() {
        let rows: Square = std::array::from_fn(|r| std::array::from_fn(|c| (10 * r + c) as f32));
        for transpose in Transpose::all() {
            let columns = transpose.columns(&rows);
            for r in 0..SIDE {
                for c in 0..SIDE {
                    assert_eq!(columns[c][r], rows[r][c], "row {r}, column {c} with {transpose:?}");
                }
            }
        }
    }

    #[test]
    fn rows_are_joined_in_the_same_order_as_one_alone() {
        let number = |r: usize, i: usize| (((r * 31 + i) * 29 % 83) as f32 / 7.0).exp() - 40.0;
        let rows: [[f32; LANES]; SIDE] = std::array::from_fn(|r| std::array::from_fn(|i| number(r, i)));
        for transpose in Transpose::all() {
            for with in [|a, b| a + b, f32::max] {
                let halves = rows.map(|row| halved(row, with));
                assert_eq!(transpose.join(&halves, with), rows.map(|row| join(row, with)), "{transpose:?}");
            }
        }
    }
}
