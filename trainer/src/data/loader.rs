//! Threads that make batches ahead of the training loop, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, bounded};

use super::sample::{Mixture, Sample};

/// Batches `first..`, in order, made by threads that keep a few ahead.
pub struct Loader {
    batches: Receiver<(u64, Vec<Sample>)>,
    waiting: BTreeMap<u64, Vec<Sample>>,
    next: u64,
    _threads: Vec<JoinHandle<()>>,
}

impl Loader {
    /// Starts `threads` threads. They end when the loader is dropped.
    pub fn new(mixture: Arc<Mixture>, seed: u64, size: usize, first: u64, threads: usize) -> Loader {
        let (send, batches) = bounded(threads * 2 + 2);
        let _threads = (0..threads as u64)
            .map(|thread| {
                let (mixture, send) = (mixture.clone(), send.clone());
                std::thread::spawn(move || {
                    let mut number = first + thread;
                    while send.send((number, mixture.batch(seed, number, size))).is_ok() {
                        number += threads as u64;
                    }
                })
            })
            .collect();
        Loader { batches, waiting: BTreeMap::new(), next: first, _threads }
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Option<Vec<Sample>> {
        while !self.waiting.contains_key(&self.next) {
            let (number, batch) = self.batches.recv().ok()?;
            self.waiting.insert(number, batch);
        }
        let batch = self.waiting.remove(&self.next);
        self.next += 1;
        batch
    }
}
