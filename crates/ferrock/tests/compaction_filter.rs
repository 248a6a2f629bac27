//! Compaction filters through a database: when they are asked, about what, and what becomes of their decisions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use ferrock::options::{BottommostLevelCompaction, CompactionFilter, MergeOperator};
use ferrock::statistics::{Statistics, StatsLevel};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, ReadOptions, WriteBatch, WriteOptions};
use ferrock_base::ValueType;
use ferrock_base::compaction_filter::{FilterContext, FilterDecision, RemoveEmptyValues, TableFileCreationReason};
use ferrock_base::merge::StringAppend;
use ferrock_vfs::{CrashPolicy, MemoryFileSystem};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Decides by the first word of a value, and remembers what it was asked.
#[derive(Default)]
struct ByValue {
    asked: Mutex<Vec<(FilterContext, String)>>,
    /// Reasons besides compactions.
    reasons: Vec<TableFileCreationReason>,
}

impl CompactionFilter for ByValue {
    fn name(&self) -> &str {
        "test.ByValue"
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction || self.reasons.contains(&reason)
    }
    fn filter(&self, context: &FilterContext, key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision {
        let (key, value) = (key.escape_ascii(), String::from_utf8(value.to_vec()).unwrap());
        self.asked.lock().push((*context, format!("{key} {value_type:?} {value}")));
        match value.split_once(' ').unwrap_or((&value, "")) {
            ("remove", _) => FilterDecision::Remove,
            ("purge", _) => FilterDecision::Purge,
            ("change", to) => FilterDecision::ChangeValue(to.as_bytes().to_vec()),
            ("skip", until) => FilterDecision::RemoveAndSkipUntil(until.as_bytes().to_vec()),
            _ => FilterDecision::Keep,
        }
    }
}

impl ByValue {
    /// What it was asked since the last call.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock()).into_iter().map(|(_, asked)| asked).collect()
    }

    fn take_contexts(&self) -> Vec<FilterContext> {
        std::mem::take(&mut *self.asked.lock()).into_iter().map(|(context, _)| context).collect()
    }
}

struct Bench {
    file_system: MemoryFileSystem,
    filter: Arc<ByValue>,
    db: Db,
}

fn family(filter: &Arc<ByValue>) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.disable_auto_compactions = true;
    options.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    options.compaction_filter = Some(Arc::clone(filter) as Arc<dyn CompactionFilter>);
    options
}

impl Bench {
    fn new() -> Self {
        Self::with(ByValue::default(), |_| {})
    }

    fn with(filter: ByValue, change: impl FnOnce(&mut ColumnFamilyOptions)) -> Self {
        let (file_system, filter) = (MemoryFileSystem::new(), Arc::new(filter));
        let mut options = family(&filter);
        change(&mut options);
        let families = vec![("default".to_owned(), options)];
        let db = Db::open_cf("/db", options_on(Arc::new(file_system.clone())), families).unwrap().0;
        Self { file_system, filter, db }
    }

    fn put(&self, pairs: &[(&str, &str)]) {
        pairs.iter().for_each(|(key, value)| self.db.put(key.as_bytes(), value.as_bytes()).unwrap());
    }

    fn compact(&self) {
        self.db.compact_range(None, None).unwrap();
    }

    fn compact_bottom(&self, bottommost_level_compaction: BottommostLevelCompaction) {
        let options = CompactRangeOptions { bottommost_level_compaction, ..CompactRangeOptions::default() };
        let family = self.db.default_column_family().unwrap();
        self.db.compact_range_cf(&family, None, None, &options).unwrap();
    }

    fn scan(&self, options: &ReadOptions) -> Vec<String> {
        let mut found = Vec::new();
        let mut iter = self.db.iter(options);
        iter.seek_to_first();
        while iter.valid() {
            found.push(format!("{}={}", iter.key().escape_ascii(), iter.value().escape_ascii()));
            let got = self.db.get_with(options, iter.key()).unwrap();
            assert_eq!(got.as_deref(), Some(iter.value()));
            iter.next();
        }
        iter.status().unwrap();
        found
    }

    fn contents(&self) -> Vec<String> {
        self.scan(&ReadOptions::default())
    }
}

