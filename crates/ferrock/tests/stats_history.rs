//! The history of statistics: a snapshot in each `stats_persist_period_sec`, whose increases add up to what was done.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::threads::{Gate, wait_until};
use common::{Contents, options_on, rows_of};
use ferrock::statistics::{Statistics, Ticker};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, DbOptions, EventListener, FlushJobInfo, FlushOptions, ReadOptions,
    StatsHistoryEntry, WriteOptions, WriteStallCondition,
};
use ferrock_base::Comparator;
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{FileSystem, MemoryFileSystem, write_file_synced};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// When the clock begins, in seconds.
const BEGIN: u64 = 1_700_000_000;
const WRITTEN: &str = "rocksdb.number.keys.written";
const READ: &str = "rocksdb.number.keys.read";

/// A database on a clock that only the test moves.
struct Rig {
    clock: Arc<ManualClock>,
    statistics: Arc<Statistics>,
    files: MemoryFileSystem,
    options: DbOptions,
}

impl Rig {
    fn new(period_secs: u32) -> Self {
        let clock = Arc::new(ManualClock::new(BEGIN * 1_000_000));
        let statistics = Arc::new(Statistics::default());
        let files = MemoryFileSystem::new();
        let mut options = options_on(Arc::new(files.clone()));
        options.stats_persist_period_sec = period_secs;
        options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
        options.components.statistics = Some(Arc::clone(&statistics));
        Self { clock, statistics, files, options }
    }

    fn open(&self) -> Db {
        Db::open("/db", self.options.clone()).unwrap()
    }

    /// With the family of the history, which is there without being named.
    fn open_with_family(&self) -> (Db, ColumnFamily) {
        let db = self.open();
        let family = db.column_family(FAMILY).unwrap();
        (db, family)
    }

    /// Lets time pass, and the thread see it: it sleeps before and behind it.
    fn pass(&self, seconds: u64) {
        wait_until("the thread sleeps", || self.clock.asleep() == 1);
        self.clock.advance(Duration::from_secs(seconds));
        wait_until("the thread sleeps again", || self.clock.asleep() == 1);
    }
}

fn history(db: &Db, start: u64, end: u64) -> Vec<StatsHistoryEntry> {
    db.stats_history(start, end).unwrap().map(|entry| entry.unwrap()).collect()
}

/// Times since the beginning of the clock, with the increase of a ticker.
fn increases(db: &Db, ticker: &str) -> Vec<(u64, u64)> {
    let of = |entry: StatsHistoryEntry| (entry.unix_seconds - BEGIN, entry.increases.get(ticker).copied().unwrap_or(0));
    history(db, 0, u64::MAX).into_iter().map(of).collect()
}

fn put(db: &Db, count: usize) {
    (0..count).for_each(|number| db.put(format!("key{number}").as_bytes(), b"value").unwrap());
}

fn get(db: &Db, count: usize) {
    (0..count).for_each(|number| drop(db.get(format!("key{number}").as_bytes()).unwrap()));
}

#[test]
fn each_period_adds_a_snapshot_and_they_add_up_to_what_was_done() {
    let rig = Rig::new(60);
    rig.statistics.add(Ticker::NumberKeysRead, 1_000_000);
    let db = rig.open();
    let opened = rig.statistics.snapshot();
    put(&db, 3);
    rig.pass(59);
    assert_eq!(history(&db, 0, u64::MAX), [], "a second too early");
    rig.pass(1);
    put(&db, 4);
    get(&db, 5);
    rig.pass(60);
    rig.pass(60);
    get(&db, 6);
    // A long time passes as one period.
    rig.pass(100_000);
    assert_eq!(increases(&db, WRITTEN), [(60, 3), (120, 4), (180, 0), (100_180, 0)]);
    assert_eq!(increases(&db, READ), [(60, 0), (120, 5), (180, 0), (100_180, 6)], "not what was there before the open");
    // Over all snapshots every ticker has what its counter has.
    for (ticker, opened) in opened.tickers {
        let before = if ticker == Ticker::NumberKeysRead { 1_000_000 } else { 0 };
        let sum: u64 = increases(&db, ticker.name()).iter().map(|(_, increase)| increase).sum();
        let counted = rig.statistics.ticker(ticker);
        // What an open counts before the marks are made belongs to no period.
        assert!((counted - opened..=counted - before).contains(&sum), "{}: {sum} of {counted}", ticker.name());
    }
    // Nothing that did not grow is in it.
    assert!(history(&db, 0, u64::MAX).iter().all(|entry| entry.increases.values().all(|increase| *increase > 0)));
    // What ends with `end`, and what begins with `start`.
    let times = |start: u64, end: u64| -> Vec<u64> {
        history(&db, BEGIN + start, BEGIN + end).iter().map(|entry| entry.unix_seconds - BEGIN).collect()
    };
    assert_eq!(times(60, 180), [60, 120]);
    assert_eq!(times(61, 181), [120, 180]);
    assert_eq!(times(181, 100_180), [0u64; 0]);
    assert_eq!(times(180, 60), [0u64; 0]);
    // It is of the moment of the call.
    let before = db.stats_history(0, u64::MAX).unwrap();
    rig.pass(60);
    assert_eq!(before.count(), 4);
    assert_eq!(history(&db, 0, u64::MAX).len(), 5);
    db.close().unwrap();
    wait_until("the thread ends with the database", || rig.clock.sleepers() == 0);
}

