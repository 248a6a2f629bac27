//! Many threads at once: compactions that overlap in time, readers that never wait, writers that insert together,
//! stalls that come and go, and handles that outlive the database.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads"
)]

mod common;

use common::options_on;
use common::threads::{Waiting, wait_until};
use ferrock::options::{CompressionType, MemTableFactory, PrefixExtractor};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactionJobInfo, Db, DbOptions, ErrorKind, EventListener, FlushOptions,
    ReadOptions, WriteBatch, WriteOptions,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

fn options(file_system: &MemoryFileSystem) -> DbOptions {
    let mut options = options_on(Arc::new(file_system.clone()));
    options.max_background_jobs = 4;
    options
}

fn small() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.write_buffer_size = 64 << 10;
    options.arena_block_size = 4 << 10;
    options.target_file_size_base = 32 << 10;
    options.max_bytes_for_level_base = 128 << 10;
    options.compression = CompressionType::NoCompression;
    options
}

fn manual() -> ColumnFamilyOptions {
    let mut options = small();
    options.disable_auto_compactions = true;
    options
}

fn open(family: ColumnFamilyOptions) -> (MemoryFileSystem, Db) {
    let file_system = MemoryFileSystem::new();
    let db = Db::open_cf("/db", options(&file_system), vec![("default".to_owned(), family)]).unwrap().0;
    (file_system, db)
}

fn fill(db: &Db, family: &ColumnFamily, count: u32, value: u8) {
    for number in 0..count {
        let key = format!("key{number:06}");
        db.put_cf(family, key.as_bytes(), &[value; 100], &WriteOptions::default()).unwrap();
    }
    // Also where that slows writers down.
    db.flush_cf(family, &FlushOptions { allow_write_stall: true, ..FlushOptions::default() }).unwrap();
}

fn tables(file_system: &MemoryFileSystem) -> HashSet<String> {
    let names = file_system.children(Path::new("/db")).unwrap();
    names.into_iter().filter(|name| name.ends_with(".sst")).collect()
}

/// Holds compactions at their beginning until `target` of them have begun, or a gate is opened.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
    begun: AtomicU64,
    completed: AtomicU64,
    most_at_once: AtomicU64,
}

#[derive(Default)]
struct GateState {
    is_closed: bool,
    running: u64,
    /// Begin together: no thread goes on before so many have begun.
    together: u64,
}

impl Gate {
    fn close(&self) {
        self.state.lock().is_closed = true;
    }

    fn open(&self) {
        self.state.lock().is_closed = false;
        self.changed.notify_all();
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }
}

impl EventListener for Gate {
    fn on_compaction_begin(&self, _event: &CompactionJobInfo) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let mut state = self.state.lock();
        state.running += 1;
        self.most_at_once.fetch_max(state.running, Ordering::SeqCst);
        self.changed.notify_all();
        let since = Instant::now();
        while (state.is_closed || self.begun() < state.together) && since.elapsed() < PATIENCE {
            self.changed.wait_for(&mut state, Duration::from_millis(20));
        }
    }

    fn on_compaction_completed(&self, _event: &CompactionJobInfo) {
        self.state.lock().running -= 1;
        self.completed.fetch_add(1, Ordering::SeqCst);
    }
}

fn gated(family: ColumnFamilyOptions, names: &[&str]) -> (Arc<Gate>, Db, Vec<ColumnFamily>) {
    let gate = Arc::new(Gate::default());
    let mut options = options(&MemoryFileSystem::new());
    options.components.listeners.push(Arc::clone(&gate) as Arc<dyn EventListener>);
    let families = names.iter().map(|name| ((*name).to_owned(), family.clone())).collect();
    let (db, handles) = Db::open_cf("/db", options, families).unwrap();
    (gate, db, handles)
}

