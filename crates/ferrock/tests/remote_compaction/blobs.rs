//! Families with blob files: a worker writes, reads and collects them as the database would, and what it says of them
//! is looked at.

use crate::common::{Contents, books, contents, key, options_on};
use crate::workers::{self, Conduct, InProcess};
use crate::{DropSevens, compact};
use ferrock::options::{CompactionService, CompactionServiceJobStatus, CompressionType, DbPath};
use ferrock::{ColumnFamilyOptions, Db, ReadOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const DIRECTORY: &str = "/db";

/// How values go into blob files.
fn family(draw: u64) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family.compaction_filter = Some(Arc::new(DropSevens));
    family.target_file_size_base = 4096;
    // What is compacted, and when, is the same with and without workers.
    family.disable_auto_compactions = true;
    family.enable_blob_files = true;
    family.min_blob_size = [1, 60, 80][draw as usize % 3];
    family.blob_file_size = [1, 3000, 1 << 20][draw as usize / 3 % 3];
    family.enable_blob_garbage_collection = draw % 4 != 3;
    family.blob_garbage_collection_age_cutoff = [0.25, 0.5, 1.0][draw as usize / 2 % 3];
    if draw % 2 == 1 {
        family.blob_compression_type = CompressionType::Lz4;
    }
    family
}

fn open(files: &MemoryFileSystem, service: Option<Arc<dyn CompactionService>>, draw: u64) -> Db {
    let mut options = options_on(Arc::new(files.clone()));
    options.components.compaction_service = service;
    options.max_subcompactions = 1 + draw as u32 % 3;
    Db::open_cf(DIRECTORY, options, vec![("default".to_owned(), family(draw))]).unwrap().0
}

/// Puts, deletions and merges of small and large values, in tables of level 0.
fn fill(db: &Db, random: &mut Random) -> ferrock::Snapshot {
    let snapshot = db.snapshot();
    for round in 0..2 {
        for _ in 0..200 {
            let at = random.next_u64() % 300;
            match random.next_u64() % 8 {
                0 => db.delete(&key(at)).unwrap(),
                1 => db.merge(&key(at), &vec![b'm'; (at % 100) as usize]).unwrap(),
                _ => {
                    let length = 1 + (random.next_u64() % 120) as usize;
                    db.put(&key(at), format!("{round} {at} {:0length$}", random.next_u64()).as_bytes()).unwrap();
                }
            }
        }
        db.flush().unwrap();
    }
    snapshot
}

fn check(what: &str, files: &MemoryFileSystem, db: &Db) {
    db.wait_for_background_work().unwrap();
    db.verify_checksum().unwrap();
    books::check_books(what, files, Path::new(DIRECTORY), &BTreeSet::new());
}

/// Live records and bytes of the blob files, oldest first. Their numbers depend on what was reserved.
fn live_blobs(files: &MemoryFileSystem) -> Vec<(u64, u64)> {
    books::read_books(files, Path::new(DIRECTORY)).blobs.into_values().collect()
}

/// What compactions with the worker leave, beside those without.
fn compare(draw: u64, conducts: &[Conduct]) -> Arc<InProcess> {
    let what = format!("{draw} {conducts:?}");
    let (files, own) = (MemoryFileSystem::new(), MemoryFileSystem::new());
    let service = InProcess::new(Arc::new(files.clone()), conducts);
    service.set_family("default", &family(draw));
    let (remote, local) = (open(&files, Some(Arc::clone(&service) as _), draw), open(&own, None, draw));
    let (mut random, mut again) = (Random::new(draw), Random::new(draw));
    for round in 0..5 {
        let what = format!("{what}, round {round}");
        let (ours, theirs) = (fill(&remote, &mut random), fill(&local, &mut again));
        compact(&remote).unwrap();
        compact(&local).unwrap();
        let at = |snapshot: ferrock::Snapshot| ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
        assert_eq!(contents(&remote, &at(ours)), contents(&local, &at(theirs)), "{what}");
        assert_eq!(all(&remote), all(&local), "{what}");
        check(&what, &files, &remote);
        check(&what, &own, &local);
        // Parts that run at the same time begin their blob files in any order, and end where tables have their blocks.
        let total = |files: &MemoryFileSystem| live_blobs(files).iter().map(|(count, _)| count).sum::<u64>();
        assert_eq!(total(&files), total(&own), "{what}: live records");
        if draw.is_multiple_of(3) {
            assert_eq!(live_blobs(&files), live_blobs(&own), "{what}: what is live of each blob file");
        }
    }
    let expected = all(&remote);
    remote.close().unwrap();
    books::check_directory(&what, &files, Path::new(DIRECTORY), &BTreeSet::new());
    assert_eq!(files.children(Path::new("/remote")).unwrap_or_default(), Vec::<String>::new(), "{what}");
    assert_eq!(all(&open(&files, None, draw)), expected, "{what}");
    service
}

fn all(db: &Db) -> Contents {
    contents(db, &ReadOptions::default())
}

#[test]
fn a_worker_writes_and_collects_blob_files_as_the_database_does() {
    for draw in 0..18 {
        let service = compare(draw, &[Conduct::Honest]);
        assert_eq!(service.errors(), Vec::<String>::new(), "{draw}");
        assert!(service.ended().len() >= 5);
        assert!(service.ended().iter().all(|(_, status)| *status == CompactionServiceJobStatus::Success), "{draw}");
    }
}

