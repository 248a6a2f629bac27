//! Families of style FIFO: what falls off the end of the queue, when, and what stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[path = "common/quiet.rs"]
mod quiet;

use ferrock::options::{CompactionStyle, DbPath, Temperature};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, ReadOptions, WriteOptions};
use ferrock_base::clock::ManualClock;
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const NOW_US: u64 = 1_700_000_000_000_000;

/// A database in memory whose clock stands still.
struct Place {
    file_system: MemoryFileSystem,
    clock: Arc<ManualClock>,
    family: ColumnFamilyOptions,
}

impl Place {
    fn new(fifo: &str) -> Self {
        let mut family = ColumnFamilyOptions::default();
        family.compaction_style = CompactionStyle::Fifo;
        assert!(family.settings.set("compaction_options_fifo", fifo).unwrap());
        Self { file_system: MemoryFileSystem::new(), clock: Arc::new(ManualClock::new(NOW_US)), family }
    }

    fn db_options(&self) -> DbOptions {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.file_system = Some(Arc::new(self.file_system.clone()));
        options.components.clock = Some(Arc::clone(&self.clock) as _);
        options.components.spawner = Some(quiet::NoWakeups::shared());
        options
    }

    fn open(&self) -> Db {
        Db::open_cf("/db", self.db_options(), vec![("default".to_owned(), self.family.clone())]).unwrap().0
    }
}

/// A table of 1000 bytes and some, with one key.
fn table(db: &Db, key: u8) {
    let noise: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 ^ key).collect();
    db.put(&[key], &noise).unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

fn keys(db: &Db) -> Vec<u8> {
    let mut keys = Vec::new();
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        keys.push(iter.key()[0]);
        iter.next();
    }
    iter.status().unwrap();
    keys
}

fn bytes(db: &Db) -> u64 {
    db.live_files().iter().map(|file| file.size_bytes).sum()
}

fn counter(db: &Db, name: &str) -> u64 {
    let text = db.property("ferrock.statistics").unwrap();
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap().parse().unwrap()
}

fn newest_options_file(place: &Place) -> String {
    let names = place.file_system.children(Path::new("/db")).unwrap();
    let newest = names.iter().filter(|name| name.starts_with("OPTIONS-") && !name.contains("dbtmp")).max().unwrap();
    String::from_utf8(read_file(&place.file_system, &Path::new("/db").join(newest)).unwrap()).unwrap()
}

#[test]
fn the_oldest_tables_go_when_there_is_too_much() {
    let place = Place::new("{max_table_files_size=5000}");
    let db = place.open();
    (0..40).for_each(|key| {
        table(&db, key);
        assert!(bytes(&db) <= 5000, "{}", bytes(&db));
    });
    let left = keys(&db);
    assert!(
        left.len() >= 2 && left.ends_with(&[38, 39]) && left.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{left:?}"
    );
    assert!(counter(&db, "fifo_max_size_compactions") > 30);
    assert_eq!(counter(&db, "compaction_write_bytes"), 0, "nothing is written twice");
    assert_eq!(db.property("num-files-at-level0"), Some(left.len().to_string()));
    drop(db);
    assert_eq!(keys(&place.open()), left);
}

#[test]
fn no_writer_waits_for_the_length_of_the_queue() {
    let mut place = Place::new("{}");
    place.family.level0_slowdown_writes_trigger = 2;
    place.family.level0_stop_writes_trigger = 3;
    let db = place.open();
    (0..60).for_each(|key| table(&db, key));
    assert_eq!((keys(&db).len(), counter(&db, "stall_us")), (60, 0));
}

#[test]
fn readers_keep_what_is_dropped() {
    let place = Place::new("{max_table_files_size=2500}");
    let db = place.open();
    table(&db, 1);
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let snapshot = db.snapshot();
    (2..9).for_each(|key| table(&db, key));
    assert!(!keys(&db).contains(&1));
    assert!(iter.valid() && iter.key() == [1]);
    iter.next();
    assert!(!iter.valid());
    iter.status().unwrap();
    // As in RocksDB a snapshot holds versions, not tables.
    let options = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert_eq!(db.get_with(&options, &[1]).unwrap(), None);
}

