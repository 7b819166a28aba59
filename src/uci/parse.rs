//! Reading commands: vampirc-uci where it reads them, by hand where it does not.

use thiserror::Error;
use vampirc_uci::{UciMessage, parse_one};

use crate::board::{FenError, Game, IllegalMove};
use crate::play::Clock;

/// The longest line that is looked at. A game of 6,000 moves fits.
pub const LONGEST: usize = 1 << 16;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `uci`
    Uci,
    /// `debug on`
    Debug(bool),
    /// `isready`
    IsReady,
    /// `setoption name … value …`
    SetOption(String, Option<String>),
    /// `ucinewgame`
    NewGame,
    /// `position …`: what follows the word.
    Position(String),
    /// `go …`
    Go(GoWords),
    /// `stop`
    Stop,
    /// `ponderhit`
    PonderHit,
    /// `quit`
    Quit,
    /// `bench`
    Bench,
    /// `d`: draw the board.
    Display,
    /// `eval`: what the network thinks of the position.
    Eval,
    /// `perft n` or `go perft n`
    Perft(u32),
    /// `help`
    Help,
    /// `register …` and empty lines: nothing to do.
    Nothing,
}

/// A line that is no command of ours.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CommandError {
    /// Not a word of ours.
    #[error("unknown command '{0}'; 'help' lists the commands")]
    Unknown(String),
    /// Far too long.
    #[error("line of {0} bytes: at most {LONGEST} are allowed")]
    TooLong(usize),
    /// A command that lacks something.
    #[error("{command}: {expected}")]
    Incomplete {
        /// The command.
        command: &'static str,
        /// What it needs.
        expected: String,
    },
    /// A number that is none.
    #[error("go {word}: '{value}' is not allowed: {expected}")]
    Number {
        /// The word before it.
        word: String,
        /// What was there.
        value: String,
        /// What may be there.
        expected: &'static str,
    },
}

/// `go`, as it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoWords {
    /// White's milliseconds.
    pub wtime: Option<i64>,
    /// Black's milliseconds.
    pub btime: Option<i64>,
    /// White's increment.
    pub winc: Option<i64>,
    /// Black's increment.
    pub binc: Option<i64>,
    /// Moves to the time control.
    pub movestogo: Option<u32>,
    /// Exactly so many milliseconds.
    pub movetime: Option<i64>,
    /// Plies.
    pub depth: Option<u32>,
    /// Positions.
    pub nodes: Option<u64>,
    /// Mate in so many moves.
    pub mate: Option<u32>,
    /// Until `stop`.
    pub infinite: bool,
    /// In the opponent's time.
    pub ponder: bool,
    /// Only these moves.
    pub searchmoves: Vec<String>,
}

impl GoWords {
    /// The clock of the side to move.
    pub fn clock(&self, white: bool) -> Clock {
        let (left, increment) = if white { (self.wtime, self.winc) } else { (self.btime, self.binc) };
        Clock { left, increment: increment.unwrap_or(0), moves_to_go: self.movestogo, move_time: self.movetime }
    }

