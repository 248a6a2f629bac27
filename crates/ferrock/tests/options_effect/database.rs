//! Options of a whole database, but for those about how files are asked for: `files.rs`.

use crate::Effect::{self, Shown};
use crate::common::threads::RecordingSpawner;
use crate::files;
use crate::setup::{
    DIRECTORY, Setup, differs, differs_with, flush_all, flush_range, key, number, put, put_unlogged, wait_until,
};
use crate::writes;
use ferrock::statistics::Statistics;
use ferrock::{ColumnFamilyOptions, Db, ErrorKind, ReadOptions, WriteOptions};
use ferrock_base::clock::Clock;
use ferrock_base::thread::Spawner;
use ferrock_vfs::{FileSystem, write_file_synced};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub const EFFECTS: &[(&str, Effect)] = &[
    ("create_if_missing", Shown(|| opens("create_if_missing", &["default"], false))),
    ("error_if_exists", Shown(|| opens("error_if_exists", &["default"], true))),
    ("create_missing_column_families", Shown(|| opens("create_missing_column_families", &["default", "new"], true))),
    ("paranoid_checks", Shown(paranoid_checks)),
    ("max_open_files", Shown(max_open_files)),
    ("max_file_opening_threads", Shown(max_file_opening_threads)),
    ("open_files_async", Effect::Elsewhere("tests/open_files_async.rs", "an_open_does_not_wait_for_its_tables")),
    ("max_background_jobs", Shown(|| compactions_at_once("max_background_jobs", ["2", "8"]))),
    ("max_background_compactions", Shown(|| compactions_at_once("max_background_compactions", ["-1", "3"]))),
    ("max_background_flushes", Shown(max_background_flushes)),
    ("max_subcompactions", Effect::Elsewhere("tests/subcompactions.rs", "parts_leave_what_one_thread_leaves")),
    (
        "allow_ingest_behind",
        Effect::Elsewhere(
            "tests/ingestion/behind.rs",
            "the_option_of_the_database_reserves_the_last_level_of_its_families",
        ),
    ),
    ("max_total_wal_size", Shown(max_total_wal_size)),
    ("wal_dir", Effect::Elsewhere("tests/places/wal_dir.rs", "logs_lie_in_wal_dir_and_go_from_there")),
    ("WAL_ttl_seconds", Effect::Elsewhere("tests/updates/archive.rs", "logs_stay_for_as_long_as_the_options_say")),
    ("WAL_size_limit_MB", Effect::Elsewhere("tests/updates/archive.rs", "the_newest_logs_stay_within_the_size")),
    ("wal_recovery_mode", Shown(wal_recovery_mode)),
    (
        "best_efforts_recovery",
        Effect::Elsewhere("tests/best_efforts/history.rs", "the_newest_whole_state_of_each_family_comes_up"),
    ),
    ("manual_wal_flush", Shown(manual_wal_flush)),
    (
        "track_and_verify_wals_in_manifest",
        Effect::Elsewhere("tests/updates/tracked.rs", "a_listed_log_that_is_missing_or_shorter_is_refused"),
    ),
    ("wal_compression", Shown(wal_compression)),
    ("allow_fallocate", Shown(|| files::asked("allow_fallocate", ["true", "false"], "log: "))),
    ("max_manifest_file_size", Shown(|| manifests("max_manifest_file_size", "max_manifest_space_amp_pct"))),
    ("max_manifest_space_amp_pct", Shown(|| manifests("max_manifest_space_amp_pct", "max_manifest_file_size"))),
    ("manifest_preallocation_size", Shown(manifest_preallocation_size)),
    ("verify_manifest_content_on_close", Shown(verify_manifest_content_on_close)),
    ("write_dbid_to_manifest", Shown(write_dbid_to_manifest)),
    ("write_identity_file", Shown(write_identity_file)),
    ("verify_sst_unique_id_in_manifest", Shown(verify_sst_unique_id_in_manifest)),
    ("avoid_flush_during_recovery", Shown(avoid_flush_during_recovery)),
    ("atomic_flush", Shown(atomic_flush)),
    ("avoid_flush_during_shutdown", Shown(avoid_flush_during_shutdown)),
    ("use_direct_reads", Shown(|| files::asked("use_direct_reads", ["false", "true"], "direct: true"))),
    (
        "use_direct_io_for_flush_and_compaction",
        Shown(|| files::asked("use_direct_io_for_flush_and_compaction", ["false", "true"], "sst: WritableOptions")),
    ),
    (
        "use_direct_io_for_compaction_reads",
        Shown(|| files::asked("use_direct_io_for_compaction_reads", ["false", "true"], "direct: true")),
    ),
    ("allow_mmap_reads", Shown(|| files::asked("allow_mmap_reads", ["false", "true"], "mmap: true"))),
    (
        "advise_random_on_open",
        Shown(|| files::asked("advise_random_on_open", ["true", "false"], "advise_random: false")),
    ),
    ("bytes_per_sync", Shown(bytes_per_sync)),
    (
        "wal_write_temperature",
        Shown(|| files::asked("wal_write_temperature", ["kUnknown", "kHot"], "log: WritableOptions { purpose: Log")),
    ),
    ("metadata_write_temperature", Shown(metadata_write_temperature)),
    ("strict_bytes_per_sync", Shown(strict_bytes_per_sync)),
    ("wal_bytes_per_sync", Shown(|| files::asked("wal_bytes_per_sync", ["0", "65536"], "bytes_per_sync: 65536"))),
    ("compaction_readahead_size", Shown(compaction_readahead_size)),
    (
        "writable_file_max_buffer_size",
        Shown(|| files::asked("writable_file_max_buffer_size", ["1m", "65536"], "buffer_bytes: 65536")),
    ),
    (
        "max_bgerror_resume_count",
        Effect::Elsewhere("tests/faults/auto_resume.rs", "attempts_are_as_many_and_as_far_apart_as_the_options_say"),
    ),
    (
        "bgerror_resume_retry_interval",
        Effect::Elsewhere("tests/faults/auto_resume.rs", "attempts_are_as_many_and_as_far_apart_as_the_options_say"),
    ),
    ("delayed_write_rate", Shown(delayed_write_rate)),
    ("allow_concurrent_memtable_write", Shown(writes::allow_concurrent_memtable_write)),
    ("max_write_batch_group_size_bytes", Shown(writes::max_write_batch_group_size_bytes)),
    ("db_write_buffer_size", Shown(db_write_buffer_size)),
    ("info_log_level", Shown(info_log_level)),
    ("keep_log_file_num", Shown(keep_log_file_num)),
    ("max_log_file_size", Shown(max_log_file_size)),
    ("daily_offpeak_time_utc", Shown(daily_offpeak_time_utc)),
    ("stats_dump_period_sec", Shown(stats_dump_period_sec)),
    ("stats_persist_period_sec", Shown(|| snapshots_of_statistics("stats_persist_period_sec", ["0", "60"]))),
    (
        "persist_stats_to_disk",
        Effect::Elsewhere("tests/stats_history.rs", "a_history_on_disk_is_a_family_of_times_and_tickers"),
    ),
    ("stats_history_buffer_size", Shown(|| snapshots_of_statistics("stats_history_buffer_size", ["0", "100000"]))),
    (
        "max_compaction_trigger_wakeup_seconds",
        Effect::Elsewhere("tests/wakeups.rs", "the_option_says_how_often_ages_are_looked_at"),
    ),
    (
        "follower_refresh_catchup_period_ms",
        Effect::Elsewhere("tests/followers/follower.rs", "the_thread_catches_up_as_often_as_the_options_say"),
    ),
    (
        "follower_catchup_retry_count",
        Effect::Elsewhere(
            "tests/followers/follower.rs",
            "a_catch_up_is_tried_as_often_and_as_far_apart_as_the_options_say",
        ),
    ),
    (
        "follower_catchup_retry_wait_ms",
        Effect::Elsewhere(
            "tests/followers/follower.rs",
            "a_catch_up_is_tried_as_often_and_as_far_apart_as_the_options_say",
        ),
    ),
];

