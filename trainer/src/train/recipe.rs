//! Everything that a training run is made of, in one TOML file.

use std::path::Path;

use glance::network::{Config, PolicyHead};
use serde::{Deserialize, Serialize};

use super::optimizer::OptimizerConfig;
use super::schedule::Schedule;
use crate::data::mixture::Share;
use crate::data::sample::Augmentation;

/// A network and how it is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The network.
    pub network: Config,
    /// The optimiser and its schedule.
    pub training: Training,
    /// Where positions come from.
    pub data: Data,
    /// What it says beside another recipe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// A question that a recipe answers together with another one that differs from it in one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What is to help.
    pub asks: String,
    /// The system that has it, where this one lacks it…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// …or the one that lacks it, where this one has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
}

impl Claim {
    /// The system that has it and the one that lacks it, for the claim of `own`; `None` unless exactly one other is named.
    pub fn sides<'a>(&'a self, own: &'a str) -> Option<(&'a str, &'a str)> {
        match (&self.with, &self.without) {
            (Some(with), None) => Some((with, own)),
            (None, Some(without)) => Some((own, without)),
            _ => None,
        }
    }
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// Steps of the optimiser.
    Steps(u64),
    /// Minutes spent training, over all resumptions: for machines whose speed is not known in advance.
    Minutes(f64),
}

/// Among which moves the cross-entropy of the policy is taken. An autoregressive head always answers for all squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyLoss {
    /// The legal moves: the others are masked.
    #[default]
    Legal,
    /// All 1,968: the network learns the rules too.
    All,
}

/// What of a network is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// All of it.
    #[default]
    All,
    /// The head for the time that a person takes; everything else stays as it was, and answers as it did.
    Time,
}

/// What the passes through the network compute in. Weights, their average and the optimiser are in single precision always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Compute {
    /// Single precision.
    #[default]
    F32,
    /// bfloat16. On a CPU only the products of matrices, where it has instructions for them; they are what takes its time.
    Bf16,
}

/// The optimiser and its schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Length of the run.
    pub budget: Budget,
    /// Positions a step.
    pub batch: usize,
    /// Which optimiser, and its constants.
    #[serde(default)]
    pub optimizer: OptimizerConfig,
    /// Peak learning rate.
    pub learning_rate: f64,
    /// How it falls.
    #[serde(default)]
    pub schedule: Schedule,
    /// Share of the run spent warming up.
    pub warmup: f64,
    /// Decoupled weight decay.
    pub weight_decay: f32,
    /// Largest norm of the whole gradient.
    pub clip: f32,
    /// Decay of the moving average of the weights.
    pub ema: f64,
    /// Weight of the value's loss against the policy's.
    pub value_weight: f64,
    /// Weight of the loss of the time taken against the policy's.
    #[serde(default = "one_quarter")]
    pub time_weight: f64,
    /// What the passes compute in.
    #[serde(default)]
    pub precision: Compute,
    /// What is trained.
    #[serde(default)]
    pub part: Part,
    /// Among which moves the policy is to find the one played.
    #[serde(default)]
    pub policy_loss: PolicyLoss,
    /// Share of the target that is spread evenly over the legal moves (soft targets).
    #[serde(default)]
    pub smoothing: f32,
    /// Seed of the weights and of the order of the data.
    pub seed: u64,
}

fn one_quarter() -> f64 {
    0.25
}

/// Where positions come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Share of each source, which is the beginning of its shards' names: a number, or `{ share, balance }`, where `balance`
    /// (0 to 1) says how far games are [balanced by rating](Share).
    pub mixture: toml::Table,
    /// What is forgotten on purpose.
    #[serde(default)]
    pub augmentation: Augmentation,
}

