//! Options of single operations: read, write, flush, manual compaction, waiting.
//!
//! What the engine has is a field of its own options. The rest is kept: hints are accepted, and what asks for something
//! that is not built makes the operation report it.

use crate::handle::give;
use crate::kept::{HasKept, Kept, kept_options};
use crate::memory::{optional_bytes, put};
use crate::snapshot::rocksdb_snapshot_t;
use ferrock::options::FlushWalOptions;
use ferrock::options::{BlobGarbageCollectionPolicy, BottommostLevelCompaction, ReadTier};
use ferrock::{CompactRangeOptions, FlushOptions, ReadOptions, Result, WriteOptions};
use std::ffi::{c_char, c_int, c_uchar};

/// How to read.
#[derive(Default)]
pub struct rocksdb_readoptions_t {
    options: ReadOptions,
    merge_operand_count_threshold: Option<usize>,
    request_id: Option<Vec<u8>>,
    pub(crate) kept: Kept,
}

/// How to write.
#[derive(Default)]
pub struct rocksdb_writeoptions_t {
    options: WriteOptions,
    kept: Kept,
}

/// How to flush.
#[derive(Default)]
pub struct rocksdb_flushoptions_t {
    options: FlushOptions,
    kept: Kept,
}

/// How to compact by hand.
#[derive(Default)]
pub struct rocksdb_compactoptions_t {
    pub(crate) options: CompactRangeOptions,
    kept: Kept,
}

/// Which bytes an estimate of sizes counts.
pub struct rocksdb_size_approximation_options_t {
    include_files: bool,
    kept: Kept,
}

/// How a log is handed to the operating system (`rocksdb_flush_wal`).
#[derive(Default)]
pub struct rocksdb_flushwaloptions_t {
    pub(crate) options: FlushWalOptions,
}

impl Default for rocksdb_size_approximation_options_t {
    fn default() -> Self {
        Self { include_files: true, kept: Kept::default() }
    }
}

/// What a handle of options holds, unless it asks for what is not built.
macro_rules! operations {
    ($($handle:ident, $to:ident -> $options:ty;)*) => {$(
        impl $handle {
            /// # Errors
            /// `Not implemented` naming the option.
            #[inline]
            pub(crate) fn $to(&self) -> Result<&$options> {
                self.kept.check()?;
                Ok(&self.options)
            }
        }
    )*};
}
operations! {
    rocksdb_readoptions_t, to_read -> ReadOptions;
    rocksdb_writeoptions_t, to_write -> WriteOptions;
    rocksdb_flushoptions_t, to_flush -> FlushOptions;
    rocksdb_compactoptions_t, to_compact -> CompactRangeOptions;
}

impl rocksdb_readoptions_t {
    /// Whether iterators follow what is written after they were made.
    pub(crate) fn is_tailing(&self) -> bool {
        self.kept.get::<c_uchar>("tailing", 0) != 0
    }
}

impl rocksdb_size_approximation_options_t {
    /// Whether an estimate counts the bytes of tables. It can count nothing else.
    pub(crate) fn to_estimate(&self) -> Result<bool> {
        self.kept.check()?;
        Ok(self.include_files)
    }
}

macro_rules! has_kept {
    ($($handle:ident),* $(,)?) => {$(
        impl HasKept for $handle {
            fn kept(&self) -> &Kept {
                &self.kept
            }
            fn kept_mut(&mut self) -> &mut Kept {
                &mut self.kept
            }
        }
    )*};
}
has_kept!(
    rocksdb_readoptions_t,
    rocksdb_writeoptions_t,
    rocksdb_flushoptions_t,
    rocksdb_compactoptions_t,
    rocksdb_size_approximation_options_t,
);

/// The write options of a null pointer.
pub(crate) static DEFAULT_WRITE_OPTIONS: rocksdb_writeoptions_t = rocksdb_writeoptions_t {
    options: WriteOptions {
        sync: false,
        disable_wal: false,
        no_slowdown: false,
        low_pri: false,
        ignore_missing_column_families: false,
        rate_limiter_priority: None,
    },
    kept: Kept::new(),
};

/// The flush options of a null pointer.
pub(crate) static DEFAULT_FLUSH_OPTIONS: rocksdb_flushoptions_t = rocksdb_flushoptions_t {
    options: FlushOptions { wait: true, force_atomic_flush: false, allow_write_stall: false },
    kept: Kept::new(),
};

