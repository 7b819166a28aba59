//! Work spread over the cores, each with networks and caches of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use glance::evaluate::{BackendName, Cached, Evaluator, open};

/// The networks that sides play with, by their number; what one of them has said of a position is kept for all sides that have it.
pub type Evaluators = [Cached<Box<dyn Evaluator>>];

/// What is to be done, and with what.
pub struct Work<'a> {
    /// The weights of each network.
    pub networks: &'a [Vec<u8>],
    pub threads: usize,
}

impl Work<'_> {
    fn open(&self) -> Vec<Cached<Box<dyn Evaluator>>> {
        let weights = self.networks.iter();
        let inner = weights.map(|weights| open(weights, BackendName::default(), 1).expect("weights of a network"));
        inner.map(|inner| Cached::new(inner, 64 << 20)).collect()
    }

    /// What `work` gives for each item, in no particular order; nothing is remembered from one item to the next. `tell` is shown what
    /// there is after each.
    pub fn each<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T, &Evaluators) -> R + Sync,
        tell: impl Fn(&[R]) + Sync,
    ) -> Vec<R> {
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    let evaluators = self.open();
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        evaluators.iter().for_each(Evaluator::clear);
                        let result = work(item, &evaluators);
                        let mut found = found.lock().expect("no panics");
                        found.push(result);
                        tell(&found);
                    }
                });
            }
        });
        found.into_inner().expect("no panics")
    }
}

/// The mean, and half of its 95 % interval.
pub fn mean(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, 1.96 * (variance / n).sqrt())
}
