//! From a record of a shard to what a network learns from it.

use glance::board::{Conditions, Features, Game, MoveIndex, Pool, Seat, TIME_BINS, fair_share, time_bins};
use glance::evaluate::Wdl;
use rand::Rng;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Color, Move, Position};

use super::move_among;
use super::movetext::MATE;
use super::shard::{GameRecord, GameResult, PositionRecord};

/// Positions with more legal moves than this are not trained on (there are next to none).
pub const MOST_LEGAL: usize = 128;

/// A position with what the network is to say of it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What the network sees.
    pub features: Features,
    /// The legal moves as the player to move sees them.
    pub legal: Vec<u16>,
    /// Which of them was played, as an index into `legal`.
    pub target: usize,
    /// Whether the move is worth learning: book moves of engines are not.
    pub policy: bool,
    /// How the game stands, for the player to move: what is learnt; `None` where nobody knows.
    pub wdl: Option<Wdl>,
    /// The time that the player took for the move; `None` where no clock was written.
    pub taken: Option<Taken>,
    /// What is only measured.
    pub facts: Facts,
}

/// The time that a player took for a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Whole seconds, as clocks are written.
    pub seconds: f32,
    /// The fair share of the clock before the move, in seconds.
    pub fair: f32,
}

impl Taken {
    /// What is known of the bin.
    pub fn bins(&self) -> [f32; TIME_BINS] {
        time_bins(self.seconds, self.fair)
    }
}

/// What is known of a position besides what is learnt from it, as the player to move sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// The player's rating.
    pub rating: Option<f32>,
    /// How the game ended.
    pub result: Option<Wdl>,
    /// What an engine thought.
    pub eval: Option<Wdl>,
    /// The same in pawns; mates are 60 less two for each move, 30 at least (AlphaMinusTwo's scale).
    pub pawns: Option<f32>,
}

/// How positions are changed before they are learnt from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augmentation {
    /// Share of positions in which ratings, clocks and increment are each forgotten with probability one half.
    pub forget_conditions: f64,
    /// Share of positions of games in which the history is cut at a random length.
    pub forget_history: f64,
    /// Share of positions whose colours are exchanged: only networks that tell White from Black see a difference.
    pub flip_colours: f64,
    /// Weight of the evaluation, where there is one, against the game's result, in games of engines…
    pub eval_weight: f64,
    /// …and in games of people, who draw far less than an engine expects of its equals.
    pub people_eval_weight: f64,
    /// What the network is told of the players' ratings: the truth, except to see what it makes of something else.
    #[serde(skip)]
    pub told: Told,
}

/// What a network is told of the players.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Their ratings.
    pub ratings: ToldRatings,
    /// The scale of these; `None` for the one that it is, `Some(None)` for none at all.
    pub pool: Option<Option<Pool>>,
}

/// What a network is told of the players' ratings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToldRatings {
    /// What they are.
    #[default]
    Right,
    /// So many points more, for both players.
    Shifted(i16),
    /// Nothing.
    None,
}

impl Told {
    fn change(self, conditions: &mut Conditions) {
        for seat in [&mut conditions.white, &mut conditions.black] {
            seat.rating = match self.ratings {
                ToldRatings::Right => seat.rating,
                ToldRatings::Shifted(by) => seat.rating.map(|r| r + f32::from(by)),
                ToldRatings::None => None,
            };
        }
        conditions.pool = self.pool.unwrap_or(conditions.pool);
    }
}

impl std::str::FromStr for Told {
    type Err = String;

    fn from_str(text: &str) -> Result<Told, String> {
        let mut told = Told::default();
        for word in text.split(',') {
            let shift = || word.strip_prefix('+').unwrap_or(word).parse().ok().filter(|by: &i16| by.abs() <= 3000);
            let pool = |name: &str| serde_json::from_value::<Pool>(name.into()).ok().map(Some);
            match (word, word.strip_prefix("pool=")) {
                ("right", _) => {}
                ("none", _) => told.ratings = ToldRatings::None,
                (_, Some("none")) => told.pool = Some(None),
                (_, Some(name)) if pool(name).is_some() => told.pool = pool(name),
                _ => {
                    told.ratings = shift().map(ToldRatings::Shifted).ok_or_else(|| {
                        let names =
                            Pool::ALL.map(|p| serde_json::to_value(p).unwrap_or_default()).map(|v| v.to_string());
                        let names = names.join(", ").replace('"', "");
                        format!(
                            "'{word}': right, none, points like +400 or -400, or pool= one of {names}, none is expected"
                        )
                    })?;
                }
            }
        }
        Ok(told)
    }
}