#[test]
fn whatever_a_worker_does_the_database_has_its_values() {
    for &conduct in workers::ALL.iter().filter(|conduct| **conduct != Conduct::Honest) {
        for draw in [1, 6] {
            let service = compare(draw, &[conduct]);
            let ended = service.ended();
            assert_eq!(ended.is_empty(), conduct == Conduct::NotTaken, "{conduct:?}");
            let is_refused = |status| status == CompactionServiceJobStatus::UseLocal;
            let refused = ended.iter().filter(|(_, status)| is_refused(*status)).count();
            // A job that writes no blob file has none to spoil.
            let most_good = if conduct.is_of_blobs() { ended.len() / 2 } else { 0 };
            assert!(ended.len() - refused <= most_good, "{ended:?}");
        }
    }
}

/// Without collection every reference that the outputs have is one of the inputs.
#[test]
fn references_that_nothing_had_are_refused() {
    let files = MemoryFileSystem::new();
    let service = InProcess::new(Arc::new(files.clone()), &[Conduct::GarbageHidden]);
    service.set_family("default", &family(3));
    let db = open(&files, Some(Arc::clone(&service) as _), 3);
    fill(&db, &mut Random::new(3));
    compact(&db).unwrap();
    check("refused", &files, &db);
    assert!(service.ended().iter().all(|(_, status)| *status == CompactionServiceJobStatus::UseLocal));
    assert!(!service.ended().is_empty());
}

#[test]
fn a_worker_of_another_engine_is_told_nothing_of_blob_files() {
    let service = compare(2, &[Conduct::AsRocksDb]);
    assert!(service.errors().iter().all(|error| error.contains("no numbers for blob files")), "{:?}", service.errors());
    assert!(!service.errors().is_empty());
}

/// What was written before is read, and goes into tables when it is collected.
#[test]
fn blob_files_are_emptied_after_their_end() {
    let files = MemoryFileSystem::new();
    let service = InProcess::new(Arc::new(files.clone()), &[Conduct::Honest]);
    let mut without = family(1);
    let db = open(&files, None, 1);
    fill(&db, &mut Random::new(5));
    let expected: Contents = all(&db).into_iter().filter(|(key, _)| !key.ends_with(b"7")).collect();
    assert!(!books::blob_files(&files, Path::new(DIRECTORY)).is_empty());
    db.close().unwrap();
    without.enable_blob_files = false;
    without.enable_blob_garbage_collection = true;
    without.blob_garbage_collection_age_cutoff = 1.0;
    service.set_family("default", &without);
    let mut options = options_on(Arc::new(files.clone()));
    options.components.compaction_service = Some(Arc::clone(&service) as _);
    let db = Db::open_cf(DIRECTORY, options, vec![("default".to_owned(), without)]).unwrap().0;
    compact(&db).unwrap();
    assert_eq!(service.errors(), Vec::<String>::new());
    assert!(service.ended().iter().all(|(_, status)| *status == CompactionServiceJobStatus::Success));
    assert_eq!(all(&db), expected);
    check("emptied", &files, &db);
    assert_eq!(live_blobs(&files), Vec::new());
    books::check_directory("emptied", &files, Path::new(DIRECTORY), &BTreeSet::new());
}

/// Tables and blob files lie in directories of their own.
#[test]
fn blob_files_go_to_the_first_directory() {
    let files = MemoryFileSystem::new();
    let paths = vec![DbPath::new("/fast", 1), DbPath::new("/slow", 1 << 30)];
    let service = InProcess::with_paths(Arc::new(files.clone()), &[Conduct::Honest], paths.clone());
    service.set_family("default", &family(1));
    let mut options = options_on(Arc::new(files.clone()));
    options.components.compaction_service = Some(Arc::clone(&service) as _);
    options.db_paths = paths;
    let opened = Db::open_cf(DIRECTORY, options.clone(), vec![("default".to_owned(), family(1))]);
    let db = opened.unwrap().0;
    for seed in 0..3 {
        fill(&db, &mut Random::new(seed));
        compact(&db).unwrap();
    }
    assert!(service.ended().iter().all(|(_, status)| *status == CompactionServiceJobStatus::Success));
    let expected = all(&db);
    let crashed = files.crash_clone(CrashPolicy::KeepNothingUnsynced);
    options.components.compaction_service = None;
    options.components.file_system = Some(Arc::new(crashed.clone()));
    let again = Db::open_cf(DIRECTORY, options, vec![("default".to_owned(), family(1))]).unwrap().0;
    assert_eq!(all(&again), expected);
    again.verify_checksum().unwrap();
    assert!(!books::blob_files(&crashed, Path::new("/fast")).is_empty());
    assert!(books::blob_files(&crashed, Path::new("/slow")).is_empty());
    assert!(books::blob_files(&crashed, Path::new(DIRECTORY)).is_empty());
}

#[test]
fn what_is_installed_survives_a_loss_of_power() {
    let files = MemoryFileSystem::new();
    let service = InProcess::new(Arc::new(files.clone()), &[Conduct::Honest]);
    service.set_family("default", &family(4));
    let db = open(&files, Some(Arc::clone(&service) as _), 4);
    for seed in 0..3 {
        fill(&db, &mut Random::new(seed));
        compact(&db).unwrap();
        let clone = files.crash_clone(CrashPolicy::KeepNothingUnsynced);
        let after = open(&clone, None, 4);
        assert_eq!(all(&after), all(&db));
        check("after a crash", &clone, &after);
    }
    assert!(service.ended().iter().all(|(_, status)| *status == CompactionServiceJobStatus::Success));
}
