//! The gradients written by hand against those of automatic differentiation.

use burn::backend::Autodiff;
use burn::tensor::activation::{gelu, gelu_approximate, silu, softmax};
use burn::tensor::{Distribution, Tensor, TensorPrimitive, Tolerance};
use glance::network::{Curve, Kernels, Shape};

type Inner = burn_flex::Flex;
type B = Autodiff<Inner>;

fn random<const D: usize>(shape: [usize; D]) -> Tensor<B, D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Default::default()).require_grad()
}

fn primitive<const D: usize>(x: &Tensor<B, D>) -> burn::tensor::ops::FloatTensor<B> {
    x.clone().into_primitive().tensor()
}

fn tensor<const D: usize>(x: burn::tensor::ops::FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(x))
}

fn close<const D: usize>(a: Tensor<Inner, D>, b: Tensor<Inner, D>) {
    a.into_data().assert_approx_eq::<f32>(&b.into_data(), Tolerance::absolute(1e-4));
}

#[test]
fn attention() {
    let (n, heads, tokens, c) = (3, 2, 7, 5);
    let shape = Shape { tokens, heads };
    let rows = [n * tokens, heads * c];
    // A bias of its own for everything; the same for all positions, heads, or queries; none.
    let biases = [[n, heads, tokens, tokens], [1, heads, tokens, tokens], [n, 1, tokens, tokens], [n, 1, 1, tokens]];
    for bias in biases.into_iter().map(|dims| Some(random(dims))).chain([None]) {
        let [q, k, v, weigh] = [random(rows), random(rows), random(rows), random(rows)];
        let split = |x: &Tensor<B, 2>| x.clone().reshape([n, tokens, heads, c]).swap_dims(1, 2);
        let mut scores = split(&q).matmul(split(&k).swap_dims(2, 3)).div_scalar((c as f32).sqrt());
        if let Some(bias) = &bias {
            scores = scores + bias.clone();
        }
        let plain = softmax(scores, 3).matmul(split(&v)).swap_dims(1, 2).reshape(rows);
        let added = bias.as_ref().map(primitive);
        let fused: Tensor<B, 2> =
            tensor(B::biased_attention(primitive(&q), primitive(&k), primitive(&v), added, shape));
        close(plain.clone().inner(), fused.clone().inner());
        // Without gradients the same.
        let inner = |x: &Tensor<B, 2>| x.clone().inner().into_primitive().tensor();
        let added = bias.as_ref().map(|bias| bias.clone().inner().into_primitive().tensor());
        let alone = Inner::biased_attention(inner(&q), inner(&k), inner(&v), added, shape);
        close(plain.clone().inner(), Tensor::from_primitive(TensorPrimitive::Float(alone)));

        let expected = (plain * weigh.clone().detach()).sum().backward();
        let found = (fused * weigh.clone().detach()).sum().backward();
        for x in [&q, &k, &v] {
            close(x.grad(&expected).expect("tracked"), x.grad(&found).expect("tracked"));
        }
        if let Some(bias) = &bias {
            close(bias.grad(&expected).expect("tracked"), bias.grad(&found).expect("tracked"));
        }
    }
}

#[test]
fn rms_norm() {
    let (x, weigh) = (random([7, 12]), random([7, 12]));
    let plain = x.clone() / (x.clone().powf_scalar(2.0).mean_dim(1) + 1e-5).sqrt();
    let fused: Tensor<B, 2> = tensor(B::rms_norm(primitive(&x)));
    close(plain.clone().inner(), fused.clone().inner());
    let expected = (plain * weigh.clone().detach()).sum().backward();
    let found = (fused * weigh.detach()).sum().backward();
    close(x.grad(&expected).expect("tracked"), x.grad(&found).expect("tracked"));
}

