//! Glance's own network in bytes: the fastest form of it on a CPU.
//!
//! Weights are rounded to 8 bits, each column of a matrix with a scale of its own, when the network is loaded; rows are rounded on the
//! way, each with a scale of its own. Products of bytes are summed up exactly; attention stays in single precision. The weights of a
//! small network fit in a megabyte so, which is what many processors have for a core. Of moves only those are computed that are asked about.

mod attention;
mod balance;
mod block;
mod bytes;
mod dot;
mod edges;
mod embedding;
mod floats;
mod heads;
mod layer;
mod matrix;
mod transpose;

use std::sync::Mutex;

use super::config::{Activation, Config, Norm, Trunk as TrunkConfig};
use super::embedding::Embedding;
use super::heads::Policy;
use super::kernels::Kernels;
use super::model::Network;
use super::trunk::Trunk;
use crate::board::{Conditions, Edge, Features, Game, MoveIndex, Pool, Seat};
use balance::Balance;
use block::{Block, Scratch, SharedMap};
use dot::Dot;
use edges::Graph;
use embedding::Squares;
use heads::Heads;
use layer::numbers;

/// A network of Glance's own system with weights of 8 bits.
#[derive(Debug)]
pub struct Int8 {
    embedding: Squares,
    /// The blocks', and after them what the policy has besides.
    edges: Vec<Edge>,
    edges_of_blocks: usize,
    blocks: Vec<Block>,
    shared_map: SharedMap,
    heads: Heads,
    /// One for each thread that has asked.
    scratch: Mutex<Vec<Scratch>>,
}

/// What an [`Int8`] network says of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Of the moves that were asked about, in their order. Not normalised.
    pub logits: Vec<f32>,
    /// The numbers of the value head, if there is one.
    pub value: Vec<f32>,
}

impl Int8 {
    /// The network with its weights rounded. None, if it has other pieces than Glance's own system, or if this processor has no
    /// instructions for products of bytes, or none that multiply and add in one step: then other backends are as fast.
    pub fn of<B: Kernels>(network: &Network<B>) -> Option<Int8> {
        let (Embedding::Squares(embedding), Trunk::Encoder(trunk)) = (&network.embedding, &network.trunk) else {
            return None;
        };
        let Policy::FromTo(policy) = &network.policy else { return None };
        if !suits(network.config()) || !Dot::best().pays() || !fuses() {
            return None;
        }
        let (embedding, mut scratch) = (Squares::of(embedding), Scratch::default());
        let positions = samples();
        let mut samples: Vec<f32> = positions.iter().flat_map(|features| embedding.forward(features)).collect();
        let edges = network.config().edges();
        let of_blocks = network.config().trunk.edges();
        let graphs: Vec<Vec<Graph>> = positions.iter().map(|features| graphs(of_blocks, features)).collect();
        let shared_map = SharedMap::of(&trunk.shared_map.as_ref().map_or_else(Vec::new, |map| numbers(map.val())));
        let mut block = |block| Block::of(block, (&mut samples, &graphs), &shared_map, &mut scratch);
        let blocks = trunk.blocks.iter().map(&mut block).collect::<Option<_>>()?;
        let heads = Heads::of(
            (policy, network.config().edges_of_moves()),
            network.value.as_ref(),
            Balance::of(&samples, embedding.width()),
        )?;
        Some(Int8 {
            embedding,
            edges_of_blocks: of_blocks.len(),
            edges,
            blocks,
            shared_map,
            heads,
            scratch: Mutex::default(),
        })
    }

    /// Looks at a position: the logits of some moves, as the network's view names them, and the value.
    pub fn look(&self, features: &Features, asked: &[MoveIndex]) -> Look {
        let held = self.scratch.lock().ok().and_then(|mut scratch| scratch.pop());
        let mut scratch = held.unwrap_or_default();
        let mut x = self.embedding.forward(features);
        let graphs = graphs(&self.edges, features);
        for block in &self.blocks {
            block.forward(&mut x, &graphs[..self.edges_of_blocks], &self.shared_map, &mut scratch);
        }
        let (logits, value) = self.heads.read((&x, self.embedding.width()), &graphs, asked, &mut scratch);
        if let Ok(mut all) = self.scratch.lock() {
            all.push(scratch);
        }
        Look { logits, value }
    }
}

/// The edges of these kinds between the squares of a position.
fn graphs(kinds: &[Edge], features: &Features) -> Vec<Graph> {
    Edge::all(kinds, features)
}

/// Positions of all kinds, by which it is seen how large the numbers in a network become: the Opera Game (Morphy, 1858), shown in different
/// ways, and an ending without a history.
fn samples() -> Vec<Features> {
    const MOVES: &str = "e2e4 e7e5 g1f3 d7d6 d2d4 c8g4 d4e5 g4f3 d1f3 d6e5 f1c4 g8f6 f3b3 d8e7 b1c3 c7c6 c1g5 b7b5 c3b5 c6b5 \
                         c4b5 b8d7 e1c1 a8d8 d1d7 d8d7 h1d1 e7e6 b5d7 f6d7 b3b8 d7b8";
    const ENDING: &str = "8/5pk1/6p1/3R4/1r5P/6P1/5PK1/8 b - - 7 51";
    let seat = Seat { rating: Some(1500.0), clock: Some(180.0) };
    let person = Conditions { white: seat, black: seat, increment: Some(2.0), pool: Some(Pool::Lichess) };
    let ways = [Conditions::STRONGEST, person, Conditions::default()];
    let mut game = Game::default();
    let mut positions = vec![game.clone()];
    for m in MOVES.split_whitespace() {
        match game.parse_uci(m) {
            Ok(m) => game.play(m),
            Err(_) => break,
        }
        positions.push(game.clone());
    }
    positions.extend(Game::from_fen(ENDING));
    let every = positions.iter().rev().step_by(3).zip(ways.iter().cycle());
    every.map(|(game, conditions)| Features::of(game, conditions)).collect()
}

/// Whether all that a config asks for is known here, at sizes that fill whole vectors.
fn suits(config: &Config) -> bool {
    let TrunkConfig::Encoder { d_model, ffn, norm, activation, input_norm, smolgen, cls_map, experts, .. } =
        &config.trunk
    else {
        return false;
    };
    let of_maps = smolgen.as_ref().map_or([0; 2], |smolgen| [smolgen.hidden, smolgen.generate]);
    let whole = [*d_model, *ffn].iter().chain(&of_maps).all(|size| size.is_multiple_of(dot::COLUMNS));
    whole && *norm == Norm::Rms && *activation == Activation::Relu && !input_norm && !cls_map && experts.is_none()
}

/// Whether this processor multiplies and adds in one step.
fn fuses() -> bool {
    #[cfg(target_arch = "x86_64")]
    return pulp::x86::V3::try_new().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    return cfg!(target_arch = "aarch64");
}
