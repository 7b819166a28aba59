//! Evaluations as JSON lines: Lichess's export (`{"fen", "evals": [{"depth", "knodes", "pvs": [{"cp" | "mate",
//! "line"}]}]}`), or one object with the columns of the Parquet files.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use serde::Deserialize;

use super::{Progress, ReadError, Rows, bytes, columns};

const BATCH: usize = 4096;
/// Longest line: Lichess's have some kilobytes.
const LONGEST: u64 = 1 << 20;

#[derive(Deserialize)]
struct Line {
    fen: String,
    #[serde(default)]
    evals: Vec<Eval>,
    #[serde(flatten)]
    flat: Pv,
    depth: Option<i32>,
    knodes: Option<i32>,
}

#[derive(Deserialize)]
struct Eval {
    pvs: Vec<Pv>,
    depth: Option<i32>,
    knodes: Option<i32>,
}

#[derive(Default, Deserialize)]
struct Pv {
    cp: Option<i32>,
    mate: Option<i32>,
    line: Option<String>,
}

/// One row: the deepest evaluation's first variation.
#[derive(Default)]
struct Row {
    fen: Option<String>,
    pv: Pv,
    depth: Option<i32>,
    knodes: Option<i32>,
    bad: Option<String>,
}

impl Row {
    fn bad(reason: String) -> Row {
        Row { bad: Some(reason), ..Row::default() }
    }

    fn parse(text: &[u8]) -> Row {
        let line: Line = match serde_json::from_slice(text) {
            Ok(line) => line,
            Err(error) => return Row::bad(error.to_string()),
        };
        let deepest = line.evals.into_iter().max_by_key(|e| (e.depth, e.knodes));
        let (pv, depth, knodes) = match deepest {
            Some(eval) => (eval.pvs.into_iter().next().unwrap_or_default(), eval.depth, eval.knodes),
            None => (line.flat, line.depth, line.knodes),
        };
        Row { fen: Some(line.fen), pv, depth, knodes, bad: None }
    }
}

struct Lines {
    path: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    row: u64,
    skip: u64,
    ended: bool,
    error: Option<ReadError>,
}

/// Lines from number `skip` on.
pub(super) fn read(
    path: &Path,
    skip: u64,
    progress: Progress,
) -> Result<impl Iterator<Item = Result<Rows, ReadError>> + Send + use<>, ReadError> {
    let reader = BufReader::with_capacity(1 << 16, bytes::open(path, progress)?);
    Ok(Lines { path: path.to_owned(), reader, row: 0, skip, ended: false, error: None })
}

impl Lines {
    /// The next line with its end, or its first [`LONGEST`] bytes; empty at the end of the file.
    fn line(&mut self, buffer: &mut Vec<u8>) -> std::io::Result<bool> {
        buffer.clear();
        (&mut self.reader).take(LONGEST).read_until(b'\n', buffer)?;
        let whole = buffer.last() == Some(&b'\n') || (buffer.len() as u64) < LONGEST;
        if !whole {
            self.reader.skip_until(b'\n')?;
        }
        Ok(whole)
    }
}

impl Iterator for Lines {
    type Item = Result<Rows, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut rows: Vec<Row> = Vec::new();
        let mut buffer = Vec::new();
        while !self.ended && rows.len() < BATCH {
            match self.line(&mut buffer) {
                Err(error) => {
                    self.ended = true;
                    let line = self.row + rows.len() as u64 + 1;
                    self.error = Some(ReadError::new(&self.path, format!("line {line}: {error}")));
                }
                Ok(_) if buffer.is_empty() => self.ended = true,
                Ok(_) if self.row < self.skip => self.row += 1,
                Ok(true) => rows.push(Row::parse(&buffer)),
                Ok(false) => rows.push(Row::bad(format!("longer than {LONGEST} bytes"))),
            }
        }
        if rows.is_empty() {
            return self.error.take().map(Err);
        }
        let first = self.row;
        self.row += rows.len() as u64;
        let bad = rows.iter().enumerate().filter_map(|(i, r)| Some((i, r.bad.clone()?))).collect();
        let batch = pack(&rows).map_err(|e| ReadError::new(&self.path, e));
        Some(batch.map(|batch| Rows { first, batch, bad }))
    }
}

fn pack(rows: &[Row]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let text = |of: fn(&Row) -> Option<&str>| -> ArrayRef {
        let mut column = StringBuilder::new();
        rows.iter().for_each(|r| column.append_option(of(r)));
        Arc::new(column.finish())
    };
    let number = |of: fn(&Row) -> Option<i32>| -> ArrayRef {
        let mut column = Int32Builder::new();
        rows.iter().for_each(|r| column.append_option(of(r)));
        Arc::new(column.finish())
    };
    let arrays = vec![
        text(|r| r.fen.as_deref()),
        text(|r| r.pv.line.as_deref()),
        number(|r| r.depth),
        number(|r| r.knodes),
        number(|r| r.pv.cp),
        number(|r| r.pv.mate),
    ];
    RecordBatch::try_new(columns::evaluations(), arrays)
}
