//! Compactions that a worker runs, in this process, over the same files: what is installed is what a local compaction
//! would have written, whatever the worker does, and closing waits for none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/workers.rs"]
mod workers;

mod blobs;

use common::{contents, key, options_on};
use ferrock::options::{
    BottommostLevelCompaction, CompactionFilter, CompactionService, CompactionServiceJobInfo,
    CompactionServiceJobStatus, CompactionServiceScheduleResponse, Components, FilterContext, FilterDecision,
};
use ferrock::{
    ColumnFamilyOptions, CompactRangeOptions, CompactionServiceOptionsOverride, Comparator, Db, DbOptions, ErrorKind,
    JobDirectory, JobDirectoryService, OpenAndCompactOptions, ReadOptions, ValueType, open_and_compact,
};
use ferrock_base::comparator::CustomComparator;
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_format::compaction_service::{CompactionServiceInput, CompactionServiceResult};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use parking_lot::{Condvar, Mutex};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workers::{Conduct, InProcess};

/// Drops keys that end in 7.
struct DropSevens;

impl CompactionFilter for DropSevens {
    fn name(&self) -> &str {
        "test.DropSevens"
    }
    fn filter(&self, _: &FilterContext, key: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        if key.ends_with(b"7") { FilterDecision::Remove } else { FilterDecision::Keep }
    }
}

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family.compaction_filter = Some(Arc::new(DropSevens));
    family.target_file_size_base = 4096;
    family.level0_file_num_compaction_trigger = 100;
    family
}

fn open(files: &MemoryFileSystem, service: Option<Arc<dyn CompactionService>>, adjust: impl Fn(&mut DbOptions)) -> Db {
    let mut options = options_on(Arc::new(files.clone()));
    options.components.compaction_service = service;
    adjust(&mut options);
    Db::open_cf("/db", options, vec![("default".to_owned(), family())]).unwrap().0
}

/// Puts, deletions, merges and range deletions, in tables of level 0.
fn fill(db: &Db, seed: u64) -> Vec<ferrock::Snapshot> {
    let mut random = Random::new(seed);
    let mut snapshots = Vec::new();
    for round in 0..4 {
        for _ in 0..300 {
            let at = random.next_u64() % 400;
            match random.next_u64() % 10 {
                0 => db.delete(&key(at)).unwrap(),
                1 | 2 => db.merge(&key(at), b"m").unwrap(),
                3 if at.is_multiple_of(20) => {
                    let family = db.default_column_family().unwrap();
                    db.delete_range_cf(&family, &key(at), &key(at + 15), &Default::default()).unwrap();
                }
                _ => db.put(&key(at), format!("{round} {at} {:060}", random.next_u64()).as_bytes()).unwrap(),
            }
        }
        snapshots.push(db.snapshot());
        db.flush().unwrap();
    }
    snapshots
}

fn compact(db: &Db) -> ferrock::Result<()> {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(&db.default_column_family()?, None, None, &options)
}

/// What a compaction with the worker leaves, beside one without.
fn compare(seed: u64, conducts: &[Conduct], adjust: impl Fn(&mut DbOptions)) -> Arc<InProcess> {
    let (files, own) = (MemoryFileSystem::new(), MemoryFileSystem::new());
    let service = InProcess::new(Arc::new(files.clone()), conducts);
    service.set_family("default", &family());
    let remote = open(&files, Some(Arc::clone(&service) as _), &adjust);
    let local = open(&own, None, &adjust);
    let (mut held, mut local_held) = (fill(&remote, seed), fill(&local, seed));
    for round in 0..3 {
        compact(&remote).unwrap();
        compact(&local).unwrap();
        for (ours, theirs) in held.iter().zip(&local_held) {
            let at =
                |snapshot: &ferrock::Snapshot| ReadOptions { snapshot: Some(snapshot.clone()), ..Default::default() };
            assert_eq!(contents(&remote, &at(ours)), contents(&local, &at(theirs)), "round {round}");
        }
        assert_eq!(contents(&remote, &ReadOptions::default()), contents(&local, &ReadOptions::default()));
        remote.verify_checksum().unwrap();
        held.truncate(1);
        local_held.truncate(1);
        if round == 1 {
            (held, local_held) = Default::default();
        }
    }
    let shape = |db: &Db| -> Vec<_> {
        let described = |file: ferrock::LiveFile| {
            (file.level, file.smallest_user_key, file.largest_user_key, file.smallest_sequence, file.largest_sequence)
        };
        db.live_files().into_iter().map(described).collect()
    };
    assert_eq!(shape(&remote), shape(&local));
    remote.put(b"still", b"writable").unwrap();
    remote.close().unwrap();
    check_directories(&files);
    let again = open(&files, None, adjust);
    assert_eq!(again.get(b"still").unwrap().as_deref(), Some(&b"writable"[..]));
    service
}

