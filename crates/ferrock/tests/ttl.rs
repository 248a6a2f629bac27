//! Databases whose entries expire: what is on disk, what compactions drop and when, and what the caller's own filter
//! and merge operator see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use ferrock::options::{BottommostLevelCompaction, CompactionFilter, MergeOperator};
use ferrock::ttl::{TtlDb, TtlFamily};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, ReadOptions, WriteBatch,
    WriteOptions,
};
use ferrock_base::clock::ManualClock;
use ferrock_base::compaction_filter::{
    CompactionFilterFactory, FilterContext, FilterDecision, FilterFactoryContext, TableFileCreationReason,
};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_base::{Result, ValueType};
use ferrock_vfs::MemoryFileSystem;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const START_SECS: u32 = 1_700_000_000;

struct Bench {
    file_system: MemoryFileSystem,
    clock: Arc<ManualClock>,
}

impl Bench {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(u64::from(START_SECS) * 1_000_000));
        Self { file_system: MemoryFileSystem::new(), clock }
    }

    fn options(&self) -> DbOptions {
        let mut options = options_on(Arc::new(self.file_system.clone()));
        options.create_missing_column_families = true;
        options.components.clock = Some(Arc::clone(&self.clock) as _);
        options
    }

    fn open(&self, families: Vec<TtlFamily>) -> (TtlDb, Vec<ColumnFamily>) {
        TtlDb::open_cf("/db", self.options(), families).unwrap()
    }

    fn open_default(&self, family: ColumnFamilyOptions, ttl: Option<Duration>) -> (TtlDb, ColumnFamily) {
        let (db, handles) = self.open(vec![("default".to_owned(), family, ttl)]);
        (db, handles[0].clone())
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

fn seconds(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.disable_auto_compactions = true;
    options.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    options
}

fn compact(db: &TtlDb, family: &ColumnFamily) {
    let bottommost_level_compaction = BottommostLevelCompaction::ForceOptimized;
    let options = CompactRangeOptions { bottommost_level_compaction, ..CompactRangeOptions::default() };
    db.db().compact_range_cf(family, None, None, &options).unwrap();
}

/// Keys and values by an iterator, both ways, and by reads of keys.
fn rows(db: &TtlDb, family: &ColumnFamily) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let options = ReadOptions::default();
    let (mut forward, mut backward) = (BTreeMap::new(), BTreeMap::new());
    let mut iter = db.iter_cf(family, &options);
    iter.seek_to_first();
    while iter.valid() {
        assert_eq!(iter.pin_value(), iter.value());
        assert_eq!(db.get_cf(family, &options, iter.key()).unwrap().as_deref(), Some(iter.value()));
        forward.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    iter.seek_to_last();
    while iter.valid() {
        backward.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.prev();
    }
    iter.status().unwrap();
    assert_eq!(forward, backward);
    let keys: Vec<&[u8]> = forward.keys().map(Vec::as_slice).collect();
    let places: Vec<_> = keys.iter().map(|key| (family, *key)).collect();
    for (found, value) in db.multi_get_families(&options, &places).into_iter().zip(forward.values()) {
        assert_eq!(found.unwrap().as_deref(), Some(&value[..]));
    }
    forward
}

#[test]
fn a_value_ends_with_the_time_of_its_write_and_goes_when_that_is_too_long_ago() {
    let bench = Bench::new();
    let (db, family) = bench.open_default(family_options(), seconds(100));
    db.put(b"a", b"1").unwrap();
    bench.pass(60);
    db.put(b"b", b"").unwrap();
    let raw = |key: &[u8]| db.db().get(key).unwrap().unwrap().to_vec();
    assert_eq!(raw(b"a"), [&b"1"[..], &START_SECS.to_le_bytes()].concat());
    assert_eq!(raw(b"b"), (START_SECS + 60).to_le_bytes());
    let options = ReadOptions::default();
    assert_eq!(db.get_with_time_cf(&family, &options, b"a").unwrap().unwrap().1, START_SECS);
    // Exactly as old as allowed.
    bench.pass(40);
    compact(&db, &family);
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    bench.pass(1);
    db.db().flush().unwrap();
    assert_eq!(rows(&db, &family).len(), 2, "no read drops what is too old");
    compact(&db, &family);
    assert_eq!(rows(&db, &family).into_keys().collect::<Vec<_>>(), [b"b"]);
    bench.pass(60);
    compact(&db, &family);
    assert!(rows(&db, &family).is_empty() && db.db().live_files().is_empty());
}

#[test]
fn each_family_has_a_life_of_its_own_that_may_change() {
    let bench = Bench::new();
    let families = |ttl| {
        vec![
            ("default".to_owned(), family_options(), None),
            ("short".to_owned(), family_options(), seconds(10)),
            ("parts".to_owned(), family_options(), ttl),
        ]
    };
    let (db, mut handles) = bench.open(families(Some(Duration::from_millis(9_001))));
    handles.push(db.create_column_family("made", family_options(), seconds(30)).unwrap());
    let ttls =
        |db: &TtlDb, handles: &[ColumnFamily]| -> Vec<_> { handles.iter().map(|h| db.ttl(h).unwrap()).collect() };
    assert_eq!(ttls(&db, &handles), [None, seconds(10), seconds(10), seconds(30)]);
    for family in &handles {
        db.put_cf(family, b"k", b"v", &WriteOptions::default()).unwrap();
    }
    let there = |db: &TtlDb, handles: &[ColumnFamily]| -> Vec<bool> {
        handles.iter().for_each(|family| compact(db, family));
        handles.iter().map(|family| !rows(db, family).is_empty()).collect()
    };
    bench.pass(11);
    assert_eq!(there(&db, &handles), [true, false, false, true]);
    db.set_ttl(&handles[3], None).unwrap();
    bench.pass(100);
    assert_eq!(there(&db, &handles), [true, false, false, true]);
    db.set_ttl(&handles[3], seconds(50)).unwrap();
    db.set_ttl(&handles[0], seconds(200)).unwrap();
    assert_eq!(there(&db, &handles), [true, false, false, false]);
    let stranger = db.db().create_column_family("stranger", family_options()).unwrap();
    assert_eq!(db.ttl(&stranger).unwrap_err().kind(), ErrorKind::InvalidArgument);
    drop((db, handles, stranger));
    // What is open for reading drops nothing, and takes times away all the same.
    let (db, handles) = TtlDb::open_read_only("/db", bench.options(), families(seconds(1))[..1].to_vec()).unwrap();
    assert_eq!(rows(&db, &handles[0])[&b"k"[..]], b"v");
    assert!(db.put(b"k", b"w").is_err());
}

#[test]
fn values_without_times_are_reported_and_kept() {
    let bench = Bench::new();
    let plain = Db::open_cf("/db", bench.options(), vec![("default".to_owned(), family_options())]).unwrap().0;
    plain.put(b"a", b"xyz").unwrap();
    plain.put(b"b", b"text that ends in no time\0").unwrap();
    plain.close().unwrap();
    let (db, family) = bench.open_default(family_options(), seconds(1));
    db.put(b"c", b"good").unwrap();
    for (key, part) in [(b"a", "has 3 bytes"), (b"b", "ends with the time")] {
        let error = db.get(key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains(part) && error.to_string().contains(&format!("key {}", key[0] as char)));
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(key);
        assert!(!iter.valid() && iter.key().is_empty() && iter.value().is_empty() && iter.time_secs() == 0);
        assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Corruption);
        assert!(iter.pin_value().is_empty());
        iter.next();
        assert!(!iter.valid());
        iter.seek(b"c");
        assert_eq!((iter.key(), iter.value(), iter.status().is_ok()), (&b"c"[..], &b"good"[..], true));
        let found = db.multi_get_families(&ReadOptions::default(), &[(&family, key), (&family, b"c")]);
        assert!(found[0].is_err() && found[1].as_ref().unwrap().as_deref() == Some(&b"good"[..]));
    }
    compact(&db, &family);
    assert_eq!(db.db().get(b"a").unwrap().as_deref(), Some(&b"xyz"[..]), "too short for a time, so not too old");
    let mut batch = WriteBatch::new();
    batch.put(b"d", b"4").unwrap();
    batch.put_entity(b"e", &[(b"", b"5")]).unwrap();
    let error = db.write(&mut batch, &WriteOptions::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.to_string().contains("an entity"));
    assert!(db.get(b"d").unwrap().is_none());
}

