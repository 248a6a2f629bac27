//! Every property answers, under both forms of its name, and its value follows the state of the database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{in_memory, open_default};
use ferrock::options::{CacheOptions, TableBlockCache};
use ferrock::statistics::Statistics;
use ferrock::{ColumnFamilyOptions, Db, FlushOptions, INTEGER_PROPERTIES, ReadOptions, TEXT_PROPERTIES, WriteOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, MemoryFileSystem, OperationKind};
use std::sync::Arc;
use std::time::Duration;

fn open() -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.compression = ferrock::options::CompressionType::NoCompression;
    open_default(in_memory(), family)
}

fn int(db: &Db, name: &str) -> u64 {
    db.int_property(name).unwrap_or_else(|| panic!("{name} does not answer"))
}

fn text(db: &Db, name: &str) -> String {
    db.property(name).unwrap_or_else(|| panic!("{name} does not answer"))
}

fn fill(db: &Db, begin: u32, end: u32) {
    for number in begin..end {
        db.put(format!("key{number:06}").as_bytes(), &[b'v'; 100]).unwrap();
    }
}

#[test]
fn every_name_answers_in_both_forms() {
    let mut family = ColumnFamilyOptions::default();
    family.blob_cache = Some(TableBlockCache::new(CacheOptions::default()));
    let db = open_default(in_memory(), family);
    fill(&db, 0, 100);
    db.flush().unwrap();
    let family = db.default_column_family().unwrap();
    for name in INTEGER_PROPERTIES {
        let long = format!("rocksdb.{name}");
        let value = int(&db, name);
        assert_eq!(db.int_property(&long), Some(value), "{long}");
        assert_eq!(db.property(name), Some(value.to_string()), "{name}");
        assert_eq!(db.property(&long), Some(value.to_string()), "{long}");
        assert_eq!(db.int_property_cf(&family, name), Some(value), "{name}");
    }
    for name in TEXT_PROPERTIES {
        let name = name.strip_suffix('N').map_or_else(|| (*name).to_owned(), |name| format!("{name}0"));
        if name == "options-statistics" {
            assert_eq!(db.property(&name), None, "there are none");
            continue;
        }
        let value = text(&db, &name);
        assert!(!value.is_empty() || name == "ferrock.options-without-effect", "{name}");
        // Those begin a new interval.
        let has_interval = ["stats", "cfstats", "cfstats-no-file-histogram", "dbstats"].contains(&&*name);
        let again = db.property(&format!("rocksdb.{name}")).map(|text| text.len());
        assert!(again == Some(value.len()) || has_interval && again.is_some(), "{name}");
        assert!(db.property_cf(&family, &name).is_some(), "{name}");
        let is_number = name.starts_with("num-files-at-level");
        assert!(is_number || db.int_property(&name).is_none(), "{name} is no number");
    }
    // Without a cache of blobs there is none to ask, and only a queue of files knows its oldest key.
    let db = open();
    for name in ["blob-cache-capacity", "blob-cache-usage", "blob-cache-pinned-usage", "estimate-oldest-key-time"] {
        assert_eq!((db.property(name), db.int_property(name)), (None, None), "{name}");
    }
    for name in ["", "rocksdb.", "rocksdb.no-such", "num-files-at-level", "num-files-at-level99", "num-files-at-levelx"]
    {
        assert_eq!(db.property(name), None, "{name}");
        assert_eq!(db.int_property(name), None, "{name}");
    }
}

#[test]
fn memtables() {
    let db = open();
    let empty = int(&db, "cur-size-all-mem-tables");
    assert_eq!(int(&db, "num-entries-active-mem-table"), 0);
    fill(&db, 0, 1000);
    db.delete(b"key000001").unwrap();
    assert_eq!(int(&db, "num-entries-active-mem-table"), 1001);
    assert_eq!(int(&db, "num-deletes-active-mem-table"), 1);
    assert!(int(&db, "cur-size-active-mem-table") > 100_000);
    assert!(int(&db, "cur-size-all-mem-tables") > empty + 100_000);
    assert!(int(&db, "size-all-mem-tables") >= int(&db, "cur-size-all-mem-tables"));
    assert!((990..=1001).contains(&int(&db, "estimate-num-keys")));
    // An iterator keeps the memtable that it reads.
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    db.flush().unwrap();
    assert_eq!(int(&db, "num-entries-active-mem-table"), 0);
    assert_eq!(int(&db, "num-immutable-mem-table"), 0);
    assert_eq!(int(&db, "num-entries-imm-mem-tables"), 0);
    assert_eq!(int(&db, "num-deletes-imm-mem-tables"), 0);
    assert_eq!(int(&db, "mem-table-flush-pending"), 0);
    assert_eq!(int(&db, "num-running-flushes"), 0);
    assert!(int(&db, "cur-size-all-mem-tables") <= empty + 5000);
    assert!(iter.valid());
}

