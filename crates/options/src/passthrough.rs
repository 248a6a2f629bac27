//! RocksDB's options that have no effect here (yet).
//!
//! They are kept, so that a directory's OPTIONS file survives a visit by this engine:
//! a value read from a foreign file is written back. A value other than the default is
//! said in the LOG and in the property `ferrock.options-without-effect`. What a caller *sets* depends on the option:
//!
//! - a hint (`HINTS`) changes how fast or in how many pieces the work is done, and neither what is stored nor what a
//!   caller relies on. It is kept and said like a value of a file.
//! - every other one is refused as `Not implemented` unless it is the default: a caller that asks for checksums of
//!   files must not believe to have them.

use ferrock_base::option_table::{OptionValue, parse_integer};
use ferrock_base::{Error, Result};
use ferrock_format::options_file::canonical_name;
use ferrock_format::options_file::value::{NULL_OBJECT, parse_struct};
use std::collections::BTreeMap;

/// Name and default text, as RocksDB 11.8 writes them.
pub type DefaultText = (&'static str, &'static str);

/// Options of a whole database without effect.
pub const DB_OPTIONS: &[DefaultText] = &[
    ("allow_2pc", "false"),
    ("allow_data_in_errors", "false"),
    ("allow_mmap_writes", "false"),
    ("async_wal_precreate", "false"),
    ("avoid_unnecessary_blocking_io", "false"),
    ("background_close_inactive_wals", "false"),
    ("compaction_verify_record_count", "true"),
    ("db_host_id", "__hostname__"),
    ("db_log_dir", ""),
    ("delete_obsolete_files_period_micros", "21600000000"),
    ("dump_malloc_stats", "false"),
    ("enable_pipelined_write", "false"),
    ("enable_thread_tracking", "false"),
    ("enable_write_thread_adaptive_yield", "true"),
    ("enforce_single_del_contracts", "true"),
    ("enforce_write_buffer_manager_during_recovery", "true"),
    ("fast_sst_open", "false"),
    ("flush_verify_memtable_count", "true"),
    ("is_fd_close_on_exec", "true"),
    ("log_file_time_to_roll", "0"),
    ("log_readahead_size", "0"),
    ("lowest_used_cache_tier", "kNonVolatileBlockTier"),
    ("optimize_manifest_for_recovery", "false"),
    ("prefix_seek_opt_in_only", "false"),
    ("read_io_executor_threads", "1"),
    ("recycle_log_file_num", "0"),
    ("reuse_manifest_on_open", "false"),
    ("skip_stats_update_on_db_open", "false"),
    ("table_cache_numshardbits", "6"),
    ("track_and_verify_wals", "false"),
    ("two_write_queues", "false"),
    ("unordered_write", "false"),
    ("use_adaptive_mutex", "false"),
    ("use_fsync", "false"),
    ("wal_filter", "nullptr"),
    ("write_thread_max_yield_usec", "100"),
    ("write_thread_slow_yield_usec", "3"),
];

/// Options of a column family without effect.
pub const COLUMN_FAMILY_OPTIONS: &[DefaultText] = &[
    ("compression_manager", "nullptr"),
    ("disallow_memtable_writes", "false"),
    ("experimental_mempurge_threshold", "0.000000"),
    ("max_write_buffer_size_to_maintain", "0"),
    ("memtable_batch_lookup_optimization", "false"),
    ("persist_user_defined_timestamps", "true"),
    ("report_bg_io_stats", "false"),
];

/// Options of block-based tables without effect.
pub const TABLE_OPTIONS: &[DefaultText] = &[];

