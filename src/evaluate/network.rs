//! The network as an evaluator, on whichever backend was asked for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;
use rayon::{ThreadPool, ThreadPoolBuilder};
use shakmaty::Position;
use thiserror::Error;

use super::{BackendError, BackendName, Evaluation, Evaluator, MoveTime, Query, Stop, Stopped, wdl_of};
use crate::board::{Conditions, Features, Game, MOVES, MoveIndex};
use crate::network::{Config, Int8, Kernels, Moves, Network, WeightsError, load};

/// Time that a piece of a batch may take: a stop is heeded between pieces.
const PIECE: Duration = Duration::from_millis(6);
/// Positions in a piece at most: more at once is no faster on a CPU.
const MOST: usize = 16;
/// Positions in a piece at most on a GPU: a search has no more to ask at once without going astray.
#[cfg(feature = "gpu")]
const MOST_ON_GPU: usize = 64;

/// A network with the device that it lives on.
pub struct NetworkEvaluator<B: Kernels> {
    network: Network<B>,
    /// The same with weights of 8 bits, where it is asked for looks in its place.
    int8: Option<Int8>,
    device: B::Device,
    /// Threads that share batches (of more than one position), where there are several. They wait between batches, which costs less than to start them each time.
    pool: Option<ThreadPool>,
    /// Nanoseconds that a position took last time.
    pace: AtomicU64,
    /// Positions in a piece at most.
    most: usize,
    /// Positions that take hardly longer than one.
    batch: usize,
}

/// The most positions, up to `most`, that take hardly longer than one, doubled as long as that is so.
#[cfg(any(feature = "gpu", test))]
fn free(most: usize, mut time: impl FnMut(usize) -> Duration) -> usize {
    let enough = time(1) * 3 / 2;
    let mut batch = 1;
    while 2 * batch <= most && time(2 * batch) <= enough {
        batch *= 2;
    }
    batch
}

impl<B: Kernels> NetworkEvaluator<B> {
    /// Loads weights. `threads` threads share every batch; where the system has none to give, the caller's does all.
    ///
    /// # Errors
    /// As [`load`].
    pub fn new(weights: &[u8], device: B::Device, threads: usize) -> Result<Self, WeightsError> {
        let network = load(weights, &device)?;
        let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten();
        Ok(NetworkEvaluator { network, int8: None, device, pool, pace: AtomicU64::new(0), most: MOST, batch: 1 })
    }

    /// Looks with weights of 8 bits, if that is known for such a network and on this processor.
    pub fn rounded(mut self) -> Self {
        self.int8 = Int8::of(&self.network);
        self
    }

    /// Has the kernels of a search compiled, which on a GPU takes longer than a move may, and measures how many positions it is best
    /// asked about at once.
    #[cfg(feature = "gpu")]
    fn on_gpu(mut self) -> Self {
        let (game, conditions) = (Game::default(), Conditions::default());
        let query = Query { game: &game, conditions: &conditions };
        self.batch = free(MOST_ON_GPU, |size| {
            let batch = vec![query; size];
            self.forward(&batch);
            let times = [(); 5].map(|()| {
                let start = Instant::now();
                self.forward(&batch);
                start.elapsed()
            });
            times.into_iter().min().unwrap_or_default()
        });
        self.most = self.batch.max(MOST);
        // Each size may have kernels of its own.
        for size in 1..=self.most {
            self.forward(&vec![query; size]);
        }
        self.move_time(&game, &conditions);
        self
    }

    /// What the network is made of.
    pub fn config(&self) -> &Config {
        self.network.config()
    }

    /// Evaluates a position with weights of 8 bits.
    fn look(&self, int8: &Int8, query: &Query) -> Evaluation {
        let position = query.game.position();
        let legal = position.legal_moves();
        let asked: Vec<MoveIndex> = legal.iter().map(|&m| MoveIndex::seen_by(m, position.turn())).collect();
        let look = int8.look(&Features::of(query.game, query.conditions), &asked);
        Evaluation::from_logits(&legal, look.logits, wdl_of(&self.config().value, &look.value))
    }

