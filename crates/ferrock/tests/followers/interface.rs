//! What a secondary refuses, and what is only a secondary's.

use ferrock::options::{ColumnFamilyOptions, DbOptions};
use ferrock::{Db, ErrorKind, ReadOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/db";

fn options(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

fn secondary(files: &MemoryFileSystem) -> Db {
    Db::open_as_secondary(PATH, "/secondary", options(files), None).unwrap().0
}

#[test]
fn nothing_is_changed_by_a_secondary() {
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options(&files)).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.put(b"key", b"2").unwrap();
    let listing = || {
        let mut names = files.children(Path::new(PATH)).unwrap();
        names.sort();
        names
    };
    let before = listing();
    let reader = secondary(&files);
    let error = reader.put(b"key", b"other").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    for outcome in [
        reader.flush(),
        reader.create_column_family("more", ColumnFamilyOptions::default()).map(drop),
        reader.compact_range(None, None),
        reader.delete(b"key"),
    ] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NotSupported);
    }
    // What the reader lets go of is not its own to remove.
    db.compact_range(None, None).unwrap();
    for _ in 0..3 {
        db.put(b"key", b"3").unwrap();
        db.flush().unwrap();
        reader.try_catch_up_with_primary().unwrap();
    }
    let held = db.iter(&ReadOptions::default());
    db.compact_range(None, None).unwrap();
    reader.try_catch_up_with_primary().unwrap();
    let (with_reader, _) = (listing(), drop(held));
    reader.close().unwrap();
    assert!(!before.is_empty() && with_reader.len() > 3);
    db.put(b"more", b"1").unwrap();
    db.close().unwrap();
    let db = Db::open(PATH, options(&files)).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"3"[..]));
    assert_eq!(db.get(b"more").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_snapshot_holds_the_view_where_tables_change() {
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options(&files)).unwrap();
    db.put(b"key", b"1").unwrap();
    let reader = secondary(&files);
    let snapshot = reader.snapshot();
    db.put(b"key", b"2").unwrap();
    reader.try_catch_up_with_primary().unwrap();
    assert_eq!(reader.get(b"key").unwrap().as_deref(), Some(&b"2"[..]));
    let then = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    let family = reader.default_column_family().unwrap();
    assert_eq!(reader.get_cf(&family, &then, b"key").unwrap().as_deref(), Some(&b"1"[..]));
    db.put(b"key", b"3").unwrap();
    db.flush().unwrap();
    assert_eq!(reader.try_catch_up_with_primary().unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(reader.get(b"key").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(reader.get_cf(&family, &then, b"key").unwrap().as_deref(), Some(&b"1"[..]));
    drop(then);
    reader.try_catch_up_with_primary().unwrap();
    assert_eq!(reader.get(b"key").unwrap().as_deref(), Some(&b"3"[..]));
}

#[test]
fn an_iterator_keeps_its_moment() {
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options(&files)).unwrap();
    db.put(b"key", b"1").unwrap();
    db.flush().unwrap();
    let reader = secondary(&files);
    let mut iter = reader.iter(&ReadOptions::default());
    db.put(b"key", b"2").unwrap();
    db.compact_range(None, None).unwrap();
    reader.try_catch_up_with_primary().unwrap();
    iter.seek_to_first();
    assert_eq!(iter.value(), b"1");
    assert_eq!(reader.get(b"key").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn only_a_secondary_catches_up_and_it_needs_a_directory() {
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options(&files)).unwrap();
    assert_eq!(db.try_catch_up_with_primary().unwrap_err().kind(), ErrorKind::NotSupported);
    let same = Db::open_as_secondary(PATH, PATH, options(&files), None);
    assert_eq!(same.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(Db::open_as_secondary("/nothing", "/secondary", options(&files), None).is_err());
    let missing = vec![("default".to_owned(), Default::default()), ("missing".to_owned(), Default::default())];
    assert!(Db::open_as_secondary(PATH, "/secondary", options(&files), Some(missing)).is_err());
}

#[test]
fn a_reader_that_wants_no_log_is_refused_where_there_is_one() {
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options(&files)).unwrap();
    db.put(b"key", b"1").unwrap();
    db.close().unwrap();
    let error = Db::open_read_only_without_logs(PATH, options(&files), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let logs: Vec<String> = files.children(Path::new(PATH)).unwrap();
    for log in logs.iter().filter(|name| name.ends_with(".log")) {
        assert!(error.to_string().contains(".log"), "{error}");
        files.remove_file(&Path::new(PATH).join(log)).unwrap();
    }
    Db::open_read_only_without_logs(PATH, options(&files), None).unwrap();
}
