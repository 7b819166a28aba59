//! The Universal Chess Interface: reading commands, keeping the session, writing answers.
//!
//! `vampirc-uci` reads the simple commands and writes the simple answers. Beside it: [`parse`] for
//! what it does not read (`go` in any order with unknown words and huge numbers, FENs of four fields, the
//! extra commands), [`info`] for lines with win, draw and loss.

pub mod info;
pub mod options;
pub mod output;
pub mod parse;
mod session;
mod worker;

pub use session::{Session, run};

/// Name and version, as `uci` shows them.
pub const NAME: &str = concat!("Glance ", env!("CARGO_PKG_VERSION"));
/// Authors, as `uci` shows them.
pub const AUTHOR: &str = "the Glance developers";
