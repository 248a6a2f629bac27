//! Scans leap over what is deleted in a row, wherever it lies. Counted are the entries that a scan passes over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, Snapshot};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

/// A scan finds a run after twelve deleted keys at most, of which each has two entries.
const FEW: u64 = 24;
/// Hidden entries in a row that become a run, and those before them.
const FIRST: u64 = 64 + FEW;

fn open(changes: &[(&str, &str)]) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    let mut family = ColumnFamilyOptions::default();
    for (name, value) in changes {
        assert!(family.settings.set(name, value).unwrap(), "{name}");
    }
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn key(number: u32) -> Vec<u8> {
    format!("{number:08}").into_bytes()
}

fn put(db: &Db, keys: std::ops::Range<u32>) {
    keys.for_each(|number| db.put(&key(number), b"value").unwrap());
}

fn delete(db: &Db, keys: std::ops::Range<u32>) {
    keys.for_each(|number| db.delete(&key(number)).unwrap());
}

/// The first key at or after `target`, and the entries that the seek passed.
fn seek(db: &Db, options: &ReadOptions, target: u32) -> (Option<u32>, u64) {
    let mut iter = db.iter(options);
    iter.seek(&key(target));
    iter.status().unwrap();
    let found = iter.valid().then(|| std::str::from_utf8(iter.key()).unwrap().parse().unwrap());
    (found, iter.passed_entries())
}

fn first(db: &Db) -> (Option<u32>, u64) {
    seek(db, &ReadOptions::default(), 0)
}

fn at(snapshot: &Snapshot) -> ReadOptions {
    ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() }
}

/// Rounds of a queue of ten rows; returns the most that a scan passed.
fn rounds(db: &Db, rounds: std::ops::Range<u32>) -> u64 {
    let mut most = 0;
    for round in rounds {
        put(db, round + 10..round + 11);
        let (found, passed) = first(db);
        assert_eq!(found, Some(round));
        delete(db, round..round + 1);
        most = most.max(passed);
    }
    most
}

#[test]
fn a_queue_stays_as_fast_as_it_was() {
    let db = open(&[("disable_auto_compactions", "true")]);
    put(&db, 0..10);
    let most = rounds(&db, 0..20_000);
    assert!(most <= FIRST, "{most}");
    // What is in immutable memtables and tables of level 0 is the same.
    let most = (2..10).map(|part| {
        db.flush().unwrap();
        rounds(&db, part * 10_000..part * 10_000 + 10_000)
    });
    let most: Vec<u64> = most.collect();
    assert!(most.iter().all(|most| *most <= FIRST), "{most:?}");
}

#[test]
fn a_queue_with_default_options_and_small_memtables() {
    let db = open(&[("write_buffer_size", "65536")]);
    put(&db, 0..10);
    let most = rounds(&db, 0..30_000);
    assert!(most <= FIRST, "{most}");
    db.wait_for_background_work().unwrap();
}

/// A million deletions in memory; fewer in level 0, and with what they delete in a deeper level.
#[test]
fn the_second_seek_over_a_million_tombstones_is_cheap() {
    for (place, deleted) in [("memtable", 1_000_000), ("level 0", 300_000), ("levels", 100_000)] {
        let db = open(&[("disable_auto_compactions", "true"), ("compact_on_deletion", "{}")]);
        put(&db, 1_000_000..1_000_001);
        if place == "levels" {
            put(&db, 0..deleted);
            db.flush().unwrap();
            db.compact_range(None, None).unwrap();
        }
        // A snapshot keeps the deletions where compaction would drop them.
        let _snapshot = db.snapshot();
        delete(&db, 0..deleted);
        if place != "memtable" {
            db.flush().unwrap();
        }
        if place == "levels" {
            db.compact_range(None, None).unwrap();
        }
        let (found, passed) = first(&db);
        assert_eq!((found, passed >= u64::from(deleted)), (Some(1_000_000), true), "{place}: {passed}");
        for target in [0, 1, 777, deleted - 1000] {
            let (found, passed) = seek(&db, &ReadOptions::default(), target);
            assert_eq!(found, Some(1_000_000));
            assert!(passed <= FEW, "{place}: {passed}");
        }
        let bounded = ReadOptions { upper_bound: Some(key(50_000)), ..ReadOptions::default() };
        let (found, passed) = seek(&db, &bounded, 3);
        assert!(found.is_none() && passed <= FEW, "{place}: {passed}");
    }
}

