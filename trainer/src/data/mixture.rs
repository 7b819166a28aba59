//! Batches of samples, drawn from shards by shares: any batch can be made from its number alone, on any thread.
//!
//! The shuffle has two levels. Games and positions are drawn at random from all shards of a source, with replacement; a
//! game gives sixteen of its positions at once, so that it is played through once for all of them; what is drawn fills
//! a pool of many batches, which is shuffled and cut into them.

use std::path::{Path, PathBuf};

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::sample::{Augmentation, MOST_LEGAL, Sample};
use super::shard::{Kind, Shard, ShardError};

/// Positions that a draw gives: of one game, or one after another.
const DRAW: usize = 16;
/// Positions of a pool, as far as batches are large enough.
const POOL: usize = 32_768;
/// Batches of a pool at most.
const MOST_BATCHES: usize = 64;
/// Points of rating that are one stratum when ratings are balanced.
const STRATUM: u16 = 200;

/// How much of a mixture some shards are.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The shards whose names begin so.
    pub prefix: String,
    /// Share of the positions, in any unit.
    pub weight: f64,
    /// How far games are balanced by rating: 0 draws them as they come, 1 each 200 points of rating as often as any
    /// others; between, strata of n games are drawn in proportion to n to the power of 1 − balance.
    pub balance: f64,
}

impl Share {
    /// A share without balancing.
    pub fn new(prefix: &str, weight: f64) -> Share {
        Share { prefix: prefix.to_owned(), weight, balance: 0.0 }
    }
}

/// One shard with its weight in the mixture.
pub struct Source {
    shard: Shard,
    weight: f64,
    name: String,
    /// Records of each stratum, with its share of the draws; empty where nothing is balanced.
    strata: Vec<(f64, Vec<u32>)>,
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

    fn draw(&self, rng: &mut StdRng) -> usize {
        match pick(&self.strata, |(share, _)| *share, rng) {
            Some((_, records)) => records[rng.random_range(0..records.len())] as usize,
            None => rng.random_range(0..self.shard.len()),
        }
    }
}

/// One of some things, with probability proportional to its weight.
fn pick<'a, T>(things: &'a [T], weight: impl Fn(&T) -> f64, rng: &mut StdRng) -> Option<&'a T> {
    let total: f64 = things.iter().map(&weight).sum();
    let mut at = rng.random::<f64>() * total;
    things
        .iter()
        .find(|thing| {
            at -= weight(thing);
            at < 0.0
        })
        .or(things.first())
}

/// Games by the mean of the ratings known of their players.
fn strata(shard: &Shard, balance: f64) -> Vec<(f64, Vec<u32>)> {
    if balance <= 0.0 || shard.kind() != Kind::Games {
        return Vec::new();
    }
    let mut strata: std::collections::BTreeMap<Option<u16>, Vec<u32>> = std::collections::BTreeMap::new();
    for i in 0..shard.len() {
        let rating = shard.game(i).and_then(|g| match (g.head.white, g.head.black) {
            (Some(white), Some(black)) => Some(white.midpoint(black)),
            (white, black) => white.or(black),
        });
        strata.entry(rating.map(|r| r / STRATUM)).or_default().push(i as u32);
    }
    strata.into_values().map(|records| ((records.len() as f64).powf(1.0 - balance), records)).collect()
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
    #[error("{0}: no shards (*.games, *.positions) for the shares given; run `prepare` first")]
    Empty(PathBuf),
}

