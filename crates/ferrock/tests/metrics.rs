//! What `Db::metrics` says, and the page of it for Prometheus, compared with what was done and with properties.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;
#[path = "common/exposition.rs"]
mod exposition;

use common::threads::{PATIENCE, Waiting, wait_until};
use common::{creating, in_memory, key, options_on};
use exposition::Page;
use ferrock::metrics::{
    ClassSnapshot, EntryRole, JobKind, JobStage, Metrics, ReadClass, RunningJob, WaitCause, WritePurpose, descriptions,
    prometheus, prometheus_page,
};
use ferrock::options::{CacheOptions, CompactionFilter, CompressionType, MemoryBudget, TableBlockCache};
use ferrock::statistics::{Histogram, Statistics, Ticker};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteBatch,
    WriteOptions,
};
use ferrock_base::ValueType;
use ferrock_base::compaction_filter::{FilterContext, FilterDecision, TableFileCreationReason};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

const DASHBOARD: &str = include_str!("../../../docs/grafana/ferrock.json");

fn quiet_family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.compression = CompressionType::NoCompression;
    family
}

fn open(options: DbOptions, families: &[(&str, ColumnFamilyOptions)]) -> (Db, Vec<ColumnFamily>) {
    let families = families.iter().map(|(name, options)| ((*name).to_owned(), options.clone())).collect();
    Db::open_cf("/db", options, families).unwrap()
}

fn scrape(db: &Db) -> Page {
    Page::parse(&prometheus(&db.metrics()))
}

type Labels = &'static [(&'static str, &'static str)];

/// Metrics of a family, other labels of each, and the properties that say the same.
const SAME_AS_PROPERTIES: [(&str, Labels, &str); 25] = [
    ("ferrock_immutable_memtables", &[], "num-immutable-mem-table"),
    ("ferrock_memtable_bytes", &[("kind", "active")], "cur-size-active-mem-table"),
    ("ferrock_memtable_entries", &[("kind", "active")], "num-entries-active-mem-table"),
    ("ferrock_memtable_entries", &[("kind", "immutable")], "num-entries-imm-mem-tables"),
    ("ferrock_memtable_deletes", &[("kind", "active")], "num-deletes-active-mem-table"),
    ("ferrock_memtable_deletes", &[("kind", "immutable")], "num-deletes-imm-mem-tables"),
    ("ferrock_flush_pending", &[], "mem-table-flush-pending"),
    ("ferrock_compaction_pending", &[], "compaction-pending"),
    ("ferrock_pending_compaction_bytes", &[], "estimate-pending-compaction-bytes"),
    ("ferrock_estimated_keys", &[], "estimate-num-keys"),
    ("ferrock_live_data_bytes", &[], "estimate-live-data-size"),
    ("ferrock_table_bytes", &[], "live-sst-files-size"),
    ("ferrock_table_held_bytes", &[], "total-sst-files-size"),
    ("ferrock_table_reader_bytes", &[], "estimate-table-readers-mem"),
    ("ferrock_blob_files", &[], "num-blob-files"),
    ("ferrock_blob_bytes", &[], "live-blob-file-size"),
    ("ferrock_blob_held_bytes", &[], "total-blob-file-size"),
    ("ferrock_blob_garbage_bytes", &[], "live-blob-file-garbage-size"),
    ("ferrock_live_versions", &[], "num-live-versions"),
    ("ferrock_level_files", &[("level", "0")], "num-files-at-level0"),
    ("ferrock_level_files", &[("level", "6")], "num-files-at-level6"),
    ("ferrock_blob_cache_capacity_bytes", &[], "blob-cache-capacity"),
    ("ferrock_blob_cache_usage_bytes", &[], "blob-cache-usage"),
    ("ferrock_blob_cache_pinned_bytes", &[], "blob-cache-pinned-usage"),
    ("ferrock_sorted_runs", &[], "num-files-at-level0"),
];

