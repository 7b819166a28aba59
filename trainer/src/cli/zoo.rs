//! `zoo`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use glance::board::Conditions;
use glance::evaluate::open;
use glance::network::{Precision, load};
use glance::play::{Engine, SearchName};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::measure::{bar, names, validation_sets};
use super::train::train_on;
use super::{Anyhow, cores, on_interrupt};
use crate::backend::{BackendName, check_cuda};
use crate::data::mixture::Mixture;
use crate::data::read::puzzles;
use crate::data::shard::Shard;
use crate::measure::figures::Figures;
use crate::measure::puzzles::solve;
use crate::measure::validation::{ValidationSet, look};
use crate::train::export::export;
use crate::train::log;
use crate::train::recipe::{Budget, Recipe};
use crate::train::run::Options;
use crate::zoo::elo::{Pair, rate};
use crate::zoo::entry::{Entry, milliseconds, read};
use crate::zoo::games::{Played, openings, play, player};
use crate::zoo::report::{Ranked, html, markdown};

type B = burn_flex::Flex;

#[derive(Args)]
pub(super) struct Zoo {
    /// Recipes, or folders of recipes
    #[arg(required = true)]
    systems: Vec<PathBuf>,

    /// Folder of the training shards
    #[arg(long)]
    data: PathBuf,

    /// Folder of the validation shards
    #[arg(long)]
    validation: PathBuf,

    /// Folder for everything; the same command goes on where it was stopped
    #[arg(long)]
    out: PathBuf,

    /// Positions that each system is trained on
    #[arg(long, conflicts_with = "minutes", required_unless_present = "minutes")]
    positions: Option<u64>,

    /// Minutes that each system is trained for
    #[arg(long)]
    minutes: Option<f64>,

    /// Where training is done
    #[arg(long, default_value = "flex")]
    backend: BackendName,

    /// Threads that train (CPU)
    #[arg(long)]
    workers: Option<usize>,

    /// Held-out positions of each source
    #[arg(long, default_value_t = 5000)]
    count: usize,

    /// Lichess's puzzles (.csv or .csv.zst)
    #[arg(long)]
    puzzles: Option<PathBuf>,

    /// Puzzles looked at, drawn at random
    #[arg(long, default_value_t = 1000)]
    puzzle_count: usize,

    /// Openings that each two systems play, twice each, with colours exchanged
    #[arg(long, default_value_t = 10)]
    openings: usize,

    /// The search that all play with
    #[arg(long, default_value = "policy")]
    search: SearchName,

    /// Positions looked at for a move
    #[arg(long, default_value_t = 1)]
    nodes: u64,
}

const STOPPED: &str = "stopped; the same command goes on";

/// An engine with the name of the system that it plays.
type Seat<'a> = (&'a str, Engine);

/// A line of `games.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    white: String,
    black: String,
    opening: usize,
    points: f64,
    moves: Vec<String>,
}

fn fail(path: &Path) -> impl Fn(std::io::Error) -> Anyhow + '_ {
    move |e| format!("{}: {e}", path.display()).into()
}

