//! All options, each declared once: UCI lines, `setoption`, the command line's help and the README's table come from
//! this one table.

use std::fmt::Write as _;
use std::path::PathBuf;

use thiserror::Error;

use crate::evaluate::BackendName;
use crate::play::{SearchName, Settings};

/// Why an option was not set. The text names the value and what is allowed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionError {
    /// No such option.
    #[error("option '{0}': no such option; 'uci' lists them")]
    Unknown(String),
    /// A value that it cannot have.
    #[error("option {name}: '{value}' is not allowed: {allowed}")]
    Value {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: String,
    },
    /// Information for the GUI only.
    #[error("option {0}: cannot be set")]
    ReadOnly(&'static str),
}

/// The kind of an option, with how it is read from and written to the settings.
pub enum Kind {
    /// `true` or `false`.
    Check(fn(&Settings) -> bool, fn(&mut Settings, bool)),
    /// A whole number in a range.
    Spin(i64, i64, fn(&Settings) -> i64, fn(&mut Settings, i64)),
    /// A rating in a range: what lies outside is taken for the nearest end, as UCI says of `UCI_Elo`. 0 is allowed too where
    /// it is the default.
    Rating(i64, i64, fn(&Settings) -> i64, fn(&mut Settings, i64)),
    /// One of some words.
    Combo(fn() -> Vec<&'static str>, fn(&Settings) -> &'static str, fn(&mut Settings, &str) -> bool),
    /// Any text; empty means none.
    Text(fn(&Settings) -> String, fn(&mut Settings, Option<String>)),
    /// The same, which names files.
    Path(fn(&Settings) -> String, fn(&mut Settings, Option<String>)),
    /// Something done at once.
    Button,
    /// A text that the GUI shows.
    About(&'static str),
}

/// An option.
pub struct Declaration {
    /// Its exact name.
    pub name: &'static str,
    /// What it is for, in one line.
    pub help: &'static str,
    /// Type, range and place in the settings.
    pub kind: Kind,
}

/// What setting an option asks for, besides the new settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// `Clear Hash` was pressed.
    ClearHash,
    /// The value was outside its range: this is used.
    Clamped(i64),
    /// Files are named that are in use: they may be others by now.
    ReadAgain,
}

macro_rules! spin {
    ($low:expr, $high:expr, $field:ident) => {
        Kind::Spin($low, $high, |s| s.$field as i64, |s, v| s.$field = v as _)
    };
}
macro_rules! rating {
    ($low:expr, $high:expr, $field:ident) => {
        Kind::Rating($low, $high, |s| s.$field as i64, |s, v| s.$field = v as _)
    };
}
macro_rules! check {
    ($($field:ident).+) => {
        Kind::Check(|s| s.$($field).+, |s, v| s.$($field).+ = v)
    };
}
macro_rules! path {
    ($field:ident) => {
        Kind::Path(
            |s| s.$field.as_ref().map_or_else(String::new, |p| p.display().to_string()),
            |s, v| s.$field = v.map(PathBuf::from),
        )
    };
}

const ABOUT: &str = "Glance: a chess engine that plays at a glance. One look of a transformer at the board gives the moves. GPL-3.0-or-later.";

