//! What GPUs start for every row of an activation (softmax with its bias, normalisation, and the gradients of both), each as one kernel
//! that reads its numbers once: composed, each is three to five kernels over the same memory.
//!
//! A line of units has a row, and each of them every so many of the row's numbers, in registers and in single precision. Where a line
//! is a plane (a warp), sums over it are the hardware's; elsewhere they go through shared memory.

use burn::tensor::DType;
use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn_cubecl::ops::numeric::empty_device_dtype;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};
use cubecl::client::ComputeClient;
use cubecl::ir::features::Plane;
use cubecl::prelude::*;
use cubecl::{calculate_cube_count_elemwise, cube};

use super::{EPSILON, Kernels, from, into, rms_norm_parts, rms_norm_parts_gradient, weighed, weighed_gradient};

/// The row of this unit's line.
#[cube]
fn row() -> usize {
    CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize
}

/// Where in its row the `i`th of this unit's numbers is.
#[cube]
fn place(i: usize, #[comptime] line: usize) -> usize {
    i * line + UNIT_POS_X as usize
}

/// The sum of what the units of a line have, for all of them. Every unit of the cube has to come here.
#[cube]
fn sum_line(value: f32, shared: &mut SharedMemory<f32>, #[comptime] planes: bool, #[comptime] line: usize) -> f32 {
    let mut sum = f32::new(0.0);
    if planes {
        sum += plane_sum(value);
    } else {
        shared[UNIT_POS as usize] = value;
        sync_cube();
        for i in 0..line {
            sum += shared[UNIT_POS_Y as usize * line + i];
        }
        sync_cube();
    }
    sum
}

/// The largest of what the units of a line have, as [`sum_line`].
#[cube]
fn max_line(value: f32, shared: &mut SharedMemory<f32>, #[comptime] planes: bool, #[comptime] line: usize) -> f32 {
    let mut most = value;
    if planes {
        most = plane_max(value);
    } else {
        shared[UNIT_POS as usize] = value;
        sync_cube();
        for i in 0..line {
            most = max(most, shared[UNIT_POS_Y as usize * line + i]);
        }
        sync_cube();
    }
    most
}

/// `softmax(scores × factor + bias)` over the last of four dimensions. Strides of the bias are zero where it is the same for all.
#[cube(launch_unchecked)]
fn attend_rows<F: Float>(
    scores: &Tensor<F>,
    bias: &Tensor<F>,
    out: &mut Tensor<F>,
    factor: f32,
    #[comptime] biased: bool,
    #[comptime] lines: Lines,
    #[define(F)] _dtype: StorageType,
) {
    let row = row();
    let there = row < out.shape(0) * out.shape(1) * out.shape(2);
    let mut shared = SharedMemory::<f32>::new(lines.units);
    let tokens = out.shape(3);
    let query = row % out.shape(2);
    let head = row / out.shape(2) % out.shape(1);
    let position = row / out.shape(2) / out.shape(1);
    let start = position * scores.stride(0) + head * scores.stride(1) + query * scores.stride(2);
    let mut held = Array::<f32>::new(lines.each);
    let mut most = f32::new(-3.0e38);
    #[unroll]
    for i in 0..lines.each {
        let key = place(i, lines.line);
        held[i] = f32::new(-3.0e38);
        if there && key < tokens {
            let mut score = f32::cast_from(scores[start + key * scores.stride(3)]) * factor;
            if biased {
                let start = position * bias.stride(0) + head * bias.stride(1) + query * bias.stride(2);
                score += f32::cast_from(bias[start + key * bias.stride(3)]);
            }
            held[i] = score;
            most = max(most, score);
        }
    }
    let most = max_line(most, &mut shared, lines.planes, lines.line);
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..lines.each {
        let key = place(i, lines.line);
        if there && key < tokens {
            held[i] = (held[i] - most).exp();
            sum += held[i];
        }
    }
    let sum = sum_line(sum, &mut shared, lines.planes, lines.line);
    #[unroll]
    for i in 0..lines.each {
        let key = place(i, lines.line);
        if there && key < tokens {
            out[row * tokens + key] = F::cast_from(held[i] / sum);
        }
    }
}

