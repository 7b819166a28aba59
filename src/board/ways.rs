//! Where men may go, whatever that means for their own king: castling and en passant are left out.

use shakmaty::attacks::attacks;
use shakmaty::{Bitboard, Board, Color, Piece, Rank, Role, Square};

/// Where a man may go.
pub(super) fn ways(board: &Board, square: Square, man: Piece) -> Bitboard {
    let set = attacks(square, man, board.occupied());
    match man.role {
        Role::Pawn => set & board.by_color(!man.color) | pushes(square, man, board.occupied()),
        _ => set & !board.by_color(man.color),
    }
}

/// Where a pawn may go without taking.
pub(super) fn pushes(square: Square, man: Piece, occupied: Bitboard) -> Bitboard {
    if man.role != Role::Pawn {
        return Bitboard::EMPTY;
    }
    let ahead = |from: Bitboard| from.shift(man.color.fold_wb(8, -8)) & !occupied;
    let first = ahead(Bitboard::from_square(square));
    let home = man.color.fold_wb(Rank::Third, Rank::Sixth);
    first | ahead(first & Bitboard::from_rank(home))
}

/// What a man is once it has gone to a square: a pawn that arrives is a queen.
pub(super) fn arrived(man: Piece, to: Square) -> Piece {
    let promotes = man.role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
    if promotes { Role::Queen.of(man.color) } else { man }
}

/// The board once a man has gone to a square.
pub(super) fn after(board: &Board, from: Square, man: Piece, to: Square) -> Board {
    let mut after = board.clone();
    after.discard_piece_at(from);
    after.set_piece_at(to, arrived(man, to));
    after
}

/// Whether a side checks the other, if that has a king.
pub(super) fn checks(board: &Board, color: Color) -> bool {
    board.king_of(!color).is_some_and(|king| board.attacks_to(king, color, board.occupied()).any())
}

/// Those of some squares for which something holds.
pub(super) fn those(squares: Bitboard, holds: impl Fn(Square) -> bool) -> Bitboard {
    together(squares.into_iter().filter(|&square| holds(square)))
}

/// The set of some squares (`collect` calls a function for each).
pub(super) fn together(squares: impl Iterator<Item = Square>) -> Bitboard {
    squares.fold(Bitboard::EMPTY, |all, square| all | Bitboard::from_square(square))
}

/// What tests of moves have in common.
#[cfg(test)]
pub(super) mod testing {
    use shakmaty::{Bitboard, Chess, Position, Square};

    use crate::board::{Game, played};

    /// What the set of a man's square holds, by name.
    pub(in crate::board) fn at(sets: &[u64; 64], from: &str) -> Vec<String> {
        let from: Square = from.parse().expect(from);
        Bitboard(sets[from.to_usize()]).into_iter().map(|to| to.to_string()).collect()
    }

    /// All positions two plies on, and what was played.
    pub(in crate::board) fn two_plies_on(fen: &str) -> Vec<(String, Chess)> {
        let game = Game::from_fen(fen).expect(fen);
        let mut found = Vec::new();
        for first in game.position().legal_moves() {
            let next = played(game.position(), first);
            let seconds = next.legal_moves().into_iter();
            found.extend(seconds.map(|second| (format!("{first} {second}"), played(&next, second))));
        }
        found
    }
}
