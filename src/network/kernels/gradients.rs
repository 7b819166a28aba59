//! The gradients, written out.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, binary, unary};
use burn::tensor::backend::Backend;
use burn::tensor::ops::{FloatTensor, IntTensor};

use super::layers::{AddRow, Product, ScaleByRow};
use super::{AttentionInputs, Curve, FeedForwardInputs, Kernels, Shape, from, fused_gradients, into};

#[derive(Debug)]
struct Attention;

/// What the gradients are made from: q, k, v in rows, the attention weights, and how the rows are to be read.
type Saved<B> = ([FloatTensor<B>; 4], Shape);

impl<B: Kernels> Backward<B, 3> for Attention {
    type State = Saved<B>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<B>(&ops.node);
        let (saved, shape) = ops.state;
        let [q, k, v, _] = B::attention_gradient(dy, saved, shape);
        for (node, gradient) in ops.parents.into_iter().zip([q, k, v]) {
            if let Some(node) = node {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

impl<B: Kernels> Backward<B, 4> for Attention {
    /// The same, and the shape of the bias.
    type State = (Saved<B>, [usize; 4]);

    fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<B>(&ops.node);
        let ((saved, shape), of_bias) = ops.state;
        let [q, k, v, scores] = B::attention_gradient(dy, saved, shape);
        let [of_q, of_k, of_v, node] = ops.parents;
        for (node, gradient) in [of_q, of_k, of_v].into_iter().zip([q, k, v]) {
            if let Some(node) = node {
                grads.register::<B>(node.id, gradient);
            }
        }
        if let Some(node) = node {
            grads.register::<B>(node.id, bias_gradient::<B>(scores, of_bias));
        }
    }
}

/// What was the same for several takes the gradients of all of them.
fn bias_gradient<B: Kernels>(scores: FloatTensor<B>, shape: [usize; 4]) -> FloatTensor<B> {
    let scores = from::<B, 4>(scores);
    let [n, heads, tokens, others] = scores.dims();
    let over_positions = if shape[0] == 1 && n != 1 {
        let rows = scores.reshape([n, heads * tokens * others]);
        from::<B, 2>(B::sum_rows(into(rows))).reshape([1, heads, tokens, others])
    } else {
        scores
    };
    into((1..4).fold(
        over_positions,
        |sum, dim| {
            if shape[dim] == 1 && sum.dims()[dim] != 1 { sum.sum_dim(dim) } else { sum }
        },
    ))
}

/// An activation; its state is the derivatives.
#[derive(Debug)]
struct Activate;

impl<B: Backend> Backward<B, 1> for Activate {
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let derivatives = from::<B, 2>(ops.state);
        unary::<B, _>(ops.parents, ops.node, grads, |grad| into(from::<B, 2>(grad) * derivatives));
    }
}

/// A bias that gates are added to; its state is where.
#[derive(Debug)]
struct Edges;

impl<B: Kernels> Backward<B, 2> for Edges {
    type State = (IntTensor<B>, Shape);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (edges, shape) = ops.state;
        binary::<B, _, _>(ops.parents, ops.node, grads, |dy| dy, |dy| B::edges_gradient(dy, edges, shape));
    }
}

/// Tokens against tokens; its state is both and the factor.
#[derive(Debug)]
struct Pairs;

impl<B: Kernels> Backward<B, 2> for Pairs {
    type State = ([FloatTensor<B>; 2], f64);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<B>(&ops.node);
        let ([a, b], factor) = ops.state;
        for (node, gradient) in ops.parents.into_iter().zip(B::pairs_gradient(dy, a, b, factor)) {
            if let Some(node) = node {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

/// Squares and the squares around them; `true` collects.
#[derive(Debug)]
struct Around(bool);

impl<B: Kernels> Backward<B, 1> for Around {
    type State = ();

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let Around(collects) = self;
        unary::<B, _>(
            ops.parents,
            ops.node,
            grads,
            |grad| {
                if collects { B::neighbours(grad) } else { B::collect(grad) }
            },
        );
    }
}

#[derive(Debug)]
struct RmsNorm;

impl<B: Kernels> Backward<B, 1> for RmsNorm {
    /// The normalised rows and their scales.
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (y, scale) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |grad| B::rms_norm_gradient(grad, y, scale));
    }
}

impl<B: Kernels, C: CheckpointStrategy> Kernels for Autodiff<B, C> {
    fn rounds_products() -> bool {
        B::rounds_products()
    }

    fn fuses_blocks() -> bool {
        B::fused().is_some()
    }

    fn fused_attention(given: AttentionInputs<FloatTensor<Self>>, shape: Shape) -> Option<FloatTensor<Self>> {
        fused_gradients::attention::<B, C>(given, shape)
    }

    fn fused_feed_forward(given: FeedForwardInputs<FloatTensor<Self>>) -> Option<FloatTensor<Self>> {
        fused_gradients::feed_forward::<B, C>(given)
    }

