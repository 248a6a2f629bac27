//! Factories of compaction filters: for which jobs they are asked, what they are told, and what their filters do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use ferrock::options::{
    BottommostLevelCompaction, CompactionFilter, CompactionFilterFactory, FilterContext, FilterDecision,
    FilterFactoryContext, TableFileCreationReason,
};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, Error, Result};
use ferrock_base::ValueType;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;

/// Removes values `old`, and remembers the threads that asked.
#[derive(Default)]
struct RemoveOld {
    asked: Mutex<Vec<ThreadId>>,
}

impl CompactionFilter for RemoveOld {
    fn name(&self) -> &str {
        "test.RemoveOld"
    }
    fn should_filter_table_file_creation(&self, _reason: TableFileCreationReason) -> bool {
        false
    }
    fn filter(&self, _context: &FilterContext, _key: &[u8], _type: ValueType, value: &[u8]) -> FilterDecision {
        self.asked.lock().push(std::thread::current().id());
        if value == b"old" { FilterDecision::Remove } else { FilterDecision::Keep }
    }
}

#[derive(Default)]
struct Factory {
    /// Reasons besides compactions.
    reasons: Vec<TableFileCreationReason>,
    made: Mutex<Vec<(FilterFactoryContext, Arc<RemoveOld>)>>,
    fails: bool,
}

impl Factory {
    fn take(&self) -> Vec<(FilterFactoryContext, Arc<RemoveOld>)> {
        std::mem::take(&mut *self.made.lock())
    }
    fn take_contexts(&self) -> Vec<FilterFactoryContext> {
        self.take().into_iter().map(|(context, _)| context).collect()
    }
}

impl CompactionFilterFactory for Factory {
    fn name(&self) -> &str {
        "test.Factory"
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction || self.reasons.contains(&reason)
    }
    fn create(&self, context: &FilterFactoryContext) -> Result<Option<Arc<dyn CompactionFilter>>> {
        if self.fails {
            return Err(Error::not_supported("no filter today"));
        }
        let filter = Arc::new(RemoveOld::default());
        self.made.lock().push((*context, Arc::clone(&filter)));
        Ok(Some(filter))
    }
}

/// Counts what it is asked, and keeps it.
struct Counts(AtomicUsize, bool);

impl CompactionFilter for Counts {
    fn name(&self) -> &str {
        "test.Counts"
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.1 || reason == TableFileCreationReason::Compaction
    }
    fn filter(&self, _context: &FilterContext, _key: &[u8], _type: ValueType, _value: &[u8]) -> FilterDecision {
        self.0.fetch_add(1, Ordering::Relaxed);
        FilterDecision::Keep
    }
}

fn family(factory: &Arc<Factory>) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.disable_auto_compactions = true;
    options.compaction_filter_factory = Some(Arc::clone(factory) as _);
    options
}

fn open(files: &MemoryFileSystem, family: ColumnFamilyOptions) -> Db {
    let families = vec![("default".to_owned(), family)];
    Db::open_cf("/db", options_on(Arc::new(files.clone())), families).unwrap().0
}

fn put(db: &Db, pairs: &[(&str, &str)]) {
    pairs.iter().for_each(|(key, value)| db.put(key.as_bytes(), value.as_bytes()).unwrap());
}

fn of_compaction(is_full: bool, input_level: usize) -> FilterFactoryContext {
    FilterFactoryContext {
        is_full,
        is_manual: true,
        column_family_id: 0,
        input_level: Some(input_level),
        reason: TableFileCreationReason::Compaction,
    }
}

#[test]
fn each_compaction_has_a_filter_of_its_own() {
    let factory = Arc::new(Factory::default());
    let mut of_family = family(&factory);
    of_family.compaction_filter_factory = Some(Arc::clone(&factory) as _);
    let db = open(&MemoryFileSystem::new(), of_family);
    put(&db, &[("a", "old"), ("m", "new"), ("z", "old")]);
    db.flush().unwrap();
    assert!(factory.take().is_empty(), "a flush does not ask");
    db.compact_range(None, None).unwrap();
    let made = factory.take();
    assert_eq!(made.iter().map(|(context, _)| *context).collect::<Vec<_>>(), [of_compaction(true, 0)]);
    assert_eq!(made[0].1.asked.lock().len(), 3);
    assert_eq!(["a", "m", "z"].map(|key| db.get(key.as_bytes()).unwrap().is_some()), [false, true, false]);
    // A second one, beside the table of the first; then the bottom alone, since there is a filter.
    put(&db, &[("x", "old"), ("y", "new")]);
    db.flush().unwrap();
    let last = db.default_column_family().unwrap();
    let bottom = BottommostLevelCompaction::IfHaveCompactionFilter;
    let options = CompactRangeOptions { bottommost_level_compaction: bottom, ..CompactRangeOptions::default() };
    db.compact_range_cf(&last, Some(b"x"), None, &options).unwrap();
    let bottom_level = db.live_files()[0].level;
    assert_eq!(db.live_files().len(), 2);
    assert_eq!(
        factory.take_contexts(),
        [of_compaction(false, 0)],
        "what was filtered on the way is not filtered again"
    );
    db.compact_range_cf(&last, Some(b"m"), Some(b"m"), &options).unwrap();
    assert_eq!(factory.take_contexts(), [of_compaction(false, bottom_level)]);
    assert!(db.get(b"x").unwrap().is_none());
}

