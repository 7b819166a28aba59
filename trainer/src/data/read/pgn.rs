//! PGN files: each game's tags as columns, its moves and their comments as movetext.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Date32Builder, Int32Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use pgn_reader::{Outcome, RawComment, RawTag, SanPlus, Visitor};

use super::columns::{self, GAMES};
use super::rows::{Batches, Source};
use super::{Progress, ReadError, Stream, bytes};

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

struct Games(pgn_reader::Reader<Box<dyn Read + Send>>);

/// Games from number `skip` on.
pub(super) fn read(path: &Path, skip: u64, progress: Progress) -> Result<Stream, ReadError> {
    let reader = pgn_reader::Reader::build(bytes::open(path, progress)?)
        .set_supported_tag_line_length(1 << 16)
        .set_supported_comment_length(1 << 12)
        .finish();
    Ok(Box::new(Batches::new(Games(reader), path, skip)))
}

impl Source for Games {
    type Row = Row;
    const UNIT: &'static str = "game";

    fn next(&mut self) -> io::Result<Option<Row>> {
        self.0.read_game(&mut Rowwise)
    }

    fn skip(&mut self) -> io::Result<bool> {
        self.0.skip_game()
    }

    fn bad(row: &Row) -> Option<&str> {
        row.bad.as_deref()
    }

    fn pack(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
        pack(rows)
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

fn pack(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
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
