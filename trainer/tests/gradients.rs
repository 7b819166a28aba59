//! The gradients written by hand against those of automatic differentiation.

use burn::backend::Autodiff;
use burn::tensor::activation::softmax;
use burn::tensor::{Distribution, Tensor, TensorPrimitive, Tolerance};
use glance::network::Kernels;

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
    let (n, heads, c) = (3, 2, 5);
    let rows = [n * 64, heads * c];
    let [q, k, v, weigh] = [random(rows), random(rows), random(rows), random(rows)];
    let bias = random([n, heads, 64, 64]);

    let split = |x: &Tensor<B, 2>| x.clone().reshape([n, 64, heads, c]).swap_dims(1, 2);
    let scores = split(&q).matmul(split(&k).swap_dims(2, 3)).div_scalar((c as f32).sqrt()) + bias.clone();
    let plain = softmax(scores, 3).matmul(split(&v)).swap_dims(1, 2).reshape(rows);
    let fused: Tensor<B, 2> =
        tensor(B::biased_attention(primitive(&q), primitive(&k), primitive(&v), primitive(&bias)));
    close(plain.clone().inner(), fused.clone().inner());
    // Without gradients the same.
    let inner = |x: &Tensor<B, 2>| x.clone().inner().into_primitive().tensor();
    let alone =
        Inner::biased_attention(inner(&q), inner(&k), inner(&v), bias.clone().inner().into_primitive().tensor());
    close(plain.clone().inner(), Tensor::from_primitive(TensorPrimitive::Float(alone)));

    let expected = (plain * weigh.clone().detach()).sum().backward();
    let found = (fused * weigh.detach()).sum().backward();
    for x in [&q, &k, &v] {
        close(x.grad(&expected).expect("tracked"), x.grad(&found).expect("tracked"));
    }
    close(bias.grad(&expected).expect("tracked"), bias.grad(&found).expect("tracked"));
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
