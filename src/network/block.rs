//! One pre-norm encoder block.

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::activation::softmax;
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor};

use super::attention_bias::{EdgeBias, Generator, StaticBias};
use super::config::{Activation, Biases, Experts, Norm as NormKind, Smolgen};
use super::experts::{FeedForward, Mixture};
use super::kernels::{Kernels, Shape, add_row, from, into, scale, split_heads};
use super::linear::Linear;
use super::norm::Norm;
use super::precision::{cast, wide};

/// `x + attention(norm(x))`, then `x + ffn(norm(x))`.
#[derive(Module, Debug)]
pub(super) struct Block<B: Kernels> {
    attention_norm: Norm<B>,
    pub(super) query: Linear<B>,
    pub(super) key: Linear<B>,
    pub(super) value: Linear<B>,
    pub(super) out: Linear<B>,
    pub(super) static_bias: Option<StaticBias<B>>,
    pub(super) generator: Option<Generator<B>>,
    pub(super) edge_bias: Option<EdgeBias<B>>,
    ffn_norm: Norm<B>,
    pub(super) ffn: Ffn<B>,
    /// Tokens, heads.
    pub(super) shape: [usize; 2],
}

#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a network: nothing is gained by a box")]
pub(super) enum Ffn<B: Kernels> {
    Dense(FeedForward<B>),
    Mixture(Mixture<B>),
}

/// Makes every weight one of its own.
struct Anew;

impl<B: Backend> ModuleMapper<B> for Anew {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (_, weight, mapper) = param.consume();
        let trained = weight.is_require_grad();
        Param::from_mapped_value(ParamId::new(), weight.detach().set_require_grad(trained), mapper)
    }
}

/// The sizes of a block.
pub(super) struct Sizes<'a> {
    pub(super) layers: usize,
    pub(super) tokens: usize,
    pub(super) d: usize,
    pub(super) heads: usize,
    pub(super) ffn: usize,
    pub(super) norm: NormKind,
    pub(super) activation: Activation,
    pub(super) biases: Biases,
    pub(super) static_bias: bool,
    pub(super) smolgen: Option<&'a Smolgen>,
    /// Kinds of edges that squares look at each other by.
    pub(super) edges: usize,
    pub(super) experts: Option<Experts>,
}

/// What all blocks of a trunk are given besides the rows.
#[derive(Clone)]
pub(super) struct Shared<B: Kernels> {
    /// The generators' matrix: `[generate, 64 × 64]`.
    pub(super) map: Option<Tensor<B, 2>>,
    /// Makes a map from the `[CLS]` state, the first row of each position.
    pub(super) cls_map: Option<Linear<B>>,
    /// Large negative numbers on tokens that are not there: `[batch, 1, 1, tokens]`.
    pub(super) mask: Option<Tensor<B, 4>>,
    /// Edges between squares, in bytes, where blocks are shown them: `[batch, kinds × 64 × 8]`.
    pub(super) edges: Option<Tensor<B, 2, Int>>,
    /// Whether more tokens [follow](Block::follow) the board's.
    pub(super) followed: bool,
}

/// Keys and values of a block's tokens, in rows: what later tokens attend to.
#[derive(Clone)]
pub(super) struct Memory<B: Kernels> {
    pub(super) key: Tensor<B, 2>,
    pub(super) value: Tensor<B, 2>,
}

/// What a block gives.
pub(super) struct Passed<B: Kernels> {
    /// `[batch × tokens, d]`
    pub(super) rows: Tensor<B, 2>,
    /// Where [more tokens follow](Shared::followed), or it was made anyway.
    pub(super) memory: Option<Memory<B>>,
    /// The router's losses, where there is one: `[1]`.
    pub(super) auxiliary: Option<Tensor<B, 1>>,
}

impl<B: Kernels> Block<B> {
    pub(super) fn new(s: &Sizes, device: &B::Device) -> Self {
        // Residual branches start small, so that the sum of all of them keeps its size (GPT-2).
        let small = 1.0 / (2.0 * s.layers as f64).sqrt();
        let bias = s.biases != Biases::None;
        let ffn = (s.d, s.ffn);
        Block {
            attention_norm: Norm::new(s.norm, s.d, device),
            query: Linear::new(s.d, s.d, 1.0, bias, device),
            key: Linear::new(s.d, s.d, 1.0, s.biases == Biases::All, device),
            value: Linear::new(s.d, s.d, 1.0, bias, device),
            out: Linear::new(s.d, s.d, small, bias, device),
            static_bias: s.static_bias.then(|| StaticBias::new(s.heads, s.tokens, device)),
            generator: s.smolgen.map(|c| Generator::new(c, s.d, s.heads, device)),
            edge_bias: (s.edges > 0).then(|| EdgeBias::new(s.d, s.heads, s.edges, device)),
            ffn_norm: Norm::new(s.norm, s.d, device),
            ffn: match s.experts {
                None => Ffn::Dense(FeedForward::new(ffn, small, s.activation, s.biases, device)),
                Some(experts) => Ffn::Mixture(Mixture::new(experts, ffn, small, s.activation, s.biases, device)),
            },
            shape: [s.tokens, s.heads],
        }
    }