#[test]
fn a_compaction_that_ends_while_the_database_closes_leaves_no_inputs_behind() {
    let (gate, file_system) = (Arc::new(Gate::default()), MemoryFileSystem::new());
    let mut options = options(&file_system);
    options.components.listeners.push(Arc::clone(&gate) as Arc<dyn EventListener>);
    let mut family = small();
    family.level0_file_num_compaction_trigger = 2;
    let (db, families) = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap();
    gate.close();
    fill(&db, &families[0], 10, 1);
    fill(&db, &families[0], 10, 2);
    wait_until("a compaction", || gate.begun() == 1);
    // It is held where it makes its output: closing ends one that has not begun, and looks no more at a short one.
    let (output, begun) = (Arc::new(Mutex::new(())), Arc::new(AtomicBool::new(false)));
    let (held, hooked, made) = (output.lock(), Arc::clone(&output), Arc::clone(&begun));
    file_system.set_operation_hook(Some(Arc::new(move |_, line: &str| {
        if line.starts_with("create ") && line.ends_with(".sst") {
            made.store(true, Ordering::SeqCst);
            drop(hooked.lock());
        }
    })));
    gate.open();
    wait_until("an output", || begun.load(Ordering::SeqCst));
    let closing = db.clone();
    let closer = std::thread::spawn(move || closing.close());
    wait_until("closing", || db.put(b"key", b"value").is_err());
    drop(held);
    closer.join().unwrap().unwrap();
    assert_eq!(gate.completed.load(Ordering::SeqCst), 1);
    assert_eq!(tables(&file_system).len(), 1, "inputs and output: {:?}", tables(&file_system));
}

#[test]
fn options_changed_by_two_threads_at_once_are_both_changed() {
    let (file_system, db) = open(small());
    let family = db.default_column_family().unwrap();
    for round in 1..=50u32 {
        let value = (100_000 + round).to_string();
        std::thread::scope(|scope| {
            for name in ["write_buffer_size", "max_bytes_for_level_base", "target_file_size_base"] {
                let change = [(name, &value[..])];
                let (db, family) = (&db, &family);
                scope.spawn(move || db.set_options_cf(family, &change).unwrap());
            }
            for name in ["max_total_wal_size", "stats_dump_period_sec"] {
                let change = [(name, &value[..])];
                let db = &db;
                scope.spawn(move || db.set_db_options(&change).unwrap());
            }
        });
        // The newest OPTIONS file has what is in force.
        let names = file_system.children(Path::new("/db")).unwrap();
        let newest = names.iter().filter(|name| name.starts_with("OPTIONS-")).max().unwrap();
        let text = ferrock_vfs::read_file(&file_system, &Path::new("/db").join(newest)).unwrap();
        let changed =
            String::from_utf8(text).unwrap().lines().filter(|line| line.ends_with(&format!("={value}"))).count();
        assert_eq!(changed, 5, "round {round}");
    }
}

#[test]
fn two_compactions_overlap_in_time() {
    let (gate, db, families) = gated(manual(), &["default", "other"]);
    for family in &families {
        (0..4).for_each(|round| fill(&db, family, 200, round));
    }
    gate.state.lock().together = 2;
    for family in &families {
        db.set_options_cf(family, &[("disable_auto_compactions", "false")]).unwrap();
    }
    wait_until("both compactions", || gate.completed.load(Ordering::SeqCst) >= 2);
    // Neither went on before the other had begun: both ran at once.
    assert!(gate.most_at_once.load(Ordering::SeqCst) >= 2, "the compactions ran one after the other");
    db.wait_for_background_work().unwrap();
    for family in &families {
        assert_eq!(db.property_cf(family, "num-files-at-level0").unwrap(), "0");
        assert_eq!(db.get_cf(family, &ReadOptions::default(), b"key000000").unwrap().as_deref(), Some(&[3; 100][..]));
    }
}

