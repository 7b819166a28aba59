//! `average`.

use std::path::PathBuf;

use clap::Args;

use super::Anyhow;
use super::output::Output;
use crate::train::average::average;

#[derive(Args)]
pub(super) struct Average {
    /// Weights files of networks that were trained from each other's weights
    #[arg(required = true)]
    weights: Vec<PathBuf>,
    /// How much each of them counts, with commas between; all the same without it
    #[arg(long, value_delimiter = ',')]
    shares: Vec<f64>,
    #[command(flatten)]
    output: Output,
}

impl Average {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let count = self.weights.len();
        let shares = if self.shares.is_empty() { vec![1.0; count] } else { self.shares };
        if shares.len() != count {
            return Err(format!("{} shares for {count} files: one for each is expected", shares.len()).into());
        }
        let files: Vec<(PathBuf, f64)> = self.weights.into_iter().zip(shares).collect();
        self.output.write(average(&files, self.output.precision())?)?;
        println!("{}: the mean of {count} networks", self.output.out.display());
        Ok(())
    }
}
