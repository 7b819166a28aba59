//! The training loop.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use burn::module::AutodiffModule;
use burn::optim::{AdamWConfig, Optimizer};
use burn::tensor::ElementConversion;
use burn::tensor::backend::AutodiffBackend;
use glance::network::{Kernels, Network, load};
use indicatif::{ProgressBar, ProgressStyle};

use super::checkpoint::{self, State};
use super::recipe::{Budget, Recipe};
use super::schedule::learning_rate;
use super::step::{Split, StepLoss, gradients};
use super::{clip, ema};
use crate::data::loader::Loader;
use crate::data::sample::Mixture;
use crate::measure::validation::{ValidationSet, measure};

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
    /// Set from outside (Ctrl-C): stop after this step, with a checkpoint.
    pub interrupted: Arc<AtomicBool>,
}

/// Why training stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::CheckpointError),
    /// The weights to start from cannot be used.
    #[error("{path}: {reason}")]
    Init {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
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
    /// The run's checkpoint is of another recipe.
    #[error("{0}: its checkpoint was made with another network; choose another --run")]
    OtherNetwork(PathBuf),
}

/// Steps between looks at the loss: each waits for the device.
const LOOK: u64 = 20;

/// Trains until the budget is spent or the run is interrupted; continues from the run's checkpoint where there
/// is one.
///
/// # Errors
/// When files fail or the loss is lost.
pub fn train<B>(
    recipe: &Recipe,
    options: &Options,
    mixture: Arc<Mixture>,
    validation: &[ValidationSet],
    device: &B::Device,
) -> Result<State, TrainError>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    fs::create_dir_all(&options.run).map_err(|error| TrainError::Io { path: options.run.clone(), error })?;
    B::seed(device, recipe.training.seed);
    let t = &recipe.training;
    let mut optimizer = AdamWConfig::new()
        .with_beta_2(0.98)
        .with_epsilon(1e-8)
        .with_weight_decay(t.weight_decay)
        .init::<B, Network<B>>();
    let mut state = State { step: 0, seconds: 0.0, recipe: recipe.clone() };
    let mut network = initial::<B>(recipe, options.init.as_deref(), device)?;
    let mut average = network.valid();
    if let Some(folder) = checkpoint::find(&options.run) {
        state = checkpoint::read_state(&folder)?;
        if state.recipe.network != recipe.network {
            return Err(TrainError::OtherNetwork(options.run.clone()));
        }
        state.recipe = recipe.clone();
        (network, average, optimizer) = checkpoint::load(&folder, network, optimizer, device)?;
    }

    let mut loader = Loader::new(mixture, t.seed, t.batch, state.step, options.loaders);
    let bar = progress_bar(options.plain);
    let mut log = Log::open(&options.run)?;
    let mut since = StepLoss::<B::InnerBackend>::zero(device);
    let mut looked_at = state.step;
    let mut norm = 0.0;
    let (mut last_save, mut clock) = (state.seconds, Instant::now());
    let mut speed = (state.step, state.seconds);
    let progress = |state: &State| match t.budget {
        Budget::Steps(n) => state.step as f64 / n as f64,
        Budget::Minutes(m) => state.seconds / (m * 60.0),
    };
    while progress(&state) < 1.0 && !options.interrupted.load(Ordering::Relaxed) {
        let Some(samples) = loader.next_batch() else { break };
        let rate = learning_rate(t.learning_rate, t.warmup, progress(&state));
        let (mut grads, loss) = gradients(&network, &samples, options.split, t.value_weight, device);
        let length = clip::clip(&network, &mut grads, t.clip);
        network = optimizer.step(rate, network, grads);
        average = ema::update(average, &network.valid(), t.ema, state.step);
        since = since.plus(loss);
        state.step += 1;
        state.seconds += clock.elapsed().as_secs_f64();
        clock = Instant::now();

        if state.step.is_multiple_of(LOOK) {
            let steps = (state.step - looked_at) as f64;
            let (policy, value) = std::mem::replace(&mut since, StepLoss::zero(device)).read();
            let (policy, value) = (policy / steps, value / steps);
            if !(policy + value).is_finite() {
                return Err(TrainError::NotANumber { from: looked_at, to: state.step, seed: t.seed });
            }
            norm = length.map_or(norm, |n| n.into_scalar().elem::<f64>());
            let per_second = (state.step - speed.0) as f64 * t.batch as f64 / (state.seconds - speed.1).max(1e-9);
            speed = (state.step, state.seconds);
            looked_at = state.step;
            let line = Line {
                step: state.step,
                batch: t.batch,
                seconds: state.seconds,
                rate,
                policy,
                value,
                norm,
                per_second,
            };
            log.step(&line)?;
            bar.set_position((progress(&state) * 1e4) as u64);
            bar.set_message(line.text());
            if options.plain && state.step.is_multiple_of(LOOK * 10) {
                println!("{:5.1} % {}", progress(&state) * 100.0, line.text());
            }
            clock = Instant::now();
        }
        if state.seconds - last_save > options.every * 60.0 {
            last_save = state.seconds;
            checkpoint::save::<B, _>(&options.run, &network, &average, &optimizer, &state)?;
            validate(&average, validation, options, &state, &mut log, &bar, device)?;
            clock = Instant::now();
        }
    }
    checkpoint::save::<B, _>(&options.run, &network, &average, &optimizer, &state)?;
    validate(&average, validation, options, &state, &mut log, &bar, device)?;
    bar.finish();
    Ok(state)
}

