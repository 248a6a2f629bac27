//! The sections of the view: each a title and lines that fit into a width.

use super::layout::{Line, Style, Table, wrapped};
use super::look::View;
use super::numbers::{Family, Job, Level, Numbers};
use super::rates::Rates;
use super::snapshot::Snapshot;
use super::text::{self, UNKNOWN};
use crate::output;

/// How much of a section is shown, and in which order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) width: usize,
    /// Rows of its table.
    pub(crate) most_rows: usize,
    /// Counts through the orders of its table, from the first on.
    pub(crate) sort: usize,
}

fn titled(title: &str, about: &str, lines: Vec<Line>) -> Vec<Line> {
    let space = if about.is_empty() { "" } else { "  " };
    let head = Line::new(title, Style::Title).with(&format!("{space}{about}"), Style::Soft);
    std::iter::once(head).chain(lines).collect()
}

/// The lines of a table, or a sentence where it has no rows.
fn filled(table: Table, is_empty: bool, extent: Extent, nothing: &str) -> Vec<Line> {
    if is_empty { wrapped(nothing, extent.width, Style::Soft) } else { table.lines(extent.width, extent.most_rows) }
}

fn cell(text: impl Into<String>) -> (String, Style) {
    (text.into(), Style::Plain)
}

/// Columns of a name and its number, and between two of them.
const ITEM: usize = 28;
const BETWEEN: usize = 3;

/// Names and values in as many columns as there is room for.
fn items(values: &[(&str, String)], width: usize) -> Vec<Line> {
    let count = ((width + BETWEEN) / (ITEM + BETWEEN)).clamp(1, values.len().max(1));
    let tall = values.len().div_ceil(count);
    let line = |row: usize| {
        let mut line = Line::default();
        for (place, (name, value)) in values.iter().skip(row).step_by(tall).enumerate() {
            let space = " ".repeat(if place > 0 { BETWEEN } else { 0 });
            let room = ITEM.saturating_sub(name.chars().count() + 1);
            line = line.with(&format!("{space}{name} "), Style::Soft).with(&format!("{value:>room$}"), Style::Plain);
        }
        line
    };
    (0..tall).map(line).collect()
}

/// Reads and writes each second.
pub(crate) fn throughput(snapshot: &Snapshot, numbers: &Numbers, width: usize) -> Vec<Line> {
    let rates = snapshot.rates.as_ref();
    let count = |read: fn(&Rates) -> f64| rates.map_or_else(|| UNKNOWN.to_owned(), |of| text::each_second(read(of)));
    let bytes = |read: fn(&Rates) -> Option<f64>| {
        rates.and_then(read).map_or_else(|| UNKNOWN.to_owned(), text::bytes_each_second)
    };
    let mut values = vec![
        ("keys written", count(|of| of.keys_written)),
        ("batches", count(|of| of.batches)),
        ("in batches", bytes(|of| Some(of.batch_bytes))),
        ("to the log", bytes(|of| Some(of.wal_bytes))),
        ("syncs of it", count(|of| of.wal_syncs)),
    ];
    if numbers.statistics.is_some() {
        let reads = |read: fn(&Rates) -> Option<f64>| {
            rates.and_then(read).map_or_else(|| UNKNOWN.to_owned(), text::each_second)
        };
        values.extend([
            ("keys read", reads(|of| of.reads.map(|reads| reads.keys))),
            ("seeks", reads(|of| of.reads.map(|reads| reads.seeks))),
            ("steps", reads(|of| of.reads.map(|reads| reads.steps))),
            ("bytes read", bytes(|of| of.reads.map(|reads| reads.bytes))),
        ]);
    }
    values.extend([
        ("files, read", bytes(|of| of.file_read_bytes)),
        ("files, written", bytes(|of| of.file_append_bytes)),
        ("flushed", bytes(|of| Some(of.flush_bytes))),
        ("compact, read", bytes(|of| Some(of.compaction_read_bytes))),
        ("compact, written", bytes(|of| Some(of.compaction_write_bytes))),
    ]);
    let about = match rates {
        Some(of) if of.is_since_open => "since the open".to_owned(),
        Some(of) => format!("over {:.1} s", of.over_seconds),
        None => "not known now".to_owned(),
    };
    let mut lines = items(&values, width);
    if numbers.statistics.is_none() {
        lines.extend(wrapped("Reads are counted with Components::statistics only.", width, Style::Soft));
    }
    titled("Reads and writes", &about, lines)
}

