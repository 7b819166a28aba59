//! Matrix products in single precision.

use pulp::{Arch, Simd, WithSimd};

/// Rows of numbers, each so many after the one before.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) numbers: &'a [f32],
    pub(super) stride: usize,
}

/// What is multiplied from the left: as it is, or with its rows and columns exchanged.
#[derive(Clone, Copy)]
pub(super) enum Left<'a> {
    Plain(Rows<'a>),
    Transposed(Rows<'a>),
}

/// What the sums begin with.
#[derive(Clone, Copy)]
pub(super) enum Begin {
    /// Nothing.
    Zero,
    /// What is there.
    Held,
}

/// Rows whose sums fit in the registers, with two vectors of columns each, and where there are 32 registers.
const ROWS: usize = 4;
const ROWS_OF_32: usize = 8;

/// `out = begin + a·b`, of the sizes `[m, k]`, `[k, n]` and `[m, n]`, the rows of `out` being `stride` numbers apart. Each sum is added up
/// in the order of k, with fused multiplications, so that it is the same whatever vectors the processor has.
///
/// # Panics
/// When one of them has fewer numbers than that.
pub(super) fn product(a: Left, b: Rows, begin: Begin, out: &mut [f32], stride: usize, size: [usize; 3]) {
    Arch::new().dispatch(Product { a, b, begin, out, stride, size });
}

struct Product<'a> {
    a: Left<'a>,
    b: Rows<'a>,
    begin: Begin,
    out: &'a mut [f32],
    stride: usize,
    size: [usize; 3],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let [m, _, n] = self.size;
        let mut column = 0;
        // A row alone waits for each of its additions, unless many columns are under way.
        while m == 1 && column + 8 * S::F32_LANES <= n {
            self.tile::<S, 1, 8>(simd, 0, column);
            column += 8 * S::F32_LANES;
        }
        while m == 1 && column + 4 * S::F32_LANES <= n {
            self.tile::<S, 1, 4>(simd, 0, column);
            column += 4 * S::F32_LANES;
        }
        while column + 2 * S::F32_LANES <= n {
            self.rows::<S, 2>(simd, m, column);
            column += 2 * S::F32_LANES;
        }
        while column + S::F32_LANES <= n {
            self.rows::<S, 1>(simd, m, column);
            column += S::F32_LANES;
        }
        self.rest(column);
    }
}