/// Options whose other values are accepted from a caller, too, and do nothing: they say how much of something to do at
/// once, when, or with what precautions, or weaken a guarantee that is kept here in any case.
const HINTS: &[&str] = &[
    "allow_data_in_errors",
    "async_wal_precreate",
    "avoid_unnecessary_blocking_io",
    "background_close_inactive_wals",
    "compaction_verify_record_count",
    "db_host_id",
    "db_log_dir",
    "delete_obsolete_files_period_micros",
    "dump_malloc_stats",
    "enable_pipelined_write",
    "enable_thread_tracking",
    "enable_write_thread_adaptive_yield",
    "enforce_single_del_contracts",
    "enforce_write_buffer_manager_during_recovery",
    "experimental_mempurge_threshold",
    "fast_sst_open",
    "flush_verify_memtable_count",
    "is_fd_close_on_exec",
    "log_file_time_to_roll",
    "log_readahead_size",
    "lowest_used_cache_tier",
    "max_write_buffer_size_to_maintain",
    "memtable_batch_lookup_optimization",
    "optimize_manifest_for_recovery",
    "prefix_seek_opt_in_only",
    "read_io_executor_threads",
    "recycle_log_file_num",
    "report_bg_io_stats",
    "reuse_manifest_on_open",
    "skip_stats_update_on_db_open",
    "table_cache_numshardbits",
    "unordered_write",
    "use_adaptive_mutex",
    "use_fsync",
    "write_thread_max_yield_usec",
    "write_thread_slow_yield_usec",
];

/// Options of the tables above that RocksDB lets change while a database is open.
const MUTABLE: &[&str] = &[
    "compression_manager",
    "delete_obsolete_files_period_micros",
    "experimental_mempurge_threshold",
    "fast_sst_open",
    "optimize_manifest_for_recovery",
    "report_bg_io_stats",
];

/// True for an option of `table` that does not change while the database is open.
pub(crate) fn is_fixed(table: &[DefaultText], name: &str) -> bool {
    let known = canonical_name(name);
    table.iter().any(|(row, _)| *row == known) && MUTABLE.binary_search(&known).is_err()
}

/// Options that RocksDB takes as text and never writes into an OPTIONS file; here only their defaults have a meaning.
pub(crate) const NEVER_WRITTEN: &[DefaultText] = &[
    ("block_cache_compressed", "nullptr"),
    ("compaction_service", "nullptr"),
    ("env", "nullptr"),
    ("info_log", "nullptr"),
    ("persistent_cache", "nullptr"),
    ("rate_limiter", "nullptr"),
    ("rate_limiter_bytes_per_sec", "0"),
    ("row_cache", "nullptr"),
    ("sst_file_manager", "nullptr"),
    ("statistics", "nullptr"),
    ("table_properties_collectors", ""),
    ("write_buffer_manager", "nullptr"),
];

/// Options that RocksDB 7.8 does not know, and paths, which it does not take empty. Its tools refuse an OPTIONS file
/// with a name they do not know, so these are written only where they differ from their defaults: a database stays open
/// to the releases that can read its tables.
const NEWER_THAN_7_8: &[&str] = &[
    "async_wal_precreate",
    "background_close_inactive_wals",
    "blob_compression_opts",
    "blob_direct_write_partitions",
    "block_protection_bytes_per_key",
    "bottommost_file_compaction_delay",
    "cf_allow_ingest_behind",
    "compaction_verify_record_count",
    "compression_manager",
    "daily_offpeak_time_utc",
    "db_log_dir",
    "decouple_partitioned_filters",
    "default_temperature",
    "default_write_temperature",
    "disallow_memtable_writes",
    "enable_blob_direct_write",
    "enforce_write_buffer_manager_during_recovery",
    "fail_if_no_udi_on_open",
    "fast_sst_open",
    "follower_catchup_retry_count",
    "follower_catchup_retry_wait_ms",
    "follower_refresh_catchup_period_ms",
    "index_block_search_type",
    "max_compaction_trigger_wakeup_seconds",
    "max_manifest_space_amp_pct",
    "memtable_avg_op_scan_flush_trigger",
    "memtable_batch_lookup_optimization",
    "memtable_max_range_deletions",
    "memtable_op_scan_flush_trigger",
    "memtable_verify_per_key_checksum_on_seek",
    "metadata_write_temperature",
    "min_tombstones_for_range_conversion",
    "open_files_async",
    "optimize_manifest_for_recovery",
    "paranoid_memory_checks",
    "persist_user_defined_timestamps",
    "prefix_seek_opt_in_only",
    "read_io_executor_threads",
    "read_triggered_compaction_threshold",
    "reuse_manifest_on_open",
    "separate_key_value_in_data_block",
    "strict_max_successive_merges",
    "super_block_alignment_size",
    "super_block_alignment_space_overhead_ratio",
    "target_file_size_is_upper_bound",
    "track_and_verify_wals",
    "uncache_aggressiveness",
    "uniform_cv_threshold",
    "use_delta_encoding",
    "use_direct_io_for_compaction_reads",
    "use_udi_as_primary_index",
    "user_defined_index_factory",
    "verify_manifest_content_on_close",
    "verify_output_flags",
    "wal_write_temperature",
    "write_identity_file",
];

