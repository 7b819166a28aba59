//! Whether a capture loses material on its own square.

use shakmaty::{Chess, Move, Position, Role};

use super::material::{captured, value};
use crate::board::gains;

/// Whether a legal capture comes out behind when both sides take on its square with their cheapest men, and stop when they like. Pins are
/// not seen, nor is what else is attacked; promotions are taken to be worth it.
pub fn loses(position: &Chess, m: Move) -> bool {
    let (Some(taken), Some(from)) = (captured(m), m.from()) else { return false };
    // What is taken pays for what takes it. Where a king may take, nothing protects.
    if m.is_promotion() || m.role() == Role::King || value(m.role()) <= value(taken) {
        return false;
    }
    !gains(position.board(), from, m.to(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;

    #[test]
    fn captures_are_weighed_on_their_square() {
        for (fen, m, expected) in [
            // Nobody protects it; a pawn does; the king does, alone and when another of ours looks on.
            ("4k3/8/8/4p3/8/8/4Q3/4K3 w - - 0 1", "e2e5", false),
            ("4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1", "e2e5", true),
            ("8/8/4k3/4p3/8/8/4R3/4K3 w - - 0 1", "e2e5", true),
            ("8/8/4k3/4p3/8/5N2/4R3/4K3 w - - 0 1", "e2e5", false),
            // A rook behind a rook makes it two for two; a third on their side, one too many.
            ("4k3/4r3/8/4p3/8/8/4R3/4RK2 w - - 0 1", "e2e5", false),
            ("4r1k1/4r3/8/4p3/8/8/4R3/4RK2 w - - 0 1", "e2e5", true),
            // The same man or a dearer one is always worth it; a pawn takes what it likes.
            ("4k3/8/3p4/4r3/8/8/4R3/4K3 w - - 0 1", "e2e5", false),
            ("4k3/8/3p4/4n3/3P4/8/8/4K3 w - - 0 1", "d4e5", false),
            // A bishop behind a pawn, a queen before a bishop.
            ("4k3/2p5/3p4/4n3/8/2B5/1Q6/4K3 w - - 0 1", "c3e5", false),
            ("4k3/2p5/3p4/4n3/8/2Q5/1B6/4K3 w - - 0 1", "c3e5", true),
            ("4k3/2p5/3p4/4q3/8/2Q5/1B6/4K3 w - - 0 1", "c3e5", false),
            // Kings take only what is not protected, and then it costs nothing; nor does a promotion, or what is no capture.
            ("4k3/8/8/8/8/8/4p3/4K3 w - - 0 1", "e1e2", false),
            ("3rk3/2P5/8/8/8/8/8/4K3 w - - 0 1", "c7d8q", false),
            ("6k1/8/3p4/8/4Q3/8/8/4K3 w - - 0 1", "e4e5", false),
        ] {
            let game = Game::from_fen(fen).expect(fen);
            assert_eq!(loses(game.position(), game.parse_uci(m).expect(m)), expected, "{fen} {m}");
        }
    }
}
