//! `train`.

use std::path::PathBuf;
use std::sync::Arc;

use burn::backend::Autodiff;
use glance::evaluate::BackendName;
use glance::network::Rounding;

use super::measure::validation_sets;
use super::{Anyhow, backends, on_interrupt};
use crate::data::mixture::Mixture;
use crate::measure::validation::ValidationSet;
use crate::train::checkpoint::{self, State};
use crate::train::machines::Place;
use crate::train::recipe::{Budget, Compute, Recipe};
use crate::train::run::{Options, train};
use crate::train::step::Split;

#[derive(clap::Args)]
pub(super) struct Train {
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
    #[arg(long, default_value = "flex", value_parser = backends())]
    backend: BackendName,
    /// Minutes to train for, instead of the recipe's budget
    #[arg(long)]
    minutes: Option<f64>,
    /// Steps to train for, instead of the recipe's budget
    #[arg(long, conflicts_with = "minutes")]
    steps: Option<u64>,
    /// GPUs to train on, by their numbers: every batch is split over them
    #[arg(long, value_delimiter = ',', value_name = "N,…", default_value = "0")]
    devices: Vec<usize>,
    /// What the passes through the network compute in, instead of the recipe's
    #[arg(long)]
    precision: Option<Compute>,
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
    /// Lead training on several machines: listen there for the others, each of which takes its part of every batch
    #[arg(long, value_name = "HOST:PORT", requires = "machines")]
    lead: Option<String>,
    /// Machines that train together, with the leader
    #[arg(long, requires = "lead", value_name = "N")]
    machines: Option<usize>,
    /// Train along with the leader that listens there, from its checkpoint on
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "lead")]
    follow: Option<String>,
    /// Lines for a log instead of a progress bar
    #[arg(long)]
    plain: bool,
}

impl Train {
    pub(super) fn run(self) -> Result<(), Anyhow> {
        let args = &self;
        let mut recipe = Recipe::read(&args.recipe)?;
        if let Some(minutes) = args.minutes {
            recipe.training.budget = Budget::Minutes(minutes);
        }
        if let Some(steps) = args.steps {
            recipe.training.budget = Budget::Steps(steps);
        }
        if let Some(precision) = args.precision {
            recipe.training.precision = precision;
        }
        recipe.check()?;
        args.backend.check(&args.devices)?;
        let usual = Split::usual(args.backend, recipe.training.batch, args.devices.len());
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
        if recipe.training.precision == Compute::Bf16 && !args.backend.is_gpu() {
            println!("{}", in_bfloat16(args.backend));
        }
        let options = Options {
            run: args.run.clone(),
            init: args.init.clone(),
            split,
            loaders: args.loaders.max(1),
            every: args.every,
            plain: args.plain,
            place: args.place(),
            backend: args.backend.name().to_owned(),
            interrupted: on_interrupt()?,
        };
        let state = train_on(args.backend, &args.devices, &recipe, &options, Arc::new(mixture), &sets)?;
        println!(
            "step {}, {:.1} minutes of training; checkpoint in {}",
            state.step,
            state.seconds / 60.0,
            checkpoint::find(&args.run).unwrap_or_default().display()
        );
        Ok(())
    }
}

impl Train {
    fn place(&self) -> Place {
        match (&self.lead, self.machines, &self.follow) {
            (Some(address), Some(machines), _) => Place::Leads { address: address.clone(), machines },
            (_, _, Some(address)) => Place::Follows { address: address.clone() },
            _ => Place::Alone,
        }
    }
}

/// What becomes of bfloat16 on a CPU.
fn in_bfloat16(backend: BackendName) -> String {
    match Rounding::instructions().filter(|_| backend == BackendName::Flex) {
        Some(instructions) => format!("products in bfloat16, by {instructions}; everything else in single precision"),
        None if backend == BackendName::Flex => {
            "no bfloat16: this processor has neither AMX nor AMD's products of it (Zen 4 and later); everything in single precision".into()
        }
        None => format!("no bfloat16 with backend {}; everything in single precision", backend.name()),
    }
}

/// Trains on the backend of that name.
pub(super) fn train_on(
    backend: BackendName,
    #[cfg_attr(
        not(any(feature = "cuda", feature = "wgpu")),
        expect(unused_variables, reason = "only GPUs have numbers")
    )]
    devices: &[usize],
    recipe: &Recipe,
    options: &Options,
    mixture: Arc<Mixture>,
    sets: &[ValidationSet],
) -> Result<State, Anyhow> {
    Ok(match backend {
        BackendName::Int8 => return Err(glance::evaluate::BackendError::Rounded(backend).into()),
        BackendName::Flex => train::<Autodiff<burn_flex::Flex>>(recipe, options, mixture, sets, &[Default::default()])?,
        BackendName::Ndarray => {
            train::<Autodiff<burn_ndarray::NdArray<f32>>>(recipe, options, mixture, sets, &[Default::default()])?
        }
        #[cfg(feature = "cuda")]
        BackendName::Cuda => {
            let devices: Vec<_> = devices.iter().map(|&n| burn::backend::cuda::CudaDevice::new(n)).collect();
            train::<Autodiff<burn::backend::Cuda>>(recipe, options, mixture, sets, &devices)?
        }
        #[cfg(feature = "wgpu")]
        BackendName::Wgpu => {
            use burn::backend::wgpu::WgpuDevice;
            let devices: Vec<_> = match devices {
                // Whatever there is, a GPU first.
                [0] => vec![WgpuDevice::DefaultDevice],
                _ => devices.iter().map(|&n| WgpuDevice::DiscreteGpu(n)).collect(),
            };
            train::<Autodiff<burn::backend::Wgpu>>(recipe, options, mixture, sets, &devices)?
        }
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        other => return Err(glance::evaluate::BackendError::NotBuilt(other).into()),
    })
}
