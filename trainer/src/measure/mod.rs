//! How good a network is.

pub mod validation;