c_functions! {
    /// Read options at their defaults.
    fn rocksdb_readoptions_create() -> *mut rocksdb_readoptions_t {
        give(rocksdb_readoptions_t::default())
    }

    /// Reads as of a snapshot; null: as of now.
    fn rocksdb_readoptions_set_snapshot(options: *mut rocksdb_readoptions_t, snapshot: *const rocksdb_snapshot_t) {
        // SAFETY: the contract.
        let (options, snapshot) = unsafe { (options.as_mut(), snapshot.as_ref()) };
        if let Some(options) = options {
            options.options.snapshot = snapshot.map(|snapshot| snapshot.snapshot.clone());
        }
    }

    /// The first key that an iterator may give; null: any. The bytes are copied.
    fn rocksdb_readoptions_set_iterate_lower_bound(
        options: *mut rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        let (options, key) = unsafe { (options.as_mut(), optional_bytes(key, key_length)) };
        if let Some(options) = options {
            set_bound(&mut options.options.lower_bound, key);
        }
    }

    /// The first key that an iterator may not give; null: none. The bytes are copied.
    fn rocksdb_readoptions_set_iterate_upper_bound(
        options: *mut rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        let (options, key) = unsafe { (options.as_mut(), optional_bytes(key, key_length)) };
        if let Some(options) = options {
            set_bound(&mut options.options.upper_bound, key);
        }
    }

    /// Write options at their defaults.
    fn rocksdb_writeoptions_create() -> *mut rocksdb_writeoptions_t {
        give(rocksdb_writeoptions_t::default())
    }

    /// Flush options at their defaults.
    fn rocksdb_flushoptions_create() -> *mut rocksdb_flushoptions_t {
        give(rocksdb_flushoptions_t::default())
    }

    /// Options of a manual compaction at their defaults.
    fn rocksdb_compactoptions_create() -> *mut rocksdb_compactoptions_t {
        give(rocksdb_compactoptions_t::default())
    }

    /// What a manual compaction does with the bottommost level. A value that RocksDB does not have changes nothing.
    fn rocksdb_compactoptions_set_bottommost_level_compaction(options: *mut rocksdb_compactoptions_t, value: c_uchar) {
        let value = match value {
            0 => BottommostLevelCompaction::Skip,
            1 => BottommostLevelCompaction::IfHaveCompactionFilter,
            2 => BottommostLevelCompaction::Force,
            3 => BottommostLevelCompaction::ForceOptimized,
            _ => return,
        };
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.bottommost_level_compaction = value;
        }
    }

    /// What was set.
    fn rocksdb_compactoptions_get_bottommost_level_compaction(options: *mut rocksdb_compactoptions_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.options.bottommost_level_compaction as c_uchar)
    }

    /// Whether a manual compaction empties old blob files. A value that RocksDB does not have changes nothing.
    fn rocksdb_compactoptions_set_blob_garbage_collection_policy(options: *mut rocksdb_compactoptions_t, value: c_int) {
        let value = match value {
            0 => BlobGarbageCollectionPolicy::Force,
            1 => BlobGarbageCollectionPolicy::Disable,
            2 => BlobGarbageCollectionPolicy::UseDefault,
            _ => return,
        };
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.blob_garbage_collection_policy = value;
        }
    }

    /// What was set.
    fn rocksdb_compactoptions_get_blob_garbage_collection_policy(options: *mut rocksdb_compactoptions_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.options.blob_garbage_collection_policy as c_int)
    }

    /// The share of the blob files that it empties; what is no share: that of the family.
    fn rocksdb_compactoptions_set_blob_garbage_collection_age_cutoff(
        options: *mut rocksdb_compactoptions_t,
        value: f64,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.blob_garbage_collection_age_cutoff = Some(value);
        }
    }

    /// What was set; -1 for that of the family.
    fn rocksdb_compactoptions_get_blob_garbage_collection_age_cutoff(options: *mut rocksdb_compactoptions_t) -> f64 {
        // SAFETY: the contract.
        let cutoff = unsafe { options.as_ref() }.and_then(|options| options.options.blob_garbage_collection_age_cutoff);
        cutoff.unwrap_or(-1.0)
    }

    /// Threads that the compaction may use; 0 or less: as the database's options say.
    fn rocksdb_compactoptions_set_max_subcompactions(options: *mut rocksdb_compactoptions_t, value: c_int) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.max_subcompactions = u32::try_from(value).unwrap_or(0);
        }
    }

    /// What was set.
    fn rocksdb_compactoptions_get_max_subcompactions(options: *mut rocksdb_compactoptions_t) -> c_int {
        // SAFETY: the contract.
        let value = unsafe { options.as_ref() }.map_or(0, |options| options.options.max_subcompactions);
        c_int::try_from(value).unwrap_or(c_int::MAX)
    }

    /// The level that the result moves to, with `change_level`; negative: the lowest that can hold it.
    fn rocksdb_compactoptions_set_target_level(options: *mut rocksdb_compactoptions_t, level: c_int) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.target_level = usize::try_from(level).ok();
        }
    }

    /// What was set; -1 for the lowest.
    fn rocksdb_compactoptions_get_target_level(options: *mut rocksdb_compactoptions_t) -> c_int {
        // SAFETY: the contract.
        let level = unsafe { options.as_ref() }.and_then(|options| options.options.target_level);
        level.map_or(-1, |level| c_int::try_from(level).unwrap_or(c_int::MAX))
    }

    /// Where a read looks: 0 everywhere, 1 in memory alone. The other tiers of RocksDB are not built.
    fn rocksdb_readoptions_set_read_tier(options: *mut rocksdb_readoptions_t, tier: c_int) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.read_tier = if tier == 1 { ReadTier::BlockCacheOnly } else { ReadTier::All };
            options.kept.set("read_tier", if tier == 1 { 0 } else { tier }, 0, false);
        }
    }

    /// What was set.
    fn rocksdb_readoptions_get_read_tier(options: *mut rocksdb_readoptions_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| match options.options.read_tier {
            ReadTier::BlockCacheOnly => 1,
            ReadTier::All => options.kept.get("read_tier", 0),
        })
    }

    /// Operands of one merge from which on RocksDB marks the status of a read. Nothing is marked here.
    fn rocksdb_readoptions_set_merge_operand_count_threshold(options: *mut rocksdb_readoptions_t, threshold: usize) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.merge_operand_count_threshold = Some(threshold);
        }
    }

    /// Goes back to none.
    fn rocksdb_readoptions_clear_merge_operand_count_threshold(options: *mut rocksdb_readoptions_t) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.merge_operand_count_threshold = None;
        }
    }

    /// Whether one was set.
    fn rocksdb_readoptions_has_merge_operand_count_threshold(options: *mut rocksdb_readoptions_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.is_some_and(|options| options.merge_operand_count_threshold.is_some()).into()
    }

    /// What was set; 0 for none.
    fn rocksdb_readoptions_get_merge_operand_count_threshold(options: *mut rocksdb_readoptions_t) -> usize {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.and_then(|options| options.merge_operand_count_threshold).unwrap_or(0)
    }

    /// What a trace calls the read; null: nothing. The bytes are copied. Nothing is traced here.
    fn rocksdb_readoptions_set_request_id(options: *mut rocksdb_readoptions_t, id: *const c_char, length: usize) {
        // SAFETY: the contract.
        let (options, id) = unsafe { (options.as_mut(), optional_bytes(id, length)) };
        if let Some(options) = options {
            options.request_id = id.map(<[u8]>::to_vec);
        }
    }

    /// Goes back to nothing.
    fn rocksdb_readoptions_clear_request_id(options: *mut rocksdb_readoptions_t) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.request_id = None;
        }
    }

    /// What was set; null for nothing. Good until it is set again.
    fn rocksdb_readoptions_get_request_id(options: *const rocksdb_readoptions_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let id = unsafe { options.as_ref() }.and_then(|options| options.request_id.as_deref());
        // SAFETY: the contract.
        unsafe { put(length, id.map_or(0, <[u8]>::len)) };
        id.map_or(std::ptr::null(), |id| id.as_ptr().cast())
    }

    /// Options of an estimate, at their defaults.
    fn rocksdb_size_approximation_options_create() -> *mut rocksdb_size_approximation_options_t {
        give(rocksdb_size_approximation_options_t::default())
    }

    /// Options of handing on the log, at their defaults.
    fn rocksdb_flushwaloptions_create() -> *mut rocksdb_flushwaloptions_t {
        give(rocksdb_flushwaloptions_t::default())
    }
}

