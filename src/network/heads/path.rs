//! Chessformer's policy: the square moved from, then the square moved to, then the promotion piece, each by a token more.
//!
//! The original runs the whole network once for each square moved from. Here the board's tokens pass once, and remember their keys
//! and values; then come three short passes of all candidates at once: the start of the move, every square with an own man,
//! every promotion.

use burn::module::{Module, Param};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};
use shakmaty::{Rank, Role};

use super::super::block::Memory;
use super::super::embedding::Set;
use super::super::kernels::Kernels;
use super::super::linear::{Linear, normal};
use super::super::precision::wide;
use super::super::trunk::{Encoder, Trunked};
use super::Moves;
use crate::board::{Features, MOVES, MoveIndex};

/// Which moves an autoregressive head is asked about, for each position of a batch. Squares are White's.
#[derive(Clone, Debug)]
pub(in crate::network) enum Question {
    /// Nothing: for heads that answer for all moves at once.
    Nothing,
    /// All that own men might make.
    All(Vec<Candidates>),
    /// One move each: `(from, to, promotion piece)`.
    Played(Vec<(usize, usize, Option<usize>)>),
}

/// What might be moved in a position.
#[derive(Clone, Debug, Default)]
pub(in crate::network) struct Candidates {
    /// Squares with an own man.
    from: Vec<usize>,
    /// Promotions: place in `from`, and the square moved to.
    promotions: Vec<(usize, usize)>,
}

/// Promotion pieces in the order of the head's outputs.
const PIECES: [Role; 4] = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];
/// Logarithm of the probability of what cannot happen.
const NEVER: f32 = -1e4;

fn piece_of(m: MoveIndex) -> Option<usize> {
    m.promotion().and_then(|role| PIECES.iter().position(|&p| p == role))
}

impl Candidates {
    pub(in crate::network) fn of(features: &Features) -> Candidates {
        let mut candidates = Candidates::default();
        let (last, step) = features.turn.fold_wb((Rank::Seventh, 8_i32), (Rank::Second, -8));
        for (square, color, role) in features.men().filter(|&(_, color, _)| color == features.turn) {
            debug_assert_eq!(color, features.turn);
            let place = candidates.from.len();
            candidates.from.push(square);
            if role == 0 && square / 8 == usize::from(last) {
                let ahead = (square as i32 + step) as usize;
                let file = square % 8;
                let to = [(file > 0, ahead.wrapping_sub(1)), (true, ahead), (file < 7, ahead + 1)];
                candidates.promotions.extend(to.iter().filter(|(ok, _)| *ok).map(|&(_, to)| (place, to)));
            }
        }
        candidates
    }

    /// Where each move of the vocabulary is found in a row of `most.0` starts × 64 ends, then `most.1` promotions × 4 pieces, then
    /// one place for what cannot happen.
    fn table(&self, most: (usize, usize)) -> Vec<i32> {
        let mut start = [None; 64];
        self.from.iter().enumerate().for_each(|(i, &square)| start[square] = Some(i));
        let never = (most.0 * 64 + most.1 * 4) as i32;
        let place = |m: MoveIndex| {
            let (Some(i), to) = (start[m.from().to_usize()], m.to().to_usize()) else { return never };
            match piece_of(m) {
                None => (i * 64 + to) as i32,
                Some(piece) => self
                    .promotions
                    .iter()
                    .position(|&p| p == (i, to))
                    .map_or(never, |p| (most.0 * 64 + p * 4 + piece) as i32),
            }
        };
        (0..MOVES).filter_map(MoveIndex::new).map(place).collect()
    }
}

/// The tokens of a move, and what is read out of them.
#[derive(Module, Debug)]
pub(in crate::network) struct Path<B: Kernels> {
    /// `[1, d]`
    start: Param<Tensor<B, 2>>,
    /// Places of the start, the square moved from, and the square moved to: `[3, d]`.
    places: Param<Tensor<B, 2>>,
    /// What makes a square the one moved from, or the one moved to: `[2, d]`.
    roles: Param<Tensor<B, 2>>,
    /// Reads both squares out.
    squares: Linear<B>,
    promotion: Linear<B>,
}