#[test]
fn tables_and_levels() {
    let db = open();
    assert_eq!(int(&db, "total-sst-files-size"), 0);
    for round in 0..3 {
        fill(&db, round * 100, round * 100 + 200);
        db.flush().unwrap();
        assert_eq!(text(&db, "num-files-at-level0"), (round + 1).to_string());
    }
    let files: u64 = db.live_files().iter().map(|file| file.size_bytes).sum();
    assert_eq!(int(&db, "total-sst-files-size"), files);
    assert_eq!(int(&db, "live-sst-files-size"), files);
    assert_eq!(int(&db, "estimate-num-keys"), 600);
    assert!(int(&db, "estimate-table-readers-mem") > 0);
    assert!(text(&db, "sstables").contains("--- level 0 ---") && text(&db, "sstables").contains("key000000"));
    assert!(text(&db, "aggregated-table-properties").contains("600"), "{}", text(&db, "aggregated-table-properties"));
    assert!(text(&db, "compression-ratio-at-level0").parse::<f64>().unwrap() > 0.5);
    assert_eq!(text(&db, "compression-ratio-at-level3"), "-1.000000");
    let number = int(&db, "current-super-version-number");
    db.compact_range(None, None).unwrap();
    assert!(int(&db, "current-super-version-number") > number);
    assert_eq!(text(&db, "num-files-at-level0"), "0");
    assert_eq!(text(&db, "num-files-at-level6"), "1");
    assert_eq!(int(&db, "estimate-num-keys"), 400);
    assert_eq!(int(&db, "base-level"), 6);
    assert_eq!(int(&db, "live-non-bottommost-sst-files-size"), 0);
    let live = int(&db, "estimate-live-data-size");
    assert!(live > 0 && live <= int(&db, "total-sst-files-size"), "{live}");
    assert!(text(&db, "levelstats").lines().any(|line| line.split_whitespace().take(2).eq(["6", "1"])));
    let stats = text(&db, "stats");
    assert!(stats.contains("Compaction Stats [default]") && stats.contains("DB Stats"), "{stats}");
    assert!(stats.contains(&text(&db, "cfstats")[..40]));
    db.verify_checksum().unwrap();
}

#[test]
fn obsolete_files_are_counted_while_an_iterator_keeps_them() {
    let db = open();
    fill(&db, 0, 500);
    db.flush().unwrap();
    let before = int(&db, "total-sst-files-size");
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let versions = int(&db, "num-live-versions");
    fill(&db, 0, 500);
    db.compact_range(None, None).unwrap();
    assert!(int(&db, "obsolete-sst-files-size") >= before);
    // The table of the iterator is one of an older version.
    assert_eq!(int(&db, "total-sst-files-size"), int(&db, "live-sst-files-size") + before);
    assert!(int(&db, "num-live-versions") > versions);
    drop(iter);
    db.put(b"k", b"v").unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(int(&db, "obsolete-sst-files-size"), 0);
    assert_eq!(int(&db, "total-sst-files-size"), int(&db, "live-sst-files-size"));
}

