//! Options of column families.

use crate::Effect::{self, Elsewhere, Shown};
use crate::level_picks;
use crate::memtables;
use crate::setup::{
    DIRECTORY, Setup, differs, differs_with, flush_range, flushed_properties, force_compaction, key, number,
    only_properties, put, value, wait_until,
};
use crate::writes;
use ferrock::options::{CompressionType, FilterPolicy, Temperature};
use ferrock::{Db, FileNumber, ReadOptions};
use ferrock_base::ValueType;
use ferrock_base::internal_key::make_internal_key;
use ferrock_format::log::{HeaderFamily, LogWriter};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_vfs::write_file_synced;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub const EFFECTS: &[(&str, Effect)] = &[
    ("write_buffer_size", Shown(write_buffer_size)),
    ("max_write_buffer_number", Shown(writes::max_write_buffer_number)),
    ("min_write_buffer_number_to_merge", Shown(min_write_buffer_number_to_merge)),
    ("arena_block_size", Shown(writes::arena_block_size)),
    (
        "memtable_prefix_bloom_size_ratio",
        Shown(|| {
            memtable_bytes("memtable_prefix_bloom_size_ratio", ["0", "0.2"], |setup| {
                setup.set("memtable_whole_key_filtering", "true").set("write_buffer_size", "1m")
            });
        }),
    ),
    (
        "memtable_whole_key_filtering",
        Shown(|| {
            memtable_bytes("memtable_whole_key_filtering", ["false", "true"], |setup| {
                setup.set("memtable_prefix_bloom_size_ratio", "0.2").set("write_buffer_size", "1m")
            });
        }),
    ),
    ("bloom_locality", Elsewhere("tests/plain_tables.rs", "bloom_locality_lays_out_a_stored_filter")),
    ("memtable_factory", Shown(memtables::memtable_factory)),
    ("memtable_insert_with_hint_prefix_extractor", Shown(memtables::insert_hints)),
    ("memtable_huge_page_size", Shown(memtables::huge_pages)),
    ("inplace_update_support", Shown(memtables::inplace_update_support)),
    ("inplace_update_num_locks", Shown(memtables::inplace_update_num_locks)),
    ("max_successive_merges", Shown(memtables::max_successive_merges)),
    ("strict_max_successive_merges", Shown(memtables::strict_max_successive_merges)),
    ("memtable_max_range_deletions", Shown(memtables::memtable_max_range_deletions)),
    ("memtable_op_scan_flush_trigger", Shown(memtables::memtable_op_scan_flush_trigger)),
    ("memtable_avg_op_scan_flush_trigger", Shown(memtables::memtable_avg_op_scan_flush_trigger)),
    ("memtable_protection_bytes_per_key", Shown(memtable_protection_bytes_per_key)),
    (
        "memtable_verify_per_key_checksum_on_seek",
        Elsewhere("../memtable/src/tests/checks.rs", "seeks_verify_what_they_meet"),
    ),
    ("paranoid_memory_checks", Elsewhere("../memtable/src/tests/checks.rs", "keys_out_of_order_are_found")),
    ("block_protection_bytes_per_key", Shown(block_protection_bytes_per_key)),
    ("min_tombstones_for_range_conversion", Shown(memtables::min_tombstones_for_range_conversion)),
    (
        "num_levels",
        Shown(|| {
            differs("num_levels", ["7", "8"], |setup| setup.open().property("num-files-at-level7"));
        }),
    ),
    ("level0_file_num_compaction_trigger", Shown(level0_file_num_compaction_trigger)),
    ("level0_slowdown_writes_trigger", Shown(|| stall("level0_slowdown_writes_trigger", ["4", "20"]))),
    ("level0_stop_writes_trigger", Shown(|| stall("level0_stop_writes_trigger", ["4", "36"]))),
    ("soft_pending_compaction_bytes_limit", Shown(|| stall("soft_pending_compaction_bytes_limit", ["1", "1g"]))),
    ("hard_pending_compaction_bytes_limit", Shown(|| stall("hard_pending_compaction_bytes_limit", ["1", "1g"]))),
    ("max_bytes_for_level_base", Shown(|| targets("max_bytes_for_level_base", ["1m", "2m"]))),
    ("max_bytes_for_level_multiplier", Shown(|| targets("max_bytes_for_level_multiplier", ["10", "4"]))),
    (
        "max_bytes_for_level_multiplier_additional",
        Shown(|| targets("max_bytes_for_level_multiplier_additional", ["1:1:1:1:1:1:1", "1:2:3:1:1:1:1"])),
    ),
    ("level_compaction_dynamic_level_bytes", Shown(dynamic_level_bytes)),
    ("target_file_size_base", Shown(target_file_size_base)),
    ("target_file_size_multiplier", Shown(target_file_size_multiplier)),
    ("target_file_size_is_upper_bound", Shown(target_file_size_is_upper_bound)),
    ("max_compaction_bytes", Shown(max_compaction_bytes)),
    ("disable_auto_compactions", Shown(|| automatic("disable_auto_compactions", ["false", "true"]))),
    ("compaction_style", Shown(|| automatic("compaction_style", ["kCompactionStyleLevel", "kCompactionStyleNone"]))),
    ("compaction_options_fifo", Shown(compaction_options_fifo)),
    ("compaction_options_universal", Shown(compaction_options_universal)),
    ("compact_on_deletion", Shown(compact_on_deletion)),
    (
        "compact_for_tiering",
        Elsewhere("tests/placement.rs", "a_table_of_old_entries_goes_down_although_no_level_is_full"),
    ),
    ("paranoid_file_checks", Elsewhere("tests/output_verification.rs", "a_flush_does_not_install_what_differs")),
    (
        "cf_allow_ingest_behind",
        Elsewhere("tests/ingestion/behind.rs", "rows_behind_are_hidden_by_all_that_was_written_before"),
    ),
    ("verify_output_flags", Elsewhere("tests/output_verification.rs", "a_compaction_does_not_install_what_differs")),
    ("compaction_pri", Shown(level_picks::compaction_pri)),
    ("ttl", Shown(|| age("ttl"))),
    ("periodic_compaction_seconds", Shown(|| age("periodic_compaction_seconds"))),
    ("bottommost_file_compaction_delay", Shown(bottommost_file_compaction_delay)),
    ("force_consistency_checks", Shown(force_consistency_checks)),
    ("default_write_temperature", Shown(default_write_temperature)),
    ("default_temperature", Shown(default_temperature)),
    ("preserve_internal_time_seconds", Elsewhere("tests/preserved_times.rs", "without_the_option_nothing_is_kept")),
    ("preclude_last_level_data_seconds", Elsewhere("tests/placement.rs", "young_entries_stay_above_the_last_level")),
    ("read_triggered_compaction_threshold", Shown(read_triggered_compaction_threshold)),
    ("last_level_temperature", Shown(last_level_temperature)),
    ("uncache_aggressiveness", Shown(uncache_aggressiveness)),
    ("compression", Shown(compression)),
    ("sample_for_compression", Shown(sample_for_compression)),
    ("compression_per_level", Shown(compression_per_level)),
    ("compression_opts", Shown(compression_opts)),
    ("bottommost_compression", Shown(bottommost_compression)),
    ("bottommost_compression_opts", Shown(bottommost_compression_opts)),
    ("optimize_filters_for_hits", Shown(optimize_filters_for_hits)),
    ("max_sequential_skip_in_iterations", Shown(max_sequential_skip_in_iterations)),
];

