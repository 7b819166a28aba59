//! Deep-Chess's and Chess-AI's input: what stands on the square, plus the square.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::module::embedding;

use super::super::config::{FLAGS, MEN_CODES, View};
use super::super::input::{Input, Pack};
use super::super::kernels::{Kernels, add_row};
use super::super::linear::normal;
use super::Embedded;
use crate::board::Features;

/// Codes: 64 squares. Values: who is to move, then castling rights (K, Q, k, q), whether there is an en passant square,
/// and its file.
pub(super) fn write(view: View, features: &Features, to: &mut Pack) {
    let black = features.turn.is_black();
    let white_view = view == View::White && black;
    if white_view {
        for square in 0..64_usize {
            // Own men are Black's: seven to twelve in White's view.
            to.codes.push(match features.codes[0][square ^ 56] {
                code @ 1..=6 => code + 6,
                code @ 7..=12 => code - 6,
                code => code,
            });
        }
    } else {
        to.codes.extend(features.codes[0]);
    }
    to.values.push(f32::from(u8::from(black)));
    let castling = if white_view { features.castling_by_colour() } else { features.castling() };
    to.values.extend(castling.map(|right| f32::from(u8::from(right))));
    let mut en_passant = [0.0; 9];
    if let Some(square) = features.en_passant() {
        en_passant[0] = 1.0;
        en_passant[1 + square % 8] = 1.0;
    }
    to.values.extend(en_passant);
}

/// `[CLS]` if asked for, 64 squares from a1, and thirteen tokens that are a bit each if asked for.
#[derive(Module, Debug)]
pub(in crate::network) struct Pieces<B: Kernels> {
    /// `[13, d]`
    men: Param<Tensor<B, 2>>,
    /// `[64, d]`
    squares: Param<Tensor<B, 2>>,
    /// `[1, d]`
    cls: Option<Param<Tensor<B, 2>>>,
    /// Added to every square when Black is to move, where the board is always White's: `[1, d]`.
    turn: Option<Param<Tensor<B, 2>>>,
    flags: bool,
}

impl<B: Kernels> Pieces<B> {
    pub(super) fn new(cls: bool, flags: bool, view: View, d: usize, device: &B::Device) -> Self {
        Pieces {
            men: normal([MEN_CODES, d], 0.7, device),
            squares: normal([64, d], 0.7, device),
            cls: cls.then(|| normal([1, d], 1.0, device)),
            turn: (view == View::White).then(|| normal([1, d], 0.5, device)),
            flags,
        }
    }

    pub(super) fn forward(&self, input: Input<B>) -> Embedded<B> {
        let n = input.n;
        let men = embedding(self.men.val(), input.codes);
        let [_, _, d] = men.dims();
        let mut squares = add_row(men.reshape([n, 64 * d]), self.squares.val().reshape([1, 64 * d]));
        if let Some(turn) = &self.turn {
            let black = input.values.clone().slice([0..n, 0..1]);
            let added = black.matmul(turn.val()).reshape([n, 1, d]).repeat_dim(1, 64);
            squares = squares + added.reshape([n, 64 * d]);
        }
        let mut parts = Vec::with_capacity(3);
        if let Some(cls) = &self.cls {
            parts.push(cls.val().reshape([1, 1, d]).repeat_dim(0, n));
        }
        parts.push(squares.reshape([n, 64, d]));
        if self.flags {
            let flags = input.values.slice([0..n, 1..1 + FLAGS]);
            parts.push(flags.reshape([n, FLAGS, 1]).repeat_dim(2, d));
        }
        let x = if parts.len() == 1 { parts.remove(0) } else { Tensor::cat(parts, 1) };
        let [_, tokens, _] = x.dims();
        Embedded { rows: x.reshape([n * tokens, d]), tokens, mask: None }
    }
}