/// Going back costs a step for each deleted key, of which a scan forward has made a run for both.
#[test]
fn a_scan_back_leaps_over_the_runs_of_scans_forward() {
    let db = open(&[("disable_auto_compactions", "true"), ("compact_on_deletion", "{}")]);
    put(&db, 0..1);
    put(&db, 20_000..20_010);
    delete(&db, 1..20_000);
    // Of its hidden keys a step may pass so many.
    let last_before = |target: u32, bounds: ReadOptions| {
        let options = ReadOptions { max_skippable_internal_keys: FEW, ..bounds };
        let mut iter = db.iter(&options);
        iter.seek_for_prev(&key(target));
        let found = iter.valid().then(|| std::str::from_utf8(iter.key()).unwrap().parse::<u32>().unwrap());
        iter.status().map(|()| found)
    };
    let all = ReadOptions::default;
    assert_eq!(last_before(15_000, all()).unwrap_err().kind(), ferrock::ErrorKind::Incomplete, "there is no run yet");
    let old = db.snapshot();
    assert_eq!(seek(&db, &all(), 1).0, Some(20_000));
    for target in [19_999, 15_000, 100] {
        assert_eq!(last_before(target, all()).unwrap(), Some(0), "{target}");
    }
    assert_eq!(last_before(15_000, at(&old)).unwrap(), Some(0), "the run is of what the snapshot sees, too");
    for lower in [5, 100] {
        let bounded = ReadOptions { lower_bound: Some(key(lower)), ..all() };
        assert_eq!(last_before(15_000, bounded).unwrap(), None, "{lower}");
    }
    // From a row behind the run, one step.
    let mut iter = db.iter(&ReadOptions { max_skippable_internal_keys: FEW, ..all() });
    iter.seek(&key(20_000));
    iter.prev();
    iter.status().unwrap();
    assert_eq!(iter.key(), key(0));
    put(&db, 7_000..7_001);
    assert_eq!(last_before(15_000, all()).unwrap_err().kind(), ferrock::ErrorKind::Incomplete, "a value ended it");
    assert_eq!(last_before(6_999, all()).unwrap(), Some(0));
    assert_eq!(last_before(7_010, all()).unwrap(), Some(7_000));
    assert_eq!(last_before(6_000, at(&old)).unwrap(), Some(0));
}

#[test]
fn values_written_into_a_run_are_seen() {
    let db = open(&[]);
    put(&db, 0..2000);
    delete(&db, 0..1500);
    assert_eq!(first(&db).0, Some(1500));
    assert!(first(&db).1 <= FEW);
    let before = db.snapshot();
    for number in [1000, 700, 3, 0] {
        put(&db, number..number + 1);
        assert_eq!(first(&db).0, Some(number));
        assert_eq!(seek(&db, &at(&before), 0).0, Some(1500));
    }
    // The parts of the run between them are runs again.
    for target in [4, 701, 1001] {
        seek(&db, &ReadOptions::default(), target);
        let (_, passed) = seek(&db, &ReadOptions::default(), target);
        assert!(passed <= FEW, "{target}: {passed}");
    }
    delete(&db, 0..1);
    assert_eq!(first(&db).0, Some(3));
    db.flush().unwrap();
    assert_eq!(first(&db).0, Some(3));
    db.merge(&key(2), b"x").unwrap_err();
}

/// An iterator that was placed before a value was written, and goes on over its place afterwards.
#[test]
fn what_an_iterator_from_before_passes_is_no_run() {
    for kind in ["SkipListFactory", "vector"] {
        let db = open(&[("memtable_factory", kind), ("min_tombstones_for_range_conversion", "1")]);
        put(&db, 0..100);
        delete(&db, 1..100);
        db.flush().unwrap();
        put(&db, 200..201);
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_first();
        put(&db, 50..51);
        iter.next();
        assert_eq!(iter.key(), key(200));
        assert_eq!(seek(&db, &ReadOptions::default(), 1).0, Some(50), "{kind}");
        assert_eq!(seek(&db, &ReadOptions::default(), 1).0, Some(50), "{kind}");
    }
}

#[test]
fn snapshots_have_runs_of_their_own() {
    let db = open(&[]);
    put(&db, 0..4000);
    delete(&db, 0..1000);
    let early = db.snapshot();
    delete(&db, 1000..2000);
    assert_eq!(first(&db).0, Some(2000));
    assert_eq!(seek(&db, &at(&early), 0).0, Some(1000), "older than the run");
    let late = db.snapshot();
    delete(&db, 2000..3000);
    for _ in 0..2 {
        assert_eq!(first(&db).0, Some(3000));
        assert_eq!(seek(&db, &at(&early), 0).0, Some(1000));
        assert_eq!(seek(&db, &at(&late), 0).0, Some(2000));
    }
    assert!(first(&db).1 <= FEW);
    for (snapshot, found) in [(&early, 1000), (&late, 2000)] {
        let (number, passed) = seek(&db, &at(snapshot), 0);
        assert_eq!(number, Some(found));
        assert!(passed <= FEW, "{passed}");
    }
}

#[test]
fn a_scan_that_gives_up_leaves_its_part_to_the_next() {
    let db = open(&[]);
    put(&db, 0..2000);
    delete(&db, 0..1500);
    let bounded = ReadOptions { max_skippable_internal_keys: 500, ..ReadOptions::default() };
    let mut tries = 0;
    let found = loop {
        let mut iter = db.iter(&bounded);
        iter.seek_to_first();
        tries += 1;
        if iter.valid() {
            break iter.key().to_vec();
        }
        assert_eq!(iter.status().unwrap_err().kind(), ferrock::ErrorKind::Incomplete);
    };
    assert_eq!((found, tries), (key(1500), 7));
}

#[test]
fn files_taken_away_make_runs_void() {
    let db = open(&[("disable_auto_compactions", "true"), ("compact_on_deletion", "{}")]);
    put(&db, 0..1000);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    delete(&db, 0..1000);
    db.flush().unwrap();
    assert_eq!((first(&db).0, first(&db).0), (None, None));
    // `delete_files_in_ranges` takes files of deeper levels only.
    db.compact_range(None, None).unwrap();
    let family = db.default_column_family().unwrap();
    db.delete_files_in_ranges_cf(&family, &[(None, None)], true).unwrap();
    put(&db, 500..501);
    assert_eq!(first(&db).0, Some(500));
}
