//! One block of the encoder.

use super::super::attention_bias;
use super::super::block::{self, Ffn};
use super::super::experts;
use super::super::kernels::rows::rms_norm;
use super::super::kernels::{EPSILON, Kernels};
use super::attention::{MAP, SQUARES, attend, turned};
use super::balance::Balance;
use super::bytes::{Bytes, Numbers};
use super::edges::{self, Graph};
use super::floats::Rows;
use super::layer::{Layer, numbers};
use super::matrix::{Matrix, Then};

/// What a pass through the blocks needs, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) bytes: Bytes,
    /// Query, key, value, what squares are compressed to, and gates.
    projected: Vec<f32>,
    /// A map a head.
    maps: Vec<f32>,
    attended: Vec<f32>,
    /// Of a feed-forward part, or what moves and values are read out of.
    pub(super) hidden: Vec<f32>,
}

/// A block's weights as bytes.
#[derive(Debug)]
pub(super) struct Block {
    attention: Attention,
    ffn: FeedForward,
}

/// `x + attention(norm(x))`
#[derive(Debug)]
struct Attention {
    balance: Balance,
    /// Query, key, value; for the generator, what squares are compressed to; gates by edges.
    projections: Matrix,
    /// `[heads, 64 × 64]`, [`turned`].
    static_bias: Option<Vec<f32>>,
    generator: Option<Generator>,
    /// The column where gates begin, if there are any.
    gates: Option<usize>,
    out: Matrix,
    heads: usize,
}

/// `x + ffn(norm(x))`
#[derive(Debug)]
struct FeedForward {
    balance: Balance,
    up: Matrix,
    down: Matrix,
}

/// Makes a map a head from the compressed squares.
#[derive(Debug)]
struct Generator {
    compress: usize,
    hidden: Matrix,
    generate: Matrix,
    heads: usize,
}

impl Block {
    /// None, where the block has pieces that are not known here. `samples` are rows of some positions, which go through it,
    /// and the edges of each.
    pub(super) fn of<B: Kernels>(
        block: &block::Block<B>,
        samples: (&mut [f32], &[Vec<Graph>]),
        shared: &SharedMap,
        scratch: &mut Scratch,
    ) -> Option<Block> {
        let Ffn::Dense(ffn) = &block.ffn else { return None };
        let d = Layer::of(&block.query).outputs();
        let (samples, graphs) = samples;
        let attention = Attention::of(block, Balance::of(samples, d));
        for (x, graphs) in samples.chunks_exact_mut(SQUARES * d).zip(graphs) {
            attention.forward(x, graphs, shared, scratch);
        }
        let ffn = FeedForward::of(ffn, Balance::of(samples, d));
        samples.chunks_exact_mut(SQUARES * d).for_each(|x| ffn.forward(x, scratch));
        Some(Block { attention, ffn })
    }

    /// `[64, d]` in its place; `shared` expands the generators' codes.
    pub(super) fn forward(&self, x: &mut [f32], graphs: &[Graph], shared: &SharedMap, scratch: &mut Scratch) {
        self.attention.forward(x, graphs, shared, scratch);
        self.ffn.forward(x, scratch);
    }
}

impl Attention {
    fn of<B: Kernels>(block: &block::Block<B>, balance: Balance) -> Attention {
        let [_, heads] = block.shape;
        let query = Layer::of(&block.query);
        let scale = 1.0 / ((query.outputs() / heads) as f32).sqrt();
        let mut projections = vec![query.scaled(scale), Layer::of(&block.key), Layer::of(&block.value)];
        projections.extend(block.generator.as_ref().map(|generator| Layer::of(&generator.compress)));
        let before: usize = projections.iter().map(Layer::outputs).sum();
        projections.extend(block.edge_bias.as_ref().map(|bias| Layer::of(&bias.gates)));
        Attention {
            projections: Matrix::of(&projections, Some(&balance)),
            balance,
            static_bias: block.static_bias.as_ref().map(|bias| turned(&numbers(bias.map.val()))),
            generator: block.generator.as_ref().map(Generator::of),
            gates: block.edge_bias.as_ref().map(|_| before),
            out: Matrix::of(&[Layer::of(&block.out)], None),
            heads,
        }
    }

