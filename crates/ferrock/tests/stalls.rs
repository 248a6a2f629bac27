//! Flushes that would have writers slowed down, and what listeners are told of stalls.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and have threads of their own"
)]

mod common;

use common::threads::wait_until;
use ferrock::options::{Canceller, CompactionStyle};
use ferrock::{
    CompactRangeOptions, Db, DbOptions, ErrorKind, EventListener, FlushOptions, WriteStallCondition, WriteStallInfo,
};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

const DIRECTORY: &str = "/db";
const AT_ONCE: FlushOptions = FlushOptions { wait: false, force_atomic_flush: false, allow_write_stall: true };
const PATIENT: FlushOptions = FlushOptions { wait: true, force_atomic_flush: false, allow_write_stall: false };

/// Keeps what it is told, and writes to the database each time.
#[derive(Default)]
struct Stalls {
    heard: Mutex<Vec<WriteStallInfo>>,
    db: OnceLock<Db>,
    writes: AtomicBool,
}

impl EventListener for Stalls {
    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        self.heard.lock().unwrap().push(info.clone());
        if let Some(db) = self.db.get().filter(|_| self.writes.load(Ordering::SeqCst)) {
            db.put(b"of the listener", b"").unwrap();
        }
    }
}

impl Stalls {
    fn steps(&self) -> Vec<(WriteStallCondition, WriteStallCondition)> {
        self.heard.lock().unwrap().iter().map(|info| (info.previous, info.current)).collect()
    }
}

struct Bench {
    memory: MemoryFileSystem,
    stalls: Arc<Stalls>,
    options: DbOptions,
}

impl Bench {
    fn new() -> Self {
        let memory = MemoryFileSystem::new();
        let stalls = Arc::new(Stalls::default());
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.file_system = Some(Arc::new(memory.clone()) as Arc<dyn FileSystem>);
        options.components.listeners.push(Arc::clone(&stalls) as Arc<dyn EventListener>);
        Self { memory, stalls, options }
    }

    /// With four memtables, of which three that wait slow writers down.
    fn open(&self) -> Db {
        let db = Db::open(DIRECTORY, self.options.clone()).unwrap();
        let family = db.default_column_family().unwrap();
        db.set_options_cf(&family, &[("max_write_buffer_number", "4")]).unwrap();
        db
    }

    fn log(&self) -> String {
        String::from_utf8(read_file(&self.memory, &Path::new(DIRECTORY).join("LOG")).unwrap()).unwrap()
    }

    fn wait_for_waiting_flush(&self) {
        wait_until("a flush that waits", || self.log().contains("a flush waits until it would not slow writers down"));
    }
}

fn number(db: &Db, name: &str) -> u64 {
    db.property(name).unwrap().parse().unwrap()
}

/// So many memtables wait for their flush, and one that has something is filled.
fn fill(db: &Db, waiting: u32) {
    let family = db.default_column_family().unwrap();
    for round in 0..waiting {
        db.put(&round.to_be_bytes(), b"value").unwrap();
        db.flush_cf(&family, &AT_ONCE).unwrap();
    }
    db.put(b"last", b"value").unwrap();
}

fn flush_on_a_thread(db: &Db, options: FlushOptions) -> JoinHandle<ferrock::Result<()>> {
    let db = db.clone();
    std::thread::spawn(move || db.flush_cf(&db.default_column_family().unwrap(), &options))
}

#[test]
fn a_flush_waits_until_it_slows_no_writer_down() {
    let bench = Bench::new();
    let db = bench.open();
    db.pause_background_work().unwrap();
    fill(&db, 2);
    let flush = flush_on_a_thread(&db, FlushOptions { wait: false, ..PATIENT });
    bench.wait_for_waiting_flush();
    db.put(b"meanwhile", b"value").unwrap();
    assert_eq!(number(&db, "num-immutable-mem-table"), 2);
    assert!(!flush.is_finished());
    db.continue_background_work().unwrap();
    flush.join().unwrap().unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(number(&db, "num-entries-active-mem-table"), 0);
    db.close().unwrap();
    assert_eq!(bench.stalls.steps(), []);
}

