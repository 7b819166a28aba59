//! Evaluations as JSON lines: Lichess's export (`{"fen", "evals": [{"depth", "knodes", "pvs": [{"cp" | "mate",
//! "line"}]}]}`), or one object with the columns of the Parquet files.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use serde::Deserialize;

use super::rows::{Batches, Source};
use super::{Progress, ReadError, Stream, bytes, columns};

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
    reader: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
}

/// Lines from number `skip` on.
pub(super) fn read(path: &Path, skip: u64, progress: Progress) -> Result<Stream, ReadError> {
    let reader = BufReader::with_capacity(1 << 16, bytes::open(path, progress)?);
    Ok(Box::new(Batches::new(Lines { reader, buffer: Vec::new() }, path, skip)))
}

impl Source for Lines {
    type Row = Row;
    const UNIT: &'static str = "line";

    fn next(&mut self) -> io::Result<Option<Row>> {
        self.buffer.clear();
        (&mut self.reader).take(LONGEST).read_until(b'\n', &mut self.buffer)?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        if self.buffer.last() == Some(&b'\n') || (self.buffer.len() as u64) < LONGEST {
            return Ok(Some(Row::parse(&self.buffer)));
        }
        self.reader.skip_until(b'\n')?;
        Ok(Some(Row::bad(format!("longer than {LONGEST} bytes"))))
    }

    fn skip(&mut self) -> io::Result<bool> {
        Ok(self.reader.skip_until(b'\n')? > 0)
    }

    fn bad(row: &Row) -> Option<&str> {
        row.bad.as_deref()
    }

    fn pack(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
        pack(rows)
    }
}

fn pack(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
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
