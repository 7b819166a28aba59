//! The training loop and its parts.

pub mod average;
pub mod batch;
pub mod card;
pub mod checkpoint;
pub mod clip;
pub mod ema;
pub mod export;
mod extends;
pub mod flat;
pub mod initial;
pub mod log;
pub mod machines;
pub mod optimizer;
pub mod recipe;
pub mod run;
pub mod schedule;
pub mod step;
pub mod trained;
