//! Parquet files: of games if there is a column `movetext`, of evaluations if there is `fen`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::columns::{self, MOVETEXT};
use super::guard::guarded;
use super::{Content, Progress, ReadError, Rows, Stream};

const BATCH: usize = 2048;

fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ReadError> {
    let file = File::open(path).map_err(|e| ReadError::new(path, e))?;
    guarded(path, || ParquetRecordBatchReaderBuilder::try_new(file))
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
    /// None after an error.
    batches: Option<ParquetRecordBatchReader>,
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
    let builder = builder.with_projection(mask).with_batch_size(BATCH).with_offset(offset);
    let batches = Some(guarded(path, || builder.build())?);
    progress.add(skip);
    Ok(Box::new(Reader { path: path.to_owned(), batches, folders: columns::of_folders(path), row: skip, progress }))
}

impl Reader {
    fn batch(&self, batches: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, ReadError> {
        guarded(&self.path, || batches.next().transpose()?.map(|batch| self.complete(&batch)).transpose())
    }

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
        let mut batches = self.batches.take()?;
        let batch = match self.batch(&mut batches) {
            Ok(batch) => batch?,
            Err(error) => return Some(Err(error)),
        };
        self.batches = Some(batches);
        let first = self.row;
        self.row += batch.num_rows() as u64;
        self.progress.add(batch.num_rows() as u64);
        Some(Ok(Rows { first, batch, bad: Vec::new() }))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int32Array, StringArray};
    use parquet::arrow::ArrowWriter;

    use super::*;

    #[test]
    fn what_is_damaged_is_an_error_and_the_last() {
        let folder = std::env::temp_dir().join(format!("glance-damaged-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("temporary folder");
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
        let columns: [(&str, ArrayRef); 3] = [
            ("fen", Arc::new(StringArray::from(vec![start; 40]))),
            ("line", Arc::new(StringArray::from_iter_values((0..40).map(|i| ["e2e4", "d2d4", "g1f3"][i % 3])))),
            ("cp", Arc::new(Int32Array::from_iter_values(0..40))),
        ];
        let rows = RecordBatch::try_from_iter(columns).expect("columns of one length");
        let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), None).expect("a schema");
        writer.write(&rows).expect("in memory");
        let whole = writer.into_inner().expect("in memory");
        let path = folder.join("damaged.parquet");
        let (mut errors, mut panics) = (0, 0);
        for at in 0..whole.len() {
            for byte in [0, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                std::fs::write(&path, bytes).expect("writable");
                let stream = look(&path).and_then(|(content, _, _)| read(&path, content, &[], 0, Progress::default()));
                let error = stream.map_or_else(Some, |rows| {
                    let rows: Vec<_> = rows.take(100).collect();
                    assert!(rows.iter().rev().skip(1).all(Result::is_ok), "no end after an error: byte {at}");
                    rows.into_iter().find_map(Result::err)
                });
                errors += usize::from(error.is_some());
                panics += usize::from(error.is_some_and(|e| e.reason.starts_with("damaged: ")));
            }
        }
        std::fs::remove_dir_all(folder).expect("temporary folder");
        assert!(errors > 1000 && panics > 0, "{errors} errors, {panics} of them panics, of {} bytes", whole.len());
    }
}
