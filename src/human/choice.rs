//! How a person's move is drawn: from the network's distribution at that rating, without its far tail, bent towards what a
//! search found good as far as that is relied on.
//!
//! The last is piKL's rule (Jacob et al. 2022, "Modeling strong and human-like gameplay with KL-regularized search"): the best
//! trade between the value of moves and staying close to the policy of people draws moves in proportion to p · exp(β Q).

use rand::Rng;
use serde::{Deserialize, Serialize};
use shakmaty::Move;

use crate::evaluate::Evaluation;

/// How a person of some rating is played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Style {
    /// The rating that the network is conditioned on.
    pub network: f32,
    /// Exponent 1/T on its probabilities.
    pub temperature: f32,
    /// Moves less probable than this, at temperature 1, are not played unless nothing else is left, or a search is relied on.
    pub cut: f32,
    /// Positions searched besides; 0 without a search.
    pub nodes: u64,
    /// β: how much a move gains in logarithm for each point of win less loss.
    pub reliance: f32,
}

/// What is known of a move besides its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Win less loss that a search expects after it, −1 to 1; beyond for proved mates.
    pub q: Option<f32>,
    /// A factor on its weight.
    pub factor: f32,
}

/// How much worse, in win less loss, a move is taken to be that a search did not try.
const UNSEARCHED: f32 = 0.5;

/// The weights with which the moves of an evaluation are drawn, in its order: they sum to one. `found` says what is known of each
/// move, `None` for moves that are not allowed.
pub fn weights(evaluation: &Evaluation, style: &Style, found: &dyn Fn(Move) -> Option<Found>) -> Vec<f32> {
    let known: Vec<Option<Found>> = evaluation.moves.iter().map(|e| found(e.m)).collect();
    // What was not searched is taken to be worse than the worst that was: the search had its reasons.
    let worst = known.iter().flatten().filter_map(|f| f.q).fold(f32::INFINITY, f32::min);
    let unknown = if worst.is_finite() { worst - UNSEARCHED } else { 0.0 };
    let logarithm = |p: f32, f: &Found| {
        p.max(1e-12).ln() / style.temperature.max(1e-3)
            + style.reliance * f.q.unwrap_or(unknown)
            + f.factor.max(1e-12).ln()
    };
    let allowed = || evaluation.moves.iter().zip(&known).filter_map(|(e, f)| f.as_ref().map(|f| (e, f)));
    let kept = |p: f32| p >= style.cut;
    let nothing_kept = !allowed().any(|(e, _)| kept(e.probability));
    let logs: Vec<f32> = evaluation
        .moves
        .iter()
        .zip(&known)
        .map(|(e, f)| match f {
            Some(f) if nothing_kept || kept(e.probability) || style.reliance > 0.0 => logarithm(e.probability, f),
            _ => f32::NEG_INFINITY,
        })
        .collect();
    let max = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if max == f32::NEG_INFINITY {
        return vec![0.0; logs.len()];
    }
    let sum: f32 = logs.iter().map(|l| (l - max).exp()).sum();
    logs.into_iter().map(|l| (l - max).exp() / sum).collect()
}

/// Draws an index with these weights; `None` where all are zero.
pub fn draw(weights: &[f32], rng: &mut impl Rng) -> Option<usize> {
    let mut at = rng.random::<f32>() * weights.iter().sum::<f32>();
    let drawn = weights.iter().position(|&w| {
        at -= w;
        w > 0.0 && at <= 0.0
    });
    drawn.or_else(|| weights.iter().rposition(|&w| w > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;
    use crate::evaluate::Wdl;
    use shakmaty::Position;

    const PLAIN: Style = Style { network: 1500.0, temperature: 1.0, cut: 0.0, nodes: 0, reliance: 0.0 };

    /// Four moves with probabilities of about 64, 24, 9 and 3 %.
    fn evaluation() -> Evaluation {
        let legal = Game::default().position().legal_moves();
        Evaluation::from_logits(&legal[..4], [0.0, -1.0, -2.0, -3.0], Wdl::DRAW)
    }

    fn all(_: Move) -> Option<Found> {
        Some(Found { q: None, factor: 1.0 })
    }

    #[test]
    fn weights_are_the_networks_at_temperature_one() {
        let e = evaluation();
        let plain = weights(&e, &PLAIN, &all);
        assert!(plain.iter().zip(&e.moves).all(|(w, m)| (w - m.probability).abs() < 1e-6));
        let cold = weights(&e, &Style { temperature: 0.5, ..PLAIN }, &all);
        assert!(cold[0] > plain[0] && cold[3] < plain[3]);
        let cut = weights(&e, &Style { cut: 0.05, ..PLAIN }, &all);
        assert_eq!((cut[3], cut.iter().filter(|&&w| w > 0.0).count()), (0.0, 3));
    }

    #[test]
    fn what_is_not_allowed_is_not_played_and_what_is_left_is() {
        let e = evaluation();
        let last = e.moves[3].m;
        let only = |m| (m == last).then_some(Found { q: None, factor: 1.0 });
        assert_eq!(weights(&e, &Style { cut: 0.5, ..PLAIN }, &only), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(draw(&weights(&e, &PLAIN, &|_| None), &mut rand::rng()), None);
        assert_eq!(draw(&[], &mut rand::rng()), None);
    }

    #[test]
    fn reliance_bends_towards_what_is_good() {
        let e = evaluation();
        let good = e.moves[2].m;
        let q = |m| Some(Found { q: Some(if m == good { 0.9 } else { -0.5 }), factor: 1.0 });
        let some = weights(&e, &Style { reliance: 1.0, ..PLAIN }, &q);
        let much = weights(&e, &Style { reliance: 20.0, ..PLAIN }, &q);
        assert!(some[2] > e.moves[2].probability && some[2] < much[2] && much[2] > 0.99);
        // p · exp(β Q), exactly.
        let ratio = some[2] / some[0];
        let expected = e.moves[2].probability / e.moves[0].probability * 1.4_f32.exp();
        assert!((ratio - expected).abs() < 1e-4, "{ratio} {expected}");
    }

    #[test]
    fn drawing_follows_the_weights() {
        let mut counts = [0; 3];
        for _ in 0..4000 {
            counts[draw(&[0.0, 0.75, 0.25], &mut rand::rng()).expect("some")] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!((800..1200).contains(&counts[2]), "{counts:?}");
    }
}
