//! `export`.

use std::path::PathBuf;

use clap::Args;
use glance::network::Precision;

use super::Anyhow;
use crate::train::export::export;

#[derive(Args)]
pub(super) struct Export {
    /// Folder of the run
    #[arg(long)]
    run: PathBuf,
    /// File to write
    #[arg(long)]
    out: PathBuf,
    /// Four bytes a weight instead of two
    #[arg(long)]
    full: bool,
}

impl Export {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let precision = if self.full { Precision::Full } else { Precision::Half };
        let state = export(&self.run, &self.out, precision)?;
        println!("{}: step {}, {:.1} minutes of training", self.out.display(), state.step, state.seconds / 60.0);
        Ok(())
    }
}