/// The same of a database.
const OF_DATABASE: [(&str, &str); 14] = [
    ("ferrock_running_flushes", "num-running-flushes"),
    ("ferrock_running_compactions", "num-running-compactions"),
    ("ferrock_running_compaction_sorted_runs", "num-running-compaction-sorted-runs"),
    ("ferrock_compaction_aborts", "compaction-abort-count"),
    ("ferrock_background_errors_total", "background-errors"),
    ("ferrock_snapshots", "num-snapshots"),
    ("ferrock_oldest_snapshot_sequence_number", "oldest-snapshot-sequence"),
    ("ferrock_delayed_write_bytes_per_second", "actual-delayed-write-rate"),
    ("ferrock_obsolete_table_bytes", "obsolete-sst-files-size"),
    ("ferrock_block_cache_capacity_bytes", "block-cache-capacity"),
    ("ferrock_block_cache_usage_bytes", "block-cache-usage"),
    ("ferrock_block_cache_pinned_bytes", "block-cache-pinned-usage"),
    ("ferrock_write_condition", "is-write-stopped"),
    ("ferrock_write_memory_stops_total", "db-write-stall-stats"),
];

fn compare_with_properties(db: &Db, page: &Page) {
    for family in db.column_families() {
        for (metric, labels, property) in SAME_AS_PROPERTIES {
            // Only without deeper levels are runs the files of level 0.
            if metric == "ferrock_sorted_runs" && db.property_cf(&family, "num-files-at-level6").unwrap() != "0" {
                continue;
            }
            let labels: Vec<(&str, &str)> = [("cf", family.name())].into_iter().chain(labels.iter().copied()).collect();
            let told = db.property_cf(&family, property).map(|value| value.parse().unwrap());
            assert_eq!(page.of(metric, &labels), told, "{metric} and {property} of {}", family.name());
        }
    }
    for (metric, property) in OF_DATABASE {
        let told = match property {
            "db-write-stall-stats" => {
                db.map_property(property).unwrap()["write-buffer-manager-limit-stops"].parse().ok()
            }
            _ => db.int_property(property).map(|value| value as f64),
        };
        let labels: &[(&str, &str)] = if property == "is-write-stopped" { &[("kind", "stopped")] } else { &[] };
        // Without a snapshot there is no number of one.
        assert_eq!(page.of(metric, labels).unwrap_or(0.0), told.unwrap(), "{metric} and {property}");
    }
    let counters = db.property("ferrock.statistics").unwrap();
    let counter = |name: &str| -> f64 {
        let line = counters.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap().parse().unwrap()
    };
    for (metric, name, unit) in [
        ("ferrock_write_batches_total", "batches_written", 1.0),
        ("ferrock_write_unlogged_batches_total", "unlogged_batches", 1.0),
        ("ferrock_write_keys_total", "keys_written", 1.0),
        ("ferrock_write_groups_total", "write_groups", 1.0),
        ("ferrock_write_parallel_groups_total", "parallel_groups", 1.0),
        ("ferrock_write_bytes_total", "bytes_written", 1.0),
        ("ferrock_wal_written_bytes_total", "wal_bytes", 1.0),
        ("ferrock_wal_syncs_total", "wal_syncs", 1.0),
        ("ferrock_write_stall_seconds_total", "stall_us", 1e6),
        ("ferrock_flushes_total", "flushes", 1.0),
        ("ferrock_flush_written_bytes_total", "flush_bytes", 1.0),
        ("ferrock_flush_seconds_total", "flush_us", 1e6),
        ("ferrock_compactions_total", "compactions", 1.0),
        ("ferrock_trivial_moves_total", "trivial_moves", 1.0),
        ("ferrock_compaction_read_bytes_total", "compaction_read_bytes", 1.0),
        ("ferrock_compaction_written_bytes_total", "compaction_write_bytes", 1.0),
        ("ferrock_compaction_copied_bytes_total", "compaction_copied_bytes", 1.0),
        ("ferrock_compaction_seconds_total", "compaction_us", 1e6),
        ("ferrock_remote_compactions_total", "remote_compactions", 1.0),
    ] {
        let found = page.of(metric, &[]).unwrap();
        assert!((found - counter(name) / unit).abs() < 1e-9, "{metric}: {found}, {name}: {}", counter(name));
    }
}