#[test]
fn compaction_does_what_the_filter_decides() {
    let bench = Bench::new();
    bench.put(&[("a", "keep"), ("b", "remove"), ("c", "change to this"), ("d", "purge"), ("e", "keep")]);
    bench.db.delete(b"e").unwrap();
    bench.compact();
    assert_eq!(bench.contents(), ["a=keep", "c=to this"]);
    assert!(bench.db.get(b"b").unwrap().is_none());
    bench.db.verify_checksum().unwrap();
    // Nothing is left of what was removed, not even a tombstone: the table holds two entries.
    let files = bench.db.live_files();
    assert_eq!(files.len(), 1);
    assert_eq!(bench.db.table_properties(&files[0]).unwrap().num_entries, 2);
    bench.db.delete(b"a").unwrap();
    bench.put(&[("c", "remove")]);
    bench.compact();
    assert!(bench.contents().is_empty());
    assert!(bench.db.live_files().is_empty());
}

#[test]
fn flushes_and_recovery_ask_only_a_filter_that_wants_it() {
    use TableFileCreationReason::{Flush, Recovery};
    for (reasons, is_flushed, is_recovered) in
        [(vec![], false, false), (vec![Flush], true, false), (vec![Recovery], false, true)]
    {
        let filter = ByValue { reasons, ..ByValue::default() };
        let bench = Bench::with(filter, |_| {});
        bench.put(&[("a", "keep"), ("b", "remove")]);
        bench.db.flush().unwrap();
        let asked = bench.filter.take_contexts();
        let expected = FilterContext {
            is_bottommost: false,
            is_manual: false,
            column_family_id: 0,
            input_level: 0,
            output_level: 0,
        };
        assert_eq!(asked, vec![expected; if is_flushed { 2 } else { 0 }]);
        assert_eq!(bench.db.get(b"b").unwrap().is_none(), is_flushed);
        bench.put(&[("c", "remove")]);
        let crashed = bench.file_system.crash_clone(CrashPolicy::KeepAll);
        let families = vec![("default".to_owned(), family(&bench.filter))];
        let (db, _) = Db::open_cf("/db", options_on(Arc::new(crashed.clone())), families).unwrap();
        assert_eq!(db.live_files().len(), 2, "the log is in a table");
        assert_eq!(bench.filter.take(), vec!["c Value remove"; usize::from(is_recovered)]);
        assert_eq!(db.get(b"c").unwrap().is_none(), is_recovered);
        db.compact_range(None, None).unwrap();
        assert!(db.get(b"b").unwrap().is_none() && db.get(b"c").unwrap().is_none());
    }
}

#[test]
fn each_level_asks_and_says_where_it_is() {
    let bench = Bench::with(ByValue::default(), |options| {
        options.disable_auto_compactions = false;
        options.level_compaction_dynamic_level_bytes = false;
        options.num_levels = 3;
        options.max_bytes_for_level_base = 1;
        options.level0_file_num_compaction_trigger = 1;
    });
    let levels = || bench.db.live_files().iter().map(|file| file.level).collect::<Vec<_>>();
    bench.put(&[("a", "old"), ("b", "old"), ("c", "old")]);
    bench.db.flush().unwrap();
    bench.db.wait_for_background_work().unwrap();
    assert_eq!(levels(), [2]);
    bench.filter.take();
    let family = bench.db.default_column_family().unwrap();
    bench.db.set_options_cf(&family, &[("disable_auto_compactions", "true")]).unwrap();
    bench.put(&[("a", "keep"), ("b", "remove"), ("c", "purge")]);
    bench.db.flush().unwrap();
    assert!(bench.filter.take().is_empty());
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert_eq!(levels(), [2]);
    let asked = bench.filter.asked.lock().clone();
    let context = |output_level, is_bottommost| FilterContext {
        is_bottommost,
        is_manual: true,
        column_family_id: 0,
        input_level: output_level - 1,
        output_level,
    };
    let wanted = [
        (context(1, false), "a Value keep"),
        (context(1, false), "b Value remove"),
        (context(1, false), "c Value purge"),
        // Tombstones are not asked about, nor is what they hide.
        (context(2, true), "a Value keep"),
    ];
    assert_eq!(asked, wanted.map(|(context, asked)| (context, asked.to_owned())));
    // What was removed above hid what lay below.
    assert_eq!(bench.contents(), ["a=keep"]);
}

