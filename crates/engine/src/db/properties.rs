//! What a person or a program may ask about an open database, under RocksDB's names.
//!
//! A name may come with or without the prefix `rocksdb.`. Numbers are also answered by
//! `property`; texts only by it.

use super::{DbCore, metrics};
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::metrics::levels::{FamilyJobs, ToldJobs};
use crate::metrics::stats_text::{self, FamilyStats, LevelRow};
use crate::metrics::{cache, stalls};
use crate::options::CompactionStyle;
use ferrock_base::Result;
use ferrock_base::option_table::OptionValue as _;
use ferrock_format::properties::TableProperties;
use ferrock_table::options::DataBlockIndexType;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// Names of the properties that are numbers.
pub const INTEGER_PROPERTIES: &[&str] = &[
    "num-immutable-mem-table",
    "num-immutable-mem-table-flushed",
    "mem-table-flush-pending",
    "num-running-flushes",
    "compaction-pending",
    "num-running-compactions",
    "num-running-compaction-sorted-runs",
    "compaction-abort-count",
    "min-obsolete-sst-number-to-keep",
    "background-errors",
    "cur-size-active-mem-table",
    "cur-size-all-mem-tables",
    "size-all-mem-tables",
    "num-entries-active-mem-table",
    "num-entries-imm-mem-tables",
    "num-deletes-active-mem-table",
    "num-deletes-imm-mem-tables",
    "estimate-num-keys",
    "estimate-table-readers-mem",
    "is-file-deletions-enabled",
    "num-snapshots",
    "oldest-snapshot-time",
    "oldest-snapshot-sequence",
    "num-live-versions",
    "current-super-version-number",
    "estimate-live-data-size",
    "min-log-number-to-keep",
    "total-sst-files-size",
    "live-sst-files-size",
    "live-non-bottommost-sst-files-size",
    "obsolete-sst-files-size",
    "num-blob-files",
    "total-blob-file-size",
    "live-blob-file-size",
    "live-blob-file-garbage-size",
    "base-level",
    "estimate-pending-compaction-bytes",
    "actual-delayed-write-rate",
    "is-write-stopped",
    "block-cache-capacity",
    "block-cache-usage",
    "block-cache-pinned-usage",
    "blob-cache-capacity",
    "blob-cache-usage",
    "blob-cache-pinned-usage",
];

/// Names of the properties that are texts (`N` is a level).
pub const TEXT_PROPERTIES: &[&str] = &[
    "stats",
    "cfstats",
    "cfstats-no-file-histogram",
    "cf-file-histogram",
    "cf-write-stall-stats",
    "db-write-stall-stats",
    "blob-stats",
    "dbstats",
    "levelstats",
    "sstables",
    "aggregated-table-properties",
    "aggregated-table-properties-at-levelN",
    "num-files-at-levelN",
    "live-sst-files-size-at-temperatureN",
    "compression-ratio-at-levelN",
    "options-statistics",
    "block-cache-entry-stats",
    "fast-block-cache-entry-stats",
    "ferrock.data-block-index",
    "ferrock.levels",
    "ferrock.memory",
    "ferrock.reads",
    "ferrock.statistics",
    "ferrock.io",
    "ferrock.options-without-effect",
];

