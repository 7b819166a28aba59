//! MicroChess's input: 80 tokens of a vocabulary of 51, straight from the FEN.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::module::embedding;

use super::super::config::{FEN_TOKENS, FEN_VOCABULARY};
use super::super::input::{Input, Pack};
use super::super::kernels::{Kernels, add_row};
use super::super::linear::normal;
use super::Embedded;
use crate::board::Features;

/// `[PAD]`, `[CLS]`, `[SEP]`; `.` and the men `PNBRQKpnbrqk`; `w`, `b`; castling `K Q k q -`; en passant `-`; files a to h, ranks
/// 1 to 8; digits 0 to 9: 3 + 13 + 2 + 5 + 1 + 16 + 10 = 50, and one spare that is `[MASK]`.
mod token {
    pub(super) const PAD: u8 = 0;
    pub(super) const CLS: u8 = 1;
    pub(super) const SEP: u8 = 2;
    pub(super) const EMPTY: u8 = 3;
    pub(super) const MEN: u8 = 4;
    pub(super) const WHITE: u8 = 16;
    pub(super) const BLACK: u8 = 17;
    pub(super) const CASTLING: u8 = 18;
    pub(super) const NO_CASTLING: u8 = 22;
    pub(super) const NO_EN_PASSANT: u8 = 23;
    pub(super) const FILES: u8 = 24;
    pub(super) const RANKS: u8 = 32;
    pub(super) const DIGITS: u8 = 40;
}

/// A vector of the token plus one of its place.
#[derive(Module, Debug)]
pub(in crate::network) struct Fen<B: Kernels> {
    /// `[51, d]`
    tokens: Param<Tensor<B, 2>>,
    /// `[80, d]`
    places: Param<Tensor<B, 2>>,
}

/// The 80 tokens of a position: `[CLS]`, the squares from a8 to h1, `[SEP]`, the side to move, four of castling, two of en passant,
/// three digits of the halfmove clock, four of the move's number.
pub(super) fn write(features: &Features, to: &mut Pack) {
    let start = to.codes.len();
    let black = features.turn.is_black();
    to.codes.push(token::CLS);
    let board = to.codes.len();
    to.codes.resize(board + 64, token::EMPTY);
    for (square, color, role) in features.men() {
        // a8 first: the ranks are turned over.
        to.codes[board + (square ^ 56)] = token::MEN + role as u8 + color.fold_wb(0, 6);
    }
    to.codes.push(token::SEP);
    to.codes.push(if black { token::BLACK } else { token::WHITE });
    let castling = features.castling_by_colour();
    to.codes.extend(
        castling.iter().zip(0..).map(|(&right, i)| if right { token::CASTLING + i } else { token::NO_CASTLING }),
    );
    match features.en_passant_by_colour() {
        Some(square) => {
            let square = square as u8;
            to.codes.extend([token::FILES + square % 8, token::RANKS + square / 8]);
        }
        None => to.codes.extend([token::NO_EN_PASSANT, token::PAD]),
    }
    let mut digits = |number: u32, count: u32| {
        let most = 10_u32.pow(count) - 1;
        for place in (0..count).rev() {
            to.codes.push(token::DIGITS + (number.min(most) / 10_u32.pow(place) % 10) as u8);
        }
    };
    digits(features.halfmoves, 3);
    digits(features.fullmoves, 4);
    debug_assert_eq!(to.codes.len() - start, FEN_TOKENS);
}

impl<B: Kernels> Fen<B> {
    pub(super) fn new(d: usize, device: &B::Device) -> Self {
        Fen { tokens: normal([FEN_VOCABULARY, d], 0.7, device), places: normal([FEN_TOKENS, d], 0.7, device) }
    }

    pub(super) fn forward(&self, input: Input<B>) -> Embedded<B> {
        let n = input.n;
        let x = embedding(self.tokens.val(), input.codes);
        let [_, tokens, d] = x.dims();
        let x = add_row(x.reshape([n, tokens * d]), self.places.val().reshape([1, tokens * d]));
        Embedded { rows: x.reshape([n * tokens, d]), tokens, mask: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Conditions, Game};

    /// The tokens as text.
    fn text(fen: &str) -> String {
        let mut pack = Pack::default();
        write(&Features::of(&Game::from_fen(fen).expect(fen), &Conditions::default()), &mut pack);
        assert_eq!(pack.codes.len(), FEN_TOKENS);
        let names: Vec<char> = "_^|.PNBRQKpnbrqkwbKQkq--abcdefgh123456780123456789".chars().collect();
        pack.codes.iter().map(|&c| names[usize::from(c)]).collect()
    }

    #[test]
    fn tokens_are_the_fen() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let board = "rnbqkbnrpppppppp................................PPPPPPPPRNBQKBNR";
        assert_eq!(text(start), format!("^{board}|wKQkq-_0000001"));
        let en_passant = text("4k3/8/8/8/3pP3/8/8/4K2R b K e3 0 117");
        assert!(en_passant.ends_with("|bK---e30000117"), "{en_passant}");
        let late = text("4k3/P7/8/8/8/8/8/4K3 w - - 99 12345");
        assert!(late.ends_with("|w-----_0999999"), "{late}");
        assert!(late.starts_with("^....k...P......."));
    }
}
