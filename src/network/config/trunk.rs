//! The body of a network.

use serde::{Deserialize, Serialize};

use super::super::kernels::edges::GATES;
use super::embedding::{Embedding, PLANES};
use super::{ConfigError, once, range};
use crate::board::Edge;

/// Normalisation before each part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Division by the root mean square; the gain is left to the linear layer that follows.
    Rms,
    /// Division by the root mean square, with a gain of its own.
    RmsGain,
    /// Layer normalisation with gain and shift.
    Layer,
}

impl Norm {
    /// Number of weights for rows of width `d`.
    pub(super) fn parameters(self, d: usize) -> usize {
        match self {
            Norm::Rms => 0,
            Norm::RmsGain => d,
            Norm::Layer => 2 * d,
        }
    }
}

/// Activation of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// x · Φ(x).
    Gelu,
    /// The same by GPT-2's formula with tanh.
    GeluTanh,
    /// silu(x·G) ∘ (x·U): two matrices instead of one (Shazeer's GLU variants).
    SwiGlu,
}

/// Which linear layers of a block have biases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Biases {
    /// All but the keys', which softmax cannot see.
    #[default]
    Useful,
    /// All.
    All,
    /// None.
    None,
}

/// A map added to the attention logits, made from the board (lc0's smolgen; "GAB").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smolgen {
    /// Numbers that each square is compressed to.
    pub compress: usize,
    /// Width of the summary of the board.
    pub hidden: usize,
    /// Numbers a head that are expanded, by one matrix shared by all blocks, to 64 × 64.
    pub generate: usize,
}

/// A mixture of experts in the place of the feed-forward part: each token goes to the one that its router likes best
/// (Switch Transformer, Fedus et al. 2021).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// How many.
    pub count: usize,
    /// In training an expert takes at most `capacity` times its even share of the tokens; the others pass by.
    pub capacity: f32,
    /// Weight of the loss that spreads the tokens over the experts.
    pub balance: f32,
    /// Weight of the loss that keeps the router's logits small.
    pub router_z: f32,
}

/// The body of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trunk {
    /// Pre-norm transformer encoder.
    Encoder {
        /// Blocks.
        layers: usize,
        /// Width.
        d_model: usize,
        /// Attention heads.
        heads: usize,
        /// Width inside the feed-forward part.
        ffn: usize,
        /// Normalisation.
        norm: Norm,
        /// Activation.
        activation: Activation,
        /// Which linear layers have biases.
        #[serde(default)]
        biases: Biases,
        /// Normalisation before the first block too; after the last there always is one.
        #[serde(default)]
        input_norm: bool,
        /// A learned bias a head on the attention logits, token by token.
        #[serde(default)]
        static_bias: bool,
        /// A bias made from the board, a map a head.
        #[serde(default)]
        smolgen: Option<Smolgen>,
        /// Kinds of edges between squares: along each both logits have a bias, made from both squares.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edges: Vec<Edge>,
        /// A bias made from the `[CLS]` state by one matrix that all blocks share, the same map for every head.
        #[serde(default)]
        cls_map: bool,
        /// Experts in place of the feed-forward part.
        #[serde(default)]
        experts: Option<Experts>,
    },
    /// AlphaZero's tower of residual blocks of two 3 × 3 convolutions. Normalised within each position instead of within
    /// the batch, so that a position's evaluation does not depend on its company.
    Residual {
        /// Blocks.
        blocks: usize,
        /// Channels.
        channels: usize,
    },
}

impl Trunk {
    /// Width of the rows that the heads read.
    pub fn d_model(&self) -> usize {
        match self {
            Trunk::Encoder { d_model, .. } => *d_model,
            Trunk::Residual { channels, .. } => *channels,
        }
    }

    /// With so many blocks, if it is an encoder that has fewer.
    pub(in crate::network) fn deeper(mut self, wanted: usize) -> Trunk {
        if let Trunk::Encoder { layers, .. } = &mut self {
            *layers = wanted.max(*layers);
        }
        self
    }

    /// The same with so many hidden numbers in each feed-forward part, if it is an encoder that has fewer.
    pub(in crate::network) fn wider(mut self, wanted: usize) -> Trunk {
        if let Trunk::Encoder { ffn, .. } = &mut self {
            *ffn = wanted.max(*ffn);
        }
        self
    }

    /// With biases by these kinds of edges, if it is an encoder.
    pub(in crate::network) fn with_edges(mut self, kinds: &[Edge]) -> Trunk {
        if let Trunk::Encoder { edges, .. } = &mut self {
            *edges = kinds.to_vec();
        }
        self
    }

    /// The kinds of edges that it is shown.
    pub fn edges(&self) -> &[Edge] {
        match self {
            Trunk::Encoder { edges, .. } => edges,
            Trunk::Residual { .. } => &[],
        }
    }

