//! `grow`.

use std::path::PathBuf;

use clap::Args;
use glance::network::{Precision, save};

use super::Anyhow;
use crate::train::initial::grown;
use crate::train::recipe::Recipe;

#[derive(Args)]
pub(super) struct Grow {
    /// Weights file of a network that lacks some of the recipe's pieces
    weights: PathBuf,
    /// The network that it becomes
    #[arg(long)]
    recipe: PathBuf,
    /// File to write
    #[arg(long)]
    out: PathBuf,
    /// Four bytes a weight instead of two
    #[arg(long)]
    full: bool,
}

impl Grow {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let recipe = Recipe::read(&self.recipe)?;
        recipe.check()?;
        let network = grown::<burn_flex::Flex>(&recipe.network, &self.weights, &Default::default())?;
        let precision = if self.full { Precision::Full } else { Precision::Half };
        std::fs::write(&self.out, save(&network, precision)?).map_err(|e| format!("{}: {e}", self.out.display()))?;
        println!("{}: {} weights", self.out.display(), recipe.network.parameters());
        Ok(())
    }
}
