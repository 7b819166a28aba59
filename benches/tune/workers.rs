//! Work spread over the cores, each with the shipped network and a cache of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use glance::evaluate::{BackendName, Cached, Evaluator, open};

/// What `work` gives for each item, in no particular order; nothing is remembered from one item to the next. `tell` is shown what
/// there is after each.
pub fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T, &dyn Evaluator) -> R + Sync,
    tell: impl Fn(&[R]) + Sync,
) -> Vec<R> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let inner =
                    open(glance::play::embedded_weights(), BackendName::default(), 1).expect("the shipped weights");
                let evaluator = Cached::new(inner, 64 << 20);
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    evaluator.clear();
                    let result = work(item, &evaluator);
                    let mut found = found.lock().expect("no panics");
                    found.push(result);
                    tell(&found);
                }
            });
        }
    });
    found.into_inner().expect("no panics")
}

/// The mean, and half of its 95 % interval.
pub fn mean(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, 1.96 * (variance / n).sqrt())
}
