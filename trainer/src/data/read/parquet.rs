//! Parquet files: of games if there is a column `movetext`, of evaluations if there is `fen`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::columns::{self, MOVETEXT};
use super::{Content, Progress, ReadError, Rows, Stream};

const BATCH: usize = 2048;

fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ReadError> {
    let file = File::open(path).map_err(|e| ReadError::new(path, e))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| ReadError::new(path, e))
}

/// What a file holds, its columns and its number of rows.
pub(super) fn look(path: &Path) -> Result<(Content, SchemaRef, u64), ReadError> {
    let builder = builder(path)?;
    let schema = builder.schema();
    let has = |name: &str| schema.column_with_name(name).is_some();
    let content = match (has(MOVETEXT), has("fen")) {
        (true, _) => Content::Games,
        (false, true) => Content::Evaluations,
        (false, false) => return Err(ReadError::new(path, "neither 'movetext' nor 'fen' among its columns")),
    };
    if content == Content::Evaluations {
        if !has("line") {
            return Err(ReadError::new(path, "no column 'line'"));
        }
        if !has("cp") && !has("mate") {
            return Err(ReadError::new(path, "neither 'cp' nor 'mate' among its columns"));
        }
    }
    let mut fields: Vec<FieldRef> = schema.fields().iter().map(columns::field).collect();
    for (name, value) in columns::of_folders(path) {
        if fields.iter().all(|f| *f.name() != name) {
            fields.push(columns::constant(&name, &value, 0).0);
        }
    }
    let rows = builder.metadata().file_metadata().num_rows();
    Ok((content, Arc::new(Schema::new(fields)), rows.max(0) as u64))
}

struct Reader {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    folders: Vec<(String, String)>,
    row: u64,
    progress: Progress,
}

/// Rows from `skip` on.
pub(super) fn read(
    path: &Path,
    content: Content,
    more: &[String],
    skip: u64,
    progress: Progress,
) -> Result<Stream, ReadError> {
    let builder = builder(path)?;
    let wanted = columns::needed(content).iter().copied().chain(more.iter().map(String::as_str));
    let mask = ProjectionMask::columns(builder.parquet_schema(), wanted);
    let offset = usize::try_from(skip).map_err(|e| ReadError::new(path, e))?;
    let batches = builder
        .with_projection(mask)
        .with_batch_size(BATCH)
        .with_offset(offset)
        .build()
        .map_err(|e| ReadError::new(path, e))?;
    progress.add(skip);
    Ok(Box::new(Reader { path: path.to_owned(), batches, folders: columns::of_folders(path), row: skip, progress }))
}

impl Reader {
    fn complete(&self, batch: &RecordBatch) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let batch = columns::cast(batch)?;
        let rows = batch.num_rows();
        let (mut fields, mut arrays) = (batch.schema().fields().to_vec(), batch.columns().to_vec());
        for (name, value) in &self.folders {
            if batch.column_by_name(name).is_none() {
                let (field, array) = columns::constant(name, value, rows);
                fields.push(field);
                arrays.push(array);
            }
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

impl Iterator for Reader {
    type Item = Result<Rows, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.batches.next()?.and_then(|b| self.complete(&b)) {
            Ok(batch) => batch,
            Err(error) => return Some(Err(ReadError::new(&self.path, error))),
        };
        let first = self.row;
        self.row += batch.num_rows() as u64;
        self.progress.add(batch.num_rows() as u64);
        Some(Ok(Rows { first, batch, bad: Vec::new() }))
    }
}
