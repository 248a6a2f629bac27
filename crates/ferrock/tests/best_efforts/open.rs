//! MANIFESTs that are damaged or gone, logs, and every entrance.

use super::common::{Contents, options_on, rows_of};
use super::history::{PATH, family};
use ferrock::{Db, DbOptions, ErrorKind, FlushOptions, ReadOptions, WriteOptions};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn options(files: &MemoryFileSystem, best_efforts: bool) -> DbOptions {
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::new(files.clone()));
    options.best_efforts_recovery = best_efforts;
    options
}

fn rows(db: &Db) -> Contents {
    rows_of(db.iter(&ReadOptions::default()))
}

fn in_db(name: &str) -> PathBuf {
    Path::new(PATH).join(name)
}

/// A database that has all its MANIFESTs, each with what the database held when it was the newest; one per flush.
fn with_manifests() -> (MemoryFileSystem, Vec<(String, Contents)>) {
    let files = MemoryFileSystem::new();
    let mut options = options_on(Arc::new(files.clone()));
    (options.max_manifest_file_size, options.max_manifest_space_amp_pct) = (1, 0);
    let (db, _) = Db::open_cf(PATH, options, vec![("default".to_owned(), family(false))]).unwrap();
    db.disable_file_deletions().unwrap();
    let mut manifests = Vec::new();
    for round in 0..6_u8 {
        db.put(&[b'k', round], &[round]).unwrap();
        db.flush().unwrap();
        let current = String::from_utf8(read_file(&files, &in_db("CURRENT")).unwrap()).unwrap();
        manifests.push((current.trim().to_owned(), rows(&db)));
    }
    db.put(b"in the log", b"alone").unwrap();
    (files.crash_clone(CrashPolicy::KeepAll), manifests)
}

#[test]
fn an_older_manifest_counts_where_the_newer_ones_are_gone_or_damaged() {
    let (files, manifests) = with_manifests();
    assert!(manifests.windows(2).all(|pair| pair[0].0 < pair[1].0), "a MANIFEST for each flush");
    for damaged in 1..manifests.len() {
        for way in 0..4 {
            let files = files.crash_clone(CrashPolicy::KeepAll);
            for (name, _) in &manifests[manifests.len() - damaged..] {
                let mut bytes = read_file(&files, &in_db(name)).unwrap();
                match way {
                    0 => {
                        files.remove_file(&in_db(name)).unwrap();
                        continue;
                    }
                    // Before any file number is known, in the middle of a record, and a flipped bit.
                    1 => bytes.truncate(40),
                    2 => bytes.clear(),
                    _ => bytes[30] ^= 1,
                }
                write_file_synced(&files, &in_db(name), &bytes).unwrap();
            }
            let db = Db::open(PATH, options(&files, true)).unwrap();
            let expected = &manifests[manifests.len() - 1 - damaged].1;
            assert_eq!(rows(&db), *expected, "{damaged} of them, way {way}");
            db.put(b"after", b"wards").unwrap();
            let written = rows(&db);
            drop(db);
            assert_eq!(rows(&Db::open(PATH, options(&files, false)).unwrap()), written);
        }
    }
}

#[test]
fn without_a_usable_manifest_the_open_is_refused_and_nothing_changes() {
    let (files, manifests) = with_manifests();
    for name in files.children(Path::new(PATH)).unwrap().iter().filter(|name| name.starts_with("MANIFEST")) {
        write_file_synced(&files, &in_db(name), b"this is no log of edits, and never was one").unwrap();
    }
    let error = Db::open(PATH, options(&files, true)).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("no MANIFEST can be used; repair"), "{error}");
    for name in files.children(Path::new(PATH)).unwrap().iter().filter(|name| name.starts_with("MANIFEST")) {
        files.remove_file(&in_db(name)).unwrap();
    }
    let mut creating = options(&files, true);
    creating.create_if_missing = true;
    let error = Db::open(PATH, creating).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("nothing was changed"), "{error}");
    let tables = files.children(Path::new(PATH)).unwrap().iter().filter(|name| name.ends_with(".sst")).count();
    assert_eq!(tables, manifests.len());
}