#[test]
fn a_page_says_what_was_done() {
    let mut options = in_memory();
    let statistics = Arc::new(Statistics::default());
    options.components.statistics = Some(Arc::clone(&statistics));
    let file_system = Arc::clone(options.components.file_system.as_ref().unwrap());
    let (db, families) = open(options, &[("default", quiet_family()), ("other", quiet_family())]);
    let other = &families[1];
    for _ in 0..3 {
        (0..100).for_each(|number| db.put(&key(number), &[b'v'; 100]).unwrap());
        db.flush().unwrap();
    }
    let before = scrape(&db);
    compare_with_properties(&db, &before);
    let level =
        |page: &Page, metric: &str, level: &str| page.of(metric, &[("cf", "default"), ("level", level)]).unwrap();
    let bytes_of_three = level(&before, "ferrock_level_bytes", "0");
    assert_eq!(bytes_of_three, db.live_files().iter().map(|file| file.size_bytes as f64).sum::<f64>());
    let of_family = |page: &Page, metric: &str| page.of(metric, &[("cf", "default")]).unwrap();
    assert_eq!((level(&before, "ferrock_level_files", "0"), of_family(&before, "ferrock_sorted_runs")), (3.0, 3.0));
    assert_eq!(of_family(&before, "ferrock_write_amplification"), 1.0);

    // An old iterator keeps the inputs of the compaction.
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    db.compact_range(None, None).unwrap();
    let mut batch = WriteBatch::new();
    for number in 0..50 {
        batch.put_cf(other.id(), &key(number), b"value").unwrap();
    }
    for number in 0..10 {
        batch.delete_cf(other.id(), &key(number)).unwrap();
    }
    db.write(batch, &WriteOptions { disable_wal: true, ..WriteOptions::default() }).unwrap();
    let snapshot = db.snapshot();
    let mut batch = WriteBatch::new();
    batch.put_cf(other.id(), b"synced", b"value").unwrap();
    db.write(batch, &WriteOptions { sync: true, ..WriteOptions::default() }).unwrap();
    for _ in 0..2 {
        (0..100).for_each(|number| assert!(db.get(&key(number)).unwrap().is_some()));
    }

    let metrics = db.metrics();
    let page = Page::parse(&prometheus(&metrics));
    compare_with_properties(&db, &page);
    let all = |metric: &str| page.of(metric, &[]).unwrap();
    assert_eq!([all("ferrock_write_batches_total"), all("ferrock_write_keys_total")], [302.0, 361.0]);
    assert_eq!([all("ferrock_write_unlogged_batches_total"), all("ferrock_wal_syncs_total")], [1.0, 1.0]);
    assert_eq!([all("ferrock_write_groups_total"), all("ferrock_sequence_number")], [302.0, 361.0]);
    assert!(all("ferrock_write_bytes_total") > all("ferrock_wal_written_bytes_total"));
    assert_eq!(metrics.writes.logged_batches(), 301);
    assert_eq!([all("ferrock_flushes_total"), all("ferrock_compactions_total")], [3.0, 1.0]);
    assert_eq!([all("ferrock_snapshots"), all("ferrock_oldest_snapshot_sequence_number")], [1.0, 360.0]);
    assert_eq!(all("ferrock_snapshot_pinned_sequences"), 1.0);
    assert_eq!(snapshot.sequence(), metrics.snapshots.oldest_sequence.unwrap());
    assert_eq!(all("ferrock_background_error"), 0.0);

    // The compaction read three tables of one hundred keys each and wrote one.
    assert_eq!((level(&page, "ferrock_level_files", "0"), level(&page, "ferrock_level_files", "6")), (0.0, 1.0));
    assert_eq!(level(&page, "ferrock_level_jobs_total", "0"), 3.0);
    assert_eq!(level(&page, "ferrock_level_jobs_total", "6"), 1.0);
    assert_eq!(level(&page, "ferrock_level_read_above_bytes_total", "6"), bytes_of_three);
    assert_eq!(level(&page, "ferrock_level_entries_total", "6"), 300.0);
    assert_eq!(level(&page, "ferrock_level_dropped_entries_total", "6"), 200.0);
    let written = level(&page, "ferrock_level_bytes", "6");
    assert_eq!(level(&page, "ferrock_level_written_bytes_total", "6"), written);
    assert_eq!(level(&page, "ferrock_level_write_amplification", "6"), written / bytes_of_three);
    let amplification = (bytes_of_three + written) / bytes_of_three;
    assert_eq!(of_family(&page, "ferrock_write_amplification"), amplification);
    let job = |metric: &str, kind: &str| page.of(metric, &[("cf", "default"), ("kind", kind)]).unwrap();
    assert_eq!([job("ferrock_jobs_total", "flush"), job("ferrock_jobs_total", "compaction")], [3.0, 1.0]);
    assert_eq!(job("ferrock_job_written_bytes_total", "flush"), bytes_of_three);
    assert_eq!(job("ferrock_job_read_bytes_total", "compaction"), bytes_of_three);
    assert_eq!(of_family(&page, "ferrock_space_amplification"), 1.0);
    assert_eq!(all("ferrock_obsolete_table_bytes"), bytes_of_three);
    assert_eq!(of_family(&page, "ferrock_table_held_bytes"), bytes_of_three + written);
    let memtable = |metric: &str| page.of(metric, &[("cf", "other"), ("kind", "active")]).unwrap();
    assert_eq!([memtable("ferrock_memtable_entries"), memtable("ferrock_memtable_deletes")], [61.0, 10.0]);

    // Statistics, the cache and the file system counted the same.
    assert_eq!(all("ferrock_statistics_number_keys_read_total"), 200.0);
    assert_eq!(all("ferrock_statistics_number_keys_written_total"), 361.0);
    assert_eq!(all("ferrock_statistics_db_get_seconds_count"), 200.0);
    let sum = statistics.histogram(Histogram::DbGet).sum() as f64 / 1e6;
    assert!((all("ferrock_statistics_db_get_seconds_sum") - sum).abs() < 1e-9);
    assert_eq!(all("ferrock_statistics_block_cache_hit_total"), statistics.ticker(Ticker::BlockCacheHit) as f64);
    let kind = |metric: &str, kind: &str| page.of(metric, &[("kind", kind)]).unwrap();
    let data = metrics.block_cache.stats.role(EntryRole::DataBlock);
    assert!(data.hits > 0 && data.misses > 0);
    assert_eq!(kind("ferrock_block_cache_hits_total", "DataBlock"), data.hits as f64);
    assert_eq!(kind("ferrock_block_cache_misses_total", "DataBlock"), data.misses as f64);
    assert_eq!(kind("ferrock_block_cache_held_bytes", "DataBlock"), data.usage_bytes as f64);
    let io = file_system.counters().snapshot();
    assert_eq!(db.metrics().io, file_system.counters().snapshot());
    assert_eq!(kind("ferrock_io_append_bytes_total", "log"), io.purpose(WritePurpose::Log).append_bytes as f64);
    let ClassSnapshot { requests, .. } = io.class(ReadClass::Data);
    assert_eq!(kind("ferrock_io_class_requests_total", "data"), requests as f64);
    assert_eq!(all("ferrock_io_read_bytes_total"), io.read_bytes as f64);
    assert_eq!(kind("ferrock_io_operations_total", "open"), io.opens as f64);

    drop((iter, snapshot));
    db.wait_for_background_work().unwrap();
    let page = scrape(&db);
    compare_with_properties(&db, &page);
    assert_eq!(page.of("ferrock_snapshots", &[]), Some(0.0));
    assert_eq!(page.of("ferrock_oldest_snapshot_sequence_number", &[]), None);
    assert_eq!(page.of("ferrock_obsolete_table_bytes", &[]), Some(0.0));
}

