//! Glance: a chess engine that plays at a glance.
#![deny(missing_docs)]

pub mod board;
pub mod network;
pub mod evaluate;
