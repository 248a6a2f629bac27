//! Pools of threads that databases share: they bound what runs at once, whatever the options of each database say, and
//! what waits in them begins in its turn.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads"
)]

mod common;

use common::options_on;
use common::threads::{Gate, wait_until};
use ferrock::options::{CompactionStyle, PoolPriority, PriorityPools};
use ferrock::{ColumnFamilyOptions, Db, FlushOptions};
use ferrock_base::thread::{Spawner, StdSpawner};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A database whose creations of tables are counted and held.
struct Held {
    db: Db,
    gate: Arc<Gate>,
    begun: Arc<AtomicUsize>,
}

fn open(pools: &Arc<PriorityPools>, max_background_jobs: i32) -> Held {
    let files = MemoryFileSystem::new();
    let mut options = options_on(Arc::new(files.clone()));
    options.max_background_jobs = max_background_jobs;
    options.components.thread_pools = Some(Arc::clone(pools));
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.level0_file_num_compaction_trigger = 2;
    family.level_compaction_dynamic_level_bytes = false;
    family.num_levels = 2;
    let families = ["default", "b"].map(|name| (name.to_owned(), family.clone()));
    let db = Db::open_cf("/db", options, families.to_vec()).unwrap().0;
    let (gate, begun) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
    let (held, counted) = (Arc::clone(&gate), Arc::clone(&begun));
    files.set_operation_hook(Some(Arc::new(move |_, line| {
        if line.starts_with("create") && line.ends_with(".sst") {
            counted.fetch_add(1, Ordering::SeqCst);
            held.pass();
        }
    })));
    Held { db, gate, begun }
}

impl Held {
    fn flush(&self, wait: bool) {
        for family in self.db.column_families() {
            self.db.put_cf(&family, b"a", b"1", &Default::default()).unwrap();
            self.db.put_cf(&family, b"z", b"1", &Default::default()).unwrap();
            self.db.flush_cf(&family, &FlushOptions { wait, ..FlushOptions::default() }).unwrap();
        }
    }

