//! Chessformer's input: the position as a set of men, and what is known of the players.

use burn::module::{Module, Param};
use burn::tensor::module::embedding;
use burn::tensor::{Int, Tensor};

use super::super::config::{CLOCK_BRACKETS, CONDITIONS, INCREMENT_BRACKETS, MEN, META, RATING_BRACKETS};
use super::super::input::{Input, Pack};
use super::super::kernels::Kernels;
use super::super::linear::{Linear, normal};
use super::super::precision::cast;
use super::Embedded;
use crate::board::{Features, blend};

/// Ratings from 0, a hundred points apart.
fn ratings() -> [f32; RATING_BRACKETS] {
    std::array::from_fn(|i| i as f32 * 100.0)
}

/// Widths of the values, one after another: the position; ratings of White and Black; their clocks; the increment; which men exist.
const WIDTHS: [usize; 7] = [
    META,
    RATING_BRACKETS + 1,
    RATING_BRACKETS + 1,
    CLOCK_BRACKETS.len(),
    CLOCK_BRACKETS.len(),
    INCREMENT_BRACKETS.len() + 1,
    MEN,
];

/// Weight on a token that is not there.
const NEVER: f32 = -1e9;

/// A token is the sum of what it is made of; there are no places.
#[derive(Module, Debug)]
pub(in crate::network) struct Set<B: Kernels> {
    /// `[2, d]`
    colors: Param<Tensor<B, 2>>,
    /// `[6, d]`
    roles: Param<Tensor<B, 2>>,
    /// `[8, d]`
    files: Param<Tensor<B, 2>>,
    /// `[8, d]`
    ranks: Param<Tensor<B, 2>>,
    /// Side to move, castling rights, file of en passant.
    meta: Linear<B>,
    /// Brackets of a hundred points, and "unknown".
    ratings: Linear<B>,
    /// An unknown clock adds nothing.
    clocks: Linear<B>,
    increments: Linear<B>,
    /// What makes the increment's token one: `[1, d]`.
    increment: Param<Tensor<B, 2>>,
}

/// Codes: colour, role, file and rank of 32 men. Values: as [`WIDTHS`] says.
pub(super) fn write(features: &Features, to: &mut Pack) {
    let black = features.turn.is_black();
    let mut men = 0;
    for (square, color, role) in features.men().take(MEN) {
        to.codes.extend([color.fold_wb(0, 1), role as u8, (square % 8) as u8, (square / 8) as u8]);
        men += 1;
    }
    to.codes.extend(std::iter::repeat_n(0, (MEN - men) * 4));

    let mut meta = [0.0; META];
    meta[usize::from(black)] = 1.0;
    let castling = features.castling_by_colour();
    castling.iter().zip(&mut meta[2..]).for_each(|(&right, out)| *out = f32::from(u8::from(right)));
    if let Some(square) = features.en_passant() {
        meta[6 + square % 8] = 1.0;
    }
    to.values.extend(meta);
    let (white, other) = if black { (features.other, features.own) } else { (features.own, features.other) };
    // An unknown value is said by the weight after the brackets, where there is one.
    let mut say = |brackets: &[f32], value: Option<f32>, unknown: bool| {
        let at = to.values.len();
        to.values.resize(at + brackets.len() + usize::from(unknown), 0.0);
        match value {
            Some(value) => blend(brackets, value, &mut to.values[at..at + brackets.len()]),
            None if unknown => to.values[at + brackets.len()] = 1.0,
            None => {}
        }
    };
    say(&ratings(), white.rating, true);
    say(&ratings(), other.rating, true);
    say(CLOCK_BRACKETS, white.clock, false);
    say(CLOCK_BRACKETS, other.clock, false);
    say(INCREMENT_BRACKETS, features.increment, true);
    to.values.extend((0..MEN).map(|i| f32::from(u8::from(i < men))));
}

impl<B: Kernels> Set<B> {
    pub(super) fn new(d: usize, device: &B::Device) -> Self {
        // Tables of which one row is taken: each of deviation one half.
        let table = |rows: usize| Linear::new(rows, d, 0.5 * (rows as f64).sqrt(), false, device);
        Set {
            colors: normal([2, d], 0.5, device),
            roles: normal([6, d], 0.5, device),
            files: normal([8, d], 0.5, device),
            ranks: normal([8, d], 0.5, device),
            meta: table(META),
            ratings: table(RATING_BRACKETS + 1),
            clocks: table(CLOCK_BRACKETS.len()),
            increments: table(INCREMENT_BRACKETS.len() + 1),
            increment: normal([1, d], 0.5, device),
        }
    }

