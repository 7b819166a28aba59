//! The feed-forward part of a block: one for all tokens, or a mixture of experts.

use burn::module::Module;
use burn::tensor::activation::{relu, softmax};
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Int, Tensor, TensorData};

use super::config::{self, Activation, Biases};
use super::curve::Curve;
use super::kernels::{Kernels, curved, into};
use super::linear::Linear;
use super::precision::{cast, wide};

/// `activation(x·W + b)·V + c`, or `(silu(x·G) ∘ x·W)·V`.
#[derive(Module, Debug)]
pub(super) struct FeedForward<B: Kernels> {
    gate: Option<Linear<B>>,
    pub(super) up: Linear<B>,
    pub(super) down: Linear<B>,
    #[module(skip)]
    activation: Activation,
}

impl<B: Kernels> FeedForward<B> {
    /// `gain` is of the last layer.
    pub(super) fn new(
        (d, ffn): (usize, usize),
        gain: f64,
        activation: Activation,
        biases: Biases,
        device: &B::Device,
    ) -> Self {
        let bias = biases != Biases::None;
        FeedForward {
            gate: (activation == Activation::SwiGlu).then(|| Linear::new(d, ffn, 1.0, bias, device)),
            up: Linear::new(d, ffn, std::f64::consts::SQRT_2, bias, device),
            down: Linear::new(ffn, d, gain, bias, device),
            activation,
        }
    }

    /// The same, but for weights of its own where it ends, which give zeros.
    pub(super) fn silent(self) -> Self {
        FeedForward { down: self.down.silent(), ..self }
    }

    /// With so many hidden numbers, if it has fewer: it gives the same, as the new ones count for nothing yet (Net2Net, Chen et al. 2016, has
    /// them copied in the place of drawn).
    pub(super) fn wider(self, ffn: usize) -> Self {
        FeedForward {
            gate: self.gate.map(|gate| gate.with_outputs(ffn, 1.0)),
            up: self.up.with_outputs(ffn, 1.0),
            down: self.down.with_inputs(ffn),
            ..self
        }
    }

    /// The weights of both layers and their biases, if there is nothing but these and ReLU.
    pub(super) fn plain(&self) -> Option<[FloatTensor<B>; 4]> {
        let plain = self.gate.is_none() && self.activation == Activation::Relu;
        let biases = self.up.bias.as_ref().zip(self.down.bias.as_ref()).filter(|_| plain);
        let (up_bias, down_bias) = biases?;
        Some([into(self.up.weight.val()), into(up_bias.val()), into(self.down.weight.val()), into(down_bias.val())])
    }

    /// `[rows, d]` to the same.
    pub(super) fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let hidden = self.up.forward(x.clone());
        let hidden = match (self.activation, &self.gate) {
            (Activation::SwiGlu, Some(gate)) => curved(gate.forward(x), Curve::Silu) * hidden,
            (Activation::Relu, _) => relu(hidden),
            (Activation::GeluTanh, _) => curved(hidden, Curve::GeluTanh),
            _ => curved(hidden, Curve::Gelu),
        };
        self.down.forward(hidden)
    }
}

/// Experts, and the router that sends each token to one of them (Switch Transformer, Fedus et al. 2021).
///
/// Only the experts' own tokens go through them: the work is that of one feed-forward part, whatever the number of experts.
#[derive(Module, Debug)]
pub(super) struct Mixture<B: Kernels> {
    router: Linear<B>,
    experts: Vec<FeedForward<B>>,
    #[module(skip)]
    config: config::Experts,
}

/// Which rows go to which expert.
struct Dispatch {
    /// The rows of each expert.
    rows: Vec<Vec<i32>>,
    /// For each row, its place among all experts' rows put one after another; the last place is that of the rows left out.
    back: Vec<i32>,
    /// For each row, its expert.
    chosen: Vec<i32>,
}

impl Dispatch {
    fn new(chosen: Vec<i32>, experts: usize, capacity: usize) -> Dispatch {
        let mut rows = vec![Vec::new(); experts];
        let mut place = vec![None; chosen.len()];
        for (row, &expert) in chosen.iter().enumerate() {
            let taken = &mut rows[expert as usize];
            if taken.len() < capacity {
                place[row] = Some((expert as usize, taken.len()));
                taken.push(row as i32);
            }
        }
        let starts: Vec<usize> = rows.iter().scan(0, |at, r| Some(std::mem::replace(at, *at + r.len()))).collect();
        let kept = rows.iter().map(Vec::len).sum::<usize>();
        let back = place.iter().map(|p| p.map_or(kept, |(expert, i)| starts[expert] + i) as i32).collect();
        Dispatch { rows, back, chosen }
    }
}

fn indices<B: Kernels>(values: Vec<i32>, device: &B::Device) -> Tensor<B, 1, Int> {
    let n = values.len();
    Tensor::from_data(TensorData::new(values, [n]), device)
}

