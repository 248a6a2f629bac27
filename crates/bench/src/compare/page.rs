//! The report as a page: one file, without scripts and without anything from elsewhere.
//!
//! ```text
//! costs over keys   where several numbers of keys were measured: a plot and rows for each workload (curves.rs)
//! ratios of op/s    a line per workload: a dot at the median, a bar from the lowest to the highest pair
//! op/s, p99         a line per workload: a dot for each column, on a logarithmic axis
//! tables            those of the terminal
//! ```
//!
//! Lines, not upright bars: names of workloads are long, and there are many. Colours follow the reader's choice of
//! light or dark. Wide parts scroll by themselves, so that the page fits a narrow window.

use super::arguments::Column;
use super::curves::{COLOURS, draw, escaped, short};
use super::report::{Ratio, Report};
use super::sweep::Sweep;
use crate::machine;
use crate::plot::digits;
use std::fmt::Write as _;

const STYLE: &str = "\
body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; max-width: 1100px; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.25rem; margin-top: 2.5rem } h3 { font-size: 1.1rem; margin-top: 2rem }
.wide { overflow-x: auto } .trouble { color: var(--bad); font-weight: bold }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--faint); text-align: right } th:first-child, td:first-child { text-align: left }
p { overflow-wrap: anywhere }
svg { display: block; max-width: 100%; height: auto; min-width: 560px }";

/// Pixels of the plot of ratios.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 30.0;

/// The page.
pub(super) fn page(sweep: &Sweep<'_>) -> String {
    let mut page = String::new();
    let other = escaped(&sweep.other());
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Ferrock beside {other}</title>\n<style>\n{COLOURS}\n{STYLE}\n</style>\n</head>\n<body>\n\
         <h1>Ferrock beside {other}</h1>\n<p>{}.</p>\n<p>{}.</p>\n",
        escaped(&sweep.headline()),
        escaped(&machine::describe()),
    );
    for trouble in sweep.troubles(|_| true) {
        let _ = writeln!(page, "<p class=\"trouble\">{}</p>", escaped(&trouble));
    }
    if sweep.is_over_numbers() {
        over_numbers(sweep, &mut page);
    }
    for report in &sweep.reports {
        if sweep.is_over_numbers() {
            let _ = writeln!(page, "<h2>{} keys</h2>", digits(report.num as f64));
        }
        one_number(report, &other, &mut page);
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// Plots and table over the numbers of keys.
fn over_numbers(sweep: &Sweep<'_>, page: &mut String) {
    page.push_str(
        "<h2>Costs over the number of keys</h2>\n<p>CPU time of the whole process, and time within calls of the \
         engine, an operation. The number of keys is on a logarithmic axis. Point at a dot for its figures.</p>\n",
    );
    for plot in sweep.plots() {
        let _ = writeln!(page, "<div class=\"wide\">{}</div>", draw(&plot));
    }
    page.push_str("<p>CPU time of an operation, from the least number of keys to the greatest:</p>\n<ul>\n");
    for line in sweep.growth() {
        let _ = writeln!(page, "<li>{}</li>", escaped(&line));
    }
    page.push_str("</ul>\n");
    push_table(page, sweep.table());
}

/// Plots and tables of one number of keys.
fn one_number(report: &Report<'_>, other: &str, page: &mut String) {
    let _ = write!(
        page,
        "<h3>Operations a second over {other}'s</h3>\n<p>Median of the pairs, and the lowest and the highest. Filled: through the C \
         interface; hollow: through Ferrock's own. Right of 1, Ferrock is faster. Point at a dot for its figures.</p>\n<div class=\"wide\">{}</div>\n",
        ratios(report)
    );
    for (title, field, unit) in
        [("Operations a second", "operations_per_second", "op/s"), ("99th percentile of latency", "p99_us", "µs")]
    {
        let svg = dots(report, field, unit);
        let legend = "Green: Ferrock, filled through the C interface, hollow through its own; the other colour:";
        let _ = write!(page, "<h3>{title}</h3>\n<p>{legend} {other}.</p>\n<div class=\"wide\">{svg}</div>\n");
    }
    for (title, table) in [
        ("Throughput", report.throughput()),
        ("Latency in microseconds", report.latencies()),
        ("Costs, Ferrock's over the other library's", report.costs()),
    ] {
        let _ = writeln!(page, "<h3>{title}</h3>");
        push_table(page, table);
    }
}

fn push_table(page: &mut String, (captions, rows): (Vec<String>, Vec<Vec<String>>)) {
    let _ = write!(page, "<div class=\"wide\"><table>\n<tr>{}</tr>\n", cells("th", &captions));
    for row in &rows {
        let _ = writeln!(page, "<tr>{}</tr>", cells("td", row));
    }
    page.push_str("</table></div>\n");
}

fn cells(element: &str, texts: &[String]) -> String {
    texts.iter().map(|text| format!("<{element}>{}</{element}>", escaped(text))).collect()
}

/// A logarithmic axis, and a row for each workload.
struct Lines<'a> {
    workloads: &'a [&'static str],
    /// Logarithms of the ends.
    lowest: f64,
    highest: f64,
    svg: String,
}

