//! Families that become durable together: `atomic_flush`, and `force_atomic_flush` of one call.
//!
//! Nothing here goes to a log, so what a crash leaves are the tables alone. That any crash leaves all families at one
//! point of any history is what `tests/crash` shows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::threads::{Gate, RecordingSpawner};
use common::{options_on, rows_of};
use ferrock::options::WriteBufferManager;
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::thread::Spawner;
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const NAMES: [&str; 3] = ["default", "a", "b"];

fn open(file_system: Arc<dyn FileSystem>, change: impl FnOnce(&mut DbOptions)) -> (Db, Vec<ColumnFamily>) {
    let mut options = options_on(file_system);
    change(&mut options);
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 64 << 10;
    // No writer waits for a flush that is held.
    family.max_write_buffer_number = 8;
    family.disable_auto_compactions = true;
    Db::open_cf("/db", options, NAMES.map(|name| (name.to_owned(), family.clone())).to_vec()).unwrap()
}

fn put(db: &Db, family: &ColumnFamily, key: &str, bytes: usize) {
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    db.put_cf(family, key.as_bytes(), &vec![b'v'; bytes], &unlogged).unwrap();
}

/// How many keys each family has after a crash now that loses what was not synced.
fn left_by_a_crash(files: &MemoryFileSystem) -> [usize; 3] {
    keys_in(files.crash_clone(CrashPolicy::KeepNothingUnsynced))
}

/// How many keys each family has.
fn keys_in(files: MemoryFileSystem) -> [usize; 3] {
    let (db, families) = open(Arc::new(files), |_| {});
    let keys_of = |family: &ColumnFamily| rows_of(db.iter_cf(family, &ReadOptions::default())).len();
    [keys_of(&families[0]), keys_of(&families[1]), keys_of(&families[2])]
}

fn tables(db: &Db) -> Vec<String> {
    db.live_files().into_iter().map(|file| file.column_family).collect()
}

#[test]
fn a_table_that_cannot_be_written_takes_the_others_with_it() {
    let memory = MemoryFileSystem::new();
    let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
    let (db, families) = open(Arc::clone(&faults) as Arc<dyn FileSystem>, |options| options.atomic_flush = true);
    families.iter().for_each(|family| put(&db, family, "key", 10));
    let rule = FaultRule::new(OperationKind::Create, "*.sst", Fault::Io).when(Trigger::Nth(2));
    let rule = faults.add_rule(rule);
    assert!(db.flush_cf(&families[2], &FlushOptions::default()).is_err());
    assert_eq!((tables(&db), left_by_a_crash(&memory)), (vec![], [0; 3]));
    let names = memory.children(std::path::Path::new("/db")).unwrap();
    assert!(!names.iter().any(|name| name.ends_with(".sst")), "{names:?}");
    faults.remove_rule(rule);
    for family in &families {
        assert!(db.get_cf(family, &ReadOptions::default(), b"key").unwrap().is_some());
    }
    db.resume().unwrap();
    assert_eq!((tables(&db).len(), left_by_a_crash(&memory)), (3, [1; 3]));
}

/// A crash that cuts the MANIFEST at any byte of the group's edits, just before they are synced: the tables of all
/// families count, or those of none.
#[test]
fn a_manifest_that_is_cut_inside_the_group_has_none_of_it() {
    const CUTS: u64 = 150;
    let memory = MemoryFileSystem::new();
    let (db, families) = open(Arc::new(memory.clone()), |options| options.atomic_flush = true);
    let clones: Arc<Mutex<Vec<MemoryFileSystem>>> = Arc::default();
    for round in 0..3 {
        families.iter().for_each(|family| put(&db, family, &format!("key{round}"), 10));
        let (files, taken) = (memory.clone(), Arc::clone(&clones));
        memory.set_operation_hook(Some(Arc::new(move |_, line| {
            if line.starts_with("sync MANIFEST") {
                let torn = |seed| files.crash_clone(CrashPolicy::Torn { seed, granularity_bytes: 1 });
                taken.lock().unwrap().extend((0..CUTS).map(torn));
            }
        })));
        db.flush().unwrap();
        memory.set_operation_hook(None);
        let mut left = [0; 2];
        for files in std::mem::take(&mut *clones.lock().unwrap()) {
            let keys = keys_in(files);
            assert!(keys == [round; 3] || keys == [round + 1; 3], "round {round}: {keys:?}");
            left[usize::from(keys == [round + 1; 3])] += 1;
        }
        assert!(left[0] > 0, "round {round}: no cut lay inside the group");
    }
}

/// Dropped before its table is written, and before the tables count.
#[test]
fn a_family_that_is_dropped_under_the_job_is_left_out() {
    for dropped_at in 1..=3 {
        let memory = MemoryFileSystem::new();
        let (db, families) = open(Arc::new(memory.clone()), |options| options.atomic_flush = true);
        families.iter().for_each(|family| put(&db, family, "key", 10));
        let (dropping, family, seen) = (db.clone(), families[1].clone(), AtomicUsize::new(0));
        memory.set_operation_hook(Some(Arc::new(move |_, line| {
            if line.starts_with("create")
                && line.contains(".sst")
                && seen.fetch_add(1, Ordering::Relaxed) + 1 == dropped_at
            {
                dropping.drop_column_family(&family).unwrap();
            }
        })));
        db.flush().unwrap();
        memory.set_operation_hook(None);
        db.wait_for_background_work().unwrap();
        assert_eq!(tables(&db), ["default", "b"], "dropped at table {dropped_at}");
        assert!(db.background_error().is_none());
        assert_eq!(left_by_a_crash(&memory), [1, 0, 1]);
        let names = memory.children(std::path::Path::new("/db")).unwrap();
        assert_eq!(names.iter().filter(|name| name.ends_with(".sst")).count(), 2, "{names:?}");
    }
}

