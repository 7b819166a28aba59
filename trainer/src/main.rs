//! `glance-trainer`: from games to a network.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::backend::Autodiff;
use clap::{Parser, Subcommand};
use glance::network::Precision;
use glance_trainer::backend::{BackendName, check_cuda};
use glance_trainer::data::book::{Selection, build};
use glance_trainer::data::prepare::prepare;
use glance_trainer::data::sample::{Augmentation, Mixture};
use glance_trainer::measure::validation;
use glance_trainer::train::recipe::{Budget, Recipe};
use glance_trainer::train::run::{Options, train};
use glance_trainer::train::step::Split;
use glance_trainer::train::{checkpoint, export};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Makes the networks that Glance plays with.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn Parquet files of games or evaluations into shards
    Prepare {
        /// Parquet files, with the columns of Lichess's games or evaluations
        #[arg(required = true)]
        inputs: Vec<PathBuf>,
        /// Folder for the shards
        #[arg(long)]
        out: PathBuf,
        /// Seed of the shuffle
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Train a network, or go on where an earlier run of the same folder stopped
    Train(Train),
    /// Write a run's averaged weights to a file that the engine plays with
    Export {
        /// Folder of the run
        #[arg(long)]
        run: PathBuf,
        /// File to write
        #[arg(long)]
        out: PathBuf,
        /// Four bytes a weight instead of two
        #[arg(long)]
        full: bool,
    },
    /// Measure a weights file on positions that it was not trained on
    Measure {
        /// The weights
        #[arg(long)]
        weights: PathBuf,
        /// Folder of the validation shards
        #[arg(long)]
        data: PathBuf,
        /// Positions of each source
        #[arg(long, default_value_t = 20_000)]
        count: usize,
        /// JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Make an opening book (Polyglot) from shards of games
    Book {
        /// Shards of games
        #[arg(required = true)]
        shards: Vec<PathBuf>,
        /// File to write
        #[arg(long)]
        out: PathBuf,
        /// Both players' least rating
        #[arg(long, default_value_t = 2450)]
        rating: u16,
        /// Plies from the start
        #[arg(long, default_value_t = 24)]
        plies: usize,
        /// Games that a move needs
        #[arg(long, default_value_t = 8)]
        games: u32,
        /// Share of a position's games that a move needs
        #[arg(long, default_value_t = 0.08)]
        share: f64,
        /// Expected score for the mover that a move needs
        #[arg(long, default_value_t = 0.42)]
        score: f64,
    },
}

#[derive(clap::Args)]
struct Train {
    /// The network and how it is trained
    #[arg(long)]
    recipe: PathBuf,
    /// Folder of the training shards
    #[arg(long)]
    data: PathBuf,
    /// Folder of the validation shards
    #[arg(long)]
    validation: Option<PathBuf>,
    /// Folder for checkpoints and metrics
    #[arg(long)]
    run: PathBuf,
    /// Weights to start from
    #[arg(long)]
    init: Option<PathBuf>,
    /// Where the arithmetic is done
    #[arg(long, default_value = "flex")]
    backend: BackendName,
    /// Minutes to train for, instead of the recipe's budget
    #[arg(long)]
    minutes: Option<f64>,
    /// Steps to train for, instead of the recipe's budget
    #[arg(long, conflicts_with = "minutes")]
    steps: Option<u64>,
    /// Threads that train (CPU)
    #[arg(long)]
    workers: Option<usize>,
    /// Positions that go through the network at once
    #[arg(long)]
    micro: Option<usize>,
    /// Threads that make batches
    #[arg(long, default_value_t = 1)]
    loaders: usize,
    /// Minutes between checkpoints and validations
    #[arg(long, default_value_t = 10.0)]
    every: f64,
    /// Positions of each validation source
    #[arg(long, default_value_t = 2048)]
    validate: usize,
    /// Lines for a log instead of a progress bar
    #[arg(long)]
    plain: bool,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("glance-trainer: {error}");
            ExitCode::FAILURE
        }
    }
}

type Anyhow = Box<dyn std::error::Error>;

fn run(command: Command) -> Result<(), Anyhow> {
    match command {
        Command::Prepare { inputs, out, seed } => {
            std::fs::create_dir_all(&out)?;
            for input in inputs {
                let kind = if is_positions(&input)? { "positions" } else { "games" };
                let stem = input.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let shard = out.join(stem).with_extension(kind);
                if shard.exists() {
                    println!("{}: there already", shard.display());
                    continue;
                }
                let counts = prepare(&input, &shard, seed)?;
                println!(
                    "{}: {} {kind} ({} plies); left out: {} duplicates, {} short, {} bad",
                    shard.display(),
                    counts.kept,
                    counts.plies,
                    counts.duplicates,
                    counts.short,
                    counts.bad
                );
                counts.examples.iter().for_each(|e| println!("  {e}"));
            }
            Ok(())
        }
        Command::Train(args) => start_training(&args),
        Command::Export { run, out, full } => {
            let precision = if full { Precision::Full } else { Precision::Half };
            let state = export::export(&run, &out, precision)?;
            println!("{}: step {}, {:.1} minutes of training", out.display(), state.step, state.seconds / 60.0);
            Ok(())
        }
        Command::Measure { weights, data, count, json } => measure(&weights, &data, count, json),
        Command::Book { shards, out, rating, plies, games, share, score } => {
            make_book(&shards, &Selection { rating, plies, games, share, score }, &out)
        }
    }
}

