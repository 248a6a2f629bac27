//! The tables of names in docs/statistics.md are those of the code.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ferrock_statistics::{Histogram, LevelMetric, PerfMetric, Ticker};
use std::fmt::Write as _;

const MARK: &str = "<!-- tables -->\n";

fn table(title: &str, rows: impl Iterator<Item = (&'static str, bool, &'static str)> + Clone) -> String {
    let counted = rows.clone().filter(|row| row.1).count();
    let mut out =
        format!("\n### {title}: {counted} of {} count\n\n| name | counts |\n|---|---|\n", rows.clone().count());
    for (name, is_counted, text) in rows {
        let text = if is_counted { text.to_owned() } else { format!("- {text}") };
        writeln!(out, "| `{name}` | {text} |").unwrap();
    }
    out
}

fn tables() -> String {
    let tickers = Ticker::ALL.iter().map(|one| (one.name(), one.is_counted(), one.description()));
    let histograms = Histogram::ALL.iter().map(|one| (one.name(), one.is_counted(), one.description()));
    let metrics = PerfMetric::ALL.iter().map(|one| (one.name(), one.is_counted(), one.description()));
    let levels = LevelMetric::ALL.iter().map(|one| (one.name(), one.is_counted(), one.description()));
    let of_database = table("Tickers", tickers) + &table("Histograms", histograms);
    of_database + &table("Sums of threads", metrics) + &table("Sums of threads by level", levels)
}

#[test]
fn the_page_has_the_names_of_the_code() {
    ferrock_script::check_page(env!("CARGO_MANIFEST_DIR"), "../../docs/statistics.md", MARK, &tables());
}
