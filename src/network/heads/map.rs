//! AlphaMinusTwo's policy: for each square, where the man on it goes.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};

use super::super::curve::Curve;
use super::super::kernels::{Kernels, curved};
use super::super::linear::Linear;
use super::super::precision::wide;
use super::geometry;
use crate::board::{MOVES, MoveIndex};

/// What an underpromotion's logit is less than the queen's: the map has no promotion piece, so this system queens.
const UNDERPROMOTION: f32 = -15.0;

/// For each square d, GELU, 64 squares.
#[derive(Module, Debug)]
pub(in crate::network) struct Map<B: Kernels> {
    hidden: Linear<B>,
    to: Linear<B>,
}

impl<B: Kernels> Map<B> {
    pub(super) fn new(d: usize, device: &B::Device) -> Self {
        Map { hidden: Linear::new(d, d, 1.4, true, device), to: Linear::new(d, 64, 1.0, true, device) }
    }

    /// `[batch × 64, d]` to logits `[batch, 1968]`.
    pub(super) fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let map = self.to.forward(curved(self.hidden.forward(x), Curve::Gelu));
        let [rows, _] = map.dims();
        let device = map.device();
        let table = Tensor::<B, 1, Int>::from_data(TensorData::from(*geometry::MAP), &device);
        let moves = wide(map.reshape([rows / 64, 64 * 64]).select(1, table));
        let less: Vec<f32> = (0..MOVES)
            .filter_map(MoveIndex::new)
            .map(|m| if geometry::is_underpromotion(m) { UNDERPROMOTION } else { 0.0 })
            .collect();
        moves + Tensor::from_data(TensorData::new(less, [1, MOVES]), &device)
    }
}
