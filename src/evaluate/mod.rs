//! Positions in, evaluations out: one trait, with the network, a cache and a script behind it.

mod backend;
mod cached;
mod evaluator;
mod network;
mod scripted;
mod stop;
mod time;
mod value;
mod wdl;

pub use backend::{BackendError, BackendName};
pub use cached::Cached;
pub use evaluator::{Evaluation, Evaluator, MoveEvaluation, Query, Stopped};
pub use network::{NetworkEvaluator, OpenError, open};
pub use scripted::Scripted;
pub use stop::{Span, Stop};
pub use time::MoveTime;
pub use value::{bins_target, evaluation_target, wdl_of};
pub use wdl::{LARGEST_CP, Wdl};
