//! What attention logits gain along edges between squares.

use super::super::kernels::edges::GATES;
use super::attention::{MAP, SQUARES};
use super::floats::Rows;

/// Of each square the set of squares that its edges of a kind lead to.
pub(super) type Graph = [u64; SQUARES];

/// Adds it to maps that are [`turned`](super::attention::turned), one a head; each row of `gates` begins with the gates of a square, which
/// [`edges`](super::super::kernels::edges) explains.
pub(super) fn add(maps: &mut [f32], gates: Rows, graphs: &[Graph]) {
    let (maps, _) = maps.as_chunks_mut::<MAP>();
    let heads = maps.len();
    let of_kind = GATES * heads;
    for (kind, graph) in graphs.iter().enumerate() {
        // Of each head one of a square's four.
        let gates_of = |square: usize, which: usize| {
            &gates.numbers[square * gates.stride + kind * of_kind + which * heads..][..heads]
        };
        for (from, &set) in graph.iter().enumerate() {
            if set == 0 {
                continue;
            }
            let (of_from, back_of_from) = (gates_of(from, 0), gates_of(from, 3));
            let mut rest = set;
            while rest != 0 {
                // Seen to be a square, so that nobody looks whether it is on the map.
                let to = rest.trailing_zeros() as usize % SQUARES;
                rest &= rest - 1;
                let there = of_from.iter().zip(gates_of(to, 1));
                let back = gates_of(to, 2).iter().zip(back_of_from);
                for ((map, (from_gate, to_gate)), (back_to, back_from)) in maps.iter_mut().zip(there).zip(back) {
                    map[to * SQUARES + from] += from_gate + to_gate;
                    map[from * SQUARES + to] += back_to + back_from;
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
