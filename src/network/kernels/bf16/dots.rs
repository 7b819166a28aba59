//! AVX-512's products of bfloat16 (`vdpbf16ps`), 32 an instruction: twice those in single precision, on processors that begin as many of either.

use std::arch::x86_64::{
    __cpuid, __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_load_si512, _mm512_loadu_ps, _mm512_set1_epi32,
    _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::mem::transmute;
use std::sync::OnceLock;

use super::{DEPTH, LANES, Product, Tile, pack};

/// Rows whose sums are kept in registers at a time, two vectors each.
const ROWS: usize = 8;
/// Pairs of numbers that a lane of a tile has.
const PAIRS: usize = DEPTH / 2;

/// Whether they are worth using where they are there: AMD's processors begin as many as in single precision (measured on Zen 5), Intel's half
/// as many (on Sapphire Rapids).
pub(super) fn are_fast() -> bool {
    static FAST: OnceLock<bool> = OnceLock::new();
    *FAST.get_or_init(|| {
        let maker = __cpuid(0);
        [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD"
    })
}

/// The instructions are there.
pub(super) struct Dots(());

impl Dots {
    /// # Panics
    /// Where they are not.
    pub(super) fn begin() -> Self {
        assert!(pack::allowed(), "no products of bfloat16 on this processor");
        Dots(())
    }

    /// Sums up a product.
    ///
    /// # Safety
    /// There must be what it says: the tiles, and the rows of sums.
    pub(super) unsafe fn multiply(&self, product: Product) {
        let Product { a, b, deep, sums, stride, held } = product;
        for row in (0..2 * LANES).step_by(ROWS) {
            // SAFETY: `self` says that the instructions are there; the rows of a tile lie one after another, as those of the sums.
            unsafe {
                let of_a = a[row / LANES].cast::<i32>().add(row % LANES * PAIRS);
                let to = sums.add(row * stride);
                match held {
                    true => some_rows::<true>(of_a, b, deep, to, stride),
                    false => some_rows::<false>(of_a, b, deep, to, stride),
                }
            }
        }
    }
}

/// As [`Dots::multiply`], some rows of them.
///
/// # Safety
/// Likewise, and the instructions must be there; a points to the first of those rows in its first tile.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn some_rows<const HELD: bool>(a: *const i32, b: [*const Tile; 2], deep: usize, sums: *mut f32, stride: usize) {
    // Sixteen sums each, side by side.
    let place = |row: usize, half: usize| sums.wrapping_add(row * stride + half * LANES);
    // SAFETY: the caller's word; of the bits of words any stand for two numbers.
    unsafe {
        let mut sum = [[_mm512_setzero_ps(); 2]; ROWS];
        if HELD {
            for (row, sum) in sum.iter_mut().enumerate() {
                *sum = [0, 1].map(|half| _mm512_loadu_ps(place(row, half)));
            }
        }
        let numbers = |words: __m512i| transmute::<__m512i, __m512bh>(words);
        for tile in 0..deep {
            for pair in 0..PAIRS {
                let b = b.map(|b| numbers(_mm512_load_si512(b.add(tile).cast::<__m512i>().add(pair))));
                for (row, sum) in sum.iter_mut().enumerate() {
                    let a = numbers(_mm512_set1_epi32(*a.add((tile * LANES + row) * PAIRS + pair)));
                    *sum = [_mm512_dpbf16_ps(sum[0], a, b[0]), _mm512_dpbf16_ps(sum[1], a, b[1])];
                }
            }
        }
        for (row, sum) in sum.iter().enumerate() {
            for (half, sum) in sum.iter().enumerate() {
                _mm512_storeu_ps(place(row, half), *sum);
            }
        }
    }
}
