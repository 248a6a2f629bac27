//! Options of memtables.

use crate::setup::{Setup, differs, differs_with, key, number, put};
use ferrock::options::{PrefixExtractor, WriteBufferManager};
use ferrock::{Db, ReadOptions};
use ferrock_base::comparator::{Comparator, CustomComparator};
use ferrock_base::merge::StringAppend;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The entries of a vector have no towers. What a family without prefixes has is in the OPTIONS file, as in RocksDB's.
pub fn memtable_factory() {
    let bytes = |setup: Setup| {
        let db = setup.open();
        for number in 0..2000 {
            db.put(key(number).as_bytes(), b"").unwrap();
        }
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_last();
        assert_eq!(iter.key(), key(1999).as_bytes());
        number(&db, "cur-size-all-mem-tables")
    };
    let [list, vector] = differs("memtable_factory", ["SkipListFactory", "vector"], bytes);
    assert!(vector < list, "{vector} in a vector, {list} in a skip list");
    let fixed = Some(PrefixExtractor::Fixed(3));
    for (extractor, factory) in [(None, "SkipListFactory"), (fixed, "{id=HashSkipListRepFactory;")] {
        let mut setup = Setup::new().set("memtable_factory", "prefix_hash:100");
        setup.family.prefix_extractor = extractor;
        let refused = setup.try_open().map(drop).unwrap_err();
        assert!(refused.message().contains("Memtable doesn't allow concurrent writes"), "{refused}");
        let setup = setup.set("allow_concurrent_memtable_write", "false");
        drop(setup.open());
        let file = setup.files(|name| name.starts_with("OPTIONS-")).pop().unwrap();
        let text = String::from_utf8(setup.read(&file)).unwrap();
        assert!(text.contains(&format!("memtable_factory={factory}")), "{text}");
    }
}

/// The order of bytes, and how often two keys were compared.
#[derive(Default)]
struct Counting(AtomicU64);

impl CustomComparator for Counting {
    fn name(&self) -> &str {
        "test.Counting"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        self.0.fetch_add(1, Ordering::Relaxed);
        a.cmp(b)
    }
}

/// Keys that ascend within each of some prefixes find their places without a search.
pub fn insert_hints() {
    let [alone, hinted] = differs("memtable_insert_with_hint_prefix_extractor", ["nullptr", "fixed:2"], |setup| {
        let counting = Arc::new(Counting::default());
        let mut setup = setup;
        setup.family.comparator = Comparator::Custom(Arc::clone(&counting) as Arc<dyn CustomComparator>);
        let db = setup.open();
        let before = counting.0.load(Ordering::Relaxed);
        for number in 0..2000u32 {
            db.put(format!("{:02}{number:06}", number * 7 % 13).as_bytes(), b"").unwrap();
        }
        counting.0.load(Ordering::Relaxed) - before
    });
    assert!(hinted < alone / 2, "{hinted} comparisons with hints, {alone} without");
}

/// Entries that do not fit what is left of a small block leave it unused; a page is not small.
pub fn huge_pages() {
    let [small, large] = differs("memtable_huge_page_size", ["0", "2m"], |setup| {
        let db = setup.open();
        for number in 0..400 {
            db.put(key(number).as_bytes(), &[7; 850]).unwrap();
        }
        number(&db, "cur-size-all-mem-tables")
    });
    assert!(small > large, "{small} in blocks, {large} in pages");
}

/// Merges ten times and returns the bytes of the memtable, which has more of them the more often a value was folded.
fn merge_ten_times(db: &Db) -> u64 {
    let before = number(db, "cur-size-active-mem-table");
    for _ in 0..10 {
        db.merge(b"k", &[b'v'; 500]).unwrap();
    }
    let value = db.get(b"k").unwrap().unwrap();
    assert_eq!(value.len(), 4 + 10 * 501, "{value:?}");
    number(db, "cur-size-active-mem-table") - before
}

fn merging(mut setup: Setup) -> Setup {
    setup.family.merge_operator = Some(Arc::new(StringAppend::default()));
    setup.set("arena_block_size", "1m")
}

pub fn max_successive_merges() {
    let [operands, values] = differs_with("max_successive_merges", ["0", "2"], merging, |setup| {
        let db = setup.open();
        db.put(b"k", b"base").unwrap();
        merge_ten_times(&db)
    });
    // The third, sixth and ninth are values.
    assert!(operands < 6000 && (operands + 4000..operands + 11_000).contains(&values), "{operands}, {values}");
}

/// The base is in a table that no cache holds.
pub fn strict_max_successive_merges() {
    let prepare = |setup| merging(setup).set("max_successive_merges", "2").set("no_block_cache", "true");
    let [operands, values] = differs_with("strict_max_successive_merges", ["false", "true"], prepare, |setup| {
        let db = setup.open();
        db.put(b"k", b"base").unwrap();
        db.flush().unwrap();
        merge_ten_times(&db)
    });
    assert!(operands < 6000 && values > operands + 4000, "{operands}, {values}");
}

