//! The sum of what the machines computed.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{ElementConversion, Tensor, TensorData};
use glance::network::{Kernels, Network};

use super::{Machines, MachinesError};
use crate::train::step::StepLoss;

/// What machines tell each other at every step, besides gradients and losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// Seconds that the step before took. The leader's count: all follow one clock.
    pub seconds: f64,
    /// Whether to stop after this step: anybody's Ctrl-C stops all.
    pub stop: bool,
}

/// Takes gradients out, in the order of the network's parameters.
struct Take<'a> {
    grads: &'a mut GradientsParams,
    values: Vec<f32>,
}

/// Puts sums where gradients were.
struct Put<'a, B: AutodiffBackend> {
    grads: &'a mut GradientsParams,
    had: &'a GradientsParams,
    values: &'a [f32],
    device: &'a B::Device,
}

fn values<B: burn::tensor::backend::Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Take<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(grad) = self.grads.get::<B::InnerBackend, D>(param.id) {
            self.values.extend(values(grad));
        }
    }
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Put<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(grad) = self.had.get::<B::InnerBackend, D>(param.id) {
            let shape = grad.shape();
            let (own, rest) = self.values.split_at(shape.num_elements());
            self.values = rest;
            let data = TensorData::new(own.to_vec(), shape);
            self.grads.register::<B::InnerBackend, D>(param.id, Tensor::from_data(data, self.device));
        }
    }
}

impl Machines {
    /// Adds up what all machines computed of a batch: gradients, losses, and what they tell each other. Every machine gets the
    /// same sums, to the last bit.
    ///
    /// # Errors
    /// When a machine is lost.
    pub fn gather<B>(
        &mut self,
        network: &Network<B>,
        (mut grads, loss): (GradientsParams, StepLoss<B::InnerBackend>),
        told: Told,
    ) -> Result<(GradientsParams, StepLoss<B::InnerBackend>, Told), MachinesError>
    where
        B: AutodiffBackend + Kernels,
        B::InnerBackend: Kernels,
    {
        if self.lines.is_empty() {
            return Ok((grads, loss, told));
        }
        let device = loss.policy.device();
        let seconds = if self.leads() { told.seconds as f32 } else { 0.0 };
        let mut take = Take { grads: &mut grads, values: vec![seconds, if told.stop { 1.0 } else { 0.0 }] };
        for part in [&loss.policy, &loss.value, &loss.time] {
            take.values.push(part.clone().into_scalar().elem());
        }
        Module::visit(network, &mut take);
        let own = take.values;
        let sums = self.sum(own)?;
        let [seconds, stop, policy, value, time] = *sums.first_chunk().unwrap_or(&[0.0; 5]);
        let one = |x: f32| Tensor::from_data(TensorData::from([x]), &device);
        let loss = StepLoss { policy: one(policy), value: one(value), time: one(time) };
        let mut summed = GradientsParams::new();
        let rest = sums.get(5..).unwrap_or(&[]);
        Module::visit(network, &mut Put::<B> { grads: &mut summed, had: &grads, values: rest, device: &device });
        Ok((summed, loss, Told { seconds: seconds.into(), stop: stop > 0.0 }))
    }

    /// The sum of all machines' numbers.
    fn sum(&mut self, own: Vec<f32>) -> Result<Vec<f32>, MachinesError> {
        let count = own.len();
        if let (false, [leader]) = (self.leads(), self.lines.as_mut_slice()) {
            leader.send_numbers(&own)?;
            return leader.receive_numbers(count);
        }
        // All at once on the way, one after another in the sum.
        let parts = each(&mut self.lines, |line| line.receive_numbers(count))?;
        let mut sum = own;
        for part in &parts {
            sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
        each(&mut self.lines, |line| line.send_numbers(&sum))?;
        Ok(sum)
    }
}

/// Does something with every machine at once.
pub(super) fn each<L: Send, T: Send>(
    lines: &mut [L],
    what: impl Fn(&mut L) -> Result<T, MachinesError> + Sync,
) -> Result<Vec<T>, MachinesError> {
    std::thread::scope(|scope| {
        let what = &what;
        let threads: Vec<_> = lines.iter_mut().map(|line| scope.spawn(move || what(line))).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
