//! What an operation costs over the number of keys, as SVG: a plot for each workload, in it a panel for each cost.
//!
//! ```text
//! readrandom                       -o- RocksDB 11.8.1   -o- Ferrock, C
//! CPU, us per operation                 time, us per operation
//! 15 |          _o                      15 |           o
//! 10 |    _o--'    _o                   10 |    _o--'    _o
//!  5 | o-'   _o--'                       5 | o-'   _o--'
//!  0 +-o---------------                  0 +-o---------------
//!     1M   3M   10M   30M                   1M   3M   10M   30M
//! ```
//!
//! The number of keys is on a logarithmic axis. Costs begin at 0 on a linear one: on a second logarithmic axis the line
//! of a library that is three times as fast would lie as flat as the other, and what it grows by would not be seen.
//!
//! `plot.rs` draws on white and in colours of its own. Here colours are classes, so that a page, or a file that stands
//! alone, follows the reader's choice of light or dark.

use crate::plot::digits;
use std::fmt::Write as _;

/// Colours, and what has them. `:root` is the page, or the SVG that stands alone.
pub(super) const COLOURS: &str = "\
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1b; --faint: #7773 }
:root { --good: #1f6f4a; --other: #7a5a1e; --bad: #b03a2e }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #e4e4e4; --good: #5fc796; --other: #d9b062; --bad: #f08a7d }
}
svg text { fill: var(--ink) } .paper { fill: var(--paper) } .grid { stroke: var(--faint) } .one { stroke: var(--ink) }
.rocksdb { fill: var(--other); stroke: var(--other) } .ferrock { fill: var(--good); stroke: var(--good) }
.native { fill: var(--paper); stroke: var(--good) } .native polyline { stroke-dasharray: 6 4 }";

/// A plot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curves {
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

/// One cost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    /// The cost, with its unit.
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
}

/// One library.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// The class that gives it its colour.
    pub(super) class: &'static str,
    pub(super) name: String,
    /// Keys, which rise, and costs.
    pub(super) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 310.0;
/// The ends of the y axis of a panel.
const TOP: f64 = 90.0;
const FOOT: f64 = 260.0;
/// What numbers at the y axis take.
const LEFT: f64 = 50.0;
/// Between the marks of the x axis that have numbers, at least.
const BETWEEN_NUMBERS: f64 = 40.0;

/// The plot as an element of a page.
pub(super) fn draw(curves: &Curves) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" font-size=\"13\" role=\"img\">\n{}</svg>",
        content(curves)
    )
}

/// All plots as one file, one below the other.
pub(super) fn standalone(plots: &[Curves]) -> String {
    let height = HEIGHT * plots.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n<style>\n{COLOURS}\n</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    for (at, curves) in plots.iter().enumerate() {
        let _ = write!(svg, "<g transform=\"translate(0 {})\">\n{}</g>\n", at as f64 * HEIGHT, content(curves));
    }
    svg + "</svg>\n"
}

fn content(curves: &Curves) -> String {
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<text x=\"10\" y=\"22\" font-size=\"16\" font-weight=\"bold\">{}</text>",
        escaped(&curves.title)
    );
    // Each name has a sample of its line; widths of texts are guessed.
    let mut x = LEFT;
    for line in curves.panels.first().map_or(&[][..], |panel| &panel.lines) {
        let (middle, end) = (x + 14.0, x + 28.0);
        let _ = writeln!(
            svg,
            "<g class=\"{}\"><polyline points=\"{x},42 {end},42\" fill=\"none\" stroke-width=\"2\"/>\
             <circle cx=\"{middle}\" cy=\"42\" r=\"4\" stroke-width=\"2\"/></g><text x=\"{}\" y=\"47\">{}</text>",
            line.class,
            end + 6.0,
            escaped(&line.name)
        );
        x = end + 30.0 + 7.5 * line.name.len() as f64;
    }
    let width = WIDTH / curves.panels.len().max(1) as f64;
    for (at, panel) in curves.panels.iter().enumerate() {
        Axes::new(panel, at as f64 * width + LEFT, (at + 1) as f64 * width - 20.0).draw(panel, &mut svg);
    }
    svg
}

/// Where a panel lies, and what its axes hold.
struct Axes {
    left: f64,
    right: f64,
    /// Keys that have a mark, rising.
    keys: Vec<f64>,
    /// The cost at the top.
    most: f64,
    /// From one mark of the y axis to the next.
    step: f64,
}

impl Axes {
    fn new(panel: &Panel, left: f64, right: f64) -> Self {
        let points = || panel.lines.iter().flat_map(|line| line.points.iter().copied());
        let mut keys: Vec<f64> = points().map(|(keys, _)| keys).collect();
        keys.sort_by(f64::total_cmp);
        keys.dedup();
        let greatest = points().map(|(_, cost)| cost).fold(0.0, f64::max);
        let step = round_step(greatest / 5.0);
        Self { left, right, keys, most: (greatest / step).ceil().max(1.0) * step, step }
    }

