//! Random histories of families with blob files against a model.
//!
//! Every value says whose it is: it begins with its key, so a value of another record is noticed wherever it turns up,
//! also in the compaction filter. The filter removes values that say so, whenever it comes by: the model lets such a
//! key have its value or none. It is not asked of entities; their other columns are read as they are stored. After
//! each step, and the work that it started: contents at the newest state, at snapshots and in old iterators; and the
//! books, which say what of each blob file is garbage, against the references that the tables hold and the files that
//! are there. In two histories of three compactions are run by workers, in one of these by workers that may spoil what
//! they write.
//!
//! `FERROCK_BLOB_HISTORIES=n` sets how many histories there are, `FERROCK_MODEL_SEED=n` from which seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;
#[path = "common/workers.rs"]
mod workers;

use common::{books, threads::wait_until};
use ferrock::options::{
    BlobFilePartitionStrategy, BlobGarbageCollectionPolicy, BottommostLevelCompaction, CacheOptions, ChargeDecision,
    CompactionServiceJobStatus, CompressionType, ReadTier, TableBlockCache,
};
use ferrock::options::{CompactionFilter, FilterContext, FilterDecision, TableFileCreationReason};
use ferrock::{ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, FlushOptions, Iter};
use ferrock::{ReadOptions, Snapshot, WriteBatch, WriteOptions};
use ferrock_base::ValueType;
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_format::wide_column::{WideColumn, decode_entity};
use ferrock_vfs::MemoryFileSystem;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workers::{Conduct, InProcess};

const DIRECTORY: &str = "/db";
const FAMILIES: [&str; 2] = ["default", "other"];
const KEYS: u64 = 40;
/// Behind its key, a value that the filter removes.
const EXPENDABLE: u8 = b'!';
/// Behind its key, a value that the filter changes, once.
const CHANGEABLE: u8 = b'0';

