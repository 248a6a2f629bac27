//! Properties follow what they tell: memtables that wait, compactions that run, ages, temperatures, levels, and the
//! maps of all of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::threads::{Gate, wait_until};
use common::{in_memory, open_default};
use ferrock::options::{CompactionStyle, CompressionType, Temperature};
use ferrock::{ColumnFamilyOptions, CompactionJobInfo, Db, DbOptions, EventListener, FlushOptions};
use ferrock_base::clock::{Clock, ManualClock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const START_SECS: u64 = 1_700_000_000;

fn int(db: &Db, name: &str) -> u64 {
    db.int_property(name).unwrap_or_else(|| panic!("{name} does not answer"))
}

fn text(db: &Db, name: &str) -> String {
    db.property(name).unwrap_or_else(|| panic!("{name} does not answer"))
}

fn map(db: &Db, name: &str) -> BTreeMap<String, String> {
    db.map_property(name).unwrap_or_else(|| panic!("{name} does not answer"))
}

fn fill(db: &Db, begin: u32, end: u32) {
    for number in begin..end {
        db.put(format!("key{number:06}").as_bytes(), &[b'v'; 100]).unwrap();
    }
}

fn without_compactions() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.compression = CompressionType::NoCompression;
    family
}

/// Options with a clock that the test moves.
fn timed() -> (DbOptions, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(START_SECS * 1_000_000));
    let mut options = in_memory();
    options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    (options, clock)
}

#[test]
fn memtables_that_wait_for_their_flush() {
    let mut family = without_compactions();
    family.max_write_buffer_number = 8;
    let db = open_default(in_memory(), family);
    let names = [
        "num-immutable-mem-table",
        "num-entries-imm-mem-tables",
        "num-deletes-imm-mem-tables",
        "mem-table-flush-pending",
        "num-entries-active-mem-table",
        "num-deletes-active-mem-table",
    ];
    let all = || names.map(|name| int(&db, name));
    db.pause_background_work().unwrap();
    let at_once = FlushOptions { wait: false, allow_write_stall: true, ..FlushOptions::default() };
    fill(&db, 0, 10);
    (0..3).for_each(|number: u32| db.delete(format!("key{number:06}").as_bytes()).unwrap());
    assert_eq!(all(), [0, 0, 0, 0, 13, 3]);
    let empty = int(&db, "cur-size-active-mem-table");
    let default = db.default_column_family().unwrap();
    db.flush_cf(&default, &at_once).unwrap();
    assert_eq!(all(), [1, 13, 3, 1, 0, 0]);
    assert!(int(&db, "cur-size-all-mem-tables") > empty);
    fill(&db, 10, 17);
    db.flush_cf(&default, &at_once).unwrap();
    assert_eq!(all(), [2, 20, 3, 1, 0, 0]);
    db.delete(b"key000012").unwrap();
    assert_eq!(all(), [2, 20, 3, 1, 1, 1]);
    db.continue_background_work().unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(all(), [0, 0, 0, 0, 1, 1]);
}

/// Holds compactions at their beginning.
#[derive(Debug)]
struct AtGate(Arc<Gate>);

impl EventListener for AtGate {
    fn on_compaction_begin(&self, _: &CompactionJobInfo) {
        self.0.pass();
    }
}

#[test]
fn a_compaction_that_runs_has_sorted_runs_and_output_numbers() {
    let gate = Gate::shut();
    let mut options = in_memory();
    options.components.listeners.push(Arc::new(AtGate(Arc::clone(&gate))));
    let mut family = without_compactions();
    family.level0_file_num_compaction_trigger = 3;
    let db = open_default(options, family);
    let running = || ["num-running-compactions", "num-running-compaction-sorted-runs"].map(|name| int(&db, name));
    for _ in 0..3 {
        fill(&db, 0, 50);
        db.flush().unwrap();
    }
    assert_eq!((running(), int(&db, "min-obsolete-sst-number-to-keep")), ([0, 0], u64::MAX));
    let newest = db.live_files().iter().map(|file| file.number.0).max().unwrap();
    let default = db.default_column_family().unwrap();
    db.set_options_cf(&default, &[("disable_auto_compactions", "false")]).unwrap();
    gate.wait_for(1);
    assert_eq!(running(), [1, 3], "three files of level 0, each a run");
    let row = map(&db, "cfstats");
    assert_eq!(
        (&*row["compaction.L0.CompactedFiles"], &*row["compaction.Sum.CompactedFiles"]),
        ("3.000000", "3.000000")
    );
    gate.open();
    db.wait_for_background_work().unwrap();
    assert_eq!((running(), int(&db, "min-obsolete-sst-number-to-keep")), ([0, 0], u64::MAX));
    assert!(db.live_files().iter().all(|file| file.number.0 > newest));
}

