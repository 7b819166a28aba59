//! Clipping by the norm of the whole gradient (Burn's own clips each tensor by itself).

use burn::module::{AutodiffModule, Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;

struct Norm<'a, B: AutodiffBackend> {
    grads: &'a GradientsParams,
    squares: Vec<Tensor<B::InnerBackend, 1>>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Norm<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(grad) = self.grads.get::<B::InnerBackend, D>(param.id) {
            self.squares.push(grad.square().sum());
        }
    }
}

struct Scale<'a, B: AutodiffBackend> {
    grads: &'a mut GradientsParams,
    factor: Tensor<B::InnerBackend, 1>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Scale<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(grad) = self.grads.remove::<B::InnerBackend, D>(param.id) {
            let scaled = grad * self.factor.clone().reshape([1; D]);
            self.grads.register::<B::InnerBackend, D>(param.id, scaled);
        }
    }
}

/// Scales the gradient down to norm `most` where it is longer. Returns the norm it had, `[1]`, still on the device:
/// nothing here waits for it.
pub fn clip<B: AutodiffBackend, M: AutodiffModule<B>>(
    network: &M,
    grads: &mut GradientsParams,
    most: f32,
) -> Option<Tensor<B::InnerBackend, 1>> {
    let mut norm = Norm::<B> { grads, squares: Vec::new() };
    Module::visit(network, &mut norm);
    if norm.squares.is_empty() {
        return None;
    }
    let total = Tensor::cat(norm.squares, 0).sum().sqrt();
    let factor = total.clone().add_scalar(1e-6).recip().mul_scalar(most).clamp_max(1.0);
    Module::visit(network, &mut Scale::<B> { grads, factor });
    Some(total)
}
