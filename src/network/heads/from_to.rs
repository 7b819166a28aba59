//! Glance's policy: each square as the start of a move against each square as its end.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};

use super::super::attention_bias::EdgeBias;
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
    /// What moves along edges gain.
    pub(in crate::network) edge_bias: Option<EdgeBias<B>>,
}

impl<B: Kernels> FromTo<B> {
    pub(in crate::network) fn new(d: usize, dim: usize, edges: usize, device: &B::Device) -> Self {
        FromTo {
            from: Linear::new(d, dim, 1.0, true, device),
            to: Linear::new(d, dim, 1.0, false, device),
            promotion: Linear::new(dim, 4, 1.0, false, device),
            dim,
            edge_bias: (edges > 0).then(|| EdgeBias::new(d, 1, edges, device)),
        }
    }

    /// With biases along so many kinds of edges, which count for nothing yet where there were fewer.
    pub(in crate::network) fn with_edges(self, kinds: usize) -> Self {
        let ([d, _], device) = (self.from.weight.dims(), self.from.weight.device());
        let own = self.edge_bias.map(|bias| bias.with_kinds(kinds, 1));
        FromTo { edge_bias: own.or_else(|| Some(EdgeBias::new(d, 1, kinds, &device))), ..self }
    }

    /// `[batch × 64, d]` to logits `[batch, 1968]` of moves as the player to move sees them.
    /// `edges` are those between squares along which these gain, in bytes: `[batch, kinds × 64 × 8]`.
    pub(in crate::network) fn forward(&self, x: Tensor<B, 2>, edges: Option<Tensor<B, 2, Int>>) -> Tensor<B, 2> {
        let (rows, dim) = (x.dims()[0], self.dim);
        let n = rows / 64;
        let scale = 1.0 / (dim as f64).sqrt();
        let (from, to) = (self.from.forward(x.clone()), self.to.forward(x.clone()));
        let last_rank = to.clone().reshape([n, 64, dim]).slice([0..n, 56..64]).reshape([n * 8, dim]);
        let logits: Tensor<B, 3> = kernels::from(B::pairs(kernels::into(from), kernels::into(to), 64, scale));
        let logits = match (&self.edge_bias, edges) {
            (Some(bias), Some(edges)) => bias.add_to(logits.reshape([n, 1, 64, 64]), x, edges).reshape([n, 64, 64]),
            _ => logits,
        };
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
