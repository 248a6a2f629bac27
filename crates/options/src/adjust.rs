//! Values that cannot be used as they are, brought to the nearest good one.
//!
//! RocksDB clips options when a database is opened and says so in its LOG at most. The same values are clipped here, in
//! the same direction, and every change is told: an [`Adjustment`] goes into the LOG and into
//! [`option_notes`](crate::Db::option_notes). What has no nearest good value (a number that is none, a format that no
//! release knows) is a violation, and refused before anything is adjusted.
//!
//! ```text
//! level0_file_num_compaction_trigger <= level0_slowdown_writes_trigger <= level0_stop_writes_trigger
//! 1 <= min_write_buffer_number_to_merge < max_write_buffer_number        (negative slowdown: never slowed down)
//! soft_pending_compaction_bytes_limit <= hard_pending_compaction_bytes_limit, unless 0
//! ```
//!
//! A 0 that stands for what follows from the other options is replaced in silence, and only when a family is opened; so
//! are memtables by the hash of a prefix in a family without prefixes, and the default `ttl` of plain tables,
//! which have none.

use super::budgeted;
use super::passthrough::DB_OPTIONS;
use super::{
    ColumnFamilyOptions, ColumnFamilySettings, CompactionStyle, DbOptions, MemTableFactory, TableFactory,
    WalRecoveryMode,
};
use ferrock_base::option_table::Adjustment;
use ferrock_format::compression::CompressionType;
use std::fmt::Display;

/// Replaces `value` when it is not `used`, and tells it.
fn bring<T: PartialEq + Display>(
    adjusted: &mut Vec<Adjustment>,
    name: &str,
    value: &mut T,
    used: T,
    bound: impl FnOnce() -> String,
) {
    if *value == used {
        return;
    }
    match adjusted.iter_mut().find(|earlier| earlier.violation.name == name) {
        // One note for an option: from what it was to what is used.
        Some(earlier) => earlier.used = used.to_string(),
        None => adjusted.push(Adjustment::new(name, &value, bound(), &used)),
    }
    *value = used;
}

impl DbOptions {
    /// Brings options into their bounds.
    #[doc(hidden)]
    pub fn adjust(&mut self) -> Vec<Adjustment> {
        // Where a log ends cannot be told in a recycled one by these modes; and a log that is kept is not used again.
        if matches!(
            self.settings.wal_recovery_mode,
            WalRecoveryMode::TolerateCorruptedTailRecords | WalRecoveryMode::AbsoluteConsistency
        ) || self.settings.keeps_logs()
        {
            self.passthrough.keep(DB_OPTIONS, "recycle_log_file_num", "0");
        }
        let mut adjusted = self.settings.bring_into_bounds();
        let compression = &mut self.settings.wal_compression;
        if !matches!(*compression, CompressionType::NoCompression | CompressionType::Zstd) {
            let bound = "no compression of logs, which is kZSTD".to_owned();
            let used = CompressionType::NoCompression;
            adjusted.push(Adjustment::new("wal_compression", compression.option_name(), bound, used.option_name()));
            *compression = used;
        }
        adjusted
    }
}

/// The `ttl` of families that say nothing of it: 30 days, or RocksDB's number for what follows from the tables. Tables
/// that are not block-based have none.
pub(crate) fn is_default_ttl(ttl: u64) -> bool {
    ttl == ColumnFamilySettings::default().ttl || ttl == u64::MAX - 1
}