/// Whether a database opens, by a switch.
fn opens(name: &str, families: &[&str], exists: bool) {
    let [off, on] = differs(name, ["false", "true"], |setup| {
        if exists {
            drop(Setup { db: Setup::new().with_files_of(&setup), ..setup.clone() }.open());
        }
        let opened = setup.try_open_families(families).map(drop);
        opened.map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(name), "{error}");
        })
    });
    assert!(off.is_ok() != on.is_ok());
}

impl Setup {
    /// Default options over the files of another setup.
    fn with_files_of(mut self, other: &Setup) -> ferrock::DbOptions {
        self.db.components = other.db.components.clone();
        self.db
    }
}

/// The MANIFEST, CURRENT and IDENTITY (by way of files of other names), and the OPTIONS file.
fn metadata_write_temperature() {
    let told = differs("metadata_write_temperature", ["kUnknown", "kIce"], |setup| {
        drop(setup.open());
        let asked = setup.recording.asked.lock();
        let cold: Vec<&String> = asked.iter().filter(|asked| asked.contains("temperature: Ice")).collect();
        let of = |what: &str| cold.iter().any(|asked| asked.contains(what));
        (of("purpose: Manifest"), of("dbtmp: WritableOptions { purpose: Other"), of("purpose: Log"))
    });
    assert_eq!(told, [(false, false, false), (true, true, false)]);
}