/// Decides by the first word of a value, and remembers what it was asked.
#[derive(Default)]
struct ByValue {
    asked: Mutex<Vec<String>>,
    reasons: Vec<TableFileCreationReason>,
}

impl ByValue {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }
}

impl CompactionFilter for ByValue {
    fn name(&self) -> &str {
        "test.ByValue"
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.reasons.contains(&reason)
    }
    fn filter(&self, _: &FilterContext, key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision {
        let (key, value) = (key.escape_ascii(), String::from_utf8(value.to_vec()).unwrap());
        self.asked.lock().push(format!("{key} {value_type:?} {value}"));
        match value.split_once(' ') {
            Some(("remove", _)) => FilterDecision::Remove,
            Some(("change", to)) => FilterDecision::ChangeValue(to.as_bytes().to_vec()),
            _ => FilterDecision::Keep,
        }
    }
    fn filter_blob_by_key(&self, _: &FilterContext, key: &[u8]) -> Option<FilterDecision> {
        match key {
            b"out" => Some(FilterDecision::Remove),
            b"stay" => Some(FilterDecision::Keep),
            _ => None,
        }
    }
}

struct Factory(Arc<ByValue>);

impl CompactionFilterFactory for Factory {
    fn name(&self) -> &str {
        "test.Factory"
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.0.reasons.contains(&reason)
    }
    fn create(&self, _: &FilterFactoryContext) -> Result<Option<Arc<dyn CompactionFilter>>> {
        Ok(Some(Arc::clone(&self.0) as _))
    }
}

#[test]
fn the_filter_of_the_caller_sees_values_without_times_where_it_wants_to() {
    use TableFileCreationReason::{Compaction, Flush};
    for is_factory in [false, true] {
        for reasons in [vec![], vec![Compaction], vec![Flush], vec![Flush, Compaction]] {
            let (bench, filter) = (Bench::new(), Arc::new(ByValue { reasons, ..ByValue::default() }));
            let mut options = family_options();
            if is_factory {
                options.compaction_filter_factory = Some(Arc::new(Factory(Arc::clone(&filter))) as _);
            } else {
                options.compaction_filter = Some(Arc::clone(&filter) as _);
            }
            let (db, family) = bench.open_default(options, seconds(50));
            for (key, value) in [("a", "keep"), ("b", "remove it"), ("c", "change to this")] {
                db.put(key.as_bytes(), value.as_bytes()).unwrap();
            }
            bench.pass(40);
            db.db().flush().unwrap();
            let all = ["a Value keep", "b Value remove it", "c Value change to this"];
            let at_flush = filter.reasons.contains(&Flush);
            assert_eq!(filter.take(), if at_flush { all.to_vec() } else { vec![] });
            let changed = rows(&db, &family).contains_key(&b"b"[..]);
            assert_eq!(changed, !at_flush);
            compact(&db, &family);
            let at_compaction = filter.reasons.contains(&Compaction);
            let expected = match (at_flush, at_compaction) {
                (_, false) => vec![],
                (false, true) => all.to_vec(),
                (true, true) => vec!["a Value keep", "c Value to this"],
            };
            assert_eq!(filter.take(), expected);
            if at_flush || at_compaction {
                assert_eq!(rows(&db, &family)[&b"c"[..]], b"to this");
            }
            // A changed value is as old as it was, and the caller's filter is not asked about what is too old.
            bench.pass(11);
            compact(&db, &family);
            assert!(rows(&db, &family).is_empty() && filter.take().is_empty(), "{is_factory} {:?}", filter.reasons);
        }
    }
}

#[test]
fn values_in_blob_files_expire() {
    for ttl in [seconds(50), None] {
        let (bench, filter) = (Bench::new(), Arc::new(ByValue::default()));
        let mut options = family_options();
        options.enable_blob_files = true;
        options.min_blob_size = 10;
        let reasons = vec![TableFileCreationReason::Compaction];
        options.compaction_filter = Some(Arc::new(ByValue { reasons, ..ByValue::default() }) as _);
        let (db, family) = bench.open_default(options, ttl);
        for key in [&b"in"[..], b"out", b"stay"] {
            db.put(key, b"a value that is long enough").unwrap();
        }
        db.db().flush().unwrap();
        compact(&db, &family);
        let keys = || rows(&db, &family).into_keys().collect::<Vec<_>>();
        assert_eq!(keys(), [&b"in"[..], b"stay"]);
        assert!(filter.take().is_empty());
        bench.pass(51);
        compact(&db, &family);
        assert_eq!(keys().len(), if ttl.is_some() { 0 } else { 2 });
    }
}

/// What a key is: its value and time, with operands that wait to be merged.
#[derive(Clone, Debug, Default)]
struct Entry {
    base: Option<(Vec<u8>, u32)>,
    /// The newest value or deletion is in the memtable, and so all operands on it.
    is_known: bool,
    operands: Vec<Vec<u8>>,
}

impl Entry {
    fn value(&self) -> Option<Vec<u8>> {
        let parts: Vec<&[u8]> =
            self.base.iter().map(|(value, _)| &value[..]).chain(self.operands.iter().map(|part| &part[..])).collect();
        (!parts.is_empty()).then(|| parts.join(&b","[..]))
    }

