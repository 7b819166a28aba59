//! Parquet games and evaluations, as Lichess publishes them, to shards.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch, StringArray, cast::AsArray};
use glance::board::{Pool, parse_fen};
use indicatif::{ProgressBar, ProgressStyle};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::movetext::{self, MATE};
use super::shard::{self, GameHead, GameResult, Kind, ShardError};
use super::{packed, rank_of};

/// Games shorter than this are not worth a place.
const SHORTEST: usize = 10;

/// Why a file could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The file cannot be read.
    #[error("{path}: {reason}")]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The shard cannot be written.
    #[error(transparent)]
    Output(#[from] ShardError),
}

/// What became of a file's rows.
#[derive(Debug, Default)]
pub struct Counts {
    /// Records written.
    pub kept: u64,
    /// Plies (or positions) written.
    pub plies: u64,
    /// Rows dropped as seen already.
    pub duplicates: u64,
    /// Rows dropped as too short.
    pub short: u64,
    /// Rows that could not be read.
    pub bad: u64,
    /// The first few of those, with their rows.
    pub examples: Vec<String>,
}

impl Counts {
    fn bad(&mut self, path: &Path, row: usize, reason: &str) {
        self.bad += 1;
        if self.examples.len() < 5 {
            self.examples.push(format!("{} row {row}: {reason}", path.display()));
        }
    }
}

/// Prepares one Parquet file: games if it has a `movetext` column, evaluations if it has `fen`.
///
/// # Errors
/// When the file is neither, or the shard cannot be written. Bad rows are counted, not fatal.
pub fn prepare(input: &Path, out: &Path, seed: u64) -> Result<Counts, PrepareError> {
    let fail = |reason: String| PrepareError::Input { path: input.to_owned(), reason };
    let file = File::open(input).map_err(|e| fail(e.to_string()))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fail(e.to_string()))?;
    let schema = builder.schema().clone();
    let rows = builder.metadata().file_metadata().num_rows();
    let has = |name: &str| schema.column_with_name(name).is_some();
    let (kind, columns): (Kind, &[&str]) = if has("movetext") {
        (
            Kind::Games,
            &["Site", "Result", "WhiteTitle", "BlackTitle", "WhiteElo", "BlackElo", "TimeControl", "movetext"],
        )
    } else if has("fen") && has("line") {
        (Kind::Positions, &["fen", "line", "depth", "cp", "mate"])
    } else {
        return Err(fail("neither 'movetext' nor 'fen' and 'line' among its columns".into()));
    };
    if let Some(missing) = columns.iter().find(|c| !has(c)) {
        return Err(fail(format!("no column '{missing}'")));
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let reader = builder.with_projection(mask).with_batch_size(4096).build().map_err(|e| fail(e.to_string()))?;

    let style = "{prefix} {wide_bar} {pos}/{len} rows {per_sec} {eta}";
    let bar = ProgressBar::new(rows.max(0) as u64)
        .with_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_prefix(input.file_name().unwrap_or_default().to_string_lossy().into_owned());
    let mut counts = Counts::default();
    let mut seen = HashSet::new();
    let mut records = Vec::new();
    let mut row = 0;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for batch in reader {
        let batch = batch.map_err(|e| fail(e.to_string()))?;
        let part = batch.num_rows().div_ceil(threads).max(1);
        let results: Vec<Vec<Row>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..batch.num_rows())
                .step_by(part)
                .map(|from| {
                    let slice = batch.slice(from, part.min(batch.num_rows() - from));
                    scope.spawn(move || match kind {
                        Kind::Games => games(&slice),
                        Kind::Positions => positions(&slice),
                    })
                })
                .collect();
            handles.into_iter().map(|h| h.join().expect("workers do not panic")).collect()
        });
        for result in results.into_iter().flatten() {
            row += 1;
            match result {
                Ok(Record { plies, .. }) if kind == Kind::Games && plies < SHORTEST => counts.short += 1,
                Ok(record) if !seen.insert(record.key) => counts.duplicates += 1,
                Ok(record) => {
                    counts.kept += 1;
                    counts.plies += record.plies as u64;
                    records.push(record.bytes);
                }
                Err(reason) => counts.bad(input, row, &reason),
            }
        }
        bar.inc(batch.num_rows() as u64);
    }
    bar.finish();
    records.shuffle(&mut StdRng::seed_from_u64(seed));
    shard::write(out, kind, &records)?;
    Ok(counts)
}

struct Record {
    bytes: Vec<u8>,
    plies: usize,
    /// Games with the same moves, and positions with the same men, are one.
    key: u64,
}
type Row = Result<Record, String>;

