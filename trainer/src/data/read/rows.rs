//! From a source of single rows to a stream of batches.

use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::{ReadError, Rows};

/// Rows of a batch.
const BATCH: usize = 2048;

/// What can be read row by row.
pub(super) trait Source: Send {
    /// A row.
    type Row;
    /// What a row is called in errors.
    const UNIT: &'static str;

    /// The next row; `None` at the end.
    fn next(&mut self) -> io::Result<Option<Self::Row>>;

    /// Passes over a row, without looking at more of it than must be; `false` at the end.
    fn skip(&mut self) -> io::Result<bool>;

    /// Why a row is not what it should be, if it is not.
    fn bad(row: &Self::Row) -> Option<&str>;

    /// Rows as columns.
    fn pack(rows: &[Self::Row]) -> Result<RecordBatch, ArrowError>;
}

/// The batches of a source.
pub(super) struct Batches<S> {
    source: S,
    path: PathBuf,
    row: u64,
    skip: u64,
    ended: bool,
    /// Comes after what was read before it.
    error: Option<ReadError>,
}

impl<S: Source> Batches<S> {
    /// Rows from number `skip` on.
    pub(super) fn new(source: S, path: &Path, skip: u64) -> Self {
        Batches { source, path: path.to_owned(), row: 0, skip, ended: false, error: None }
    }

    /// Up to a batch of rows.
    fn some(&mut self) -> Vec<S::Row> {
        let mut rows = Vec::new();
        while !self.ended && rows.len() < BATCH {
            let read = if self.row < self.skip {
                self.source.skip().map(|more| {
                    self.row += u64::from(more);
                    self.ended = !more;
                })
            } else {
                self.source.next().map(|row| {
                    self.ended = row.is_none();
                    rows.extend(row);
                })
            };
            if let Err(error) = read {
                self.ended = true;
                let number = self.row + rows.len() as u64 + 1;
                self.error = Some(ReadError::new(&self.path, format!("{} {number}: {error}", S::UNIT)));
            }
        }
        rows
    }
}

impl<S: Source> Iterator for Batches<S> {
    type Item = Result<Rows, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.some();
        if rows.is_empty() {
            return self.error.take().map(Err);
        }
        let first = self.row;
        self.row += rows.len() as u64;
        let bad = rows.iter().enumerate().filter_map(|(i, row)| Some((i, S::bad(row)?.to_owned()))).collect();
        let batch = S::pack(&rows).map_err(|e| ReadError::new(&self.path, e));
        Some(batch.map(|batch| Rows { first, batch, bad }))
    }
}