fn measure(weights: &std::path::Path, data: &std::path::Path, count: usize, json: bool) -> Result<(), Anyhow> {
    type B = burn_flex::Flex;
    let device = Default::default();
    let bytes = std::fs::read(weights).map_err(|e| format!("{}: {e}", weights.display()))?;
    let (_, network) = glance::network::load::<B>(&bytes, &device)?;
    let split = BackendName::Flex.split(0);
    if !json {
        println!("| source | moves | top-1 | top-3 | policy loss | outcomes | value loss |");
        println!("|---|---|---|---|---|---|---|");
    }
    for set in validation_sets(data, count)? {
        let f = validation::measure(&network, &set.samples, split.workers, split.micro, &device);
        if json {
            println!("{}", serde_json::json!({ "source": set.name, "figures": f }));
        } else {
            let (top1, top3) = (f.top1 * 100.0, f.top3 * 100.0);
            println!(
                "| {} | {} | {top1:.1} % | {top3:.1} % | {:.3} | {} | {:.3} |",
                set.name, f.moves, f.policy_loss, f.outcomes, f.value_loss
            );
        }
    }
    Ok(())
}

fn make_book(shards: &[PathBuf], selection: &Selection, out: &std::path::Path) -> Result<(), Anyhow> {
    let shards: Vec<&std::path::Path> = shards.iter().map(PathBuf::as_path).collect();
    let entries = build(&shards, selection, out)?;
    println!("{}: {entries} entries", out.display());
    Ok(())
}

fn is_positions(input: &std::path::Path) -> Result<bool, Anyhow> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let file = std::fs::File::open(input).map_err(|e| format!("{}: {e}", input.display()))?;
    let reader = SerializedFileReader::new(file).map_err(|e| format!("{}: {e}", input.display()))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    Ok(schema.columns().iter().any(|c| c.name() == "fen"))
}

fn start_training(args: &Train) -> Result<(), Anyhow> {
    let mut recipe = Recipe::read(&args.recipe)?;
    if let Some(minutes) = args.minutes {
        recipe.training.budget = Budget::Minutes(minutes);
    }
    if let Some(steps) = args.steps {
        recipe.training.budget = Budget::Steps(steps);
    }
    recipe.check()?;
    if args.backend == BackendName::Cuda {
        check_cuda()?;
    }
    let usual = args.backend.split(recipe.training.batch);
    let split = Split {
        workers: args.workers.unwrap_or(usual.workers).max(1),
        micro: args.micro.unwrap_or(usual.micro).max(1),
    };
    let mixture = Mixture::open(&args.data, &recipe.mixture(), recipe.data.augmentation.clone())?;
    for source in mixture.sources() {
        println!("{:14} {:?}: {}", source.name(), source.kind(), source.len());
    }
    let sets = match &args.validation {
        Some(folder) => validation_sets(folder, args.validate)?,
        None => Vec::new(),
    };
    let config = &recipe.network;
    println!(
        "{}: {} weights, {:.1} million multiply-adds a position",
        config.system,
        config.parameters(),
        config.multiply_adds() as f64 / 1e6
    );
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
    let options = Options {
        run: args.run.clone(),
        init: args.init.clone(),
        split,
        loaders: args.loaders.max(1),
        every: args.every,
        plain: args.plain,
        interrupted,
    };
    let mixture = Arc::new(mixture);
    let state = match args.backend {
        BackendName::Flex => {
            train::<Autodiff<burn_flex::Flex>>(&recipe, &options, mixture, &sets, &Default::default())?
        }
        BackendName::Ndarray => {
            train::<Autodiff<burn_ndarray::NdArray<f32>>>(&recipe, &options, mixture, &sets, &Default::default())?
        }
        #[cfg(feature = "cuda")]
        BackendName::Cuda => {
            train::<Autodiff<burn::backend::Cuda>>(&recipe, &options, mixture, &sets, &Default::default())?
        }
        #[cfg(not(feature = "cuda"))]
        BackendName::Cuda => return Err(check_cuda().err().unwrap_or_default().into()),
    };
    println!(
        "step {}, {:.1} minutes of training; checkpoint in {}",
        state.step,
        state.seconds / 60.0,
        checkpoint::find(&args.run).unwrap_or_default().display()
    );
    Ok(())
}

/// One set for each shard of the folder, as it is: nothing forgotten.
fn validation_sets(folder: &std::path::Path, count: usize) -> Result<Vec<validation::ValidationSet>, Anyhow> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "games" || e == "positions"))
        .filter_map(|p| p.file_stem().map(|s| s.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let as_it_is = Augmentation { forget_conditions: 0.0, forget_history: 0.0, ..Default::default() };
    let mixtures = names
        .into_iter()
        .map(|name| Ok((name.clone(), Mixture::open(folder, &[(name, 1.0)], as_it_is.clone())?)))
        .collect::<Result<Vec<_>, Anyhow>>()?;
    Ok(validation::sets(&mixtures, count))
}
