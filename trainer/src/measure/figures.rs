//! From what a network said of many positions to figures: over all of them, by rating, by expected score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::time::{self, OfTime};

/// What a network said of one position, against what happened.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// Rating of the player to move.
    pub rating: Option<f32>,
    /// About the move; `None` where it is not worth predicting.
    pub policy: Option<OfMove>,
    /// Cross-entropy of the outcome against the target of training, nats.
    pub value: Option<f64>,
    /// About the game's result.
    pub result: Option<OfResult>,
    /// Square of the difference between its expected score and the engine's.
    pub eval: Option<f64>,
    /// Square of the error of a head that puts one number out, in that head's own unit.
    pub own: Option<f64>,
    /// Own men less the other's, in pawns.
    pub material: f64,
    /// About the time that the move took.
    pub time: Option<OfTime>,
}

/// What it said of the move that was played.
#[derive(Clone, Copy, Debug)]
pub struct OfMove {
    /// Moves that it thought more probable.
    pub rank: usize,
    /// Cross-entropy among the legal moves, nats.
    pub loss: f64,
    /// Probability among the legal moves.
    pub probability: f64,
    /// Probabilities, among the legal moves, of its from-square and, once that is known, of its to-square.
    pub squares: [f64; 2],
    /// Probability that it gave to legal moves, before the others were masked.
    pub legal: f64,
    /// Cross-entropy of the move at each of the [`TEMPERATURES`].
    pub tempered: [f64; TEMPERATURES.len()],
    /// Probability of all moves that are less probable than each of the [`TAILS`].
    pub tails: [f64; TAILS.len()],
}

/// Temperatures that are tried.
pub const TEMPERATURES: [f64; 9] = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4];
/// Probabilities below which the tail is looked at.
pub const TAILS: [f64; 4] = [0.001, 0.003, 0.01, 0.03];

/// What it said of the result of the game.
#[derive(Clone, Copy, Debug)]
pub struct OfResult {
    /// Cross-entropy of win, draw and loss, nats.
    pub loss: f64,
    /// Score that it expected, 0 to 1.
    pub expected: f64,
    /// Score that was made.
    pub observed: f64,
}

/// What a network does on a set of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Positions with a move worth predicting.
    pub moves: usize,
    /// Share in which the move played is the network's first.
    pub top1: f64,
    /// Share in which it is among the first three.
    pub top3: f64,
    /// Share in which both its from-square and, once that is known, its to-square are given at least 0.2: chessformer's "plausible 20 %".
    pub plausible: f64,
    /// Cross-entropy of the moves, nats.
    pub policy_loss: f64,
    /// Share of probability on legal moves, without a mask.
    pub legal: f64,
    /// Cross-entropy of the moves among all moves, without a mask, nats.
    pub unmasked_loss: f64,
    /// Positions whose outcome is known or judged.
    pub outcomes: usize,
    /// Cross-entropy of the outcomes against the target of training, nats.
    pub value_loss: f64,
    /// Positions of games with a result.
    pub results: usize,
    /// Cross-entropy of the results, nats.
    pub result_loss: f64,
    /// Cross-entropy of the results for the best logistic function of the material on board, fitted on the other half.
    pub material_loss: f64,
    /// Mean difference between expected and made score over ten equal bins of the expected one, weighted (ECE).
    pub calibration_error: f64,
    /// Positions with an engine's evaluation.
    pub evals: usize,
    /// Mean squared error of the expected score against the engine's.
    pub eval_error: f64,
    /// Mean squared error of a head that puts one number out, in its own unit (tanh: -1 to 1; evaluation: ±4).
    pub own_error: f64,
    /// The temperature at which people's moves are likeliest, of those tried.
    pub temperature: f64,
    /// Probability of all moves that are less probable than each of the [`TAILS`], mean…
    pub tails_said: [f64; TAILS.len()],
    /// …and share of the moves played that are.
    pub tails_played: [f64; TAILS.len()],
    /// Positions whose time is known.
    pub times: usize,
    /// Cross-entropy of the bins of time, nats.
    pub time_loss: f64,
    /// The same for the distribution of all these times, whatever the position.
    pub time_marginal: f64,
    /// Pearson's correlation of the mean logarithm expected with the logarithm of the time taken.
    pub time_correlation: f64,
    /// Shares of times below the 10, 25, 50, 75 and 90 % quantiles expected.
    pub time_quantiles: [f64; 5],
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0_usize), |(sum, n), v| (sum + v, n + 1));
    sum / n.max(1) as f64
}

