//! A cache around any evaluator.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Evaluation, Evaluator, MoveTime, Query, Stop, Stopped};
use crate::board::{Conditions, Features, Game};

/// Remembers evaluations, the oldest making room for the newest, within a number of bytes.
///
/// The key is everything that the network sees: the position, its history and the conditions.
pub struct Cached<E> {
    inner: E,
    table: Mutex<Table>,
    limit: usize,
}

#[derive(Default)]
struct Table {
    entries: HashMap<u64, Arc<Evaluation>>,
    order: VecDeque<u64>,
    bytes: usize,
}

/// What the map and the queue need for an entry, besides the evaluation.
const OVERHEAD: usize = 64;

fn key(query: &Query) -> u64 {
    let features = Features::of(query.game, query.conditions);
    let mut hasher = DefaultHasher::new();
    features.codes.hash(&mut hasher);
    features.marks.hash(&mut hasher);
    features.globals.map(f32::to_bits).hash(&mut hasher);
    // Networks that tell White from Black, and read the move's number.
    (features.turn, features.fullmoves).hash(&mut hasher);
    hasher.finish()
}

impl<E: Evaluator> Cached<E> {
    /// A cache of at most `bytes` bytes.
    pub fn new(inner: E, bytes: usize) -> Cached<E> {
        Cached { inner, table: Mutex::default(), limit: bytes }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<E: Evaluator> Evaluator for Cached<E> {
    fn evaluate(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
        let keys: Vec<u64> = batch.iter().map(key).collect();
        let mut found: Vec<Option<Arc<Evaluation>>> = {
            let table = self.table();
            keys.iter().map(|key| table.entries.get(key).cloned()).collect()
        };
        // Each missing position once, however often the batch has it.
        let mut wanted: Vec<usize> = (0..batch.len()).filter(|&i| found[i].is_none()).collect();
        let mut seen = HashMap::new();
        wanted.retain(|&i| seen.insert(keys[i], i).is_none());
        if !wanted.is_empty() {
            let queries: Vec<Query> = wanted.iter().map(|&i| batch[i]).collect();
            let new = self.inner.evaluate(&queries, stop)?;
            let mut table = self.table();
            for (&i, evaluation) in wanted.iter().zip(new) {
                let evaluation = Arc::new(evaluation);
                table.insert(keys[i], evaluation.clone(), self.limit);
                found.iter_mut().zip(&keys).filter(|(_, k)| **k == keys[i]).for_each(|(slot, _)| {
                    *slot = Some(evaluation.clone());
                });
            }
        }
        Ok(found.into_iter().flatten().map(|e| (*e).clone()).collect())
    }

    fn has_value(&self) -> bool {
        self.inner.has_value()
    }

    fn move_time(&self, game: &Game, conditions: &Conditions) -> Option<MoveTime> {
        self.inner.move_time(game, conditions)
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }

    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn hashfull(&self) -> u32 {
        (self.table().bytes as u64 * 1000 / self.limit.max(1) as u64).min(1000) as u32
    }

    fn clear(&self) {
        *self.table() = Table::default();
    }
}

impl Table {
    fn insert(&mut self, key: u64, evaluation: Arc<Evaluation>, limit: usize) {
        let size = evaluation.bytes() + OVERHEAD;
        while self.bytes + size > limit {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(gone) = self.entries.remove(&oldest) {
                self.bytes -= gone.bytes() + OVERHEAD;
            }
        }
        if self.entries.insert(key, evaluation).is_none() {
            self.order.push_back(key);
            self.bytes += size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Scripted;

    #[test]
    fn same_answers_fewer_calls_bounded_memory() {
        let cache = Cached::new(Scripted::default(), 20_000);
        let conditions = Conditions::default();
        let stop = Stop::new(false, None);
        let mut game = Game::default();
        let first = cache.glance(&game, &conditions);
        assert_eq!(cache.glance(&game, &conditions), first);
        assert_eq!(cache.inner.calls(), 1);
        let query = Query { game: &game, conditions: &conditions };
        assert_eq!(cache.evaluate(&[query, query], &stop).expect("not stopped").len(), 2);
        assert_eq!(cache.inner.calls(), 1);
        for _ in 0..200 {
            let m = cache.glance(&game, &conditions).moves[0].m;
            game.play(m);
            if game.terminal().is_some() {
                break;
            }
        }
        assert!(cache.table().bytes <= 20_000 && cache.hashfull() <= 1000);
        cache.clear();
        assert_eq!(cache.hashfull(), 0);
    }
}
