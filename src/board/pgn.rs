//! PGN files, game by game: tags, moves and clocks. Variations are left out, comments too, but for `[%clk …]`.

use std::io::{self, Read};
use std::ops::ControlFlow;

use pgn_reader::{RawComment, RawTag, Reader, SanPlus, Skip, Visitor};
use shakmaty::{Chess, Move, Position};
use thiserror::Error;

use super::{Pool, parse_fen};

/// Longest game that is read, in plies: the longest that can be played without a claim has some 11,800.
const LONGEST: usize = 12_000;

/// A move of a game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PgnMove {
    /// The move.
    pub m: Move,
    /// Seconds left on the mover's clock after it, where the file says so.
    pub clock: Option<f32>,
}

/// A game of a file.
#[derive(Clone, Debug)]
pub struct PgnGame {
    /// Its place in the file, from 1.
    pub number: usize,
    /// Name of White and of Black.
    pub names: [String; 2],
    /// Rating of White and of Black, where known.
    pub ratings: [Option<f32>; 2],
    /// Where it was played, where the site is one of those known.
    pub pool: Option<Pool>,
    /// Seconds at the start and increment, where the time control is of that kind.
    pub time_control: Option<(f32, f32)>,
    /// The starting position.
    pub start: Chess,
    /// The moves.
    pub moves: Vec<PgnMove>,
}

/// Why a game was skipped, or a file could not be read on.
#[derive(Debug, Error)]
pub enum PgnError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A move that cannot be played.
    #[error("game {game}, move {number}{dots} {san}: illegal; the game is skipped")]
    Illegal {
        /// Place of the game in the file, from 1.
        game: usize,
        /// Number of the move.
        number: usize,
        /// `.` for White's, `...` for Black's.
        dots: &'static str,
        /// As written.
        san: String,
    },
    /// A starting position that is none.
    #[error("game {game}, FEN '{fen}': not a position; the game is skipped")]
    Start {
        /// Place of the game in the file, from 1.
        game: usize,
        /// As written.
        fen: String,
    },
    /// Another game than chess.
    #[error("game {game}, variant '{variant}': standard chess is expected; the game is skipped")]
    Variant {
        /// Place of the game in the file, from 1.
        game: usize,
        /// As written.
        variant: String,
    },
    /// Longer than any game.
    #[error("game {game}: more than {LONGEST} plies; the game is skipped")]
    Long {
        /// Place of the game in the file, from 1.
        game: usize,
    },
}

/// The value of a command in a comment: `5` of `[%depth 5]` for `depth`.
pub fn comment_command<'a>(comment: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = comment.split_once(&format!("[%{name} "))?;
    rest.split(']').next().map(str::trim)
}

/// "0:05:00", "1:02.5" or "90" to seconds.
pub fn parse_clock(text: &str) -> Option<f32> {
    let part = |part: &str| part.trim().parse::<f32>().ok().filter(|p| (0.0..1e6).contains(p));
    text.split(':').try_fold(0.0, |seconds, p| Some(seconds * 60.0 + part(p)?))
}

/// "600+5" to seconds at the start and increment; "600" has none.
pub fn parse_time_control(text: &str) -> Option<(f32, f32)> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    let number = |text: &str| text.trim().parse::<f32>().ok().filter(|x| (0.0..1e6).contains(x));
    Some((number(base)?, number(increment)?))
}

/// The games of a file, one after another. A game that cannot be played is an error that names it; the next one follows. After
/// an error of the file itself nothing does.
pub fn games(file: impl Read) -> impl Iterator<Item = Result<PgnGame, PgnError>> {
    let mut reader = Reader::new(file);
    let mut number = 0;
    let mut broken = false;
    std::iter::from_fn(move || {
        if broken {
            return None;
        }
        number += 1;
        match reader.read_game(&mut Collector { number }) {
            Ok(game) => game,
            Err(error) => {
                broken = true;
                Some(Err(error.into()))
            }
        }
    })
}

struct Collector {
    number: usize,
}

#[derive(Default)]
struct Tags {
    names: [String; 2],
    ratings: [Option<f32>; 2],
    pool: Option<Pool>,
    time_control: Option<(f32, f32)>,
    fen: Option<String>,
    variant: Option<String>,
}

struct State {
    game: PgnGame,
    position: Chess,
}

