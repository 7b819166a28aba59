//! From a position to rows of numbers, one row a token: every kind of input that a config can name.

mod bits;
mod fen;
mod pieces;
mod set;
pub(super) mod squares;

use burn::module::Module;
use burn::tensor::Tensor;

use super::config;
use super::input::{Input, Pack};
use super::kernels::Kernels;
use crate::board::Features;

pub(super) use set::Set;

/// Lays out a position for the embedding that a config names.
pub(super) fn write(config: &config::Embedding, features: &Features, to: &mut Pack) {
    match *config {
        config::Embedding::Squares { boards, attacks } => squares::write(boards, attacks, features, to),
        config::Embedding::Pieces { view, .. } => pieces::write(view, features, to),
        config::Embedding::Fen => fen::write(features, to),
        config::Embedding::Set => set::write(features, to),
        config::Embedding::Bits => bits::write_bits(features, to),
        config::Embedding::Planes => bits::write_planes(features, to),
    }
}

/// A batch as rows.
pub(super) struct Embedded<B: Kernels> {
    /// `[batch × tokens, width]`
    pub(super) rows: Tensor<B, 2>,
    /// Tokens of a position.
    pub(super) tokens: usize,
    /// Zero for a token that is there, a large negative number for one that is not: `[batch, tokens]`.
    pub(super) mask: Option<Tensor<B, 2>>,
}

/// The embedding that a config names.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a network: nothing is gained by a box")]
pub(super) enum Embedding<B: Kernels> {
    Squares(squares::Squares<B>),
    Pieces(pieces::Pieces<B>),
    Fen(fen::Fen<B>),
    Set(Set<B>),
    Bits(bits::Bits<B>),
    Planes(bits::Planes),
}

impl<B: Kernels> Embedding<B> {
    pub(super) fn new(config: &config::Embedding, d: usize, device: &B::Device) -> Self {
        match *config {
            config::Embedding::Squares { boards, attacks } => {
                Embedding::Squares(squares::Squares::new(boards, attacks, d, device))
            }
            config::Embedding::Pieces { cls, flags, view } => {
                Embedding::Pieces(pieces::Pieces::new(cls, flags, view, d, device))
            }
            config::Embedding::Fen => Embedding::Fen(fen::Fen::new(d, device)),
            config::Embedding::Set => Embedding::Set(Set::new(d, device)),
            config::Embedding::Bits => Embedding::Bits(bits::Bits::new(d, device)),
            config::Embedding::Planes => Embedding::Planes(bits::Planes),
        }
    }

    /// With what men attack, if it is Glance's: that counts for nothing yet.
    pub(super) fn with_attacks(self) -> Self {
        match self {
            Embedding::Squares(e) => Embedding::Squares(e.with_attacks()),
            other => other,
        }
    }

    pub(super) fn forward(&self, input: Input<B>) -> Embedded<B> {
        match self {
            Embedding::Squares(e) => e.forward(input),
            Embedding::Pieces(e) => e.forward(input),
            Embedding::Fen(e) => e.forward(input),
            Embedding::Set(e) => e.forward(input),
            Embedding::Bits(e) => e.forward(input),
            Embedding::Planes(e) => e.forward(input),
        }
    }
}

/// The tables that suffix tokens share with men, where the embedding has them.
impl<B: Kernels> Embedding<B> {
    pub(super) fn set(&self) -> Option<&Set<B>> {
        match self {
            Embedding::Set(set) => Some(set),
            _ => None,
        }
    }
}
