//! The optimisers: Burn's, chosen in the recipe.

use std::path::Path;

use burn::module::{AutodiffModule, Module, ModuleVisitor, Param, ParamId};
use burn::optim::adaptor::OptimizerAdaptor;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    Adam, AdamConfig, AdamW, AdamWConfig, AdjustLrFn, GradientsParams, Muon, MuonConfig, Optimizer as _,
    SimpleOptimizer,
};
use burn::record::{BinFileRecorder, FullPrecisionSettings, Recorder, RecorderError};
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;
use glance::network::{Kernels, Network};
use serde::{Deserialize, Serialize};

use super::clip::Scaled;

/// Which optimiser, and its constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OptimizerConfig {
    /// Adam with decoupled weight decay (Loshchilov, Hutter 2019).
    AdamW(Betas),
    /// Adam (Kingma, Ba 2015); weight decay is added to the gradient.
    Adam(Betas),
    /// Muon (Jordan 2024) for the matrices inside the blocks, scaled to AdamW's step (Moonshot 2025), AdamW for the rest.
    Muon(Betas),
}

/// The decays of Adam's averages; Muon's matrices have their momentum beside them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Betas {
    /// Of the gradient.
    pub beta_1: f32,
    /// Of its square.
    pub beta_2: f32,
    /// Added to the root of the square.
    pub epsilon: f32,
    /// Muon's momentum.
    pub momentum: f64,
}

impl Default for Betas {
    fn default() -> Self {
        Betas { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-8, momentum: 0.95 }
    }
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        OptimizerConfig::AdamW(Betas::default())
    }
}

impl OptimizerConfig {
    /// Its constants.
    pub fn betas(&self) -> &Betas {
        match self {
            OptimizerConfig::AdamW(betas) | OptimizerConfig::Adam(betas) | OptimizerConfig::Muon(betas) => betas,
        }
    }

    fn adamw(&self, decay: f32) -> AdamWConfig {
        let b = self.betas();
        AdamWConfig::new().with_beta_1(b.beta_1).with_beta_2(b.beta_2).with_epsilon(b.epsilon).with_weight_decay(decay)
    }
}

/// One of Burn's optimisers for a whole network, with gradients scaled on the way.
type Adapted<O, B> = OptimizerAdaptor<Scaled<O, <B as AutodiffBackend>::InnerBackend>, Network<B>, B>;

fn adapted<O, B>(optimizer: O) -> Adapted<O, B>
where
    O: SimpleOptimizer<B::InnerBackend>,
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    OptimizerAdaptor::from(Scaled::new(optimizer))
}

/// An optimiser with what it remembers.
pub enum Optimizer<B>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    /// AdamW.
    AdamW(Adapted<AdamW, B>),
    /// Adam.
    Adam(Adapted<Adam, B>),
    /// Muon for some parameters, AdamW for the others.
    Muon {
        /// The parameters that are Muon's.
        matrices: Vec<ParamId>,
        /// For these.
        muon: Adapted<Muon<B::InnerBackend>, B>,
        /// For the rest.
        adamw: Adapted<AdamW, B>,
    },
}

type Files = BinFileRecorder<FullPrecisionSettings>;