#[test]
fn blob_files_are_counted_in_all_versions_and_in_the_current_one() {
    let mut family = ColumnFamilyOptions::default();
    family.enable_blob_files = true;
    family.disable_auto_compactions = true;
    let db = open_default(in_memory(), family);
    let number = |name| int(&db, name);
    let all = ["num-blob-files", "total-blob-file-size", "live-blob-file-size", "live-blob-file-garbage-size"];
    assert_eq!(all.map(number), [0; 4]);
    fill(&db, 0, 100);
    db.flush().unwrap();
    // Header and footer, and of each record a header, the key and the value.
    let (around, record) = (30 + 32, 32 + 9 + 100);
    let first = around + 100 * record;
    assert_eq!(all.map(number), [1, first, first, 0]);
    fill(&db, 0, 60);
    db.flush().unwrap();
    let second = around + 60 * record;
    assert_eq!(all.map(number), [2, first + second, first + second, 0]);
    db.compact_range(None, None).unwrap();
    let garbage = 60 * record;
    assert_eq!(all.map(number), [2, first + second, first + second, garbage]);
    let total = first + second;
    let amplification = format!("{:.5}", total as f64 / (total - garbage) as f64);
    let stats = text(&db, "blob-stats");
    assert_eq!(
        stats,
        format!(
            "Number of blob files: 2\nTotal size of blob files: {total}\nTotal size of garbage in blob files: {garbage}\n\
             Blob file space amplification: {}\n",
            amplification.trim_end_matches('0')
        )
    );
    // What an iterator still reads counts in the total alone, and once.
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let versions = number("num-live-versions");
    fill(&db, 0, 100);
    db.compact_range(None, None).unwrap();
    assert_eq!(number("num-live-versions"), versions + 1);
    assert_eq!(all.map(number), [1, first + total, first, 0]);
    let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    let of_other = |name| db.int_property_cf(&other, name).unwrap();
    assert_eq!((of_other("total-blob-file-size"), of_other("num-live-versions")), (0, 1));
    drop(iter);
    db.put(b"k", b"v").unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(number("total-blob-file-size"), number("live-blob-file-size"));
}

#[test]
fn snapshots() {
    let db = open();
    fill(&db, 0, 10);
    assert_eq!(
        (int(&db, "num-snapshots"), int(&db, "oldest-snapshot-sequence"), int(&db, "oldest-snapshot-time")),
        (0, 0, 0)
    );
    let first = db.snapshot();
    fill(&db, 10, 20);
    let second = db.snapshot();
    assert_eq!(int(&db, "num-snapshots"), 2);
    assert_eq!(int(&db, "oldest-snapshot-sequence"), 10);
    assert!(int(&db, "oldest-snapshot-time") > 1_500_000_000);
    drop(first);
    assert_eq!((int(&db, "num-snapshots"), int(&db, "oldest-snapshot-sequence")), (1, 20));
    drop(second);
    assert_eq!(int(&db, "num-snapshots"), 0);
}

#[test]
fn compaction_and_stalls() {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.level0_file_num_compaction_trigger = 2;
    family.level0_slowdown_writes_trigger = 3;
    family.level0_stop_writes_trigger = 4;
    let db = open_default(in_memory(), family);
    let flush_one = || {
        fill(&db, 0, 10);
        db.flush().unwrap();
    };
    (0..3).for_each(|_| flush_one());
    assert_eq!((int(&db, "compaction-pending"), int(&db, "is-write-stopped")), (0, 0));
    assert_eq!(int(&db, "num-running-compactions"), 0);
    let rate = int(&db, "actual-delayed-write-rate");
    assert_eq!(rate, 0, "without automatic compactions no writer is slowed down");
    let stalls = "Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 0, \
                  cf-l0-file-count-limit-stops-with-ongoing-compaction: 0, l0-file-count-limit-delays: 0, \
                  l0-file-count-limit-stops: 0, memtable-limit-delays: 0, memtable-limit-stops: 0, \
                  pending-compaction-bytes-delays: 0, pending-compaction-bytes-stops: 0, total-delays: 0, total-stops: 0\n";
    assert_eq!(text(&db, "cf-write-stall-stats"), stalls);
    assert_eq!(text(&db, "db-write-stall-stats"), "Write Stall (count): write-buffer-manager-limit-stops: 0\n");
    assert_eq!(int(&db, "num-running-compaction-sorted-runs"), 0);
    assert_eq!((int(&db, "compaction-abort-count"), int(&db, "min-obsolete-sst-number-to-keep")), (0, u64::MAX));
    assert!(int(&db, "estimate-pending-compaction-bytes") > 0);
    let default = db.default_column_family().unwrap();
    db.set_options_cf(&default, &[("disable_auto_compactions", "false")]).unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!((int(&db, "is-write-stopped"), int(&db, "actual-delayed-write-rate")), (0, 0));
    // When compactions were switched on there were as many files as slow writers down.
    let map = db.map_property("cf-write-stall-stats").unwrap();
    let count = |name: &str| map[name].parse::<u64>().unwrap();
    assert!(count("l0-file-count-limit-delays") >= 1, "{map:?}");
    assert_eq!(count("total-delays"), count("l0-file-count-limit-delays"));
    assert_eq!(int(&db, "compaction-pending"), 0);
    assert_eq!(text(&db, "num-files-at-level0"), "0");
    assert_eq!(int(&db, "estimate-pending-compaction-bytes"), 0);
}