impl<'a> Lines<'a> {
    /// An axis that holds all the values, and marks at those of `marks` that lie on it.
    fn new(workloads: &'a [&'static str], values: &[f64], marks: &[f64], text: impl Fn(f64) -> String) -> Self {
        let logarithms = || values.iter().filter(|value| **value > 0.0).map(|value| value.log2());
        let lowest = logarithms().reduce(f64::min).unwrap_or(0.0) - 0.3;
        let highest = logarithms().reduce(f64::max).unwrap_or(1.0) + 0.3;
        let height = workloads.len() as f64 * ROW + 30.0;
        let svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" font-size=\"13\" role=\"img\">\n");
        let mut lines = Self { workloads, lowest, highest, svg };
        for mark in marks.iter().filter(|mark| (lowest..=highest).contains(&mark.log2())) {
            let (class, at, foot) = (if *mark == 1.0 { "one" } else { "grid" }, lines.x(*mark), height - 22.0);
            let _ = writeln!(
                lines.svg,
                "<line class=\"{class}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{foot:.1}\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                height - 6.0,
                text(*mark)
            );
        }
        for (row, workload) in workloads.iter().enumerate() {
            let (x, y) = (LEFT - 8.0, lines.y(row) + 4.0);
            let _ = writeln!(lines.svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>", escaped(workload));
        }
        lines
    }

    fn x(&self, value: f64) -> f64 {
        let share =
            (value.max(1e-9).log2().clamp(self.lowest, self.highest) - self.lowest) / (self.highest - self.lowest);
        LEFT + share * (WIDTH - LEFT - 30.0)
    }

    fn y(&self, row: usize) -> f64 {
        row as f64 * ROW + ROW / 2.0
    }

    /// A dot, and a bar between two values, with a text that shows when it is pointed at.
    fn dot(&mut self, column: Column, y: f64, [value, from, to]: [f64; 3], text: &str) {
        let (at, from, to) = (self.x(value), self.x(from), self.x(to));
        let _ = writeln!(
            self.svg,
            "<g class=\"{}\"><title>{}</title><line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" \
             stroke-width=\"2\"/><circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"4.5\" stroke-width=\"2\"/></g>",
            column.name(),
            escaped(text)
        );
    }

    fn finish(self) -> String {
        self.svg + "</svg>"
    }
}

