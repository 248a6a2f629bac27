//! A crash, and a failure, at every file operation of an export and of an import.

use super::{EXPORT, FROM, TO, export, memory, merging, rows, source, tables_in};
use crate::common::threads::{Waiting, wait_until};
use crate::common::{Contents, options_on};
use ferrock::{ColumnFamily, Db, ExportImportFilesMetadata, ImportColumnFamilyOptions, ReadOptions, WriteOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
    read_file,
};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NAME: &str = "imported";

fn target(files: Arc<dyn FileSystem>) -> ferrock::Result<Db> {
    let db = Db::open_cf(TO, options_on(files), vec![("default".to_owned(), merging())])?.0;
    let options = WriteOptions { sync: true, ..WriteOptions::default() };
    db.put_cf(&db.default_column_family()?, b"own", b"row", &options)?;
    Ok(db)
}

fn import(db: &Db, metadata: &ExportImportFilesMetadata, move_files: bool) -> ferrock::Result<ColumnFamily> {
    let options = ImportColumnFamilyOptions { move_files };
    db.create_column_family_with_import(NAME, merging(), &options, std::slice::from_ref(metadata))
}

/// Opens the target with the families that it has.
fn open_all(files: &MemoryFileSystem) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
    let options = options_on(Arc::new(files.clone()));
    let names = Db::list_column_families(TO, &options)?;
    Db::open_cf(TO, options, names.into_iter().map(|name| (name, merging())).collect())
}

/// A crash clone: before which operation, and what the disk kept.
type Point = (String, CrashPolicy, MemoryFileSystem);

fn points_of(files: &MemoryFileSystem, work: impl FnOnce()) -> Vec<Point> {
    let taken: Arc<Mutex<Vec<Point>>> = Arc::default();
    let (handle, list) = (files.clone(), Arc::clone(&taken));
    files.set_operation_hook(Some(Arc::new(move |operation, line| {
        if line.starts_with("append LOG") {
            return;
        }
        let policies = [
            CrashPolicy::KeepAll,
            CrashPolicy::KeepNothingUnsynced,
            CrashPolicy::KeepSubset { seed: operation },
            CrashPolicy::Torn { seed: operation, granularity_bytes: 1 },
        ];
        let clones = policies.map(|policy| (line.to_owned(), policy, handle.crash_clone(policy)));
        list.lock().unwrap().extend(clones);
    })));
    work();
    files.set_operation_hook(None);
    std::mem::take(&mut *taken.lock().unwrap())
}

/// What a clone of an import has: the family whole, or not at all.
fn check_import(point: &Point, expected: &Contents, outside: &[(std::path::PathBuf, Vec<u8>)], moves: bool) -> bool {
    let (line, policy, files) = point;
    let place = format!("before {line} with {policy:?}");
    let opened = match open_all(files) {
        Ok(opened) => opened,
        // A record of several parts of which some reached the disk.
        Err(error)
            if error.to_string().contains("MANIFEST")
                && matches!(policy, CrashPolicy::KeepSubset { .. } | CrashPolicy::Torn { .. }) =>
        {
            return false;
        }
        Err(error) => panic!("{place}: does not open: {error}"),
    };
    let (db, families) = opened;
    assert_eq!(db.get(b"own").unwrap().as_deref(), Some(&b"row"[..]), "{place}");
    db.verify_checksum().unwrap();
    let family = families.iter().find(|family| family.name() == NAME);
    let is_there = family.is_some();
    if let Some(family) = family {
        assert_eq!(rows(&db, family), *expected, "{place}");
    } else {
        let (found, live) = (tables_in(files, TO), db.live_files().len());
        assert!(found.len() <= live, "{place}: what was left goes with the open: {found:?}, {live} of them live");
    }
    // Later files do not come into those from outside; later writes are newer than what was imported.
    for round in 0..3u8 {
        for family in &families {
            db.put_cf(family, &[4], &[round; 100], &WriteOptions::default()).unwrap();
            db.flush_cf(family, &ferrock::FlushOptions::default()).unwrap();
            let found = db.get_cf(family, &ReadOptions::default(), &[4]).unwrap();
            assert_eq!(found.as_deref(), Some(&[round; 100][..]), "{place}");
        }
    }
    for (path, bytes) in outside {
        match read_file(files, path) {
            Ok(found) => assert_eq!(found, *bytes, "{place}: {}", path.display()),
            Err(error) => assert!(moves && is_there, "{place}: {error}"),
        }
    }
    is_there
}