/// A flush that waits for its thread, and another of one of its families behind it.
#[test]
fn a_forced_flush_takes_what_its_switch_made_immutable_and_no_more() {
    let memory = MemoryFileSystem::new();
    let gate = Gate::shut();
    let (db, families) = open(Arc::new(memory.clone()), |options| {
        options.components.spawner = Some(Arc::new(RecordingSpawner::behind(&gate)) as Arc<dyn Spawner>);
        options.max_background_jobs = 8;
    });
    families.iter().for_each(|family| put(&db, family, "key1", 10));
    let seen: Arc<Mutex<BTreeSet<[usize; 3]>>> = Arc::default();
    let (files, left) = (memory.clone(), Arc::clone(&seen));
    memory.set_operation_hook(Some(Arc::new(move |_, line| {
        if line.contains("MANIFEST") {
            left.lock().unwrap().insert(left_by_a_crash(&files));
        }
    })));
    let later = FlushOptions { wait: false, ..FlushOptions::default() };
    db.flush_cfs(&families[..2], &FlushOptions { force_atomic_flush: true, ..later }).unwrap();
    put(&db, &families[0], "key2", 10);
    db.flush_cf(&families[0], &later).unwrap();
    gate.open();
    db.wait_for_background_work().unwrap();
    memory.set_operation_hook(None);
    seen.lock().unwrap().insert(left_by_a_crash(&memory));
    let seen: Vec<[usize; 3]> = seen.lock().unwrap().iter().copied().collect();
    assert_eq!(seen, [[0, 0, 0], [1, 1, 0], [2, 1, 0]]);
}

/// Two calls that share a family: the one that came first is whole before the other begins.
#[test]
fn forced_flushes_come_in_their_order() {
    let memory = MemoryFileSystem::new();
    let gate = Gate::shut();
    let (db, families) = open(Arc::new(memory.clone()), |options| {
        options.components.spawner = Some(Arc::new(RecordingSpawner::behind(&gate)) as Arc<dyn Spawner>);
        options.max_background_jobs = 16;
    });
    families.iter().for_each(|family| put(&db, family, "key1", 10));
    let atomic = FlushOptions { wait: false, force_atomic_flush: true, ..FlushOptions::default() };
    // The first family is busy: both calls wait for their turn.
    db.flush_cf(&families[0], &FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
    put(&db, &families[0], "key2", 10);
    db.flush_cfs(&families[..2], &atomic).unwrap();
    families[1..].iter().for_each(|family| put(&db, family, "key2", 10));
    db.flush_cfs(&families[1..], &atomic).unwrap();
    let seen: Arc<Mutex<BTreeSet<[usize; 3]>>> = Arc::default();
    let (files, left) = (memory.clone(), Arc::clone(&seen));
    memory.set_operation_hook(Some(Arc::new(move |_, line| {
        if line.contains("MANIFEST") {
            left.lock().unwrap().insert(left_by_a_crash(&files));
        }
    })));
    gate.open();
    db.wait_for_background_work().unwrap();
    memory.set_operation_hook(None);
    seen.lock().unwrap().insert(left_by_a_crash(&memory));
    let seen: Vec<[usize; 3]> = seen.lock().unwrap().iter().copied().collect();
    assert_eq!(seen, [[0, 0, 0], [1, 0, 0], [2, 1, 0], [2, 2, 2]]);
}

/// Whatever has one family flushed has all of them flushed.
#[test]
fn every_cause_of_a_flush_is_one_of_all() {
    type Change = fn(&mut DbOptions);
    let full: [(&str, Change); 3] = [
        ("a full memtable", |_| {}),
        ("db_write_buffer_size", |options| options.db_write_buffer_size = 30_000),
        ("a memory manager", |options| {
            options.components.write_buffer_manager = Some(WriteBufferManager::new(30_000, None, false));
        }),
    ];
    for (cause, change) in full {
        let memory = MemoryFileSystem::new();
        let (db, families) = open(Arc::new(memory.clone()), |options| {
            options.atomic_flush = true;
            change(options);
        });
        put(&db, &families[1], "small", 10);
        while tables(&db).is_empty() {
            put(&db, &families[0], "large", 3000);
            db.wait_for_background_work().unwrap();
        }
        assert_eq!(tables(&db), ["default", "a"], "{cause}");
        assert_eq!(left_by_a_crash(&memory), [1, 1, 0], "{cause}");
    }
    let memory = MemoryFileSystem::new();
    let (db, families) = open(Arc::new(memory.clone()), |options| {
        options.atomic_flush = true;
        options.max_total_wal_size = 100_000;
    });
    // Logged, and held back by an idle family; another one has nothing but what no log has.
    db.put_cf(&families[1], b"logged", b"value", &WriteOptions::default()).unwrap();
    put(&db, &families[2], "small", 10);
    for number in 0..100_u32 {
        db.put_cf(&families[0], &number.to_be_bytes(), &[0; 3000], &WriteOptions::default()).unwrap();
    }
    db.wait_for_background_work().unwrap();
    assert!(NAMES.iter().all(|name| tables(&db).iter().any(|of| of == name)), "{:?}", tables(&db));
    db.close().unwrap();
}
