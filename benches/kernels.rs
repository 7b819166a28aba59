//! What the network is trained with on a CPU, against the same of Burn's own operations: `cargo bench --bench kernels -- <positions>`. With
//! `--features training` also against itself with products rounded to bfloat16.
//!
//! Each round times both, one after the other; the medians of all rounds, and of their ratios, are printed. The sizes are those of the
//! shipped network.

use std::hint::black_box;
use std::time::Instant;

use burn::tensor::activation::softmax;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Distribution, Tensor, TensorPrimitive};
use burn_flex::Flex;
use glance::network::{Kernels, Shape};

/// As in the trainer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 15;
const WIDTH: usize = 96;
const SHAPE: Shape = Shape { tokens: 64, heads: 3 };

fn random<const D: usize>(shape: [usize; D]) -> Tensor<Flex, D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Default::default())
}

fn into<const D: usize>(x: &Tensor<Flex, D>) -> FloatTensor<Flex> {
    x.clone().into_primitive().tensor()
}

fn from<const D: usize>(x: FloatTensor<Flex>) -> Tensor<Flex, D> {
    Tensor::from_primitive(TensorPrimitive::Float(x))
}

/// Milliseconds.
fn time<T>(run: impl Fn() -> T) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64() * 1e3
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn compare<T, U>(what: &str, ours: impl Fn() -> T, burns: impl Fn() -> U) {
    against(what, ["ours", "Burn's own"], &ours, burns);
    #[cfg(feature = "training")]
    if let Some(instructions) = glance::network::Rounding::instructions() {
        let rounded = || {
            let _rounding = glance::network::Rounding::begin();
            ours()
        };
        against(what, [instructions, "ours"], rounded, &ours);
    }
}

fn against<T, U>(what: &str, [name, other_name]: [&str; 2], one: impl Fn() -> T, other: impl Fn() -> U) {
    let times: Vec<(f64, f64)> = (0..ROUNDS + 2).map(|_| (time(&one), time(&other))).skip(2).collect();
    let of = |number: fn(&(f64, f64)) -> f64| median(times.iter().map(number).collect());
    let ratio = of(|(one, other)| other / one);
    println!("{what}: {name} {:.2} ms, {other_name} {:.2} ms, {ratio:.2} times as fast", of(|t| t.0), of(|t| t.1));
}

fn split(x: &Tensor<Flex, 2>) -> Tensor<Flex, 4> {
    let Shape { tokens, heads } = SHAPE;
    x.clone().reshape([x.dims()[0] / tokens, tokens, heads, WIDTH / heads]).swap_dims(1, 2)
}

fn merge(x: Tensor<Flex, 4>) -> Tensor<Flex, 2> {
    let [n, _, tokens, _] = x.dims();
    x.swap_dims(1, 2).reshape([n * tokens, WIDTH])
}

fn main() {
    let positions = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(128);
    let Shape { tokens, heads } = SHAPE;
    let rows = || random([positions * tokens, WIDTH]);
    let (x, w, dy) = (rows(), random([WIDTH, 2 * WIDTH]), random([positions * tokens, 2 * WIDTH]));
    compare("a linear layer", || Flex::product(into(&x), into(&w)), || x.clone().matmul(w.clone()));
    compare(
        "the gradient of its rows",
        || Flex::row_gradient(into(&dy), into(&w)),
        || dy.clone().matmul(w.clone().transpose()),
    );
    compare(
        "the gradient of its weights",
        || Flex::weight_gradient(into(&x), into(&dy)),
        || x.clone().transpose().matmul(dy.clone()),
    );
    let (q, k, v) = (rows(), rows(), rows());
    let bias = random([positions, heads, tokens, tokens]);
    let scale = 1.0 / ((WIDTH / heads) as f64).sqrt();
    let attention = || {
        let weights = softmax(split(&q).matmul(split(&k).swap_dims(2, 3)).mul_scalar(scale) + bias.clone(), 3);
        (merge(weights.clone().matmul(split(&v))), weights)
    };
    let qkv = || [&q, &k, &v].map(into);
    compare("attention", || Flex::weighed_attention(qkv(), Some(into(&bias)), SHAPE), attention);

    let (dy, (_, weights)) = (rows(), attention());
    let made_from = || [into(&q), into(&k), into(&v), into(&weights)];
    compare(
        "its gradients",
        || Flex::attention_gradient(into(&dy), made_from(), SHAPE),
        || {
            let (p, dy) = (weights.clone(), split(&dy));
            let dv = p.clone().swap_dims(2, 3).matmul(dy.clone());
            let dp = dy.matmul(split(&v).swap_dims(2, 3)) * p.clone();
            let scores = dp.clone() - p * dp.sum_dim(3);
            let dq = merge(scores.clone().matmul(split(&k))).mul_scalar(scale);
            let dk = merge(scores.clone().swap_dims(2, 3).matmul(split(&q))).mul_scalar(scale);
            let out: [Tensor<Flex, 2>; 3] = [dq, dk, merge(dv)];
            (out, from::<4>(into(&scores)))
        },
    );
    #[cfg(feature = "training")]
    fused::compare(positions);
}

