//! What attention logits gain where the man on one square attacks the other.

use super::super::kernels::edges::GATES;
use super::attention::{MAP, SQUARES};
use super::floats::Rows;

/// Adds it to maps that are [`turned`](super::attention::turned), one a head; each row of `gates` begins with the gates of a square, which
/// [`edges`](super::super::kernels::edges) explains. `attacks` are the squares that each square's man attacks.
pub(super) fn add(maps: &mut [f32], gates: Rows, attacks: &[u64; SQUARES]) {
    let heads = maps.len() / MAP;
    for (s, &set) in attacks.iter().enumerate() {
        let mut rest = set;
        while rest != 0 {
            let t = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let [attacker, attacked] = [s, t].map(|square| &gates.numbers[square * gates.stride..][..GATES * heads]);
            for (head, map) in maps.chunks_exact_mut(MAP).enumerate() {
                map[t * SQUARES + s] += attacker[head] + attacked[heads + head];
                map[s * SQUARES + t] += attacked[2 * heads + head] + attacker[3 * heads + head];
            }
        }
    }
}