c_setters! {
    for rocksdb_readoptions_t:
    /// Whether checksums of blocks are verified.
    fn rocksdb_readoptions_set_verify_checksums(c_uchar) => options.verify_checksums;
    /// Whether blocks that are read go into the cache.
    fn rocksdb_readoptions_set_fill_cache(c_uchar) => options.fill_cache;
    /// Whether an iterator ends where the prefix of its seek key ends.
    fn rocksdb_readoptions_set_prefix_same_as_start(c_uchar) => options.prefix_same_as_start;
    /// Whether seeks go without prefix filters.
    fn rocksdb_readoptions_set_total_order_seek(c_uchar) => options.total_order_seek;
    /// Whether seeks ask prefix filters where the bounds leave the keys of one prefix, in total order, too.
    fn rocksdb_readoptions_set_auto_prefix_mode(c_uchar) => options.auto_prefix_mode;
    /// Hidden entries that an iterator may pass over in one step before it gives up; 0: any number.
    fn rocksdb_readoptions_set_max_skippable_internal_keys(u64) => options.max_skippable_internal_keys;
    /// Bytes that an iterator reads ahead; 0: as it is used.
    fn rocksdb_readoptions_set_readahead_size(usize) => options.readahead_size;
    /// Microseconds since 1970 after which no file is asked any more; 0: never.
    fn rocksdb_readoptions_set_deadline(u64) => options.deadline;
    /// Microseconds that one request to a file may take; 0: any.
    fn rocksdb_readoptions_set_io_timeout(u64) => options.io_timeout;
    /// Whether an iterator starts to read before it needs to.
    fn rocksdb_readoptions_set_async_io(c_uchar) => options.async_io;
    /// Whether readahead carries over from file to file.
    fn rocksdb_readoptions_set_adaptive_readahead(c_uchar) => options.adaptive_readahead;
    /// Whether readahead goes by the bounds.
    fn rocksdb_readoptions_set_auto_readahead_size(c_uchar) => options.auto_readahead_size;
    /// At which priority reads of files wait for the rate limiter: 0 low, 1 mid, 2 high, 3 user; others: they do not.
    fn rocksdb_readoptions_set_rate_limiter_priority(c_int) => options.rate_limiter_priority;
}