#[test]
fn the_block_cache() {
    let mut options = in_memory();
    options.components.block_cache =
        Some(TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() }));
    let db = Db::open("/db", options).unwrap();
    fill(&db, 0, 1000);
    db.flush().unwrap();
    assert_eq!(int(&db, "block-cache-capacity"), 1 << 20);
    let before = int(&db, "block-cache-usage");
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        iter.next();
    }
    drop(iter);
    assert!(int(&db, "block-cache-usage") > before + 10_000);
    let unpinned = int(&db, "block-cache-pinned-usage");
    let value = db.get(b"key000500").unwrap();
    assert!(
        value.as_ref().is_some_and(ferrock::PinnedSlice::is_pinned) || int(&db, "block-cache-pinned-usage") == unpinned
    );
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    assert!(int(&db, "block-cache-pinned-usage") > unpinned);
    let of_entries = text(&db, "block-cache-entry-stats");
    assert!(
        of_entries.starts_with("Block cache ClockCache@") && of_entries.contains("capacity: 1.00 MB"),
        "{of_entries}"
    );
    assert!(of_entries.contains("Block cache entry stats(count,size,portion): DataBlock("), "{of_entries}");
    assert!(of_entries.contains("lookups(hits,misses,inserts,rejections,evictions): DataBlock("), "{of_entries}");
}

/// A count and the bytes of each role in the cache.
fn entries(db: &Db) -> std::collections::BTreeMap<String, (u64, u64)> {
    let map = db.map_property("rocksdb.block-cache-entry-stats").unwrap();
    let number = |key: String| map[&key].parse::<u64>().unwrap();
    let roles = map.keys().filter_map(|key| key.strip_prefix("count."));
    roles.map(|role| (role.to_owned(), (number(format!("count.{role}")), number(format!("bytes.{role}"))))).collect()
}

#[test]
fn the_entries_of_the_block_cache_by_role() {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.compression = ferrock::options::CompressionType::NoCompression;
    family.filter_policy = ferrock::options::FilterPolicy::bloom(10.0);
    family.table.index_type = ferrock_table::options::IndexType::TwoLevelIndexSearch;
    family.table.partition_filters = true;
    family.table.metadata_block_size = 512;
    family.table.cache_index_and_filter_blocks = true;
    family.table.pin_top_level_index_and_filter = false;
    let db = open_default(in_memory(), family);
    fill(&db, 0, 5000);
    db.flush().unwrap();
    for number in 0..5000 {
        db.get(format!("key{number:06}").as_bytes()).unwrap().unwrap();
    }
    let entries = entries(&db);
    for role in ["data-block", "index-block", "index-meta-block", "filter-block", "filter-meta-block"] {
        let (count, bytes) = entries[role];
        assert!(count > 0 && bytes > count * 20, "{role}: {count} of {bytes}");
    }
    assert_eq!((entries["index-meta-block"].0, entries["filter-meta-block"].0), (1, 1), "one table");
    assert!(entries["data-block"].0 >= 5000 * 100 / 4096 && entries["index-block"].0 > 3);
    assert_eq!(entries.values().map(|(_, bytes)| bytes).sum::<u64>(), int(&db, "block-cache-usage"));
    // RocksDB's keys.
    let map = db.map_property("fast-block-cache-entry-stats").unwrap();
    let default = db.default_column_family().unwrap();
    assert_eq!(db.map_property_cf(&default, "block-cache-entry-stats").unwrap().len(), map.len());
    for role in
        "data-block filter-block filter-meta-block deprecated-filter-block index-block other-block write-buffer \
                 compression-dictionary-building-buffer filter-construction block-based-table-reader file-metadata \
                 blob-value blob-cache misc"
            .split_whitespace()
    {
        for kind in ["count", "bytes", "percent"] {
            assert!(map.contains_key(&format!("{kind}.{role}")), "{kind}.{role}");
        }
    }
    let percent: f64 = map["percent.data-block"].parse().unwrap();
    let expected = 100.0 * entries["data-block"].1 as f64 / int(&db, "block-cache-capacity") as f64;
    assert!((percent - expected).abs() < 1e-5, "{percent} {expected}");
    assert_eq!(map["capacity"], int(&db, "block-cache-capacity").to_string());
    for key in ["id", "secs_for_last_collection", "secs_since_last_collection"] {
        assert!(!map[key].is_empty(), "{key}");
    }
    for name in ferrock::MAP_PROPERTIES {
        assert!(TEXT_PROPERTIES.contains(name), "{name}");
        let name = name.strip_suffix('N').map_or_else(|| (*name).to_owned(), |name| format!("{name}0"));
        assert!(db.map_property(&name).is_some(), "{name}");
    }
    assert_eq!(db.map_property("levelstats"), None);
}

