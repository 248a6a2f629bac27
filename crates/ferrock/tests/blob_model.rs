//! Random histories of families with blob files against a model.
//!
//! Every value says whose it is: it begins with its key, so a value of another record is noticed wherever it turns
//! up, also in the compaction filter. The filter removes values that say so, whenever it comes by: the model lets such
//! a key have its value or none. After each step, and the work that it started: contents at the newest state, at
//! snapshots and in old iterators; and the books, which say what of each blob file is garbage, against the references
//! that the tables hold and the files that are there.
//!
//! `FERROCK_BLOB_HISTORIES=n` sets how many histories there are, `FERROCK_MODEL_SEED=n` from which seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[path = "common/books.rs"]
mod books;

use ferrock::options::{BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompressionType};
use ferrock::options::{CompactionFilter, FilterContext, FilterDecision, TableFileCreationReason};
use ferrock::{ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, Iter};
use ferrock::{ReadOptions, Snapshot, WriteOptions};
use ferrock_base::ValueType;
use ferrock_base::merge::StringAppend;
use ferrock_vfs::MemoryFileSystem;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

const DIRECTORY: &str = "/db";
const FAMILIES: [&str; 2] = ["default", "other"];
const KEYS: u64 = 40;
/// Behind its key, a value that the filter removes.
const EXPENDABLE: u8 = b'!';
/// Behind its key, a value that the filter changes, once.
const CHANGEABLE: u8 = b'0';

/// A small generator of numbers: the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed >> 33) % below
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next(choices.len() as u64) as usize]
    }
}

#[derive(Debug)]
struct Filter;

impl CompactionFilter for Filter {
    fn name(&self) -> &str {
        "blob model"
    }
    fn filter(&self, _context: &FilterContext, key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision {
        if value_type == ValueType::Merge {
            return FilterDecision::Keep;
        }
        assert!(value.starts_with(key), "the filter got {} for {}", value.escape_ascii(), key.escape_ascii());
        match value.get(key.len()) {
            Some(&EXPENDABLE) => FilterDecision::Remove,
            Some(&CHANGEABLE) => FilterDecision::ChangeValue(normal(key, value)),
            _ => FilterDecision::Keep,
        }
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason != TableFileCreationReason::Recovery
    }
}

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn is_expendable(key: &[u8], value: &[u8]) -> bool {
    value.get(key.len()) == Some(&EXPENDABLE)
}

/// A value as the filter leaves it.
fn normal(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    if let Some(kind) = value.get_mut(key.len()).filter(|kind| **kind == CHANGEABLE) {
        *kind = b'1';
    }
    value
}

/// What was found, where the filter may have removed or changed some.
fn check_contents(what: &str, found: &Contents, wanted: &Contents) {
    for (key, value) in found {
        let text = |value: &[u8]| normal(key, value).escape_ascii().to_string();
        assert_eq!(Some(text(value)), wanted.get(key).map(|value| text(value)), "{what}: {}", key.escape_ascii());
    }
    for (key, value) in wanted {
        assert!(found.contains_key(key) || is_expendable(key, value), "{what}: {} is lost", key.escape_ascii());
    }
}

struct History {
    file_system: MemoryFileSystem,
    options: Vec<ColumnFamilyOptions>,
    /// None while it is opened.
    open: Option<(Db, Vec<ColumnFamily>)>,
    model: Vec<Contents>,
    snapshots: Vec<(Snapshot, Vec<Contents>)>,
    iterators: Vec<(Iter, usize, Contents)>,
    values: u64,
    is_just_opened: bool,
    /// The largest number of blob files that were there at once, and those that went.
    most_files: usize,
    seen: BTreeSet<u64>,
}

fn draw_blob_options(numbers: &mut Numbers) -> Vec<(&'static str, String)> {
    let flag = |number: u64| (number > 0).to_string();
    vec![
        ("enable_blob_files", flag(numbers.next(5))),
        ("min_blob_size", numbers.one_of(&[0, 1, 20, 100]).to_string()),
        ("blob_file_size", numbers.one_of(&[1, 300, 2000, 1 << 28]).to_string()),
        (
            "blob_compression_type",
            numbers.one_of(&["kNoCompression", "kLZ4Compression", "kZSTD", "kSnappyCompression"]).to_owned(),
        ),
        ("blob_file_starting_level", numbers.one_of(&[0, 0, 0, 1, 2]).to_string()),
        ("enable_blob_garbage_collection", flag(numbers.next(3))),
        ("blob_garbage_collection_age_cutoff", numbers.one_of(&["0", "0.25", "0.5", "1.0"]).to_owned()),
        ("blob_garbage_collection_force_threshold", numbers.one_of(&["1.0", "0.5", "0.1", "0.0"]).to_owned()),
        ("disable_auto_compactions", flag(1 - numbers.next(5).min(1))),
    ]
}

impl History {
    fn new(numbers: &mut Numbers) -> Self {
        let options = FAMILIES.map(|_| {
            let mut family = ColumnFamilyOptions::default();
            family.compression = CompressionType::NoCompression;
            family.merge_operator = Some(Arc::new(StringAppend::new(",")));
            family.level0_file_num_compaction_trigger = numbers.one_of(&[1, 2, 4]);
            family.num_levels = numbers.one_of(&[2, 3, 7]);
            family.target_file_size_base = numbers.one_of(&[1, 600, 64 << 20]);
            family.max_bytes_for_level_base = numbers.one_of(&[1000, 1 << 20]);
            family.level_compaction_dynamic_level_bytes = numbers.next(2) == 1;
            if numbers.next(2) == 1 {
                family.compaction_filter = Some(Arc::new(Filter));
            }
            for (name, text) in draw_blob_options(numbers) {
                assert!(family.settings.set(name, &text).unwrap(), "{name}");
            }
            family
        });
        let mut history = Self {
            file_system: MemoryFileSystem::new(),
            options: options.into(),
            open: None,
            model: vec![Contents::new(); FAMILIES.len()],
            snapshots: Vec::new(),
            iterators: Vec::new(),
            values: 0,
            is_just_opened: false,
            most_files: 0,
            seen: BTreeSet::new(),
        };
        history.open();
        history.is_just_opened = false;
        history
    }

