//! Options of single operations.

use crate::Effect::{self, Elsewhere, Shown};
use crate::blobs;
use crate::common::threads::{Gate, Waiting};
use crate::setup::{DIRECTORY, Setup, flush_range, force_compaction, key, number, put, wait_until};
use crate::table::reads_of_a_scan_with;
use ferrock::options::{BottommostLevelCompaction, CompactionOptions, FilterPolicy, LimitReads, PrefixExtractor};
use ferrock::{CompactRangeOptions, Db, ErrorKind, FlushOptions, ReadOptions, WriteOptions};
use ferrock_vfs::{FileSystem, write_file_synced};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const API: &str = "tests/api.rs";
const DEADLINES: &str = "tests/deadlines.rs";

const GAPS: &str = "tests/updates/gaps.rs";
const INGESTION: &str = "tests/ingestion/files.rs";
const STOPPING: &str = "tests/stopping.rs";
const COMPACT_FILES: &str = "tests/compact_files.rs";

pub const EFFECTS: &[(&str, Effect)] = &[
    ("ReadOptions.snapshot", Shown(snapshot)),
    ("ReadOptions.verify_checksums", Shown(verify_checksums)),
    ("ReadOptions.fill_cache", Shown(fill_cache)),
    ("ReadOptions.cache_data_blocks", Shown(cache_data_blocks)),
    ("ReadOptions.read_tier", Elsewhere(API, "the_cache_tier_answers_incomplete_instead_of_reading")),
    ("ReadOptions.lower_bound", Shown(bounds)),
    ("ReadOptions.upper_bound", Shown(bounds)),
    ("ReadOptions.total_order_seek", Shown(total_order_seek)),
    ("ReadOptions.auto_prefix_mode", Shown(auto_prefix_mode)),
    ("ReadOptions.prefix_same_as_start", Elsewhere(API, "prefix_seeks_and_total_order")),
    ("ReadOptions.readahead_size", Shown(readahead_size)),
    ("ReadOptions.limit_hint", Shown(limit_hint)),
    ("ReadOptions.limit_reads", Shown(limit_reads)),
    ("ReadOptions.io_gap_bytes", Shown(io_gap_bytes)),
    ("ReadOptions.deadline", Elsewhere(DEADLINES, "a_passed_deadline_asks_no_file")),
    ("ReadOptions.io_timeout", Elsewhere(DEADLINES, "a_slow_file_times_out")),
    (
        "ReadOptions.rate_limiter_priority",
        Elsewhere("tests/rate_limits.rs", "every_way_of_reading_asks_for_what_it_reads"),
    ),
    ("ReadOptions.async_io", Shown(async_io)),
    ("ReadOptions.adaptive_readahead", Shown(adaptive_readahead)),
    ("ReadOptions.auto_readahead_size", Shown(auto_readahead_size)),
    ("ReadOptions.max_skippable_internal_keys", Elsewhere(API, "an_iterator_gives_up_after_too_many_hidden_entries")),
    ("WriteOptions.sync", Shown(sync)),
    ("WriteOptions.disable_wal", Shown(disable_wal)),
    (
        "WriteOptions.no_slowdown",
        Elsewhere("tests/concurrency.rs", "writers_slow_down_and_stop_while_compaction_is_behind_and_recover"),
    ),
    ("WriteOptions.low_pri", Shown(low_pri)),
    ("WriteOptions.ignore_missing_column_families", Elsewhere(API, "families")),
    ("WriteOptions.rate_limiter_priority", Elsewhere("tests/rate_limits.rs", "a_write_asks_for_what_is_logged")),
    ("FlushWalOptions.sync", Elsewhere("tests/rate_limits.rs", "a_flush_of_the_log_asks_for_what_was_kept_back")),
    (
        "FlushWalOptions.rate_limiter_priority",
        Elsewhere("tests/rate_limits.rs", "a_flush_of_the_log_asks_for_what_was_kept_back"),
    ),
    ("WalReadOptions.verify_checksums", Elsewhere(GAPS, "damage_is_an_error_that_names_file_and_offset")),
    ("WalReadOptions.from_first_available", Elsewhere(GAPS, "logs_that_were_removed_are_missing")),
    (
        "ImportColumnFamilyOptions.move_files",
        Elsewhere("tests/exported_families/crashes.rs", "a_crash_leaves_the_imported_family_whole_or_not_at_all"),
    ),
    ("IngestExternalFileOptions.move_files", Elsewhere(INGESTION, "files_are_copied_linked_or_moved")),
    ("IngestExternalFileOptions.link_files", Elsewhere(INGESTION, "files_are_copied_linked_or_moved")),
    (
        "IngestExternalFileOptions.failed_move_fall_back_to_copy",
        Elsewhere(INGESTION, "a_file_that_cannot_be_linked_is_copied_if_it_may_be"),
    ),
    (
        "IngestExternalFileOptions.snapshot_consistency",
        Elsewhere(INGESTION, "a_sequence_number_is_given_where_one_is_needed"),
    ),
    (
        "IngestExternalFileOptions.allow_global_seqno",
        Elsewhere(INGESTION, "a_sequence_number_is_given_where_one_is_needed"),
    ),
    (
        "IngestExternalFileOptions.allow_blocking_flush",
        Elsewhere(INGESTION, "a_memtable_with_a_key_of_a_file_is_flushed"),
    ),
    (
        "IngestExternalFileOptions.ingest_behind",
        Elsewhere("tests/ingestion/behind.rs", "rows_behind_are_hidden_by_all_that_was_written_before"),
    ),
    (
        "IngestExternalFileOptions.write_global_seqno",
        Elsewhere(INGESTION, "the_number_is_written_into_the_file_of_the_database_alone"),
    ),
    (
        "IngestExternalFileOptions.verify_checksums_before_ingest",
        Elsewhere(INGESTION, "inputs_that_are_wrong_are_refused"),
    ),
    (
        "IngestExternalFileOptions.verify_checksums_readahead_size",
        Elsewhere(INGESTION, "checksums_of_blocks_are_compared_in_pieces_as_large_as_is_said"),
    ),
    (
        "IngestExternalFileOptions.verify_file_checksum",
        Elsewhere("tests/file_checksums.rs", "a_checksum_that_is_given_is_compared_or_taken"),
    ),
    (
        "IngestExternalFileOptions.fail_if_not_bottommost_level",
        Elsewhere(INGESTION, "of_files_that_overlap_the_last_one_wins"),
    ),
    (
        "IngestExternalFileOptions.allow_db_generated_files",
        Elsewhere(INGESTION, "files_of_another_database_keep_their_numbers"),
    ),
    ("IngestExternalFileOptions.fill_cache", Elsewhere(INGESTION, "tables_are_opened_at_once_or_by_the_first_read")),
    (
        "IngestExternalFileOptions.prefetch_lmax_index_and_filter_blocks",
        Elsewhere(INGESTION, "tables_are_opened_at_once_or_by_the_first_read"),
    ),
    (
        "IngestExternalFileOptions.file_opening_threads",
        Elsewhere(INGESTION, "tables_are_opened_at_once_or_by_the_first_read"),
    ),
    ("FlushOptions.wait", Shown(wait)),
    ("FlushOptions.allow_write_stall", Elsewhere("tests/stalls.rs", "a_flush_that_may_slow_writers_down_does")),
    (
        "CompactRangeOptions.allow_write_stall",
        Elsewhere("tests/stalls.rs", "a_compaction_by_hand_waits_too_and_can_be_canceled"),
    ),
    (
        "FlushOptions.force_atomic_flush",
        Elsewhere("tests/atomic_flush.rs", "a_forced_flush_takes_what_its_switch_made_immutable_and_no_more"),
    ),
    (
        "CompactRangeOptions.target_path_id",
        Elsewhere("tests/places/paths.rs", "the_result_of_compact_range_goes_where_the_caller_says"),
    ),
    ("CompactRangeOptions.change_level", Shown(change_level)),
    ("CompactRangeOptions.target_level", Shown(target_level)),
    ("CompactRangeOptions.bottommost_level_compaction", Shown(bottommost_level_compaction)),
    ("CompactRangeOptions.exclusive_manual_compaction", Shown(exclusive_manual_compaction)),
    ("CompactRangeOptions.blob_garbage_collection_policy", Shown(blobs::policy)),
    ("CompactRangeOptions.blob_garbage_collection_age_cutoff", Shown(blobs::cutoff_by_hand)),
    ("CompactRangeOptions.max_subcompactions", Elsewhere(STOPPING, "max_subcompactions_of_a_call_counts_for_it")),
    ("CompactRangeOptions.canceled", Elsewhere(STOPPING, "a_call_that_waits_is_stopped_too")),
    ("CompactionOptions.compression", Elsewhere(COMPACT_FILES, "outputs_have_the_form_that_the_caller_wants")),
    (
        "CompactionOptions.output_file_size_limit",
        Elsewhere(COMPACT_FILES, "outputs_have_the_form_that_the_caller_wants"),
    ),
    ("CompactionOptions.max_subcompactions", Elsewhere(STOPPING, "max_subcompactions_of_a_call_counts_for_it")),
    ("CompactionOptions.canceled", Elsewhere(STOPPING, "a_call_that_waits_is_stopped_too")),
    ("CompactionOptions.allow_trivial_move", Elsewhere(COMPACT_FILES, "outputs_have_the_form_that_the_caller_wants")),
    (
        "CompactionOptions.output_temperature_override",
        Elsewhere(COMPACT_FILES, "outputs_have_the_form_that_the_caller_wants"),
    ),
    ("WaitForCompactOptions.abort_on_pause", Elsewhere(STOPPING, "waiting_for_compactions_has_options")),
    ("WaitForCompactOptions.flush", Elsewhere(STOPPING, "waiting_for_compactions_has_options")),
    ("WaitForCompactOptions.wait_for_purge", Elsewhere(STOPPING, "waiting_for_compactions_has_options")),
    ("WaitForCompactOptions.close_db", Elsewhere(STOPPING, "waiting_for_compactions_has_options")),
    ("WaitForCompactOptions.timeout", Elsewhere(STOPPING, "waiting_for_compactions_has_options")),
];