fn initial<B>(recipe: &Recipe, init: Option<&Path>, device: &B::Device) -> Result<Network<B>, TrainError>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    let Some(path) = init else {
        return Ok(Network::new(&recipe.network, device));
    };
    let fail = |reason: String| TrainError::Init { path: path.to_owned(), reason };
    let bytes = fs::read(path).map_err(|e| fail(e.to_string()))?;
    let (config, network) = load::<B>(&bytes, device).map_err(|e| fail(e.to_string()))?;
    if config != recipe.network {
        return Err(fail("its network is not the recipe's".into()));
    }
    Ok(network)
}

fn progress_bar(plain: bool) -> ProgressBar {
    if plain {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {percent_precise} % {eta} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(10_000).with_style(style)
}

/// A row of the metrics.
struct Line {
    step: u64,
    batch: usize,
    seconds: f64,
    rate: f64,
    policy: f64,
    value: f64,
    norm: f64,
    per_second: f64,
}

impl Line {
    fn text(&self) -> String {
        format!(
            "step {} policy {:.3} value {:.3} norm {:.2} lr {:.1e} {:.0} positions/s",
            self.step, self.policy, self.value, self.norm, self.rate, self.per_second
        )
    }
}

/// `metrics.csv` and `validation.csv` of a run.
struct Log {
    run: PathBuf,
}

impl Log {
    fn open(run: &Path) -> Result<Log, TrainError> {
        let log = Log { run: run.to_owned() };
        log.start(
            "metrics.csv",
            "step,positions,minutes,learning_rate,policy_loss,value_loss,gradient_norm,positions_per_second",
        )?;
        log.start("validation.csv", "step,minutes,source,top1,top3,policy_loss,value_loss,moves")?;
        Ok(log)
    }

    fn start(&self, name: &str, header: &str) -> Result<(), TrainError> {
        if self.run.join(name).exists() { Ok(()) } else { self.append(name, header) }
    }

    fn append(&self, name: &str, line: &str) -> Result<(), TrainError> {
        let path = self.run.join(name);
        let io = |error| TrainError::Io { path: path.clone(), error };
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(io)?;
        writeln!(file, "{line}").map_err(io)
    }

    fn step(&mut self, l: &Line) -> Result<(), TrainError> {
        let positions = l.step * l.batch as u64;
        let minutes = l.seconds / 60.0;
        self.append(
            "metrics.csv",
            &format!(
                "{},{positions},{minutes:.3},{:.3e},{:.5},{:.5},{:.4},{:.1}",
                l.step, l.rate, l.policy, l.value, l.norm, l.per_second
            ),
        )
    }
}

fn validate<B: Kernels>(
    average: &Network<B>,
    sets: &[ValidationSet],
    options: &Options,
    state: &State,
    log: &mut Log,
    bar: &ProgressBar,
    device: &B::Device,
) -> Result<(), TrainError> {
    for set in sets {
        let f = measure(average, &set.samples, options.split.workers, options.split.micro, device);
        let minutes = state.seconds / 60.0;
        log.append(
            "validation.csv",
            &format!(
                "{},{minutes:.2},{},{:.4},{:.4},{:.4},{:.4},{}",
                state.step, set.name, f.top1, f.top3, f.policy_loss, f.value_loss, f.moves
            ),
        )?;
        let text = format!(
            "validation {:12} step {:6}  top-1 {:.1} %  top-3 {:.1} %  policy {:.3}  value {:.3}",
            set.name,
            state.step,
            f.top1 * 100.0,
            f.top3 * 100.0,
            f.policy_loss,
            f.value_loss
        );
        if options.plain {
            println!("{text}");
        } else {
            bar.println(text);
        }
    }
    Ok(())
}
