//! Glance's input: a vector a square.

use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor};

use super::super::input::{Input, Pack};
use super::super::kernels::{Kernels, add_row};
use super::super::linear::{Linear, normal};
use super::Embedded;
use crate::board::{CODES, Features, GLOBALS, MARKS};

/// Codes: 64 squares × boards, then 64 squares × marks. Values: the globals.
pub(super) fn write(boards: usize, features: &Features, to: &mut Pack) {
    for square in 0..64 {
        to.codes.extend(features.codes[..boards].iter().map(|board| board[square]));
    }
    for square in 0..64 {
        to.codes.extend(features.marks.iter().map(|bits| (bits >> square & 1) as u8));
    }
    to.values.extend_from_slice(&features.globals);
}

/// Sum of: the men on the square on each board, the square's marks, a vector of the square, and the
/// conditions (the same on every square).
#[derive(Module, Debug)]
pub(in crate::network) struct Squares<B: Kernels> {
    /// `[boards × 14, d]`
    pub(in crate::network) men: Linear<B>,
    pub(in crate::network) marks: Linear<B>,
    /// `[64, d]`
    pub(in crate::network) squares: Param<Tensor<B, 2>>,
    pub(in crate::network) globals: Linear<B>,
    pub(in crate::network) boards: usize,
}

impl<B: Kernels> Squares<B> {
    pub(super) fn new(boards: usize, d: usize, device: &B::Device) -> Self {
        Squares {
            // One code of each board is set, so the sum of `boards` rows is to have deviation one.
            men: Linear::new(boards * CODES, d, (CODES as f64).sqrt(), false, device),
            marks: Linear::new(MARKS, d, 1.0, false, device),
            squares: normal([64, d], 0.5, device),
            globals: Linear::new(GLOBALS, d, 1.0, false, device),
            boards,
        }
    }

    pub(super) fn forward(&self, input: Input<B>) -> Embedded<B> {
        let n = input.n;
        let (cells, of_men) = (n * 64 * self.boards, 64 * self.boards);
        let codes = input.codes.clone().slice([0..n, 0..of_men]).reshape([cells, 1]);
        let alphabet = Tensor::<B, 1, Int>::arange(0..CODES as i64, &codes.device()).reshape([1, CODES]);
        let one_hot = codes.expand([cells, CODES]).equal(alphabet.expand([cells, CODES])).float();
        let men = self.men.forward(one_hot.reshape([n * 64, self.boards * CODES]));
        let [_, d] = men.dims();
        let marks = input.codes.slice([0..n, of_men..of_men + 64 * MARKS]).float();
        let squares = self.marks.forward(marks.reshape([n * 64, MARKS])) + men;
        let squares = add_row(squares.reshape([n, 64 * d]), self.squares.val().reshape([1, 64 * d]));
        let everywhere = self.globals.forward(input.values).reshape([n, 1, d]).repeat_dim(1, 64);
        let rows = squares.reshape([n * 64, d]) + everywhere.reshape([n * 64, d]);
        Embedded { rows, tokens: 64, mask: None }
    }
}