impl Zoo {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        if self.backend == BackendName::Cuda {
            check_cuda()?;
        }
        let interrupted = on_interrupt()?;
        fs::create_dir_all(&self.out).map_err(fail(&self.out))?;
        let recipes = self.recipes()?;
        let sets = validation_sets(&self.validation, self.count)?;
        let openings = self.draw_openings()?;
        let mut entries = Vec::new();
        for recipe in &recipes {
            match self.entry(recipe, &sets, &openings, &interrupted)? {
                Some(entry) => entries.push(entry),
                None => return Err(STOPPED.into()),
            }
        }
        let games = self.round_robin(&entries, &openings, &interrupted)?;
        self.report(entries, &games)
    }

    /// All recipes, by name; each with the budget of the comparison.
    fn recipes(&self) -> Result<Vec<Recipe>, Anyhow> {
        let mut paths = Vec::new();
        for path in &self.systems {
            if path.is_dir() {
                let inside = fs::read_dir(path).map_err(fail(path))?.flatten().map(|e| e.path());
                paths.extend(inside.filter(|p| p.extension().is_some_and(|e| e == "toml")));
            } else {
                paths.push(path.clone());
            }
        }
        let mut recipes = paths.iter().map(|p| Recipe::read(p)).collect::<Result<Vec<_>, _>>()?;
        recipes.sort_by(|a, b| a.network.system.cmp(&b.network.system));
        for recipe in &mut recipes {
            recipe.training.budget = match (self.positions, self.minutes) {
                (Some(n), _) => Budget::Steps((n / recipe.training.batch as u64).max(1)),
                (None, minutes) => Budget::Minutes(minutes.unwrap_or(1.0)),
            };
            recipe.check()?;
        }
        if let Some(twice) = recipes.windows(2).find(|w| w[0].network.system == w[1].network.system) {
            return Err(format!("two recipes of the name '{}': names are to differ", twice[0].network.system).into());
        }
        if recipes.len() < 2 {
            return Err(format!("{} recipe: at least two are needed", recipes.len()).into());
        }
        Ok(recipes)
    }

    fn draw_openings(&self) -> Result<Vec<Vec<String>>, Anyhow> {
        let mut shards = Vec::new();
        for name in names(&self.validation)? {
            let path = self.validation.join(format!("{name}.games"));
            if path.exists() {
                shards.push(Shard::open(&path)?);
            }
        }
        let found = openings(&shards, self.openings.max(1));
        if found.is_empty() {
            return Err(format!("{}: no games to take openings from", self.validation.display()).into());
        }
        Ok(found)
    }

    fn folder(&self, system: &str) -> PathBuf {
        self.out.join(system)
    }

    fn weights(&self, system: &str) -> PathBuf {
        self.folder(system).join("weights.safetensors")
    }

    /// Trains and measures a system, as far as that was not done before; `None` when interrupted.
    fn entry(
        &self,
        recipe: &Recipe,
        sets: &[ValidationSet],
        openings: &[Vec<String>],
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Option<Entry>, Anyhow> {
        let system = recipe.network.system.clone();
        let file = self.folder(&system).join("entry.json");
        if let Some(entry) = read(&file) {
            println!("{system}: done before");
            return Ok(Some(entry));
        }
        let usual = self.backend.split(recipe.training.batch, 1);
        let split = crate::train::step::Split { workers: self.workers.unwrap_or(usual.workers).max(1), ..usual };
        let mixture = Mixture::open(&self.data, &recipe.mixture(), recipe.data.augmentation.clone())?;
        let run = self.folder(&system).join("run");
        let options = Options {
            run: run.clone(),
            init: None,
            split,
            loaders: 1,
            every: 1.0,
            plain: true,
            backend: format!("{:?}", self.backend).to_lowercase(),
            interrupted: interrupted.clone(),
        };
        println!("{system}: {} weights", recipe.network.parameters());
        // Fewer positions on the way than at the end.
        let some: Vec<ValidationSet> = sets
            .iter()
            .map(|s| ValidationSet { name: s.name.clone(), samples: s.samples.iter().take(500).cloned().collect() })
            .collect();
        let state = train_on(self.backend, &[0], recipe, &options, Arc::new(mixture), &some)?;
        if interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let weights = self.weights(&system);
        export(&run, &weights, Precision::Half)?;
        let bytes = fs::read(&weights).map_err(fail(&weights))?;
        let network = load::<B>(&bytes, &Default::default())?;
        let mut entry = Entry {
            parameters: recipe.network.parameters(),
            multiply_adds: recipe.network.multiply_adds(),
            has_value: recipe.network.value.exists(),
            positions: state.step * recipe.training.batch as u64,
            minutes: state.seconds / 60.0,
            milliseconds: milliseconds(&bytes, openings)?,
            figures: Default::default(),
            puzzles: self.solved(&bytes)?,
            curve: log::read(&run.join("validation.csv")),
            system,
        };
        for set in sets {
            let bar = bar(set.samples.len(), &set.name)?;
            let looked = look(&network, &set.samples, cores(), 16, &Default::default(), &|n| bar.inc(n as u64));
            bar.finish_and_clear();
            entry.figures.insert(set.name.clone(), Figures::of(&looked));
        }
        fs::write(&file, serde_json::to_string_pretty(&entry)?).map_err(fail(&file))?;
        Ok(Some(entry))
    }

    fn solved(&self, weights: &[u8]) -> Result<Option<crate::measure::puzzles::Solved>, Anyhow> {
        let Some(path) = &self.puzzles else { return Ok(None) };
        let mut chosen = puzzles(path)?;
        chosen.shuffle(&mut StdRng::seed_from_u64(1));
        chosen.truncate(self.puzzle_count);
        let evaluator = open(weights, Default::default(), cores())?;
        Ok(Some(solve(&*evaluator, &chosen, &Conditions::STRONGEST, &|_| {}).0))
    }

    /// Plays what has not been played yet: every two systems, every opening, both colours.
    fn round_robin(
        &self,
        entries: &[Entry],
        openings: &[Vec<String>],
        interrupted: &AtomicBool,
    ) -> Result<Vec<Line>, Anyhow> {
        let file = self.out.join("games.jsonl");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut done: Vec<Line> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut wanted = Vec::new();
        for (i, first) in entries.iter().enumerate() {
            for second in &entries[i + 1..] {
                for opening in 0..openings.len() {
                    for (white, black) in [(first, second), (second, first)] {
                        let same =
                            |l: &Line| l.white == white.system && l.black == black.system && l.opening == opening;
                        if !done.iter().any(same) {
                            wanted.push((white.system.as_str(), black.system.as_str(), opening));
                        }
                    }
                }
            }
        }
        let bar = bar(wanted.len(), "games")?;
        let (next, new) = (Mutex::new(wanted.into_iter()), Mutex::new(Vec::new()));
        let worker = || -> Result<(), String> {
            let mut seats: Option<(Seat, Seat)> = None;
            while !interrupted.load(Ordering::Relaxed) {
                let Some((white, black, opening)) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                    break;
                };
                let sit = |name: &str| player(&self.weights(name), self.search).map_err(|e| format!("{name}: {e}"));
                // The two that sat here before may exchange colours.
                let (mut one, mut other) = match seats.take() {
                    Some((a, b)) if a.0 == white && b.0 == black => (a, b),
                    Some((a, b)) if a.0 == black && b.0 == white => (b, a),
                    _ => ((white, sit(white)?), (black, sit(black)?)),
                };
                let Played { points, moves } =
                    play(&openings[opening], &mut one.1, &mut other.1, self.nodes).map_err(|e| e.to_string())?;
                let line = Line { white: white.into(), black: black.into(), opening, points, moves };
                new.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                bar.inc(1);
                seats = Some((one, other));
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cores()).map(|_| scope.spawn(worker)).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<()>, String>>()
        })?;
        bar.finish_and_clear();
        done.extend(new.into_inner().unwrap_or_else(PoisonError::into_inner));
        done.sort_by(|a, b| (&a.white, &a.black, a.opening).cmp(&(&b.white, &b.black, b.opening)));
        let lines = done.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        fs::write(&file, lines.join("\n") + "\n").map_err(fail(&file))?;
        if interrupted.load(Ordering::Relaxed) {
            return Err(STOPPED.into());
        }
        let pgn: String = done
            .iter()
            .map(|l| Played { points: l.points, moves: l.moves.clone() }.pgn(&l.white, &l.black, l.opening + 1))
            .collect();
        let path = self.out.join("games.pgn");
        fs::write(&path, pgn).map_err(fail(&path))?;
        // What another choice of systems left is not this table's.
        let here = |name: &str| entries.iter().any(|e| e.system == name);
        done.retain(|l| here(&l.white) && here(&l.black) && l.opening < openings.len());
        Ok(done)
    }

    fn report(&self, entries: Vec<Entry>, games: &[Line]) -> Result<(), Anyhow> {
        let place = |name: &str| entries.iter().position(|e| e.system == name).unwrap_or_default();
        let mut pairs = Vec::new();
        for one in games.iter().filter(|l| l.white < l.black) {
            let other = games.iter().find(|l| l.white == one.black && l.black == one.white && l.opening == one.opening);
            if let Some(other) = other {
                let points = one.points + 1.0 - other.points;
                pairs.push(Pair { first: place(&one.white), second: place(&one.black), points });
            }
        }
        let rated = rate(entries.len(), &pairs);
        let mut systems: Vec<Ranked> = entries
            .into_iter()
            .zip(rated)
            .map(|(entry, rated)| {
                let games = games.iter().filter(|l| l.white == entry.system || l.black == entry.system).count();
                Ranked { entry, rated, games }
            })
            .collect();
        systems.sort_by(|a, b| b.rated.elo.total_cmp(&a.rated.elo));
        let given = match (self.positions, self.minutes) {
            (Some(n), _) => format!("{n} positions"),
            (None, minutes) => format!("{} minutes", minutes.unwrap_or_default()),
        };
        let each = systems.first().map_or(0, |s| s.games);
        let budget = format!(
            "Each system was trained from random weights on {given} of the same data, then played {each} games in a round robin \
             ({} search, {} a move).",
            self.search.name(),
            if self.nodes == 1 { "one position".to_owned() } else { format!("{} positions", self.nodes) }
        );
        for (name, text) in [("zoo.md", markdown(&systems, &budget)), ("zoo.html", html(&systems, &budget)?)] {
            let path = self.out.join(name);
            fs::write(&path, text).map_err(fail(&path))?;
        }
        print!("{}", markdown(&systems, &budget));
        Ok(())
    }
}
