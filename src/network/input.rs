//! Positions as a network takes them: packed on the host, then on a device.

use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};

use super::config::{Config, Embedding, PolicyHead, View};
use super::embedding;
use super::heads::{Candidates, Question};
use super::kernels::Kernels;
use crate::board::{Edge, Features, MoveIndex};

/// How a network wants positions laid out: all that has to be known of it to pack them, on any thread, without it.
#[derive(Clone, Debug)]
pub struct Layout {
    embedding: Embedding,
    /// The edges between squares that the network is shown.
    edges: Vec<Edge>,
    /// Whether the policy head has to be told which moves it is asked about.
    asks: bool,
}

impl Layout {
    /// The layout of networks of this config.
    pub fn of(config: &Config) -> Layout {
        Layout {
            embedding: config.embedding.clone(),
            edges: config.edges(),
            asks: config.policy == PolicyHead::Autoregressive,
        }
    }

    /// Lays a batch out.
    pub fn pack<'a>(&self, batch: impl ExactSizeIterator<Item = &'a Features>) -> Packed {
        let positions = batch.len();
        let mut pack = Pack::default();
        let mut candidates = Vec::new();
        for features in batch {
            embedding::write(&self.embedding, features, &mut pack);
            let graphs = Edge::all(&self.edges, features);
            pack.edges.extend(graphs.iter().flatten().flat_map(|set| set.to_le_bytes()));
            if self.asks {
                candidates.push(Candidates::of(features));
            }
        }
        let question = if self.asks { Question::All(candidates) } else { Question::Nothing };
        Packed { positions, pack, question }
    }

    /// The name in the network's view of a move that the player to move sees as `seen`.
    pub fn named(&self, seen: MoveIndex, features: &Features) -> MoveIndex {
        match self.embedding.view() {
            View::Own => seen,
            View::White => features.turn.fold_wb(seen, seen.mirrored()),
        }
    }
}

/// A batch of positions on the host.
#[derive(Clone, Debug)]
pub struct Packed {
    positions: usize,
    pack: Pack,
    question: Question,
}

impl Packed {
    /// The same batch, asked about one move a position only, where that is less work: such heads then answer with
    /// [`Moves::Played`](super::Moves::Played). The moves are as the network's view names them.
    pub fn ask_played(self, played: impl Iterator<Item = MoveIndex>) -> Packed {
        match self.question {
            Question::Nothing => self,
            _ => Packed { question: Question::about(played), ..self },
        }
    }

    /// The batch on a device. A side that nothing was written to becomes a column of zeros.
    pub fn to_device<B: Kernels>(self, device: &B::Device) -> Input<B> {
        let Packed { positions: n, pack: Pack { mut codes, mut values, edges }, question } = self;
        if codes.is_empty() {
            codes.resize(n, 0);
        }
        if values.is_empty() {
            values.resize(n, 0.0);
        }
        let columns = |length: usize| length / n.max(1);
        let of_edges = [n, columns(edges.len())];
        let edges = (!edges.is_empty()).then(|| Tensor::from_primitive(B::bytes(edges, of_edges, device)));
        let (of_codes, of_values) = ([n, columns(codes.len())], [n, columns(values.len())]);
        Input {
            n,
            codes: Tensor::from_primitive(B::bytes(codes, of_codes, device)),
            values: Tensor::from_data(TensorData::new(values, of_values), device),
            edges,
            question,
        }
    }
}

/// Rows of numbers being laid out for a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Pack {
    pub(super) codes: Vec<u8>,
    pub(super) values: Vec<f32>,
    /// Of each kind of edges and each square the set of squares that they lead to, in bytes.
    pub(super) edges: Vec<u8>,
}

/// A batch of positions on a device, laid out as the network's embedding wants it.
#[derive(Clone, Debug)]
pub struct Input<B: Backend> {
    /// Positions.
    pub(super) n: usize,
    /// What is looked up in tables: `[batch, …]`.
    pub(super) codes: Tensor<B, 2, Int>,
    /// What is multiplied: `[batch, …]`.
    pub(super) values: Tensor<B, 2>,
    /// Of each kind of edges and each square the set of squares that they lead to, in bytes, if the network is shown any: `[batch, kinds × 64 × 8]`.
    pub(super) edges: Option<Tensor<B, 2, Int>>,
    /// Which moves the autoregressive head is asked about.
    pub(super) question: Question,
}
