//! `uncache_aggressiveness`: the blocks of a table leave the block cache when the table leaves the tree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::threads::wait_until;
use ferrock::options::FilterPolicy;
use ferrock::{ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ReadOptions};
use ferrock_cache::{CacheOptions, EntryRole};
use ferrock_table::TableBlockCache;
use ferrock_vfs::{FileSystem, MemoryFileSystem, PosixFileSystem};
use std::path::Path;
use std::sync::Arc;

const KEYS: u32 = 3000;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    format!("{number:08}").repeat(10).into_bytes()
}

/// A database, and the cache that it shares with others.
struct Setup {
    db: DbOptions,
    family: ColumnFamilyOptions,
    cache: Arc<TableBlockCache>,
}

impl Setup {
    fn new(aggressiveness: u32) -> Self {
        let cache = TableBlockCache::new(CacheOptions { capacity_bytes: 16 << 20, ..CacheOptions::default() });
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        db.create_if_missing = true;
        db.create_missing_column_families = true;
        db.components.file_system = Some(Arc::new(MemoryFileSystem::new()) as Arc<dyn FileSystem>);
        db.components.block_cache = Some(Arc::clone(&cache));
        family.disable_auto_compactions = true;
        family.filter_policy = FilterPolicy::bloom(10.0);
        family.table.block_size = 1000;
        family.uncache_aggressiveness = aggressiveness;
        Self { db, family, cache }
    }

    /// Sets an option by its name, in whichever table has it.
    fn set(mut self, name: &str, value: &str) -> Self {
        let found = self.db.settings.set(name, value).unwrap()
            || self.family.settings.set(name, value).unwrap()
            || self.family.table.set(name, value).unwrap();
        assert!(found, "no option is called {name}");
        self
    }

    fn open_in(&self, directory: &Path) -> (Db, Vec<ColumnFamily>) {
        let names = ["default", "other"].map(|name| (name.to_owned(), self.family.clone()));
        Db::open_cf(directory, self.db.clone(), names.into()).unwrap()
    }

    fn open(&self) -> (Db, Vec<ColumnFamily>) {
        self.open_in(Path::new("/db"))
    }

    fn data_blocks(&self) -> usize {
        self.cache.stats().role(EntryRole::DataBlock).entry_count
    }
}

/// Three tables of the same keys in level 0, all read.
fn fill(db: &Db, family: &ColumnFamily) {
    for _ in 0..3 {
        for number in 0..KEYS {
            db.put_cf(family, &key(number), &value(number), &Default::default()).unwrap();
        }
        db.flush_cf(family, &Default::default()).unwrap();
        read_all(db, family);
    }
}

fn read_all(db: &Db, family: &ColumnFamily) {
    for number in 0..KEYS {
        let found = db.get_cf(family, &ReadOptions::default(), &key(number)).unwrap().unwrap();
        assert_eq!(found.to_vec(), value(number));
    }
}

fn compact(db: &Db, family: &ColumnFamily) {
    db.compact_range_cf(family, None, None, &CompactRangeOptions::default()).unwrap();
    db.wait_for_background_work().unwrap();
}

#[test]
fn what_a_compaction_replaces_leaves_the_cache() {
    for (is_partitioned, is_cached) in [(false, false), (false, true), (true, false), (true, true)] {
        for max_open_files in ["-1", "100"] {
            for aggressiveness in [0, 1, 10_000] {
                let setup = Setup::new(aggressiveness)
                    .set("max_open_files", max_open_files)
                    .set("index_type", if is_partitioned { "kTwoLevelIndexSearch" } else { "kBinarySearch" })
                    .set("partition_filters", if is_partitioned { "true" } else { "false" })
                    .set("metadata_block_size", "500")
                    .set("cache_index_and_filter_blocks", if is_cached { "true" } else { "false" });
                let case = format!("{is_partitioned} {is_cached} {max_open_files} {aggressiveness}");
                let (db, families) = setup.open();
                fill(&db, &families[0]);
                let before = setup.data_blocks();
                compact(&db, &families[0]);
                if aggressiveness == 0 {
                    assert!(setup.data_blocks() >= before, "{case}");
                    continue;
                }
                wait_until(&case, || setup.data_blocks() == 0);
                let usage = setup.cache.usage();
                read_all(&db, &families[0]);
                assert!(setup.data_blocks() >= before / 3 && setup.cache.usage() > usage, "{case}");
            }
        }
    }
}