fn paranoid_checks() {
    let opened = differs("paranoid_checks", ["true", "false"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..10);
        drop(db);
        let name = setup.files(|name| name.ends_with(".sst")).pop().unwrap();
        let mut content = setup.read(&name);
        let length = content.len();
        content[length - 20] ^= 1;
        write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(&name), &content).unwrap();
        setup.try_open().is_ok()
    });
    assert_eq!(opened, [false, true]);
}

fn max_open_files() {
    let [few, all] = differs("max_open_files", ["2", "-1"], |setup| {
        let db = setup.open();
        (0..8).for_each(|part| flush_range(&db, part * 10..part * 10 + 10));
        let before = setup.memory.counters().snapshot().opens;
        for _ in 0..3 {
            for part in 0..8 {
                db.get(key(part * 10).as_bytes()).unwrap().unwrap();
            }
        }
        setup.memory.counters().snapshot().opens - before
    });
    assert!(few >= 16 && all == 0, "{few} and {all} tables were opened");
}

pub fn max_file_opening_threads() {
    let threads = differs("max_file_opening_threads", ["1", "4"], |mut setup| {
        let db = setup.open();
        // Four tables for each thread.
        (0..16).for_each(|_| flush_range(&db, 0..10));
        drop(db);
        let spawner = Arc::new(RecordingSpawner::default());
        setup.db.components.spawner = Some(Arc::clone(&spawner) as Arc<dyn Spawner>);
        drop(setup.open());
        spawner.count("open")
    });
    assert_eq!(threads, [0, 3], "beside the thread that opens");
}

fn compactions_at_once(name: &str, values: [&str; 2]) {
    let most = differs(name, values, |setup| {
        let (db, families) = setup.try_open_families(&["default", "b", "c"]).unwrap();
        for family in &families {
            for round in 0..5u32 {
                db.put_cf(family, &round.to_be_bytes(), b"v", &WriteOptions::default()).unwrap();
                db.put_cf(family, b"k", b"v", &WriteOptions::default()).unwrap();
                db.flush_cf(family, &ferrock::FlushOptions::default()).unwrap();
            }
        }
        setup.compactions.gate.set(true);
        for family in &families {
            db.set_options_cf(family, &[("disable_auto_compactions", "false")]).unwrap();
        }
        let wanted = if db.int_property("num-running-compactions").unwrap() > 1 { 3 } else { 1 };
        wait_until("compactions", || setup.compactions.begun.load(Ordering::SeqCst) >= wanted);
        let running = number(&db, "num-running-compactions");
        setup.compactions.gate.open();
        db.wait_for_background_work().unwrap();
        running
    });
    assert_eq!(most, [1, 3]);
}

