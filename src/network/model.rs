//! The whole network.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::block::{Block, Sizes, norm};
use super::config::{Config, Embedding, PolicyHead, Trunk, ValueHead};
use super::embedding::SquareEmbedding;
use super::heads::{FromTo, Wdl};
use super::input::Input;
use super::kernels::Kernels;
use super::linear::normal;

/// What the network says of a batch.
#[derive(Clone, Debug)]
pub struct Output<B: Kernels> {
    /// Logits of the 1,968 moves, as the player to move sees them: `[batch, 1968]`. Not masked.
    pub policy: Tensor<B, 2>,
    /// Logits of win, draw and loss for the player to move: `[batch, 3]`.
    pub value: Tensor<B, 2>,
}

/// A network, built from its [`Config`].
#[derive(Module, Debug)]
pub struct Network<B: Kernels> {
    embedding: SquareEmbedding<B>,
    blocks: Vec<Block<B>>,
    /// The matrix that expands the generators' codes to maps: `[generate, 64 × 64]`.
    shared_map: Option<Param<Tensor<B, 2>>>,
    policy: FromTo<B>,
    value: Wdl<B>,
}

impl<B: Kernels> Network<B> {
    /// A network with random weights. The config is to be [checked](Config::check) before.
    pub fn new(config: &Config, device: &B::Device) -> Network<B> {
        let Embedding::Squares { boards } = config.embedding;
        let Trunk::Encoder { layers, d_model, heads, ffn, activation, static_bias, ref smolgen, .. } = config.trunk;
        let sizes = Sizes { layers, d: d_model, heads, ffn, activation, static_bias, smolgen: smolgen.as_ref() };
        let PolicyHead::FromTo { dim } = config.policy;
        let ValueHead::Wdl { compress, hidden } = config.value;
        Network {
            embedding: SquareEmbedding::new(boards, d_model, device),
            blocks: (0..layers).map(|_| Block::new(&sizes, device)).collect(),
            shared_map: smolgen
                .as_ref()
                .map(|s| normal([s.generate, 64 * 64], 0.3 / (s.generate as f64).sqrt(), device)),
            policy: FromTo::new(d_model, dim, device),
            value: Wdl::new(d_model, compress, hidden, device),
        }
    }

    /// Looks at a batch of positions.
    pub fn forward(&self, input: Input<B>) -> Output<B> {
        let mut x = self.embedding.forward(input);
        let shared = self.shared_map.as_ref().map(Param::val);
        for block in &self.blocks {
            x = block.forward(x, shared.clone());
        }
        let x = norm(x);
        Output { policy: self.policy.forward(x.clone()), value: self.value.forward(x) }
    }
}