fn level0(db: &Db) -> u64 {
    number(db, "num-files-at-level0")
}

fn write_buffer_size() {
    let [small, large] = differs("write_buffer_size", ["64k", "64m"], |setup| {
        let db = setup.open();
        put(&db, 0..3000);
        db.flush().unwrap();
        level0(&db)
    });
    assert!(small >= 4 && large == 1, "{small}, {large}");
}

fn min_write_buffer_number_to_merge() {
    let flushed = differs_with(
        "min_write_buffer_number_to_merge",
        ["1", "3"],
        |setup| setup.set("write_buffer_size", "64k").set("max_write_buffer_number", "8"),
        |setup| {
            let db = setup.open();
            // One memtable and a half.
            put(&db, 0..600);
            db.wait_for_background_work().unwrap();
            (level0(&db), number(&db, "num-immutable-mem-table"))
        },
    );
    assert_eq!(flushed, [(1, 0), (0, 1)]);
}

fn memtable_bytes(name: &str, values: [&str; 2], prepare: fn(Setup) -> Setup) {
    let [less, more] = differs_with(name, values, prepare, |setup| {
        let db = setup.open();
        put(&db, 0..10);
        number(&db, "cur-size-active-mem-table")
    });
    assert!(more > less, "{name}: {less}, {more}");
}

