//! Memtables of several families and databases under one bound, charged to a block cache.
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
use ferrock::options::WriteBufferManager;
use ferrock::{ColumnFamilyOptions, Db, ErrorKind, ReadOptions, WriteBatch, WriteOptions};
use ferrock_cache::{CacheOptions, EntryRole};
use ferrock_table::TableBlockCache;
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

const SIZE: usize = 1 << 20;

fn open(manager: &Arc<WriteBufferManager>) -> Db {
    open_in(&MemoryFileSystem::new(), manager)
}

fn open_in(files: &MemoryFileSystem, manager: &Arc<WriteBufferManager>) -> Db {
    let mut options = options_on(Arc::new(files.clone()));
    options.avoid_flush_during_recovery = true;
    options.avoid_flush_during_shutdown = true;
    options.components.write_buffer_manager = Some(Arc::clone(manager));
    let mut family = ColumnFamilyOptions::default();
    family.arena_block_size = 16 << 10;
    family.disable_auto_compactions = true;
    family.max_write_buffer_number = 100;
    let families = ["default", "other"].map(|name| (name.to_owned(), family.clone()));
    Db::open_cf("/db", options, families.into()).unwrap().0
}

/// Writes `kilobytes` in entries of one.
fn fill(db: &Db, first: u32, kilobytes: u32) {
    for number in first..first + kilobytes {
        db.put(format!("key{number:08}").as_bytes(), &[b'v'; 1000]).unwrap();
    }
}

fn tables(db: &Db) -> u64 {
    db.property("num-files-at-level0").unwrap().parse().unwrap()
}

#[test]
fn memtables_are_flushed_before_they_pass_the_size() {
    let manager = WriteBufferManager::new(SIZE, None, false);
    assert!(manager.enabled() && !manager.cost_to_cache());
    // Its components' write_buffer_manager.
    let db = open(&manager);
    fill(&db, 0, 100);
    let used = manager.memory_usage();
    assert!((100_000..200_000).contains(&used) && manager.mutable_memtable_memory_usage() == used, "{used}");
    assert_eq!(tables(&db), 0);
    let mut most = 0;
    for part in 0..50 {
        fill(&db, 100 + part * 100, 100);
        most = most.max(manager.mutable_memtable_memory_usage());
    }
    // Without the manager all of it fits one memtable of 64 MiB.
    assert!((SIZE / 2..SIZE).contains(&most), "{most} bytes at once");
    db.wait_for_background_work().unwrap();
    assert!(tables(&db) > 0 && manager.memory_usage() < SIZE);
    // A smaller size counts at once.
    db.flush().unwrap();
    fill(&db, 5500, 300);
    let before = tables(&db);
    manager.set_buffer_size(SIZE / 8);
    fill(&db, 6000, 1);
    db.wait_for_background_work().unwrap();
    assert_eq!(tables(&db), before + 1);
    // What an iterator reads stays counted, though no longer as written to.
    fill(&db, 7000, 50);
    let iter = db.iter(&ReadOptions::default());
    db.flush().unwrap();
    assert!(manager.memory_usage() >= 50_000 && manager.mutable_memtable_memory_usage() < 50_000);
    drop(iter);
    db.close().unwrap();
    wait_until("its memory is given back", || {
        manager.memory_usage() == 0 && manager.mutable_memtable_memory_usage() == 0
    });
}

#[test]
fn memtables_are_charged_to_the_cache() {
    for (size, capacity, strict) in [(0, 16 << 20, false), (SIZE, 16 << 20, true), (0, SIZE, true)] {
        let cache = TableBlockCache::new(CacheOptions {
            capacity_bytes: capacity,
            strict_capacity_limit: strict,
            ..CacheOptions::default()
        });
        let charged = || cache.stats().role(EntryRole::WriteBuffer).usage_bytes;
        let manager = WriteBufferManager::new(size, Some(&cache), false);
        assert!(manager.cost_to_cache() && charged() == 0);
        let db = open(&manager);
        fill(&db, 0, 700);
        assert!(charged() >= manager.memory_usage() && charged() <= manager.memory_usage() + (256 << 10));
        assert!(cache.pinned_usage() >= charged() && charged() == manager.dummy_entries_in_cache_usage());
        fill(&db, 700, 2000);
        assert!(cache.usage() <= capacity, "over the limit: {}", cache.usage());
        // Refused by the cache, taken all the same: what was written is there.
        assert_eq!(charged() < manager.memory_usage(), capacity == SIZE, "{} {}", charged(), manager.memory_usage());
        assert_eq!(db.get(b"key00002699").unwrap().unwrap().len(), 1000);
        db.flush().unwrap();
        assert!(charged() <= 256 << 10, "{}", charged());
        db.close().unwrap();
        wait_until("its memory is given back", || charged() == 0);
    }
}