c_getters! {
    for rocksdb_readoptions_t:
    /// What was set.
    fn rocksdb_readoptions_get_verify_checksums() -> c_uchar => options.verify_checksums;
    /// What was set.
    fn rocksdb_readoptions_get_fill_cache() -> c_uchar => options.fill_cache;
    /// What was set.
    fn rocksdb_readoptions_get_prefix_same_as_start() -> c_uchar => options.prefix_same_as_start;
    /// What was set.
    fn rocksdb_readoptions_get_total_order_seek() -> c_uchar => options.total_order_seek;
    /// What was set.
    fn rocksdb_readoptions_get_auto_prefix_mode() -> c_uchar => options.auto_prefix_mode;
    /// What was set.
    fn rocksdb_readoptions_get_max_skippable_internal_keys() -> u64 => options.max_skippable_internal_keys;
    /// What was set.
    fn rocksdb_readoptions_get_readahead_size() -> usize => options.readahead_size;
    /// What was set.
    fn rocksdb_readoptions_get_deadline() -> u64 => options.deadline;
    /// What was set.
    fn rocksdb_readoptions_get_io_timeout() -> u64 => options.io_timeout;
    /// What was set.
    fn rocksdb_readoptions_get_async_io() -> c_uchar => options.async_io;
    /// What was set.
    fn rocksdb_readoptions_get_adaptive_readahead() -> c_uchar => options.adaptive_readahead;
    /// What was set.
    fn rocksdb_readoptions_get_auto_readahead_size() -> c_uchar => options.auto_readahead_size;
    /// What was set; 4 for none.
    fn rocksdb_readoptions_get_rate_limiter_priority() -> c_int => options.rate_limiter_priority;
}

