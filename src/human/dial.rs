//! From the rating asked for to how it is played: the calibration.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::choice::Style;

/// The calibration that is part of the program: made by `benches/calibrate.py` from games.
static EMBEDDED: &str = include_str!("../../weights/dial.json");

/// Styles at some ratings; those between are interpolated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dial {
    /// Rating in games, and how it is played; ratings rise.
    pub points: Vec<Point>,
}

/// One rating of the dial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The rating.
    pub elo: f32,
    /// How it is played.
    #[serde(flatten)]
    pub style: Style,
}

/// Largest file that is read as a dial.
const LARGEST: u64 = 1 << 20;

/// Why a dial cannot be used.
#[derive(Debug, Error)]
#[error("dial '{path}': {reason}")]
pub struct DialError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

/// How a rating is played when there is no calibration: as the network says.
fn plain(rating: f32) -> Style {
    Style { network: rating, temperature: 1.0, cut: 0.0, nodes: 0, reliance: 0.0 }
}

impl Dial {
    /// The calibration of the shipped network.
    pub fn embedded() -> Dial {
        // A test reads it: what is part of the program is sound.
        Dial::parse(EMBEDDED).unwrap_or(Dial { points: Vec::new() })
    }

    /// Reads another calibration: JSON as `weights/dial.json`.
    ///
    /// # Errors
    /// When the file cannot be read, or says something impossible.
    pub fn open(path: &Path) -> Result<Dial, DialError> {
        let fail = |reason: String| DialError { path: path.to_owned(), reason };
        let bytes = std::fs::metadata(path).map_err(|e| fail(e.to_string()))?;
        if !bytes.is_file() || bytes.len() > LARGEST {
            return Err(fail("a file of at most 1 MiB is expected".into()));
        }
        let text = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
        Dial::parse(&text).map_err(fail)
    }

    fn parse(text: &str) -> Result<Dial, String> {
        let dial: Dial = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if dial.points.is_empty() || dial.points.windows(2).any(|w| w[0].elo >= w[1].elo) {
            return Err("points: at least one, with rising elo, is expected".into());
        }
        for p in &dial.points {
            let Style { network, temperature, cut, nodes, reliance } = p.style;
            let allowed = [
                ("elo", p.elo, 0.0..=4000.0),
                ("network", network, 400.0..=3600.0),
                ("temperature", temperature, 0.01..=10.0),
                ("cut", cut, 0.0..=0.5),
                ("nodes", nodes as f32, 0.0..=100_000.0),
                ("reliance", reliance, 0.0..=1000.0),
            ];
            for (name, value, range) in allowed {
                if !range.contains(&value) {
                    return Err(format!("{name} is {value}: {} to {} is allowed", range.start(), range.end()));
                }
            }
        }
        Ok(dial)
    }

    /// How a rating is played. Beyond the ends of the dial, as at the ends.
    pub fn style(&self, rating: f32) -> Style {
        let above = self.points.iter().position(|p| p.elo >= rating);
        let (low, high) = match above {
            Some(0) => (self.points[0], self.points[0]),
            Some(i) => (self.points[i - 1], self.points[i]),
            None => match self.points.last() {
                Some(&last) => (last, last),
                None => return plain(rating),
            },
        };
        let width = high.elo - low.elo;
        let share = if width > 0.0 { ((rating - low.elo) / width).clamp(0.0, 1.0) } else { 0.0 };
        let mix = |a: f32, b: f32| a + (b - a) * share;
        let (a, b) = (low.style, high.style);
        // Nodes by their logarithm: each doubling is worth about the same.
        let nodes = mix((a.nodes as f32 + 1.0).ln(), (b.nodes as f32 + 1.0).ln()).exp() - 1.0;
        Style {
            network: mix(a.network, b.network),
            temperature: mix(a.temperature, b.temperature),
            cut: mix(a.cut, b.cut),
            nodes: nodes.round() as u64,
            reliance: mix(a.reliance, b.reliance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_dial_is_sound() {
        let dial = Dial::parse(EMBEDDED).expect("sound");
        assert!(dial.points.len() >= 2);
        assert_eq!(Dial::embedded(), dial);
    }

    #[test]
    fn impossible_dials_are_refused_in_one_line() {
        let path = std::env::temp_dir().join(format!("glance-dial-{}.json", std::process::id()));
        let point = |elo: u32, network: u32| {
            format!("{{\"elo\":{elo},\"network\":{network},\"temperature\":1,\"cut\":0,\"nodes\":0,\"reliance\":0}}")
        };
        let of = |points: &[String]| format!("{{\"points\":[{}]}}", points.join(","));
        for (text, expected) in [
            (of(&[]), "at least one"),
            (of(&[point(1000, 900), point(900, 900)]), "rising elo"),
            (of(&[point(1000, 90)]), "network is 90: 400 to 3600 is allowed"),
            ("[".to_owned(), "EOF"),
            (point(1, 2), "unknown field"),
        ] {
            std::fs::write(&path, &text).expect("writable");
            let error = Dial::open(&path).expect_err(&text).to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
        std::fs::write(&path, of(&[point(1000, 900)])).expect("writable");
        assert_eq!(Dial::open(&path).expect("sound").points.len(), 1);
        std::fs::remove_file(&path).expect("removable");
        assert!(Dial::open(&path).expect_err("gone").to_string().contains("dial '"));
    }

    #[test]
    fn ratings_between_are_mixed_and_beyond_are_the_ends() {
        let style = |network, nodes| Style { network, nodes, ..plain(0.0) };
        let dial = Dial {
            points: vec![
                Point { elo: 1000.0, style: style(900.0, 0) },
                Point { elo: 1200.0, style: style(1300.0, 15) },
            ],
        };
        assert_eq!(dial.style(500.0), style(900.0, 0));
        assert_eq!(dial.style(1100.0), style(1100.0, 3));
        assert_eq!(dial.style(1200.0), style(1300.0, 15));
        assert_eq!(dial.style(9000.0), style(1300.0, 15));
        assert_eq!(Dial { points: Vec::new() }.style(1500.0), plain(1500.0));
    }
}