/// A read of before a write, and one of after it.
fn snapshot() {
    let db = Setup::new().open();
    db.put(b"k", b"old").unwrap();
    let snapshot = Some(db.snapshot());
    db.put(b"k", b"new").unwrap();
    let before = ReadOptions { snapshot, ..ReadOptions::default() };
    assert_eq!(&*db.get_with(&before, b"k").unwrap().unwrap(), b"old");
    assert_eq!(&*db.get(b"k").unwrap().unwrap(), b"new");
}

/// The first key that is seen is the lower bound, the last one that before the upper bound.
fn bounds() {
    let db = Setup::new().open();
    for key in ["a", "b", "c", "d"] {
        db.put(key.as_bytes(), b"v").unwrap();
    }
    let seen = |lower_bound: Option<&[u8]>, upper_bound: Option<&[u8]>| {
        let (lower_bound, upper_bound) = (lower_bound.map(<[u8]>::to_vec), upper_bound.map(<[u8]>::to_vec));
        let mut iter = db.iter(&ReadOptions { lower_bound, upper_bound, ..ReadOptions::default() });
        iter.seek_to_first();
        let mut keys = Vec::new();
        while iter.valid() {
            keys.extend_from_slice(iter.key());
            iter.next();
        }
        keys
    };
    assert_eq!(seen(None, None), b"abcd");
    assert_eq!(seen(Some(b"b"), None), b"bcd");
    assert_eq!(seen(None, Some(b"d")), b"abc");
    assert_eq!(seen(Some(b"b"), Some(b"d")), b"bc");
}