/// What runs, what is due, what is held.
pub(crate) fn work(numbers: &Numbers, width: usize) -> Vec<Line> {
    let (of, mut values) = (&numbers.background, Vec::new());
    if numbers.is_live {
        values.extend([
            ("flushes running", output::number(of.running_flushes)),
            ("compactions running", output::number(of.running_compactions)),
            ("sorted runs in them", output::number(of.running_sorted_runs)),
            ("flushes", output::number(of.flushes)),
            ("compactions", output::number(of.compactions)),
            ("moves", output::number(of.trivial_moves)),
            ("way to a slowdown", format!("{} %", of.write_stall_proximity_pct)),
        ]);
    }
    values.extend([
        ("pending compaction", output::bytes(numbers.debt_bytes)),
        ("tables", output::number(numbers.sum(|of| of.table_files))),
        ("their bytes", output::bytes(numbers.sum(|of| of.table_bytes))),
        ("keys, about", output::number(numbers.sum(|of| of.estimated_keys))),
    ]);
    let blobs = numbers.sum(|of| of.blob_files);
    if blobs > 0 {
        values.extend([
            ("blob files", output::number(blobs)),
            ("bytes of blobs", output::bytes(numbers.sum(|of| of.blob_bytes))),
        ]);
    }
    values.push(("sequence", output::number(numbers.sequence)));
    if numbers.is_live {
        let of = &numbers.snapshots;
        values.push(("snapshots", output::number(of.count)));
        if of.count > 0 {
            values.push(("age of the oldest", text::span(of.oldest_age_seconds)));
        }
    }
    let mut lines = items(&values, width);
    for job in of.jobs.iter().filter(|_| numbers.is_live) {
        lines.extend(wrapped(&running(job), width, Style::Busy));
    }
    titled("Work and data", "", lines)
}

/// What a job does, in one line.
fn running(job: &Job) -> String {
    let from = job.start_level.map_or_else(String::new, |level| format!("L{level} to "));
    format!(
        "{} of {}, {from}L{}: {} inputs of {}, {} written, for {}",
        job.kind,
        job.family,
        job.output_level,
        output::number(job.inputs),
        output::bytes(job.input_bytes),
        output::bytes(job.written_bytes),
        text::time(job.elapsed_us as f64),
    )
}

/// The causes for which writers waited.
pub(crate) fn stalls(snapshot: &Snapshot, numbers: &Numbers, extent: Extent) -> Vec<Line> {
    let order = View::Stalls.order(extent.sort);
    let none = Vec::new();
    let rates = snapshot.rates.as_ref().map_or(&none, |rates| &rates.waits_us);
    let waits = numbers.stalls.waits.iter().enumerate().filter(|(_, of)| of.delays > 0 || of.stops > 0);
    let mut waits: Vec<_> = waits.map(|(index, of)| (of, rates.get(index).copied())).collect();
    if order == "time" {
        waits.sort_by_key(|(of, _)| std::cmp::Reverse(of.delay_us.saturating_add(of.stop_us)));
    }
    let mut table =
        Table::new(&[("cause", 9), ("now", 5), ("delays", 2), ("delayed", 3), ("stops", 2), ("stopped", 4)]);
    for (of, now) in &waits {
        let style = if now.is_some_and(|us| us > 0.0) { Style::Busy } else { Style::Plain };
        table.row(vec![
            (of.cause.replace('_', " "), style),
            (now.map_or_else(|| UNKNOWN.to_owned(), |us| format!("{}/s", text::time(us))), style),
            cell(output::number(of.delays)),
            cell(text::time(of.delay_us as f64)),
            cell(output::number(of.stops)),
            cell(text::time(of.stop_us as f64)),
        ]);
    }
    let all = snapshot.rates.as_ref().filter(|rates| rates.stall_us > 0.0);
    let about = match all {
        Some(rates) => format!("writers wait {} each second", text::time(rates.stall_us)),
        None => String::new(),
    };
    titled("Stalls", &about, filled(table, waits.is_empty(), extent, "No writer has waited since the open."))
}

