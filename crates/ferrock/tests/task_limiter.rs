//! `compaction_thread_limiter`: how many compactions run at once, of families and databases that share a limiter.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and have threads of their own"
)]

mod common;

use common::threads::{Gate, wait_until};
use ferrock::options::ConcurrentTaskLimiter;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, CompactionJobInfo, Db, DbOptions, EventListener,
    WriteOptions,
};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DIRECTORY: &str = "/db";

/// Holds compactions where they begin.
#[derive(Default)]
struct Held {
    begun: AtomicU64,
    gate: Gate,
}

impl EventListener for Held {
    fn on_compaction_begin(&self, _event: &CompactionJobInfo) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.gate.pass();
    }
}

impl Held {
    fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }
}

struct Bench {
    db: Db,
    families: Vec<ColumnFamily>,
}

impl Bench {
    /// A database of its own, whose families have a compaction that is due as soon as it may be automatic.
    fn new(held: &Arc<Held>, names: &[&str], limiter: Option<&Arc<ConcurrentTaskLimiter>>) -> Self {
        Self::over(Arc::new(MemoryFileSystem::new()), held, names, limiter)
    }

    fn over(
        files: Arc<dyn FileSystem>,
        held: &Arc<Held>,
        names: &[&str],
        limiter: Option<&Arc<ConcurrentTaskLimiter>>,
    ) -> Self {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.max_background_jobs = 16;
        options.components.file_system = Some(files);
        options.components.listeners.push(Arc::clone(held) as Arc<dyn EventListener>);
        let mut family = ColumnFamilyOptions::default();
        family.disable_auto_compactions = true;
        family.compaction_thread_limiter = limiter.cloned();
        let families = names.iter().map(|name| ((*name).to_owned(), family.clone())).collect();
        let (db, families) = Db::open_cf(DIRECTORY, options, families).unwrap();
        let bench = Self { db, families };
        bench.fill();
        bench
    }

    fn fill(&self) {
        for family in &self.families {
            for round in 0..5_u32 {
                self.db.put_cf(family, b"key", &round.to_be_bytes(), &WriteOptions::default()).unwrap();
                self.db.flush_cf(family, &ferrock::FlushOptions::default()).unwrap();
            }
        }
    }

    fn set_automatic(&self, value: &str) {
        for family in &self.families {
            self.db.set_options_cf(family, &[("disable_auto_compactions", value)]).unwrap();
        }
    }

    fn running(&self) -> u64 {
        self.db.int_property("num-running-compactions").unwrap()
    }
}

#[test]
fn families_share_the_tasks_of_their_limiter() {
    let (held, limiter) = (Arc::new(Held::default()), ConcurrentTaskLimiter::new("shared", 2));
    let bench = Bench::new(&held, &["default", "b", "c"], Some(&limiter));
    assert!(bench.families.iter().all(|family| family.options().compaction_thread_limiter.is_some()));
    held.gate.set(true);
    bench.set_automatic("false");
    wait_until("compactions", || held.begun() == 2);
    assert_eq!((bench.running(), limiter.outstanding_tasks()), (2, 2));
    // More tasks may run at once from now on: what waits begins.
    limiter.set_max_outstanding_task(3);
    wait_until("one more", || held.begun() == 3);
    held.gate.open();
    bench.db.wait_for_background_work().unwrap();
    assert_eq!(limiter.outstanding_tasks(), 0);
    for family in &bench.families {
        assert_eq!(bench.db.property_cf(family, "num-files-at-level0").unwrap(), "0");
    }
}

#[test]
fn the_end_of_a_task_lets_one_of_another_database_begin() {
    let (first, second) = (Arc::new(Held::default()), Arc::new(Held::default()));
    let limiter = ConcurrentTaskLimiter::new("shared", 1);
    let (one, two) =
        (Bench::new(&first, &["default"], Some(&limiter)), Bench::new(&second, &["default"], Some(&limiter)));
    first.gate.set(true);
    one.set_automatic("false");
    wait_until("a compaction of the first", || first.begun() == 1);
    two.set_automatic("false");
    assert_eq!((two.running(), second.begun()), (0, 0));
    first.gate.open();
    wait_until("a compaction of the second", || second.begun() == 1);
    one.db.wait_for_background_work().unwrap();
    two.db.wait_for_background_work().unwrap();
    assert_eq!(limiter.outstanding_tasks(), 0);
}

/// A call is not held back, and holds others back while it runs.
#[test]
fn a_compaction_by_hand_is_counted_and_begins_in_any_case() {
    let (held, limiter) = (Arc::new(Held::default()), ConcurrentTaskLimiter::new("none", 0));
    let bench = Bench::new(&held, &["default"], Some(&limiter));
    bench.set_automatic("false");
    assert_eq!((bench.running(), held.begun()), (0, 0));
    held.gate.set(true);
    let (db, family) = (bench.db.clone(), bench.families[0].clone());
    let call = std::thread::spawn(move || db.compact_range_cf(&family, None, None, &CompactRangeOptions::default()));
    wait_until("the call", || held.begun() == 1);
    assert_eq!(limiter.outstanding_tasks(), 1);
    held.gate.open();
    call.join().unwrap().unwrap();
    assert_eq!(limiter.outstanding_tasks(), 0);
    bench.fill();
    let begun = held.begun();
    limiter.reset_max_outstanding_task();
    bench.db.wait_for_background_work().unwrap();
    assert!(held.begun() > begun, "there is no bound any more");
}

/// Families without a limiter are not held back by those that have one.
#[test]
fn what_is_refused_stands_in_no_ones_way() {
    let (held, limiter) = (Arc::new(Held::default()), ConcurrentTaskLimiter::new("none", 0));
    let bench = Bench::new(&held, &["default"], Some(&limiter));
    let free = bench.db.create_column_family("free", ColumnFamilyOptions::default()).unwrap();
    bench.set_automatic("false");
    for round in 0..5_u32 {
        bench.db.put_cf(&free, b"key", &round.to_be_bytes(), &WriteOptions::default()).unwrap();
        bench.db.flush_cf(&free, &ferrock::FlushOptions::default()).unwrap();
    }
    wait_until("a compaction", || bench.db.property_cf(&free, "num-files-at-level0").unwrap() != "5");
    assert_eq!(bench.db.property_cf(&bench.families[0], "num-files-at-level0").unwrap(), "5");
    bench.db.close().unwrap();
}

#[test]
fn a_task_that_fails_is_given_back() {
    let (held, limiter) = (Arc::new(Held::default()), ConcurrentTaskLimiter::new("one", 1));
    let faults = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let bench = Bench::over(Arc::new(faults.clone()), &held, &["default"], Some(&limiter));
    faults.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::Io).when(Trigger::Nth(1)));
    bench.set_automatic("false");
    wait_until("an error", || bench.db.background_error().is_some());
    wait_until("the end of the task", || limiter.outstanding_tasks() == 0);
    bench.db.resume().unwrap();
    bench.db.wait_for_background_work().unwrap();
    assert_eq!(bench.db.property("num-files-at-level0").unwrap(), "0");
}