/// A byte of a value changed on disk: seen, or read as it is.
fn verify_checksums() {
    let setup = Setup::new();
    let db = setup.open();
    db.put(b"k", &[b'v'; 100]).unwrap();
    db.flush().unwrap();
    drop(db);
    let name = setup.files(|name| name.ends_with(".sst")).pop().unwrap();
    let mut content = setup.read(&name);
    let at = content.windows(100).position(|window| window == [b'v'; 100]).unwrap();
    content[at + 50] = b'x';
    write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(&name), &content).unwrap();
    let db = setup.open();
    let read = |verify_checksums| {
        let options = ReadOptions { verify_checksums, fill_cache: false, ..ReadOptions::default() };
        db.get_with(&options, b"k").map(|value| value.unwrap()[50]).map_err(|error| error.kind())
    };
    assert_eq!(read(true), Err(ErrorKind::Corruption));
    assert_eq!(read(false), Ok(b'x'));
}

fn fill_cache() {
    let cached = [true, false].map(|fill_cache| {
        let setup = Setup::new().with_cache(8 << 20);
        let db = setup.open();
        flush_range(&db, 0..1000);
        let before = number(&db, "block-cache-usage");
        let options = ReadOptions { fill_cache, ..ReadOptions::default() };
        db.get_with(&options, key(5).as_bytes()).unwrap().unwrap();
        number(&db, "block-cache-usage") > before
    });
    assert_eq!(cached, [true, false]);
}