/// How many there may be counts at once when it changes while the database is open.
fn max_background_flushes() {
    let most = differs("max_background_flushes", ["-1", "2"], |setup| {
        let (db, families) = setup.try_open_families(&["default", "b", "c"]).unwrap();
        let gate = setup.hold_creation_of_tables();
        for family in &families {
            db.put_cf(family, b"k", b"v", &WriteOptions::default()).unwrap();
            db.flush_cf(family, &ferrock::FlushOptions { wait: false, ..ferrock::FlushOptions::default() }).unwrap();
        }
        let at_first = number(&db, "num-running-flushes");
        db.set_db_options(&[("max_background_flushes", "3")]).unwrap();
        let then = number(&db, "num-running-flushes");
        gate.open();
        db.wait_for_background_work().unwrap();
        (at_first, then)
    });
    assert_eq!(most, [(1, 3), (2, 3)]);
}

fn max_total_wal_size() {
    let flushed = differs_with(
        "max_total_wal_size",
        ["0", "200000"],
        |setup| setup.set("write_buffer_size", "64k"),
        |setup| {
            let (db, families) = setup.try_open_families(&["default", "idle"]).unwrap();
            db.put_cf(&families[1], b"k", b"v", &WriteOptions::default()).unwrap();
            put(&db, 0..2500);
            db.wait_for_background_work().unwrap();
            db.property_cf(&families[1], "num-files-at-level0").unwrap()
        },
    );
    assert_eq!(flushed, ["0", "1"]);
}

fn cut_log(setup: &Setup) {
    let name = setup.files(|name| name.ends_with(".log")).pop().unwrap();
    let content = setup.read(&name);
    write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(&name), &content[..content.len() - 3]).unwrap();
}

fn wal_recovery_mode() {
    let measure = |setup: Setup| {
        let db = setup.open();
        put(&db, 0..10);
        drop(db);
        cut_log(&setup);
        setup.try_open().map(|db| number(&db, "estimate-num-keys")).map_err(|error| error.kind())
    };
    let found = differs("wal_recovery_mode", ["kPointInTimeRecovery", "kAbsoluteConsistency"], measure);
    assert_eq!(found, [Ok(9), Err(ErrorKind::Corruption)]);
    // Damage in the middle tells the other two apart.
    let middle = |setup: Setup| {
        let db = setup.open();
        put(&db, 0..10);
        drop(db);
        let name = setup.files(|name| name.ends_with(".log")).pop().unwrap();
        let mut content = setup.read(&name);
        content[400] ^= 1;
        write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(&name), &content).unwrap();
        setup.try_open().map(|db| number(&db, "estimate-num-keys") > 0).map_err(|error| error.kind())
    };
    let values = ["kTolerateCorruptedTailRecords", "kSkipAnyCorruptedRecords"];
    assert_eq!(differs("wal_recovery_mode", values, middle), [Err(ErrorKind::Corruption), Ok(true)]);
}

fn log_bytes(setup: &Setup) -> u64 {
    let names = setup.files(|name| name.ends_with(".log"));
    names.iter().map(|name| setup.read(name).len() as u64).sum()
}

fn manual_wal_flush() {
    let written = differs("manual_wal_flush", ["false", "true"], |setup| {
        let db = setup.open();
        put(&db, 0..10);
        let before = log_bytes(&setup) > 0;
        db.flush_wal(false).unwrap();
        (before, log_bytes(&setup) > 0)
    });
    assert_eq!(written, [(true, true), (false, true)]);
}

fn wal_compression() {
    let [plain, compressed] = differs("wal_compression", ["kNoCompression", "kZSTD"], |setup| {
        let db = setup.open();
        db.put(b"key", &[b'v'; 10_000]).unwrap();
        log_bytes(&setup)
    });
    assert!(plain > 10_000 && compressed < 1000, "{plain}, {compressed}");
}

fn manifests(name: &str, other: &str) {
    let other_value = if other == "max_manifest_file_size" { "1" } else { "0" };
    differs_with(
        name,
        [if name == "max_manifest_file_size" { "1" } else { "0" }, "1000000"],
        |setup| setup.set(other, other_value),
        |setup| {
            let db = setup.open();
            let manifest = || setup.files(|name| name.starts_with("MANIFEST")).pop().unwrap();
            let before = manifest();
            (0..20).for_each(|_| flush_range(&db, 0..2));
            before == manifest()
        },
    );
}