#[test]
fn automatic_compactions_ask_too_and_say_so() {
    let bench = Bench::with(ByValue::default(), |options| {
        options.disable_auto_compactions = false;
        options.level0_file_num_compaction_trigger = 2;
    });
    for round in ["keep", "remove"] {
        bench.put(&[("a", "keep"), ("b", round), ("c", "keep")]);
        bench.db.flush().unwrap();
    }
    bench.db.wait_for_background_work().unwrap();
    assert_eq!(bench.contents(), ["a=keep", "c=keep"]);
    let asked = bench.filter.take_contexts();
    let expected =
        FilterContext { is_bottommost: true, is_manual: false, column_family_id: 0, input_level: 0, output_level: 6 };
    assert_eq!(asked, [expected; 3]);
}

#[test]
fn the_bottommost_level_is_rewritten_for_a_filter() {
    let bench = Bench::new();
    bench.put(&[("a", "keep"), ("b", "keep")]);
    bench.compact();
    assert_eq!(bench.db.live_files()[0].level, 6);
    bench.filter.take();
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert!(bench.filter.take().is_empty());
    // The default: if there is a filter.
    bench.compact();
    assert_eq!(bench.filter.take(), ["a Value keep", "b Value keep"]);
    // A table that could only be moved is rewritten all the same by a manual compaction.
    bench.put(&[("x", "remove"), ("y", "keep")]);
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert_eq!(bench.filter.take(), ["x Value remove", "y Value keep"]);
    assert_eq!(bench.contents(), ["a=keep", "b=keep", "y=keep"]);
}

#[test]
fn snapshots_do_not_protect_values_from_a_filter() {
    let bench = Bench::new();
    bench.put(&[("a", "remove"), ("b", "old"), ("c", "change it"), ("d", "keep"), ("e", "remove")]);
    let snapshot = bench.db.snapshot();
    bench.put(&[("b", "remove"), ("d", "change new"), ("e", "keep")]);
    let at_snapshot = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    assert_eq!(bench.scan(&at_snapshot), ["a=remove", "b=old", "c=change it", "d=keep", "e=remove"]);
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    // Only the newest version of each key is asked about.
    let asked = ["a Value remove", "b Value remove", "c Value change it", "d Value change new", "e Value keep"];
    assert_eq!(bench.filter.take(), asked);
    assert_eq!(bench.contents(), ["c=it", "d=new", "e=keep"]);
    // The newest versions of a and c were the snapshot's too; the older ones of b, d and e stay for it.
    assert_eq!(bench.scan(&at_snapshot), ["b=old", "c=it", "d=keep", "e=remove"]);
    drop((at_snapshot, snapshot));
    bench.compact();
    assert_eq!(bench.contents(), ["c=it", "d=new", "e=keep"]);
}

#[test]
fn merge_operands_are_judged_one_by_one_unless_a_snapshot_sees_them() {
    let bench = Bench::new();
    let merge = |key: &str, operands: &[&str]| {
        for operand in operands {
            bench.db.merge(key.as_bytes(), operand.as_bytes()).unwrap();
            // One flush would fold them all, and ask no filter.
            bench.db.flush().unwrap();
        }
    };
    bench.put(&[("a", "base"), ("c", "remove")]);
    bench.db.flush().unwrap();
    merge("a", &["x", "remove", "change y"]);
    merge("b", &["remove"]);
    merge("c", &["remove", "remove too"]);
    merge("d", &["x", "y"]);
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert_eq!(bench.contents(), ["a=base,x,y", "d=x,y"]);
    let asked = bench.filter.take();
    let about = |key: &str| asked.iter().filter(|asked| asked.starts_with(key)).map(String::as_str).collect::<Vec<_>>();
    assert_eq!(
        about("a"),
        ["a Merge change y", "a Merge remove", "a Merge x"],
        "the value under them is not asked about"
    );
    assert_eq!(about("b"), ["b Merge remove"]);
    // With no operand left the value is the newest version.
    assert_eq!(about("c"), ["c Merge remove too", "c Merge remove", "c Value remove"]);
    merge("a", &["remove"]);
    let snapshot = bench.db.snapshot();
    merge("a", &["remove", "z"]);
    let at_snapshot = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert_eq!(bench.filter.take(), ["a Merge z", "a Merge remove", "d Value x,y"]);
    assert_eq!(bench.contents(), ["a=base,x,y,remove,z", "d=x,y"]);
    assert_eq!(bench.scan(&at_snapshot), ["a=base,x,y,remove", "d=x,y"]);
}