/// Holds a job at its first entry until the test has looked.
struct Holding {
    reached: mpsc::SyncSender<()>,
    go_on: Mutex<mpsc::Receiver<()>>,
    is_first: AtomicBool,
}

impl Holding {
    fn new() -> (Arc<Self>, mpsc::Receiver<()>, mpsc::SyncSender<()>) {
        let ((reached, was_reached), (go_on, waits)) = (mpsc::sync_channel(1), mpsc::sync_channel(1));
        let holding = Self { reached, go_on: Mutex::new(waits), is_first: AtomicBool::new(true) };
        (Arc::new(holding), was_reached, go_on)
    }
}

impl CompactionFilter for Holding {
    fn name(&self) -> &str {
        "test.Holding"
    }
    fn should_filter_table_file_creation(&self, _: TableFileCreationReason) -> bool {
        true
    }
    fn filter(&self, _: &FilterContext, _: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        if self.is_first.swap(false, Ordering::SeqCst) {
            self.reached.send(()).unwrap();
            let _ = self.go_on.lock().recv_timeout(PATIENCE);
        }
        FilterDecision::Keep
    }
}

#[test]
fn jobs_are_told_of_as_they_run() {
    let (holding, was_reached, go_on) = Holding::new();
    let mut family = quiet_family();
    family.compaction_filter = Some(Arc::clone(&holding) as Arc<dyn CompactionFilter>);
    family.target_file_size_base = 1000;
    let (db, handles) = open(creating_in_memory(), &[("default", quiet_family()), ("held", family)]);
    let held = &handles[1];
    let put = |number: u64| db.put_cf(held, &key(number), &[number as u8; 100], &WriteOptions::default()).unwrap();
    (0..50).for_each(put);
    let running = |db: &Db| db.metrics().background.jobs;
    assert_eq!(running(&db), []);
    // What is seen is looked at when the job is over: a test that fails while it holds one would wait for ever.
    let seen = std::thread::scope(|scope| {
        let flush = scope.spawn(|| db.flush_cf(held, &FlushOptions::default()).unwrap());
        was_reached.recv_timeout(PATIENCE).unwrap();
        let seen = running(&db);
        go_on.send(()).unwrap();
        flush.join().unwrap();
        seen
    });
    assert_eq!(seen.len(), 1, "{seen:?}");
    let RunningJob { kind, stage, start_level, output_level, inputs, written_bytes, .. } = seen[0];
    assert_eq!((kind, stage, start_level, output_level), (JobKind::Flush, JobStage::Writing, None, 0));
    assert_eq!((inputs, written_bytes, seen[0].is_manual), (1, 0, false));
    assert_eq!((seen[0].family.as_str(), seen[0].reason), ("held", "Manual Flush"));
    assert!(seen[0].input_bytes >= 50 * 100, "{seen:?}");
    assert_eq!(running(&db), []);

    (25..100).for_each(put);
    holding.is_first.store(false, Ordering::SeqCst);
    db.flush_cf(held, &FlushOptions::default()).unwrap();
    holding.is_first.store(true, Ordering::SeqCst);
    let seen = std::thread::scope(|scope| {
        let compaction =
            scope.spawn(|| db.compact_range_cf(held, None, None, &CompactRangeOptions::default()).unwrap());
        was_reached.recv_timeout(PATIENCE).unwrap();
        let seen = db.metrics();
        go_on.send(()).unwrap();
        compaction.join().unwrap();
        seen
    });
    let (jobs, level0) = (&seen.background.jobs, &seen.family("held").unwrap().levels[0]);
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    let job = &jobs[0];
    assert_eq!((job.kind, job.start_level, job.inputs, job.is_manual), (JobKind::Compaction, Some(0), 2, true));
    assert_eq!((job.input_bytes, job.reason), (level0.bytes, "ManualCompaction"));
    assert_eq!((level0.files_compacting, seen.background.running_compactions), (2, 0), "the count is of threads");
    assert!(job.to_string().starts_with(&format!("compaction {} of held, L0 to L", job.job_id)), "{job}");
    wait_until("the compaction is over", || running(&db).is_empty());
    db.close().unwrap();
}