/// The state after a token: what is read out, and what later tokens attend to.
type Step<B> = (Tensor<B, 2>, Vec<Memory<B>>);

/// For each block, the memories of the tokens before.
fn context<B: Kernels>(steps: &[&[Memory<B>]]) -> Vec<Vec<Memory<B>>> {
    let blocks = steps.first().map_or(0, |s| s.len());
    (0..blocks).map(|block| steps.iter().map(|step| step[block].clone()).collect()).collect()
}

/// Chosen rows of every block's memory.
fn rows_of<B: Kernels>(memories: &[Memory<B>], rows: &Tensor<B, 1, Int>) -> Vec<Memory<B>> {
    let pick = |x: &Tensor<B, 2>| x.clone().select(0, rows.clone());
    memories.iter().map(|m| Memory { key: pick(&m.key), value: pick(&m.value) }).collect()
}

fn ints<B: Kernels>(values: impl IntoIterator<Item = usize>, device: &B::Device) -> Tensor<B, 1, Int> {
    let values: Vec<i32> = values.into_iter().map(|v| v as i32).collect();
    let n = values.len();
    Tensor::from_data(TensorData::new(values, [n]), device)
}

/// What the three short passes need.
struct Passes<'a, B: Kernels> {
    trunked: &'a Trunked<B>,
    set: &'a Set<B>,
    encoder: &'a Encoder<B>,
}

impl<B: Kernels> Path<B> {
    pub(super) fn new(d: usize, device: &B::Device) -> Self {
        Path {
            start: normal([1, d], 0.5, device),
            places: normal([3, d], 0.5, device),
            roles: normal([2, d], 0.5, device),
            squares: Linear::new(d, 64, 1.0, false, device),
            promotion: Linear::new(d, 4, 1.0, false, device),
        }
    }

    pub(super) fn forward(
        &self,
        trunked: &Trunked<B>,
        set: &Set<B>,
        encoder: &Encoder<B>,
        question: &Question,
    ) -> Moves<B> {
        let passes = Passes { trunked, set, encoder };
        match question {
            Question::Played(moves) => Moves::Played(self.played(&passes, moves)),
            Question::All(candidates) => Moves::Probabilities(self.all(&passes, candidates)),
            Question::Nothing => unreachable!("Network::pack asks autoregressive heads"),
        }
    }

    fn place(&self, i: usize) -> Tensor<B, 2> {
        self.places.val().narrow(0, i, 1)
    }

    /// The token that a move begins with, one a position.
    fn begin(&self, passes: &Passes<B>) -> Step<B> {
        let [n, _, d] = passes.trunked.dims();
        let token = (self.start.val() + self.place(0)).expand([n, d]);
        passes.encoder.follow(token, passes.trunked, &[], 1)
    }

    /// Tokens of squares: `role` 0 is the square moved from, 1 the square moved to; `count` a position.
    fn square(
        &self,
        passes: &Passes<B>,
        role: usize,
        squares: Tensor<B, 1, Int>,
        before: &[&[Memory<B>]],
        count: usize,
    ) -> Step<B> {
        let role_vector = self.roles.val().narrow(0, role, 1);
        let token = passes.set.squares(squares) + role_vector + self.place(role + 1);
        passes.encoder.follow(token, passes.trunked, &context(before), count)
    }