impl<B> Optimizer<B>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    /// An optimiser that remembers nothing yet.
    pub fn new(config: &OptimizerConfig, decay: f32, network: &Network<B>) -> Self {
        let some_decay = || Some(WeightDecayConfig::new(decay)).filter(|_| decay > 0.0);
        let b = config.betas();
        match config {
            OptimizerConfig::AdamW(_) => Optimizer::AdamW(adapted(config.adamw(decay).build())),
            OptimizerConfig::Adam(_) => {
                let adam = AdamConfig::new().with_beta_1(b.beta_1).with_beta_2(b.beta_2).with_epsilon(b.epsilon);
                Optimizer::Adam(adapted(adam.with_weight_decay(some_decay()).build()))
            }
            OptimizerConfig::Muon(_) => {
                let momentum = MomentumConfig { momentum: b.momentum, dampening: 0.0, nesterov: true };
                let muon = MuonConfig::new()
                    .with_momentum(momentum)
                    .with_weight_decay(some_decay())
                    .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW);
                let matrices = matrices_of_blocks(network);
                Optimizer::Muon { matrices, muon: adapted(muon.build()), adamw: adapted(config.adamw(decay).build()) }
            }
        }
    }

    /// One step down the gradient, which is multiplied by the factor (`[1]`) first.
    pub fn step(
        &mut self,
        rate: f64,
        network: Network<B>,
        mut grads: GradientsParams,
        factor: Option<Tensor<B::InnerBackend, 1>>,
    ) -> Network<B> {
        match self {
            Optimizer::AdamW(adamw) => {
                adamw.optim().set(factor);
                adamw.step(rate, network, grads)
            }
            Optimizer::Adam(adam) => {
                adam.optim().set(factor);
                adam.step(rate, network, grads)
            }
            Optimizer::Muon { matrices, muon, adamw } => {
                muon.optim().set(factor.clone());
                adamw.optim().set(factor);
                let mut theirs = GradientsParams::new();
                for &id in matrices.iter() {
                    if let Some(grad) = grads.remove::<B::InnerBackend, 2>(id) {
                        theirs.register::<B::InnerBackend, 2>(id, grad);
                    }
                }
                let network = muon.step(rate, network, theirs);
                adamw.step(rate, network, grads)
            }
        }
    }

    /// Writes what it remembers into a folder.
    pub fn save(&self, folder: &Path) -> Result<(), RecorderError> {
        let files = Files::new();
        match self {
            Optimizer::AdamW(o) => Recorder::<B>::record(&files, o.to_record(), folder.join("optimizer")),
            Optimizer::Adam(o) => Recorder::<B>::record(&files, o.to_record(), folder.join("optimizer")),
            Optimizer::Muon { muon, adamw, .. } => {
                Recorder::<B>::record(&files, muon.to_record(), folder.join("muon"))?;
                Recorder::<B>::record(&files, adamw.to_record(), folder.join("optimizer"))
            }
        }
    }

    /// Remembers what was written.
    pub fn load(self, folder: &Path, network: &Network<B>, device: &B::Device) -> Result<Self, RecorderError> {
        let files = Files::new();
        let at = folder.join("optimizer");
        Ok(match self {
            Optimizer::AdamW(o) => Optimizer::AdamW(o.load_record(Recorder::<B>::load(&files, at, device)?)),
            Optimizer::Adam(o) => Optimizer::Adam(o.load_record(Recorder::<B>::load(&files, at, device)?)),
            Optimizer::Muon { muon, adamw, .. } => Optimizer::Muon {
                // A loaded network has the ids that it was saved with.
                matrices: matrices_of_blocks(network),
                muon: muon.load_record(Recorder::<B>::load(&files, folder.join("muon"), device)?),
                adamw: adamw.load_record(Recorder::<B>::load(&files, at, device)?),
            },
        })
    }
}

/// Finds the weight matrices inside the blocks: not embeddings, biases, maps, convolutions or heads, as Muon's author advises.
#[derive(Default)]
struct Matrices {
    path: Vec<String>,
    found: Vec<ParamId>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Matrices {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        let of_block = self.path.iter().any(|name| name == "blocks");
        if D == 2 && of_block && self.path.last().is_some_and(|name| name == "weight") {
            self.found.push(param.id);
        }
    }
}

fn matrices_of_blocks<B, M>(network: &M) -> Vec<ParamId>
where
    B: AutodiffBackend,
    M: AutodiffModule<B>,
{
    let mut matrices = Matrices::default();
    Module::visit(network, &mut matrices);
    matrices.found
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::backend::Autodiff;
    use glance::network::Config;

    #[test]
    fn muon_takes_the_matrices_of_the_blocks() {
        type B = Autodiff<burn_flex::Flex>;
        let network = Network::<B>::new(&Config::tiny(), &Default::default());
        let Optimizer::Muon { matrices, .. } = Optimizer::new(&OptimizerConfig::Muon(Betas::default()), 0.01, &network)
        else {
            panic!("Muon was asked for");
        };
        // A block has query, key, value, out, two of the feed-forward part and three of smolgen.
        assert_eq!(matrices.len() % 9, 0, "{}", matrices.len());
        assert!(!matrices.is_empty());
    }
}
