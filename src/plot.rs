//! Curves as SVG, to be put into a page or a file.

use std::error::Error;
use std::ops::Range;

use plotters::prelude::*;

/// A named line.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// Its points, x rising.
    pub points: Vec<(f64, f64)>,
}

/// Colours that people who see red and green alike can tell apart (Okabe, Ito 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 0),
];

/// Draws curves into one SVG picture with axes and a legend. Points that are no numbers are left out.
///
/// # Errors
/// When the drawing library refuses.
pub fn lines(title: &str, x: &str, y: &str, curves: &[Curve]) -> Result<String, Box<dyn Error>> {
    let finite = |curve: &Curve| -> Vec<(f64, f64)> {
        curve.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
    };
    let curves: Vec<(&str, Vec<(f64, f64)>)> = curves.iter().map(|c| (c.name.as_str(), finite(c))).collect();
    let all = || curves.iter().flat_map(|(_, points)| points);
    let (xs, ys) = (range(all().map(|p| p.0), 0.0), range(all().map(|p| p.1), 0.05));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (640, 360)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(xs, ys)?;
        chart.configure_mesh().x_desc(x).y_desc(y).light_line_style(WHITE).draw()?;
        for ((name, points), &colour) in curves.iter().zip(COLOURS.iter().cycle()) {
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        }
        if curves.len() > 1 {
            chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.2)).draw()?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// A named bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What stands beside it.
    pub name: String,
    /// How long it is.
    pub value: f64,
    /// An interval drawn over it.
    pub interval: Option<(f64, f64)>,
}

/// Draws bars, one below another, into one SVG picture. What is no number is not drawn.
///
/// # Errors
/// When the drawing library refuses.
pub fn bars(title: &str, x: &str, all: &[Bar]) -> Result<String, Box<dyn Error>> {
    let ends = all.iter().flat_map(|b| [Some(b.value), b.interval.map(|i| i.0), b.interval.map(|i| i.1), Some(0.0)]);
    let xs = range(ends.flatten().filter(|v| v.is_finite()), 0.02);
    let mut svg = String::new();
    {
        let height = 80 + 26 * all.len() as u32;
        let root = SVGBackend::with_string(&mut svg, (640, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(150)
            .build_cartesian_2d(xs, -0.5..all.len().max(1) as f64 - 0.5)?;
        let name = |y: &f64| {
            let place = (all.len() as f64 - 1.0 - y).round();
            all.get(place as usize).filter(|_| place >= 0.0).map_or(String::new(), |b| b.name.clone())
        };
        chart
            .configure_mesh()
            .x_desc(x)
            .y_labels(all.len().max(1) * 2)
            .y_label_formatter(&|y| if (y - y.round()).abs() < 1e-6 { name(y) } else { String::new() })
            .disable_y_mesh()
            .light_line_style(WHITE)
            .draw()?;
        for (i, bar) in all.iter().enumerate().filter(|(_, b)| b.value.is_finite()) {
            let y = (all.len() - 1 - i) as f64;
            chart.draw_series([Rectangle::new(
                [(0.0, y - 0.35), (bar.value, y + 0.35)],
                COLOURS[0].mix(0.7).filled(),
            )])?;
            if let Some((low, high)) = bar.interval.filter(|(l, h)| l.is_finite() && h.is_finite()) {
                chart.draw_series([PathElement::new([(low, y), (high, y)], BLACK.stroke_width(2))])?;
            }
        }
        root.present()?;
    }
    Ok(svg)
}

/// From the least to the greatest, widened by a share of the difference, and never empty.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return 0.0..1.0;
    }
    let wide = if high > low { high - low } else { high.abs().max(1.0) * 0.1 };
    if high > low { low - margin * wide..high + margin * wide } else { low - wide..high + wide }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_drawn_whatever_their_points() {
        let curve = |name: &str, points: &[(f64, f64)]| Curve { name: name.into(), points: points.to_vec() };
        let two = [curve("one", &[(0.0, 1.0), (1.0, 2.0)]), curve("other", &[(0.0, 3.0), (2.0, f64::NAN)])];
        let svg = lines("A title", "steps", "loss", &two).expect("drawn");
        assert!(svg.contains("<svg") && svg.contains("A title") && svg.contains("other") && !svg.contains("NaN"));
        for odd in [vec![], vec![curve("none", &[])], vec![curve("one", &[(5.0, 5.0)])]] {
            assert!(lines("t", "x", "y", &odd).expect("drawn").contains("</svg>"));
        }
        let bar = |value, interval| Bar { name: "someone".into(), value, interval };
        let svg = bars("Elo", "points", &[bar(-20.0, Some((-40.0, 5.0))), bar(f64::NAN, None)]).expect("drawn");
        assert!(svg.contains("someone") && !svg.contains("NaN"));
        assert!(bars("none", "x", &[]).expect("drawn").contains("</svg>"));
    }
}
