//! Glance's policy: each square as the start of a move against each square as its end.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};

use super::super::kernels::{self, Kernels};
use super::super::linear::Linear;
use super::geometry;

/// From × to attention: a query of the square moved from, a key of the square moved to, and for the eighth rank
/// a bias for each promotion piece made from the key (after lc0).
#[derive(Module, Debug)]
pub(in crate::network) struct FromTo<B: Kernels> {
    pub(in crate::network) from: Linear<B>,
    pub(in crate::network) to: Linear<B>,
    pub(in crate::network) promotion: Linear<B>,
    pub(in crate::network) dim: usize,
}

impl<B: Kernels> FromTo<B> {
    pub(in crate::network) fn new(d: usize, dim: usize, device: &B::Device) -> Self {
        FromTo {
            from: Linear::new(d, dim, 1.0, true, device),
            to: Linear::new(d, dim, 1.0, false, device),
            promotion: Linear::new(dim, 4, 1.0, false, device),
            dim,
        }
    }

    /// `[batch × 64, d]` to logits `[batch, 1968]` of moves as the player to move sees them.
    pub(in crate::network) fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let (rows, dim) = (x.dims()[0], self.dim);
        let n = rows / 64;
        let scale = 1.0 / (dim as f64).sqrt();
        let (from, to) = (self.from.forward(x.clone()), self.to.forward(x));
        let last_rank = to.clone().reshape([n, 64, dim]).slice([0..n, 56..64]).reshape([n * 8, dim]);
        let logits: Tensor<B, 3> = kernels::from(B::pairs(kernels::into(from), kernels::into(to), 64, scale));
        let pawns = logits.clone().slice([0..n, 48..56, 56..64]).reshape([n, 8, 8, 1]);
        let pieces = self.promotion.forward(last_rank).reshape([n, 1, 8, 4]);
        let promotions = (pawns + pieces).reshape([n, 8 * 8 * 4]);
        let all = Tensor::cat(vec![logits.reshape([n, 64 * 64]), promotions], 1);
        debug_assert_eq!(all.dims()[1], geometry::LOGITS);
        let table = TensorData::from(*geometry::FROM_TO);
        let table = Tensor::<B, 1, Int>::from_data(table, &all.device());
        all.select(1, table)
    }
}