#[test]
fn flushes_and_recovery_ask_only_a_factory_that_wants_it() {
    use TableFileCreationReason::{Flush, Recovery};
    for reasons in [vec![], vec![Flush], vec![Recovery], vec![Flush, Recovery]] {
        let (files, factory) = (MemoryFileSystem::new(), Arc::new(Factory { reasons, ..Factory::default() }));
        let context = |reason| {
            let context = FilterFactoryContext { input_level: None, is_manual: false, ..of_compaction(false, 0) };
            vec![FilterFactoryContext { reason, ..context }; usize::from(factory.reasons.contains(&reason))]
        };
        let db = open(&files, family(&factory));
        put(&db, &[("a", "new"), ("b", "old")]);
        db.flush().unwrap();
        assert_eq!(factory.take_contexts(), context(Flush));
        assert_eq!(db.get(b"b").unwrap().is_none(), factory.reasons.contains(&Flush));
        put(&db, &[("c", "old")]);
        let db = open(&files.crash_clone(CrashPolicy::KeepAll), family(&factory));
        assert_eq!(factory.take_contexts(), context(Recovery));
        assert_eq!(db.get(b"c").unwrap().is_none(), factory.reasons.contains(&Recovery));
    }
}

#[test]
fn compactions_go_by_the_filter_where_there_are_both() {
    for filter_wants_flushes in [false, true] {
        let factory = Arc::new(Factory { reasons: vec![TableFileCreationReason::Flush], ..Factory::default() });
        let filter = Arc::new(Counts(AtomicUsize::new(0), filter_wants_flushes));
        let mut options = family(&factory);
        options.compaction_filter = Some(Arc::clone(&filter) as _);
        let db = open(&MemoryFileSystem::new(), options);
        put(&db, &[("a", "old"), ("b", "new")]);
        db.flush().unwrap();
        assert_eq!(filter.0.swap(0, Ordering::Relaxed), if filter_wants_flushes { 2 } else { 0 });
        assert_eq!(
            factory.take().len(),
            usize::from(!filter_wants_flushes),
            "flushes, which RocksDB leaves to factories"
        );
        db.compact_range(None, None).unwrap();
        assert!(filter.0.load(Ordering::Relaxed) > 0);
        assert!(factory.take().is_empty(), "{filter_wants_flushes}");
        assert_eq!(db.get(b"a").unwrap().is_some(), filter_wants_flushes);
    }
    // A filter that wants no compactions still is the one that they go by.
    let factory = Arc::new(Factory::default());
    let mut options = family(&factory);
    options.compaction_filter = Some(Arc::new(RemoveOld::default()));
    let db = open(&MemoryFileSystem::new(), options);
    put(&db, &[("a", "old")]);
    db.compact_range(None, None).unwrap();
    assert!(factory.take().is_empty() && db.get(b"a").unwrap().is_some());
}

#[test]
fn each_part_of_a_compaction_has_a_filter_of_its_own() {
    let factory = Arc::new(Factory::default());
    let mut options = family(&factory);
    options.target_file_size_base = 8192;
    options.table.block_size = 512;
    let mut db_options = options_on(Arc::new(MemoryFileSystem::new()));
    db_options.max_subcompactions = 4;
    let db = Db::open_cf("/db", db_options, vec![("default".to_owned(), options)]).unwrap().0;
    for round in 0..3 {
        for number in (round..6000).step_by(3) {
            db.put(format!("key{number:05}").as_bytes(), format!("value {number} {}", number * 7919).as_bytes())
                .unwrap();
        }
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    let made = factory.take();
    assert_eq!(made.len(), 4);
    let threads: Vec<HashSet<ThreadId>> =
        made.iter().map(|(_, own)| own.asked.lock().iter().copied().collect()).collect();
    assert!(threads.iter().all(|own| own.len() == 1), "{threads:?}");
    assert!(made.iter().all(|(context, _)| *context == of_compaction(true, 0)));
    assert_eq!(made.iter().map(|(_, filter)| filter.asked.lock().len()).sum::<usize>(), 6000);
}

#[test]
fn the_error_of_a_factory_fails_the_compaction_and_leaves_no_file() {
    let (files, factory) = (MemoryFileSystem::new(), Arc::new(Factory { fails: true, ..Factory::default() }));
    let db = open(&files, family(&factory));
    put(&db, &[("a", "old")]);
    db.flush().unwrap();
    let tables = || {
        let names = files.children(Path::new("/db")).unwrap();
        names.into_iter().filter(|name| name.ends_with(".sst")).collect::<Vec<_>>()
    };
    let before = tables();
    let error = db.compact_range(None, None).unwrap_err();
    assert!(error.to_string().contains("no filter today"), "{error}");
    assert_eq!(tables(), before);
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"old"[..]));
}

#[test]
fn the_name_is_in_the_options_file_and_a_foreign_one_is_kept() {
    let (files, factory) = (MemoryFileSystem::new(), Arc::new(Factory::default()));
    let written = || {
        let mut names = files.children(Path::new("/db")).unwrap();
        names.retain(|name| name.starts_with("OPTIONS-"));
        names.sort();
        let bytes = ferrock_vfs::read_file(&files, &Path::new("/db").join(names.last().unwrap())).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    drop(open(&files, family(&factory)));
    assert!(written().contains("\n  compaction_filter_factory=test.Factory\n"), "{}", written());
    let loaded = ferrock::options::load_latest(&files, Path::new("/db")).unwrap().unwrap();
    let own = loaded.column_family("default").unwrap().clone();
    assert!(own.compaction_filter_factory.is_none() && loaded.unknown.is_empty());
    let said = "compaction filter factory test.Factory is not built in; none is used";
    assert!(loaded.notes.iter().any(|note| note.contains(said)), "{:?}", loaded.notes);
    drop(open(&files, own));
    assert!(written().contains("\n  compaction_filter_factory=test.Factory\n"));
    drop(open(&files, ColumnFamilyOptions::default()));
    assert!(written().contains("\n  compaction_filter_factory=nullptr\n"));
}
