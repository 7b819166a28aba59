//! The network: Burn modules generic over the backend, one config type, loading and saving.
//!
//! Data flows `Input` → embedding → trunk → heads → [`Output`]. Every piece is a small module of its own.

mod block;
mod config;
mod embedding;
mod geometry;
mod heads;
mod input;
mod kernels;
mod linear;
mod model;
mod smolgen;
mod weights;

pub use config::{Activation, Config, ConfigError, Embedding, Norm, PolicyHead, Smolgen, Trunk, ValueHead};
pub use input::Input;
pub use kernels::Kernels;
pub use model::{Network, Output};
pub use weights::{Precision, WeightsError, load, read_config, save};