/// The table. The order is the one that `uci` prints.
pub static OPTIONS: &[Declaration] = &[
    Declaration { name: "Threads", help: "Threads that evaluate positions", kind: spin!(1, 256, threads) },
    Declaration {
        name: "Hash",
        help: "Megabytes of evaluations remembered and of positions searched, half each",
        kind: spin!(1, 65_536, hash),
    },
    Declaration { name: "Clear Hash", help: "Forget them", kind: Kind::Button },
    Declaration {
        name: "Ponder",
        help: "Whether the GUI may let the engine think in the opponent's time",
        kind: check!(ponder),
    },
    Declaration { name: "MultiPV", help: "Number of best lines shown", kind: spin!(1, 218, multi_pv) },
    Declaration {
        name: "Move Overhead",
        help: "Milliseconds of each move that are lost between engine and GUI",
        kind: spin!(0, 10_000, move_overhead),
    },
    Declaration { name: "UCI_Chess960", help: "Castling is written as king takes rook", kind: check!(chess960) },
    Declaration { name: "UCI_ShowWDL", help: "Show win, draw and loss in thousandths", kind: check!(show_wdl) },
    Declaration { name: "UCI_AnalyseMode", help: "Analysis: no book, no weakening, no chance", kind: check!(analyse) },
    Declaration {
        name: "UCI_LimitStrength",
        help: "Play like a person of rating UCI_Elo",
        kind: check!(limit_strength),
    },
    Declaration { name: "UCI_Elo", help: "That rating", kind: rating!(800, 2800, elo) },
    Declaration {
        name: "UCI_Opponent",
        help: "Title, rating, computer or human, and name of the opponent; the rating is used with UCI_LimitStrength",
        kind: Kind::Text(
            |s| s.opponent.map_or_else(String::new, |r| format!("none {r} human unknown")),
            |s, v| {
                let rating = v.as_deref().and_then(|v| v.split_whitespace().nth(1)?.parse::<f32>().ok());
                s.opponent = rating.filter(|r| (100.0..=4000.0).contains(r));
            },
        ),
    },
    Declaration {
        name: "SelfElo",
        help: "The rating that the network itself is told, not calibrated by games, instead of UCI_Elo; 0 for none",
        kind: rating!(400, 3600, self_elo),
    },
    Declaration {
        name: "OppoElo",
        help: "The rating that it is told of the opponent, instead of UCI_Opponent's; 0 for none",
        kind: rating!(400, 3600, oppo_elo),
    },
    Declaration {
        name: "HumanTime",
        help: "Playing like a person: take the time that one would",
        kind: check!(human_time),
    },
    Declaration {
        name: "HumanBook",
        help: "Playing like a person: a Polyglot book to draw openings from; without one, the network opens",
        kind: path!(human_book),
    },
    Declaration {
        name: "DialFile",
        help: "Playing like a person: another calibration of UCI_Elo than the built-in one (as weights/dial.json)",
        kind: path!(dial_file),
    },
    Declaration { name: "UCI_EngineAbout", help: "About this engine", kind: Kind::About(ABOUT) },
    Declaration { name: "OwnBook", help: "Play openings from a book", kind: check!(own_book) },
    Declaration { name: "BookFile", help: "A Polyglot book instead of the built-in one", kind: path!(book_file) },
    Declaration {
        name: "SyzygyPath",
        help: "Folders with tablebases besides the built-in ones (3 and 4 men), separated as in PATH",
        kind: Kind::Path(|s| s.syzygy_path.clone().unwrap_or_default(), |s, v| s.syzygy_path = v),
    },
    Declaration {
        name: "SyzygyProbeLimit",
        help: "Men up to which tablebases are asked",
        kind: spin!(0, 7, syzygy_probe_limit),
    },
    Declaration {
        name: "Syzygy50MoveRule",
        help: "Tablebase wins that the fifty-move rule spoils are draws",
        kind: check!(syzygy_50_move_rule),
    },
    Declaration {
        name: "WeightsFile",
        help: "A network made by glance-trainer instead of the built-in one",
        kind: path!(weights_file),
    },
    Declaration {
        name: "Backend",
        help: "Where the arithmetic is done",
        kind: Kind::Combo(
            || BackendName::ALL.into_iter().filter(|b| b.is_built()).map(BackendName::name).collect(),
            |s| s.backend.name(),
            |s, v| v.parse().ok().filter(|b: &BackendName| b.is_built()).map(|b| s.backend = b).is_some(),
        ),
    },
    Declaration {
        name: "Search",
        help: "How the move is chosen: by one glance, by MicroChess's lookahead, by the values of what follows, by a tree of glances",
        kind: Kind::Combo(
            || SearchName::ALL.iter().map(|&(n, _)| n).collect(),
            |s| SearchName::ALL.iter().find(|&&(_, b)| b == s.search).map_or("", |&(n, _)| n),
            |s, v| v.parse().map(|b| s.search = b).is_ok(),
        ),
    },
    Declaration {
        name: "Lookahead Bonuses",
        help: "Lookahead: small bonuses for checks, captures and promotions",
        kind: check!(guards.bonuses),
    },
    Declaration {
        name: "Lookahead Blunders",
        help: "Lookahead: moves that hang a piece or allow mate stand back",
        kind: check!(guards.blunders),
    },
    Declaration {
        name: "Lookahead Replies",
        help: "Lookahead: the opponent's best reply counts",
        kind: check!(guards.replies),
    },
    Declaration {
        name: "Temperature",
        help: "In hundredths: 0 plays the best move, 100 draws it as the network sees it",
        kind: spin!(0, 1000, temperature),
    },
    Declaration {
        name: "VerboseMoveStats",
        help: "A line for every move: probability, and what the tree knows of it",
        kind: check!(verbose_move_stats),
    },
    Declaration { name: "Log File", help: "A file that the whole conversation is written to", kind: path!(log_file) },
];

