//! What is read out: moves, and how the game stands.

use serde::{Deserialize, Serialize};

use super::super::kernels::edges::GATES;
use super::embedding::{Embedding, View};
use super::trunk::Trunk;
use super::{ConfigError, once, range};
use crate::board::{Edge, MOVES, TIME_BINS};

/// What a linear layer over the 1,968 moves reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// The state of the `[CLS]` token.
    Cls,
    /// All 64 squares, one after another.
    Squares,
}

/// How moves are read out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PolicyHead {
    /// From × to attention with a promotion bias (4,352 logits), read out as 1,968 moves.
    FromTo {
        /// Width of the queries and keys.
        dim: usize,
        /// Kinds of edges between squares along which moves have a bias, made from both squares.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edges: Vec<Edge>,
    },
    /// One linear layer to the 1,968 moves.
    Classes {
        /// What it reads.
        reads: Reads,
        /// Numbers that each square is compressed to first (with ReLU), if at all.
        #[serde(default)]
        compress: Option<usize>,
    },
    /// For each square d, GELU, 64 squares to go to: 64 × 64 logits that know no promotion piece but the queen.
    FromToMap,
    /// First the square moved from, then the square moved to, then the promotion piece, each given those before.
    Autoregressive,
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
    /// One number through tanh: win less loss, -1 to 1.
    Tanh {
        /// Numbers that each square is compressed to first, if at all.
        #[serde(default)]
        compress: Option<usize>,
        /// Width of a hidden layer, if there is one.
        #[serde(default)]
        hidden: Option<usize>,
    },
    /// AlphaMinusTwo's: one number, the evaluation in pawns (clamped to ±60) times 4/60.
    Evaluation {
        /// Width of the hidden layer.
        hidden: usize,
    },
    /// Equal bins of the expected score (HL-Gauss; Imani & White 2018, Farebrother et al. 2024).
    Bins {
        /// Numbers that each square is compressed to.
        compress: usize,
        /// Width of the hidden layer.
        hidden: usize,
        /// How many bins.
        count: usize,
    },
    /// Nothing: such a network cannot play by values.
    None,
}

/// How the time that a person takes for a move is read out: logits of [bins](crate::board::time_edge) of the clock's [fair
/// share](crate::board::fair_share).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeHead {
    /// Numbers that each square is compressed to.
    pub compress: usize,
    /// Width of the hidden layer.
    pub hidden: usize,
}

impl PolicyHead {
    pub(super) fn check(&self, embedding: &Embedding, trunk: &Trunk) -> Result<(), ConfigError> {
        let squares = embedding.squares().is_some();
        let unless = |ok, kind, allowed| ConfigError::unless(ok, "policy.kind", kind, allowed);
        match self {
            PolicyHead::FromTo { dim, edges } => {
                range("policy.dim", *dim, 8, 2048)?;
                once("policy.edges", edges)?;
                let seen = squares && embedding.view() == View::Own;
                unless(
                    seen,
                    "from-to",
                    "another kind is allowed unless the embedding has squares seen by the player to move",
                )
            }
            PolicyHead::Classes { reads, compress } => {
                if let Some(compress) = compress {
                    range("policy.compress", *compress, 1, 512)?;
                }
                let (ok, name) = match reads {
                    Reads::Cls => (embedding.cls().is_some() && compress.is_none(), "cls"),
                    Reads::Squares => (squares, "squares"),
                };
                let allowed = "what the embedding has is allowed: cls (without policy.compress) or squares";
                ConfigError::unless(ok, "policy.reads", name, allowed)
            }
            PolicyHead::FromToMap => unless(squares, "from-to-map", "another kind is allowed without squares"),
            PolicyHead::Autoregressive => {
                let ok = matches!((embedding, trunk), (Embedding::Set, Trunk::Encoder { experts: None, .. }));
                unless(ok, "autoregressive", "another kind is allowed unless embedding.kind = set, without experts")
            }
        }
    }

    /// With biases along these kinds of edges, if it goes from square to square.
    pub(in crate::network) fn with_edges(mut self, kinds: &[Edge]) -> PolicyHead {
        if let PolicyHead::FromTo { edges, .. } = &mut self {
            *edges = kinds.to_vec();
        }
        self
    }

    /// The kinds of edges along which it has biases.
    pub fn edges(&self) -> &[Edge] {
        if let PolicyHead::FromTo { edges, .. } = self { edges } else { &[] }
    }

    /// Number of weights, reading rows of width `d`.
    pub(super) fn parameters(&self, d: usize) -> usize {
        match self {
            PolicyHead::FromTo { dim, edges } => 2 * d * dim + dim + 4 * dim + (d + 1) * edges.len() * GATES,
            PolicyHead::Classes { reads: Reads::Cls, .. } => (d + 1) * MOVES,
            PolicyHead::Classes { reads: Reads::Squares, compress } => readout_parameters(d, *compress, None, MOVES),
            PolicyHead::FromToMap => (d + 1) * d + (d + 1) * 64,
            // The start, three places, two roles; squares and promotion pieces.
            PolicyHead::Autoregressive => 6 * d + 64 * d + 4 * d,
        }
    }

