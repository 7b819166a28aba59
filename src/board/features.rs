//! What a network is shown of a game: always from the side of the player to move, who is at the bottom of
//! the board and whose men are "own".

use shakmaty::{Board, Color, EnPassantMode, Position, Role, Square};

use super::conditions::{Conditions, Pool, Seat};
use super::game::{Game, Repetitions};

/// Boards shown: the position and seven before it.
pub const BOARDS: usize = 8;
/// What a square of a board can hold: empty, six own men, six enemy men, or "no such board".
pub const CODES: usize = 14;
/// Code of an empty square.
pub const EMPTY: u8 = 0;
/// Code of every square of a board that is not known (before the game's start).
pub const MISSING: u8 = 13;
/// Marks on squares: rooks that may still castle, and the square where a pawn can be taken en passant.
pub const MARKS: usize = 2;

/// Brackets between which a continuous value is blended: `(name, brackets, has an "unknown" of its own)`.
/// The vector of globals is these groups one after another, then the flags.
const GROUPS: [(&str, &[f32], bool); 6] = [
    ("own rating", RATINGS, true),
    ("opponent's rating", RATINGS, true),
    ("own clock", CLOCKS, true),
    ("opponent's clock", CLOCKS, true),
    ("increment", &[0.0, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0], true),
    ("halfmove clock", &[0.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0], false),
];
const RATINGS: &[f32] = &[
    400., 600., 800., 1000., 1200., 1400., 1600., 1800., 2000., 2200., 2400., 2600., 2800., 3000., 3200., 3400., 3600.,
];
const CLOCKS: &[f32] = &[0., 5., 10., 20., 40., 80., 160., 320., 640., 1280., 2560., 5120., 10240.];
const FLAGS: [&str; 7] = [
    "pool: over the board",
    "pool: lichess",
    "pool: chess.com",
    "pool: engines",
    "pool: unknown",
    "position came up once before",
    "position came up twice before",
];

const fn globals() -> usize {
    let mut n = FLAGS.len();
    let mut i = 0;
    while i < GROUPS.len() {
        n += GROUPS[i].1.len() + GROUPS[i].2 as usize;
        i += 1;
    }
    n
}

/// Length of the vector of values that belong to the whole position.
pub const GLOBALS: usize = globals();

/// What each entry of [`Features::globals`] stands for.
pub fn global_names() -> Vec<String> {
    let mut names = Vec::with_capacity(GLOBALS);
    for (name, brackets, unknown) in GROUPS {
        names.extend(brackets.iter().map(|b| format!("{name} {b}")));
        if unknown {
            names.push(format!("{name} unknown"));
        }
    }
    names.extend(FLAGS.iter().map(ToString::to_string));
    names
}

/// A position as a network sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// What stands on each square (a1 = 0 as the player to move sees it), this board first.
    pub codes: [[u8; 64]; BOARDS],
    /// Bit sets of marked squares.
    pub marks: [u64; MARKS],
    /// Ratings, clocks, halfmove clock, pool, repetition: weights of brackets, in `[0, 1]`.
    pub globals: [f32; GLOBALS],
    /// Who is to move: for networks that tell White from Black.
    pub turn: Color,
    /// Plies since a capture or a pawn's move.
    pub halfmoves: u32,
    /// Number of the move, from 1.
    pub fullmoves: u32,
    /// What is known of the player to move…
    pub own: Seat,
    /// …and of the other.
    pub other: Seat,
    /// Seconds added after each move.
    pub increment: Option<f32>,
}

fn seen(bits: u64, turn: Color) -> u64 {
    turn.fold_wb(bits, bits.swap_bytes())
}

fn encode(board: &Board, turn: Color, out: &mut [u8; 64]) {
    *out = [EMPTY; 64];
    for role in Role::ALL {
        for (color, offset) in [(turn, 0), (!turn, 6)] {
            let code = role as u8 + offset;
            for square in board.by_piece(role.of(color)) {
                let square = turn.fold_wb(square, square.flip_vertical());
                out[square.to_usize()] = code;
            }
        }
    }
}