/// Workers left nothing, and the database has the tables of its tree alone.
fn check_directories(files: &MemoryFileSystem) {
    assert_eq!(files.children(Path::new("/remote")).unwrap_or_default(), Vec::<String>::new());
    let tables = files.children(Path::new("/db")).unwrap().iter().filter(|name| name.ends_with(".sst")).count();
    let db =
        Db::open_read_only("/db", options_on(Arc::new(files.clone())), Some(vec![("default".to_owned(), family())]));
    assert_eq!(db.unwrap().0.live_files().len(), tables);
}

#[test]
fn a_worker_writes_what_the_database_would_have_written() {
    for seed in 0..6 {
        let service = compare(seed, &[Conduct::Honest], |options| options.max_subcompactions = 1 + seed as u32 % 3);
        assert_eq!(service.errors(), Vec::<String>::new());
        assert!(service.ended().len() >= 3);
        assert!(service.ended().iter().all(|(_, status)| *status == CompactionServiceJobStatus::Success));
    }
}

/// Short keys first.
struct LengthFirst;

impl CustomComparator for LengthFirst {
    fn name(&self) -> &str {
        "test.LengthFirst"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        (a.len(), a).cmp(&(b.len(), b))
    }
}

#[test]
fn a_worker_has_the_order_of_its_overrides_and_needs_none_of_other_families() {
    let files = MemoryFileSystem::new();
    let service = InProcess::new(Arc::new(files.clone()), &[Conduct::Honest]);
    let mut ordered = family();
    ordered.comparator = Comparator::Custom(Arc::new(LengthFirst));
    let families =
        vec![("default".to_owned(), family()), ("ordered".to_owned(), ordered), ("bytewise".to_owned(), family())];
    families.iter().for_each(|(name, options)| service.set_family(name, options));
    let mut options = options_on(Arc::new(files));
    options.components.compaction_service = Some(Arc::clone(&service) as _);
    let (db, handles) = Db::open_cf("/db", options, families).unwrap();
    for handle in &handles {
        for key in [&b"bb"[..], b"a", b"c", b"aaa"] {
            db.put_cf(handle, key, b"", &Default::default()).unwrap();
        }
        db.flush_cf(handle, &Default::default()).unwrap();
        let options = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        db.compact_range_cf(handle, None, None, &options).unwrap();
    }
    assert_eq!(service.errors(), Vec::<String>::new());
    let families: Vec<_> = service.ended().into_iter().map(|(_, status)| status).collect();
    assert!(families.len() >= 3 && families.iter().all(|status| *status == CompactionServiceJobStatus::Success));
    let mut keys = db.iter_cf(&handles[1], &ReadOptions::default());
    keys.seek_to_first();
    assert_eq!(keys.key(), b"a");
}

#[test]
fn a_worker_that_knows_no_own_names_is_as_good() {
    let service = compare(3, &[Conduct::AsRocksDb], |_| {});
    assert!(service.ended().iter().all(|(_, status)| *status == CompactionServiceJobStatus::Success));
}

#[test]
fn whatever_a_worker_does_the_database_compacts() {
    let is_bad =
        |conduct: &&Conduct| !matches!(conduct, Conduct::Honest | Conduct::AsRocksDb) && !conduct.is_of_blobs();
    for &conduct in workers::ALL.iter().filter(is_bad) {
        let service = compare(7, &[conduct], |_| {});
        for (conduct, status) in service.ended() {
            assert_eq!(status, CompactionServiceJobStatus::UseLocal, "{conduct:?}");
        }
        assert_eq!(service.ended().is_empty(), conduct == Conduct::NotTaken, "{conduct:?}");
    }
}

#[test]
fn a_cancelled_manual_compaction_is_aborted_and_writes_go_on() {
    let files = MemoryFileSystem::new();
    let db = open(&files, Some(InProcess::new(Arc::new(files.clone()), &[Conduct::Aborted])), |_| {});
    // Held, so that nothing is compacted for their release.
    let _snapshots = fill(&db, 1);
    let before = contents(&db, &ReadOptions::default());
    assert_eq!(compact(&db).unwrap_err().kind(), ErrorKind::Aborted);
    assert!(contents(&db, &ReadOptions::default()) == before);
    db.put(b"a", b"b").unwrap();
    // An automatic one, which would be chosen again at once, is done here.
    db.set_options_cf(&db.default_column_family().unwrap(), &[("level0_file_num_compaction_trigger", "2")]).unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    assert!(db.live_files().iter().any(|file| file.level > 0));
}