/// The line of `text` that begins so.
fn line(text: &str, begin: &str) -> String {
    text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {text}")).to_owned()
}

/// Times by level in the text of `cf-file-histogram`.
fn latencies(db: &Db) -> usize {
    text(db, "cf-file-histogram").matches("read latency histogram").count()
}

#[test]
fn a_reset_begins_from_zero_and_leaves_the_metrics() {
    let mut options = in_memory();
    options.components.statistics = Some(Arc::new(Statistics::default()));
    let clock = Arc::new(ManualClock::new(1_000_000));
    options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.level0_file_num_compaction_trigger = 2;
    family.level0_slowdown_writes_trigger = 3;
    family.level0_stop_writes_trigger = 20;
    let db = open_default(options, family);
    let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    for _ in 0..3 {
        fill(&db, 0, 10);
        db.flush().unwrap();
    }
    db.get(b"key000001").unwrap().unwrap();
    let default = db.default_column_family().unwrap();
    // One evaluation that finds too many files, before they are compacted.
    db.set_options_cf(&default, &[("disable_auto_compactions", "false")]).unwrap();
    db.wait_for_background_work().unwrap();
    clock.advance(Duration::from_secs(100));
    let delays = |db: &Db| db.map_property("cf-write-stall-stats").unwrap()["total-delays"].clone();
    assert!(line(&text(&db, "dbstats"), "Cumulative writes: ").contains("30 writes, 30 keys"));
    assert!(line(&text(&db, "dbstats"), "Uptime(secs): ").contains("100.0 total"));
    assert!(line(&text(&db, "cfstats"), " Sum ").contains(" 60 "), "{}", text(&db, "cfstats"));
    assert!(delays(&db) != "0" && latencies(&db) > 0, "{} {}", delays(&db), latencies(&db));
    let before = db.metrics();

    db.reset_stats();
    clock.advance(Duration::from_secs(10));
    let of_database = text(&db, "dbstats");
    assert_eq!(line(&of_database, "Uptime(secs): "), "Uptime(secs): 10.0 total, 10.0 interval");
    for name in ["Cumulative", "Interval"] {
        assert!(
            line(&of_database, &format!("{name} writes: ")).contains(": 0 writes, 0 keys, 0 commit"),
            "{of_database}"
        );
        assert!(line(&of_database, &format!("{name} WAL: ")).contains(": 0 writes"), "{of_database}");
    }
    let of_family = text(&db, "cfstats");
    assert_eq!(line(&of_family, "Uptime(secs): "), "Uptime(secs): 10.0 total, 10.0 interval");
    // The files are what is there, the jobs are counted.
    let sum: Vec<String> = line(&of_family, " Sum ").split_whitespace().map(str::to_owned).collect();
    assert_eq!((&*sum[1], &*sum[sum.len() - 6], &*sum[sum.len() - 4]), ("1/0", "0", "0"), "{of_family}");
    assert!(!of_family.contains("\nHigh"), "{of_family}");
    assert_eq!((delays(&db), latencies(&db)), ("0".to_owned(), 0));

    fill(&db, 0, 7);
    db.flush().unwrap();
    clock.advance(Duration::from_secs(5));
    let of_database = text(&db, "dbstats");
    assert_eq!(line(&of_database, "Uptime(secs): "), "Uptime(secs): 15.0 total, 5.0 interval");
    assert!(line(&of_database, "Cumulative writes: ").contains(": 7 writes"), "{of_database}");
    let of_family = text(&db, "cfstats");
    assert!(line(&of_family, "High").contains("        1 "), "{of_family}");
    assert!(db.property_cf(&other, "cfstats").unwrap().contains("Uptime(secs): 15.0 total"));
    // Counters that are scraped go on.
    let after = db.metrics();
    assert_eq!(after.writes.batches, before.writes.batches + 7);
    assert_eq!(after.background.totals.flushes, before.background.totals.flushes + 1);
    assert!(after.families[0].stalls.delays() >= before.families[0].stalls.delays());
    assert_eq!(after.uptime_us, 115_000_000);
}

