//! Moves and value, read out of the last rows.

use super::super::config::Activation;
use super::super::heads::geometry::parts;
use super::super::heads::{FromTo, Readout};
use super::super::kernels::Kernels;
use super::super::kernels::rows::dot;
use super::super::vectors::widest;
use super::balance::Balance;
use super::block::Scratch;
use super::bytes::Numbers;
use super::edges::{self, Graph};
use super::floats::Rows;
use super::layer::Layer;
use super::matrix::{Matrix, Then};
use crate::board::MoveIndex;

/// The from × to policy and the value, if there is one.
#[derive(Debug)]
pub(super) struct Heads {
    balance: Balance,
    /// Starts of moves, ends of moves, and what squares are compressed to.
    rows: Matrix,
    /// Numbers of a start, and of an end.
    dim: usize,
    promotion: Layer,
    gates: Option<Gates>,
    value: Option<Value>,
}

/// What moves along edges gain.
#[derive(Debug)]
struct Gates {
    /// Where in a row they begin.
    begin: usize,
    /// Places of their kinds among the edges of a position.
    kinds: Vec<usize>,
}

#[derive(Debug)]
struct Value {
    compress: usize,
    hidden: Matrix,
    out: Layer,
}

impl Heads {
    /// The heads' weights as bytes; none, where they have pieces that are not known here. `kinds` are the places of the policy's kinds of edges
    /// among those of a position.
    pub(super) fn of<B: Kernels>(
        (policy, kinds): (&FromTo<B>, Vec<usize>),
        value: Option<&Readout<B>>,
        balance: Balance,
    ) -> Option<Heads> {
        let dim = policy.dim;
        let from = Layer::of(&policy.from).scaled(1.0 / (dim as f32).sqrt());
        let mut layers = vec![from, Layer::of(&policy.to)];
        let value = match value {
            Some(Readout { compress: Some(compress), hidden: Some(hidden), out, activation: Activation::Relu }) => {
                let compress = Layer::of(compress);
                layers.push(compress.clone());
                let hidden = Matrix::of(&[Layer::of(hidden)], None);
                Some(Value { compress: compress.outputs(), hidden, out: Layer::of(out) })
            }
            Some(_) => return None,
            None => None,
        };
        let gates = policy.edge_bias.as_ref().map(|bias| {
            let begin = layers.iter().map(Layer::outputs).sum();
            layers.push(Layer::of(&bias.gates));
            Gates { begin, kinds }
        });
        Some(Heads {
            rows: Matrix::of(&layers, Some(&balance)),
            balance,
            dim,
            promotion: Layer::of(&policy.promotion),
            gates,
            value,
        })
    }

    /// From rows `[64, d]`, not normalised yet, and the edges between squares: the logits of some moves, and the numbers of the value.
    pub(super) fn read(
        &self,
        (x, d): (&[f32], usize),
        graphs: &[Graph],
        asked: &[MoveIndex],
        scratch: &mut Scratch,
    ) -> (Vec<f32>, Vec<f32>) {
        let Scratch { bytes, hidden: rows, .. } = scratch;
        bytes.take(x, d, Numbers::Normalised(&self.balance));
        let width = self.rows.width();
        rows.resize(bytes.rows() * width, 0.0);
        self.rows.multiply(bytes, rows, Then::Write);
        let start = |square: usize| &rows[square * width..][..self.dim];
        let end = |square: usize| &rows[square * width + self.dim..][..self.dim];
        let mut logits: Vec<f32> = Vec::with_capacity(asked.len());
        widest(
            #[inline(always)]
            || {
                for m in asked {
                    let (from, to, _) = parts(*m);
                    logits.push(dot(start(from), end(to)));
                }
            },
        );
        if let Some(Gates { begin, kinds }) = &self.gates {
            let gates = Rows { numbers: &rows[*begin..], stride: width };
            for (logit, m) in logits.iter_mut().zip(asked) {
                let (from, to, _) = parts(*m);
                *logit += edges::gain(from, to, gates, kinds.iter().map(|&kind| &graphs[kind]));
            }
        }
        for (logit, m) in logits.iter_mut().zip(asked) {
            if let (_, to, Some(piece)) = parts(*m) {
                *logit += self.promotion.forward(end(to))[piece];
            }
        }
        let value = self.value.as_ref().map_or_else(Vec::new, |value| {
            let squares = rows.chunks_exact(width).flat_map(|row| &row[2 * self.dim..][..value.compress]);
            let compressed: Vec<f32> = squares.map(|x| x.max(0.0)).collect();
            value.out.forward(&value.hidden.row(&compressed, Numbers::Positive, Then::Relu, bytes))
        });
        (logits, value)
    }
}
