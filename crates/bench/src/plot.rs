//! Plots as SVG, one panel below the other. `plotters` draws them; its text is measured without fonts, so the same
//! figures give the same file everywhere.

use plotters::coord::Shift;
use plotters::prelude::{
    BLACK, ChartBuilder, Color, DrawingArea, IntoDrawingArea, LineSeries, PathElement, RGBColor, Rectangle, SVGBackend,
    SeriesLabelPosition, WHITE,
};
use std::io;

/// A panel.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The title above it.
    pub title: String,
    /// The label of the x axis.
    pub x_label: String,
    /// The label of the y axis.
    pub y_label: String,
    /// The series.
    pub kind: Kind,
    /// The y axis is logarithmic; values that are not above 0 are drawn at its foot.
    pub is_logarithmic: bool,
}

/// The content of the panel.
#[derive(Clone, Debug)]
pub enum Kind {
    /// For each group a bar of each series.
    Bars {
        /// Names of the groups.
        groups: Vec<String>,
        /// Names of the series, and the heights of their bars.
        series: Vec<(String, Vec<f64>)>,
    },
    /// Points (x, y), joined.
    Lines {
        /// Names of the lines, and their points.
        series: Vec<(String, Vec<(f64, f64)>)>,
    },
}

const WIDTH: u32 = 900;
const PANEL_HEIGHT: u32 = 360;
const FONT: &str = "sans-serif";
/// Distinguishable without colours: they differ in lightness.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x7a, 0x7a, 0x7a),
    RGBColor(0x1f, 0x4e, 0x9e),
    RGBColor(0xe0, 0x8a, 0x1e),
    RGBColor(0x2f, 0x9e, 0x6e),
    RGBColor(0xb0, 0x3a, 0x6a),
    RGBColor(0x6a, 0xb7, 0xe0),
];
/// The y axis is so much longer than the highest value: the legend lies there.
const HEADROOM: f64 = 1.3;
/// Share of a group's width that its bars take.
const BARS_WIDTH: f64 = 0.8;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the panels.
///
/// # Errors
/// The error of drawing.
pub fn draw(plots: &[Plot]) -> io::Result<String> {
    let mut text = String::new();
    {
        let panels = plots.len().max(1);
        let height = PANEL_HEIGHT * u32::try_from(panels).unwrap_or(1);
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE).map_err(io::Error::other)?;
        for (plot, area) in plots.iter().zip(root.split_evenly((panels, 1))) {
            panel(plot, &area)?;
        }
        root.present().map_err(io::Error::other)?;
    }
    text.push('\n');
    Ok(text)
}

impl Plot {
    /// All values of the y axis.
    fn heights(&self) -> Vec<f64> {
        match &self.kind {
            Kind::Bars { series, .. } => series.iter().flat_map(|(_, values)| values.iter().copied()).collect(),
            Kind::Lines { series } => series.iter().flat_map(|(_, points)| points.iter().map(|(_, y)| *y)).collect(),
        }
    }

    /// Where a value lies on the axis.
    fn place(&self, value: f64, bottom: f64) -> f64 {
        match self.is_logarithmic {
            true if value > 0.0 => value.log10(),
            true => bottom,
            false => value,
        }
    }

    /// The ends of the y axis.
    fn y_range(&self) -> (f64, f64) {
        let heights = self.heights();
        let greatest = heights.iter().copied().fold(0.0, f64::max);
        if self.is_logarithmic {
            let least = heights.iter().copied().filter(|height| *height > 0.0).fold(f64::INFINITY, f64::min);
            let least = if least.is_finite() { least } else { 1.0 };
            let (bottom, top) = (least.log10().floor(), greatest.max(least).log10());
            return (bottom, bottom + (top - bottom).max(1.0) * HEADROOM);
        }
        let least = heights.iter().copied().fold(0.0, f64::min);
        (least * 1.1, if greatest > 0.0 { greatest * HEADROOM } else { 1.0 })
    }

    /// The ends of the x axis.
    fn x_range(&self) -> (f64, f64) {
        match &self.kind {
            Kind::Bars { groups, .. } => (-0.5, groups.len().max(1) as f64 - 0.5),
            Kind::Lines { series } => {
                let xs = || series.iter().flat_map(|(_, points)| points.iter().map(|(x, _)| *x));
                let (least, greatest) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
                if greatest > least { (least, greatest) } else { (0.0, 1.0) }
            }
        }
    }

    fn x_text(&self, x: f64) -> String {
        match &self.kind {
            Kind::Bars { groups, .. } => {
                let is_middle = (x - x.round()).abs() < 1e-6 && x > -0.5;
                if is_middle { groups.get(x.round() as usize).cloned().unwrap_or_default() } else { String::new() }
            }
            Kind::Lines { .. } => axis_text(x),
        }
    }

