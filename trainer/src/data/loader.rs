//! Threads that make batches ahead of the training loop, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, bounded};

use super::mixture::Mixture;
use super::sample::Sample;

/// Batches `first..`, in order, made by threads that keep some pools ahead.
pub struct Loader {
    pools: Receiver<(u64, Vec<Sample>)>,
    early: BTreeMap<u64, Vec<Sample>>,
    /// Number of the pool that comes next.
    next: u64,
    /// What is left of the pool at hand.
    rest: std::vec::IntoIter<Sample>,
    /// Samples of the next pool that were used already.
    skip: usize,
    size: usize,
    _threads: Vec<JoinHandle<()>>,
}

impl Loader {
    /// Starts `threads` threads. They end when the loader is dropped.
    pub fn new(mixture: Arc<Mixture>, seed: u64, size: usize, first: u64, threads: usize) -> Loader {
        let each = Mixture::batches_in_pool(size);
        let next = first / each;
        let (send, pools) = bounded(threads);
        let _threads = (0..threads as u64)
            .map(|thread| {
                let (mixture, send) = (mixture.clone(), send.clone());
                std::thread::spawn(move || {
                    let mut number = next + thread;
                    while send.send((number, mixture.pool(seed, number, size))).is_ok() {
                        number += threads as u64;
                    }
                })
            })
            .collect();
        let (early, rest) = (BTreeMap::new(), Vec::new().into_iter());
        Loader { pools, early, next, rest, skip: (first % each) as usize * size, size, _threads }
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Option<Vec<Sample>> {
        if self.rest.len() == 0 {
            while !self.early.contains_key(&self.next) {
                let (number, pool) = self.pools.recv().ok()?;
                self.early.insert(number, pool);
            }
            let mut pool = self.early.remove(&self.next)?;
            self.next += 1;
            pool.drain(..std::mem::take(&mut self.skip).min(pool.len()));
            self.rest = pool.into_iter();
        }
        let batch: Vec<Sample> = self.rest.by_ref().take(self.size).collect();
        (!batch.is_empty()).then_some(batch)
    }
}
