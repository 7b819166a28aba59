//! `measure`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use glance::board::{Conditions, Game};
use glance::evaluate::{BackendName, Evaluator, Query, Stop, open};
use glance::network::{Network, load};
use indicatif::{ProgressBar, ProgressStyle};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::{Anyhow, cores, weights};
use crate::data::engine::{Engine, EngineOptions};
use crate::data::mixture::{Mixture, Share};
use crate::data::read::{Puzzle, puzzles};
use crate::data::sample::{Augmentation, Told};
use crate::data::shard::{Kind, Shard};
use crate::measure::figures::{Figures, by_rating, calibration};
use crate::measure::puzzles::solve;
use crate::measure::report::{Agreement, OfPuzzles, OfSource, Report};
use crate::measure::validation::{SEED, ValidationSet, look, sets};

type B = burn_flex::Flex;

#[derive(Args)]
pub(super) struct Measure {
    /// The weights
    #[arg(long)]
    weights: PathBuf,
    /// Folder of the validation shards
    #[arg(long)]
    data: PathBuf,
    /// Positions of each source
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// Which positions are drawn: with another number, others. What was chosen by some positions is measured on others
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Moves that a bracket of a hundred points of rating needs to be shown
    #[arg(long, default_value_t = 200)]
    least: usize,
    /// Lichess's puzzles (.csv or .csv.zst)
    #[arg(long)]
    puzzles: Option<PathBuf>,
    /// Puzzles looked at, drawn at random; all of them without it
    #[arg(long)]
    puzzle_count: Option<usize>,
    /// Another UCI engine, whose best moves are compared with the network's
    #[arg(long)]
    engine: Option<PathBuf>,
    /// How long it thinks about a position
    #[arg(long, default_value = "nodes 100000")]
    limit: String,
    /// Positions that it is asked about
    #[arg(long, default_value_t = 1000)]
    engine_count: usize,
    /// What the network is told of the players: right, none, +400, -400 …; pool=otb, lichess, chess-com, engine or none; or both, with a comma
    #[arg(long, default_value = "right", allow_hyphen_values = true)]
    told: Told,
    /// Folder for tables, CSV, JSON and a page of plots
    #[arg(long)]
    out: Option<PathBuf>,
    /// JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn bar(length: usize, what: &str) -> Result<ProgressBar, Anyhow> {
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {per_sec} {eta}")?;
    Ok(ProgressBar::new(length as u64).with_style(style).with_prefix(what.to_owned()))
}