/// Which holder has how much memory.
pub(crate) fn memory(numbers: &Numbers, extent: Extent) -> Vec<Line> {
    let order = View::Memory.order(extent.sort);
    let mut holders: Vec<_> = numbers.memory.holders.iter().filter(|(_, bytes)| *bytes > 0).collect();
    match order {
        "bytes" => holders.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes)),
        _ => holders.sort(),
    }
    let used = holders.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let whole = numbers.memory.budget_bytes.unwrap_or(used);
    let mut table = Table::new(&[("holder", 9), ("", 1), ("share", 2), ("bytes", 5)]);
    for (name, bytes) in &holders {
        let (part, whole) = (*bytes as f64, whole as f64);
        table.row(vec![
            cell(name),
            (bar(part, whole), Style::Soft),
            cell(text::share(part, whole)),
            cell(output::bytes(*bytes)),
        ]);
    }
    let about = match numbers.memory.budget_bytes {
        Some(budget) => format!("{} of a budget of {}", output::bytes(used), output::bytes(budget)),
        None => format!("{} together", output::bytes(used)),
    };
    titled("Memory by holder", &about, filled(table, holders.is_empty(), extent, "Nothing is held."))
}

/// A share in twelve columns.
fn bar(part: f64, whole: f64) -> String {
    const WIDE: usize = 12;
    let filled = if whole > 0.0 { (part / whole * WIDE as f64).round() as usize } else { 0 }.min(WIDE);
    format!("{}{}", "#".repeat(filled), ".".repeat(WIDE - filled))
}

/// Hits and misses by kind of entry.
pub(crate) fn cache(snapshot: &Snapshot, numbers: &Numbers, extent: Extent) -> Vec<Line> {
    let of = &numbers.block_cache;
    let order = View::Cache.order(extent.sort);
    let none = Vec::new();
    let rates = snapshot.rates.as_ref().map_or(&none, |rates| &rates.cache);
    let mut kinds: Vec<_> = of.kinds.iter().enumerate().map(|(index, kind)| (kind, rates.get(index))).collect();
    match order {
        "hits" => kinds.sort_by_key(|(kind, _)| std::cmp::Reverse(kind.hits)),
        "misses" => kinds.sort_by_key(|(kind, _)| std::cmp::Reverse(kind.misses)),
        _ => kinds.sort_by_key(|(kind, _)| std::cmp::Reverse(kind.usage_bytes)),
    }
    let mut table =
        Table::new(&[("kind", 9), ("lookups", 4), ("hit now", 5), ("hits", 2), ("misses", 3), ("hit", 5), ("held", 6)]);
    for (kind, rate) in &kinds {
        let unknown = || UNKNOWN.to_owned();
        table.row(vec![
            cell(&kind.kind),
            cell(rate.map_or_else(unknown, |rate| text::each_second(rate.hits + rate.misses))),
            cell(rate.map_or_else(unknown, |rate| text::share(rate.hits, rate.hits + rate.misses))),
            cell(output::number(kind.hits)),
            cell(output::number(kind.misses)),
            cell(text::share(kind.hits as f64, kind.hits as f64 + kind.misses as f64)),
            cell(output::bytes(kind.usage_bytes)),
        ]);
    }
    let held = format!(
        "{} of {}, {} in use",
        output::bytes(of.usage_bytes),
        output::bytes(of.capacity_bytes),
        output::bytes(of.pinned_bytes)
    );
    titled("Block cache", &held, filled(table, kinds.is_empty(), extent, "Nothing was looked up."))
}