#[test]
fn resets_take_nothing_from_the_history() {
    let rig = Rig::new(60);
    let db = rig.open();
    put(&db, 7);
    rig.pass(60);
    put(&db, 2);
    db.reset_stats();
    rig.statistics.reset();
    put(&db, 3);
    rig.pass(60);
    rig.statistics.reset();
    put(&db, 100);
    rig.pass(60);
    assert_eq!(increases(&db, WRITTEN), [(60, 7), (120, 5), (180, 100)]);
    assert_eq!(rig.statistics.ticker(Ticker::NumberKeysWritten), 100);
    db.close().unwrap();
}

#[test]
fn the_oldest_snapshots_go_when_the_bytes_are_too_many() {
    let mut rig = Rig::new(60);
    rig.options.stats_history_buffer_size = 4_096;
    let db = rig.open();
    for number in 1..=100 {
        put(&db, number);
        rig.pass(60);
    }
    let kept = increases(&db, WRITTEN);
    assert!(kept.len() > 3 && kept.len() < 65, "{kept:?}");
    let newest: Vec<(u64, u64)> = (101 - kept.len() as u64..=100).map(|number| (60 * number, number)).collect();
    assert_eq!(kept, newest);
    // Less at once, and all of it again with the periods that come.
    db.set_db_options(&[("stats_history_buffer_size", "600")]).unwrap();
    let fewer = increases(&db, WRITTEN);
    assert!(!fewer.is_empty() && fewer.len() < kept.len() && newest.ends_with(&fewer), "{fewer:?}");
    db.set_db_options(&[("stats_history_buffer_size", "0")]).unwrap();
    assert_eq!(history(&db, 0, u64::MAX), []);
    rig.pass(60);
    assert_eq!(history(&db, 0, u64::MAX), []);
    db.set_db_options(&[("stats_history_buffer_size", "1m")]).unwrap();
    put(&db, 1);
    rig.pass(60);
    assert_eq!(increases(&db, WRITTEN), [(102 * 60, 1)]);
    db.close().unwrap();
}

#[test]
fn the_period_changes_while_the_database_is_open() {
    let rig = Rig::new(60);
    let db = rig.open();
    put(&db, 1);
    rig.pass(60);
    let set = |seconds: &str| db.set_db_options(&[("stats_persist_period_sec", seconds)]).unwrap();
    set("0");
    wait_until("the end of the thread", || rig.clock.sleepers() == 0);
    rig.clock.advance(Duration::from_secs(10_000));
    put(&db, 2);
    db.flush().unwrap();
    assert_eq!(increases(&db, WRITTEN), [(60, 1)], "0: never, also before jobs");
    set("20000");
    rig.pass(9_999);
    assert_eq!(increases(&db, WRITTEN).len(), 1);
    put(&db, 4);
    // Shorter than what has passed: at once, with all that came since the last one.
    set("30");
    wait_until("a snapshot", || increases(&db, WRITTEN) == [(60, 1), (20_059, 6)]);
    put(&db, 8);
    rig.pass(30);
    assert_eq!(increases(&db, WRITTEN), [(60, 1), (20_059, 6), (20_089, 8)]);
    db.close().unwrap();
}