fn text<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a StringArray> {
    batch.column_by_name(name)?.as_string_opt::<i32>()
}

/// A cell of any integer type.
fn integer(batch: &RecordBatch, name: &str, row: usize) -> Option<i64> {
    use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
    let column = batch.column_by_name(name)?;
    if column.is_null(row) {
        return None;
    }
    macro_rules! try_types {
        ($($t:ty),*) => {
            $(if let Some(a) = column.as_primitive_opt::<$t>() { return Some(a.value(row).into()); })*
        };
    }
    try_types!(Int16Type, Int32Type, Int64Type, Int8Type, UInt8Type, UInt16Type, UInt32Type);
    column.as_string_opt::<i32>()?.value(row).parse().ok()
}

fn cell<'a>(batch: &'a RecordBatch, name: &str, row: usize) -> &'a str {
    text(batch, name).filter(|a| !a.is_null(row)).map_or("", |a| a.value(row))
}

fn pool(site: &str, bot: bool) -> Pool {
    let site = site.to_ascii_lowercase();
    if bot {
        Pool::Engine
    } else if site.contains("lichess") {
        Pool::Lichess
    } else if site.contains("chess.com") {
        Pool::ChessCom
    } else {
        Pool::Otb
    }
}

/// "600+5" to (600, 5); anything else is unknown.
fn time_control(text: &str) -> Option<(u16, u8)> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    Some((base.parse().ok().filter(|&b| b != u16::MAX)?, increment.parse().ok().filter(|&i| i != u8::MAX)?))
}

fn games(batch: &RecordBatch) -> Vec<Row> {
    (0..batch.num_rows())
        .map(|row| {
            let moves = movetext::parse(cell(batch, "movetext", row)).map_err(|e| e.to_string())?;
            let bot = cell(batch, "WhiteTitle", row) == "BOT" && cell(batch, "BlackTitle", row) == "BOT";
            let rating = |name| integer(batch, name, row).filter(|r| (100..=4000).contains(r)).map(|r| r as u16);
            let head = GameHead {
                result: match cell(batch, "Result", row) {
                    "1-0" => GameResult::White,
                    "1/2-1/2" => GameResult::Draw,
                    "0-1" => GameResult::Black,
                    _ => GameResult::Unknown,
                },
                pool: pool(cell(batch, "Site", row), bot),
                white: rating("WhiteElo"),
                black: rating("BlackElo"),
                time_control: time_control(cell(batch, "TimeControl", row)),
            };
            let mut hasher = DefaultHasher::new();
            moves.ranks.hash(&mut hasher);
            let bytes = shard::encode_game(&head, &moves);
            Ok(Record { bytes, plies: moves.ranks.len(), key: hasher.finish() })
        })
        .collect()
}

fn positions(batch: &RecordBatch) -> Vec<Row> {
    (0..batch.num_rows())
        .map(|row| {
            let fen = cell(batch, "fen", row);
            let position = parse_fen(fen).map_err(|e| e.to_string())?;
            let first = cell(batch, "line", row).split(' ').next().unwrap_or_default().to_owned();
            let m = glance::board::Game::new(position.clone()).parse_uci(&first).map_err(|e| e.to_string())?;
            let eval = match (integer(batch, "cp", row), integer(batch, "mate", row)) {
                (_, Some(n)) if n < 0 => -MATE + n.unsigned_abs().min(999) as i16,
                (_, Some(n)) => MATE - n.min(999) as i16,
                (Some(cp), None) => cp.clamp(-30_000, 30_000) as i16,
                (None, None) => return Err("neither cp nor mate".into()),
            };
            let depth = integer(batch, "depth", row).unwrap_or(0).clamp(0, 255) as u8;
            let rank = rank_of(&position, m);
            let bytes = shard::encode_position(&position, rank, eval, depth).ok_or("more than 32 men")?;
            let mut hasher = DefaultHasher::new();
            bytes[..packed::BYTES].hash(&mut hasher);
            Ok(Record { bytes: bytes.to_vec(), plies: 1, key: hasher.finish() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls_and_pools() {
        assert_eq!(time_control("600+5"), Some((600, 5)));
        assert_eq!(time_control("300"), Some((300, 0)));
        assert_eq!(time_control("40/7200:3600"), None);
        assert_eq!(time_control("-"), None);
        assert_eq!(pool("https://lichess.org/x", false), Pool::Lichess);
        assert_eq!(pool("Chess.com", false), Pool::ChessCom);
        assert_eq!(pool("TCEC", true), Pool::Engine);
        assert_eq!(pool("Wijk aan Zee", false), Pool::Otb);
    }
}
