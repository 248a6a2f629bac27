//! A compaction in parts at once leaves what one thread leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::threads::wait_until;
use common::{Contents, contents};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, Snapshot, WriteOptions};
use ferrock_base::ValueType;
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_base::compaction_filter::{CompactionFilter, FilterContext, FilterDecision};
use ferrock_base::random::Random;
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

/// Keeps everything, and knows which threads asked.
#[derive(Default)]
struct Threads(Mutex<HashSet<ThreadId>>);

impl CompactionFilter for Threads {
    fn name(&self) -> &str {
        "test.Threads"
    }

    fn filter(&self, _context: &FilterContext, _key: &[u8], _type: ValueType, _value: &[u8]) -> FilterDecision {
        self.0.lock().unwrap().insert(std::thread::current().id());
        FilterDecision::Keep
    }
}

fn open(files: Arc<dyn FileSystem>, parts: u32, threads: &Arc<Threads>) -> Db {
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let text = "create_if_missing=true;merge_operator=stringappend;target_file_size_base=8192;\
        max_bytes_for_level_base=1000000;disable_auto_compactions=true;block_based_table_factory={block_size=512}";
    ferrock::options::apply_text(&mut options, &mut family, text).unwrap();
    options.max_subcompactions = parts;
    options.components.file_system = Some(files);
    family.compaction_filter = Some(Arc::clone(threads) as Arc<dyn CompactionFilter>);
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn key(number: u64) -> Vec<u8> {
    format!("key{number:05}").into_bytes()
}

fn at(snapshot: &Snapshot) -> ReadOptions {
    ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() }
}

/// Everything that a family can have, in overlapping files of level 0.
fn fill(db: &Db, random: &mut Random) -> Vec<Snapshot> {
    let family = db.default_column_family().unwrap();
    let mut snapshots = Vec::new();
    for round in 0..4 {
        for _ in 0..1500 {
            let number = random.below(4000);
            match random.below(20) {
                0..2 => db.delete(&key(number)).unwrap(),
                2..5 => db.merge(&key(number), b"more").unwrap(),
                5 => {
                    let end = number + random.below(300);
                    db.delete_range_cf(&family, &key(number), &key(end), &WriteOptions::default()).unwrap();
                }
                _ => db.put(&key(number), &vec![b'a' + round; 20 + random.below(60) as usize]).unwrap(),
            }
        }
        if random.below(2) == 0 {
            snapshots.push(db.snapshot());
        }
        db.flush().unwrap();
    }
    snapshots
}

#[test]
fn parts_leave_what_one_thread_leaves() {
    let mut most_threads = 0;
    for seed in 0..20 {
        let states: Vec<Vec<Contents>> = [1, 4]
            .into_iter()
            .map(|parts| {
                // `max_subcompactions`
                let (files, threads) = (MemoryFileSystem::new(), Arc::new(Threads::default()));
                let db = open(Arc::new(files.clone()), parts, &threads);
                let snapshots = fill(&db, &mut Random::new(seed));
                let before = contents(&db, &ReadOptions::default());
                db.compact_range(None, None).unwrap();
                assert_eq!(contents(&db, &ReadOptions::default()), before, "seed {seed}, {parts} parts");
                let mut files_of_level = db.live_files();
                files_of_level.sort_by(|a, b| a.smallest_user_key.cmp(&b.smallest_user_key));
                assert!(files_of_level.iter().all(|file| file.level > 0));
                for pair in files_of_level.windows(2) {
                    assert!(pair[0].largest_user_key <= pair[1].smallest_user_key, "seed {seed}: {pair:?}");
                }
                let used = threads.0.lock().unwrap().len();
                assert!(parts > 1 || used == 1, "one part, one thread");
                most_threads = most_threads.max(used);
                let mut states: Vec<Contents> = snapshots.iter().map(|snapshot| contents(&db, &at(snapshot))).collect();
                states.push(before);
                drop(snapshots);
                db.close().unwrap();
                let db = open(Arc::new(files.clone()), parts, &threads);
                assert_eq!(Some(&contents(&db, &ReadOptions::default())), states.last());
                db.verify_checksum().unwrap();
                states
            })
            .collect();
        assert_eq!(states[0], states[1], "seed {seed}");
    }
    assert!(most_threads >= 3, "{most_threads} threads at most");
}