#[test]
fn writes_wait_for_memory_where_that_is_wanted() {
    let manager = WriteBufferManager::new(SIZE, None, true);
    let db = open(&manager);
    let mut most = 0;
    for part in 0..60 {
        fill(&db, part * 100, 100);
        most = most.max(manager.memory_usage());
    }
    assert!(most <= SIZE + (64 << 10), "{most} bytes at once");
    // Nothing can be flushed: the size is passed, then writes wait until it can.
    db.pause_background_work().unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"large", &vec![b'x'; 2 * SIZE]).unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    assert!(manager.memory_usage() > SIZE);
    let default = db.default_column_family().unwrap();
    let impatient = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    let error = db.put_cf(&default, b"a", b"b", &impatient).unwrap_err();
    assert!(error.kind() == ErrorKind::Incomplete && error.to_string().contains("Write stall"), "{error}");
    let writer = {
        let db = db.clone();
        Waiting::begin("a writer", move || db.put(b"a", b"b"))
    };
    db.continue_background_work().unwrap();
    writer.join().unwrap();
    // Without the wait writes pass the size.
    manager.set_allow_stall(false);
    db.pause_background_work().unwrap();
    fill(&db, 10_000, 3000);
    assert!(manager.memory_usage() > 2 * SIZE);
    db.continue_background_work().unwrap();
}

#[test]
fn databases_share_a_size() {
    let manager = WriteBufferManager::new(SIZE, None, true);
    let (one, two) = (open(&manager), open(&manager));
    let other = two.column_family("other").unwrap();
    for number in 0..600u32 {
        two.put_cf(&other, &number.to_be_bytes(), &[b'w'; 1000], &WriteOptions::default()).unwrap();
    }
    assert_eq!(tables(&two), 0);
    // The other database holds most of the size and does nothing: this one flushes, and is not kept waiting for ever.
    fill(&one, 0, 3000);
    assert!(tables(&one) > 0);
    // Its own next write finds it over the size and flushes the family that has the memory, not the one that is
    // written.
    manager.set_buffer_size(600_000);
    two.put(b"k", b"v").unwrap();
    two.wait_for_background_work().unwrap();
    assert_eq!(two.property_cf(&other, "num-files-at-level0").unwrap(), "1");
    drop((one, two, other));
    wait_until("its memory is given back", || manager.memory_usage() == 0);
}

#[test]
fn an_idle_database_with_most_of_the_size_does_not_make_tables_of_single_entries() {
    for allow_stall in [false, true] {
        let manager = WriteBufferManager::new(SIZE, None, allow_stall);
        let (idle, busy) = (open(&manager), open(&manager));
        // The write that passes 7/8 is its last, so it never comes to flush.
        while manager.memory_usage() <= SIZE / 8 * 7 {
            fill(&idle, 0, 1);
        }
        assert_eq!(tables(&idle), 0);
        // With each flush done before the next write, every sixteenth of the size makes a table.
        for number in 0..1000 {
            fill(&busy, number, 1);
            busy.wait_for_background_work().unwrap();
        }
        let made = tables(&busy);
        assert!((10..30).contains(&made), "{made} tables of 1000 entries of 1 KB, allow_stall {allow_stall}");
        let active = manager.mutable_memtable_memory_usage();
        assert!(active < SIZE, "{active} bytes");
        // Writes that run ahead of the flushes make fewer.
        fill(&busy, 1000, 1000);
        busy.wait_for_background_work().unwrap();
        assert!((1..30).contains(&(tables(&busy) - made)), "{} more tables", tables(&busy) - made);
        assert_eq!(tables(&idle), 0, "it was not written to");
    }
}

#[test]
fn what_recovery_leaves_in_memory_is_counted_at_once() {
    let files = MemoryFileSystem::new();
    let before = WriteBufferManager::new(SIZE, None, false);
    let db = open_in(&files, &before);
    let other = db.column_family("other").unwrap();
    fill(&db, 0, 200);
    db.put_cf(&other, b"k", &[b'w'; 100_000], &WriteOptions::default()).unwrap();
    drop(other);
    db.close().unwrap();
    let manager = WriteBufferManager::new(SIZE, None, false);
    let db = open_in(&files, &manager);
    assert_eq!(tables(&db), 0);
    assert!(manager.memory_usage() >= 300_000, "{}", manager.memory_usage());
    assert_eq!(manager.mutable_memtable_memory_usage(), manager.memory_usage());
    db.close().unwrap();
    wait_until("its memory is given back", || {
        manager.memory_usage() == 0 && manager.mutable_memtable_memory_usage() == 0
    });
}

#[test]
fn a_write_that_no_flush_can_make_room_for_is_refused_after_a_cancel() {
    let manager = WriteBufferManager::new(SIZE, None, true);
    let db = open(&manager);
    fill(&db, 0, 100);
    db.cancel_all_background_work(true).unwrap();
    // Nothing is flushed any more, and closing would wait for a writer that waits for that.
    let refused = (0..5000_u32).find_map(|number| {
        let written = db.put(format!("key{number:08}").as_bytes(), &[b'v'; 1000]);
        written.err()
    });
    assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::ShutdownInProgress));
    db.close().unwrap();
}