    fn biased_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        shape: Shape,
    ) -> FloatTensor<Self> {
        let nodes = [&q, &k, &v].map(|t| t.node.clone());
        let (q, k, v) = (q.primitive, k.primitive, v.primitive);
        // The attended values, and what the gradients will want.
        let look = |bias: Option<FloatTensor<B>>, [q, k, v]: [FloatTensor<B>; 3]| {
            let [out, weights] = B::weighed_attention([q.clone(), k.clone(), v.clone()], bias, shape);
            (([q, k, v, weights], shape), out)
        };
        let Some(bias) = bias else {
            return match Attention.prepare::<C>(nodes).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let (saved, out) = look(None, [q, k, v]);
                    prep.finish(saved, out)
                }
                OpsKind::UnTracked(prep) => prep.finish(B::biased_attention(q, k, v, None, shape)),
            };
        };
        let [node_q, node_k, node_v] = nodes;
        let nodes = [node_q, node_k, node_v, bias.node.clone()];
        let bias = bias.primitive;
        match Attention.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let of_bias = from::<B, 4>(bias.clone()).dims();
                let (saved, out) = look(Some(bias), [q, k, v]);
                prep.finish((saved, of_bias), out)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::biased_attention(q, k, v, Some(bias), shape)),
        }
    }

    fn add_edges(
        bias: FloatTensor<Self>,
        gates: FloatTensor<Self>,
        edges: IntTensor<Self>,
        shape: Shape,
    ) -> FloatTensor<Self> {
        let out = B::add_edges(bias.primitive, gates.primitive, edges.clone(), shape);
        match Edges.prepare::<C>([bias.node, gates.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((edges, shape), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn pairs(a: FloatTensor<Self>, b: FloatTensor<Self>, tokens: usize, factor: f64) -> FloatTensor<Self> {
        let out = B::pairs(a.primitive.clone(), b.primitive.clone(), tokens, factor);
        match Pairs.prepare::<C>([a.node, b.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(([a.primitive, b.primitive], factor), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn activate(x: FloatTensor<Self>, kind: Curve, _: bool) -> (FloatTensor<Self>, Option<FloatTensor<Self>>) {
        let values = match Activate.prepare::<C>([x.node.clone()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (values, derivatives) = B::activate(x.primitive, kind, true);
                match derivatives {
                    Some(derivatives) => prep.finish(derivatives, values),
                    None => unreachable!("they were wanted"),
                }
            }
            OpsKind::UnTracked(prep) => prep.finish(B::activate(x.primitive, kind, false).0),
        };
        (values, None)
    }

    fn neighbours(x: FloatTensor<Self>) -> FloatTensor<Self> {
        match Around(false).prepare::<C>([x.node.clone()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((), B::neighbours(x.primitive)),
            OpsKind::UnTracked(prep) => prep.finish(B::neighbours(x.primitive)),
        }
    }

    fn collect(x: FloatTensor<Self>) -> FloatTensor<Self> {
        match Around(true).prepare::<C>([x.node.clone()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((), B::collect(x.primitive)),
            OpsKind::UnTracked(prep) => prep.finish(B::collect(x.primitive)),
        }
    }

    fn bytes(bytes: Vec<u8>, shape: [usize; 2], device: &Self::Device) -> IntTensor<Self> {
        B::bytes(bytes, shape, device)
    }

    fn product(x: FloatTensor<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let nodes = [x.node.clone(), weights.node.clone()];
        match Product.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let kept = [
                    weights.is_tracked().then(|| x.primitive.clone()),
                    x.is_tracked().then(|| weights.primitive.clone()),
                ];
                prep.finish(kept, B::product(x.primitive, weights.primitive))
            }
            OpsKind::UnTracked(prep) => prep.finish(B::product(x.primitive, weights.primitive)),
        }
    }

    fn add_row(x: FloatTensor<Self>, row: FloatTensor<Self>) -> FloatTensor<Self> {
        let out = B::add_row(x.primitive, row.primitive);
        match AddRow.prepare::<C>([x.node, row.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn scale_by_row(x: FloatTensor<Self>, row: FloatTensor<Self>) -> FloatTensor<Self> {
        match ScaleByRow.prepare::<C>([x.node, row.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let kept = [x.primitive.clone(), row.primitive.clone()];
                prep.finish(kept, B::scale_by_row(x.primitive, row.primitive))
            }
            OpsKind::UnTracked(prep) => prep.finish(B::scale_by_row(x.primitive, row.primitive)),
        }
    }

    fn rms_norm(x: FloatTensor<Self>) -> FloatTensor<Self> {
        match RmsNorm.prepare::<C>([x.node.clone()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (y, scale) = B::rms_norm_scaled(x.primitive);
                prep.finish((y.clone(), scale), y)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::rms_norm(x.primitive)),
        }
    }
}