pub(crate) fn property(core: &DbCore, data: &Arc<ColumnFamilyData>, name: &str) -> Option<String> {
    let name = name.strip_prefix("rocksdb.").unwrap_or(name);
    let pinned = data.super_version.load();
    let level = |prefix: &str| name.strip_prefix(prefix).and_then(|digits| digits.parse::<usize>().ok());
    if let Some(level) = level("num-files-at-level") {
        return (level < pinned.version.num_levels()).then(|| pinned.version.level(level).len().to_string());
    }
    if let Some(level) = level("aggregated-table-properties-at-level") {
        return (level < pinned.version.num_levels()).then(|| aggregated_text(data, &pinned, Some(level)));
    }
    if let Some(level) = level("compression-ratio-at-level") {
        return (level < pinned.version.num_levels()).then(|| compression_ratio(data, &pinned, level));
    }
    if let Some(temperature) = level("live-sst-files-size-at-temperature") {
        let files = pinned.version.files().filter(|(_, file)| file.temperature as usize == temperature);
        return Some(files.map(|(_, file)| file.size_bytes).sum::<u64>().to_string());
    }
    if let Some(map) = stalls(core, data, name) {
        return Some(stalls::text(&map));
    }
    match name {
        "cf-file-histogram" => Some(read_latencies(data)),
        "blob-stats" => Some(blob_stats(&pinned)),
        "levelstats" => Some(level_table(&pinned)),
        "cfstats" => Some(family_stats(core, data, &pinned) + &read_latencies(data)),
        "cfstats-no-file-histogram" => Some(family_stats(core, data, &pinned)),
        "dbstats" => Some(db_stats(core)),
        "stats" => Some(family_stats(core, data, &pinned) + &read_latencies(data) + &db_stats(core)),
        "sstables" => Some(table_list(&pinned)),
        "aggregated-table-properties" => Some(aggregated_text(data, &pinned, None)),
        "block-cache-entry-stats" | "fast-block-cache-entry-stats" => {
            Some(cache::text(core.block_cache_of(&pinned.options)))
        }
        "ferrock.options-without-effect" | "options-without-effect" => Some(core.options.notes().all().join("\n")),
        "ferrock.data-block-index" => Some(match pinned.options.table.data_block_index_type {
            DataBlockIndexType::Auto => data.hash_index_choice.last().to_string(),
            fixed => format!("{}: as the option says", fixed.format_option()),
        }),
        "ferrock.levels" => Some(level_targets(&pinned)),
        "ferrock.memory" => Some(memory_report(core)),
        "ferrock.reads" => Some(format!("{:#?}", data.table_cache.read_stats().counts())),
        "ferrock.statistics" => Some(core.metrics.counters().to_lines()),
        // As in RocksDB there is none without an object to count in.
        "options-statistics" => core.metrics.statistics().map(ToString::to_string),
        "ferrock.io" => Some(format!("{:#?}", core.env.file_system.counters().snapshot())),
        _ => int_property(core, data, name).map(|value| value.to_string()),
    }
}

/// What holds what of the memory budget.
fn memory_report(core: &DbCore) -> String {
    match &core.options.load().components.memory_budget {
        Some(budget) => budget.report().to_string(),
        None => "no memory_budget is set\n".to_owned(),
    }
}