impl ColumnFamilyOptions {
    /// Brings options to what a family is opened with: [adjusted](Self::adjust), and without a 0 that stands for what
    /// follows from the others, or a memtable that needs what is not there.
    #[doc(hidden)]
    pub fn settle(&mut self) -> Vec<Adjustment> {
        let adjusted = self.adjust();
        let s = &mut self.settings;
        if self.prefix_extractor.is_none() && s.memtable_factory.needs_prefix_extractor() {
            s.memtable_factory = MemTableFactory::default();
        }
        if self.table_factory != TableFactory::BlockBased && is_default_ttl(s.ttl) {
            s.ttl = 0;
        }
        if s.compaction_style != CompactionStyle::Level {
            s.level_compaction_dynamic_level_bytes = false;
        }
        if s.compaction_style == CompactionStyle::Universal && s.ttl != 0 {
            // Runs are merged whole, so that age is dealt with in one way: the stricter of the two limits counts.
            let periodic = s.periodic_compaction_seconds;
            s.periodic_compaction_seconds = if periodic == 0 { s.ttl } else { periodic.min(s.ttl) };
        }
        if s.soft_pending_compaction_bytes_limit == 0 {
            s.soft_pending_compaction_bytes_limit = s.hard_pending_compaction_bytes_limit;
        }
        if s.compaction_style == CompactionStyle::Fifo {
            // Too many files in level 0 are dropped, so they stop no writer.
            s.level0_slowdown_writes_trigger = i32::MAX;
            s.level0_stop_writes_trigger = i32::MAX;
        }
        let follows_from_data =
            s.compaction_style == CompactionStyle::Fifo && s.compaction_options_fifo.use_kv_ratio_compaction;
        if s.max_compaction_bytes == 0 && !follows_from_data {
            s.max_compaction_bytes = s.target_file_size_base.saturating_mul(25);
        }
        if s.arena_block_size == 0 {
            s.arena_block_size = (s.write_buffer_size / 8).min(1 << 20).next_multiple_of(4 << 10);
        }
        adjusted
    }

    /// As [`settle`](Self::settle), with what the options of the database say: where tables lie. As in RocksDB the
    /// targets of levels are not dynamic with more than one directory.
    #[doc(hidden)]
    pub fn settle_in(&mut self, db: &DbOptions) -> Vec<Adjustment> {
        let mut adjusted = self.settle();
        if db.atomic_flush {
            let name = "min_write_buffer_number_to_merge";
            bring(&mut adjusted, name, &mut self.settings.min_write_buffer_number_to_merge, 1, || {
                "not above 1 with atomic_flush, which flushes all families together".to_owned()
            });
        }
        let is_universal = self.settings.compaction_style == CompactionStyle::Universal;
        self.settings.cf_allow_ingest_behind |= db.allow_ingest_behind && is_universal;
        if self.settings.reserves_last_level() {
            let levels = self.settings.num_levels.max(3);
            bring(&mut adjusted, "num_levels", &mut self.settings.num_levels, levels, || {
                "below 3, with cf_allow_ingest_behind, which reserves the last one".to_owned()
            });
        }
        if self.cf_paths.is_empty() {
            self.cf_paths.clone_from(&db.db_paths);
        }
        adjusted.extend(budgeted::charge(db, self));
        if self.cf_paths.len() > 1 {
            let name = "level_compaction_dynamic_level_bytes";
            bring(&mut adjusted, name, &mut self.settings.level_compaction_dynamic_level_bytes, false, || {
                "not possible with more than one directory of tables".to_owned()
            });
        }
        adjusted
    }

    /// Brings options into their bounds and into the relations that the engine relies on.
    pub(crate) fn adjust(&mut self) -> Vec<Adjustment> {
        let mut adjusted = self.settings.bring_into_bounds();
        adjusted.extend(self.table.bring_into_bounds());
        self.adjust_write_buffers(&mut adjusted);
        self.adjust_levels(&mut adjusted);
        self.adjust_direct_writes(&mut adjusted);
        adjusted
    }

    fn adjust_direct_writes(&mut self, adjusted: &mut Vec<Adjustment>) {
        let s = &mut self.settings;
        let (is_wanted, partitions) = (s.enable_blob_direct_write, s.blob_direct_write_partitions.max(1));
        bring(
            adjusted,
            "enable_blob_direct_write",
            &mut s.enable_blob_direct_write,
            is_wanted && s.enable_blob_files,
            || "of no effect without enable_blob_files".to_owned(),
        );
        bring(adjusted, "blob_direct_write_partitions", &mut s.blob_direct_write_partitions, partitions, || {
            "no number of files".to_owned()
        });
    }

    fn adjust_write_buffers(&mut self, adjusted: &mut Vec<Adjustment>) {
        let s = &mut self.settings;
        let most = s.max_write_buffer_number - 1;
        let merged = s.min_write_buffer_number_to_merge.min(most);
        bring(adjusted, "min_write_buffer_number_to_merge", &mut s.min_write_buffer_number_to_merge, merged, || {
            format!("not below max_write_buffer_number = {}", most + 1)
        });
    }

