//! Loops that are compiled several times over, for SSE2, AVX2 and AVX-512, of which pulp picks one at run time.

use pulp::{Arch, Simd, WithSimd};

/// Runs a loop in the version for the widest vectors that the processor has.
///
/// All of the loop has to be compiled with it: the closure and what it calls must be `#[inline(always)]`, and the closure must
/// change something that it captures, or what is called is not itself but a shim that the compiler keeps apart. Plain `for`
/// loops; an iterator's `for_each` or `collect` may be compiled apart as well.
#[inline]
pub(super) fn widest(run: impl FnMut()) {
    Arch::new().dispatch(Loop(run));
}

struct Loop<F>(F);

impl<F: FnMut()> WithSimd for Loop<F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        (self.0)();
    }
}