pub(super) fn int_property(core: &DbCore, data: &Arc<ColumnFamilyData>, name: &str) -> Option<u64> {
    let name = name.strip_prefix("rocksdb.").unwrap_or(name);
    let pinned = data.super_version.load();
    let version = &pinned.version;
    let memtables = || metrics::memtables(&pinned);
    let block_cache = || core.block_cache_of(&pinned.options);
    let blob_cache = || data.blob_cache.as_ref().map(|cache| cache.cache());
    Some(match name {
        "num-immutable-mem-table" => memtables().immutable_count,
        "num-immutable-mem-table-flushed" => 0,
        "cur-size-active-mem-table" => memtables().active_bytes,
        "cur-size-all-mem-tables" | "size-all-mem-tables" => memtables().bytes(),
        "num-entries-active-mem-table" => memtables().active_entries,
        "num-entries-imm-mem-tables" => memtables().immutable_entries,
        "num-deletes-active-mem-table" => memtables().active_deletes,
        "num-deletes-imm-mem-tables" => memtables().immutable_deletes,
        "estimate-num-keys" => metrics::estimated_keys(&pinned),
        "estimate-live-data-size" => version.estimated_live_data_size_bytes(),
        "total-sst-files-size" => core.versions.held_by(data.id).table_bytes,
        "live-sst-files-size" => metrics::tables(version).bytes,
        "live-non-bottommost-sst-files-size" => {
            let bottom = version.deepest_non_empty_level().unwrap_or(0);
            version.files().filter(|(level, _)| *level != bottom).map(|(_, file)| file.size_bytes).sum()
        }
        "num-blob-files" => metrics::blob_files(version).files,
        "total-blob-file-size" => core.versions.held_by(data.id).blob_file_bytes,
        "live-blob-file-size" => metrics::blob_files(version).bytes,
        "live-blob-file-garbage-size" => metrics::blob_garbage_bytes(version),
        "estimate-oldest-key-time" => return oldest_key_time(data, &pinned),
        "base-level" => version.base_level() as u64,
        "estimate-pending-compaction-bytes" => version.estimated_compaction_needed_bytes(&pinned.options),
        "num-snapshots" => metrics::snapshot_metrics(core).count as u64,
        "oldest-snapshot-time" => metrics::snapshot_metrics(core).oldest_unix_seconds.unwrap_or(0),
        "oldest-snapshot-sequence" => metrics::snapshot_metrics(core).oldest_sequence.map_or(0, |sequence| sequence.0),
        "block-cache-capacity" => block_cache().capacity() as u64,
        "block-cache-usage" => block_cache().usage() as u64,
        "block-cache-pinned-usage" => block_cache().pinned_usage() as u64,
        "blob-cache-capacity" => blob_cache()?.capacity() as u64,
        "blob-cache-usage" => blob_cache()?.usage() as u64,
        "blob-cache-pinned-usage" => blob_cache()?.pinned_usage() as u64,
        "estimate-table-readers-mem" => metrics::table_reader_bytes(data, version),
        "is-file-deletions-enabled" => u64::from(core.files.are_removals_enabled()),
        "current-super-version-number" => data.super_version.number(),
        "actual-delayed-write-rate" => core.writes.controller().actual_delayed_rate(),
        "is-write-stopped" => u64::from(metrics::is_write_stopped(core)),
        // Without a job that writes tables, none is kept for one.
        "min-obsolete-sst-number-to-keep" => core.files.oldest_pending().map_or(u64::MAX, |number| number.0),
        "num-live-versions" => core.versions.held_by(data.id).versions,
        "min-log-number-to-keep" => core.versions.min_log_number_to_keep().0,
        "obsolete-sst-files-size" => metrics::obsolete_table_bytes(core),
        _ => return job_property(core, data, name),
    })
}

/// How often writers were held back, by a family or by the database.
pub(super) fn stalls(core: &DbCore, data: &ColumnFamilyData, name: &str) -> Option<BTreeMap<String, String>> {
    match name {
        "cf-write-stall-stats" => Some(data.stalls.told().map()),
        "db-write-stall-stats" => Some(stalls::database_map(core.metrics.told_memory_stops())),
        _ => None,
    }
}

/// See [`Db::aggregated_int_property`](super::Db::aggregated_int_property).
pub(super) fn aggregated_int_property(core: &DbCore, name: &str) -> Option<u64> {
    let name = name.strip_prefix("rocksdb.").unwrap_or(name);
    let of_block_cache = name.starts_with("block-cache-");
    let mut caches = HashSet::new();
    let mut sum = 0u64;
    for data in core.families.load().iter() {
        let value = int_property(core, data, name)?;
        let cache = Arc::as_ptr(core.block_cache_of(&data.options.load()));
        if !of_block_cache || caches.insert(cache) {
            sum = sum.saturating_add(value);
        }
    }
    Some(sum)
}

