//! Iterators that have rested show what new ones show, and nothing is kept for them.
#![cfg(not(shuttle))]

use super::*;
use crate::column_family::SuperVersion;
use crate::options::{ColumnFamilyOptions, DbOptions, FilterPolicy, ReadOptions};
use crate::{Db, Iter};
use ferrock_base::merge::{MergeOperator, StringAppend};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::random::Random;
use ferrock_table::LimitReads;

use std::time::Duration;

/// The permits to rest are the process's: one test at a time.
static ALONE: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

fn open(directory: &tempfile::TempDir, change: impl FnOnce(&mut DbOptions, &mut ColumnFamilyOptions)) -> Db {
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    options.create_if_missing = true;
    family.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    change(&mut options, &mut family);
    Db::open_cf(directory.path(), options, vec![("default".to_owned(), family)]).unwrap().0
}

fn super_version(db: &Db) -> Arc<SuperVersion> {
    db.default_column_family().unwrap().data.super_version.load()
}

/// What the slot of this thread has.
fn rests(db: &Db) -> bool {
    let pinned = super_version(db);
    let Some(slots) = pinned.resting.0.get() else { return false };
    let slot = &slots[thread_ordinal() % SLOTS].0;
    let core = slot.take();
    let rests = core.is_some();
    drop(slot.swap(core));
    rests
}

#[derive(Clone, Debug)]
enum Move {
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    First,
    Last,
    Next,
    Prev,
    FastForward(Option<Vec<u8>>, Option<Vec<u8>>),
    Limit(u64),
}

fn key(random: &mut Random) -> Vec<u8> {
    let mut key = vec![b'a' + random.below(4) as u8];
    key.extend((0..random.below(4)).map(|_| b'a' + random.below(3) as u8));
    key
}

fn bound(random: &mut Random) -> Option<Vec<u8>> {
    random.one_in(3).then(|| key(random))
}

fn moves(random: &mut Random) -> Vec<Move> {
    let count = random.below(12);
    (0..count)
        .map(|_| match random.below(14) {
            0..3 => Move::Seek(key(random)),
            3 => Move::SeekForPrev(key(random)),
            4 => Move::First,
            5 => Move::Last,
            6..10 => Move::Next,
            10..12 => Move::Prev,
            12 => Move::FastForward(bound(random), bound(random)),
            _ => Move::Limit(random.below(5)),
        })
        .collect()
}

/// Options that leave the reads of tables as they are, so that iterators with them may rest in turn.
fn drawn(random: &mut Random, db: &Db) -> ReadOptions {
    let mut options = ReadOptions::default();
    (options.lower_bound, options.upper_bound) = (bound(random), bound(random));
    options.prefix_same_as_start = random.one_in(4);
    options.limit_hint = if random.one_in(4) { random.below(6) } else { 0 };
    options.limit_reads = if random.one_in(2) { LimitReads::FewestBytes } else { LimitReads::FewestRequests };
    options.max_skippable_internal_keys = if random.one_in(8) { 1_000 } else { 0 };
    options.snapshot = Some(db.snapshot());
    options
}

fn play(iter: &mut Iter, moves: &[Move]) -> Vec<String> {
    let mut seen = Vec::new();
    for step in moves {
        match step {
            Move::Seek(key) => iter.seek(key),
            Move::SeekForPrev(key) => iter.seek_for_prev(key),
            Move::First => iter.seek_to_first(),
            Move::Last => iter.seek_to_last(),
            Move::Next => iter.next(),
            Move::Prev => iter.prev(),
            Move::FastForward(lower, upper) => iter.fast_forward(lower.as_deref(), upper.as_deref()),
            Move::Limit(rows) => iter.set_limit_hint(*rows),
        }
        let (key, value) = (iter.key().escape_ascii(), iter.value().escape_ascii());
        seen.push(format!("{step:?}: {key} = {value} {:?}", iter.status()));
    }
    seen
}

fn change(db: &Db, random: &mut Random) {
    let at = key(random);
    match random.below(40) {
        0..24 => db.put(&at, &vec![b'v'; random.below(9) as usize]).unwrap(),
        24..32 => db.delete(&at).unwrap(),
        32..36 => db.merge(&at, b"m").unwrap(),
        36 if random.one_in(4) => db.delete_range(&at, &key(random).repeat(2).max(at.clone())).unwrap(),
        36 => {
            // Many keys in a row: what a scan remembers.
            for middle in *b"abc" {
                for last in *b"abc" {
                    db.delete(&[at[0], middle, last]).unwrap();
                }
            }
        }
        37 => db.flush().unwrap(),
        38 if random.one_in(4) => db.compact_range(None, None).unwrap(),
        _ => {}
    }
}

