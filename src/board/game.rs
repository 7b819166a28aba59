//! A game: the position, the boards before it, and which positions have come up already.

use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Board, CastlingMode, Chess, EnPassantMode, Move, Position};
use thiserror::Error;

use super::features::BOARDS;
use super::fen::{FenError, parse_fen};

/// A move that cannot be played.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("move '{text}': {reason} in {fen}")]
pub struct IllegalMove {
    /// As it was written.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
    /// Where it was to be played.
    pub fen: String,
}

/// The position after a legal move; [`Game::after`] keeps what went before, too.
pub fn played(position: &Chess, m: Move) -> Chess {
    let mut next = position.clone();
    next.play_unchecked(m);
    next
}

/// How a game has ended, by the rules that an engine or arbiter applies without a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// The player to move is mated.
    Checkmate,
    /// No legal move, no check.
    Stalemate,
    /// Neither side can mate.
    InsufficientMaterial,
    /// A hundred plies without capture or pawn move.
    FiftyMoves,
    /// The position has come up for the third time.
    Repetition,
}

/// How often the position has come up before in the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repetitions {
    /// New.
    None,
    /// Second time.
    Once,
    /// Third time or more.
    Twice,
}

/// A position with the history that matters: earlier boards for the network, keys for repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    position: Chess,
    /// Boards before this one, newest first, at most `BOARDS - 1`.
    earlier: Vec<Board>,
    /// Zobrist keys since the last irreversible move, oldest first; the last is the position's own.
    keys: Vec<u64>,
    plies: usize,
}

impl Default for Game {
    fn default() -> Game {
        Game::new(Chess::default())
    }
}

fn key_of(position: &Chess) -> u64 {
    let Zobrist64(key) = position.zobrist_hash(EnPassantMode::Legal);
    key
}

impl Game {
    /// A game that starts here.
    pub fn new(position: Chess) -> Game {
        let keys = vec![key_of(&position)];
        Game { position, earlier: Vec::with_capacity(BOARDS), keys, plies: 0 }
    }

    /// A game that starts at a FEN.
    ///
    /// # Errors
    /// As [`parse_fen`].
    pub fn from_fen(fen: &str) -> Result<Game, FenError> {
        parse_fen(fen).map(Game::new)
    }

    /// The position.
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// Boards before this one, newest first; fewer than seven near the start.
    pub fn earlier(&self) -> &[Board] {
        &self.earlier
    }

    /// Plies played since the game's starting position.
    pub fn plies(&self) -> usize {
        self.plies
    }

    /// The position's Zobrist key (en passant only where it can be taken).
    pub fn key(&self) -> u64 {
        self.keys.last().copied().unwrap_or_default()
    }

    /// Plays a legal move.
    pub fn play(&mut self, m: Move) {
        if self.earlier.len() == BOARDS - 1 {
            self.earlier.pop();
        }
        self.earlier.insert(0, self.position.board().clone());
        let updated = self.position.update_zobrist_hash(Zobrist64(self.key()), m, EnPassantMode::Legal);
        if m.is_zeroing() {
            self.keys.clear();
        }
        self.position.play_unchecked(m);
        // Not for castling, nor where a pawn could be or can be taken en passant.
        self.keys.push(updated.map_or_else(|| key_of(&self.position), |Zobrist64(key)| key));
        self.plies += 1;
    }

    /// The game after a legal move.
    pub fn after(&self, m: Move) -> Game {
        let mut next = self.clone();
        next.play(m);
        next
    }

    /// The legal move with this UCI name; castling as `e1g1` or as `e1h1`.
    ///
    /// # Errors
    /// When it is no move or not legal here.
    pub fn parse_uci(&self, text: &str) -> Result<Move, IllegalMove> {
        let error = |reason| IllegalMove {
            text: text.chars().take(16).flat_map(char::escape_debug).collect(),
            reason,
            fen: super::write_fen(&self.position),
        };
        let uci: UciMove = text.to_ascii_lowercase().parse().map_err(|_| error("not a UCI move"))?;
        if uci == UciMove::Null {
            return Err(error("null move: not allowed"));
        }
        uci.to_move(&self.position).map_err(|_| error("not legal"))
    }

    /// A legal move in standard notation, with its check or mate sign.
    pub fn san(&self, m: Move) -> String {
        SanPlus::from_move(self.position.clone(), m).to_string()
    }

