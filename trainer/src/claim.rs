//! A folder that one program works in at a time: two that went on with the same run would each undo what the other wrote.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a folder cannot be worked in.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It cannot be made, or nothing written in it.
    #[error("{path}: {error}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Somebody is at work there.
    #[error("{0}: another glance-trainer is at work in it; wait for its end, or choose another folder")]
    Taken(PathBuf),
}

/// A folder that is this program's own for as long as this value lives. The system gives it back when the program ends,
/// however it ends.
#[derive(Debug)]
pub struct Claim {
    lock: File,
}

impl Claim {
    /// The file that is locked. It stays: whoever removed it could remove one that the next program has locked by then.
    const FILE: &str = ".lock";

    /// Makes the folder, where it is not there yet, and claims it.
    ///
    /// # Errors
    /// When it cannot be made, or is claimed by another.
    pub fn of(folder: &Path) -> Result<Claim, ClaimError> {
        let fail = |error| ClaimError::Folder { path: folder.to_owned(), error };
        fs::create_dir_all(folder).map_err(fail)?;
        let lock = File::create(folder.join(Claim::FILE)).map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => Ok(Claim { lock }),
            Err(TryLockError::WouldBlock) => Err(ClaimError::Taken(folder.to_owned())),
            // Some file systems, most of them on other machines, have no locks: better no claim than no work.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(Claim { lock }),
            Err(TryLockError::Error(error)) => Err(fail(error)),
        }
    }
}

impl Drop for Claim {
    /// Gives it back here and now. Closing the file alone would not, as long as a program that is just being started, by another thread, has a
    /// copy of it.
    fn drop(&mut self) {
        // What fails here ends with the program.
        let _ = self.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_programs_at_a_time() {
        let folder = std::env::temp_dir().join(format!("glance-trainer-claim-{}", std::process::id()));
        let first = Claim::of(&folder.join("run")).expect("free");
        let error = Claim::of(&folder.join("run")).expect_err("taken").to_string();
        assert!(error.contains("run: another glance-trainer is at work in it"), "{error}");
        Claim::of(&folder.join("other")).expect("another folder is free");
        let copy = first.lock.try_clone().expect("copied");
        drop(first);
        Claim::of(&folder.join("run")).expect("free again");
        drop(copy);
        fs::write(folder.join("file"), "").expect("writable");
        let error = Claim::of(&folder.join("file")).expect_err("no folder").to_string();
        assert!(error.contains("file: "), "{error}");
        fs::remove_dir_all(&folder).expect("removable");
    }
}
