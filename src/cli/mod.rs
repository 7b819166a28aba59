//! What people look at: the board, the network's opinion, the benchmark, counts of leaves, and the command line itself.

mod args;
mod bench;
mod board;
mod eval;
mod guess_elo;
mod human;
mod perft;
mod tree;

pub use args::{Cli, Command, main};
pub use bench::bench;
pub use board::board;
pub use eval::{eval_json, eval_text};
pub use guess_elo::GuessElo;
pub use human::Human;
pub use perft::perft;
pub use tree::eval_tree;
