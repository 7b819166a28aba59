//! Whether products on a CPU round what they multiply to bfloat16.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// How many are held in this thread.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// While there is one, matrix products that backend flex computes in its thread round what they multiply to bfloat16, where the processor has
/// [`instructions`](Rounding::instructions) for it. Tensors, and sums of products, stay in single precision (as with PyTorch's
/// `set_float32_matmul_precision("medium")`).
#[derive(Debug)]
pub struct Rounding(PhantomData<*const ()>);

impl Rounding {
    /// From now on, until it is dropped.
    pub fn begin() -> Self {
        HELD.set(HELD.get() + 1);
        Rounding(PhantomData)
    }

    /// What this processor does it with. `None`, where it has nothing for it: then products stay in single precision.
    pub fn instructions() -> Option<&'static str> {
        #[cfg(target_arch = "x86_64")]
        return super::bf16::Instructions::best().map(super::bf16::Instructions::name);
        #[cfg(not(target_arch = "x86_64"))]
        None
    }
}

impl Drop for Rounding {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

/// Whether there is one in this thread, and something to do it with.
pub(super) fn is_on() -> bool {
    HELD.get() > 0 && Rounding::instructions().is_some()
}
