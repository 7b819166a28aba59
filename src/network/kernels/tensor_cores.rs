//! Attention and its gradients on tensor cores, each as one kernel: a cube has one head of one position, and everything between its
//! rows and its results stays in shared memory. Composed, each is half a dozen products and copies that go through the GPU's memory.
//!
//! For the 64 squares of a board, in bfloat16 with sums in single precision. Each of four planes (warps) has 16 of the 64 rows.

use burn::tensor::{DType, Shape};
use burn_cubecl::CubeRuntime;
use burn_cubecl::ops::numeric::empty_device_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::cmma::{Matrix, MatrixIdent, MatrixLayout};
use cubecl::ir::features::{MmaConfig, Plane};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::{cmma, cube};

use super::Shape as Rows;
use super::cube::{furthest, like, spread};

/// Rows of a head: a board's squares.
const SQUARES: usize = 64;
/// Numbers of a tensor core's matrix, each way.
const TILE: usize = 16;
/// Planes of a cube.
const PLANES: usize = SQUARES / TILE;
/// Numbers from one row to the next in shared memory: rows do not begin in the same bank.
const ROW: usize = SQUARES + 8;
/// Numbers of a plane's rows there.
const ROWS: usize = TILE * ROW;

/// A tile of a product, summed up over `tiles` tiles. The left one's rows lie as they are, or as columns if it is `turned`; likewise
/// the right one's columns. Each has a stride, and the way from one tile to the next.
#[cube]
fn product<F: Float>(
    left: &Slice<F>,
    #[comptime] left_turned: bool,
    left_stride: usize,
    right: &Slice<F>,
    #[comptime] right_turned: bool,
    right_stride: usize,
    #[comptime] tiles: usize,
) -> Matrix<f32> {
    let sum =
        Matrix::<f32>::from_value(MatrixIdent::Accumulator, TILE, TILE, TILE, MatrixLayout::Undefined, f32::new(0.0));
    let left_layout = comptime!(if left_turned { MatrixLayout::ColMajor } else { MatrixLayout::RowMajor });
    let right_layout = comptime!(if right_turned { MatrixLayout::ColMajor } else { MatrixLayout::RowMajor });
    #[unroll]
    for i in 0..tiles {
        let at_left = if left_turned { i * TILE * left_stride } else { (i * TILE).runtime() };
        let at_right = if right_turned { (i * TILE).runtime() } else { i * TILE * right_stride };
        let a = Matrix::<F>::from_slice(
            MatrixIdent::A,
            TILE,
            TILE,
            TILE,
            left_layout,
            &left.slice(at_left, left.len()),
            left_stride as u32,
        );
        let b = Matrix::<F>::from_slice(
            MatrixIdent::B,
            TILE,
            TILE,
            TILE,
            right_layout,
            &right.slice(at_right, right.len()),
            right_stride as u32,
        );
        cmma::execute(&a, &b, &sum, &sum);
    }
    sum
}

/// The [`product`]s of these rows with `columns` tiles, put into the shared rows of this plane.
#[cube]
fn multiply<F: Float>(
    left: &Slice<F>,
    #[comptime] left_turned: bool,
    left_stride: usize,
    right: &Slice<F>,
    #[comptime] right_turned: bool,
    right_stride: usize,
    #[comptime] tiles: usize,
    #[comptime] columns: usize,
    shared: &mut SharedMemory<f32>,
) {
    #[unroll]
    for j in 0..columns {
        let at = if right_turned { j * TILE * right_stride } else { (j * TILE).runtime() };
        let own = right.slice(at, right.len());
        let tile = product(left, left_turned, left_stride, &own, right_turned, right_stride, tiles);
        let at = UNIT_POS_Y as usize * ROWS + j * TILE;
        cmma::store(&mut shared.slice_mut(at, at + ROWS), &tile, ROW as u32, MatrixLayout::RowMajor);
    }
}

/// Writes the first `c` columns of this plane's shared rows to rows of a tensor.
#[cube]
fn write<F: Float>(
    shared: &SharedMemory<f32>,
    out: &mut Tensor<F>,
    start: usize,
    factor: f32,
    #[comptime] c: usize,
    #[comptime] line: usize,
) {
    #[unroll]
    for i in 0..TILE * c / line {
        let at = i * line + UNIT_POS_X as usize;
        let (row, column) = (at / c, at % c);
        let value = shared[UNIT_POS_Y as usize * ROWS + row * ROW + column] * factor;
        out[start + row * out.stride(0) + column] = F::cast_from(value);
    }
}