/// One run is all there is: it is rewritten for its age, and nothing of it is in level 0.
#[test]
fn a_run_that_is_rewritten_for_its_age_is_divided() {
    let mut states: Vec<Contents> = Vec::new();
    for parts in [1, 4] {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let threads = Arc::new(Threads::default());
        let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        let text = "create_if_missing=true;compaction_style=kCompactionStyleUniversal;target_file_size_base=1024;\
            merge_operator=stringappend;periodic_compaction_seconds=1000;ttl=0;\
            compression=kNoCompression;level0_file_num_compaction_trigger=100;block_based_table_factory={block_size=128}";
        ferrock::options::apply_text(&mut options, &mut family, text).unwrap();
        options.max_subcompactions = parts;
        options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
        options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
        family.compaction_filter = Some(Arc::clone(&threads) as Arc<dyn CompactionFilter>);
        let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
        drop(fill(&db, &mut Random::new(7)));
        db.compact_range(None, None).unwrap();
        db.wait_for_background_work().unwrap();
        let before = contents(&db, &ReadOptions::default());
        let numbers = || db.live_files().iter().map(|file| file.number.0).collect::<BTreeSet<u64>>();
        let old = numbers();
        assert!(
            old.len() > 4 && db.live_files().iter().all(|file| file.level > 0),
            "one run of many tables: {:?}",
            db.live_files().iter().map(|file| (file.level, file.size_bytes)).collect::<Vec<_>>()
        );
        threads.0.lock().unwrap().clear();
        wait_until("the thread", || clock.sleepers() == 1);
        clock.advance(Duration::from_secs(1300));
        wait_until("a rewrite", || numbers().is_disjoint(&old));
        db.wait_for_background_work().unwrap();
        let used = threads.0.lock().unwrap().len();
        assert!(if parts == 1 { used == 1 } else { used > 1 }, "{used} threads for {parts} parts");
        assert_eq!(contents(&db, &ReadOptions::default()), before, "{parts} parts");
        db.verify_checksum().unwrap();
        states.push(before);
        db.close().unwrap();
    }
    assert_eq!(states[0], states[1]);
}

/// Numbers of the tables in the directory, and of those that the database has.
fn tables(files: &MemoryFileSystem, db: &Db) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let names = files.children(Path::new("/db")).unwrap();
    let there = names.iter().filter_map(|name| name.strip_suffix(".sst")?.parse().ok()).collect();
    (there, db.live_files().iter().map(|file| file.number.0).collect())
}

#[test]
fn a_part_that_fails_ends_the_others_and_nothing_of_the_job_is_left() {
    // Few files are created and synced, and much is appended. Most reads are those of opening a new table, and of where
    // parts may begin, without which a job does as well: so each of the first reads fails in three histories.
    let operations = [
        (OperationKind::Append, Fault::Io, 3, 1),
        (OperationKind::Create, Fault::NoSpace, 1, 1),
        (OperationKind::Sync, Fault::Io, 1, 1),
        (OperationKind::Read, Fault::Io, 1, 3),
    ];
    for (operation, fault, step, histories) in operations {
        let mut failures = 0;
        for (seed, nth) in (0..20 * histories).map(|run| (run + 1, run % 20 + 1)) {
            let (files, threads) = (MemoryFileSystem::new(), Arc::new(Threads::default()));
            let faulty = FaultInjectionFileSystem::new(Arc::new(files.clone()));
            let db = open(Arc::new(faulty.clone()), 4, &threads);
            let snapshots = fill(&db, &mut Random::new(seed));
            let before = contents(&db, &ReadOptions::default());
            let seen: Vec<Contents> = snapshots.iter().map(|snapshot| contents(&db, &at(snapshot))).collect();
            let (_, live_before) = tables(&files, &db);
            let what = format!("{operation:?} {nth}, seed {seed}");
            let rule = FaultRule::new(operation, "*.sst", fault).when(Trigger::Nth(nth * step));
            faulty.add_rule(rule);
            let result = db.compact_range(None, None);
            faulty.clear_rules();
            failures += usize::from(result.is_err());
            let (there, live) = tables(&files, &db);
            assert_eq!(there, live, "{what}: {result:?}");
            assert!(result.is_ok() || live == live_before, "{what}");
            assert_eq!(contents(&db, &ReadOptions::default()), before, "{what}");
            let seen_then = snapshots.iter().map(|snapshot| contents(&db, &at(snapshot)));
            assert!(seen_then.eq(seen), "{what}");
            if db.background_error().is_some() {
                db.resume().unwrap();
            }
            db.compact_range(None, None).unwrap();
            assert_eq!(contents(&db, &ReadOptions::default()), before, "{what}");
            let (there, live) = tables(&files, &db);
            assert_eq!(there, live, "{what}, compacted");
        }
        assert!(failures >= 4, "{operation:?}: {failures} failures");
    }
}

#[test]
fn the_number_of_parts_changes_while_the_database_is_open() {
    let threads = Arc::new(Threads::default());
    let db = open(Arc::new(MemoryFileSystem::new()), 1, &threads);
    let mut random = Random::new(7);
    let mut parts_of_a_compaction = || {
        fill(&db, &mut random);
        threads.0.lock().unwrap().clear();
        db.compact_range(None, None).unwrap();
        threads.0.lock().unwrap().len()
    };
    assert_eq!(parts_of_a_compaction(), 1);
    db.set_db_options(&[("max_subcompactions", "4")]).unwrap();
    assert!(parts_of_a_compaction() > 1);
    db.set_db_options(&[("max_subcompactions", "1")]).unwrap();
    assert_eq!(parts_of_a_compaction(), 1);
}
