//! The body: a transformer encoder, or a tower of convolutions.

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::{Int, Tensor};

use super::block::{Block, Memory, Shared, Sizes};
use super::config;
use super::embedding::Embedded;
use super::kernels::{Kernels, add_row, from, into, scale_by_row};
use super::linear::{Linear, normal};
use super::norm::{Norm, norm};

/// The trunk that a config names.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a network: nothing is gained by a box")]
pub(super) enum Trunk<B: Kernels> {
    Encoder(Encoder<B>),
    Residual(Residual<B>),
}

/// What a trunk gives.
pub(super) struct Trunked<B: Kernels> {
    /// `[batch × tokens, d]`
    pub(super) rows: Tensor<B, 2>,
    /// Losses of its own: `[1]`.
    pub(super) auxiliary: Option<Tensor<B, 1>>,
    /// Of each block, where more tokens follow the board's.
    pub(super) memories: Vec<Memory<B>>,
    /// `[batch, 1, 1, tokens]`
    pub(super) mask: Option<Tensor<B, 4>>,
    tokens: usize,
}

impl<B: Kernels> Trunked<B> {
    /// Positions, tokens of each, width.
    pub(super) fn dims(&self) -> [usize; 3] {
        let [rows, d] = self.rows.dims();
        [rows / self.tokens, self.tokens, d]
    }

    /// The rows of the 64 tokens from `first` on: `[batch × 64, d]`.
    pub(super) fn squares(&self, first: usize) -> Tensor<B, 2> {
        let [n, tokens, d] = self.dims();
        if tokens == 64 {
            return self.rows.clone();
        }
        self.rows.clone().reshape([n, tokens, d]).slice([0..n, first..first + 64]).reshape([n * 64, d])
    }
}

impl<B: Kernels> Trunk<B> {
    pub(super) fn new(config: &config::Config, device: &B::Device) -> Self {
        match &config.trunk {
            config::Trunk::Encoder { .. } => Trunk::Encoder(Encoder::new(config, device)),
            &config::Trunk::Residual { blocks, channels } => Trunk::Residual(Residual::new(blocks, channels, device)),
        }
    }

    /// With so many blocks, if it is an encoder that has fewer.
    pub(super) fn deeper(self, layers: usize) -> Self {
        match self {
            Trunk::Encoder(trunk) if layers > trunk.blocks.len() => Trunk::Encoder(trunk.deeper(layers)),
            trunk => trunk,
        }
    }

    /// With a feed-forward part of so many hidden numbers in each block, if it is an encoder that has fewer.
    pub(super) fn wider(self, ffn: usize) -> Self {
        match self {
            Trunk::Encoder(trunk) => {
                let blocks = trunk.blocks.into_iter().map(|block| block.wider(ffn)).collect();
                Trunk::Encoder(Encoder { blocks, ..trunk })
            }
            trunk => trunk,
        }
    }

    /// With a bias by so many kinds of edges in each block, if it is an encoder.
    pub(super) fn with_edges(self, kinds: usize) -> Self {
        match self {
            Trunk::Encoder(trunk) => {
                let blocks = trunk.blocks.into_iter().map(|block| block.with_edges(kinds)).collect();
                Trunk::Encoder(Encoder { blocks, ..trunk })
            }
            trunk => trunk,
        }
    }

    /// `edges` are those between squares, in bytes, where blocks are shown them: `[batch, kinds × 64 × 8]`; `followed` says whether
    /// more tokens are to follow the board's.
    pub(super) fn forward(&self, x: Embedded<B>, edges: Option<Tensor<B, 2, Int>>, followed: bool) -> Trunked<B> {
        match self {
            Trunk::Encoder(trunk) => trunk.forward(x, edges, followed),
            Trunk::Residual(trunk) => {
                let (tokens, memories) = (x.tokens, Vec::new());
                Trunked { rows: trunk.forward(x.rows), auxiliary: None, memories, mask: None, tokens }
            }
        }
    }
}

/// Pre-norm transformer encoder.
#[derive(Module, Debug)]
pub(super) struct Encoder<B: Kernels> {
    input_norm: Option<Norm<B>>,
    pub(super) blocks: Vec<Block<B>>,
    /// The matrix that expands the generators' codes to maps: `[generate, 64 × 64]`.
    pub(super) shared_map: Option<Param<Tensor<B, 2>>>,
    cls_map: Option<Linear<B>>,
    output_norm: Norm<B>,
}

impl<B: Kernels> Encoder<B> {
    fn new(config: &config::Config, device: &B::Device) -> Self {
        let config::Trunk::Encoder {
            layers,
            d_model: d,
            heads,
            ffn,
            norm,
            activation,
            biases,
            input_norm,
            static_bias,
            ref smolgen,
            ref edges,
            cls_map,
            experts,
        } = config.trunk
        else {
            unreachable!("called for encoders only")
        };
        let tokens = config.embedding.tokens();
        let smolgen = smolgen.as_ref();
        let sizes = Sizes {
            layers,
            tokens,
            d,
            heads,
            ffn,
            norm,
            activation,
            biases,
            static_bias,
            smolgen,
            edges: edges.len(),
            experts,
        };
        Encoder {
            input_norm: input_norm.then(|| Norm::new(norm, d, device)),
            blocks: (0..layers).map(|_| Block::new(&sizes, device)).collect(),
            shared_map: smolgen.map(|s| normal([s.generate, 64 * 64], 0.3 / (s.generate as f64).sqrt(), device)),
            cls_map: cls_map.then(|| Linear::new(d, tokens * tokens, 0.3, true, device)),
            output_norm: Norm::new(norm, d, device),
        }
    }

