//! Training positions, drawn from shards: any batch can be made from its number alone, on any thread.

use std::path::{Path, PathBuf};

use glance::board::{Conditions, Features, Game, MoveIndex, Pool, Seat};
use glance::evaluate::Wdl;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Color, Position};

use super::move_at;
use super::movetext::MATE;
use super::shard::{GameRecord, GameResult, Kind, Shard, ShardError};

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
    /// What is only measured.
    pub facts: Facts,
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
}

/// How positions are changed before they are learnt from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augmentation {
    /// Share of positions in which ratings, clocks and increment are each forgotten with probability one half.
    pub forget_conditions: f64,
    /// Share of positions of games in which the history is cut at a random length.
    pub forget_history: f64,
    /// Weight of the evaluation, where there is one, against the game's result.
    pub eval_weight: f32,
}

impl Default for Augmentation {
    fn default() -> Self {
        Augmentation { forget_conditions: 0.1, forget_history: 0.15, eval_weight: 0.75 }
    }
}

/// One source of positions with its weight in the mixture.
pub struct Source {
    shard: Shard,
    weight: f64,
    /// The games' pool where the source names one: ratings are balanced within it.
    name: String,
}

impl Source {
    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    pub fn kind(&self) -> Kind {
        self.shard.kind()
    }

    /// How much of the mixture it is, in the unit of the recipe's shares.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Its number of games or positions.
    pub fn len(&self) -> usize {
        self.shard.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.shard.is_empty()
    }
}

/// A mixture of sources.
pub struct Mixture {
    sources: Vec<Source>,
    augmentation: Augmentation,
}

/// Why a mixture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MixtureError {
    /// A shard is damaged or missing.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// A folder cannot be listed.
    #[error("{path}: {error}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Nothing to learn from.
    #[error("{0}: no shards (*.games, *.positions) for the weights given; run `prepare` first")]
    Empty(PathBuf),
}

