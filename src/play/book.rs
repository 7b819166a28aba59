//! Opening books in Polyglot's format: sorted entries of 16 bytes.

use std::path::{Path, PathBuf};

use rand::Rng;
use shakmaty::{Chess, Move, Position};
use thiserror::Error;

use crate::board::{polyglot_key, polyglot_move};

/// Largest book that is read into memory.
const LARGEST: u64 = 1 << 30;
const ENTRY: usize = 16;

/// Why a book cannot be used.
#[derive(Debug, Error)]
pub enum BookError {
    /// It cannot be read.
    #[error("book '{path}': {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is no book.
    #[error("book '{path}' of {bytes} bytes: a Polyglot book (entries of 16 bytes in order, up to 1 GiB) is expected")]
    Format {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
}

/// A book in memory.
#[derive(Clone, Debug)]
pub struct Book {
    entries: std::borrow::Cow<'static, [u8]>,
}

impl Book {
    /// A book that is part of the program.
    pub fn embedded(entries: &'static [u8]) -> Book {
        Book { entries: entries.into() }
    }

    /// Reads a book.
    ///
    /// # Errors
    /// When the file cannot be read, or its size or order is not a book's.
    pub fn open(path: &Path) -> Result<Book, BookError> {
        let io = |error| BookError::Io { path: path.to_owned(), error };
        let meta = std::fs::metadata(path).map_err(io)?;
        let format = |bytes| BookError::Format { path: path.to_owned(), bytes };
        if !meta.is_file() || meta.len() > LARGEST || meta.len() % ENTRY as u64 != 0 {
            return Err(format(meta.len()));
        }
        let book = Book { entries: std::fs::read(path).map_err(io)?.into() };
        let ordered = (1..book.len()).all(|i| book.entry(i - 1).0 <= book.entry(i).0);
        if ordered && book.entries.len().is_multiple_of(ENTRY) { Ok(book) } else { Err(format(meta.len())) }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len() / ENTRY
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Key, move, weight.
    fn entry(&self, i: usize) -> (u64, u16, u16) {
        let e = &self.entries[i * ENTRY..];
        let key = e[..8].iter().fold(0_u64, |key, &b| key << 8 | u64::from(b));
        (key, u16::from_be_bytes([e[8], e[9]]), u16::from_be_bytes([e[10], e[11]]))
    }

    /// The legal moves that the book has for a position, with their weights.
    pub fn moves(&self, position: &Chess) -> Vec<(Move, u16)> {
        let key = polyglot_key(position);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle).0 < key { low = middle + 1 } else { high = middle }
        }
        let legal = position.legal_moves();
        (low..self.len())
            .map(|i| self.entry(i))
            .take_while(|entry| entry.0 == key)
            .filter_map(|(_, code, weight)| {
                let m = legal.iter().copied().find(|&m| polyglot_move(m) == code)?;
                Some((m, weight))
            })
            .collect()
    }

    /// One of the book's moves among those allowed, drawn by weight.
    pub fn pick(&self, position: &Chess, allowed: &[Move], rng: &mut impl Rng) -> Option<Move> {
        let mut moves = self.moves(position);
        moves.retain(|(m, weight)| *weight > 0 && allowed.contains(m));
        let total: u64 = moves.iter().map(|&(_, w)| u64::from(w)).sum();
        if total == 0 {
            return None;
        }
        let mut at = rng.random_range(0..total);
        moves.into_iter().find_map(|(m, w)| match at.checked_sub(w.into()) {
            Some(rest) => {
                at = rest;
                None
            }
            None => Some(m),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;

    #[test]
    fn moves_are_found_and_foreign_files_refused() {
        let start = Chess::default();
        let game = Game::default();
        let mut bytes = Vec::new();
        for (text, weight) in [("e2e4", 3_u16), ("d2d4", 0)] {
            bytes.extend(polyglot_key(&start).to_be_bytes());
            bytes.extend(polyglot_move(game.parse_uci(text).expect("legal")).to_be_bytes());
            bytes.extend(weight.to_be_bytes());
            bytes.extend([0; 4]);
        }
        let path = std::env::temp_dir().join(format!("glance-book-{}.bin", std::process::id()));
        std::fs::write(&path, &bytes).expect("writable");
        let book = Book::open(&path).expect("a book");
        assert_eq!(book.moves(&start).len(), 2);
        let legal = start.legal_moves();
        let picked = book.pick(&start, &legal, &mut rand::rng()).expect("e4");
        assert_eq!(game.uci(picked, false), "e2e4");
        assert!(book.pick(&start, &legal[..1], &mut rand::rng()).is_none());
        for bad in [&bytes[..31], &[bytes.as_slice(), &[0; 16]].concat()] {
            std::fs::write(&path, bad).expect("writable");
            assert!(matches!(Book::open(&path), Err(BookError::Format { .. })));
        }
        std::fs::remove_file(&path).expect("removable");
        assert!(matches!(Book::open(&path), Err(BookError::Io { .. })));
    }
}
