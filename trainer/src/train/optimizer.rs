//! The optimisers: Burn's, chosen in the recipe.

use std::path::Path;

use burn::module::{AutodiffModule, Module, ModuleVisitor, Param, ParamId};
use burn::optim::adaptor::OptimizerAdaptor;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    Adam, AdamConfig, AdamState, AdamW, AdamWConfig, AdamWState, AdjustLrFn, GradientsParams, Muon, MuonConfig,
    Optimizer as _, SimpleOptimizer,
};
use burn::record::{BinFileRecorder, FullPrecisionSettings, Recorder, RecorderError};
use burn::tensor::Tensor;
use burn::tensor::backend::{AutodiffBackend, Backend};
use glance::network::{Kernels, Network};
use serde::{Deserialize, Serialize};

use super::trained::Trained;

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

/// A rule of Burn's for one tensor of all weights, and what it remembers.
enum Rule<B: Backend> {
    AdamW(AdamW, Option<AdamWState<B, 1>>),
    Adam(Adam, Option<AdamState<B, 1>>),
}

/// One step of a rule.
fn follow<O, B, const D: usize>(
    rule: &O,
    rate: f64,
    (weights, gradient): (Tensor<B, D>, Tensor<B, D>),
    state: &mut Option<O::State<D>>,
) -> Tensor<B, D>
where
    O: SimpleOptimizer<B>,
    B: Backend,
{
    let (weights, next) = rule.step(rate, weights, gradient, state.take());
    *state = next;
    weights
}

/// Muon, and the parameters that are its own.
type Matrix<B> = (Vec<ParamId>, OptimizerAdaptor<Muon<<B as AutodiffBackend>::InnerBackend>, Network<B>, B>);

/// Added to every number of a gradient; most of them stay what they are. Where a gradient is zero for good (of a hidden number that
/// nothing lights any more), its averages would otherwise fade until they are denormal, and stay so: processors are slow with such
/// numbers (`benches/network.md`).
const TRACE: f32 = 1e-15;

/// An optimiser with what it remembers.
pub struct Optimizer<B>
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    rule: Rule<B::InnerBackend>,
    muon: Option<Matrix<B>>,
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
        let rule = match config {
            OptimizerConfig::AdamW(_) | OptimizerConfig::Muon(_) => Rule::AdamW(config.adamw(decay).build(), None),
            OptimizerConfig::Adam(_) => {
                let adam = AdamConfig::new().with_beta_1(b.beta_1).with_beta_2(b.beta_2).with_epsilon(b.epsilon);
                Rule::Adam(adam.with_weight_decay(some_decay()).build(), None)
            }
        };
        let muon = matches!(config, OptimizerConfig::Muon(_)).then(|| {
            let momentum = MomentumConfig { momentum: b.momentum, dampening: 0.0, nesterov: true };
            let muon = MuonConfig::new()
                .with_momentum(momentum)
                .with_weight_decay(some_decay())
                .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW);
            (matrices_of_blocks(network), OptimizerAdaptor::from(muon.build()))
        });
        Optimizer { rule, muon }
    }

    /// One step down a gradient, which is laid out as the weights are.
    pub fn step(&mut self, rate: f64, trained: &mut Trained<B>, gradient: Tensor<B::InnerBackend, 1>) {
        let gradient = gradient.add_scalar(TRACE);
        let both = (trained.weights().clone(), gradient.clone());
        let weights = match &mut self.rule {
            Rule::AdamW(rule, state) => follow(rule, rate, both, state),
            Rule::Adam(rule, state) => follow(rule, rate, both, state),
        };
        let Some((matrices, muon)) = &mut self.muon else {
            return trained.set(weights);
        };
        // AdamW has gone over all of them; what is Muon's is not taken from it.
        let (mut grads, mut theirs) = (trained.cut(&gradient), GradientsParams::new());
        for &id in matrices.iter() {
            if let Some(grad) = grads.remove::<B::InnerBackend, 2>(id) {
                theirs.register::<B::InnerBackend, 2>(id, grad);
            }
        }
        let network = muon.step(rate, trained.network(), theirs);
        trained.take(network, &weights, &|id| !matrices.contains(&id));
    }

    /// Writes what it remembers into a folder.
    pub fn save(&self, folder: &Path) -> Result<(), RecorderError> {
        let (files, at) = (Files::new(), folder.join("optimizer"));
        match &self.rule {
            Rule::AdamW(_, state) => Recorder::<B::InnerBackend>::record(&files, state.clone(), at),
            Rule::Adam(_, state) => Recorder::<B::InnerBackend>::record(&files, state.clone(), at),
        }?;
        match &self.muon {
            Some((_, muon)) => Recorder::<B>::record(&files, muon.to_record(), folder.join("muon")),
            None => Ok(()),
        }
    }

    /// Remembers what was written.
    pub fn load(self, folder: &Path, network: &Network<B>, device: &B::Device) -> Result<Self, RecorderError> {
        let (files, at) = (Files::new(), folder.join("optimizer"));
        let rule = match self.rule {
            Rule::AdamW(rule, _) => Rule::AdamW(rule, Recorder::<B::InnerBackend>::load(&files, at, device)?),
            Rule::Adam(rule, _) => Rule::Adam(rule, Recorder::<B::InnerBackend>::load(&files, at, device)?),
        };
        let muon = match self.muon {
            // A loaded network has the ids that it was saved with.
            Some((_, muon)) => {
                let record = Recorder::<B>::load(&files, folder.join("muon"), device)?;
                Some((matrices_of_blocks(network), muon.load_record(record)))
            }
            None => None,
        };
        Ok(Optimizer { rule, muon })
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

    type B = Autodiff<burn_flex::Flex>;

    #[test]
    fn averages_of_what_has_no_gradient_do_not_fade_into_denormal_numbers() {
        let network = Network::<B>::new(&Config::tiny(), &Default::default());
        let betas = Betas { beta_1: 0.5, beta_2: 0.5, ..Betas::default() };
        let mut optimizer = Optimizer::new(&OptimizerConfig::AdamW(betas), 0.0, &network);
        let mut trained = Trained::new(network);
        let gradient = trained.weights().ones_like();
        // Halved as often as there are powers of two, and more.
        for step in 0..160 {
            let gradient = if step == 0 { gradient.clone() } else { gradient.zeros_like() };
            optimizer.step(1e-6, &mut trained, gradient);
        }
        let Rule::AdamW(_, Some(state)) = optimizer.rule else { panic!("it has gone steps") };
        for moment in [state.momentum.moment_1, state.momentum.moment_2] {
            let numbers: Vec<f32> = moment.into_data().to_vec().expect("numbers");
            assert!(numbers.iter().all(|x| x.is_normal()), "{:e}", numbers[0]);
        }
    }

    #[test]
    fn muon_takes_the_matrices_of_the_blocks() {
        let network = Network::<B>::new(&Config::tiny(), &Default::default());
        let optimizer = Optimizer::new(&OptimizerConfig::Muon(Betas::default()), 0.01, &network);
        let (matrices, _) = optimizer.muon.expect("Muon was asked for");
        // A block has query, key, value, out, two of the feed-forward part and three of smolgen.
        assert_eq!(matrices.len() % 9, 0, "{}", matrices.len());
        assert!(!matrices.is_empty());
    }
}