#[test]
fn a_crash_leaves_the_imported_family_whole_or_not_at_all() {
    for move_files in [false, true] {
        let files = memory();
        let (from, expected) = source(Arc::new(files.clone()));
        let metadata = export(&from, EXPORT).unwrap();
        drop(from);
        let outside: Vec<_> =
            metadata.files.iter().map(|file| (file.path.clone(), read_file(&files, &file.path).unwrap())).collect();
        let db = target(Arc::new(files.clone())).unwrap();
        let points = points_of(&files, || drop(import(&db, &metadata, move_files).unwrap()));
        assert!(points.len() > 50, "{} points", points.len());
        let whole = points.iter().filter(|point| check_import(point, &expected, &outside, move_files)).count();
        assert!(whole > 0 && whole < points.len(), "{whole} of {}", points.len());
        // It was durable when the call returned.
        let after = ("the end".to_owned(), CrashPolicy::KeepNothingUnsynced, {
            files.crash_clone(CrashPolicy::KeepNothingUnsynced)
        });
        assert!(check_import(&after, &expected, &outside, move_files));
        for (path, _) in &outside {
            assert_eq!(files.exists(path).unwrap(), !move_files, "{}", path.display());
        }
    }
}

#[test]
fn a_failure_leaves_nothing_of_an_import_and_the_next_one_succeeds() {
    for (fault, move_files) in
        [(Fault::Io, false), (Fault::NoSpace, true), (Fault::ShortWrite { kept_bytes: 3 }, false)]
    {
        let mut failed = 0;
        for number in 1.. {
            let files = memory();
            let (from, expected) = source(Arc::new(files.clone()));
            let metadata = export(&from, EXPORT).unwrap();
            let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(files.clone())));
            let db = target(Arc::clone(&faults) as Arc<dyn FileSystem>).unwrap();
            let rule = faults.add_rule(FaultRule::new(OperationKind::Any, "*", fault).when(Trigger::Nth(number)));
            let imported = import(&db, &metadata, move_files);
            let fired = faults.remove_rule(rule).unwrap();
            assert!(imported.is_ok() || fired > 0, "operation {number} failed without a fault");
            let is_done = imported.is_ok();
            if let Err(error) = imported {
                failed += 1;
                for file in &metadata.files {
                    assert!(files.exists(&file.path).unwrap(), "{number}: {error}: {}", file.path.display());
                }
                if db.background_error().is_some() {
                    db.resume().unwrap_or_else(|resumed| panic!("{number}: {error}: {resumed}"));
                }
                // The OPTIONS file is written behind the creation: then the family is there, as it is without files.
                match import(&db, &metadata, move_files) {
                    Ok(family) => assert_eq!(rows(&db, &family), expected, "{number}: {error}"),
                    Err(again) => assert!(again.to_string().contains("already exists"), "{number}: {error}: {again}"),
                }
            }
            db.put(b"later", b"row").unwrap();
            drop(db);
            let (db, families) = open_all(&files).unwrap();
            assert_eq!(rows(&db, &families[1]), expected, "{number}");
            assert_eq!(db.get(b"later").unwrap().as_deref(), Some(&b"row"[..]));
            let live = db.live_files().len();
            db.wait_for_background_work().unwrap();
            assert!(tables_in(&files, TO).len() <= live, "{number}: tables that nothing needs");
            if is_done && fired == 0 {
                break;
            }
        }
        assert!(failed > 20, "{fault:?}: {failed}");
    }
}

