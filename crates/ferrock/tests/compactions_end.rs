//! Compactions come to an end: an exclusive one gets its turn beside work that never ends, and what no caller waits for
//! is not done again and again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::options_on;
use common::threads::{self, wait_until};
use ferrock::options::{BottommostLevelCompaction, CompressionType, MergeOperator};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions};
use ferrock::{CompactionJobInfo, CompactionReason, EventListener};
use ferrock_base::ValueType;
use ferrock_base::compaction_filter::{CompactionFilter, FilterContext, FilterDecision};
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

fn database_options(listener: Arc<dyn EventListener>) -> DbOptions {
    let mut options = options_on(Arc::new(MemoryFileSystem::new()));
    options.components.listeners = vec![listener];
    options
}

/// While a compaction runs it adds a table to level 0, so that the next one is due when it ends.
#[derive(Default)]
struct OneMore {
    db: OnceLock<Db>,
    begun: AtomicU64,
    is_over: AtomicBool,
}

/// Enough that the exclusive compaction must have had its turn before.
const MOST_BEFORE: u64 = 300;

impl EventListener for OneMore {
    fn on_compaction_begin(&self, _event: &CompactionJobInfo) {
        let Some(db) = self.db.get() else { return };
        let begun = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        if begun < MOST_BEFORE && !self.is_over.load(Ordering::Relaxed) {
            db.put(b"key", &begun.to_be_bytes()).unwrap();
            db.flush().unwrap();
        }
    }
}

#[test]
fn an_exclusive_compaction_gets_its_turn() {
    let listener = Arc::new(OneMore::default());
    let mut family = ColumnFamilyOptions::default();
    family.level0_file_num_compaction_trigger = 1;
    let families = vec![("default".to_owned(), family)];
    let db = Db::open_cf("/db", database_options(Arc::clone(&listener) as _), families).unwrap().0;
    assert!(listener.db.set(db.clone()).is_ok());
    // A first compaction must have something to merge: what is only moved is begun, too.
    db.put(b"key", b"first").unwrap();
    db.flush().unwrap();
    wait_until("one compaction begets the next", || listener.begun.load(Ordering::Relaxed) > 3);
    let options = CompactRangeOptions { exclusive_manual_compaction: true, ..CompactRangeOptions::default() };
    let family = db.default_column_family().unwrap();
    db.compact_range_cf(&family, None, None, &options).unwrap();
    let begun = listener.begun.load(Ordering::Relaxed);
    assert!(begun < MOST_BEFORE, "{begun} compactions came before it");
    // Automatic ones go on behind it.
    wait_until("automatic ones", || listener.begun.load(Ordering::Relaxed) > begun + 3);
    listener.is_over.store(true, Ordering::Relaxed);
    db.wait_for_background_work().unwrap();
    db.close().unwrap();
}

/// Keeps everything; the first key below 100 waits.
#[derive(Default)]
struct Gate {
    is_reached: AtomicBool,
    is_open: AtomicBool,
}

impl CompactionFilter for Gate {
    fn name(&self) -> &str {
        "test.Gate"
    }
    fn filter(&self, _context: &FilterContext, key: &[u8], _: ValueType, _value: &[u8]) -> FilterDecision {
        if key < &100_u32.to_be_bytes()[..] {
            self.is_reached.store(true, Ordering::Relaxed);
            wait_until("the gate", || self.is_open.load(Ordering::Relaxed));
        }
        FilterDecision::Keep
    }
}