#[test]
fn without_statistics_or_open_for_reading_there_is_none() {
    let mut rig = Rig::new(60);
    let statistics = rig.options.components.statistics.take();
    let db = rig.open();
    assert_eq!(rig.clock.sleepers(), 0, "no thread for it");
    rig.clock.advance(Duration::from_secs(600));
    put(&db, 1);
    db.flush().unwrap();
    assert_eq!(history(&db, 0, u64::MAX), []);
    db.set_db_options(&[("stats_persist_period_sec", "30")]).unwrap();
    assert_eq!(rig.clock.sleepers(), 0);
    db.close().unwrap();
    rig.options.components.statistics = statistics;
    let mut options = rig.options.clone();
    options.create_if_missing = false;
    let (db, families) = Db::open_read_only("/db", options, None).unwrap();
    assert_eq!(rig.clock.sleepers(), 0);
    rig.clock.advance(Duration::from_secs(600));
    get(&db, 1);
    assert_eq!(history(&db, 0, u64::MAX), []);
    drop((db, families));
}

/// With a clock of its own a database has no thread for the default period alone.
#[test]
fn a_job_takes_the_snapshot_that_is_due() {
    let rig = Rig::new(DbOptions::default().stats_persist_period_sec);
    let db = rig.open();
    assert_eq!(rig.clock.sleepers(), 0, "the default is no reason for a thread");
    rig.clock.advance(Duration::from_secs(599));
    put(&db, 1);
    db.flush().unwrap();
    assert_eq!(history(&db, 0, u64::MAX), []);
    rig.clock.advance(Duration::from_secs(1));
    put(&db, 1);
    db.flush().unwrap();
    assert_eq!(increases(&db, WRITTEN), [(600, 2)]);
    db.close().unwrap();
}

/// On the machine's clock the timer of the process takes them, of all databases; the clock is real here, so nothing is
/// asked of when.
#[test]
fn databases_on_the_clock_of_the_machine_need_no_thread_of_their_own() {
    let open = |period: u32| {
        let mut options = options_on(Arc::new(MemoryFileSystem::new()));
        options.stats_persist_period_sec = period;
        options.components.statistics = Some(Arc::new(Statistics::default()));
        Db::open("/db", options).unwrap()
    };
    let databases = [1, 1, 0, 100_000].map(open);
    let snapshots = |number: usize| history(&databases[number], 0, u64::MAX).len();
    put(&databases[0], 5);
    wait_until("snapshots", || snapshots(0) >= 2 && snapshots(1) >= 2);
    let written = || increases_of(&databases[0], WRITTEN);
    wait_until("what was written", || written() == 5);
    assert_eq!((snapshots(2), snapshots(3)), (0, 0));
    databases[3].set_db_options(&[("stats_persist_period_sec", "1")]).unwrap();
    wait_until("a snapshot", || snapshots(3) >= 1);
    // The timer runs on while one of them is closed.
    databases[0].clone().close().unwrap();
    let of_other = snapshots(1);
    wait_until("snapshots", || snapshots(1) >= of_other + 2);
}

fn increases_of(db: &Db, ticker: &str) -> u64 {
    history(db, 0, u64::MAX).iter().filter_map(|entry| entry.increases.get(ticker)).sum()
}

const FAMILY: &str = "___rocksdb_stats_history___";

fn rows(db: &Db, family: &ColumnFamily) -> Contents {
    rows_of(db.iter_cf(family, &ReadOptions::default()))
}