    pub(super) fn check(&self, embedding: &Embedding) -> Result<(), ConfigError> {
        let planes = matches!(embedding, Embedding::Planes);
        match self {
            Trunk::Encoder { layers, d_model, heads, ffn, static_bias, smolgen, edges, cls_map, experts, .. } => {
                range("trunk.layers", *layers, 1, 64)?;
                range("trunk.d_model", *d_model, 8, 2048)?;
                range("trunk.heads", *heads, 1, 64)?;
                range("trunk.ffn", *ffn, 8, 8192)?;
                if d_model % heads != 0 {
                    let allowed = format!("a divisor of d_model = {d_model} is allowed");
                    return Err(ConfigError::new("trunk.heads", heads, allowed));
                }
                let only_squares = embedding.squares() == Some(0) && embedding.tokens() == 64;
                if let Some(s) = smolgen {
                    range("trunk.smolgen.compress", s.compress, 1, 256)?;
                    range("trunk.smolgen.hidden", s.hidden, 1, 2048)?;
                    range("trunk.smolgen.generate", s.generate, 1, 1024)?;
                }
                ConfigError::unless(
                    smolgen.is_none() || only_squares,
                    "trunk.smolgen",
                    "a table",
                    "nothing is allowed where the tokens are not the 64 squares",
                )?;
                ConfigError::unless(
                    !static_bias || !matches!(embedding, Embedding::Set),
                    "trunk.static_bias",
                    "true",
                    "false is allowed where tokens have no fixed place",
                )?;
                ConfigError::unless(
                    edges.is_empty() || embedding.shows_own_squares(),
                    "trunk.edges",
                    "a list",
                    "nothing is allowed where the tokens are not the 64 squares as the player to move sees them",
                )?;
                once("trunk.edges", edges)?;
                ConfigError::unless(
                    !cls_map || embedding.cls().is_some(),
                    "trunk.cls_map",
                    "true",
                    "false is allowed where the embedding has no [CLS] token",
                )?;
                if let Some(e) = experts {
                    range("trunk.experts.count", e.count, 2, 128)?;
                    let sound = |x: f32, low: f32| x.is_finite() && x >= low && x <= 100.0;
                    for (field, value, low, allowed) in [
                        ("trunk.experts.capacity", e.capacity, 0.1, "0.1 to 100 are allowed"),
                        ("trunk.experts.balance", e.balance, 0.0, "0 to 100 are allowed"),
                        ("trunk.experts.router_z", e.router_z, 0.0, "0 to 100 are allowed"),
                    ] {
                        ConfigError::unless(sound(value, low), field, value, allowed)?;
                    }
                }
                ConfigError::unless(
                    !planes,
                    "trunk.kind",
                    "encoder",
                    "residual is allowed with embedding.kind = planes",
                )
            }
            Trunk::Residual { blocks, channels } => {
                range("trunk.blocks", *blocks, 1, 64)?;
                range("trunk.channels", *channels, 8, 1024)?;
                ConfigError::unless(
                    planes,
                    "trunk.kind",
                    "residual",
                    "encoder is allowed unless embedding.kind = planes",
                )
            }
        }
    }

    /// Number of weights.
    pub(super) fn parameters(&self, tokens: usize) -> usize {
        match self {
            Trunk::Encoder {
                layers,
                d_model: d,
                heads,
                norm,
                biases,
                input_norm,
                static_bias,
                smolgen,
                edges,
                cls_map,
                experts,
                ..
            } => {
                let (shared, maps) = smolgen.as_ref().map_or((0, 0), |s| {
                    let generate = heads * s.generate;
                    let maps = d * s.compress + (64 * s.compress + 1) * s.hidden + (s.hidden + 1) * generate;
                    (s.generate * 4096, maps)
                });
                let attention_biases = match biases {
                    Biases::Useful => 3 * d,
                    Biases::All => 4 * d,
                    Biases::None => 0,
                };
                let attention = 4 * d * d + attention_biases;
                let fixed = if *static_bias { heads * tokens * tokens } else { 0 };
                let gates = (d + 1) * edges.len() * GATES * heads;
                let ffn = self.ffn_parameters() * experts.map_or(1, |e| e.count) + experts.map_or(0, |e| d * e.count);
                let block = attention + fixed + maps + gates + ffn + 2 * norm.parameters(*d);
                let cls = if *cls_map { (d + 1) * tokens * tokens } else { 0 };
                shared + cls + layers * block + norm.parameters(*d) * (1 + usize::from(*input_norm))
            }
            Trunk::Residual { blocks, channels: c } => {
                let convolution = |from: usize| 9 * from * c + 2 * c;
                convolution(PLANES) + 2 * blocks * convolution(*c)
            }
        }
    }

    /// Weights of one feed-forward part.
    fn ffn_parameters(&self) -> usize {
        match self {
            Trunk::Encoder { d_model: d, ffn, activation, biases, .. } => {
                let matrices = if *activation == Activation::SwiGlu { 3 } else { 2 };
                matrices * d * ffn + if *biases == Biases::None { 0 } else { (matrices - 1) * ffn + d }
            }
            Trunk::Residual { .. } => 0,
        }
    }

    /// Multiply-adds of the matrix products for one position.
    pub(super) fn multiply_adds(&self, tokens: usize) -> usize {
        match self {
            Trunk::Encoder { layers, d_model: d, heads, ffn, activation, smolgen, edges, cls_map, .. } => {
                let maps = smolgen.as_ref().map_or(0, |s| {
                    let generate = heads * s.generate;
                    64 * d * s.compress + 64 * s.compress * s.hidden + s.hidden * generate + generate * 4096
                });
                let cls = if *cls_map { d * tokens * tokens } else { 0 };
                let matrices = if *activation == Activation::SwiGlu { 3 } else { 2 };
                let gates = tokens * d * edges.len() * GATES * heads;
                let block = tokens * (4 * d * d + matrices * d * ffn) + 2 * tokens * tokens * d + maps + gates + cls;
                layers * block
            }
            Trunk::Residual { blocks, channels: c } => 64 * 9 * c * (PLANES + 2 * blocks * c),
        }
    }
}
