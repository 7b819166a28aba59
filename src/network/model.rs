//! The whole network.

use burn::module::Module;
use burn::tensor::Tensor;

use super::config::{Activation, Config, ValueHead, View};
use super::embedding::Embedding;
use super::heads::{Candidates, Moves, Policy, Question, Readout};
use super::input::{Input, Pack};
use super::kernels::Kernels;
use super::trunk::Trunk;
use crate::board::{Features, MoveIndex};

/// What the network says of a batch.
#[derive(Clone, Debug)]
pub struct Output<B: Kernels> {
    /// The moves, as the network's [`View`] names them.
    pub moves: Moves<B>,
    /// The numbers of the value head, if there is one, for the player to move: `[batch, outputs]`.
    pub value: Option<Tensor<B, 2>>,
    /// Losses of the network's own, already weighted, to be added to the others in training: `[1]`.
    pub auxiliary: Option<Tensor<B, 1>>,
}

/// A network, built from its [`Config`].
#[derive(Module, Debug)]
pub struct Network<B: Kernels> {
    embedding: Embedding<B>,
    trunk: Trunk<B>,
    policy: Policy<B>,
    value: Option<Readout<B>>,
    #[module(skip)]
    config: Config,
}

impl<B: Kernels> Network<B> {
    /// A network with random weights. The config is to be [checked](Config::check) before.
    pub fn new(config: &Config, device: &B::Device) -> Network<B> {
        let d = config.d_model();
        let activation = match config.value {
            ValueHead::Evaluation { .. } => Activation::Gelu,
            _ => Activation::Relu,
        };
        let value = &config.value;
        Network {
            embedding: Embedding::new(&config.embedding, d, device),
            trunk: Trunk::new(config, device),
            policy: Policy::new(config, device),
            value: value.exists().then(|| Readout::new(d, value.sizes(), value.outputs(), activation, device)),
            config: config.clone(),
        }
    }

    /// What it is made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Lays a batch out as this network wants it.
    pub fn pack<'a>(&self, batch: impl ExactSizeIterator<Item = &'a Features>, device: &B::Device) -> Input<B> {
        let n = batch.len();
        let mut pack = Pack::default();
        let mut candidates = Vec::new();
        for features in batch {
            self.embedding.write(features, &mut pack);
            if self.policy.asks_for_paths() {
                candidates.push(Candidates::of(features));
            }
        }
        let question = if self.policy.asks_for_paths() { Question::All(candidates) } else { Question::Nothing };
        pack.into_input(n, question, device)
    }

    /// The same batch, asked about one move a position only, where that is less work: such heads then answer with
    /// [`Moves::Played`]. The moves are as the network's view names them.
    pub fn ask_played(&self, input: Input<B>, played: impl Iterator<Item = MoveIndex>) -> Input<B> {
        if self.policy.asks_for_paths() { Input { question: Question::about(played), ..input } } else { input }
    }

    /// The name in this network's view of a move that the player to move sees as `seen`.
    pub fn named(&self, seen: MoveIndex, features: &Features) -> MoveIndex {
        match self.config.embedding.view() {
            View::Own => seen,
            View::White => features.turn.fold_wb(seen, seen.mirrored()),
        }
    }

    /// Looks at a batch of positions.
    pub fn forward(&self, input: Input<B>) -> Output<B> {
        let question = input.question.clone();
        let trunked = self.trunk.forward(self.embedding.forward(input));
        let squares = self.config.embedding.squares().map(|first| trunked.squares(first));
        let moves = self.policy.forward(&trunked, squares.as_ref(), (&self.embedding, &self.trunk), &question);
        let value = self.value.as_ref().zip(squares).map(|(head, squares)| head.forward(squares));
        Output { moves, value, auxiliary: trunked.auxiliary }
    }
}
