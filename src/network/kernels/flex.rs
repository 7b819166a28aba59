//! Where burn-flex is better served by a loop of our own.

use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{DType, TensorData};

use super::super::precision::{cast, wide};
use super::{
    Curve, EPSILON, Kernels, around, from, gather_around, heads_to_rows, into, neighbour, rms_norm_parts,
    rms_norm_parts_gradient, rows, spread, weighed, weighed_gradient,
};

/// The tensor with its numbers in a row, for writing to them: that copies them only where another tensor shares them.
fn owned(x: burn_flex::FlexTensor) -> burn_flex::FlexTensor {
    let contiguous = x.to_contiguous();
    // Or it would be that other tensor.
    drop(x);
    contiguous
}

impl Kernels for burn_flex::Flex {
    fn bytes(bytes: Vec<u8>, shape: [usize; 2], device: &Self::Device) -> IntTensor<Self> {
        spread::<Self>(&bytes, shape, device)
    }

    /// In place and in one pass: burn-flex's own softmax goes through the C library's exp, number by number.
    fn attend(scores: FloatTensor<Self>, bias: Option<FloatTensor<Self>>, scale: f64) -> FloatTensor<Self> {
        let plain = scores.dtype() != DType::F32 || bias.as_ref().is_some_and(|bias| bias.dtype() != DType::F32);
        if plain {
            return into(weighed::<Self>(from(scores), bias.map(from), scale));
        }
        let mut scores = owned(scores);
        let [_, heads, tokens, others] = scores.layout().shape().dims::<4>();
        let bias = bias.map(|bias| bias.to_contiguous());
        let shape = bias.as_ref().map(|bias| bias.layout().shape().dims::<4>());
        let held: Option<&[f32]> = bias.as_ref().map(|bias| bias.storage());
        let of_row = |row: usize| {
            let ([n, h, t, _], bias) = (shape?, held?);
            // Where the bias has one for all, that one.
            let place = |i: usize, count: usize| if count == 1 { 0 } else { i };
            let (position, head, token) = (row / tokens / heads, row / tokens % heads, row % tokens);
            let at = (place(position, n) * h + place(head, h)) * t + place(token, t);
            Some(&bias[at * others..][..others])
        };
        rows::softmax(scores.storage_mut(), others, scale as f32, of_row);
        scores
    }

    fn attend_gradient(p: FloatTensor<Self>, dp: FloatTensor<Self>) -> FloatTensor<Self> {
        if p.dtype() != DType::F32 || dp.dtype() != DType::F32 {
            return into(weighed_gradient::<Self>(from(p), from(dp)));
        }
        let (p, mut dp) = (p.to_contiguous(), owned(dp));
        let [_, _, _, length] = p.layout().shape().dims::<4>();
        rows::softmax_gradient(p.storage(), dp.storage_mut(), length);
        dp
    }

    fn rms_norm_gradient(dy: FloatTensor<Self>, y: FloatTensor<Self>, scale: FloatTensor<Self>) -> FloatTensor<Self> {
        if [&dy, &y, &scale].iter().any(|x| x.dtype() != DType::F32) {
            return into(rms_norm_parts_gradient::<Self>(from(dy), from(y), from(scale)));
        }
        let (mut dy, y, scale) = (owned(dy), y.to_contiguous(), scale.to_contiguous());
        let [_, d] = y.layout().shape().dims::<2>();
        rows::rms_norm_gradient(dy.storage_mut(), y.storage(), scale.storage(), d);
        dy
    }

    /// In place and in one pass.
    fn rms_norm_scaled(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if x.dtype() != DType::F32 {
            let (y, scale) = rms_norm_parts(from::<Self, 2>(x));
            return (into(y), into(scale));
        }
        let mut x = owned(x);
        let [rows, d] = x.layout().shape().dims::<2>();
        let scale = rows::rms_norm(x.storage_mut(), d, EPSILON as f32);
        (x, burn_flex::FlexTensor::from_data(TensorData::new(scale, [rows, 1])))
    }

    /// Copies runs of c numbers: burn-flex's own copy of a four-dimensional view goes number by number.
    fn merge_heads(x: FloatTensor<Self>) -> FloatTensor<Self> {
        if x.dtype() != DType::F32 {
            return into(heads_to_rows(from::<Self, 4>(x)));
        }
        let x = x.to_contiguous();
        let [n, heads, squares, c] = x.layout().shape().dims::<4>();
        let from: &[f32] = x.storage();
        let mut to = Vec::with_capacity(from.len());
        for position in from.chunks_exact((heads * squares * c).max(1)) {
            for square in 0..squares {
                for head in 0..heads {
                    let at = (head * squares + square) * c;
                    to.extend_from_slice(&position[at..at + c]);
                }
            }
        }
        burn_flex::FlexTensor::from_data(TensorData::new(to, [n * squares, heads * c]))
    }

    /// In one pass that the compiler can vectorise: burn-flex's own goes through the C library's erf and tanh, number by number.
    fn activate(x: FloatTensor<Self>, kind: Curve, wanted: bool) -> (FloatTensor<Self>, Option<FloatTensor<Self>>) {
        let dtype = x.dtype();
        let x = into(wide(from::<Self, 2>(x))).to_contiguous();
        let dims = x.layout().shape().dims::<2>();
        let numbers: &[f32] = x.storage();
        let (values, derivatives) = kind.apply(numbers, wanted);
        let tensor = |data| {
            let tensor = burn_flex::FlexTensor::from_data(TensorData::new(data, dims));
            into(cast(from::<Self, 2>(tensor), dtype))
        };
        (tensor(values), derivatives.map(tensor))
    }

    /// Copies whole rows.
    fn neighbours(x: FloatTensor<Self>) -> FloatTensor<Self> {
        if x.dtype() != DType::F32 {
            return into(around(from::<Self, 2>(x), false));
        }
        let x = x.to_contiguous();
        let [rows, c] = x.layout().shape().dims::<2>();
        let from: &[f32] = x.storage();
        let mut to = vec![0.0; rows * 9 * c];
        for (row, out) in to.chunks_exact_mut((9 * c).max(1)).enumerate() {
            for (k, out) in out.chunks_exact_mut(c).enumerate() {
                if let Some(other) = neighbour(row % 64, k) {
                    let at = (row / 64 * 64 + other) * c;
                    out.copy_from_slice(&from[at..at + c]);
                }
            }
        }
        burn_flex::FlexTensor::from_data(TensorData::new(to, [rows, 9 * c]))
    }

    /// Adds whole rows.
    fn collect(x: FloatTensor<Self>) -> FloatTensor<Self> {
        if x.dtype() != DType::F32 {
            return into(gather_around(from::<Self, 2>(x)));
        }
        let x = x.to_contiguous();
        let [rows, nine] = x.layout().shape().dims::<2>();
        let (c, from): (usize, &[f32]) = (nine / 9, x.storage());
        let mut to = vec![0.0; rows * c];
        for (row, held) in from.chunks_exact(nine.max(1)).enumerate() {
            for (k, held) in held.chunks_exact(c).enumerate() {
                if let Some(other) = neighbour(row % 64, k) {
                    let at = (row / 64 * 64 + other) * c;
                    to[at..at + c].iter_mut().zip(held).for_each(|(sum, x)| *sum += x);
                }
            }
        }
        burn_flex::FlexTensor::from_data(TensorData::new(to, [rows, c]))
    }
}
