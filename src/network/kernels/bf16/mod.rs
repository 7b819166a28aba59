//! Products of matrices whose numbers are rounded to bfloat16, and whose sums are kept in single precision, on processors that do it faster than in
//! single precision: what training on a CPU spends most of its time in.
//!
//! Both matrices are cut into tiles of 16 × 32 numbers ([`pack`]), of which two by two are multiplied together ([`unit`]: by [`amx`] or by
//! [`dots`]). The two parts of an encoder block are made of such products without leaving the cache in between ([`attention`], [`feed_forward`]).

mod amx;
mod attention;
mod dots;
mod feed_forward;
pub(super) mod flex;
mod loops;
mod pack;
mod tiles;
mod unit;

use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
use std::cell::RefCell;

use super::matrices::Matrix;
use pack::{Major, pack};
pub(super) use unit::Instructions;
use unit::Unit;

/// Rows of a tile of a, columns of one of b.
const LANES: usize = 16;
/// Numbers that a row of a tile, or a column, has of each sum.
const DEPTH: usize = 32;
/// Rows and columns of two by two tiles.
const SIDE: usize = 2 * LANES;

/// Two numbers to a word: of a `[lanes, words]`, of b `[words, lanes]`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Tile([[u32; LANES]; LANES]);

/// Sums of two by two tiles.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Square([[f32; SIDE]; SIDE]);

/// Two by two tiles, to be multiplied, and where their sums go.
#[derive(Clone, Copy)]
struct Product {
    /// Where each begins: so many tiles deep, at least one.
    a: [*const Tile; 2],
    b: [*const Tile; 2],
    deep: usize,
    /// 32 rows of 32 sums, `stride` numbers from row to row.
    sums: *mut f32,
    stride: usize,
    /// Whether they begin with what is there, or with nothing.
    held: bool,
}

/// Tiles of each sum that are gone through before the next rows and columns, so that all of them stay in the cache.
const DEEP: usize = 16;
/// Rows whose tiles are made before they are multiplied.
const PANEL: usize = 256;
/// Numbers of a line of the cache.
const LINE: usize = 16;
/// Below so many products the tiles are not worth their making.
const LEAST: usize = 1 << 14;

/// `a·b × factor` of rounded numbers, written to a part of a larger matrix whose rows are `length` numbers long. Says no, and writes nothing, where
/// the matrices are too small for it to be worth it.
///
/// # Safety
/// The instructions must [be there](Instructions::best). `out` must hold `a.rows` rows, `length` numbers apart, of `b.columns` numbers; a must have as many columns as b has rows.
pub(super) unsafe fn write_product(out: *mut f32, length: usize, a: Matrix, b: Matrix, factor: f32) -> bool {
    let worth = a.rows.saturating_mul(a.columns).saturating_mul(b.columns) >= LEAST;
    if worth {
        // SAFETY: the caller's word.
        unsafe { write(out, length, a, b, factor) };
    }
    worth
}

/// Tiles, kept from one product to the next.
#[derive(Default)]
struct Scratch {
    a: Vec<Tile>,
    b: Vec<Tile>,
}

/// # Safety
/// As [`write_product`].
unsafe fn write(out: *mut f32, length: usize, a: Matrix, b: Matrix, factor: f32) {
    thread_local! {
        static SCRATCH: RefCell<Scratch> = RefCell::default();
    }
    let [rows, columns, inner] = [a.rows, b.columns, a.columns];
    let unit = Unit::begin();
    SCRATCH.with_borrow_mut(|scratch| {
        for start in (0..inner).step_by(DEEP * DEPTH) {
            let depth = start..inner.min(start + DEEP * DEPTH);
            let deep = depth.len().div_ceil(DEPTH);
            // SAFETY: the processor has the instructions.
            unsafe { pack(b.transposed(), 0..columns, depth.clone(), Major::Depth, &mut scratch.b) };
            for panel in (0..rows).step_by(PANEL) {
                let panel = panel..rows.min(panel + PANEL);
                // SAFETY: likewise.
                unsafe { pack(a, panel.clone(), depth.clone(), Major::Lane, &mut scratch.a) };
                for row in panel.clone().step_by(SIDE) {
                    // What is written next; stores would wait for it.
                    (row + SIDE..panel.end.min(row + 2 * SIDE))
                        .for_each(|r| fetch(out.wrapping_add(r * length), columns));
                    let of_a = pair(&scratch.a, (row - panel.start) / LANES, deep);
                    let size = [(panel.end - row).min(SIDE), columns];
                    // SAFETY: the rows are inside.
                    let place = unsafe { out.add(row * length) };
                    // SAFETY: the caller's word.
                    unsafe { sum_up(&unit, of_a, &scratch.b, deep, (place, length, size), factor, start > 0) };
                }
            }
        }
    });
}

