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
use cubecl::ir::features::Plane;
use cubecl::prelude::*;
use cubecl::{calculate_cube_count_elemwise, cube};

use super::{
    EPSILON, Kernels, Shape, attention, from, into, over_rows, rms_norm_parts, rms_norm_parts_gradient, scale,
    sum_of_rows, tensor_cores, weighed, weighed_gradient, weights_gradient,
};

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

/// Where this row of a tensor starts that has the shape of another, or one number for all of a dimension and a stride of zero there.
/// Rows are not always next to each other: some devices end each at a multiple of so many bytes.
#[cube]
fn start<F: CubePrimitive, O: CubePrimitive>(x: &Tensor<F>, shape: &Tensor<O>, #[comptime] rank: usize) -> usize {
    let mut rest = row();
    let mut start = 0;
    #[unroll]
    for i in 0..rank - 1 {
        let dim = comptime!(rank - 2 - i);
        start += rest % shape.shape(dim) * x.stride(dim);
        rest /= shape.shape(dim);
    }
    start
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

/// Reads this unit's numbers of a row of each of two tensors, and gives the sum of the whole rows' products. Every unit of the cube has
/// to come here.
#[cube]
fn dot_rows<F: Float, O: CubePrimitive>(
    a: &Tensor<F>,
    b: &Tensor<F>,
    shape: &Tensor<O>,
    there: bool,
    of_a: &mut Array<f32>,
    of_b: &mut Array<f32>,
    #[comptime] rank: usize,
    #[comptime] lines: Lines,
) -> f32 {
    let last = comptime!(rank - 1);
    let start_a = start::<F, O>(a, shape, rank);
    let start_b = start::<F, O>(b, shape, rank);
    let mut shared = SharedMemory::<f32>::new(lines.units);
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..lines.each {
        let at = place(i, lines.line);
        if there && at < shape.shape(last) {
            of_a[i] = f32::cast_from(a[start_a + at * a.stride(last)]);
            of_b[i] = f32::cast_from(b[start_b + at * b.stride(last)]);
            sum += of_a[i] * of_b[i];
        }
    }
    sum_line(sum, &mut shared, lines.planes, lines.line)
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
    let there = row() < out.shape(0) * out.shape(1) * out.shape(2);
    let mut shared = SharedMemory::<f32>::new(lines.units);
    let tokens = out.shape(3);
    let of_scores = start::<F, F>(scores, out, 4usize);
    let of_bias = start::<F, F>(bias, out, 4usize);
    let of_out = start::<F, F>(out, out, 4usize);
    let mut held = Array::<f32>::new(lines.each);
    let mut most = f32::new(-3.0e38);
    #[unroll]
    for i in 0..lines.each {
        let key = place(i, lines.line);
        held[i] = f32::new(-3.0e38);
        if there && key < tokens {
            let mut score = f32::cast_from(scores[of_scores + key * scores.stride(3)]) * factor;
            if biased {
                score += f32::cast_from(bias[of_bias + key * bias.stride(3)]);
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
            out[of_out + key * out.stride(3)] = F::cast_from(held[i] / sum);
        }
    }
}

/// `p ∘ (dp − Σ p ∘ dp)` over the last of four dimensions.
#[cube(launch_unchecked)]
fn attend_gradient_rows<F: Float>(
    p: &Tensor<F>,
    dp: &Tensor<F>,
    out: &mut Tensor<F>,
    #[comptime] lines: Lines,
    #[define(F)] _dtype: StorageType,
) {
    let there = row() < out.shape(0) * out.shape(1) * out.shape(2);
    let tokens = out.shape(3);
    let of_out = start::<F, F>(out, out, 4usize);
    let mut weights = Array::<f32>::new(lines.each);
    let mut gradients = Array::<f32>::new(lines.each);
    let sum = dot_rows::<F, F>(p, dp, out, there, &mut weights, &mut gradients, 4usize, lines);
    #[unroll]
    for i in 0..lines.each {
        let key = place(i, lines.line);
        if there && key < tokens {
            out[of_out + key * out.stride(3)] = F::cast_from(weights[i] * gradients[i] - weights[i] * sum);
        }
    }
}

/// `x / √(mean(x²) + ε)` over rows of `d`, and what each was multiplied by.
#[cube(launch_unchecked)]
fn rms_norm_rows<F: Float>(
    x: &Tensor<F>,
    out: &mut Tensor<F>,
    scales: &mut Tensor<f32>,
    epsilon: f32,
    #[comptime] lines: Lines,
    #[define(F)] _dtype: StorageType,
) {
    let there = row() < out.shape(0);
    let d = out.shape(1);
    let of_x = start::<F, F>(x, out, 2usize);
    let of_out = start::<F, F>(out, out, 2usize);
    let mut shared = SharedMemory::<f32>::new(lines.units);
    let mut held = Array::<f32>::new(lines.each);
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..lines.each {
        let column = place(i, lines.line);
        if there && column < d {
            held[i] = f32::cast_from(x[of_x + column * x.stride(1)]);
            sum += held[i] * held[i];
        }
    }
    let scale =
        f32::new(1.0) / (sum_line(sum, &mut shared, lines.planes, lines.line) / f32::cast_from(d) + epsilon).sqrt();
    if there && UNIT_POS_X == 0 {
        scales[row() * scales.stride(0)] = scale;
    }
    #[unroll]
    for i in 0..lines.each {
        let column = place(i, lines.line);
        if there && column < d {
            out[of_out + column * out.stride(1)] = F::cast_from(held[i] * scale);
        }
    }
}

/// `(dy − y · mean(dy ∘ y)) × scale` over rows of `d`.
#[cube(launch_unchecked)]
fn rms_norm_gradient_rows<F: Float>(
    dy: &Tensor<F>,
    y: &Tensor<F>,
    scales: &Tensor<f32>,
    out: &mut Tensor<F>,
    #[comptime] lines: Lines,
    #[define(F)] _dtype: StorageType,
) {
    let there = row() < out.shape(0);
    let d = out.shape(1);
    let of_out = start::<F, F>(out, out, 2usize);
    let mut gradients = Array::<f32>::new(lines.each);
    let mut values = Array::<f32>::new(lines.each);
    let dot = dot_rows::<F, F>(dy, y, out, there, &mut gradients, &mut values, 2usize, lines);
    let along = dot / f32::cast_from(d);
    let mut scale = f32::new(0.0);
    if there {
        scale = scales[row() * scales.stride(0)];
    }
    #[unroll]
    for i in 0..lines.each {
        let column = place(i, lines.line);
        if there && column < d {
            out[of_out + column * out.stride(1)] = F::cast_from((gradients[i] - values[i] * along) * scale);
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
    /// For the rows of some tensors that have the shape of the first, or can be spread to it. `None` where these are too long to be kept
    /// in registers, or a tensor too large for the kernels' 32 bits, or the numbers of one are of another kind.
    fn of<R: CubeRuntime>(tensors: &[&CubeTensor<R>]) -> Option<Rows> {
        let first = tensors.first()?;
        let (client, shape) = (&first.client, first.meta.shape());
        let length = shape[shape.rank() - 1];
        let rows = shape.num_elements().checked_div(length)?;
        let (hardware, features) = (&client.properties().hardware, &client.properties().features);
        let plane = hardware.plane_size_max;
        let planes = features.plane.contains(Plane::Ops) && plane > 0 && hardware.plane_size_min == plane;
        let line = if planes { plane } else { LINE };
        let height = (UNITS.min(hardware.max_units_per_cube) / line).max(1);
        let each = length.div_ceil(line as usize);
        let dim = CubeDim::new_2d(line, height);
        let count = calculate_cube_count_elemwise(client, rows * line as usize, dim);
        let lines = Lines { each, line: line as usize, units: (line * height) as usize, planes };
        // A row of what is written may end at the next power of two.
        let small = rows.saturating_mul(length.next_power_of_two().max(8)) < u32::MAX as usize
            && tensors.iter().all(|x| furthest(x) < u32::MAX as usize);
        let fits = each <= MOST && rows > 0 && small && tensors.iter().all(|x| x.dtype == first.dtype);
        fits.then_some(Rows { count, dim, lines })
    }
}

/// The place of the last number of a tensor in its memory.
pub(super) fn furthest<R: CubeRuntime>(x: &CubeTensor<R>) -> usize {
    let (shape, strides) = (x.meta.shape(), x.meta.strides());
    (0..x.meta.num_dims()).map(|dim| shape[dim].saturating_sub(1).saturating_mul(strides[dim])).sum()
}

/// A new tensor beside another, of the same shape.
pub(super) fn like<R: CubeRuntime>(x: &CubeTensor<R>, dtype: DType) -> CubeTensor<R> {
    empty_device_dtype(x.client.clone(), x.device.clone(), x.meta.shape().clone(), dtype)
}

/// The same strides, with none where there is one for all.
pub(super) fn spread<R: CubeRuntime>(mut x: CubeTensor<R>) -> CubeTensor<R> {
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
        let tensors = [Some(&scores), bias.as_ref()].into_iter().flatten().collect::<Vec<_>>();
        let Some(rows) = Rows::of(&tensors) else {
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
        let Some(rows) = Rows::of(&[&p, &dp]) else {
            return into(weighed_gradient::<Self>(from(p), from(dp)));
        };
        let (out, client, dtype) = (like(&p, p.dtype), p.client.clone(), p.dtype);
        // SAFETY: as above.
        unsafe {
            attend_gradient_rows::launch_unchecked(
                &client,
                rows.count,
                rows.dim,
                p.into_tensor_arg(),
                dp.into_tensor_arg(),
                out.clone().into_tensor_arg(),
                rows.lines,
                dtype.into(),
            );
        }
        out
    }

    fn weighed_attention(
        qkv: [FloatTensor<Self>; 3],
        bias: Option<FloatTensor<Self>>,
        shape: Shape,
    ) -> [FloatTensor<Self>; 2] {
        let factor = scale(&from::<Self, 2>(qkv[0].clone()), shape.heads) as f32;
        tensor_cores::attention(qkv.clone(), bias.clone(), shape, factor)
            .unwrap_or_else(|| attention::composed::<Self>(qkv, bias, shape))
    }

    fn attention_gradient(
        dy: FloatTensor<Self>,
        made_from: [FloatTensor<Self>; 4],
        shape: Shape,
    ) -> [FloatTensor<Self>; 4] {
        let factor = scale(&from::<Self, 2>(made_from[0].clone()), shape.heads) as f32;
        tensor_cores::attention_gradient(dy.clone(), made_from.clone(), shape, factor)
            .unwrap_or_else(|| attention::composed_gradient::<Self>(dy, made_from, shape))
    }

    fn weight_gradient(x: FloatTensor<Self>, dy: FloatTensor<Self>) -> FloatTensor<Self> {
        match over_rows::weight_gradient(x.clone(), dy.clone()) {
            Some(parts) => {
                let parts = from::<Self, 3>(parts);
                let [pieces, from, to] = parts.dims();
                into(if pieces == 1 { parts } else { parts.sum_dim(0) }.reshape([from, to]))
            }
            None => into(weights_gradient::<Self>(from(x), from(dy))),
        }
    }

    fn sum_rows(x: FloatTensor<Self>) -> FloatTensor<Self> {
        over_rows::sum_rows(x.clone()).unwrap_or_else(|| into(sum_of_rows::<Self>(from(x))))
    }

    fn rms_norm_scaled(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let Some(rows) = Rows::of(&[&x]) else {
            let (y, scale) = rms_norm_parts::<Self>(from(x));
            return (into(y), into(scale));
        };
        let (out, client, dtype) = (like(&x, x.dtype), x.client.clone(), x.dtype);
        let scales = empty_device_dtype(client.clone(), x.device.clone(), [x.meta.shape()[0], 1].into(), DType::F32);
        // SAFETY: as above.
        unsafe {
            rms_norm_rows::launch_unchecked(
                &client,
                rows.count,
                rows.dim,
                x.into_tensor_arg(),
                out.clone().into_tensor_arg(),
                scales.clone().into_tensor_arg(),
                EPSILON as f32,
                rows.lines,
                dtype.into(),
            );
        }
        (out, scales)
    }

    fn rms_norm_gradient(dy: FloatTensor<Self>, y: FloatTensor<Self>, scale: FloatTensor<Self>) -> FloatTensor<Self> {
        let Some(rows) = Rows::of(&[&dy, &y]) else {
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
                rows.lines,
                dtype.into(),
            );
        }
        out
    }
}