#[test]
fn a_new_database_is_made_where_there_is_none() {
    let files = MemoryFileSystem::new();
    let error = Db::open(PATH, options(&files, true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let mut creating = options(&files, true);
    creating.create_if_missing = true;
    let db = Db::open(PATH, creating.clone()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    drop(db);
    creating.error_if_exists = true;
    files.remove_file(&in_db("CURRENT")).unwrap();
    let error = Db::open(PATH, creating).unwrap_err();
    assert!(error.to_string().contains("error_if_exists"), "{error}");
    assert_eq!(rows(&Db::open(PATH, options(&files, true)).unwrap()).len(), 1);
}

#[test]
fn logs_are_not_read_now_and_not_later() {
    let (files, manifests) = with_manifests();
    let db = Db::open(PATH, options(&files, true)).unwrap();
    assert_eq!(rows(&db), manifests.last().unwrap().1);
    drop(db);
    for best_efforts in [false, true] {
        assert_eq!(rows(&Db::open(PATH, options(&files, best_efforts)).unwrap()), manifests.last().unwrap().1);
    }
    // They are where they can be looked at.
    let lost = files.children(&in_db("lost")).unwrap();
    let bytes = lost.iter().map(|name| read_file(&files, &in_db("lost").join(name)).unwrap());
    assert!(bytes.into_iter().any(|bytes| bytes.windows(10).any(|part| part == b"in the log")), "{lost:?}");
}

#[test]
fn latest_options_find_the_families_without_current_and_do_not_ask_for_it_again() {
    let files = MemoryFileSystem::new();
    let (db, handles) = Db::open_cf(
        PATH,
        options_on(Arc::new(files.clone())),
        vec![("default".to_owned(), family(false)), ("two".to_owned(), family(false))],
    )
    .unwrap();
    db.put_cf(&handles[1], b"a", b"1", &WriteOptions::default()).unwrap();
    db.flush_cf(&handles[1], &FlushOptions::default()).unwrap();
    drop((db, handles));
    files.remove_file(&in_db("CURRENT")).unwrap();
    let (db, handles) = Db::open_with_latest_options(PATH, options(&files, true)).unwrap();
    assert_eq!(handles.len(), 2);
    drop((db, handles));
    // It was for that open.
    let loaded = ferrock::options::load_latest(&files, Path::new(PATH)).unwrap().unwrap();
    assert!(!loaded.db.best_efforts_recovery);
    let (db, handles) = Db::open_with_latest_options(PATH, options(&files, false)).unwrap();
    db.put(b"in the log", b"read").unwrap();
    drop((db, handles));
    let (db, _) = Db::open_with_latest_options(PATH, options(&files, false)).unwrap();
    assert_eq!(db.get(b"in the log").unwrap().as_deref(), Some(&b"read"[..]));
}

#[test]
fn opens_that_only_read_refuse_it() {
    let (files, _) = with_manifests();
    let before = files.operation_count();
    let errors = [
        Db::open_read_only(PATH, options(&files, true), None).map(drop).unwrap_err(),
        Db::open_as_secondary(PATH, "/second", options(&files, true), None).map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        assert!(error.to_string().contains("open for writing once"), "{error}");
    }
    assert_eq!(files.operation_count(), before, "nothing was written");
}

/// `track_and_verify_wals_in_manifest` lists logs, of which the recovered database needs none.
#[test]
fn a_listed_log_is_wanted_by_no_open_any_more() {
    let files = MemoryFileSystem::new();
    let with = |best_efforts: bool, files: &MemoryFileSystem| {
        let mut options = options(files, best_efforts);
        options.track_and_verify_wals_in_manifest = true;
        (options.create_if_missing, options.create_missing_column_families) = (true, true);
        let families = ["default", "other"].map(|name| (name.to_owned(), family(false))).into();
        Db::open_cf(PATH, options, families)
    };
    let (db, families) = with(false, &files).unwrap();
    families.iter().for_each(|family| db.put_cf(family, b"key", b"value", &WriteOptions::synced()).unwrap());
    db.flush_cf(&families[0], &FlushOptions::default()).unwrap();
    db.put_cf(&families[0], b"later", b"value", &WriteOptions::synced()).unwrap();
    let files = files.crash_clone(CrashPolicy::KeepAll);
    drop(db);
    let mut logs = files.children(Path::new(PATH)).unwrap();
    logs.retain(|name| name.ends_with(".log"));
    logs.sort();
    files.remove_file(&in_db(&logs[0])).unwrap();
    assert_eq!(with(false, &files).unwrap_err().kind(), ErrorKind::Corruption, "a listed log is missing");
    for best_efforts in [true, false] {
        let (db, families) = with(best_efforts, &files).unwrap();
        let held = families.iter().map(|family| rows_of(db.iter_cf(family, &ReadOptions::default())).len());
        assert_eq!(held.collect::<Vec<_>>(), [1, 0], "what was flushed");
        db.close().unwrap();
    }
}
