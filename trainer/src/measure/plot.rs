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
    }
}