#[test]
fn a_flush_that_may_slow_writers_down_does() {
    use WriteStallCondition::{Delayed, Normal, Stopped};
    let bench = Bench::new();
    let db = bench.open();
    db.pause_background_work().unwrap();
    fill(&db, 3);
    let at_once = FlushOptions { allow_write_stall: true, ..AT_ONCE };
    db.flush_cf(&db.default_column_family().unwrap(), &at_once).unwrap();
    db.continue_background_work().unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    db.close().unwrap();
    let steps = bench.stalls.steps();
    assert_eq!(steps[..2], [(Normal, Delayed), (Delayed, Stopped)]);
    assert_eq!(steps.last().unwrap().1, Normal);
    assert!(steps.windows(2).all(|pair| pair[0].1 == pair[1].0), "{steps:?}");
    assert!(bench.stalls.heard.lock().unwrap().iter().all(|info| info.column_family == "default"));
}

/// What was in the memtable comes into a table by another flush, which is not waited for a second time.
#[test]
fn a_flush_is_not_made_twice() {
    let bench = Bench::new();
    let db = bench.open();
    db.pause_background_work().unwrap();
    fill(&db, 2);
    let flush = flush_on_a_thread(&db, PATIENT);
    bench.wait_for_waiting_flush();
    db.flush_cf(&db.default_column_family().unwrap(), &AT_ONCE).unwrap();
    db.put(b"of the next memtable", b"value").unwrap();
    db.continue_background_work().unwrap();
    flush.join().unwrap().unwrap();
    assert!(db.get(b"last").unwrap().is_some());
    // One flush of three memtables; the one that is filled is none of those that were waited for.
    assert_eq!(number(&db, "num-files-at-level0"), 1);
    assert_eq!(number(&db, "num-entries-active-mem-table"), 1);
}

#[test]
fn a_compaction_by_hand_waits_too_and_can_be_canceled() {
    let bench = Bench::new();
    let db = bench.open();
    db.pause_background_work().unwrap();
    fill(&db, 2);
    let canceller = Canceller::new();
    let options = CompactRangeOptions { canceled: Some(canceller.clone()), ..CompactRangeOptions::default() };
    let (caller, wanted) = (db.clone(), options.clone());
    let call = std::thread::spawn(move || {
        caller.compact_range_cf(&caller.default_column_family().unwrap(), None, None, &wanted)
    });
    bench.wait_for_waiting_flush();
    assert_eq!(number(&db, "num-immutable-mem-table"), 2);
    canceller.cancel();
    assert_eq!(call.join().unwrap().unwrap_err().kind(), ErrorKind::Incomplete);
    // Writers may be slowed down for it: the flush is there at once.
    let (caller, wanted) = (db.clone(), CompactRangeOptions { allow_write_stall: true, ..Default::default() });
    let call = std::thread::spawn(move || {
        caller.compact_range_cf(&caller.default_column_family().unwrap(), None, None, &wanted)
    });
    wait_until("a third memtable that waits", || number(&db, "num-immutable-mem-table") == 3);
    db.continue_background_work().unwrap();
    call.join().unwrap().unwrap();
}

#[test]
fn a_flush_that_waits_ends_with_the_family_and_the_database() {
    let bench = Bench::new();
    let db = bench.open();
    let other = db.create_column_family("other", ferrock::ColumnFamilyOptions::default()).unwrap();
    db.set_options_cf(&other, &[("max_write_buffer_number", "4")]).unwrap();
    db.pause_background_work().unwrap();
    for round in 0..3_u32 {
        db.put_cf(&other, &round.to_be_bytes(), b"value", &ferrock::WriteOptions::default()).unwrap();
        if round < 2 {
            db.flush_cf(&other, &AT_ONCE).unwrap();
        }
    }
    let (caller, family) = (db.clone(), other.clone());
    let of_family = std::thread::spawn(move || caller.flush_cf(&family, &PATIENT));
    bench.wait_for_waiting_flush();
    db.drop_column_family(&other).unwrap();
    assert_eq!(of_family.join().unwrap().unwrap_err().kind(), ErrorKind::ColumnFamilyDropped);
    fill(&db, 2);
    let of_database = flush_on_a_thread(&db, PATIENT);
    wait_until("both", || bench.log().matches("a flush waits until").count() == 2);
    db.close().unwrap();
    let kind = of_database.join().unwrap().map_err(|error| error.kind());
    // Closing lets the jobs go on that were paused: the flush may come to its turn.
    assert!(matches!(kind, Ok(()) | Err(ErrorKind::ShutdownInProgress)), "{kind:?}");
}