/// Splits a value between the two nearest brackets: `weight·lower + (1 − weight)·upper`.
pub(crate) fn blend(brackets: &[f32], value: f32, out: &mut [f32]) {
    let last = brackets.len() - 1;
    let value = if value.is_nan() { brackets[0] } else { value.clamp(brackets[0], brackets[last]) };
    let upper = brackets.iter().position(|&b| b >= value).unwrap_or(last).max(1);
    let (low, high) = (brackets[upper - 1], brackets[upper]);
    let weight = (value - low) / (high - low);
    out[upper - 1] = 1.0 - weight;
    out[upper] = weight;
}

impl Features {
    /// The features of a game's position under the given conditions.
    pub fn of(game: &Game, conditions: &Conditions) -> Features {
        let position = game.position();
        let turn = position.turn();
        let mut codes = [[MISSING; 64]; BOARDS];
        encode(position.board(), turn, &mut codes[0]);
        for (board, out) in game.earlier().iter().zip(&mut codes[1..]) {
            encode(board, turn, out);
        }
        let rooks = seen(position.castles().castling_rights().0, turn);
        let en_passant = position.ep_square(EnPassantMode::Legal).map_or(0, |s: Square| 1 << s.to_u32());

        let (own, other) = conditions.seats(turn);
        let halfmoves = position.halfmoves() as f32;
        let values = [own.rating, other.rating, own.clock, other.clock, conditions.increment, Some(halfmoves)];
        let mut globals = [0.0; GLOBALS];
        let mut at = 0;
        for ((_, brackets, unknown), value) in GROUPS.iter().zip(values) {
            match value {
                Some(value) => blend(brackets, value, &mut globals[at..at + brackets.len()]),
                None => globals[at + brackets.len()] = 1.0,
            }
            at += brackets.len() + usize::from(*unknown);
        }
        let pool = conditions.pool.map_or(Pool::ALL.len(), |pool| pool as usize);
        globals[at + pool] = 1.0;
        match game.repetitions() {
            Repetitions::None => {}
            Repetitions::Once => globals[at + 5] = 1.0,
            Repetitions::Twice => globals[at + 6] = 1.0,
        }
        Features {
            codes,
            marks: [rooks, seen(en_passant, turn)],
            globals,
            turn,
            halfmoves: position.halfmoves(),
            fullmoves: position.fullmoves().get(),
            own,
            other,
            increment: conditions.increment,
        }
    }

    /// The same position with the colours exchanged: nothing that the player to move sees is different.
    pub fn flip_colours(&mut self) {
        self.turn = !self.turn;
    }

    /// Own king's side, own queen's side, the other's king's side, the other's queen's side: who may still castle.
    pub fn castling(&self) -> [bool; 4] {
        let rights = |rank: u32, king: u8| {
            let rooks = self.marks[0] >> (rank * 8) & 0xff;
            let row = &self.codes[0][rank as usize * 8..][..8];
            let file = row.iter().position(|&c| c == king).unwrap_or(4);
            [rooks >> file >> 1 != 0, rooks & ((1 << file) - 1) != 0]
        };
        let ([a, b], [c, d]) = (rights(0, Role::King as u8), rights(7, Role::King as u8 + 6));
        [a, b, c, d]
    }

    /// The square, as the player to move sees it, where a pawn can be taken en passant.
    pub fn en_passant(&self) -> Option<usize> {
        (self.marks[1] != 0).then(|| self.marks[1].trailing_zeros() as usize)
    }

    /// The same with White's rights first (K, Q, k, q), as a FEN has them.
    pub fn castling_by_colour(&self) -> [bool; 4] {
        let mut rights = self.castling();
        if self.turn.is_black() {
            rights.rotate_left(2);
        }
        rights
    }

    /// The square of [`en_passant`](Features::en_passant) as White sees it.
    pub fn en_passant_by_colour(&self) -> Option<usize> {
        self.en_passant().map(|square| square ^ self.turn.fold_wb(0, 56))
    }

