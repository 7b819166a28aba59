//! The board, next to [`shakmaty`]: a game with its history, the vocabulary of 1,968 UCI moves, and
//! the features of a position that networks look at.
//!
//! ```
//! use glance::board::{Game, MoveIndex};
//!
//! let mut game = Game::default();
//! let m = game.parse_uci("e2e4").unwrap();
//! assert_eq!(MoveIndex::of(m).uci(), "e2e4");
//! game.play(m);
//! assert_eq!(game.position().fullmoves().get(), 1);
//! # use shakmaty::Position;
//! ```

mod attacks;
mod conditions;
mod consequences;
mod edges;
mod exchange;
mod features;
mod fen;
mod game;
mod lines;
mod mate;
mod outlook;
mod perft;
mod pgn;
mod polyglot;
mod special;
mod takings;
mod time;
mod vocabulary;
mod ways;

pub use attacks::{ATTACKS, attacked};
pub use conditions::{Conditions, Pool, Seat};
pub use edges::Edge;
pub(crate) use exchange::{gains, worth};
pub(crate) use features::blend;
pub use features::{BOARDS, CODES, EMPTY, Features, GLOBALS, MARKS, MISSING, global_names};
pub use fen::{FenError, parse_fen, write_fen};
pub use game::{Game, IllegalMove, Repetitions, Terminal, played};
pub(crate) use lines::alone;
pub use perft::{divide, perft};
pub use pgn::{PgnError, PgnGame, PgnMove, comment_command, games as pgn_games, parse_clock, parse_time_control};
pub use polyglot::{polyglot_key, polyglot_move};
pub use time::{TIME_BINS, fair_share, time_bins, time_edge};
pub use vocabulary::{MOVES, MoveIndex};