/// True when an option at its default is left out of an OPTIONS file.
pub(crate) fn is_left_out(name: &str, value: &str, default: &str) -> bool {
    value == default && NEWER_THAN_7_8.binary_search(&name).is_ok()
}

/// Values of options without effect that differ from their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passthrough {
    values: BTreeMap<String, String>,
}

impl Passthrough {
    /// Keeps what an OPTIONS file says; also names that no table lists.
    pub fn keep(&mut self, table: &[DefaultText], name: &str, text: &str) {
        let default = table.iter().find(|(known, _)| *known == name).map(|(_, default)| *default);
        if default.is_some_and(|default| is_default(text.trim(), default)) {
            self.values.remove(name);
        } else {
            self.values.insert(name.to_owned(), text.trim().to_owned());
        }
    }

    /// Takes a value that a caller sets. `Ok(false)`: no option has that name.
    ///
    /// # Errors
    /// `Invalid argument` for a text that is no value of the option, `Not implemented` for one that asks for what is
    /// not built and is no mere hint.
    pub fn set(&mut self, table: &[DefaultText], name: &str, text: &str) -> Result<bool> {
        let name = canonical_name(name);
        let Some((_, default)) = table.iter().find(|(known, _)| *known == name) else { return Ok(false) };
        let text = text.trim();
        if is_default(text, default) {
            self.values.remove(name);
            return Ok(true);
        }
        if !is_value(name, text, default) {
            return Err(Error::invalid_argument(format!(
                "option {name}: {text:?} is no value of it; its default is {default}"
            )));
        }
        if HINTS.binary_search(&name).is_err() {
            return Err(Error::not_supported(format!(
                "option {name} = {text} is not built yet: only its default {default} works, so leave the option out"
            )));
        }
        let is_bare_struct = default.starts_with('{') && !text.starts_with('{');
        let text = if is_bare_struct { format!("{{{text}}}") } else { text.to_owned() };
        self.values.insert(name.to_owned(), text);
        Ok(true)
    }

    /// The text of an option without effect.
    #[must_use]
    pub fn get(&self, table: &[DefaultText], name: &str) -> Option<String> {
        let default = || table.iter().find(|(known, _)| *known == name).map(|(_, default)| (*default).to_owned());
        self.values.get(name).cloned().or_else(default)
    }

    /// Values that differ from their defaults: settings that are configured and have no effect.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, text)| (&name[..], &text[..]))
    }

    /// Every option of `table` with its value.
    pub fn entries<'a>(&'a self, table: &'a [DefaultText]) -> impl Iterator<Item = (&'a str, &'a str)> {
        table.iter().map(|(name, default)| (*name, self.values.get(*name).map_or(*default, |text| &text[..])))
    }
}

/// True for a text that says the same as the default of an option.
fn is_default(text: &str, default: &str) -> bool {
    let is_same = |text: &str, default: &str| {
        let is_null = default == NULL_OBJECT && text.is_empty();
        is_null || text == default || (default.starts_with('{') && is_part_of(text, default))
    };
    let is_same_value = || match default {
        "true" | "false" => bool::parse_option(text) == bool::parse_option(default),
        _ if default.parse::<i64>().is_ok() => parse_integer(text) == parse_integer(default),
        _ => default.parse::<f64>().is_ok_and(|value| f64::parse_option(text) == Some(value)),
    };
    is_same(text, default) || is_same_value()
}

/// True when every field of a struct has the value that it has in another one.
fn is_part_of(text: &str, whole: &str) -> bool {
    let (Ok(fields), Ok(whole)) = (parse_struct(text), parse_struct(whole)) else { return false };
    fields.iter().all(|field| whole.contains(field))
}