/// The index comes into the cache either way, the data block only if it is wanted there.
fn cache_data_blocks() {
    let cached = [true, false].map(|cache_data_blocks| {
        let mut setup = Setup::new().with_cache(8 << 20);
        setup.family.table.cache_index_and_filter_blocks = true;
        let db = setup.open();
        flush_range(&db, 0..1000);
        let count = |role: &str| db.map_property("block-cache-entry-stats").unwrap()[&format!("count.{role}")] != "0";
        let options = ReadOptions { cache_data_blocks, ..ReadOptions::default() };
        db.get_with(&options, key(5).as_bytes()).unwrap().unwrap();
        let mut iter = db.iter(&options);
        iter.seek(key(500).as_bytes());
        assert!(iter.valid());
        (count("data-block"), count("index-block"))
    });
    assert_eq!(cached, [(true, true), (false, true)]);
}

/// A table with keys of two prefixes and a filter of these, and no block in a cache.
fn table_with_prefixes() -> (Setup, Db) {
    let mut setup = Setup::new().set("no_block_cache", "true");
    setup.family.prefix_extractor = Some(PrefixExtractor::Fixed(3));
    setup.family.filter_policy = FilterPolicy::bloom(20.0);
    let db = setup.open();
    db.put(b"aaa1", b"v").unwrap();
    db.put(b"ccc1", b"v").unwrap();
    db.flush().unwrap();
    (setup, db)
}

/// A seek within a prefix that no table has: the filters spare the blocks, or are not asked.
fn total_order_seek() {
    let reads = [false, true].map(|total_order_seek| {
        let (setup, db) = table_with_prefixes();
        let options = ReadOptions { total_order_seek, prefix_same_as_start: true, ..ReadOptions::default() };
        let mut iter = db.iter(&options);
        let before = setup.memory_counters();
        iter.seek(b"bbb");
        assert!(!iter.valid());
        setup.memory_counters() - before
    });
    assert_eq!(reads, [0, 1]);
}

/// A seek in total order to a prefix that no table has, with bounds that leave no other prefix, and with wider ones.
fn auto_prefix_mode() {
    let reads = [(false, b"bbc"), (true, b"bbc"), (true, b"bbd")].map(|(auto_prefix_mode, upper)| {
        let (setup, db) = table_with_prefixes();
        let upper_bound = Some(upper.to_vec());
        let options = ReadOptions { auto_prefix_mode, total_order_seek: true, upper_bound, ..ReadOptions::default() };
        let mut iter = db.iter(&options);
        let before = setup.memory_counters();
        iter.seek(b"bbb1");
        assert!(!iter.valid());
        setup.memory_counters() - before
    });
    assert_eq!(reads, [1, 0, 1]);
}

fn readahead_size() {
    let reads = [0, 1 << 20].map(|readahead_size| {
        let setup = Setup::new().set("max_auto_readahead_size", "0");
        reads_of_a_scan_with(&setup, &ReadOptions { readahead_size, fill_cache: false, ..ReadOptions::default() })
    });
    assert!(reads[1] * 10 < reads[0], "{reads:?}");
}

/// What a scan reads ahead goes on in the next file.
fn adaptive_readahead() {
    let [anew, on] = [false, true].map(|adaptive_readahead| {
        let setup = Setup::new().set("no_block_cache", "true").set("target_file_size_base", "65536");
        let db = setup.open();
        flush_range(&db, 0..6000);
        force_compaction(&db);
        let options = ReadOptions { adaptive_readahead, ..ReadOptions::default() };
        reads_by_row(&setup, &db, &options).last().copied().unwrap()
    });
    assert!(on < anew, "{on}, {anew}");
}

/// As many rows in one read as the hint says, where a scan feels its way otherwise.
fn limit_hint() {
    let setup = Setup::new().set("no_block_cache", "true");
    let db = setup.open();
    flush_range(&db, 0..6000);
    let [felt, told] = [0, 1000]
        .map(|limit_hint| reads_by_row(&setup, &db, &ReadOptions { limit_hint, ..ReadOptions::default() })[999]);
    assert!(felt > 2 && told == 1, "{felt}, {told}");
}

