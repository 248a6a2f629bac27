//! Figures of all cells over one number of keys: medians, ratios pair by pair, as tables and as JSON.

use super::arguments::{Arguments, Column};
use crate::machine;
use crate::median::median;
use crate::plot::digits;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde_json::{Value, json};
use std::fmt;

/// Why a cell has no figures.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bad {
    /// A value was wrong, missing, or one too many.
    Wrong(String),
    /// The process died.
    Crashed(String),
    /// The process was killed after so many seconds.
    Hung(f64),
    /// The engine refused.
    NotDone(String),
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(message) => write!(f, "WRONG: {message}"),
            Self::Crashed(message) => write!(f, "CRASHED: {message}"),
            Self::Hung(seconds) => write!(f, "HUNG: killed after {seconds} s"),
            Self::NotDone(message) => write!(f, "not done: {message}"),
        }
    }
}

/// A cell and what came of it.
#[derive(Clone, Debug)]
pub(super) struct CellResult {
    pub(super) workload: &'static str,
    pub(super) column: Column,
    pub(super) round: u32,
    pub(super) outcome: Result<Value, Bad>,
}

/// A figure of one column over that of another one, pair by pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) median: f64,
    pub(super) lowest: f64,
    pub(super) highest: f64,
}

impl Ratio {
    /// Of pairs (figure, figure of the other one); pairs whose other figure is 0 do not count.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let ratios: Vec<f64> =
            pairs.iter().filter(|(_, other)| *other > 0.0).map(|(figure, other)| figure / other).collect();
        let extreme = |choose: fn(f64, f64) -> f64| ratios.iter().copied().reduce(choose);
        Some(Self { median: median(&ratios), lowest: extreme(f64::min)?, highest: extreme(f64::max)? })
    }

    fn to_json(self) -> Value {
        json!({"median": self.median, "lowest": self.lowest, "highest": self.highest})
    }
}

/// All results over one number of keys.
pub(super) struct Report<'a> {
    pub(super) arguments: &'a Arguments,
    /// The number of keys.
    pub(super) num: u64,
    results: &'a [CellResult],
    /// The release that wrote the databases of the other library, as it says itself.
    pub(super) other_version: Option<String>,
    /// Workloads in their order.
    pub(super) workloads: Vec<&'static str>,
}

/// What costs are compared: the field, the caption.
const COSTS: [(&str, &str); 4] = [
    ("cpu_us_per_operation", "CPU"),
    ("peak_memory_bytes", "memory"),
    ("written_bytes", "written"),
    ("disk_bytes", "on disk"),
];

/// Latencies: the field, the caption.
const LATENCIES: [(&str, &str); 5] =
    [("p50_us", "p50"), ("p90_us", "p90"), ("p99_us", "p99"), ("p999_us", "p99.9"), ("max_us", "longest")];

impl<'a> Report<'a> {
    pub(super) fn new(
        arguments: &'a Arguments,
        num: u64,
        results: &'a [CellResult],
        other_version: Option<String>,
    ) -> Self {
        let mut workloads: Vec<&str> = results.iter().map(|result| result.workload).collect();
        workloads.dedup();
        Self { arguments, num, results, other_version, workloads }
    }

    /// A figure of a cell.
    fn figure(&self, workload: &str, column: Column, round: u32, field: &str) -> Option<f64> {
        let is_it = |result: &&CellResult| (result.workload, result.column, result.round) == (workload, column, round);
        self.results.iter().find(is_it)?.outcome.as_ref().ok()?[field].as_f64()
    }

    /// The median of a figure over the rounds.
    pub(super) fn median(&self, workload: &str, column: Column, field: &str) -> Option<f64> {
        let rounds = 0..self.arguments.rounds();
        let figures: Vec<f64> = rounds.filter_map(|round| self.figure(workload, column, round, field)).collect();
        (!figures.is_empty()).then(|| median(&figures))
    }

    /// A figure of a column over the other library's.
    pub(super) fn ratio(&self, workload: &str, column: Column, field: &str) -> Option<Ratio> {
        let pair = |round| {
            let other = self.figure(workload, Column::Rocksdb, round, field)?;
            Some((self.figure(workload, column, round, field)?, other))
        };
        Ratio::of(&(0..self.arguments.rounds()).filter_map(pair).collect::<Vec<_>>())
    }

