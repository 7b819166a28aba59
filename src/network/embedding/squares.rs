//! Glance's input: a vector a square.

use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor};

use super::super::input::{Input, Pack};
use super::super::kernels::{Kernels, add_row};
use super::super::linear::{Linear, normal};
use super::Embedded;
use crate::board::{ATTACKS, CODES, Features, GLOBALS, MARKS, attacked};

/// Codes: 64 squares × boards, then 64 squares × marks, then 64 squares × what men attack, if that is asked for. Values: the globals.
pub(super) fn write(boards: usize, attacks: bool, features: &Features, to: &mut Pack) {
    for square in 0..64 {
        to.codes.extend(features.codes[..boards].iter().map(|board| board[square]));
    }
    write_bits(&features.marks, to);
    if attacks {
        write_bits(&attacked(&features.codes[0]), to);
    }
    to.values.extend_from_slice(&features.globals);
}

/// Which of the sets each square is in.
fn write_bits(sets: &[u64], to: &mut Pack) {
    for square in 0..64 {
        to.codes.extend(sets.iter().map(|bits| (bits >> square & 1) as u8));
    }
}

/// Sum of: the men on the square on each board, the square's marks, what attacks it, a vector of the square, and the
/// conditions (the same on every square).
#[derive(Module, Debug)]
pub(in crate::network) struct Squares<B: Kernels> {
    /// `[boards × 14, d]`
    pub(in crate::network) men: Linear<B>,
    pub(in crate::network) marks: Linear<B>,
    /// `[24, d]`
    pub(in crate::network) attacks: Option<Linear<B>>,
    /// `[64, d]`
    pub(in crate::network) squares: Param<Tensor<B, 2>>,
    pub(in crate::network) globals: Linear<B>,
    pub(in crate::network) boards: usize,
}

impl<B: Kernels> Squares<B> {
    pub(super) fn new(boards: usize, attacks: bool, d: usize, device: &B::Device) -> Self {
        Squares {
            // One code of each board is set, so the sum of `boards` rows is to have deviation one.
            men: Linear::new(boards * CODES, d, (CODES as f64).sqrt(), false, device),
            marks: Linear::new(MARKS, d, 1.0, false, device),
            attacks: attacks.then(|| Linear::new(ATTACKS, d, 1.0, false, device)),
            squares: normal([64, d], 0.5, device),
            globals: Linear::new(GLOBALS, d, 1.0, false, device),
            boards,
        }
    }

    /// With what men attack, which counts for nothing yet.
    pub(super) fn with_attacks(self) -> Self {
        let ([_, d], device) = (self.marks.weight.dims(), self.marks.weight.device());
        let attacks = self.attacks.unwrap_or_else(|| Linear::new(ATTACKS, d, 1.0, false, &device).silent());
        Squares { attacks: Some(attacks), ..self }
    }

    pub(super) fn forward(&self, input: Input<B>) -> Embedded<B> {
        let n = input.n;
        let (cells, of_men) = (n * 64 * self.boards, 64 * self.boards);
        let codes = input.codes.clone().slice([0..n, 0..of_men]).reshape([cells, 1]);
        let alphabet = Tensor::<B, 1, Int>::arange(0..CODES as i64, &codes.device()).reshape([1, CODES]);
        let one_hot = codes.expand([cells, CODES]).equal(alphabet.expand([cells, CODES])).float();
        let men = self.men.forward(one_hot.reshape([n * 64, self.boards * CODES]));
        let [_, d] = men.dims();
        let bits = |from: usize, sets: usize| {
            input.codes.clone().slice([0..n, from..from + 64 * sets]).float().reshape([n * 64, sets])
        };
        let mut squares = self.marks.forward(bits(of_men, MARKS)) + men;
        if let Some(attacks) = &self.attacks {
            squares = squares + attacks.forward(bits(of_men + 64 * MARKS, ATTACKS));
        }
        let squares = add_row(squares.reshape([n, 64 * d]), self.squares.val().reshape([1, 64 * d]));
        let everywhere = self.globals.forward(input.values).reshape([n, 1, d]).repeat_dim(1, 64);
        let rows = squares.reshape([n * 64, d]) + everywhere.reshape([n * 64, d]);
        Embedded { rows, tokens: 64, mask: None }
    }
}
