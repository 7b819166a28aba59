//! In what width a network computes.
//!
//! Training on a GPU keeps its weights, their average and the optimiser in single precision, and sends a copy in bfloat16 through the
//! network: matrix products are several times as fast, and activations take half the memory. What loses by so few bits (softmax,
//! normalisation, losses) is computed in single precision all the same.

use burn::module::{ModuleMapper, Param};
use burn::tensor::backend::Backend;
use burn::tensor::{DType, FloatDType, Tensor};

/// As numbers of this type.
pub(super) fn cast<B: Backend, const D: usize>(x: Tensor<B, D>, to: DType) -> Tensor<B, D> {
    if x.dtype() == to { x } else { x.cast(FloatDType::from(to)) }
}

/// In single precision.
pub(super) fn wide<B: Backend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, D> {
    cast(x, DType::F32)
}

/// Gives every weight another type.
pub(super) struct Recast(pub(super) DType);

impl<B: Backend> ModuleMapper<B> for Recast {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, weight, mapper) = param.consume();
        if weight.dtype() == self.0 {
            return Param::from_mapped_value(id, weight, mapper);
        }
        let trained = weight.is_require_grad();
        // A leaf of its own: gradients end here, in this type.
        let weight = cast(weight.detach(), self.0).detach().set_require_grad(trained);
        Param::from_mapped_value(id, weight, mapper)
    }
}
