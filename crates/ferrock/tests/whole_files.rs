//! What is done with whole files: those of a range dropped, level 0 promoted, a compaction suggested.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{Contents, contents};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind, LiveFile, ReadOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::sync::Arc;

fn open(files: &MemoryFileSystem) -> Db {
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let text = "create_if_missing=true;target_file_size_base=4096;max_bytes_for_level_base=16384;\
        disable_auto_compactions=true;level_compaction_dynamic_level_bytes=false;num_levels=5";
    ferrock::options::apply_text(&mut options, &mut family, text).unwrap();
    options.components.file_system = Some(Arc::new(files.clone()));
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn key(number: u64) -> Vec<u8> {
    format!("k{number:04}").into_bytes()
}

/// Many small files on two levels and some of level 0.
fn fill(db: &Db, random: &mut Random) -> Contents {
    let mut all = Contents::new();
    for round in 0..3_u64 {
        for number in 0..1000 {
            if round == 0 || random.below(3) == 0 {
                let value = format!("{round} {}", "v".repeat(30)).into_bytes();
                db.put(&key(number), &value).unwrap();
                all.insert(key(number), value);
            }
        }
        db.flush().unwrap();
        if round < 2 {
            db.compact_range(None, None).unwrap();
        }
    }
    all
}

fn lies_within(file: &LiveFile, (begin, end): (Option<&[u8]>, Option<&[u8]>), includes_end: bool) -> bool {
    begin.is_none_or(|begin| begin <= &file.smallest_user_key[..])
        && end.is_none_or(|end| match includes_end {
            true => &file.largest_user_key[..] <= end,
            false => &file.largest_user_key[..] < end,
        })
}

#[test]
fn files_of_ranges_go_and_nothing_else() {
    for seed in 0..30 {
        let (files, mut random) = (MemoryFileSystem::new(), Random::new(seed));
        let db = open(&files);
        let before = fill(&db, &mut random);
        let family = db.default_column_family().unwrap();
        let includes_end = random.below(2) == 0;
        let live = db.live_files();
        let mut bound = || match random.below(4) {
            0 => None,
            1 => Some(live[random.below(live.len() as u64) as usize].largest_user_key.clone()),
            _ => Some(key(random.below(1000))),
        };
        let ranges: Vec<_> = (0..2).map(|_| (bound(), bound())).collect();
        let ranges: Vec<_> = ranges.iter().map(|(begin, end)| (begin.as_deref(), end.as_deref())).collect();
        db.delete_files_in_ranges_cf(&family, &ranges, includes_end).unwrap();

        let is_dropped =
            |file: &LiveFile| file.level > 0 && ranges.iter().any(|range| lies_within(file, *range, includes_end));
        let stays: Vec<_> = live.iter().filter(|file| !is_dropped(file)).cloned().collect();
        assert_eq!(db.live_files(), stays, "seed {seed}");
        let after = contents(&db, &ReadOptions::default());
        for (key, value) in &before {
            let is_inside = ranges.iter().any(|(begin, end)| {
                begin.is_none_or(|begin| begin <= &key[..]) && end.is_none_or(|end| &key[..] <= end)
            });
            // Inside, an older version may have come to light.
            let is_right = if is_inside { true } else { after.get(key) == Some(value) };
            assert!(is_right, "seed {seed}: {}", key.escape_ascii());
        }
        assert!(after.keys().all(|key| before.contains_key(key)));
        db.close().unwrap();
        let db = open(&files);
        assert_eq!(contents(&db, &ReadOptions::default()), after, "seed {seed}: opened again");
        let tables = files.children(std::path::Path::new("/db")).unwrap();
        let tables = tables.iter().filter(|name| name.ends_with(".sst")).count();
        assert_eq!(tables, stays.len(), "the files are gone");
    }
}

#[test]
fn everything_at_once_and_an_iterator_that_holds_on() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let before = fill(&db, &mut Random::new(7));
    db.compact_range(None, None).unwrap();
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let family = db.default_column_family().unwrap();
    db.delete_files_in_ranges_cf(&family, &[(None, None)], false).unwrap();
    assert!(db.live_files().is_empty() && contents(&db, &ReadOptions::default()).is_empty());
    for (key, value) in &before {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.next();
    }
    iter.status().unwrap();
    drop(iter);
    db.drop_column_family(&family).unwrap_err();
    db.put(b"more", b"1").unwrap();
    db.flush().unwrap();
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 1);
}

#[test]
fn level_0_is_promoted_where_it_is_one_run() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let family = db.default_column_family().unwrap();
    db.promote_l0_cf(&family, 1).unwrap();
    for (begin, end) in [(200, 300), (0, 100), (400, 410)] {
        (begin..end).for_each(|number| db.put(&key(number), b"v").unwrap());
        db.flush().unwrap();
    }
    let all = contents(&db, &ReadOptions::default());
    for target in [0, 5] {
        assert_eq!(db.promote_l0_cf(&family, target).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    db.promote_l0_cf(&family, 3).unwrap();
    assert!(db.live_files().iter().all(|file| file.level == 3) && db.live_files().len() == 3);
    assert_eq!(contents(&db, &ReadOptions::default()), all);
    db.put(&key(50), b"new").unwrap();
    db.flush().unwrap();
    let refused = db.promote_l0_cf(&family, 3).unwrap_err();
    assert!(refused.message().contains("promote_l0 to level 3: level 3 is not empty"), "{refused}");
    db.put(&key(50), b"newer").unwrap();
    db.flush().unwrap();
    let refused = db.promote_l0_cf(&family, 2).unwrap_err();
    assert!(refused.message().contains("of level 0 overlap"), "{refused}");
    db.close().unwrap();
    assert_eq!(contents(&open(&files), &ReadOptions::default()).get(&key(50)).unwrap(), b"newer");
}

#[test]
fn a_suggested_range_is_compacted_down() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let family = db.default_column_family().unwrap();
    (0..1000).for_each(|number| db.put(&key(number), &[b'v'; 30]).unwrap());
    db.flush().unwrap();
    db.promote_l0_cf(&family, 3).unwrap();
    for number in [10, 900] {
        (number..number + 5).for_each(|number| db.put(&key(number), b"new").unwrap());
        db.flush().unwrap();
    }
    db.promote_l0_cf(&family, 1).unwrap();
    let levels = || {
        let mut levels: Vec<_> = db.live_files().iter().map(|file| file.level).collect();
        levels.sort_unstable();
        levels
    };
    assert_eq!(levels()[..2], [1, 1]);
    db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
    db.suggest_compact_range_cf(&family, Some(&key(12)), Some(&key(100))).unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(levels()[0], 1, "outside the range");
    assert_ne!(levels()[1], 1, "{:?}", levels());
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 1000);
    assert_eq!(contents(&db, &ReadOptions::default())[&key(11)], b"new");
}