/// Bytes or requests, where some rows are longer than others.
fn limit_reads() {
    let setup = Setup::new().set("no_block_cache", "true").set("row_bounds", "true");
    let db = setup.open();
    for number in 0..2000 {
        let length = [200, 10, 3000, 3000][number as usize / 500];
        db.put(key(number).as_bytes(), &vec![b'v'; length]).unwrap();
    }
    db.flush().unwrap();
    let [few_requests, few_bytes] = [LimitReads::FewestRequests, LimitReads::FewestBytes].map(|limit_reads| {
        let options = ReadOptions { limit_hint: 100, limit_reads, ..ReadOptions::default() };
        let read = || setup.memory.counters().snapshot().all_classes();
        let (mut iter, before) = (db.iter(&options), read());
        iter.seek_to_first();
        for _ in 1..100 {
            iter.next();
        }
        assert_eq!(iter.key(), key(99).as_bytes());
        read().since(before)
    });
    assert!(few_requests.requests < few_bytes.requests, "{few_requests:?}, {few_bytes:?}");
    assert!(few_requests.device_bytes > few_bytes.device_bytes, "{few_requests:?}, {few_bytes:?}");
}

/// Cached blocks within a range are read over, or around.
fn io_gap_bytes() {
    let [over, around] = [1 << 30, 0].map(|io_gap_bytes| {
        let setup = Setup::new();
        let db = setup.open();
        flush_range(&db, 0..6000);
        let bounds =
            ReadOptions { upper_bound: Some(key(1000).into_bytes()), fill_cache: false, ..ReadOptions::default() };
        db.get(key(500).as_bytes()).unwrap().unwrap();
        let before = setup.memory_counters();
        let mut iter = db.iter(&ReadOptions { io_gap_bytes, ..bounds });
        iter.seek_to_first();
        let mut rows = 0;
        while iter.valid() {
            rows += 1;
            iter.next();
        }
        assert_eq!(rows, 1000);
        setup.memory_counters() - before
    });
    assert_eq!((over, around), (1, 2));
}

/// The reads that a scan had made when it came to each of its rows.
fn reads_by_row(setup: &Setup, db: &Db, options: &ReadOptions) -> Vec<u64> {
    let before = setup.memory_counters();
    let mut iter = db.iter(options);
    iter.seek_to_first();
    let mut reads = Vec::new();
    while iter.valid() {
        reads.push(setup.memory_counters() - before);
        iter.next();
    }
    assert_eq!(reads.len(), 6000);
    reads
}

/// The same reads, but begun before the scan needs them.
fn async_io() {
    let [late, early] = [false, true].map(|async_io| {
        let setup = Setup::new().set("no_block_cache", "true");
        let db = setup.open();
        flush_range(&db, 0..6000);
        reads_by_row(&setup, &db, &ReadOptions { async_io, ..ReadOptions::default() })
    });
    assert!(late.iter().zip(&early).all(|(late, early)| late <= early), "none is begun later");
    assert!(late.iter().zip(&early).any(|(late, early)| late < early), "some are begun earlier: {late:?}");
}

/// A scan with a bound: read in one piece as far as that, or bit by bit.
fn auto_readahead_size() {
    let reads = [true, false].map(|auto_readahead_size| {
        let setup = Setup::new().set("no_block_cache", "true");
        let db = setup.open();
        flush_range(&db, 0..6000);
        let upper_bound = Some(key(2000).into_bytes());
        let mut iter = db.iter(&ReadOptions { auto_readahead_size, upper_bound, ..ReadOptions::default() });
        let before = setup.memory_counters();
        iter.seek_to_first();
        let mut count = 0;
        while iter.valid() {
            count += 1;
            iter.next();
        }
        assert_eq!(count, 2000);
        setup.memory_counters() - before
    });
    assert!(reads[0] < reads[1], "{reads:?}");
}

