//! Positions in, evaluations out.

mod wdl;

pub use wdl::{LARGEST_CP, Wdl};