    /// What went wrong, a line each.
    pub(super) fn troubles(&self, is_wanted: fn(&Bad) -> bool) -> Vec<String> {
        let bad = self.results.iter().filter_map(|result| Some((result, result.outcome.as_ref().err()?)));
        let wanted = bad.filter(|(_, bad)| is_wanted(bad));
        let line = |(result, bad): (&CellResult, &Bad)| {
            format!("{}, {}, round {}: {bad}", result.workload, self.name(result.column), result.round + 1)
        };
        wanted.map(line).collect()
    }

    pub(super) fn name(&self, column: Column) -> String {
        match column {
            Column::Rocksdb => self.other_version.clone().unwrap_or_else(|| "other library".to_owned()),
            Column::Ferrock => "Ferrock, C".to_owned(),
            Column::Native => "Ferrock, Rust".to_owned(),
        }
    }

    /// What was measured, in a sentence, and on what.
    pub(super) fn headline(&self) -> String {
        format!("{} keys of {}", digits(self.num as f64), self.conditions())
    }

    /// The sentence behind the number of keys.
    pub(super) fn conditions(&self) -> String {
        let shape = self.arguments.shape(self.num);
        let threads = if shape.threads == 1 { "one thread".to_owned() } else { format!("{} threads", shape.threads) };
        let rounds = match self.arguments.rounds() {
            1 => "one round".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        format!("16 bytes with values of {}, {threads}, {rounds}; options {}", shape.value_size, shape.options())
    }

    /// The caption of ops/s, ratios and noise, and the rows below it.
    pub(super) fn throughput(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let columns = self.arguments.columns();
        let mut captions = vec!["workload".to_owned()];
        for column in columns {
            captions.push(format!("{} op/s", self.name(*column)));
            if *column != Column::Rocksdb {
                captions.extend(["ratio", "lowest .. highest"].map(str::to_owned));
            }
        }
        captions.push("others".to_owned());
        let row = |workload: &&str| {
            let mut row = vec![(*workload).to_owned()];
            for column in columns {
                row.push(shown(self.median(workload, *column, "operations_per_second"), digits));
                if *column != Column::Rocksdb {
                    let ratio = self.ratio(workload, *column, "operations_per_second");
                    let range = |ratio: Ratio| format!("{:.2} .. {:.2}", ratio.lowest, ratio.highest);
                    row.extend([shown(ratio.map(|ratio| ratio.median), two_digits), ratio.map_or_else(dash, range)]);
                }
            }
            let others = columns.iter().filter_map(|column| self.median(workload, *column, "other_cpus"));
            row.push(shown(others.reduce(f64::max), two_digits));
            row
        };
        (captions, self.workloads.iter().map(row).collect())
    }

    /// Latencies in microseconds, a row for each column.
    pub(super) fn latencies(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let captions = ["workload", "engine"].into_iter().chain(LATENCIES.map(|(_, caption)| caption));
        let row = |(workload, column): (&str, Column)| {
            let figures = LATENCIES.map(|(field, _)| shown(self.median(workload, column, field), digits));
            [workload.to_owned(), self.name(column)].into_iter().chain(figures).collect()
        };
        (captions.map(str::to_owned).collect(), self.rows_of(self.arguments.columns()).map(row).collect())
    }

    /// Costs of Ferrock over the other library's, a row for each way to call it.
    pub(super) fn costs(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let captions = ["workload", "engine"].into_iter().chain(COSTS.map(|(_, caption)| caption));
        let row = |(workload, column): (&str, Column)| {
            let ratio = |(field, _): (&str, &str)| self.ratio(workload, column, field).map(|ratio| ratio.median);
            let figures = COSTS.map(|cost| shown(ratio(cost), two_digits));
            [workload.to_owned(), self.name(column)].into_iter().chain(figures).collect()
        };
        (captions.map(str::to_owned).collect(), self.rows_of(&self.arguments.columns()[1..]).map(row).collect())
    }

    /// Each workload with each of the columns.
    fn rows_of(&self, columns: &'static [Column]) -> impl Iterator<Item = (&'static str, Column)> {
        self.workloads.iter().flat_map(move |workload| columns.iter().map(move |column| (*workload, *column)))
    }

    pub(super) fn to_text(&self) -> String {
        format!(
            "{}\n{}\n\nOperations a second, and Ferrock's over the other library's, pair by pair\n{}\n\n\
             Latency in microseconds\n{}\n\nCosts, Ferrock's over the other library's\n{}",
            self.headline(),
            machine::describe(),
            table(self.throughput(), 1),
            table(self.latencies(), 2),
            table(self.costs(), 2),
        )
    }

    pub(super) fn to_json(&self) -> Value {
        let shape = self.arguments.shape(self.num);
        let cells = self.results.iter().map(|result| {
            let mut cell = json!({"workload": result.workload, "column": result.column.name(), "round": result.round});
            match &result.outcome {
                Ok(figures) => cell["figures"] = figures.clone(),
                Err(bad) => cell["trouble"] = bad.to_string().into(),
            }
            cell
        });
        let summary = self.workloads.iter().map(|workload| {
            let ratio = |column, field| self.ratio(workload, column, field).map(Ratio::to_json);
            let of = |column| {
                let fields = COSTS.map(|(field, _)| field).into_iter().chain(["operations_per_second"]);
                fields
                    .chain(LATENCIES.map(|(field, _)| field))
                    .map(|field| (field.to_owned(), ratio(column, field).into()))
                    .collect::<serde_json::Map<_, Value>>()
            };
            json!({"workload": workload, "ferrock": of(Column::Ferrock), "native": of(Column::Native)})
        });
        json!({
            "status": if self.troubles(|_| true).is_empty() { "OK" } else { "Trouble" },
            "machine": machine::describe(),
            "other_library": self.other_version,
            "keys": shape.num,
            "value_size": shape.value_size,
            "threads": shape.threads,
            "rounds": self.arguments.rounds(),
            "seed": shape.seed,
            "options": shape.options(),
            "ratios": summary.collect::<Vec<_>>(),
            "cells": cells.collect::<Vec<_>>(),
        })
    }
}

/// Captions and rows as a table; the first columns are texts, the others numbers.
pub(super) fn table((captions, rows): (Vec<String>, Vec<Vec<String>>), texts: usize) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(captions).add_rows(rows);
    table.column_iter_mut().skip(texts).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.to_string()
}

