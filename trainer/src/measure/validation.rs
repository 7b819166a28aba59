//! A network looks at positions that it was never trained on.

use burn::tensor::Tensor;
use glance::board::{Features, MOVES, MoveIndex, TIME_BINS};
use glance::evaluate::{MoveTime, Wdl, evaluation_target, wdl_of};
use glance::network::{Kernels, Moves, Network, ValueHead};

use super::figures::{Looked, OfMove, OfResult, TAILS, TEMPERATURES};
use super::time::OfTime;
use crate::data::mixture::Mixture;
use crate::data::sample::Sample;

/// A fixed set of positions for validation, with the name of its source.
pub struct ValidationSet {
    /// The source.
    pub name: String,
    /// The positions.
    pub samples: Vec<Sample>,
}

/// The seed with which positions are drawn where nobody asks for others.
pub const SEED: u64 = 0x6715;

/// Draws `count` positions from each mixture: always the same ones with the same seed.
pub fn sets(mixtures: &[(String, Mixture)], count: usize, seed: u64) -> Vec<ValidationSet> {
    let of =
        |(name, mixture): &(String, Mixture)| ValidationSet { name: name.clone(), samples: mixture.set(seed, count) };
    mixtures.iter().map(of).collect()
}

/// What a network says of each sample, `micro` at a time, on `workers` threads. `told` hears of every part that is done.
pub fn look<B: Kernels>(
    network: &Network<B>,
    samples: &[Sample],
    workers: usize,
    micro: usize,
    device: &B::Device,
    told: &(dyn Fn(usize) + Sync),
) -> Vec<Looked> {
    let share = samples.len().div_ceil(workers.max(1)).max(1);
    std::thread::scope(|scope| {
        let handles: Vec<_> = samples
            .chunks(share)
            .map(|part| {
                let network = network.clone();
                scope.spawn(move || {
                    let mut looked = Vec::with_capacity(part.len());
                    for micro in part.chunks(micro.max(1)) {
                        looked.extend(look_at_batch(&network, micro, device));
                        told(micro.len());
                    }
                    looked
                })
            })
            .collect();
        handles.into_iter().flat_map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    })
}

fn look_at_batch<B: Kernels>(network: &Network<B>, samples: &[Sample], device: &B::Device) -> Vec<Looked> {
    let output = network.forward_all(network.pack(samples.iter().map(|s| &s.features), device));
    let value = output.value.map(floats).unwrap_or_default();
    let numbers = value.len() / samples.len().max(1);
    let times = output.time.map(floats).unwrap_or_default();
    let (policy, normalised) = match output.moves {
        Moves::Logits(logits) => (floats(logits), false),
        Moves::Probabilities(logarithms) => (floats(logarithms), true),
        Moves::Played(_) => unreachable!("asked about all moves"),
    };
    let rows = samples.iter().zip(policy.chunks_exact(MOVES)).enumerate();
    rows.map(|(i, (sample, policy))| {
        let value = &value[i * numbers..][..numbers];
        let time = times.get(i * TIME_BINS..(i + 1) * TIME_BINS).and_then(MoveTime::from_logits);
        let time = sample.taken.zip(time).map(|(taken, said)| OfTime::new(taken, said));
        Looked { time, ..look_at(network, sample, policy, normalised, value) }
    })
    .collect()
}

