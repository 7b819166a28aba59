//! `export`.

use std::path::PathBuf;

use clap::Args;

use super::Anyhow;
use super::output::Output;
use crate::train::export::export;

#[derive(Args)]
pub(super) struct Export {
    /// Folder of the run
    #[arg(long)]
    run: PathBuf,
    #[command(flatten)]
    output: Output,
}

impl Export {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let Output { out, .. } = &self.output;
        let state = export(&self.run, out, self.output.precision())?;
        println!("{}: step {}, {:.1} minutes of training", out.display(), state.step, state.seconds / 60.0);
        Ok(())
    }
}
