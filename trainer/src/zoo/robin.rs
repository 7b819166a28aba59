//! The round robin: every two systems, every opening, both colours; each game is kept as soon as it is over.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use glance::play::{Engine, SearchName};
use serde::{Deserialize, Serialize};

use super::elo::Pair;
use super::games::{Played, play, player};

/// A game that was played: a line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// System with White.
    pub white: String,
    /// System with Black.
    pub black: String,
    /// Number of the opening.
    pub opening: usize,
    /// Points of White.
    pub points: f64,
    /// All moves, in UCI notation.
    pub moves: Vec<String>,
}

/// Who plays what.
pub struct RoundRobin<'a> {
    /// Names and weights of the systems.
    pub systems: Vec<(String, PathBuf)>,
    /// First plies of the games.
    pub openings: &'a [Vec<String>],
    /// The search that all play with.
    pub search: SearchName,
    /// Positions looked at for a move.
    pub nodes: u64,
}

/// Why games could not be played or kept.
#[derive(Debug, thiserror::Error)]
pub enum RobinError {
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// A system cannot play.
    #[error("{system}: {reason}")]
    Player {
        /// Its name.
        system: String,
        /// Why not.
        reason: String,
    },
}

/// An engine with the name of the system that it plays.
type Seat<'a> = (&'a str, Engine);

impl RoundRobin<'_> {
    /// Games of the file that this round robin would play too.
    pub fn done(&self, file: &Path) -> Vec<Line> {
        let text = fs::read_to_string(file).unwrap_or_default();
        let here = |name: &str| self.systems.iter().any(|(system, _)| system == name);
        let mut lines: Vec<Line> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok())
            .filter(|l| here(&l.white) && here(&l.black) && l.opening < self.openings.len())
            .collect();
        lines.sort_by(|a, b| (&a.white, &a.black, a.opening).cmp(&(&b.white, &b.black, b.opening)));
        lines.dedup_by(|a, b| (&a.white, &a.black, a.opening) == (&b.white, &b.black, b.opening));
        lines
    }

    fn wanted(&self, done: &[Line]) -> Vec<(&str, &str, usize)> {
        let done: HashSet<_> = done.iter().map(|l| (l.white.as_str(), l.black.as_str(), l.opening)).collect();
        let mut wanted = Vec::new();
        for (i, (first, _)) in self.systems.iter().enumerate() {
            for (second, _) in &self.systems[i + 1..] {
                for opening in 0..self.openings.len() {
                    wanted.extend([(first.as_str(), second.as_str(), opening), (second, first, opening)]);
                }
            }
        }
        wanted.retain(|game| !done.contains(game));
        wanted
    }

    fn sit<'s>(&'s self, name: &'s str) -> Result<Seat<'s>, RobinError> {
        let weights = self.systems.iter().find(|(system, _)| system == name).map(|(_, w)| w.as_path());
        let engine = player(weights.unwrap_or(Path::new("")), self.search);
        Ok((name, engine.map_err(|e| RobinError::Player { system: name.to_owned(), reason: e.to_string() })?))
    }

    /// Plays what is not in the file yet, on so many threads. Returns all games; fewer than there should be when interrupted.
    /// `tell` is told how many are to be played, then called with 0 for each that was.
    ///
    /// # Errors
    /// When the file cannot be written, or a system cannot play.
    pub fn play(
        &self,
        file: &Path,
        threads: usize,
        interrupted: &AtomicBool,
        tell: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Line>, RobinError> {
        let io = |error| RobinError::Io { path: file.to_owned(), error };
        let done = self.done(file);
        let wanted = self.wanted(&done);
        tell(wanted.len());
        let kept = Mutex::new(OpenOptions::new().create(true).append(true).open(file).map_err(io)?);
        let next = Mutex::new(wanted.into_iter());
        let worker = || -> Result<(), RobinError> {
            let mut seats: Option<(Seat, Seat)> = None;
            while !interrupted.load(Ordering::Relaxed) {
                let Some((white, black, opening)) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                    break;
                };
                // The two that sat here before may exchange colours.
                let (mut one, mut other) = match seats.take() {
                    Some((a, b)) if a.0 == white && b.0 == black => (a, b),
                    Some((a, b)) if a.0 == black && b.0 == white => (b, a),
                    _ => (self.sit(white)?, self.sit(black)?),
                };
                let Played { points, moves } = play(&self.openings[opening], &mut one.1, &mut other.1, self.nodes)
                    .map_err(|e| RobinError::Player { system: format!("{white} or {black}"), reason: e.to_string() })?;
                let line = Line { white: white.into(), black: black.into(), opening, points, moves };
                keep(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), &line).map_err(io)?;
                tell(0);
                seats = Some((one, other));
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<()>, _>>()
        })?;
        Ok(self.done(file))
    }

    /// The games as pairs of the same opening with colours exchanged.
    pub fn pairs(&self, games: &[Line]) -> Vec<Pair> {
        let place = |name: &str| self.systems.iter().position(|(system, _)| system == name).unwrap_or_default();
        let mut pairs = Vec::new();
        for one in games.iter().filter(|l| l.white < l.black) {
            let other = games.iter().find(|l| l.white == one.black && l.black == one.white && l.opening == one.opening);
            if let Some(other) = other {
                let points = one.points + 1.0 - other.points;
                pairs.push(Pair { first: place(&one.white), second: place(&one.black), points });
            }
        }
        pairs
    }
}

/// One line, in one write: a kill between two games loses neither.
fn keep(file: &mut File, line: &Line) -> io::Result<()> {
    file.write_all((serde_json::to_string(line)? + "\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_kept_once_and_only_those_of_this_table_count() {
        let folder = std::env::temp_dir().join(format!("glance-robin-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("temporary folder");
        let path = folder.join("games.jsonl");
        let robin = RoundRobin {
            systems: vec![("a".into(), "a".into()), ("b".into(), "b".into())],
            openings: &[Vec::new()],
            search: SearchName::Policy,
            nodes: 1,
        };
        let line = |white: &str, black: &str, opening| Line {
            white: white.into(),
            black: black.into(),
            opening,
            points: 1.0,
            moves: Vec::new(),
        };
        let mut file = File::create(&path).expect("writable");
        for game in [line("a", "b", 0), line("b", "a", 0), line("a", "b", 0), line("a", "c", 0), line("a", "b", 7)] {
            keep(&mut file, &game).expect("writable");
        }
        file.write_all(b"{\"white\": \"a\", \"bla").expect("writable");
        let done = robin.done(&path);
        assert_eq!(done, [line("a", "b", 0), line("b", "a", 0)]);
        assert!(robin.wanted(&done).is_empty());
        assert_eq!(robin.wanted(&done[..1]), [("b", "a", 0)]);
        // Both won with White: a point each.
        let pairs = robin.pairs(&done);
        assert_eq!((pairs.len(), pairs[0].points), (1, 1.0));
        fs::remove_dir_all(&folder).expect("removable");
    }
}