#[test]
fn activations_and_neighbours() {
    let (x, weigh) = (random([5, 7]), random([5, 7]));
    for kind in [Curve::Gelu, Curve::GeluTanh, Curve::Silu] {
        let x = random([5, 7]).detach().require_grad();
        let plain = match kind {
            Curve::Gelu => gelu(x.clone()),
            Curve::GeluTanh => gelu_approximate(x.clone()),
            Curve::Silu => silu(x.clone()),
        };
        let fused: Tensor<B, 2> = tensor(B::activate(primitive(&x), kind, false).0);
        close(plain.clone().inner(), fused.clone().inner());
        let expected = (plain * weigh.clone().detach()).sum().backward();
        let found = (fused * weigh.clone().detach()).sum().backward();
        close(x.grad(&expected).expect("tracked"), x.grad(&found).expect("tracked"));
    }
    drop(x);
    // ⟨A x, y⟩ = ⟨x, Aᵀ y⟩, and the fused ones are what any backend composes.
    type Plain = burn_ndarray::NdArray<f32>;
    let (x, y) = (random([128, 3]).inner(), random([128, 27]).inner());
    let around: Tensor<Inner, 2> =
        Tensor::from_primitive(TensorPrimitive::Float(Inner::neighbours(x.clone().into_primitive().tensor())));
    let back: Tensor<Inner, 2> =
        Tensor::from_primitive(TensorPrimitive::Float(Inner::collect(y.clone().into_primitive().tensor())));
    let (one, other) =
        ((around.clone() * y.clone()).sum().into_scalar(), (x.clone() * back.clone()).sum().into_scalar());
    assert!((one - other).abs() < 1e-2, "{one} {other}");
    let plain = |t: &Tensor<Inner, 2>| Tensor::<Plain, 2>::from_data(t.to_data(), &Default::default());
    let composed = Plain::neighbours(plain(&x).into_primitive().tensor());
    let composed: Tensor<Plain, 2> = Tensor::from_primitive(TensorPrimitive::Float(composed));
    composed.into_data().assert_approx_eq::<f32>(&around.into_data(), Tolerance::absolute(1e-6));
    let composed = Plain::collect(plain(&y).into_primitive().tensor());
    let composed: Tensor<Plain, 2> = Tensor::from_primitive(TensorPrimitive::Float(composed));
    composed.into_data().assert_approx_eq::<f32>(&back.into_data(), Tolerance::absolute(1e-5));
}

#[test]
fn edges() {
    let (n, kinds, heads, tokens) = (2, 2, 3, 64);
    let shape = Shape { tokens, heads };
    let (bias, gates) = (random([n, heads, tokens, tokens]), random([n * tokens, kinds * 4 * heads]));
    let weigh = random([n, heads, tokens, tokens]).detach();
    let edges: Vec<u8> = (0..n * kinds * tokens * 8).map(|i| ((i * i * 7919) >> 5) as u8 & (i * 31) as u8).collect();
    let ones: Vec<f32> = edges.iter().flat_map(|byte| (0..8).map(move |bit| f32::from(byte >> bit & 1))).collect();
    assert!(ones.contains(&0.0) && ones.contains(&1.0));
    let graphs = Tensor::<B, 1>::from_floats(&ones[..], &Default::default()).reshape([n, kinds, tokens, tokens]);
    let mut plain = bias.clone();
    for kind in 0..kinds {
        // `[n, heads, tokens]` of each.
        let gates = gates.clone().reshape([n, tokens, kinds * 4, heads]);
        let gate = |i: usize| gates.clone().narrow(2, kind * 4 + i, 1).reshape([n, tokens, heads]).swap_dims(1, 2);
        let (rows, columns) = (|i| gate(i).reshape([n, heads, tokens, 1]), |i| gate(i).reshape([n, heads, 1, tokens]));
        let there = graphs.clone().narrow(1, kind, 1);
        let back = there.clone().swap_dims(2, 3);
        plain = plain + there * (rows(0) + columns(1)) + back * (rows(2) + columns(3));
    }
    let bytes = B::bytes(edges, [n, kinds * tokens * 8], &Default::default());
    let ours: Tensor<B, 4> = tensor(B::add_edges(primitive(&bias), primitive(&gates), bytes, shape));
    close(plain.clone().inner(), ours.clone().inner());
    let expected = (plain * weigh.clone()).sum().backward();
    let found = (ours * weigh).sum().backward();
    close(bias.grad(&expected).expect("tracked"), bias.grad(&found).expect("tracked"));
    close(gates.grad(&expected).expect("tracked"), gates.grad(&found).expect("tracked"));
}

#[test]
fn pairs() {
    let (n, tokens, c, factor) = (3, 7, 5, 0.4);
    let [a, b] = [(); 2].map(|()| random([n * tokens, c]));
    let weigh = random([n, tokens, tokens]).detach();
    let split = |x: &Tensor<B, 2>| x.clone().reshape([n, tokens, c]);
    let plain = split(&a).matmul(split(&b).swap_dims(1, 2)).mul_scalar(factor);
    let ours: Tensor<B, 3> = tensor(B::pairs(primitive(&a), primitive(&b), tokens, factor));
    close(plain.clone().inner(), ours.clone().inner());
    let expected = (plain * weigh.clone()).sum().backward();
    let found = (ours * weigh).sum().backward();
    for x in [&a, &b] {
        close(x.grad(&expected).expect("tracked"), x.grad(&found).expect("tracked"));
    }
}
