//! `grow`.

use std::path::PathBuf;

use clap::Args;
use glance::network::save;

use super::Anyhow;
use super::output::Output;
use crate::train::initial::grown;
use crate::train::recipe::Recipe;

#[derive(Args)]
pub(super) struct Grow {
    /// Weights file of a network that lacks some of the recipe's pieces
    weights: PathBuf,
    /// The network that it becomes
    #[arg(long)]
    recipe: PathBuf,
    #[command(flatten)]
    output: Output,
}

impl Grow {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let recipe = Recipe::read(&self.recipe)?;
        recipe.check()?;
        let network = grown::<burn_flex::Flex>(&recipe.network, &self.weights, &Default::default())?;
        self.output.write(save(&network, self.output.precision())?)?;
        println!("{}: {} weights", self.output.out.display(), recipe.network.parameters());
        Ok(())
    }
}