impl Figures {
    /// The figures of a set.
    pub fn of(looked: &[Looked]) -> Figures {
        let moves = || looked.iter().filter_map(|l| l.policy);
        let share = |of: fn(&OfMove) -> bool| mean(moves().map(|m| f64::from(u8::from(of(&m)))));
        let results = || looked.iter().filter_map(|l| l.result);
        let tempered = |i: usize| mean(moves().map(|m| m.tempered[i]));
        let coolest = (0..TEMPERATURES.len()).min_by(|&a, &b| tempered(a).total_cmp(&tempered(b)));
        let tail = |of: &dyn Fn(&OfMove, usize) -> f64| std::array::from_fn(|i| mean(moves().map(|m| of(&m, i))));
        let times: Vec<OfTime> = looked.iter().filter_map(|l| l.time).collect();
        Figures {
            temperature: if moves().count() > 0 { coolest.map_or(0.0, |i| TEMPERATURES[i]) } else { 0.0 },
            tails_said: tail(&|m, i| m.tails[i]),
            tails_played: tail(&|m, i| f64::from(u8::from(m.probability < TAILS[i]))),
            times: times.len(),
            time_loss: mean(times.iter().map(|t| t.loss)),
            time_marginal: time::marginal(&times),
            time_correlation: time::correlation(&times),
            time_quantiles: time::QUANTILES.map(|q| time::below(&times, q)),
            moves: moves().count(),
            top1: share(|m| m.rank == 0),
            top3: share(|m| m.rank < 3),
            plausible: share(|m| m.squares.iter().all(|&p| p >= 0.2)),
            policy_loss: mean(moves().map(|m| m.loss)),
            legal: mean(moves().map(|m| m.legal)),
            unmasked_loss: mean(moves().map(|m| m.loss - m.legal.max(1e-30).ln())),
            outcomes: looked.iter().filter(|l| l.value.is_some()).count(),
            value_loss: mean(looked.iter().filter_map(|l| l.value)),
            results: results().count(),
            result_loss: mean(results().map(|r| r.loss)),
            material_loss: material_loss(looked),
            calibration_error: calibration(looked)
                .iter()
                .map(|bin| bin.positions as f64 * (bin.expected - bin.observed).abs())
                .sum::<f64>()
                / results().count().max(1) as f64,
            evals: looked.iter().filter(|l| l.eval.is_some()).count(),
            eval_error: mean(looked.iter().filter_map(|l| l.eval)),
            own_error: mean(looked.iter().filter_map(|l| l.own)),
        }
    }
}

/// The figures of each bracket of a hundred points of rating that has at least `least` moves, by its lower end.
pub fn by_rating(looked: &[Looked], least: usize) -> BTreeMap<u32, Figures> {
    let mut brackets: BTreeMap<u32, Vec<Looked>> = BTreeMap::new();
    for l in looked {
        if let Some(rating) = l.rating {
            brackets.entry(rating.max(0.0) as u32 / 100 * 100).or_default().push(*l);
        }
    }
    let figures = brackets.into_iter().map(|(rating, looked)| (rating, Figures::of(&looked)));
    figures.filter(|(_, f)| f.moves >= least).collect()
}

/// Positions of about the same expected score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// How many.
    pub positions: usize,
    /// Mean of what was expected.
    pub expected: f64,
    /// Mean of what was made.
    pub observed: f64,
}

/// Ten bins of expected score; empty ones are left out.
pub fn calibration(looked: &[Looked]) -> Vec<Bin> {
    let mut bins = vec![Bin { positions: 0, expected: 0.0, observed: 0.0 }; 10];
    for r in looked.iter().filter_map(|l| l.result) {
        let bin = &mut bins[((r.expected * 10.0) as usize).min(9)];
        bin.positions += 1;
        bin.expected += r.expected;
        bin.observed += r.observed;
    }
    bins.retain(|bin| bin.positions > 0);
    for bin in &mut bins {
        bin.expected /= bin.positions as f64;
        bin.observed /= bin.positions as f64;
    }
    bins
}

