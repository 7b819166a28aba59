//! Positions as tensors.

use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};

use crate::board::{BOARDS, Features, GLOBALS, MARKS};

/// A batch of positions as a network takes it.
#[derive(Clone, Debug)]
pub struct Input<B: Backend> {
    /// What stands where: `[batch, 64, 8]`, codes `0..14`.
    pub codes: Tensor<B, 3, Int>,
    /// Marks on squares: `[batch, 64, 2]`, zeros and ones.
    pub marks: Tensor<B, 3>,
    /// Values of the whole position: `[batch, GLOBALS]`.
    pub globals: Tensor<B, 2>,
}

impl<B: Backend> Input<B> {
    /// Packs a batch.
    pub fn pack<'a>(batch: impl ExactSizeIterator<Item = &'a Features>, device: &B::Device) -> Input<B> {
        let n = batch.len();
        let mut codes = Vec::with_capacity(n * 64 * BOARDS);
        let mut marks = Vec::with_capacity(n * 64 * MARKS);
        let mut globals = Vec::with_capacity(n * GLOBALS);
        for features in batch {
            for square in 0..64 {
                codes.extend(features.codes.iter().map(|board| i32::from(board[square])));
                marks.extend(features.marks.iter().map(|bits| (bits >> square & 1) as f32));
            }
            globals.extend_from_slice(&features.globals);
        }
        Input {
            codes: Tensor::from_data(TensorData::new(codes, [n, 64, BOARDS]), device),
            marks: Tensor::from_data(TensorData::new(marks, [n, 64, MARKS]), device),
            globals: Tensor::from_data(TensorData::new(globals, [n, GLOBALS]), device),
        }
    }
}
