//! Bytes of a file, unpacked where its name ends in `.zst`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{Progress, ReadError};

/// The size of a file.
pub(super) fn size(path: &Path) -> Result<u64, ReadError> {
    let meta = std::fs::metadata(path).map_err(|e| ReadError::new(path, e))?;
    if meta.is_file() { Ok(meta.len()) } else { Err(ReadError::new(path, "a regular file is expected")) }
}

/// Counts what is read of the file itself.
struct Counted {
    file: File,
    progress: Progress,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.progress.add(n as u64);
        Ok(n)
    }
}

/// The bytes of a file.
pub(super) fn open(path: &Path, progress: Progress) -> Result<Box<dyn Read + Send>, ReadError> {
    let file = File::open(path).map_err(|e| ReadError::new(path, e))?;
    let counted = Counted { file, progress };
    if path.extension().is_some_and(|e| e == "zst") {
        Ok(Box::new(zstd::Decoder::new(counted).map_err(|e| ReadError::new(path, e))?))
    } else {
        Ok(Box::new(counted))
    }
}
