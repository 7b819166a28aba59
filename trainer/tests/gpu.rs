//! What a GPU computes against what the CPU does. Any Vulkan or Metal device will do, also one in software (Mesa's llvmpipe):
//! `cargo test -p glance-trainer --features wgpu --test gpu`, or on an NVIDIA GPU with `--features cuda`.
#![cfg(any(feature = "cuda", feature = "wgpu"))]

mod common;

use burn::backend::Autodiff;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Distribution, Tensor, TensorData, TensorPrimitive};
use common::{lists, samples, seeded, tiny};
use glance::network::{Kernels, Network, Precision, load, save};
use glance_trainer::data::sample::Sample;
use glance_trainer::train::batch::Aims;
use glance_trainer::train::clip::Length;
use glance_trainer::train::ema;
use glance_trainer::train::flat::ROW;
use glance_trainer::train::machines::Share;
use glance_trainer::train::optimizer::{Betas, Optimizer, OptimizerConfig};
use glance_trainer::train::recipe::{Compute, Recipe};
use glance_trainer::train::step::{Means, Read, Split, Work, gradients};
use glance_trainer::train::trained::Trained;

/// The gradients of a network, a list for each of its parameters.
type Lists = [Vec<f32>];
type Cpu = burn_flex::Flex;
#[cfg(feature = "cuda")]
type Gpu = burn::backend::Cuda;
#[cfg(not(feature = "cuda"))]
type Gpu = burn::backend::Wgpu;

/// How much further products of matrices may be off: CUDA's of single precision may be rounded to TF32, to 10 bits.
const ROUNDING: f64 = if cfg!(feature = "cuda") { 30.0 } else { 1.0 };

fn random<const D: usize>(shape: [usize; D]) -> TensorData {
    Tensor::<Cpu, D>::random(shape, Distribution::Normal(0.0, 2.0), &Default::default()).into_data()
}

fn put<B: Backend, const D: usize>(data: &TensorData) -> FloatTensor<B> {
    Tensor::<B, D>::from_data(data.clone(), &Default::default()).into_primitive().tensor()
}

fn numbers<B: Backend, const D: usize>(x: FloatTensor<B>) -> Vec<f32> {
    Tensor::<B, D>::from_primitive(TensorPrimitive::Float(x)).into_data().iter::<f32>().collect()
}

/// Numbers may be that far from the CPU's.
fn within(name: &str, gpu: &[f32], cpu: &[f32], most: impl Fn(f32) -> f32) {
    assert_eq!(gpu.len(), cpu.len(), "{name}");
    for (i, (a, b)) in gpu.iter().zip(cpu).enumerate() {
        assert!((a - b).abs() <= most(*b), "{name}, number {i}: {a} instead of {b}");
    }
}

fn near(name: &str, gpu: &[f32], cpu: &[f32]) {
    within(name, gpu, cpu, |b| 2e-5 * (1.0 + b.abs()));
}

#[test]
fn softmax_with_a_bias_is_the_same_everywhere() {
    // Positions, heads, queries and keys; one row more than a cube has, and rows that do not fill a line.
    for shape in [[3, 2, 64, 64], [1, 1, 9, 7], [2, 3, 5, 100]] {
        let [n, h, t, k] = shape;
        let scores = random(shape);
        for bias in [None, Some(shape), Some([1, h, t, k]), Some([n, 1, 1, k])] {
            let bias = bias.map(random);
            fn run<B: Kernels>(scores: &TensorData, bias: Option<&TensorData>) -> Vec<f32> {
                numbers::<B, 4>(B::attend(put::<B, 4>(scores), bias.map(put::<B, 4>), 0.3))
            }
            near(&format!("{shape:?}"), &run::<Gpu>(&scores, bias.as_ref()), &run::<Cpu>(&scores, bias.as_ref()));
        }
    }
}

