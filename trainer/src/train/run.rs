//! The training loop.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use burn::module::AutodiffModule;
use burn::tensor::ElementConversion;
use burn::tensor::backend::AutodiffBackend;
use glance::network::{Kernels, Layout, Network};
use indicatif::{ProgressBar, ProgressStyle};

use super::batch::Aims;
use super::card::Card;
use super::checkpoint::{self, State};
use super::clip::Length;
use super::ema;
use super::initial::{InitError, initial};
use super::log::{Log, Metrics, Validation};
use super::machines::{MOST, Machines, MachinesError, Place, Told};
use super::optimizer::Optimizer;
use super::recipe::{Budget, Part, Recipe};
use super::step::{Means, Split, StepLoss, Work, gradients};
use super::trained::Trained;
use crate::claim::{Claim, ClaimError};
use crate::data::loader::Loader;
use crate::data::mixture::Mixture;
use crate::data::sample::Sample;
use crate::measure::figures::Figures;
use crate::measure::validation::{ValidationSet, look};

/// What a run is asked to do, besides its recipe.
pub struct Options {
    /// Where checkpoints and metrics go.
    pub run: PathBuf,
    /// Weights to start from, instead of random ones.
    pub init: Option<PathBuf>,
    /// How batches are split.
    pub split: Split,
    /// Threads that make batches.
    pub loaders: usize,
    /// Minutes between checkpoints and validations.
    pub every: f64,
    /// Lines for a log instead of a progress bar.
    pub plain: bool,
    /// Whether other machines train along.
    pub place: Place,
    /// Where the arithmetic is done, for the card.
    pub backend: String,
    /// Set from outside (Ctrl-C): stop after this step, with a checkpoint.
    pub interrupted: Arc<AtomicBool>,
}

/// Why training stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::CheckpointError),
    /// The run's folder cannot be worked in.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The weights to start from cannot be used.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
    },
    /// Nothing to compute on.
    #[error("no device to train on")]
    NoDevice,
    /// The run's own record of itself cannot be written.
    #[error("{path}: {reason}")]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The loss is no number any more.
    #[error(
        "the loss is not a number within steps {from} to {to} (batches of these numbers, seed {seed}): lower the learning rate or clip more; the last checkpoint is kept"
    )]
    NotANumber {
        /// First step since the loss was last looked at.
        from: u64,
        /// Last step.
        to: u64,
        /// Seed of the batches.
        seed: u64,
    },
    /// Other machines cannot be trained with.
    #[error(transparent)]
    Machines(#[from] MachinesError),
    /// Some would have nothing to do.
    #[error("{machines} machines for batches of {batch} positions: 2 to {most} are allowed", most = batch.min(&MOST))]
    NoPart {
        /// Machines asked for.
        machines: usize,
        /// Positions of a batch.
        batch: usize,
    },
    /// The run's checkpoint is of another recipe.
    #[error("{0}: its checkpoint was made with another network; choose another --run")]
    OtherNetwork(PathBuf),
}

/// Steps between looks at the loss: each waits for the device.
const LOOK: u64 = 20;