    fn adjust_levels(&mut self, adjusted: &mut Vec<Adjustment>) {
        let s = &mut self.settings;
        if s.compaction_style == CompactionStyle::Level {
            let levels = s.num_levels.max(2);
            bring(adjusted, "num_levels", &mut s.num_levels, levels, || "too few for kCompactionStyleLevel".to_owned());
        }
        let trigger = s.level0_file_num_compaction_trigger;
        if s.level0_slowdown_writes_trigger >= 0 {
            let slowdown = s.level0_slowdown_writes_trigger.max(trigger);
            bring(adjusted, "level0_slowdown_writes_trigger", &mut s.level0_slowdown_writes_trigger, slowdown, || {
                format!("below level0_file_num_compaction_trigger = {trigger}")
            });
        }
        let least = s.level0_slowdown_writes_trigger.max(trigger);
        let stop = s.level0_stop_writes_trigger.max(least);
        bring(adjusted, "level0_stop_writes_trigger", &mut s.level0_stop_writes_trigger, stop, || {
            let name = if least == trigger { "file_num_compaction" } else { "slowdown_writes" };
            format!("below level0_{name}_trigger = {least}")
        });
        let hard = s.hard_pending_compaction_bytes_limit;
        if hard > 0 && s.soft_pending_compaction_bytes_limit > 0 {
            let soft = s.soft_pending_compaction_bytes_limit.min(hard);
            let name = "soft_pending_compaction_bytes_limit";
            bring(adjusted, name, &mut s.soft_pending_compaction_bytes_limit, soft, || {
                format!("above hard_pending_compaction_bytes_limit = {hard}")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(options: &mut ColumnFamilyOptions) -> Vec<String> {
        options.settle().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn defaults_need_no_adjustment() {
        assert_eq!(notes(&mut ColumnFamilyOptions::default()), Vec::<String>::new());
        assert!(DbOptions::default().adjust().is_empty());
    }

    #[test]
    fn direct_writes_need_blob_files() {
        let mut options = ColumnFamilyOptions::default();
        (options.enable_blob_direct_write, options.blob_direct_write_partitions) = (true, 0);
        let expected = [
            "enable_blob_direct_write = true is of no effect without enable_blob_files; false is used",
            "blob_direct_write_partitions = 0 is no number of files; 1 is used",
        ];
        assert_eq!(notes(&mut options), expected);
        (options.enable_blob_direct_write, options.enable_blob_files) = (true, true);
        assert_eq!(notes(&mut options), Vec::<String>::new());
    }

    #[test]
    fn triggers_of_level_0_are_brought_into_their_order() {
        let mut options = ColumnFamilyOptions::default();
        options.level0_file_num_compaction_trigger = 30;
        options.level0_stop_writes_trigger = 2;
        let expected = [
            "level0_slowdown_writes_trigger = 20 is below level0_file_num_compaction_trigger = 30; 30 is used",
            "level0_stop_writes_trigger = 2 is below level0_file_num_compaction_trigger = 30; 30 is used",
        ];
        assert_eq!(notes(&mut options), expected);
        assert_eq!(notes(&mut options), Vec::<String>::new(), "once is enough");
        options.level0_slowdown_writes_trigger = -1;
        assert_eq!(notes(&mut options), Vec::<String>::new(), "writers are not slowed down");
    }

    #[test]
    fn a_queue_stops_no_writer_for_its_files() {
        let mut options = ColumnFamilyOptions::default();
        options.compaction_style = CompactionStyle::Fifo;
        options.num_levels = 1;
        options.compaction_options_fifo.use_kv_ratio_compaction = true;
        assert_eq!(notes(&mut options), Vec::<String>::new());
        let s = &options.settings;
        assert_eq!((s.level0_slowdown_writes_trigger, s.level0_stop_writes_trigger), (i32::MAX, i32::MAX));
        assert_eq!((s.num_levels, s.max_compaction_bytes, s.level_compaction_dynamic_level_bytes), (1, 0, false));
        options.compaction_options_fifo.use_kv_ratio_compaction = false;
        assert_eq!(notes(&mut options), Vec::<String>::new());
        assert_eq!(options.max_compaction_bytes, 25 * options.target_file_size_base);
    }

    #[test]
    fn buffers_and_levels_are_brought_to_what_works() {
        let mut options = ColumnFamilyOptions::default();
        options.write_buffer_size = 16_384;
        options.max_write_buffer_number = -3;
        options.min_write_buffer_number_to_merge = 7;
        options.num_levels = 1;
        options.soft_pending_compaction_bytes_limit = 9;
        options.hard_pending_compaction_bytes_limit = 8;
        options.memtable_prefix_bloom_size_ratio = 0.5;
        options.max_bytes_for_level_multiplier = -1.0;
        options.table.block_size = 0;
        options.table.block_restart_interval = -1;
        options.table.block_size_deviation = 101;
        options.table.format_version = 0;
        assert_eq!(notes(&mut options).len(), 11, "{:#?}", options);
        let s = &options.settings;
        assert_eq!((s.write_buffer_size, s.arena_block_size), (64 << 10, 8 << 10));
        assert_eq!((s.max_write_buffer_number, s.min_write_buffer_number_to_merge), (2, 1));
        assert_eq!((s.num_levels, s.soft_pending_compaction_bytes_limit), (2, 8));
        assert_eq!((s.memtable_prefix_bloom_size_ratio, s.max_bytes_for_level_multiplier), (0.25, 1.0));
        let t = &options.table;
        assert_eq!((t.block_size, t.block_restart_interval, t.block_size_deviation, t.format_version), (1, 1, 0, 2));
        let mut db = DbOptions::default();
        db.max_open_files = -2;
        db.max_background_jobs = 0;
        assert_eq!(db.adjust().len(), 2);
        assert_eq!((db.max_open_files, db.max_background_jobs), (20, 1));
    }

    #[test]
    fn what_has_no_nearest_value_is_a_violation() {
        let mut options = ColumnFamilyOptions::default();
        options.max_bytes_for_level_multiplier = f64::NAN;
        options.table.format_version = 99;
        options.table.block_size = 1 << 40;
        let names: Vec<String> = options.violations().into_iter().map(|violation| violation.name).collect();
        assert_eq!(names, ["max_bytes_for_level_multiplier", "format_version", "block_size"]);
        let mut db = DbOptions::default();
        db.keep_log_file_num = 0;
        db.max_open_files = -9;
        let names: Vec<String> = db.violations().into_iter().map(|violation| violation.name).collect();
        assert_eq!(names, ["keep_log_file_num"]);
    }

    #[test]
    fn only_block_based_tables_have_a_default_ttl() {
        let settled = |ttl, table_factory| {
            let mut options = ColumnFamilyOptions { table_factory, ..ColumnFamilyOptions::default() };
            options.ttl = ttl;
            assert!(options.settle().is_empty());
            options.ttl
        };
        let days = ColumnFamilyOptions::default().ttl;
        assert_eq!(settled(days, TableFactory::BlockBased), days);
        for default in [0, days, u64::MAX - 1] {
            assert_eq!(settled(default, TableFactory::Plain(Default::default())), 0);
        }
    }

    #[test]
    fn arena_blocks_have_a_default_of_whole_pages_or_what_was_set() {
        let adjusted = |write_buffer_size, arena_block_size| {
            let mut options = ColumnFamilyOptions::default();
            options.write_buffer_size = write_buffer_size;
            options.arena_block_size = arena_block_size;
            assert!(options.settle().is_empty());
            options.arena_block_size
        };
        assert_eq!(adjusted(64 << 20, 0), 1 << 20, "capped");
        assert_eq!(adjusted(4 << 20, 0), 512 << 10, "an eighth of the buffer");
        assert_eq!(adjusted(100_000, 0), 16 << 10, "rounded up");
        assert_eq!(adjusted(64 << 20, 5000), 5000);
        assert_eq!(adjusted(64 << 20, 1), 1);
        assert_eq!(adjusted(64 << 20, usize::MAX), usize::MAX, "no overflow");
    }
}