/// Does nothing with its jobs until they are cancelled.
#[derive(Default)]
struct Silent {
    is_waiting: Mutex<bool>,
    is_cancelled: AtomicBool,
    changed: Condvar,
}

impl CompactionService for Silent {
    fn name(&self) -> &str {
        "test.Silent"
    }
    fn schedule(&self, _: &CompactionServiceJobInfo, _: &[u8]) -> CompactionServiceScheduleResponse {
        let status = CompactionServiceJobStatus::Success;
        CompactionServiceScheduleResponse { scheduled_job_id: "1".to_owned(), status }
    }
    fn wait(&self, _: &str) -> (CompactionServiceJobStatus, Vec<u8>) {
        let mut is_waiting = self.is_waiting.lock();
        *is_waiting = true;
        self.changed.notify_all();
        while !self.is_cancelled.load(Ordering::SeqCst) {
            self.changed.wait(&mut is_waiting);
        }
        (CompactionServiceJobStatus::Aborted, Vec::new())
    }
    fn cancel_awaiting_jobs(&self) {
        let _waits = self.is_waiting.lock();
        self.is_cancelled.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }
}

#[test]
fn closing_ends_the_wait_for_a_worker() {
    let files = MemoryFileSystem::new();
    let service = Arc::new(Silent::default());
    let db = open(&files, None, |options| options.components.compaction_service = Some(Arc::clone(&service) as _));
    drop(fill(&db, 2));
    let before = contents(&db, &ReadOptions::default());
    db.set_options_cf(&db.default_column_family().unwrap(), &[("level0_file_num_compaction_trigger", "2")]).unwrap();
    db.put(b"zz", b"").unwrap();
    db.flush().unwrap();
    let mut is_waiting = service.is_waiting.lock();
    while !*is_waiting {
        service.changed.wait(&mut is_waiting);
    }
    drop(is_waiting);
    db.close().unwrap();
    let db = open(&files, None, |_| {});
    let mut after = contents(&db, &ReadOptions::default());
    assert_eq!(after.remove(&b"zz"[..]), Some(Vec::new()));
    assert_eq!(after, before);
}

#[test]
fn what_is_installed_survives_a_loss_of_power() {
    let files = MemoryFileSystem::new();
    let service = InProcess::new(Arc::new(files.clone()), &[Conduct::Honest]);
    service.set_family("default", &family());
    let db = open(&files, Some(service), |_| {});
    drop(fill(&db, 4));
    compact(&db).unwrap();
    let before = contents(&db, &ReadOptions::default());
    let db = open(&files.crash_clone(CrashPolicy::KeepNothingUnsynced), None, |_| {});
    assert_eq!(contents(&db, &ReadOptions::default()), before);
    db.verify_checksum().unwrap();
}

/// Keeps the inputs of jobs, and does none.
#[derive(Default)]
struct Keeper(Mutex<Vec<Vec<u8>>>);

impl CompactionService for Keeper {
    fn name(&self) -> &str {
        "test.Keeper"
    }
    fn schedule(&self, _: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        self.0.lock().push(input.to_vec());
        CompactionServiceScheduleResponse::not_taken(CompactionServiceJobStatus::Aborted)
    }
    fn wait(&self, _: &str) -> (CompactionServiceJobStatus, Vec<u8>) {
        (CompactionServiceJobStatus::Failure, Vec::new())
    }
}

