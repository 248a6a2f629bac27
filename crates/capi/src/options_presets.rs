//! Options that set many others at once, and those that are neither a number nor a component.

use crate::handle::give;
use crate::memory::{array, put, text};
use crate::options::{rocksdb_options_t, set};
use crate::refused::out_of_range;
use ferrock::Result;
use ferrock::options::{
    CompactionPriority, CompactionStyle, DB_OPTIONS_WITHOUT_EFFECT, InfoLogLevel, MemTableFactory, PlainEncodingType,
    PlainTableOptions, TableFactory, WalRecoveryMode,
};
use std::ffi::{CString, c_char, c_int, c_uchar};
use std::sync::Arc;

/// Changes options that take every value, unless they are null.
///
/// # Safety
/// The contract.
unsafe fn change(options: *mut rocksdb_options_t, change: impl FnOnce(&mut rocksdb_options_t)) {
    // SAFETY: as for this function.
    if let Some(options) = unsafe { options.as_mut() } {
        change(options);
    }
}

/// What options say; the neutral value for null.
///
/// # Safety
/// The contract.
unsafe fn ask<R: crate::error::Neutral>(
    options: *const rocksdb_options_t,
    question: impl FnOnce(&rocksdb_options_t) -> R,
) -> R {
    // SAFETY: as for this function.
    unsafe { options.as_ref() }.map_or(R::NEUTRAL, question)
}

/// The member of a list with a number of C.
fn member<T: Copy>(option: &'static str, all: &[T], number: c_int, bound: &str) -> Result<T> {
    let known = usize::try_from(number).ok().and_then(|index| all.get(index).copied());
    known.ok_or_else(|| out_of_range(option, number, bound))
}

/// `ttl` and `periodic_compaction_seconds` at this value are for the engine to choose.
const CHOSEN_BY_THE_ENGINE: u64 = u64::MAX - 1;

pub(crate) const INFO_LOG_LEVELS: [InfoLogLevel; 6] = [
    InfoLogLevel::Debug,
    InfoLogLevel::Info,
    InfoLogLevel::Warn,
    InfoLogLevel::Error,
    InfoLogLevel::Fatal,
    InfoLogLevel::Header,
];
const COMPACTION_PRIORITIES: [CompactionPriority; 5] = [
    CompactionPriority::ByCompensatedSize,
    CompactionPriority::OldestLargestSeqFirst,
    CompactionPriority::OldestSmallestSeqFirst,
    CompactionPriority::MinOverlappingRatio,
    CompactionPriority::RoundRobin,
];