/// Bytes of the memtable after the first one.
fn memtable_protection_bytes_per_key() {
    let [bare, protected] = differs("memtable_protection_bytes_per_key", ["0", "8"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..10);
        put(&db, 0..100);
        number(&db, "cur-size-active-mem-table")
    });
    assert!(protected >= bare + 100, "{bare} {protected}");
}

/// Bytes of the blocks that reads keep, with the sums of their entries.
fn block_protection_bytes_per_key() {
    let [bare, protected] = differs("block_protection_bytes_per_key", ["0", "1"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..100);
        for index in 0..100 {
            assert_eq!(&*db.get(key(index).as_bytes()).unwrap().unwrap(), &value(index)[..]);
        }
        number(&db, "block-cache-usage")
    });
    assert!(protected > bare, "{bare} {protected}");
}

fn level0_file_num_compaction_trigger() {
    let [due, waiting] = differs_with(
        "level0_file_num_compaction_trigger",
        ["3", "10"],
        |setup| setup.set("disable_auto_compactions", "false"),
        |setup| {
            let db = setup.open();
            (0..3).for_each(|_| flush_range(&db, 0..50));
            db.wait_for_background_work().unwrap();
            level0(&db)
        },
    );
    assert_eq!((due, waiting), (0, 3));
}

/// Whether writers are slowed down or stopped with four files in level 0 and the compaction held.
fn stall(name: &str, values: [&str; 2]) {
    let [stalled, free] = differs_with(
        name,
        values,
        |setup| {
            let setup = setup.set("level0_file_num_compaction_trigger", "4");
            // Writers stop no earlier than they are slowed down.
            if name == "level0_stop_writes_trigger" { setup.set("level0_slowdown_writes_trigger", "-1") } else { setup }
        },
        |setup| {
            let db = setup.open();
            (0..4).for_each(|_| flush_range(&db, 0..50));
            setup.compactions.gate.set(true);
            let family = db.default_column_family().unwrap();
            db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
            wait_until("the compaction", || setup.compactions.begun.load(Ordering::SeqCst) > 0);
            let stalled = (number(&db, "actual-delayed-write-rate") > 0, number(&db, "is-write-stopped") > 0);
            setup.compactions.gate.open();
            db.wait_for_background_work().unwrap();
            stalled
        },
    );
    assert_eq!(free, (false, false));
    assert!(stalled.0 || stalled.1);
}

fn targets(name: &str, values: [&str; 2]) {
    differs_with(
        name,
        values,
        |setup| setup.set("level_compaction_dynamic_level_bytes", "false").set("max_bytes_for_level_base", "1m"),
        |setup| setup.open().property("ferrock.levels").unwrap(),
    );
}

fn dynamic_level_bytes() {
    let deepest = differs("level_compaction_dynamic_level_bytes", ["true", "false"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..100);
        db.compact_range(None, None).unwrap();
        db.live_files().iter().map(|file| file.level).max().unwrap()
    });
    assert_eq!(deepest, [6, 1]);
}

fn target_file_size_base() {
    let [many, few] = differs("target_file_size_base", ["32k", "16m"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..3000);
        flush_range(&db, 0..3000);
        db.compact_range(None, None).unwrap();
        db.live_files().len()
    });
    assert!(many > 5 && few == 1, "{many}, {few}");
}

