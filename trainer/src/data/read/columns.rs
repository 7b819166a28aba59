//! The columns of Lichess's Parquet files, and other types of them made into ours.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

use super::Content;

/// Columns of games: what they are called, and of which type they are here. The PGN tags are called the same.
pub(super) const GAMES: [(&str, DataType); 21] = [
    ("Event", DataType::Utf8),
    ("Site", DataType::Utf8),
    ("Date", DataType::Utf8),
    ("Round", DataType::Utf8),
    ("White", DataType::Utf8),
    ("Black", DataType::Utf8),
    ("Result", DataType::Utf8),
    ("WhiteTitle", DataType::Utf8),
    ("BlackTitle", DataType::Utf8),
    ("WhiteElo", DataType::Int32),
    ("BlackElo", DataType::Int32),
    ("WhiteRatingDiff", DataType::Int32),
    ("BlackRatingDiff", DataType::Int32),
    ("UTCDate", DataType::Date32),
    ("UTCTime", DataType::Utf8),
    ("ECO", DataType::Utf8),
    ("Opening", DataType::Utf8),
    ("Termination", DataType::Utf8),
    ("TimeControl", DataType::Utf8),
    ("Variant", DataType::Utf8),
    ("FEN", DataType::Utf8),
];

/// The moves of a game, with comments.
pub(super) const MOVETEXT: &str = "movetext";

/// Columns of evaluations.
pub(super) const EVALUATIONS: [(&str, DataType); 6] = [
    ("fen", DataType::Utf8),
    ("line", DataType::Utf8),
    ("depth", DataType::Int32),
    ("knodes", DataType::Int32),
    ("cp", DataType::Int32),
    ("mate", DataType::Int32),
];

/// What of them goes into shards.
pub(super) fn needed(content: Content) -> &'static [&'static str] {
    match content {
        Content::Games => &[
            "Site",
            "Result",
            "WhiteTitle",
            "BlackTitle",
            "WhiteElo",
            "BlackElo",
            "TimeControl",
            "Variant",
            "FEN",
            MOVETEXT,
        ],
        Content::Evaluations => &["fen", "line", "depth", "cp", "mate"],
    }
}

fn schema(columns: impl IntoIterator<Item = (&'static str, DataType)>) -> SchemaRef {
    Arc::new(Schema::new(columns.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect::<Vec<_>>()))
}

/// All columns of games that a PGN file has.
pub(super) fn games() -> SchemaRef {
    schema(GAMES.into_iter().chain([(MOVETEXT, DataType::Utf8)]))
}

/// All columns of evaluations.
pub(super) fn evaluations() -> SchemaRef {
    schema(EVALUATIONS)
}

/// A column as it is read here: known ones of their type, others as they are.
pub(super) fn field(of: &FieldRef) -> FieldRef {
    let known = GAMES.iter().chain(&EVALUATIONS).find(|(name, _)| name == of.name());
    let kind = match known {
        Some((_, kind)) => kind.clone(),
        None if of.name() == MOVETEXT => DataType::Utf8,
        None => return of.clone(),
    };
    Arc::new(Field::new(of.name(), kind, true))
}

/// Turns every column into the type of [`field`]; cells that cannot be become empty.
pub(super) fn cast(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let fields: Vec<FieldRef> = batch.schema().fields().iter().map(field).collect();
    let columns = batch
        .columns()
        .iter()
        .zip(&fields)
        .map(|(column, field)| arrow_cast::cast(column, field.data_type()))
        .collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// The columns that a file's hive folders give: `year=2024/month=01/` gives `year` and `month`.
pub(super) fn of_folders(path: &Path) -> Vec<(String, String)> {
    let folders = path.parent().into_iter().flat_map(Path::components);
    folders
        .filter_map(|c| c.as_os_str().to_str()?.split_once('='))
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Such a column as a field and as `rows` equal cells: a number where it is one.
pub(super) fn constant(name: &str, value: &str, rows: usize) -> (FieldRef, ArrayRef) {
    let array: ArrayRef = match value.parse::<i64>() {
        Ok(number) => Arc::new(Int64Array::from(vec![number; rows])),
        Err(_) => Arc::new(StringArray::from(vec![value; rows])),
    };
    (Arc::new(Field::new(name, array.data_type().clone(), true)), array)
}
