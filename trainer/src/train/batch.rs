//! Samples as they travel to a device, and as tensors there.

use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};
use glance::board::{MoveIndex, TIME_BINS};
use glance::evaluate::{bins_target, evaluation_target};
use glance::network::{Input, Kernels, Layout, Packed, ValueHead};

use super::recipe::PolicyLoss;
use crate::data::sample::{MOST_LEGAL, Sample};

/// What training is to make small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aims {
    /// Weight of the value's loss against the policy's.
    pub value_weight: f64,
    /// Weight of the loss of the time taken.
    pub time_weight: f64,
    /// Among which moves the one played is to be found.
    pub policy: PolicyLoss,
    /// Share of the target that is spread evenly over the legal moves.
    pub smoothing: f32,
}

/// A batch on a device, laid out for one network.
#[derive(Clone, Debug)]
pub struct Batch<B: Backend> {
    /// What the network sees.
    pub input: Input<B>,
    /// The legal moves as the network names them, padded: `[n, 128]`.
    pub legal: Tensor<B, 2, Int>,
    /// Zero for a legal move, a large negative number for padding: `[n, 128]`.
    pub padding: Tensor<B, 2>,
    /// The move played among the legal ones, as a distribution; all zero where it is not worth learning: `[n, 128]`.
    pub target: Tensor<B, 2>,
    /// One where the move is worth learning: `[n]`.
    pub worth: Tensor<B, 1>,
    /// What the value head's numbers are to be; all zero where nobody knows: `[n, outputs]`, one column where there is no head.
    pub value: Tensor<B, 2>,
    /// One where somebody knows: `[n, 1]`.
    pub judged: Tensor<B, 2>,
    /// The time taken as probabilities of its bins; all zero where it is not known: `[n, TIME_BINS]`.
    pub time: Tensor<B, 2>,
}

const NEVER: f32 = -1e9;

/// What a value head is to say of a sample, as numbers; `None` where nobody knows.
pub fn value_target(head: &ValueHead, sample: &Sample) -> Option<Vec<f32>> {
    match head {
        ValueHead::Wdl { .. } => sample.wdl.map(|w| vec![w.win, w.draw, w.loss]),
        ValueHead::Tanh { .. } => sample.wdl.map(|w| vec![w.balance()]),
        ValueHead::Evaluation { .. } => sample.facts.pawns.map(|pawns| vec![evaluation_target(pawns)]),
        ValueHead::Bins { count, .. } => sample.wdl.map(|w| bins_target(w.score(), *count)),
        ValueHead::None => None,
    }
}

/// Samples packed on the host, by whichever thread: nothing but bytes and numbers, and none that the device can make itself.
#[derive(Clone, Debug)]
pub struct Parcel {
    input: Packed,
    /// The legal moves as the network names them, padded to [`MOST_LEGAL`].
    legal: Vec<i32>,
    /// How many they are.
    counts: Vec<i32>,
    /// Which of them was played; −1 where it is not worth learning.
    played: Vec<i32>,
    /// What the value head's numbers are to be, one column where there is no head.
    value: Vec<f32>,
    /// One where somebody knows.
    judged: Vec<f32>,
    time: Vec<f32>,
}

impl Parcel {
    /// Packs samples for networks of this layout with this value head.
    pub fn of(samples: &[Sample], layout: &Layout, head: &ValueHead) -> Parcel {
        let n = samples.len();
        let columns = head.outputs().max(1);
        let mut legal = vec![0; n * MOST_LEGAL];
        let mut value = Vec::with_capacity(n * columns);
        let mut judged = Vec::with_capacity(n);
        let mut asked = Vec::with_capacity(n);
        let mut time = vec![0_f32; n * TIME_BINS];
        for (i, sample) in samples.iter().enumerate() {
            let named = |m: u16| MoveIndex::new(m.into()).map(|m| layout.named(m, &sample.features));
            for (to, &m) in legal[i * MOST_LEGAL..].iter_mut().zip(&sample.legal) {
                *to = named(m).map_or(0, |m| m.get() as i32);
            }
            asked.extend(sample.legal.get(sample.target).and_then(|&m| named(m)));
            if let Some(taken) = &sample.taken {
                time[i * TIME_BINS..][..TIME_BINS].copy_from_slice(&taken.bins());
            }
            let known = value_target(head, sample);
            judged.push(f32::from(u8::from(known.is_some())));
            value.extend(known.unwrap_or_else(|| vec![0.0; columns]));
        }
        Parcel {
            input: layout.pack(samples.iter().map(|s| &s.features)).ask_played(asked.into_iter()),
            legal,
            counts: samples.iter().map(|s| s.legal.len() as i32).collect(),
            played: samples.iter().map(|s| if s.policy { s.target as i32 } else { -1 }).collect(),
            value,
            judged,
            time,
        }
    }