/// As the bytes of RocksDB 11.8.1 are.
#[test]
fn a_history_on_disk_is_a_family_of_times_and_tickers() {
    let mut rig = Rig::new(60);
    rig.options.persist_stats_to_disk = true;
    let db = rig.open();
    let family = db.column_family(FAMILY).unwrap();
    let versions: Contents = [
        (b"__persistent_stats_compatible_version__".to_vec(), b"1".to_vec()),
        (b"__persistent_stats_format_version__".to_vec(), b"1".to_vec()),
    ]
    .into();
    assert_eq!(rows(&db, &family), versions);
    put(&db, 3);
    rig.pass(60);
    put(&db, 12);
    rig.pass(60);
    let found = rows(&db, &family);
    let value = |key: &str| found.get(key.as_bytes()).map(|value| String::from_utf8(value.clone()).unwrap());
    // The versions are written behind the open, and each snapshot counts in the one behind it.
    assert_eq!(value("1700000060#rocksdb.write.wal").as_deref(), Some("4"));
    assert_eq!(value("1700000120#rocksdb.write.wal").as_deref(), Some("13"));
    assert_eq!(value("1700000120#rocksdb.memtable.hit"), None, "it did not grow");
    assert!(found.keys().all(|key| key.starts_with(b"17000000") || key.starts_with(b"1700000120#") || key[0] == b'_'));
    assert_eq!(increases(&db, "rocksdb.write.wal"), [(60, 4), (120, 13)]);
    assert_eq!(history(&db, BEGIN + 61, u64::MAX).len(), 1);
    assert_eq!(history(&db, BEGIN + 60, BEGIN + 120).len(), 1);
    assert_eq!(history(&db, BEGIN + 121, u64::MAX), []);
    assert_eq!(history(&db, BEGIN + 120, BEGIN), []);
    assert_eq!(history(&db, u64::MAX, u64::MAX), []);
    db.close().unwrap();
    drop(family);
    wait_until("the thread ends with the database", || rig.clock.sleepers() == 0);
    // It is there after the next open, which goes on with it, and for one that reads.
    let db = rig.open();
    put(&db, 1);
    rig.pass(60);
    assert_eq!(increases(&db, "rocksdb.write.wal"), [(60, 4), (120, 13), (180, 1)]);
    db.close().unwrap();
    let mut options = rig.options.clone();
    options.create_if_missing = false;
    let default = vec![("default".to_owned(), ColumnFamilyOptions::default())];
    let (db, families) = Db::open_read_only("/db", options, Some(default)).unwrap();
    assert_eq!((increases(&db, "rocksdb.write.wal").len(), families.len()), (3, 1));
}

/// Of a database that RocksDB 11.8.1 wrote with `persist_stats_to_disk`, and did not flush.
#[test]
fn a_history_that_rocksdb_wrote_is_read_and_continued() {
    let mut rig = Rig::new(60);
    let memory = MemoryFileSystem::new();
    memory.create_dir_all(Path::new("/db")).unwrap();
    for (name, content) in [
        ("CURRENT", &include_bytes!("testdata/stats_history/CURRENT")[..]),
        ("MANIFEST-000005", include_bytes!("testdata/stats_history/MANIFEST-000005")),
        ("000004.log", include_bytes!("testdata/stats_history/000004.log")),
    ] {
        write_file_synced(&memory, &Path::new("/db").join(name), content).unwrap();
    }
    rig.options.components.file_system = Some(Arc::new(memory));
    rig.options.create_if_missing = false;
    rig.options.persist_stats_to_disk = true;
    let db = rig.open();
    let found = history(&db, 0, u64::MAX);
    // RocksDB's own iterator has 263 tickers, of which these are not 0.
    let grown = [("bytes.written", 12), ("wal.bytes", 12), ("write.self", 1), ("write.wal", 1)];
    let grown = grown.map(|(name, increase)| (format!("rocksdb.{name}"), increase));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].unix_seconds, &found[0].increases), (1_795_908_310, &grown.into()));
    assert_eq!(rows(&db, &db.column_family(FAMILY).unwrap()).len(), 265);
    put(&db, 1);
    rig.pass(60);
    assert_eq!(increases(&db, "rocksdb.write.wal"), [(60, 1), (1_795_908_310 - BEGIN, 1)]);
    db.close().unwrap();
}