#[test]
fn the_gradient_of_softmax_is_the_same_everywhere() {
    for shape in [[3, 2, 64, 64], [1, 1, 9, 7]] {
        let (p, dp) = (random(shape), random(shape));
        fn run<B: Kernels>(p: &TensorData, dp: &TensorData) -> Vec<f32> {
            numbers::<B, 4>(B::attend_gradient(put::<B, 4>(p), put::<B, 4>(dp)))
        }
        let (gpu, cpu) = (run::<Gpu>(&p, &dp), run::<Cpu>(&p, &dp));
        // Sums of 64 products of such size.
        let scaled = |x: Vec<f32>| x.into_iter().map(|x| x / 50.0).collect::<Vec<_>>();
        near(&format!("{shape:?}"), &scaled(gpu), &scaled(cpu));
    }
}

#[cfg(feature = "cuda")]
#[test]
fn attention_in_half_precision_is_much_the_same_everywhere() {
    use burn::tensor::FloatDType;
    use burn::tensor::bf16;
    use glance::network::Shape;

    // Boards, which have kernels of their own, with heads of every width for them; and tokens or heads that are not for these.
    for ([n, tokens, heads, c], of_bias) in [
        ([3, 64, 2, 32], Some([3, 2])),
        ([2, 64, 3, 16], Some([1, 3])),
        ([1, 64, 2, 64], None),
        ([2, 64, 1, 48], Some([2, 1])),
        ([2, 77, 2, 16], Some([1, 1])),
    ] {
        let rows = [n * tokens, heads * c];
        let given: Vec<TensorData> = (0..4).map(|_| random(rows)).collect();
        let bias = of_bias.map(|[n, heads]| random([n, heads, tokens, tokens]));
        let shape = Shape { tokens, heads };
        fn run<B: Kernels>(
            given: &[TensorData],
            bias: Option<&TensorData>,
            shape: Shape,
            to: FloatDType,
        ) -> Vec<Vec<f32>> {
            // Rounded on both sides, so that both are given the same.
            let half = |x: &TensorData| x.clone().convert::<bf16>().convert::<f32>();
            let rows = |x: &TensorData| Tensor::<B, 2>::from_data(half(x), &Default::default()).cast(to);
            let row = |i: usize| rows(&given[i]).into_primitive().tensor();
            let bias = bias
                .map(|x| Tensor::<B, 4>::from_data(half(x), &Default::default()).cast(to).into_primitive().tensor());
            let [out, weights] = B::weighed_attention([row(0), row(1), row(2)], bias, shape);
            let made_from = [row(0), row(1), row(2), weights.clone()];
            let [dq, dk, dv, scores] = B::attention_gradient(row(3), made_from, shape);
            let (rows, maps) = ([out, dq, dk, dv].map(numbers::<B, 2>), [weights, scores].map(numbers::<B, 4>));
            rows.into_iter().chain(maps).collect()
        }
        let gpu = run::<Gpu>(&given, bias.as_ref(), shape, FloatDType::BF16);
        let cpu = run::<Cpu>(&given, bias.as_ref(), shape, FloatDType::F32);
        for (name, (gpu, cpu)) in ["out", "dq", "dk", "dv", "weights", "scores"].iter().zip(gpu.iter().zip(&cpu)) {
            let size = cpu.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            within(&format!("{name} of {n} x {tokens} x {heads} x {c}"), gpu, cpu, |_| 0.06 * size);
        }
    }
}

#[test]
fn normalisation_and_its_gradient_are_the_same_everywhere() {
    for shape in [[70, 256], [3, 20], [1, 1024]] {
        let (x, dy) = (random(shape), random(shape));
        fn run<B: Kernels>(x: &TensorData, dy: &TensorData) -> [Vec<f32>; 3] {
            let (y, scale) = B::rms_norm_scaled(put::<B, 2>(x));
            let dx = B::rms_norm_gradient(put::<B, 2>(dy), y.clone(), scale.clone());
            [numbers::<B, 2>(y), numbers::<B, 2>(scale), numbers::<B, 2>(dx)]
        }
        for (gpu, cpu) in run::<Gpu>(&x, &dy).iter().zip(&run::<Cpu>(&x, &dy)) {
            near(&format!("{shape:?}"), gpu, cpu);
        }
    }
}