impl Product<'_> {
    /// All rows of `V` vectors of columns.
    #[inline(always)]
    fn rows<S: Simd, const V: usize>(&mut self, simd: S, m: usize, column: usize) {
        let mut row = 0;
        while S::REGISTER_COUNT >= 32 && row + ROWS_OF_32 <= m {
            self.tile::<S, ROWS_OF_32, V>(simd, row, column);
            row += ROWS_OF_32;
        }
        while row + ROWS <= m {
            self.tile::<S, ROWS, V>(simd, row, column);
            row += ROWS;
        }
        match m - row {
            3 => self.tile::<S, 3, V>(simd, row, column),
            2 => self.tile::<S, 2, V>(simd, row, column),
            1 => self.tile::<S, 1, V>(simd, row, column),
            _ => {}
        }
    }

    /// `R` rows of `V` vectors of columns.
    #[inline(always)]
    #[expect(
        clippy::manual_memcpy,
        clippy::needless_range_loop,
        reason = "indices keep the sums in registers: iterators and copies take a third longer"
    )]
    fn tile<S: Simd, const R: usize, const V: usize>(&mut self, simd: S, row: usize, column: usize) {
        let [_, k, _] = self.size;
        let width = V * S::F32_LANES;
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        if let Begin::Held = self.begin {
            for r in 0..R {
                let (held, _) = S::as_simd_f32s(&self.out[(row + r) * self.stride + column..][..width]);
                for v in 0..V {
                    sums[r][v] = held[v];
                }
            }
        }
        let b = Rows { numbers: &self.b.numbers[column..], stride: self.b.stride };
        // How far apart the numbers of a column of the left are, and those of a row.
        let (a, down, across) = match self.a {
            Left::Plain(a) => {
                let numbers = &a.numbers[row * a.stride..];
                assert!(reaches(numbers, a.stride, [R, k]), "rows of the left");
                (numbers, a.stride, 1)
            }
            Left::Transposed(a) => {
                let numbers = &a.numbers[row..];
                assert!(reaches(numbers, a.stride, [k, R]), "columns of the left");
                (numbers, 1, a.stride)
            }
        };
        assert!(reaches(b.numbers, b.stride, [k, width]), "rows of the right");
        // Checked above, once: in here it would be looked at again for every few sums.
        for i in 0..k {
            let mut right = [simd.splat_f32s(0.0); V];
            for v in 0..V {
                // SAFETY: i < k and v < V: within what `b` was seen to reach. Vectors of numbers may have any bits.
                right[v] = unsafe {
                    b.numbers.as_ptr().add(i * b.stride + v * S::F32_LANES).cast::<S::f32s>().read_unaligned()
                };
            }
            for r in 0..R {
                // SAFETY: r < R and i < k: within what `a` was seen to reach.
                let x = simd.splat_f32s(unsafe { *a.get_unchecked(r * down + i * across) });
                for v in 0..V {
                    sums[r][v] = simd.mul_add_f32s(x, right[v], sums[r][v]);
                }
            }
        }
        for r in 0..R {
            let (held, _) = S::as_mut_simd_f32s(&mut self.out[(row + r) * self.stride + column..][..width]);
            for v in 0..V {
                held[v] = sums[r][v];
            }
        }
    }

    /// The columns from here on, number by number.
    #[inline(always)]
    fn rest(&mut self, column: usize) {
        let [m, k, n] = self.size;
        for r in 0..m {
            for c in column..n {
                let at = r * self.stride + c;
                let mut sum = match self.begin {
                    Begin::Zero => 0.0,
                    Begin::Held => self.out[at],
                };
                for i in 0..k {
                    let x = match self.a {
                        Left::Plain(a) => a.numbers[r * a.stride + i],
                        Left::Transposed(a) => a.numbers[i * a.stride + r],
                    };
                    sum = x.mul_add(self.b.numbers[i * self.b.stride + c], sum);
                }
                self.out[at] = sum;
            }
        }
    }
}

/// Whether so many rows, each `stride` numbers after the one before, of so many numbers lie within these.
fn reaches(numbers: &[f32], stride: usize, [rows, width]: [usize; 2]) -> bool {
    let last = rows.saturating_sub(1).checked_mul(stride).and_then(|from| from.checked_add(width));
    rows == 0 || last.is_some_and(|end| end <= numbers.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_size_agree_with_the_formula() {
        for [m, k, n] in [
            [1, 5, 3],
            [4, 32, 64],
            [3, 7, 50],
            [6, 16, 33],
            [64, 32, 16],
            [1, 40, 250],
            [3, 0, 20],
            [3, 9, 150],
            [13, 4, 70],
        ] {
            let (strides, length) = ([k + 2, n + 3, n + 1], m.max(k) * (n.max(k) + 3));
            let a: Vec<f32> = (0..length).map(|i| (i * 29 % 81) as f32 / 10.0 - 4.0).collect();
            let b: Vec<f32> = (0..length).map(|i| (i * 31 % 67) as f32 / 10.0 - 3.0).collect();
            let turned: Vec<f32> =
                (0..k * (m + 1)).map(|i| a[(i % (m + 1)).min(m - 1) * strides[0] + i / (m + 1)]).collect();
            let of = |numbers, stride| Rows { numbers, stride };
            for left in [Left::Plain(of(&a, strides[0])), Left::Transposed(of(&turned, m + 1))] {
                for begin in [Begin::Held, Begin::Zero] {
                    let mut out: Vec<f32> = (0..length).map(|i| i as f32).collect();
                    product(left, of(&b, strides[1]), begin, &mut out, strides[2], [m, k, n]);
                    for (i, x) in out.iter().enumerate() {
                        let (r, c) = (i / strides[2], i % strides[2]);
                        let product = |j: usize| f64::from(a[r * strides[0] + j]) * f64::from(b[j * strides[1] + c]);
                        let wanted = match begin {
                            _ if r >= m || c >= n => i as f64,
                            Begin::Held => i as f64 + (0..k).map(product).sum::<f64>(),
                            Begin::Zero => (0..k).map(product).sum(),
                        };
                        assert!((f64::from(*x) - wanted).abs() < 1e-3, "{m} {k} {n}: number {i} is {x}, not {wanted}");
                    }
                }
            }
        }
    }
}
