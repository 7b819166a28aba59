//! Clipping by the norm of the whole gradient (Burn's own clips each tensor by itself).

use std::sync::{Arc, Mutex, PoisonError};

use burn::module::{AutodiffModule, Module, ModuleVisitor, Param};
use burn::optim::{GradientsParams, LearningRate, SimpleOptimizer};
use burn::tensor::Tensor;
use burn::tensor::backend::{AutodiffBackend, Backend};

/// How long a gradient is, and what brings it to the length allowed. Both are `[1]` and still on the device: nothing here waits for it.
#[derive(Clone, Debug)]
pub struct Length<B: Backend> {
    /// The norm.
    pub norm: Tensor<B, 1>,
    /// `min(1, most / norm)`.
    pub factor: Tensor<B, 1>,
}

/// Numbers that are summed up first.
const ROW: usize = 1024;

struct Flatten<'a, B: AutodiffBackend> {
    grads: &'a GradientsParams,
    flat: Vec<Tensor<B::InnerBackend, 1>>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Flatten<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(grad) = self.grads.get::<B::InnerBackend, D>(param.id) {
            let numbers = grad.shape().num_elements();
            self.flat.push(grad.reshape([numbers]));
        }
    }
}

impl<B: Backend> Length<B> {
    /// The length of a gradient that may be `most` long. One long tensor is made of it first: on a GPU that starts one kernel a
    /// weight tensor, where squares and sums of each would start three.
    pub fn of<A, M>(network: &M, grads: &GradientsParams, most: f32) -> Option<Self>
    where
        A: AutodiffBackend<InnerBackend = B>,
        M: AutodiffModule<A>,
    {
        let mut flatten = Flatten::<A> { grads, flat: Vec::new() };
        Module::visit(network, &mut flatten);
        if flatten.flat.is_empty() {
            return None;
        }
        let mut flat = flatten.flat;
        let numbers: usize = flat.iter().map(|g| g.dims()[0]).sum();
        let rows = numbers.div_ceil(ROW);
        flat.push(Tensor::zeros([rows * ROW - numbers], &flat[0].device()));
        // In two stages of one order each: the sum is the same every time, and shared out over the device.
        let norm = Tensor::cat(flat, 0).reshape([rows, ROW]).square().sum_dim(1).sum_dim(0).reshape([1]).sqrt();
        let factor = norm.clone().add_scalar(1e-6).recip().mul_scalar(most).clamp_max(1.0);
        Some(Length { norm, factor })
    }
}

/// An optimiser that scales every gradient first. Done there, a GPU does it in the kernel of the optimiser's own arithmetic.
#[derive(Clone, Debug)]
pub struct Scaled<O, B: Backend> {
    optimizer: O,
    factor: Arc<Mutex<Option<Tensor<B, 1>>>>,
}

impl<O, B: Backend> Scaled<O, B> {
    /// One that scales nothing yet.
    pub fn new(optimizer: O) -> Self {
        Scaled { optimizer, factor: Arc::default() }
    }

    /// Sets what gradients are multiplied by from now on: `[1]`.
    pub fn set(&self, factor: Option<Tensor<B, 1>>) {
        *self.factor.lock().unwrap_or_else(PoisonError::into_inner) = factor;
    }
}

impl<O: SimpleOptimizer<B>, B: Backend> SimpleOptimizer<B> for Scaled<O, B> {
    type State<const D: usize> = O::State<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        tensor: Tensor<B, D>,
        grad: Tensor<B, D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<B, D>, Option<Self::State<D>>) {
        let factor = self.factor.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let grad = match factor {
            Some(factor) => grad * factor.reshape([1; D]),
            None => grad,
        };
        self.optimizer.step(rate, tensor, grad, state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &B::Device) -> Self::State<D> {
        O::to_device(state, device)
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Autodiff;
    use burn::nn::LinearConfig;
    use burn::optim::AdamWConfig;
    use burn::tensor::Distribution;

    use super::*;

    type Inner = burn_flex::Flex;
    type B = Autodiff<Inner>;

    fn numbers<const D: usize>(x: Tensor<Inner, D>) -> Vec<f32> {
        x.into_data().iter::<f32>().collect()
    }

    #[test]
    fn a_long_gradient_is_brought_to_the_length_allowed_and_a_short_one_is_left() {
        let device = Default::default();
        let linear = LinearConfig::new(3, 5).init::<B>(&device);
        let x = Tensor::<B, 2>::random([4, 3], Distribution::Normal(0.0, 1.0), &device);
        let grads = GradientsParams::from_grads(linear.forward(x).square().sum().backward(), &linear);
        let bias = linear.bias.as_ref().expect("a bias");
        let all = [
            numbers(grads.get::<Inner, 2>(linear.weight.id).expect("of the weights")),
            numbers(grads.get::<Inner, 1>(bias.id).expect("of the bias")),
        ];
        let norm = all.concat().iter().map(|g| g * g).sum::<f32>().sqrt();
        for (most, factor) in [(norm / 4.0, 0.25), (norm * 2.0, 1.0)] {
            let length = Length::of::<B, _>(&linear, &grads, most).expect("there are gradients");
            assert!((length.norm.into_scalar() / norm - 1.0).abs() < 1e-5);
            assert!((length.factor.into_scalar() - factor).abs() < 1e-5);
        }
        assert!(Length::of::<B, _>(&linear, &GradientsParams::new(), 1.0).is_none());
    }

    #[test]
    fn an_optimiser_scales_gradients_by_what_was_set() {
        let device = Default::default();
        let random = || Tensor::<Inner, 2>::random([4, 3], Distribution::Normal(0.0, 1.0), &device);
        let (weights, grad) = (random(), random());
        let plain = AdamWConfig::new().build();
        let scaled = Scaled::new(plain.clone());
        let step = |factor: Option<f32>, grad: &Tensor<Inner, 2>| {
            scaled.set(factor.map(|f| Tensor::from_data([f], &device)));
            let (weights, state) = scaled.step(0.1, weights.clone(), grad.clone(), None);
            // The second step tells how long the first gradient was against this one.
            numbers(scaled.step(0.1, weights, random().zeros_like(), state).0)
        };
        let want = |grad: Tensor<Inner, 2>| {
            let (weights, state) = plain.step(0.1, weights.clone(), grad, None);
            numbers(plain.step(0.1, weights, random().zeros_like(), state).0)
        };
        assert_eq!(step(None, &grad), want(grad.clone()));
        // So short that epsilon tells: elsewhere AdamW takes the same step for any length.
        assert_eq!(step(Some(1e-5), &grad), want(grad.clone() * 1e-5));
        assert_ne!(step(Some(1e-5), &grad), want(grad));
    }
}