impl<B: Kernels> Mixture<B> {
    pub(super) fn new(
        config: config::Experts,
        sizes: (usize, usize),
        gain: f64,
        activation: Activation,
        biases: Biases,
        device: &B::Device,
    ) -> Self {
        let expert = |_| FeedForward::new(sizes, gain, activation, biases, device);
        Mixture {
            router: Linear::new(sizes.0, config.count, 1.0, false, device),
            experts: (0..config.count).map(expert).collect(),
            config,
        }
    }

    /// The same, but that all experts give zeros, as [`FeedForward::silent`].
    pub(super) fn silent(self) -> Self {
        Mixture { experts: self.experts.into_iter().map(FeedForward::silent).collect(), ..self }
    }

    /// The same with so many hidden numbers in each expert, as [`FeedForward::wider`].
    pub(super) fn wider(self, ffn: usize) -> Self {
        Mixture { experts: self.experts.into_iter().map(|expert| expert.wider(ffn)).collect(), ..self }
    }

    /// `[rows, d]` to the same, and the router's losses `[1]`. Rows beyond an expert's capacity give zero; there is a limit
    /// only while gradients are recorded, so that what is said of a position does not depend on its company.
    pub(super) fn forward(&self, x: Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 1>) {
        let [rows, d] = x.dims();
        let (device, experts) = (x.device(), self.experts.len());
        let logits = wide(self.router.forward(x.clone()));
        let probabilities = softmax(logits.clone(), 1);
        let chosen: Vec<i32> = probabilities.clone().argmax(1).into_data().iter::<i32>().collect();
        let capacity = if B::ad_enabled(&device) {
            (self.config.capacity * rows as f32 / experts as f32).ceil() as usize
        } else {
            rows
        };
        let dispatch = Dispatch::new(chosen, experts, capacity);
        let mut parts: Vec<Tensor<B, 2>> = Vec::with_capacity(experts + 1);
        for (expert, own) in self.experts.iter().zip(&dispatch.rows) {
            if !own.is_empty() {
                parts.push(expert.forward(x.clone().select(0, indices(own.clone(), &device))));
            }
        }
        parts.push(cast(Tensor::zeros([1, d], &device), x.dtype()));
        let y = Tensor::cat(parts, 0).select(0, indices(dispatch.back.clone(), &device));
        let column: Tensor<B, 2, Int> = indices(dispatch.chosen.clone(), &device).reshape([rows, 1]);
        let y = y * cast(probabilities.clone().gather(1, column), x.dtype());
        (y, self.losses(logits, probabilities, &dispatch.chosen))
    }

    /// `balance · E · Σ share of tokens · mean probability`, and `router_z · mean (log Σ exp logits)²`.
    fn losses(&self, logits: Tensor<B, 2>, probabilities: Tensor<B, 2>, chosen: &[i32]) -> Tensor<B, 1> {
        let experts = self.experts.len();
        let mut share = vec![0.0_f32; experts];
        chosen.iter().for_each(|&e| share[e as usize] += 1.0 / chosen.len().max(1) as f32);
        let share = Tensor::<B, 2>::from_data(TensorData::new(share, [1, experts]), &logits.device());
        let balance = (probabilities.mean_dim(0) * share).sum().mul_scalar(experts as f32 * self.config.balance);
        let most = logits.clone().detach().max_dim(1);
        let sums = (logits - most.clone()).exp().sum_dim(1).log() + most;
        balance + sums.square().mean().mul_scalar(self.config.router_z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Distribution, Tolerance};

    type B = burn_flex::Flex;

    fn mixture(count: usize) -> Mixture<B> {
        let config = config::Experts { count, capacity: 1.0, balance: 0.01, router_z: 0.001 };
        Mixture::new(config, (6, 12), 1.0, Activation::Gelu, Biases::All, &Default::default())
    }

    #[test]
    fn dispatch_gives_what_dense_computation_gives() {
        for count in [2, 5] {
            let mixture = mixture(count);
            let x = Tensor::<B, 2>::random([40, 6], Distribution::Normal(0.0, 1.0), &Default::default());
            let (found, losses) = mixture.forward(x.clone());
            // Dense: every expert looks at every row; all but the chosen one count nothing.
            let logits = mixture.router.forward(x.clone());
            let probabilities = softmax(logits, 1);
            let best = probabilities.clone().max_dim(1);
            let weights = probabilities.clone() * probabilities.clone().equal(best.expand([40, count])).float();
            let mut dense = Tensor::<B, 2>::zeros([40, 6], &Default::default());
            for (i, expert) in mixture.experts.iter().enumerate() {
                dense = dense + expert.forward(x.clone()) * weights.clone().slice([0..40, i..i + 1]);
            }
            found.into_data().assert_approx_eq::<f32>(&dense.into_data(), Tolerance::absolute(1e-5));
            assert!(losses.into_scalar() > 0.0);
        }
    }

    #[test]
    fn what_is_beyond_an_experts_capacity_is_left_out() {
        let dispatch = Dispatch::new(vec![1, 1, 0, 1, 1, 2], 3, 2);
        assert_eq!(dispatch.rows, [vec![2], vec![0, 1], vec![5]]);
        assert_eq!(dispatch.back, [1, 2, 0, 4, 4, 3], "the last place is nobody's");
    }
}
