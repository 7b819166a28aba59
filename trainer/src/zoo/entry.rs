//! One system of the comparison: what is known of it when it has been trained and measured.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use glance::board::{Conditions, Game};
use glance::evaluate::{Evaluator, NetworkEvaluator};
use glance::network::WeightsError;
use serde::{Deserialize, Serialize};

use crate::measure::figures::Figures;
use crate::measure::puzzles::Solved;
use crate::train::log::Validation;

/// What was found out about a system. Written beside its weights, so that nothing is measured twice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The system's name.
    pub system: String,
    /// Weights.
    pub parameters: usize,
    /// Multiply-adds a position.
    pub multiply_adds: usize,
    /// Whether it knows how games stand.
    pub has_value: bool,
    /// Positions trained on.
    pub positions: u64,
    /// Minutes that took.
    pub minutes: f64,
    /// By the name of the held-out source.
    pub figures: BTreeMap<String, Figures>,
    /// Puzzles, at one glance.
    pub puzzles: Option<Solved>,
    /// The validations during training.
    pub curve: Vec<Validation>,
}

impl Entry {
    /// A mean over the held-out sources.
    pub fn mean(&self, of: impl Fn(&Figures) -> f64) -> f64 {
        self.figures.values().map(of).sum::<f64>() / self.figures.len().max(1) as f64
    }
}

/// Milliseconds that one glance takes on one core: the median over positions of the openings given.
///
/// # Errors
/// When the weights cannot be loaded.
pub fn milliseconds(weights: &[u8], openings: &[Vec<String>]) -> Result<f64, WeightsError> {
    let evaluator = NetworkEvaluator::<burn_flex::Flex>::new(weights, Default::default(), 1)?;
    let mut times = Vec::new();
    for line in openings.iter().take(12) {
        let mut game = Game::default();
        for text in line {
            let Ok(m) = game.parse_uci(text) else { break };
            game.play(m);
            let start = Instant::now();
            evaluator.glance(&game, &Conditions::STRONGEST);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}

/// Reads an entry that was written before; `None` where there is none.
pub fn read(path: &Path) -> Option<Entry> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}