#[test]
fn two_compactions_of_one_family_overlap_in_time() {
    let (gate, db, families) = gated(manual(), &["default"]);
    let family = &families[0];
    // Two key ranges in the last level, and new files over each of them.
    for prefix in ["a", "z"] {
        for round in 0..2u8 {
            for number in 0..200 {
                let key = format!("{prefix}{number:06}");
                db.put(key.as_bytes(), &[round; 100]).unwrap();
            }
            db.flush().unwrap();
        }
        db.compact_range(Some(prefix.as_bytes()), Some(format!("{prefix}~").as_bytes())).unwrap();
    }
    let before = gate.begun();
    gate.state.lock().together = before + 2;
    let jobs: Vec<_> = ["a", "z"]
        .map(|prefix| {
            let (db, family) = (db.clone(), family.clone());
            std::thread::spawn(move || {
                let force = ferrock::CompactRangeOptions {
                    bottommost_level_compaction: ferrock::options::BottommostLevelCompaction::Force,
                    ..ferrock::CompactRangeOptions::default()
                };
                db.compact_range_cf(&family, Some(prefix.as_bytes()), Some(format!("{prefix}~").as_bytes()), &force)
            })
        })
        .into_iter()
        .collect();
    for job in jobs {
        job.join().unwrap().unwrap();
    }
    assert!(gate.most_at_once.load(Ordering::SeqCst) >= 2, "the compactions ran one after the other");
    assert_eq!(db.get(b"a000000").unwrap().as_deref(), Some(&[1; 100][..]));
    assert_eq!(db.get(b"z000199").unwrap().as_deref(), Some(&[1; 100][..]));
}

#[test]
fn readers_and_writers_go_on_while_a_compaction_is_held() {
    let (gate, db, families) = gated(manual(), &["default"]);
    (0..4).for_each(|round| fill(&db, &families[0], 300, round));
    gate.close();
    db.set_options_cf(&families[0], &[("disable_auto_compactions", "false")]).unwrap();
    wait_until("the compaction", || gate.begun() == 1);
    assert_eq!(db.int_property("num-running-compactions"), Some(1));
    // Everything here would wait for ever if it waited for the compaction.
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..3u32 {
            let (db, reads) = (&db, &reads);
            scope.spawn(move || {
                for number in 0..300u32 {
                    let key = format!("key{:06}", (number * 7 + thread) % 300);
                    assert_eq!(db.get(key.as_bytes()).unwrap().as_deref(), Some(&[3; 100][..]));
                    reads.fetch_add(1, Ordering::Relaxed);
                }
                let mut iter = db.iter(&ReadOptions::default());
                iter.seek_to_first();
                let mut count = 0;
                while iter.valid() {
                    count += 1;
                    iter.next();
                }
                assert!(count >= 300);
            });
        }
    });
    assert_eq!(reads.load(Ordering::Relaxed), 900);
    db.put(b"new", b"value").unwrap();
    db.flush().unwrap();
    assert_eq!(db.get(b"new").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(gate.completed.load(Ordering::SeqCst), 0, "the compaction was held all the time");
    gate.open();
    db.wait_for_background_work().unwrap();
    assert!(gate.completed.load(Ordering::SeqCst) >= 1);
    assert_eq!(db.get(b"key000000").unwrap().as_deref(), Some(&[3; 100][..]));
}

/// Groups whose members inserted their batches at the same time, as `ferrock.statistics` has it.
fn parallel_groups(db: &Db) -> u64 {
    let stats = db.property("ferrock.statistics").unwrap();
    stats.lines().find_map(|line| line.strip_prefix("parallel_groups=")).unwrap().parse().unwrap()
}

fn write_from_many_threads(db: &Db, threads: u8, batches: u32) {
    let start = std::sync::Barrier::new(usize::from(threads));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (db, start) = (&db, &start);
            scope.spawn(move || {
                start.wait();
                for number in 0..batches {
                    let mut batch = WriteBatch::new();
                    for part in 0..8u32 {
                        let key = format!("t{thread}-{:08}", number * 8 + part);
                        batch.put(key.as_bytes(), &[thread; 1000]).unwrap();
                    }
                    db.write(batch, &WriteOptions::default()).unwrap();
                }
            });
        }
    });
}