fn target_file_size_is_upper_bound() {
    for table in [
        "",
        "block_size=256",
        "block_size=1k;index_block_restart_interval=16;format_version=2",
        "block_size=200;index_type=kTwoLevelIndexSearch;partition_filters=true;\
         metadata_block_size=400",
        "block_size=300;index_type=kBinarySearchWithFirstKey;whole_key_filtering=false",
    ] {
        let exceeds = differs_with(
            "target_file_size_is_upper_bound",
            ["false", "true"],
            |setup| {
                let pairs = table.split(';').filter_map(|pair| pair.split_once('='));
                let mut setup = setup.set("target_file_size_base", "32k");
                setup.family.filter_policy = FilterPolicy::bloom(10.0);
                pairs.fold(setup, |setup, (name, value)| setup.set(name, value))
            },
            |setup| {
                let db = setup.open();
                (0..2).for_each(|_| flush_range(&db, 0..3000));
                db.compact_range(None, None).unwrap();
                let sizes: Vec<u64> = db.live_files().iter().map(|file| file.size_bytes).collect();
                assert!(sizes.len() > 2 && sizes.iter().all(|&size| size < 40 << 10), "{table}: {sizes:?}");
                // All but the last are near to the bound.
                assert!(sizes.iter().filter(|&&size| size < 20 << 10).count() <= 1, "{table}: {sizes:?}");
                sizes.iter().any(|&size| size > 32 << 10)
            },
        );
        assert_eq!(exceeds, [true, false], "table");
    }
}

fn target_file_size_multiplier() {
    let [small, large] = differs_with(
        "target_file_size_multiplier",
        ["1", "8"],
        |setup| {
            setup
                .set("level_compaction_dynamic_level_bytes", "false")
                .set("target_file_size_base", "16k")
                .set("max_bytes_for_level_base", "16k")
                .set("max_bytes_for_level_multiplier", "100")
                .set("level0_file_num_compaction_trigger", "1")
                .set("disable_auto_compactions", "false")
        },
        |setup| {
            let db = setup.open();
            for _ in 0..6 {
                flush_range(&db, 0..3000);
                db.wait_for_background_work().unwrap();
            }
            force_compaction(&db);
            let deep = db.live_files().into_iter().filter(|file| file.level == 2);
            let largest = deep.map(|file| file.size_bytes).max().unwrap();
            // In classes, for where exactly a file is cut depends on its neighbours.
            largest > 60 << 10
        },
    );
    assert!(!small && large);
}

fn max_compaction_bytes() {
    let [many, one] = differs_with(
        "max_compaction_bytes",
        ["50k", "100m"],
        |setup| setup.set("target_file_size_base", "32k"),
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..3000);
            db.compact_range(None, None).unwrap();
            let before = setup.compactions.begun.load(Ordering::SeqCst);
            force_compaction(&db);
            setup.compactions.begun.load(Ordering::SeqCst) - before
        },
    );
    assert!(many > one, "{many} pieces, then {one}");
}

fn automatic(name: &str, values: [&str; 2]) {
    let files = differs_with(
        name,
        values,
        |setup| setup.set("disable_auto_compactions", "false"),
        |setup| {
            let db = setup.open();
            (0..5).for_each(|_| flush_range(&db, 0..50));
            db.wait_for_background_work().unwrap();
            level0(&db) < 5
        },
    );
    assert_eq!(files, [true, false]);
}

fn compaction_options_fifo() {
    let kept = differs_with(
        "compaction_options_fifo",
        ["{max_table_files_size=1;}", "{max_table_files_size=1g;}"],
        |setup| setup.set("compaction_style", "kCompactionStyleFIFO").set("disable_auto_compactions", "false"),
        |setup| {
            let db = setup.open();
            (0..3).for_each(|_| flush_range(&db, 0..50));
            db.wait_for_background_work().unwrap();
            level0(&db)
        },
    );
    assert_eq!(kept, [0, 3]);
}

fn compaction_options_universal() {
    let runs = differs_with(
        "compaction_options_universal",
        ["{max_size_amplification_percent=9000;min_merge_width=9;max_merge_width=9}", "{size_ratio=100}"],
        |setup| setup.set("compaction_style", "kCompactionStyleUniversal").set("disable_auto_compactions", "false"),
        |setup| {
            let db = setup.open();
            (0..4).for_each(|_| flush_range(&db, 0..50));
            db.wait_for_background_work().unwrap();
            db.live_files().len()
        },
    );
    assert_eq!(runs, [4, 1]);
}

fn compact_on_deletion() {
    let files = differs_with(
        "compact_on_deletion",
        ["{window_size=128;deletion_trigger=40;}", "{window_size=128;deletion_trigger=60;}"],
        |setup| setup.set("disable_auto_compactions", "false"),
        |setup| {
            let db = setup.open();
            (0..50).for_each(|number| db.delete(key(number).as_bytes()).unwrap());
            db.flush().unwrap();
            db.wait_for_background_work().unwrap();
            level0(&db)
        },
    );
    assert_eq!(files, [0, 1]);
}

