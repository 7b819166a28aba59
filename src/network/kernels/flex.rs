//! Where burn-flex is better served by a loop of our own.

use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{DType, TensorData};

use super::super::precision::{cast, wide};
use super::{Curve, Kernels, around, from, gather_around, heads_to_rows, into, neighbour, spread};

impl Kernels for burn_flex::Flex {
    fn bytes(bytes: Vec<u8>, shape: [usize; 2], device: &Self::Device) -> IntTensor<Self> {
        spread::<Self>(&bytes, shape, device)
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
