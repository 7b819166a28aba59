//! `zoo`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use glance::board::Conditions;
use glance::evaluate::{BackendName, open};
use glance::network::{Precision, load};
use glance::play::SearchName;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::measure::{bar, names, validation_sets};
use super::train::train_on;
use super::{Anyhow, backends, cores, on_interrupt};
use crate::claim::Claim;
use crate::data::mixture::Mixture;
use crate::data::read::puzzles;
use crate::data::shard::Shard;
use crate::measure::figures::Figures;
use crate::measure::puzzles::solve;
use crate::measure::validation::{ValidationSet, look};
use crate::train::checkpoint::State;
use crate::train::export::export;
use crate::train::log;
use crate::train::machines::Place;
use crate::train::recipe::{Budget, Recipe};
use crate::train::run::Options;
use crate::train::step::Split;
use crate::zoo::elo::{Pair, rate};
use crate::zoo::entry::{Entry, milliseconds, read};
use crate::zoo::games::{Played, openings};
use crate::zoo::report::{Ranked, html, markdown};
use crate::zoo::robin::{Line, RoundRobin};
use crate::zoo::speed::{POSITIONS, ROUNDS, Speed, Speeds};

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
    #[arg(long, default_value = "flex", value_parser = backends())]
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

fn fail(path: &Path) -> impl Fn(std::io::Error) -> Anyhow + '_ {
    move |e| format!("{}: {e}", path.display()).into()
}

impl Zoo {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        self.backend.check(&[0])?;
        let interrupted = on_interrupt()?;
        let _claim = Claim::of(&self.out)?;
        let recipes = self.recipes()?;
        let sets = validation_sets(&self.validation, self.count)?;
        let openings = self.draw_openings()?;
        let mut entries = Vec::new();
        for recipe in &recipes {
            match self.entry(recipe, &sets, &interrupted)? {
                Some(entry) => entries.push(entry),
                None => return Err(STOPPED.into()),
            }
        }
        let (robin, games) = self.round_robin(&entries, &openings, &interrupted)?;
        let pairs = robin.pairs(&games);
        let speeds = self.speeds(&recipes, &openings, &interrupted)?;
        self.report(&recipes, entries, &pairs, &games, &speeds)
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
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Option<Entry>, Anyhow> {
        let system = recipe.network.system.clone();
        let file = self.folder(&system).join("entry.json");
        if let Some(entry) = read(&file) {
            println!("{system}: done before");
            return Ok(Some(entry));
        }
        let run = self.folder(&system).join("run");
        println!("{system}: {} weights", recipe.network.parameters());
        // Fewer positions on the way than at the end.
        let some: Vec<ValidationSet> = sets
            .iter()
            .map(|s| ValidationSet { name: s.name.clone(), samples: s.samples.iter().take(500).cloned().collect() })
            .collect();
        let state = self.train(recipe, &run, &some, interrupted)?;
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

    fn train(
        &self,
        recipe: &Recipe,
        run: &Path,
        sets: &[ValidationSet],
        interrupted: &Arc<AtomicBool>,
    ) -> Result<State, Anyhow> {
        let usual = Split::usual(self.backend, recipe.training.batch, 1);
        let mixture = Mixture::open(&self.data, &recipe.mixture(), recipe.data.augmentation.clone())?;
        let options = Options {
            run: run.to_owned(),
            init: None,
            split: Split { workers: self.workers.unwrap_or(usual.workers).max(1), ..usual },
            loaders: 1,
            every: 1.0,
            plain: true,
            place: Place::Alone,
            backend: self.backend.name().to_owned(),
            interrupted: interrupted.clone(),
        };
        train_on(self.backend, &[0], recipe, &options, Arc::new(mixture), sets)
    }

    fn solved(&self, weights: &[u8]) -> Result<Option<crate::measure::puzzles::Solved>, Anyhow> {
        let Some(path) = &self.puzzles else { return Ok(None) };
        let mut chosen = puzzles(path)?;
        chosen.shuffle(&mut StdRng::seed_from_u64(1));
        chosen.truncate(self.puzzle_count);
        let evaluator = open(weights, BackendName::Flex, cores())?;
        Ok(Some(solve(&*evaluator, &chosen, &Conditions::STRONGEST, &|_| {}).0))
    }

    /// Plays what has not been played yet, and writes all of it as PGN.
    fn round_robin<'a>(
        &self,
        entries: &[Entry],
        openings: &'a [Vec<String>],
        interrupted: &AtomicBool,
    ) -> Result<(RoundRobin<'a>, Vec<Line>), Anyhow> {
        let systems = entries.iter().map(|e| (e.system.clone(), self.weights(&e.system))).collect();
        let robin = RoundRobin { systems, openings, search: self.search, nodes: self.nodes };
        let bar = bar(0, "games")?;
        let tell = |wanted: usize| if wanted > 0 { bar.set_length(wanted as u64) } else { bar.inc(1) };
        let games = robin.play(&self.out.join("games.jsonl"), cores(), interrupted, &tell)?;
        bar.finish_and_clear();
        if interrupted.load(Ordering::Relaxed) {
            return Err(STOPPED.into());
        }
        let pgn = |l: &Line| Played { points: l.points, moves: l.moves.clone() }.pgn(&l.white, &l.black, l.opening + 1);
        let path = self.out.join("games.pgn");
        fs::write(&path, games.iter().map(pgn).collect::<String>()).map_err(fail(&path))?;
        Ok((robin, games))
    }

