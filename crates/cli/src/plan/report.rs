//! A plan as a table, as JSON and as a plot.

use crate::failure::Result;
use crate::output::{number, say, table};
use ferrock_bench::plot::{self, Kind, Plot, digits};
use ferrock_plan::{Plan, Request};
use serde_json::{Value, json};
use std::io;

/// Bytes with a unit of 1000, as `--data` is given.
pub(super) fn bytes(count: f64) -> String {
    const UNITS: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let (mut value, mut unit) = (count, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{value:.0} B"),
        _ if value < 9.95 => format!("{value:.2} {}", UNITS[unit]),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

fn count(value: f64) -> String {
    number(value.round().max(0.0) as u64)
}

fn duration(seconds: f64) -> String {
    match seconds {
        short if short < 1.0 => format!("{:.0} ms", short * 1000.0),
        some if some < 120.0 => format!("{some:.1} s"),
        long => format!("{:.0} min", long / 60.0),
    }
}

/// Prints the plan for people.
pub(super) fn print(request: &Request, plan: &Plan, seconds: f64) -> Result<()> {
    say(&format!(
        "{} keys of {} and values of {}: {} live, {} put",
        count(plan.live_keys),
        bytes(request.entry.key_size as f64),
        bytes(request.entry.value_size as f64),
        bytes(plan.live_bytes),
        bytes(plan.put_bytes)
    ))?;
    say(&levels(plan).to_string())?;
    let mut figures = table(&["figure", "value", "of it"], 1);
    for [name, value, of_it] in rows(plan) {
        figures.add_row([name, value, of_it]);
    }
    say(&figures.to_string())?;
    say(&how(plan, seconds))
}

fn levels(plan: &Plan) -> comfy_table::Table {
    let mut levels = table(&["level", "files", "bytes", "written per byte put"], 1);
    let last = plan.whole.runs.iter().map(|run| run.level).max().unwrap_or(0);
    for level in 0..=last.max(plan.whole.of_levels.len().saturating_sub(1)) {
        let runs = || plan.whole.runs.iter().filter(|run| run.level == level);
        let merged = plan.whole.of_levels.get(level).copied().unwrap_or(0.0);
        let written = if level == 0 { plan.whole.of_flushes + merged } else { merged };
        if runs().next().is_none() && written < 0.005 {
            continue;
        }
        levels.add_row([
            format!("L{level}"),
            count(runs().map(|run| run.files).sum()),
            bytes(runs().map(|run| run.bytes).sum()),
            digits(written),
        ]);
    }
    levels
}

fn rows(plan: &Plan) -> Vec<[String; 3]> {
    let (reads, memory, opening) = (&plan.reads, &plan.memory, &plan.opening);
    let row = |name: &str, value: String, of_it: String| [name.to_owned(), value, of_it];
    let none = String::new;
    let mut rows = vec![
        row(
            "write amplification",
            digits(plan.whole.write_amplification),
            format!("flushes {}", digits(plan.whole.of_flushes)),
        ),
        row(
            "space amplification",
            digits(plan.space_amplification),
            format!("at most {}", digits(plan.peak_space_amplification.max(plan.space_amplification))),
        ),
        row("tables", bytes(plan.table_bytes), format!("{} files", count(plan.files))),
        row("sorted runs", count(reads.sorted_runs), none()),
        row(
            "get, key there: blocks",
            digits(reads.blocks_per_hit),
            format!("{} reads from files", digits(reads.file_reads_per_hit)),
        ),
        row(
            "get, key not there: blocks",
            digits(reads.blocks_per_miss),
            format!("{} reads from files", digits(reads.file_reads_per_miss)),
        ),
        row("short scan: reads from files", digits(reads.file_reads_per_scan), none()),
        row(
            "data blocks in the cache",
            format!("{:.1} %", reads.data_cached * 100.0),
            bytes(memory.cache_for_data_bytes),
        ),
        row("index", bytes(memory.index_bytes), partitions(plan)),
        row("filters", bytes(memory.filter_bytes), format!("{:.2} % false", reads.false_positive_rate * 100.0)),
        row("memory of open tables", bytes(memory.reader_bytes), none()),
        row("memory of file metadata", bytes(memory.file_metadata_bytes), none()),
        row("memtables, cache", bytes(memory.memtable_bytes), bytes(memory.cache_bytes)),
        row("memory in all", bytes(memory.all_bytes()), none()),
        row(
            "resident for one read per get",
            bytes(memory.resident_bytes),
            "open tables, metadata, index, filters".to_owned(),
        ),
        row("MANIFEST", bytes(opening.manifest_bytes), none()),
        row("time to open", duration(opening.seconds), format!("{} tables opened", count(opening.tables_opened))),
    ];
    if let Some(rate) = plan.sustained_put_bytes_per_sec {
        let share = format!("writers held up {:.0} % of the time", plan.stalled_share * 100.0);
        rows.push(row("puts sustained, a second", bytes(rate), share));
    }
    rows
}

fn partitions(plan: &Plan) -> String {
    match plan.memory.is_partitioned {
        true => format!("top levels {}", bytes(plan.memory.top_level_bytes)),
        false => "not partitioned".to_owned(),
    }
}

fn how(plan: &Plan, seconds: f64) -> String {
    let simulated = format!("{} flushes simulated in {}", number(plan.outcome.totals.flushes), duration(seconds));
    let scale = plan.scale;
    if scale.is_full() {
        return format!("Every file: {simulated}.");
    }
    let mut parts = Vec::new();
    if scale.divisor > 1 {
        parts.push(format!("1/{} of the data", number(scale.divisor)));
    }
    if scale.levels_left_out > 0 {
        parts.push(format!("{} levels in the middle left out", scale.levels_left_out));
    }
    if scale.coarseness > 1 {
        parts.push(format!("files {} times larger", scale.coarseness));
    }
    format!("Scaled: {}; {simulated}.", parts.join(", "))
}

/// The plan for programs. `smaller` are the plans of the plot.
pub(super) fn to_json(request: &Request, plan: &Plan, smaller: &[Plan], seconds: f64) -> Value {
    let mut value = figures(plan);
    let levels: Vec<Value> = plan
        .whole
        .runs
        .iter()
        .map(|run| json!({"level": run.level, "files": run.files.round(), "bytes": run.bytes.round()}))
        .collect();
    value["key_size"] = json!(request.entry.key_size);
    value["value_size"] = json!(request.entry.value_size);
    value["sorted_runs"] = json!(levels);
    value["written_per_byte_put"] = json!({"flushes": plan.whole.of_flushes, "levels": plan.whole.of_levels});
    value["simulation"] = json!({
        "seconds": seconds,
        "flushes": plan.outcome.totals.flushes,
        "divisor": plan.scale.divisor,
        "levels_left_out": plan.scale.levels_left_out,
        "coarseness": plan.scale.coarseness,
    });
    if !smaller.is_empty() {
        value["smaller"] = Value::Array(smaller.iter().map(figures).collect());
    }
    value
}

fn figures(plan: &Plan) -> Value {
    let (reads, memory, opening) = (&plan.reads, &plan.memory, &plan.opening);
    json!({
        "live_keys": plan.live_keys.round(),
        "live_bytes": plan.live_bytes.round(),
        "put_bytes": plan.put_bytes.round(),
        "write_amplification": plan.whole.write_amplification,
        "space_amplification": plan.space_amplification,
        "peak_space_amplification": plan.peak_space_amplification.max(plan.space_amplification),
        "table_bytes": plan.table_bytes.round(),
        "files": plan.files.round(),
        "reads": {
            "sorted_runs": reads.sorted_runs,
            "false_positive_rate": reads.false_positive_rate,
            "blocks_per_hit": reads.blocks_per_hit,
            "blocks_per_miss": reads.blocks_per_miss,
            "file_reads_per_hit": reads.file_reads_per_hit,
            "file_reads_per_miss": reads.file_reads_per_miss,
            "file_reads_per_scan": reads.file_reads_per_scan,
            "data_cached": reads.data_cached,
        },
        "memory": {
            "index_bytes": memory.index_bytes.round(),
            "filter_bytes": memory.filter_bytes.round(),
            "top_level_bytes": memory.top_level_bytes.round(),
            "is_partitioned": memory.is_partitioned,
            "reader_bytes": memory.reader_bytes.round(),
            "file_metadata_bytes": memory.file_metadata_bytes.round(),
            "memtable_bytes": memory.memtable_bytes,
            "cache_bytes": memory.cache_bytes,
            "resident_bytes": memory.resident_bytes.round(),
        },
        "opening": {
            "manifest_bytes": opening.manifest_bytes.round(),
            "tables_opened": opening.tables_opened.round(),
            "seconds": opening.seconds,
        },
        "sustained_put_bytes_per_sec": plan.sustained_put_bytes_per_sec,
        "stalled_share": plan.stalled_share,
    })
}

/// The name of a line of a plot, and its figure in a plan.
type Series<'a> = (&'a str, fn(&Plan) -> f64);

/// Amplifications, memory and files over the size of the data.
pub(super) fn draw(plans: &[Plan]) -> io::Result<String> {
    let panel = |title: &str, label: &str, is_logarithmic: bool, series: &[Series<'_>]| Plot {
        title: title.to_owned(),
        x_label: "live keys and values".to_owned(),
        y_label: label.to_owned(),
        kind: Kind::Bars {
            groups: plans.iter().map(|plan| bytes(plan.live_bytes)).collect(),
            series: series
                .iter()
                .map(|(name, figure)| ((*name).to_owned(), plans.iter().map(figure).collect()))
                .collect(),
        },
        is_logarithmic,
    };
    plot::draw(&[
        panel(
            "Write amplification",
            "bytes written per byte put",
            false,
            &[
                ("flushes and compactions", |plan| plan.whole.write_amplification),
                ("flushes", |plan| plan.whole.of_flushes),
            ],
        ),
        panel(
            "Space amplification",
            "bytes beside a full compaction",
            false,
            &[
                ("at the end", |plan| plan.space_amplification),
                ("at most", |plan| plan.peak_space_amplification.max(plan.space_amplification)),
            ],
        ),
        panel(
            "Reads from files",
            "blocks",
            false,
            &[
                ("get, key there", |plan| plan.reads.file_reads_per_hit),
                ("get, key not there", |plan| plan.reads.file_reads_per_miss),
                ("short scan", |plan| plan.reads.file_reads_per_scan),
            ],
        ),
        panel(
            "Memory",
            "MB",
            true,
            &[
                ("open tables", |plan| plan.memory.reader_bytes / 1e6),
                ("file metadata", |plan| plan.memory.file_metadata_bytes / 1e6),
                ("index", |plan| plan.memory.index_bytes / 1e6),
                ("filters", |plan| plan.memory.filter_bytes / 1e6),
            ],
        ),
        panel("Files", "tables", true, &[("tables", |plan| plan.files)]),
    ])
}
