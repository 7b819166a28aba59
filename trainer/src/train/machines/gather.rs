//! The sum of what the machines computed.

use burn::tensor::{ElementConversion, Tensor, TensorData};
use glance::network::Kernels;

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

impl Machines {
    /// Adds up what all machines computed of a batch: gradients `[n]`, losses, and what they tell each other. Every machine gets the
    /// same sums, to the last bit.
    ///
    /// # Errors
    /// When a machine is lost.
    pub fn gather<B: Kernels>(
        &mut self,
        gradient: Tensor<B, 1>,
        loss: StepLoss<B>,
        told: Told,
    ) -> Result<(Tensor<B, 1>, StepLoss<B>, Told), MachinesError> {
        if self.lines.is_empty() {
            return Ok((gradient, loss, told));
        }
        let device = gradient.device();
        let seconds = if self.leads() { told.seconds as f32 } else { 0.0 };
        let mut own = vec![seconds, if told.stop { 1.0 } else { 0.0 }];
        for part in [loss.policy, loss.value, loss.time] {
            own.push(part.into_scalar().elem());
        }
        own.extend(gradient.into_data().iter::<f32>());
        let sums = self.sum(own)?;
        let [seconds, stop, policy, value, time] = *sums.first_chunk().unwrap_or(&[0.0; 5]);
        let tensor = |numbers: &[f32]| Tensor::from_data(TensorData::new(numbers.to_vec(), [numbers.len()]), &device);
        let loss = StepLoss { policy: tensor(&[policy]), value: tensor(&[value]), time: tensor(&[time]) };
        Ok((tensor(sums.get(5..).unwrap_or(&[])), loss, Told { seconds: seconds.into(), stop: stop > 0.0 }))
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