/// What a file says, short enough for a message.
fn short(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

impl Visitor for Collector {
    type Tags = Tags;
    type Movetext = State;
    type Output = Result<PgnGame, PgnError>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Tags> {
        ControlFlow::Continue(Tags::default())
    }

    fn tag(&mut self, tags: &mut Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Self::Output> {
        let value = value.decode_utf8_lossy().into_owned();
        let rating = || value.trim().parse::<f32>().ok().filter(|r| (100.0..=4000.0).contains(r));
        match name {
            b"White" => tags.names[0] = value,
            b"Black" => tags.names[1] = value,
            b"WhiteElo" => tags.ratings[0] = rating(),
            b"BlackElo" => tags.ratings[1] = rating(),
            b"Site" => tags.pool = tags.pool.or(Pool::of_site(&value)),
            b"TimeControl" => tags.time_control = parse_time_control(&value),
            b"FEN" => tags.fen = Some(value),
            b"Variant" => tags.variant = Some(value),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<Self::Output, State> {
        let number = self.number;
        let ordinary = ["standard", "chess960", "from position"];
        if let Some(variant) = tags.variant.filter(|v| !ordinary.contains(&v.to_ascii_lowercase().as_str())) {
            return ControlFlow::Break(Err(PgnError::Variant { game: number, variant: short(&variant) }));
        }
        let start = match tags.fen.as_deref().map(|fen| parse_fen(fen).map_err(|_| short(fen))) {
            None => Chess::default(),
            Some(Ok(position)) => position,
            Some(Err(fen)) => return ControlFlow::Break(Err(PgnError::Start { game: number, fen })),
        };
        let Tags { names, ratings, pool, time_control, .. } = tags;
        let moves = Vec::new();
        let game = PgnGame { number, names, ratings, pool, time_control, start: start.clone(), moves };
        ControlFlow::Continue(State { game, position: start })
    }

    fn san(&mut self, state: &mut State, san: SanPlus) -> ControlFlow<Self::Output> {
        let game = self.number;
        if state.game.moves.len() >= LONGEST {
            return ControlFlow::Break(Err(PgnError::Long { game }));
        }
        match san.san.to_move(&state.position) {
            Ok(m) => {
                state.game.moves.push(PgnMove { m, clock: None });
                state.position.play_unchecked(m);
                ControlFlow::Continue(())
            }
            Err(_) => {
                let number = state.position.fullmoves().get() as usize;
                let dots = state.position.turn().fold_wb(".", "...");
                ControlFlow::Break(Err(PgnError::Illegal { game, number, dots, san: san.to_string() }))
            }
        }
    }

    fn comment(&mut self, state: &mut State, comment: RawComment<'_>) -> ControlFlow<Self::Output> {
        let text = String::from_utf8_lossy(comment.as_bytes());
        let clock = comment_command(&text, "clk").and_then(parse_clock);
        if let Some(last) = state.game.moves.last_mut() {
            last.clock = clock.or(last.clock);
        }
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, _: &mut State) -> ControlFlow<Self::Output, Skip> {
        ControlFlow::Continue(Skip(true))
    }

    fn end_game(&mut self, state: State) -> Self::Output {
        Ok(state.game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[White \"A\"]\n[Black \"B\"]\n[WhiteElo \"1500\"]\n[BlackElo \"?\"]\n[Site \"https://lichess.org/x\"]\n\
        [TimeControl \"300+3\"]\n\n1. e4 {[%clk 0:05:00] good} e5 (1... c5 2. Nf3 {[%clk 0:01:00]}) 2. Nf3 $1 {[%clk 0:04:58.5]} *\n\n\
        [White \"C\"]\n\n1. e4 e5 2. Ke3 Nc6 3. d4 1-0\n\n\
        [White \"D\"]\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n\n1. e4 Kd7 1/2-1/2\n\n\
        [Variant \"Atomic\"]\n\n1. e4 *\n\n[FEN \"nonsense\"]\n\n1. e4 *\n\n[White \"E\"]\n\n*\n";

    #[test]
    fn games_are_read_and_bad_ones_are_named() {
        let found: Vec<_> = games(FILE.as_bytes()).collect();
        let texts: Vec<String> =
            found.iter().map(|g| g.as_ref().map_or_else(|e| e.to_string(), |g| g.names[0].clone())).collect();
        assert_eq!(texts[0], "A");
        assert_eq!(texts[1], "game 2, move 2. Ke3: illegal; the game is skipped");
        assert_eq!(texts[2], "D");
        assert_eq!(texts[3], "game 4, variant 'Atomic': standard chess is expected; the game is skipped");
        assert_eq!(texts[4], "game 5, FEN 'nonsense': not a position; the game is skipped");
        assert_eq!((texts[5].as_str(), texts.len()), ("E", 6));
        let first = found[0].as_ref().expect("a game");
        assert_eq!((first.ratings, first.pool), ([Some(1500.0), None], Some(Pool::Lichess)));
        assert_eq!((first.time_control, first.moves.len()), (Some((300.0, 3.0)), 3));
        assert_eq!(first.moves.iter().map(|m| m.clock).collect::<Vec<_>>(), [Some(300.0), None, Some(298.5)]);
        assert_eq!(found[2].as_ref().expect("a game").moves.len(), 2);
        assert!(games(&b"\xff\x00 not at all {"[..]).all(|g| g.map_or(true, |g| g.moves.is_empty())));
    }

    #[test]
    fn clocks_and_time_controls() {
        assert_eq!(parse_clock("1:02:03"), Some(3723.0));
        assert_eq!(parse_clock("0:00:09.7"), Some(9.7));
        assert_eq!((parse_clock("x"), parse_clock("-1:00"), parse_clock("")), (None, None, None));
        assert_eq!((parse_time_control("600"), parse_time_control("-")), (Some((600.0, 0.0)), None));
        assert_eq!(parse_time_control("40/7200:3600"), None);
    }
}