/// Of the MANIFESTs that are begun from then on.
fn manifest_preallocation_size() {
    let heard = differs("manifest_preallocation_size", ["4194304", "77777"], |setup| {
        let db = setup.set("max_manifest_file_size", "1").set("max_manifest_space_amp_pct", "0");
        let db = (db.open(), db);
        (0..3).for_each(|_| flush_range(&db.0, 0..2));
        db.1.asked().contains("preallocate_bytes: 77777")
    });
    assert_eq!(heard, [false, true]);
}

/// A MANIFEST that is damaged or cut while the database is open.
fn verify_manifest_content_on_close() {
    let damages: [fn(&mut Vec<u8>); 3] =
        [|content| content[20] ^= 1, |content| content.truncate(content.len() - 5), |content| content.clear()];
    for damage in damages {
        let found = differs("verify_manifest_content_on_close", ["false", "true"], |setup| {
            let db = setup.open();
            flush_range(&db, 0..10);
            flush_range(&db, 10..20);
            let name = setup.files(|name| name.starts_with("MANIFEST")).pop().unwrap();
            let mut content = setup.read(&name);
            damage(&mut content);
            write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(&name), &content).unwrap();
            db.close().unwrap();
            let log = String::from_utf8(setup.read("LOG")).unwrap();
            let is_told = log.contains("the MANIFEST was written anew before the database is closed");
            let all = setup.try_open().is_ok_and(|db| (0..20).all(|at| db.get(key(at).as_bytes()).unwrap().is_some()));
            (is_told, all)
        });
        assert_eq!(found, [(false, false), (true, true)]);
    }
    // One that is as it was written stays.
    let setup = Setup::new().set("verify_manifest_content_on_close", "true");
    let db = setup.open();
    flush_range(&db, 0..10);
    let manifest = || setup.files(|name| name.starts_with("MANIFEST"));
    let before = manifest();
    db.close().unwrap();
    assert_eq!(manifest(), before);
}

fn write_dbid_to_manifest() {
    let written = differs("write_dbid_to_manifest", ["true", "false"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..2);
        drop(db);
        let db = setup.open();
        let id = db.identity().as_bytes().to_vec();
        let manifest = setup.read(&setup.files(|name| name.starts_with("MANIFEST")).pop().unwrap());
        manifest.windows(id.len()).any(|window| window == id)
    });
    assert_eq!(written, [true, false]);
}

fn write_identity_file() {
    let written = differs("write_identity_file", ["true", "false"], |setup| {
        drop(setup.open());
        setup.files(|name| name == "IDENTITY").len()
    });
    assert_eq!(written, [1, 0]);
}

fn verify_sst_unique_id_in_manifest() {
    let opened = differs("verify_sst_unique_id_in_manifest", ["true", "false"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..10);
        flush_range(&db, 0..10);
        drop(db);
        let names = setup.files(|name| name.ends_with(".sst"));
        let [first, second] = [0, 1].map(|index| setup.read(&names[index]));
        assert_eq!(first.len(), second.len());
        write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(&names[1]), &first).unwrap();
        setup.try_open().is_ok()
    });
    assert_eq!(opened, [false, true]);
}

fn avoid_flush_during_recovery() {
    let files = differs("avoid_flush_during_recovery", ["false", "true"], |setup| {
        let db = setup.open();
        put(&db, 0..10);
        drop(db);
        let db = setup.open();
        assert_eq!(number(&db, "estimate-num-keys"), 10);
        drop(db);
        let db = setup.open();
        assert_eq!(number(&db, "estimate-num-keys"), 10);
        number(&db, "num-files-at-level0")
    });
    assert_eq!(files, [1, 0]);
}

fn atomic_flush() {
    let tables = differs("atomic_flush", ["false", "true"], |setup| {
        let db = setup.open();
        let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
        put_unlogged(&db, &other, 0..10);
        put_unlogged(&db, &db.default_column_family().unwrap(), 0..10);
        db.flush().unwrap();
        db.live_files().len()
    });
    assert_eq!(tables, [1, 2]);
}

fn avoid_flush_during_shutdown() {
    let found = differs("avoid_flush_during_shutdown", ["false", "true"], |setup| {
        let db = setup.open();
        put_unlogged(&db, &db.default_column_family().unwrap(), 0..10);
        db.close().unwrap();
        setup.open().get(key(3).as_bytes()).unwrap().is_some()
    });
    assert_eq!(found, [true, false]);
}

