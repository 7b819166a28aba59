//! How a move is chosen, in order: mate in one, book, tablebase, search; and the clock.

mod book;
mod clock;
mod engine;
mod settings;
mod tablebase;

pub use book::{Book, BookError};
pub use clock::{Clock, Pace};
pub use engine::{Decision, Engine, EngineError, Go, Source, embedded_weights};
pub use settings::{SearchName, Settings, UnknownSearch};
pub use tablebase::{Tablebases, Verdict};