/// Where a head's first row is in rows of all heads.
#[cube]
fn head_start<F: Float>(rows: &Tensor<F>, position: usize, head: usize, #[comptime] c: usize) -> usize {
    position * SQUARES * rows.stride(0) + head * c
}

/// Where a head's first row is in `[n, heads, 64, 64]`.
#[cube]
fn map_start<F: Float>(map: &Tensor<F>, position: usize, head: usize) -> usize {
    position * map.stride(0) + head * map.stride(1)
}

/// `softmax(q·kᵀ × factor + bias)`, and what it makes of v.
#[cube(launch_unchecked)]
fn attend_heads<F: Float>(
    q: &Tensor<F>,
    k: &Tensor<F>,
    v: &Tensor<F>,
    bias: &Tensor<F>,
    weights: &mut Tensor<F>,
    out: &mut Tensor<F>,
    factor: f32,
    #[comptime] biased: bool,
    #[comptime] c: usize,
    #[comptime] line: usize,
    #[define(F)] _dtype: StorageType,
) {
    let heads = weights.shape(1);
    let (position, head) = (CUBE_POS / heads, CUBE_POS % heads);
    let first = UNIT_POS_Y as usize * TILE;
    let mut shared = SharedMemory::<f32>::new(PLANES * ROWS);
    let mut attention = SharedMemory::<F>::new(PLANES * ROWS);

    let of_q = head_start(q, position, head, c) + first * q.stride(0);
    let of_k = head_start(k, position, head, c);
    let (own, keys) = (q.slice(of_q, q.len()), k.slice(of_k, k.len()));
    multiply(&own, false, q.stride(0), &keys, true, k.stride(0), comptime!(c / TILE), PLANES, &mut shared);
    sync_cube();

    let of_weights = map_start(weights, position, head);
    let of_bias = map_start(bias, position, head);
    let mut held = Array::<f32>::new(comptime!(SQUARES / line));
    for row in 0..TILE {
        let at = UNIT_POS_Y as usize * ROWS + row * ROW;
        let mut most = f32::new(-3.0e38);
        #[unroll]
        for i in 0..SQUARES / line {
            let key = i * line + UNIT_POS_X as usize;
            let mut score = shared[at + key] * factor;
            if biased {
                score += f32::cast_from(bias[of_bias + (first + row) * bias.stride(2) + key * bias.stride(3)]);
            }
            held[i] = score;
            most = max(most, score);
        }
        let most = plane_max(most);
        let mut sum = f32::new(0.0);
        #[unroll]
        for i in 0..SQUARES / line {
            held[i] = (held[i] - most).exp();
            sum += held[i];
        }
        let sum = plane_sum(sum);
        #[unroll]
        for i in 0..SQUARES / line {
            let key = i * line + UNIT_POS_X as usize;
            let weight = F::cast_from(held[i] / sum);
            attention[at + key] = weight;
            weights[of_weights + (first + row) * weights.stride(2) + key * weights.stride(3)] = weight;
        }
    }
    sync_cube();

    let of_v = head_start(v, position, head, c);
    let rows = attention.slice(UNIT_POS_Y as usize * ROWS, (UNIT_POS_Y as usize + 1) * ROWS);
    let values = v.slice(of_v, v.len());
    multiply(&rows, false, ROW.runtime(), &values, false, v.stride(0), PLANES, comptime!(c / TILE), &mut shared);
    sync_cube();
    let start = head_start(out, position, head, c) + first * out.stride(0);
    write(&shared, out, start, f32::new(1.0), c, line);
}

