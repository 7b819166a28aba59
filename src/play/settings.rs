//! Everything that can be set, with its default.

use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::evaluate::BackendName;
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
    pub fn weakened(&self) -> bool {
        self.limit_strength && !self.analyse
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