#[test]
fn single_deletes_and_range_deletes_are_not_asked_about() {
    let bench = Bench::new();
    bench.put(&[("a", "remove"), ("b", "keep"), ("c", "keep"), ("d", "keep")]);
    bench.db.single_delete(b"a").unwrap();
    bench.db.delete(b"b").unwrap();
    bench.db.delete_range(b"c", b"d").unwrap();
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert_eq!(bench.contents(), ["d=keep"]);
    let asked = bench.filter.take();
    assert!(!asked.iter().any(|asked| asked.starts_with(['a', 'b'])), "{asked:?}");
    // A purged value and a put below it cancel out; so does a purged one and nothing.
    bench.put(&[("d", "purge"), ("e", "purge")]);
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert!(bench.contents().is_empty());
    assert!(bench.db.live_files().is_empty());
}

#[test]
fn removing_and_skipping_leaves_no_trace() {
    let bench = Bench::with(ByValue::default(), |options| options.table.block_size = 100);
    let keys: Vec<String> = (0..300).map(|number| format!("k{number:03}")).collect();
    for key in &keys {
        bench.put(&[(key, if key == "k100" { "skip k2" } else { "keep" })]);
    }
    // Back, and to itself: no skipping, so both stay.
    bench.put(&[("k250", "skip k1"), ("k260", "skip k260")]);
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    let found = bench.contents();
    assert_eq!(found.len(), 200);
    assert_eq!((&found[99][..], &found[100][..]), ("k099=keep", "k200=keep"));
    assert_eq!((&found[150][..], &found[160][..]), ("k250=skip k1", "k260=skip k260"));
    // Keys that were skipped were not asked about.
    let asked: BTreeSet<String> = bench.filter.take().iter().map(|asked| asked[..4].to_owned()).collect();
    let wanted = keys.iter().filter(|key| !("k101".."k200").contains(&key.as_str())).cloned();
    assert_eq!(asked, wanted.collect());
    let files = bench.db.live_files();
    let entries: u64 = files.iter().map(|file| bench.db.table_properties(file).unwrap().num_entries).sum();
    assert_eq!(entries, 200, "no tombstones");
    // To the end and beyond.
    bench.put(&[("k000", "skip z")]);
    bench.compact_bottom(BottommostLevelCompaction::Skip);
    assert!(bench.contents().is_empty());
    assert!(bench.db.live_files().is_empty());
}

#[test]
fn every_family_has_its_own_filter() {
    let (file_system, filters) = (MemoryFileSystem::new(), [0, 1].map(|_| Arc::new(ByValue::default())));
    let mut options = options_on(Arc::new(file_system.clone()));
    options.create_missing_column_families = true;
    let families = vec![("default".to_owned(), family(&filters[0])), ("other".to_owned(), family(&filters[1]))];
    let (db, handles) = Db::open_cf("/db", options, families).unwrap();
    for (handle, value) in handles.iter().zip(["keep", "remove"]) {
        db.put_cf(handle, b"k", value.as_bytes(), &WriteOptions::default()).unwrap();
    }
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Skip,
        ..CompactRangeOptions::default()
    };
    for (handle, filter) in handles.iter().zip(&filters) {
        db.compact_range_cf(handle, None, None, &options).unwrap();
        let ids: Vec<u32> = filter.take_contexts().iter().map(|context| context.column_family_id).collect();
        assert_eq!(ids, [handle.id()]);
    }
    assert!(db.get(b"k").unwrap().is_some());
    assert!(db.get_cf(&handles[1], &ReadOptions::default(), b"k").unwrap().is_none());
}

#[test]
fn the_built_in_filter_comes_back_with_the_options() {
    let file_system = MemoryFileSystem::new();
    let mut options = ColumnFamilyOptions::default();
    options.compaction_filter = Some(Arc::new(RemoveEmptyValues));
    let families = vec![("default".to_owned(), options)];
    let (db, _) = Db::open_cf("/db", options_on(Arc::new(file_system.clone())), families).unwrap();
    db.put(b"empty", b"").unwrap();
    db.put(b"full", b"v").unwrap();
    db.close().unwrap();
    let (db, _) = Db::open_with_latest_options("/db", options_on(Arc::new(file_system.clone()))).unwrap();
    assert!(db.option_notes().is_empty(), "{:?}", db.option_notes());
    assert_eq!(db.get(b"empty").unwrap().as_deref(), Some(&b""[..]));
    db.compact_range(None, None).unwrap();
    assert!(db.get(b"empty").unwrap().is_none());
    assert_eq!(db.get(b"full").unwrap().as_deref(), Some(&b"v"[..]));
}