#[test]
fn the_family_is_open_whether_it_is_named_or_not() {
    let mut rig = Rig::new(60);
    rig.options.persist_stats_to_disk = true;
    let db = rig.open();
    rig.pass(60);
    assert!(db.create_column_family(FAMILY, ColumnFamilyOptions::default()).is_err(), "it is there");
    db.close().unwrap();
    // Without the option it is open, and left as it is.
    rig.options.persist_stats_to_disk = false;
    let (db, families) =
        Db::open_cf("/db", rig.options.clone(), vec![("default".to_owned(), ColumnFamilyOptions::default())]).unwrap();
    assert_eq!(families.iter().map(ColumnFamily::name).collect::<Vec<_>>(), ["default"]);
    let family = db.column_family(FAMILY).unwrap();
    let before = rows(&db, &family);
    rig.pass(60);
    assert_eq!(rows(&db, &family), before);
    assert_eq!(history(&db, 0, u64::MAX).len(), 1, "in memory");
    db.close().unwrap();
    drop((family, families));
    rig.options.persist_stats_to_disk = true;
    let named = ["default", FAMILY].map(|name| (name.to_owned(), ColumnFamilyOptions::default()));
    let (db, families) = Db::open_cf("/db", rig.options.clone(), named.clone().into()).unwrap();
    assert_eq!(rows(&db, &families[1]), before);
    assert_eq!(history(&db, 0, u64::MAX).len(), 1, "that of the first open");
    // A family that is dropped stays away until the next open, which makes it, also for one that names it.
    db.drop_column_family(&families[1]).unwrap();
    rig.pass(60);
    assert_eq!(history(&db, 0, u64::MAX), []);
    db.close().unwrap();
    drop(families);
    rig.options.create_missing_column_families = false;
    let (db, families) = Db::open_cf("/db", rig.options.clone(), named.into()).unwrap();
    assert_eq!(rows(&db, &families[1]).len(), 2, "the versions");
    put(&db, 2);
    rig.pass(60);
    assert_eq!(history(&db, 0, u64::MAX).len(), 1);
}

/// The lines of the LOG with `part`.
fn told(rig: &Rig, part: &str) -> usize {
    let log = ferrock_vfs::read_file(&rig.files, Path::new("/db/LOG")).unwrap();
    String::from_utf8_lossy(&log).lines().filter(|line| line.contains(part)).count()
}

#[test]
fn nothing_is_written_into_a_family_that_is_no_history() {
    const NONE_KEPT: &str = "persist_stats_to_disk: no statistics are kept: ";
    let mut rig = Rig::new(60);
    let db = rig.open();
    let family = db.create_column_family(FAMILY, ColumnFamilyOptions::default()).unwrap();
    db.put_cf(&family, b"of the program", b"x", &WriteOptions::default()).unwrap();
    db.close().unwrap();
    drop(family);
    rig.options.persist_stats_to_disk = true;
    // The database opens, also by the options of its own file.
    let (db, family) = rig.open_with_family();
    assert_eq!(told(&rig, &format!("{NONE_KEPT}Invalid argument")), 1);
    put(&db, 1);
    rig.pass(60);
    assert_eq!(rows(&db, &family).len(), 1);
    assert_eq!(history(&db, 0, u64::MAX), []);
    // One of a newer version, which says that this library cannot read it, and one that says that it can.
    for (key, version) in [("format", "7"), ("compatible", "2")] {
        let key = format!("__persistent_stats_{key}_version__");
        db.put_cf(&family, key.as_bytes(), version.as_bytes(), &WriteOptions::default()).unwrap();
    }
    db.close().unwrap();
    drop(family);
    let (db, family) = rig.open_with_family();
    assert_eq!(told(&rig, &format!("{NONE_KEPT}Not implemented")), 1);
    put(&db, 2);
    rig.pass(60);
    assert_eq!(rows(&db, &family).len(), 3);
    db.put_cf(&family, b"__persistent_stats_compatible_version__", b"1", &WriteOptions::default()).unwrap();
    db.put_cf(&family, b"1700000001#rocksdb.tomorrow", b"x", &WriteOptions::default()).unwrap();
    db.close().unwrap();
    drop(family);
    let db = rig.open();
    assert_eq!(told(&rig, NONE_KEPT), 0);
    let found: Vec<_> = db.stats_history(0, u64::MAX).unwrap().collect();
    assert_eq!(found.len(), 1, "an error is the last one: {found:?}");
    assert!(found[0].as_ref().unwrap_err().to_string().contains("1700000001#rocksdb.tomorrow"), "{found:?}");
}

#[test]
fn a_history_that_was_emptied_or_lost_its_versions_begins_anew() {
    let mut rig = Rig::new(60);
    rig.options.persist_stats_to_disk = true;
    for all in [true, false] {
        let (db, family) = rig.open_with_family();
        put(&db, 1);
        rig.pass(60);
        let end: &[u8] = if all { b"\xff" } else { b"__persistent_stats_format_version__\0" };
        let begin: &[u8] = if all { b"" } else { b"_" };
        db.delete_range_cf(&family, begin, end, &WriteOptions::default()).unwrap();
        db.close().unwrap();
        drop(family);
        let (db, family) = rig.open_with_family();
        let before = history(&db, 0, u64::MAX).len();
        assert_eq!(before > 0, !all);
        put(&db, 2);
        rig.pass(60);
        assert_eq!(history(&db, 0, u64::MAX).len(), before + 1);
        assert!(rows(&db, &family).keys().filter(|key| key.starts_with(b"__persistent")).count() == 2);
        db.close().unwrap();
    }
}