#[test]
fn tables_go_when_they_are_old() {
    let mut place = Place::new("{}");
    place.family.ttl = 100;
    let db = place.open();
    table(&db, 1);
    place.clock.advance(Duration::from_secs(60));
    table(&db, 2);
    place.clock.advance(Duration::from_secs(41));
    table(&db, 3);
    assert_eq!(keys(&db), [2, 3]);
    drop(db);
    // The age is known again after an open.
    place.clock.advance(Duration::from_secs(60));
    let db = place.open();
    db.wait_for_background_work().unwrap();
    assert_eq!(keys(&db), [3]);
    // A merge keeps the age of the newest entry.
    db.set_options_cf(
        &db.default_column_family().unwrap(),
        &[("compaction_options_fifo", "{allow_compaction=true}"), ("level0_file_num_compaction_trigger", "2")],
    )
    .unwrap();
    place.clock.advance(Duration::from_secs(39));
    table(&db, 4);
    assert_eq!((keys(&db), db.live_files().len()), (vec![3, 4], 1));
    place.clock.advance(Duration::from_secs(99));
    db.compact_range(None, None).unwrap();
    assert_eq!(keys(&db), [3, 4]);
    place.clock.advance(Duration::from_secs(2));
    db.compact_range(Some(b"x"), Some(b"y")).unwrap();
    assert_eq!(keys(&db), [0u8; 0], "a range by hand is what the options ask for, whatever the range");
    assert_eq!(counter(&db, "fifo_ttl_compactions"), 2, "since the second open");
}

#[test]
fn tables_change_their_temperature_with_age() {
    let mut place =
        Place::new("{file_temperature_age_thresholds={{temperature=kWarm;age=100;}:{temperature=kCold;age=200;}};}");
    place.family.num_levels = 1;
    let db = place.open();
    let temperatures = |db: &Db| -> Vec<(u8, Temperature)> {
        let mut all: Vec<_> =
            db.live_files().iter().map(|file| (file.smallest_user_key[0], file.temperature)).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    };
    use Temperature::{Cold, Unknown, Warm};
    table(&db, 1);
    table(&db, 2);
    place.clock.advance(Duration::from_secs(110));
    table(&db, 3);
    assert_eq!(temperatures(&db), [(1, Warm), (2, Warm), (3, Unknown)]);
    place.clock.advance(Duration::from_secs(110));
    table(&db, 4);
    assert_eq!(temperatures(&db), [(1, Cold), (2, Cold), (3, Warm), (4, Unknown)]);
    assert_eq!(keys(&db), [1, 2, 3, 4]);
    let written = counter(&db, "compactions");
    // Rewritten tables keep their age: nothing is due for it.
    table(&db, 5);
    assert_eq!(counter(&db, "compactions"), written);
    drop(db);
    assert_eq!(temperatures(&place.open()), [(1, Cold), (2, Cold), (3, Warm), (4, Unknown), (5, Unknown)]);
}