c_functions! {
    /// A copy, which goes its own way; components are shared.
    fn rocksdb_options_create_copy(options: *mut rocksdb_options_t) -> *mut rocksdb_options_t {
        // SAFETY: the contract.
        unsafe { ask(options, |options| give(options.clone())) }
    }

    /// Flushes and compactions at once.
    fn rocksdb_options_increase_parallelism(options: *mut rocksdb_options_t, total_threads: c_int) {
        // SAFETY: the contract.
        unsafe {
            change(options, |options| {
                options.db.increase_parallelism(total_threads);
            });
        }
    }

    /// For families that are read key by key: hash indexes in data blocks, filters, a cache of so many MiB of its own.
    fn rocksdb_options_optimize_for_point_lookup(options: *mut rocksdb_options_t, block_cache_size_mb: u64) {
        // SAFETY: the contract.
        unsafe {
            change(options, |options| {
                options.family.optimize_for_point_lookup(block_cache_size_mb);
                options.refused_table = crate::refused::Refused::default();
            });
        }
    }

    /// For levels, with so many bytes of memtables.
    fn rocksdb_options_optimize_level_style_compaction(options: *mut rocksdb_options_t, memtable_memory_budget: u64) {
        // SAFETY: the contract.
        unsafe {
            set(options, "compaction_style", |options| {
                options.forget_refused_style();
                options.family.optimize_level_style_compaction(memtable_memory_budget);
                Ok(())
            });
        }
    }

    /// For sorted runs, with so many bytes of memtables.
    fn rocksdb_options_optimize_universal_style_compaction(
        options: *mut rocksdb_options_t,
        memtable_memory_budget: u64,
    ) {
        // SAFETY: the contract.
        unsafe {
            set(options, "compaction_style", |options| {
                options.forget_refused_style();
                options.family.optimize_universal_style_compaction(memtable_memory_budget);
                Ok(())
            });
        }
    }

    /// For loading many keys at once: no writer waits for compactions, and nothing is compacted until it is done by
    /// hand.
    fn rocksdb_options_prepare_for_bulk_load(options: *mut rocksdb_options_t) {
        // SAFETY: the contract.
        unsafe {
            change(options, |options| {
                options.db.prepare_for_bulk_load();
                options.family.prepare_for_bulk_load();
            });
        }
    }

    /// Plain tables. An encoding that is none is an error of the open.
    fn rocksdb_options_set_plain_table_factory(
        options: *mut rocksdb_options_t,
        user_key_len: u32,
        bloom_bits_per_key: c_int,
        hash_table_ratio: f64,
        index_sparseness: usize,
        huge_page_tlb_size: usize,
        encoding_type: c_char,
        full_scan_mode: c_uchar,
        store_index_in_file: c_uchar,
    ) {
        let encodings = [PlainEncodingType::Plain, PlainEncodingType::Prefix];
        let encoding = usize::try_from(encoding_type).ok().and_then(|index| encodings.get(index).copied());
        let factory = encoding.ok_or_else(|| out_of_range("encoding_type", encoding_type, "0 (plain) and 1 (prefix)")).map(|encoding| {
            let mut plain = PlainTableOptions::default();
            plain.user_key_len = user_key_len;
            plain.bloom_bits_per_key = bloom_bits_per_key;
            plain.hash_table_ratio = hash_table_ratio;
            plain.index_sparseness = index_sparseness;
            plain.huge_page_tlb_size = huge_page_tlb_size;
            plain.encoding_type = encoding;
            plain.full_scan_mode = full_scan_mode != 0;
            plain.store_index_in_file = store_index_in_file != 0;
            TableFactory::Plain(Arc::new(plain))
        });
        // SAFETY: the contract.
        unsafe { set(options, "plain_table_factory", |options| factory.map(|factory| options.family.table_factory = factory)) };
    }

    /// Memtables in the order of arrival, for loads that are not read before their flush.
    fn rocksdb_options_set_memtable_vector_rep(options: *mut rocksdb_options_t) {
        // SAFETY: the contract.
        unsafe { change(options, |options| options.family.memtable_factory = MemTableFactory::Vector { count: 0 }) };
    }

    /// Memtables as hash tables of skip lists, by prefix.
    fn rocksdb_options_set_hash_skip_list_rep(
        options: *mut rocksdb_options_t, bucket_count: usize, skiplist_height: i32, branching_factor: i32,
    ) {
        let factory = MemTableFactory::HashSkipList { bucket_count, skiplist_height, branching_factor };
        // SAFETY: the contract.
        unsafe { change(options, |options| options.family.memtable_factory = factory) };
    }

    /// Memtables as hash tables of linked lists, by prefix.
    fn rocksdb_options_set_hash_link_list_rep(options: *mut rocksdb_options_t, bucket_count: usize) {
        let factory = MemTableFactory::hash_link_list(bucket_count);
        // SAFETY: the contract.
        unsafe { change(options, |options| options.family.memtable_factory = factory) };
    }

    /// No compression in the levels above this one; the compression that is set now from it on. Negative: nothing.
    fn rocksdb_options_set_min_level_to_compress(options: *mut rocksdb_options_t, level: c_int) {
        if level >= 0 {
            // SAFETY: the contract.
            unsafe {
                change(options, |options| {
                    let kind = options.family.compression;
                    options.family.compress_from_level(level, kind);
                });
            }
        }
    }

    /// Factors on top of the multiplier of level sizes, level by level.
    fn rocksdb_options_set_max_bytes_for_level_multiplier_additional(
        options: *mut rocksdb_options_t,
        factors: *mut c_int,
        count: usize,
    ) {
        // SAFETY: the contract.
        unsafe {
            let factors = array(factors, count).to_vec();
            change(options, |options| options.family.max_bytes_for_level_multiplier_additional = factors);
        }
    }

    /// Seconds after which data is compacted although nothing else asks for it.
    fn rocksdb_options_set_ttl(options: *mut rocksdb_options_t, seconds: u64) {
        // SAFETY: the contract.
        unsafe {
            change(options, |options| {
                options.family.ttl =
                    if seconds == CHOSEN_BY_THE_ENGINE { ferrock::ColumnFamilyOptions::default().ttl } else { seconds };
                options.kept_numbers.set("ttl", seconds, CHOSEN_BY_THE_ENGINE, true);
            });
        }
    }

    /// Seconds for which the times when entries were written are kept; 0: none are.
    fn rocksdb_options_set_preserve_internal_time_seconds(options: *mut rocksdb_options_t, seconds: u64) {
        // SAFETY: the contract.
        unsafe { change(options, |options| options.family.preserve_internal_time_seconds = seconds) };
    }

    /// What was set.
    fn rocksdb_options_get_preserve_internal_time_seconds(options: *mut rocksdb_options_t) -> u64 {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.family.preserve_internal_time_seconds)
    }

    /// What was set; at first the number that leaves it to the engine.
    fn rocksdb_options_get_ttl(options: *mut rocksdb_options_t) -> u64 {
        // SAFETY: the contract.
        unsafe { ask(options, |options| options.kept_numbers.get("ttl", CHOSEN_BY_THE_ENGINE)) }
    }

    /// Seconds after which every file is rewritten.
    fn rocksdb_options_set_periodic_compaction_seconds(options: *mut rocksdb_options_t, seconds: u64) {
        // SAFETY: the contract.
        unsafe {
            change(options, |options| {
                let chosen = seconds == CHOSEN_BY_THE_ENGINE;
                options.family.periodic_compaction_seconds = if chosen { 0 } else { seconds };
                options.kept_numbers.set("periodic_compaction_seconds", seconds, CHOSEN_BY_THE_ENGINE, true);
            });
        }
    }

    /// What was set; at first the number that leaves it to the engine.
    fn rocksdb_options_get_periodic_compaction_seconds(options: *mut rocksdb_options_t) -> u64 {
        // SAFETY: the contract.
        unsafe {
            ask(options, |options| options.kept_numbers.get("periodic_compaction_seconds", CHOSEN_BY_THE_ENGINE))
        }
    }

    /// Bytes a second that writers get while compaction is behind; 0 leaves it to the engine.
    fn rocksdb_options_set_delayed_write_rate(options: *mut rocksdb_options_t, bytes_per_second: u64) {
        // SAFETY: the contract.
        unsafe {
            change(options, |options| {
                let chosen = ferrock::DbOptions::default().delayed_write_rate;
                options.db.delayed_write_rate = if bytes_per_second == 0 { chosen } else { bytes_per_second };
                options.kept_numbers.set("delayed_write_rate", bytes_per_second, 0, true);
            });
        }
    }

    /// What was set; at first 0.
    fn rocksdb_options_get_delayed_write_rate(options: *mut rocksdb_options_t) -> u64 {
        // SAFETY: the contract.
        unsafe { ask(options, |options| options.kept_numbers.get("delayed_write_rate", 0)) }
    }

    /// How much goes into the LOG.
    fn rocksdb_options_set_info_log_level(options: *mut rocksdb_options_t, level: c_int) {
        const OPTION: &str = "info_log_level";
        let level = member(OPTION, &INFO_LOG_LEVELS, level, "0..=5");
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| level.map(|level| options.db.info_log_level = level)) };
    }

    /// The number of the level.
    fn rocksdb_options_get_info_log_level(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { ask(options, |options| index_in(&INFO_LOG_LEVELS, options.db.info_log_level)) }
    }

    /// Which file of a level goes down first.
    fn rocksdb_options_set_compaction_pri(options: *mut rocksdb_options_t, priority: c_int) {
        const OPTION: &str = "compaction_pri";
        let priority = member(OPTION, &COMPACTION_PRIORITIES, priority, "0..=4");
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| priority.map(|priority| options.family.compaction_pri = priority)) };
    }

    /// The number of the priority.
    fn rocksdb_options_get_compaction_pri(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { ask(options, |options| index_in(&COMPACTION_PRIORITIES, options.family.compaction_pri)) }
    }

    /// The number of the style that was set, also of one that the open refuses.
    fn rocksdb_options_get_compaction_style(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe {
            ask(options, |options| {
                options.kept_numbers.get("compaction_style", match options.family.compaction_style {
                    CompactionStyle::Level => 0,
                    CompactionStyle::Universal => 1,
                    CompactionStyle::Fifo => 2,
                    CompactionStyle::None => 3,
                })
            })
        }
    }

    /// The number of the mode.
    fn rocksdb_options_get_wal_recovery_mode(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { ask(options, |options| index_in(&WalRecoveryMode::ALL, options.db.wal_recovery_mode)) }
    }

    /// A directory for the LOG. It stays in the database's own, which the open notes.
    fn rocksdb_options_set_db_log_dir(options: *mut rocksdb_options_t, path: *const c_char) {
        // SAFETY: the contract.
        unsafe { keep_text(options, "db_log_dir", path) };
    }

    /// What was set.
    fn rocksdb_options_get_db_log_dir(options: *mut rocksdb_options_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        unsafe { text_of(options, "db_log_dir", length) }
    }

    /// The name that tables get of their host. It has no effect, which the open notes.
    fn rocksdb_options_set_db_host_id(options: *mut rocksdb_options_t, host: *const c_char) {
        // SAFETY: the contract.
        unsafe { keep_text(options, "db_host_id", host) };
    }

    /// What was set.
    fn rocksdb_options_get_db_host_id(options: *mut rocksdb_options_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        unsafe { text_of(options, "db_host_id", length) }
    }

    /// Hours of little use, in which compactions for their age come early.
    fn rocksdb_options_set_daily_offpeak_time_utc(options: *mut rocksdb_options_t, hours: *const c_char) {
        // SAFETY: the contract.
        unsafe { keep_text(options, "daily_offpeak_time_utc", hours) };
    }

    /// What was set.
    fn rocksdb_options_get_daily_offpeak_time_utc(
        options: *mut rocksdb_options_t,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { text_of(options, "daily_offpeak_time_utc", length) }
    }
}

