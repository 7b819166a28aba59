//! What multiplies tiles on this processor.

use super::amx::{self, Amx};
use super::dots::{self, Dots};
use super::{Product, pack};

/// Instructions that multiply numbers in bfloat16, of those that are worth using.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Instructions {
    Amx,
    Dots,
}

impl Instructions {
    /// The faster of those that this processor has, and that the system lets be used.
    pub(in super::super) fn best() -> Option<Self> {
        if amx::allowed() {
            Some(Instructions::Amx)
        } else {
            (pack::allowed() && dots::are_fast()).then_some(Instructions::Dots)
        }
    }

    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Instructions::Amx => "AMX",
            Instructions::Dots => "AVX-512",
        }
    }
}

/// The instructions in use, in this thread: there may be only one at a time, and it stays there.
pub(super) enum Unit {
    Amx(Amx),
    Dots(Dots),
}

impl Unit {
    /// # Panics
    /// Where there are none.
    pub(super) fn begin() -> Self {
        match Instructions::best() {
            Some(Instructions::Amx) => Unit::Amx(Amx::begin()),
            Some(Instructions::Dots) => Unit::Dots(Dots::begin()),
            None => panic!("no products of bfloat16 on this processor"),
        }
    }

    /// Sums up a product.
    ///
    /// # Safety
    /// There must be what it says: the tiles, and the rows of sums.
    pub(super) unsafe fn multiply(&self, product: Product) {
        // SAFETY: the caller's word.
        unsafe {
            match self {
                Unit::Amx(amx) => amx.multiply(product),
                Unit::Dots(dots) => dots.multiply(product),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::{Major, pack};
    use super::super::{DEPTH, LANES, SIDE, pair};
    use super::*;
    use crate::network::kernels::matrices::Matrix;
    use crate::network::kernels::matrices::tests::plain;

    /// All that this processor can run, worth using or not.
    fn units() -> Vec<Unit> {
        let amx = amx::allowed().then(|| Unit::Amx(Amx::begin()));
        amx.into_iter().chain(pack::allowed().then(|| Unit::Dots(Dots::begin()))).collect()
    }

    #[test]
    fn two_by_two_tiles_are_multiplied() {
        for unit in units() {
            for deep in [1, 3] {
                let depth = deep * DEPTH;
                // What bfloat16 has: products and their sums are exact then.
                let numbers: Vec<f32> = (0..2 * SIDE * depth).map(|i| ((i * 37 + 11) % 23) as f32 - 11.0).collect();
                let matrix = |from: usize| Matrix::new(&numbers[from..], [SIDE, depth], [depth, 1]).expect("inside");
                let [a, b] = [matrix(0), matrix(SIDE * depth)];
                let tiles = [(a, Major::Lane), (b, Major::Depth)].map(|(matrix, major)| {
                    let mut tiles = Vec::new();
                    // SAFETY: where there is a unit, the processor makes tiles.
                    unsafe { pack(matrix, 0..SIDE, 0..depth, major, &mut tiles) };
                    assert_eq!(tiles.len(), SIDE / LANES * deep);
                    tiles
                });
                let [of_a, of_b] = [pair(&tiles[0], 0, deep), pair(&tiles[1], 0, deep)];
                let wanted = plain(a, b.transposed());
                for held in [false, true] {
                    let stride = SIDE + 3;
                    let mut sums = vec![5.0; SIDE * stride];
                    let product = Product { a: of_a, b: of_b, deep, sums: sums.as_mut_ptr(), stride, held };
                    // SAFETY: there are so many tiles each, and rows with three numbers more.
                    unsafe { unit.multiply(product) };
                    for (row, wanted) in sums.chunks(stride).zip(wanted.chunks(SIDE)) {
                        let begin = if held { 5.0 } else { 0.0 };
                        assert!(row.iter().zip(wanted).all(|(x, wanted)| *x == begin + wanted));
                        assert_eq!(row[SIDE..], [5.0; 3], "after");
                    }
                }
            }
        }
    }
}
