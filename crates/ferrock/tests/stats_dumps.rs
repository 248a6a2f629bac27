//! Statistics come into the LOG every `stats_dump_period_sec`, whatever else the database does, and nothing as well.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use common::threads::wait_until;
use ferrock::statistics::Statistics;
use ferrock::{Db, DbOptions, FlushOptions, WriteOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const HEAD: &str = "------- DUMPING STATS -------";

/// A database on a clock that only the test moves.
struct Rig {
    memory: MemoryFileSystem,
    clock: Arc<ManualClock>,
    options: DbOptions,
}

impl Rig {
    fn new(period_secs: u32) -> Self {
        let memory = MemoryFileSystem::new();
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let mut options = options_on(Arc::new(memory.clone()));
        options.stats_dump_period_sec = period_secs;
        options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
        Self { memory, clock, options }
    }

    fn open(&self) -> Db {
        Db::open("/db", self.options.clone()).unwrap()
    }

    fn log(&self) -> String {
        log_of(&self.memory)
    }

    fn dumps(&self) -> usize {
        self.log().matches(HEAD).count()
    }

    /// Lets time pass, and the thread see it. Before and behind it sleeps.
    fn pass(&self, seconds: u64) {
        wait_until("the thread sleeps", || self.clock.asleep() == 1);
        self.clock.advance(Duration::from_secs(seconds));
    }
}

fn log_of(files: &dyn FileSystem) -> String {
    String::from_utf8_lossy(&read_file(files, Path::new("/db/LOG")).unwrap()).into_owned()
}

#[test]
fn a_database_in_which_nothing_happens_dumps_every_period() {
    let mut rig = Rig::new(60);
    rig.options.components.statistics = Some(Arc::new(Statistics::default()));
    let db = rig.open();
    for dumps in 1..=3 {
        rig.pass(59);
        wait_until("the thread sleeps", || rig.clock.asleep() == 1);
        assert_eq!(rig.dumps(), dumps - 1, "a second too early");
        rig.pass(1);
        wait_until("a dump", || rig.dumps() == dumps);
    }
    wait_until("the thread sleeps", || rig.clock.asleep() == 1);
    let log = rig.log();
    let (_, last) = log.rsplit_once(HEAD).unwrap();
    let place = |text: &str| last.find(text).unwrap_or_else(|| panic!("{text} in {last}"));
    assert!(place("** DB Stats **") < place("STATISTICS:\n"), "{last}");
    assert!(last.contains("rocksdb.number.keys.read COUNT : 0\n"), "{last}");
    // A long time passes as one period.
    rig.pass(100_000);
    wait_until("a dump", || rig.dumps() == 4);
    db.close().unwrap();
    wait_until("the thread ends with the database", || rig.clock.sleepers() == 0);
    rig.clock.advance(Duration::from_secs(1000));
    assert_eq!(rig.dumps(), 4);
}

#[test]
fn reads_alone_are_dumped_and_a_quiet_family_is_told_in_every_eighth_period() {
    let mut rig = Rig::new(60);
    rig.options.components.statistics = Some(Arc::new(Statistics::default()));
    let db = rig.open();
    let other = db.create_column_family("other", ferrock::ColumnFamilyOptions::default()).unwrap();
    for family in [&db.default_column_family().unwrap(), &other] {
        db.put_cf(family, b"key", b"value", &WriteOptions::default()).unwrap();
        db.flush_cf(family, &FlushOptions::default()).unwrap();
    }
    db.close().unwrap();
    drop(other);
    let families = vec![("default".to_owned(), Default::default()), ("other".to_owned(), Default::default())];
    let (db, families) = Db::open_cf("/db", rig.options.clone(), families).unwrap();
    let told = |name: &str| rig.log().matches(&format!("** Compaction Stats [{name}] **\nLevel ")).count();
    let mut counts = Vec::new();
    for dumps in 1..=20 {
        // A table is read anew, past the cache.
        db.read_past_the_cache(&families[0]);
        rig.pass(60);
        wait_until("a dump", || rig.dumps() == dumps);
        wait_until("the thread sleeps", || rig.clock.asleep() == 1);
        counts.push(told("other"));
    }
    assert_eq!(told("default"), 20, "it is read");
    // The first time, once more, and every eighth time behind that.
    let expected: Vec<usize> = (1..=20).map(|dump| 1 + usize::from(dump > 1) + (dump.max(2) - 2) / 8).collect();
    assert_eq!(counts, expected);
    assert!(rig.log().contains("rocksdb.sst.read.micros"), "STATISTICS");
    drop((db, families));
}

/// A read that goes to the file.
trait Reads {
    fn read_past_the_cache(&self, family: &ferrock::ColumnFamily);
}

impl Reads for Db {
    fn read_past_the_cache(&self, family: &ferrock::ColumnFamily) {
        let mut options = ferrock::ReadOptions::default();
        options.fill_cache = false;
        self.get_cf(family, &options, b"key").unwrap().unwrap();
    }
}

#[test]
fn the_period_changes_while_the_database_is_open() {
    let rig = Rig::new(60);
    let db = rig.open();
    rig.pass(60);
    wait_until("a dump", || rig.dumps() == 1);
    let set = |seconds: &str| db.set_db_options(&[("stats_dump_period_sec", seconds)]).unwrap();
    set("0");
    wait_until("the end of the thread", || rig.clock.sleepers() == 0);
    rig.clock.advance(Duration::from_secs(10_000));
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    assert_eq!(rig.dumps(), 1, "0: never, also before jobs");
    set("20000");
    rig.pass(9_999);
    wait_until("the thread sleeps", || rig.clock.asleep() == 1);
    assert_eq!(rig.dumps(), 1);
    // Shorter than what has passed: at once.
    set("30");
    wait_until("a dump", || rig.dumps() == 2);
    rig.pass(30);
    wait_until("a dump", || rig.dumps() == 3);
    db.close().unwrap();
}

/// On the machine's clock the timer of the process sees to it, of all databases; the clock is real here, so nothing is
/// asked of when.
#[test]
fn databases_on_the_clock_of_the_machine_dump_without_a_thread_of_their_own() {
    let open = |period: u32| {
        let memory = MemoryFileSystem::new();
        let mut options = options_on(Arc::new(memory.clone()));
        options.stats_dump_period_sec = period;
        (Db::open("/db", options).unwrap(), memory)
    };
    let databases: Vec<(Db, MemoryFileSystem)> = [1, 1, 0, 100_000].map(open).into();
    let dumps = |number: usize| log_of(&databases[number].1).matches(HEAD).count();
    wait_until("dumps", || dumps(0) >= 2 && dumps(1) >= 2);
    assert_eq!((dumps(2), dumps(3)), (0, 0));
    databases[3].0.set_db_options(&[("stats_dump_period_sec", "1")]).unwrap();
    wait_until("a dump", || dumps(3) >= 1);
    databases[0].0.clone().close().unwrap();
    let (of_closed, of_other) = (dumps(0), dumps(1));
    wait_until("dumps", || dumps(1) >= of_other + 2);
    assert_eq!(dumps(0), of_closed, "a database that is closed");
    let log = log_of(&databases[0].1);
    assert!(log.trim_end().ends_with("closed"), "{log}");
}

/// As in RocksDB; and with a clock of its own a database has no thread for the default period alone.
#[test]
fn a_database_open_for_reading_dumps_nothing() {
    let rig = Rig::new(60);
    let db = rig.open();
    db.put(b"key", b"value").unwrap();
    db.close().unwrap();
    wait_until("the thread ends with the database", || rig.clock.sleepers() == 0);
    let mut options = rig.options.clone();
    options.create_if_missing = false;
    let (db, families) = Db::open_read_only("/db", options, None).unwrap();
    assert_eq!(rig.clock.sleepers(), 0);
    rig.clock.advance(Duration::from_secs(600));
    assert!(db.get(b"key").unwrap().is_some());
    assert_eq!(rig.dumps(), 0);
    drop((db, families));
    let rig = Rig::new(DbOptions::default().stats_dump_period_sec);
    let db = rig.open();
    assert_eq!(rig.clock.sleepers(), 0, "the default is no reason for a thread");
    rig.clock.advance(Duration::from_secs(600));
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    assert_eq!(rig.dumps(), 1, "a job dumps");
}
