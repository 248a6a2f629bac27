//! Option `compaction_pri`: which file of a level goes down first.

use crate::setup::{Setup, key};
use ferrock::{Db, WriteOptions};

/// What each file of level 1 is, in the order of its keys. Below each but the last lies a file of level 2.
const LARGEST: u32 = 0;
/// The file before it was the last that left the level.
const NEXT_IN_TURN: u32 = 1;
const WRITTEN_FIRST: u32 = 2;
const HOLDS_THE_OLDEST_ENTRY: u32 = 3;
const NOTHING_BELOW: u32 = 4;

/// Key ranges of the files lie far apart.
fn file_keys(file: u32, count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(move |number| file * 1000 + number)
}

/// Long values, so that files have the sizes that are wanted.
fn put(db: &Db, keys: impl Iterator<Item = u32>) {
    let family = db.default_column_family().unwrap();
    for number in keys {
        db.put_cf(&family, key(number).as_bytes(), &[number as u8; 1000], &WriteOptions::default()).unwrap();
    }
}

fn at_level(db: &Db, level: usize) -> Vec<u32> {
    let mut found: Vec<u32> = (LARGEST..=NOTHING_BELOW)
        .filter(|file| {
            db.live_files().iter().any(|live| {
                let first = std::str::from_utf8(&live.smallest_user_key).unwrap();
                live.level == level && first.starts_with(&key(file * 1000)[..6])
            })
        })
        .collect();
    found.sort_unstable();
    found
}

fn set(db: &Db, changes: &[(&str, &str)]) {
    db.set_options_cf(&db.default_column_family().unwrap(), changes).unwrap();
    db.wait_for_background_work().unwrap();
}

/// What is flushed goes to level 1 at once.
fn put_down(db: &Db, keys: impl Iterator<Item = u32>) {
    put(db, keys);
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

/// Builds the tree and lets one file go; returns which.
fn picked(priority: &str) -> u32 {
    let setup = Setup::new()
        .set("compaction_pri", priority)
        .set("level_compaction_dynamic_level_bytes", "false")
        .set("level0_file_num_compaction_trigger", "1")
        .set("disable_auto_compactions", "false")
        // Level 1 may hold nothing, level 2 everything.
        .set("max_bytes_for_level_base", "1")
        .set("max_bytes_for_level_multiplier", "1000000");
    let db = setup.open();
    // Sequence numbers are not zeroed while a snapshot might ask for what was before them.
    let _from_the_beginning = db.snapshot();
    (LARGEST..NOTHING_BELOW).rev().for_each(|file| put_down(&db, file_keys(file, 20)));
    assert_eq!(at_level(&db, 2), [LARGEST, NEXT_IN_TURN, WRITTEN_FIRST, HOLDS_THE_OLDEST_ENTRY]);
    set(&db, &[("max_bytes_for_level_base", "1g"), ("max_bytes_for_level_multiplier", "10")]);
    let is_oldest = |number: &u32| number % 1000 == 20;
    put_down(&db, file_keys(HOLDS_THE_OLDEST_ENTRY, 40).filter(is_oldest));
    for (file, count) in [(WRITTEN_FIRST, 40), (NOTHING_BELOW, 40), (LARGEST, 46), (NEXT_IN_TURN, 40)] {
        put_down(&db, file_keys(file, count));
    }
    put_down(&db, file_keys(HOLDS_THE_OLDEST_ENTRY, 40).filter(|number| !is_oldest(number)));
    assert_eq!(db.live_files().iter().filter(|file| file.level == 1).count(), 5);
    // Five files of 43 to 50 KB: one too many.
    set(&db, &[("max_bytes_for_level_base", "200000")]);
    let left = at_level(&db, 1);
    let gone: Vec<u32> = (LARGEST..=NOTHING_BELOW).filter(|file| !left.contains(file)).collect();
    assert_eq!(gone.len(), 1, "{priority}: {left:?} of {:?}", db.live_files());
    gone[0]
}

pub fn compaction_pri() {
    let expected = [
        ("kByCompensatedSize", LARGEST),
        ("kOldestLargestSeqFirst", WRITTEN_FIRST),
        ("kOldestSmallestSeqFirst", HOLDS_THE_OLDEST_ENTRY),
        ("kMinOverlappingRatio", NOTHING_BELOW),
        ("kRoundRobin", NEXT_IN_TURN),
    ];
    for (priority, file) in expected {
        assert_eq!(picked(priority), file, "{priority}");
    }
}
