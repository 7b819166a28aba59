//! AMX: products of tiles of 16 rows of 64 bytes, 8,192 an instruction.

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::{LANES, Product, pack};

/// Whether this processor has tiles, and the system lets this process use them.
pub(super) fn allowed() -> bool {
    /// AMX-BF16 and AMX-TILE.
    const TILES: u32 = 1 << 22 | 1 << 24;
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        pack::allowed() && __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).edx & TILES == TILES && asked()
    })
}

/// Asks Linux for the use of tiles, which it grants to a process with all its threads; one that does not know them refuses.
/// See `Documentation/arch/x86/xstate.rst` of its sources.
#[cfg(target_os = "linux")]
fn asked() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: it takes two numbers and touches no memory.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// How other systems are asked is not known here.
#[cfg(not(target_os = "linux"))]
fn asked() -> bool {
    false
}

/// What tiles are to be like: the operand of `ldtilecfg`.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start: u8,
    reserved: [u8; 14],
    /// Bytes of a row of each, then their rows; of sixteen, of which there are eight.
    bytes: [u16; 16],
    rows: [u8; 16],
}

static SHAPES: Shapes = {
    let mut shapes = Shapes { palette: 1, start: 0, reserved: [0; 14], bytes: [0; 16], rows: [0; 16] };
    let mut tile = 0;
    while tile < 8 {
        shapes.bytes[tile] = 64;
        shapes.rows[tile] = LANES as u8;
        tile += 1;
    }
    shapes
};

/// The tiles of this thread; they are given back when this is dropped, so that nobody has to keep them over a switch of threads. It stays in its
/// thread.
pub(super) struct Amx(PhantomData<*const ()>);

impl Amx {
    /// There may be only one at a time in a thread.
    ///
    /// # Panics
    /// Where there are none.
    pub(super) fn begin() -> Amx {
        assert!(allowed(), "no tiles on this processor");
        // SAFETY: the processor has the instruction; the operand is what it reads.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, preserves_flags)) };
        Amx(PhantomData)
    }

    /// Sums up a product.
    ///
    /// # Safety
    /// There must be what it says: the tiles, and the rows of sums.
    pub(super) unsafe fn multiply(&self, product: Product) {
        let Product { a, b, deep, sums, stride, held } = product;
        macro_rules! products {
            ($($begin:literal),+) => {
                // SAFETY: `self` says that the tiles are there, the caller what is read and written.
                unsafe {
                    asm!(
                        $($begin,)+
                        "2:",
                        "tileloadd tmm4, [{a} + {row}]",
                        "tileloadd tmm6, [{b} + {row}]",
                        "tdpbf16ps tmm0, tmm4, tmm6",
                        "tileloadd tmm7, [{b2} + {row}]",
                        "tdpbf16ps tmm1, tmm4, tmm7",
                        "tileloadd tmm5, [{a2} + {row}]",
                        "tdpbf16ps tmm2, tmm5, tmm6",
                        "tdpbf16ps tmm3, tmm5, tmm7",
                        "add {a}, 1024",
                        "add {a2}, 1024",
                        "add {b}, 1024",
                        "add {b2}, 1024",
                        "dec {count}",
                        "jnz 2b",
                        "tilestored [{upper} + {stride}], tmm0",
                        "tilestored [{upper} + {stride} + 64], tmm1",
                        "tilestored [{lower} + {stride}], tmm2",
                        "tilestored [{lower} + {stride} + 64], tmm3",
                        a = inout(reg) a[0] => _,
                        a2 = inout(reg) a[1] => _,
                        b = inout(reg) b[0] => _,
                        b2 = inout(reg) b[1] => _,
                        row = in(reg) 64_usize,
                        count = inout(reg) deep => _,
                        upper = in(reg) sums,
                        lower = in(reg) sums.wrapping_add(LANES * stride),
                        stride = in(reg) 4 * stride,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack)
                    );
                }
            };
        }
        match held {
            true => products!(
                "tileloadd tmm0, [{upper} + {stride}]",
                "tileloadd tmm1, [{upper} + {stride} + 64]",
                "tileloadd tmm2, [{lower} + {stride}]",
                "tileloadd tmm3, [{lower} + {stride} + 64]"
            ),
            false => products!("tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3"),
        }
    }
}

impl Drop for Amx {
    fn drop(&mut self) {
        // SAFETY: the processor has the instruction, and nobody else in this thread uses tiles.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
    }
}