fn sync() {
    let syncs = [false, true].map(|sync| {
        let setup = Setup::new();
        let db = setup.open();
        db.put(b"a", b"v").unwrap();
        let family = db.default_column_family().unwrap();
        let syncs = || setup.memory.counters().snapshot().syncs();
        let before = syncs();
        (0..5).for_each(|_| {
            db.put_cf(&family, b"k", b"v", &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
        });
        syncs() - before
    });
    assert_eq!(syncs, [0, 5]);
}

fn disable_wal() {
    let found = [false, true].map(|disable_wal| {
        let setup = Setup::new();
        let db = setup.open();
        let family = db.default_column_family().unwrap();
        db.put_cf(&family, b"k", b"v", &WriteOptions { disable_wal, ..WriteOptions::default() }).unwrap();
        // What a process that is killed now leaves.
        let left = setup.files(|name| name.ends_with(".log"));
        left.iter().any(|name| setup.read(name).windows(2).any(|window| window == b"kv" || window == b"\x01k"))
    });
    assert_eq!(found, [true, false]);
}

/// A table that cannot be created yet: a thread that waits for it is still waiting.
/// While level 0 is longer than a compaction wants it and no compaction runs. A write that waits for its share takes as
/// long as a megabyte a second says; one that may not wait is refused.
fn low_pri() {
    let setup = Setup::new().set("level0_file_num_compaction_trigger", "1").set("level0_slowdown_writes_trigger", "30");
    let setup = setup.set("disable_auto_compactions", "false");
    setup.compactions.gate.set(true);
    let db = setup.open();
    let family = db.default_column_family().unwrap();
    let put = |value: &[u8], options: WriteOptions| db.put_cf(&family, b"key", value, &options);
    let impatient = WriteOptions { no_slowdown: true, low_pri: true, ..WriteOptions::default() };
    put(b"before", impatient).unwrap();
    (0..2).for_each(|_| flush_range(&db, 0..10));
    let error = put(b"refused", impatient).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    put(b"taken", WriteOptions { no_slowdown: true, ..WriteOptions::default() }).unwrap();
    let took = |low_pri| {
        let since = std::time::Instant::now();
        (0..3).for_each(|_| put(&[0; 100_000], WriteOptions { low_pri, ..WriteOptions::default() }).unwrap());
        since.elapsed()
    };
    // One of the others may be held up by what else the machine does.
    let (others, low) = ((0..5).map(|_| took(false)).min().unwrap(), took(true));
    // A tenth of a second's worth is free.
    assert!(low.as_millis() >= 180 && others < low, "{others:?}, {low:?}");
    setup.compactions.gate.open();
}

fn wait() {
    let returned = [true, false].map(|wait| {
        let setup = Setup::new();
        let db = setup.open();
        put(&db, 0..10);
        let gate = setup.hold_creation_of_tables();
        let flush = {
            let db = db.clone();
            move || {
                db.flush_cf(&db.default_column_family().unwrap(), &FlushOptions { wait, ..FlushOptions::default() })
                    .unwrap()
            }
        };
        let waiting = if wait {
            Some(Waiting::begin("the flush", flush))
        } else {
            flush();
            None
        };
        assert_eq!(number(&db, "num-files-at-level0"), 0, "the table is held");
        let early = waiting.is_none();
        gate.open();
        waiting.into_iter().for_each(Waiting::join);
        db.wait_for_background_work().unwrap();
        assert_eq!(number(&db, "num-files-at-level0"), 1);
        early
    });
    assert_eq!(returned, [false, true]);
}

fn level_after(options: &CompactRangeOptions) -> usize {
    let setup = Setup::new();
    let db = setup.open();
    flush_range(&db, 0..100);
    flush_range(&db, 0..100);
    db.compact_range_cf(&db.default_column_family().unwrap(), None, None, options).unwrap();
    let files = db.live_files();
    assert_eq!(files.len(), 1);
    files[0].level
}

fn change_level() {
    let levels = [false, true]
        .map(|change_level| level_after(&CompactRangeOptions { change_level, ..CompactRangeOptions::default() }));
    assert_eq!(levels, [6, 1]);
}

fn target_level() {
    let levels = [None, Some(2), Some(5)].map(|target_level| {
        level_after(&CompactRangeOptions { change_level: true, target_level, ..CompactRangeOptions::default() })
    });
    assert_eq!(levels, [1, 2, 5]);
    refused_levels_keep_their_tables();
}

/// Level 0 takes one table; what is between has to be empty; a level below takes what is above it.
fn refused_levels_keep_their_tables() {
    let setup = Setup::new();
    let db = setup.open();
    let family = db.default_column_family().unwrap();
    flush_range(&db, 0..100);
    let to = |level| {
        let options =
            CompactRangeOptions { change_level: true, target_level: Some(level), ..CompactRangeOptions::default() };
        let result = db.compact_range_cf(&family, None, None, &options);
        let mut levels: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
        levels.sort_unstable();
        (result.map_err(|error| error.kind()), levels)
    };
    assert_eq!(to(2), (Ok(()), vec![2]));
    assert_eq!(to(0), (Ok(()), vec![0]));
    assert_eq!(to(4), (Ok(()), vec![4]));
    // The compaction comes first, as in RocksDB.
    assert_eq!(to(7), (Err(ErrorKind::InvalidArgument), vec![6]));
    assert_eq!(to(3), (Ok(()), vec![3]));
    assert_eq!(to(5), (Ok(()), vec![5]));
    // A table in level 2, which the range has no key of, is in the way of one that goes from 5 to 1.
    flush_range(&db, 200..300);
    let newest = db.live_files().iter().find(|file| file.level == 0).map(|file| file.name()).unwrap();
    db.compact_files_cf(&family, &[newest], 2, None, &CompactionOptions::default()).unwrap();
    let options = CompactRangeOptions { change_level: true, target_level: Some(1), ..CompactRangeOptions::default() };
    let error = db.compact_range_cf(&family, None, Some(b""), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.to_string().contains("level 2, between it and the tables of level 5"), "{error}");
}

/// Whether a table of the bottommost level that nothing has touched is rewritten, and one that this compaction wrote.
fn bottommost_level_compaction() {
    use BottommostLevelCompaction::{Force, ForceOptimized, IfHaveCompactionFilter, Skip};
    let compacted = |mode, is_new: bool| {
        let setup = Setup::new();
        let db = setup.open();
        flush_range(&db, 0..100);
        db.compact_range(None, None).unwrap();
        if is_new {
            flush_range(&db, 0..100);
        }
        let before = setup.compactions.begun.load(Ordering::SeqCst);
        let options = CompactRangeOptions { bottommost_level_compaction: mode, ..CompactRangeOptions::default() };
        db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &options).unwrap();
        setup.compactions.begun.load(Ordering::SeqCst) - before
    };
    assert_eq!([Skip, IfHaveCompactionFilter, ForceOptimized, Force].map(|mode| compacted(mode, false)), [0, 0, 1, 1]);
    assert_eq!([Skip, IfHaveCompactionFilter, ForceOptimized, Force].map(|mode| compacted(mode, true)), [1, 1, 1, 2]);
}

