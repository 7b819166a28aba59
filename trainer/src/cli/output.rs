//! Where weights are written.

use std::path::PathBuf;

use clap::Args;
use glance::network::Precision;

use super::Anyhow;

#[derive(Args)]
pub(super) struct Output {
    /// File to write
    #[arg(long)]
    pub(super) out: PathBuf,
    /// Four bytes a weight instead of two
    #[arg(long)]
    full: bool,
}

impl Output {
    /// How weights are stored there.
    pub(super) fn precision(&self) -> Precision {
        if self.full { Precision::Full } else { Precision::Half }
    }

    /// Writes the file.
    pub(super) fn write(&self, bytes: Vec<u8>) -> Result<(), Anyhow> {
        Ok(std::fs::write(&self.out, bytes).map_err(|e| format!("{}: {e}", self.out.display()))?)
    }
}
