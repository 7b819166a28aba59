//! Files of games and evaluations to shards: read by one thread, converted by all, dealt with in the order of the file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::bounded;
use indicatif::{ProgressBar, ProgressStyle};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::convert::{self, Fate, Record};
use super::manifest::{Counts, Manifest, ManifestError};
use super::read::{Content, Input, Progress, ReadError, Rows, Stream, is_known};
use super::select::{SelectError, Selection};
use super::shard::{self, Kind, Shard, ShardError};
use crate::claim::{Claim, ClaimError};

/// Why files could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A file cannot be read at all.
    #[error(transparent)]
    Input(#[from] ReadError),
    /// The predicate cannot be used.
    #[error("{path}: {error}")]
    Selection {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: SelectError,
    },
    /// A shard cannot be written, or one that is there cannot be read.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// The same for the file beside it.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The folder for the shards cannot be worked in.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A folder cannot be listed.
    #[error("{path}: {error}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Two files would be written to one shard.
    #[error("{0} and {1} would be prepared under the same name: give them different ones, or prepare them apart")]
    SameName(PathBuf, PathBuf),
    /// Stopped from outside; what was read is written.
    #[error("interrupted; the same command goes on from here")]
    Interrupted,
    /// What is there was made from something else.
    #[error("{path}: made from {was}; remove it with its shards, or choose another --out")]
    Other {
        /// The manifest.
        path: PathBuf,
        /// From what.
        was: String,
    },
}

/// How files are prepared.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for the shards.
    pub out: PathBuf,
    /// Seed of the shuffle.
    pub seed: u64,
    /// The rows that are wanted, in SQL; all of them if `None`.
    pub selection: Option<String>,
    /// Threads that convert.
    pub threads: usize,
    /// Bytes of records after which the next shard is begun.
    pub shard_bytes: usize,
    /// Set from outside (Ctrl-C): stop after the rows at hand, with what was read written.
    pub interrupted: Arc<AtomicBool>,
}

/// Bytes of a shard by default: as much is held in memory.
pub const SHARD_BYTES: usize = 256 << 20;

/// The files that paths stand for, each with the name of its shards: folders are searched for files that can be read, and
/// their own folders (`year=2024/`) become part of the name.
///
/// # Errors
/// When a folder cannot be listed, nothing is found, or two files would share a name.
pub fn inputs(paths: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, PrepareError> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            walk(path, "", &mut found)?;
            if found.len() == before {
                return Err(ReadError::new(path, "no file in it that can be read").into());
            }
        } else {
            found.push((path.clone(), stem(path)));
        }
    }
    let mut names: HashMap<&str, &Path> = HashMap::new();
    for (path, name) in &found {
        if let Some(other) = names.insert(name, path) {
            return Err(PrepareError::SameName(other.to_owned(), path.clone()));
        }
    }
    Ok(found)
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = super::read::ENDINGS.iter().filter(|e| name.ends_with(**e)).max_by_key(|e| e.len());
    name.strip_suffix(ending.map_or("", |e| e)).unwrap_or(&name).to_owned()
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<(PathBuf, String)>) -> Result<(), PrepareError> {
    let fail = |error| PrepareError::Folder { path: folder.to_owned(), error };
    let mut entries = std::fs::read_dir(folder).map_err(fail)?.collect::<Result<Vec<_>, _>>().map_err(fail)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Links are not followed: they could lead around in a circle.
        let kind = entry.file_type().map_err(fail)?;
        if kind.is_dir() {
            walk(&path, &format!("{prefix}{}-", entry.file_name().to_string_lossy()), found)?;
        } else if kind.is_file() && is_known(&path) {
            let name = format!("{prefix}{}", stem(&path));
            found.push((path, name));
        }
    }
    Ok(())
}

/// Where a record with this key is.
#[derive(Clone, Copy)]
enum Place {
    Written,
    Waiting(usize),
}

/// Prepares files one after the other into one folder, without duplicates among them.
pub struct Preparation {
    options: Options,
    seen: [HashMap<u64, Place>; 2],
    _claim: Claim,
}

impl Preparation {
    /// Looks at what the folder holds already, to go on with it.
    ///
    /// # Errors
    /// When the folder cannot be made or read, or one of its shards is damaged.
    pub fn new(options: Options) -> Result<Preparation, PrepareError> {
        let fail = |error| PrepareError::Folder { path: options.out.clone(), error };
        let claim = Claim::of(&options.out)?;
        let mut seen = [HashMap::new(), HashMap::new()];
        let entries = std::fs::read_dir(&options.out).map_err(fail)?.collect::<Result<Vec<_>, _>>().map_err(fail)?;
        for path in entries.iter().map(std::fs::DirEntry::path) {
            if path.extension().is_some_and(|e| e == "json")
                && let Ok(Some(manifest)) = Manifest::read(&path)
            {
                for shard in &manifest.shards {
                    remember(&Shard::open(&options.out.join(shard))?, &mut seen);
                }
            }
        }
        Ok(Preparation { options, seen, _claim: claim })
    }

