//! What is known about the players and the game besides the board.

/// Where a game was played: ratings of different pools are different scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Over the board (FIDE ratings).
    Otb,
    /// lichess.org.
    Lichess,
    /// chess.com.
    ChessCom,
    /// Engines, and positions evaluated by one.
    Engine,
}

impl Pool {
    /// All pools, in the order of their numbers.
    pub const ALL: [Pool; 4] = [Pool::Otb, Pool::Lichess, Pool::ChessCom, Pool::Engine];

    /// The pool of a PGN's `Site`; `None` where it names no site that has one.
    pub fn of_site(site: &str) -> Option<Pool> {
        let site = site.to_ascii_lowercase();
        [("lichess", Pool::Lichess), ("chess.com", Pool::ChessCom)]
            .into_iter()
            .find_map(|(name, pool)| site.contains(name).then_some(pool))
    }
}

/// What is known about one player.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seat {
    /// Rating in the pool's scale.
    pub rating: Option<f32>,
    /// Seconds left on the clock before the move.
    pub clock: Option<f32>,
}

/// What is known about a game: given with every position that a network looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// White.
    pub white: Seat,
    /// Black.
    pub black: Seat,
    /// Seconds added after each move.
    pub increment: Option<f32>,
    /// Which scale the ratings are in.
    pub pool: Option<Pool>,
}

impl Conditions {
    /// Two engines of the best rating the network has seen: how Glance plays at full strength.
    pub const STRONGEST: Conditions = Conditions {
        white: Seat { rating: Some(3500.0), clock: None },
        black: Seat { rating: Some(3500.0), clock: None },
        increment: None,
        pool: Some(Pool::Engine),
    };

    /// The player to move, and the other.
    pub fn seats(&self, turn: shakmaty::Color) -> (Seat, Seat) {
        turn.fold_wb((self.white, self.black), (self.black, self.white))
    }
}