#[test]
fn sums_over_rows_are_the_same_everywhere() {
    // In one stage and in two, in pieces of several lengths, with columns that do not fill a line.
    for shape in [[5, 7], [64, 32], [1000, 33], [4099, 20], [300, 1100], [1, 1]] {
        let x = random(shape);
        fn run<B: Kernels>(x: &TensorData) -> Vec<f32> {
            numbers::<B, 2>(B::sum_rows(put::<B, 2>(x)))
        }
        let most = 1e-5 * shape[0] as f32;
        within(&format!("{shape:?}"), &run::<Gpu>(&x), &run::<Cpu>(&x), |_| most);
    }
}

#[test]
fn gradients_of_weights_are_the_same_everywhere() {
    // Rows that are cut into pieces, into an odd number's worth of them, and not at all; products of one tile and of several.
    for [rows, from, to] in [[4096, 8, 48], [1536, 96, 24], [1001, 20, 30], [2048, 130, 257], [3, 4, 5]] {
        let (x, dy) = (random([rows, from]), random([rows, to]));
        fn run<B: Kernels>(x: &TensorData, dy: &TensorData) -> Vec<f32> {
            numbers::<B, 2>(B::weight_gradient(put::<B, 2>(x), put::<B, 2>(dy)))
        }
        let most = 1e-3 * ROUNDING as f32 * (rows as f32).sqrt();
        within(&format!("[{rows}, {from}, {to}]"), &run::<Gpu>(&x, &dy), &run::<Cpu>(&x, &dy), |_| most);
    }
}

#[test]
fn products_are_the_same_everywhere() {
    // Sums of an odd number of a kernel's stages (8, 24, 32, 96 of 8, 16, 32) are what some of Burn's kernels get wrong.
    let shapes =
        [[512, 8, 48], [512, 48, 8], [130, 24, 30], [64, 32, 64], [77, 96, 128], [8, 1, 32], [3, 200, 1], [5, 7, 3]];
    for [m, k, n] in shapes {
        for (left, right) in [(false, false), (true, false), (false, true)] {
            let (a, b) = (random(if left { [k, m] } else { [m, k] }), random(if right { [n, k] } else { [k, n] }));
            fn run<B: Backend>(a: &TensorData, b: &TensorData, left: bool, right: bool) -> Vec<f32> {
                let [a, b] = [(a, left), (b, right)].map(|(x, turned)| {
                    let x = Tensor::<B, 2>::from_data(x.clone(), &Default::default());
                    if turned { x.transpose() } else { x }
                });
                a.matmul(b).into_data().iter::<f32>().collect()
            }
            let (gpu, cpu) = (run::<Gpu>(&a, &b, left, right), run::<Cpu>(&a, &b, left, right));
            let most = 1e-3 * ROUNDING as f32 * (k as f32).sqrt();
            within(&format!("[{m}, {k}, {n}], turned {left} {right}"), &gpu, &cpu, |_| most);
        }
    }
}

#[test]
fn a_gradient_is_as_long_everywhere() {
    fn run<B: Backend>() -> f32 {
        let numbers = (0..768 * ROW).map(|i| (i % 7) as f32).collect();
        let gradient = Tensor::<B, 1>::from_data(TensorData::new(numbers, [768 * ROW]), &Default::default());
        Length::of(gradient, 1.0).norm.into_data().iter::<f32>().sum()
    }
    let (gpu, cpu) = (run::<Gpu>(), run::<Cpu>());
    assert!((gpu / cpu - 1.0).abs() < 1e-5, "{gpu} instead of {cpu}");
}

