//! `prepare`.

use std::path::PathBuf;

use clap::Args;

use super::{Anyhow, cores, on_interrupt};
use crate::data::prepare::{Options, Preparation, SHARD_BYTES, inputs};

#[derive(Args)]
pub(super) struct Prepare {
    /// Files (.parquet, .pgn, .pgn.zst, .jsonl, .jsonl.zst), or folders of them (year=2024/month=01/…)
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Folder for the shards
    #[arg(long)]
    out: PathBuf,
    /// Rows that are wanted, as an SQL condition over the columns: "WhiteElo > 1800 and TimeControl like '600+%'"
    #[arg(long = "where", value_name = "SQL")]
    selection: Option<String>,
    /// Seed of the shuffle
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Megabytes of a shard: as much is held in memory
    #[arg(long, default_value_t = (SHARD_BYTES >> 20) as u32, value_parser = clap::value_parser!(u32).range(1..=4000))]
    shard_size: u32,
    /// Threads that convert; as many as cores without it
    #[arg(long)]
    threads: Option<usize>,
}

impl Prepare {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let options = Options {
            out: self.out,
            seed: self.seed,
            selection: self.selection,
            threads: self.threads.unwrap_or_else(cores),
            shard_bytes: (self.shard_size as usize) << 20,
            interrupted: on_interrupt()?,
        };
        let inputs = inputs(&self.inputs)?;
        let mut preparation = Preparation::new(options)?;
        for (path, name) in inputs {
            let manifest = preparation.file(&path, &name)?;
            println!("{name}: {}", manifest.counts);
            manifest.counts.examples.iter().for_each(|e| println!("  {e}"));
            if let Some(reason) = manifest.cut_short {
                println!("  ended early: {reason}");
            }
        }
        Ok(())
    }
}