/// A table that changes its temperature by a copy keeps its bytes, and whatever it was recorded with.
#[test]
fn tables_are_copied_to_another_temperature() {
    let fifo = "{file_temperature_age_thresholds={{temperature=kCold;age=100;}};\
                allow_trivial_copy_when_change_temperature=true;trivial_copy_buffer_size=1}";
    for (fifo, is_copied) in [(fifo.to_owned(), true), (fifo.replace("=true", "=false"), false)] {
        let mut place = Place::new(&fifo);
        place.family.num_levels = 1;
        place.family.enable_blob_files = true;
        place.family.min_blob_size = 900;
        let db = place.open();
        table(&db, 1);
        db.put(b"small", b"in the table").unwrap();
        db.delete(b"gone").unwrap();
        table(&db, 2);
        let before = db.live_files();
        let read = |file: &ferrock::LiveFile| read_file(&place.file_system, &file.directory.join(file.name())).unwrap();
        let bytes_before: Vec<Vec<u8>> = before.iter().map(read).collect();
        let contents = keys(&db);
        place.clock.advance(Duration::from_secs(110));
        table(&db, 3);
        let after: Vec<ferrock::LiveFile> =
            db.live_files().into_iter().filter(|file| file.temperature == Temperature::Cold).collect();
        assert_eq!(after.len(), 2);
        for (old, bytes) in before.iter().zip(&bytes_before) {
            let new = after.iter().find(|new| new.smallest_user_key == old.smallest_user_key).unwrap();
            assert!(new.number != old.number);
            assert_eq!(read(new) == *bytes, is_copied);
            assert_eq!(new.oldest_ancestor_time_secs, old.oldest_ancestor_time_secs);
            assert_eq!(new.oldest_blob_file, old.oldest_blob_file);
            assert_eq!(new.epoch_number, old.epoch_number);
            if is_copied {
                assert_eq!((new.num_entries, new.largest_sequence), (old.num_entries, old.largest_sequence));
            }
            assert_eq!(new.file_creation_time_secs, NOW_US / 1_000_000 + 110);
        }
        assert_eq!(counter(&db, "compactions"), 2);
        assert_eq!(keys(&db).len(), contents.len() + 1);
        drop(db);
        let db = place.open();
        assert_eq!(db.live_files().iter().filter(|file| file.temperature == Temperature::Cold).count(), 2);
        assert_eq!(db.get(b"small").unwrap().as_deref(), Some(&b"in the table"[..]));
    }
}

/// A source that has not the size that the MANIFEST says is refused, and the half of a copy is not left.
#[test]
fn a_cut_table_is_not_copied() {
    let fifo = "{file_temperature_age_thresholds={{temperature=kCold;age=100;}};\
                allow_trivial_copy_when_change_temperature=true}";
    let mut place = Place::new(fifo);
    place.family.num_levels = 1;
    let db = place.open();
    table(&db, 1);
    let path = db.live_files()[0].directory.join(db.live_files()[0].name());
    let size = place.file_system.file_size(&path).unwrap();
    place.file_system.truncate(&path, size - 1).unwrap();
    place.clock.advance(Duration::from_secs(110));
    db.put(b"2", b"").unwrap();
    // The flush may see the error of the copy.
    let _ = db.flush();
    let error = db.wait_for_background_work().unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("the MANIFEST says"), "{error}");
    let live: Vec<String> = db.live_files().iter().map(ferrock::LiveFile::name).collect();
    let names = place.file_system.children(Path::new("/db")).unwrap();
    let strays: Vec<&String> = names.iter().filter(|name| name.ends_with(".sst") && !live.contains(name)).collect();
    assert!(strays.is_empty(), "{strays:?}");
}

#[test]
fn small_tables_are_merged_where_that_is_allowed() {
    let mut place = Place::new("{allow_compaction=true}");
    place.family.level0_file_num_compaction_trigger = 4;
    let db = place.open();
    (0..40).for_each(|key| table(&db, key));
    assert_eq!(keys(&db).len(), 40);
    assert!(db.live_files().len() < 10 && counter(&db, "compactions") > 4, "{}", db.live_files().len());
    assert!(db.live_files().iter().all(|file| file.level == 0));
}

