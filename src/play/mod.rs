//! How a move is chosen, in order: mate in one, book, tablebase, search; and the clock.

mod book;
mod choose;
mod clock;
mod decision;
mod engine;
mod lag;
mod loading;
mod person;
mod settings;
mod tablebase;

pub use book::{Book, BookError};
pub use clock::Clock;
pub use decision::{Decision, Go, Source};
pub use engine::Engine;
pub use lag::Lag;
pub use loading::{EngineError, embedded_weights};
pub use settings::{SearchName, Settings, UnknownSearch};
pub use tablebase::{Tablebases, Verdict};
