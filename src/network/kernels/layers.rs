//! The gradients of what linear layers and normalisations do to rows.
//!
//! Those of weights, biases and gains are sums over all rows, hundreds of thousands of them in training: backends are asked for each in
//! one piece, and give it in single precision.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, binary};
use burn::tensor::Tensor;
use burn::tensor::ops::FloatTensor;

use super::{Kernels, from, into};

/// Rows times weights.
#[derive(Debug)]
pub(super) struct Product;

impl<B: Kernels> Backward<B, 2> for Product {
    /// The rows where the weights' gradient is wanted, the weights where the rows' is.
    type State = [Option<FloatTensor<B>>; 2];

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [rows, weights] = ops.state.map(|kept| {
            move || -> Tensor<B, 2> { from(kept.unwrap_or_else(|| unreachable!("kept for the gradient"))) }
        });
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |dy| B::row_gradient(dy, into(weights())),
            |dy| B::weight_gradient(into(rows()), dy),
        );
    }
}

/// A row added to every row.
#[derive(Debug)]
pub(super) struct AddRow;

impl<B: Kernels> Backward<B, 2> for AddRow {
    type State = ();

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        binary::<B, _, _>(ops.parents, ops.node, grads, |dy| dy, B::sum_rows);
    }
}

/// Every row times a row.
#[derive(Debug)]
pub(super) struct ScaleByRow;

impl<B: Kernels> Backward<B, 2> for ScaleByRow {
    /// The rows and the row.
    type State = [FloatTensor<B>; 2];

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [rows, row] = ops.state.map(from::<B, 2>);
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |dy| into(from::<B, 2>(dy) * row),
            |dy| B::sum_rows(into(from::<B, 2>(dy) * rows)),
        );
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Autodiff;
    use burn::tensor::Distribution;

    use super::super::{add_row, product, scale_by_row};
    use super::*;

    type B = Autodiff<burn_flex::Flex>;

    #[test]
    fn gradients_are_those_of_the_plain_operations() {
        let random = |shape: [usize; 2]| {
            Tensor::<B, 2>::random(shape, Distribution::Normal(0.0, 1.0), &Default::default()).require_grad()
        };
        let given = [random([7, 5]), random([5, 3]), random([1, 3]), random([1, 3])];
        let weighed = random([7, 3]);
        let gradients = |y: Tensor<B, 2>| {
            let gradients = (y * weighed.clone()).sum().backward();
            given.each_ref().map(|x| x.grad(&gradients).expect("all are used").into_data())
        };
        let [x, w, gain, bias] = given.clone();
        let plain = gradients(x.clone().matmul(w.clone()) * gain.clone() + bias.clone());
        let ours = gradients(add_row(scale_by_row(product(x, w), gain), bias));
        for (a, b) in ours.iter().zip(&plain) {
            a.assert_approx_eq::<f32>(b, burn::tensor::Tolerance::absolute(1e-5));
        }
    }

    #[test]
    fn what_is_not_trained_costs_no_gradient() {
        let device = Default::default();
        let x = Tensor::<B, 2>::ones([2, 3], &device);
        let w = Tensor::<B, 2>::ones([3, 4], &device);
        for trains_rows in [false, true] {
            let (x, w) =
                if trains_rows { (x.clone().require_grad(), w.clone()) } else { (x.clone(), w.clone().require_grad()) };
            let gradients = product(x.clone(), w.clone()).sum().backward();
            assert_eq!(x.grad(&gradients).is_some(), trains_rows);
            assert_eq!(w.grad(&gradients).is_some(), !trains_rows);
        }
    }
}