/// Why a recipe cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// Not readable.
    #[error("{path}: {reason}")]
    Read {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The network is impossible.
    #[error(transparent)]
    Network(#[from] glance::network::ConfigError),
    /// A number is out of its range.
    #[error("{field} is {value}: {allowed}")]
    Range {
        /// The field.
        field: String,
        /// What it was.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
}

impl RecipeError {
    /// A file that cannot be used, and why, on one line.
    pub(super) fn read(path: &Path, reason: impl std::fmt::Display) -> RecipeError {
        RecipeError::Read { path: path.display().to_string(), reason: reason.to_string().trim().replace('\n', " ") }
    }
}

impl Recipe {
    /// Reads a recipe and checks it. With `extends = "other.toml"` it says only how it differs from another, less what `leave_out` names.
    ///
    /// # Errors
    /// When the file cannot be read or asks for something impossible.
    pub fn read(path: &Path) -> Result<Recipe, RecipeError> {
        let recipe: Recipe = super::extends::read(path)?.try_into().map_err(|e| RecipeError::read(path, e))?;
        recipe.check()?;
        Ok(recipe)
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that is out of its range.
    pub fn check(&self) -> Result<(), RecipeError> {
        self.network.check()?;
        let t = &self.training;
        let range = |ok: bool, field: &str, value: String, allowed| {
            if ok { Ok(()) } else { Err(RecipeError::Range { field: field.into(), value, allowed }) }
        };
        let (length, field) = match t.budget {
            Budget::Steps(n) => (n as f64, "training.budget.steps"),
            Budget::Minutes(n) => (n, "training.budget.minutes"),
        };
        range(length > 0.0 && length.is_finite(), field, length.to_string(), "more than 0 is allowed")?;
        range((1..=65_536).contains(&t.batch), "training.batch", t.batch.to_string(), "1 to 65536 are allowed")?;
        let lr = t.learning_rate;
        range(lr > 0.0 && lr <= 1.0, "training.learning_rate", lr.to_string(), "above 0, up to 1 is allowed")?;
        range((0.0..1.0).contains(&t.warmup), "training.warmup", t.warmup.to_string(), "0 up to 1 is allowed")?;
        let b = t.optimizer.betas();
        for (name, value) in
            [("beta_1", f64::from(b.beta_1)), ("beta_2", f64::from(b.beta_2)), ("momentum", b.momentum)]
        {
            let field = format!("training.optimizer.{name}");
            range((0.0..1.0).contains(&value), &field, value.to_string(), "0 up to 1 is allowed")?;
        }
        let decay = t.weight_decay;
        range((0.0..=1.0).contains(&decay), "training.weight_decay", decay.to_string(), "0 to 1 is allowed")?;
        let allowed = "pairs of rising progress and factor, each from 0 to 1, are allowed";
        range(t.schedule.is_sound(), "training.schedule.steps", format!("{:?}", t.schedule), allowed)?;
        let smoothing = t.smoothing;
        range((0.0..1.0).contains(&smoothing), "training.smoothing", smoothing.to_string(), "0 up to 1 is allowed")?;
        let path = self.network.policy == PolicyHead::Autoregressive;
        let allowed = "0 is allowed with policy.kind = autoregressive";
        range(!path || smoothing == 0.0, "training.smoothing", smoothing.to_string(), allowed)?;
        let weight = t.value_weight;
        range((0.0..=1e3).contains(&weight), "training.value_weight", weight.to_string(), "0 to 1000 is allowed")?;
        let weight = t.time_weight;
        range((0.0..=1e3).contains(&weight), "training.time_weight", weight.to_string(), "0 to 1000 is allowed")?;
        let possible = t.part != Part::Time || self.network.time.is_some();
        range(possible, "training.part", "time".into(), "all is allowed without network.time")?;
        for (name, value) in self.data.augmentation.shares() {
            let field = format!("data.augmentation.{name}");
            range((0.0..=1.0).contains(&value), &field, value.to_string(), "0 to 1 is allowed")?;
        }
        range((0.0..1.0).contains(&t.ema), "training.ema", t.ema.to_string(), "0 up to 1 is allowed")?;
        range(t.clip > 0.0, "training.clip", t.clip.to_string(), "more than 0 is allowed")?;
        for (name, value) in &self.data.mixture {
            let allowed = "a number, or { share = a number, balance = 0 to 1 }, is allowed";
            range(share(name, value).is_some(), &format!("data.mixture.{name}"), value.to_string(), allowed)?;
        }
        for claim in &self.claims {
            let one = claim.sides(&self.network.system).is_some();
            range(one, "claims", claim.asks.clone(), "one of with and without is allowed, and needed")?;
        }
        Ok(())
    }

    /// The shares of the mixture; what has none is left out.
    pub fn mixture(&self) -> Vec<Share> {
        let shares = self.data.mixture.iter().filter_map(|(name, value)| share(name, value));
        shares.filter(|s| s.weight > 0.0).collect()
    }
}

/// `0.2`, or `{ share = 0.2, balance = 0.5 }`.
fn share(prefix: &str, value: &toml::Value) -> Option<Share> {
    let number = |v: &toml::Value| v.as_float().or(v.as_integer().map(|i| i as f64)).filter(|x| x.is_finite());
    let (weight, balance) = match value {
        toml::Value::Table(table) => {
            table.keys().all(|k| k == "share" || k == "balance").then_some(())?;
            (number(table.get("share")?)?, table.get("balance").map_or(Some(0.0), number)?)
        }
        plain => (number(plain)?, 0.0),
    };
    (weight >= 0.0 && (0.0..=1.0).contains(&balance)).then_some(Share { prefix: prefix.to_owned(), weight, balance })
}
