//! Files that are ingested behind: whatever was written before hides their rows, through all compactions.

use crate::common::{Contents, contents, options_on};
use ferrock::options::CompactionStyle;
use ferrock::{
    ColumnFamilyOptions, CompactRangeOptions, CompactionOptions, Db, DbOptions, Error, ErrorKind,
    IngestExternalFileOptions, LiveFile, ReadOptions, Snapshot, SstFileWriter, WriteOptions,
};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KEYS: u64 = 120;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

fn behind() -> IngestExternalFileOptions {
    IngestExternalFileOptions { ingest_behind: true, ..IngestExternalFileOptions::default() }
}

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.compaction_style = CompactionStyle::Universal;
    family.cf_allow_ingest_behind = true;
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family
}

fn open(files: &MemoryFileSystem, family: ColumnFamilyOptions) -> Db {
    let options: DbOptions = options_on(Arc::new(files.clone()));
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn write_file(files: &MemoryFileSystem, name: &str, rows: &[(u64, Vec<u8>)]) -> PathBuf {
    files.create_dir_all(Path::new("/outside")).unwrap();
    let path = Path::new("/outside").join(name);
    let mut writer = SstFileWriter::new(&options_on(Arc::new(files.clone())), ColumnFamilyOptions::default());
    writer.open(&path).unwrap();
    rows.iter().for_each(|(number, value)| writer.put(&key(*number), value).unwrap());
    writer.finish().unwrap();
    path
}

/// What was written of a key; nothing of it: what is behind shows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Written {
    Value(Vec<u8>),
    Deleted,
    /// Operands without a base.
    Operands(Vec<u8>),
}

#[derive(Clone, Default)]
struct Model {
    written: BTreeMap<Vec<u8>, Written>,
    behind: Contents,
}

impl Model {
    /// What a read sees, over what is behind now.
    fn rows(&self, behind: &Contents) -> Contents {
        let mut rows = behind.clone();
        for (key, written) in &self.written {
            match written {
                Written::Value(value) => _ = rows.insert(key.clone(), value.clone()),
                Written::Deleted => _ = rows.remove(key),
                Written::Operands(operands) => {
                    let base = rows.remove(key);
                    let joined = base.map_or_else(|| operands.clone(), |base| [&base[..], b",", operands].concat());
                    rows.insert(key.clone(), joined);
                }
            }
        }
        rows
    }

    fn merge(&mut self, key: Vec<u8>, operand: &[u8]) {
        let joined = |before: &[u8]| [before, b",", operand].concat();
        let written = match self.written.get(&key) {
            None => Written::Operands(operand.to_vec()),
            Some(Written::Deleted) => Written::Value(operand.to_vec()),
            Some(Written::Value(value)) => Written::Value(joined(value)),
            Some(Written::Operands(operands)) => Written::Operands(joined(operands)),
        };
        self.written.insert(key, written);
    }
}