/// The option with this name, in any case.
pub fn find(name: &str) -> Option<&'static Declaration> {
    let words = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    let wanted = words(name);
    OPTIONS.iter().find(|d| words(d.name) == wanted)
}

impl Declaration {
    /// The line that `uci` prints.
    pub fn uci_line(&self) -> String {
        let defaults = Settings::default();
        let name = self.name;
        let text = |t: &str| if t.is_empty() { "<empty>".to_owned() } else { t.to_owned() };
        match &self.kind {
            Kind::Check(get, _) => format!("option name {name} type check default {}", get(&defaults)),
            Kind::Spin(low, high, get, _) => {
                format!("option name {name} type spin default {} min {low} max {high}", get(&defaults))
            }
            Kind::Rating(low, high, get, _) => {
                let default = get(&defaults);
                format!("option name {name} type spin default {default} min {} max {high}", default.min(*low))
            }
            Kind::Combo(all, get, _) => {
                let mut line = format!("option name {name} type combo default {}", get(&defaults));
                for word in all() {
                    let _ = write!(line, " var {word}");
                }
                line
            }
            Kind::Text(get, _) | Kind::Path(get, _) => {
                format!("option name {name} type string default {}", text(&get(&defaults)))
            }
            Kind::Button => format!("option name {name} type button"),
            Kind::About(about) => format!("option name {name} type string default {about}"),
        }
    }

    /// Type, default and range for people.
    pub fn describe(&self) -> (String, String) {
        let defaults = Settings::default();
        match &self.kind {
            Kind::Check(get, _) => (get(&defaults).to_string(), "true, false".into()),
            Kind::Spin(low, high, get, _) => (get(&defaults).to_string(), format!("{low} to {high}")),
            Kind::Rating(low, high, get, _) => {
                let none = if get(&defaults) == 0 { "0, or " } else { "" };
                (get(&defaults).to_string(), format!("{none}{low} to {high}"))
            }
            Kind::Combo(all, get, _) => (get(&defaults).into(), all().join(", ")),
            Kind::Text(get, _) | Kind::Path(get, _) => (get(&defaults), "text".into()),
            Kind::Button => (String::new(), "a button".into()),
            Kind::About(_) => (String::new(), "shown only".into()),
        }
    }

    /// Sets it.
    ///
    /// # Errors
    /// When the value is not allowed; the settings are as before.
    pub fn set(&self, settings: &mut Settings, value: Option<&str>) -> Result<Effect, OptionError> {
        let value = value.map(str::trim).filter(|v| !v.is_empty() && *v != "<empty>");
        let refuse = |allowed: String| OptionError::Value {
            name: self.name,
            value: value.unwrap_or_default().chars().take(64).flat_map(char::escape_debug).collect(),
            allowed,
        };
        match &self.kind {
            Kind::Check(_, set) => match value.map(str::to_ascii_lowercase).as_deref() {
                Some("true") => set(settings, true),
                Some("false") => set(settings, false),
                _ => return Err(refuse("true or false is expected".into())),
            },
            Kind::Spin(low, high, _, set) => {
                let number = value.and_then(|v| v.parse::<i64>().ok()).filter(|n| (low..=high).contains(&n));
                set(settings, number.ok_or_else(|| refuse(format!("{low} to {high} is expected")))?);
            }
            Kind::Rating(low, high, get, set) => {
                let zero = get(&Settings::default()) == 0;
                let asked = value.and_then(|v| v.parse::<i64>().ok());
                let asked = asked.ok_or_else(|| refuse(format!("{low} to {high} is expected")))?;
                let used = if zero && asked == 0 { 0 } else { asked.clamp(*low, *high) };
                set(settings, used);
                if used != asked {
                    return Ok(Effect::Clamped(used));
                }
            }
            Kind::Combo(all, _, set) => {
                if !value.is_some_and(|v| set(settings, v)) {
                    return Err(refuse(format!("one of {} is expected", all().join(", "))));
                }
            }
            Kind::Text(_, set) => set(settings, value.map(str::to_owned)),
            Kind::Path(get, set) => {
                let before = get(settings);
                set(settings, value.map(str::to_owned));
                if value.is_some() && get(settings) == before {
                    return Ok(Effect::ReadAgain);
                }
            }
            Kind::Button => return Ok(Effect::ClearHash),
            Kind::About(_) => return Err(OptionError::ReadOnly(self.name)),
        }
        Ok(Effect::None)
    }
}

