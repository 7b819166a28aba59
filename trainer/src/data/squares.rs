//! The squares that moves begin on, eight of them compared at once: what replaying games spends its time on.

use shakmaty::Move;

/// Moves of a position, in eights: 218 are the most that any is known to have.
const EIGHTS: usize = 28;
/// One in each of eight bytes.
const EACH: u64 = u64::from_ne_bytes([1; 8]);
/// The highest bit of each of eight bytes.
const HIGHEST: u64 = EACH << 7;
/// What stands for no square: above all of them, below the highest bit.
const NOWHERE: u8 = 64;

/// Squares, a byte each.
pub(super) struct Squares {
    eights: [u64; EIGHTS],
    used: usize,
}

impl Squares {
    /// Those that moves begin on, in their order.
    pub(super) fn moved_from(legal: &[Move]) -> Squares {
        let mut squares = [[NOWHERE; 8]; EIGHTS];
        for (square, m) in squares.as_flattened_mut().iter_mut().zip(legal) {
            *square = m.from().map_or(NOWHERE, |from| from as u8);
        }
        Squares { eights: squares.map(u64::from_le_bytes), used: legal.len().div_ceil(8).min(EIGHTS) }
    }

    /// How many of them come before a square.
    pub(super) fn before(&self, square: u8) -> u8 {
        // With its highest bit set, a byte keeps it when a square is taken off that is not greater.
        let taken_off = EACH * u64::from(square);
        let before = |&eight: &u64| !((eight | HIGHEST) - taken_off) >> 7 & EACH;
        let sums: u64 = self.eights[..self.used].iter().map(before).sum();
        (sums.wrapping_mul(EACH) >> 56) as u8
    }

    /// The places where a square is among them.
    pub(super) fn places_of(&self, square: u8) -> impl Iterator<Item = usize> {
        let other = EACH * u64::from(square);
        // A byte of zero alone does not reach its highest bit.
        let same = move |&eight: &u64| !((eight ^ other) + (HIGHEST - EACH)) & HIGHEST;
        let bits = |mut found: u64| {
            std::iter::from_fn(move || {
                let bit = (found != 0).then(|| found.trailing_zeros() as usize)?;
                found &= found - 1;
                Some(bit / 8)
            })
        };
        let eights = self.eights[..self.used].iter().map(same).enumerate();
        eights.flat_map(move |(i, found)| bits(found).map(move |at| 8 * i + at))
    }
}