    fn forward(&self, x: &mut [f32], graphs: &[Graph], shared: &SharedMap, scratch: &mut Scratch) {
        let Scratch { bytes, projected, maps, attended, .. } = scratch;
        let d = x.len() / SQUARES;
        bytes.take(x, d, Numbers::Normalised(&self.balance));
        let width = self.projections.width();
        projected.resize(SQUARES * width, 0.0);
        self.projections.multiply(bytes, projected, Then::Write);
        maps.resize(self.heads * MAP, 0.0);
        match (&self.generator, &self.static_bias) {
            (Some(generator), fixed) => {
                let squares = projected.chunks_exact(width).map(|row| &row[3 * d..]);
                let then = fixed.as_ref().map_or(Then::Write, |fixed| Then::AddTo(fixed));
                generator.make(squares, shared, then, maps, bytes);
            }
            (None, Some(fixed)) => maps.copy_from_slice(fixed),
            (None, None) => maps.fill(0.0),
        }
        if let Some(column) = self.gates {
            edges::add(maps, Rows { numbers: &projected[column..], stride: width }, graphs);
        }
        attended.resize(x.len(), 0.0);
        attend(projected, width, maps, self.heads, attended);
        bytes.take(attended, d, Numbers::Any);
        self.out.multiply(bytes, x, Then::Add);
    }
}

impl FeedForward {
    fn of<B: Kernels>(ffn: &experts::FeedForward<B>, balance: Balance) -> FeedForward {
        let up = Matrix::of(&[Layer::of(&ffn.up)], Some(&balance));
        FeedForward { up, down: Matrix::of(&[Layer::of(&ffn.down)], None), balance }
    }

    fn forward(&self, x: &mut [f32], scratch: &mut Scratch) {
        let Scratch { bytes, hidden, .. } = scratch;
        bytes.take(x, x.len() / SQUARES, Numbers::Normalised(&self.balance));
        hidden.resize(SQUARES * self.up.width(), 0.0);
        self.up.multiply(bytes, hidden, Then::Relu);
        bytes.take(hidden, self.up.width(), Numbers::Positive);
        self.down.multiply(bytes, x, Then::Add);
    }
}

impl Generator {
    fn of<B: Kernels>(generator: &attention_bias::Generator<B>) -> Generator {
        let compress = Layer::of(&generator.compress).outputs();
        let [hidden, generate] =
            [&generator.hidden, &generator.generate].map(|layer| Matrix::of(&[Layer::of(layer)], None));
        Generator { compress, hidden, generate, heads: generator.heads }
    }

    /// The maps of a position, and what then is done with them.
    fn make<'a>(
        &self,
        squares: impl Iterator<Item = &'a [f32]>,
        shared: &SharedMap,
        then: Then,
        maps: &mut [f32],
        bytes: &mut Bytes,
    ) {
        let mut compressed = Vec::with_capacity(SQUARES * self.compress);
        for square in squares {
            compressed.extend_from_slice(&square[..self.compress]);
        }
        let hidden = self.hidden.row(&compressed, Numbers::Any, Then::Relu, bytes);
        let mut codes = self.generate.row(&hidden, Numbers::Positive, Then::Write, bytes);
        let generate = codes.len() / self.heads;
        rms_norm(&mut codes, generate, EPSILON as f32);
        bytes.take(&codes, generate, Numbers::Any);
        shared.0.multiply(bytes, maps, then);
    }
}

/// The matrix that expands the codes of all blocks' generators to maps.
#[derive(Debug)]
pub(super) struct SharedMap(Matrix);

impl SharedMap {
    /// From the matrix `[generate, 64 × 64]`, whose maps are not [`turned`].
    pub(super) fn of(matrix: &[f32]) -> SharedMap {
        SharedMap(Matrix::of(&[Layer::without_bias(turned(matrix), MAP)], None))
    }
}
