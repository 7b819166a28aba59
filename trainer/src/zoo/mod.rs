//! Many systems under one budget: trained on the same data, measured, and played against each other.

pub mod elo;
pub mod entry;
pub mod games;
pub mod report;
pub mod robin;
pub mod speed;