/// Holds jobs while they write a table.
#[derive(Debug)]
struct AtTable(Arc<Gate>);

impl EventListener for AtTable {
    fn on_table_file_creation_started(&self, _: &ferrock::FileCreationBriefInfo) {
        self.0.pass();
    }
}

#[test]
fn a_job_that_writes_a_table_keeps_its_number() {
    let gate = Gate::shut();
    let mut options = in_memory();
    options.components.listeners.push(Arc::new(AtTable(Arc::clone(&gate))));
    let db = open_default(options, without_compactions());
    fill(&db, 0, 10);
    let default = db.default_column_family().unwrap();
    db.flush_cf(&default, &FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
    gate.wait_for(1);
    let kept = int(&db, "min-obsolete-sst-number-to-keep");
    assert_eq!((kept < u64::MAX, int(&db, "num-running-flushes")), (true, 1));
    gate.open();
    db.wait_for_background_work().unwrap();
    let numbers: Vec<u64> = db.live_files().iter().map(|file| file.number.0).collect();
    assert_eq!((numbers, int(&db, "min-obsolete-sst-number-to-keep")), (vec![kept], u64::MAX));
}

#[test]
fn the_oldest_key_of_a_queue() {
    let (options, clock) = timed();
    let mut family = without_compactions();
    family.compaction_style = CompactionStyle::Fifo;
    let oldest = |db: &Db| db.int_property("estimate-oldest-key-time");
    let db = open_default(options.clone(), family.clone());
    assert_eq!(oldest(&db), None, "there is no key");
    clock.advance(Duration::from_secs(10));
    fill(&db, 0, 1);
    clock.advance(Duration::from_secs(10));
    fill(&db, 1, 2);
    assert_eq!(oldest(&db), Some(START_SECS + 10), "of the memtable");
    clock.advance(Duration::from_secs(10));
    db.flush().unwrap();
    assert_eq!(oldest(&db), Some(START_SECS + 10), "of the table: when its key was written, not its own time");
    fill(&db, 2, 3);
    db.flush().unwrap();
    assert_eq!(db.property("rocksdb.estimate-oldest-key-time"), Some((START_SECS + 10).to_string()));
    let times: Vec<u64> =
        db.live_files().iter().map(|file| db.table_properties(file).unwrap().oldest_key_time).collect();
    assert_eq!(times.iter().max(), Some(&(START_SECS + 30)), "{times:?}");
    db.close().unwrap();
    // The table tells it to the next open, and what is read from the log is as old as the open.
    clock.advance(Duration::from_secs(60));
    let db = open_default(options.clone(), family.clone());
    assert_eq!(oldest(&db), Some(START_SECS + 10));
    // What is compacted does not keep it.
    db.set_options_cf(
        &db.default_column_family().unwrap(),
        &[("compaction_options_fifo", "{allow_compaction=true;max_table_files_size=1000000;}")],
    )
    .unwrap();
    assert_eq!(oldest(&db), None);
    db.close().unwrap();
    let mut levels = family;
    levels.compaction_style = CompactionStyle::Level;
    let mut other = in_memory();
    other.components.clock = options.components.clock;
    let db = open_default(other, levels);
    fill(&db, 0, 1);
    assert_eq!(oldest(&db), None, "only of a queue");
}

#[test]
fn a_log_that_is_read_again_is_as_old_as_the_open() {
    let (mut options, clock) = timed();
    options.avoid_flush_during_shutdown = true;
    options.avoid_flush_during_recovery = true;
    let mut family = without_compactions();
    family.compaction_style = CompactionStyle::Fifo;
    let db = open_default(options.clone(), family.clone());
    fill(&db, 0, 1);
    db.close().unwrap();
    clock.advance(Duration::from_secs(60));
    let db = open_default(options, family);
    assert_eq!(int(&db, "num-entries-active-mem-table"), 1);
    assert_eq!(int(&db, "estimate-oldest-key-time"), START_SECS + 60);
}

#[test]
fn bytes_by_temperature() {
    let (options, clock) = timed();
    let mut family = without_compactions();
    family.compaction_style = CompactionStyle::Fifo;
    family.num_levels = 1;
    family.disable_auto_compactions = false;
    assert!(family.settings.set("ttl", "0").unwrap());
    let ages = "{max_table_files_size=100000000;file_temperature_age_thresholds={{temperature=kCold;age=100;}};}";
    assert!(family.settings.set("compaction_options_fifo", ages).unwrap());
    let db = open_default(options, family);
    let at = |temperature: Temperature| -> u64 {
        text(&db, &format!("live-sst-files-size-at-temperature{}", temperature as u8)).parse().unwrap()
    };
    for number in 0..2 {
        fill(&db, number, number + 1);
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
    }
    let all = int(&db, "live-sst-files-size");
    assert_eq!((at(Temperature::Unknown), at(Temperature::Cold), at(Temperature::Hot)), (all, 0, 0));
    clock.advance(Duration::from_secs(1000));
    fill(&db, 2, 3);
    db.flush().unwrap();
    let files = || db.live_files();
    wait_until("the old tables are cold", || {
        files().iter().filter(|file| file.temperature == Temperature::Cold).count() >= 1
    });
    db.wait_for_background_work().unwrap();
    let cold: u64 =
        files().iter().filter(|file| file.temperature == Temperature::Cold).map(|file| file.size_bytes).sum();
    assert!(cold > 0);
    assert_eq!(at(Temperature::Cold), cold);
    assert_eq!(at(Temperature::Unknown) + cold, int(&db, "live-sst-files-size"));
    assert_eq!(db.property("live-sst-files-size-at-temperature"), None);
    assert_eq!(db.property("live-sst-files-size-at-temperaturex"), None);
}

#[test]
fn sums_of_tables_by_level_and_the_list_of_tables() {
    let db = open_default(in_memory(), without_compactions());
    let sum = |name: &str, key: &str| -> u64 { map(&db, name)[key].parse().unwrap() };
    let at = |level: usize| sum(&format!("rocksdb.aggregated-table-properties-at-level{level}"), "num_entries");
    fill(&db, 0, 100);
    db.compact_range(None, None).unwrap();
    fill(&db, 50, 80);
    db.delete(b"key000001").unwrap();
    db.flush().unwrap();
    let by_level: Vec<u64> = (0..7).map(at).collect();
    assert_eq!(by_level, [31, 0, 0, 0, 0, 0, 100]);
    assert_eq!(sum("aggregated-table-properties", "num_entries"), 131);
    assert_eq!(sum("aggregated-table-properties", "num_deletions"), 1);
    assert!(text(&db, "aggregated-table-properties-at-level0").contains("# entries=31; # deletions=1; "));
    assert!(text(&db, "aggregated-table-properties-at-level6").contains("# entries=100; # deletions=0; "));
    let keys: Vec<String> = map(&db, "aggregated-table-properties").into_keys().collect();
    assert_eq!(
        keys.join(" "),
        "data_size fast_compression_estimated_data_size filter_size index_partitions index_size num_data_blocks \
         num_data_blocks_compression_bypassed num_data_blocks_compression_rejected num_deletions num_entries \
         num_filter_entries num_merge_operands num_range_deletions num_uniform_blocks raw_key_size raw_value_size \
         slow_compression_estimated_data_size top_level_index_size uncompressed_data_size"
    );
    for name in ["7", "", "x", "-1"] {
        assert_eq!(db.map_property(&format!("aggregated-table-properties-at-level{name}")), None, "{name}");
    }
    // Each table is in the list, below the line of its level.
    let list = text(&db, "sstables");
    let of = |level: usize| {
        let (_, rest) = list.split_once(&format!("--- level {level} ---\n")).unwrap();
        rest.split("--- level ").next().unwrap().to_owned()
    };
    for file in db.live_files() {
        let line = format!(" {}:{}[{} .. ", file.number.0, file.size_bytes, file.smallest_sequence);
        assert!(of(file.level).contains(&line), "{line}: {list}");
    }
    assert!(of(0).contains("'key000001' .. 'key000079'") && of(6).contains("'key000000' .. 'key000099'"), "{list}");
    assert_eq!((of(0).lines().count(), of(1).lines().count(), of(6).lines().count()), (1, 0, 1));
    db.compact_range(None, None).unwrap();
    assert_eq!((at(0), at(6)), (0, 99));
    assert!(!text(&db, "sstables").contains(&of(0)), "the table is gone");
}

/// Level 0 is compacted into the deepest level while there is little, and into higher ones as the tree grows.
#[test]
fn the_base_level_rises_as_the_tree_grows() {
    let mut family = without_compactions();
    family.max_bytes_for_level_base = 20_000;
    family.target_file_size_base = 10_000;
    family.max_bytes_for_level_multiplier = 4.0;
    let db = open_default(in_memory(), family);
    assert_eq!(int(&db, "base-level"), 6);
    fill(&db, 0, 100);
    db.compact_range(None, None).unwrap();
    assert_eq!(int(&db, "base-level"), 6);
    fill(&db, 0, 400);
    db.compact_range(None, None).unwrap();
    let higher = int(&db, "base-level");
    assert_eq!(higher, 5, "40,000 bytes are more than 20,000 and less than four times as much");
    fill(&db, 0, 2000);
    db.compact_range(None, None).unwrap();
    assert_eq!(int(&db, "base-level"), 4);
}

/// The columns of `cfstats`, and the maps of both texts.
#[test]
fn maps_of_statistics() {
    let (mut options, clock) = timed();
    options.components.statistics = None;
    let mut family = without_compactions();
    family.compression = CompressionType::Lz4;
    family.enable_blob_files = true;
    family.min_blob_size = 1000;
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 1.0;
    let db = open_default(options, family);
    fill(&db, 0, 2000);
    db.put(b"large", &[b'b'; 100_000]).unwrap();
    db.flush().unwrap();
    fill(&db, 1000, 1500);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let stats = map(&db, "rocksdb.cfstats");
    let of = |row: &str, column: &str| -> f64 { stats[&format!("compaction.{row}.{column}")].parse().unwrap() };
    assert_eq!((of("L6", "NumFiles"), of("Sum", "NumFiles")), (1.0, 1.0));
    assert!(!stats.contains_key("compaction.L3.NumFiles"), "nothing was there");
    assert_eq!((of("L0", "CompCount"), of("L6", "CompCount"), of("Sum", "CompCount")), (2.0, 1.0, 3.0));
    assert_eq!((of("L6", "KeyIn"), of("L6", "KeyDrop")), (2501.0, 500.0));
    assert_eq!(of("L6", "SizeBytes"), int(&db, "live-sst-files-size") as f64);
    // The numbers of the metrics are not rounded as those of gigabytes are.
    let level = db.metrics().families[0].levels.clone();
    let (first, last) = (level[0].jobs, level[6].jobs);
    assert!(first.uncompressed_bytes > 10 * first.written_bytes, "{first:?}: the values compress");
    assert!(last.uncompressed_bytes > 10 * last.written_bytes, "{last:?}");
    assert_eq!(last.blob_read_bytes, 32 + 5 + stored_bytes(&db), "one record was moved: {last:?}");
    assert!(last.cpu_us > 0 && first.cpu_us > 0, "{first:?} {last:?}");
    assert_eq!(last.read_bytes(), last.read_above_bytes + last.read_there_bytes + last.blob_read_bytes);
    let gib = |bytes: u64| format!("{:.6}", bytes as f64 / f64::from(1 << 30));
    for (column, bytes) in [
        ("ReadGB", last.read_bytes()),
        ("RnGB", last.read_above_bytes),
        ("WriteGB", last.written_bytes),
        ("WPreCompGB", last.uncompressed_bytes),
        ("RblobGB", last.blob_read_bytes),
        ("WblobGB", last.blob_written_bytes),
    ] {
        assert_eq!(stats[&format!("compaction.L6.{column}")], gib(bytes), "{column}");
    }
    assert_eq!(stats["compaction.L6.CompMergeCPU"], format!("{:.6}", last.cpu_us as f64 / 1e6));
    assert_eq!(stats["total-stops"], "0");
    assert_eq!(stats.keys().filter(|key| key.starts_with("compaction.Sum.")).count(), 22);

    clock.advance(Duration::from_millis(2500));
    let of_database = map(&db, "rocksdb.dbstats");
    let keys: Vec<&str> = of_database.keys().map(String::as_str).collect();
    assert_eq!(
        keys.join(" "),
        "db.uptime db.user_bytes_written db.user_keys_written db.user_write_stall_micros db.user_writes_by_other \
         db.user_writes_by_self db.user_writes_with_wal db.wal_bytes_written db.wal_syncs \
         write-buffer-manager-limit-stops"
    );
    assert_eq!((&*of_database["db.user_keys_written"], &*of_database["db.uptime"]), ("2501", "2.500000"));
    assert_eq!((&*of_database["db.user_writes_by_self"], &*of_database["db.user_writes_by_other"]), ("2501", "0"));
    // A map begins no interval, a text does.
    assert!(text(&db, "dbstats").contains("Interval writes: 2501 writes"));
    assert!(text(&db, "dbstats").contains("Interval writes: 0 writes"));
    db.reset_stats();
    assert_eq!(map(&db, "dbstats")["db.user_keys_written"], "0");
    assert_eq!(map(&db, "cfstats")["compaction.Sum.CompCount"], "0.000000");
    assert_eq!(map(&db, "cfstats")["compaction.Sum.NumFiles"], "1.000000");
}

/// Bytes of the one value in the blob file, as it is stored.
fn stored_bytes(db: &Db) -> u64 {
    let around = 30 + 32 + 32 + 5;
    db.int_property("live-blob-file-size").unwrap() - around
}