/// Compactions that run because data is old.
fn age(name: &str) {
    let compactions = differs_with(
        name,
        ["0", "3600"],
        |setup| {
            let setup = if name == "ttl" { setup } else { setup.set("ttl", "0") };
            setup.with_manual_clock().set("disable_auto_compactions", "false")
        },
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..100);
            db.compact_range(None, None).unwrap();
            flush_range(&db, 20..30);
            db.wait_for_background_work().unwrap();
            let before = setup.compactions.begun.load(Ordering::SeqCst);
            setup.clock.advance(Duration::from_secs(7200));
            flush_range(&db, 40..50);
            db.wait_for_background_work().unwrap();
            setup.compactions.begun.load(Ordering::SeqCst) > before
        },
    );
    assert_eq!(compactions, [false, true]);
}

/// Estimates in the properties, which are right where the table is compressed as they assume.
fn sample_for_compression() {
    let [without, with] = differs("sample_for_compression", ["0", "1"], |setup| {
        let properties = flushed_properties(&setup);
        (properties.fast_compression_estimated_data_size, properties.slow_compression_estimated_data_size)
    });
    assert_eq!(without, (0, 0));
    let data_size = |codec: &str| flushed_properties(&Setup::new().set("compression", codec)).data_size;
    assert_eq!(with, (data_size("kLZ4Compression"), data_size("kZSTD")));
}

/// Blocks of tables that are replaced leave the cache. What they are, and when: `tests/uncache.rs`.
fn uncache_aggressiveness() {
    let left = differs_with(
        "uncache_aggressiveness",
        ["0", "10000"],
        |setup| setup.with_cache(8 << 20),
        |setup| {
            let db = setup.open();
            (0..2).for_each(|_| flush_range(&db, 0..1000));
            let read = || (0..1000).for_each(|number| assert!(db.get(key(number).as_bytes()).unwrap().is_some()));
            read();
            let full = number(&db, "block-cache-usage");
            force_compaction(&db);
            db.wait_for_background_work().unwrap();
            let left = number(&db, "block-cache-usage");
            read();
            left * 2 > full
        },
    );
    assert_eq!(left, [true, false]);
}

/// Reads of deleted keys have the table with the deletions compacted, the next time that the tree is looked at.
fn read_triggered_compaction_threshold() {
    let compactions = differs_with(
        "read_triggered_compaction_threshold",
        ["0", "0.001"],
        |setup| setup.set("disable_auto_compactions", "false"),
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..100);
            db.compact_range(None, None).unwrap();
            (20..80).for_each(|number| db.delete(key(number).as_bytes()).unwrap());
            db.flush().unwrap();
            db.wait_for_background_work().unwrap();
            let before = setup.compactions.begun.load(Ordering::SeqCst);
            // Of reads that are counted no more than 2046 that are not lie in between.
            (0..4096).for_each(|_| assert!(db.get(key(50).as_bytes()).unwrap().is_none()));
            flush_range(&db, 40..50);
            db.wait_for_background_work().unwrap();
            setup.compactions.begun.load(Ordering::SeqCst) > before
        },
    );
    assert_eq!(compactions, [false, true]);
}

/// A deletion that a snapshot kept is dropped when the snapshot goes, or when the table is old enough.
/// The temperatures of all tables, and whether the file system was told that one is of `hint` when it was made, and
/// when it was opened.
fn temperatures(setup: &Setup, db: &Db, hint: Temperature) -> (Vec<Temperature>, [bool; 2]) {
    let recorded = db.live_files().iter().map(|file| file.temperature).collect();
    let asked = setup.recording.asked.lock();
    let hint = format!("temperature: {hint:?}");
    let was_told = |what: &str| asked.iter().any(|asked| asked.starts_with(what) && asked.contains(&hint));
    (recorded, [was_told("sst: WritableOptions"), was_told("sst: RandomAccessOptions")])
}

fn default_write_temperature() {
    use Temperature::{Unknown, Warm};
    let measured = differs("default_write_temperature", ["kUnknown", "kWarm"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..100);
        temperatures(&setup, &db, Warm)
    });
    assert_eq!(measured, [(vec![Unknown], [false; 2]), (vec![Warm], [true; 2])]);
}

