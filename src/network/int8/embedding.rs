//! Glance's input, looked up in tables.

use super::super::embedding::squares;
use super::super::kernels::Kernels;
use super::super::vectors::widest;
use super::layer::{Layer, numbers};
use crate::board::{CODES, Features, attacked};

/// Vectors of men, marks, attacks, squares and conditions, of which each square's row is the sum.
#[derive(Debug)]
pub(super) struct Squares {
    /// `[boards × codes, d]`
    men: Vec<f32>,
    /// Of marks, then of what men attack, if it is shown that: `[sets, d]`
    sets: Vec<f32>,
    attacks: bool,
    /// `[64, d]`
    squares: Vec<f32>,
    globals: Layer,
    boards: usize,
    d: usize,
}

impl Squares {
    pub(super) fn of<B: Kernels>(embedding: &squares::Squares<B>) -> Squares {
        let globals = Layer::of(&embedding.globals);
        let of_attacks = embedding.attacks.as_ref();
        let of_sets = std::iter::once(&embedding.marks).chain(of_attacks);
        Squares {
            men: numbers(embedding.men.weight.val()),
            sets: of_sets.flat_map(|layer| numbers(layer.weight.val())).collect(),
            attacks: of_attacks.is_some(),
            squares: numbers(embedding.squares.val()),
            boards: embedding.boards,
            d: globals.outputs(),
            globals,
        }
    }

    /// Numbers of a row.
    pub(super) fn width(&self) -> usize {
        self.d
    }

    /// `[64, d]`
    pub(super) fn forward(&self, features: &Features) -> Vec<f32> {
        let (mut x, everywhere, d) = (self.squares.clone(), self.globals.forward(&features.globals), self.d);
        let mut sets = features.marks.to_vec();
        if self.attacks {
            sets.extend(attacked(&features.codes[0]));
        }
        widest(
            #[inline(always)]
            || {
                for (square, x) in x.chunks_exact_mut(d).enumerate() {
                    add(x, &everywhere);
                    for (board, codes) in features.codes[..self.boards].iter().enumerate() {
                        add(x, &self.men[(board * CODES + usize::from(codes[square])) * d..][..d]);
                    }
                    for (set, bits) in sets.iter().enumerate() {
                        if bits >> square & 1 == 1 {
                            add(x, &self.sets[set * d..][..d]);
                        }
                    }
                }
            },
        );
        x
    }
}

#[inline(always)]
fn add(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}