#[test]
fn a_crash_or_a_failure_leaves_no_export_or_a_whole_one() {
    let files = memory();
    let (from, expected) = source(Arc::new(files.clone()));
    let mut metadata = None;
    let points = points_of(&files, || metadata = Some(export(&from, EXPORT).unwrap()));
    let metadata = metadata.unwrap();
    let (mut whole, mut absent) = (0, 0);
    for (line, policy, files) in &points {
        let names = Db::list_column_families(FROM, &options_on(Arc::new(files.clone()))).unwrap();
        assert_eq!(names, ["default"], "before {line} with {policy:?}");
        if !files.exists(Path::new(EXPORT)).unwrap() {
            absent += 1;
            continue;
        }
        whole += 1;
        let db = target(Arc::new(files.clone())).unwrap();
        let family = import(&db, &metadata, true).unwrap_or_else(|error| panic!("before {line}, {policy:?}: {error}"));
        assert_eq!(rows(&db, &family), expected);
    }
    assert!(whole > 0 && absent > 0, "{whole}, {absent}");
    drop(from);
    for number in 1.. {
        let files = memory();
        let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(files.clone())));
        let (from, expected) = source(Arc::clone(&faults) as Arc<dyn FileSystem>);
        let rule = faults.add_rule(FaultRule::new(OperationKind::Any, "*", Fault::Io).when(Trigger::Nth(number)));
        let exported = export(&from, EXPORT);
        let fired = faults.remove_rule(rule).unwrap();
        if exported.is_err() && files.exists(Path::new(EXPORT)).unwrap() {
            // The directory has its name, and only that could not be made durable.
            assert_eq!(tables_in(&files, EXPORT).len(), metadata.files.len());
            continue;
        }
        let again = exported.or_else(|_| export(&from, EXPORT)).unwrap_or_else(|error| panic!("{number}: {error}"));
        let db = target(Arc::new(files.clone())).unwrap();
        assert_eq!(rows(&db, &import(&db, &again, false).unwrap()), expected, "{number}");
        if fired == 0 {
            break;
        }
    }
}

/// A follower takes a batch whose numbers are smaller than those of the MANIFEST for one that it has seen.
#[test]
fn no_write_comes_between_the_record_of_an_import_and_its_numbers() {
    let files = memory();
    let (from, expected) = source(Arc::new(files.clone()));
    let metadata = export(&from, EXPORT).unwrap();
    drop(from);
    let newest = metadata.files.iter().map(|file| file.largest_sequence).max().unwrap();
    let clock = Arc::new(ManualClock::new(0));
    let by = Arc::clone(&clock) as Arc<dyn Clock>;
    let slow = Arc::new(FaultInjectionFileSystem::with_clock(Arc::new(files), by));
    let db = target(Arc::clone(&slow) as Arc<dyn FileSystem>).unwrap();
    assert!(db.latest_sequence_number() < newest);
    let pause = Fault::Delay(Duration::from_secs(1));
    slow.add_rule(FaultRule::new(OperationKind::Sync, "MANIFEST-*", pause).when(Trigger::Nth(1)));
    let importing = db.clone();
    let importing = std::thread::spawn(move || import(&importing, &metadata, false).unwrap());
    wait_until("the record of the import is synced", || clock.sleepers() == 1);
    let writing = db.clone();
    let writing = Waiting::begin("a write beside an import", move || writing.put(b"own", b"later").unwrap());
    clock.advance(Duration::from_secs(1));
    let family = importing.join().unwrap();
    writing.join();
    assert_eq!(db.latest_sequence_number(), newest.plus(1));
    assert_eq!(rows(&db, &family), expected);
}

/// The MANIFEST has the numbers of the tables, so recovery would take a hole in the logs below them for nothing.
#[test]
fn what_was_written_before_an_import_is_as_durable_as_the_import() {
    let files = memory();
    let (from, expected) = source(Arc::new(files.clone()));
    let metadata = export(&from, EXPORT).unwrap();
    drop(from);
    let db = target(Arc::new(files.clone())).unwrap();
    db.put(b"unsynced", b"row").unwrap();
    drop(import(&db, &metadata, false).unwrap());
    let (copy, families) = open_all(&files.crash_clone(CrashPolicy::KeepNothingUnsynced)).unwrap();
    assert_eq!(copy.get(b"unsynced").unwrap().as_deref(), Some(&b"row"[..]));
    assert_eq!(rows(&copy, families.iter().find(|family| family.name() == NAME).unwrap()), expected);
}