impl Mixture {
    /// Opens the shards of a folder. `weights` maps the beginning of a file's name to the share of positions that
    /// come from the files whose names begin so; files without a weight are left out.
    ///
    /// # Errors
    /// When a shard is damaged, or none is named.
    pub fn open(folder: &Path, weights: &[(String, f64)], augmentation: Augmentation) -> Result<Mixture, MixtureError> {
        let io = |error| MixtureError::Folder { path: folder.to_owned(), error };
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .map_err(io)?
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "games" || e == "positions"))
            .collect();
        paths.sort();
        let mut sources = Vec::new();
        for (prefix, weight) in weights {
            let mut group = Vec::new();
            for path in &paths {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                if name.starts_with(prefix.as_str()) {
                    let shard = Shard::open(path)?;
                    if !shard.is_empty() {
                        group.push((shard, name));
                    }
                }
            }
            let total: usize = group.iter().map(|(shard, _)| shard.len()).sum();
            sources.extend(group.into_iter().map(|(shard, name)| {
                let weight = weight * shard.len() as f64 / total as f64;
                Source { shard, weight, name }
            }));
        }
        if sources.is_empty() {
            return Err(MixtureError::Empty(folder.to_owned()));
        }
        Ok(Mixture { sources, augmentation })
    }

    /// The sources.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The batch with this number: the same for the same seed, whichever thread asks and whatever came before.
    pub fn batch(&self, seed: u64, number: u64, size: usize) -> Vec<Sample> {
        let mut rng = StdRng::seed_from_u64(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let total: f64 = self.sources.iter().map(|s| s.weight).sum();
        let mut batch = Vec::with_capacity(size);
        while batch.len() < size {
            let mut at = rng.random::<f64>() * total;
            let source = self
                .sources
                .iter()
                .find(|s| {
                    at -= s.weight;
                    at < 0.0
                })
                .unwrap_or(&self.sources[0]);
            let i = rng.random_range(0..source.shard.len());
            let sample = match source.shard.kind() {
                Kind::Positions => self.of_position(source, i, &mut rng),
                Kind::Games => source.shard.game(i).and_then(|game| {
                    let ply = rng.random_range(0..game.ranks.len().max(1));
                    self.of_game(&game, ply, Some(&mut rng))
                }),
            };
            batch.extend(sample.filter(|s| s.legal.len() <= MOST_LEGAL));
        }
        batch
    }

    fn of_position(&self, source: &Source, i: usize, rng: &mut StdRng) -> Option<Sample> {
        let record = source.shard.position(i)?;
        let turn = record.position.turn();
        let mut conditions = Conditions::STRONGEST;
        self.forget_conditions(&mut conditions, rng);
        let best = move_at(&record.position, record.best)?;
        let game = Game::new(record.position);
        let wdl = wdl_of_eval(record.eval, turn);
        let facts = Facts { eval: Some(wdl), ..Facts::default() };
        Some(Sample { facts, ..sample(&game, &conditions, best, true, Some(wdl)) })
    }

    /// The position before a ply of a game. Without `rng`, as it was: nothing is forgotten.
    pub fn of_game(&self, record: &GameRecord, ply: usize, rng: Option<&mut StdRng>) -> Option<Sample> {
        let mut game = Game::new(Chess::default());
        for &rank in record.ranks.get(..ply)? {
            game.play(move_at(game.position(), rank)?);
        }
        let played = move_at(game.position(), *record.ranks.get(ply)?)?;
        let turn = game.position().turn();
        let mut conditions = conditions_at(record, ply);
        let rating = conditions.seats(turn).0.rating;
        let eval = ply.checked_sub(1).and_then(|before| record.eval(before)).map(|e| wdl_of_eval(e, turn));
        let result = match record.head.result {
            GameResult::White => Some(turn.fold_wb(Wdl::WIN, Wdl::LOSS)),
            GameResult::Draw => Some(Wdl::DRAW),
            GameResult::Black => Some(turn.fold_wb(Wdl::LOSS, Wdl::WIN)),
            GameResult::Unknown => None,
        };
        let wdl = match (eval, result) {
            (Some(eval), Some(result)) => Some(mix(eval, result, self.augmentation.eval_weight)),
            (eval, result) => eval.or(result),
        };
        // An engine's move without an evaluation comes from a book.
        let policy = record.head.pool != Pool::Engine || record.eval(ply).is_some();
        let mut known = usize::MAX;
        if let Some(rng) = rng {
            self.forget_conditions(&mut conditions, rng);
            if rng.random_bool(self.augmentation.forget_history) {
                known = rng.random_range(1..glance::board::BOARDS);
            }
        }
        let facts = Facts { rating, result, eval };
        let mut sample = Sample { facts, ..sample(&game, &conditions, played, policy, wdl) };
        sample.features.forget_history(known);
        Some(sample)
    }

    fn forget_conditions(&self, conditions: &mut Conditions, rng: &mut StdRng) {
        if !rng.random_bool(self.augmentation.forget_conditions) {
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

/// A sample of a game's position, its target being this legal move.
pub fn sample(game: &Game, conditions: &Conditions, played: shakmaty::Move, policy: bool, wdl: Option<Wdl>) -> Sample {
    let turn = game.position().turn();
    let moves = game.position().legal_moves();
    let target = moves.iter().position(|&m| m == played).unwrap_or_default();
    let legal = moves.iter().map(|&m| MoveIndex::seen_by(m, turn).get() as u16).collect();
    Sample { features: Features::of(game, conditions), legal, target, policy, wdl, facts: Facts::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{movetext, shard};

    #[test]
    fn batches_depend_on_their_number_alone() {
        let dir = std::env::temp_dir().join(format!("glance-mixture-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("temporary folder");
        let moves = movetext::parse("1. e4 {[%eval 0.3]} e5 {[%eval 0.2]} 2. Nf3 Nc6 3. Bb5 a6").expect("a game");
        let head = shard::GameHead {
            result: GameResult::White,
            pool: Pool::Lichess,
            white: Some(1500),
            black: Some(1600),
            time_control: Some((600, 0)),
        };
        let game = shard::encode_game(&head, &moves);
        shard::write(&dir.join("a.games"), Kind::Games, &[game]).expect("written");
        let position = shard::encode_position(&Chess::default(), 3, 25, 9).expect("packs").to_vec();
        shard::write(&dir.join("b.positions"), Kind::Positions, &[position]).expect("written");
        let weights = [("a".to_owned(), 0.5), ("b".to_owned(), 0.5)];
        let mixture = Mixture::open(&dir, &weights, Augmentation::default()).expect("two shards");
        assert_eq!(mixture.sources().len(), 2);
        let (one, two) = (mixture.batch(7, 3, 16), mixture.batch(7, 3, 16));
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
        assert_ne!(format!("{one:?}"), format!("{:?}", mixture.batch(7, 4, 16)));
        for s in &one {
            let wdl = s.wdl.expect("results are known");
            assert!((wdl.win + wdl.draw + wdl.loss - 1.0).abs() < 1e-5);
            assert!(s.target < s.legal.len());
        }
        // Black, after 1. e4: White won, and the evaluation says that White is better.
        let record = mixture.sources[0].shard.game(0).expect("the game");
        let black = mixture.of_game(&record, 1, None).expect("a sample").wdl.expect("known");
        assert!(black.loss > black.win);
        assert!(Mixture::open(&dir, &[("zzz".into(), 1.0)], Augmentation::default()).is_err());
        std::fs::remove_dir_all(&dir).expect("removable");
    }
}