    /// A block to come after this one: a copy of it, of weights of its own, whose two branches add nothing yet. So it changes nothing
    /// of what a network says, and learns from what the block before it has learnt (LLaMA Pro, Wu et al. 2024).
    pub(super) fn follower(&self) -> Self {
        let block = self.clone().map(&mut Anew);
        let ffn = match block.ffn {
            Ffn::Dense(ffn) => Ffn::Dense(ffn.silent()),
            Ffn::Mixture(mixture) => Ffn::Mixture(mixture.silent()),
        };
        Block { out: block.out.silent(), ffn, ..block }
    }

    /// The block with a feed-forward part of so many hidden numbers, if it has fewer, that gives the same.
    pub(super) fn wider(self, ffn: usize) -> Self {
        let ffn = match self.ffn {
            Ffn::Dense(own) => Ffn::Dense(own.wider(ffn)),
            Ffn::Mixture(own) => Ffn::Mixture(own.wider(ffn)),
        };
        Block { ffn, ..self }
    }

    /// The block with a bias by so many kinds of edges, if it has fewer, that gives the same.
    pub(super) fn with_edges(self, kinds: usize) -> Self {
        let ([d, _], [_, heads], device) = (self.query.weight.dims(), self.shape, self.query.weight.device());
        let bias = self.edge_bias.unwrap_or_else(|| EdgeBias::new(d, heads, kinds, &device));
        Block { edge_bias: Some(bias.with_kinds(kinds, heads)), ..self }
    }

    fn shape(&self) -> Shape {
        let [tokens, heads] = self.shape;
        Shape { tokens, heads }
    }

    /// `[batch × tokens, d]` to the same.
    pub(super) fn forward(&self, x: Tensor<B, 2>, shared: &Shared<B>) -> Passed<B> {
        let y = self.attention_norm.forward(x.clone());
        if let Some(rows) = self.attend_fused(&x, &y, shared) {
            let (rows, auxiliary) = self.feed(rows);
            return Passed { rows, memory: None, auxiliary };
        }
        let (q, memory) = self.project(y.clone());
        let bias = self.bias(y, shared).map(into);
        let (k, v) = (memory.key.clone(), memory.value.clone());
        let attended = from(B::biased_attention(into(q), into(k), into(v), bias, self.shape()));
        let (rows, auxiliary) = self.feed(x + self.out.forward(attended));
        Passed { rows, memory: Some(memory), auxiliary }
    }

    /// `x + attention(y)`, fused, if it is of the kind that backends may have so.
    fn attend_fused(&self, x: &Tensor<B, 2>, y: &Tensor<B, 2>, shared: &Shared<B>) -> Option<Tensor<B, 2>> {
        let alone = !shared.followed && shared.cls_map.is_none() && shared.mask.is_none();
        if !alone || !self.attention_norm.is_plain() || self.key.bias.is_some() || !B::fuses_blocks() {
            return None;
        }
        let [query_bias, value_bias, out_bias] =
            [&self.query, &self.value, &self.out].map(|layer| layer.bias.as_ref().map(Param::val));
        let (query_bias, value_bias, out_bias) = (query_bias?, value_bias?, out_bias?);
        let (generator, fixed) = self.generator.as_ref().zip(self.static_bias.as_ref())?;
        let Shape { tokens, heads } = self.shape();
        let made = generator.forward(y.clone(), shared.map.clone()?);
        let made = self.by_edges(made.reshape([y.dims()[0] / tokens, heads, tokens, tokens]), y, shared);
        let [query, key, value, out] =
            [&self.query, &self.key, &self.value, &self.out].map(|layer| into(layer.weight.val()));
        let [query_bias, value_bias, out_bias] = [query_bias, value_bias, out_bias].map(into);
        let fixed = into(fixed.forward());
        let given = [into(x.clone()), into(made), fixed, query, key, value, out, query_bias, value_bias, out_bias];
        B::fused_attention(given, self.shape()).map(from)
    }

    /// Query; key and value.
    fn project(&self, y: Tensor<B, 2>) -> (Tensor<B, 2>, Memory<B>) {
        let memory = Memory { key: self.key.forward(y.clone()), value: self.value.forward(y.clone()) };
        (self.query.forward(y), memory)
    }

    fn feed(&self, x: Tensor<B, 2>) -> (Tensor<B, 2>, Option<Tensor<B, 1>>) {
        if let Some(rows) = self.feed_fused(&x) {
            return (rows, None);
        }
        let y = self.ffn_norm.forward(x.clone());
        match &self.ffn {
            Ffn::Dense(ffn) => (x + ffn.forward(y), None),
            Ffn::Mixture(mixture) => {
                let (y, auxiliary) = mixture.forward(y);
                (x + y, Some(auxiliary))
            }
        }
    }