c_setters! {
    for rocksdb_writeoptions_t:
    /// Whether a write is durable when it returns.
    fn rocksdb_writeoptions_set_sync(c_uchar) => options.sync;
    /// Whether a write goes past the log.
    fn rocksdb_writeoptions_disable_WAL(c_int) => options.disable_wal;
    /// Whether a write fails where it would have to wait.
    fn rocksdb_writeoptions_set_no_slowdown(c_uchar) => options.no_slowdown;
    /// Whether a write can wait while compaction is behind.
    fn rocksdb_writeoptions_set_low_pri(c_uchar) => options.low_pri;
    /// Whether records of families that are not there are skipped.
    fn rocksdb_writeoptions_set_ignore_missing_column_families(c_uchar) => options.ignore_missing_column_families;
    /// At which priority a write waits for the rate limiter before it is logged: 3 (user); 4: it does not. Others are
    /// refused by the write.
    fn rocksdb_writeoptions_set_rate_limiter_priority(c_int) => options.rate_limiter_priority;
}

c_getters! {
    for rocksdb_writeoptions_t:
    /// What was set.
    fn rocksdb_writeoptions_get_sync() -> c_uchar => options.sync;
    /// What was set.
    fn rocksdb_writeoptions_get_disable_WAL() -> c_uchar => options.disable_wal;
    /// What was set.
    fn rocksdb_writeoptions_get_no_slowdown() -> c_uchar => options.no_slowdown;
    /// What was set.
    fn rocksdb_writeoptions_get_low_pri() -> c_uchar => options.low_pri;
    /// What was set.
    fn rocksdb_writeoptions_get_ignore_missing_column_families() -> c_uchar => options.ignore_missing_column_families;
    /// What was set; 4 for none.
    fn rocksdb_writeoptions_get_rate_limiter_priority() -> c_int => options.rate_limiter_priority;
}

c_setters! {
    for rocksdb_flushoptions_t:
    /// Whether a flush is done when the call returns.
    fn rocksdb_flushoptions_set_wait(c_uchar) => options.wait;
    /// Whether the families of one call become durable in one step.
    fn rocksdb_flushoptions_set_force_atomic_flush(c_uchar) => options.force_atomic_flush;
    /// Whether a flush does not wait until it would not have writers slowed down.
    fn rocksdb_flushoptions_set_allow_write_stall(c_uchar) => options.allow_write_stall;
}

c_getters! {
    for rocksdb_flushoptions_t:
    /// What was set.
    fn rocksdb_flushoptions_get_wait() -> c_uchar => options.wait;
    /// What was set.
    fn rocksdb_flushoptions_get_force_atomic_flush() -> c_uchar => options.force_atomic_flush;
    /// What was set.
    fn rocksdb_flushoptions_get_allow_write_stall() -> c_uchar => options.allow_write_stall;
}

c_setters! {
    for rocksdb_compactoptions_t:
    /// Whether no automatic compaction runs at the same time.
    fn rocksdb_compactoptions_set_exclusive_manual_compaction(c_uchar) => options.exclusive_manual_compaction;
    /// Whether its flush does not wait until it would not have writers slowed down.
    fn rocksdb_compactoptions_set_allow_write_stall(c_uchar) => options.allow_write_stall;
    /// Whether the result moves to another level.
    fn rocksdb_compactoptions_set_change_level(c_uchar) => options.change_level;
}

c_getters! {
    for rocksdb_compactoptions_t:
    /// What was set.
    fn rocksdb_compactoptions_get_exclusive_manual_compaction() -> c_uchar => options.exclusive_manual_compaction;
    /// What was set.
    fn rocksdb_compactoptions_get_allow_write_stall() -> c_uchar => options.allow_write_stall;
    /// What was set.
    fn rocksdb_compactoptions_get_change_level() -> c_uchar => options.change_level;
}

c_setters! {
    for rocksdb_flushwaloptions_t:
    /// Whether the log goes to the disk.
    fn rocksdb_flushwaloptions_set_sync(c_uchar) => options.sync;
    /// At which priority the call waits for the rate limiter: 0 low, 1 mid, 2 high, 3 user; others: it does not.
    fn rocksdb_flushwaloptions_set_rate_limiter_priority(c_int) => options.rate_limiter_priority;
}

c_getters! {
    for rocksdb_flushwaloptions_t:
    /// What was set.
    fn rocksdb_flushwaloptions_get_sync() -> c_uchar => options.sync;
    /// What was set; 4 for none.
    fn rocksdb_flushwaloptions_get_rate_limiter_priority() -> c_int => options.rate_limiter_priority;
}

c_setters! {
    for rocksdb_size_approximation_options_t:
    /// Whether tables count.
    fn rocksdb_size_approximation_options_set_include_files(c_uchar) => include_files;
}

