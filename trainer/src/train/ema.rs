//! An exponential moving average of the weights: what is measured and shipped.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use glance::network::{Kernels, Network};

/// Collects the tensors of a module by their parameters' ids. Burn's own container of gradients serves: it is a
/// map from ids to tensors of any rank.
struct Collect<'a>(&'a mut GradientsParams);

impl<B: Backend> ModuleVisitor<B> for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        self.0.register::<B, D>(param.id, param.val());
    }
}

struct Blend {
    new: GradientsParams,
    decay: f64,
}

impl<B: Backend> ModuleMapper<B> for Blend {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, old, mapper) = param.consume();
        let value = match self.new.remove::<B, D>(id) {
            // This way round, what does not change stays what it is, to the last bit.
            Some(new) => old.clone() + (new - old).mul_scalar(1.0 - self.decay),
            None => old,
        };
        Param::from_mapped_value(id, value, mapper)
    }
}

/// `average + (network − average) · (1 − decay)`, with less decay in the first steps, so that the random start is
/// forgotten: `min(decay, (1 + step) / (10 + step))`.
pub fn update<B: Kernels>(average: Network<B>, network: &Network<B>, decay: f64, step: u64) -> Network<B> {
    let mut new = GradientsParams::new();
    network.visit(&mut Collect(&mut new));
    let step = step as f64;
    average.map(&mut Blend { new, decay: decay.min((1.0 + step) / (10.0 + step)) })
}