#[test]
fn members_of_a_group_insert_in_parallel() {
    let mut family = ColumnFamilyOptions::default();
    family.compression = CompressionType::NoCompression;
    let (_, db) = open(family);
    // Groups form when writers meet; with a few rounds they do on any machine.
    for _ in 0..20 {
        write_from_many_threads(&db, 4, 50);
        if parallel_groups(&db) > 0 {
            break;
        }
    }
    assert!(parallel_groups(&db) > 0, "{}", db.property("ferrock.statistics").unwrap());
    for thread in 0..4u8 {
        for number in 0..400u32 {
            let key = format!("t{thread}-{number:08}");
            assert_eq!(db.get(key.as_bytes()).unwrap().as_deref(), Some(&[thread; 1000][..]), "{key}");
        }
    }
    let file_system = MemoryFileSystem::new();
    let mut alone = options(&file_system);
    alone.allow_concurrent_memtable_write = false;
    let db = Db::open("/db", alone).unwrap();
    write_from_many_threads(&db, 4, 50);
    assert_eq!(parallel_groups(&db), 0, "it is switched off");
}

#[test]
fn writers_and_readers_under_flushes_and_compactions() {
    let (skip_lists, lists) = (MemTableFactory::hash_skip_list(3), MemTableFactory::hash_link_list(2));
    let (skip_list, vector) = (MemTableFactory::default(), MemTableFactory::Vector { count: 0 });
    for (factory, rounds) in [(skip_list, 1500), (vector, 500), (skip_lists, 300), (lists, 300)] {
        let mut family = small();
        family.prefix_extractor = Some(PrefixExtractor::Fixed(3));
        family.memtable_factory = factory;
        write_and_read(family, rounds);
    }
}

/// Snapshots see what they should although newer values are written over older ones.
#[test]
fn writers_in_place_and_readers() {
    let mut family = small();
    family.inplace_update_support = true;
    family.inplace_update_num_locks = 3;
    write_and_read(family, 1000);
}

