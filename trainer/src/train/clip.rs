//! Clipping by the norm of the whole gradient (Burn's own clips each tensor by itself).

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use super::flat::ROW;

/// How long a gradient is, and what brings it to the length allowed. Both are `[1]` and still on the device: nothing here waits for it.
#[derive(Clone, Debug)]
pub struct Length<B: Backend> {
    /// The norm.
    pub norm: Tensor<B, 1>,
    /// `min(1, most / norm)`.
    pub factor: Tensor<B, 1>,
}

impl<B: Backend> Length<B> {
    /// The length of a gradient, a multiple of [`ROW`] numbers, that may be `most` long.
    pub fn of(gradient: Tensor<B, 1>, most: f32) -> Self {
        let [numbers] = gradient.dims();
        // In two stages of one order each: the sum is the same every time, and shared out over the device.
        let norm = gradient.reshape([numbers / ROW, ROW]).square().sum_dim(1).sum_dim(0).reshape([1]).sqrt();
        let factor = norm.clone().add_scalar(1e-6).recip().mul_scalar(most).clamp_max(1.0);
        Length { norm, factor }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Distribution;

    use super::*;

    #[test]
    fn a_long_gradient_is_brought_to_the_length_allowed_and_a_short_one_is_left() {
        type B = burn_flex::Flex;
        let gradient = Tensor::<B, 1>::random([3 * ROW], Distribution::Normal(0.0, 1.0), &Default::default());
        let norm = gradient.to_data().iter::<f32>().map(|g| g * g).sum::<f32>().sqrt();
        for (most, factor) in [(norm / 4.0, 0.25), (norm * 2.0, 1.0), (f32::INFINITY, 1.0)] {
            let length = Length::of(gradient.clone(), most);
            assert!((length.norm.into_scalar() / norm - 1.0).abs() < 1e-5);
            assert!((length.factor.into_scalar() - factor).abs() < 1e-5);
        }
        assert_eq!(Length::of(gradient.zeros_like(), 1.0).factor.into_scalar(), 1.0);
    }
}
