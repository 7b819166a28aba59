//! What a GPU has to be told to share out: sums over all rows of a batch, of which there are hundreds of thousands for a few hundred
//! columns. Burn gives each column, or each tile of a product, to one group of units, and most of a large GPU has nothing to do.

use burn::tensor::{DType, Shape};
use burn_cubecl::CubeRuntime;
use burn_cubecl::kernel::matmul::{MatmulStrategy, matmul};
use burn_cubecl::ops::numeric::empty_device_dtype;
use burn_cubecl::ops::reshape;
use burn_cubecl::tensor::CubeTensor;
use cubecl::cube;
use cubecl::prelude::*;

use super::cube::furthest;

/// Columns that a cube sums up: neighbouring units read neighbouring numbers.
const LINE: u32 = 32;
/// Units of a cube for each of its columns.
const HEIGHT: u32 = 8;
/// Cubes that keep a large GPU busy.
const CUBES: usize = 1024;
/// Rows of a piece at least.
const SHORT: usize = 64;
/// Rows that are summed up at once, which is also the most pieces: two stages do.
const AT_ONCE: usize = 256;

/// Sums of pieces of `length` rows: `[rows, d]` to `[pieces, d]`.
#[cube(launch_unchecked)]
fn sum_pieces<F: Float>(
    x: &Tensor<F>,
    out: &mut Tensor<f32>,
    length: u32,
    #[comptime] line: usize,
    #[comptime] height: usize,
    #[define(F)] _dtype: StorageType,
) {
    let (piece, column) = (CUBE_POS_Y as usize, CUBE_POS_X as usize * line + UNIT_POS_X as usize);
    let (first, length) = (piece * length as usize, length as usize);
    let there = column < x.shape(1);
    let mut sum = f32::new(0.0);
    if there {
        for i in 0..length.div_ceil(height) {
            let row = i * height + UNIT_POS_Y as usize;
            if row < length && first + row < x.shape(0) {
                sum += f32::cast_from(x[(first + row) * x.stride(0) + column * x.stride(1)]);
            }
        }
    }
    let mut shared = SharedMemory::<f32>::new(comptime!(line * height));
    shared[UNIT_POS as usize] = sum;
    sync_cube();
    if there && UNIT_POS_Y == 0 {
        let mut sum = f32::new(0.0);
        #[unroll]
        for i in 0..height {
            sum += shared[i * line + UNIT_POS_X as usize];
        }
        out[piece * out.stride(0) + column * out.stride(1)] = sum;
    }
}

/// The sum of all rows, in two stages where there are many: `[rows, d]` to `[1, d]`. `None` where the tensor is too large for the
/// kernel's 32 bits.
pub(super) fn sum_rows<R: CubeRuntime>(x: CubeTensor<R>) -> Option<CubeTensor<R>> {
    let &[rows, d] = &x.meta.shape()[..] else { return None };
    if rows == 0 || d == 0 || furthest(&x) >= u32::MAX as usize {
        return None;
    }
    let across = d.div_ceil(LINE as usize);
    let pieces = if rows <= AT_ONCE { 1 } else { (CUBES / across).clamp(1, AT_ONCE).min(rows / SHORT) };
    let length = rows.div_ceil(pieces);
    let pieces = rows.div_ceil(length);
    let (client, dtype) = (x.client.clone(), x.dtype);
    let out = empty_device_dtype(client.clone(), x.device.clone(), Shape::new([pieces, d]), DType::F32);
    // SAFETY: units beyond the columns or the rows read and write nothing.
    unsafe {
        sum_pieces::launch_unchecked(
            &client,
            CubeCount::new_2d(across as u32, pieces as u32),
            CubeDim::new_2d(LINE, HEIGHT),
            x.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            length as u32,
            LINE as usize,
            HEIGHT as usize,
            dtype.into(),
        );
    }
    if pieces == 1 { Some(out) } else { sum_rows(out) }
}

/// Numbers of a product, each way, that a cube makes at once.
const TILE: usize = 128;
/// Rows of a piece at least.
const PIECE: usize = 512;
/// Processors of a GPU that does not say how many it has.
const PROCESSORS: u32 = 64;

/// Pieces that the rows of a product of `tiles` are cut into, so that all processors have two cubes.
fn pieces(rows: usize, tiles: usize, processors: usize) -> usize {
    let mut pieces = 1;
    while rows.is_multiple_of(pieces * 2) && rows / (pieces * 2) >= PIECE && pieces * 2 * tiles <= processors * 2 {
        pieces *= 2;
    }
    pieces
}

/// Pieces that the rows of a product are cut into, so that each is twice as high as wide; one, where it is narrow or not high.
pub(super) fn square_pieces(rows: usize, columns: usize) -> usize {
    let mut pieces = 1;
    while columns >= TILE / 2 && rows.is_multiple_of(pieces * 2) && rows / pieces > columns * 2 {
        pieces *= 2;
    }
    // Only if the last piece is as wanted, and not where rows could not be cut any further.
    if rows / pieces < columns * 4 { pieces } else { 1 }
}

/// `xᵀ·dy` over all rows, `[rows, in]` and `[rows, out]` to `[pieces, in, out]` in single precision: the sum over the pieces is left to
/// be made. `None` where Burn has no kernel for it.
pub(super) fn weight_gradient<R: CubeRuntime>(x: CubeTensor<R>, dy: CubeTensor<R>) -> Option<CubeTensor<R>> {
    let (&[rows, from], &[_, to]) = (&x.meta.shape()[..], &dy.meta.shape()[..]) else { return None };
    let processors = x.client.properties().hardware.num_streaming_multiprocessors.unwrap_or(PROCESSORS);
    let pieces = pieces(rows, from.div_ceil(TILE) * to.div_ceil(TILE), processors as usize);
    let cut = |x: CubeTensor<R>, d: usize| reshape(x, Shape::new([pieces, rows / pieces, d]));
    let (mut x, dy) = (cut(x, from), cut(dy, to));
    x.meta.swap(1, 2);
    matmul(x, dy, None, MatmulStrategy::default(), DType::F32).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_until_all_processors_have_work() {
        // As many pieces as fill 132 processors twice with 4 or 32 tiles, and none of a product with tiles for all.
        assert_eq!(pieces(1 << 17, 4, 132), 64);
        assert_eq!(pieces(1 << 17, 32, 132), 8);
        assert_eq!(pieces(1 << 17, 1024, 132), 1);
        // Pieces are as long as each other, and not short.
        assert_eq!(pieces(3 << 10, 1, 132), 4);
        assert_eq!(pieces(1001, 1, 132), 1);
        assert_eq!(pieces(600, 1, 132), 1);
    }

    #[test]
    fn high_products_are_cut_into_pieces_twice_as_high_as_wide() {
        assert_eq!(square_pieces(1 << 17, 256), 256);
        assert_eq!(square_pieces(1 << 17, 512), 128);
        // Neither narrow ones nor such as are not high, nor rows that have no such parts.
        assert_eq!(square_pieces(1 << 17, 8), 1);
        assert_eq!(square_pieces(600, 256), 2);
        assert_eq!(square_pieces(500, 256), 1);
        assert_eq!(square_pieces(10007, 64), 1);
    }
}
