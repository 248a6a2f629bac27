//! The figures of the demo, as tables and as JSON.

use super::cost::{Cost, LevelSummary};
use super::verify::Verification;
use super::workload::Workload;
use crate::failure::Result;
use crate::output;
use serde_json::{Value, json};
use std::time::Duration;

/// A stretch of the demo.
pub(super) struct Phase {
    name: &'static str,
    time: Duration,
    /// Keys written or read; 0 when keys are no measure.
    keys: u64,
}

impl Phase {
    pub(super) fn new(name: &'static str, time: Duration, keys: u64) -> Self {
        Self { name, time, keys }
    }

    fn keys_per_second(&self) -> f64 {
        self.keys as f64 / self.time.as_secs_f64().max(1e-6)
    }
}

/// All results of the demo.
#[derive(Default)]
pub(super) struct DemoReport {
    pub(super) workload: Workload,
    pub(super) acknowledged_keys: u64,
    pub(super) recovered_logs_bytes: u64,
    pub(super) io_backend: String,
    pub(super) phases: Vec<Phase>,
    pub(super) after_kill: Verification,
    pub(super) at_the_end: Verification,
    pub(super) levels_before: Vec<LevelSummary>,
    pub(super) levels_after: Vec<LevelSummary>,
    pub(super) cost: Cost,
}

/// How many times over the user's bytes cost something. The definitions are shown with the numbers.
struct Amplification {
    name: &'static str,
    before: f64,
    after: f64,
    definition: &'static str,
}

impl DemoReport {
    pub(super) fn is_good(&self) -> bool {
        self.after_kill.is_good() && self.at_the_end.is_good() && self.at_the_end.found == self.workload.keys
    }

    fn amplifications(&self) -> [Amplification; 5] {
        let user_bytes = self.workload.total_bytes().max(1) as f64;
        let [before, after] = [&self.levels_before, &self.levels_after];
        let table_bytes = |levels: &[LevelSummary]| LevelSummary::total_bytes(levels) as f64;
        let compacted = table_bytes(after).max(1.0);
        let whole = self.cost.file_bytes() as f64;
        let forced = self.cost.compact_range_bytes as f64;
        let runs = |levels: &[LevelSummary]| LevelSummary::sorted_runs(levels) as f64;
        [
            Amplification {
                name: "write",
                before: (whole - forced) / user_bytes,
                after: whole / user_bytes,
                definition: "bytes written to files (log, tables, MANIFEST) per byte of keys and values",
            },
            Amplification {
                name: "space",
                before: table_bytes(before) / compacted,
                after: 1.0,
                definition: "bytes of table files per byte of them when fully compacted",
            },
            Amplification {
                name: "space, uncompressed",
                before: table_bytes(before) / user_bytes,
                after: table_bytes(after) / user_bytes,
                definition: "bytes of table files per byte of keys and values; under 1 thanks to compression",
            },
            Amplification {
                name: "read, worst case",
                before: runs(before),
                after: runs(after),
                definition: "sorted runs that a lookup may have to look into: files of level 0, and the other levels",
            },
            Amplification {
                name: "read, measured",
                before: self.cost.reads_per_get_before,
                after: self.cost.reads_per_get_after,
                definition: "reads from files per lookup of a random key, filters and block cache at work",
            },
        ]
    }

    /// Name, seconds and a remark of everything the engine did.
    fn activities(&self) -> Vec<(&'static str, f64, String)> {
        let cost = &self.cost;
        let seconds = |name: &str| cost.get(name) as f64 / 1e6;
        let bytes = |name: &str| output::bytes(cost.get(name));
        let recovery =
            self.phases.iter().find(|phase| phase.name == "recover").map_or(0.0, |phase| phase.time.as_secs_f64());
        vec![
            (
                "write-ahead log",
                seconds("wal_us"),
                format!("{} in {} syncs", bytes("file_log_bytes"), cost.get("wal_syncs")),
            ),
            ("memtable inserts", seconds("memtable_us"), format!("{} of keys and values", bytes("bytes_written"))),
            ("write stalls", seconds("stall_us"), "writers slowed down or stopped".to_owned()),
            (
                "flushes",
                seconds("flush_us"),
                format!("{} jobs wrote {}, in the background", cost.get("flushes"), bytes("flush_bytes")),
            ),
            (
                "compactions",
                seconds("compaction_us"),
                format!(
                    "{} jobs and {} moves read {} and wrote {}, in the background",
                    cost.get("compactions"),
                    cost.get("trivial_moves"),
                    bytes("compaction_read_bytes"),
                    bytes("compaction_write_bytes")
                ),
            ),
            ("recovery", recovery, format!("{} of logs found", output::bytes(self.recovered_logs_bytes))),
        ]
    }

