//! The table of docs/metrics.md is that of the code, and names follow Prometheus's rules.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ferrock_metrics::{Kind, descriptions};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const MARK: &str = "<!-- table -->\n";

fn table() -> String {
    let mut out = String::from("\n| name | kind | labels besides `db` | is |\n|---|---|---|---|\n");
    for metric in descriptions() {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind) = (metric.name, metric.kind.name());
        writeln!(out, "| `{name}` | {kind} | {} | {} |", labels.join(", "), metric.help).unwrap();
    }
    out
}

#[test]
fn the_page_has_the_metrics_of_the_code() {
    ferrock_script::check_page(env!("CARGO_MANIFEST_DIR"), "../../docs/metrics.md", MARK, &table());
}

#[test]
fn names_are_good() {
    let mut names = BTreeSet::new();
    for metric in descriptions() {
        let name = metric.name;
        assert!(name.starts_with("ferrock_") && names.insert(name.clone()), "{name}");
        assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'));
        assert_eq!(name.ends_with("_total"), metric.kind == Kind::Counter, "{name}");
        assert!(!["micros", "_us_", "_kb", "_mb", "percent"].iter().any(|unit| name.contains(unit)), "{name}");
        assert!(metric.help.ends_with('.'), "{name}: {}", metric.help);
        let labels = ["cf", "level", "cause", "kind", "holder"];
        assert!(metric.labels.iter().all(|label| labels.contains(label)), "{name}");
    }
    // Samples of a histogram have names that no other metric has.
    for metric in descriptions().iter().filter(|metric| metric.kind == Kind::Histogram) {
        for suffix in ["_bucket", "_sum", "_count"] {
            assert!(!names.contains(&format!("{}{suffix}", metric.name)));
        }
    }
}