    /// `x + ffn(norm(x))`, fused, likewise.
    fn feed_fused(&self, x: &Tensor<B, 2>) -> Option<Tensor<B, 2>> {
        let Ffn::Dense(ffn) = &self.ffn else { return None };
        if !self.ffn_norm.is_plain() || !B::fuses_blocks() {
            return None;
        }
        let [up, up_bias, down, down_bias] = ffn.plain()?;
        B::fused_feed_forward([into(x.clone()), up, up_bias, down, down_bias]).map(from)
    }

    /// What is added to the attention logits: `[batch or 1, heads or 1, tokens or 1, tokens]`.
    fn bias(&self, y: Tensor<B, 2>, shared: &Shared<B>) -> Option<Tensor<B, 4>> {
        let Shape { tokens, heads } = self.shape();
        let n = y.dims()[0] / tokens;
        let made = self.generator.as_ref().zip(shared.map.clone()).map(|(g, map)| g.forward(y.clone(), map));
        let fixed = self.static_bias.as_ref().map(StaticBias::forward);
        let all = heads * tokens * tokens;
        let by_head = match (made, fixed) {
            // Added as two-dimensional rows: the shape that backends broadcast best.
            (Some(made), Some(fixed)) => {
                Some(add_row(made.reshape([n, all]), fixed).reshape([n, heads, tokens, tokens]))
            }
            (Some(made), None) => Some(made.reshape([n, heads, tokens, tokens])),
            (None, Some(fixed)) => Some(fixed.reshape([1, heads, tokens, tokens])),
            (None, None) => None,
        };
        let by_head = match &self.edge_bias {
            Some(_) => {
                let bias =
                    by_head.unwrap_or_else(|| cast(Tensor::zeros([1, heads, tokens, tokens], &y.device()), y.dtype()));
                Some(self.by_edges(bias.expand([n, heads, tokens, tokens]), &y, shared))
            }
            None => by_head,
        };
        let by_cls = shared.cls_map.as_ref().map(|linear| {
            let d = y.dims()[1];
            let cls = y.reshape([n, tokens * d]).slice([0..n, 0..d]);
            linear.forward(cls).reshape([n, 1, tokens, tokens])
        });
        [by_head, by_cls, shared.mask.clone()].into_iter().flatten().reduce(|a, b| a + b)
    }

    /// A map `[batch, heads, tokens, tokens]` with what edges add to it, if anything.
    fn by_edges(&self, map: Tensor<B, 4>, y: &Tensor<B, 2>, shared: &Shared<B>) -> Tensor<B, 4> {
        match (&self.edge_bias, &shared.edges) {
            (Some(bias), Some(edges)) => bias.add_to(map, y.clone(), edges.clone()),
            _ => map,
        }
    }

    /// More tokens after the board's, `count` for each position, none of which sees another: `[batch × count, d]` to the same.
    /// Each attends to the board's tokens, to those in `before` in its own row, and to itself.
    pub(super) fn follow(
        &self,
        x: Tensor<B, 2>,
        board: &Memory<B>,
        mask: Option<Tensor<B, 4>>,
        before: &[Memory<B>],
        count: usize,
    ) -> (Tensor<B, 2>, Memory<B>) {
        let heads = self.shape().heads;
        let [rows, d] = x.dims();
        let (n, c) = (rows / count, d / heads);
        let (q, own) = self.project(self.attention_norm.forward(x.clone()));
        let q = q.clone().mul_scalar(scale(&q, heads));
        let mine = Shape { tokens: count, heads };
        let on_board =
            split_heads(q.clone(), mine).matmul(split_heads(board.key.clone(), self.shape()).swap_dims(2, 3));
        let on_board = match mask {
            Some(mask) => on_board + mask,
            None => on_board,
        };
        // `[rows, heads × c]` to `[n, heads, count, c]`, or 1 where c was summed up.
        let by_head = |x: Tensor<B, 3>| {
            let [_, _, last] = x.dims();
            x.reshape([n, count, heads, last]).swap_dims(1, 2)
        };
        let context: Vec<&Memory<B>> = before.iter().chain([&own]).collect();
        let mut scores = vec![on_board];
        for memory in &context {
            scores.push(by_head((q.clone() * memory.key.clone()).reshape([rows, heads, c]).sum_dim(2)));
        }
        let scores = Tensor::cat(scores, 3);
        let p = cast(softmax(wide(scores.clone()), 3), scores.dtype());
        let tokens = self.shape().tokens;
        let of = |from: usize, to: usize| p.clone().slice([0..n, 0..heads, 0..count, from..to]);
        let mut attended = of(0, tokens).matmul(split_heads(board.value.clone(), self.shape()));
        for (i, memory) in context.iter().enumerate() {
            let value = by_head(memory.value.clone().reshape([rows, heads, c]));
            attended = attended + of(tokens + i, tokens + i + 1) * value;
        }
        let attended = attended.swap_dims(1, 2).reshape([rows, d]);
        let (rows, _) = self.feed(x + self.out.forward(attended));
        (rows, own)
    }
}