/// RocksDB leaves the blocks of mapped files alone.
#[test]
fn blocks_of_mapped_files_leave_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(10_000).set("allow_mmap_reads", "true").set("compression", "kSnappyCompression");
    setup.db.components.file_system = Some(Arc::new(PosixFileSystem::new()) as Arc<dyn FileSystem>);
    let (db, families) = setup.open_in(directory.path());
    fill(&db, &families[0]);
    assert!(setup.data_blocks() > 10);
    compact(&db, &families[0]);
    wait_until("blocks leave", || setup.data_blocks() == 0);
    read_all(&db, &families[0]);
}

#[test]
fn blocks_stay_for_as_long_as_an_iterator_may_read_them() {
    let setup = Setup::new(10_000);
    let (db, families) = setup.open();
    fill(&db, &families[0]);
    let mut iter = db.iter_cf(&families[0], &ReadOptions::default());
    iter.seek_to_first();
    let before = setup.data_blocks();
    compact(&db, &families[0]);
    assert_eq!(setup.data_blocks(), before);
    for number in 0..KEYS {
        assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number)[..]));
        iter.next();
    }
    assert!(!iter.valid());
    drop(iter);
    wait_until("blocks leave", || setup.data_blocks() == 0);
    read_all(&db, &families[0]);
}

#[test]
fn a_value_that_is_held_stays_whole() {
    let setup = Setup::new(10_000);
    let (db, families) = setup.open();
    fill(&db, &families[0]);
    let held = db.get_cf(&families[0], &ReadOptions::default(), &key(1234)).unwrap().unwrap();
    compact(&db, &families[0]);
    // No entry is found by its key any more; the block that is held counts until it is let go.
    wait_until("blocks leave", || setup.data_blocks() <= 1);
    assert_eq!(held.to_vec(), value(1234));
    drop(held);
    wait_until("the last block leaves", || setup.data_blocks() == 0);
}

#[test]
fn a_table_that_is_moved_keeps_its_blocks() {
    let setup = Setup::new(10_000);
    let (db, families) = setup.open();
    (0..KEYS).for_each(|number| db.put(&key(number), &value(number)).unwrap());
    db.flush().unwrap();
    read_all(&db, &families[0]);
    let before = setup.data_blocks();
    let number = db.live_files()[0].number;
    compact(&db, &families[0]);
    let moved = db.live_files().remove(0);
    assert!(moved.number == number && moved.level > 0, "{moved:?}");
    assert!(before > 10 && setup.data_blocks() == before);
}

#[test]
fn a_family_that_is_dropped_leaves_the_cache_and_a_close_does_not() {
    let setup = Setup::new(10_000);
    let (db, mut families) = setup.open();
    fill(&db, &families[0]);
    let before = setup.data_blocks();
    fill(&db, &families[1]);
    assert!(setup.data_blocks() > before);
    let dropped = families.pop().unwrap();
    db.drop_column_family(&dropped).unwrap();
    read_all(&db, &dropped);
    drop(dropped);
    wait_until("the blocks of the family leave", || setup.data_blocks() <= before);
    assert_eq!(setup.data_blocks(), before, "those of the other are there");
    drop((db, families));
    assert_eq!(setup.data_blocks(), before, "the database may be opened again");
}

/// The number that counts is the one in force when the table leaves the tree.
#[test]
fn the_number_changes_while_the_database_is_open() {
    let setup = Setup::new(0);
    let (db, families) = setup.open();
    fill(&db, &families[0]);
    compact(&db, &families[0]);
    let stale = setup.data_blocks();
    assert!(stale > 10);
    db.set_options_cf(&families[0], &[("uncache_aggressiveness", "10000")]).unwrap();
    fill(&db, &families[0]);
    assert!(setup.data_blocks() > stale);
    compact(&db, &families[0]);
    wait_until("blocks leave", || setup.data_blocks() <= stale);
    assert!(setup.data_blocks() >= stale - stale / 3, "what left before it was set goes by age");
    read_all(&db, &families[0]);
}