impl Default for Augmentation {
    fn default() -> Self {
        Augmentation {
            forget_conditions: 0.1,
            forget_history: 0.15,
            flip_colours: 0.0,
            eval_weight: 0.75,
            people_eval_weight: 0.25,
            told: Told::default(),
        }
    }
}

impl Augmentation {
    /// All its numbers with their names; each is a share, from 0 to 1.
    pub fn shares(&self) -> [(&'static str, f64); 5] {
        [
            ("forget_conditions", self.forget_conditions),
            ("forget_history", self.forget_history),
            ("flip_colours", self.flip_colours),
            ("eval_weight", self.eval_weight),
            ("people_eval_weight", self.people_eval_weight),
        ]
    }

    /// Positions as they were: for measuring.
    pub fn none() -> Augmentation {
        Augmentation { forget_conditions: 0.0, forget_history: 0.0, flip_colours: 0.0, ..Augmentation::default() }
    }

    /// The sample of an evaluated position; `None` where the record is damaged.
    pub fn of_position(&self, record: PositionRecord, rng: &mut StdRng) -> Option<Sample> {
        let turn = record.position.turn();
        let mut conditions = Conditions::STRONGEST;
        self.forget_conditions(&mut conditions, rng);
        let legal = record.position.legal_moves();
        let best = move_among(&legal, record.best)?;
        let game = Game::new(record.position);
        let wdl = wdl_of_eval(record.eval, turn);
        let facts = Facts { eval: Some(wdl), pawns: Some(pawns_of_eval(record.eval, turn)), ..Facts::default() };
        let mut sample = Sample { facts, ..sample(&game, &legal, &conditions, best, true, Some(wdl)) };
        self.flip(&mut sample, rng);
        Some(sample)
    }

    /// The samples of a game's positions before the given plies, which rise. The game is played through once. Ends at
    /// the first ply that the record does not have.
    pub fn of_game(&self, record: &GameRecord, plies: &[usize], rng: &mut StdRng, mut give: impl FnMut(Sample)) {
        let mut game = Game::new(Chess::default());
        let mut wanted = plies.iter().copied().peekable();
        for (ply, &rank) in record.ranks.iter().enumerate() {
            let Some(&next) = wanted.peek() else { break };
            let legal = game.position().legal_moves();
            let Some(played) = move_among(&legal, rank) else { break };
            if ply == next {
                wanted.next();
                give(self.of_ply(&game, &legal, (record, ply), played, rng));
            }
            game.play(played);
        }
    }

    fn of_ply(
        &self,
        game: &Game,
        legal: &[Move],
        (record, ply): (&GameRecord, usize),
        played: Move,
        rng: &mut StdRng,
    ) -> Sample {
        let turn = game.position().turn();
        let mut conditions = conditions_at(record, ply);
        let rating = conditions.seats(turn).0.rating;
        let written = ply.checked_sub(1).and_then(|before| record.eval(before));
        let eval = written.map(|e| wdl_of_eval(e, turn));
        let result = match record.head.result {
            GameResult::White => Some(turn.fold_wb(Wdl::WIN, Wdl::LOSS)),
            GameResult::Draw => Some(Wdl::DRAW),
            GameResult::Black => Some(turn.fold_wb(Wdl::LOSS, Wdl::WIN)),
            GameResult::Unknown => None,
        };
        let wdl = match (eval, result) {
            (Some(eval), Some(result)) => {
                let engines = record.head.pool == Pool::Engine;
                let weight = if engines { self.eval_weight } else { self.people_eval_weight };
                Some(mix(eval, result, weight as f32))
            }
            (eval, result) => eval.or(result),
        };
        // An engine's move without an evaluation comes from a book.
        let policy = record.head.pool != Pool::Engine || record.eval(ply).is_some();
        self.told.change(&mut conditions);
        self.forget_conditions(&mut conditions, rng);
        let facts = Facts { rating, result, eval, pawns: written.map(|e| pawns_of_eval(e, turn)) };
        let taken = time_taken(record, ply);
        let mut sample = Sample { facts, taken, ..sample(game, legal, &conditions, played, policy, wdl) };
        if rng.random_bool(self.forget_history) {
            sample.features.forget_history(rng.random_range(1..glance::board::BOARDS));
        }
        self.flip(&mut sample, rng);
        sample
    }

    fn flip(&self, sample: &mut Sample, rng: &mut StdRng) {
        if self.flip_colours > 0.0 && rng.random_bool(self.flip_colours) {
            sample.features.flip_colours();
        }
    }

    fn forget_conditions(&self, conditions: &mut Conditions, rng: &mut StdRng) {
        if !rng.random_bool(self.forget_conditions) {
            return;
        }
        let mut half = || rng.random_bool(0.5);
        for seat in [&mut conditions.white, &mut conditions.black] {
            seat.rating = seat.rating.filter(|_| half());
            seat.clock = seat.clock.filter(|_| half());
        }
        conditions.increment = conditions.increment.filter(|_| half());
        conditions.pool = conditions.pool.filter(|_| half());
    }
}

fn mix(a: Wdl, b: Wdl, weight: f32) -> Wdl {
    let part = |a: f32, b: f32| a * weight + b * (1.0 - weight);
    Wdl { win: part(a.win, b.win), draw: part(a.draw, b.draw), loss: part(a.loss, b.loss) }
}

/// An evaluation from White's side, as the player to move sees it.
fn wdl_of_eval(eval: i16, turn: Color) -> Wdl {
    let mate = eval.unsigned_abs() > MATE.unsigned_abs() - 1000;
    let cp = if mate { i32::from(eval.signum()) * 3000 } else { i32::from(eval) };
    Wdl::from_centipawns(turn.fold_wb(cp, -cp))
}

/// The same in pawns, for the player to move.
fn pawns_of_eval(eval: i16, turn: Color) -> f32 {
    let to_mate = i32::from(MATE) - i32::from(eval).abs();
    let pawns = if to_mate < 1000 {
        f32::from(eval.signum()) * (60 - 2 * (to_mate - 1)).max(30) as f32
    } else {
        f32::from(eval) / 100.0
    };
    turn.fold_wb(pawns, -pawns)
}

/// What is known of the players before a ply of a game.
pub fn conditions_at(record: &GameRecord, ply: usize) -> Conditions {
    let head = record.head;
    let start = head.time_control.map(|(base, _)| f32::from(base));
    let clock = |back: usize| match ply.checked_sub(back) {
        Some(earlier) => record.clock(earlier).map(f32::from),
        // Before the first move of a game with clocks, the whole time is left.
        None => start.filter(|_| record.clock(0).is_some()),
    };
    let (own, other) = (clock(2), clock(1));
    let (white, black) = if ply.is_multiple_of(2) { (own, other) } else { (other, own) };
    Conditions {
        white: Seat { rating: head.white.map(f32::from), clock: white },
        black: Seat { rating: head.black.map(f32::from), clock: black },
        increment: head.time_control.map(|(_, increment)| f32::from(increment)),
        pool: Some(head.pool),
    }
}

/// The time that a player took for a move, from the clocks around it. Nothing is known of the first move of each, for which
/// many sites do not run the clock, nor where the clock rose by more than the increment.
fn time_taken(record: &GameRecord, ply: usize) -> Option<Taken> {
    let before = record.clock(ply.checked_sub(2)?)?;
    let (_, increment) = record.head.time_control?;
    let (before, increment) = (f32::from(before), f32::from(increment));
    let seconds = before + increment - f32::from(record.clock(ply)?);
    (seconds >= 0.0).then_some(Taken { seconds, fair: fair_share(before, increment) })
}

/// A sample of a game's position, whose legal moves these are, its target being one of them.
pub fn sample(
    game: &Game,
    legal: &[Move],
    conditions: &Conditions,
    played: Move,
    policy: bool,
    wdl: Option<Wdl>,
) -> Sample {
    let turn = game.position().turn();
    let target = legal.iter().position(|&m| m == played).unwrap_or_default();
    let legal = legal.iter().map(|&m| MoveIndex::seen_by(m, turn).get() as u16).collect();
    let features = Features::of(game, conditions);
    Sample { features, legal, target, policy, wdl, taken: None, facts: Facts::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_and_what_is_not_understood_is_named() {
        let told = |text: &str| text.parse::<Told>();
        assert_eq!(told("right"), Ok(Told::default()));
        let shifted = Told { ratings: ToldRatings::Shifted(-400), pool: Some(Some(Pool::Otb)) };
        assert_eq!(told("pool=otb,-400"), Ok(shifted));
        assert_eq!(told("none,pool=none"), Ok(Told { ratings: ToldRatings::None, pool: Some(None) }));
        assert_eq!(told("+4000").expect_err("too many").lines().count(), 1);
        let error = told("pool=fide").expect_err("no such pool");
        assert!(error.starts_with("'pool=fide': ") && error.contains("otb, lichess, chess-com, engine"), "{error}");
        let mut conditions = Conditions { pool: Some(Pool::Lichess), ..Conditions::STRONGEST };
        let before = conditions.white.rating.expect("told");
        shifted.change(&mut conditions);
        assert_eq!((conditions.pool, conditions.white.rating), (Some(Pool::Otb), Some(before - 400.0)));
    }
}