    fn open(&mut self) {
        self.snapshots.clear();
        self.iterators.clear();
        self.open = None;
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.avoid_flush_during_recovery = self.values.is_multiple_of(2);
        options.components.file_system = Some(Arc::new(self.file_system.clone()));
        let families = FAMILIES.iter().zip(&self.options).map(|(name, options)| ((*name).to_owned(), options.clone()));
        self.open = Some(Db::open_cf(DIRECTORY, options, families.collect()).unwrap());
        self.is_just_opened = true;
    }

    fn db(&self) -> &Db {
        &self.open.as_ref().unwrap().0
    }

    fn family(&self, family: usize) -> &ColumnFamily {
        &self.open.as_ref().unwrap().1[family]
    }

    fn scan(&self, family: usize, options: &ReadOptions) -> Contents {
        let mut iter = self.db().iter_cf(self.family(family), options);
        iter.seek_to_first();
        let mut contents = Contents::new();
        while iter.valid() {
            contents.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status().unwrap();
        contents
    }

    fn write(&mut self, numbers: &mut Numbers) {
        let family = numbers.next(FAMILIES.len() as u64) as usize;
        let key_of = |number: u64| format!("key{number:02}").into_bytes();
        let number = numbers.next(KEYS);
        let key = key_of(number);
        let options = WriteOptions::default();
        let (db, handle) = (self.db().clone(), self.family(family).clone());
        self.values += 1;
        let model = &mut self.model[family];
        let current = model.get(&key).cloned();
        match numbers.next(14) {
            0 => {
                db.delete_cf(&handle, &key, &options).unwrap();
                model.remove(&key);
            }
            1 => {
                let end = key_of(number + 1 + numbers.next(8));
                db.delete_range_cf(&handle, &key, &end, &options).unwrap();
                model.retain(|other, _| !(&key <= other && other < &end));
            }
            // The filter must see a value, and what it may have removed has no operands.
            2 | 3 if current.as_ref().is_some_and(|value| !is_expendable(&key, value)) => {
                let operand = format!("operand{}", self.values).into_bytes();
                db.merge_cf(&handle, &key, &operand, &options).unwrap();
                let value = model.entry(key).or_default();
                value.push(b',');
                value.extend_from_slice(&operand);
            }
            _ => {
                let mut value = key.clone();
                let kind = if numbers.next(8) == 0 { EXPENDABLE } else { numbers.one_of(b"0123") };
                value.push(kind);
                value.extend_from_slice(self.values.to_string().as_bytes());
                let length = numbers.one_of(&[0, 0, 20, 100, 300]);
                value.extend((0..length).map(|_| b'a' + numbers.next(4) as u8));
                db.put_cf(&handle, &key, &value, &options).unwrap();
                model.insert(key, value);
            }
        }
    }

    fn compact(&mut self, numbers: &mut Numbers) {
        let family = numbers.next(FAMILIES.len() as u64) as usize;
        let mut bounds = [numbers.next(KEYS), numbers.next(KEYS)].map(|key| format!("key{key:02}").into_bytes());
        bounds.sort();
        let [begin, end] = &bounds;
        let (begin, end) = if numbers.next(2) == 0 { (None, None) } else { (Some(&begin[..]), Some(&end[..])) };
        use BlobGarbageCollectionPolicy::{Disable, Force, UseDefault};
        let options = CompactRangeOptions {
            bottommost_level_compaction: numbers.one_of(&[
                BottommostLevelCompaction::Force,
                BottommostLevelCompaction::ForceOptimized,
                BottommostLevelCompaction::IfHaveCompactionFilter,
            ]),
            blob_garbage_collection_policy: numbers.one_of(&[Force, Disable, UseDefault]),
            blob_garbage_collection_age_cutoff: numbers.one_of(&[None, Some(0.5), Some(1.0)]),
            change_level: numbers.next(4) == 0,
            ..CompactRangeOptions::default()
        };
        self.db().compact_range_cf(self.family(family), begin, end, &options).unwrap();
    }

    fn check(&mut self) {
        self.db().wait_for_background_work().unwrap();
        for family in 0..FAMILIES.len() {
            let what = FAMILIES[family];
            let found = self.scan(family, &ReadOptions::default());
            check_contents(what, &found, &self.model[family]);
            let keys: Vec<&[u8]> = found.keys().map(Vec::as_slice).collect();
            let many = self.db().multi_get_cf(self.family(family), &ReadOptions::default(), &keys);
            for ((key, value), got) in found.iter().zip(many) {
                let one = self.db().get_cf(self.family(family), &ReadOptions::default(), key).unwrap();
                assert_eq!((one.as_deref(), got.unwrap().as_deref()), (Some(&value[..]), Some(&value[..])));
            }
            for (snapshot, contents) in &self.snapshots {
                let at = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
                check_contents("at a snapshot", &self.scan(family, &at), &contents[family]);
            }
        }
        let directory = Path::new(DIRECTORY);
        books::check_books("books", &self.file_system, directory, &BTreeSet::new());
        let live = books::blob_files(&self.file_system, directory);
        self.most_files = self.most_files.max(live.len());
        self.seen.extend(&live);
        // Later a job or a reader that is just ending may have kept a file from the last clean-up.
        if std::mem::take(&mut self.is_just_opened) {
            books::check_directory("directory", &self.file_system, directory, &BTreeSet::new());
        }
    }

    /// What an iterator of an earlier state has left.
    fn finish_iterator(&mut self, numbers: &mut Numbers) {
        if self.iterators.is_empty() {
            return;
        }
        let at = numbers.next(self.iterators.len() as u64) as usize;
        let (mut iter, family, contents) = self.iterators.swap_remove(at);
        let mut found = Contents::new();
        iter.seek_to_first();
        while iter.valid() {
            found.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status().unwrap();
        check_contents("an old iterator", &found, &contents);
        assert!(family < FAMILIES.len());
    }

    fn step(&mut self, numbers: &mut Numbers) {
        match numbers.next(40) {
            0..=3 => {
                let family = numbers.next(FAMILIES.len() as u64) as usize;
                self.db().flush_cf(self.family(family), &FlushOptions::default()).unwrap();
            }
            4 | 5 => self.compact(numbers),
            6 => {
                let family = numbers.next(FAMILIES.len() as u64) as usize;
                let drawn = draw_blob_options(numbers);
                let texts: Vec<(&str, &str)> = drawn.iter().map(|(name, text)| (*name, &text[..])).collect();
                self.db().set_options_cf(self.family(family), &texts).unwrap();
                for (name, text) in texts {
                    self.options[family].settings.set(name, text).unwrap();
                }
            }
            7 if numbers.next(2) == 0 => self.open(),
            8 if self.snapshots.len() < 3 => {
                self.snapshots.push((self.db().snapshot(), self.model.clone()));
                return;
            }
            9 if !self.snapshots.is_empty() => {
                let at = numbers.next(self.snapshots.len() as u64) as usize;
                self.snapshots.swap_remove(at);
                return;
            }
            10 if self.iterators.len() < 2 => {
                let family = numbers.next(FAMILIES.len() as u64) as usize;
                let iter = self.db().iter_cf(self.family(family), &ReadOptions::default());
                self.iterators.push((iter, family, self.model[family].clone()));
                return;
            }
            11 => return self.finish_iterator(numbers),
            _ => return self.write(numbers),
        }
        self.check();
    }
}

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn values_come_and_go_and_the_books_are_right() {
    let seed = environment("FERROCK_MODEL_SEED", 1);
    let (mut most_files, mut gone) = (0, 0);
    for history in 0..environment("FERROCK_BLOB_HISTORIES", 60) {
        let mut numbers = Numbers(seed.wrapping_add(history.wrapping_mul(0x9e37_79b9)));
        println!("history {history} of FERROCK_MODEL_SEED={seed}");
        let mut of_it = History::new(&mut numbers);
        for _ in 0..250 {
            of_it.step(&mut numbers);
        }
        of_it.iterators.clear();
        of_it.open();
        of_it.check();
        most_files = most_files.max(of_it.most_files);
        let live = books::blob_files(&of_it.file_system, Path::new(DIRECTORY));
        gone += of_it.seen.difference(&live).count();
    }
    println!("at most {most_files} blob files at once, {gone} went");
    assert!(most_files > 3 && gone > 10, "{most_files} files at once, {gone} went");
}
