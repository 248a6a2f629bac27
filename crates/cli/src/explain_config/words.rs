//! Sentences about an option set: what a family is, when writers wait, what can be lost.

use super::figures::{FamilyFigures, Figures, jobs};
use super::subject::Subject;
use crate::output::bytes;
use ferrock::options::{CompactionStyle, CompressionType, FilterPolicy, IndexType, TableFactory, WalRecoveryMode};
use ferrock::{ColumnFamilyOptions, DbOptions};

/// A trigger that no tree reaches.
const NEVER: i32 = 1 << 30;

fn text(count: f64) -> String {
    bytes(count as u64)
}

/// What a family's tree and tables are.
pub(super) fn shape(options: &ColumnFamilyOptions, figures: &FamilyFigures) -> Vec<String> {
    let files = bytes(options.target_file_size_base);
    let style = match options.compaction_style {
        CompactionStyle::Level => format!(
            "Levels: {} of them, of {} for the first and {} times as much for each further one{}; tables of {files}.",
            options.num_levels,
            bytes(options.max_bytes_for_level_base),
            options.max_bytes_for_level_multiplier,
            if options.level_compaction_dynamic_level_bytes { ", counted from the last one" } else { "" },
        ),
        CompactionStyle::Universal => format!(
            "Sorted runs (universal): merged from {} on, and all of them when the newer ones have {} % of the oldest; \
             tables of {files}.",
            options.level0_file_num_compaction_trigger,
            options.compaction_options_universal.max_size_amplification_percent,
        ),
        CompactionStyle::Fifo => format!(
            "A queue (FIFO): the oldest tables are dropped above {}{}.",
            bytes(options.compaction_options_fifo.limit_bytes()),
            if options.ttl > 0 {
                format!(", and {} after they were written", seconds(options.ttl))
            } else {
                String::new()
            },
        ),
        CompactionStyle::None => "No compactions but by hand.".to_owned(),
    };
    let merged = match options.min_write_buffer_number_to_merge {
        1 => String::new(),
        count => format!(", {count} of them together"),
    };
    let flushes = format!(
        "Memtables of {}{merged}: a flush writes {} at most.",
        bytes(options.write_buffer_size as u64),
        text(figures.flushed_bytes),
    );
    vec![style, flushes, tables(options), compression(options)]
}

fn tables(options: &ColumnFamilyOptions) -> String {
    let table = &options.table;
    if options.table_factory != TableFactory::BlockBased {
        return "Plain tables, without blocks: for files that are mapped into memory.".to_owned();
    }
    let filter = match options.filter_policy {
        FilterPolicy::Bloom { millibits_per_key } => {
            format!("Bloom filters of {} bits a key", f64::from(millibits_per_key) / 1000.0)
        }
        FilterPolicy::Ribbon { millibits_per_key, .. } => {
            format!("Ribbon filters as good as Bloom filters of {} bits a key", f64::from(millibits_per_key) / 1000.0)
        }
        FilterPolicy::None | FilterPolicy::ReadOnly => "no filters".to_owned(),
    };
    let place = match (table.cache_index_and_filter_blocks, table.index_type == IndexType::TwoLevelIndexSearch) {
        (true, true) => "indexes and filters in the block cache, in partitions",
        (true, false) => "indexes and filters in the block cache, whole",
        (false, true) => "partitions of indexes in the block cache, their top levels with the open tables",
        (false, false) => "indexes and filters with the open tables, outside of the block cache",
    };
    format!("Blocks of {}; {filter}; {place}.", bytes(table.block_size))
}

fn compression(options: &ColumnFamilyOptions) -> String {
    let name = |kind: CompressionType| match kind {
        CompressionType::NoCompression => "none".to_owned(),
        kind => kind.option_name().trim_start_matches('k').trim_end_matches("Compression").to_owned(),
    };
    let mut text = if options.compression_per_level.is_empty() {
        format!("Compression: {}", name(options.compression))
    } else {
        let levels: Vec<String> = options.compression_per_level.iter().map(|kind| name(*kind)).collect();
        format!("Compression by level: {}", levels.join(", "))
    };
    if let Some(kind) = options.bottommost_compression.0 {
        text.push_str(&format!("; {} in the last level", name(kind)));
    }
    text + "."
}