/// `p ∘ (dp − Σ p ∘ dp)` over the last dimension of contiguous tensors, in single precision.
#[cube(launch_unchecked)]
fn attend_gradient_rows<F: Float>(
    p: &Tensor<F>,
    dp: &Tensor<F>,
    out: &mut Tensor<f32>,
    tokens: usize,
    #[comptime] lines: Lines,
    #[define(F)] _dtype: StorageType,
) {
    let row = row();
    let there = row < out.len() / tokens;
    let mut shared = SharedMemory::<f32>::new(lines.units);
    let mut weights = Array::<f32>::new(lines.each);
    let mut products = Array::<f32>::new(lines.each);
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..lines.each {
        let key = place(i, lines.line);
        if there && key < tokens {
            weights[i] = f32::cast_from(p[row * tokens + key]);
            products[i] = weights[i] * f32::cast_from(dp[row * tokens + key]);
            sum += products[i];
        }
    }
    let sum = sum_line(sum, &mut shared, lines.planes, lines.line);
    #[unroll]
    for i in 0..lines.each {
        let key = place(i, lines.line);
        if there && key < tokens {
            out[row * tokens + key] = products[i] - weights[i] * sum;
        }
    }
}

/// `x / √(mean(x²) + ε)` over contiguous rows of `d`, and what each was multiplied by.
#[cube(launch_unchecked)]
fn rms_norm_rows<F: Float>(
    x: &Tensor<F>,
    out: &mut Tensor<F>,
    scales: &mut Tensor<f32>,
    d: usize,
    epsilon: f32,
    #[comptime] lines: Lines,
    #[define(F)] _dtype: StorageType,
) {
    let row = row();
    let there = row < scales.len();
    let mut shared = SharedMemory::<f32>::new(lines.units);
    let mut held = Array::<f32>::new(lines.each);
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..lines.each {
        let column = place(i, lines.line);
        if there && column < d {
            held[i] = f32::cast_from(x[row * d + column]);
            sum += held[i] * held[i];
        }
    }
    let scale =
        f32::new(1.0) / (sum_line(sum, &mut shared, lines.planes, lines.line) / f32::cast_from(d) + epsilon).sqrt();
    if there && UNIT_POS_X == 0 {
        scales[row] = scale;
    }
    #[unroll]
    for i in 0..lines.each {
        let column = place(i, lines.line);
        if there && column < d {
            out[row * d + column] = F::cast_from(held[i] * scale);
        }
    }
}

/// `(dy − y · mean(dy ∘ y)) × scale` over contiguous rows of `d`.
#[cube(launch_unchecked)]
fn rms_norm_gradient_rows<F: Float>(
    dy: &Tensor<F>,
    y: &Tensor<F>,
    scales: &Tensor<f32>,
    out: &mut Tensor<F>,
    d: usize,
    #[comptime] lines: Lines,
    #[define(F)] _dtype: StorageType,
) {
    let row = row();
    let there = row < scales.len();
    let mut shared = SharedMemory::<f32>::new(lines.units);
    let mut gradients = Array::<f32>::new(lines.each);
    let mut values = Array::<f32>::new(lines.each);
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..lines.each {
        let column = place(i, lines.line);
        if there && column < d {
            gradients[i] = f32::cast_from(dy[row * d + column]);
            values[i] = f32::cast_from(y[row * d + column]);
            sum += gradients[i] * values[i];
        }
    }
    let along = sum_line(sum, &mut shared, lines.planes, lines.line) / f32::cast_from(d);
    let mut scale = f32::new(0.0);
    if there {
        scale = scales[row];
    }
    #[unroll]
    for i in 0..lines.each {
        let column = place(i, lines.line);
        if there && column < d {
            out[row * d + column] = F::cast_from((gradients[i] - values[i] * along) * scale);
        }
    }
}

/// How rows are shared out, which each kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lines {
    /// Numbers of a row that a unit has.
    each: usize,
    /// Units of a line.
    line: usize,
    /// Units of a cube.
    units: usize,
    /// Whether lines are planes.
    planes: bool,
}

/// How the kernels of rows are started.
struct Rows {
    count: CubeCount,
    dim: CubeDim,
    lines: Lines,
}

/// Units of a cube.
const UNITS: u32 = 256;
/// Units of a line where that is no plane.
const LINE: u32 = 32;
/// Numbers that a unit keeps in registers at most.
const MOST: usize = 64;

impl Rows {
    /// `None` where the rows are too long to be kept in registers, or too many.
    fn of<R: CubeRuntime>(client: &ComputeClient<R>, rows: usize, length: usize) -> Option<Rows> {
        let (hardware, features) = (&client.properties().hardware, &client.properties().features);
        let plane = hardware.plane_size_max;
        let planes = features.plane.contains(Plane::Ops) && plane > 0 && hardware.plane_size_min == plane;
        let line = if planes { plane } else { LINE };
        let height = (UNITS.min(hardware.max_units_per_cube) / line).max(1);
        let each = length.div_ceil(line as usize);
        let dim = CubeDim::new_2d(line, height);
        let count = calculate_cube_count_elemwise(client, rows * line as usize, dim);
        let lines = Lines { each, line: line as usize, units: (line * height) as usize, planes };
        let fits = each <= MOST && rows > 0 && rows * length < u32::MAX as usize;
        fits.then_some(Rows { count, dim, lines })
    }
}