c_getters! {
    for rocksdb_size_approximation_options_t:
    /// What was set.
    fn rocksdb_size_approximation_options_get_include_files() -> c_uchar => include_files;
}

kept_options! {
    for rocksdb_readoptions_t:
    asks value_size_soft_limit: u64 = u64::MAX,
        rocksdb_readoptions_set_value_size_soft_limit / rocksdb_readoptions_get_value_size_soft_limit;
    asks ignore_range_deletions: c_uchar = 0,
        rocksdb_readoptions_set_ignore_range_deletions / rocksdb_readoptions_get_ignore_range_deletions;
    hint optimize_multiget_for_io: c_uchar = 1,
        rocksdb_readoptions_set_optimize_multiget_for_io / rocksdb_readoptions_get_optimize_multiget_for_io;
    hint tailing: c_uchar = 0, rocksdb_readoptions_set_tailing / rocksdb_readoptions_get_tailing;
    hint pin_data: c_uchar = 0, rocksdb_readoptions_set_pin_data / rocksdb_readoptions_get_pin_data;
    hint background_purge_on_iterator_cleanup: c_uchar = 0,
        rocksdb_readoptions_set_background_purge_on_iterator_cleanup
        / rocksdb_readoptions_get_background_purge_on_iterator_cleanup;
    hint allow_unprepared_value: c_uchar = 0,
        rocksdb_readoptions_set_allow_unprepared_value / rocksdb_readoptions_get_allow_unprepared_value;
    hint auto_refresh_iterator_with_snapshot: c_uchar = 0,
        rocksdb_readoptions_set_auto_refresh_iterator_with_snapshot
        / rocksdb_readoptions_get_auto_refresh_iterator_with_snapshot;
    hint io_activity: c_int = 255, rocksdb_readoptions_set_io_activity / rocksdb_readoptions_get_io_activity;
}

kept_options! {
    for rocksdb_writeoptions_t:
    hint memtable_insert_hint_per_batch: c_uchar = 0,
        rocksdb_writeoptions_set_memtable_insert_hint_per_batch
        / rocksdb_writeoptions_get_memtable_insert_hint_per_batch;
    hint protection_bytes_per_key: usize = 0,
        rocksdb_writeoptions_set_protection_bytes_per_key / rocksdb_writeoptions_get_protection_bytes_per_key;
    hint io_activity: c_int = 255, rocksdb_writeoptions_set_io_activity / rocksdb_writeoptions_get_io_activity;
}

kept_options! {
    for rocksdb_flushoptions_t:
    hint listener_wait: c_uchar = 0,
        rocksdb_flushoptions_set_listener_wait / rocksdb_flushoptions_get_listener_wait;
}

kept_options! {
    for rocksdb_size_approximation_options_t:
    asks include_memtables: c_uchar = 0,
        rocksdb_size_approximation_options_set_include_memtables
        / rocksdb_size_approximation_options_get_include_memtables;
    asks include_blob_files: c_uchar = 0,
        rocksdb_size_approximation_options_set_include_blob_files
        / rocksdb_size_approximation_options_get_include_blob_files;
    hint files_size_error_margin: f64 = -1.0,
        rocksdb_size_approximation_options_set_files_size_error_margin
        / rocksdb_size_approximation_options_get_files_size_error_margin;
}

c_destructors! {
    /// Ends read options.
    fn rocksdb_readoptions_destroy(rocksdb_readoptions_t);
    /// Ends write options.
    fn rocksdb_writeoptions_destroy(rocksdb_writeoptions_t);
    /// Ends flush options.
    fn rocksdb_flushoptions_destroy(rocksdb_flushoptions_t);
    /// Ends options of a manual compaction.
    fn rocksdb_compactoptions_destroy(rocksdb_compactoptions_t);
    /// Ends options of an estimate.
    fn rocksdb_size_approximation_options_destroy(rocksdb_size_approximation_options_t);
    /// Ends options of handing on the log.
    fn rocksdb_flushwaloptions_destroy(rocksdb_flushwaloptions_t);
}

/// Sets a bound; a caller that moves a bound from scan to scan pays for no allocation.
fn set_bound(bound: &mut Option<Vec<u8>>, key: Option<&[u8]>) {
    match (bound.as_mut(), key) {
        (Some(bound), Some(key)) => {
            bound.clear();
            bound.extend_from_slice(key);
        }
        (_, key) => *bound = key.map(<[u8]>::to_vec),
    }
}