    /// Positions.
    pub fn positions(&self) -> usize {
        self.counts.len()
    }

    /// Sends it to a device and unfolds it there.
    pub fn to_device<B: Kernels>(self, aims: &Aims, device: &B::Device) -> Batch<B> {
        let n = self.positions();
        let (shape, columns) = ([n, MOST_LEGAL], self.value.len() / n.max(1));
        let column = |numbers: Vec<i32>| Tensor::<B, 2, Int>::from_data(TensorData::new(numbers, [n, 1]), device);
        let places = Tensor::<B, 1, Int>::arange(0..MOST_LEGAL as i64, device).reshape([1, MOST_LEGAL]).expand(shape);
        let (counts, played) = (column(self.counts), column(self.played));
        let worth = played.clone().greater_equal_elem(0).float();
        let there = places.clone().lower(counts.clone().expand(shape));
        let own = places.equal(played.expand(shape)).float();
        let target = if aims.smoothing == 0.0 {
            own
        } else {
            let even = counts.float().recip().mul_scalar(aims.smoothing) * worth.clone();
            own.mul_scalar(1.0 - aims.smoothing) + there.clone().float() * even
        };
        Batch {
            input: self.input.to_device(device),
            legal: Tensor::from_data(TensorData::new(self.legal, shape), device),
            padding: there.bool_not().float().mul_scalar(NEVER),
            target,
            worth: worth.reshape([n]),
            value: Tensor::from_data(TensorData::new(self.value, [n, columns]), device),
            judged: Tensor::from_data(TensorData::new(self.judged, [n, 1]), device),
            time: Tensor::from_data(TensorData::new(self.time, [n, TIME_BINS]), device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glance::board::{Conditions, Game};
    use glance::network::Config;
    use shakmaty::Position;

    type B = burn_flex::Flex;

    fn batch(smoothing: f32, policy: bool) -> (Sample, Batch<B>) {
        let game = Game::default();
        let played = game.parse_uci("e2e4").expect("legal");
        let legal = game.position().legal_moves();
        let sample = crate::data::sample::sample(&game, &legal, &Conditions::default(), played, policy, None);
        let aims = Aims { value_weight: 1.0, time_weight: 1.0, policy: PolicyLoss::Legal, smoothing };
        let config = Config::tiny();
        let parcel = Parcel::of(std::slice::from_ref(&sample), &Layout::of(&config), &config.value);
        (sample, parcel.to_device(&aims, &Default::default()))
    }

    #[test]
    fn targets_are_unfolded_among_the_legal_moves() {
        let (sample, sharp) = batch(0.0, true);
        let floats = |x: Tensor<B, 2>| x.into_data().iter::<f32>().collect::<Vec<_>>();
        let target = floats(sharp.target);
        assert_eq!(target.len(), MOST_LEGAL);
        assert_eq!((target[sample.target], target.iter().sum::<f32>()), (1.0, 1.0));
        let padding = floats(sharp.padding);
        assert!(padding[..20].iter().all(|&p| p == 0.0) && padding[20..].iter().all(|&p| p == NEVER), "20 legal moves");
        let soft = floats(batch(0.2, true).1.target);
        assert!((soft[sample.target] - 0.81).abs() < 1e-6 && (soft[0] - 0.01).abs() < 1e-6 && soft[20] == 0.0);
        let (_, nothing) = batch(0.2, false);
        assert!(floats(nothing.target).iter().all(|&p| p == 0.0));
        assert_eq!(nothing.worth.into_scalar(), 0.0);
    }
}