#[test]
fn a_stall_has_its_cause_and_time() {
    let (db, _) = open(in_memory(), &[("default", quiet_family())]);
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("max_write_buffer_number", "4")]).unwrap();
    db.pause_background_work().unwrap();
    let at_once = FlushOptions { wait: false, force_atomic_flush: false, allow_write_stall: true };
    for round in 0..4_u32 {
        db.put(&round.to_be_bytes(), b"value").unwrap();
        db.flush_cf(&family, &at_once).unwrap();
    }
    let page = scrape(&db);
    compare_with_properties(&db, &page);
    let condition = |page: &Page, kind: &str| page.of("ferrock_write_condition", &[("kind", kind)]);
    assert_eq!((condition(&page, "stopped"), condition(&page, "normal")), (Some(1.0), Some(0.0)));
    assert_eq!(page.of("ferrock_immutable_memtables", &[("cf", "default")]), Some(4.0));
    let writer = {
        let db = db.clone();
        Waiting::begin("a writer that is stopped", move || db.put(b"waits", b"value"))
    };
    // A wait is counted when it is over.
    let waits = |page: &Page| page.of("ferrock_writer_waits_total", &[("cause", "memtables"), ("kind", "stop")]);
    assert_eq!(waits(&scrape(&db)), Some(0.0));
    db.continue_background_work().unwrap();
    writer.join().unwrap();
    db.wait_for_background_work().unwrap();

    let metrics = db.metrics();
    let page = Page::parse(&prometheus(&metrics));
    compare_with_properties(&db, &page);
    let wait = |metric: &str, cause: &str, kind: &str| page.of(metric, &[("cause", cause), ("kind", kind)]).unwrap();
    assert_eq!(wait("ferrock_writer_waits_total", "memtables", "stop"), 1.0);
    assert!(wait("ferrock_writer_wait_seconds_total", "memtables", "stop") > 0.0);
    for cause in ["level0_files", "pending_compaction_bytes", "write_buffer_manager"] {
        assert_eq!(wait("ferrock_writer_waits_total", cause, "stop"), 0.0, "{cause}");
    }
    let us: u64 = metrics.stalls.waits.iter().map(|waits| waits.delay_us + waits.stop_us).sum();
    assert_eq!((us, metrics.stalls.waits.len()), (metrics.writes.stall_us, WaitCause::ALL.len()));
    let counts = db.map_property("cf-write-stall-stats").unwrap();
    for (cause, kind, name) in [
        ("memtables", "stop", "memtable-limit-stops"),
        ("memtables", "delay", "memtable-limit-delays"),
        ("level0_files", "stop", "l0-file-count-limit-stops"),
        ("level0_files", "delay", "l0-file-count-limit-delays"),
        ("pending_compaction_bytes", "stop", "pending-compaction-bytes-stops"),
        ("pending_compaction_bytes", "delay", "pending-compaction-bytes-delays"),
    ] {
        let found = page.of("ferrock_stall_conditions_total", &[("cf", "default"), ("cause", cause), ("kind", kind)]);
        assert_eq!(found, counts[name].parse().ok(), "{name}");
    }
    assert!(counts["memtable-limit-stops"] != "0");
}