/// Rows of sums, as many as two tiles have, or fewer: written to their place, whose rows are so many numbers long, or added to what is there.
///
/// # Safety
/// There must be `deep` tiles of a's lanes, and of each sixteen of the columns in b; and at their place so many rows and columns.
unsafe fn sum_up(
    unit: &Unit,
    of_a: [*const Tile; 2],
    b: &[Tile],
    deep: usize,
    (place, length, [rows, columns]): (*mut f32, usize, [usize; 2]),
    factor: f32,
    add: bool,
) {
    for column in (0..columns).step_by(SIDE) {
        let of_b = pair(b, column / LANES, deep);
        let size = [rows, (columns - column).min(SIDE)];
        // SAFETY: the column is inside.
        let place = unsafe { place.add(column) };
        if size == [SIDE; 2] && factor == 1.0 {
            // SAFETY: both have `deep` tiles from there on; there are 32 rows of 32 numbers.
            unsafe { unit.multiply(Product { a: of_a, b: of_b, deep, sums: place, stride: length, held: add }) };
        } else {
            let mut square = Square([[0.0; SIDE]; SIDE]);
            // SAFETY: likewise, and the rows and columns that are there.
            unsafe {
                let sums = square.0.as_mut_ptr().cast();
                unit.multiply(Product { a: of_a, b: of_b, deep, sums, stride: SIDE, held: false });
                square.put(place, length, size, factor, add);
            }
        }
    }
}

/// Has so many numbers brought to the cache.
fn fetch(from: *const f32, count: usize) {
    for i in (0..count).step_by(LINE) {
        // SAFETY: it may be given any address.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(from.wrapping_add(i).cast()) };
    }
}

/// Where the tiles of some lanes begin, of so many each, and those of the lanes after them, or the same where these are the last.
fn pair(tiles: &[Tile], lane: usize, deep: usize) -> [*const Tile; 2] {
    let first = tiles[lane * deep..].as_ptr();
    let second = tiles.get((lane + 1) * deep..).filter(|rest| !rest.is_empty());
    [first, second.map_or(first, <[Tile]>::as_ptr)]
}

impl Square {
    /// Writes some of its rows and columns, times a factor, to a matrix whose rows are so many numbers long, or adds them to what is there.
    ///
    /// # Safety
    /// There must be so many rows of so many numbers at `to`.
    unsafe fn put(&self, to: *mut f32, length: usize, [rows, columns]: [usize; 2], factor: f32, add: bool) {
        for (r, row) in self.0.iter().enumerate().take(rows) {
            for (c, x) in row.iter().enumerate().take(columns) {
                // SAFETY: the caller's word; what is there is read only where it is added to.
                unsafe {
                    let to = to.add(r * length + c);
                    to.write(if add { *to } else { 0.0 } + x * factor);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that bfloat16 has: products and their sums are exact then.
    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 + 11) % 23) as f32 - 11.0).collect()
    }

    #[test]
    fn products_are_the_plain_ones() {
        if Instructions::best().is_none() {
            return;
        }
        let numbers = numbers(1400 * 90);
        for [m, k, n] in
            [[1, 1, 1], [64, 32, 64], [32, 64, 33], [70, 3, 2], [5, 90, 33], [33, 1100, 17], [96, 1024, 48]]
        {
            let matrix = |rows, columns| Matrix::new(&numbers, [rows, columns], [columns, 1]).expect("inside");
            let turned = |rows, columns| matrix(columns, rows).transposed();
            let sparse = |rows, columns| Matrix::new(&numbers[1..], [rows, columns], [2, 3]).expect("inside");
            for a in [matrix(m, k), turned(m, k), sparse(m, k)] {
                for b in [matrix(k, n), turned(k, n), sparse(k, n)] {
                    let wanted = super::super::matrices::tests::plain(a, b);
                    for factor in [1.0, 0.5] {
                        let mut out = vec![7.0; m * (n + 4)];
                        // SAFETY: there is room for m rows of n numbers, and for four between them.
                        unsafe { write(out[2..].as_mut_ptr(), n + 4, a, b, factor) };
                        for (row, wanted) in out.chunks(n + 4).zip(wanted.chunks(n)) {
                            assert_eq!(row[..2], [7.0; 2], "before");
                            assert!(row[2..n + 2].iter().zip(wanted).all(|(x, y)| *x == y * factor));
                            assert_eq!(row[n + 2..], [7.0; 2], "after");
                        }
                    }
                }
            }
        }
    }
}
