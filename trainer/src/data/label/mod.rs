//! Evaluations by another engine: positions drawn from games, raw or after one or two random moves, or those that a search looks at from there,
//! written as Parquet with the columns of Lichess's evaluations.

mod draw;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::{Int16Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use crossbeam_channel::unbounded;
use glance::board::write_fen;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use shakmaty::{Chess, Position};

use super::engine::{Engine, EngineError, EngineOptions, Opinion};
use super::shard::{Kind, Shard, ShardError};
use crate::claim::{Claim, ClaimError};
use draw::Draw;

pub use draw::Looks;

/// What is to be labelled.
#[derive(Clone, Debug)]
pub struct Options {
    /// Shards of games that positions are drawn from.
    pub games: Vec<PathBuf>,
    /// Folder for the Parquet files.
    pub out: PathBuf,
    /// Positions in all.
    pub count: usize,
    /// Positions of a file.
    pub part: usize,
    /// Ply before which no position is taken.
    pub from_ply: usize,
    /// Men that a position has at most; of what a search looks at, where it begins.
    pub men: usize,
    /// Shares of positions after one and after two random moves.
    pub random: [f64; 2],
    /// What is labelled in the place of these positions.
    pub looks: Option<Looks>,
    /// Seed of the draw: the same seed draws the same positions.
    pub seed: u64,
    /// The engine.
    pub engine: EngineOptions,
    /// Engines at the same time.
    pub threads: usize,
    /// Set from outside (Ctrl-C): stop; finished files stay.
    pub interrupted: Arc<AtomicBool>,
}

/// Why positions could not be labelled.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// A shard is damaged or missing.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// No games to draw from.
    #[error("{0}: not a shard of games, or empty")]
    NoGames(PathBuf),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The folder for the files cannot be worked in.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A file cannot be written.
    #[error("{path}: {reason}")]
    Output {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The games have too few different positions.
    #[error("only {0} different positions found in the games")]
    TooFew(usize),
    /// Stopped from outside.
    #[error("interrupted; the same command goes on from here")]
    Interrupted,
}

/// Most plies of a variation that are written.
const LINE: usize = 10;

/// Labels positions file by file (`part-00000.parquet`, …); files that are there are left as they are, so that the same
/// command goes on where it was stopped. `told` hears how many positions are done.
///
/// # Errors
/// When games, engine or files fail.
pub fn label(options: &Options, told: &(dyn Fn(usize) + Sync)) -> Result<usize, LabelError> {
    let shards = options.games.iter().map(|p| Shard::open(p)).collect::<Result<Vec<_>, _>>()?;
    if let Some(bad) = shards.iter().find(|s| s.kind() != Kind::Games || s.is_empty()) {
        return Err(LabelError::NoGames(bad.path().to_owned()));
    }
    let _claim = Claim::of(&options.out)?;
    let mut draw = Draw::new(shards, options.seed);
    let mut done = 0;
    for part in 0..options.count.div_ceil(options.part.max(1)) {
        let size = options.part.min(options.count - done);
        // Drawn also where the file is there: what follows must not repeat it.
        let positions = draw.positions(size, options)?;
        let path = options.out.join(format!("part-{part:05}.parquet"));
        if !path.exists() {
            let opinions = ask(&positions, options, &|n| told(done + n))?;
            write(&path, &positions, &opinions)?;
        }
        done += size;
        told(done);
    }
    Ok(done)
}

/// A position's FEN without the move numbers, as Lichess's evaluations have it.
fn short_fen(position: &Chess) -> String {
    write_fen(position).split(' ').take(4).collect::<Vec<_>>().join(" ")
}

/// Opinions of all positions, in their order.
fn ask(positions: &[Chess], options: &Options, told: &(dyn Fn(usize) + Sync)) -> Result<Vec<Opinion>, LabelError> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (send, answers) = unbounded::<(usize, Result<Opinion, EngineError>)>();
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            let (send, next, done) = (send.clone(), &next, &done);
            scope.spawn(move || {
                let mut engine = match Engine::start(&options.engine) {
                    Ok(engine) => engine,
                    Err(error) => return drop(send.send((0, Err(error)))),
                };
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= positions.len() || options.interrupted.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = engine.ask(&short_fen(&positions[i]));
                    let failed = answer.is_err();
                    if send.send((i, answer)).is_err() || failed {
                        break;
                    }
                    told(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
        drop(send);
        let mut opinions = BTreeMap::new();
        for (i, answer) in answers {
            opinions.insert(i, answer.inspect_err(|_| next.store(positions.len(), Ordering::Relaxed))?);
        }
        if opinions.len() < positions.len() {
            return Err(LabelError::Interrupted);
        }
        Ok(opinions.into_values().collect())
    })
}

fn write(path: &Path, positions: &[Chess], opinions: &[Opinion]) -> Result<(), LabelError> {
    let fail = |reason: String| LabelError::Output { path: path.to_owned(), reason };
    let white = |position: &Chess, score: i32| {
        let score = position.turn().fold_wb(score, -score);
        score.clamp(-32_000, 32_000) as i16
    };
    let scores = |of: fn(&Opinion) -> Option<i32>| -> Int16Array {
        positions.iter().zip(opinions).map(|(p, o)| of(o).map(|s| white(p, s))).collect()
    };
    let lines = opinions.iter().map(|o| o.line[..o.line.len().min(LINE)].join(" "));
    let columns: Vec<(&str, DataType, arrow_array::ArrayRef)> = vec![
        ("fen", DataType::Utf8, Arc::new(StringArray::from_iter_values(positions.iter().map(short_fen)))),
        ("line", DataType::Utf8, Arc::new(StringArray::from_iter_values(lines))),
        ("depth", DataType::Int16, Arc::new(Int16Array::from_iter_values(opinions.iter().map(|o| o.depth as i16)))),
        (
            "knodes",
            DataType::Int32,
            Arc::new(Int32Array::from_iter_values(opinions.iter().map(|o| (o.nodes / 1000) as i32))),
        ),
        ("cp", DataType::Int16, Arc::new(scores(|o| o.cp))),
        ("mate", DataType::Int16, Arc::new(scores(|o| o.mate))),
    ];
    let fields: Vec<Field> = columns.iter().map(|(name, kind, _)| Field::new(*name, kind.clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(|e| fail(e.to_string()))?;
    let partial = path.with_extension("partial");
    let file = File::create(&partial).map_err(|e| fail(e.to_string()))?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(|e| fail(e.to_string()))?;
    writer.write(&batch).and_then(|()| writer.close().map(drop)).map_err(|e| fail(e.to_string()))?;
    fs::rename(&partial, path).map_err(|e| fail(e.to_string()))
}