fn index_in<T: PartialEq>(all: &[T], value: T) -> c_int {
    all.iter().position(|known| *known == value).and_then(|index| c_int::try_from(index).ok()).unwrap_or(0)
}

/// The default of a text.
fn default_text(option: &str) -> &'static std::ffi::CStr {
    if option == "db_host_id" { c"__hostname__" } else { c"" }
}

/// Sets a text, and keeps it for the getter.
///
/// # Safety
/// The contract.
unsafe fn keep_text(options: *mut rocksdb_options_t, option: &'static str, value: *const c_char) {
    // SAFETY: as for this function.
    let value = unsafe { if value.is_null() { Ok("") } else { text(value, option) } };
    // SAFETY: as for this function.
    unsafe {
        set(options, option, |options| {
            let value = value?;
            options.texts.remove(option);
            if value.as_bytes() != default_text(option).to_bytes() {
                options.texts.insert(option, CString::new(value).unwrap_or_default());
            }
            match options.db.settings.set(option, value)? {
                true => Ok(()),
                false => options.db.passthrough.set(DB_OPTIONS_WITHOUT_EFFECT, option, value).map(drop),
            }
        });
    }
}

/// A text that was kept, or the default; it ends in a zero byte and is good until it is set again.
///
/// # Safety
/// The contract.
unsafe fn text_of(options: *const rocksdb_options_t, option: &str, length: *mut usize) -> *const c_char {
    // SAFETY: as for this function.
    let kept = unsafe { options.as_ref() }.and_then(|options| options.texts.get(option));
    let text = kept.map_or_else(|| default_text(option), |text| &text[..]);
    // SAFETY: as for this function.
    unsafe { put(length, text.to_bytes().len()) };
    text.as_ptr()
}