/// Writers count up in batches over two families; readers check that batches are atomic and time does not go back.
fn write_and_read(family: ColumnFamilyOptions, rounds: u64) {
    const WRITERS: usize = 5;
    let file_system = MemoryFileSystem::new();
    let options = |file_system: &MemoryFileSystem| {
        let mut options = options(file_system);
        options.allow_concurrent_memtable_write =
            family.memtable_factory.allows_concurrent_writes() && !family.inplace_update_support;
        options
    };
    let families: Vec<_> = ["default", "second"].map(|name| (name.to_owned(), family.clone())).into();
    let (db, handles) = Db::open_cf("/db", options(&file_system), families.clone()).unwrap();
    let done = AtomicBool::new(false);
    let read_u64 = |db: &Db, family: &ColumnFamily, options: &ReadOptions, key: &str| -> u64 {
        let value = db.get_cf(family, options, key.as_bytes()).unwrap();
        value.map_or(0, |value| u64::from_le_bytes(value[..8].try_into().unwrap()))
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (db, handles) = (&db, &handles);
                scope.spawn(move || {
                    for round in 1..=rounds {
                        let mut batch = WriteBatch::new();
                        let mut value = round.to_le_bytes().to_vec();
                        value.resize(200, writer as u8);
                        for (family, key) in [(0, "left"), (1, "right"), (0, "middle")] {
                            batch.put_cf(family, format!("{writer}-{key}").as_bytes(), &value).unwrap();
                        }
                        batch.put_cf(1, format!("{writer}-filler-{:04}", round % 500).as_bytes(), &value).unwrap();
                        let sync = round % 200 == 0;
                        db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
                        // What was written is there at once.
                        let own = read_u64(db, &handles[1], &ReadOptions::default(), &format!("{writer}-right"));
                        assert_eq!(own, round, "a writer does not see its own write");
                    }
                })
            })
            .collect();
        for reader in 0..3 {
            let (db, handles, done) = (&db, &handles, &done);
            scope.spawn(move || {
                let mut seen = [0u64; WRITERS];
                let mut turns = 0u64;
                while !done.load(Ordering::Acquire) {
                    turns += 1;
                    let snapshot = db.snapshot();
                    let at = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
                    for (writer, newest) in seen.iter_mut().enumerate() {
                        let left = read_u64(db, &handles[0], &at, &format!("{writer}-left"));
                        let right = read_u64(db, &handles[1], &at, &format!("{writer}-right"));
                        let middle = read_u64(db, &handles[0], &at, &format!("{writer}-middle"));
                        assert_eq!((left, left), (right, middle), "half a batch is visible");
                        assert!(left >= *newest, "time went back from {newest} to {left}");
                        *newest = left;
                    }
                    if turns.is_multiple_of(16) && reader == 0 {
                        let mut iter = db.iter_cf(&handles[1], &at);
                        iter.seek_to_first();
                        let mut last = Vec::new();
                        while iter.valid() {
                            assert!(last.as_slice() < iter.key(), "keys out of order");
                            last = iter.key().to_vec();
                            iter.next();
                        }
                        iter.status().unwrap();
                    }
                }
            });
        }
        let (db, done) = (&db, &done);
        scope.spawn(move || {
            let mut turn = 0;
            while !done.load(Ordering::Acquire) {
                turn += 1;
                db.flush().unwrap();
                if turn % 4 == 0 {
                    db.compact_range(None, None).unwrap();
                }
            }
        });
        // Also when a writer panics: the others must come to their end.
        let results: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Release);
        results.into_iter().for_each(|result| result.unwrap());
    });
    drop((db, handles));
    let (db, handles) = Db::open_cf("/db", options(&file_system), families).unwrap();
    for writer in 0..WRITERS {
        assert_eq!(read_u64(&db, &handles[0], &ReadOptions::default(), &format!("{writer}-left")), rounds);
        assert_eq!(read_u64(&db, &handles[1], &ReadOptions::default(), &format!("{writer}-right")), rounds);
    }
}