/// Seven of them, also when they are read back from the log.
pub fn memtable_max_range_deletions() {
    let tables = differs("memtable_max_range_deletions", ["0", "3"], |setup| {
        let setup = setup.set("avoid_flush_during_shutdown", "true");
        let db = setup.open();
        let delete = |db: &Db, number| {
            db.delete_range(key(number).as_bytes(), key(number + 1).as_bytes()).unwrap();
            db.put(key(number).as_bytes(), b"").unwrap();
            db.wait_for_background_work().unwrap();
        };
        (0..7).for_each(|number| delete(&db, number));
        let written = number(&db, "num-files-at-level0");
        let family = db.default_column_family().unwrap();
        db.set_options_cf(&family, &[("memtable_max_range_deletions", "0")]).unwrap();
        (7..14).for_each(|number| delete(&db, number));
        drop(db);
        let db = setup.open();
        assert_eq!(db.get(key(13).as_bytes()).unwrap().as_deref(), Some(&b""[..]));
        (written, number(&db, "num-files-at-level0"))
    });
    assert_eq!(tables[0], (0, 1));
    // The eighth deletion of the memtable that was written last makes it full at once.
    assert!(tables[1].0 == 2 && tables[1].1 > 3, "{tables:?}");
}

/// Tables of level 0 that are written for a scan over a hundred keys of which every tenth is left, at the next write.
fn flushed_by(db: &Db, scan: impl Fn(&mut ferrock::Iter)) -> u64 {
    let before = number(db, "num-files-at-level0");
    put(db, 0..100);
    (0..100).filter(|number| number % 10 != 9).for_each(|number| db.delete(key(number).as_bytes()).unwrap());
    scan(&mut db.iter(&ReadOptions::default()));
    // The first write notes that the memtable is to be flushed, the second one does it.
    (100..102).for_each(|number| put(db, number..number + 1));
    db.wait_for_background_work().unwrap();
    let after = number(db, "num-files-at-level0");
    db.flush().unwrap();
    after - before
}

/// The first step passes nine deletions and what they delete; to land on a live key passes none.
pub fn memtable_op_scan_flush_trigger() {
    let tables = differs("memtable_op_scan_flush_trigger", ["19", "18"], |setup| {
        let db = setup.open();
        let beside = flushed_by(&db, |iter| iter.seek(key(9).as_bytes()));
        (beside, flushed_by(&db, ferrock::Iter::seek_to_first))
    });
    assert_eq!(tables, [(0, 0), (0, 1)]);
}

/// Steps of 18 hidden entries each; together more than 30.
pub fn memtable_avg_op_scan_flush_trigger() {
    let prepare = |setup: Setup| setup.set("memtable_op_scan_flush_trigger", "30");
    let tables = differs_with("memtable_avg_op_scan_flush_trigger", ["28", "27"], prepare, |setup| {
        let db = setup.open();
        let one = flushed_by(&db, ferrock::Iter::seek_to_first);
        let walk = |iter: &mut ferrock::Iter| {
            iter.seek_to_first();
            (0..2).for_each(|_| iter.next());
        };
        (one, flushed_by(&db, walk))
    });
    assert_eq!(tables, [(0, 0), (0, 1)]);
}

/// What the second of two scans passes over: all, or what it looks at before it leaps.
pub fn min_tombstones_for_range_conversion() {
    let passed = differs("min_tombstones_for_range_conversion", ["0", "300"], |setup| {
        let db = setup.open();
        let scan = || {
            let mut iter = db.iter(&ReadOptions::default());
            iter.seek_to_first();
            assert_eq!(iter.key(), key(1000).as_bytes());
            iter.passed_entries()
        };
        let scans = |deleted| {
            put(&db, 0..deleted);
            (0..deleted).for_each(|number| db.delete(key(number).as_bytes()).unwrap());
            put(&db, 1000..1001);
            (scan() >= u64::from(deleted), scan() < u64::from(deleted) / 2)
        };
        (scans(100), scans(1000))
    });
    assert_eq!(passed, [((true, true), (true, true)), ((true, false), (true, true))]);
}

/// Puts one key a hundred times, with values that do not grow; a snapshot keeps what it sees.
pub fn inplace_update_support() {
    let prepare = |setup: Setup| setup.set("allow_concurrent_memtable_write", "false");
    let [entries, over] = differs_with("inplace_update_support", ["false", "true"], prepare, |setup| {
        let db = setup.open();
        for round in 0..50u8 {
            db.put(b"k", &[round; 100]).unwrap();
        }
        let snapshot = db.snapshot();
        for round in 50..100u8 {
            db.put(b"k", &[round; 100]).unwrap();
        }
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&[99; 100][..]));
        let then = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
        assert_eq!(db.get_with(&then, b"k").unwrap().as_deref(), Some(&[49; 100][..]));
        drop(then);
        let entries = number(&db, "num-entries-active-mem-table");
        db.flush().unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&[99; 100][..]));
        entries
    });
    assert_eq!((entries, over), (100, 2));
    let refused = prepare(Setup::new()).set("allow_concurrent_memtable_write", "true");
    let refused = refused.set("inplace_update_support", "true").try_open().map(drop).unwrap_err();
    assert!(refused.message().contains("is not compatible with concurrent writes"), "{refused}");
}

/// The manager of write buffers is told of the locks.
pub fn inplace_update_num_locks() {
    let prepare =
        |setup: Setup| setup.set("allow_concurrent_memtable_write", "false").set("inplace_update_support", "true");
    let [few, many] = differs_with("inplace_update_num_locks", ["1", "100000"], prepare, |mut setup| {
        let manager = WriteBufferManager::new(1 << 30, None, false);
        setup.db.components.write_buffer_manager = Some(Arc::clone(&manager));
        let db = setup.open();
        db.put(b"k", b"v").unwrap();
        let used = manager.memory_usage();
        drop(db);
        used
    });
    assert!(many > few + 99_999, "{few}, {many}");
}
