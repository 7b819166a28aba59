//! PGN files: each game's tags as columns, its moves and their comments as movetext.

use std::fmt::Write as _;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Date32Builder, Int32Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use pgn_reader::{Outcome, RawComment, RawTag, SanPlus, Visitor};

use super::columns::{self, GAMES};
use super::{Progress, ReadError, Rows, bytes};

const BATCH: usize = 2048;
/// Longest movetext: the longest games known have some 10 kB without comments.
const LONGEST: usize = 1 << 20;

/// A game as it is read: tags in the order of [`GAMES`], and the moves.
#[derive(Default)]
struct Row {
    tags: [Option<String>; GAMES.len()],
    movetext: String,
    bad: Option<String>,
}

struct Rowwise;

impl Visitor for Rowwise {
    type Tags = Row;
    type Movetext = Row;
    type Output = Row;

    fn begin_tags(&mut self) -> ControlFlow<Row, Row> {
        ControlFlow::Continue(Row::default())
    }

    fn tag(&mut self, row: &mut Row, name: &[u8], value: RawTag<'_>) -> ControlFlow<Row> {
        if let Some(i) = GAMES.iter().position(|(known, _)| known.as_bytes() == name) {
            row.tags[i] = Some(value.decode_utf8_lossy().into_owned());
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, row: Row) -> ControlFlow<Row, Row> {
        ControlFlow::Continue(row)
    }

    fn san(&mut self, row: &mut Row, san: SanPlus) -> ControlFlow<Row> {
        let _ = write!(row.movetext, "{san} ");
        limit(row)
    }

    fn comment(&mut self, row: &mut Row, comment: RawComment<'_>) -> ControlFlow<Row> {
        let text = String::from_utf8_lossy(comment.as_bytes());
        // Only what the shards keep: evaluations and clocks.
        if text.contains("[%") {
            let _ = write!(row.movetext, "{{{text}}} ");
        }
        limit(row)
    }

    fn outcome(&mut self, row: &mut Row, outcome: Outcome) -> ControlFlow<Row> {
        let tag = &mut row.tags[RESULT];
        if tag.is_none() {
            *tag = Some(outcome.to_string());
        }
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, row: Row) -> Row {
        row
    }
}

const RESULT: usize = 6;

fn limit(row: &mut Row) -> ControlFlow<Row> {
    if row.movetext.len() <= LONGEST {
        return ControlFlow::Continue(());
    }
    ControlFlow::Break(Row { bad: Some(format!("movetext longer than {LONGEST} bytes")), ..Row::default() })
}

struct Games {
    path: PathBuf,
    reader: pgn_reader::Reader<Box<dyn Read + Send>>,
    row: u64,
    skip: u64,
    ended: bool,
    /// Comes after what was read before it.
    error: Option<ReadError>,
}

/// Games from number `skip` on.
pub(super) fn read(
    path: &Path,
    skip: u64,
    progress: Progress,
) -> Result<impl Iterator<Item = Result<Rows, ReadError>> + Send + use<>, ReadError> {
    let reader = pgn_reader::Reader::build(bytes::open(path, progress)?)
        .set_supported_tag_line_length(1 << 16)
        .set_supported_comment_length(1 << 12)
        .finish();
    Ok(Games { path: path.to_owned(), reader, row: 0, skip, ended: false, error: None })
}

impl Games {
    /// Up to a batch of games.
    fn some(&mut self) -> Vec<Row> {
        let mut rows = Vec::new();
        while !self.ended && rows.len() < BATCH {
            let skipping = self.row < self.skip;
            let game = if skipping {
                self.reader.skip_game().map(|more| more.then(Row::default))
            } else {
                self.reader.read_game(&mut Rowwise)
            };
            match game {
                Ok(Some(_)) if skipping => self.row += 1,
                Ok(Some(row)) => rows.push(row),
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    let game = self.row + rows.len() as u64 + 1;
                    self.error = Some(ReadError::new(&self.path, format!("game {game}: {error}")));
                }
            }
        }
        rows
    }
}

impl Iterator for Games {
    type Item = Result<Rows, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.some();
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

/// "2024.05.31" as days since 1970.
fn date(text: &str) -> Option<i32> {
    let iso = text.replace('.', "-");
    let array = arrow_array::StringArray::from(vec![iso]);
    let days = arrow_cast::cast(&array, &DataType::Date32).ok()?;
    let days = arrow_array::cast::as_primitive_array::<arrow_array::types::Date32Type>(&days);
    days.iter().next().flatten()
}

fn pack(rows: &[Row]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let tag = |row: &Row, i: usize| row.tags[i].clone();
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(GAMES.len() + 1);
    for (i, (_, kind)) in GAMES.iter().enumerate() {
        arrays.push(match kind {
            DataType::Int32 => {
                let mut column = Int32Builder::new();
                // Rating differences are written with a plus sign, unknown ratings with a question mark.
                rows.iter().for_each(|r| column.append_option(tag(r, i).and_then(|t| t.parse().ok())));
                Arc::new(column.finish())
            }
            DataType::Date32 => {
                let mut column = Date32Builder::new();
                rows.iter().for_each(|r| column.append_option(tag(r, i).and_then(|t| date(&t))));
                Arc::new(column.finish())
            }
            _ => {
                let mut column = StringBuilder::new();
                rows.iter().for_each(|r| column.append_option(r.tags[i].as_deref()));
                Arc::new(column.finish())
            }
        });
    }
    let mut column = StringBuilder::new();
    rows.iter().for_each(|r| column.append_value(&r.movetext));
    arrays.push(Arc::new(column.finish()));
    RecordBatch::try_new(columns::games(), arrays)
}