    /// Men on the board as White sees it: `(square, colour, role from 0 = pawn)`, a1 first.
    pub fn men(&self) -> impl Iterator<Item = (usize, Color, usize)> + '_ {
        let (flip, turn) = (self.turn.fold_wb(0, 56), self.turn);
        (0..64).filter_map(move |square| match self.codes[0][square ^ flip] {
            code @ 1..=6 => Some((square, turn, usize::from(code) - 1)),
            code @ 7..=12 => Some((square, !turn, usize::from(code) - 7)),
            _ => None,
        })
    }

    /// Forgets the boards before the last `known` ones, as if the game had started there.
    pub fn forget_history(&mut self, known: usize) {
        for board in self.codes.iter_mut().skip(known.max(1)) {
            *board = [MISSING; 64];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Seat;

    #[test]
    fn black_sees_what_white_would() {
        let white = Game::from_fen("4k3/8/8/8/8/8/4P3/R3K3 w Q - 3 9").expect("legal");
        let black = Game::from_fen("r3k3/4p3/8/8/8/8/8/4K3 b q - 3 9").expect("legal");
        let none = Conditions::default();
        let mut flipped = Features::of(&white, &none);
        flipped.flip_colours();
        assert_eq!(flipped, Features::of(&black, &none));
    }

    #[test]
    fn rights_and_men_are_told_in_both_views() {
        let of = |fen: &str| Features::of(&Game::from_fen(fen).expect(fen), &Conditions::default());
        assert_eq!(of("r3k2r/8/8/8/8/8/8/R3K2R w Kq - 0 1").castling(), [true, false, false, true]);
        assert_eq!(of("r3k2r/8/8/8/8/8/8/R3K2R b Kq - 0 1").castling(), [false, true, true, false]);
        // Chess960: the rook's side is seen from the king.
        assert_eq!(of("4k3/8/8/8/8/8/8/1RK4R w B - 0 1").castling(), [false, true, false, false]);
        let f = of("4k3/8/8/8/8/8/4P3/4K2R b - - 0 1");
        let men: Vec<_> = f.men().collect();
        let (white, black) = (Color::White, Color::Black);
        assert_eq!(men, [(4, white, 5), (7, white, 3), (12, white, 0), (60, black, 5)]);
        let f = of("4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1");
        assert_eq!(f.en_passant(), Some(Square::E6.to_usize()), "seen by Black");
    }

    #[test]
    fn missing_boards_are_marked() {
        let mut game = Game::default();
        let f = Features::of(&game, &Conditions::default());
        assert!(f.codes[1..].iter().flatten().all(|&c| c == MISSING));
        game.play(game.parse_uci("e2e4").expect("legal"));
        let f = Features::of(&game, &Conditions::default());
        assert_eq!(f.codes[1][Square::E7.to_usize()], 7, "an enemy pawn, seen by Black, stood on e2");
        assert_eq!(f.codes[2][0], MISSING);
    }

    #[test]
    fn conditions_blend_and_each_group_sums_to_one() {
        let seat = Seat { rating: Some(1650.0), clock: Some(1e9) };
        let conditions = Conditions { white: seat, black: Seat::default(), increment: Some(2.0), pool: None };
        let f = Features::of(&Game::default(), &conditions);
        let names = global_names();
        assert_eq!(names.len(), GLOBALS);
        let at = |name: &str| f.globals[names.iter().position(|n| n == name).expect(name)];
        assert_eq!(at("own rating 1600"), 0.75);
        assert_eq!(at("own rating 1800"), 0.25);
        assert_eq!(at("own clock 10240"), 1.0);
        assert_eq!(at("opponent's rating unknown"), 1.0);
        assert_eq!(at("increment 2"), 1.0);
        assert_eq!(at("halfmove clock 0"), 1.0);
        assert_eq!(at("pool: unknown"), 1.0);
        // Six groups and the pool: each sums to one.
        assert_eq!(f.globals.iter().sum::<f32>(), 7.0);
    }

    #[test]
    fn nothing_a_condition_holds_breaks_the_blend() {
        for value in [f32::NAN, f32::INFINITY, -5.0, 1e30] {
            let seat = Seat { rating: Some(value), clock: Some(value) };
            let c = Conditions { white: seat, black: seat, increment: Some(value), pool: None };
            let f = Features::of(&Game::default(), &c);
            assert!(f.globals.iter().all(|g| (0.0..=1.0).contains(g)));
        }
    }
}