    /// With more blocks, each after the one that it [follows](Block::follower), evenly among those that there are.
    fn deeper(self, layers: usize) -> Self {
        let own = self.blocks.len();
        let from = |i: usize| i * own / layers;
        let block = |i: usize| match &self.blocks[from(i)] {
            block if i > 0 && from(i - 1) == from(i) => block.follower(),
            block => block.clone(),
        };
        Encoder { blocks: (0..layers).map(block).collect(), ..self }
    }

    fn forward(&self, x: Embedded<B>, edges: Option<Tensor<B, 2, Int>>, followed: bool) -> Trunked<B> {
        let mask = x.mask.map(|mask| {
            let [n, tokens] = mask.dims();
            mask.reshape([n, 1, 1, tokens])
        });
        let shared = Shared {
            map: self.shared_map.as_ref().map(Param::val),
            cls_map: self.cls_map.clone(),
            mask: mask.clone(),
            edges,
            followed,
        };
        let mut rows = x.rows;
        if let Some(norm) = &self.input_norm {
            rows = norm.forward(rows);
        }
        let (mut auxiliary, mut memories) = (None, Vec::with_capacity(self.blocks.len()));
        for block in &self.blocks {
            let passed = block.forward(rows, &shared);
            rows = passed.rows;
            memories.extend(passed.memory);
            auxiliary = [auxiliary, passed.auxiliary].into_iter().flatten().reduce(|a, b| a + b);
        }
        Trunked { rows: self.output_norm.forward(rows), auxiliary, memories, mask, tokens: x.tokens }
    }

    /// More tokens after the board's through all blocks, as [`Block::follow`]; `before` has a list of memories for each block.
    pub(super) fn follow(
        &self,
        mut x: Tensor<B, 2>,
        board: &Trunked<B>,
        before: &[Vec<Memory<B>>],
        count: usize,
    ) -> (Tensor<B, 2>, Vec<Memory<B>>) {
        let mut own = Vec::with_capacity(self.blocks.len());
        for (i, (block, memory)) in self.blocks.iter().zip(&board.memories).enumerate() {
            let earlier = before.get(i).map_or(&[][..], Vec::as_slice);
            let (next, memory) = block.follow(x, memory, board.mask.clone(), earlier, count);
            x = next;
            own.push(memory);
        }
        (self.output_norm.forward(x), own)
    }
}

/// Two 3 × 3 convolutions around a shortcut, as in AlphaZero.
#[derive(Module, Debug)]
pub(super) struct Residual<B: Kernels> {
    stem: Convolution<B>,
    blocks: Vec<[Convolution<B>; 2]>,
}

/// A 3 × 3 convolution, normalised over each position's whole output (group normalisation with one group), with gain and shift a
/// channel. Squares stay rows: the nine squares around each are put side by side, and one matrix product does the rest.
#[derive(Module, Debug)]
struct Convolution<B: Kernels> {
    /// `[9 × from, to]`, from below left, row by row.
    kernel: Linear<B>,
    /// `[to]`
    gain: Param<Tensor<B, 1>>,
    /// `[to]`
    shift: Param<Tensor<B, 1>>,
}

impl<B: Kernels> Convolution<B> {
    fn new(from: usize, to: usize, device: &B::Device) -> Self {
        Convolution {
            kernel: Linear::new(9 * from, to, 1.4, false, device),
            gain: Param::from_tensor(Tensor::ones([to], device)),
            shift: Param::from_tensor(Tensor::zeros([to], device)),
        }
    }

    /// `[batch × 64, from]` to `[batch × 64, to]`, without an activation.
    fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let y = self.kernel.forward(from(B::neighbours(into(x))));
        let [rows, to] = y.dims();
        let flat = y.reshape([rows / 64, 64 * to]);
        let flat = norm(flat.clone() - flat.mean_dim(1));
        add_row(scale_by_row(flat.reshape([rows, to]), self.gain.val().unsqueeze()), self.shift.val().unsqueeze())
    }
}

impl<B: Kernels> Residual<B> {
    fn new(blocks: usize, channels: usize, device: &B::Device) -> Self {
        let pair = |_| [Convolution::new(channels, channels, device), Convolution::new(channels, channels, device)];
        Residual { stem: Convolution::new(config::PLANES, channels, device), blocks: (0..blocks).map(pair).collect() }
    }

    /// `[batch × 64, planes]` to `[batch × 64, channels]`.
    fn forward(&self, planes: Tensor<B, 2>) -> Tensor<B, 2> {
        let mut x = relu(self.stem.forward(planes));
        for [first, second] in &self.blocks {
            x = relu(second.forward(relu(first.forward(x.clone()))) + x);
        }
        x
    }
}
