//! How a network's glances become a move: by policy alone, with a look ahead, by the values of
//! successors, or by a tree of many glances.
//!
//! All searches stand behind one trait, take any [`Evaluator`](crate::evaluate::Evaluator), and end within one small
//! piece of a batch of the stop signal.

mod captures;
mod checks;
mod desperado;
mod ends;
mod lines;
mod lookahead;
mod mate;
mod material;
mod outcome;
mod policy;
mod quiescence;
mod rank;
mod report;
mod see;
mod tactics;
mod task;
mod tree;
mod value;

pub use lookahead::{Guards, Lookahead};
pub use mate::{find_mate, find_mate_by_checks, mating_move};
pub use material::{balance, value};
pub use policy::Policy;
pub use quiescence::Exchanges;
pub use rank::{Rank, Standing};
pub use report::{Line, MoveStats, Report, Score};
pub use task::{Answer, Endings, Limits, Search, Task};
pub use tree::{Branch, Halving, Kept, Tree};
pub use value::Value;