/// The gradients of q, k, v and the scores, from that of [`attend_heads`]'s rows, `dy`.
#[cube(launch_unchecked)]
fn attend_heads_gradient<F: Float>(
    dy: &Tensor<F>,
    q: &Tensor<F>,
    k: &Tensor<F>,
    v: &Tensor<F>,
    weights: &Tensor<F>,
    dq: &mut Tensor<F>,
    dk: &mut Tensor<F>,
    dv: &mut Tensor<F>,
    scores: &mut Tensor<F>,
    factor: f32,
    #[comptime] c: usize,
    #[comptime] line: usize,
    #[define(F)] _dtype: StorageType,
) {
    let heads = weights.shape(1);
    let (position, head) = (CUBE_POS / heads, CUBE_POS % heads);
    let first = UNIT_POS_Y as usize * TILE;
    let mut shared = SharedMemory::<f32>::new(PLANES * ROWS);
    let mut gradient = SharedMemory::<F>::new(PLANES * ROWS);

    // Of the weights.
    let of_dy = head_start(dy, position, head, c);
    let of_v = head_start(v, position, head, c);
    let own = dy.slice(of_dy + first * dy.stride(0), dy.len());
    let values = v.slice(of_v, v.len());
    multiply(&own, false, dy.stride(0), &values, true, v.stride(0), comptime!(c / TILE), PLANES, &mut shared);
    sync_cube();

    // Of the scores.
    let of_weights = map_start(weights, position, head);
    let of_scores = map_start(scores, position, head);
    let mut held = Array::<f32>::new(comptime!(SQUARES / line));
    for row in 0..TILE {
        let at = UNIT_POS_Y as usize * ROWS + row * ROW;
        let mut sum = f32::new(0.0);
        #[unroll]
        for i in 0..SQUARES / line {
            let key = i * line + UNIT_POS_X as usize;
            held[i] = f32::cast_from(weights[of_weights + (first + row) * weights.stride(2) + key * weights.stride(3)]);
            sum += held[i] * shared[at + key];
        }
        let sum = plane_sum(sum);
        #[unroll]
        for i in 0..SQUARES / line {
            let key = i * line + UNIT_POS_X as usize;
            let value = F::cast_from(held[i] * (shared[at + key] - sum));
            gradient[at + key] = value;
            scores[of_scores + (first + row) * scores.stride(2) + key * scores.stride(3)] = value;
        }
    }
    sync_cube();

    // Of the queries.
    let of_k = head_start(k, position, head, c);
    let rows = gradient.slice(UNIT_POS_Y as usize * ROWS, (UNIT_POS_Y as usize + 1) * ROWS);
    let keys = k.slice(of_k, k.len());
    multiply(&rows, false, ROW.runtime(), &keys, false, k.stride(0), PLANES, comptime!(c / TILE), &mut shared);
    sync_cube();
    let start = head_start(dq, position, head, c) + first * dq.stride(0);
    write(&shared, dq, start, factor, c, line);
    sync_cube();

    // Of the keys.
    let of_q = head_start(q, position, head, c);
    let columns = gradient.slice(first, PLANES * ROWS);
    let queries = q.slice(of_q, q.len());
    multiply(&columns, true, ROW.runtime(), &queries, false, q.stride(0), PLANES, comptime!(c / TILE), &mut shared);
    sync_cube();
    let start = head_start(dk, position, head, c) + first * dk.stride(0);
    write(&shared, dk, start, factor, c, line);
    sync_cube();

    // Of the values.
    let columns = weights.slice(of_weights + first * weights.stride(3), weights.len());
    let (tiles, rows) = (comptime!(c / TILE), dy.slice(of_dy, dy.len()));
    multiply(&columns, true, weights.stride(2), &rows, false, dy.stride(0), PLANES, tiles, &mut shared);
    sync_cube();
    let start = head_start(dv, position, head, c) + first * dv.stride(0);
    write(&shared, dv, start, f32::new(1.0), c, line);
}

/// Whether heads of these widths are for these kernels, by their type and shape.
pub(super) fn suit(dtype: DType, tokens: usize, c: usize) -> bool {
    dtype == DType::BF16 && tokens == SQUARES && (c == 16 || c == 32 || c == 64)
}

/// How the kernels are started.
struct Start {
    count: CubeCount,
    dim: CubeDim,
    c: usize,
    line: usize,
}

