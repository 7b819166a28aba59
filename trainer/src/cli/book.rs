//! `book`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Anyhow;
use crate::data::book::{Selection, build};

#[derive(Args)]
pub(super) struct MakeBook {
    /// Shards of games
    #[arg(required = true)]
    shards: Vec<PathBuf>,
    /// File to write
    #[arg(long)]
    out: PathBuf,
    /// Both players' least rating
    #[arg(long, default_value_t = 2450)]
    rating: u16,
    /// Plies from the start
    #[arg(long, default_value_t = 24)]
    plies: usize,
    /// Games that a move needs
    #[arg(long, default_value_t = 8)]
    games: u32,
    /// Share of a position's games that a move needs
    #[arg(long, default_value_t = 0.08)]
    share: f64,
    /// Expected score for the mover that a move needs
    #[arg(long, default_value_t = 0.42)]
    score: f64,
}

impl MakeBook {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let selection = Selection {
            rating: self.rating,
            plies: self.plies,
            games: self.games,
            share: self.share,
            score: self.score,
        };
        let shards: Vec<&Path> = self.shards.iter().map(PathBuf::as_path).collect();
        let entries = build(&shards, &selection, &self.out)?;
        println!("{}: {entries} entries", self.out.display());
        Ok(())
    }
}