#[test]
fn writers_slow_down_and_stop_while_compaction_is_behind_and_recover() {
    let mut family = small();
    family.level0_file_num_compaction_trigger = 2;
    family.level0_slowdown_writes_trigger = 3;
    family.level0_stop_writes_trigger = 5;
    let (gate, db, families) = gated(family, &["default"]);
    gate.close();
    let condition = || {
        (db.int_property("actual-delayed-write-rate").unwrap() > 0, db.int_property("is-write-stopped").unwrap() > 0)
    };
    (0..2).for_each(|round| fill(&db, &families[0], 10, round));
    assert_eq!(condition(), (false, false));
    fill(&db, &families[0], 10, 2);
    assert_eq!(condition(), (true, false), "slowed down from three files on");
    // Large writes at once use up what a delayed writer may write: then `no_slowdown` refuses instead of waiting.
    let impatient = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    let refused = (0..2000).find_map(|_| db.put_cf(&families[0], b"large", &[0; 30_000], &impatient).err());
    assert_eq!(refused.unwrap().kind(), ErrorKind::Incomplete);
    while !condition().1 {
        fill(&db, &families[0], 1, 9);
    }
    let error = db.put_cf(&families[0], b"k", b"v", &impatient).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    let patient = {
        let db = db.clone();
        Waiting::begin("a stopped writer", move || db.put(b"patient", b"v"))
    };
    assert!(db.get(b"key000000").unwrap().is_some(), "reads go on");
    gate.open();
    patient.join().unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(condition(), (false, false));
    db.put_cf(&families[0], b"k", b"v", &impatient).unwrap();
    assert_eq!(db.get(b"patient").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn a_stopped_writer_is_let_go_by_closing() {
    let mut family = manual();
    family.level0_file_num_compaction_trigger = 1;
    family.level0_slowdown_writes_trigger = 1;
    family.level0_stop_writes_trigger = 2;
    let (gate, db, families) = gated(family, &["default"]);
    (0..2).for_each(|round| fill(&db, &families[0], 10, round));
    gate.close();
    db.set_options_cf(&families[0], &[("disable_auto_compactions", "false")]).unwrap();
    wait_until("the stop", || db.int_property("is-write-stopped") == Some(1));
    let stopped = {
        let db = db.clone();
        Waiting::begin("a stopped writer", move || db.put(b"k", b"v"))
    };
    let closing = {
        let db = db.clone();
        Waiting::begin("closing, which waits for the compaction", move || db.close())
    };
    // The closing lets the writer go; the compaction is still held.
    assert_eq!(stopped.join().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    gate.open();
    closing.join().unwrap();
}

#[test]
fn iterators_and_snapshots_outlive_the_database() {
    let (file_system, db) = open(manual());
    let family = db.default_column_family().unwrap();
    fill(&db, &family, 500, 1);
    db.put(b"in memory", b"v").unwrap();
    let snapshot = db.snapshot();
    let mut iter = db.iter(&ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() });
    iter.seek_to_first();
    let second = db.clone();
    drop(db);
    second.put(b"second", b"handle").unwrap();
    drop(second);
    // The lock is given up although the iterator lives.
    let again = Db::open_cf("/db", options(&file_system), vec![("default".to_owned(), manual())]).unwrap().0;
    assert_eq!(again.get(b"second").unwrap().as_deref(), Some(&b"handle"[..]));
    again.compact_range(None, None).unwrap();
    let count = std::thread::spawn(move || {
        let mut count = 0;
        while iter.valid() {
            count += 1;
            iter.next();
        }
        iter.status().unwrap();
        (count, iter)
    });
    let (count, iter) = count.join().unwrap();
    assert_eq!(count, 501);
    drop(again);
    drop(snapshot);
    drop(iter);
    drop(family);
}

#[test]
fn handles_dropped_in_any_order_close_once() {
    for order in 0..6 {
        let (file_system, db) = open(small());
        let family = db.default_column_family().unwrap();
        let clones: Vec<Db> = (0..3).map(|_| db.clone()).collect();
        db.put(b"k", b"v").unwrap();
        let iter = db.iter(&ReadOptions::default());
        let threads: Vec<_> = clones
            .into_iter()
            .map(|db| {
                std::thread::spawn(move || {
                    db.put(b"clone", b"v").unwrap();
                    drop(db);
                })
            })
            .collect();
        match order % 3 {
            0 => drop((db, family, iter)),
            1 => drop((iter, family, db)),
            _ => drop((family, db, iter)),
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let db = Db::open_cf("/db", options(&file_system), vec![("default".to_owned(), small())]).unwrap().0;
        assert!(db.get(b"k").unwrap().is_some() && db.get(b"clone").unwrap().is_some());
    }
}

#[test]
fn an_idle_family_does_not_pin_the_log() {
    let file_system = MemoryFileSystem::new();
    let mut options = options(&file_system);
    options.max_total_wal_size = 256 << 10;
    let families: Vec<_> = ["default", "idle"].map(|name| (name.to_owned(), small())).into();
    let (db, handles) = Db::open_cf("/db", options.clone(), families.clone()).unwrap();
    db.put_cf(&handles[1], b"once", b"long ago", &WriteOptions::default()).unwrap();
    let logs = || {
        let names = file_system.children(Path::new("/db")).unwrap();
        let logs = names.into_iter().filter(|name| name.ends_with(".log"));
        // A log may go between the listing and the question.
        logs.filter_map(|name| file_system.file_size(&Path::new("/db").join(name)).ok()).collect::<Vec<u64>>()
    };
    let mut most = 0;
    for number in 0..4000u32 {
        db.put(format!("busy{:05}", number % 700).as_bytes(), &[7; 500]).unwrap();
        most = most.max(logs().iter().sum::<u64>());
        assert!(db.int_property("num-immutable-mem-table").unwrap() <= 2, "writers do not wait for the flush");
    }
    db.wait_for_background_work().unwrap();
    assert!(most < 700 << 10, "the logs grew to {most} bytes");
    assert_eq!(db.property_cf(&handles[1], "num-files-at-level0").unwrap(), "1", "the idle family was flushed");
    assert!(logs().len() <= 6, "{:?}", logs());
    drop((db, handles));
    let (db, handles) = Db::open_cf("/db", options, families).unwrap();
    let value = db.get_cf(&handles[1], &ReadOptions::default(), b"once").unwrap();
    assert_eq!(value.as_deref(), Some(&b"long ago"[..]));
}

#[test]
fn snapshots_keep_versions_through_compactions_and_release_them() {
    let (_, db) = open(manual());
    let family = db.default_column_family().unwrap();
    fill(&db, &family, 300, 1);
    let snapshot = db.snapshot();
    fill(&db, &family, 300, 2);
    db.delete(b"key000007").unwrap();
    db.compact_range(None, None).unwrap();
    let at = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    for number in 0..300u32 {
        let key = format!("key{number:06}");
        assert_eq!(db.get_with(&at, key.as_bytes()).unwrap().as_deref(), Some(&[1; 100][..]), "{key}");
    }
    assert!(db.get(b"key000007").unwrap().is_none());
    let entries = |db: &Db| -> u64 {
        let files = db.live_files();
        files.iter().map(|file| db.table_properties(file).unwrap().num_entries).sum()
    };
    // Of the deleted key: what the snapshot sees, and the tombstone.
    assert_eq!(entries(&db), 600);
    drop(at);
    let force = ferrock::CompactRangeOptions {
        bottommost_level_compaction: ferrock::options::BottommostLevelCompaction::Force,
        ..ferrock::CompactRangeOptions::default()
    };
    db.compact_range_cf(&family, None, None, &force).unwrap();
    assert_eq!(entries(&db), 299);
}

#[test]
fn files_that_an_iterator_reads_are_deleted_when_it_is_gone() {
    let (file_system, db) = open(manual());
    let family = db.default_column_family().unwrap();
    fill(&db, &family, 400, 1);
    let old = tables(&file_system);
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    fill(&db, &family, 400, 2);
    db.compact_range(None, None).unwrap();
    let with_zombies = tables(&file_system);
    assert!(with_zombies.is_superset(&old), "a table went while an iterator reads it");
    assert!(with_zombies.len() > db.live_files().len());
    let mut count = 0;
    while iter.valid() {
        assert_eq!(iter.value(), [1; 100]);
        count += 1;
        iter.next();
    }
    assert_eq!(count, 400);
    drop(iter);
    fill(&db, &family, 10, 3);
    db.compact_range(None, None).unwrap();
    let left = tables(&file_system);
    assert!(left.is_disjoint(&old), "obsolete tables stay: {left:?}");
    assert_eq!(left.len(), db.live_files().len());
}

#[test]
fn families_are_created_and_dropped_under_load() {
    let (_, db) = open(small());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3u32 {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                let mut number = 0u32;
                while !done.load(Ordering::Acquire) {
                    number += 1;
                    let mut batch = WriteBatch::new();
                    for family in db.column_families() {
                        batch.put_cf(family.id(), format!("{writer}-{number}").as_bytes(), &[1; 300]).unwrap();
                    }
                    // A family may be dropped between the listing and the write.
                    match db.write(batch, &WriteOptions::default()) {
                        Ok(()) => {}
                        Err(error) => assert!(
                            error.kind() == ErrorKind::ColumnFamilyDropped
                                || error.to_string().contains("does not exist"),
                            "{error}"
                        ),
                    }
                }
            });
        }
        for round in 0..25 {
            let family = db.create_column_family(&format!("family{round}"), small()).unwrap();
            db.put_cf(&family, b"k", b"v", &WriteOptions::default()).unwrap();
            let mut iter = db.iter_cf(&family, &ReadOptions::default());
            if round % 2 == 0 {
                db.flush_cf(&family, &FlushOptions::default()).unwrap();
            }
            db.drop_column_family(&family).unwrap();
            iter.seek(b"k");
            assert_eq!(iter.value(), b"v", "an iterator keeps a dropped family's data");
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(db.column_families().len(), 1);
    db.wait_for_background_work().unwrap();
    db.close().unwrap();
}

/// Merge operands count once at every moment, also while a flush and a compaction end at the same time: a table must
/// never be seen beside the memtable it was made from.
#[test]
fn merge_operands_count_once_while_tables_change() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_background_jobs = 4;
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = ferrock_base::merge::built_in("uint64add").unwrap();
    family.level0_file_num_compaction_trigger = 1;
    let (db, families) = Db::open_cf(directory.path(), options, vec![("default".to_owned(), family)]).unwrap();
    let written = Arc::new(AtomicU64::new(0));
    let is_done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (db, written, is_done) = (db.clone(), Arc::clone(&written), Arc::clone(&is_done));
            std::thread::spawn(move || {
                while !is_done.load(Ordering::Acquire) {
                    let before = written.load(Ordering::Acquire);
                    let value = db.get(b"counter").unwrap();
                    let after = written.load(Ordering::Acquire) + 1;
                    let value = value.map_or(0, |value| u64::from_le_bytes(value[..].try_into().unwrap()));
                    assert!((before..=after).contains(&value), "{value} is not within {before}..={after}");
                }
            })
        })
        .collect();
    // Jobs that end together have to queue for the database's lock: that is where they could overtake each other.
    let askers: Vec<_> = (0..3)
        .map(|_| {
            let (db, is_done) = (db.clone(), Arc::clone(&is_done));
            std::thread::spawn(move || {
                while !is_done.load(Ordering::Acquire) {
                    db.property("rocksdb.obsolete-sst-files-size").unwrap();
                }
            })
        })
        .collect();
    for number in 1..=2000u64 {
        db.merge_cf(&families[0], b"counter", &1u64.to_le_bytes(), &WriteOptions::default()).unwrap();
        written.store(number, Ordering::Release);
        if number.is_multiple_of(10) {
            db.flush_cf(&families[0], &FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
        }
    }
    is_done.store(true, Ordering::Release);
    readers.into_iter().chain(askers).for_each(|thread| thread.join().unwrap());
}