/// A level is moved once no compaction has tables of it: it is not left where it was without a word.
#[test]
fn a_change_of_level_waits_for_compactions_elsewhere() {
    for promotes in [false, true] {
        let gate = Arc::new(Gate::default());
        let mut family = ColumnFamilyOptions::default();
        family.compaction_filter = Some(Arc::clone(&gate) as Arc<dyn CompactionFilter>);
        family.disable_auto_compactions = true;
        let options = options_on(Arc::new(MemoryFileSystem::new()));
        let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
        let family = db.default_column_family().unwrap();
        let write = |keys: std::ops::Range<u32>| {
            keys.for_each(|key| db.put(&key.to_be_bytes(), b"value").unwrap());
            db.flush().unwrap();
        };
        let key = |key: u32| key.to_be_bytes();
        let levels = || {
            let mut levels: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
            levels.sort_unstable();
            levels
        };
        write(0..100);
        write(200..300);
        let beside = CompactRangeOptions { exclusive_manual_compaction: false, ..CompactRangeOptions::default() };
        let moved = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| db.compact_range_cf(&family, Some(&key(0)), Some(&key(99)), &beside).unwrap());
            wait_until("a compaction", || gate.is_reached.load(Ordering::Relaxed));
            scope.spawn(|| {
                if promotes {
                    // What the compaction has left of level 0.
                    db.promote_l0_cf(&family, 2).unwrap();
                } else {
                    let up = CompactRangeOptions { change_level: true, target_level: Some(3), ..beside.clone() };
                    db.compact_range_cf(&family, Some(&key(200)), Some(&key(299)), &up).unwrap();
                }
                assert!(gate.is_open.load(Ordering::Relaxed), "it came past the compaction");
                moved.store(true, Ordering::Relaxed);
            });
            std::thread::sleep(Duration::from_millis(100));
            gate.is_open.store(true, Ordering::Relaxed);
        });
        assert!(moved.load(Ordering::Relaxed));
        assert_eq!(levels(), if promotes { [2, 6] } else { [3, 3] });
        assert_eq!(db.get(&key(50)).unwrap().unwrap(), *b"value");
        db.close().unwrap();
    }
}

/// Holds the automatic compaction that begins first.
struct HeldAtItsBegin(Arc<threads::Gate>);

impl EventListener for HeldAtItsBegin {
    fn on_compaction_begin(&self, event: &CompactionJobInfo) {
        if event.compaction_reason == CompactionReason::LevelMaxLevelSize {
            self.0.pass();
        }
    }
}

/// While a compaction by hand waits for it, an automatic one moves the table below the last level that there was.
#[test]
fn what_moves_past_the_last_step_is_compacted_too() {
    let gate = threads::Gate::shut();
    let mut family = ColumnFamilyOptions::default();
    family.level_compaction_dynamic_level_bytes = false;
    family.compression = CompressionType::NoCompression;
    family.disable_auto_compactions = true;
    family.max_bytes_for_level_base = 1;
    let listener = Arc::new(HeldAtItsBegin(Arc::clone(&gate)));
    let families = vec![("default".to_owned(), family)];
    let db = Db::open_cf("/db", database_options(listener), families).unwrap().0;
    let tables = |db: &Db| db.live_files().iter().map(|file| (file.level, file.number)).collect::<Vec<_>>();
    db.put(b"key", &[7; 100]).unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let before = tables(&db);
    assert_eq!(before.iter().map(|(level, _)| *level).collect::<Vec<_>>(), [1]);
    let family = db.default_column_family().unwrap();
    // Level 2 has room for it.
    let room = [("max_bytes_for_level_multiplier", "1000000"), ("disable_auto_compactions", "false")];
    db.set_options_cf(&family, &room).unwrap();
    gate.wait_for(1);
    let by_hand = db.clone();
    let waiting = threads::Waiting::begin("compact_range", move || {
        let options = CompactRangeOptions {
            exclusive_manual_compaction: false,
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        by_hand.compact_range_cf(&family, None, None, &options)
    });
    gate.open();
    waiting.join().unwrap();
    let after = tables(&db);
    assert_eq!(after.len(), 1, "{after:?}");
    assert_eq!(after[0].0, 2, "the automatic compaction moved it: {after:?}");
    assert_ne!(after[0].1, before[0].1, "the table is the one that there was: {before:?}, {after:?}");
    db.close().unwrap();
}

/// Operands stay as they are until there is all of the value.
#[derive(Debug)]
struct Whole;

impl MergeOperator for Whole {
    fn name(&self) -> &str {
        "test.Whole"
    }
    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        existing.iter().chain(operands).for_each(|part| out.extend_from_slice(part));
        true
    }
}

#[derive(Default)]
struct Counts(AtomicU64);