/// `logits` are logarithms of probabilities where `normalised`: then what is not in the vocabulary counts too.
fn look_at<B: Kernels>(
    network: &Network<B>,
    sample: &Sample,
    logits: &[f32],
    normalised: bool,
    value: &[f32],
) -> Looked {
    let max = if normalised { 0.0 } else { logits.iter().copied().fold(f32::NEG_INFINITY, f32::max) };
    let exp = |logit: f32| f64::from(logit - max).exp();
    let all: f64 = if normalised { 1.0 } else { logits.iter().map(|&l| exp(l)).sum() };
    let layout = network.layout();
    let named = |&m: &u16| MoveIndex::new(m.into()).map_or(0, |m| layout.named(m, &sample.features).get());
    let of_legal: Vec<f64> = sample.legal.iter().map(|m| exp(logits[named(m)]).max(1e-300)).collect();
    let legal: f64 = of_legal.iter().sum();
    let own = of_legal[sample.target];
    let policy = sample.policy.then(|| OfMove {
        rank: of_legal.iter().filter(|&&p| p > own).count(),
        loss: -(own / legal).max(1e-30).ln(),
        probability: own / legal,
        squares: by_squares(&sample.legal, &of_legal, sample.target),
        legal: legal / all,
        tempered: TEMPERATURES.map(|t| {
            let sum: f64 = of_legal.iter().map(|p| (p / legal).powf(1.0 / t)).sum();
            sum.ln() - (own / legal).max(1e-30).ln() / t
        }),
        tails: TAILS.map(|tail| of_legal.iter().map(|p| p / legal).filter(|&p| p < tail).sum()),
    });
    let head = &network.config().value;
    let first = f64::from(value.first().copied().unwrap_or_default());
    let error = match head {
        ValueHead::Tanh { .. } => sample.wdl.map(|w| (first.tanh() - f64::from(w.balance())).powi(2)),
        ValueHead::Evaluation { .. } => {
            sample.facts.pawns.map(|pawns| (first - f64::from(evaluation_target(pawns))).powi(2))
        }
        _ => None,
    };
    let said = wdl_of(head, value);
    let loss = |target: Wdl| {
        let part = |target: f32, said: f32| -f64::from(target) * f64::from(said).max(1e-30).ln();
        part(target.win, said.win) + part(target.draw, said.draw) + part(target.loss, said.loss)
    };
    let expected = f64::from(said.score());
    let knows = |_: &Wdl| head.exists();
    let result = sample.facts.result.filter(knows);
    Looked {
        rating: sample.facts.rating,
        policy,
        value: sample.wdl.filter(knows).map(loss),
        result: result.map(|r| OfResult { loss: loss(r), expected, observed: f64::from(r.score()) }),
        eval: sample.facts.eval.filter(knows).map(|e| (expected - f64::from(e.score())).powi(2)),
        own: error,
        time: None,
        material: material(&sample.features),
    }
}

/// How probable the from-square of a legal move is and, once that is known, its to-square, whatever it promotes to. `said` of each
/// legal move, in any unit.
fn by_squares(legal: &[u16], said: &[f64], target: usize) -> [f64; 2] {
    let squares = |m: u16| MoveIndex::new(m.into()).map(|m| (m.from(), m.to()));
    let from = |m: u16| squares(m).map(|(from, _)| from);
    let played = legal[target];
    let sum =
        |same: &dyn Fn(u16) -> bool| -> f64 { legal.iter().zip(said).filter(|&(&m, _)| same(m)).map(|(_, p)| p).sum() };
    let same_from = sum(&|m| from(m) == from(played));
    [same_from / said.iter().sum::<f64>(), sum(&|m| squares(m) == squares(played)) / same_from]
}

/// Own men less the other's, in pawns: 1, 3, 3, 5, 9.
fn material(features: &Features) -> f64 {
    const VALUES: [f64; 6] = [1.0, 3.0, 3.0, 5.0, 9.0, 0.0];
    let value = |&code: &u8| match code {
        1..=6 => VALUES[usize::from(code) - 1],
        7..=12 => -VALUES[usize::from(code) - 7],
        _ => 0.0,
    };
    features.codes[0].iter().map(value).sum()
}

fn floats<B: Kernels>(tensor: Tensor<B, 2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_as_plausible_as_each_of_its_squares() {
        let moves = ["e2e4", "e2e3", "g1f3", "a7a8q", "a7a8n", "a7b8q"];
        let legal: Vec<u16> = moves
            .iter()
            .map(|m| MoveIndex::from_uci(m).expect("a move").get().try_into().expect("below 1,968"))
            .collect();
        let said = [0.3, 0.1, 0.2, 0.2, 0.1, 0.1];
        let near = |target: usize, expected: [f64; 2]| {
            let found = by_squares(&legal, &said, target);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{}: {found:?}", moves[target]);
        };
        near(0, [0.4, 0.75]);
        near(1, [0.4, 0.25]);
        near(2, [0.2, 1.0]);
        // Both promotions go to the same square.
        near(3, [0.4, 0.75]);
        near(4, [0.4, 0.75]);
        near(5, [0.4, 0.25]);
    }
}