fn compaction_readahead_size() {
    let [none, much] = differs("compaction_readahead_size", ["0", "1m"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..3000);
        flush_range(&db, 0..3000);
        let before = setup.memory_counters();
        db.compact_range(None, None).unwrap();
        setup.memory_counters() - before
    });
    assert!(much < none, "{none} reads without, {much} with readahead");
}

fn delayed_write_rate() {
    let rates = differs_with(
        "delayed_write_rate",
        ["1m", "2m"],
        |setup| setup.set("level0_file_num_compaction_trigger", "2").set("level0_slowdown_writes_trigger", "3"),
        |setup| {
            let db = setup.open();
            (0..3).for_each(|_| flush_range(&db, 0..10));
            setup.compactions.gate.set(true);
            let family = db.default_column_family().unwrap();
            db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
            let rate = number(&db, "actual-delayed-write-rate");
            setup.compactions.gate.open();
            rate
        },
    );
    assert!(rates[0] > 0 && rates[1] > rates[0], "{rates:?}");
}

fn db_write_buffer_size() {
    let [unbounded, bounded] = differs("db_write_buffer_size", ["0", "200000"], |setup| {
        let (db, families) = setup.try_open_families(&["default", "other"]).unwrap();
        put(&db, 0..2000);
        db.put_cf(&families[1], b"k", b"v", &WriteOptions::default()).unwrap();
        db.wait_for_background_work().unwrap();
        number(&db, "num-files-at-level0")
    });
    assert!(unbounded == 0 && bounded > 0, "{unbounded}, {bounded}");
}

fn log_text(setup: &Setup) -> String {
    String::from_utf8(setup.read("LOG")).unwrap()
}

fn info_log_level() {
    let written = differs("info_log_level", ["INFO_LEVEL", "ERROR_LEVEL"], |setup| {
        let db = setup.open();
        flush_range(&db, 0..10);
        log_text(&setup).contains("flushed")
    });
    assert_eq!(written, [true, false]);
}

fn keep_log_file_num() {
    let kept = differs_with("keep_log_file_num", ["3", "1000"], Setup::with_manual_clock, |setup| {
        for _ in 0..6 {
            drop(setup.open());
            // Names of logs are times.
            setup.clock.advance(Duration::from_millis(2));
        }
        setup.files(|name| name.starts_with("LOG")).len()
    });
    assert_eq!(kept, [3, 6]);
}

fn max_log_file_size() {
    let files = differs_with("max_log_file_size", ["600", "0"], Setup::with_manual_clock, |setup| {
        let db = setup.open();
        for _ in 0..8 {
            flush_range(&db, 0..10);
            setup.clock.advance(Duration::from_millis(1));
        }
        setup.files(|name| name.starts_with("LOG")).len() > 1
    });
    assert_eq!(files, [true, false]);
}

fn daily_offpeak_time_utc() {
    // The manual clock's day has its own hour: the text that covers all of them, and none.
    let compacted = differs_with(
        "daily_offpeak_time_utc",
        ["", "00:00-23:59"],
        |setup| {
            let setup = setup.with_manual_clock().set("disable_auto_compactions", "false").set("ttl", "0");
            setup.set("periodic_compaction_seconds", "172800")
        },
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..100);
            db.compact_range(None, None).unwrap();
            let before = setup.compactions.begun.load(Ordering::SeqCst);
            // Two days are over in an hour, and the next midnight is a longer way.
            let midnight = 86400 - setup.clock.unix_seconds() % 86400;
            setup.clock.advance(Duration::from_secs(midnight + 86400 + 3600));
            flush_range(&db, 40..50);
            db.wait_for_background_work().unwrap();
            let early = setup.compactions.begun.load(Ordering::SeqCst) > before;
            // It can be changed at any time.
            db.set_db_options(&[("daily_offpeak_time_utc", "00:00-23:58")]).unwrap();
            let error = db.set_db_options(&[("daily_offpeak_time_utc", "8-9")]).unwrap_err();
            assert!(error.message().contains("daily_offpeak_time_utc"), "{error}");
            flush_range(&db, 50..60);
            db.wait_for_background_work().unwrap();
            assert!(setup.compactions.begun.load(Ordering::SeqCst) > before);
            early
        },
    );
    assert_eq!(compacted, [false, true]);
}

