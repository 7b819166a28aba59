//! The whole network.

use burn::module::Module;
use burn::tensor::{DType, Int, Tensor};

use super::config::{Activation, Config, PolicyHead, TimeHead, ValueHead};
use super::embedding::Embedding;
use super::heads::{Moves, Policy, Readout};
use super::input::{Input, Layout};
use super::kernels::Kernels;
use super::kernels::edges::SET_BYTES;
use super::precision::{Recast, cast, wide};
use super::trunk::Trunk;
use crate::board::{Edge, Features, TIME_BINS};

/// What the network says of a batch.
#[derive(Clone, Debug)]
pub struct Output<B: Kernels> {
    /// The moves, as the network's [`View`](super::View) names them.
    pub moves: Moves<B>,
    /// The numbers of the value head, if there is one, for the player to move: `[batch, outputs]`.
    pub value: Option<Tensor<B, 2>>,
    /// Logits of the time that a person takes, if that was asked and there is a head that knows: `[batch, bins]`.
    pub time: Option<Tensor<B, 2>>,
    /// Losses of the network's own, already weighted, to be added to the others in training: `[1]`.
    pub auxiliary: Option<Tensor<B, 1>>,
}

/// A network, built from its [`Config`].
#[derive(Module, Debug)]
pub struct Network<B: Kernels> {
    pub(super) embedding: Embedding<B>,
    pub(super) trunk: Trunk<B>,
    pub(super) policy: Policy<B>,
    pub(super) value: Option<Readout<B>>,
    time: Option<Readout<B>>,
    #[module(skip)]
    config: Config,
    /// What it computes in.
    #[module(skip)]
    dtype: DType,
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
            time: config.time.map(|time| time_head(d, time, device)),
            config: config.clone(),
            dtype: DType::F32,
        }
    }

    /// What it is made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How it wants positions laid out.
    pub fn layout(&self) -> Layout {
        Layout::of(&self.config)
    }

    /// Lays a batch out as this network wants it.
    pub fn pack<'a>(&self, batch: impl ExactSizeIterator<Item = &'a Features>, device: &B::Device) -> Input<B> {
        self.layout().pack(batch).to_device(device)
    }

    /// The same network with a head for the time that a person takes, with random weights.
    pub fn with_time(mut self, head: TimeHead, device: &B::Device) -> Network<B> {
        self.config.time = Some(head);
        self.time = Some(time_head(self.config.d_model(), head, device));
        self
    }

    /// The same network shown [what men attack](crate::board::attacked) too, if it is Glance's: it says the same until that is trained.
    pub fn with_attacks(mut self) -> Network<B> {
        self.config.embedding = self.config.embedding.with_attacks();
        self.embedding = self.embedding.with_attacks();
        self
    }

    /// The same network whose squares look at each other by these kinds of edges, if its tokens are the squares as the player to move sees
    /// them, and these are those that it has and more: it says the same until that is trained.
    pub fn with_edges(mut self, kinds: &[Edge]) -> Network<B> {
        let own = self.config.trunk.edges();
        if self.config.embedding.shows_own_squares() && kinds.len() > own.len() && kinds.starts_with(own) {
            self.config.trunk = self.config.trunk.with_edges(kinds);
            self.trunk = self.trunk.with_edges(kinds.len());
        }
        self
    }

    /// The same network whose policy has biases along these kinds of edges, if it goes from square to square, and these are those that it
    /// has and more: it says the same until that is trained.
    pub fn with_edges_of_moves(mut self, kinds: &[Edge]) -> Network<B> {
        let own = self.config.policy.edges();
        let grows = matches!(self.config.policy, PolicyHead::FromTo { .. });
        if grows && kinds.len() > own.len() && kinds.starts_with(own) {
            self.config.policy = self.config.policy.with_edges(kinds);
            self.policy = self.policy.with_edges(kinds.len());
        }
        self
    }

    /// The same network with so many blocks in its encoder, if it has fewer: it says the same until the new ones are trained.
    pub fn deeper(mut self, layers: usize) -> Network<B> {
        self.config.trunk = self.config.trunk.deeper(layers);
        self.trunk = self.trunk.deeper(layers);
        self
    }

    /// The same network with so many hidden numbers in each feed-forward part of its encoder, if it has fewer: it says the same until the
    /// new ones are trained.
    pub fn wider(mut self, ffn: usize) -> Network<B> {
        self.config.trunk = self.config.trunk.wider(ffn);
        self.trunk = self.trunk.wider(ffn);
        self
    }

    /// The same network, of which only the head for the time can be trained.
    pub fn only_time(mut self) -> Network<B> {
        self.embedding = self.embedding.no_grad();
        self.trunk = self.trunk.no_grad();
        self.policy = self.policy.no_grad();
        self.value = self.value.map(Module::no_grad);
        self
    }

    /// A copy with weights of another type, which computes in that type: `BF16` for training on GPUs. What it says is in single
    /// precision all the same; the gradients of its weights are of their type.
    pub fn computing_in(self, dtype: DType) -> Network<B> {
        Network { dtype, ..self.map(&mut Recast(dtype)) }
    }

    /// Looks at a batch of positions: moves and how they stand.
    pub fn forward(&self, input: Input<B>) -> Output<B> {
        self.read(input, false)
    }

    /// Looks at a batch of positions with all heads.
    pub fn forward_all(&self, input: Input<B>) -> Output<B> {
        self.read(input, true)
    }

    fn read(&self, input: Input<B>, all: bool) -> Output<B> {
        let question = input.question.clone();
        let input = Input { values: cast(input.values, self.dtype), ..input };
        let shown = input.edges.clone();
        let edges_in =
            |places: Vec<usize>| shown.as_ref().filter(|_| !places.is_empty()).map(|all| of_kinds(all, &places));
        let edges = edges_in((0..self.config.trunk.edges().len()).collect());
        let edges_of_moves = edges_in(self.config.edges_of_moves());
        let followed = self.config.policy == PolicyHead::Autoregressive;
        let trunked = self.trunk.forward(self.embedding.forward(input), edges, followed);
        let squares = self.config.embedding.squares().map(|first| trunked.squares(first));
        let moves = self.policy.forward(
            &trunked,
            (squares.as_ref(), edges_of_moves),
            (&self.embedding, &self.trunk),
            &question,
        );
        let of_time = self.time.as_ref().filter(|_| all).zip(squares.clone());
        let time = of_time.map(|(head, squares)| wide(head.forward(squares)));
        let value = self.value.as_ref().zip(squares).map(|(head, squares)| wide(head.forward(squares)));
        Output { moves, value, time, auxiliary: trunked.auxiliary.map(wide) }
    }
}

/// The edges of the kinds in these places among all.
fn of_kinds<B: Kernels>(all: &Tensor<B, 2, Int>, places: &[usize]) -> Tensor<B, 2, Int> {
    let of_kind = 64 * SET_BYTES;
    if places.iter().copied().eq(0..all.dims()[1] / of_kind) {
        return all.clone();
    }
    Tensor::cat(places.iter().map(|place| all.clone().narrow(1, place * of_kind, of_kind)).collect(), 1)
}

fn time_head<B: Kernels>(d: usize, head: TimeHead, device: &B::Device) -> Readout<B> {
    Readout::new(d, (Some(head.compress), Some(head.hidden)), TIME_BINS, Activation::Relu, device)
}