    /// Merged with the time of a merge, if there is something to merge.
    fn merge(&mut self, now: u32) {
        if !self.operands.is_empty() {
            self.base = self.value().map(|value| (value, now));
            self.operands.clear();
        }
    }
}

#[test]
fn random_histories_agree_with_a_model() {
    for seed in 0..60 {
        history(seed);
    }
}

fn history(seed: u64) {
    let (bench, mut random) = (Bench::new(), Random::new(seed));
    let ttls = [None, seconds(20), seconds(60)];
    let families = || -> Vec<TtlFamily> {
        ["default", "b", "c"].iter().zip(ttls).map(|(name, ttl)| ((*name).to_owned(), family_options(), ttl)).collect()
    };
    let (mut db, mut handles) = bench.open(families());
    let mut model: Vec<BTreeMap<Vec<u8>, Entry>> = vec![BTreeMap::new(); ttls.len()];
    let mut now = START_SECS;
    for step in 0..120 {
        let at = random.below(3) as usize;
        match random.below(12) {
            0 => {
                db.db().flush_cf(&handles[at], &ferrock::FlushOptions::default()).unwrap();
                flushed(&mut model[at], now);
            }
            1 => {
                compact(&db, &handles[at]);
                flushed(&mut model[at], now);
                let is_over = |time: u32| ttls[at].is_some_and(|ttl| u64::from(time) + ttl.as_secs() < u64::from(now));
                model[at].retain(|_, entry| !entry.operands.is_empty() || entry.base.iter().all(|b| !is_over(b.1)));
                model[at].values_mut().for_each(|entry| entry.merge(now));
            }
            2 if random.one_in(3) => {
                drop(handles);
                db.close().unwrap();
                // What the log has goes into tables.
                (db, handles) = bench.open(families());
                model.iter_mut().for_each(|family| flushed(family, now));
            }
            2..5 => {
                let passed = random.below(15) as u32;
                bench.pass(u64::from(passed));
                now += passed;
            }
            _ => write(&db, &handles, &mut model, &mut random, now),
        }
        for (family, entries) in handles.iter().zip(&model) {
            let expected: BTreeMap<_, _> =
                entries.iter().filter_map(|(key, entry)| Some((key.clone(), entry.value()?))).collect();
            assert_eq!(rows(&db, family), expected, "seed {seed}, step {step}, family {}", family.name());
        }
    }
}

/// A flush merges operands with what is in the same memtable.
fn flushed(entries: &mut BTreeMap<Vec<u8>, Entry>, now: u32) {
    for entry in entries.values_mut() {
        if std::mem::take(&mut entry.is_known) {
            entry.merge(now);
        }
    }
}

fn write(db: &TtlDb, handles: &[ColumnFamily], model: &mut [BTreeMap<Vec<u8>, Entry>], random: &mut Random, now: u32) {
    let mut batch = WriteBatch::new();
    for _ in 0..1 + random.below(4) {
        let at = random.below(3) as usize;
        let (id, entries) = (handles[at].id(), &mut model[at]);
        let kind = random.below(8);
        // Where a range deletion is, a flush may leave operands as they are: keys for merges are of their own.
        let (least, most) = match kind {
            1 => (6, 12),
            2 | 3 => (0, 6),
            _ => (0, 12),
        };
        let key = |random: &mut Random| format!("k{:02}", least + random.below(most - least)).into_bytes();
        let (first, second) = (key(random), key(random));
        let value = format!("v{}", random.below(1000)).into_bytes();
        match kind {
            0 => {
                batch.delete_cf(id, &first).unwrap();
                entries.insert(first, Entry { is_known: true, ..Entry::default() });
            }
            1 => {
                let (begin, end) = (first.clone().min(second.clone()), first.max(second));
                batch.delete_range_cf(id, &begin, &end).unwrap();
                if begin < end {
                    for number in least..most {
                        let key = format!("k{number:02}").into_bytes();
                        if (&begin..&end).contains(&&key) {
                            entries.insert(key, Entry { is_known: true, ..Entry::default() });
                        }
                    }
                }
            }
            2 | 3 => {
                batch.merge_cf(id, &first, &value).unwrap();
                entries.entry(first).or_default().operands.push(value);
            }
            _ => {
                batch.put_cf(id, &first, &value).unwrap();
                entries.insert(first, Entry { base: Some((value, now)), is_known: true, operands: Vec::new() });
            }
        }
    }
    let before = batch.clone();
    db.write(&mut batch, &WriteOptions::default()).unwrap();
    assert_eq!(batch.records(), before.records(), "the batch stays the caller's");
    assert!(batch.sequence() > before.sequence());
}