/// A table without a temperature stays without one, and is opened with this one; a recorded one counts.
fn default_temperature() {
    use Temperature::{Cool, Unknown, Warm};
    let measured = differs("default_temperature", ["kUnknown", "kCool"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..100);
        temperatures(&setup, &db, Cool)
    });
    assert_eq!(measured, [(vec![Unknown], [false; 2]), (vec![Unknown], [false, true])]);
    let setup = Setup::new().set("default_temperature", "kCool").set("default_write_temperature", "kWarm");
    let db = setup.open();
    flush_range(&db, 0..100);
    assert_eq!(temperatures(&setup, &db, Cool), (vec![Warm], [false; 2]));
}

fn last_level_temperature() {
    use Temperature::{Cold, Unknown};
    let measured = differs("last_level_temperature", ["kUnknown", "kCold"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..100);
        flush_range(&db, 0..100);
        let flushed = temperatures(&setup, &db, Cold);
        db.compact_range(None, None).unwrap();
        (flushed, temperatures(&setup, &db, Cold))
    });
    let flushed = (vec![Unknown; 2], [false; 2]);
    assert_eq!(measured[0], (flushed.clone(), (vec![Unknown], [false; 2])));
    assert_eq!(measured[1], (flushed, (vec![Cold], [true; 2])));
}

fn bottommost_file_compaction_delay() {
    let rewritten = differs_with(
        "bottommost_file_compaction_delay",
        ["0", "3600"],
        |setup| setup.with_manual_clock().set("disable_auto_compactions", "false").set("ttl", "0"),
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..100);
            let snapshot = db.snapshot();
            (0..100).for_each(|number| db.delete(key(number).as_bytes()).unwrap());
            put(&db, 100..101);
            db.flush().unwrap();
            db.compact_range(None, None).unwrap();
            let rewritten_after = |secs| {
                let before = setup.compactions.begun.load(Ordering::SeqCst);
                setup.clock.advance(Duration::from_secs(secs));
                drop(db.snapshot());
                flush_range(&db, 200..201);
                db.wait_for_background_work().unwrap();
                setup.compactions.begun.load(Ordering::SeqCst) > before
            };
            let with_snapshot = rewritten_after(10);
            drop(snapshot);
            (with_snapshot, rewritten_after(10), rewritten_after(7200))
        },
    );
    assert_eq!(rewritten, [(false, true, false), (false, false, true)]);
}

/// A MANIFEST with two overlapping tables in one level.
fn force_consistency_checks() {
    let opened = differs("force_consistency_checks", ["true", "false"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..10);
        db.compact_range(None, None).unwrap();
        flush_range(&db, 0..10);
        let flat = db.live_files().into_iter().find(|file| file.level == 0).unwrap();
        drop(db);
        let boundary = |user: &[u8]| make_internal_key(user, flat.largest_sequence, ValueType::Value);
        let moved = NewFile {
            level: 6,
            number: flat.number,
            size_bytes: flat.size_bytes,
            smallest: boundary(&flat.smallest_user_key),
            largest: boundary(&flat.largest_user_key),
            smallest_seqno: flat.smallest_sequence,
            largest_seqno: flat.largest_sequence,
            epoch_number: Some(9),
            ..NewFile::default()
        };
        let edit = VersionEdit {
            deleted_files: vec![DeletedFile { level: 0, number: flat.number }],
            new_files: vec![moved],
            ..VersionEdit::for_column_family(0)
        };
        let name = setup.files(|name| name.starts_with("MANIFEST")).pop().unwrap();
        let mut content = setup.read(&name);
        let mut writer = LogWriter::resume(FileNumber(0), HeaderFamily::Legacy, content.len() as u64);
        writer.encode_record(&[&edit.encode()], &mut content);
        write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(&name), &content).unwrap();
        setup.try_open().is_ok()
    });
    assert_eq!(opened, [false, true]);
}