#[test]
fn tiers_keep_what_snapshots_want() {
    let fifo = "{allow_compaction=true;use_kv_ratio_compaction=true;max_table_files_size=1;max_data_files_size=1g}";
    let mut place = Place::new(fifo);
    place.family.level0_file_num_compaction_trigger = 2;
    place.family.max_compaction_bytes = 2500;
    let db = place.open();
    let family = db.default_column_family().unwrap();
    let snapshots: Vec<_> = (0..12u8)
        .map(|round| {
            table(&db, 7);
            db.put(b"round", &[round]).unwrap();
            db.delete_range_cf(&family, &[10], &[10 + round], &WriteOptions::default()).unwrap();
            db.snapshot()
        })
        .collect();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    assert!(counter(&db, "compactions") > 1);
    for (round, snapshot) in snapshots.iter().enumerate() {
        let options = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
        assert_eq!(db.get_with(&options, b"round").unwrap().as_deref(), Some(&[round as u8][..]));
        assert!(db.get_with(&options, &[7]).unwrap().is_some());
    }
}

#[test]
fn a_family_changes_from_levels_to_a_queue_and_back() {
    let mut place = Place::new("{max_table_files_size=1g}");
    place.family.compaction_style = CompactionStyle::Level;
    let db = place.open();
    (0..20).for_each(|key| table(&db, key));
    db.compact_range(None, None).unwrap();
    (20..23).for_each(|key| table(&db, key));
    assert!(db.live_files().iter().any(|file| file.level > 0));
    drop(db);
    place.family.compaction_style = CompactionStyle::Fifo;
    let db = place.open();
    table(&db, 23);
    assert_eq!(keys(&db).len(), 24);
    // The deepest level is the oldest, and goes as soon as level 0 alone is over the limit.
    let level_0: u64 = db.live_files().iter().filter(|file| file.level == 0).map(|file| file.size_bytes).sum();
    db.set_options_cf(
        &db.default_column_family().unwrap(),
        &[("compaction_options_fifo", &format!("{{max_table_files_size={}}}", level_0 + 1))],
    )
    .unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(keys(&db).len(), 24);
    table(&db, 24);
    assert_eq!(keys(&db), [21, 22, 23, 24]);
    drop(db);
    place.family.compaction_style = CompactionStyle::Level;
    let db = place.open();
    (25..30).for_each(|key| table(&db, key));
    db.compact_range(None, None).unwrap();
    assert!(db.live_files().iter().all(|file| file.level > 0));
    assert_eq!(keys(&db), [21, 22, 23, 24, 25, 26, 27, 28, 29]);
}

#[test]
fn what_a_queue_cannot_have_is_refused() {
    let place = Place::new("{}");
    let mut options = place.db_options();
    options.max_open_files = 100;
    let families = |family: &ColumnFamilyOptions| vec![("default".to_owned(), family.clone())];
    let error = Db::open_cf("/db", options.clone(), families(&place.family)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.message().contains("FIFO compaction only supported with max_open_files = -1."), "{error}");
    let mut options = place.db_options();
    options.db_paths = vec![DbPath::new("/a", 9), DbPath::new("/b", 9)];
    let error = Db::open_cf("/db", options.clone(), families(&place.family)).unwrap_err();
    assert!(error.message().contains("More than one DB paths are only supported"), "{error}");
    options.db_paths.clear();
    options.max_open_files = 100;
    let mut without_age = place.family.clone();
    without_age.ttl = 0;
    Db::open_cf("/db", options, families(&without_age)).unwrap().0.close().unwrap();

    let db = place.open();
    let change_level = CompactRangeOptions { change_level: true, ..CompactRangeOptions::default() };
    let error = db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &change_level).unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.message().contains("does not support change_level"));
    assert!(
        db.set_options_cf(
            &db.default_column_family().unwrap(),
            &[("compaction_options_fifo", "{max_table_files_size=much}")]
        )
        .is_err()
    );
    db.set_options_cf(&db.default_column_family().unwrap(), &[("compaction_options_fifo", "{max_table_files_size=7}")])
        .unwrap();
    db.set_options_cf(&db.default_column_family().unwrap(), &[("compaction_options_fifo", "{max_data_files_size=8}")])
        .unwrap();
    // A text changes what it names.
    let text = newest_options_file(&place);
    assert!(
        text.contains("={max_data_files_size=8;allow_compaction=false;age_for_warm=0;max_table_files_size=7;}"),
        "{text}"
    );
}