impl EventListener for Counts {
    fn on_compaction_completed(&self, _event: &CompactionJobInfo) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Files of level 1 share a key whose operands cannot be merged, and the last of them has data below it:
///
/// ```text
/// level 1    | a .. k | k | k | k .. z |
/// level 2                       | p .. q |
/// ```
///
/// The first is at the bottom and its clean cut is not, so that their first rewrite keeps sequence numbers. It leaves
/// one version of the key, and thereby parts them.
#[test]
fn a_clean_cut_with_data_below_is_rewritten_twice_at_most() {
    let listener = Arc::new(Counts::default());
    let mut family = ColumnFamilyOptions::default();
    family.num_levels = 3;
    family.level_compaction_dynamic_level_bytes = false;
    family.merge_operator = Some(Arc::new(Whole));
    family.disable_auto_compactions = true;
    family.target_file_size_base = 2000;
    family.compression = CompressionType::NoCompression;
    let families = vec![("default".to_owned(), family)];
    let db = Db::open_cf("/db", database_options(Arc::clone(&listener) as _), families).unwrap().0;
    let family = db.default_column_family().unwrap();
    let set = |name, value| db.set_options_cf(&family, &[(name, value)]).unwrap();
    let snapshot = db.snapshot();
    db.put(b"p", b"below").unwrap();
    db.put(b"q", b"below").unwrap();
    db.flush().unwrap();
    set("max_bytes_for_level_base", "1");
    set("disable_auto_compactions", "false");
    db.compact_range(None, None).unwrap();
    wait_until("files in level 2", || db.live_files().iter().all(|file| file.level == 2));
    db.wait_for_background_work().unwrap();
    set("disable_auto_compactions", "true");
    set("max_bytes_for_level_base", "1000000000");

    db.put(b"a", &[b'a'; 1000]).unwrap();
    for number in 0..12u8 {
        db.merge(b"k", &[number; 900]).unwrap();
        if number == 5 {
            // Two tables, so that they are not just moved.
            db.flush().unwrap();
        }
    }
    db.put(b"z", &[b'z'; 1000]).unwrap();
    db.flush().unwrap();
    db.compact_range(Some(b"a"), Some(b"b")).unwrap();
    let of_level_1 = || db.live_files().into_iter().filter(|file| file.level == 1).collect::<Vec<_>>();
    let files = of_level_1();
    assert!(files.len() > 2 && files[0].largest_user_key == b"k" && files[1].smallest_user_key == b"k", "{files:?}");

    drop(snapshot);
    let before = listener.0.load(Ordering::Relaxed);
    set("disable_auto_compactions", "false");
    wait_until("a sequence number of 0", || of_level_1()[0].largest_sequence.0 == 0);
    db.wait_for_background_work().unwrap();
    // Nothing is left to do, nothing claims that there is, and what begins a job finds none.
    db.put(b"a", b"in memory").unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    let done = listener.0.load(Ordering::Relaxed) - before;
    assert!(done <= 2, "{done} compactions of the same files");
    assert_eq!(db.int_property("compaction-pending"), Some(0));
    db.close().unwrap();
}

/// As long as a tree is fed, each compaction leaves behind what makes the next one due.
#[derive(Default)]
struct Feeder {
    db: OnceLock<Db>,
    tables: AtomicU64,
    begun: AtomicU64,
    /// The tree is fed until so many have begun.
    fed_until: AtomicU64,
}

impl EventListener for Feeder {
    fn on_compaction_begin(&self, _event: &CompactionJobInfo) {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(db) = self.db.get() else { return };
        for table in 0..self.tables.load(Ordering::Relaxed) {
            if begun < self.fed_until.load(Ordering::Relaxed) {
                db.put(&[b'k', (begun % 13) as u8], &[table as u8; 300]).unwrap();
                db.flush().unwrap();
            }
        }
    }
}

/// More than any of the trees below needs, and any exclusive compaction waits for.
const MOST_OF_A_TREE: u64 = 300;

/// A tree whose options and contents follow from its seed.
struct RandomTree {
    listener: Arc<Feeder>,
    db: Db,
    random: Random,
}

impl RandomTree {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let listener = Arc::new(Feeder::default());
        let mut family = ColumnFamilyOptions::default();
        family.num_levels = 2 + random.below(4) as i32;
        family.level_compaction_dynamic_level_bytes = random.one_in(2);
        family.level0_file_num_compaction_trigger = 1 + random.below(3) as i32;
        // A listener that waits for room would wait for its own compaction.
        family.level0_slowdown_writes_trigger = i32::MAX;
        family.level0_stop_writes_trigger = i32::MAX;
        family.target_file_size_base = [600, 2000, 20_000][random.below(3) as usize];
        family.max_bytes_for_level_base = [1000, 10_000, 1 << 30][random.below(3) as usize];
        family.merge_operator = Some(Arc::new(Whole));
        family.compression = CompressionType::NoCompression;
        listener.tables.store(family.level0_file_num_compaction_trigger as u64, Ordering::Relaxed);
        let families = vec![("default".to_owned(), family)];
        let db = Db::open_cf("/db", database_options(Arc::clone(&listener) as _), families).unwrap().0;
        assert!(listener.db.set(db.clone()).is_ok());
        Self { listener, db, random }
    }

