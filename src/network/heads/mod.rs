//! What is read out of a trunk: moves, and how the game stands.

mod from_to;
pub(super) mod geometry;
mod map;
mod path;
mod readout;

use burn::module::Module;
use burn::tensor::{Int, Tensor};

use super::config::{self, Config, PolicyHead, Reads};
use super::embedding::Embedding;
use super::kernels::Kernels;
use super::linear::Linear;
use super::precision::wide;
use super::trunk::{Trunk, Trunked};
use crate::board::MOVES;

pub(super) use from_to::FromTo;
pub(super) use map::Map;
pub(super) use path::{Candidates, Path, Question};
pub(super) use readout::Readout;

/// The policy head that a config names.
#[derive(Module, Debug)]
pub(super) enum Policy<B: Kernels> {
    FromTo(FromTo<B>),
    Cls(Linear<B>),
    Squares(Readout<B>),
    Map(Map<B>),
    Path(Path<B>),
}

/// Of the moves, as the network sees them.
#[derive(Clone, Debug)]
pub enum Moves<B: Kernels> {
    /// Logits of the 1,968 moves: `[batch, 1968]`. Not masked.
    Logits(Tensor<B, 2>),
    /// Logarithms of the probabilities of the 1,968 moves, as far as own men can make them: `[batch, 1968]`. What is left of
    /// the probability is on moves that are not in the vocabulary, or start on squares without an own man.
    Probabilities(Tensor<B, 2>),
    /// Logarithms of the probabilities of the moves that were asked about: `[batch]`.
    Played(Tensor<B, 1>),
}

impl<B: Kernels> Policy<B> {
    pub(super) fn new(config: &Config, device: &B::Device) -> Self {
        let d = config.d_model();
        match config.policy {
            PolicyHead::FromTo { dim, ref edges } => Policy::FromTo(FromTo::new(d, dim, edges.len(), device)),
            PolicyHead::Classes { reads: Reads::Cls, .. } => Policy::Cls(Linear::new(d, MOVES, 0.5, true, device)),
            PolicyHead::Classes { reads: Reads::Squares, compress } => {
                Policy::Squares(Readout::new(d, (compress, None), MOVES, config::Activation::Relu, device))
            }
            PolicyHead::FromToMap => Policy::Map(Map::new(d, device)),
            PolicyHead::Autoregressive => Policy::Path(Path::new(d, device)),
        }
    }

    /// With biases along so many kinds of edges, if it goes from square to square.
    pub(super) fn with_edges(self, kinds: usize) -> Self {
        match self {
            Policy::FromTo(head) => Policy::FromTo(head.with_edges(kinds)),
            other => other,
        }
    }

    /// Reads a trunk out. `squares` are the rows of the 64 squares, where there are such; `edges` those between them along which
    /// it has biases.
    pub(super) fn forward(
        &self,
        trunked: &Trunked<B>,
        (squares, edges): (Option<&Tensor<B, 2>>, Option<Tensor<B, 2, Int>>),
        (embedding, trunk): (&Embedding<B>, &Trunk<B>),
        question: &Question,
    ) -> Moves<B> {
        // A config that was checked gives each head what it reads.
        let squares = || squares.cloned().unwrap_or_else(|| trunked.rows.clone());
        let logits = match self {
            Policy::FromTo(head) => head.forward(squares(), edges),
            Policy::Squares(head) => head.forward(squares()),
            Policy::Map(head) => head.forward(squares()),
            Policy::Cls(linear) => {
                let [n, tokens, d] = trunked.dims();
                let cls = trunked.rows.clone().reshape([n, tokens * d]).slice([0..n, 0..d]);
                linear.forward(cls)
            }
            Policy::Path(head) => match (embedding.set(), trunk) {
                (Some(set), Trunk::Encoder(encoder)) => return head.forward(trunked, set, encoder, question),
                _ => unreachable!("Config::check allows this head with a set and an encoder only"),
            },
        };
        Moves::Logits(wide(logits))
    }
}