/// The fused parts of a block against the same composed, with their gradients, where products are rounded.
#[cfg(feature = "training")]
mod fused {
    use burn::backend::Autodiff;
    use burn::tensor::activation::relu;
    use glance::network::Rounding;

    use super::*;

    type B = Autodiff<Flex>;

    fn random<const D: usize>(shape: [usize; D], deviation: f64) -> Tensor<B, D> {
        Tensor::random(shape, Distribution::Normal(0.0, deviation), &Default::default()).require_grad()
    }

    fn into<const D: usize>(x: &Tensor<B, D>) -> FloatTensor<B> {
        x.clone().into_primitive().tensor()
    }

    fn from<const D: usize>(x: FloatTensor<B>) -> Tensor<B, D> {
        Tensor::from_primitive(TensorPrimitive::Float(x))
    }

    fn norm(x: &Tensor<B, 2>) -> Tensor<B, 2> {
        from(B::rms_norm(into(x)))
    }

    fn linear(x: &Tensor<B, 2>, w: &Tensor<B, 2>, bias: Option<&Tensor<B, 1>>) -> Tensor<B, 2> {
        let y = B::product(into(x), into(w));
        from(bias.map_or(y.clone(), |bias| B::add_row(y, into(&bias.clone().unsqueeze::<2>()))))
    }

    pub(super) fn compare(positions: usize) {
        let _rounding = Rounding::begin();
        if !B::fuses_blocks() {
            return;
        }
        let Shape { tokens, heads } = SHAPE;
        let x = random([positions * tokens, WIDTH], 1.0);
        let [up, down] = [random([WIDTH, 2 * WIDTH], 0.1), random([2 * WIDTH, WIDTH], 0.1)];
        let [up_bias, down_bias] = [random([2 * WIDTH], 0.1), random([WIDTH], 0.1)];
        let names = ["fused", "composed"];
        against(
            "a feed-forward part with its gradients",
            names,
            || {
                let fused = B::fused_feed_forward([into(&x), into(&up), into(&up_bias), into(&down), into(&down_bias)]);
                fused.map(|fused| from::<2>(fused).sum().backward())
            },
            || {
                let hidden = relu(linear(&norm(&x), &up, Some(&up_bias)));
                (x.clone() + linear(&hidden, &down, Some(&down_bias))).sum().backward()
            },
        );

        let (made, fixed) =
            (random([positions, heads, tokens, tokens], 1.0), random([1, heads * tokens * tokens], 1.0));
        let [query, key, value, out] = [(); 4].map(|()| random([WIDTH, WIDTH], 0.1));
        let [query_bias, value_bias, out_bias] = [(); 3].map(|()| random([WIDTH], 0.1));
        // It may be written to, as in a network.
        let map = || made.clone() * 1.0;
        against(
            "attention with its layers and gradients",
            names,
            || {
                let weights = [&query, &key, &value, &out].map(into);
                let biases = [&query_bias, &value_bias, &out_bias].map(into);
                let ([query, key, value, out], [query_bias, value_bias, out_bias]) = (weights, biases);
                let (map, fixed) = (map().into_primitive().tensor(), into(&fixed));
                let given = [into(&x), map, fixed, query, key, value, out, query_bias, value_bias, out_bias];
                B::fused_attention(given, SHAPE).map(|fused| from::<2>(fused).sum().backward())
            },
            || {
                let y = norm(&x);
                let [q, k, v] = [(&query, Some(&query_bias)), (&key, None), (&value, Some(&value_bias))]
                    .map(|(w, bias)| linear(&y, w, bias).into_primitive().tensor());
                let bias = map().reshape([positions, heads * tokens * tokens]);
                let bias = B::add_row(bias.into_primitive().tensor(), into(&fixed));
                let bias = from::<2>(bias).reshape([positions, heads, tokens, tokens]);
                let attended = from(B::biased_attention(q, k, v, Some(bias.into_primitive().tensor()), SHAPE));
                (x.clone() + linear(&attended, &out, Some(&out_bias))).sum().backward()
            },
        );
    }
}
