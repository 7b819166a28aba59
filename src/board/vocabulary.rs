//! The 1,968 moves that UCI can write on an empty board: every queen and knight move from every
//! square (1,792) and every promotion to queen, rook, bishop or knight of either colour (176).
//!
//! Castling is written as *king takes own rook* (`e1h1`), the one form that also names every castling
//! move of Chess960 without clashing with an ordinary king move.

use std::fmt;
use std::sync::LazyLock;

use shakmaty::{Color, Move, Rank, Role, Square, attacks};

/// Number of moves in the vocabulary.
pub const MOVES: usize = 1968;

/// A move's place in the vocabulary, `0..1968`.
///
/// ```
/// use glance::board::MoveIndex;
/// let index = MoveIndex::from_uci("a7a8q").unwrap();
/// assert_eq!(index.uci(), "a7a8q");
/// assert_eq!(index.mirrored().uci(), "a2a1q");
/// assert!(MoveIndex::from_uci("a1b4").is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoveIndex(u16);

const PROMOTIONS: [Role; 4] = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];
const NONE: u16 = u16::MAX;

#[derive(Clone, Copy)]
struct Entry {
    from: Square,
    to: Square,
    promotion: Option<Role>,
}

struct Table {
    entries: Vec<Entry>,
    /// By [`slot`].
    index: Vec<u16>,
    mirrored: Vec<u16>,
}

/// `[0 = no promotion, 1.. = PROMOTIONS][from][to]`: what is asked most lies together.
fn slot(from: Square, to: Square, promotion: Option<Role>) -> usize {
    let piece = promotion.and_then(|role| PROMOTIONS.iter().position(|&p| p == role)).map_or(0, |i| i + 1);
    (piece * 64 + from.to_usize()) * 64 + to.to_usize()
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let empty = shakmaty::Bitboard::EMPTY;
    let mut entries = Vec::with_capacity(MOVES);
    for from in Square::ALL {
        for to in attacks::queen_attacks(from, empty) | attacks::knight_attacks(from) {
            entries.push(Entry { from, to, promotion: None });
        }
        for color in Color::ALL {
            if from.rank() != color.fold_wb(Rank::Seventh, Rank::Second) {
                continue;
            }
            for to in attacks::king_attacks(from) {
                if to.rank() == color.fold_wb(Rank::Eighth, Rank::First) {
                    for role in PROMOTIONS {
                        entries.push(Entry { from, to, promotion: Some(role) });
                    }
                }
            }
        }
    }
    debug_assert_eq!(entries.len(), MOVES);
    let mut index = vec![NONE; 64 * 64 * 5];
    for (i, e) in entries.iter().enumerate() {
        index[slot(e.from, e.to, e.promotion)] = i as u16;
    }
    let mirrored =
        entries.iter().map(|e| index[slot(e.from.flip_vertical(), e.to.flip_vertical(), e.promotion)]).collect();
    Table { entries, index, mirrored }
});

impl MoveIndex {
    /// The index of a legal move. Castling is king takes rook.
    pub fn of(m: Move) -> MoveIndex {
        MoveIndex::seen_by(m, Color::White)
    }

    /// The index of a legal move as the player to move sees it: the board is flipped for Black, so that
    /// pawns always move up.
    pub fn seen_by(m: Move, turn: Color) -> MoveIndex {
        let seen = |square: Square| turn.fold_wb(square, square.flip_vertical());
        let (from, to, promotion) = match m {
            Move::Normal { from, to, promotion, .. } => (from, to, promotion),
            Move::EnPassant { from, to } => (from, to, None),
            Move::Castle { king, rook } => (king, rook, None),
            // Crazyhouse only: never legal in `shakmaty::Chess`.
            Move::Put { to, .. } => (to, to, None),
        };
        let index = TABLE.index[slot(seen(from), seen(to), promotion)];
        debug_assert_ne!(index, NONE, "{m:?} is not in the vocabulary");
        MoveIndex(if index == NONE { 0 } else { index })
    }

    /// The entry with this number, if below [`MOVES`].
    pub fn new(index: usize) -> Option<MoveIndex> {
        (index < MOVES).then_some(MoveIndex(index as u16))
    }

    /// Reads a move in UCI notation (`e2e4`, `a7a8q`, castling as `e1h1`).
    pub fn from_uci(text: &str) -> Option<MoveIndex> {
        let uci: shakmaty::uci::UciMove = text.parse().ok()?;
        let shakmaty::uci::UciMove::Normal { from, to, promotion } = uci else {
            return None;
        };
        if promotion.is_some_and(|role| !PROMOTIONS.contains(&role)) {
            return None;
        }
        let index = TABLE.index[slot(from, to, promotion)];
        (index != NONE).then_some(MoveIndex(index))
    }

    /// The number of the entry, `0..1968`.
    pub fn get(self) -> usize {
        self.0.into()
    }

    /// The same move on the board flipped top to bottom.
    pub fn mirrored(self) -> MoveIndex {
        MoveIndex(TABLE.mirrored[self.get()])
    }

    /// The square moved from.
    pub fn from(self) -> Square {
        TABLE.entries[self.get()].from
    }

    /// The square moved to (the rook's, when castling).
    pub fn to(self) -> Square {
        TABLE.entries[self.get()].to
    }

    /// The piece promoted to.
    pub fn promotion(self) -> Option<Role> {
        TABLE.entries[self.get()].promotion
    }

    /// The move in UCI notation.
    pub fn uci(self) -> String {
        let piece = self.promotion().map(|role| role.char().to_string());
        format!("{}{}{}", self.from(), self.to(), piece.unwrap_or_default())
    }

    /// The legal move that this entry means in a position, given its legal moves.
    pub fn find(self, legal: &[Move]) -> Option<Move> {
        legal.iter().copied().find(|&m| MoveIndex::of(m) == self)
    }
}

impl fmt::Debug for MoveIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.0, self.uci())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vocabulary_has_exactly_the_uci_moves() {
        assert_eq!(TABLE.entries.len(), MOVES);
        let promotions = TABLE.entries.iter().filter(|e| e.promotion.is_some()).count();
        assert_eq!(promotions, 176);
        let mut all: Vec<String> = (0..MOVES).map(|i| MoveIndex(i as u16).uci()).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), MOVES);
    }

    #[test]
    fn text_and_mirror_go_there_and_back() {
        for i in 0..MOVES {
            let index = MoveIndex::new(i).expect("in range");
            assert_eq!(MoveIndex::from_uci(&index.uci()), Some(index));
            assert_eq!(index.mirrored().mirrored(), index);
        }
        assert!(MoveIndex::new(MOVES).is_none());
        assert!(MoveIndex::from_uci("e7e8k").is_none());
        assert!(MoveIndex::from_uci("0000").is_none());
    }
}
