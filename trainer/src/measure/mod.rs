//! How good a network is.

pub mod figures;
pub mod plot;
pub mod puzzles;
pub mod report;
pub mod validation;
