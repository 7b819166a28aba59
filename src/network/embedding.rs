//! From a position to one vector a square.

use burn::module::{Module, Param};
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor};

use super::input::Input;
use super::linear::{Linear, normal};
use crate::board::{CODES, GLOBALS, MARKS};

/// Sum of: the men on the square on each board, the square's marks, a vector of the square, and the
/// conditions (the same on every square).
#[derive(Module, Debug)]
pub(super) struct SquareEmbedding<B: Backend> {
    /// `[boards × 14, d]`
    men: Linear<B>,
    marks: Linear<B>,
    /// `[64, d]`
    squares: Param<Tensor<B, 2>>,
    globals: Linear<B>,
    boards: usize,
}

impl<B: Backend> SquareEmbedding<B> {
    pub(super) fn new(boards: usize, d: usize, device: &B::Device) -> Self {
        SquareEmbedding {
            // One code of each board is set, so the sum of `boards` rows is to have deviation one.
            men: Linear::new(boards * CODES, d, (CODES as f64).sqrt(), false, device),
            marks: Linear::new(MARKS, d, 1.0, false, device),
            squares: normal([64, d], 0.5, device),
            globals: Linear::new(GLOBALS, d, 1.0, false, device),
            boards,
        }
    }

    /// `[batch × 64, d]`
    pub(super) fn forward(&self, input: Input<B>) -> Tensor<B, 2> {
        let [n, _, _] = input.codes.dims();
        let cells = n * 64 * self.boards;
        let codes = input.codes.slice([0..n, 0..64, 0..self.boards]).reshape([cells, 1]);
        let alphabet = Tensor::<B, 1, Int>::arange(0..CODES as i64, &codes.device()).reshape([1, CODES]);
        let one_hot = codes.expand([cells, CODES]).equal(alphabet.expand([cells, CODES])).float();
        let men = self.men.forward(one_hot.reshape([n * 64, self.boards * CODES]));
        let [_, d] = men.dims();
        let squares = self.marks.forward(input.marks.reshape([n * 64, MARKS])) + men;
        let squares = squares.reshape([n, 64 * d]) + self.squares.val().reshape([1, 64 * d]);
        let everywhere = self.globals.forward(input.globals).reshape([n, 1, d]).repeat_dim(1, 64);
        squares.reshape([n * 64, d]) + everywhere.reshape([n * 64, d])
    }
}