    fn x(&self, keys: f64) -> f64 {
        match (self.keys.first(), self.keys.last()) {
            (Some(first), Some(last)) if last > first => {
                // The first point does not lie on the y axis.
                let (from, to) = (self.left + 15.0, self.right - 15.0);
                from + (to - from) * (keys / first).log2() / (last / first).log2()
            }
            _ => f64::midpoint(self.left, self.right),
        }
    }

    fn y(&self, cost: f64) -> f64 {
        FOOT - (FOOT - TOP) * (cost / self.most).clamp(0.0, 1.0)
    }

    fn draw(&self, panel: &Panel, svg: &mut String) {
        let (left, right) = (self.left, self.right);
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\">{}</text>", TOP - 14.0, escaped(&panel.title));
        let marks = (self.most / self.step).round() as u32;
        for mark in 0..=marks {
            let cost = f64::from(mark) * self.step;
            let (class, y) = (if mark == 0 { "one" } else { "grid" }, self.y(cost));
            let _ = writeln!(
                svg,
                "<line class=\"{class}\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                y + 4.5,
                short(cost)
            );
        }
        let mut free_from = left;
        for keys in &self.keys {
            let x = self.x(*keys);
            let _ = writeln!(svg, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{FOOT}\"/>");
            if x >= free_from {
                let y = FOOT + 18.0;
                let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", short(*keys));
                free_from = x + BETWEEN_NUMBERS;
            }
        }
        let (x, y) = (f64::midpoint(left, right), FOOT + 38.0);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">keys</text>");
        panel.lines.iter().for_each(|line| self.line(line, svg));
    }

    fn line(&self, line: &Line, svg: &mut String) {
        let places = line.points.iter().map(|(keys, cost)| format!("{:.1},{:.1}", self.x(*keys), self.y(*cost)));
        let places = places.collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            svg,
            "<g class=\"{}\"><polyline points=\"{places}\" fill=\"none\" stroke-width=\"2\"/>",
            line.class
        );
        for (keys, cost) in &line.points {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" stroke-width=\"2\">\
                 <title>{}, {} keys: {} µs</title></circle>",
                self.x(*keys),
                self.y(*cost),
                escaped(&line.name),
                digits(*keys),
                digits(*cost)
            );
        }
        svg.push_str("</g>\n");
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below.
fn round_step(least: f64) -> f64 {
    if least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// A text that is no markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A round number in few characters.
pub(super) fn short(value: f64) -> String {
    match value {
        millions if millions >= 1e6 => format!("{}M", millions / 1e6),
        thousands if thousands >= 1e3 => format!("{}k", thousands / 1e3),
        small => format!("{}", (small * 100.0).round() / 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(points: &[(f64, f64)]) -> Curves {
        let line = |class, name: &str| Line { class, name: name.to_owned(), points: points.to_vec() };
        let lines = vec![line("rocksdb", "A & B"), line("ferrock", "Ferrock")];
        let panels = ["CPU", "time"].map(|title| Panel { title: title.to_owned(), lines: lines.clone() });
        Curves { title: "read<random>".to_owned(), panels: panels.to_vec() }
    }

    #[test]
    fn axes_have_round_marks() {
        for (least, step) in [(0.0, 1.0), (0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (6.0, 10.0), (0.03, 0.05)] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}: {}", round_step(least));
        }
        assert_eq!([0.5, 20.0, 1500.0, 3e6, 1e8].map(short), ["0.5", "20", "1.5k", "3M", "100M"]);
    }

    #[test]
    fn keys_lie_on_a_logarithmic_axis_and_costs_on_a_linear_one() {
        let curves = curves(&[(1e6, 10.0), (1e7, 20.0), (1e8, 40.0)]);
        let axes = Axes::new(&curves.panels[0], 100.0, 500.0);
        assert_eq!([1e6, 1e7, 1e8].map(|keys| axes.x(keys).round()), [115.0, 300.0, 485.0]);
        assert_eq!((axes.most, axes.step, axes.y(0.0), axes.y(40.0)), (40.0, 10.0, FOOT, TOP));
        assert!((axes.y(20.0) - f64::midpoint(TOP, FOOT)).abs() < 1e-9);
    }

    #[test]
    fn a_plot_has_its_lines_and_a_file_its_plots() {
        let plot = draw(&curves(&[(1e6, 2.5), (1e7, 7.25)]));
        // A line for each library in each panel, and a sample of each.
        assert_eq!((plot.matches("<polyline").count(), plot.matches("<circle").count()), (6, 10));
        for wanted in ["read&lt;random&gt;", "A &amp; B, 1,000,000 keys: 2.50 µs", ">10M<", ">CPU<", ">time<"] {
            assert!(plot.contains(wanted), "{wanted}: {plot}");
        }
        let file = standalone(&[curves(&[(100.0, 1.0)]), curves(&[])]);
        assert_eq!((file.matches("<svg").count(), file.matches("translate").count()), (1, 2));
        assert!(file.contains("prefers-color-scheme") && file.ends_with("</svg>\n") && !file.contains("NaN"), "{file}");
    }
}
