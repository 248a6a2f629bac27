//! Partitioners: between which keys compactions end tables, and which tables are moved as they are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use ferrock::options::{
    FixedPrefixFactory, PartitionerContext, PartitionerRequest, SstPartitioner, SstPartitionerFactory,
};
use ferrock::{ColumnFamilyOptions, Db, ReadOptions, WriteOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

fn open(files: &MemoryFileSystem, family: ColumnFamilyOptions) -> Db {
    let families = vec![("default".to_owned(), family)];
    Db::open_cf("/db", options_on(Arc::new(files.clone())), families).unwrap().0
}

fn by_prefix(length: usize) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.disable_auto_compactions = true;
    options.sst_partitioner_factory = Some(Arc::new(FixedPrefixFactory { length }));
    options
}

fn put(db: &Db, keys: &[&str]) {
    keys.iter().for_each(|key| db.put(key.as_bytes(), b"value").unwrap());
}

/// Level, smallest and largest user key of each table.
fn tables(db: &Db) -> Vec<(usize, String, String)> {
    let text = |key: &[u8]| key.escape_ascii().to_string();
    let files = db.live_files();
    let mut all: Vec<_> =
        files.iter().map(|file| (file.level, text(&file.smallest_user_key), text(&file.largest_user_key))).collect();
    all.sort();
    all
}

fn ranges(db: &Db) -> Vec<String> {
    tables(db).into_iter().map(|(_, smallest, largest)| format!("{smallest}-{largest}")).collect()
}

#[test]
fn compactions_end_a_table_with_each_partition() {
    for (length, wanted) in
        [(0, vec!["a-ca"]), (1, vec!["a-ab2", "b-b", "ca-ca"]), (2, vec!["a-a", "aa-aa2", "ab1-ab2", "b-b", "ca-ca"])]
    {
        let mut family = by_prefix(0);
        family.sst_partitioner_factory = Some(Arc::new(FixedPrefixFactory { length }));
        let db = open(&MemoryFileSystem::new(), family);
        put(&db, &["a", "aa", "ab2", "ca"]);
        db.flush().unwrap();
        assert_eq!(tables(&db).len(), 1, "a flush does not ask");
        put(&db, &["aa2", "ab1", "b"]);
        db.compact_range(None, None).unwrap();
        assert_eq!(ranges(&db), wanted, "{length}");
    }
}

/// Cuts before the keys that it was given, which it is asked about with those that they follow.
#[derive(Default)]
struct Recording {
    cuts: BTreeSet<Vec<u8>>,
    contexts: Mutex<Vec<String>>,
    asked: Arc<Mutex<Vec<String>>>,
    may_move: bool,
}

struct Recorder {
    cuts: BTreeSet<Vec<u8>>,
    asked: Arc<Mutex<Vec<String>>>,
    may_move: bool,
}