/// A new tensor beside another, of the same shape.
fn like<R: CubeRuntime>(x: &CubeTensor<R>, dtype: DType) -> CubeTensor<R> {
    empty_device_dtype(x.client.clone(), x.device.clone(), x.meta.shape().clone(), dtype)
}

/// The same strides, with none where there is one for all.
fn spread<R: CubeRuntime>(mut x: CubeTensor<R>) -> CubeTensor<R> {
    for dim in 0..x.meta.num_dims() {
        if x.meta.shape()[dim] == 1 {
            x.meta.strides_mut()[dim] = 0;
        }
    }
    x
}

impl<R, F, I, BT> Kernels for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
    Self: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    fn attend(scores: FloatTensor<Self>, bias: Option<FloatTensor<Self>>, scale: f64) -> FloatTensor<Self> {
        let shape = scores.meta.shape();
        let rows = Rows::of(&scores.client, shape[0] * shape[1] * shape[2], shape[3]);
        let Some(rows) = rows.filter(|_| bias.as_ref().is_none_or(|b| b.dtype == scores.dtype)) else {
            return into(weighed::<Self>(from(scores), bias.map(from), scale));
        };
        let (out, client, dtype) = (like(&scores, scores.dtype), scores.client.clone(), scores.dtype);
        let biased = bias.is_some();
        let bias = bias.map_or_else(|| scores.clone(), spread);
        // SAFETY: units beyond the rows or their ends read and write nothing.
        unsafe {
            attend_rows::launch_unchecked(
                &client,
                rows.count,
                rows.dim,
                scores.into_tensor_arg(),
                bias.into_tensor_arg(),
                out.clone().into_tensor_arg(),
                scale as f32,
                biased,
                rows.lines,
                dtype.into(),
            );
        }
        out
    }

    fn attend_gradient(p: FloatTensor<Self>, dp: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape = p.meta.shape();
        let tokens = shape[3];
        let rows = Rows::of(&p.client, shape[0] * shape[1] * shape[2], tokens);
        let even = p.dtype == dp.dtype && p.is_contiguous() && dp.is_contiguous();
        let Some(rows) = rows.filter(|_| even) else {
            return into(weighed_gradient::<Self>(from(p), from(dp)));
        };
        let (out, client, dtype) = (like(&p, DType::F32), p.client.clone(), p.dtype);
        // SAFETY: as above.
        unsafe {
            attend_gradient_rows::launch_unchecked(
                &client,
                rows.count,
                rows.dim,
                p.into_tensor_arg(),
                dp.into_tensor_arg(),
                out.clone().into_tensor_arg(),
                tokens,
                rows.lines,
                dtype.into(),
            );
        }
        out
    }

    fn rms_norm_scaled(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [n, d] = [0, 1].map(|dim| x.meta.shape()[dim]);
        let Some(rows) = Rows::of(&x.client, n, d).filter(|_| x.is_contiguous()) else {
            let (y, scale) = rms_norm_parts::<Self>(from(x));
            return (into(y), into(scale));
        };
        let (out, client, dtype) = (like(&x, x.dtype), x.client.clone(), x.dtype);
        let scales = empty_device_dtype(client.clone(), x.device.clone(), [n, 1].into(), DType::F32);
        // SAFETY: as above.
        unsafe {
            rms_norm_rows::launch_unchecked(
                &client,
                rows.count,
                rows.dim,
                x.into_tensor_arg(),
                out.clone().into_tensor_arg(),
                scales.clone().into_tensor_arg(),
                d,
                EPSILON as f32,
                rows.lines,
                dtype.into(),
            );
        }
        (out, scales)
    }

    fn rms_norm_gradient(dy: FloatTensor<Self>, y: FloatTensor<Self>, scale: FloatTensor<Self>) -> FloatTensor<Self> {
        let [n, d] = [0, 1].map(|dim| y.meta.shape()[dim]);
        let even = dy.dtype == y.dtype && dy.is_contiguous() && y.is_contiguous() && scale.is_contiguous();
        let Some(rows) = Rows::of(&y.client, n, d).filter(|_| even) else {
            return into(rms_norm_parts_gradient::<Self>(from(dy), from(y), from(scale)));
        };
        let (out, client, dtype) = (like(&dy, dy.dtype), dy.client.clone(), dy.dtype);
        // SAFETY: as above.
        unsafe {
            rms_norm_gradient_rows::launch_unchecked(
                &client,
                rows.count,
                rows.dim,
                dy.into_tensor_arg(),
                y.into_tensor_arg(),
                scale.into_tensor_arg(),
                out.clone().into_tensor_arg(),
                d,
                rows.lines,
                dtype.into(),
            );
        }
        out
    }
}