/// One history: after each few writes an iterator plays drawn moves, maybe half of them after later writes, and another
/// one, whose options let none that rests be used for it, plays the same.
fn history(seed: u64) -> u64 {
    let random = &mut Random::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory, |options, family| {
        options.max_open_files = if random.one_in(3) { 2 } else { -1 };
        family.disable_auto_compactions = random.one_in(2);
        family.prefix_extractor = random.one_in(2).then_some(PrefixExtractor::Fixed(1));
        if random.one_in(2) {
            family.filter_policy = FilterPolicy::bloom(10.0);
        }
        family.min_tombstones_for_range_conversion = if random.one_in(2) { 1 } else { 0 };
    });
    let mut woken = 0;
    for round in 0..60u64 {
        for _ in 0..random.below(8) {
            change(&db, random);
        }
        let (options, before, after) = (drawn(random, &db), moves(random), moves(random));
        woken += u64::from(rests(&db));
        let mut iter = db.iter(&options);
        let mut seen = play(&mut iter, &before);
        if random.one_in(3) {
            change(&db, random);
        }
        // One more at the same time, and one that ends on another thread.
        if random.one_in(4) {
            let second = db.iter(&drawn(random, &db));
            let second = if random.one_in(2) {
                std::thread::scope(|scope| {
                    scope.spawn(|| drop(second));
                    None
                })
            } else {
                Some(second)
            };
            drop(second);
        }
        seen.extend(play(&mut iter, &after));
        let io_timeout = Duration::from_secs(1_000_000 + round);
        let mut fresh = db.iter(&ReadOptions { io_timeout, ..options.clone() });
        let mut expected = play(&mut fresh, &before);
        expected.extend(play(&mut fresh, &after));
        for (seen, expected) in seen.iter().zip(&expected) {
            assert_eq!(seen, expected, "seed {seed}, round {round}, {options:?}, {before:?} {after:?}");
        }
        std::thread::scope(|scope| {
            scope.spawn(|| drop(fresh));
        });
        drop(iter);
    }
    woken
}

#[test]
fn iterators_that_have_rested_show_what_new_ones_show() {
    let _alone = ALONE.lock();
    let woken: u64 = (0..40).map(history).sum();
    assert!(woken > 300, "{woken} iterators had rested");
}

#[test]
fn the_same_iterator_is_used_again_and_keeps_nothing_alive() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let cache = ferrock_table::TableBlockCache::new(ferrock_cache::CacheOptions {
        capacity_bytes: 8 << 20,
        ..Default::default()
    });
    let db = open(&directory, |options, _| options.components.block_cache = Some(cache.clone()));
    for number in 0..2_000u32 {
        db.put(&number.to_be_bytes(), &[7; 100]).unwrap();
    }
    db.flush().unwrap();
    let first = |options: &ReadOptions| {
        let mut iter = db.iter(options);
        iter.seek_to_first();
        assert_eq!(iter.key(), 0u32.to_be_bytes());
        iter
    };
    let unused = cache.pinned_usage();
    let iter = first(&ReadOptions::default());
    assert!(cache.pinned_usage() > unused, "an iterator in use holds its block");
    drop(iter);
    assert!(rests(&db));
    assert_eq!(cache.pinned_usage(), unused, "one that rests holds none");
    // Reads of tables with other options are made by another one, and this one stays.
    let other = first(&ReadOptions { verify_checksums: false, ..ReadOptions::default() });
    assert!(rests(&db));
    let same = first(&ReadOptions::default());
    assert!(!rests(&db), "it is in use");
    drop((other, same));
    assert!(rests(&db));
    // What is replaced takes the iterators that rest in it along.
    let (old, memtable) = {
        let pinned = super_version(&db);
        (Arc::downgrade(&pinned), Arc::downgrade(&pinned.memtable))
    };
    db.put(b"new", b"").unwrap();
    db.flush().unwrap();
    assert!(old.upgrade().is_none() && memtable.upgrade().is_none());
    assert!(!rests(&db));
}

#[test]
fn iterators_without_a_permit_are_dropped() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory, |_, _| {});
    db.put(b"k", b"v").unwrap();
    let mut permits = Vec::new();
    while let Some(permit) = RestPermit::find() {
        permits.push(permit);
        assert!(permits.len() <= MAX_RESTING);
    }
    drop(db.iter(&ReadOptions::default()));
    assert!(!rests(&db));
}

#[test]
fn iterators_that_would_not_be_used_again_do_not_rest() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory, |_, _| {});
    db.put(b"k", b"v").unwrap();
    let rests_after = |options: ReadOptions, target: &[u8]| {
        let mut iter = db.iter(&options);
        iter.seek(target);
        drop(iter);
        rests(&db)
    };
    let long = vec![b'z'; 8 << 10];
    assert!(!rests_after(ReadOptions::default(), &long), "its target takes memory");
    assert!(!rests_after(ReadOptions { upper_bound: Some(long.clone()), ..ReadOptions::default() }, b"k"));
    assert!(!rests_after(ReadOptions { lower_bound: Some(long), ..ReadOptions::default() }, b"k"));
    assert!(!rests_after(ReadOptions { deadline: Duration::from_secs(1 << 40), ..ReadOptions::default() }, b"k"));
    assert!(rests_after(ReadOptions::default(), b"k"));
    drop(db.iter(&ReadOptions { verify_checksums: false, ..ReadOptions::default() }));
    db.delete_range(b"x", b"y").unwrap();
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek(b"a");
    assert_eq!(iter.key(), b"k");
    let resting = rests(&db);
    drop(iter);
    assert_eq!(rests(&db), resting, "none is added over range deletions");
}