#[test]
fn a_worker_refuses_what_is_not_its_job() {
    let files = MemoryFileSystem::new();
    let keeper = Arc::new(Keeper::default());
    let db = open(&files, Some(Arc::clone(&keeper) as _), |_| {});
    let _snapshots = fill(&db, 5);
    compact(&db).unwrap_err();
    let bytes = keeper.0.lock()[0].clone();
    let input = CompactionServiceInput::decode(&bytes).unwrap();
    let overrides = |filter: Option<Arc<dyn CompactionFilter>>| CompactionServiceOptionsOverride {
        components: Components { file_system: Some(Arc::new(files.clone())), ..Components::default() },
        merge_operator: Some(Arc::new(StringAppend::new(","))),
        compaction_filter: filter,
        ..CompactionServiceOptionsOverride::default()
    };
    let good = overrides(Some(Arc::new(DropSevens)));
    let run = |output: &str, bytes: &[u8], overrides: &CompactionServiceOptionsOverride| {
        open_and_compact(&OpenAndCompactOptions::default(), "/db", output, bytes, overrides)
    };
    let changed = |change: fn(&mut CompactionServiceInput)| {
        let mut input = input.clone();
        change(&mut input);
        run("/out", &input.encode(), &good).unwrap_err().to_string()
    };
    assert!(changed(|input| input.db_id = "another".to_owned()).contains("another"));
    assert!(changed(|input| input.column_family = "none".to_owned()).contains("not found"));
    assert!(changed(|input| input.input_files = vec!["999999.sst".to_owned()]).contains("out of date"));
    assert!(
        changed(|input| input.input_files = vec!["MANIFEST-000001".to_owned()]).contains("not the name of a table")
    );
    assert!(changed(|input| input.output_level = 99).contains("levels"));
    assert!(run("/out", &bytes, &overrides(None)).unwrap_err().to_string().contains("test.DropSevens"));
    assert!(run("/db", &bytes, &good).unwrap_err().to_string().contains("database"));
    let cancelled = OpenAndCompactOptions { canceled: Some(Arc::new(|| true)), ..OpenAndCompactOptions::default() };
    let error = open_and_compact(&cancelled, "/db", "/out", &bytes, &good).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete);
    assert_eq!(files.children(Path::new("/out")).unwrap_or_default(), Vec::<String>::new());
    // The job itself is good, once in a directory.
    let result = CompactionServiceResult::decode(&run("/out", &bytes, &good).unwrap()).unwrap();
    assert!(!result.output_files.is_empty());
    assert!(run("/out", &bytes, &good).unwrap_err().to_string().contains("directory of its own"));
    let again = OpenAndCompactOptions { allow_resumption: true, ..OpenAndCompactOptions::default() };
    open_and_compact(&again, "/db", "/out", &bytes, &good).unwrap();
    // A part of it has a part of the keys.
    let part = CompactionServiceInput { begin: Some(key(100)), end: Some(key(200)), ..input.clone() };
    let result = CompactionServiceResult::decode(&run("/part", &part.encode(), &good).unwrap()).unwrap();
    for file in &result.output_files {
        assert!(key(100).as_slice() <= &file.smallest[..9] && &file.largest[..9] <= key(200).as_slice());
    }
}

#[test]
fn a_directory_brings_jobs_to_a_worker() {
    let files = MemoryFileSystem::new();
    let components = Components { file_system: Some(Arc::new(files.clone())), ..Components::default() };
    let service = JobDirectoryService::new(&components, "/jobs").unwrap().with_poll_interval(Duration::from_millis(1));
    let db = open(&files, Some(Arc::new(service)), |_| {});
    drop(fill(&db, 6));
    let before = contents(&db, &ReadOptions::default());
    let is_over = AtomicBool::new(false);
    let overrides = CompactionServiceOptionsOverride {
        components: components.clone(),
        merge_operator: Some(Arc::new(StringAppend::new(","))),
        compaction_filter: Some(Arc::new(DropSevens)),
        ..CompactionServiceOptionsOverride::default()
    };
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let directory = JobDirectory::new(Arc::new(files.clone()), "/jobs");
            let mut done = 0;
            while !is_over.load(Ordering::SeqCst) {
                if let Some(job) = directory.run_one("/db", &overrides).unwrap() {
                    assert!(job.error.is_none(), "{job:?}");
                    done += 1;
                }
            }
            done
        });
        compact(&db).unwrap();
        is_over.store(true, Ordering::SeqCst);
        assert!(worker.join().unwrap() >= 1);
    });
    let mut expected = before;
    expected.retain(|key, _| !key.ends_with(b"7"));
    assert_eq!(contents(&db, &ReadOptions::default()), expected);
    assert_eq!(files.children(Path::new("/jobs")).unwrap(), Vec::<String>::new());
    let statistics = db.property("ferrock.statistics").unwrap();
    assert!(statistics.contains("remote_compactions_refused=0\n") && !statistics.contains("remote_compactions=0\n"));
}

#[test]
fn jobs_without_a_worker_are_done_by_the_database() {
    let files = MemoryFileSystem::new();
    let components = Components { file_system: Some(Arc::new(files.clone())), ..Components::default() };
    let service = JobDirectoryService::new(&components, "/jobs").unwrap();
    let service = service.with_timeout(Duration::from_millis(5)).with_poll_interval(Duration::from_millis(1));
    let db = open(&files, Some(Arc::new(service)), |_| {});
    drop(fill(&db, 6));
    compact(&db).unwrap();
    assert!(db.live_files().iter().all(|file| file.level > 0));
    assert_eq!(files.children(Path::new("/jobs")).unwrap(), Vec::<String>::new());
}