#[test]
fn errors_count_from_the_reset_on() {
    let faulty = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let mut options = common::options_on(Arc::new(faulty.clone()));
    options.max_bgerror_resume_count = 0;
    let db = open_default(options, ColumnFamilyOptions::default());
    fill(&db, 0, 10);
    faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::Io));
    db.flush().unwrap_err();
    let errors = int(&db, "background-errors");
    assert!(errors > 0);
    db.reset_stats();
    assert_eq!((int(&db, "background-errors"), db.metrics().background.errors), (0, errors));
}

#[test]
fn the_sum_over_families() {
    let cache = |bytes| TableBlockCache::new(CacheOptions { capacity_bytes: bytes, ..CacheOptions::default() });
    let mut options = in_memory();
    options.components.block_cache = Some(cache(1 << 20));
    let (mut own, queue) = (ColumnFamilyOptions::default(), ColumnFamilyOptions::default());
    own.block_cache = Some(cache(1 << 19));
    let families = vec![
        ("default".to_owned(), ColumnFamilyOptions::default()),
        ("shares".to_owned(), queue),
        ("own".to_owned(), own),
    ];
    let (db, families) = Db::open_cf("/db", options, families).unwrap();
    for (number, family) in families.iter().enumerate() {
        for key in 0..=number {
            db.put_cf(family, &[key as u8], b"value", &WriteOptions::default()).unwrap();
        }
    }
    let sum = |name| db.aggregated_int_property(name);
    for name in ["num-entries-active-mem-table", "rocksdb.num-entries-active-mem-table"] {
        assert_eq!((db.int_property(name), sum(name)), (Some(1), Some(6)));
    }
    // Of the database, so once for each family, as in RocksDB; and no sum overflows.
    let snapshot = db.snapshot();
    assert_eq!((sum("num-snapshots"), sum("min-obsolete-sst-number-to-keep")), (Some(3), Some(u64::MAX)));
    drop(snapshot);
    // A cache counts once, whichever of its families.
    assert_eq!(sum("block-cache-capacity"), Some((1 << 20) + (1 << 19)));
    db.drop_column_family(&families[2]).unwrap();
    assert_eq!((sum("num-entries-active-mem-table"), sum("block-cache-capacity")), (Some(3), Some(1 << 20)));
    for name in ["", "cfstats", "num-files-at-level0", "no-such", "estimate-oldest-key-time", "blob-cache-usage"] {
        assert_eq!(sum(name), None, "{name}");
    }
}

#[test]
fn logs_errors_and_families() {
    let db = open();
    assert_eq!((int(&db, "background-errors"), int(&db, "is-file-deletions-enabled")), (0, 1));
    let before = int(&db, "min-log-number-to-keep");
    fill(&db, 0, 10);
    db.flush().unwrap();
    assert!(int(&db, "min-log-number-to-keep") > before);
    // Each family answers for itself.
    let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    db.put_cf(&other, b"k", b"v", &WriteOptions::default()).unwrap();
    assert_eq!(db.int_property_cf(&other, "num-entries-active-mem-table"), Some(1));
    assert_eq!(int(&db, "num-entries-active-mem-table"), 0);
    db.flush_cf(&other, &FlushOptions::default()).unwrap();
    assert_eq!(db.property_cf(&other, "num-files-at-level0").unwrap(), "1");
    assert!(db.property_cf(&other, "cfstats").unwrap().contains("[other]"));
    assert!(text(&db, "ferrock.statistics").contains("flushes=2\n"), "{}", text(&db, "ferrock.statistics"));
}
