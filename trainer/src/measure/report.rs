//! What was measured, as tables, CSV, JSON and a page of plots.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::figures::{Bin, Figures};
use super::puzzles::Solved;
use glance::plot::{Curve, lines};

/// What was measured on one source.
#[derive(Clone, Debug, Serialize)]
pub struct OfSource {
    /// The source's name.
    pub source: String,
    /// Over all of it.
    pub figures: Figures,
    /// For each bracket of a hundred points of rating with enough moves, by its lower end.
    pub by_rating: BTreeMap<u32, Figures>,
    /// Expected against made score.
    pub calibration: Vec<Bin>,
}

/// What was measured on puzzles.
#[derive(Clone, Debug, Serialize)]
pub struct OfPuzzles {
    /// Over all of them.
    pub all: Solved,
    /// For each bracket of 200 points of rating, by its lower end.
    pub by_rating: BTreeMap<i32, Solved>,
}

/// How often the network's first move is another engine's best.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// The engine and its limit.
    pub engine: String,
    /// Positions.
    pub positions: usize,
    /// Share in which they agree.
    pub top1: f64,
    /// Share in which the engine's move is among the network's first three.
    pub top3: f64,
}

/// Everything measured of a network.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The weights file.
    pub weights: String,
    /// Weights of the network.
    pub parameters: usize,
    /// On games and evaluations.
    pub sources: Vec<OfSource>,
    /// On puzzles.
    pub puzzles: Option<OfPuzzles>,
    /// With an engine.
    pub agreement: Option<Agreement>,
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

