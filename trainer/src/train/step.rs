//! Loss and gradients of one batch, split over threads where the device is a CPU.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::activation::{log_softmax, tanh};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{ElementConversion, Tensor};
use glance::network::{Kernels, Moves, Network, Output, ValueHead};

use super::batch::{Aims, Batch, value_target};
use super::recipe::PolicyLoss;
use crate::data::sample::Sample;

/// Losses, summed over positions: `[1]` each.
pub struct Losses<B: Kernels> {
    /// Cross-entropy of the moves.
    pub policy: Tensor<B, 1>,
    /// Of the outcomes: cross-entropy, or square of the error of a head that puts one number out.
    pub value: Tensor<B, 1>,
    /// Cross-entropy of the times taken.
    pub time: Tensor<B, 1>,
}

/// Log-probabilities of the legal moves, among these or among all moves: `[n, 128]`.
fn log_probabilities<B: Kernels>(logits: Tensor<B, 2>, batch: &Batch<B>, among: PolicyLoss) -> Tensor<B, 2> {
    match among {
        PolicyLoss::Legal => log_softmax(logits.gather(1, batch.legal.clone()) + batch.padding.clone(), 1),
        PolicyLoss::All => log_softmax(logits, 1).gather(1, batch.legal.clone()),
    }
}

/// The losses of a batch.
pub fn losses<B: Kernels>(output: Output<B>, batch: &Batch<B>, aims: &Aims, head: &ValueHead) -> Losses<B> {
    let policy = match output.moves {
        Moves::Logits(logits) | Moves::Probabilities(logits) => {
            (log_probabilities(logits, batch, aims.policy) * batch.target.clone()).sum().neg()
        }
        Moves::Played(logarithms) => (logarithms * batch.worth.clone()).sum().neg(),
    };
    let value = match output.value {
        None => Tensor::zeros([1], &policy.device()),
        Some(value) => match head {
            ValueHead::Wdl { .. } | ValueHead::Bins { .. } => (log_softmax(value, 1) * batch.value.clone()).sum().neg(),
            ValueHead::Tanh { .. } => ((tanh(value) - batch.value.clone()).square() * batch.judged.clone()).sum(),
            ValueHead::Evaluation { .. } | ValueHead::None => {
                ((value - batch.value.clone()).square() * batch.judged.clone()).sum()
            }
        },
    };
    let time = match output.time {
        None => Tensor::zeros([1], &policy.device()),
        Some(time) => (log_softmax(time, 1) * batch.time.clone()).sum().neg(),
    };
    Losses { policy, value, time }
}

/// Mean losses of a step, still on the device: reading them waits for it.
#[derive(Clone, Debug)]
pub struct StepLoss<B: Kernels> {
    /// Cross-entropy of the moves, a position that has one: `[1]`.
    pub policy: Tensor<B, 1>,
    /// Loss of the outcomes, a position that has one: `[1]`.
    pub value: Tensor<B, 1>,
    /// Cross-entropy of the times taken, a position that has one: `[1]`.
    pub time: Tensor<B, 1>,
}

/// The same, read: nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Read {
    /// Of the moves.
    pub policy: f64,
    /// Of the outcomes.
    pub value: f64,
    /// Of the times taken.
    pub time: f64,
}

impl Read {
    /// Whether all are numbers.
    pub fn is_finite(&self) -> bool {
        (self.policy + self.value + self.time).is_finite()
    }
}

impl<B: Kernels> StepLoss<B> {
    /// Nothing yet.
    pub fn zero(device: &B::Device) -> Self {
        let zero = || Tensor::zeros([1], device);
        StepLoss { policy: zero(), value: zero(), time: zero() }
    }

    /// The sum of two.
    pub fn plus(self, other: Self) -> Self {
        StepLoss { policy: self.policy + other.policy, value: self.value + other.value, time: self.time + other.time }
    }

    /// On another device.
    pub fn to_device(self, device: &B::Device) -> Self {
        let StepLoss { policy, value, time } = self;
        StepLoss { policy: policy.to_device(device), value: value.to_device(device), time: time.to_device(device) }
    }

    /// Waits for the device: the sum of `steps` steps as their mean.
    pub fn read(self, steps: f64) -> Read {
        let mean = |x: Tensor<B, 1>| x.into_scalar().elem::<f64>() / steps;
        Read { policy: mean(self.policy), value: mean(self.value), time: mean(self.time) }
    }
}

/// How a batch is split.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// Threads, each with its own part of the batch.
    pub workers: usize,
    /// Positions that go through the network at once: small enough for a CPU's cache, or the whole batch on a GPU.
    pub micro: usize,
}

/// Gradients of the mean loss over a batch, on the network's device, which is the first. Each worker computes on one of the
/// devices: a copy of the weights goes there, the gradient of its part comes back.
pub fn gradients<B>(
    network: &Network<B>,
    samples: &[Sample],
    split: Split,
    aims: &Aims,
    devices: &[B::Device],
) -> (GradientsParams, StepLoss<B::InnerBackend>)
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    let moves = samples.iter().filter(|s| s.policy).count().max(1) as f64;
    let head = &network.config().value;
    let outcomes = samples.iter().filter(|s| value_target(head, s).is_some()).count().max(1) as f64;
    let timed = samples.iter().filter(|s| s.taken.is_some()).count().max(1) as f64;
    let samples_in_all = samples.len() as f64;
    let part = |worker: usize, samples: &[Sample]| {
        let device = &devices[worker % devices.len()];
        // A copy of its own: its gradients' graph is not tied to the other threads'.
        let network = network.clone().fork(device);
        let mut sum = GradientsAccumulator::new();
        let mut loss = StepLoss::zero(device);
        for micro in samples.chunks(split.micro) {
            let batch = Batch::pack(micro, &network, aims, device);
            let output = network.forward_all(batch.input.clone());
            let auxiliary = output.auxiliary.clone();
            let Losses { policy, value, time } = losses(output, &batch, aims, head);
            let mut total = policy.clone().div_scalar(moves)
                + value.clone().mul_scalar(aims.value_weight / outcomes)
                + time.clone().mul_scalar(aims.time_weight / timed);
            if let Some(auxiliary) = auxiliary {
                total = total + auxiliary.mul_scalar(micro.len() as f64 / samples_in_all);
            }
            loss = loss.plus(StepLoss {
                policy: policy.inner().div_scalar(moves),
                value: value.inner().div_scalar(outcomes),
                time: time.inner().div_scalar(timed),
            });
            let grads = GradientsParams::from_grads(total.backward(), &network);
            sum.accumulate(&network, grads);
        }
        if *device == devices[0] {
            return (sum.grads(), loss);
        }
        (sum.grads().to_device::<B, _>(&devices[0], &network), loss.to_device(&devices[0]))
    };
    let share = samples.len().div_ceil(split.workers.max(1)).max(1);
    let parts: Vec<(GradientsParams, StepLoss<B::InnerBackend>)> = if split.workers <= 1 {
        vec![part(0, samples)]
    } else {
        std::thread::scope(|scope| {
            let part = &part;
            let handles: Vec<_> =
                samples.chunks(share).enumerate().map(|(i, s)| scope.spawn(move || part(i, s))).collect();
            handles.into_iter().map(|h| h.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    };
    let mut sum = GradientsAccumulator::new();
    let mut loss = StepLoss::zero(&devices[0]);
    for (grads, part) in parts {
        sum.accumulate(network, grads);
        loss = loss.plus(part);
    }
    (sum.grads(), loss)
}