/// Trains until the budget is spent or the run is interrupted; continues from the run's checkpoint where there
/// is one. The weights are kept on the first device; every batch is split over all of them.
///
/// # Errors
/// When files fail or the loss is lost.
pub fn train<B>(
    recipe: &Recipe,
    options: &Options,
    mixture: Arc<Mixture>,
    validation: &[ValidationSet],
    devices: &[B::Device],
) -> Result<State, TrainError>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    let device = devices.first().ok_or(TrainError::NoDevice)?;
    let _claim = Claim::of(&options.run)?;
    let mut machines = meet(recipe, options, &mixture)?;
    machines.receive_start(&options.run)?;
    B::seed(device, recipe.training.seed);
    let t = &recipe.training;
    let aims = Aims {
        value_weight: t.value_weight,
        time_weight: t.time_weight,
        policy: t.policy_loss,
        smoothing: t.smoothing,
    };
    let means = Means::of::<B>(devices, t.precision);
    let cut = {
        let (split, layout, head) = (options.split, Layout::of(&recipe.network), recipe.network.value.clone());
        let share = machines.share();
        move |samples: &[Sample]| Work::of(samples, share, split, &layout, &head)
    };
    let mut state = State { step: 0, seconds: 0.0, recipe: recipe.clone() };
    let mut network = initial::<B>(&recipe.network, options.init.as_deref(), device)?;
    let mut average = network.valid();
    let mut optimizer = Optimizer::new(&t.optimizer, t.weight_decay, &network);
    if let Some(folder) = checkpoint::find(&options.run) {
        state = checkpoint::read_state(&folder)?;
        if state.recipe.network != recipe.network {
            return Err(TrainError::OtherNetwork(options.run.clone()));
        }
        state.recipe = recipe.clone();
        (network, average, optimizer) = checkpoint::load(&folder, network, optimizer, device)?;
    }
    if t.part == Part::Time {
        network = network.only_time();
    }
    let mut trained = Trained::new(network);
    let mut average = trained.lay_out(&average);
    let save = |trained: &Trained<B>, average: &Network<_>, optimizer: &Optimizer<B>, state: &State| {
        checkpoint::save::<B>(&options.run, &trained.network(), average, optimizer, state)
    };

    if state.step == 0 {
        // What would fail hours later is to fail now: a step's arithmetic, and the writing of a checkpoint.
        let few = mixture.set(t.seed, t.batch.min(64));
        let (_, loss) = gradients(&trained, cut(&few), &aims, &means);
        if !loss.read(1.0).is_finite() {
            return Err(TrainError::NotANumber { from: 0, to: 0, seed: t.seed });
        }
        save(&trained, &trained.network_with(&average).valid(), &optimizer, &state)?;
    }
    machines.send_start(&options.run, state.step)?;
    let mut loader = Loader::new(mixture.clone(), (t.seed, t.batch), state.step, options.loaders, cut);
    let bar = progress_bar(options.plain);
    let log = Log::open(&options.run, state.step)?;
    let mut since = StepLoss::<B::InnerBackend>::zero(device);
    let mut looked_at = state.step;
    let (mut last_save, mut clock) = (state.seconds, Instant::now());
    let mut speed = (state.step, state.seconds);
    let progress = |state: &State| match t.budget {
        Budget::Steps(n) => state.step as f64 / n as f64,
        Budget::Minutes(m) => state.seconds / (m * 60.0),
    };
    let mut told = Told::default();
    while progress(&state) < 1.0 && !told.stop {
        let Some(work) = loader.next_batch() else { break };
        let rate = t.schedule.rate(t.learning_rate, t.warmup, progress(&state));
        told.stop = options.interrupted.load(Ordering::Relaxed);
        let (grads, own) = gradients(&trained, work, &aims, &means);
        let (gradient, loss);
        (gradient, loss, told) = machines.gather(trained.gradient(&grads), own, told)?;
        state.seconds += std::mem::take(&mut told.seconds);
        let length = Length::of(gradient.clone(), t.clip);
        optimizer.step(rate, &mut trained, gradient * length.factor);
        average = ema::update(average, trained.weights().clone(), t.ema, state.step);
        since = since.plus(loss);
        state.step += 1;
        told.seconds = clock.elapsed().as_secs_f64();
        clock = Instant::now();

        if state.step.is_multiple_of(LOOK) {
            let steps = (state.step - looked_at) as f64;
            let loss = std::mem::replace(&mut since, StepLoss::zero(device)).read(steps);
            if !loss.is_finite() {
                return Err(TrainError::NotANumber { from: looked_at, to: state.step, seed: t.seed });
            }
            let norm = length.norm.into_scalar().elem();
            let per_second = (state.step - speed.0) as f64 * t.batch as f64 / (state.seconds - speed.1).max(1e-9);
            speed = (state.step, state.seconds);
            looked_at = state.step;
            let line = Metrics {
                step: state.step,
                positions: state.step * t.batch as u64,
                minutes: state.seconds / 60.0,
                learning_rate: rate,
                policy_loss: loss.policy,
                value_loss: loss.value,
                time_loss: loss.time,
                gradient_norm: norm,
                positions_per_second: per_second,
            };
            log.metrics(&line)?;
            bar.set_position((progress(&state) * 1e4) as u64);
            bar.set_message(line.text());
            if options.plain && state.step.is_multiple_of(LOOK * 10) {
                println!("{:5.1} % {}", progress(&state) * 100.0, line.text());
            }
            clock = Instant::now();
        }
        if state.seconds - last_save > options.every * 60.0 {
            last_save = state.seconds;
            let average = trained.network_with(&average).valid();
            save(&trained, &average, &optimizer, &state)?;
            validate(&average, validation, options, &state, &log, &bar, device)?;
            clock = Instant::now();
        }
    }
    state.seconds += told.seconds;
    let average = trained.network_with(&average).valid();
    save(&trained, &average, &optimizer, &state)?;
    validate(&average, validation, options, &state, &log, &bar, device)?;
    Card::new(&options.run, &state, &mixture, &options.backend, options.init.as_deref()).write(&options.run)?;
    bar.finish();
    Ok(state)
}

/// Brings the machines of a run together, which are to train the same in the same way on the same.
fn meet(recipe: &Recipe, options: &Options, mixture: &Mixture) -> Result<Machines, TrainError> {
    let batch = recipe.training.batch;
    if let Place::Leads { machines, .. } = options.place
        && !(2..=batch.min(MOST)).contains(&machines)
    {
        return Err(TrainError::NoPart { machines, batch });
    }
    let sources: Vec<_> = mixture.sources().iter().map(|s| serde_json::json!([s.name(), s.len()])).collect();
    let run = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "backend": options.backend,
        "recipe": recipe,
        "data": sources,
    });
    Ok(Machines::join(&options.place, &run, &options.interrupted)?)
}

fn progress_bar(plain: bool) -> ProgressBar {
    if plain {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {percent_precise} % {eta} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(10_000).with_style(style)
}

fn validate<B: Kernels>(
    average: &Network<B>,
    sets: &[ValidationSet],
    options: &Options,
    state: &State,
    log: &Log,
    bar: &ProgressBar,
    device: &B::Device,
) -> Result<(), TrainError> {
    for set in sets {
        let Split { workers, micro } = options.split;
        let f = Figures::of(&look(average, &set.samples, workers, micro, device, &|_| {}));
        let row = Validation::new(state.step, state.seconds / 60.0, &set.name, &f);
        log.validation(&row)?;
        let text = row.text();
        if options.plain {
            println!("{text}");
        } else {
            bar.println(text);
        }
    }
    log.page(&state.recipe)
}