pub(super) fn two_digits(value: f64) -> String {
    format!("{value:.2}")
}

fn dash() -> String {
    "-".to_owned()
}

pub(super) fn shown(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(dash, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::arguments::parsed;

    fn arguments() -> Arguments {
        parsed("--rocksdb-lib=x.so --rounds=3").unwrap()
    }

    fn result(column: Column, round: u32, speed: f64) -> CellResult {
        let outcome = Ok(json!({"operations_per_second": speed, "p99_us": 2.5, "written_bytes": 0}));
        CellResult { workload: "readrandom", column, round, outcome }
    }

    #[test]
    fn a_ratio_is_of_pairs() {
        let ratio = Ratio::of(&[(10.0, 5.0), (30.0, 10.0), (40.0, 40.0)]).unwrap();
        assert_eq!(ratio, Ratio { median: 2.0, lowest: 1.0, highest: 3.0 });
        assert_eq!(Ratio::of(&[(1.0, 0.0)]), None);
        assert_eq!(Ratio::of(&[]), None);
    }

    #[test]
    fn tables_and_json_have_the_figures_and_what_went_wrong() {
        let arguments = arguments();
        let mut results = Vec::new();
        for (round, (other, ferrock, native)) in
            [(100.0, 200.0, 400.0), (50.0, 150.0, 100.0), (10.0, 40.0, 10.0)].into_iter().enumerate()
        {
            let round = round as u32;
            results.push(result(Column::Rocksdb, round, other));
            results.push(result(Column::Ferrock, round, ferrock));
            results.push(result(Column::Native, round, native));
        }
        results[7].outcome = Err(Bad::Wrong("key 3".to_owned()));
        let report = Report::new(&arguments, 200_000, &results, Some("RocksDB 1.2.3".to_owned()));
        let ratio = report.ratio("readrandom", Column::Ferrock, "operations_per_second").unwrap();
        assert_eq!(ratio, Ratio { median: 2.5, lowest: 2.0, highest: 3.0 });
        assert_eq!(report.ratio("readrandom", Column::Ferrock, "written_bytes"), None);
        assert_eq!(
            report.troubles(|bad| matches!(bad, Bad::Wrong(_))),
            ["readrandom, Ferrock, C, round 3: WRONG: key 3"]
        );
        assert!(report.troubles(|bad| matches!(bad, Bad::NotDone(_))).is_empty());
        let text = report.to_text();
        for wanted in ["RocksDB 1.2.3", "2.50", "2.00 .. 3.00", "1.00 .. 4.00", "readrandom", "p99.9"] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        let json = report.to_json();
        assert_eq!(
            (&json["status"], &json["ratios"][0]["ferrock"]["operations_per_second"]["median"]),
            (&json!("Trouble"), &json!(2.5))
        );
        assert_eq!(
            (json["cells"].as_array().unwrap().len(), &json["cells"][7]["trouble"]),
            (9, &json!("WRONG: key 3"))
        );
    }
}
