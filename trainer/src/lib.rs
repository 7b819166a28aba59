//! The trainer: makes the networks that Glance plays with.
#![deny(missing_docs)]

pub mod claim;
pub mod cli;
pub mod data;
pub mod measure;
pub mod train;
pub mod zoo;