/// The plot of a figure of all columns.
fn dots(report: &Report<'_>, field: &str, unit: &str) -> String {
    let figure = |workload: &str, column| report.median(workload, column, field);
    let all = report.workloads.iter().flat_map(|workload| Column::ALL.map(|column| figure(workload, column)));
    let marks: Vec<f64> = (-2..10).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power))).collect();
    let mut lines = Lines::new(&report.workloads, &all.flatten().collect::<Vec<_>>(), &marks, short);
    for (row, workload) in lines.workloads.iter().enumerate() {
        for column in Column::ALL {
            if let Some(value) = figure(workload, column) {
                let text = format!("{}: {} {unit}", report.name(column), digits(value));
                lines.dot(column, lines.y(row), [value; 3], &text);
            }
        }
    }
    lines.finish()
}

/// The plot of ratios; 1 is always on the axis.
fn ratios(report: &Report<'_>) -> String {
    let columns = [(Column::Ferrock, -5.0), (Column::Native, 5.0)];
    let ratio = |workload: &str, column| report.ratio(workload, column, "operations_per_second");
    let all = report.workloads.iter().flat_map(|workload| columns.map(|(column, _)| ratio(workload, column)));
    let ends = all.flatten().flat_map(|ratio: Ratio| [ratio.lowest, ratio.highest]).chain([1.0, 2.0]);
    let marks = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
    let mut lines = Lines::new(&report.workloads, &ends.collect::<Vec<_>>(), &marks, |mark| mark.to_string());
    for (row, workload) in lines.workloads.iter().enumerate() {
        for (column, shift) in columns {
            if let Some(Ratio { median, lowest, highest }) = ratio(workload, column) {
                let text = format!("{} {median:.2} ({lowest:.2} .. {highest:.2})", report.name(column));
                lines.dot(column, lines.y(row) + shift, [median, lowest, highest], &text);
            }
        }
    }
    lines.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::arguments::parsed;
    use crate::compare::report::{Bad, CellResult};
    use serde_json::json;

    #[test]
    fn a_page_stands_alone_and_has_everything() {
        let arguments = parsed("--rocksdb-lib=x.so --rounds=1").unwrap();
        let result = |column, outcome| CellResult { workload: "readrandom", column, round: 0, outcome };
        let speed = |speed: f64| Ok(json!({"operations_per_second": speed, "p99_us": 2.5}));
        let results = [
            result(Column::Rocksdb, speed(1000.0)),
            result(Column::Ferrock, speed(2500.0)),
            result(Column::Native, Err(Bad::Crashed("by <signal> 6".to_owned()))),
        ];
        let report = || Report::new(&arguments, 200_000, &results, Some("A & B".to_owned()));
        let page = page(&Sweep { reports: vec![report()] });
        for wanted in [
            "A &amp; B",
            "readrandom",
            "2.50 (2.50 .. 2.50)",
            "CRASHED: by &lt;signal&gt; 6",
            "prefers-color-scheme",
            "<svg",
            "1,000",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        // Names of namespaces are no links.
        let without_names = page.replace("http://www.w3.org/2000/svg", "");
        for foreign in ["http:", "https:", "src=", "@import", "url(", "<script", "<link"] {
            assert!(!without_names.contains(foreign), "{foreign}");
        }
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
        assert_eq!(page.matches("<svg").count(), 3);
    }

    #[test]
    fn several_numbers_of_keys_have_a_plot_and_their_sections() {
        let arguments = parsed("--rocksdb-lib=x.so --rounds=1 --no-native").unwrap();
        let results = [Column::Rocksdb, Column::Ferrock].map(|column| {
            let outcome = Ok(json!({"cpu_us_per_operation": 2.5, "engine_us_per_operation": 1.25}));
            CellResult { workload: "readrandom", column, round: 0, outcome }
        });
        let report = |num| Report::new(&arguments, num, &results, Some("A & B".to_owned()));
        let page = page(&Sweep { reports: vec![report(1000), report(30_000)] });
        for wanted in [
            "<h2>Costs over the number of keys</h2>",
            "<h2>1,000 keys</h2>",
            "<h2>30,000 keys</h2>",
            "A &amp; B, 30,000 keys: 2.50 µs",
            "<td>30,000</td>",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (7, 7));
    }
}