impl Start {
    /// For rows of some heads. `None` where the device or the tensors are not for these kernels.
    fn of<R: CubeRuntime>(rows: &[&CubeTensor<R>], maps: &[&CubeTensor<R>], shape: Rows) -> Option<Start> {
        let first = rows.first()?;
        let &[all, d] = &first.meta.shape()[..] else { return None };
        let (c, positions) = (d / shape.heads, all / SQUARES);
        let cubes = positions * shape.heads;
        let (hardware, features) = (&first.client.properties().hardware, &first.client.properties().features);
        let number = |kind| ElemType::Float(kind).into();
        let (bf16, f32) = (number(FloatKind::BF16), number(FloatKind::F32));
        let tile = TILE as u32;
        let wanted = MmaConfig { a_type: bf16, b_type: bf16, cd_type: f32, m: tile, n: tile, k: tile };
        let line = hardware.plane_size_max as usize;
        let able = features.matmul.cmma.contains(&wanted)
            && features.plane.contains(Plane::Ops)
            && hardware.plane_size_min == hardware.plane_size_max
            && (line == 32 || line == 64);
        // Tensor cores read eight numbers at once.
        let straight = |x: &&CubeTensor<R>| {
            let strides = x.meta.strides();
            strides[1] == 1 && strides[0].is_multiple_of(8)
        };
        let fits = rows.iter().all(|x| x.meta.shape() == first.meta.shape() && straight(x))
            && suit(first.dtype, shape.tokens, c)
            && rows.iter().chain(maps).all(|x| x.dtype == first.dtype && furthest(x) < u32::MAX as usize)
            && cubes * SQUARES * SQUARES < u32::MAX as usize
            // The second number of cubes has a limit that the first has not.
            && positions < 1 << 16
            && cubes > 0;
        let count = CubeCount::new_2d(shape.heads as u32, positions as u32);
        let dim = CubeDim::new_2d(line as u32, PLANES as u32);
        (able && fits).then_some(Start { count, dim, c, line })
    }
}

/// [`attend_heads`] over rows of q, k and v: the values attended to, and the weights `[n, heads, 64, 64]`.
pub(super) fn attention<R: CubeRuntime>(
    [q, k, v]: [CubeTensor<R>; 3],
    bias: Option<CubeTensor<R>>,
    shape: Rows,
    factor: f32,
) -> Option<[CubeTensor<R>; 2]> {
    let biases: Vec<_> = bias.iter().collect();
    let start = Start::of(&[&q, &k, &v], &biases, shape)?;
    let (client, dtype) = (q.client.clone(), q.dtype);
    let maps = Shape::new([q.meta.shape()[0] / SQUARES, shape.heads, SQUARES, SQUARES]);
    let weights = empty_device_dtype(client.clone(), q.device.clone(), maps, dtype);
    let out = like(&q, dtype);
    let biased = bias.is_some();
    let bias = bias.map_or_else(|| q.clone(), spread);
    // SAFETY: there is a cube for each head of each position, and a unit for each number that it has.
    unsafe {
        attend_heads::launch_unchecked(
            &client,
            start.count,
            start.dim,
            q.into_tensor_arg(),
            k.into_tensor_arg(),
            v.into_tensor_arg(),
            bias.into_tensor_arg(),
            weights.clone().into_tensor_arg(),
            out.clone().into_tensor_arg(),
            factor,
            biased,
            start.c,
            start.line,
            dtype.into(),
        );
    }
    Some([out, weights])
}

/// [`attend_heads_gradient`]: the gradients of q, k and v in rows, and of the scores.
pub(super) fn attention_gradient<R: CubeRuntime>(
    dy: CubeTensor<R>,
    [q, k, v, weights]: [CubeTensor<R>; 4],
    shape: Rows,
    factor: f32,
) -> Option<[CubeTensor<R>; 4]> {
    let start = Start::of(&[&dy, &q, &k, &v], &[&weights], shape)?;
    let (client, dtype) = (q.client.clone(), q.dtype);
    let strides = weights.meta.strides();
    if strides[3] != 1 || !strides[2].is_multiple_of(8) {
        return None;
    }
    let [dq, dk, dv] = std::array::from_fn(|_| like(&q, dtype));
    let scores = like(&weights, dtype);
    // SAFETY: as above.
    unsafe {
        attend_heads_gradient::launch_unchecked(
            &client,
            start.count,
            start.dim,
            dy.into_tensor_arg(),
            q.into_tensor_arg(),
            k.into_tensor_arg(),
            v.into_tensor_arg(),
            weights.into_tensor_arg(),
            dq.clone().into_tensor_arg(),
            dk.clone().into_tensor_arg(),
            dv.clone().into_tensor_arg(),
            scores.clone().into_tensor_arg(),
            factor,
            start.c,
            start.line,
            dtype.into(),
        );
    }
    Some([dq, dk, dv, scores])
}
