//! The gradients written by hand against those of automatic differentiation.

use burn::backend::Autodiff;
use burn::tensor::activation::softmax;
use burn::tensor::{Distribution, Tensor, TensorPrimitive, Tolerance};
use glance::network::{Kernels, Shape};

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