    /// Times all systems in rounds, as far as that was not done before.
    fn speeds(
        &self,
        recipes: &[Recipe],
        openings: &[Vec<String>],
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Speeds, Anyhow> {
        let file = self.out.join("speeds.json");
        let mut speeds = Speeds::read(&file);
        let bar = bar(ROUNDS * recipes.len(), "speeds")?;
        for round in 0..ROUNDS {
            for recipe in recipes {
                let system = &recipe.network.system;
                if speeds.rounds(system) <= round {
                    let mut short = recipe.clone();
                    let positions = self.positions.map_or(POSITIONS, |all| POSITIONS.min(all));
                    short.training.budget = Budget::Steps((positions / recipe.training.batch as u64).max(1));
                    let run = self.folder(system).join("speed");
                    // What an interrupted round left would be gone on with.
                    let _ = fs::remove_dir_all(&run);
                    let state = self.train(&short, &run, &[], interrupted)?;
                    fs::remove_dir_all(&run).map_err(fail(&run))?;
                    if interrupted.load(Ordering::Relaxed) {
                        return Err(STOPPED.into());
                    }
                    let weights = self.weights(system);
                    let bytes = fs::read(&weights).map_err(fail(&weights))?;
                    let training = (state.step * recipe.training.batch as u64) as f64 / state.seconds.max(1e-9);
                    let speed = Speed { training, milliseconds: milliseconds(&bytes, openings)? };
                    speeds.add(system, speed, &file).map_err(fail(&file))?;
                }
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Ok(speeds)
    }

    /// Writes everything down. `entries` are in the order of the recipes.
    fn report(
        &self,
        recipes: &[Recipe],
        entries: Vec<Entry>,
        pairs: &[Pair],
        games: &[Line],
        speeds: &Speeds,
    ) -> Result<(), Anyhow> {
        let rated = rate(entries.len(), pairs);
        let mut systems: Vec<Ranked> = entries
            .into_iter()
            .zip(rated)
            .zip(recipes)
            .map(|((entry, rated), recipe)| {
                let games = games.iter().filter(|l| l.white == entry.system || l.black == entry.system).count();
                let speed = speeds.of(&entry.system);
                Ranked { entry, rated, games, speed, claims: recipe.claims.clone() }
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
