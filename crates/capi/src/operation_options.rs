//! Options of single operations: read, write, flush, manual compaction, waiting.

use crate::handle::give;
use crate::memory::optional_bytes;
use crate::snapshot::rocksdb_snapshot_t;
use ferrock::options::BottommostLevelCompaction;
use ferrock::{CompactRangeOptions, FlushOptions, ReadOptions, WriteOptions};
use std::ffi::{c_char, c_int, c_uchar};

/// How to read.
#[derive(Default)]
pub struct rocksdb_readoptions_t {
    pub(crate) options: ReadOptions,
}

/// How to write.
#[derive(Default)]
pub struct rocksdb_writeoptions_t {
    pub(crate) options: WriteOptions,
}

/// How to flush.
#[derive(Default)]
pub struct rocksdb_flushoptions_t {
    pub(crate) options: FlushOptions,
}

/// How to compact by hand.
#[derive(Default)]
pub struct rocksdb_compactoptions_t {
    pub(crate) options: CompactRangeOptions,
}

/// How to wait for compactions.
#[derive(Default)]
pub struct rocksdb_wait_for_compact_options_t {
    // The functions that would set something belong to a later slice.
    _unset: (),
}

/// What a null pointer to options stands for.
pub(crate) const DEFAULT_WRITE_OPTIONS: rocksdb_writeoptions_t = rocksdb_writeoptions_t {
    options: WriteOptions {
        sync: false,
        disable_wal: false,
        no_slowdown: false,
        ignore_missing_column_families: false,
    },
};

/// What a null pointer to options stands for.
pub(crate) const DEFAULT_FLUSH_OPTIONS: rocksdb_flushoptions_t =
    rocksdb_flushoptions_t { options: FlushOptions { wait: true } };

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

    /// Options of waiting, at their defaults.
    fn rocksdb_wait_for_compact_options_create() -> *mut rocksdb_wait_for_compact_options_t {
        give(rocksdb_wait_for_compact_options_t::default())
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
}

c_getters! {
    for rocksdb_readoptions_t:
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
}

c_setters! {
    for rocksdb_writeoptions_t:
    /// Whether a write is durable when it returns.
    fn rocksdb_writeoptions_set_sync(c_uchar) => options.sync;
    /// Whether a write goes past the log.
    fn rocksdb_writeoptions_disable_WAL(c_int) => options.disable_wal;
}

c_setters! {
    for rocksdb_flushoptions_t:
    /// Whether a flush is done when the call returns.
    fn rocksdb_flushoptions_set_wait(c_uchar) => options.wait;
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
    /// Ends options of waiting.
    fn rocksdb_wait_for_compact_options_destroy(rocksdb_wait_for_compact_options_t);
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