fn compression() {
    let kinds = [
        "kNoCompression",
        "kSnappyCompression",
        "kZlibCompression",
        "kBZip2Compression",
        "kLZ4Compression",
        "kLZ4HCCompression",
        "kZSTD",
    ];
    let tables = kinds.map(|kind| flushed_properties(&Setup::new().set("compression", kind)));
    for (index, table) in tables.iter().enumerate() {
        let names: Vec<&str> = tables[..index].iter().map(|other| &other.compression_name[..]).collect();
        assert!(!names.contains(&&table.compression_name[..]), "{}: {names:?}", table.compression_name);
        assert!(index == 0 || table.data_size < tables[0].data_size * 9 / 10, "{} does not compress", kinds[index]);
    }
    assert!(tables[5].data_size < tables[4].data_size, "lz4hc is smaller than lz4");
}

fn compression_per_level() {
    let setup = Setup::new().set("compression_per_level", "kSnappyCompression:kZSTD");
    let db = setup.open();
    flush_range(&db, 0..500);
    let flushed = only_properties(&db).compression_name;
    db.compact_range(None, None).unwrap();
    force_compaction(&db);
    let compacted = only_properties(&db).compression_name;
    assert!(flushed.contains("Snappy") || flushed.contains("01"), "{flushed}");
    assert_ne!(flushed, compacted);
}

fn level(level: i32) -> String {
    format!("{{level={level};enabled=true;}}")
}

fn compression_opts() {
    for (kind, low, high) in [("kZSTD", 1, 19), ("kZlibCompression", 1, 9), ("kLZ4HCCompression", 1, 12)] {
        let sizes = [low, high].map(|own| {
            let setup = Setup::new().set("compression", kind).set("compression_opts", &level(own));
            flushed_properties(&setup).data_size
        });
        assert!(sizes[1] < sizes[0], "{kind}: {sizes:?}");
    }
    let dictionary = "{level=3;max_dict_bytes=16384;zstd_max_train_bytes=0;enabled=true;}";
    let sizes = [level(3), dictionary.to_owned()].map(|options| {
        let setup = Setup::new().set("compression", "kZSTD").set("compression_opts", &options).set("block_size", "512");
        let db = setup.open();
        flush_range(&db, 0..3000);
        force_compaction(&db);
        only_properties(&db).data_size
    });
    assert!(sizes[1] < sizes[0], "a dictionary helps small blocks: {sizes:?}");
}

fn compacted(setup: &Setup) -> ferrock_format::properties::TableProperties {
    let db = setup.open();
    flush_range(&db, 0..3000);
    force_compaction(&db);
    only_properties(&db)
}

fn bottommost_compression() {
    let names = differs_with(
        "bottommost_compression",
        ["kDisableCompressionOption", "kZSTD"],
        |mut setup| {
            setup.family.compression = CompressionType::Lz4;
            setup
        },
        |setup| compacted(&setup).compression_name,
    );
    assert!(names[1].contains("ZSTD") || names[1].contains("07"), "{names:?}");
}

fn bottommost_compression_opts() {
    let sizes = [level(1), level(19)].map(|options| {
        let setup = Setup::new().set("bottommost_compression", "kZSTD").set("bottommost_compression_opts", &options);
        compacted(&setup).data_size
    });
    assert!(sizes[1] < sizes[0], "{sizes:?}");
}

fn optimize_filters_for_hits() {
    let sizes = differs_with(
        "optimize_filters_for_hits",
        ["false", "true"],
        |mut setup| {
            setup.family.filter_policy = FilterPolicy::bloom(10.0);
            setup
        },
        |setup| compacted(&setup).filter_size,
    );
    assert_eq!(sizes[1], 0, "{sizes:?}");
}

/// Blocks read to pass over a key with many versions.
fn max_sequential_skip_in_iterations() {
    let [seeking, walking] = differs_with(
        "max_sequential_skip_in_iterations",
        ["4", "1000000"],
        |setup| setup.set("no_block_cache", "true").set("max_auto_readahead_size", "0"),
        |setup| {
            let db = setup.open();
            db.put(b"a", b"first").unwrap();
            let mut snapshots = Vec::new();
            for version in 0..2000 {
                db.put(b"b", &value(version)).unwrap();
                snapshots.push(db.snapshot());
            }
            db.put(key(1).as_bytes(), b"last").unwrap();
            db.flush().unwrap();
            let mut iter = db.iter(&ReadOptions::default());
            iter.seek(b"b");
            let before = setup.memory_counters();
            iter.next();
            assert_eq!(iter.key(), key(1).as_bytes());
            setup.memory_counters() - before
        },
    );
    assert!(seeking < walking, "{seeking}, {walking}");
}