    fn key(&mut self) -> [u8; 2] {
        [b'k', self.random.below(13) as u8]
    }

    fn compact(&mut self, exclusive_manual_compaction: bool) {
        let (first, last) = (self.key(), self.key());
        let (first, last) = (first.min(last), first.max(last));
        let bounds = if self.random.one_in(2) { (Some(&first[..]), Some(&last[..])) } else { (None, None) };
        let options = CompactRangeOptions { exclusive_manual_compaction, ..CompactRangeOptions::default() };
        self.db.compact_range_cf(&self.db.default_column_family().unwrap(), bounds.0, bounds.1, &options).unwrap();
    }

    /// Several versions of few keys, operands that stay apart, tables that share keys, and snapshots between them.
    fn grow(&mut self) {
        let mut snapshots = Vec::new();
        for _ in 0..30 + self.random.below(60) {
            let (key, length) = (self.key(), 100 + self.random.below(800) as usize);
            match self.random.below(20) {
                0..5 => self.db.put(&key, &vec![b'p'; length]).unwrap(),
                5..12 => self.db.merge(&key, &vec![b'm'; length]).unwrap(),
                12..14 => self.db.delete(&key).unwrap(),
                14..17 => self.db.flush().unwrap(),
                17 => snapshots.push(self.db.snapshot()),
                18 => drop(snapshots.pop()),
                _ => {
                    let is_exclusive = self.random.one_in(2);
                    self.compact(is_exclusive);
                }
            }
        }
    }

    /// Nothing keeps versions any more: what is due is done, and then nothing is.
    fn rest(&self, seed: u64) {
        let before = self.listener.begun.load(Ordering::Relaxed);
        let done = || self.listener.begun.load(Ordering::Relaxed) - before;
        for round in 0..3u8 {
            // The release of a snapshot begins a job where a table of the deepest level waits for it, a flush anywhere.
            self.db.put(b"k", &[round]).unwrap();
            self.db.flush().unwrap();
            let is_quiet = || {
                let is_zero = |name| self.db.int_property(name) == Some(0);
                is_zero("compaction-pending") && is_zero("num-running-compactions")
            };
            wait_until(&format!("rest of seed {seed}"), || is_quiet() || done() > MOST_OF_A_TREE);
            assert!(done() <= MOST_OF_A_TREE, "seed {seed}: {} compactions of the same tree", done());
        }
    }

    /// An exclusive compaction has its turn although one compaction begets the next.
    fn feed(&mut self, seed: u64) {
        let listener = Arc::clone(&self.listener);
        let before = listener.begun.load(Ordering::Relaxed);
        let begun = || listener.begun.load(Ordering::Relaxed) - before;
        listener.fed_until.store(before + MOST_OF_A_TREE, Ordering::Relaxed);
        for number in 0..4 {
            self.db.put(&[b'k', number], &[number; 300]).unwrap();
            self.db.flush().unwrap();
        }
        wait_until(&format!("seed {seed}: one compaction begets the next"), || begun() > 3);
        self.compact(true);
        let begun = begun();
        listener.fed_until.store(0, Ordering::Relaxed);
        assert!(begun < MOST_OF_A_TREE, "seed {seed}: {begun} compactions came before the exclusive one");
        self.db.wait_for_background_work().unwrap();
    }
}

#[test]
fn random_trees_come_to_rest_and_exclusive_compactions_to_their_turn() {
    for seed in 0..40 {
        let mut tree = RandomTree::new(seed);
        tree.grow();
        tree.rest(seed);
        tree.feed(seed);
        tree.rest(seed);
        tree.db.close().unwrap();
    }
}