    fn y_text(&self, y: f64) -> String {
        match self.is_logarithmic {
            // Powers of ten only.
            true if (y - y.round()).abs() > 1e-6 => String::new(),
            true => axis_text(10_f64.powf(y.round())),
            false => axis_text(y),
        }
    }
}

/// A number without insignificant digits.
fn axis_text(value: f64) -> String {
    let text = digits(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn panel(plot: &Plot, area: &Area<'_>) -> io::Result<()> {
    let ((left, right), (bottom, top)) = (plot.x_range(), plot.y_range());
    let mut chart = ChartBuilder::on(area)
        .caption(&plot.title, (FONT, 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(76)
        .build_cartesian_2d(left..right, bottom..top)
        .map_err(io::Error::other)?;
    let (x_text, y_text) = (|x: &f64| plot.x_text(*x), |y: &f64| plot.y_text(*y));
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .light_line_style(WHITE)
        .x_label_formatter(&x_text)
        .y_label_formatter(&y_text)
        .x_desc(&plot.x_label)
        .y_desc(&plot.y_label)
        .label_style((FONT, 13));
    if let Kind::Bars { groups, .. } = &plot.kind {
        mesh.x_labels(groups.len() * 2 + 1);
    }
    if plot.is_logarithmic {
        mesh.y_labels((top - bottom) as usize + 2);
    }
    mesh.draw().map_err(io::Error::other)?;
    match &plot.kind {
        Kind::Bars { series, .. } => {
            let width = BARS_WIDTH / series.len().max(1) as f64;
            for (index, (name, values)) in series.iter().enumerate() {
                let colour = COLOURS[index % COLOURS.len()];
                let bars = values.iter().enumerate().map(|(group, value)| {
                    let start = group as f64 - BARS_WIDTH / 2.0 + index as f64 * width;
                    let foot = if plot.is_logarithmic { bottom } else { 0.0 };
                    Rectangle::new([(start, foot), (start + width, plot.place(*value, bottom))], colour.filled())
                });
                let drawn = chart.draw_series(bars).map_err(io::Error::other)?;
                drawn.label(name).legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
            }
        }
        Kind::Lines { series } => {
            for (index, (name, points)) in series.iter().enumerate() {
                let colour = COLOURS[index % COLOURS.len()];
                let places = points.iter().map(|(x, y)| (*x, plot.place(*y, bottom)));
                let line = LineSeries::new(places, colour.stroke_width(2)).point_size(3);
                let drawn = chart.draw_series(line).map_err(io::Error::other)?;
                drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 12, y)], colour.stroke_width(2)));
            }
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 13))
        .draw()
        .map_err(io::Error::other)
}

/// A number with three digits or more where it is small.
#[must_use]
pub fn digits(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => {
            let whole = format!("{value:.0}");
            let (sign, whole) = whole.strip_prefix('-').map_or(("", &whole[..]), |rest| ("-", rest));
            let groups: Vec<&str> =
                whole.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
            format!("{sign}{}", groups.join(","))
        }
        large if large >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_for_people() {
        for (value, text) in [
            (0.0, "0.00"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (123.4, "123"),
            (12_345.0, "12,345"),
            (1_234_567.0, "1,234,567"),
            (-123_456.0, "-123,456"),
        ] {
            assert_eq!(digits(value), text);
        }
    }

    fn plot(kind: Kind, is_logarithmic: bool) -> Plot {
        Plot {
            title: "a title".to_owned(),
            x_label: "across".to_owned(),
            y_label: "up".to_owned(),
            kind,
            is_logarithmic,
        }
    }

    #[test]
    fn bars_and_lines_become_svg() {
        let groups = vec!["one".to_owned(), "two & three".to_owned()];
        let bars = Kind::Bars {
            groups,
            series: vec![("off".to_owned(), vec![5.0, 0.0]), ("on".to_owned(), vec![500.0, 7.0])],
        };
        let lines = Kind::Lines { series: vec![("gain".to_owned(), vec![(0.0, -2.0), (50.0, 3.0)])] };
        let text = draw(&[plot(bars.clone(), true), plot(bars, false), plot(lines, false)]).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        for wanted in ["a title", "two &amp; three", "off", "gain", "across", "up"] {
            assert!(text.contains(wanted), "{wanted} is not in {text}");
        }
        // A bar for each value of both panels, the background of panels and legends beside them.
        assert!(text.matches("<rect").count() >= 8, "{text}");
    }

    #[test]
    fn nothing_to_draw_is_no_error() {
        let empty = Kind::Lines { series: Vec::new() };
        assert!(draw(&[plot(empty, true)]).unwrap().contains("<svg"));
        assert!(draw(&[plot(Kind::Bars { groups: Vec::new(), series: Vec::new() }, false)]).is_ok());
        let flat = Kind::Lines { series: vec![("x".to_owned(), vec![(1.0, 0.0)])] };
        assert!(draw(&[plot(flat, true)]).is_ok());
    }
}
