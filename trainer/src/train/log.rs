//! What a run tells while it goes on: `metrics.csv` and `validation.csv`, and a page with their curves.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::recipe::Recipe;
use super::run::TrainError;
use crate::measure::figures::Figures;
use glance::plot::{Curve, lines};

/// A row of `metrics.csv`: means over the steps since the row before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Steps done.
    pub step: u64,
    /// Positions seen.
    pub positions: u64,
    /// Minutes of training.
    pub minutes: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Cross-entropy of the moves, nats.
    pub policy_loss: f64,
    /// Cross-entropy of the outcomes, nats.
    pub value_loss: f64,
    /// Cross-entropy of the times taken, nats.
    #[serde(default)]
    pub time_loss: f64,
    /// Norm of the gradient before clipping, at this step.
    pub gradient_norm: f64,
    /// Speed.
    pub positions_per_second: f64,
}

impl Metrics {
    /// One line for people.
    pub fn text(&self) -> String {
        format!(
            "step {} policy {:.3} value {:.3}{} norm {:.2} lr {:.1e} {:.0} positions/s",
            self.step,
            self.policy_loss,
            self.value_loss,
            of_time(self.time_loss),
            self.gradient_norm,
            self.learning_rate,
            self.positions_per_second
        )
    }
}

/// The loss of times, where there were any: with none it is zero, as no mean of logarithms is.
fn of_time(loss: f64) -> String {
    if loss == 0.0 { String::new() } else { format!(" time {loss:.3}") }
}

/// A row of `validation.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Steps done.
    pub step: u64,
    /// Minutes of training.
    pub minutes: f64,
    /// Name of the validation set.
    pub source: String,
    /// Share of moves predicted first.
    pub top1: f64,
    /// Share of moves among the first three.
    pub top3: f64,
    /// Cross-entropy of the moves, nats.
    pub policy_loss: f64,
    /// Cross-entropy of the outcomes, nats.
    pub value_loss: f64,
    /// Positions with a move.
    pub moves: usize,
    /// Cross-entropy of the times taken, nats.
    #[serde(default)]
    pub time_loss: f64,
}

impl Validation {
    /// A row from what was measured.
    pub fn new(step: u64, minutes: f64, source: &str, f: &Figures) -> Validation {
        let Figures { moves, top1, top3, policy_loss, value_loss, .. } = *f;
        let (source, time_loss) = (source.to_owned(), f.time_loss);
        Validation { step, minutes, source, top1, top3, policy_loss, value_loss, moves, time_loss }
    }

    /// The row as a line for people.
    pub fn text(&self) -> String {
        format!(
            "validation {:12} step {:6}  top-1 {:.1} %  top-3 {:.1} %  policy {:.3}  value {:.3}{}",
            self.source,
            self.step,
            self.top1 * 100.0,
            self.top3 * 100.0,
            self.policy_loss,
            self.value_loss,
            of_time(self.time_loss)
        )
    }
}

/// The files of a run.
#[derive(Clone, Debug)]
pub struct Log {
    run: PathBuf,
}

impl Log {
    /// Opens the files of a run that stands at `step`: rows of later steps, left by a run that was killed behind its
    /// checkpoint, are taken out, so that no step is there twice.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn open(run: &Path, step: u64) -> Result<Log, TrainError> {
        let log = Log { run: run.to_owned() };
        log.keep::<Metrics>("metrics.csv", |m| m.step <= step)?;
        log.keep::<Validation>("validation.csv", |v| v.step <= step)?;
        Ok(log)
    }

    fn keep<T: Serialize + for<'a> Deserialize<'a>>(
        &self,
        name: &str,
        keep: impl Fn(&T) -> bool,
    ) -> Result<(), TrainError> {
        let path = self.run.join(name);
        if !path.exists() {
            return Ok(());
        }
        let rows: Vec<T> = read(&path).into_iter().filter(keep).collect();
        let partial = path.with_extension("csv.partial");
        let fail = |reason: String| TrainError::Log { path: path.clone(), reason };
        let mut writer = csv::Writer::from_path(&partial).map_err(|e| fail(e.to_string()))?;
        rows.iter().try_for_each(|row| writer.serialize(row)).map_err(|e| fail(e.to_string()))?;
        writer.flush().and_then(|()| fs::rename(&partial, &path)).map_err(|e| fail(e.to_string()))
    }

    /// Adds a row to one of the files.
    fn append<T: Serialize>(&self, name: &str, row: &T) -> Result<(), TrainError> {
        let path = self.run.join(name);
        let fail = |reason: String| TrainError::Log { path: path.clone(), reason };
        let empty = fs::metadata(&path).map_or(true, |m| m.len() == 0);
        let mut writer = csv::WriterBuilder::new().has_headers(empty).from_writer(Vec::new());
        writer.serialize(row).map_err(|e| fail(e.to_string()))?;
        let line = writer.into_inner().map_err(|e| fail(e.to_string()))?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut f| f.write_all(&line)).map_err(|e| fail(e.to_string()))
    }

    /// Adds to `metrics.csv`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn metrics(&self, row: &Metrics) -> Result<(), TrainError> {
        self.append("metrics.csv", row)
    }

    /// Adds to `validation.csv`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn validation(&self, row: &Validation) -> Result<(), TrainError> {
        self.append("validation.csv", row)
    }

    /// Writes `report.html`: the recipe and the curves so far, in one file that needs no other.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn page(&self, recipe: &Recipe) -> Result<(), TrainError> {
        let path = self.run.join("report.html");
        let fail = |reason: String| TrainError::Log { path: path.clone(), reason };
        let html = page(&self.run, recipe).map_err(|e| fail(e.to_string()))?;
        let partial = path.with_extension("html.partial");
        fs::write(&partial, html).and_then(|()| fs::rename(&partial, &path)).map_err(|e| fail(e.to_string()))
    }
}