impl Report {
    /// Tables in Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("{}: {} weights\n\n", self.weights, self.parameters);
        out += "| source | moves | top-1 | top-3 | plausible 20 % | policy loss | on legal moves | outcomes | value loss |\n\
                |---|---|---|---|---|---|---|---|---|\n";
        for s in &self.sources {
            let f = &s.figures;
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {:.3} | {} | {} | {:.3} |",
                s.source,
                f.moves,
                percent(f.top1),
                percent(f.top3),
                percent(f.plausible),
                f.policy_loss,
                percent(f.legal),
                f.outcomes,
                f.value_loss
            );
        }
        out += "\n| source | results | log-loss of win, draw, loss | of a logistic fit on material | calibration error | MSE of the evaluation |\n\
                |---|---|---|---|---|---|\n";
        for s in &self.sources {
            let f = &s.figures;
            let of_results =
                |x: f64, digits: usize| if f.results > 0 { format!("{x:.digits$}") } else { "–".to_owned() };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                s.source,
                f.results,
                of_results(f.result_loss, 3),
                of_results(f.material_loss, 3),
                of_results(f.calibration_error, 3),
                if f.evals > 0 { format!("{:.4}", f.eval_error) } else { "–".to_owned() }
            );
        }
        if self.sources.iter().any(|s| !s.by_rating.is_empty()) {
            out += "\n| source | rating | moves | top-1 | top-3 | plausible 20 % | policy loss |\n|---|---|---|---|---|---|---|\n";
        }
        for s in &self.sources {
            for (rating, f) in &s.by_rating {
                let _ = writeln!(
                    out,
                    "| {} | {rating} | {} | {} | {} | {} | {:.3} |",
                    s.source,
                    f.moves,
                    percent(f.top1),
                    percent(f.top3),
                    percent(f.plausible),
                    f.policy_loss
                );
            }
        }
        if self.sources.iter().any(|s| s.figures.moves > 0) {
            out += "\n| source | likeliest temperature | moves said below 0.1 %, together: played | 0.3 % | 1 % | 3 % |\n|---|---|---|---|---|---|\n";
        }
        for s in self.sources.iter().filter(|s| s.figures.moves > 0) {
            let f = &s.figures;
            let cells: Vec<String> = (f.tails_said.iter().zip(f.tails_played))
                .map(|(said, played)| format!("{:.2} %: {:.2} %", said * 100.0, played * 100.0))
                .collect();
            let _ = writeln!(out, "| {} | {:.1} | {} |", s.source, f.temperature, cells.join(" | "));
        }
        if self.sources.iter().any(|s| s.figures.times > 0) {
            out += "\n| source | times | loss of the time | of the mean distribution | correlation of logarithms | below its 10, 25, 50, 75, 90 % |\n|---|---|---|---|---|---|\n";
        }
        for s in self.sources.iter().filter(|s| s.figures.times > 0) {
            let f = &s.figures;
            let shares: Vec<String> = f.time_quantiles.iter().map(|q| format!("{:.0}", q * 100.0)).collect();
            let (loss, marginal, correlation) = (f.time_loss, f.time_marginal, f.time_correlation);
            let shares = shares.join(", ");
            let _ = writeln!(
                out,
                "| {} | {} | {loss:.3} | {marginal:.3} | {correlation:.3} | {shares} % |",
                s.source, f.times
            );
        }
        if let Some(puzzles) = &self.puzzles {
            out += "\n| puzzles rated | number | solved | advancement |\n|---|---|---|---|\n";
            let row = |name: &str, s: &Solved| {
                format!("| {name} | {} | {} | {} |\n", s.puzzles, percent(s.solved), percent(s.advancement))
            };
            out += &row("all", &puzzles.all);
            for (rating, solved) in &puzzles.by_rating {
                out += &row(&format!("{rating} to {}", rating + 199), solved);
            }
        }
        if let Some(a) = &self.agreement {
            let (top1, top3) = (percent(a.top1), percent(a.top3));
            let _ = writeln!(out, "\n{}: agrees in {top1} of {} positions, {top3} in three.", a.engine, a.positions);
        }
        out
    }

    /// One row for each source and bracket of rating; an empty rating stands for all.
    fn csv(&self) -> Result<String, Box<dyn Error>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record([
            "source",
            "rating",
            "moves",
            "top1",
            "top3",
            "plausible",
            "policy_loss",
            "legal",
            "outcomes",
            "value_loss",
            "results",
            "result_loss",
            "material_loss",
            "calibration_error",
            "eval_error",
        ])?;
        for s in &self.sources {
            let rows = std::iter::once((String::new(), &s.figures))
                .chain(s.by_rating.iter().map(|(rating, f)| (rating.to_string(), f)));
            for (rating, f) in rows {
                let Figures { moves, top1, top3, plausible, policy_loss, legal, outcomes, value_loss, .. } = *f;
                let Figures { results, result_loss, material_loss, calibration_error, eval_error, .. } = *f;
                writer.serialize((
                    (&s.source, rating, moves, top1, top3, plausible, policy_loss, legal, outcomes, value_loss),
                    (results, result_loss, material_loss, calibration_error, eval_error),
                ))?;
            }
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }

    fn pictures(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let by_rating = |y: fn(&Figures) -> f64| -> Vec<Curve> {
            let curve = |s: &OfSource| Curve {
                name: s.source.clone(),
                points: s.by_rating.iter().map(|(rating, f)| (f64::from(*rating) + 50.0, y(f))).collect(),
            };
            self.sources.iter().filter(|s| s.by_rating.len() > 1).map(curve).collect()
        };
        let mut calibration: Vec<Curve> = self
            .sources
            .iter()
            .filter(|s| !s.calibration.is_empty())
            .map(|s| Curve {
                name: s.source.clone(),
                points: s.calibration.iter().map(|b| (b.expected, b.observed)).collect(),
            })
            .collect();
        calibration.push(Curve { name: "perfect".into(), points: vec![(0.0, 0.0), (1.0, 1.0)] });
        let mut pictures = vec![
            lines("Moves predicted, by rating", "rating", "top-1, %", &by_rating(|f| f.top1 * 100.0))?,
            lines("Loss of the moves, by rating", "rating", "nats", &by_rating(|f| f.policy_loss))?,
            lines("Calibration", "score expected", "score made", &calibration)?,
        ];
        if let Some(puzzles) = &self.puzzles {
            let curve = |name: &str, y: fn(&Solved) -> f64| Curve {
                name: name.into(),
                points: puzzles.by_rating.iter().map(|(r, s)| (f64::from(*r) + 100.0, 100.0 * y(s))).collect(),
            };
            let curves = [curve("solved", |s| s.solved), curve("advancement", |s| s.advancement)];
            pictures.push(lines("Puzzles at one glance", "rating of the puzzle", "%", &curves)?);
        }
        Ok(pictures)
    }

    /// Writes `measure.md`, `measure.csv`, `measure.json` and `measure.html` into a folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let fail = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
        fs::create_dir_all(folder).map_err(|e| fail(folder, e))?;
        let markdown = self.markdown();
        let html = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Measured</title>\n\
             <style>body{{font-family:sans-serif;margin:2em}}svg{{margin:4px}}</style></head><body>\n{}\n<pre>{markdown}</pre>\n\
             </body></html>\n",
            self.pictures()?.join("\n"),
        );
        let files = [
            ("measure.csv", self.csv()?),
            ("measure.json", serde_json::to_string_pretty(self)?),
            ("measure.html", html),
            ("measure.md", markdown),
        ];
        for (name, text) in files {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|e| fail(&path, e))?;
        }
        Ok(())
    }
}
