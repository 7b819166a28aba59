//! Activations with their derivatives.

use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, gelu_approximate, silu};
use burn::tensor::backend::Backend;

use super::vectors::widest;

/// A smooth activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// x · Φ(x).
    Gelu,
    /// x · ½(1 + tanh(√(2/π)(x + 0.044715 x³))): GPT-2's.
    GeluTanh,
    /// x · σ(x).
    Silu,
}

/// √(2/π) and the cube's share.
const ROOT: f32 = 0.797_884_6;
const CUBE: f32 = 0.044_715;

/// e^x to 2e-7 of itself, without a branch: 2^k times a polynomial (the classic Cephes one) on the rest.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    // Rounds to the nearest whole number: the sum has no bits left for less, and its last bits are that number.
    const ROUND: f32 = 12_582_912.0;
    let whole = x * std::f32::consts::LOG2_E + ROUND;
    let k = whole - ROUND;
    let r = x - k * 0.693_359_4 + k * 2.121_944_4e-4;
    let p =
        ((((1.987_569_2e-4 * r + 1.398_2e-3) * r + 8.333_452e-3) * r + 4.166_579_6e-2) * r + 1.666_666_5e-1) * r + 0.5;
    let scale = f32::from_bits(whole.to_bits().wrapping_add(127) << 23);
    (p * r * r + r + 1.0) * scale
}

/// Φ(x) and its density. erfc by Abramowitz & Stegun 7.1.26, to 1.5e-7.
#[inline(always)]
fn normal(x: f32) -> (f32, f32) {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let e = exp(-z * z);
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let tail = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t * e * 0.5;
    (if x < 0.0 { tail } else { 1.0 - tail }, e * 0.398_942_3)
}

impl Curve {
    /// The value at x, and the derivative.
    #[inline(always)]
    fn at(self, x: f32) -> (f32, f32) {
        match self {
            Curve::Gelu => {
                let (below, density) = normal(x);
                (x * below, below + x * density)
            }
            Curve::GeluTanh => {
                // ½(1 + tanh u) is the logistic function of 2u.
                let s = 1.0 / (1.0 + exp(-2.0 * ROOT * (x + CUBE * x * x * x)));
                (x * s, s + x * s * (1.0 - s) * 2.0 * ROOT * (1.0 + 3.0 * CUBE * x * x))
            }
            Curve::Silu => {
                let s = 1.0 / (1.0 + exp(-x));
                (x * s, s + x * s * (1.0 - s))
            }
        }
    }

    /// Values of all numbers, and derivatives where they are wanted.
    pub(super) fn apply(self, numbers: &[f32], wanted: bool) -> (Vec<f32>, Option<Vec<f32>>) {
        // One loop a kind, so that each is vectorised.
        match self {
            Curve::Gelu => map(
                numbers,
                wanted,
                #[inline(always)]
                |x| Curve::Gelu.at(x),
            ),
            Curve::GeluTanh => map(
                numbers,
                wanted,
                #[inline(always)]
                |x| Curve::GeluTanh.at(x),
            ),
            Curve::Silu => map(
                numbers,
                wanted,
                #[inline(always)]
                |x| Curve::Silu.at(x),
            ),
        }
    }

    /// The same with a backend's own operations.
    pub(super) fn values<B: Backend>(self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        match self {
            Curve::Gelu => gelu(x),
            Curve::GeluTanh => gelu_approximate(x),
            Curve::Silu => silu(x),
        }
    }

    /// The derivatives with a backend's own operations.
    pub(super) fn derivative<B: Backend>(self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let logistic = |z: Tensor<B, 2>| burn::tensor::activation::sigmoid(z);
        match self {
            Curve::Gelu => {
                let below = x.clone().mul_scalar(std::f64::consts::FRAC_1_SQRT_2).erf().add_scalar(1.0).mul_scalar(0.5);
                let density = x.clone().square().mul_scalar(-0.5).exp().mul_scalar(0.398_942_3);
                below + x * density
            }
            Curve::GeluTanh => {
                let square = x.clone().square();
                let s = logistic((x.clone() + x.clone() * square.clone().mul_scalar(CUBE)).mul_scalar(2.0 * ROOT));
                let slope = square.mul_scalar(3.0 * CUBE).add_scalar(1.0).mul_scalar(2.0 * ROOT);
                s.clone() + x * s.clone() * s.neg().add_scalar(1.0) * slope
            }
            Curve::Silu => {
                let s = logistic(x.clone());
                s.clone() + x * s.clone() * s.neg().add_scalar(1.0)
            }
        }
    }
}

#[inline(always)]
fn map(numbers: &[f32], wanted: bool, at: impl Fn(f32) -> (f32, f32)) -> (Vec<f32>, Option<Vec<f32>>) {
    let mut values = vec![0.0; numbers.len()];
    if !wanted {
        widest(
            #[inline(always)]
            || {
                for (x, value) in numbers.iter().zip(&mut values) {
                    (*value, _) = at(*x);
                }
            },
        );
        return (values, None);
    }
    let mut derivatives = vec![0.0; numbers.len()];
    widest(
        #[inline(always)]
        || {
            for ((x, value), derivative) in numbers.iter().zip(&mut values).zip(&mut derivatives) {
                (*value, *derivative) = at(*x);
            }
        },
    );
    (values, Some(derivatives))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_agrees_with_the_backends_operations() {
        type B = burn_flex::Flex;
        let mut numbers: Vec<f32> = (-400..=400).map(|i| i as f32 / 40.0).collect();
        numbers.extend([-100.0, -30.0, 30.0, 100.0, 1e-6]);
        let n = numbers.len();
        let x = Tensor::<B, 2>::from_data(burn::tensor::TensorData::new(numbers.clone(), [1, n]), &Default::default());
        for kind in [Curve::Gelu, Curve::GeluTanh, Curve::Silu] {
            let (values, derivatives) = kind.apply(&numbers, true);
            let plain: Vec<f32> = kind.values(x.clone()).into_data().iter().collect();
            let slopes: Vec<f32> = kind.derivative(x.clone()).into_data().iter().collect();
            let found = values.iter().zip(derivatives.expect("wanted"));
            for ((x, (y, dy)), (plain, slope)) in numbers.iter().zip(found).zip(plain.iter().zip(&slopes)) {
                assert!((y - plain).abs() <= 2e-6 * x.abs().max(1.0), "{kind:?} at {x}: {y}, not {plain}");
                assert!((dy - slope).abs() <= 1e-5, "slope of {kind:?} at {x}: {dy}, not {slope}");
            }
            assert_eq!(kind.apply(&numbers, false), (values, None));
        }
    }
}
