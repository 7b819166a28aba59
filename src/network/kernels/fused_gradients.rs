//! The fused parts of an encoder block as operations with gradients.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::ops::FloatTensor;
use burn::tensor::{DType, TensorMetadata};

use super::{AttentionInputs, FeedForwardInputs, Fused, Kernels, Shape};

/// The attention of a block.
#[derive(Debug)]
struct Attention;

impl<B: Kernels> Backward<B, 10> for Attention {
    /// What went in, the weights of the softmax in the place of the map, and what makes the gradients.
    type State = (AttentionInputs<FloatTensor<B>>, Shape, Fused<B>);

    fn backward(self, ops: Ops<Self::State, 10>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<B>(&ops.node);
        let (given, shape, fused) = ops.state;
        for (node, gradient) in ops.parents.into_iter().zip((fused.attention_gradient)(dy, given, shape)) {
            if let Some(node) = node {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

/// The feed-forward part of a block.
#[derive(Debug)]
struct FeedForward;

impl<B: Kernels> Backward<B, 5> for FeedForward {
    /// What went in, and what makes the gradients.
    type State = (FeedForwardInputs<FloatTensor<B>>, Fused<B>);

    fn backward(self, ops: Ops<Self::State, 5>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<B>(&ops.node);
        let (given, fused) = ops.state;
        for (node, gradient) in ops.parents.into_iter().zip((fused.feed_forward_gradient)(dy, given)) {
            if let Some(node) = node {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

/// [`Kernels::fused_attention`], where the backend has it and all is in single precision.
pub(super) fn attention<B: Kernels, C: CheckpointStrategy>(
    given: AttentionInputs<FloatTensor<Autodiff<B, C>>>,
    shape: Shape,
) -> Option<FloatTensor<Autodiff<B, C>>> {
    let fused = B::fused().filter(|_| given.iter().all(|x| x.primitive.dtype() == DType::F32))?;
    let nodes = given.each_ref().map(|x| x.node.clone());
    // Until the operation is registered: a node that nothing holds, and from which nothing registered is made yet, is taken out of the graph when
    // another thread goes back through its own.
    let _held = given.each_ref().map(|x| x.rc.clone());
    match Attention.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            let (out, kept) = (fused.attention)(given.map(|x| x.primitive), shape);
            Some(prep.finish((kept, shape, fused), out))
        }
        OpsKind::UnTracked(prep) => Some(prep.finish((fused.attention)(given.map(|x| x.primitive), shape).0)),
    }
}

/// [`Kernels::fused_feed_forward`], likewise.
pub(super) fn feed_forward<B: Kernels, C: CheckpointStrategy>(
    given: FeedForwardInputs<FloatTensor<Autodiff<B, C>>>,
) -> Option<FloatTensor<Autodiff<B, C>>> {
    let fused = B::fused().filter(|_| given.iter().all(|x| x.primitive.dtype() == DType::F32))?;
    let nodes = given.each_ref().map(|x| x.node.clone());
    // Likewise.
    let _held = given.each_ref().map(|x| x.rc.clone());
    match FeedForward.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            let given = given.map(|x| x.primitive);
            let out = (fused.feed_forward)(given.clone());
            Some(prep.finish((given, fused), out))
        }
        OpsKind::UnTracked(prep) => Some(prep.finish((fused.feed_forward)(given.map(|x| x.primitive)))),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::activation::relu;
    use burn::tensor::{Distribution, Tensor};

    use super::super::{Rounding, add_row, from, into, product};
    use super::*;

    type B = Autodiff<burn_flex::Flex>;

    /// Reads the gradients of something.
    type Of<'a> = &'a dyn Fn(&Gradients) -> Vec<f32>;

    fn random<const D: usize>(shape: [usize; D], deviation: f64) -> Tensor<B, D> {
        Tensor::random(shape, Distribution::Normal(0.0, deviation), &Default::default()).require_grad()
    }

    fn norm(x: Tensor<B, 2>) -> Tensor<B, 2> {
        from(B::rms_norm(into(x)))
    }

    /// The numbers of `out`, and the gradients of a sum of them, are close to those of `plain`: what differs is rounded the other way where sums were made
    /// in another order.
    fn compare(out: Tensor<B, 2>, plain: Tensor<B, 2>, given: &[Of]) {
        let numbers = |x: &Tensor<B, 2>| x.clone().into_data().to_vec::<f32>().expect("numbers");
        let weighed = random(out.dims(), 1.0).detach();
        let mut found = vec![numbers(&out)];
        let mut wanted = vec![numbers(&plain)];
        for (out, list) in [(out, &mut found), (plain, &mut wanted)] {
            let gradients = (out * weighed.clone()).sum().backward();
            list.extend(given.iter().map(|of| of(&gradients)));
        }
        for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            assert_eq!(found.len(), wanted.len());
            let size = |of: &dyn Fn(usize) -> f32| {
                ((0..wanted.len()).map(|k| of(k) * of(k)).sum::<f32>() / wanted.len() as f32).sqrt()
            };
            let (off, size) = (size(&|k| found[k] - wanted[k]), size(&|k| wanted[k]));
            assert!(size > 1e-3 && off < 0.05 * size, "tensor {i}: off by {off}, of {size}");
        }
    }

    fn of<const D: usize>(x: &Tensor<B, D>) -> impl Fn(&Gradients) -> Vec<f32> {
        let x = x.clone();
        move |gradients| x.grad(gradients).expect("all are used").into_data().to_vec().expect("numbers")
    }

    #[test]
    fn fused_attention_is_that_of_its_parts() {
        let _rounding = Rounding::begin();
        if !B::fuses_blocks() {
            return;
        }
        for ([tokens, heads, d], n) in [([64, 3, 96], 3), ([10, 2, 12], 2), ([33, 1, 40], 1)] {
            let shape = Shape { tokens, heads };
            let x = random([n * tokens, d], 2.0);
            let made = random([n, heads, tokens, tokens], 1.0);
            let fixed = random([1, heads * tokens * tokens], 1.0);
            let weights = [(); 4].map(|()| random([d, d], 1.5 / (d as f64).sqrt()));
            let biases = [(); 3].map(|()| random([d], 0.3));
            let [query, key, value, out] = weights.clone().map(into);
            let [query_bias, value_bias, out_bias] = biases.clone().map(into);
            let maps = (into(made.clone()), into(fixed.clone()));
            let given = [into(x.clone()), maps.0, maps.1, query, key, value, out, query_bias, value_bias, out_bias];
            let fused = from(B::fused_attention(given, shape).expect("it is there"));

            let y = norm(x.clone());
            let linear = |i: usize, bias: Option<usize>| {
                let y = product(y.clone(), weights[i].clone());
                bias.map_or(y.clone(), |bias| add_row(y, biases[bias].clone().unsqueeze()))
            };
            let bias = made.clone() + fixed.clone().reshape([1, heads, tokens, tokens]);
            let [q, k, v] = [linear(0, Some(0)), linear(1, None), linear(2, Some(1))].map(into);
            let attended = from(B::biased_attention(q, k, v, Some(into(bias)), shape));
            let plain = x.clone() + add_row(product(attended, weights[3].clone()), biases[2].clone().unsqueeze());

            let [query, key, value, out] = weights.each_ref().map(of);
            let [query_bias, value_bias, out_bias] = biases.each_ref().map(of);
            let (x, made, fixed) = (of(&x), of(&made), of(&fixed));
            compare(
                fused,
                plain,
                &[&x, &made, &fixed, &query, &key, &value, &out, &query_bias, &value_bias, &out_bias],
            );
        }
    }

    #[test]
    fn a_fused_feed_forward_part_is_that_of_its_parts() {
        let _rounding = Rounding::begin();
        if !B::fuses_blocks() {
            return;
        }
        for [rows, d, ffn] in [[300, 96, 192], [7, 12, 20], [130, 40, 33]] {
            let [up, down] = [random([d, ffn], 0.2), random([ffn, d], 0.2)];
            let [up_bias, down_bias] = [random([ffn], 0.3), random([d], 0.3)];
            let before = |x: &Tensor<B, 2>, up: &Tensor<B, 2>, bias: &Tensor<B, 1>| {
                add_row(product(norm(x.clone()), up.clone()), bias.clone().unsqueeze())
            };
            // What is rounded to the other side of zero has another gradient altogether; among few rows one such number is too much.
            let apart = (up.clone().detach(), up_bias.clone().detach());
            let near =
                |x: &Tensor<B, 2>| before(&x.clone().detach(), &apart.0, &apart.1).abs().min().into_scalar() < 0.01;
            let mut x = random([rows, d], 2.0);
            while rows < 10 && near(&x) {
                x = random([rows, d], 2.0);
            }
            let weights = [into(up.clone()), into(up_bias.clone()), into(down.clone()), into(down_bias.clone())];
            let [of_up, of_up_bias, of_down, of_down_bias] = weights;
            let given = [into(x.clone()), of_up, of_up_bias, of_down, of_down_bias];
            let fused = from(B::fused_feed_forward(given).expect("it is there"));
            let hidden = relu(before(&x, &up, &up_bias));
            let plain = x.clone() + add_row(product(hidden, down.clone()), down_bias.clone().unsqueeze());
            compare(fused, plain, &[&of(&x), &of(&up), &of(&up_bias), &of(&down), &of(&down_bias)]);
        }
    }
}
