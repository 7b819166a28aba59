//! The training loop and its parts.

pub mod batch;
pub mod checkpoint;
pub mod clip;
pub mod ema;
pub mod export;
pub mod recipe;
pub mod run;
pub mod schedule;
pub mod step;