/// With all that a page can have.
fn full(budget: &Arc<MemoryBudget>) -> Db {
    let mut options = in_memory();
    options.components.statistics = Some(Arc::new(Statistics::default()));
    options.components.memory_budget = Some(Arc::clone(budget));
    let mut family = quiet_family();
    family.enable_blob_files = true;
    family.min_blob_size = 1000;
    let (db, _) = open(options, &[("default", family)]);
    (0..100).for_each(|number| db.put(&key(number), &[b'v'; 1000]).unwrap());
    db.flush().unwrap();
    db.put(&key(0), b"short").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    (0..100).for_each(|number| assert!(db.get(&key(number)).unwrap().is_some()));
    db
}

#[test]
fn memory_is_told_by_holder() {
    let budget = MemoryBudget::new(16 << 20);
    let db = full(&budget);
    db.put(b"in the memtable", &[b'v'; 5000]).unwrap();
    db.wait_for_background_work().unwrap();
    let report = db.metrics().memory.unwrap();
    let page = scrape(&db);
    compare_with_properties(&db, &page);
    assert_eq!(page.of("ferrock_memory_budget_bytes", &[]), Some(f64::from(16 << 20)));
    // What the allocator loses is looked at from time to time; all else is still.
    let holders: BTreeSet<&str> = report.holders.iter().map(|holder| holder.name).collect();
    assert!(["DataBlock", "WriteBuffer", "BlobValue", "FileMetadata"].iter().all(|name| holders.contains(name)));
    for holder in report.holders.iter().filter(|holder| holder.name != "AllocatorLoss") {
        let found = page.of("ferrock_memory_held_bytes", &[("holder", holder.name)]);
        assert_eq!(found, Some(holder.bytes as f64), "{}", holder.name);
    }
    assert!(page.of("ferrock_memory_held_bytes", &[("holder", "WriteBuffer")]).unwrap() >= 5000.0);
    assert_eq!(page.of("ferrock_blob_files", &[("cf", "default")]), Some(1.0));
    let of_family = |name: &str| page.of(name, &[("cf", "default")]).unwrap();
    let (blobs, garbage) = (of_family("ferrock_blob_bytes"), of_family("ferrock_blob_garbage_bytes"));
    assert!(garbage >= 1000.0);
    // Of the blob file all but a header of 30 bytes, a footer of 32 and the garbage is alive.
    let (tables, live) = (of_family("ferrock_table_bytes"), of_family("ferrock_live_data_bytes"));
    assert_eq!(live, tables + blobs - 62.0 - garbage);
    assert_eq!(of_family("ferrock_space_amplification"), (tables + blobs) / live);
}