    /// A vector for each of the squares given: file plus rank. `[n] → [n, d]`.
    pub(in crate::network) fn squares(&self, squares: Tensor<B, 1, Int>) -> Tensor<B, 2> {
        let files = squares.clone().remainder_scalar(8);
        let ranks = squares.div_scalar(8);
        self.files.val().select(0, files) + self.ranks.val().select(0, ranks)
    }

    pub(super) fn forward(&self, input: Input<B>) -> Embedded<B> {
        let n = input.n;
        let mut at = 0;
        let [meta, white, black, white_clock, black_clock, increment, exists] = WIDTHS.map(|width| {
            at += width;
            input.values.clone().slice([0..n, at - width..at])
        });
        let [_, d] = self.colors.dims();
        let color = |i: usize| self.colors.val().narrow(0, i, 1);
        let conditions = [
            self.meta.forward(meta),
            self.ratings.forward(white) + color(0),
            self.ratings.forward(black) + color(1),
            self.clocks.forward(white_clock) + color(0),
            self.clocks.forward(black_clock) + color(1),
            self.increments.forward(increment) + self.increment.val(),
        ];
        let conditions = conditions.map(|token| token.reshape([n, 1, d])).to_vec();
        let codes = input.codes.reshape([n * MEN, 4]);
        let of = |table: &Param<Tensor<B, 2>>, column: usize| {
            let codes = codes.clone().slice([0..n * MEN, column..column + 1]).reshape([n, MEN]);
            embedding(table.val(), codes)
        };
        let men = of(&self.colors, 0) + of(&self.roles, 1) + of(&self.files, 2) + of(&self.ranks, 3);
        let men = men.reshape([n * MEN, d]) * exists.clone().reshape([n * MEN, 1]);
        let mut parts = conditions;
        parts.push(men.reshape([n, MEN, d]));
        let tokens = CONDITIONS + MEN;
        let rows = Tensor::cat(parts, 1).reshape([n * tokens, d]);
        let missing = exists.neg().add_scalar(1.0).mul_scalar(NEVER);
        let known = cast(Tensor::zeros([n, CONDITIONS], &missing.device()), missing.dtype());
        let mask = Tensor::cat(vec![known, missing], 1);
        Embedded { rows, tokens, mask: Some(mask) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Conditions, Game, Seat};

    #[test]
    fn men_and_conditions_are_laid_out() {
        let seat = |rating| Seat { rating: Some(rating), clock: None };
        let conditions = Conditions { white: seat(1550.0), black: Seat::default(), increment: Some(2.0), pool: None };
        let game = Game::from_fen("4k3/8/8/8/3pP3/8/8/4K2R b K e3 0 1").expect("legal");
        let mut pack = Pack::default();
        write(&Features::of(&game, &conditions), &mut pack);
        assert_eq!(pack.codes.len(), MEN * 4);
        assert_eq!(pack.values.len(), WIDTHS.iter().sum::<usize>());
        // e1, h1, d4, e4, e8; then nothing.
        assert_eq!(pack.codes[..24], [0, 5, 4, 0, 0, 3, 7, 0, 1, 0, 3, 3, 0, 0, 4, 3, 1, 5, 4, 7, 0, 0, 0, 0]);
        let (meta, rest) = pack.values.split_at(META);
        assert_eq!(meta, [0., 1., 1., 0., 0., 0., 0., 0., 0., 0., 1., 0., 0., 0.]);
        assert_eq!((rest[15], rest[16]), (0.5, 0.5), "White's rating");
        assert_eq!(rest[36 + 35], 1.0, "Black's is unknown");
        assert_eq!(rest[72..98], [0.0; 26], "no clocks");
        assert_eq!(rest[98..106], [0., 0.5, 0.5, 0., 0., 0., 0., 0.]);
        assert_eq!(rest[106..].iter().sum::<f32>(), 5.0);
    }
}
