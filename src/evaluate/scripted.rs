//! An evaluator without a network: makes every search, and a whole UCI session, testable in milliseconds.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use shakmaty::{Move, Position, Role};

use super::{Evaluation, Evaluator, Query, Stop, Stopped, Wdl};
use crate::board::worth;

/// Likes captures of dear pieces and central squares, and judges by material. Deterministic.
#[derive(Debug)]
pub struct Scripted {
    /// Time that each position takes.
    pub delay: Duration,
    threads: usize,
    calls: AtomicU64,
    /// Batches being evaluated now, and at most until now.
    asking: AtomicUsize,
    most: AtomicUsize,
}

impl Default for Scripted {
    fn default() -> Scripted {
        Scripted {
            delay: Duration::ZERO,
            threads: 1,
            calls: AtomicU64::new(0),
            asking: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        }
    }
}

/// The usual values of the pieces, in pawns.
fn value(role: Role) -> i32 {
    worth(role).into()
}

impl Scripted {
    /// One that takes this long over a position.
    pub fn slow(delay: Duration) -> Scripted {
        Scripted { delay, ..Scripted::default() }
    }

    /// That it may be asked by so many threads at once.
    pub fn by(self, threads: usize) -> Scripted {
        Scripted { threads, ..self }
    }

    /// How many batches it has been given.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// How many it was given at the same time, at most.
    pub fn most_at_once(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

fn logit(m: Move) -> f32 {
    let to = m.to();
    let from_edge = |x: u32| x.min(7 - x) as f32;
    let centre = from_edge(to.file().to_u32()) + from_edge(to.rank().to_u32());
    let gain = m.capture().map_or(0, value) + m.promotion().map_or(0, value);
    0.1 * centre + 0.5 * gain as f32
}

impl Evaluator for Scripted {
    fn evaluate(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.most.fetch_max(self.asking.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let out = self.look(batch, stop);
        self.asking.fetch_sub(1, Ordering::Relaxed);
        out
    }

    fn threads(&self) -> usize {
        self.threads
    }
}

impl Scripted {
    fn look(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
        let mut out = Vec::with_capacity(batch.len());
        for (i, query) in batch.iter().enumerate() {
            if i > 0 && stop.is_set() {
                return Err(Stopped);
            }
            std::thread::sleep(self.delay);
            let position = query.game.position();
            let material = |side| -> i32 {
                let count = position.board().material_side(side);
                Role::ALL.iter().map(|&role| i32::from(*count.get(role)) * value(role)).sum()
            };
            let balance = material(position.turn()) - material(!position.turn());
            let legal = position.legal_moves();
            let wdl = Wdl::from_centipawns(100 * balance);
            out.push(Evaluation::from_logits(&legal, legal.iter().map(|&m| logit(m)), wdl));
        }
        Ok(out)
    }
}
