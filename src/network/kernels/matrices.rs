//! Products of matrices on a CPU, by gemm: the same that burn-flex calls, but for where the result goes. burn-flex's own has it filled with
//! zeros first, and copied, to lie on a boundary of its choice; and it can neither be a part of a larger matrix nor be scaled on the way.

use gemm::{Parallelism, gemm};

#[cfg(all(feature = "training", target_arch = "x86_64"))]
use super::{bf16, rounding};

/// A matrix somewhere in a slice of numbers.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    /// From the first number of the matrix on, and on beyond its last.
    pub(super) numbers: &'a [f32],
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// From a number to the one below it, and to the one right of it.
    pub(super) steps: [usize; 2],
}

impl<'a> Matrix<'a> {
    /// `None` where it would not lie inside `numbers`, or has no number at all.
    pub(super) fn new(numbers: &'a [f32], [rows, columns]: [usize; 2], steps: [usize; 2]) -> Option<Self> {
        let down = rows.checked_sub(1)?.checked_mul(steps[0])?;
        let right = columns.checked_sub(1)?.checked_mul(steps[1])?;
        let last = down.checked_add(right)?;
        // What gemm counts with.
        isize::try_from(last).ok()?;
        (last < numbers.len()).then_some(Matrix { numbers, rows, columns, steps })
    }

    pub(super) fn transposed(self) -> Self {
        let (Matrix { rows, columns, .. }, [down, right]) = (self, self.steps);
        Matrix { rows: columns, columns: rows, steps: [right, down], ..self }
    }
}

/// `a·b`, rows one after another. `None` where a has not as many columns as b has rows.
pub(super) fn product(a: Matrix, b: Matrix) -> Option<Vec<f32>> {
    let count = a.rows.checked_mul(b.columns)?;
    let mut out = Vec::with_capacity(count);
    (a.columns == b.rows).then(|| {
        // Safety: there is room for `count` numbers, and all of them are written, none read before.
        unsafe {
            write_product(out.as_mut_ptr(), b.columns, a, b, 1.0);
            out.set_len(count);
        }
        out
    })
}

/// `a·b × factor`, written to a part of a larger matrix whose rows are so many numbers long: from the first number of `out` on.
///
/// # Panics
/// Where a has not as many columns as b has rows, or the result does not lie inside `out`.
pub(super) fn multiply(out: &mut [f32], length: usize, a: Matrix, b: Matrix, factor: f32) {
    assert!(a.columns == b.rows && b.columns <= length);
    assert!((a.rows - 1) * length + b.columns <= out.len());
    // Safety: the last number that is written lies inside, and no row reaches into the next.
    unsafe { write_product(out.as_mut_ptr(), length, a, b, factor) }
}

/// # Safety
/// `out` must hold `a.rows` rows, `length` numbers apart, of `b.columns` numbers; a must have as many columns as b has rows.
unsafe fn write_product(out: *mut f32, length: usize, a: Matrix, b: Matrix, factor: f32) {
    #[cfg(all(feature = "training", target_arch = "x86_64"))]
    // Safety: the caller's word.
    if rounding::is_on() && unsafe { bf16::write_product(out, length, a, b, factor) } {
        return;
    }
    // No step leads beyond the end of a slice of numbers, but where there is nothing to step to.
    let [[a_down, a_right], [b_down, b_right]] = [a, b].map(|m| m.steps.map(|step| step as isize));
    // Safety: `Matrix::new` has seen that all numbers of a and b lie inside their slices, which nothing writes to while they are
    // borrowed; where the result goes is the caller's word. What is there is not read (the `false` after its steps).
    unsafe {
        gemm(
            a.rows,
            b.columns,
            a.columns,
            out,
            1,
            length as isize,
            false,
            a.numbers.as_ptr(),
            a_right,
            a_down,
            b.numbers.as_ptr(),
            b_right,
            b_down,
            0.0,
            factor,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 + 11) % 23) as f32 - 11.0).collect()
    }

    /// As a sum of products.
    pub(in super::super) fn plain(a: Matrix, b: Matrix) -> Vec<f32> {
        let at = |m: Matrix, row: usize, column: usize| m.numbers[row * m.steps[0] + column * m.steps[1]];
        let sum = |row, column| (0..a.columns).map(|k| at(a, row, k) * at(b, k, column)).sum();
        (0..a.rows).flat_map(|row| (0..b.columns).map(move |column| sum(row, column))).collect()
    }

    #[test]
    fn products_are_sums_of_products() {
        let numbers = numbers(70 * 90);
        for [m, k, n] in [[1, 1, 1], [1, 7, 5], [64, 32, 64], [70, 3, 2], [5, 90, 33], [33, 70, 1]] {
            let rows = |rows, columns| Matrix::new(&numbers, [rows, columns], [columns, 1]).expect("inside");
            // As they lie, turned over, and as a part of a wider matrix; whole numbers, so that every order gives the same sum.
            let wide = Matrix::new(&numbers[3..], [m, k], [90, 1]).expect("inside");
            for a in [rows(m, k), rows(k, m).transposed(), wide] {
                for b in [rows(k, n), rows(n, k).transposed()] {
                    let expected = plain(a, b);
                    assert_eq!(product(a, b).as_ref(), Some(&expected));
                    let mut out = vec![7.0; m * (n + 4)];
                    multiply(&mut out[2..], n + 4, a, b, 0.5);
                    for (row, expected) in out.chunks(n + 4).zip(expected.chunks(n)) {
                        assert_eq!(row[..2], [7.0; 2], "before");
                        assert!(row[2..n + 2].iter().zip(expected).all(|(x, y)| *x == y / 2.0));
                        assert_eq!(row[n + 2..], [7.0; 2], "after");
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let numbers = numbers(12);
        assert!(Matrix::new(&numbers, [3, 4], [4, 1]).is_some());
        assert!(Matrix::new(&numbers[1..], [3, 4], [4, 1]).is_none(), "one number short");
        assert!(Matrix::new(&numbers, [3, 4], [5, 1]).is_none());
        assert!(Matrix::new(&numbers, [0, 4], [4, 1]).is_none(), "nothing in it");
        assert!(Matrix::new(&numbers, [usize::MAX, 2], [usize::MAX, 1]).is_none());
        let [a, b] = [[3, 4], [3, 4]].map(|shape| Matrix::new(&numbers, shape, [4, 1]).expect("inside"));
        assert_eq!(product(a, b), None, "four columns and three rows");
        assert!(product(a, b.transposed()).is_some());
    }
}