fn one_of<T: Copy>(numbers: &mut Random, choices: &[T]) -> T {
    choices[numbers.below(choices.len() as u64) as usize]
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

type Columns = Vec<(Vec<u8>, Vec<u8>)>;

struct History {
    file_system: MemoryFileSystem,
    options: Vec<ColumnFamilyOptions>,
    /// Runs compactions.
    service: Option<Arc<InProcess>>,
    /// None while it is opened.
    open: Option<(Db, Vec<ColumnFamily>)>,
    model: Vec<Contents>,
    /// The columns of entities, but for the default one.
    columns: Vec<BTreeMap<Vec<u8>, Columns>>,
    snapshots: Vec<(Snapshot, Vec<Contents>)>,
    iterators: Vec<(Iter, usize, Contents)>,
    values: u64,
    /// The largest number of blob files that were there at once, and those that went.
    most_files: usize,
    seen: BTreeSet<u64>,
}

/// Up to four columns, in the order of their names.
fn draw_columns(numbers: &mut Random) -> Columns {
    let names: BTreeSet<u64> = (0..numbers.below(4)).map(|_| numbers.below(20)).collect();
    let mut column = |name: u64| {
        let length = one_of(numbers, &[0, 5, 30, 150, 400]);
        (format!("c{name:02}").into_bytes(), (0..length).map(|_| b'a' + numbers.below(4) as u8).collect())
    };
    names.into_iter().map(&mut column).collect()
}

fn draw_blob_options(numbers: &mut Random) -> Vec<(&'static str, String)> {
    let flag = |number: u64| (number > 0).to_string();
    vec![
        ("enable_blob_files", flag(numbers.below(5))),
        ("enable_blob_direct_write", flag(numbers.below(2))),
        ("blob_direct_write_partitions", one_of(numbers, &[1, 1, 3]).to_string()),
        ("min_blob_size", one_of(numbers, &[0, 1, 20, 100]).to_string()),
        ("blob_file_size", one_of(numbers, &[1, 300, 2000, 1 << 28]).to_string()),
        (
            "blob_compression_type",
            one_of(numbers, &["kNoCompression", "kLZ4Compression", "kZSTD", "kSnappyCompression"]).to_owned(),
        ),
        ("blob_file_starting_level", one_of(numbers, &[0, 0, 0, 1, 2]).to_string()),
        ("enable_blob_garbage_collection", flag(numbers.below(3))),
        ("blob_garbage_collection_age_cutoff", one_of(numbers, &["0", "0.25", "0.5", "1.0"]).to_owned()),
        ("blob_garbage_collection_force_threshold", one_of(numbers, &["1.0", "0.5", "0.1", "0.0"]).to_owned()),
        ("blob_compaction_readahead_size", one_of(numbers, &["0", "1", "200", "5000"]).to_owned()),
        ("prepopulate_blob_cache", one_of(numbers, &["kDisable", "kFlushOnly"]).to_owned()),
        ("disable_auto_compactions", flag(1 - numbers.below(5).min(1))),
    ]
}

/// A strategy that answers any number, also beyond all partitions, and another one each time for the same key.
struct AnyPartition(AtomicU64);

impl BlobFilePartitionStrategy for AnyPartition {
    fn name(&self) -> &str {
        "AnyPartition"
    }

    fn select_partition(&self, _: u32, _: u32, _: &[u8], _: &[u8]) -> u32 {
        let number = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        (number >> 32) as u32
    }
}

fn draw_partitions(numbers: &mut Random) -> Option<Arc<dyn BlobFilePartitionStrategy>> {
    (numbers.below(2) == 0).then(|| Arc::new(AnyPartition(AtomicU64::new(numbers.below(1 << 40)))) as _)
}

/// A cache of values, which holds none, few or all of them.
fn draw_blob_cache(numbers: &mut Random) -> Option<Arc<TableBlockCache>> {
    let capacity_bytes = one_of(numbers, &[None, Some(0), Some(400), Some(3000), Some(1 << 20)])?;
    let strict_capacity_limit = numbers.below(2) == 0;
    Some(TableBlockCache::new(CacheOptions { capacity_bytes, strict_capacity_limit, ..CacheOptions::default() }))
}

impl History {
    fn new(numbers: &mut Random) -> Self {
        // Both families may have the same one, and keep it when the database is opened again.
        let shared_cache = draw_blob_cache(numbers);
        let options = FAMILIES.map(|_| {
            let mut family = ColumnFamilyOptions::default();
            family.compression = CompressionType::NoCompression;
            family.merge_operator = Some(Arc::new(StringAppend::new(",")));
            family.level0_file_num_compaction_trigger = one_of(numbers, &[1, 2, 4]);
            family.num_levels = one_of(numbers, &[2, 3, 7]);
            family.target_file_size_base = one_of(numbers, &[1, 600, 64 << 20]);
            family.max_bytes_for_level_base = one_of(numbers, &[1000, 1 << 20]);
            family.level_compaction_dynamic_level_bytes = numbers.below(2) == 1;
            family.blob_cache = if numbers.below(2) == 0 { shared_cache.clone() } else { draw_blob_cache(numbers) };
            if numbers.below(3) == 0 {
                family.cache_usage.blob_cache = ChargeDecision::Enabled;
            }
            if numbers.below(2) == 1 {
                family.compaction_filter = Some(Arc::new(Filter));
            }
            for (name, text) in draw_blob_options(numbers) {
                assert!(family.settings.set(name, &text).unwrap(), "{name}");
            }
            family.blob_direct_write_partition_strategy = draw_partitions(numbers);
            family
        });
        let file_system = MemoryFileSystem::new();
        let conducts = [&[][..], &[Conduct::Honest], workers::ALL][numbers.below(3) as usize];
        let service = (!conducts.is_empty()).then(|| InProcess::new(Arc::new(file_system.clone()), conducts));
        let mut history = Self {
            file_system,
            options: options.into(),
            service,
            open: None,
            model: vec![Contents::new(); FAMILIES.len()],
            columns: vec![BTreeMap::new(); FAMILIES.len()],
            snapshots: Vec::new(),
            iterators: Vec::new(),
            values: 0,
            most_files: 0,
            seen: BTreeSet::new(),
        };
        history.open();
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
        // Values are written directly by one thread at a time.
        options.allow_concurrent_memtable_write = false;
        options.components.file_system = Some(Arc::new(self.file_system.clone()));
        if let Some(service) = &self.service {
            FAMILIES.iter().zip(&self.options).for_each(|(name, options)| service.set_family(name, options));
            options.components.compaction_service = Some(Arc::clone(service) as _);
        }
        let families = FAMILIES.iter().zip(&self.options).map(|(name, options)| ((*name).to_owned(), options.clone()));
        self.open = Some(Db::open_cf(DIRECTORY, options, families.collect()).unwrap());
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

    fn write(&mut self, numbers: &mut Random) {
        let family = numbers.below(FAMILIES.len() as u64) as usize;
        let key_of = |number: u64| format!("key{number:02}").into_bytes();
        let number = numbers.below(KEYS);
        let key = key_of(number);
        let options = WriteOptions::default();
        let (db, handle) = (self.db().clone(), self.family(family).clone());
        self.values += 1;
        let (model, columns) = (&mut self.model[family], &mut self.columns[family]);
        let current = model.get(&key).cloned();
        match numbers.below(14) {
            0 => {
                db.delete_cf(&handle, &key, &options).unwrap();
                model.remove(&key);
                columns.remove(&key);
            }
            1 => {
                let end = key_of(number + 1 + numbers.below(8));
                db.delete_range_cf(&handle, &key, &end, &options).unwrap();
                model.retain(|other, _| !(&key <= other && other < &end));
                columns.retain(|other, _| !(&key <= other && other < &end));
            }
            // The filter must see a value, and what it may have removed has no operands.
            2 | 3 if current.as_ref().is_some_and(|value| !is_expendable(&key, value)) => {
                let operand = format!("operand{}", self.values).into_bytes();
                db.merge_cf(&handle, &key, &operand, &options).unwrap();
                let value = model.entry(key).or_default();
                value.push(b',');
                value.extend_from_slice(&operand);
            }
            drawn => {
                let mut value = key.clone();
                let kind = if numbers.below(8) == 0 { EXPENDABLE } else { one_of(numbers, b"0123") };
                value.push(kind);
                value.extend_from_slice(self.values.to_string().as_bytes());
                let length = one_of(numbers, &[0, 0, 20, 100, 300]);
                value.extend((0..length).map(|_| b'a' + numbers.below(4) as u8));
                if drawn < 7 {
                    let others = draw_columns(numbers);
                    let mut batch = WriteBatch::new();
                    let default = (&b""[..], &value[..]);
                    let named = others.iter().map(|(name, value)| (&name[..], &value[..]));
                    batch.put_entity_cf(handle.id(), &key, &named.chain([default]).collect::<Vec<_>>()).unwrap();
                    db.write(batch, &options).unwrap();
                    columns.insert(key.clone(), others);
                } else {
                    db.put_cf(&handle, &key, &value, &options).unwrap();
                    columns.remove(&key);
                }
                model.insert(key, value);
            }
        }
    }

    fn compact(&mut self, numbers: &mut Random) {
        let family = numbers.below(FAMILIES.len() as u64) as usize;
        let mut bounds = [numbers.below(KEYS), numbers.below(KEYS)].map(|key| format!("key{key:02}").into_bytes());
        bounds.sort();
        let [begin, end] = &bounds;
        let (begin, end) = if numbers.below(2) == 0 { (None, None) } else { (Some(&begin[..]), Some(&end[..])) };
        use BlobGarbageCollectionPolicy::{Disable, Force, UseDefault};
        let options = CompactRangeOptions {
            bottommost_level_compaction: one_of(
                numbers,
                &[
                    BottommostLevelCompaction::Force,
                    BottommostLevelCompaction::ForceOptimized,
                    BottommostLevelCompaction::IfHaveCompactionFilter,
                ],
            ),
            blob_garbage_collection_policy: one_of(numbers, &[Force, Disable, UseDefault]),
            blob_garbage_collection_age_cutoff: one_of(numbers, &[None, Some(0.5), Some(1.0)]),
            change_level: numbers.below(4) == 0,
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
            self.check_without_reads(family, &found);
            self.check_columns(family);
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
        // An iterator may hold a version with files that are obsolete by now, and a memtable has files of its own.
        let entries = "rocksdb.num-entries-active-mem-table";
        let is_empty = |family| self.db().property_cf(self.family(family), entries).unwrap() == "0";
        if self.iterators.is_empty() && (0..FAMILIES.len()).all(is_empty) {
            let is_clean = || books::blob_files(&self.file_system, directory) == self.listed();
            // A job that is just ending has held the files that it read.
            wait_until("the files of ended jobs go", is_clean);
            books::check_directory("directory", &self.file_system, directory, &BTreeSet::new());
        }
    }

    /// The entities that are the newest of their keys have their columns.
    fn check_columns(&self, family: usize) {
        let mut versions = self.db().key_versions(self.family(family), None, None).unwrap();
        let mut last = Vec::new();
        while let Some(version) = versions.current().unwrap() {
            let is_newest = version.user_key != last;
            last = version.user_key.to_vec();
            let wanted = self.columns[family].get(version.user_key);
            if is_newest && version.value_type == ValueType::WideColumnEntity && self.model[family].contains_key(&last)
            {
                let value = |column: &WideColumn<'_>| match column.is_blob_index {
                    true => books::blob_value(&self.file_system, Path::new(DIRECTORY), column.value),
                    false => column.value.to_vec(),
                };
                let columns = decode_entity(version.value).unwrap();
                let others = columns.iter().filter(|column| !column.name.is_empty());
                let found: Columns = others.map(|column| (column.name.to_vec(), value(column))).collect();
                assert_eq!(Some(&found), wanted, "columns of {}", last.escape_ascii());
            }
            versions.advance();
        }
    }

    /// What reads may not touch files finds is right, and futures and their batches read the same.
    fn check_without_reads(&self, family: usize, found: &Contents) {
        let (db, handle) = (self.db(), self.family(family));
        let in_memory = ReadOptions { read_tier: ReadTier::BlockCacheOnly, ..ReadOptions::default() };
        let unfilled = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        for (key, value) in found {
            match db.get_cf(handle, &in_memory, key) {
                Ok(got) => assert_eq!(got.as_deref(), Some(&value[..])),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}"),
            }
            for options in [&unfilled, &ReadOptions::default()] {
                let got = smol::block_on(db.get_cf_async(handle, options, key)).unwrap();
                assert_eq!(got.as_deref(), Some(&value[..]));
            }
        }
        let mut batches = db.scan_cf_async(handle, &ReadOptions::default());
        let mut scanned = Contents::new();
        while let Some(batch) = smol::block_on(batches.next_batch()).unwrap() {
            scanned.extend(batch.rows().map(|(key, value)| (key.to_vec(), value.to_vec())));
        }
        assert!(scanned == *found, "a scan as futures");
    }

    /// The blob files that the MANIFEST lists.
    fn listed(&self) -> BTreeSet<u64> {
        books::read_books(&self.file_system, Path::new(DIRECTORY)).blobs.into_keys().collect()
    }

    /// What an iterator of an earlier state has left.
    fn finish_iterator(&mut self, numbers: &mut Random) {
        if self.iterators.is_empty() {
            return;
        }
        let at = numbers.below(self.iterators.len() as u64) as usize;
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

    fn step(&mut self, numbers: &mut Random) {
        match numbers.below(40) {
            0..=3 => {
                let family = numbers.below(FAMILIES.len() as u64) as usize;
                self.db().flush_cf(self.family(family), &FlushOptions::default()).unwrap();
            }
            4 | 5 => self.compact(numbers),
            6 => {
                let family = numbers.below(FAMILIES.len() as u64) as usize;
                let mut drawn = draw_blob_options(numbers);
                // Fixed while a database is open.
                drawn.retain(|(name, _)| !name.contains("direct_write"));
                let texts: Vec<(&str, &str)> = drawn.iter().map(|(name, text)| (*name, &text[..])).collect();
                self.db().set_options_cf(self.family(family), &texts).unwrap();
                for (name, text) in texts {
                    self.options[family].settings.set(name, text).unwrap();
                }
            }
            7 if numbers.below(2) == 0 => self.open(),
            8 if self.snapshots.len() < 3 => {
                self.snapshots.push((self.db().snapshot(), self.model.clone()));
                return;
            }
            9 if !self.snapshots.is_empty() => {
                let at = numbers.below(self.snapshots.len() as u64) as usize;
                self.snapshots.swap_remove(at);
                return;
            }
            10 if self.iterators.len() < 2 => {
                let family = numbers.below(FAMILIES.len() as u64) as usize;
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
    let (mut most_files, mut gone, mut remote, mut refused) = (0, 0, 0, 0);
    for history in 0..environment("FERROCK_BLOB_HISTORIES", 60) {
        let mut numbers = Random::new(seed.wrapping_add(history.wrapping_mul(0x9e37_79b9)));
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
        for (_, status) in of_it.service.iter().flat_map(|service| service.ended()) {
            *(if status == CompactionServiceJobStatus::Success { &mut remote } else { &mut refused }) += 1;
        }
    }
    println!(
        "at most {most_files} blob files at once, {gone} went; {remote} compactions of workers, {refused} refused"
    );
    assert!(remote > 20 && refused > 5, "{remote} compactions of workers, {refused} refused");
    assert!(most_files > 3 && gone > 10, "{most_files} files at once, {gone} went");
}