#[test]
fn nothing_is_waited_for_that_does_not_come() {
    let bench = Bench::new();
    let mut family = ferrock::ColumnFamilyOptions::default();
    family.compaction_style = CompactionStyle::None;
    family.level0_file_num_compaction_trigger = 1;
    family.level0_slowdown_writes_trigger = 2;
    let (db, _) = Db::open_cf(DIRECTORY, bench.options.clone(), vec![("default".to_owned(), family)]).unwrap();
    for round in 0..4_u32 {
        db.put(&round.to_be_bytes(), b"").unwrap();
        db.flush().unwrap();
    }
    assert_eq!(number(&db, "num-files-at-level0"), 4);
}

/// A writer waits for the end of a stop, and the listener that is told of the stop writes, too. Both go on.
#[test]
fn a_listener_may_write_while_writers_are_stopped() {
    let bench = Bench::new();
    let db = bench.open();
    bench.stalls.db.set(db.clone()).ok().unwrap();
    bench.stalls.writes.store(true, Ordering::SeqCst);
    db.pause_background_work().unwrap();
    fill(&db, 3);
    db.flush_cf(&db.default_column_family().unwrap(), &AT_ONCE).unwrap();
    let writer = db.clone();
    let written = std::thread::spawn(move || writer.put(b"behind the stop", b"value"));
    wait_until("word of a stall", || !bench.stalls.steps().is_empty());
    db.continue_background_work().unwrap();
    written.join().unwrap().unwrap();
    db.wait_for_background_work().unwrap();
    wait_until("the end", || bench.stalls.steps().last().is_some_and(|step| step.1 == WriteStallCondition::Normal));
    assert!(db.get(b"of the listener").unwrap().is_some());
    bench.stalls.writes.store(false, Ordering::SeqCst);
}

/// Conditions of two families that change at random: each event begins where the last one of its family ended, and the
/// last ones are the conditions at the end.
#[test]
fn each_event_begins_where_the_last_one_ended() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let bench = Bench::new();
        let names = ["default", "other"];
        let mut options = bench.options.clone();
        options.create_missing_column_families = true;
        let families = names.map(|name| (name.to_owned(), ferrock::ColumnFamilyOptions::default())).to_vec();
        let (db, families) = Db::open_cf(DIRECTORY, options, families).unwrap();
        db.pause_background_work().unwrap();
        let mut waiting = [0_u64; 2];
        for _ in 0..30 {
            let at = random.below(2) as usize;
            if random.one_in(2) && waiting[at] < 5 {
                let limit = "9";
                db.set_options_cf(&families[1 - at], &[("max_write_buffer_number", limit)]).unwrap();
                db.set_options_cf(&families[at], &[("max_write_buffer_number", limit)]).unwrap();
                db.put_cf(&families[at], &[waiting[at] as u8], b"", &ferrock::WriteOptions::default()).unwrap();
                db.flush_cf(&families[at], &AT_ONCE).unwrap();
                waiting[at] += 1;
            } else {
                let limit = (2 + random.below(8)).to_string();
                db.set_options_cf(&families[at], &[("max_write_buffer_number", &limit)]).unwrap();
            }
        }
        db.continue_background_work().unwrap();
        db.wait_for_background_work().unwrap();
        drop(families);
        db.close().unwrap();
        let mut last: BTreeMap<String, WriteStallCondition> = BTreeMap::new();
        for info in bench.stalls.heard.lock().unwrap().iter() {
            let before = last.insert(info.column_family.clone(), info.current).unwrap_or_default();
            assert_eq!(before, info.previous, "seed {seed}: {info:?}");
            assert_ne!(info.previous, info.current, "seed {seed}");
        }
        assert!(last.values().all(|condition| *condition == WriteStallCondition::Normal), "seed {seed}: {last:?}");
    }
}
