//! Loss and gradients of one batch, split over threads where the device is a CPU.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::activation::{log_softmax, tanh};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{DType, ElementConversion, FloatDType, Tensor};
use glance::evaluate::BackendName;
use glance::network::{Kernels, Layout, Moves, Output, Rounding, ValueHead};

use super::batch::{Aims, Batch, Parcel, value_target};
use super::machines::Share;
use super::recipe::{Compute, PolicyLoss};
use super::trained::Trained;
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

impl Split {
    /// What suits a backend: a CPU works in pieces that fit its cache, on all cores; each GPU takes its part of the batch whole.
    pub fn usual(backend: BackendName, batch: usize, devices: usize) -> Split {
        if backend.is_gpu() {
            let workers = devices.max(1);
            return Split { workers, micro: batch.div_ceil(workers) };
        }
        Split { workers: std::thread::available_parallelism().map_or(1, usize::from), micro: 32 }
    }
}

/// A batch, packed and cut up for those who work on it.
#[derive(Clone, Debug)]
pub struct Work {
    /// For each worker, what goes through the network at once, one after another.
    parts: Vec<Vec<Parcel>>,
    /// Positions.
    positions: f64,
    /// Of these, with a move worth learning; one at least.
    moves: f64,
    /// With an outcome that the value head learns; one at least.
    outcomes: f64,
    /// With a time taken; one at least.
    timed: f64,
}

impl Work {
    /// Packs one machine's part of a batch; what is counted is counted in all of it.
    pub fn of(samples: &[Sample], machine: Share, split: Split, layout: &Layout, head: &ValueHead) -> Work {
        let count = |is: &dyn Fn(&Sample) -> bool| samples.iter().filter(|s| is(s)).count().max(1) as f64;
        let own = machine.part(samples);
        let share = own.len().div_ceil(split.workers.max(1)).max(1);
        let part = |samples: &[Sample]| {
            samples.chunks(split.micro.max(1)).map(|micro| Parcel::of(micro, layout, head)).collect()
        };
        Work {
            parts: own.chunks(share).map(part).collect(),
            positions: samples.len() as f64,
            moves: count(&|s| s.policy),
            outcomes: count(&|s| value_target(head, s).is_some()),
            timed: count(&|s| s.taken.is_some()),
        }
    }
}

/// What gradients are computed with.
#[derive(Clone, Debug)]
pub struct Means<'a, D> {
    /// The devices; the weights are kept on the first.
    pub devices: &'a [D],
    /// What tensors are of in the passes.
    pub precision: Compute,
    /// Whether products on a CPU round what they multiply to bfloat16, where tensors are in single precision.
    pub rounding: bool,
}

impl<'a, D> Means<'a, D> {
    /// What a backend makes of a precision that is asked for.
    pub fn of<B: Kernels<Device = D>>(devices: &'a [D], precision: Compute) -> Self {
        let rounding = precision == Compute::Bf16 && B::rounds_products();
        Means { devices, precision: if rounding { Compute::F32 } else { precision }, rounding }
    }
}

/// Brings gradients to single precision.
struct Widen<'a>(&'a mut GradientsParams);

impl<B: AutodiffBackend> ModuleVisitor<B> for Widen<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(grad) = self.0.remove::<B::InnerBackend, D>(param.id) {
            let wide = if grad.dtype() == DType::F32 { grad } else { grad.cast(FloatDType::F32) };
            self.0.register::<B::InnerBackend, D>(param.id, wide);
        }
    }
}

/// Gradients of the mean loss over a batch, on the network's device, which is the first. Each worker computes on one of the
/// devices: a copy of the weights goes there, the gradient of its part comes back.
pub fn gradients<B>(
    trained: &Trained<B>,
    work: Work,
    aims: &Aims,
    means: &Means<B::Device>,
) -> (GradientsParams, StepLoss<B::InnerBackend>)
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    let Work { parts, positions, moves, outcomes, timed } = work;
    let devices = means.devices;
    let head = &trained.frame().config().value;
    let part = |worker: usize, parcels: Vec<Parcel>| {
        let device = &devices[worker % devices.len()];
        let _rounding = means.rounding.then(Rounding::begin);
        let network = trained.copy(means.precision, device);
        let mut sum = GradientsAccumulator::new();
        let mut loss = StepLoss::zero(device);
        for parcel in parcels {
            let share = parcel.positions() as f64 / positions;
            let batch = parcel.to_device(aims, device);
            let output = network.forward_all(batch.input.clone());
            let auxiliary = output.auxiliary.clone();
            let Losses { policy, value, time } = losses(output, &batch, aims, head);
            let mut total = policy.clone().div_scalar(moves)
                + value.clone().mul_scalar(aims.value_weight / outcomes)
                + time.clone().mul_scalar(aims.time_weight / timed);
            if let Some(auxiliary) = auxiliary {
                total = total + auxiliary.mul_scalar(share);
            }
            loss = loss.plus(StepLoss {
                policy: policy.inner().div_scalar(moves),
                value: value.inner().div_scalar(outcomes),
                time: time.inner().div_scalar(timed),
            });
            let mut grads = GradientsParams::from_grads(total.backward(), &network);
            if means.precision != Compute::F32 {
                network.visit(&mut Widen(&mut grads));
            }
            sum.accumulate(&network, grads);
        }
        if *device == devices[0] {
            return (sum.grads(), loss);
        }
        (sum.grads().to_device::<B, _>(&devices[0], &network), loss.to_device(&devices[0]))
    };
    let parts: Vec<(GradientsParams, StepLoss<B::InnerBackend>)> = if parts.len() <= 1 {
        parts.into_iter().map(|parcels| part(0, parcels)).collect()
    } else {
        std::thread::scope(|scope| {
            let part = &part;
            let handles: Vec<_> =
                parts.into_iter().enumerate().map(|(i, parcels)| scope.spawn(move || part(i, parcels))).collect();
            handles.into_iter().map(|h| h.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    };
    let mut sum = GradientsAccumulator::new();
    let mut loss = StepLoss::zero(&devices[0]);
    for (grads, part) in parts {
        sum.accumulate(trained.frame(), grads);
        loss = loss.plus(part);
    }
    (sum.grads(), loss)
}