    /// A move's UCI name here: king takes rook for castling when the game is Chess960, else `e1g1`.
    pub fn uci(&self, m: Move, chess960: bool) -> String {
        let needed = self.position.castles().mode().is_chess960();
        m.to_uci(CastlingMode::from_chess960(chess960 || needed)).to_string()
    }

    /// How often the position has come up before.
    pub fn repetitions(&self) -> Repetitions {
        let key = self.key();
        // Only every second position has the same side to move.
        let before = self.keys.iter().rev().skip(2).step_by(2).filter(|&&k| k == key);
        match before.take(2).count() {
            0 => Repetitions::None,
            1 => Repetitions::Once,
            _ => Repetitions::Twice,
        }
    }

    /// Whether the position came up among the last so many, the present one not counted.
    pub fn recurs_within(&self, plies: usize) -> bool {
        let key = self.key();
        self.keys.iter().rev().take(plies.saturating_add(1)).skip(2).step_by(2).any(|&k| k == key)
    }

    /// How the game has ended, if it has. Mate comes before the fifty-move rule, as FIDE has it.
    pub fn terminal(&self) -> Option<Terminal> {
        if self.position.legal_moves().is_empty() {
            return Some(if self.position.is_check() { Terminal::Checkmate } else { Terminal::Stalemate });
        }
        if self.position.is_insufficient_material() {
            Some(Terminal::InsufficientMaterial)
        } else if self.position.halfmoves() >= 100 {
            Some(Terminal::FiftyMoves)
        } else if self.repetitions() == Repetitions::Twice {
            Some(Terminal::Repetition)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(game: &mut Game, moves: &str) {
        for text in moves.split_whitespace() {
            let m = game.parse_uci(text).unwrap_or_else(|e| panic!("{e}"));
            game.play(m);
        }
    }

    #[test]
    fn repetition_and_history() {
        let mut game = Game::default();
        play(&mut game, "g1f3 g8f6 f3g1 f6g8");
        assert_eq!(game.repetitions(), Repetitions::Once);
        assert_eq!(game.terminal(), None);
        assert_eq!([0, 3, 4, 5, usize::MAX].map(|plies| game.recurs_within(plies)), [false, false, true, true, true]);
        play(&mut game, "g1f3 g8f6 f3g1 f6g8");
        assert_eq!(game.repetitions(), Repetitions::Twice);
        assert_eq!(game.terminal(), Some(Terminal::Repetition));
        assert_eq!(game.earlier().len(), 7);
        play(&mut game, "e2e4");
        assert_eq!(game.repetitions(), Repetitions::None);
    }

    #[test]
    fn keys_are_those_of_the_positions() {
        // With castling, en passant and promotions at hand.
        let mut game = Game::from_fen("r3k2r/2P2ppp/8/3pP3/8/8/PP3pPP/R3K1R1 w Qkq d6 0 1").expect("legal");
        for ply in 0..80 {
            let moves = game.position().legal_moves();
            for &m in &moves {
                let after = game.after(m);
                assert_eq!(after.key(), key_of(after.position()), "{m:?}");
            }
            let Some(&m) = moves.get(ply * 7 % moves.len().max(1)) else { break };
            game.play(m);
        }
        assert!(game.plies() > 10);
    }

    #[test]
    fn ends() {
        let cases = [
            ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", Terminal::Checkmate),
            ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Terminal::Stalemate),
            ("7k/8/6K1/8/8/8/8/6B1 b - - 0 1", Terminal::InsufficientMaterial),
            ("7k/8/6K1/8/8/8/8/6R1 b - - 100 90", Terminal::FiftyMoves),
        ];
        for (fen, expected) in cases {
            assert_eq!(Game::from_fen(fen).expect(fen).terminal(), Some(expected), "{fen}");
        }
    }

    #[test]
    fn castling_is_read_both_ways_and_written_as_asked() {
        let game = Game::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").expect("legal");
        let m = game.parse_uci("e1g1").expect("castling");
        assert_eq!(game.parse_uci("e1h1"), Ok(m));
        assert_eq!(game.uci(m, false), "e1g1");
        assert_eq!(game.uci(m, true), "e1h1");
    }

    #[test]
    fn bad_moves_are_named() {
        let game = Game::default();
        for text in ["e2e5", "zz", "0000", "e2e4q", "", "e7e5"] {
            let error = game.parse_uci(text).expect_err(text);
            assert!(error.to_string().contains(&format!("'{text}'")));
        }
    }
}
