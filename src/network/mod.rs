//! The network: Burn modules generic over the backend, one config type, loading and saving.
//!
//! Data flows [`Input`] → embedding → trunk → heads → [`Output`]. Every piece is a small module of its own, chosen by name in a
//! [`Config`]: a system is a config, not a fork.

mod attention_bias;
mod block;
mod config;
mod curve;
mod embedding;
mod experts;
mod heads;
mod input;
mod int8;
mod kernels;
mod linear;
mod model;
mod norm;
mod precision;
mod trunk;
mod vectors;
mod weights;

pub use config::{
    Activation, Biases, Config, ConfigError, Embedding, Experts, Norm, PolicyHead, Reads, Smolgen, TimeHead, Trunk,
    ValueHead, View,
};
pub use curve::Curve;
pub use heads::Moves;
pub use input::{Input, Layout, Packed};
pub use int8::{Int8, Look};
#[cfg(feature = "training")]
pub use kernels::Rounding;
pub use kernels::{AttentionInputs, FeedForwardInputs, Fused, Kernels, Shape};
pub use model::{Network, Output};
pub use weights::{Precision, WeightsError, load, read_config, save};