impl SstPartitionerFactory for Recording {
    fn name(&self) -> &str {
        "test.Recording"
    }
    fn create(&self, context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>> {
        let PartitionerContext { is_full, is_manual, output_level, smallest_user_key, largest_user_key } = context;
        let (smallest, largest) = (smallest_user_key.escape_ascii(), largest_user_key.escape_ascii());
        self.contexts.lock().push(format!("{is_full} {is_manual} {output_level} {smallest}-{largest}"));
        let (cuts, asked) = (self.cuts.clone(), Arc::clone(&self.asked));
        Some(Box::new(Recorder { cuts, asked, may_move: self.may_move }))
    }
}

impl SstPartitioner for Recorder {
    fn should_partition(&mut self, request: &PartitionerRequest<'_>) -> bool {
        assert!(request.current_output_file_size > 0);
        let (prev, current) = (request.prev_user_key.escape_ascii(), request.current_user_key.escape_ascii());
        self.asked.lock().push(format!("{prev} {current}"));
        self.cuts.contains(request.current_user_key)
    }
    fn can_do_trivial_move(&mut self, smallest_user_key: &[u8], largest_user_key: &[u8]) -> bool {
        let (smallest, largest) = (smallest_user_key.escape_ascii(), largest_user_key.escape_ascii());
        self.asked.lock().push(format!("move {smallest} {largest}"));
        self.may_move
    }
}

#[test]
fn versions_of_one_key_may_be_cut_apart() {
    let factory = Arc::new(Recording { cuts: BTreeSet::from([b"b".to_vec()]), ..Recording::default() });
    let mut options = ColumnFamilyOptions::default();
    options.disable_auto_compactions = true;
    options.sst_partitioner_factory = Some(Arc::clone(&factory) as _);
    let db = open(&MemoryFileSystem::new(), options);
    put(&db, &["a", "b"]);
    // Two tables, or the one would be moved.
    db.flush().unwrap();
    let snapshot = db.snapshot();
    let family = db.default_column_family().unwrap();
    db.delete_range_cf(&family, b"a", b"c", &WriteOptions::default()).unwrap();
    db.put(b"b", b"newer").unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(*factory.asked.lock(), ["a b", "b b"]);
    assert_eq!(*factory.contexts.lock(), ["true true 6 a-c"]);
    assert_eq!(db.live_files().len(), 3);
    let old = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert_eq!(db.get_with(&old, b"a").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(db.get_with(&old, b"b").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!((db.get(b"a").unwrap(), db.get(b"b").unwrap().as_deref()), (None, Some(&b"newer"[..])));
}

#[test]
fn a_table_is_moved_if_the_partitioner_lets_it_and_to_the_last_level_in_any_case() {
    for may_move in [false, true] {
        let factory = Arc::new(Recording { may_move, ..Recording::default() });
        let mut options = ColumnFamilyOptions::default();
        options.disable_auto_compactions = true;
        options.num_levels = 3;
        options.level_compaction_dynamic_level_bytes = false;
        options.sst_partitioner_factory = Some(Arc::clone(&factory) as _);
        let db = open(&MemoryFileSystem::new(), options);
        let numbers = || db.live_files().iter().map(|file| file.number).collect::<Vec<_>>();
        put(&db, &["x", "z"]);
        db.flush().unwrap();
        let first = numbers();
        db.compact_range(None, None).unwrap();
        assert_eq!(tables(&db), [(1, "x".to_owned(), "z".to_owned())]);
        assert_eq!(numbers() == first, may_move);
        let asked = std::mem::take(&mut *factory.asked.lock());
        assert_eq!(asked, if may_move { vec!["move x z"] } else { vec!["move x z", "x z"] });
        // The last level: without a question.
        put(&db, &["a"]);
        db.flush().unwrap();
        db.compact_range(Some(b"a"), Some(b"b")).unwrap();
        factory.asked.lock().clear();
        let options = db.default_column_family().unwrap();
        db.set_options_cf(&options, &[("disable_auto_compactions", "false"), ("max_bytes_for_level_base", "1")])
            .unwrap();
        db.wait_for_background_work().unwrap();
        assert_eq!(tables(&db).iter().map(|(level, ..)| *level).collect::<Vec<_>>(), [2, 2]);
        assert!(factory.asked.lock().is_empty(), "{:?}", factory.asked.lock());
    }
}

/// Random histories: contents are those of a map, and after a compaction of everything each table is of one partition.
#[test]
fn random_histories_stay_partitioned() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let length = 1 + random.below(3) as usize;
        let files = MemoryFileSystem::new();
        let family = || {
            let mut options = by_prefix(length);
            options.disable_auto_compactions = seed.is_multiple_of(2);
            options.level0_file_num_compaction_trigger = 2;
            options.target_file_size_base = 500;
            options.num_levels = if seed % 3 == 0 { 2 } else { 7 };
            options
        };
        let mut db = open(&files, family());
        let (mut model, mut snapshots) = (BTreeMap::new(), Vec::new());
        for step in 0..400 {
            let key = format!("{:03}", random.below(300)).into_bytes();
            match random.below(40) {
                0..24 => {
                    let value = format!("{step}").into_bytes();
                    db.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
                24..30 => {
                    db.delete(&key).unwrap();
                    model.remove(&key);
                }
                30..33 => {
                    let end = format!("{:03}", random.below(300)).into_bytes();
                    let default = db.default_column_family().unwrap();
                    if key < end {
                        db.delete_range_cf(&default, &key, &end, &WriteOptions::default()).unwrap();
                        model.retain(|own, _| !(&key..&end).contains(&own));
                    }
                }
                33..37 => db.flush().unwrap(),
                37 => snapshots.push((db.snapshot(), model.clone())),
                38 => {
                    snapshots.clear();
                    drop(db);
                    db = open(&files, family());
                }
                _ => db.compact_range(None, None).unwrap(),
            }
        }
        let scan = |options: &ReadOptions| {
            let (mut found, mut iter) = (BTreeMap::new(), db.iter(options));
            iter.seek_to_first();
            while iter.valid() {
                found.insert(iter.key().to_vec(), iter.value().to_vec());
                iter.next();
            }
            iter.status().unwrap();
            found
        };
        db.compact_range(None, None).unwrap();
        assert_eq!(scan(&ReadOptions::default()), model, "seed {seed}");
        for (snapshot, model) in &snapshots {
            let options = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
            assert_eq!(&scan(&options), model, "seed {seed}");
        }
        snapshots.clear();
        // Without snapshots no range tombstone is left that would reach over partitions.
        put(&db, &["000", "299"]);
        db.flush().unwrap();
        let default = db.default_column_family().unwrap();
        let force = ferrock::CompactRangeOptions {
            bottommost_level_compaction: ferrock::options::BottommostLevelCompaction::Force,
            ..ferrock::CompactRangeOptions::default()
        };
        db.compact_range_cf(&default, None, None, &force).unwrap();
        for (_, smallest, largest) in tables(&db) {
            assert_eq!(smallest[..length], largest[..length], "seed {seed}");
        }
    }
}

#[test]
fn the_options_file_has_the_text_of_rocksdb() {
    let files = MemoryFileSystem::new();
    let written = || {
        let mut names = files.children(Path::new("/db")).unwrap();
        names.retain(|name| name.starts_with("OPTIONS-"));
        names.sort();
        let bytes = ferrock_vfs::read_file(&files, &Path::new("/db").join(names.last().unwrap())).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let line = "\n  sst_partitioner_factory={id=SstPartitionerFixedPrefixFactory;length=3;}\n";
    drop(open(&files, by_prefix(3)));
    assert!(written().contains(line), "{}", written());
    let load = || ferrock::options::load_latest(&files, Path::new("/db")).unwrap().unwrap();
    let own = load().column_family("default").unwrap().clone();
    assert_eq!(own.sst_partitioner_factory.as_ref().unwrap().options_id(), line.trim().split_once('=').unwrap().1);
    drop(open(&files, own));
    assert!(written().contains(line));
    // A foreign name is kept.
    let mut options = ColumnFamilyOptions::default();
    options.sst_partitioner_factory = Some(Arc::new(Recording::default()));
    drop(open(&files, options));
    let loaded = load();
    assert!(loaded.notes.iter().any(|note| note.contains("test.Recording is not built in")), "{:?}", loaded.notes);
    let foreign = loaded.column_family("default").unwrap().clone();
    assert!(foreign.sst_partitioner_factory.is_none() && loaded.unknown.is_empty());
    drop(open(&files, foreign));
    assert!(written().contains("\n  sst_partitioner_factory=test.Recording\n"));
    drop(open(&files, ColumnFamilyOptions::default()));
    assert!(written().contains("\n  sst_partitioner_factory=nullptr\n"));
}