#[test]
fn a_new_family_of_the_name_has_the_order_of_bytes() {
    let mut rig = Rig::new(60);
    rig.options.persist_stats_to_disk = true;
    let mut reversed = ColumnFamilyOptions::default();
    reversed.comparator = Comparator::ReverseBytewise;
    let named = vec![("default".to_owned(), ColumnFamilyOptions::default()), (FAMILY.to_owned(), reversed)];
    let error = Db::open_cf("/db", rig.options.clone(), named).unwrap_err();
    assert!(error.to_string().contains("leave its comparator as it is"), "{error}");
}

/// A family that gets the name later is the program's.
#[test]
fn another_family_of_the_name_gets_no_snapshots() {
    let mut rig = Rig::new(60);
    rig.options.persist_stats_to_disk = true;
    let (db, family) = rig.open_with_family();
    db.drop_column_family(&family).unwrap();
    let own = db.create_column_family(FAMILY, ColumnFamilyOptions::default()).unwrap();
    put(&db, 1);
    rig.pass(60);
    assert_eq!(rows(&db, &own).len(), 0);
    db.close().unwrap();
}

/// Holds flushes at their beginning while the gate is shut.
#[derive(Debug)]
struct HeldFlushes(Gate);

impl EventListener for HeldFlushes {
    fn on_flush_begin(&self, _event: &FlushJobInfo) {
        self.0.pass();
    }
}

/// What is not written in one period is in the next; and a database that is closed while it waits has no snapshot of
/// it, and is whole.
#[test]
fn a_snapshot_that_cannot_be_written_is_part_of_the_next() {
    let mut rig = Rig::new(60);
    rig.options.persist_stats_to_disk = true;
    let flushes = Arc::new(HeldFlushes(Gate::default()));
    rig.options.components.listeners.push(Arc::clone(&flushes) as Arc<dyn EventListener>);
    let db = rig.open();
    put(&db, 5);
    rig.pass(60);
    assert_eq!(increases(&db, WRITTEN).len(), 1);
    flushes.0.set(true);
    let not_waiting = FlushOptions { wait: false, allow_write_stall: true, ..FlushOptions::default() };
    for _ in 0..2 {
        put(&db, 1);
        db.flush_cf(&db.default_column_family().unwrap(), &not_waiting).unwrap();
    }
    // No writer may write now, and the timer does not wait with them.
    assert!(db.metrics().stalls.condition == WriteStallCondition::Stopped);
    rig.pass(60);
    assert_eq!(increases(&db, WRITTEN).len(), 1);
    flushes.0.set(false);
    db.wait_for_background_work().unwrap();
    put(&db, 1);
    rig.pass(60);
    let written = increases(&db, "rocksdb.write.wal");
    assert_eq!(written.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [60, 180]);
    assert_eq!(written[1].1, 4, "two puts, one put, and the snapshot before them: {written:?}");
    db.close().unwrap();
}

/// The family is flushed where it alone needs an old log.
#[test]
fn the_history_does_not_hold_logs_back() {
    let mut rig = Rig::new(60);
    rig.options.persist_stats_to_disk = true;
    let db = rig.open();
    for _ in 0..20 {
        put(&db, 10);
        db.flush().unwrap();
        rig.pass(60);
        db.wait_for_background_work().unwrap();
    }
    assert!(db.metrics().logs.files <= 3, "{:?}", db.metrics().logs);
    assert_eq!(history(&db, 0, u64::MAX).len(), 20);
    db.close().unwrap();
}

/// With a clock of its own, the database has a thread for it, as no job takes it.
#[test]
fn a_job_writes_no_snapshot() {
    let mut rig = Rig::new(DbOptions::default().stats_persist_period_sec);
    rig.options.persist_stats_to_disk = true;
    let db = rig.open();
    wait_until("the thread sleeps", || rig.clock.asleep() == 1);
    put(&db, 1);
    rig.pass(600);
    assert_eq!(history(&db, 0, u64::MAX).len(), 1);
    db.close().unwrap();
    wait_until("the thread ends with the database", || rig.clock.sleepers() == 0);
}
