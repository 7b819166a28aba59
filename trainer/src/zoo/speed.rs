//! How fast systems are, taken side by side: in rounds, each of which times all of them, so that what else the machine
//! does meets all of them alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Rounds; the medians count.
pub const ROUNDS: usize = 3;
/// Positions trained on in a round, at most.
pub const POSITIONS: u64 = 8192;

/// A system's speed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Positions trained on in a second.
    pub training: f64,
    /// Milliseconds for one glance on one core, median.
    pub milliseconds: f64,
}

/// The speeds of systems, by name, as far as they are known, one a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speeds(BTreeMap<String, Vec<Speed>>);

impl Speeds {
    /// Reads what was written before; nothing where there is nothing.
    pub fn read(path: &Path) -> Speeds {
        fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Rounds in which a system was timed.
    pub fn rounds(&self, system: &str) -> usize {
        self.0.get(system).map_or(0, Vec::len)
    }

    /// One round more for a system, written down at once.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, system: &str, speed: Speed, path: &Path) -> std::io::Result<()> {
        self.0.entry(system.to_owned()).or_default().push(speed);
        fs::write(path, serde_json::to_string_pretty(self)?)
    }

    /// The medians of a system's rounds; `None` where it was never timed.
    pub fn of(&self, system: &str) -> Option<Speed> {
        let rounds = self.0.get(system).filter(|r| !r.is_empty())?;
        let median = |of: fn(&Speed) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Some(Speed { training: median(|s| s.training), milliseconds: median(|s| s.milliseconds) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_survive_the_file() {
        let path = std::env::temp_dir().join(format!("glance-speeds-{}.json", std::process::id()));
        let mut speeds = Speeds::read(&path);
        assert_eq!(speeds.of("a"), None);
        for (training, milliseconds) in [(900.0, 1.0), (1000.0, 0.5), (10.0, 90.0)] {
            speeds.add("a", Speed { training, milliseconds }, &path).expect("writable");
        }
        let read = Speeds::read(&path);
        assert_eq!((read.of("a"), read.rounds("a")), (Some(Speed { training: 900.0, milliseconds: 1.0 }), 3));
        assert_eq!(read.of("b"), None);
        fs::remove_file(&path).expect("removable");
    }
}