    /// Prepares a file, or goes on with it where an earlier call was stopped.
    ///
    /// # Errors
    /// When the file cannot be read at all, or its shards cannot be written. Rows that cannot be read, and an end that
    /// comes too early, are counted in the manifest.
    pub fn file(&mut self, path: &Path, name: &str) -> Result<Manifest, PrepareError> {
        let input = Input::open(path)?;
        let bytes = std::fs::metadata(path).map_err(|e| ReadError::new(path, e))?.len();
        let at = Manifest::path(&self.options.out, name);
        let fresh = Manifest {
            input: path.to_owned(),
            bytes,
            selection: self.options.selection.clone(),
            seed: self.options.seed,
            shards: Vec::new(),
            counts: Counts::default(),
            finished: false,
            cut_short: None,
        };
        let manifest = Manifest::read(&at)?.unwrap_or_else(|| fresh.clone());
        let of = |m: &Manifest| (m.bytes, m.selection.clone(), m.seed);
        if of(&manifest) != of(&fresh) {
            let selection = manifest.selection.as_deref().map_or("all rows".into(), |s| format!("rows with \"{s}\""));
            let was =
                format!("{} ({} bytes), {selection}, seed {}", manifest.input.display(), manifest.bytes, manifest.seed);
            return Err(PrepareError::Other { path: at, was });
        }
        if manifest.finished {
            return Ok(manifest);
        }
        let fail = |error| PrepareError::Selection { path: path.to_owned(), error };
        let selection = self.options.selection.as_deref();
        let selection = selection.map(|s| Selection::new(s, &input.schema)).transpose().map_err(fail)?;
        let more = selection.as_ref().map_or_else(Vec::new, |s| s.columns.clone());
        let progress = Progress::default();
        let bar = progress_bar(&input, path);
        let stream = input.read(&more, manifest.counts.rows, &progress)?;
        let content = input.content;
        let mut work = Work {
            options: &self.options,
            seen: &mut self.seen[content as usize],
            name,
            content,
            counts: manifest.counts.clone(),
            manifest,
            waiting: Vec::new(),
            bytes: 0,
        };
        let end = converted(stream, content, selection.as_ref(), self.options.threads, |rows, fates| {
            work.take(path, rows, fates)?;
            bar.set_position(progress.get());
            Ok(())
        })?;
        bar.finish_and_clear();
        work.manifest.finished = true;
        work.manifest.cut_short = end.map(|e| e.to_string());
        work.flush()?;
        Ok(work.manifest)
    }
}

fn remember(shard: &Shard, seen: &mut [HashMap<u64, Place>; 2]) {
    match shard.kind() {
        Kind::Games => {
            let keys = (0..shard.len()).filter_map(|i| shard.game(i)).map(|g| convert::game_key(g.ranks));
            seen[Content::Games as usize].extend(keys.map(|key| (key, Place::Written)));
        }
        Kind::Positions => {
            let keys = (0..shard.len()).filter_map(|i| shard.bytes(i)).map(convert::position_key);
            seen[Content::Evaluations as usize].extend(keys.map(|key| (key, Place::Written)));
        }
    }
}