impl Measure {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let device = Default::default();
        let bytes = weights(&self.weights)?;
        let network = load::<B>(&bytes, &device)?;
        let report = Report {
            weights: self.weights.display().to_string(),
            parameters: network.config().parameters(),
            sources: self.sources(&network)?,
            puzzles: self.puzzles.as_deref().map(|path| self.of_puzzles(path, &bytes)).transpose()?,
            agreement: self.engine.as_deref().map(|program| self.agreement(program, &bytes)).transpose()?,
        };
        if let Some(out) = &self.out {
            report.write(out)?;
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print!("{}", report.markdown());
        }
        Ok(())
    }

    fn sources(&self, network: &Network<B>) -> Result<Vec<OfSource>, Anyhow> {
        let mut found = Vec::new();
        for set in told_sets(&self.data, self.count, self.seed, self.told)? {
            let bar = bar(set.samples.len(), &set.name)?;
            let told = |n: usize| bar.inc(n as u64);
            let looked = look(network, &set.samples, cores(), 16, &Default::default(), &told);
            bar.finish_and_clear();
            found.push(OfSource {
                source: set.name,
                figures: Figures::of(&looked),
                by_rating: by_rating(&looked, self.least),
                calibration: calibration(&looked),
            });
        }
        Ok(found)
    }

    fn evaluator(&self, weights: &[u8]) -> Result<Box<dyn Evaluator>, Anyhow> {
        Ok(open(weights, BackendName::Flex, cores())?)
    }

    fn of_puzzles(&self, path: &Path, weights: &[u8]) -> Result<OfPuzzles, Anyhow> {
        let mut chosen: Vec<Puzzle> = puzzles(path)?;
        if let Some(count) = self.puzzle_count {
            chosen.shuffle(&mut StdRng::seed_from_u64(1));
            chosen.truncate(count);
        }
        let bar = bar(chosen.len(), "puzzles")?;
        let done = |open: usize| bar.set_position((chosen.len() - open.min(chosen.len())) as u64);
        let (all, by_rating) = solve(&*self.evaluator(weights)?, &chosen, &Conditions::STRONGEST, &done);
        bar.finish_and_clear();
        Ok(OfPuzzles { all, by_rating })
    }

    fn agreement(&self, program: &Path, weights: &[u8]) -> Result<Agreement, Anyhow> {
        let options = EngineOptions {
            program: program.to_owned(),
            options: Vec::new(),
            limit: self.limit.clone(),
            patience: Duration::from_secs(120),
        };
        let games = self.positions()?;
        let conditions = Conditions::STRONGEST;
        let queries: Vec<Query> = games.iter().map(|game| Query { game, conditions: &conditions }).collect();
        let evaluations = self.evaluator(weights)?.evaluate(&queries, &Stop::new(false, None))?;
        let bar = bar(games.len(), "engine")?;
        let mut engine = Engine::start(&options)?;
        let (mut top1, mut top3) = (0, 0);
        for (game, evaluation) in games.iter().zip(&evaluations) {
            let opinion = engine.ask(&glance::board::write_fen(game.position()))?;
            let best = opinion.line.first().and_then(|m| game.parse_uci(m).ok());
            let place = evaluation.moves.iter().position(|m| Some(m.m) == best);
            top1 += usize::from(place == Some(0));
            top3 += usize::from(place.is_some_and(|p| p < 3));
            bar.inc(1);
        }
        bar.finish_and_clear();
        let n = games.len().max(1) as f64;
        let engine = format!("{} (go {})", program.display(), self.limit);
        Ok(Agreement { engine, positions: games.len(), top1: top1 as f64 / n, top3: top3 as f64 / n })
    }

    /// Positions with their history, one a game, from the shards of games.
    fn positions(&self) -> Result<Vec<Game>, Anyhow> {
        use rand::Rng;
        let mut shards = Vec::new();
        for name in names(&self.data)? {
            let path = self.data.join(format!("{name}.games"));
            if path.exists() {
                shards.push(Shard::open(&path)?);
            }
        }
        let mut rng = StdRng::seed_from_u64(2);
        let mut found = Vec::new();
        shards.retain(|s| s.kind() == Kind::Games && !s.is_empty());
        for i in 0..if shards.is_empty() { 0 } else { self.engine_count } {
            let shard = &shards[i % shards.len()];
            let Some(record) = shard.game(rng.random_range(0..shard.len())) else { continue };
            let mut game = Game::default();
            record.line().take(rng.random_range(0..record.ranks.len().max(1))).for_each(|(_, m)| game.play(m));
            if game.terminal().is_none() {
                found.push(game);
            }
        }
        Ok(found)
    }
}

/// The names of the shards in a folder.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, Anyhow> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "games" || e == "positions"))
        .filter_map(|p| p.file_stem().map(|s| s.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// One set for each shard of the folder, as it is: nothing forgotten.
pub(super) fn validation_sets(folder: &Path, count: usize) -> Result<Vec<ValidationSet>, Anyhow> {
    told_sets(folder, count, SEED, Told::default())
}

/// The same, drawn with a seed, and with other ratings told.
fn told_sets(folder: &Path, count: usize, seed: u64, told: Told) -> Result<Vec<ValidationSet>, Anyhow> {
    let none = Augmentation { told, ..Augmentation::none() };
    let mixtures = names(folder)?
        .into_iter()
        .map(|name| Ok((name.clone(), Mixture::open(folder, &[Share::new(&name, 1.0)], none.clone())?)))
        .collect::<Result<Vec<_>, Anyhow>>()?;
    Ok(sets(&mixtures, count, seed))
}
