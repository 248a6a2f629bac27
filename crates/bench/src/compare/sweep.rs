//! Reports over several numbers of keys: one table, one JSON and the plots over them all. Of one number, its report
//! alone.

use super::arguments::Column;
use super::curves::{Curves, Line, Panel};
use super::report::{Bad, Report, shown, table, two_digits};
use crate::machine;
use crate::plot::digits;
use serde_json::{Value, json};

/// The costs that are plotted: the field, the caption.
const COSTS: [(&str, &str); 2] = [
    ("cpu_us_per_operation", "CPU time, µs per operation"),
    ("engine_us_per_operation", "time within the engine, µs per operation"),
];

/// The figures of each library in the JSON.
const FIGURES: [&str; 4] =
    ["operations_per_second", "cpu_us_per_operation", "engine_us_per_operation", "peak_memory_bytes"];

/// All results.
pub(super) struct Sweep<'a> {
    /// From the least number of keys; one at least.
    pub(super) reports: Vec<Report<'a>>,
}

impl<'a> Sweep<'a> {
    /// Whether there is more than one number of keys.
    pub(super) fn is_over_numbers(&self) -> bool {
        self.reports.len() > 1
    }

    fn columns(&self) -> &'static [Column] {
        self.reports.first().map_or(&[], |report| report.arguments.columns())
    }

    fn workloads(&self) -> &[&'static str] {
        self.reports.first().map_or(&[], |report| &report.workloads)
    }

    /// The name of the other library.
    pub(super) fn other(&self) -> String {
        self.reports.first().map_or_else(String::new, |report| report.name(Column::Rocksdb))
    }

    /// What was measured, in a sentence, and on what.
    pub(super) fn headline(&self) -> String {
        let numbers: Vec<_> = self.reports.iter().map(|report| digits(report.num as f64)).collect();
        let conditions = self.reports.first().map_or_else(String::new, Report::conditions);
        match numbers.split_last() {
            Some((last, [])) => format!("{last} keys of {conditions}"),
            Some((last, others)) => format!("{} and {last} keys of {conditions}", others.join(", ")),
            None => String::new(),
        }
    }

    /// What went wrong, a line each.
    pub(super) fn troubles(&self, is_wanted: fn(&Bad) -> bool) -> Vec<String> {
        let of = |report: &Report<'_>| {
            let keys =
                if self.is_over_numbers() { format!("{} keys, ", digits(report.num as f64)) } else { String::new() };
            report.troubles(is_wanted).into_iter().map(|line| format!("{keys}{line}")).collect::<Vec<_>>()
        };
        self.reports.iter().flat_map(of).collect()
    }

    /// Each workload with each number of keys.
    fn rows(&self) -> impl Iterator<Item = (&'static str, &Report<'a>)> {
        self.workloads().iter().flat_map(|workload| self.reports.iter().map(move |report| (*workload, report)))
    }

    /// Speed and CPU time of each column, and Ferrock's ratios of speed, CPU time and memory.
    pub(super) fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut captions = vec!["workload".to_owned(), "keys".to_owned()];
        for (column, name) in self.columns().iter().map(|column| (*column, self.name(*column))) {
            captions.extend([format!("{name} op/s"), "CPU µs".to_owned()]);
            if column != Column::Rocksdb {
                captions.extend(["ratio", "CPU ratio", "memory ratio"].map(str::to_owned));
            }
        }
        let row = |(workload, report): (&'static str, &Report<'_>)| {
            let mut row = vec![workload.to_owned(), digits(report.num as f64)];
            for column in self.columns() {
                let figure = |field| shown(report.median(workload, *column, field), digits);
                let ratio = |field| shown(report.ratio(workload, *column, field).map(|ratio| ratio.median), two_digits);
                row.extend(["operations_per_second", "cpu_us_per_operation"].map(figure));
                if *column != Column::Rocksdb {
                    row.extend(["operations_per_second", "cpu_us_per_operation", "peak_memory_bytes"].map(ratio));
                }
            }
            row
        };
        (captions, self.rows().map(row).collect())
    }

    fn name(&self, column: Column) -> String {
        self.reports.first().map_or_else(String::new, |report| report.name(column))
    }

    /// Costs of a workload and a column over the numbers of keys; where a cell failed there is no point.
    fn points(&self, workload: &str, column: Column, field: &str) -> Vec<(f64, f64)> {
        let point = |report: &Report<'_>| Some((report.num as f64, report.median(workload, column, field)?));
        self.reports.iter().filter_map(point).collect()
    }

    /// By how much the CPU time of an operation grows from the least number of keys to the greatest, a line each
    /// workload.
    pub(super) fn growth(&self) -> Vec<String> {
        let line = |workload: &&'static str| {
            let of = |column: &Column| {
                let cost = |report: &Report<'_>| report.median(workload, *column, "cpu_us_per_operation");
                let (first, last) = (cost(self.reports.first()?)?, cost(self.reports.last()?)?);
                let (more, times) = (digits(last - first), two_digits(last / first));
                Some(format!("{} {more} µs more ({times} times)", self.name(*column)))
            };
            let growths: Vec<_> = self.columns().iter().filter_map(of).collect();
            format!("{workload}: {}", growths.join("; "))
        };
        self.workloads().iter().map(line).collect()
    }

    /// A plot for each workload.
    pub(super) fn plots(&self) -> Vec<Curves> {
        let panel = |workload: &str, (field, title): (&str, &str)| {
            let line = |column: &Column| Line {
                class: column.name(),
                name: self.name(*column),
                points: self.points(workload, *column, field),
            };
            Panel { title: title.to_owned(), lines: self.columns().iter().map(line).collect() }
        };
        let plot = |workload: &&'static str| Curves {
            title: (*workload).to_owned(),
            panels: COSTS.into_iter().map(|cost| panel(workload, cost)).collect(),
        };
        self.workloads().iter().map(plot).collect()
    }

    pub(super) fn to_text(&self) -> String {
        let reports: Vec<_> = self.reports.iter().map(Report::to_text).collect();
        if !self.is_over_numbers() {
            return reports.concat();
        }
        format!(
            "{}\n{}\n\nCosts over the number of keys; ratios are Ferrock's over the other library's\n{}\n\n\
             CPU time of an operation, from the least number of keys to the greatest\n  {}\n\n{}",
            self.headline(),
            machine::describe(),
            table(self.table(), 1),
            self.growth().join("\n  "),
            reports.join("\n\n"),
        )
    }

    pub(super) fn to_json(&self) -> Value {
        let mut reports: Vec<_> = self.reports.iter().map(Report::to_json).collect();
        if !self.is_over_numbers() {
            return reports.pop().unwrap_or_default();
        }
        let row = |(workload, report): (&'static str, &Report<'_>)| {
            let mut row = json!({"workload": workload, "keys": report.num, "ratios": {}});
            for column in self.columns() {
                for field in FIGURES {
                    row[column.name()][field] = report.median(workload, *column, field).into();
                    if *column != Column::Rocksdb {
                        let ratio = report.ratio(workload, *column, field);
                        row["ratios"][column.name()][field] = ratio.map(|ratio| ratio.median).into();
                    }
                }
            }
            row
        };
        json!({
            "status": if self.troubles(|_| true).is_empty() { "OK" } else { "Trouble" },
            "machine": machine::describe(),
            "other_library": self.reports.first().map(|report| &report.other_version),
            "sweep": self.rows().map(row).collect::<Vec<_>>(),
            "reports": reports,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::arguments::{Arguments, parsed};
    use crate::compare::report::CellResult;

    fn result(column: Column, cpu: f64) -> CellResult {
        let figures = json!({
            "operations_per_second": 1e6 / cpu, "cpu_us_per_operation": cpu, "engine_us_per_operation": cpu / 2.0,
            "peak_memory_bytes": 1000,
        });
        CellResult { workload: "readrandom", column, round: 0, outcome: Ok(figures) }
    }

    /// Costs of both libraries for 1000, 2000 and 4000 keys; the last of Ferrock's is missing.
    fn results() -> Vec<(u64, Vec<CellResult>)> {
        let of = |other, ferrock| vec![result(Column::Rocksdb, other), result(Column::Ferrock, ferrock)];
        let mut last = of(20.0, 1.0);
        last[1].outcome = Err(Bad::Hung(3.0));
        vec![(1000, of(8.0, 2.0)), (2000, of(10.0, 3.0)), (4000, last)]
    }

    fn sweep<'a>(arguments: &'a Arguments, results: &'a [(u64, Vec<CellResult>)]) -> Sweep<'a> {
        let report = |(num, results): &'a (u64, Vec<CellResult>)| {
            Report::new(arguments, *num, results, Some("RocksDB 1.2.3".to_owned()))
        };
        Sweep { reports: results.iter().map(report).collect() }
    }

    #[test]
    fn several_numbers_have_one_table_and_their_reports() {
        let (arguments, results) = (parsed("--rocksdb-lib=x.so --rounds=1 --no-native").unwrap(), results());
        let sweep = sweep(&arguments, &results);
        let (captions, rows) = sweep.table();
        assert!(rows.iter().all(|row| row.len() == captions.len()), "{captions:?} {rows:?}");
        assert_eq!(rows[0], ["readrandom", "1,000", "125,000", "8.00", "500,000", "2.00", "4.00", "0.25", "1.00"]);
        assert_eq!(rows[2][4..], ["-", "-", "-", "-", "-"]);
        assert_eq!(sweep.growth(), ["readrandom: RocksDB 1.2.3 12.0 µs more (2.50 times)"]);
        assert_eq!(sweep.troubles(|_| true), ["4,000 keys, readrandom, Ferrock, C, round 1: HUNG: killed after 3 s"]);
        let text = sweep.to_text();
        for wanted in ["1,000, 2,000 and 4,000 keys of 16 bytes", "\n2,000 keys of 16 bytes", "CPU ratio", "one round"]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }

    #[test]
    fn json_has_a_row_for_each_workload_and_number() {
        let (arguments, results) = (parsed("--rocksdb-lib=x.so --rounds=1 --no-native").unwrap(), results());
        let json = sweep(&arguments, &results).to_json();
        let rows = json["sweep"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[1]["keys"], &json["status"]), (3, &json!(2000), &json!("Trouble")));
        assert_eq!(rows[1]["rocksdb"]["cpu_us_per_operation"], 10.0);
        assert_eq!(
            (&rows[1]["ratios"]["ferrock"]["cpu_us_per_operation"], &rows[1]["native"]),
            (&json!(0.3), &Value::Null)
        );
        assert_eq!((&json["reports"][2]["keys"], &json["other_library"]), (&json!(4000), &json!("RocksDB 1.2.3")));
        let one = sweep(&arguments, &results[..1]).to_json();
        assert_eq!((&one["keys"], &one["sweep"]), (&json!(1000), &Value::Null));
    }

    #[test]
    fn a_plot_has_a_point_for_each_number_that_was_measured() {
        let (arguments, results) = (parsed("--rocksdb-lib=x.so --rounds=1 --no-native").unwrap(), results());
        let plots = sweep(&arguments, &results).plots();
        assert_eq!((plots.len(), plots[0].title.as_str(), plots[0].panels.len()), (1, "readrandom", 2));
        let lines = &plots[0].panels[1].lines;
        assert_eq!(lines[0].points, [(1000.0, 4.0), (2000.0, 5.0), (4000.0, 10.0)]);
        assert_eq!((lines[1].class, &lines[1].points[..]), ("ferrock", &[(1000.0, 1.0), (2000.0, 1.5)][..]));
    }
}
