//! What a network is made of. The config travels inside the weights file.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::board::BOARDS;

/// A config that no network can be built from.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("network config: {field} is {value}: {allowed}")]
pub struct ConfigError {
    /// The field, with its table.
    pub field: &'static str,
    /// What it was.
    pub value: usize,
    /// What it may be.
    pub allowed: String,
}

/// How a position becomes one vector a square.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Embedding {
    /// Glance's: the men of each board of history, marks, a learned vector a square, and the conditions on every square.
    Squares {
        /// Boards of history looked at, this one included: 1 to 8.
        boards: usize,
    },
}

/// Normalisation before each part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Division by the root mean square; the gain is left to the linear layer that follows.
    Rms,
}

/// Activation of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// x · Φ(x).
    Gelu,
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

/// The body of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        /// A learned 64 × 64 bias a head on the attention logits.
        static_bias: bool,
        /// A bias made from the board.
        smolgen: Option<Smolgen>,
    },
}

/// How moves are read out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PolicyHead {
    /// From × to attention with a promotion bias (4,352 logits), read out as 1,968 moves.
    FromTo {
        /// Width of the queries and keys.
        dim: usize,
    },
}

/// How the game's outcome is read out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ValueHead {
    /// Win, draw and loss logits.
    Wdl {
        /// Numbers that each square is compressed to.
        compress: usize,
        /// Width of the hidden layer.
        hidden: usize,
    },
}

/// A whole network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The system's name, for people.
    pub system: String,
    /// Input.
    pub embedding: Embedding,
    /// Body.
    pub trunk: Trunk,
    /// Moves.
    pub policy: PolicyHead,
    /// Outcome.
    pub value: ValueHead,
}

impl Config {
    /// Glance's own system at a given size.
    pub fn glance(layers: usize, d_model: usize, heads: usize, ffn: usize) -> Config {
        Config {
            system: "glance".into(),
            embedding: Embedding::Squares { boards: BOARDS },
            trunk: Trunk::Encoder {
                layers,
                d_model,
                heads,
                ffn,
                norm: Norm::Rms,
                activation: Activation::Relu,
                static_bias: true,
                smolgen: Some(Smolgen { compress: 8, hidden: 64, generate: 32 }),
            },
            policy: PolicyHead::FromTo { dim: d_model },
            value: ValueHead::Wdl { compress: 16, hidden: 64 },
        }
    }

    /// The smallest network that has every piece: for tests.
    pub fn tiny() -> Config {
        Config::glance(1, 32, 2, 32)
    }

    /// Checks that a network of this config can be built, and is of a size that this program is willing to hold.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |field, value, low: usize, high: usize| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(ConfigError { field, value, allowed: format!("{low} to {high} are allowed") })
            }
        };
        let Embedding::Squares { boards } = self.embedding;
        range("embedding.boards", boards, 1, BOARDS)?;
        let Trunk::Encoder { layers, d_model, heads, ffn, ref smolgen, .. } = self.trunk;
        range("trunk.layers", layers, 1, 64)?;
        range("trunk.d_model", d_model, 8, 2048)?;
        range("trunk.heads", heads, 1, 64)?;
        range("trunk.ffn", ffn, 8, 8192)?;
        if d_model % heads != 0 {
            return Err(ConfigError {
                field: "trunk.heads",
                value: heads,
                allowed: format!("a divisor of d_model = {d_model} is allowed"),
            });
        }
        if let Some(s) = smolgen {
            range("trunk.smolgen.compress", s.compress, 1, 256)?;
            range("trunk.smolgen.hidden", s.hidden, 1, 2048)?;
            range("trunk.smolgen.generate", s.generate, 1, 1024)?;
        }
        let PolicyHead::FromTo { dim } = self.policy;
        range("policy.dim", dim, 8, 2048)?;
        let ValueHead::Wdl { compress, hidden } = self.value;
        range("value.compress", compress, 1, 512)?;
        range("value.hidden", hidden, 1, 4096)
    }

    /// Width of the trunk.
    pub fn d_model(&self) -> usize {
        let Trunk::Encoder { d_model, .. } = self.trunk;
        d_model
    }

    /// Number of weights.
    pub fn parameters(&self) -> usize {
        let Trunk::Encoder { layers, d_model: d, heads, ffn, static_bias, ref smolgen, .. } = self.trunk;
        let Embedding::Squares { boards } = self.embedding;
        let embedding = d * (boards * crate::board::CODES + crate::board::MARKS + 64 + crate::board::GLOBALS);
        let (shared, maps) = smolgen.as_ref().map_or((0, 0), |s| {
            let generate = heads * s.generate;
            let maps = d * s.compress + (64 * s.compress + 1) * s.hidden + (s.hidden + 1) * generate;
            (s.generate * 4096, maps)
        });
        let attention = 4 * d * d + 3 * d + if static_bias { heads * 4096 } else { 0 } + maps;
        let block = attention + 2 * d * ffn + ffn + d;
        let PolicyHead::FromTo { dim } = self.policy;
        let ValueHead::Wdl { compress, hidden } = self.value;
        let policy = 2 * d * dim + dim + 4 * dim;
        let value = (d + 1) * compress + (64 * compress + 1) * hidden + (hidden + 1) * 3;
        embedding + shared + layers * block + policy + value
    }

    /// Multiply-adds of the matrix products for one position, to compare sizes.
    pub fn multiply_adds(&self) -> usize {
        let Trunk::Encoder { layers, d_model: d, heads, ffn, ref smolgen, .. } = self.trunk;
        let Embedding::Squares { boards } = self.embedding;
        let maps = smolgen.as_ref().map_or(0, |s| {
            64 * d * s.compress + 64 * s.compress * s.hidden + s.hidden * heads * s.generate + heads * s.generate * 4096
        });
        let block = 64 * (4 * d * d + 2 * d * ffn) + 2 * 64 * 64 * d + maps;
        let PolicyHead::FromTo { dim } = self.policy;
        let ValueHead::Wdl { compress, hidden } = self.value;
        64 * boards * crate::board::CODES * d
            + layers * block
            + 64 * (2 * d * dim + 64 * dim)
            + 64 * compress * (d + hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_named() {
        let mut config = Config::tiny();
        assert_eq!(config.check(), Ok(()));
        let Trunk::Encoder { heads, .. } = &mut config.trunk;
        *heads = 3;
        assert_eq!(
            config.check().expect_err("3 does not divide 32").to_string(),
            "network config: trunk.heads is 3: a divisor of d_model = 32 is allowed"
        );
        config = Config::glance(1_000_000, 32, 2, 32);
        assert!(config.check().expect_err("too many layers").to_string().contains("1 to 64"));
    }

    #[test]
    fn config_survives_json() {
        let config = Config::tiny();
        let text = serde_json::to_string(&config).expect("serialises");
        assert_eq!(serde_json::from_str::<Config>(&text).expect("parses"), config);
        assert!(serde_json::from_str::<Config>(&text.replace("from-to", "from-two")).is_err());
    }
}