fn progress_bar(input: &Input, path: &Path) -> ProgressBar {
    let style = match input.content {
        _ if path.extension().is_some_and(|e| e == "parquet") => "{prefix} {wide_bar} {pos}/{len} rows {per_sec} {eta}",
        _ => "{prefix} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
    };
    ProgressBar::new(input.total)
        .with_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_prefix(path.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// A file on its way into shards.
struct Work<'a> {
    options: &'a Options,
    seen: &'a mut HashMap<u64, Place>,
    name: &'a str,
    content: Content,
    /// Of everything taken; the manifest has what is written.
    counts: Counts,
    manifest: Manifest,
    waiting: Vec<Record>,
    bytes: usize,
}

impl Work<'_> {
    /// Takes the next rows of the file.
    fn take(&mut self, path: &Path, rows: &Rows, fates: Vec<Fate>) -> Result<(), PrepareError> {
        for (row, fate) in (rows.first..).zip(fates) {
            self.counts.rows += 1;
            match fate {
                Fate::Kept(record) => self.keep(record),
                Fate::NotWanted => self.counts.not_wanted += 1,
                Fate::Short => self.counts.short += 1,
                Fate::Variant => self.counts.variants += 1,
                Fate::Bad(reason) => self.counts.bad(path, row + 1, &reason),
            }
        }
        let interrupted = self.options.interrupted.load(Ordering::Relaxed);
        if interrupted || self.bytes >= self.options.shard_bytes {
            self.flush()?;
        }
        if interrupted { Err(PrepareError::Interrupted) } else { Ok(()) }
    }

    fn keep(&mut self, record: Record) {
        match self.seen.get(&record.key) {
            None => {
                self.seen.insert(record.key, Place::Waiting(self.waiting.len()));
                self.counts.kept += 1;
                self.counts.plies += record.plies as u64;
                self.counts.absurd_ratings += u64::from(record.absurd_ratings);
                self.bytes += record.bytes.len();
                self.waiting.push(record);
            }
            Some(&place) => {
                self.counts.duplicates += 1;
                if let Place::Waiting(i) = place
                    && self.waiting[i].merit < record.merit
                {
                    self.waiting[i] = record;
                }
            }
        }
    }

    /// Writes what is waiting as the next shard, and the manifest.
    fn flush(&mut self) -> Result<(), PrepareError> {
        let (kind, ending) = match self.content {
            Content::Games => (Kind::Games, "games"),
            Content::Evaluations => (Kind::Positions, "positions"),
        };
        if !self.waiting.is_empty() || self.manifest.shards.is_empty() {
            let number = self.manifest.shards.len() as u64;
            let part = if number == 0 { String::new() } else { format!(".{number}") };
            let shard = format!("{}{part}.{ending}", self.name);
            for record in &self.waiting {
                self.seen.insert(record.key, Place::Written);
            }
            let mut records: Vec<Vec<u8>> = std::mem::take(&mut self.waiting).into_iter().map(|r| r.bytes).collect();
            records.shuffle(&mut StdRng::seed_from_u64(self.options.seed ^ number << 32));
            shard::write(&self.options.out.join(&shard), kind, &records)?;
            self.manifest.shards.push(shard);
            self.bytes = 0;
        }
        self.manifest.counts = self.counts.clone();
        self.manifest.write(&Manifest::path(&self.options.out, self.name))?;
        Ok(())
    }
}

type Converted = Result<(Rows, Vec<Fate>), PrepareError>;

/// Reads a stream on one thread, converts its rows on others, and gives them to `take` in their order. Returns the
/// error that the stream ended with, if any.
fn converted(
    stream: Stream,
    content: Content,
    selection: Option<&Selection>,
    threads: usize,
    mut take: impl FnMut(&Rows, Vec<Fate>) -> Result<(), PrepareError>,
) -> Result<Option<ReadError>, PrepareError> {
    let threads = threads.max(1);
    let mut end = None;
    std::thread::scope(|scope| {
        let (to_workers, work) = bounded::<(u64, Result<Rows, ReadError>)>(2 * threads);
        let (to_us, done) = bounded::<(u64, Result<Converted, ReadError>)>(2 * threads);
        scope.spawn(move || {
            for numbered in (0..).zip(stream) {
                if to_workers.send(numbered).is_err() {
                    break;
                }
            }
        });
        for _ in 0..threads {
            let (work, to_us) = (work.clone(), to_us.clone());
            scope.spawn(move || {
                for (number, rows) in work {
                    let converted = rows.map(|rows| convert_rows(rows, content, selection));
                    if to_us.send((number, converted)).is_err() {
                        break;
                    }
                }
            });
        }
        drop((work, to_us));
        let (mut next, mut early) = (0, BTreeMap::new());
        for (number, converted) in done {
            early.insert(number, converted);
            while let Some(converted) = early.remove(&next) {
                next += 1;
                match converted {
                    Ok(converted) => {
                        let (rows, fates) = converted?;
                        take(&rows, fates)?;
                    }
                    Err(error) => end = Some(error),
                }
            }
        }
        Ok(end)
    })
}

fn convert_rows(rows: Rows, content: Content, selection: Option<&Selection>) -> Converted {
    let fail = |error| PrepareError::Selection { path: PathBuf::from("rows"), error };
    let filter = selection.map(|s| s.bind(&rows.batch.schema())).transpose().map_err(fail)?;
    let fates = convert::convert(&rows, content, filter.as_ref()).map_err(fail)?;
    Ok((rows, fates))
}
