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
    /// `[marks, d]`
    marks: Vec<f32>,
    /// `[attacks, d]`
    attacks: Option<Vec<f32>>,
    /// `[64, d]`
    squares: Vec<f32>,
    globals: Layer,
    boards: usize,
    d: usize,
}

impl Squares {
    pub(super) fn of<B: Kernels>(embedding: &squares::Squares<B>) -> Squares {
        let globals = Layer::of(&embedding.globals);
        Squares {
            men: numbers(embedding.men.weight.val()),
            marks: numbers(embedding.marks.weight.val()),
            attacks: embedding.attacks.as_ref().map(|attacks| numbers(attacks.weight.val())),
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
        let attacks = self.attacks.as_ref().map(|vectors| (vectors, attacked(&features.codes[0])));
        widest(
            #[inline(always)]
            || {
                for (square, x) in x.chunks_exact_mut(d).enumerate() {
                    add(x, &everywhere);
                    for (board, codes) in features.codes[..self.boards].iter().enumerate() {
                        add(x, &self.men[(board * CODES + usize::from(codes[square])) * d..][..d]);
                    }
                    for (mark, bits) in features.marks.iter().enumerate() {
                        if bits >> square & 1 == 1 {
                            add(x, &self.marks[mark * d..][..d]);
                        }
                    }
                    if let Some((vectors, sets)) = &attacks {
                        for (set, bits) in sets.iter().enumerate() {
                            if bits >> square & 1 == 1 {
                                add(x, &vectors[set * d..][..d]);
                            }
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