/// Classes of results: loss, draw, win.
fn class(observed: f64) -> usize {
    (observed * 2.0).round() as usize
}

/// Multinomial logistic regression of the result on the material, fitted by gradient descent on every second position and
/// measured on the others.
fn material_loss(looked: &[Looked]) -> f64 {
    let pairs: Vec<(f64, usize)> =
        looked.iter().filter_map(|l| Some((l.material, class(l.result?.observed)))).collect();
    let half = |odd: usize| pairs.iter().skip(odd).step_by(2);
    let n = half(0).count();
    if n < 10 {
        return 0.0;
    }
    // Logits of win and loss against draw: a + b·x, in units of five pawns so that both steps suit one rate.
    let unit = 0.2;
    let probabilities = |w: &[f64; 4], x: f64| -> [f64; 3] {
        let e = [(w[0] + w[1] * x * unit).exp(), 1.0, (w[2] + w[3] * x * unit).exp()];
        e.map(|v| v / e.iter().sum::<f64>())
    };
    let mut w = [0.0; 4];
    for _ in 0..2000 {
        let mut gradient = [0.0; 4];
        for &(x, class) in half(0) {
            let p = probabilities(&w, x);
            for (i, k) in [(0, 0), (2, 2)] {
                let error = p[k] - f64::from(u8::from(class == k));
                gradient[i] += error;
                gradient[i + 1] += error * x * unit;
            }
        }
        w.iter_mut().zip(gradient).for_each(|(w, g)| *w -= g / n as f64);
    }
    mean(half(1).map(|&(x, class)| -probabilities(&w, x)[class].max(1e-30).ln()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(rating: f32, rank: usize, expected: f64, observed: f64, material: f64) -> Looked {
        Looked {
            rating: Some(rating),
            policy: Some(OfMove {
                rank,
                loss: 1.0,
                probability: 0.5 / (rank + 1) as f64,
                squares: [1.0, 0.5 / (rank + 1) as f64],
                legal: 0.9,
                tempered: TEMPERATURES.map(|t| (t - 0.9).powi(2)),
                tails: [0.01; TAILS.len()],
            }),
            value: Some(0.5),
            result: Some(OfResult { loss: 0.7, expected, observed }),
            eval: Some(0.04),
            own: None,
            material,
            time: None,
        }
    }

    #[test]
    fn figures_are_means_over_what_is_known() {
        let mut set = vec![looked(1510.0, 0, 0.55, 1.0, 0.0), looked(1590.0, 2, 0.55, 0.0, 0.0)];
        set.push(Looked { policy: None, result: None, eval: None, value: None, ..set[0] });
        let f = Figures::of(&set);
        assert_eq!((f.moves, f.outcomes, f.results), (2, 2, 2));
        assert_eq!((f.top1, f.top3, f.plausible), (0.5, 1.0, 0.5));
        assert_eq!((f.temperature, f.tails_played), (0.9, [0.0; TAILS.len()]));
        assert!((f.tails_said[0] - 0.01).abs() < 1e-9);
        assert!((f.legal - 0.9).abs() < 1e-9 && (f.eval_error - 0.04).abs() < 1e-9);
        assert!((f.calibration_error - 0.05).abs() < 1e-9, "{}", f.calibration_error);
        let brackets = by_rating(&set, 1);
        assert_eq!(brackets.keys().copied().collect::<Vec<_>>(), [1500]);
        assert!(by_rating(&set, 3).is_empty());
        assert_eq!(Figures::of(&[]), Figures::default());
    }

    #[test]
    fn material_tells_something_where_it_decides() {
        // A piece more wins four games of five.
        let decided = |i: usize| {
            let up = i % 4 < 2;
            let scored = if i.is_multiple_of(5) { !up } else { up };
            looked(1500.0, 0, 0.5, f64::from(u8::from(scored)), if up { 3.0 } else { -3.0 })
        };
        let told = material_loss(&(0..400).map(decided).collect::<Vec<_>>());
        assert!((told - 0.5004).abs() < 0.03, "{told}: entropy of 4 : 1 is 0.5004");
        let none: Vec<Looked> = (0..400).map(|i| looked(1500.0, 0, 0.5, f64::from(u8::from(i % 4 < 2)), 0.0)).collect();
        assert!((material_loss(&none) - 2_f64.ln()).abs() < 0.03);
    }
}
