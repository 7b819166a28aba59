//! Zeros and ones: AlphaMinusTwo's, by square, and the planes of convolutions.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::super::config::{BITS, PLANES};
use super::super::input::{Input, Pack};
use super::super::kernels::{Kernels, add_row};
use super::super::linear::{Linear, normal};
use super::Embedded;
use crate::board::Features;

fn bit(set: bool) -> f32 {
    f32::from(u8::from(set))
}

/// 64 × 18: men (PNBRQKpnbrqk), White to move, castling rights (K, Q, k, q), en passant; a1 first, as White sees it.
pub(super) fn write_bits(features: &Features, to: &mut Pack) {
    let black = features.turn.is_black();
    let at = to.values.len();
    to.values.resize(at + 64 * BITS, 0.0);
    let bits = &mut to.values[at..];
    for (square, color, role) in features.men() {
        bits[square * BITS + role + color.fold_wb(0, 6)] = 1.0;
    }
    let castling = features.castling_by_colour();
    for square in bits.chunks_exact_mut(BITS) {
        square[12] = bit(!black);
        castling.iter().zip(&mut square[13..17]).for_each(|(&right, out)| *out = bit(right));
    }
    if let Some(square) = features.en_passant_by_colour() {
        bits[square * BITS + 17] = 1.0;
    }
}

/// 64 × 18: own and enemy men, castling rights (own first), en passant, ones; a1 first, as the player to move sees it.
pub(super) fn write_planes(features: &Features, to: &mut Pack) {
    let castling = features.castling().map(bit);
    let en_passant = features.en_passant();
    for (square, &code) in features.codes[0].iter().enumerate() {
        let at = to.values.len();
        to.values.resize(at + 12, 0.0);
        if (1..=12).contains(&code) {
            to.values[at + usize::from(code) - 1] = 1.0;
        }
        to.values.extend(castling);
        to.values.extend([bit(en_passant == Some(square)), 1.0]);
    }
}

/// A linear layer of the square's bits, plus a vector of the square.
#[derive(Module, Debug)]
pub(in crate::network) struct Bits<B: Kernels> {
    bits: Linear<B>,
    /// `[64, d]`
    squares: Param<Tensor<B, 2>>,
}

impl<B: Kernels> Bits<B> {
    pub(super) fn new(d: usize, device: &B::Device) -> Self {
        Bits { bits: Linear::new(BITS, d, 1.5, true, device), squares: normal([64, d], 0.7, device) }
    }

    pub(super) fn forward(&self, input: Input<B>) -> Embedded<B> {
        let n = input.n;
        let x = self.bits.forward(input.values.reshape([n * 64, BITS]));
        let [_, d] = x.dims();
        let x = add_row(x.reshape([n, 64 * d]), self.squares.val().reshape([1, 64 * d]));
        Embedded { rows: x.reshape([n * 64, d]), tokens: 64, mask: None }
    }
}

/// The planes as they are: the trunk's first convolution reads them.
#[derive(Module, Clone, Debug, Default)]
pub(in crate::network) struct Planes;

impl Planes {
    pub(super) fn forward<B: Kernels>(&self, input: Input<B>) -> Embedded<B> {
        Embedded { rows: input.values.reshape([input.n * 64, PLANES]), tokens: 64, mask: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Conditions, Game};

    #[test]
    fn bits_are_whites_and_planes_the_players() {
        let game = Game::from_fen("4k3/8/8/8/3pP3/8/8/4K2R b K e3 0 1").expect("legal");
        let features = Features::of(&game, &Conditions::default());
        let mut pack = Pack::default();
        write_bits(&features, &mut pack);
        let of = |values: &[f32], square: usize| -> Vec<usize> {
            (0..18).filter(|&i| values[square * 18 + i] == 1.0).collect()
        };
        assert_eq!(of(&pack.values, 4), [5, 13], "White's king; White may castle short");
        assert_eq!(of(&pack.values, 27), [6, 13], "Black's pawn on d4");
        assert_eq!(of(&pack.values, 20), [13, 17], "e3");
        let mut pack = Pack::default();
        write_planes(&features, &mut pack);
        assert_eq!(of(&pack.values, 4), [5, 14, 17], "Black's king at the bottom; the other may castle short");
        assert_eq!(of(&pack.values, 44), [14, 16, 17], "e3, turned over");
    }
}