/// True for a text that is of the kind of the default of an option: a number for a number, a known name for a name.
fn is_value(name: &str, text: &str, default: &str) -> bool {
    let is_one_of = |names: &[&str]| names.contains(&text);
    match name {
        "lowest_used_cache_tier" => is_one_of(&["kVolatileTier", "kVolatileCompressedTier", "kNonVolatileBlockTier"]),
        _ if default.starts_with('{') => parse_struct(text).is_ok(),
        _ if bool::parse_option(default).is_some() && default.len() > 1 => bool::parse_option(text).is_some(),
        _ if default.parse::<i64>().is_ok() => parse_integer(text).is_some(),
        _ if default.parse::<f64>().is_ok() => f64::parse_option(text).is_some(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_names_are_sorted_for_the_search() {
        assert!(NEWER_THAN_7_8.is_sorted() && HINTS.is_sorted() && MUTABLE.is_sorted());
        for name in HINTS.iter().chain(MUTABLE) {
            let mut rows = DB_OPTIONS.iter().chain(COLUMN_FAMILY_OPTIONS);
            assert!(rows.any(|(known, _)| known == name), "{name} is no option without effect");
        }
        assert!(is_left_out("fast_sst_open", "false", "false"));
        assert!(!is_left_out("fast_sst_open", "true", "false"));
        assert!(!is_left_out("two_write_queues", "false", "false"));
    }

    #[test]
    fn a_hint_is_kept_and_what_a_caller_would_rely_on_is_refused() {
        let mut kept = Passthrough::default();
        for (name, text) in [
            ("use_fsync", "true"),
            ("log_readahead_size", "4"),
            ("table_cache_numshardbits", "4"),
            ("delete_obsolete_files_period_micros", "0"),
            ("enable_pipelined_write", "1"),
            ("lowest_used_cache_tier", "kVolatileTier"),
            ("db_log_dir", "/var/log/db"),
        ] {
            assert!(kept.set(DB_OPTIONS, name, text).unwrap(), "{name}");
            assert_eq!(kept.get(DB_OPTIONS, name).as_deref(), Some(text));
        }
        assert!(kept.set(DB_OPTIONS, "use_fsync", "0").unwrap());
        assert_eq!(kept.iter().count(), 6, "back at their defaults: {kept:?}");
        for (name, text) in [
            ("use_fsync", "perhaps"),
            ("log_readahead_size", "many"),
            ("lowest_used_cache_tier", "kLukewarm"),
            ("write_thread_max_yield_usec", "x"),
        ] {
            let error = kept.set(DB_OPTIONS, name, text).unwrap_err();
            assert_eq!(error.kind(), ferrock_base::ErrorKind::InvalidArgument, "{error}");
        }
        for (name, text) in [("two_write_queues", "true"), ("allow_mmap_writes", "true"), ("allow_2pc", "true")] {
            let error = kept.set(DB_OPTIONS, name, text).unwrap_err();
            assert_eq!(error.kind(), ferrock_base::ErrorKind::NotSupported, "{error}");
        }
        let fixed = ["fast_sst_open", "use_fsync", "no_such_option"].map(|name| is_fixed(DB_OPTIONS, name));
        assert_eq!(fixed, [false, true, false]);
    }

    #[test]
    fn a_foreign_value_is_kept_and_a_callers_is_refused() {
        let mut kept = Passthrough::default();
        kept.keep(DB_OPTIONS, "recycle_log_file_num", "4");
        kept.keep(DB_OPTIONS, "two_write_queues", "false");
        kept.keep(DB_OPTIONS, "an_option_of_tomorrow", "x");
        assert_eq!(kept.iter().collect::<Vec<_>>(), [("an_option_of_tomorrow", "x"), ("recycle_log_file_num", "4")]);
        assert_eq!(kept.get(DB_OPTIONS, "two_write_queues").as_deref(), Some("false"));
        assert!(kept.set(DB_OPTIONS, "two_write_queues", "true").is_err());
        assert!(kept.set(DB_OPTIONS, "recycle_log_file_num", "0").unwrap());
        assert!(kept.set(DB_OPTIONS, "two_write_queues", "0").unwrap(), "a boolean has two spellings");
        assert!(kept.set(DB_OPTIONS, "two_write_queues", "1").is_err());
        assert!(!kept.set(DB_OPTIONS, "no_such_option", "0").unwrap());
        assert_eq!(kept.entries(DB_OPTIONS).count(), DB_OPTIONS.len());
    }
}