fn job_property(core: &DbCore, data: &ColumnFamilyData, name: &str) -> Option<u64> {
    let counts = core.jobs.counts(data.id);
    Some(match name {
        "mem-table-flush-pending" => u64::from(counts.is_flush_pending),
        "num-running-flushes" => counts.running_flushes as u64,
        "num-running-compactions" => counts.running_compactions as u64,
        "num-running-compaction-sorted-runs" => counts.running_sorted_runs as u64,
        "compaction-abort-count" => core.jobs.num_aborts() as u64,
        "compaction-pending" => u64::from(core.jobs.is_compaction_due(data.id)),
        "background-errors" => core.metrics.told_errors(counts.errors),
        _ => return None,
    })
}

/// The text of `cfstats`, which begins a new interval.
fn family_stats(core: &DbCore, data: &ColumnFamilyData, pinned: &SuperVersion) -> String {
    let version = &pinned.version;
    let now_us = core.env.clock.monotonic_us();
    let ToldJobs { jobs, before, told_us } = data.jobs.tell(now_us);
    let uptime_us = core.metrics.told_uptime_us(now_us);
    let interval_us = told_us.map_or(uptime_us, |told_us| now_us.saturating_sub(told_us));
    let rows = metrics::levels(pinned, &jobs).iter().map(LevelRow::from).collect();
    let blobs = metrics::blob_files(version);
    stats_text::family(&FamilyStats {
        name: &data.name,
        rows,
        jobs,
        before,
        uptime_us,
        interval_us,
        blob_files: blobs.files,
        blob_bytes: blobs.bytes,
        blob_garbage_bytes: metrics::blob_garbage_bytes(version),
        pending_compaction_bytes: version.estimated_compaction_needed_bytes(&pinned.options),
        stalls: stalls::text(&data.stalls.told().map()),
        cache: cache::text(core.block_cache_of(&pinned.options)),
    })
}

/// Levels with their scores and targets.
fn level_targets(pinned: &SuperVersion) -> String {
    let mut out = String::from("Level    Files   Size       Score  Target\n");
    out.push_str("----------------------------------------------------------\n");
    for level in metrics::levels(pinned, &FamilyJobs::default()) {
        let _ = writeln!(
            out,
            "  L{:<5} {:>6}   {:>9}  {:>5.2}  {:>9}",
            level.level,
            level.files,
            human_bytes(level.bytes),
            level.score,
            human_bytes(level.target_bytes.unwrap_or(u64::MAX)),
        );
    }
    let memtables = metrics::memtables(pinned);
    let _ = writeln!(
        out,
        "Memtables: {} active, {} immutable; estimated pending compaction: {}",
        human_bytes(memtables.active_bytes),
        memtables.immutable_count,
        human_bytes(pinned.version.estimated_compaction_needed_bytes(&pinned.options)),
    );
    out
}

/// Times of reads of files by level; there are none without statistics.
fn read_latencies(data: &ColumnFamilyData) -> String {
    let mut out = format!("\n** File Read Latency Histogram By Level [{}] **\n", data.name);
    for (level, histogram) in data.table_cache.read_stats().latencies().into_iter().filter(|(level, _)| *level >= 0) {
        let _ = writeln!(out, "** Level {level} read latency histogram (micros):\n{histogram}");
    }
    out
}

/// The text of `dbstats`, which begins a new interval.
pub(crate) fn db_stats(core: &DbCore) -> String {
    core.metrics.database_text(core.env.clock.monotonic_us())
}

/// The sum of the properties of the tables of a level, or of all.
///
/// # Errors
/// Those of opening a table.
pub(super) fn aggregated_properties(
    data: &ColumnFamilyData,
    pinned: &SuperVersion,
    level: Option<usize>,
) -> Result<TableProperties> {
    let mut total = TableProperties::default();
    for (_, file) in pinned.version.files().filter(|(own, _)| level.is_none_or(|wanted| wanted == *own)) {
        total.add(data.table_cache.get(file)?.properties());
    }
    Ok(total)
}

fn aggregated_text(data: &ColumnFamilyData, pinned: &SuperVersion, level: Option<usize>) -> String {
    aggregated_properties(data, pinned, level).map_or_else(|error| error.to_string(), |total| total.to_string())
}