struct History {
    files: MemoryFileSystem,
    family: ColumnFamilyOptions,
    db: Option<Db>,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
    random: Random,
    named: u64,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut below = |bound: u64| random.next_u64() % bound;
        let mut family = family();
        family.num_levels = 3 + below(4) as i32;
        family.write_buffer_size = 64 << 10;
        family.level0_file_num_compaction_trigger = 2 + below(3) as i32;
        family.disable_auto_compactions = below(3) == 0;
        family.target_file_size_base = 2000;
        let universal = &mut family.compaction_options_universal;
        universal.max_size_amplification_percent = [20, 200][below(2) as usize];
        universal.allow_trivial_move = below(2) == 0;
        universal.incremental = below(3) == 0;
        family.read_triggered_compaction_threshold = if below(4) == 0 { 0.001 } else { 0.0 };
        let files = MemoryFileSystem::new();
        let db = Some(open(&files, family.clone()));
        Self { files, family, db, model: Model::default(), snapshots: Vec::new(), random, named: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn db(&self) -> Db {
        self.db.clone().unwrap()
    }

    fn range(&mut self) -> (u64, u64) {
        let first = self.below(KEYS);
        (first, first + 1 + self.below(20))
    }

    fn file(&mut self) -> (PathBuf, Vec<(u64, Vec<u8>)>) {
        let (first, end) = self.range();
        let rows: Vec<(u64, Vec<u8>)> = (first..end)
            .filter(|number| *number == first || !self.random.next_u64().is_multiple_of(3))
            .map(|number| (number, format!("outside {} of {number}", self.named).into_bytes()))
            .collect();
        self.named += 1;
        (write_file(&self.files, &format!("{}", self.named), &rows), rows)
    }

    fn step(&mut self) {
        let db = self.db();
        let number = self.below(KEYS);
        match self.below(24) {
            0..=6 => {
                let value = format!("written {}", self.below(1 << 20)).into_bytes();
                db.put(&key(number), &value).unwrap();
                self.model.written.insert(key(number), Written::Value(value));
            }
            7..=9 => {
                db.delete(&key(number)).unwrap();
                self.model.written.insert(key(number), Written::Deleted);
            }
            10 | 11 => {
                let (first, end) = self.range();
                let family = db.default_column_family().unwrap();
                db.delete_range_cf(&family, &key(first), &key(end), &WriteOptions::default()).unwrap();
                (first..end).for_each(|number| _ = self.model.written.insert(key(number), Written::Deleted));
            }
            12 | 13 => {
                let operand = format!("{}", self.below(100)).into_bytes();
                db.merge(&key(number), &operand).unwrap();
                self.model.merge(key(number), &operand);
            }
            14..=16 => db.flush().unwrap(),
            17 => db.compact_range(None, None).unwrap(),
            18 => {
                let (path, rows) = self.file();
                db.ingest_external_file(&[path], &IngestExternalFileOptions::default()).unwrap();
                rows.into_iter().for_each(|(number, value)| {
                    self.model.written.insert(key(number), Written::Value(value));
                });
            }
            19 => self.snapshots.push((db.snapshot(), self.model.clone())),
            20 => self.snapshots.clear(),
            21 => {
                self.snapshots.clear();
                self.db = None;
                drop(db);
                self.db = Some(open(&self.files, self.family.clone()));
            }
            _ => self.ingest_behind(&db),
        }
    }

    fn ingest_behind(&mut self, db: &Db) {
        let (path, rows) = self.file();
        let (first, last) = (key(rows[0].0), key(rows[rows.len() - 1].0));
        let last_level = self.family.num_levels as usize - 1;
        let in_the_way = || -> Vec<u64> {
            let files = db.live_files();
            let overlaps = |file: &&LiveFile| {
                file.level == last_level && file.smallest_user_key <= last && file.largest_user_key >= first
            };
            files.iter().filter(overlaps).map(|file| file.number.0).collect()
        };
        let before = in_the_way();
        match db.ingest_external_file(&[path], &behind()) {
            Ok(()) => {
                // A table that lies under a range deletion may go at any time.
                let after = in_the_way();
                assert!(before.iter().all(|number| !after.contains(number)), "{before:?} {after:?}");
                self.model.behind.extend(rows.into_iter().map(|(number, value)| (key(number), value)));
            }
            Err(error) => {
                assert!(!before.is_empty(), "{error}");
                assert!(
                    error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("fit at the last level")
                );
            }
        }
    }

    fn check(&self, what: &str) {
        let db = self.db();
        let rows = self.model.rows(&self.model.behind);
        assert_eq!(contents(&db, &ReadOptions::default()), rows, "{what}");
        for number in 0..KEYS + 20 {
            assert_eq!(db.get(&key(number)).unwrap().as_deref(), rows.get(&key(number)).map(Vec::as_slice), "{what}");
        }
        for (snapshot, model) in &self.snapshots {
            let options = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
            assert_eq!(contents(&db, &options), model.rows(&self.model.behind), "{what}: a snapshot");
        }
        // Nothing but files that were ingested behind is in the last level.
        let last = self.family.num_levels as usize - 1;
        for file in db.live_files() {
            assert_eq!(file.level == last, file.largest_sequence.0 == 0, "{what}: {file:?}");
        }
    }
}

#[test]
fn rows_behind_are_hidden_by_all_that_was_written_before() {
    // By `ingest_behind`.
    for seed in 0..16 {
        let mut history = History::new(seed);
        for step in 0..250 {
            history.step();
            if step % 10 == 9 {
                history.check(&format!("seed {seed}, step {step}"));
            }
        }
        history.db().wait_for_background_work().unwrap();
        history.check(&format!("seed {seed}, at the end"));
        // Without the option all becomes one run, and nothing comes back.
        history.snapshots.clear();
        history.db = None;
        history.family.cf_allow_ingest_behind = false;
        history.db = Some(open(&history.files, history.family.clone()));
        let db = history.db();
        db.compact_range(None, None).unwrap();
        let rows = history.model.rows(&history.model.behind);
        assert_eq!(contents(&db, &ReadOptions::default()), rows, "seed {seed}, without the option");
        let last = history.family.num_levels as usize - 1;
        assert!(db.live_files().iter().all(|file| file.level == last), "seed {seed}");
    }
}

#[test]
fn tombstones_stay_for_what_is_ingested_behind() {
    let files = MemoryFileSystem::new();
    let db = open(&files, family());
    let default = db.default_column_family().unwrap();
    db.put(&key(1), b"new").unwrap();
    db.delete(&key(2)).unwrap();
    db.delete_range_cf(&default, &key(3), &key(5), &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    let force = CompactRangeOptions {
        bottommost_level_compaction: ferrock::options::BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(&default, None, None, &force).unwrap();
    let [table] = &db.live_files()[..] else { panic!("one table") };
    assert_eq!((table.level, table.num_deletions), (5, 2), "the level above the last, and both tombstones");
    let rows: Vec<(u64, Vec<u8>)> = (0..7).map(|number| (number, b"old".to_vec())).collect();
    db.ingest_external_file(&[write_file(&files, "old", &rows)], &behind()).unwrap();
    let last: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
    assert_eq!(last, [5, 6]);
    let expected: Contents = [(0, "old"), (1, "new"), (5, "old"), (6, "old")]
        .into_iter()
        .map(|(number, value)| (key(number), value.as_bytes().to_vec()))
        .collect();
    assert_eq!(contents(&db, &ReadOptions::default()), expected);
    db.compact_range_cf(&default, None, None, &force).unwrap();
    assert_eq!(contents(&db, &ReadOptions::default()), expected);
    assert_eq!(db.live_files().len(), 2, "the last level is left alone");
}

/// The option of the database is that of its families.
#[test]
fn the_option_of_the_database_reserves_the_last_level_of_its_families() {
    let files = MemoryFileSystem::new();
    let mut options = options_on(Arc::new(files.clone()));
    options.allow_ingest_behind = true;
    let mut family = family();
    (family.cf_allow_ingest_behind, family.num_levels) = (false, 1);
    let (db, _) = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap();
    let notes = db.option_notes();
    assert!(notes.iter().any(|note| note.contains("num_levels = 1 is below 3")), "{notes:?}");
    db.put(&key(1), b"new").unwrap();
    db.compact_range(None, None).unwrap();
    let rows = [(1, b"old".to_vec()), (2, b"old".to_vec())];
    db.ingest_external_file(&[write_file(&files, "old", &rows)], &behind()).unwrap();
    let levels: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
    assert_eq!(levels, [1, 2]);
    assert_eq!(db.get(&key(1)).unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(db.get(&key(2)).unwrap().as_deref(), Some(&b"old"[..]));
}

#[test]
fn what_cannot_go_behind_is_refused() {
    let refused = |result: ferrock::Result<()>, kind: ErrorKind, part: &str| {
        let error: Error = result.unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(part), "{part}: {error}");
    };
    let files = MemoryFileSystem::new();
    let rows = |first: u64| [(first, b"1".to_vec()), (first + 5, b"2".to_vec())];
    let (a, b, c) =
        (write_file(&files, "a", &rows(0)), write_file(&files, "b", &rows(10)), write_file(&files, "c", &rows(13)));
    // Without the option.
    let mut without = family();
    without.cf_allow_ingest_behind = false;
    let db = open(&files, without);
    refused(db.ingest_external_file(&[&a], &behind()), ErrorKind::InvalidArgument, "cf_allow_ingest_behind=false");
    db.put(&key(50), b"x").unwrap();
    db.compact_range(None, None).unwrap();
    drop(db);
    // With data in the last level from before.
    let db = open(&files, family());
    refused(
        db.ingest_external_file(&[write_file(&files, "d", &rows(48))], &behind()),
        ErrorKind::InvalidArgument,
        "fit at the last level",
    );
    db.ingest_external_file(&[&a], &behind()).unwrap();
    refused(db.ingest_external_file(&[&b, &c], &behind()), ErrorKind::NotSupported, "overlapping ranges");
    let options = IngestExternalFileOptions { allow_db_generated_files: true, ..behind() };
    refused(db.ingest_external_file(&[&b], &options), ErrorKind::NotSupported, "allow_db_generated_files");
    assert_eq!(db.live_files().len(), 2, "nothing of what was refused");
    // No compaction that a caller asks for goes there.
    db.put(&key(90), b"x").unwrap();
    db.flush().unwrap();
    let default = db.default_column_family().unwrap();
    let newest = db.live_files().into_iter().max_by_key(|file| file.number).unwrap().name();
    refused(
        db.compact_files_cf(&default, &[newest], 6, None, &CompactionOptions::default()).map(drop),
        ErrorKind::InvalidArgument,
        "Exceed the maximum output level",
    );
    refused(db.promote_l0_cf(&default, 6), ErrorKind::InvalidArgument, "levels are 1 to 5");
    let move_up = CompactRangeOptions { change_level: true, target_level: Some(6), ..CompactRangeOptions::default() };
    refused(db.compact_range_cf(&default, None, None, &move_up), ErrorKind::InvalidArgument, "the levels are 0 to 5");
    drop((db, default));
    // Other styles.
    let mut levels = family();
    levels.compaction_style = CompactionStyle::Level;
    let options = options_on(Arc::new(MemoryFileSystem::new()));
    let error = Db::open_cf("/db", options, vec![("default".to_owned(), levels)]).unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.to_string().contains("universal compaction"), "{error}");
}