/// What a manual compaction wrote into the bottommost level it does not rewrite there, unless it is told to by `Force`.
#[test]
fn a_manual_compaction_filters_a_key_once() {
    use BottommostLevelCompaction::{Force, ForceOptimized, IfHaveCompactionFilter, Skip};
    for mode in [Skip, IfHaveCompactionFilter, ForceOptimized, Force] {
        // Small tables, pieces of any size.
        for max_compaction_bytes in [1, 5000, u64::MAX >> 1] {
            let bench = Bench::with(ByValue::default(), |options| {
                options.target_file_size_base = 500;
                options.max_compaction_bytes = max_compaction_bytes;
            });
            let key = |number: u32| format!("{number:04}");
            let put = |numbers: &[u32]| {
                numbers.iter().for_each(|&number| bench.put(&[(key(number).as_str(), "keep this as it is")]));
                bench.db.flush().unwrap();
            };
            put(&(0..200).collect::<Vec<_>>());
            bench.compact_bottom(Force);
            bench.filter.take();
            // Every third of the bottom's tables gets a key from above.
            let fresh: Vec<u32> = (0..200).step_by(30).collect();
            put(&fresh);
            bench.compact_bottom(mode);
            let mut asked = bench.filter.take_contexts().len();
            let mut of_keys = std::collections::BTreeMap::<String, usize>::new();
            bench.compact_bottom(Skip);
            asked += bench.filter.take().len();
            put(&fresh);
            bench.compact_bottom(mode);
            for line in bench.filter.take() {
                *of_keys.entry(line).or_default() += 1;
            }
            let (most, all) = (of_keys.values().max().copied(), of_keys.len());
            match mode {
                Skip => assert!(most == Some(1) && all < 200 && asked < 200, "{mode:?}: {of_keys:?}"),
                Force => assert!(most == Some(2) && all == 200 && asked > 200, "{mode:?}: {of_keys:?}"),
                _ => assert!(most == Some(1) && all == 200 && asked == 200, "{mode:?}: {asked} {of_keys:?}"),
            }
        }
    }
}

/// Drops entities whose column `state` says `done`, and keeps what is no entity.
struct DropsDone;

impl CompactionFilter for DropsDone {
    fn name(&self) -> &str {
        "test.DropsDone"
    }
    fn filter(&self, _: &FilterContext, _: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        FilterDecision::Keep
    }
    fn filters_entities(&self) -> bool {
        true
    }
    fn filter_entity(&self, _: &FilterContext, _: &[u8], columns: &[(&[u8], &[u8])]) -> FilterDecision {
        if columns.contains(&(b"state", b"done")) { FilterDecision::Remove } else { FilterDecision::Keep }
    }
}

#[test]
fn entities_are_filtered_by_their_columns_where_the_filter_wants_that() {
    for (blobs, counted) in [(false, false), (true, false), (false, true)] {
        let mut options = ColumnFamilyOptions::default();
        options.disable_auto_compactions = true;
        options.compaction_filter = Some(Arc::new(DropsDone));
        options.enable_blob_files = blobs;
        let families = vec![("default".to_owned(), options)];
        let mut of_database = options_on(Arc::new(MemoryFileSystem::new()));
        // Statistics are counted around the filter.
        of_database.components.statistics = counted.then(|| Arc::new(Statistics::new(StatsLevel::All)));
        let (db, _) = Db::open_cf("/db", of_database, families).unwrap();
        let mut batch = WriteBatch::new();
        for number in 0..100_u32 {
            let key = number.to_be_bytes();
            let state: &[u8] = if number % 3 == 0 { b"done" } else { b"open" };
            batch.put_entity(&key, &[(b"", b"plain"), (b"state", state)]).unwrap();
        }
        batch.put(b"value", b"done").unwrap();
        db.write(batch, &WriteOptions::default()).unwrap();
        let count = || {
            let mut iter = db.iter(&ReadOptions::default());
            iter.seek_to_first();
            let mut found = 0;
            while iter.valid() {
                found += 1;
                iter.next();
            }
            iter.status().unwrap();
            found
        };
        db.flush().unwrap();
        assert_eq!(count(), 101);
        db.compact_range(None, None).unwrap();
        assert_eq!(count(), 67, "blobs: {blobs}, counted: {counted}");
        assert_eq!(db.get(&1_u32.to_be_bytes()).unwrap().as_deref(), Some(&b"plain"[..]));
        assert_eq!(db.get(&3_u32.to_be_bytes()).unwrap(), None);
        db.verify_checksum().unwrap();
    }
}
