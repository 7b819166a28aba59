//! How a position becomes rows of numbers: the kinds of input.

use serde::{Deserialize, Serialize};

use super::{ConfigError, range};
use crate::board::{ATTACKS, BOARDS, CODES, GLOBALS, MARKS};

/// Who is at the bottom of the board that a network sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// The player to move: men are own or enemy, and moves are named as that player sees them.
    #[default]
    Own,
    /// White, always: men are white or black, and moves are named as in UCI.
    White,
}

/// How a position becomes rows of numbers, one row a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Embedding {
    /// Glance's: the men of each board of history, marks, a learned vector a square, and the conditions on every square.
    Squares {
        /// Boards of history looked at, this one included: 1 to 8.
        boards: usize,
        /// What men attack too ([`attacked`](crate::board::attacked)).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        attacks: bool,
    },
    /// Deep-Chess's and Chess-AI's: a vector of what stands on the square plus one of the square.
    Pieces {
        /// A `[CLS]` token before the squares.
        #[serde(default)]
        cls: bool,
        /// Thirteen tokens after the squares: castling rights, en passant and its file, each bit on a whole token.
        #[serde(default)]
        flags: bool,
        /// Who is at the bottom.
        #[serde(default)]
        view: View,
    },
    /// MicroChess's 80 tokens, straight from the FEN: `[CLS]`, 64 squares from a8, `[SEP]`, side, castling, en passant, clocks.
    Fen,
    /// Chessformer's: a token of the position, five of its conditions, and one for each of up to 32 men.
    Set,
    /// AlphaMinusTwo's: 18 zeros and ones a square.
    Bits,
    /// Bit planes for convolutions: 12 of men, 4 of castling rights, en passant, and ones.
    Planes,
}

/// Kinds of token in a FEN (MicroChess's vocabulary).
pub(in crate::network) const FEN_VOCABULARY: usize = 51;
/// Tokens of a FEN.
pub(in crate::network) const FEN_TOKENS: usize = 80;
/// Men at most.
pub(in crate::network) const MEN: usize = 32;
/// Tokens before the men: the position, two ratings, two clocks, the increment.
pub(in crate::network) const CONDITIONS: usize = 6;
/// What the token of the position sums: side to move (2), castling rights (4), file of en passant (8).
pub(in crate::network) const META: usize = 14;
/// Bits a square.
pub(in crate::network) const BITS: usize = 18;
/// Bit planes.
pub(in crate::network) const PLANES: usize = 18;
/// Tokens of castling rights and en passant.
pub(in crate::network) const FLAGS: usize = 13;
/// Of a square: empty, six of one side, six of the other.
pub(in crate::network) const MEN_CODES: usize = 13;
/// Brackets of ratings, clocks and increments that `Set` blends (chessformer's).
pub(in crate::network) const RATING_BRACKETS: usize = 35;
pub(in crate::network) const CLOCK_BRACKETS: &[f32] =
    &[0., 5., 10., 20., 30., 60., 120., 180., 300., 600., 1200., 3600., 10800.];
pub(in crate::network) const INCREMENT_BRACKETS: &[f32] = &[0., 1., 3., 5., 10., 30., 60.];

impl Embedding {
    /// Who is at the bottom.
    pub fn view(&self) -> View {
        match self {
            Embedding::Squares { .. } | Embedding::Planes => View::Own,
            Embedding::Pieces { view, .. } => *view,
            Embedding::Fen | Embedding::Set | Embedding::Bits => View::White,
        }
    }

    /// Tokens of a position, at most.
    pub fn tokens(&self) -> usize {
        match self {
            Embedding::Squares { .. } | Embedding::Bits | Embedding::Planes => 64,
            Embedding::Pieces { cls, flags, .. } => 64 + usize::from(*cls) + if *flags { FLAGS } else { 0 },
            Embedding::Fen => FEN_TOKENS,
            Embedding::Set => CONDITIONS + MEN,
        }
    }

    /// Place of the token that sums the position up, if there is one.
    pub(in crate::network) fn cls(&self) -> Option<usize> {
        match self {
            Embedding::Pieces { cls: true, .. } | Embedding::Fen => Some(0),
            _ => None,
        }
    }

    /// Place of the first of 64 tokens that are the squares, a1 first, if there are such.
    pub(in crate::network) fn squares(&self) -> Option<usize> {
        match self {
            Embedding::Pieces { cls, .. } => Some(usize::from(*cls)),
            Embedding::Squares { .. } | Embedding::Bits | Embedding::Planes => Some(0),
            Embedding::Fen | Embedding::Set => None,
        }
    }

    /// Whether the tokens are the squares, as the player to move sees them, and no others.
    pub(in crate::network) fn shows_own_squares(&self) -> bool {
        self.squares() == Some(0) && self.tokens() == 64 && self.view() == View::Own
    }

    /// With [what men attack](crate::board::attacked), if it is Glance's.
    pub(in crate::network) fn with_attacks(mut self) -> Embedding {
        if let Embedding::Squares { attacks, .. } = &mut self {
            *attacks = true;
        }
        self
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Embedding::Squares { boards, .. } => range("embedding.boards", *boards, 1, BOARDS),
            _ => Ok(()),
        }
    }

    /// Number of weights, for rows of width `d`.
    pub(super) fn parameters(&self, d: usize) -> usize {
        match self {
            Embedding::Squares { boards, attacks } => {
                d * (boards * CODES + MARKS + ATTACKS * usize::from(*attacks) + 64 + GLOBALS)
            }
            Embedding::Pieces { cls, view, .. } => {
                d * (MEN_CODES + 64 + usize::from(*cls) + usize::from(*view == View::White))
            }
            Embedding::Fen => d * (FEN_VOCABULARY + FEN_TOKENS),
            Embedding::Set => {
                // Colours, kinds, files, ranks; the position; a role for the increment; ratings and increments have an
                // "unknown" of their own.
                d * (2
                    + 6
                    + 8
                    + 8
                    + META
                    + 1
                    + RATING_BRACKETS
                    + 1
                    + CLOCK_BRACKETS.len()
                    + INCREMENT_BRACKETS.len()
                    + 1)
            }
            Embedding::Bits => d * (BITS + 1 + 64),
            Embedding::Planes => 0,
        }
    }

    /// Multiply-adds of a position.
    pub(super) fn multiply_adds(&self, d: usize) -> usize {
        match self {
            Embedding::Squares { boards, attacks } => 64 * (boards * CODES + ATTACKS * usize::from(*attacks)) * d,
            Embedding::Bits => 64 * BITS * d,
            _ => 0,
        }
    }
}
