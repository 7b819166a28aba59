//! An exponential moving average of the weights: what is measured and shipped.

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

/// `average + (weights − average) · (1 − decay)`, with less decay in the first steps, so that the random start is
/// forgotten: `min(decay, (1 + step) / (10 + step))`.
pub fn update<B: Backend>(average: Tensor<B, 1>, weights: Tensor<B, 1>, decay: f64, step: u64) -> Tensor<B, 1> {
    let step = step as f64;
    let decay = decay.min((1.0 + step) / (10.0 + step));
    // This way round, what does not change stays what it is, to the last bit.
    average.clone() + (weights - average).mul_scalar(1.0 - decay)
}