/// A number of at least 1 as C++ streams write it: six significant digits, without zeros behind the last other one.
fn six_digits(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match exponent.parse() {
        Ok(exponent @ 0..6) => trimmed(&format!("{value:.*}", 5 - exponent)),
        _ => format!("{}e+{exponent:0>2}", trimmed(digits)),
    }
}

/// What there is in blob files.
fn blob_stats(pinned: &SuperVersion) -> String {
    let (blobs, garbage) = (metrics::blob_files(&pinned.version), metrics::blob_garbage_bytes(&pinned.version));
    let total = blobs.bytes;
    let used = total.saturating_sub(garbage);
    let amplification = if used == 0 { "0".to_owned() } else { six_digits(total as f64 / used as f64) };
    format!(
        "Number of blob files: {}\nTotal size of blob files: {total}\nTotal size of garbage in blob files: {garbage}\n\
         Blob file space amplification: {amplification}\n",
        blobs.files
    )
}

/// When the oldest key was written, in seconds, of tables and memtables; as in RocksDB of a queue of files that is not
/// compacted alone, for a compaction does not keep it.
fn oldest_key_time(data: &ColumnFamilyData, pinned: &SuperVersion) -> Option<u64> {
    let options = &pinned.options;
    if options.compaction_style != CompactionStyle::Fifo || options.compaction_options_fifo.allow_compaction {
        return None;
    }
    let of_tables =
        pinned.version.files().map(|(_, file)| Some(data.table_cache.get(file).ok()?.properties().oldest_key_time));
    let of_tables = of_tables.collect::<Option<Vec<u64>>>()?;
    let memtables = std::iter::once(&pinned.memtable).chain(&pinned.immutable);
    let of_memtables = memtables.filter_map(|memtable| memtable.first_written_secs());
    of_tables.into_iter().chain(of_memtables).min().filter(|time| *time > 0)
}

fn compression_ratio(data: &ColumnFamilyData, pinned: &SuperVersion, level: usize) -> String {
    let (mut raw, mut stored) = (0u64, 0u64);
    for file in pinned.version.level(level) {
        let Ok(table) = data.table_cache.get(file) else { continue };
        let properties = table.properties();
        raw += properties.raw_key_size + properties.raw_value_size;
        stored += properties.data_size;
    }
    if stored == 0 { "-1.000000".to_owned() } else { format!("{:.6}", raw as f64 / stored as f64) }
}

fn level_table(pinned: &SuperVersion) -> String {
    let mut out = String::from("Level Files Size(MB)\n--------------------\n");
    for (level, summary) in pinned.version.level_summaries().iter().enumerate() {
        let _ = writeln!(out, "{level:>3} {:>8} {:>8.0}", summary.num_files, summary.size_bytes as f64 / 1_048_576.0);
    }
    out
}

fn table_list(pinned: &SuperVersion) -> String {
    let mut out = String::new();
    for level in 0..pinned.version.num_levels() {
        let _ = writeln!(out, "--- level {level} ---");
        for file in pinned.version.level(level) {
            let _ = writeln!(
                out,
                " {}:{}[{} .. {}] ['{}' .. '{}']",
                file.number.0,
                file.size_bytes,
                file.smallest_seqno,
                file.largest_seqno,
                file.smallest_user_key().escape_ascii(),
                file.largest_user_key().escape_ascii(),
            );
        }
    }
    out
}

/// Bytes as a person reads them.
pub(crate) fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.2} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn numbers_have_six_digits_as_in_rocksdb() {
        for (value, text) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (1.594_769_4, "1.59477"),
            (9.999_999_9, "10"),
            (100.0, "100"),
            (100_000.0, "100000"),
            (123_456.7, "123457"),
            (999_999.9, "1e+06"),
            (12_345_678.0, "1.23457e+07"),
        ] {
            assert_eq!(six_digits(value), text);
        }
    }
}