    /// Evaluates positions in one pass.
    pub fn forward(&self, batch: &[Query]) -> Vec<Evaluation> {
        if let Some(int8) = &self.int8 {
            return batch.iter().map(|query| self.look(int8, query)).collect();
        }
        let features: Vec<Features> = batch.iter().map(|q| Features::of(q.game, q.conditions)).collect();
        let output = self.network.forward(self.network.pack(features.iter(), &self.device));
        let (Moves::Logits(moves) | Moves::Probabilities(moves)) = output.moves else {
            unreachable!("asked about all moves")
        };
        let policy: Vec<f32> = moves.into_data().iter::<f32>().collect();
        let value: Vec<f32> = output.value.map(|v| v.into_data().iter::<f32>().collect()).unwrap_or_default();
        let numbers = value.len() / batch.len().max(1);
        let (head, layout) = (&self.config().value, self.network.layout());
        batch
            .iter()
            .zip(&features)
            .zip(policy.chunks_exact(MOVES))
            .enumerate()
            .map(|(i, ((query, features), policy))| {
                let position = query.game.position();
                let legal = position.legal_moves();
                let named = |m| layout.named(MoveIndex::seen_by(m, position.turn()), features).get();
                let logits = legal.iter().map(|&m| policy[named(m)]);
                Evaluation::from_logits(&legal, logits, wdl_of(head, &value[i * numbers..][..numbers]))
            })
            .collect()
    }

    /// Evaluates a part of a batch in pieces, looking at the signal between them.
    fn pieces(&self, batch: &[Query], first: bool, stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
        let mut out = Vec::with_capacity(batch.len());
        while out.len() < batch.len() {
            if !(first && out.is_empty()) && stop.is_set() {
                return Err(Stopped);
            }
            let rest = &batch[out.len()..];
            let size = match self.pace.load(Ordering::Relaxed) {
                0 => 1,
                pace => (PIECE.as_nanos() as u64 / pace).clamp(1, self.most as u64) as usize,
            };
            let piece = &rest[..size.min(rest.len())];
            let start = Instant::now();
            out.extend(self.forward(piece));
            self.pace.store(start.elapsed().as_nanos() as u64 / piece.len() as u64, Ordering::Relaxed);
        }
        Ok(out)
    }
}

impl<B: Kernels> Evaluator for NetworkEvaluator<B> {
    fn has_value(&self) -> bool {
        self.config().value.exists()
    }

    fn move_time(&self, game: &Game, conditions: &Conditions) -> Option<MoveTime> {
        let features = Features::of(game, conditions);
        let output = self.network.forward_all(self.network.pack(std::iter::once(&features), &self.device));
        let logits: Vec<f32> = output.time?.into_data().iter::<f32>().collect();
        MoveTime::from_logits(&logits)
    }

    /// A CPU gains little from more than one position at once, so threads that ask for themselves keep it busy.
    fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn evaluate(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
        let first = batch.len() == 1;
        let Some(pool) = self.pool.as_ref().filter(|_| !first) else {
            return self.pieces(batch, first, stop);
        };
        let share = batch.len().div_ceil(pool.current_num_threads()).max(1);
        let parts = batch.par_chunks(share).map(|part| self.pieces(part, false, stop));
        let parts: Vec<Result<Vec<Evaluation>, Stopped>> = pool.install(|| parts.collect());
        let mut out = Vec::with_capacity(batch.len());
        for part in parts {
            out.extend(part?);
        }
        Ok(out)
    }
}

/// Why there is no network.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It has nothing to run on.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// It cannot be read.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// Loads weights onto a backend.
///
/// # Errors
/// As [`BackendName::check`] and [`load`].
pub fn open(weights: &[u8], backend: BackendName, threads: usize) -> Result<Box<dyn Evaluator>, OpenError> {
    backend.check(&[0])?;
    Ok(match backend {
        BackendName::Int8 => {
            Box::new(NetworkEvaluator::<burn_flex::Flex>::new(weights, Default::default(), threads)?.rounded())
        }
        BackendName::Flex => Box::new(NetworkEvaluator::<burn_flex::Flex>::new(weights, Default::default(), threads)?),
        BackendName::Ndarray => {
            Box::new(NetworkEvaluator::<burn_ndarray::NdArray<f32>>::new(weights, Default::default(), threads)?)
        }
        #[cfg(feature = "cuda")]
        BackendName::Cuda => {
            Box::new(NetworkEvaluator::<burn::backend::Cuda>::new(weights, Default::default(), 1)?.on_gpu())
        }
        #[cfg(feature = "wgpu")]
        BackendName::Wgpu => {
            Box::new(NetworkEvaluator::<burn::backend::Wgpu>::new(weights, Default::default(), 1)?.on_gpu())
        }
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        other => return Err(BackendError::NotBuilt(other).into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_as_large_as_costs_hardly_more_than_one() {
        let measured = |times: [u64; 5]| {
            let mut asked = Vec::new();
            let batch = free(16, |size| {
                asked.push(size);
                Duration::from_millis(times[size.ilog2() as usize])
            });
            (batch, asked)
        };
        assert_eq!(measured([10, 20, 40, 80, 160]), (1, vec![1, 2]));
        assert_eq!(measured([10, 11, 12, 15, 22]), (8, vec![1, 2, 4, 8, 16]));
        assert_eq!(measured([10; 5]), (16, vec![1, 2, 4, 8, 16]));
    }
}