impl Mixture {
    /// Opens the shards of a folder. A share is divided among the shards whose names begin with its prefix by their
    /// numbers of records; files that no share names are left out.
    ///
    /// # Errors
    /// When a shard is damaged, or none is named.
    pub fn open(folder: &Path, shares: &[Share], augmentation: Augmentation) -> Result<Mixture, MixtureError> {
        let io = |error| MixtureError::Folder { path: folder.to_owned(), error };
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .map_err(io)?
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "games" || e == "positions"))
            .collect();
        paths.sort();
        let mut sources = Vec::new();
        for share in shares {
            let mut group = Vec::new();
            for path in &paths {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                if name.starts_with(share.prefix.as_str()) {
                    let shard = Shard::open(path)?;
                    if !shard.is_empty() {
                        group.push((shard, name));
                    }
                }
            }
            let total: usize = group.iter().map(|(shard, _)| shard.len()).sum();
            sources.extend(group.into_iter().map(|(shard, name)| Source {
                weight: share.weight * shard.len() as f64 / total as f64,
                strata: strata(&shard, share.balance),
                shard,
                name,
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

    /// `size` samples, each drawn by itself: for measuring. The same for the same seed.
    pub fn set(&self, seed: u64, size: usize) -> Vec<Sample> {
        self.fill(size, 1, &mut StdRng::seed_from_u64(seed))
    }

    /// Batches in a pool.
    pub fn batches_in_pool(size: usize) -> u64 {
        (POOL / size.max(1)).clamp(1, MOST_BATCHES) as u64
    }

    /// The pool with this number, its batches of `size` samples one after another: the same for the same seed,
    /// whichever thread asks and whatever came before.
    pub fn pool(&self, seed: u64, number: u64, size: usize) -> Vec<Sample> {
        let mut rng = StdRng::seed_from_u64(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut pool = self.fill(size * Mixture::batches_in_pool(size) as usize, DRAW, &mut rng);
        pool.shuffle(&mut rng);
        pool
    }

    fn fill(&self, size: usize, draw: usize, rng: &mut StdRng) -> Vec<Sample> {
        let mut samples = Vec::with_capacity(size + draw);
        while samples.len() < size {
            let Some(source) = pick(&self.sources, |s| s.weight, rng) else { break };
            let give = |s: Sample| {
                if s.legal.len() <= MOST_LEGAL {
                    samples.push(s);
                }
            };
            self.draw(source, draw, rng, give);
        }
        samples.truncate(size);
        samples
    }

    /// Some positions of one game, or as many positions one by one.
    fn draw(&self, source: &Source, count: usize, rng: &mut StdRng, mut give: impl FnMut(Sample)) {
        match source.shard.kind() {
            Kind::Positions => {
                for _ in 0..count {
                    let record = source.shard.position(source.draw(rng));
                    record.and_then(|r| self.augmentation.of_position(r, rng)).map(&mut give);
                }
            }
            Kind::Games => {
                let Some(game) = source.shard.game(source.draw(rng)) else { return };
                let all = game.ranks.len();
                let mut plies = rand::seq::index::sample(rng, all, count.min(all)).into_vec();
                plies.sort_unstable();
                self.augmentation.of_game(&game, &plies, rng, give);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::movetext;
    use crate::data::shard::{self, GameHead, GameResult};
    use glance::board::Pool;
    use shakmaty::Chess;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("glance-mixture-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("temporary folder");
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn game(text: &str, rating: u16) -> Vec<u8> {
        let head = GameHead {
            result: GameResult::White,
            pool: Pool::Lichess,
            white: Some(rating),
            black: Some(rating),
            time_control: Some((600, 0)),
        };
        shard::encode_game(&head, &movetext::parse(text).expect("a game"))
    }

    const TEXT: &str = "1. e4 {[%eval 0.3]} e5 {[%eval 0.2]} 2. Nf3 Nc6 3. Bb5 a6";

    #[test]
    fn pools_depend_on_their_number_alone() {
        let folder = Folder::new("pools");
        shard::write(&folder.0.join("a.games"), Kind::Games, &[game(TEXT, 1500)]).expect("written");
        let position = shard::encode_position(&Chess::default(), 3, 25, 9).expect("packs").to_vec();
        shard::write(&folder.0.join("b.positions"), Kind::Positions, &[position]).expect("written");
        let shares = [Share::new("a", 0.5), Share::new("b", 0.5)];
        let mixture = Mixture::open(&folder.0, &shares, Augmentation::default()).expect("two shards");
        assert_eq!(mixture.sources().len(), 2);
        let (one, two) = (mixture.pool(7, 3, 16), mixture.pool(7, 3, 16));
        assert_eq!(one.len(), 16 * 64);
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
        assert_ne!(format!("{one:?}"), format!("{:?}", mixture.pool(7, 4, 16)));
        for s in &one {
            let wdl = s.wdl.expect("results are known");
            assert!((wdl.win + wdl.draw + wdl.loss - 1.0).abs() < 1e-5);
            assert!(s.target < s.legal.len());
        }
        // A draw of a game of six plies gives six positions, of positions sixteen.
        let large = mixture.pool(7, 0, 512);
        let of_games = large.iter().filter(|s| s.facts.result.is_some()).count() as f64 / large.len() as f64;
        assert!((of_games - 6.0 / 22.0).abs() < 0.04, "{of_games}");
        assert!(Mixture::open(&folder.0, &[Share::new("zzz", 1.0)], Augmentation::default()).is_err());
    }

    #[test]
    fn samples_of_a_game_are_those_of_its_plies() {
        let folder = Folder::new("plies");
        shard::write(&folder.0.join("a.games"), Kind::Games, &[game(TEXT, 1500)]).expect("written");
        let shard = Shard::open(&folder.0.join("a.games")).expect("whole");
        let record = shard.game(0).expect("the game");
        let mut rng = StdRng::seed_from_u64(1);
        let mut found = Vec::new();
        Augmentation::none().of_game(&record, &[1, 4], &mut rng, |s| found.push(s));
        assert_eq!(found.len(), 2);
        // Black, after 1. e4: White won, and the evaluation says that White is better.
        let black = found[0].wdl.expect("known");
        assert!(black.loss > black.win);
        assert_eq!(found[0].legal.len(), 20);
        // Past the end there is nothing.
        Augmentation::none().of_game(&record, &[6, 9], &mut rng, |_| panic!("six plies"));
    }

    #[test]
    fn ratings_are_balanced_as_far_as_asked() {
        let folder = Folder::new("balance");
        let games: Vec<Vec<u8>> = (0..100).map(|i| game(TEXT, if i < 90 { 1500 } else { 2300 })).collect();
        shard::write(&folder.0.join("a.games"), Kind::Games, &games).expect("written");
        for (balance, expected) in [(0.0, 0.10), (0.5, 0.25), (1.0, 0.50)] {
            let share = Share { balance, ..Share::new("a", 1.0) };
            let mixture = Mixture::open(&folder.0, &[share], Augmentation::none()).expect("a shard");
            let set = mixture.set(5, 4000);
            let strong = set.iter().filter(|s| s.facts.rating == Some(2300.0)).count() as f64 / 4000.0;
            assert!((strong - expected).abs() < 0.03, "{balance}: {strong}");
        }
    }
}
