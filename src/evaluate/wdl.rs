//! Win, draw and loss, and how they relate to centipawns.

/// Probabilities of the three outcomes, for the player to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    /// Win.
    pub win: f32,
    /// Draw.
    pub draw: f32,
    /// Loss.
    pub loss: f32,
}

/// Advantage, in centipawns, at which a win is as likely as not.
const EVEN: f64 = 110.0;
/// Centipawns over which the odds change by a factor of e.
const SLOPE: f64 = 120.0;
/// The largest score written for a position without a proved mate.
pub const LARGEST_CP: i32 = 12_000;

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Wdl {
    /// A certain win.
    pub const WIN: Wdl = Wdl { win: 1.0, draw: 0.0, loss: 0.0 };
    /// A certain draw.
    pub const DRAW: Wdl = Wdl { win: 0.0, draw: 1.0, loss: 0.0 };
    /// A certain loss.
    pub const LOSS: Wdl = Wdl { win: 0.0, draw: 0.0, loss: 1.0 };

    /// From logits, by softmax.
    pub fn from_logits(logits: [f32; 3]) -> Wdl {
        let max = logits.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
        let [win, draw, loss] = logits.map(|x| (x - max).exp());
        let sum = win + draw + loss;
        if !sum.is_finite() || sum <= 0.0 {
            return Wdl { win: 1.0 / 3.0, draw: 1.0 / 3.0, loss: 1.0 / 3.0 };
        }
        Wdl { win: win / sum, draw: draw / sum, loss: loss / sum }
    }

    /// What an engine's evaluation means: win and loss are logistic in the centipawns, after Stockfish's model
    /// of its own games, with a gentler slope (120 cp an e-fold, even at 110 cp), so that a piece more
    /// still counts when one is won already.
    pub fn from_centipawns(cp: i32) -> Wdl {
        let x = f64::from(cp);
        let win = logistic((x - EVEN) / SLOPE);
        let loss = logistic((-x - EVEN) / SLOPE);
        Wdl { win: win as f32, draw: (1.0 - win - loss) as f32, loss: loss as f32 }
    }

    /// The outcomes that an evaluation with this expected win less loss would mean.
    pub fn from_balance(balance: f32) -> Wdl {
        let balance = if balance.is_nan() { 0.0 } else { balance.clamp(-1.0, 1.0) };
        let only = Wdl { win: balance.max(0.0), draw: 1.0 - balance.abs(), loss: (-balance).max(0.0) };
        Wdl::from_centipawns(only.centipawns())
    }

    /// The evaluation that [`from_centipawns`](Wdl::from_centipawns) would give the same expected score.
    pub fn centipawns(self) -> i32 {
        // With u = cp/slope, win − loss = sinh u / (cosh u + cosh c): a quadratic in y = exp u.
        let q = f64::from(self.balance()).clamp(-1.0, 1.0);
        let c = (EVEN / SLOPE).cosh();
        let (p, sign) = (q.abs(), q.signum());
        let below = 1.0 - p;
        if below < 1e-12 {
            return LARGEST_CP * sign as i32;
        }
        let y = (p * c + (p * p * c * c + 1.0 - p * p).sqrt()) / below;
        let cp = SLOPE * y.ln();
        (sign * cp.min(f64::from(LARGEST_CP))).round() as i32
    }

    /// Win minus loss, `-1..=1`.
    pub fn balance(self) -> f32 {
        self.win - self.loss
    }

    /// Expected score, `0..=1`.
    pub fn score(self) -> f32 {
        self.win + 0.5 * self.draw
    }

    /// The same, for the other player.
    pub fn flipped(self) -> Wdl {
        Wdl { win: self.loss, draw: self.draw, loss: self.win }
    }

    /// In thousandths that sum to 1000, as `UCI_ShowWDL` wants them.
    pub fn per_mille(self) -> [i32; 3] {
        let win = (self.win * 1000.0).round() as i32;
        let loss = ((self.loss * 1000.0).round() as i32).min(1000 - win);
        [win, 1000 - win - loss, loss]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centipawns_go_there_and_back() {
        for cp in [-900, -300, -120, -17, 0, 1, 50, 110, 333, 800] {
            let back = Wdl::from_centipawns(cp).centipawns();
            assert!((back - cp).abs() <= 1, "{cp} came back as {back}");
        }
        assert_eq!(Wdl::WIN.centipawns(), LARGEST_CP);
        assert_eq!(Wdl::LOSS.centipawns(), -LARGEST_CP);
        assert_eq!(Wdl::DRAW.centipawns(), 0);
    }

    #[test]
    fn per_mille_sums_to_a_thousand() {
        for wdl in [Wdl::WIN, Wdl::from_centipawns(37), Wdl { win: 0.4995, draw: 0.0, loss: 0.5005 }] {
            assert_eq!(wdl.per_mille().iter().sum::<i32>(), 1000);
            assert!(wdl.per_mille().iter().all(|&x| x >= 0));
        }
    }

    #[test]
    fn broken_logits_say_nothing() {
        let wdl = Wdl::from_logits([f32::NAN, 0.0, 1.0]);
        assert_eq!(wdl.win, wdl.loss);
    }
}