fn stats_dump_period_sec() {
    let dumped = differs_with("stats_dump_period_sec", ["0", "60"], Setup::with_manual_clock, |setup| {
        let db = setup.open();
        setup.clock.advance(Duration::from_secs(120));
        flush_range(&db, 0..10);
        log_text(&setup).contains("DB Stats")
    });
    assert_eq!(dumped, [false, true]);
}

/// Whether a job adds a snapshot to the history of statistics, by an option.
fn snapshots_of_statistics(name: &str, values: [&str; 2]) {
    let prepare = |setup: Setup| {
        let mut setup = setup.with_manual_clock();
        setup.db.components.statistics = Some(Arc::new(Statistics::default()));
        setup
    };
    let kept = differs_with(name, values, prepare, |setup| {
        let db = setup.open();
        setup.clock.advance(Duration::from_secs(600));
        flush_range(&db, 0..10);
        db.stats_history(0, u64::MAX).unwrap().count() > 0
    });
    assert_eq!(kept, [false, true]);
}

#[test]
fn options_that_are_mutable_change_while_the_database_is_open() {
    let setup = Setup::new();
    let (db, families): (Db, _) = setup.try_open_families(&["default"]).unwrap();
    (0..5).for_each(|_| flush_range(&db, 0..50));
    db.set_options_cf(&families[0], &[("disable_auto_compactions", "false"), ("block_size", "512")]).unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(number(&db, "num-files-at-level0"), 0);
    flush_range(&db, 0..3000);
    let newest = db.live_files().into_iter().max_by_key(|file| file.number).unwrap();
    assert!(db.table_properties(&newest).unwrap().num_data_blocks > 500, "block_size");
    db.set_db_options(&[("max_background_jobs", "5"), ("max_total_wal_size", "100000")]).unwrap();
    flush_all(&db);
    drop((db, families));
    // And they are what the next open finds in the OPTIONS file.
    let (db, families) = Db::open_with_latest_options(DIRECTORY, setup.db.clone()).unwrap();
    let text = String::from_utf8(setup.read(&setup.files(|name| name.starts_with("OPTIONS-")).pop().unwrap())).unwrap();
    for line in ["block_size=512", "max_background_jobs=5", "max_total_wal_size=100000"] {
        assert!(text.contains(line), "{line}");
    }
    assert!(db.get_cf(&families[0], &ReadOptions::default(), key(3).as_bytes()).unwrap().is_some());
}

#[test]
fn the_manifest_limit_changes_while_the_database_is_open() {
    let setup = Setup::new();
    let db = setup.open();
    let manifest = || setup.files(|name| name.starts_with("MANIFEST")).pop().unwrap();
    let before = manifest();
    (0..10).for_each(|_| flush_range(&db, 0..2));
    assert_eq!(manifest(), before);
    db.set_db_options(&[("max_manifest_file_size", "1"), ("max_manifest_space_amp_pct", "0")]).unwrap();
    (0..3).for_each(|_| flush_range(&db, 0..2));
    assert_ne!(manifest(), before);
}

/// Tables, and the log, are written by files that wait.
fn strict_bytes_per_sync() {
    let heard = files::heard("strict_bytes_per_sync", ["false", "true"], "strict_bytes_per_sync: true");
    for purpose in ["Log", "Table"] {
        let is_strict = |heard: &String| {
            let mut opens = heard.split("\", \"").filter(|open| open.contains(&format!("purpose: {purpose}")));
            opens.any(|open| open.contains("strict_bytes_per_sync: true"))
        };
        assert_eq!(heard.each_ref().map(is_strict), [false, true], "{purpose}: {heard:?}");
    }
}

/// Bytes of tables between the beginnings of writes to the device: by default a MiB.
fn bytes_per_sync() {
    files::asked("bytes_per_sync", ["0", "65536"], "bytes_per_sync: 65536");
    files::asked("bytes_per_sync", ["65536", "0"], "bytes_per_sync: 1048576");
}