    /// Logarithm of the probability of one move a position: `[batch]`. A move that does not promote says nothing of pieces.
    fn played(&self, passes: &Passes<B>, moves: &[(usize, usize, Option<usize>)]) -> Tensor<B, 1> {
        let device = passes.trunked.rows.device();
        let n = moves.len();
        let from = ints::<B>(moves.iter().map(|m| m.0), &device);
        let to = ints::<B>(moves.iter().map(|m| m.1), &device);
        let (state, begun) = self.begin(passes);
        let picked = |logits: Tensor<B, 2>, choice: Tensor<B, 1, Int>| {
            log_softmax(wide(logits), 1).gather(1, choice.reshape([n, 1])).reshape([n])
        };
        let mut sum = picked(self.squares.forward(state), from.clone());
        let (state, left) = self.square(passes, 0, from, &[&begun], 1);
        sum = sum + picked(self.squares.forward(state), to.clone());
        if moves.iter().any(|m| m.2.is_some()) {
            let piece = ints::<B>(moves.iter().map(|m| m.2.unwrap_or(0)), &device);
            let promotes: Vec<f32> = moves.iter().map(|m| f32::from(u8::from(m.2.is_some()))).collect();
            let (state, _) = self.square(passes, 1, to, &[&begun, &left], 1);
            let of_piece = picked(self.promotion.forward(state), piece);
            sum = sum + of_piece * Tensor::from_data(TensorData::new(promotes, [n]), &device);
        }
        sum
    }

    /// Logarithms of the probabilities of all that own men might play: `[batch, 1968]`.
    fn all(&self, passes: &Passes<B>, candidates: &[Candidates]) -> Tensor<B, 2> {
        let device = passes.trunked.rows.device();
        let n = candidates.len();
        let most_from = candidates.iter().map(|c| c.from.len()).max().unwrap_or(0).max(1);
        let most_promotions = candidates.iter().map(|c| c.promotions.len()).max().unwrap_or(0);
        // Each position's candidates, padded to the same number.
        let padded = |i: usize| {
            let from = &candidates[i].from;
            (0..most_from).map(move |j| from.get(j).copied().unwrap_or(0))
        };
        let (state, begun) = self.begin(passes);
        let log_from = log_softmax(wide(self.squares.forward(state)), 1);
        let from = ints::<B>((0..n).flat_map(padded), &device);
        let log_from = log_from.gather(1, from.clone().reshape([n, most_from]));
        let owners = ints::<B>((0..n).flat_map(|i| std::iter::repeat_n(i, most_from)), &device);
        let (state, left) = self.square(passes, 0, from, &[&rows_of(&begun, &owners)], most_from);
        let log_to = log_softmax(wide(self.squares.forward(state)), 1).reshape([n, most_from, 64]);
        let paths = (log_to + log_from.reshape([n, most_from, 1])).reshape([n, most_from * 64]);
        let mut columns = vec![paths.clone()];
        if most_promotions > 0 {
            let promotion = |i: usize| {
                let all = &candidates[i].promotions;
                (0..most_promotions).map(move |j| all.get(j).copied().unwrap_or((0, 0)))
            };
            let rows = n * most_promotions;
            let owners = ints::<B>((0..n).flat_map(|i| std::iter::repeat_n(i, most_promotions)), &device);
            let parents =
                ints::<B>((0..n).flat_map(|i| promotion(i).map(move |(from, _)| i * most_from + from)), &device);
            let to = ints::<B>((0..n).flat_map(|i| promotion(i).map(|(_, to)| to)), &device);
            let before = [rows_of(&begun, &owners), rows_of(&left, &parents)];
            let (state, _) = self.square(passes, 1, to, &[&before[0], &before[1]], most_promotions);
            let pieces = log_softmax(wide(self.promotion.forward(state)), 1);
            let path = ints::<B>((0..n).flat_map(|i| promotion(i).map(|(from, to)| from * 64 + to)), &device);
            let path = paths.gather(1, path.reshape([n, most_promotions])).reshape([rows, 1]);
            columns.push((pieces + path).reshape([n, most_promotions * 4]));
        }
        columns.push(Tensor::full([n, 1], NEVER, &device));
        let table: Vec<i32> = candidates.iter().flat_map(|c| c.table((most_from, most_promotions))).collect();
        Tensor::cat(columns, 1).gather(1, Tensor::from_data(TensorData::new(table, [n, MOVES]), &device))
    }
}

impl Question {
    /// About the moves played, as White sees them.
    pub(in crate::network) fn about(moves: impl Iterator<Item = MoveIndex>) -> Question {
        Question::Played(moves.map(|m| (m.from().to_usize(), m.to().to_usize(), piece_of(m))).collect())
    }
}