    /// Whether nothing but a command ends the search.
    pub fn is_endless(&self) -> bool {
        let ends = self.wtime.is_some()
            || self.btime.is_some()
            || self.movetime.is_some()
            || self.depth.is_some()
            || self.nodes.is_some()
            || self.mate.is_some();
        self.infinite || !ends
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

/// Reads a line. White space is forgiven everywhere; words before the first known command are skipped, as the
/// protocol asks.
///
/// # Errors
/// When there is no command in the line, or it lacks something.
pub fn parse(line: &str) -> Result<Command, CommandError> {
    if line.len() > LONGEST {
        return Err(CommandError::TooLong(line.len()));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first() else {
        return Ok(Command::Nothing);
    };
    for (i, word) in words.iter().enumerate() {
        if let Some(command) = parse_words(word, &words[i + 1..])? {
            return Ok(command);
        }
    }
    Err(CommandError::Unknown(shown(first)))
}

fn parse_words(word: &str, rest: &[&str]) -> Result<Option<Command>, CommandError> {
    let word = word.to_ascii_lowercase();
    Ok(Some(match word.as_str() {
        "go" if rest.first().is_some_and(|w| w.eq_ignore_ascii_case("perft")) => Command::Perft(perft(rest.get(1))?),
        "go" => Command::Go(parse_go(rest)?),
        "position" => Command::Position(rest.join(" ")),
        "bench" => Command::Bench,
        "d" => Command::Display,
        "eval" => Command::Eval,
        "perft" => Command::Perft(perft(rest.first())?),
        "help" | "--help" | "-h" => Command::Help,
        "setoption" => set_option(rest)?,
        "debug" => Command::Debug(rest.first().is_none_or(|w| !w.eq_ignore_ascii_case("off"))),
        "uci" | "isready" | "ucinewgame" | "stop" | "ponderhit" | "quit" => simple(&word),
        "exit" => Command::Quit,
        "register" => Command::Nothing,
        _ => return Ok(None),
    }))
}

/// The commands of one word, as vampirc-uci reads them.
fn simple(word: &str) -> Command {
    match parse_one(word) {
        UciMessage::Uci => Command::Uci,
        UciMessage::IsReady => Command::IsReady,
        UciMessage::UciNewGame => Command::NewGame,
        UciMessage::Stop => Command::Stop,
        UciMessage::PonderHit => Command::PonderHit,
        UciMessage::Quit => Command::Quit,
        _ => Command::Nothing,
    }
}

/// `name … value …`: vampirc-uci reads it, except for an empty value.
fn set_option(rest: &[&str]) -> Result<Command, CommandError> {
    let at = |name: &str| rest.iter().position(|w| w.eq_ignore_ascii_case(name));
    let incomplete = || CommandError::Incomplete {
        command: "setoption",
        expected: "'name <option> [value <value>]' is expected".into(),
    };
    if at("name") != Some(0) || rest.len() < 2 {
        return Err(incomplete());
    }
    let end = at("value").unwrap_or(rest.len());
    let name = rest.get(1..end).filter(|n| !n.is_empty()).ok_or_else(incomplete)?;
    let value = rest.get(end + 1..).filter(|v| !v.is_empty()).map(|v| v.join(" "));
    let text = match &value {
        Some(value) => format!("setoption name {} value {value}", name.join(" ")),
        None => format!("setoption name {}", name.join(" ")),
    };
    Ok(match parse_one(&text) {
        UciMessage::SetOption { name, value } => Command::SetOption(name, value),
        _ => Command::SetOption(name.join(" "), value),
    })
}

fn perft(word: Option<&&str>) -> Result<u32, CommandError> {
    let depth = word.and_then(|w| w.parse().ok()).filter(|d| (1..=12).contains(d));
    depth.ok_or(CommandError::Incomplete { command: "perft", expected: "a depth of 1 to 12 is expected".into() })
}

fn parse_go(words: &[&str]) -> Result<GoWords, CommandError> {
    let mut go = GoWords::default();
    let mut i = 0;
    while i < words.len() {
        let word = words[i].to_ascii_lowercase();
        i += 1;
        let value = words.get(i).copied();
        match word.as_str() {
            "infinite" => go.infinite = true,
            "ponder" => go.ponder = true,
            "searchmoves" => {
                while i < words.len() && looks_like_a_move(words[i]) {
                    go.searchmoves.push(words[i].to_owned());
                    i += 1;
                }
                continue;
            }
            "wtime" => go.wtime = Some(signed(&word, value)?),
            "btime" => go.btime = Some(signed(&word, value)?),
            "winc" => go.winc = Some(signed(&word, value)?),
            "binc" => go.binc = Some(signed(&word, value)?),
            "movetime" => go.movetime = Some(signed(&word, value)?),
            "movestogo" => go.movestogo = Some(unsigned(&word, value)?.min(10_000) as u32),
            "depth" => go.depth = Some(unsigned(&word, value)?.min(1000) as u32),
            "nodes" => go.nodes = Some(unsigned(&word, value)?),
            "mate" => go.mate = Some(unsigned(&word, value)?.min(1000) as u32),
            _ => continue,
        }
        if !matches!(word.as_str(), "infinite" | "ponder") {
            i += 1;
        }
    }
    Ok(go)
}

fn looks_like_a_move(word: &str) -> bool {
    matches!(word.len(), 4 | 5) && word.as_bytes()[1].is_ascii_digit() && word.as_bytes()[3].is_ascii_digit()
}

/// A number that may be negative; digits beyond what fits count as the largest that does.
fn signed(word: &str, value: Option<&str>) -> Result<i64, CommandError> {
    let text = value.unwrap_or_default();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        let expected = "a whole number is expected";
        return Err(CommandError::Number { word: word.into(), value: shown(text), expected });
    }
    // Some GUIs send fractions of milliseconds.
    let whole = digits.split('.').next().unwrap_or_default();
    let number = whole.parse::<i64>().unwrap_or(if whole.is_empty() { 0 } else { i64::MAX });
    Ok(if text.starts_with('-') { -number } else { number })
}

fn unsigned(word: &str, value: Option<&str>) -> Result<u64, CommandError> {
    let number = signed(word, value)?;
    u64::try_from(number).map_err(|_| CommandError::Number {
        word: word.into(),
        value: shown(value.unwrap_or_default()),
        expected: "0 or more is expected",
    })
}

/// Why a position was refused.
#[derive(Debug, Error, PartialEq)]
pub enum PositionError {
    /// The FEN.
    #[error(transparent)]
    Fen(Box<FenError>),
    /// A move.
    #[error("position: move {number}: {error}")]
    Move {
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        error: Box<IllegalMove>,
    },
    /// Neither.
    #[error("position '{0}': 'startpos' or 'fen <fen>' is expected, then 'moves …'")]
    Syntax(String),
}

/// Reads what follows `position`.
///
/// # Errors
/// When the FEN or one of the moves is wrong: then no part of it counts.
pub fn position(text: &str) -> Result<Game, PositionError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let moves_at = words.iter().position(|w| w.eq_ignore_ascii_case("moves")).unwrap_or(words.len());
    let mut game = match words.first().map(|w| w.to_ascii_lowercase()).as_deref() {
        Some("startpos") => Game::default(),
        Some("fen") if moves_at > 1 => {
            Game::from_fen(&words[1..moves_at].join(" ")).map_err(|e| PositionError::Fen(Box::new(e)))?
        }
        _ => return Err(PositionError::Syntax(shown(text))),
    };
    for (i, word) in words.iter().skip(moves_at + 1).enumerate() {
        let m = game.parse_uci(word).map_err(|error| PositionError::Move { number: i + 1, error: Box::new(error) })?;
        game.play(m);
    }
    Ok(game)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(text: &str) -> GoWords {
        match parse(text) {
            Ok(Command::Go(go)) => go,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn go_in_any_order_with_unknown_words() {
        let g =
            go("go  binc 5 foo searchmoves e2e4 d2d4 wtime -100 bar btime 99999999999999999999999 depth 3 infinite");
        assert_eq!((g.binc, g.wtime, g.btime, g.depth), (Some(5), Some(-100), Some(i64::MAX), Some(3)));
        assert_eq!(g.searchmoves, ["e2e4", "d2d4"]);
        assert!(g.infinite && g.is_endless());
        assert!(go("go").is_endless() && go("go ponder").is_endless());
        assert!(!go("go movetime 100").is_endless());
        assert_eq!(go("go wtime 1000.7").wtime, Some(1000));
        assert_eq!(parse("go perft 3"), Ok(Command::Perft(3)));
        for bad in ["go wtime", "go depth x", "go nodes -1", "go movetime --1", "perft 99", "perft"] {
            let error = parse(bad).expect_err(bad).to_string();
            assert!(error.contains("expected") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn commands() {
        assert_eq!(parse("  uci \r"), Ok(Command::Uci));
        assert_eq!(parse("ISREADY"), Ok(Command::IsReady));
        assert_eq!(parse("joho debug on"), Ok(Command::Debug(true)));
        assert_eq!(parse("debug off"), Ok(Command::Debug(false)));
        assert_eq!(parse(""), Ok(Command::Nothing));
        assert_eq!(
            parse("setoption name Move   Overhead value 30"),
            Ok(Command::SetOption("Move Overhead".into(), Some("30".into())))
        );
        assert_eq!(parse("setoption name Clear Hash"), Ok(Command::SetOption("Clear Hash".into(), None)));
        assert_eq!(parse("setoption name SyzygyPath value "), Ok(Command::SetOption("SyzygyPath".into(), None)));
        assert!(parse("setoption value 3").is_err());
        assert!(parse("fnord").expect_err("unknown").to_string().contains("'fnord'"));
        assert!(matches!(parse(&"x".repeat(1 << 20)), Err(CommandError::TooLong(_))));
    }

    #[test]
    fn noise_never_panics() {
        let words = [
            "go",
            "setoption",
            "name",
            "value",
            "position",
            "fen",
            "moves",
            "wtime",
            "-",
            "é",
            "\u{0}",
            "startpos",
            "e2e4",
            "9e9",
        ];
        let mut seed = 1_u32;
        for _ in 0..3000 {
            let mut line = String::new();
            for _ in 0..8 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                line.push_str(words[(seed >> 16) as usize % words.len()]);
                line.push(' ');
            }
            if let Ok(Command::Position(text)) = parse(&line) {
                let _ = position(&text);
            }
        }
    }

    #[test]
    fn positions() {
        assert!(position("startpos").is_ok());
        assert_eq!(position("startpos moves e2e4 e7e5").expect("legal").plies(), 2);
        assert!(position("fen 4k3/8/8/8/8/8/8/4K2R w K - moves e1g1").is_ok());
        let error = position("startpos moves e2e4 e2e4 e7e5").expect_err("illegal").to_string();
        assert!(error.contains("move 2") && error.contains("'e2e4'"), "{error}");
        for bad in ["", "fen", "moves e2e4", "fen moves e2e4", "here"] {
            assert!(position(bad).is_err(), "{bad}");
        }
    }
}