/// The levels of all families.
pub(crate) fn levels(numbers: &Numbers, extent: Extent) -> Vec<Line> {
    let order = View::Levels.order(extent.sort);
    let of_family = |family| move |level| (family, level);
    let levels = numbers.families.iter().flat_map(|family| family.levels.iter().map(of_family(family)));
    let mut levels: Vec<(&Family, &Level)> =
        levels.filter(|(_, level): &(&Family, &Level)| level.files > 0 || level.level == 0).collect();
    match order {
        "score" => levels.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score)),
        "size" => levels.sort_by_key(|(_, level)| std::cmp::Reverse(level.bytes)),
        "files" => levels.sort_by_key(|(_, level)| std::cmp::Reverse(level.files)),
        _ => {}
    }
    let mut table = Table::new(&[
        ("level", 9),
        ("files", 6),
        ("size", 7),
        ("may hold", 1),
        ("score", 5),
        ("compacting", 4),
        ("memtables", 2),
        ("pending", 3),
    ]);
    for (family, level) in &levels {
        let style = if level.score >= 1.0 { Style::Busy } else { Style::Plain };
        // What is of a family stands with its first level.
        let once = |text: String| if level.level == 0 { text } else { String::new() };
        table.row(vec![
            (format!("{} L{}", family.name, level.level), style),
            cell(output::number(level.files)),
            cell(output::bytes(level.bytes)),
            cell(level.target_bytes.map_or_else(String::new, output::bytes)),
            (if level.score > 0.0 { format!("{:.2}", level.score) } else { String::new() }, style),
            (some(level.files_compacting), Style::Busy),
            cell(once(memtables(family))),
            cell(once(output::bytes(family.pending_compaction_bytes))),
        ]);
    }
    let due = numbers.families.iter().filter(|of| of.is_flush_pending || of.is_compaction_pending).count();
    let about = match (numbers.families.len(), due) {
        (1, _) | (_, 0) => String::new(),
        (all, due) => {
            format!("{} of {} families wait for jobs", output::number(due as u64), output::number(all as u64))
        }
    };
    titled("Levels", &about, filled(table, levels.is_empty(), extent, "There are no column families."))
}

fn memtables(family: &Family) -> String {
    format!("{} in {}", output::bytes(family.memtable_bytes), output::number(family.memtables))
}

fn some(count: u64) -> String {
    if count > 0 { output::number(count) } else { String::new() }
}

/// How long things take.
pub(crate) fn latencies(snapshot: &Snapshot, numbers: &Numbers, extent: Extent) -> Vec<Line> {
    let order = View::Latencies.order(extent.sort);
    let Some(statistics) = &numbers.statistics else {
        let text = "The database has no statistics: open it with Components::statistics to have latencies.";
        return titled("Latencies", "", wrapped(text, extent.width, Style::Soft));
    };
    let none = Vec::new();
    let rates = snapshot.rates.as_ref().map_or(&none, |rates| &rates.latencies);
    let mut all: Vec<_> = statistics.histograms.iter().enumerate().map(|(index, of)| (of, rates.get(index))).collect();
    match order {
        "99 %" => all.sort_by(|(one, _), (other, _)| other.p99.total_cmp(&one.p99)),
        "times" => all.sort_by_key(|(of, _)| std::cmp::Reverse(of.count)),
        _ => all.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name)),
    }
    let mut table = Table::new(&[
        ("what", 9),
        ("now", 6),
        ("mean now", 7),
        ("times", 2),
        ("mean", 3),
        ("median", 3),
        ("95 %", 2),
        ("99 %", 5),
        ("largest", 1),
    ]);
    for (of, rate) in &all {
        let unknown = || UNKNOWN.to_owned();
        let name = of.name.trim_start_matches("rocksdb.").trim_end_matches(".micros");
        table.row(vec![
            cell(name),
            cell(rate.map_or_else(unknown, |rate| text::each_second(rate.times))),
            cell(rate.and_then(|rate| rate.mean_us).map_or_else(unknown, text::time)),
            cell(output::number(of.count)),
            cell(text::time(of.average)),
            cell(text::time(of.p50)),
            cell(text::time(of.p95)),
            cell(text::time(of.p99)),
            cell(text::time(of.max as f64)),
        ]);
    }
    titled("Latencies", "", filled(table, all.is_empty(), extent, "Nothing was measured."))
}
