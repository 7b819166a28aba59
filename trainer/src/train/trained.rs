//! A network that is trained.

use burn::module::{AutodiffModule, Module, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{DType, FloatDType, Tensor};
use glance::network::{Kernels, Network};

use super::flat::Places;
use super::recipe::Compute;

/// A network and its weights, which are kept in one tensor between steps: the tensors of a network for a step are parts of it.
#[derive(Clone, Debug)]
pub struct Trained<B>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    /// What it is made of, with the weights that are not trained. Those that are, are old. None of them is a leaf: what is computed from
    /// a leaf, be it a copy, stays in the graph for as long as the leaf lives, and burn-autodiff goes through the graph at each step.
    frame: Network<B>,
    places: Places,
    weights: Tensor<B::InnerBackend, 1>,
}

impl<B> Trained<B>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    /// Of a network as it is.
    pub fn new(network: Network<B>) -> Self {
        let places = Places::of(&network);
        let weights = places.weights(&network.valid());
        Trained { frame: network.no_grad(), places, weights }
    }

    /// What the network is made of. Its weights are not those that it has now.
    pub fn frame(&self) -> &Network<B> {
        &self.frame
    }

    /// Its weights: `[n]`, as [`Places`] lays them out.
    pub fn weights(&self) -> &Tensor<B::InnerBackend, 1> {
        &self.weights
    }

    /// Gives it others.
    pub fn set(&mut self, weights: Tensor<B::InnerBackend, 1>) {
        self.weights = weights;
    }

    /// Gives it the weights of a network that was made of it, but for those that are in a list and `wanted`.
    pub fn take(&mut self, network: Network<B>, list: &Tensor<B::InnerBackend, 1>, wanted: &dyn Fn(ParamId) -> bool) {
        self.weights = self.places.weights(&self.places.put_some(network, list, wanted).valid());
    }

    /// The weights of a network like it, its average say, laid out as its own.
    pub fn lay_out(&self, network: &Network<B::InnerBackend>) -> Tensor<B::InnerBackend, 1> {
        self.places.weights(network)
    }

    /// The network.
    pub fn network(&self) -> Network<B> {
        self.network_with(&self.weights)
    }

    /// The network with other weights.
    pub fn network_with(&self, weights: &Tensor<B::InnerBackend, 1>) -> Network<B> {
        self.places.put(self.frame.clone(), weights)
    }

    /// A copy on a device, for one pass forward and back: nothing of its graph is shared.
    pub fn copy(&self, precision: Compute, device: &B::Device) -> Network<B> {
        let frame = Network::from_inner(self.frame.valid().fork(device));
        let weights = self.weights.clone().to_device(device);
        match precision {
            Compute::F32 => self.places.put(frame, &weights),
            // All in one go, not one tensor at a time.
            Compute::Bf16 => self.places.put(frame, &weights.cast(FloatDType::BF16)).computing_in(DType::BF16),
        }
    }

    /// A gradient, laid out as the weights are.
    pub fn gradient(&self, grads: &GradientsParams) -> Tensor<B::InnerBackend, 1> {
        self.places.gradients(&self.frame, grads)
    }

    /// The other way round: a gradient as it belongs to the tensors of the network.
    pub fn cut(&self, gradient: &Tensor<B::InnerBackend, 1>) -> GradientsParams {
        self.places.cut(&self.frame, gradient)
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Autodiff;
    use burn::module::{ModuleVisitor, Param};
    use glance::network::{Config, TimeHead};

    use super::*;

    type B = Autodiff<burn_flex::Flex>;

    /// Counts weight tensors: leaves, and others.
    #[derive(Default)]
    struct Leaves([usize; 2]);

    impl ModuleVisitor<B> for Leaves {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
            self.0[usize::from(!param.val().is_require_grad())] += 1;
        }
    }

    fn leaves(network: &Network<B>) -> [usize; 2] {
        let mut leaves = Leaves::default();
        Module::visit(network, &mut leaves);
        leaves.0
    }

    #[test]
    fn only_copies_have_leaves_so_that_steps_leave_nothing_in_the_graph() {
        let device = Default::default();
        let head = TimeHead { compress: 4, hidden: 8 };
        let network = Network::<B>::new(&Config::tiny(), &device).with_time(head, &device);
        let [all, none] = leaves(&network);
        assert_eq!(none, 0);
        let part = network.clone().only_time();
        let [few, _] = leaves(&part);
        assert!(0 < few && few < all);
        for (network, trained) in [(network, all), (part, few)] {
            let held = Trained::new(network);
            assert_eq!(leaves(held.frame()), [0, all]);
            for precision in [Compute::F32, Compute::Bf16] {
                assert_eq!(leaves(&held.copy(precision, &device)), [trained, all - trained]);
            }
            let weights: Tensor<_, 1> = held.lay_out(&held.copy(Compute::F32, &device).valid());
            weights.into_data().assert_eq(&held.weights().to_data(), true);
        }
    }
}