#[test]
fn every_metric_is_printed_and_the_dashboard_names_these_alone() {
    let db = full(&MemoryBudget::new(16 << 20));
    let _snapshot = db.snapshot();
    let page = scrape(&db);
    let described: BTreeSet<String> = descriptions().into_iter().map(|metric| metric.name).collect();
    let printed: BTreeSet<String> = page.types.keys().cloned().collect();
    assert_eq!(printed.difference(&described).next(), None);
    assert_eq!(described.difference(&printed).next(), None);
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut named = BTreeSet::new();
    names_in(&dashboard, &mut named);
    assert!(named.len() > 50, "{}", named.len());
    for name in named {
        assert!(page.names().contains(name.as_str()), "the dashboard names {name}, which is not printed");
    }
}

/// Names of metrics in texts.
fn names_in(value: &serde_json::Value, names: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::String(text) => {
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            names.extend(words.filter(|word| word.starts_with("ferrock_")).map(str::to_owned));
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| names_in(value, names)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| names_in(value, names)),
        _ => {}
    }
}

#[test]
fn counters_never_go_back_under_load() {
    const WRITERS: u64 = 3;
    const BATCHES: u64 = 3_000;
    const READS: u64 = 5_000;
    let mut options = in_memory();
    options.components.statistics = Some(Arc::new(Statistics::default()));
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 128 << 10;
    family.level0_file_num_compaction_trigger = 2;
    let (db, families) = open(options, &[("default", family.clone()), ("other", family)]);
    let is_over = AtomicBool::new(false);
    let scrapes = std::thread::scope(|scope| {
        let (db, families, is_over) = (&db, &families, &is_over);
        let scraper = scope.spawn(move || {
            let (mut last, mut scrapes) = (scrape(db), 1);
            while !is_over.load(Ordering::SeqCst) || scrapes < 3 {
                let page = scrape(db);
                page.assert_not_behind(&last);
                (last, scrapes) = (page, scrapes + 1);
            }
            scrapes
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    for number in 0..BATCHES {
                        let mut batch = WriteBatch::new();
                        batch.put(&key(writer * BATCHES + number), &[b'v'; 100]).unwrap();
                        batch.put_cf(families[1].id(), &key(number), &[b'w'; 50]).unwrap();
                        let disable_wal = number % 5 == 0;
                        db.write(batch, &WriteOptions { disable_wal, ..WriteOptions::default() }).unwrap();
                    }
                })
            })
            .collect();
        let reader = scope.spawn(move || {
            for number in 0..READS {
                db.get(&key(number % (WRITERS * BATCHES))).unwrap();
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        reader.join().unwrap();
        is_over.store(true, Ordering::SeqCst);
        scraper.join().unwrap()
    });
    db.wait_for_background_work().unwrap();
    let page = scrape(&db);
    compare_with_properties(&db, &page);
    let all = |metric: &str| page.of(metric, &[]).unwrap();
    let batches = (WRITERS * BATCHES) as f64;
    assert_eq!(all("ferrock_write_batches_total"), batches, "{scrapes} scrapes");
    assert_eq!(all("ferrock_write_unlogged_batches_total"), batches / 5.0);
    assert_eq!([all("ferrock_write_keys_total"), all("ferrock_sequence_number")], [2.0 * batches; 2]);
    assert_eq!(all("ferrock_statistics_number_keys_written_total"), 2.0 * batches);
    assert_eq!(all("ferrock_statistics_number_keys_read_total"), READS as f64);
    assert_eq!(all("ferrock_statistics_db_get_seconds_count"), READS as f64);
    assert_eq!(all("ferrock_statistics_db_write_seconds_count"), batches);
    let flushes = page.of("ferrock_jobs_total", &[("cf", "default"), ("kind", "flush")]).unwrap()
        + page.of("ferrock_jobs_total", &[("cf", "other"), ("kind", "flush")]).unwrap();
    assert!(flushes > 2.0 && flushes == all("ferrock_flushes_total"), "{flushes}");
}

#[test]
fn names_of_any_letters_come_back() {
    let (db, _) = open(in_memory(), &[("default", quiet_family())]);
    let names = ["a \"quoted\" one", "of\ntwo lines", "commas,and={braces} le=\"1\"", "naïve ключ"];
    for name in names {
        db.create_column_family(name, quiet_family()).unwrap();
    }
    let backslash = db.create_column_family(&ferrock::byte_text::canonical("back\\\\slash"), quiet_family()).unwrap();
    let mut metrics = db.metrics();
    metrics.name = "C:\\data\n\"here\"".to_owned();
    let page = Page::parse(&prometheus(&metrics));
    assert_eq!(page.databases(), BTreeSet::from(["C:\\data\n\"here\""]));
    for name in names.into_iter().chain([backslash.name(), "default"]) {
        assert_eq!(page.of("ferrock_table_files", &[("cf", name)]), Some(0.0), "{name}");
    }
    assert!(backslash.name().contains('\\'));
}

#[test]
fn several_databases_share_a_page() {
    let (one, _) = open(in_memory(), &[("default", quiet_family())]);
    let (two, _) = open(in_memory(), &[("default", quiet_family())]);
    two.put(b"key", b"value").unwrap();
    let mut all: [Metrics; 2] = [one.metrics(), two.metrics()];
    all[1].name = "two".to_owned();
    let page = Page::parse(&prometheus_page(&all));
    assert_eq!(page.databases(), BTreeSet::from(["/db", "two"]));
    assert_eq!(page.of("ferrock_write_batches_total", &[("db", "two")]), Some(1.0));
    assert_eq!(page.of("ferrock_write_batches_total", &[("db", "/db")]), Some(0.0));
    assert_eq!(Page::parse(&prometheus_page([])).samples.len(), 0);
}

#[test]
fn empty_databases_and_those_open_for_reading() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let (db, _) = open(options_on(Arc::clone(&files)), &[("default", quiet_family())]);
    let page = scrape(&db);
    compare_with_properties(&db, &page);
    assert_eq!(page.of("ferrock_write_amplification", &[("cf", "default")]), Some(0.0));
    assert_eq!(page.of("ferrock_space_amplification", &[("cf", "default")]), Some(0.0));
    assert_eq!(page.of("ferrock_wal_files", &[]), Some(1.0));
    assert!(page.samples.iter().all(|sample| sample.value.is_finite()));

    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.put(b"other", b"value").unwrap();
    let written = scrape(&db);
    let (reader, _) = Db::open_read_only("/db", options_on(files), None).unwrap();
    let read = scrape(&reader);
    compare_with_properties(&reader, &read);
    for metric in ["ferrock_table_bytes", "ferrock_table_files", "ferrock_estimated_keys", "ferrock_sorted_runs"] {
        assert_eq!(read.of(metric, &[("cf", "default")]), written.of(metric, &[("cf", "default")]), "{metric}");
    }
    assert_eq!(read.of("ferrock_sequence_number", &[]), written.of("ferrock_sequence_number", &[]));
    assert_eq!(read.of("ferrock_write_batches_total", &[]), Some(0.0));
}

#[test]
fn a_family_may_have_its_own_cache() {
    let mut family = quiet_family();
    family.block_cache =
        Some(TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() }));
    let (db, _) = open(creating_in_memory(), &[("default", quiet_family()), ("own", family)]);
    let page = scrape(&db);
    let capacity = page.of("ferrock_block_cache_capacity_bytes", &[("cf", "own")]);
    assert_eq!(capacity, Some(f64::from(1 << 20)));
    let own = db.column_families().into_iter().find(|family| family.name() == "own").unwrap();
    assert_eq!(db.int_property_cf(&own, "block-cache-capacity").map(|bytes| bytes as f64), capacity);
    assert_eq!(page.of("ferrock_block_cache_capacity_bytes", &[("cf", "default")]), None);
    wait_until("a scrape of a moment later", || {
        scrape(&db).of("ferrock_uptime_seconds", &[]) > page.of("ferrock_uptime_seconds", &[])
    });
}

fn creating_in_memory() -> DbOptions {
    let mut options = creating();
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    options
}
