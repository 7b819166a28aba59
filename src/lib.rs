//! Glance: a chess engine that plays at a glance.
//!
//! A position goes in at the top, one network looks at it, a short search asks again, a move comes out. The modules
//! are layers, each using only those below it:
//!
//! | module | what it does |
//! |---|---|
//! | [`uci`], [`cli`] | speak with GUIs and people |
//! | [`play`] | chooses a move: mate in one, book, tablebases, search; the clock |
//! | [`human`] | playing as people of a rating do, and telling ratings from moves |
//! | [`search`] | policy, lookahead, value, tree: all behind one trait |
//! | [`evaluate`] | positions in, evaluations out: one trait, with the network, a cache and a script behind it |
//! | [`network`] | Burn modules generic over the backend; config, loading, saving |
//! | [`board`] | next to shakmaty: history, the 1,968-move vocabulary, features |
//!
//! [`plot`] draws curves and bars, for all of them.
//!
//! Features: `training` (gradients through the network), `cuda` (NVIDIA GPUs), `wgpu` (any GPU, through Vulkan or Metal).
#![deny(missing_docs)]

pub mod board;
pub mod cli;
pub mod evaluate;
pub mod human;
pub mod network;
pub mod play;
pub mod plot;
pub mod search;
pub mod uci;
