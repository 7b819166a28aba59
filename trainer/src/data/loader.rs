//! Threads that make batches ahead of the training loop, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, bounded};

use super::mixture::Mixture;
use super::sample::Sample;

/// Batches `first..`, in order, made by threads that keep some pools ahead. What a batch is, the caller says: the threads make
/// it of the samples.
pub struct Loader<T> {
    pools: Receiver<(u64, Vec<T>)>,
    early: BTreeMap<u64, Vec<T>>,
    /// Number of the pool that comes next.
    next: u64,
    /// What is left of the pool at hand.
    rest: std::vec::IntoIter<T>,
    /// Batches of the next pool that were used already.
    skip: usize,
    _threads: Vec<JoinHandle<()>>,
}

impl<T: Send + 'static> Loader<T> {
    /// Starts `threads` threads. They end when the loader is dropped.
    pub fn new(
        mixture: Arc<Mixture>,
        (seed, size): (u64, usize),
        first: u64,
        threads: usize,
        make: impl Fn(&[Sample]) -> T + Send + Sync + 'static,
    ) -> Loader<T> {
        let each = Mixture::batches_in_pool(size);
        let next = first / each;
        let (send, pools) = bounded(threads);
        let make = Arc::new(make);
        let _threads = (0..threads as u64)
            .map(|thread| {
                let (mixture, send, make) = (mixture.clone(), send.clone(), make.clone());
                std::thread::spawn(move || {
                    let mut number = next + thread;
                    let pool = |number| mixture.pool(seed, number, size).chunks(size).map(|s| make(s)).collect();
                    while send.send((number, pool(number))).is_ok() {
                        number += threads as u64;
                    }
                })
            })
            .collect();
        let (early, rest) = (BTreeMap::new(), Vec::new().into_iter());
        Loader { pools, early, next, rest, skip: (first % each) as usize, _threads }
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Option<T> {
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
        self.rest.next()
    }
}