/// Whichever thread wrote it, led, let it insert for itself, or refused it.
#[test]
fn a_lent_batch_comes_back_with_the_number_of_its_first_entry() {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    let db = Db::open("/db", options).unwrap();
    let numbers: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let write = |thread: u8| {
            let db = &db;
            move || {
                let mut numbers = Vec::new();
                for round in 0..200u64 {
                    let mut batch = WriteBatch::new();
                    for entry in 0..=u64::from(thread) {
                        batch.put(&[thread, round as u8, entry as u8], &[b'v'; 5000]).unwrap();
                    }
                    let before = batch.data().to_vec();
                    db.write_lent(&mut batch, &WriteOptions::default()).unwrap();
                    assert_eq!(batch.data()[8..], before[8..]);
                    numbers.push((batch.sequence().0, u64::from(batch.count())));
                }
                numbers
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(write(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // Each has its own numbers, one after the other.
    let mut sorted = numbers;
    sorted.sort_unstable();
    let mut next = sorted[0].0;
    for (first, count) in sorted {
        assert_eq!(first, next);
        next += count;
    }
    assert_eq!(db.latest_sequence_number().0, next - 1);
    // What is refused has no number, and is as it was.
    let mut batch = WriteBatch::new();
    batch.merge(b"k", b"without an operator").unwrap();
    let before = batch.data().to_vec();
    assert!(db.write_lent(&mut batch, &WriteOptions::default()).is_err());
    assert_eq!(batch.data(), before);
}
