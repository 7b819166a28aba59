//! The two parts of an encoder block, each fused to one operation with its normalisation, linear layers and shortcut.
//!
//! Both are of pre-norm blocks, with root-mean-square normalisation without a gain.

use burn::tensor::ops::FloatTensor;

use super::{Kernels, Shape};

/// What goes into `x + attended·out + out_bias`, where [`biased_attention`](Kernels::biased_attention) attends by the queries
/// `y·query + query_bias`, the keys `y·key` and the values `y·value + value_bias` of the normalised rows y, with the bias `made + fixed`.
///
/// In this order: the rows x, `[n × tokens, d]`; `made`, `[n, heads, tokens, tokens]`; `fixed`, `[1, heads × tokens × tokens]`; the weights of queries,
/// keys, values and of what is attended to, `[d, d]` each; the biases of queries, values and of what is attended to, `[d]` each.
pub type AttentionInputs<T> = [T; 10];

/// What goes into `x + relu(rms_norm(x)·up + up_bias)·down + down_bias`, in this order: the rows x, `[rows, d]`; `up`, `[d, ffn]`; `up_bias`,
/// `[ffn]`; `down`, `[ffn, d]`; `down_bias`, `[d]`.
pub type FeedForwardInputs<T> = [T; 5];

/// Both, as a backend computes them in single precision.
#[derive(Clone, Debug)]
#[expect(clippy::type_complexity, reason = "names for these would say no more")]
pub struct Fused<B: Kernels> {
    /// What comes out, and what went in with the weights of the softmax in the place of `made`.
    pub attention: fn(AttentionInputs<FloatTensor<B>>, Shape) -> (FloatTensor<B>, AttentionInputs<FloatTensor<B>>),
    /// The gradients of what went in, from that of what came out and what [`attention`](Fused::attention) gave beside it.
    pub attention_gradient:
        fn(FloatTensor<B>, AttentionInputs<FloatTensor<B>>, Shape) -> AttentionInputs<FloatTensor<B>>,
    /// What comes out.
    pub feed_forward: fn(FeedForwardInputs<FloatTensor<B>>) -> FloatTensor<B>,
    /// The gradients of what went in, from that of what came out.
    pub feed_forward_gradient:
        fn(FloatTensor<B>, FeedForwardInputs<FloatTensor<B>>) -> FeedForwardInputs<FloatTensor<B>>,
}
