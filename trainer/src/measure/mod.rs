//! How good a network is.

pub mod figures;
pub mod puzzles;
pub mod report;
pub mod time;
pub mod validation;