/// The rows of a file; a last one that was cut short is left out.
pub fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Vec<T> {
    csv::Reader::from_path(path).map_or_else(|_| Vec::new(), |mut r| r.deserialize().filter_map(Result::ok).collect())
}

fn page(run: &Path, recipe: &Recipe) -> Result<String, Box<dyn Error>> {
    let metrics: Vec<Metrics> = read(&run.join("metrics.csv"));
    let validation: Vec<Validation> = read(&run.join("validation.csv"));
    let of_metrics = |name: &str, y: fn(&Metrics) -> f64| {
        let points = smooth(metrics.iter().map(|m| (m.positions as f64 / 1e6, y(m))).collect());
        Curve { name: name.to_owned(), points }
    };
    let batch = recipe.training.batch as f64;
    let of_validation = |y: fn(&Validation) -> f64| -> Vec<Curve> {
        let mut curves: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for v in &validation {
            curves.entry(&v.source).or_default().push((v.step as f64 * batch / 1e6, y(v)));
        }
        curves.into_iter().map(|(name, points)| Curve { name: name.to_owned(), points }).collect()
    };
    const X: &str = "million positions";
    let pictures = [
        lines("Moves predicted, held out", X, "top-1, %", &of_validation(|v| v.top1 * 100.0))?,
        lines("Loss of the moves, held out", X, "nats", &of_validation(|v| v.policy_loss))?,
        lines("Loss of the outcomes, held out", X, "nats", &of_validation(|v| v.value_loss))?,
        lines("Loss of the moves, training", X, "nats", &[of_metrics("policy", |m| m.policy_loss)])?,
        lines("Loss of the outcomes, training", X, "nats", &[of_metrics("value", |m| m.value_loss)])?,
        lines("Learning rate", X, "", &[of_metrics("rate", |m| m.learning_rate)])?,
        lines("Norm of the gradient", X, "", &[of_metrics("norm", |m| m.gradient_norm)])?,
        lines("Speed", X, "positions/s", &[of_metrics("speed", |m| m.positions_per_second)])?,
    ];
    let last = metrics.last().map_or_else(String::new, Metrics::text);
    let recipe = toml::to_string_pretty(recipe)?;
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}</title>\n\
         <style>body{{font-family:sans-serif;margin:2em}}svg{{margin:4px}}pre{{background:#f4f4f4;padding:1em}}</style>\n\
         </head><body>\n<h1>{name}</h1>\n<p>{last}</p>\n{}\n<h2>Recipe</h2>\n<pre>{}</pre>\n</body></html>\n",
        pictures.join("\n"),
        escape(&recipe),
        name = escape(&run.file_name().unwrap_or_default().to_string_lossy()),
    ))
}

/// At most 400 points, each the mean of its neighbours: what a reader can see.
fn smooth(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let size = points.len().div_ceil(400).max(1);
    let mean = |part: &[(f64, f64)]| {
        let n = part.len() as f64;
        (part.iter().map(|p| p.0).sum::<f64>() / n, part.iter().map(|p| p.1).sum::<f64>() / n)
    };
    points.chunks(size).map(mean).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