/// A few steps of the optimisers, and the average of the weights on the way.
#[test]
fn steps_are_the_same_everywhere() {
    fn run<B>(weights: &[u8], recipe: &Recipe) -> Vec<f32>
    where
        B: AutodiffBackend + Kernels,
        B::InnerBackend: Kernels,
    {
        let network: Network<B> = load(weights, &Default::default()).expect("weights");
        let mut optimizer = Optimizer::new(&recipe.training.optimizer, 0.1, &network);
        let mut trained = Trained::new(network);
        let mut average = trained.weights().clone();
        for step in 0..3 {
            let numbers = average.dims()[0];
            let gradient = (0..numbers).map(|i| ((i * 13 + step * 5) % 11) as f32 - 5.0).collect();
            let gradient = Tensor::from_data(TensorData::new(gradient, [numbers]), &Default::default());
            let Length { factor, .. } = Length::of(gradient.clone(), 1.0);
            optimizer.step(0.01, &mut trained, gradient * factor);
            average = ema::update(average, trained.weights().clone(), 0.9, step as u64);
        }
        [average, trained.weights().clone()].map(|x| x.into_data().iter::<f32>().collect::<Vec<_>>()).concat()
    }
    for (name, mut recipe) in tiny() {
        let weights = save(&seeded::<Cpu>(&recipe.network, 1), Precision::Full).expect("saved");
        for kind in [OptimizerConfig::AdamW, OptimizerConfig::Adam] {
            recipe.training.optimizer = kind(Betas::default());
            near(&name, &run::<Autodiff<Gpu>>(&weights, &recipe), &run::<Autodiff<Cpu>>(&weights, &recipe));
        }
    }
}

/// Losses and gradients of a network that is read from weights.
fn learn<B>(weights: &[u8], recipe: &Recipe, samples: &[Sample], precision: Compute) -> (Read, Vec<Vec<f32>>)
where
    B: AutodiffBackend + Kernels,
    B::InnerBackend: Kernels,
{
    let t = &recipe.training;
    let aims = Aims { value_weight: 1.0, time_weight: 1.0, policy: t.policy_loss, smoothing: t.smoothing };
    let device = B::Device::default();
    let network: Network<B> = load(weights, &device).expect("weights");
    let split = Split { workers: 1, micro: samples.len() };
    let work = Work::of(samples, Share::WHOLE, split, &network.layout(), &recipe.network.value);
    let (grads, loss) = gradients(
        &Trained::new(network.clone()),
        work,
        &aims,
        &Means { devices: &[device], precision, rounding: false },
    );
    (loss.read(1.0), lists(&network, &grads))
}

/// Has every tiny system learn on the GPU in one precision and on the CPU in single precision. The losses have to be near, and the
/// gradients as the check wants them: it is given the system's name, the GPU's and the CPU's.
fn learn_everywhere(precision: Compute, near: f64, check: fn(&str, &Lists, &Lists)) {
    let samples = &samples()[..8];
    for (name, recipe) in tiny() {
        let weights = save(&seeded::<Cpu>(&recipe.network, 1), Precision::Full).expect("saved");
        let (loss, gpu) = learn::<Autodiff<Gpu>>(&weights, &recipe, samples, precision);
        let (right, cpu) = learn::<Autodiff<Cpu>>(&weights, &recipe, samples, Compute::F32);
        for (a, b) in [(loss.policy, right.policy), (loss.value, right.value)] {
            assert!((a - b).abs() < near * (1.0 + b.abs()), "{name}: {loss:?} instead of {right:?}");
        }
        let lengths = |lists: &Lists| lists.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(&gpu), lengths(&cpu), "{name}");
        check(&name, &gpu, &cpu);
    }
}

#[test]
fn every_system_learns_the_same_everywhere() {
    learn_everywhere(Compute::F32, ROUNDING * 1e-4, |name, gpu, cpu| {
        let longest = cpu.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
        for (i, (a, b)) in gpu.iter().zip(cpu).enumerate() {
            let off = a.iter().zip(b).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
            assert!(off < ROUNDING as f32 * 1e-3 * longest, "{name}: parameter {i} is {off} off of {longest}");
        }
    });
}

#[cfg(feature = "cuda")]
#[test]
fn every_system_learns_much_the_same_in_half_precision() {
    // The direction of the whole gradient: single numbers of it are off by more.
    learn_everywhere(Compute::Bf16, 0.02, |name, gpu, cpu| {
        let all = || gpu.iter().flatten().zip(cpu.iter().flatten());
        let product = |f: fn((&f32, &f32)) -> f32| all().map(|pair| f64::from(f(pair))).sum::<f64>();
        let along = product(|(a, b)| a * b) / (product(|(a, _)| a * a) * product(|(_, b)| b * b)).sqrt();
        assert!(along > 0.98, "{name}: the gradients are {along} alike");
    });
}
