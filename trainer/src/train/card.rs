//! A run's card: on what a network was trained, how, for how long and how good it is, for people and for programs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use glance::network::PolicyHead;
use serde::{Deserialize, Serialize};

use super::checkpoint::State;
use super::log::{Validation, read};
use super::recipe::Recipe;
use super::run::TrainError;
use crate::data::mixture::Mixture;
use crate::data::shard::Kind;

/// Everything worth knowing about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Version of the trainer.
    pub trainer: String,
    /// Weights of the network.
    pub parameters: usize,
    /// Multiply-adds a position.
    pub multiply_adds: usize,
    /// Steps of the optimiser.
    pub steps: u64,
    /// Positions seen, one after another drawn with replacement.
    pub positions: u64,
    /// Minutes of training.
    pub minutes: f64,
    /// Weights that it started from.
    pub init: Option<String>,
    /// Backend and processor.
    pub machine: String,
    /// The shards.
    pub sources: Vec<Source>,
    /// Figures of the last validation.
    pub validation: Vec<Validation>,
    /// Network, optimiser, data.
    pub recipe: Recipe,
}

/// A shard that was learnt from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The file's name.
    pub name: String,
    /// Whether its records are positions; games otherwise.
    pub positions: bool,
    /// How many.
    pub records: usize,
    /// Its share of the positions seen.
    pub share: f64,
}

impl Card {
    /// The card of a run that stands at `state`.
    pub fn new(run: &Path, state: &State, mixture: &Mixture, backend: &str, init: Option<&Path>) -> Card {
        let total: f64 = mixture.sources().iter().map(|s| s.weight()).sum();
        let sources = mixture.sources().iter().map(|s| Source {
            name: s.name().to_owned(),
            positions: s.kind() == Kind::Positions,
            records: s.len(),
            share: s.weight() / total,
        });
        let mut validation: Vec<Validation> = read(&run.join("validation.csv"));
        let last = validation.iter().map(|v| v.step).max();
        validation.retain(|v| Some(v.step) == last);
        Card {
            trainer: env!("CARGO_PKG_VERSION").to_owned(),
            parameters: state.recipe.network.parameters(),
            multiply_adds: state.recipe.network.multiply_adds(),
            steps: state.step,
            positions: state.step * state.recipe.training.batch as u64,
            minutes: state.seconds / 60.0,
            init: init.map(|p| p.display().to_string()),
            machine: format!("{backend}; {}", processor()),
            sources: sources.collect(),
            validation,
            recipe: state.recipe.clone(),
        }
    }

    /// Writes `card.json` and `card.md` into the run's folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, run: &Path) -> Result<(), TrainError> {
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        for (name, text) in [("card.json", json), ("card.md", self.markdown())] {
            let path = run.join(name);
            fs::write(&path, text).map_err(|error| TrainError::Io { path, error })?;
        }
        Ok(())
    }

    /// For people.
    pub fn markdown(&self) -> String {
        let mut out = format!(
            "# {}\n\n| | |\n|---|---|\n| weights | {} |\n| multiply-adds a position | {:.1} million |\n\
             | training | {} steps, {:.2} million positions, {:.1} minutes |\n| started from | {} |\n| machine | {} |\n",
            self.recipe.network.system,
            self.parameters,
            self.multiply_adds as f64 / 1e6,
            self.steps,
            self.positions as f64 / 1e6,
            self.minutes,
            self.init.as_deref().unwrap_or("random weights"),
            self.machine,
        );
        if matches!(self.recipe.network.policy, PolicyHead::FromToMap) {
            out += "\nIts moves have no promotion piece: it always queens (an underpromotion is e^-15 as probable).\n";
        }
        out += "\n## Data\n\n| shard | records | share |\n|---|---|---|\n";
        for s in &self.sources {
            let kind = if s.positions { "positions" } else { "games" };
            let _ = writeln!(out, "| {} | {} {kind} | {:.1} % |", s.name, s.records, s.share * 100.0);
        }
        if !self.validation.is_empty() {
            out += "\n## Held out\n\n| source | moves | top-1 | top-3 | policy loss | value loss |\n|---|---|---|---|---|---|\n";
            for v in &self.validation {
                let (top1, top3) = (v.top1 * 100.0, v.top3 * 100.0);
                let (name, moves, policy, value) = (&v.source, v.moves, v.policy_loss, v.value_loss);
                let _ = writeln!(out, "| {name} | {moves} | {top1:.1} % | {top3:.1} % | {policy:.3} | {value:.3} |");
            }
        }
        let recipe = toml::to_string_pretty(&self.recipe).unwrap_or_default();
        out + "\n## Recipe\n\n```toml\n" + &recipe + "```\n"
    }
}

/// The processor's name where the system tells it, and its cores.
fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name.trim()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.unwrap_or(std::env::consts::ARCH))
}
