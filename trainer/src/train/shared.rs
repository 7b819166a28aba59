//! Work that threads share: each has a part of its own, and who is done with it helps with what is left of the others'.
//!
//! What comes of it does not depend on who did what, or when: the results of a part are added up in the order of its pieces.

use std::collections::BTreeMap;
use std::iter::Enumerate;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::IntoIter;

/// The pieces of a part that nobody has begun, with their places, and what has come of the others.
struct Part<T, R> {
    left: Mutex<Enumerate<IntoIter<T>>>,
    done: Mutex<Done<R>>,
}

/// The sum of all results before the `next`, and those that came early.
struct Done<R> {
    sum: Option<R>,
    next: usize,
    early: BTreeMap<usize, R>,
}

/// A thread that panicked ends the work anyway, with its panic.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, R> Part<T, R> {
    fn new(pieces: Vec<T>) -> Self {
        Part {
            left: Mutex::new(pieces.into_iter().enumerate()),
            done: Mutex::new(Done { sum: None, next: 0, early: BTreeMap::new() }),
        }
    }

    fn take(&self) -> Option<(usize, T)> {
        held(&self.left).next()
    }

    fn give(&self, place: usize, result: R, add: impl Fn(R, R) -> R) {
        let mut done = held(&self.done);
        done.early.insert(place, result);
        let Done { sum, next, early } = &mut *done;
        while let Some(result) = early.remove(next) {
            *sum = Some(match sum.take() {
                Some(sum) => add(sum, result),
                None => result,
            });
            *next += 1;
        }
    }

    fn sum(self) -> Option<R> {
        self.done.into_inner().unwrap_or_else(PoisonError::into_inner).sum
    }
}

/// Does all pieces of all parts, with a thread for each part, and gives the sum of each part, if it has a piece. Only parts whose numbers differ
/// by a multiple of `apart` help one another: parts of the same device.
///
/// Each thread begins by making, with the number of its part, what it needs for all of its pieces. A panic in one is passed on.
pub fn share_out<T: Send, R: Send, W>(
    parts: Vec<Vec<T>>,
    apart: usize,
    begin: impl Fn(usize) -> W + Sync,
    piece: impl Fn(&W, T) -> R + Sync,
    add: impl Fn(R, R) -> R + Sync,
) -> Vec<Option<R>> {
    let parts: Vec<Part<T, R>> = parts.into_iter().map(Part::new).collect();
    let work = |worker: usize| {
        let tools = begin(worker);
        // Its own first, then those after it.
        let (before, from) = parts.split_at(worker);
        let all = from.iter().chain(before).enumerate();
        for (_, part) in all.filter(|(i, _)| ((worker + i) % parts.len()) % apart.max(1) == worker % apart.max(1)) {
            while let Some((place, one)) = part.take() {
                part.give(place, piece(&tools, one), &add);
            }
        }
    };
    if parts.len() == 1 {
        work(0);
    } else {
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..parts.len()).map(|worker| scope.spawn(move || work(worker))).collect();
            for thread in threads {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }
    parts.into_iter().map(Part::sum).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, sync_channel};
    use std::time::Duration;

    use super::*;

    fn joined(parts: Vec<Vec<&str>>, apart: usize) -> Vec<Option<String>> {
        let piece = |_: &usize, text: &str| {
            // The first takes longest.
            std::thread::sleep(Duration::from_millis(if text == "a" { 30 } else { 0 }));
            text.to_owned()
        };
        share_out(parts, apart, |worker| worker, piece, |sum, next| sum + &next)
    }

    #[test]
    fn a_part_is_added_up_in_its_order() {
        for apart in [1, 2, 3] {
            let parts = vec![vec!["a", "b", "c"], vec!["d"], vec![], vec!["e", "f"]];
            let sums = joined(parts, apart);
            assert_eq!(
                sums.iter().map(Option::as_deref).collect::<Vec<_>>(),
                [Some("abc"), Some("d"), None, Some("ef")]
            );
        }
        assert_eq!(joined(vec![vec!["a", "b"]], 1), [Some("ab".to_owned())]);
        assert!(joined(Vec::new(), 1).is_empty());
    }

    #[test]
    fn who_has_nothing_left_helps() {
        let (tell, told) = sync_channel(1);
        let told = Mutex::new(told);
        // The first piece of two in one part cannot be done before the second.
        let piece = |_: &(), number: usize| {
            if number == 1 {
                tell.send(()).expect("somebody listens");
            } else {
                held(&told).recv_timeout(Duration::from_secs(60)).expect("somebody has done the other");
            }
            number
        };
        assert_eq!(share_out(vec![vec![0, 1], vec![]], 1, |_| (), piece, |sum, next| sum + next), [Some(1), None]);
    }

    #[test]
    fn parts_of_different_devices_are_kept_apart() {
        let (tell, told) = channel();
        let parts = (0..4).map(|device| vec![device % 2; 20]).collect();
        let piece = |worker: &usize, device: usize| {
            tell.send((worker % 2, device)).expect("somebody listens");
            std::thread::sleep(Duration::from_millis(device as u64));
            1
        };
        assert_eq!(share_out(parts, 2, |worker| worker, piece, |sum, next| sum + next), [Some(20); 4]);
        assert!(told.try_iter().all(|(on, device)| on == device));
    }

    #[test]
    #[should_panic(expected = "piece 3")]
    fn a_panic_is_passed_on() {
        let piece = |_: &(), number: usize| if number == 3 { panic!("piece 3") } else { number };
        share_out(vec![vec![1, 2], vec![3, 4]], 1, |_| (), piece, |sum, next| sum + next);
    }
}
