//! The comparison as one page: tables in Markdown, and the same with plots as HTML.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;

use super::elo::Rated;
use super::entry::Entry;
use super::speed::Speed;
use crate::train::recipe::Claim;
use glance::plot::{Bar, Curve, bars, lines};

/// A system with its rating, and the games it played.
pub struct Ranked {
    /// The system.
    pub entry: Entry,
    /// In the round robin.
    pub rated: Rated,
    /// Games played.
    pub games: usize,
    /// How fast it is, if it was timed.
    pub speed: Option<Speed>,
    /// What its recipe asks beside another's.
    pub claims: Vec<Claim>,
}

/// The validation loss that a system's author tells, on the source that comes nearest to the author's.
fn own_metric(entry: &Entry) -> String {
    let of = |source: &str| entry.figures.get(source).copied().unwrap_or_default();
    let percent = |x: f64| format!("{:.1} %", x * 100.0);
    let (evaluated, people, masters) = (of("positions"), of("online"), of("otb"));
    match entry.system.as_str() {
        "microchess" => {
            format!("an engine's best move: top-1 {}, top-3 {}", percent(evaluated.top1), percent(evaluated.top3))
        }
        "chessformer" => format!(
            "people's moves: top-1 {}, plausible 20 % {}, on legal moves {}",
            percent(people.top1),
            percent(people.plausible),
            percent(people.legal)
        ),
        "smolgen" => format!("moves of players over 2000: top-1 {}", percent(masters.top1)),
        "alphaminustwo" => format!(
            "loss of the evaluation (±4) {:.3}, of the move among all {:.3}",
            evaluated.own_error, evaluated.unmasked_loss
        ),
        name if name.starts_with("deep-chess") || name.starts_with("alpha-zero") => {
            format!("policy cross-entropy {:.3}, value MSE {:.4}", evaluated.policy_loss, evaluated.own_error)
        }
        _ => format!("people's moves: top-1 {}; masters' {}", percent(people.top1), percent(masters.top1)),
    }
}

fn interval(r: &Rated) -> String {
    format!("{:+.0} ({:+.0} to {:+.0})", r.elo, r.low, r.high)
}

/// Tables: what each system costs, what it predicts, how it plays, and what the recipes that differ in one thing claim. `budget` says in
/// words what every system was given.
pub fn markdown(systems: &[Ranked], budget: &str) -> String {
    let mut out = format!("# Systems side by side\n\n{budget}\n\n");
    out += "| system | weights | MFLOP a position | training, positions/s | a move on one core | Elo, one glance a move | top-1 | top-3 | plausible 20 % | on legal moves | policy loss | value loss | puzzles |\n\
            |---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    let percent = |x: f64| format!("{:.1} %", x * 100.0);
    for Ranked { entry: e, rated, speed, .. } in systems {
        let value = if e.has_value { format!("{:.3}", e.mean(|f| f.value_loss)) } else { "–".into() };
        let puzzles = e.puzzles.map_or("–".into(), |p| percent(p.solved));
        let _ = writeln!(
            out,
            "| `{}` | {:.2} M | {:.1} | {} | {} | {} | {} | {} | {} | {} | {:.3} | {value} | {puzzles} |",
            e.system,
            e.parameters as f64 / 1e6,
            2.0 * e.multiply_adds as f64 / 1e6,
            speed.map_or("–".into(), |s| format!("{:.0}", s.training)),
            speed.map_or("–".into(), |s| format!("{:.2} ms", s.milliseconds)),
            interval(rated),
            percent(e.mean(|f| f.top1)),
            percent(e.mean(|f| f.top3)),
            percent(e.mean(|f| f.plausible)),
            percent(e.mean(|f| f.legal)),
            e.mean(|f| f.policy_loss),
        );
    }
    out += "\nShares and losses are means over the held-out sources, equally weighted; losses are cross-entropies in nats, the policy's among the \
            legal moves, the value's of win, draw and loss. Elo is relative to the mean of all, with the 95 % interval. \
            Speeds are medians of rounds that time all systems one after another.\n";
    out += "\n| system | in its author's own measure |\n|---|---|\n";
    for Ranked { entry, .. } in systems {
        let _ = writeln!(out, "| `{}` | {} |", entry.system, own_metric(entry));
    }
    let find = |name: &str| systems.iter().find(|r| r.entry.system == name);
    let mut claims = String::new();
    let mut asked: Vec<(&Claim, &Ranked, &Ranked)> = Vec::new();
    for r in systems {
        let sides = r.claims.iter().filter_map(|claim| Some((claim, claim.sides(&r.entry.system)?)));
        asked.extend(sides.filter_map(|(claim, (with, without))| Some((claim, find(with)?, find(without)?))));
    }
    asked.sort_by(|a, b| a.0.asks.cmp(&b.0.asks));
    for (Claim { asks, .. }, with, without) in asked {
        let loss = |r: &Ranked| r.entry.mean(|f| f.policy_loss);
        let half = |r: &Rated| (r.high - r.low) / 2.0;
        let (elo, error) = (with.rated.elo - without.rated.elo, half(&with.rated).hypot(half(&without.rated)));
        let verdict = match (loss(with) < loss(without), elo.abs() > error, elo > 0.0) {
            (true, true, true) => "yes",
            (false, true, false) => "no",
            (true, true, false) => "it predicts better and plays worse",
            (false, true, true) => "it predicts no better and plays better",
            (true, false, _) => "it predicts better; games do not decide",
            (false, false, _) => "it predicts no better; games do not decide",
        };
        let _ = writeln!(
            claims,
            "| {asks} | `{}` {:.3} | `{}` {:.3} | {elo:+.0} ± {error:.0} | {verdict} |",
            with.entry.system,
            loss(with),
            without.entry.system,
            loss(without),
        );
    }
    if !claims.is_empty() {
        out += "\n| does it help: | with, policy loss | without | Elo | answer here |\n|---|---|---|---|---|\n";
        out += &claims;
    }
    out
}