    /// Multiply-adds of the matrix products for one position.
    pub(super) fn multiply_adds(&self, d: usize, trunk: &Trunk) -> usize {
        match self {
            PolicyHead::FromTo { dim, edges } => 64 * (2 * d * dim + 64 * dim + d * edges.len() * GATES),
            PolicyHead::Classes { reads: Reads::Cls, .. } => d * MOVES,
            PolicyHead::Classes { reads: Reads::Squares, compress } => readout_multiply_adds(d, *compress, None, MOVES),
            PolicyHead::FromToMap => 64 * (d * d + d * 64),
            // Three more tokens through the trunk: the least, for one move.
            PolicyHead::Autoregressive => trunk.multiply_adds(3) + 3 * 64 * d,
        }
    }
}

impl ValueHead {
    /// Whether there is a value.
    pub fn exists(&self) -> bool {
        *self != ValueHead::None
    }

    /// Numbers put out.
    pub fn outputs(&self) -> usize {
        match self {
            ValueHead::Wdl { .. } => 3,
            ValueHead::Tanh { .. } | ValueHead::Evaluation { .. } => 1,
            ValueHead::Bins { count, .. } => *count,
            ValueHead::None => 0,
        }
    }

    /// Numbers a square is compressed to, width of the hidden layer.
    pub(in crate::network) fn sizes(&self) -> (Option<usize>, Option<usize>) {
        match *self {
            ValueHead::Wdl { compress, hidden } | ValueHead::Bins { compress, hidden, .. } => {
                (Some(compress), Some(hidden))
            }
            ValueHead::Tanh { compress, hidden } => (compress, hidden),
            ValueHead::Evaluation { hidden } => (None, Some(hidden)),
            ValueHead::None => (None, None),
        }
    }

    pub(super) fn check(&self, embedding: &Embedding) -> Result<(), ConfigError> {
        let (compress, hidden) = self.sizes();
        if let Some(compress) = compress {
            range("value.compress", compress, 1, 512)?;
        }
        if let Some(hidden) = hidden {
            range("value.hidden", hidden, 1, 4096)?;
        }
        if let ValueHead::Bins { count, .. } = self {
            range("value.count", *count, 2, 1024)?;
        }
        let ok = !self.exists() || embedding.squares().is_some();
        ConfigError::unless(ok, "value.kind", "a head over squares", "none is allowed where the tokens are no squares")
    }

    /// Number of weights, reading rows of width `d`.
    pub(super) fn parameters(&self, d: usize) -> usize {
        let (compress, hidden) = self.sizes();
        if self.exists() { readout_parameters(d, compress, hidden, self.outputs()) } else { 0 }
    }

    /// Multiply-adds of the matrix products for one position.
    pub(super) fn multiply_adds(&self, d: usize) -> usize {
        let (compress, hidden) = self.sizes();
        if self.exists() { readout_multiply_adds(d, compress, hidden, self.outputs()) } else { 0 }
    }
}

impl TimeHead {
    pub(super) fn check(&self, embedding: &Embedding) -> Result<(), ConfigError> {
        range("time.compress", self.compress, 1, 512)?;
        range("time.hidden", self.hidden, 1, 4096)?;
        let allowed = "nothing is allowed where the tokens are no squares";
        ConfigError::unless(embedding.squares().is_some(), "time", "a table", allowed)
    }

    /// Number of weights, reading rows of width `d`.
    pub(super) fn parameters(&self, d: usize) -> usize {
        readout_parameters(d, Some(self.compress), Some(self.hidden), TIME_BINS)
    }

    /// Multiply-adds of the matrix products for one position.
    pub(super) fn multiply_adds(&self, d: usize) -> usize {
        readout_multiply_adds(d, Some(self.compress), Some(self.hidden), TIME_BINS)
    }
}

fn readout_parameters(d: usize, compress: Option<usize>, hidden: Option<usize>, out: usize) -> usize {
    let first = compress.map_or(0, |c| (d + 1) * c);
    let flat = 64 * compress.unwrap_or(d);
    first + hidden.map_or(0, |h| (flat + 1) * h) + (hidden.unwrap_or(flat) + 1) * out
}

fn readout_multiply_adds(d: usize, compress: Option<usize>, hidden: Option<usize>, out: usize) -> usize {
    let flat = 64 * compress.unwrap_or(d);
    compress.map_or(0, |c| 64 * d * c) + hidden.map_or(0, |h| flat * h) + hidden.unwrap_or(flat) * out
}
