//! What attention logits gain along edges between squares.

use super::super::kernels::edges::GATES;
use super::attention::{MAP, SQUARES};
use super::floats::Rows;

/// Of each square the set of squares that its edges of a kind lead to.
pub(super) type Graph = [u64; SQUARES];

/// Adds it to maps that are [`turned`](super::attention::turned), one a head; each row of `gates` begins with the gates of a square, which
/// [`edges`](super::super::kernels::edges) explains.
pub(super) fn add(maps: &mut [f32], gates: Rows, graphs: &[Graph]) {
    let heads = maps.len() / MAP;
    let of_kind = GATES * heads;
    for (kind, graph) in graphs.iter().enumerate() {
        for (from, &set) in graph.iter().enumerate() {
            let mut rest = set;
            while rest != 0 {
                let to = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let [of_from, of_to] =
                    [from, to].map(|square| &gates.numbers[square * gates.stride + kind * of_kind..][..of_kind]);
                for (head, map) in maps.chunks_exact_mut(MAP).enumerate() {
                    map[to * SQUARES + from] += of_from[head] + of_to[heads + head];
                    map[from * SQUARES + to] += of_to[2 * heads + head] + of_from[3 * heads + head];
                }
            }
        }
    }
}

/// What the one logit of `from` looking at `to` gains, with gates of one head.
pub(super) fn gain<'a>(from: usize, to: usize, gates: Rows, graphs: impl Iterator<Item = &'a Graph>) -> f32 {
    let mut sum = 0.0;
    for (kind, graph) in graphs.enumerate() {
        let [of_from, of_to] = [from, to].map(|square| &gates.numbers[square * gates.stride + kind * GATES..][..GATES]);
        if graph[from] >> to & 1 == 1 {
            sum += of_from[0] + of_to[1];
        }
        if graph[to] >> from & 1 == 1 {
            sum += of_from[2] + of_to[3];
        }
    }
    sum
}