    pub(super) fn print(&self) -> Result<()> {
        self.print_verdict()?;
        let mut table = output::table(&["phase", "time", "keys", "keys per second"], 1);
        for phase in &self.phases {
            let (keys, rate) = match phase.keys {
                0 => Default::default(),
                keys => (output::number(keys), output::number(phase.keys_per_second() as u64)),
            };
            table.add_row([phase.name.to_owned(), output::seconds(phase.time), keys, rate]);
        }
        output::say(&format!("\nThroughput (files read by {})\n{table}", self.io_backend))?;
        if self.levels_after.is_empty() {
            return Ok(());
        }
        self.print_levels()?;
        let mut table = output::table(&["amplification", "before", "after", "definition"], 1);
        for row in self.amplifications() {
            table.add_row([row.name, &format!("{:.2}", row.before), &format!("{:.2}", row.after), row.definition]);
        }
        left_aligned(&mut table, 3);
        output::say(&format!("\nAmplification, before and after the compaction of everything\n{table}"))?;
        let mut table = output::table(&["where the time went", "time", "what for"], 1);
        for (name, seconds, remark) in self.activities() {
            table.add_row([name.to_owned(), format!("{seconds:.2} s"), remark]);
        }
        left_aligned(&mut table, 2);
        output::say(&format!("\n{table}"))
    }

    fn print_verdict(&self) -> Result<()> {
        let found = &self.after_kill;
        let verdict = |verification: &Verification| if verification.is_good() { "kept" } else { "BROKEN" };
        output::say(&format!(
            "After kill -9: {} keys were acknowledged, {} are there. Missing {}, wrong {}, never written {}, \
             torn batches {}, out of order {}: promise {}.",
            output::number(self.acknowledged_keys),
            output::number(found.found),
            found.missing,
            found.wrong,
            found.unexpected,
            found.torn_batches,
            found.out_of_order,
            verdict(found),
        ))?;
        if !found.is_good() {
            return Ok(());
        }
        let end = &self.at_the_end;
        output::say(&format!(
            "At the end: {} of {} keys are there. Missing {}, wrong {}, never written {}, out of order {}: promise {}.",
            output::number(end.found),
            output::number(self.workload.keys),
            end.missing,
            end.wrong,
            end.unexpected,
            end.out_of_order,
            verdict(end),
        ))
    }

    fn print_levels(&self) -> Result<()> {
        let mut table = output::table(&["level", "files before", "size before", "files after", "size after"], 1);
        let deepest = self.levels_before.iter().chain(&self.levels_after).map(|level| level.level).max().unwrap_or(0);
        for level in 0..=deepest {
            let find = |levels: &[LevelSummary]| levels.iter().find(|summary| summary.level == level).copied();
            let (before, after) = (find(&self.levels_before), find(&self.levels_after));
            if before.is_none() && after.is_none() {
                continue;
            }
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            table.add_row([
                format!("L{level}"),
                before.files.to_string(),
                output::bytes(before.size_bytes),
                after.files.to_string(),
                output::bytes(after.size_bytes),
            ]);
        }
        output::say(&format!("\nLevels, before and after the compaction of everything\n{table}"))
    }

    pub(super) fn to_json(&self) -> Value {
        let phases: Vec<Value> = self
            .phases
            .iter()
            .map(|phase| {
                json!({
                    "name": phase.name,
                    "seconds": phase.time.as_secs_f64(),
                    "keys": phase.keys,
                    "keys_per_second": phase.keys_per_second(),
                })
            })
            .collect();
        let amplification: Vec<Value> = self
            .amplifications()
            .iter()
            .map(
                |row| json!({"name": row.name, "before": row.before, "after": row.after, "definition": row.definition}),
            )
            .collect();
        let time: Vec<Value> = self
            .activities()
            .iter()
            .map(|(name, seconds, remark)| json!({"name": name, "seconds": seconds, "remark": remark}))
            .collect();
        json!({
            "status": if self.is_good() { "OK" } else { "Mismatch" },
            "keys": self.workload.keys,
            "value_size": self.workload.value_size_bytes,
            "seed": self.workload.seed,
            "acknowledged_keys": self.acknowledged_keys,
            "recovered_logs_bytes": self.recovered_logs_bytes,
            "io_backend": self.io_backend,
            "after_kill": verification_json(&self.after_kill),
            "at_the_end": verification_json(&self.at_the_end),
            "phases": phases,
            "levels_before": levels_json(&self.levels_before),
            "levels_after": levels_json(&self.levels_after),
            "amplification": amplification,
            "time": time,
            "counters": self.cost.counters(),
        })
    }
}

fn left_aligned(table: &mut comfy_table::Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
}

fn verification_json(verification: &Verification) -> Value {
    json!({
        "looked_up": verification.looked_up,
        "found": verification.found,
        "missing": verification.missing,
        "wrong": verification.wrong,
        "unexpected": verification.unexpected,
        "torn_batches": verification.torn_batches,
        "out_of_order": verification.out_of_order,
        "good": verification.is_good(),
    })
}

fn levels_json(levels: &[LevelSummary]) -> Vec<Value> {
    levels
        .iter()
        .map(|level| json!({"level": level.level, "files": level.files, "size_bytes": level.size_bytes}))
        .collect()
}
