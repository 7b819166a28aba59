//! `label`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use glance::evaluate::{BackendName, open};
use indicatif::{ProgressBar, ProgressStyle};

use super::{Anyhow, cores, on_interrupt, weights};
use crate::data::engine::EngineOptions;
use crate::data::label::{Looks, Options, label};

#[derive(Args)]
pub(super) struct Label {
    /// Shards of games that the positions are drawn from
    #[arg(required = true)]
    games: Vec<PathBuf>,
    /// Folder for the Parquet files
    #[arg(long)]
    out: PathBuf,
    /// The engine
    #[arg(long, default_value = "stockfish")]
    engine: PathBuf,
    /// How long it thinks about a position
    #[arg(long, default_value = "nodes 2000")]
    limit: String,
    /// Options of the engine: "Hash=16"
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Positions in all
    #[arg(long, default_value_t = 100_000)]
    count: usize,
    /// Positions of a file
    #[arg(long, default_value_t = 10_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    part: usize,
    /// Ply of a game before which no position is taken
    #[arg(long, default_value_t = 5)]
    from_ply: usize,
    /// Men that a position has at most, kings too: endings only
    #[arg(long, default_value_t = 32, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=32))]
    men: usize,
    /// Share of positions after one random move
    #[arg(long, default_value_t = 0.34, value_parser = share)]
    one_random: f64,
    /// Share of positions after two random moves
    #[arg(long, default_value_t = 0.11, value_parser = share)]
    two_random: f64,
    /// Label what a tree search of so many positions looks at from there, instead of where it begins
    #[arg(long, value_name = "NODES", requires = "weights", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    tree: Option<u64>,
    /// The network that looks
    #[arg(long, requires = "tree")]
    weights: Option<PathBuf>,
    /// Share of what it looks at that is labelled
    #[arg(long, default_value_t = 0.2, value_parser = some_share)]
    looks: f64,
    /// Seed of the draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Engines at the same time; as many as cores without it
    #[arg(long)]
    threads: Option<usize>,
}

fn share(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|s| (0.0..=1.0).contains(s)).ok_or_else(|| "0 to 1 is allowed".into())
}

fn some_share(text: &str) -> Result<f64, String> {
    share(text).ok().filter(|&s| s > 0.0).ok_or_else(|| "more than 0, up to 1 is allowed".into())
}

/// "Hash=16" as a pair.
pub(super) fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is expected")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl Label {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let looks = match (self.tree, &self.weights) {
            (Some(nodes), Some(path)) => {
                let evaluator = Arc::from(open(&weights(path)?, BackendName::default(), 1)?);
                Some(Looks { evaluator, nodes, share: self.looks })
            }
            _ => None,
        };
        let options = Options {
            games: self.games,
            out: self.out,
            count: self.count,
            part: self.part,
            from_ply: self.from_ply,
            men: self.men,
            random: [self.one_random, self.two_random],
            looks,
            seed: self.seed,
            engine: EngineOptions {
                program: self.engine,
                options: self.options,
                limit: self.limit,
                patience: Duration::from_secs(60),
            },
            threads: self.threads.unwrap_or_else(cores),
            interrupted: on_interrupt()?,
        };
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} positions {per_sec} {eta}")?;
        let bar = ProgressBar::new(options.count as u64).with_style(style);
        let done = label(&options, &|n| bar.set_position(n as u64))?;
        bar.finish();
        println!("{}: {done} positions", options.out.display());
        Ok(())
    }
}
