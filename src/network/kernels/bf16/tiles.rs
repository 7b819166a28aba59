//! Matrices that are rounded and cut into tiles once, and multiplied more than once.

use super::super::matrices::Matrix;
use super::DEPTH;
use super::pack::{Major, pack};
use super::unit::Unit;
use super::{LANES, SIDE, Tile, pair, sum_up};

/// A matrix to be multiplied from one side.
pub(super) struct Tiles {
    tiles: Vec<Tile>,
    lanes: usize,
    depth: usize,
    side: Major,
}

impl Tiles {
    /// To be multiplied from the left: its rows are lanes.
    pub(super) fn left() -> Self {
        Tiles { tiles: Vec::new(), lanes: 0, depth: 0, side: Major::Lane }
    }

    /// To be multiplied from the right: its columns are lanes.
    pub(super) fn right() -> Self {
        Tiles { side: Major::Depth, ..Tiles::left() }
    }

    /// With a matrix that stays.
    pub(super) fn holding(mut self, unit: &Unit, matrix: Matrix) -> Self {
        self.set(unit, matrix);
        self
    }

    /// Another matrix in its place.
    pub(super) fn set(&mut self, _: &Unit, matrix: Matrix) {
        let matrix = if self.side == Major::Depth { matrix.transposed() } else { matrix };
        [self.lanes, self.depth] = [matrix.rows, matrix.columns];
        // SAFETY: where there is a `Unit`, the processor has the instructions.
        unsafe { pack(matrix, 0..self.lanes, 0..self.depth, self.side, &mut self.tiles) };
    }

    /// The same, to be used at once.
    pub(super) fn of(&mut self, unit: &Unit, matrix: Matrix) -> &Self {
        self.set(unit, matrix);
        self
    }
}

/// `a·b`, written to the first columns of rows that are so many numbers long, or added to what is there.
///
/// # Panics
/// Where a is not to be multiplied from the left and b from the right, a has not as many columns as b has rows, or `out` has not the room.
pub(super) fn multiply(unit: &Unit, a: &Tiles, b: &Tiles, out: &mut [f32], length: usize, add: bool) {
    let ([rows, columns], deep) = ([a.lanes, b.lanes], a.depth.div_ceil(DEPTH));
    assert!(a.side == Major::Lane && b.side == Major::Depth && a.depth == b.depth && deep > 0);
    assert!(rows > 0 && columns <= length && (rows - 1) * length + columns <= out.len());
    for row in (0..rows).step_by(SIDE) {
        let size = [(rows - row).min(SIDE), columns];
        let place = out[row * length..].as_mut_ptr();
        // SAFETY: both have been packed to that depth, and the last number that is written lies inside.
        unsafe { sum_up(unit, pair(&a.tiles, row / LANES, deep), &b.tiles, deep, (place, length, size), 1.0, add) };
    }
}
