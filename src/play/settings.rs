//! Everything that can be set, with its default.

use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::evaluate::BackendName;
use crate::human::{Dial, Style};
use crate::search::{Guards, Lookahead, Policy, Search, Tree, Value};

/// Which search chooses the move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchName {
    /// One glance.
    Policy,
    /// MicroChess's pipeline.
    Lookahead,
    /// By the values of successors.
    Value,
    /// A tree of many glances: by far the strongest.
    #[default]
    Tree,
}

/// A search that does not exist.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("search '{0}': one of {names} is allowed", names = SearchName::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownSearch(pub String);

impl SearchName {
    /// All, by name.
    pub const ALL: [(&'static str, SearchName); 4] = [
        ("policy", SearchName::Policy),
        ("lookahead", SearchName::Lookahead),
        ("value", SearchName::Value),
        ("tree", SearchName::Tree),
    ];

    /// Whether it goes by how games stand, and so needs a network that knows.
    pub fn needs_value(self) -> bool {
        matches!(self, SearchName::Value | SearchName::Tree)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        SearchName::ALL.iter().find(|(_, search)| *search == self).map_or("", |(name, _)| name)
    }

    /// The search itself.
    pub fn search(self, guards: Guards) -> Box<dyn Search> {
        match self {
            SearchName::Policy => Box::new(Policy),
            SearchName::Lookahead => Box::new(Lookahead { guards }),
            SearchName::Value => Box::new(Value::default()),
            SearchName::Tree => Box::new(Tree::default()),
        }
    }
}

impl FromStr for SearchName {
    type Err = UnknownSearch;

    fn from_str(text: &str) -> Result<Self, UnknownSearch> {
        SearchName::ALL
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|&(_, search)| search)
            .ok_or_else(|| UnknownSearch(text.to_owned()))
    }
}

/// The state of all options.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Threads that evaluate.
    pub threads: usize,
    /// Megabytes of cached evaluations.
    pub hash: usize,
    /// Whether the GUI may let the engine think in the opponent's time.
    pub ponder: bool,
    /// Lines shown.
    pub multi_pv: usize,
    /// Milliseconds kept back for the way between engine and GUI.
    pub move_overhead: u64,
    /// Whether castling is written as king takes rook.
    pub chess960: bool,
    /// Whether win, draw and loss are shown.
    pub show_wdl: bool,
    /// Analysis: no book, no weakening.
    pub analyse: bool,
    /// Whether to play at a rating.
    pub limit_strength: bool,
    /// The rating.
    pub elo: u32,
    /// The opponent's rating, where the GUI tells.
    pub opponent: Option<f32>,
    /// The rating that the network is told of the player itself, as it is, instead of `elo`; 0 for none. Plays as a person too.
    pub self_elo: u32,
    /// The rating that the network is told of the opponent, before `opponent`; 0 for none.
    pub oppo_elo: u32,
    /// Whether a person's time is taken for moves.
    pub human_time: bool,
    /// A book of games between people, for playing as one.
    pub human_book: Option<PathBuf>,
    /// Another calibration of ratings than the embedded one.
    pub dial_file: Option<PathBuf>,
    /// Whether to play from a book.
    pub own_book: bool,
    /// Another book than the embedded one.
    pub book_file: Option<PathBuf>,
    /// Folders with more tablebases.
    pub syzygy_path: Option<String>,
    /// Men up to which tablebases are asked.
    pub syzygy_probe_limit: usize,
    /// Whether the fifty-move rule spoils a tablebase win.
    pub syzygy_50_move_rule: bool,
    /// Other weights than the embedded ones.
    pub weights_file: Option<PathBuf>,
    /// Where the arithmetic is done.
    pub backend: BackendName,
    /// Which search.
    pub search: SearchName,
    /// Parts of the lookahead.
    pub guards: Guards,
    /// In hundredths: 0 plays the best move, 100 draws from the network's own distribution.
    pub temperature: u32,
    /// A line for every move.
    pub verbose_move_stats: bool,
    /// Where the conversation is written.
    pub log_file: Option<PathBuf>,
}

impl Settings {
    /// Bytes of half of `Hash`: the cache of evaluations has one half, the search the other.
    pub fn half_of_hash(&self) -> usize {
        self.hash << 19
    }

    /// Whether to play like a person of a rating: asked for, and not analysing.
    pub fn as_person(&self) -> bool {
        (self.limit_strength || self.self_elo > 0) && !self.analyse
    }

    /// How that person is played, by a calibration.
    pub fn style(&self, dial: &Dial) -> Style {
        let mut style = match self.self_elo {
            0 => dial.style(self.elo as f32),
            asked => Style { network: asked as f32, nodes: 0, reliance: 0.0, ..dial.style(asked as f32) },
        };
        if self.temperature > 0 {
            style.temperature = self.temperature as f32 / 100.0;
        }
        style
    }

    /// The opponent's rating as the network is told it, when the player's own is told as `own`: as asked for, else as much above or
    /// below the player as the opponent's own rating is, else the same.
    pub fn opponent_of(&self, own: f32) -> f32 {
        match (self.oppo_elo, self.opponent) {
            (0, None) => own,
            (0, Some(rating)) => own + rating - if self.self_elo > 0 { self.self_elo } else { self.elo } as f32,
            (asked, _) => asked as f32,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            threads: 1,
            hash: 64,
            ponder: false,
            multi_pv: 1,
            move_overhead: 20,
            chess960: false,
            show_wdl: false,
            analyse: false,
            limit_strength: false,
            elo: 1500,
            opponent: None,
            self_elo: 0,
            oppo_elo: 0,
            human_time: false,
            human_book: None,
            dial_file: None,
            own_book: true,
            book_file: None,
            syzygy_path: None,
            syzygy_probe_limit: 7,
            syzygy_50_move_rule: true,
            weights_file: None,
            backend: BackendName::default(),
            search: SearchName::default(),
            guards: Guards::default(),
            temperature: 0,
            verbose_move_stats: false,
            log_file: None,
        }
    }
}
