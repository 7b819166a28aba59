//! A library that panics where a file is not what it should be: an error like any other, and quiet.

use std::any::Any;
use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

use super::ReadError;

thread_local! {
    /// Whether panics of this thread are errors now, and nothing to be printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does something with a file whose bytes may be anything. What it was done with is not to be used again where this fails.
///
/// # Errors
/// Its own, or what it panicked with.
pub(super) fn guarded<T, E: Display>(path: &Path, act: impl FnOnce() -> Result<T, E>) -> Result<T, ReadError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    QUIET.set(false);
    match done {
        Ok(done) => done.map_err(|error| ReadError::new(path, error)),
        Err(panic) => Err(ReadError::new(path, format!("damaged: {}", message(&*panic)))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied()).unwrap_or("unreadable")
}