/// When the writers of a family wait.
pub(super) fn waits(options: &ColumnFamilyOptions) -> Vec<String> {
    let most = options.max_write_buffer_number;
    let mut lines = vec![if most > 3 {
        format!("Writers slow down when {} memtables are full, and stop when {most} are.", most - 1)
    } else {
        format!("Writers stop when {most} memtables are full.")
    }];
    let is_compacted = matches!(options.compaction_style, CompactionStyle::Level | CompactionStyle::Universal);
    if !is_compacted || options.disable_auto_compactions {
        lines.push("No writer waits for compactions.".to_owned());
        return lines;
    }
    let (slow, stop) = (options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger);
    let what = if options.compaction_style == CompactionStyle::Level { "tables in level 0" } else { "sorted runs" };
    let shown = |verb: &str, at: i32| match at {
        at if (0..NEVER).contains(&at) => format!("{verb} at {at} {what}"),
        _ => format!("never {verb} for {what}"),
    };
    lines.push(format!("Writers {}, and {}.", shown("slow down", slow), shown("stop", stop)));
    let debt = |verb: &str, limit: u64| match limit {
        0 => format!("never {verb} for that"),
        limit => format!("{verb} when {} wait for compaction", bytes(limit)),
    };
    let (soft, hard) = (options.soft_pending_compaction_bytes_limit, options.hard_pending_compaction_bytes_limit);
    lines.push(format!("Writers {}, and {}.", debt("slow down", soft), debt("stop", hard)));
    lines
}

fn seconds(count: u64) -> String {
    const DAY: u64 = 24 * 3600;
    match count {
        days if days >= DAY && days % DAY == 0 => format!("{} days", days / DAY),
        hours if hours >= 3600 && hours % 3600 == 0 => format!("{} hours", hours / 3600),
        other => format!("{other} seconds"),
    }
}

/// What the database does as a whole.
pub(super) fn database(subject: &Subject, figures: &Figures) -> Vec<String> {
    let db = &subject.db;
    let jobs = jobs(db);
    let budget = db.components.memory_budget.as_ref();
    let budget =
        budget.map(|budget| format!("A memory budget of {} has all holders within it.", bytes(budget.bytes() as u64)));
    let mut lines: Vec<String> = budget.into_iter().collect();
    lines.push(format!(
        "{jobs} {} at once, each by {}.",
        if jobs == 1 { "flush or compaction" } else { "flushes and compactions" },
        match db.max_subcompactions {
            0 | 1 => "one thread".to_owned(),
            threads => format!("up to {threads} threads"),
        }
    ));
    lines.push(format!("Writers that are slowed down begin with {} a second.", bytes(db.delayed_write_rate)));
    lines.push(format!(
        "Above {} of log the families are flushed that hold back the oldest one: so much is read at most when the \
         database opens after a crash.",
        text(figures.wal_limit)
    ));
    if db.db_write_buffer_size > 0 {
        lines.push(format!(
            "Above {} of memtables of all families the largest is flushed.",
            bytes(db.db_write_buffer_size)
        ));
    }
    lines
}

/// What a process that ends, or a machine that loses its power, can lose.
pub(super) fn losses(db: &DbOptions) -> Vec<String> {
    let mut lines = vec![
        "A write with `sync` is on the device when it returns: nothing loses it. Without `sync` it is in the log: lost \
         power takes what the system has not written back, often the last 30 seconds."
            .to_owned(),
    ];
    if db.wal_bytes_per_sync > 0 {
        lines.push(format!(
            "The log is written back every {}, so that lost power takes little more than that; this is no promise.",
            bytes(db.wal_bytes_per_sync)
        ));
    }
    lines.push(if db.manual_wal_flush {
        "A process that ends loses what it wrote since its last `flush_wal`.".to_owned()
    } else {
        "A process that ends loses nothing that was written with the log.".to_owned()
    });
    lines.push(
        match db.wal_recovery_mode {
            WalRecoveryMode::TolerateCorruptedTailRecords => {
                "After a crash the log is read to an incomplete end; other damage is an error of the open."
            }
            WalRecoveryMode::AbsoluteConsistency => {
                "After a crash any damage of the log, also an incomplete end, is an error of the open."
            }
            WalRecoveryMode::PointInTimeRecovery => {
                "After a crash the database is as it was at one moment: the log is read to its first damage."
            }
            WalRecoveryMode::SkipAnyCorruptedRecords => {
                "After a crash damaged records are passed over: later writes may be there and earlier ones not."
            }
        }
        .to_owned(),
    );
    lines.push(if db.atomic_flush {
        "Written without a log: a crash takes all families back to one moment, the last flush.".to_owned()
    } else {
        "Written without a log: a crash takes each family back to its own last flush.".to_owned()
    });
    lines
}