/// Sets an option by name.
///
/// # Errors
/// When there is no such option, or the value is not allowed.
pub fn set(settings: &mut Settings, name: &str, value: Option<&str>) -> Result<Effect, OptionError> {
    let shown = || name.chars().take(64).flat_map(char::escape_debug).collect();
    find(name).ok_or_else(|| OptionError::Unknown(shown()))?.set(settings, value)
}

/// What is said of a value that was outside its range.
pub fn clamped(name: &str, value: &str, used: i64) -> String {
    format!("option {name}: '{value}' is out of range: {used} is used")
}

/// The table as Markdown, for the README.
pub fn markdown() -> String {
    let mut out = String::from("| option | default | allowed | what it does |\n|---|---|---|---|\n");
    for d in OPTIONS {
        let (default, allowed) = d.describe();
        let _ = writeln!(out, "| `{}` | {default} | {allowed} | {} |", d.name, d.help);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_names_are_found_in_any_case() {
        let mut s = Settings::default();
        assert_eq!(set(&mut s, "hash", Some("512")), Ok(Effect::None));
        assert_eq!(set(&mut s, "MOVE  overhead", Some(" 100 ")), Ok(Effect::None));
        assert_eq!((s.hash, s.move_overhead), (512, 100));
        assert_eq!(set(&mut s, "Clear Hash", None), Ok(Effect::ClearHash));
        let before = s.clone();
        for (name, value, expected) in [
            ("Hash", Some("0"), "option Hash: '0' is not allowed: 1 to 65536 is expected"),
            ("Hash", Some("99999999999999999999"), "1 to 65536"),
            ("Hash", Some("many"), "'many'"),
            ("Hash", None, "1 to 65536"),
            ("Ponder", Some("maybe"), "true or false"),
            ("Search", Some("tea leaves"), "policy, lookahead, value, tree"),
            ("UCI_Elo", Some("strong"), "800 to 2800"),
            ("UCI_EngineAbout", Some("x"), "cannot be set"),
            ("No Such Option", Some("1"), "no such option"),
        ] {
            let error = set(&mut s, name, value).expect_err(name).to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(s, before);
        }
        assert_eq!(set(&mut s, "UCI_Elo", Some("100")), Ok(Effect::Clamped(800)));
        assert_eq!(set(&mut s, "SelfElo", Some("9999")), Ok(Effect::Clamped(3600)));
        assert_eq!((s.elo, s.self_elo), (800, 3600));
        assert_eq!(set(&mut s, "SelfElo", Some("0")), Ok(Effect::None));
        assert_eq!(s.self_elo, 0);
        assert_eq!(set(&mut s, "BookFile", Some("/a b/c.bin")), Ok(Effect::None));
        assert_eq!(s.book_file.as_deref(), Some(std::path::Path::new("/a b/c.bin")));
        assert_eq!(set(&mut s, "BookFile", Some("/a b/c.bin")), Ok(Effect::ReadAgain));
        assert_eq!(set(&mut s, "BookFile", Some("<empty>")), Ok(Effect::None));
        assert_eq!(s.book_file, None);
    }

    #[test]
    fn every_option_survives_its_own_default() {
        for d in OPTIONS {
            let mut s = Settings::default();
            let line = d.uci_line();
            assert!(line.starts_with(&format!("option name {} type ", d.name)));
            let (default, _) = d.describe();
            if !matches!(d.kind, Kind::About(_)) {
                d.set(&mut s, Some(&default)).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(s, Settings::default(), "{}", d.name);
            }
        }
    }
}