    /// Makes a compaction of each family due; the creation of its table is held.
    fn compact(&self) {
        (0..2).for_each(|_| self.flush(true));
        self.gate.set(true);
        self.begun.store(0, Ordering::SeqCst);
        for family in self.db.column_families() {
            self.db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
        }
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

#[test]
fn a_database_gives_the_pools_as_many_threads_as_its_options_ask_for() {
    let pools = Arc::new(PriorityPools::default());
    let threads = |pools: &PriorityPools| (pools.threads(PoolPriority::High), pools.threads(PoolPriority::Low));
    let one = open(&pools, 2);
    assert_eq!(threads(&pools), (1, 1));
    let other = open(&pools, 8);
    assert_eq!(threads(&pools), (2, 6));
    one.db.set_db_options(&[("max_background_jobs", "16")]).unwrap();
    assert_eq!(threads(&pools), (4, 12));
    // Only a database that shares the pools takes its jobs back.
    other.db.set_db_options(&[("max_background_jobs", "2")]).unwrap();
    one.db.set_db_options(&[("max_background_flushes", "1"), ("max_background_compactions", "13")]).unwrap();
    assert_eq!(threads(&pools), (4, 13));
    pools.set_threads(PoolPriority::Low, 1);
    one.db.set_db_options(&[("max_subcompactions", "1")]).unwrap();
    assert_eq!(threads(&pools), (4, 1));
}

#[test]
fn databases_share_the_threads() {
    // Both have the same `thread_pools`.
    let pools = Arc::new(PriorityPools::default());
    let (one, other) = (open(&pools, 2), open(&pools, 2));
    [&one, &other].iter().for_each(|held| held.gate.set(true));
    one.flush(false);
    one.gate.wait_for(1);
    other.flush(false);
    // Its flush is counted, and waits for the thread of the other database.
    assert_eq!(other.db.int_property("num-running-flushes"), Some(1));
    assert_eq!(other.begun(), 0);
    one.gate.open();
    other.gate.wait_for(1);
    other.gate.open();
    one.db.wait_for_background_work().unwrap();
    other.db.wait_for_background_work().unwrap();
    assert_eq!((one.begun(), other.begun()), (2, 2));
}

#[test]
fn compactions_into_the_last_level_have_a_pool_if_it_has_threads() {
    for bottom in [0, 1] {
        let pools = Arc::new(PriorityPools::default());
        pools.set_threads(PoolPriority::Bottom, bottom);
        let held = open(&pools, 8);
        pools.set_threads(PoolPriority::Low, 1);
        held.compact();
        held.gate.wait_for(1);
        assert_eq!(held.db.int_property("num-running-compactions"), Some(2), "one of them waits for a thread");
        assert_eq!(held.begun(), 1);
        // More threads where they are.
        pools.set_threads(PoolPriority::Low, 1 + bottom);
        assert_eq!(held.begun(), 1);
        pools.set_threads(if bottom == 1 { PoolPriority::Bottom } else { PoolPriority::Low }, 2);
        held.gate.wait_for(2);
        held.gate.open();
        held.db.wait_for_background_work().unwrap();
    }
}

/// A universal family whose merge into the last level waits for the thread of the bottom pool, which has other work.
#[test]
fn a_merge_that_waits_for_a_thread_keeps_only_its_oldest_run() {
    for reduces in [true, false] {
        let pools = Arc::new(PriorityPools::default());
        pools.set_threads(PoolPriority::Bottom, 1);
        let (gate, spawner) = (Gate::shut(), Arc::new(StdSpawner) as Arc<dyn Spawner>);
        let held = Arc::clone(&gate);
        pools.submit(PoolPriority::Bottom, 0, &spawner, "held", Box::new(move || held.pass())).unwrap();
        gate.wait_for(1);

        let mut options = options_on(Arc::new(MemoryFileSystem::new()));
        options.max_background_jobs = 8;
        options.components.thread_pools = Some(Arc::clone(&pools));
        let mut family = ColumnFamilyOptions::default();
        family.compaction_style = CompactionStyle::Universal;
        family.level0_file_num_compaction_trigger = 3;
        family.num_levels = 3;
        family.compaction_options_universal.reduce_file_locking = reduces;
        family.compaction_options_universal.max_size_amplification_percent = 100;
        let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
        let write = |value: &[u8]| {
            db.put(b"a", value).unwrap();
            db.put(b"z", value).unwrap();
            db.flush().unwrap();
        };
        (0..3u8).for_each(|value| write(&[value]));
        let levels = || db.live_files().iter().map(|file| file.level).collect::<Vec<_>>();
        let compactions = || db.int_property("num-running-compactions").unwrap();
        if reduces {
            wait_until("the two newest files are merged", || levels() == [0, 0] && compactions() == 1);
        } else {
            assert_eq!((levels(), compactions()), (vec![0, 0, 0], 1));
        }
        gate.open();
        db.wait_for_background_work().unwrap();
        // Two runs do not need what the merge was to be, and its place is given back.
        assert_eq!(levels(), if reduces { vec![0, 0] } else { vec![2] });
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&[2][..]));

        // A merge that waits and then must not be: the place is given back, too.
        let gate = Gate::shut();
        let held = Arc::clone(&gate);
        pools.submit(PoolPriority::Bottom, 0, &spawner, "held", Box::new(move || held.pass())).unwrap();
        gate.wait_for(1);
        (0..3u8).for_each(|value| write(&[value; 1000]));
        wait_until("a merge waits", || compactions() == 1);
        let family = db.default_column_family().unwrap();
        db.set_options_cf(&family, &[("disable_auto_compactions", "true")]).unwrap();
        gate.open();
        wait_until("it ends", || compactions() == 0);
        db.close().unwrap();
    }
}

#[test]
fn without_threads_of_their_own_flushes_have_those_of_compactions() {
    let pools = Arc::new(PriorityPools::default());
    let held = open(&pools, 2);
    pools.set_threads(PoolPriority::High, 0);
    held.flush(true);
    assert_eq!(held.begun(), 2);
}

#[test]
fn a_database_closes_while_its_jobs_wait_for_threads() {
    let pools = Arc::new(PriorityPools::default());
    let held = open(&pools, 2);
    held.compact();
    held.gate.wait_for(1);
    pools.set_threads(PoolPriority::Low, 0);
    held.gate.open();
    wait_until("the running one ends", || held.db.int_property("num-running-compactions") == Some(1));
    held.db.clone().close().unwrap();
    assert_eq!(held.begun(), 1);
}
