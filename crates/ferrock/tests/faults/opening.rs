//! Opening what cannot be opened: locked, missing, no database, no directory. Each error says what to do.

use crate::common::creating;
use crate::rig::{DIRECTORY, Rig};
use ferrock::{Db, DbOptions, ErrorKind};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const CHILD_DIRECTORY: &str = "FERROCK_FAULTS_TEST_DIRECTORY";

#[test]
fn a_second_opener_in_this_process_is_told_who_holds_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::open(directory.path(), creating()).unwrap();
    db.put(b"k", b"v").unwrap();
    for path in
        [directory.path().to_path_buf(), directory.path().join("../").join(directory.path().file_name().unwrap())]
    {
        let error = Db::open(path, creating()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        let text = error.to_string();
        assert!(text.contains("/LOCK: No locks available") && text.contains("lock hold by current process"), "{text}");
        assert!(text.contains("close the other opener, or open read-only"), "{text}");
    }
    // Reading beside the writer works, and takes no lock.
    let (reader, _) = Db::open_read_only(directory.path(), DbOptions::default(), None).unwrap();
    assert_eq!(reader.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    db.put(b"later", b"v").unwrap();
    assert!(reader.get(b"later").unwrap().is_none());
    db.close().unwrap();
    Db::open(directory.path(), creating()).unwrap();
    // The memory file system has locks too.
    let rig = Rig::new();
    let first = rig.open();
    assert_eq!(rig.try_open().unwrap_err().kind(), ErrorKind::Busy);
    drop(first);
    drop(rig.open());
}

/// Not a test by itself: the other process of the test below.
#[test]
fn child() {
    let Some(directory) = std::env::var_os(CHILD_DIRECTORY) else { return };
    let db = Db::open(Path::new(&directory), creating()).unwrap();
    db.put(b"child", b"was here").unwrap();
    println!("READY");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
}

#[test]
fn a_second_opener_in_another_process_is_told_who_holds_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "opening::child", "--nocapture", "--test-threads=1"]);
    command.env(CHILD_DIRECTORY, directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("READY") {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "the child ended");
    }
    let error = Db::open(directory.path(), creating()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("LOCK") && error.to_string().contains("process"), "{error}");
    let (reader, _) = Db::open_read_only(directory.path(), DbOptions::default(), None).unwrap();
    assert_eq!(reader.get(b"child").unwrap().as_deref(), Some(&b"was here"[..]));
    drop(reader);
    // A process that dies gives up its lock.
    child.kill().unwrap();
    child.wait().unwrap();
    let db = Db::open(directory.path(), creating()).unwrap();
    assert_eq!(db.get(b"child").unwrap().as_deref(), Some(&b"was here"[..]));
}

#[test]
fn a_missing_directory_is_not_created_unasked() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("a/b/missing");
    let error = Db::open(&missing, DbOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("a/b/missing") && text.contains("does not exist") && text.contains("create_if_missing"),
        "{text}"
    );
    assert!(!directory.path().join("a").exists());
    for families in [None, Some(vec![("default".to_owned(), ferrock::ColumnFamilyOptions::default())])] {
        let error = Db::open_read_only(&missing, DbOptions::default(), families).unwrap_err();
        assert!(error.to_string().contains("a/b/missing"), "{error}");
        assert!(!directory.path().join("a").exists());
    }
    Db::list_column_families(&missing, &DbOptions::default()).unwrap_err();
    Db::open(&missing, creating()).unwrap();
    assert!(missing.join("CURRENT").exists());
}

#[test]
fn a_directory_without_database_keeps_its_files() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("letter.txt"), b"dear").unwrap();
    std::fs::write(directory.path().join("000001.sst.bak"), b"x").unwrap();
    let error = Db::open(directory.path(), DbOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("create_if_missing"), "{error}");
    let error = Db::open_read_only(directory.path(), DbOptions::default(), None).unwrap_err();
    assert!(error.to_string().contains("CURRENT"), "{error}");
    Db::open(directory.path(), creating()).unwrap().close().unwrap();
    assert_eq!(std::fs::read(directory.path().join("letter.txt")).unwrap(), b"dear");
    assert_eq!(std::fs::read(directory.path().join("000001.sst.bak")).unwrap(), b"x");
}

#[test]
fn a_database_whose_current_is_gone_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let db = Db::open(path, creating()).unwrap();
    db.put(b"a", b"flushed").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"in the log").unwrap();
    db.close().unwrap();
    let current = std::fs::read(path.join("CURRENT")).unwrap();
    std::fs::remove_file(path.join("CURRENT")).unwrap();
    let files = || {
        let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.starts_with("LO")).collect::<std::collections::BTreeSet<_>>()
    };
    let before = files();
    // With the log or without it.
    for _ in 0..2 {
        let mut errors = vec![
            Db::open(path, creating()).unwrap_err(),
            Db::open(path, DbOptions::default()).unwrap_err(),
            Db::open_with_latest_options(path, creating()).map(drop).unwrap_err(),
            Db::open_read_only(path, creating(), None).map(drop).unwrap_err(),
            Db::list_column_families(path, &creating()).unwrap_err(),
        ];
        let families = vec![("default".to_owned(), ferrock::ColumnFamilyOptions::default())];
        errors.push(Db::open_read_only(path, creating(), Some(families)).map(drop).unwrap_err());
        for error in errors {
            assert!(error.is_corruption(), "{error}");
            let text = error.to_string();
            assert!(text.contains("CURRENT is missing") && text.contains("the line MANIFEST-"), "{text}");
        }
        for log in before.iter().filter(|name| name.ends_with(".log")) {
            let _ = std::fs::rename(path.join(log), path.join("kept"));
        }
    }
    let log = before.iter().find(|name| name.ends_with(".log")).unwrap();
    std::fs::rename(path.join("kept"), path.join(log)).unwrap();
    assert_eq!(files(), before);
    // What the error says to do.
    std::fs::write(path.join("CURRENT"), current).unwrap();
    let db = Db::open(path, creating()).unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"flushed"[..]));
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"in the log"[..]));
    drop(db);
    std::fs::remove_file(path.join("CURRENT")).unwrap();
    Db::destroy(path, &creating()).unwrap();
    assert!(Db::open(path, creating()).unwrap().get(b"a").unwrap().is_none());
}

#[test]
fn a_file_in_place_of_the_directory_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    let error = Db::open(&file, creating()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("file"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"x");
}

#[test]
fn an_existing_database_is_refused_when_asked_to() {
    let rig = Rig::new();
    drop(rig.open());
    let mut options = rig.options.clone();
    options.error_if_exists = true;
    let error = Db::open_cf(DIRECTORY, options, Rig::families()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("error_if_exists"), "{error}");
    drop(rig.open());
}