fn loss_curves(systems: &[Ranked]) -> Vec<Curve> {
    systems
        .iter()
        .map(|r| {
            let mut steps: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            r.entry.curve.iter().for_each(|v| steps.entry(v.step).or_default().push(v.policy_loss));
            let last = steps.keys().last().copied().unwrap_or(1).max(1);
            let mean = |losses: Vec<f64>| losses.iter().sum::<f64>() / losses.len().max(1) as f64;
            let positions = r.entry.positions as f64 / last as f64 / 1e3;
            let points = steps.into_iter().map(|(step, losses)| (step as f64 * positions, mean(losses))).collect();
            Curve { name: r.entry.system.clone(), points }
        })
        .collect()
}

/// The same tables with plots, in one file that needs no other.
///
/// # Errors
/// When a plot cannot be drawn.
pub fn html(systems: &[Ranked], budget: &str) -> Result<String, Box<dyn Error>> {
    let bar =
        |r: &Ranked, value: f64, interval: Option<(f64, f64)>| Bar { name: r.entry.system.clone(), value, interval };
    let of = |value: fn(&Ranked) -> f64| -> Vec<Bar> { systems.iter().map(|r| bar(r, value(r), None)).collect() };
    let elo: Vec<Bar> = systems.iter().map(|r| bar(r, r.rated.elo, Some((r.rated.low, r.rated.high)))).collect();
    let pictures = [
        bars("Elo in the round robin, one glance a move", "Elo", &elo)?,
        lines("Policy loss on held-out positions", "thousand positions", "nats", &loss_curves(systems))?,
        bars("Moves predicted first, mean of sources", "%", &of(|r| 100.0 * r.entry.mean(|f| f.top1)))?,
        bars("One glance on one core", "ms", &of(|r| r.speed.map_or(0.0, |s| s.milliseconds)))?,
    ];
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Systems side by side</title>\n\
         <style>body{{font-family:sans-serif;margin:2em}}svg{{margin:4px}}</style></head><body>\n{}\n<pre>{}</pre>\n</body></html>\n",
        pictures.join("\n"),
        markdown(systems, budget).replace('&', "&amp;").replace('<', "&lt;"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::figures::Figures;

    fn ranked(system: &str, loss: f64, elo: f64) -> Ranked {
        let figures = Figures { policy_loss: loss, top1: 0.25, ..Figures::default() };
        let entry = Entry {
            system: system.into(),
            parameters: 1_500_000,
            multiply_adds: 10_000_000,
            has_value: false,
            positions: 60_000,
            minutes: 1.0,
            figures: [("positions".to_owned(), figures)].into_iter().collect(),
            puzzles: None,
            curve: Vec::new(),
        };
        Ranked {
            entry,
            rated: Rated { elo, low: elo - 20.0, high: elo + 20.0 },
            games: 10,
            speed: Some(Speed { training: 1000.0, milliseconds: 1.25 }),
            claims: Vec::new(),
        }
    }

    fn claiming(ranked: Ranked, asks: &str, with: Option<&str>, without: Option<&str>) -> Ranked {
        let claim = Claim { asks: asks.into(), with: with.map(str::to_owned), without: without.map(str::to_owned) };
        Ranked { claims: vec![claim], ..ranked }
    }

    #[test]
    fn claims_are_answered_where_both_sides_are_there() {
        let tower = |elo| {
            claiming(ranked("alpha-zero", 2.1, elo), "a transformer instead of convolutions", Some("deep-chess"), None)
        };
        let experts =
            |elo| claiming(ranked("deep-chess-moe", 2.0, elo), "a mixture of experts", None, Some("deep-chess"));
        let text = markdown(&[ranked("deep-chess", 2.0, 50.0), tower(-50.0)], "Budget.");
        assert!(text.contains("| `deep-chess` | 1.50 M | 20.0 | 1000 | 1.25 ms | +50 (+30 to +70) | 25.0 %"), "{text}");
        assert!(text.contains(
            "| a transformer instead of convolutions | `deep-chess` 2.000 | `alpha-zero` 2.100 | +100 ± 28 | yes |"
        ));
        let text = markdown(&[experts(0.0), tower(0.0)], "Budget.");
        assert!(!text.contains("mixture of experts") && !text.contains("convolutions"), "{text}");
        let text = markdown(&[experts(5.0), ranked("deep-chess", 2.1, 0.0)], "Budget.");
        assert!(text.contains("it predicts better; games do not decide"), "{text}");
        let text = markdown(&[experts(-50.0), ranked("deep-chess", 2.1, 50.0)], "Budget.");
        assert!(text.contains("it predicts better and plays worse"), "{text}");
        let page = html(&[ranked("microchess", 2.0, 5.0)], "A & B.").expect("drawn");
        assert!(page.contains("</svg>") && page.contains("A &amp; B."));
    }
}