/// A manual compaction is held; an automatic one elsewhere in the key space is due.
fn exclusive_manual_compaction() {
    let at_once = [false, true].map(|exclusive_manual_compaction| {
        let setup = Setup::new().set("max_background_jobs", "8").set("level0_file_num_compaction_trigger", "2");
        let db = setup.open();
        let family = db.default_column_family().unwrap();
        flush_range(&db, 0..100);
        db.compact_range(None, None).unwrap();
        let before = setup.compactions.begun.load(Ordering::SeqCst);
        let begun = || setup.compactions.begun.load(Ordering::SeqCst) - before;
        setup.compactions.gate.set(true);
        let options = CompactRangeOptions {
            exclusive_manual_compaction,
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        let most = std::thread::scope(|scope| {
            let (first, last) = (key(0), key(100));
            let (db, family) = (&db, &family);
            let manual = scope.spawn(move || {
                db.compact_range_cf(family, Some(first.as_bytes()), Some(last.as_bytes()), &options).unwrap();
            });
            wait_until("the manual compaction", || begun() == 1);
            (0..3).for_each(|_| flush_range(db, 500..600));
            db.set_options_cf(family, &[("disable_auto_compactions", "false")]).unwrap();
            // What may run is started by the change of the options; an exclusive one keeps it from that.
            if !exclusive_manual_compaction {
                wait_until("the automatic compaction", || begun() >= 2);
            }
            let most = begun();
            setup.compactions.gate.open();
            manual.join().unwrap();
            most
        });
        wait_until("the automatic compaction", || begun() >= 2);
        db.wait_for_background_work().unwrap();
        most
    });
    assert_eq!(at_once, [2, 1]);
}

impl Setup {
    /// Holds each thread that creates a table until the gate is opened.
    pub fn hold_creation_of_tables(&self) -> Arc<Gate> {
        let gate = Gate::shut();
        let held = Arc::clone(&gate);
        self.memory.set_operation_hook(Some(Arc::new(move |_, line| {
            if line.starts_with("create") && line.ends_with(".sst") {
                held.pass();
            }
        })));
        gate
    }
}
