//! The report as a page: one file, without scripts and without anything from elsewhere.
//!
//! ```text
//! ratios of op/s    a line per workload: a dot at the median, a bar from the lowest to the highest pair
//! op/s, p99         bars of all columns, on a logarithmic axis (plot.rs)
//! tables            those of the terminal
//! ```
//!
//! Colours follow the reader's choice of light or dark: the plots' black and white are replaced by the page's colours
//! in the style sheet, which stands before attributes. Wide parts scroll by themselves, so that the page fits a narrow
//! window.

use super::arguments::Column;
use super::report::{Ratio, Report};
use crate::machine;
use crate::plot::{Kind, Plot, draw};
use std::fmt::Write as _;
use std::io;

const STYLE: &str = "\
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1b; --faint: #7773; --good: #1f6f4a; --bad: #b03a2e }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e4e4e4; --good: #5fc796; --bad: #f08a7d } }
body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; max-width: 1100px; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
.wide { overflow-x: auto } .trouble { color: var(--bad); font-weight: bold }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--faint); text-align: right } th:first-child, td:first-child { text-align: left }
code { overflow-wrap: anywhere }
svg { display: block; max-width: 100%; height: auto; min-width: 560px }
svg text { fill: var(--ink) } svg [stroke=\"#000000\"] { stroke: var(--ink) } svg [fill=\"#FFFFFF\"] { fill: none } svg [stroke=\"#FFFFFF\"] { stroke: none }
.ferrock { fill: var(--good); stroke: var(--good) } .native { fill: none; stroke: var(--good) } .one { stroke: var(--ink) } .grid { stroke: var(--faint) }";

/// Pixels of the plot of ratios.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 30.0;

/// The page.
///
/// # Errors
/// That of drawing.
pub(super) fn page(report: &Report<'_>) -> io::Result<String> {
    let mut page = String::new();
    let other = escaped(&report.name(Column::Rocksdb));
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Ferrock beside {other}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>Ferrock beside {other}</h1>\n\
         <p>{}.</p>\n<p>{}.</p>\n",
        escaped(&report.headline()),
        escaped(&machine::describe()),
    );
    for trouble in report.troubles(|_| true) {
        let _ = writeln!(page, "<p class=\"trouble\">{}</p>", escaped(&trouble));
    }
    let _ = write!(
        page,
        "<h2>Operations a second over {other}'s</h2>\n<p>Median of the pairs, and the lowest and the highest. Filled: through the C \
         interface; hollow: through Ferrock's own. Right of 1, Ferrock is faster.</p>\n<div class=\"wide\">{}</div>\n",
        ratios(report)
    );
    for (title, field, unit) in
        [("Operations a second", "operations_per_second", "op/s"), ("99th percentile of latency", "p99_us", "µs")]
    {
        let svg = draw(&[bars(report, title, field, unit)])?;
        let _ = write!(page, "<h2>{title}</h2>\n<div class=\"wide\">{svg}</div>\n");
    }
    for (title, (captions, rows)) in [
        ("Throughput", report.throughput()),
        ("Latency in microseconds", report.latencies()),
        ("Costs, Ferrock's over the other library's", report.costs()),
    ] {
        let _ = write!(page, "<h2>{title}</h2>\n<div class=\"wide\"><table>\n<tr>{}</tr>\n", cells("th", &captions));
        rows.iter().for_each(|row| {
            let _ = writeln!(page, "<tr>{}</tr>", cells("td", row));
        });
        page.push_str("</table></div>\n");
    }
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn cells(element: &str, texts: &[String]) -> String {
    texts.iter().map(|text| format!("<{element}>{}</{element}>", escaped(text))).collect()
}

fn bars(report: &Report<'_>, title: &str, field: &str, unit: &str) -> Plot {
    let heights = |column| {
        let heights = report.workloads.iter().map(|workload| report.median(workload, column, field).unwrap_or(0.0));
        (report.name(column), heights.collect())
    };
    Plot {
        title: title.to_owned(),
        x_label: String::new(),
        y_label: unit.to_owned(),
        kind: Kind::Bars {
            groups: report.workloads.iter().map(|workload| (*workload).to_owned()).collect(),
            series: Column::ALL.map(heights).into(),
        },
        is_logarithmic: true,
    }
}

/// The plot of ratios, on a logarithmic axis that has 1 and all of them in it.
fn ratios(report: &Report<'_>) -> String {
    let ratio = |workload: &str, column| report.ratio(workload, column, "operations_per_second");
    let all = report
        .workloads
        .iter()
        .flat_map(|workload| [Column::Ferrock, Column::Native].map(|column| ratio(workload, column)));
    let all: Vec<Ratio> = all.flatten().collect();
    let lowest = all.iter().map(|ratio| ratio.lowest).fold(1.0, f64::min).max(0.01).log2() - 0.2;
    let highest = all.iter().map(|ratio| ratio.highest).fold(2.0, f64::max).min(100.0).log2() + 0.2;
    let x = |ratio: f64| {
        let share = (ratio.max(1e-9).log2().clamp(lowest, highest) - lowest) / (highest - lowest);
        LEFT + share * (WIDTH - LEFT - 20.0)
    };
    let height = report.workloads.len() as f64 * ROW + 30.0;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" font-size=\"13\" role=\"img\">\n");
    for mark in [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
        .into_iter()
        .filter(|mark: &f64| (lowest..=highest).contains(&mark.log2()))
    {
        let (class, at) = (if mark == 1.0 { "one" } else { "grid" }, x(mark));
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{:.1}\"/>",
            height - 22.0
        );
        let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{mark}</text>", height - 6.0);
    }
    for (index, workload) in report.workloads.iter().enumerate() {
        let middle = index as f64 * ROW + ROW / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            middle + 4.0,
            escaped(workload)
        );
        for (column, class, shift) in [(Column::Ferrock, "ferrock", -5.0), (Column::Native, "native", 5.0)] {
            let Some(ratio) = ratio(workload, column) else { continue };
            let (from, to, at, y) = (x(ratio.lowest), x(ratio.highest), x(ratio.median), middle + shift);
            let _ = writeln!(
                svg,
                "<g class=\"{class}\"><title>{} {:.2} ({:.2} .. {:.2})</title><line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" \
                 y2=\"{y:.1}\" stroke-width=\"2\"/><circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"4\" stroke-width=\"2\"/></g>",
                escaped(&report.name(column)),
                ratio.median,
                ratio.lowest,
                ratio.highest
            );
        }
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::arguments::Arguments;
    use crate::compare::report::{Bad, CellResult};
    use clap::Parser;
    use serde_json::json;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_page_stands_alone_and_has_everything() {
        let arguments = Line::parse_from(["compare", "--rocksdb-lib=x.so", "--rounds=1"]).arguments;
        let result = |column, outcome| CellResult { workload: "readrandom", column, round: 0, outcome };
        let speed = |speed: f64| Ok(json!({"operations_per_second": speed, "p99_us": 2.5}));
        let results = [
            result(Column::Rocksdb, speed(1000.0)),
            result(Column::Ferrock, speed(2500.0)),
            result(Column::Native, Err(Bad::Crashed("by <signal> 6".to_owned()))),
        ];
        let page = page(&Report::new(&arguments, &results, Some("A & B".to_owned()))).unwrap();
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
}
