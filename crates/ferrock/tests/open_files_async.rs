//! `open_files_async`: an open returns before its tables are opened.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and one waits for time"
)]

mod common;

use common::threads::{Gate, RecordingSpawner, Waiting, wait_until};
use ferrock::options::{DB_OPTIONS_WITHOUT_EFFECT, apply_text};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind};
use ferrock_base::thread::Spawner;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/db";
const TABLES: u64 = 20;

fn options(files: &MemoryFileSystem, gate: &Arc<Gate>) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.open_files_async = true;
    options.passthrough.set(DB_OPTIONS_WITHOUT_EFFECT, "skip_stats_update_on_db_open", "true").unwrap();
    options.max_file_opening_threads = 3;
    options.components.file_system = Some(Arc::new(files.clone()));
    options.components.spawner = Some(Arc::new(RecordingSpawner::behind(gate)) as Arc<dyn Spawner>);
    options
}

fn open(options: DbOptions) -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    Db::open_cf(PATH, options, vec![("default".to_owned(), family)]).unwrap().0
}

fn filled() -> (MemoryFileSystem, Arc<Gate>) {
    let (files, gate) = (MemoryFileSystem::new(), Arc::new(Gate::default()));
    let db = open(options(&files, &gate));
    for number in 0..TABLES {
        db.put(&number.to_be_bytes(), b"value").unwrap();
        db.flush().unwrap();
    }
    db.close().unwrap();
    (files, gate)
}

#[test]
fn an_open_does_not_wait_for_its_tables() {
    let (files, gate) = filled();
    gate.set(true);
    let before = files.counters().snapshot().opens;
    let mut with_option = options(&files, &gate);
    with_option.open_files_async = true;
    let db = open(with_option);
    let opens = files.counters().snapshot().opens - before;
    assert!(opens < TABLES, "{opens} opens");
    // A read opens what it needs.
    assert!(db.get(&3_u64.to_be_bytes()).unwrap().is_some());
    gate.open();
    wait_until("all tables are open", || files.counters().snapshot().opens - before >= TABLES);
    db.wait_for_background_work().unwrap();
    let opened = files.counters().snapshot().opens;
    for number in 0..TABLES {
        assert!(db.get(&number.to_be_bytes()).unwrap().is_some());
    }
    assert_eq!(files.counters().snapshot().opens, opened, "every table is open");
    db.close().unwrap();
}

/// Closing ends the threads: it does not wait for all tables.
#[test]
fn closing_ends_it() {
    let (files, gate) = filled();
    gate.set(true);
    let before = files.counters().snapshot().opens;
    let db = open(options(&files, &gate));
    // Closing comes first: it waits for the threads that open tables.
    let closing = Waiting::begin("closing", move || db.close());
    gate.open();
    closing.join().unwrap();
    let opens = files.counters().snapshot().opens - before;
    assert!(opens < TABLES, "{opens} opens");
}

/// What an open would have refused is a background error, and a read that needs the table says so.
#[test]
fn a_missing_table_is_a_background_error() {
    let (files, gate) = filled();
    let tables: Vec<String> =
        files.children(Path::new(PATH)).unwrap().into_iter().filter(|name| name.ends_with(".sst")).collect();
    let missing = &tables[5];
    files.remove_file(&Path::new(PATH).join(missing)).unwrap();
    let mut refused = options(&files, &gate);
    refused.open_files_async = false;
    assert!(Db::open(PATH, refused).unwrap_err().to_string().contains(missing.as_str()));
    let db = open(options(&files, &gate));
    wait_until("the error is noticed", || db.background_error().is_some());
    let error = db.background_error().unwrap();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains(missing.as_str()), "{error}");
    assert!(db.put(b"key", b"value").is_err());
    assert!(db.get(&0_u64.to_be_bytes()).unwrap().is_some() && db.get(&5_u64.to_be_bytes()).is_err());
    drop(db);
    let mut tolerant = options(&files, &gate);
    tolerant.paranoid_checks = false;
    let db = open(tolerant);
    db.wait_for_background_work().unwrap();
    assert!(db.background_error().is_none());
    db.put(b"key", b"value").unwrap();
}

#[test]
fn it_is_a_text_and_needs_its_neighbour() {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    apply_text(&mut db, &mut family, "open_files_async=true").unwrap();
    assert!(db.open_files_async);
    db.create_if_missing = true;
    db.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    let error = Db::open(PATH, db).unwrap_err().to_string();
    assert!(error.contains("skip_stats_update_on_db_open"), "{error}");
}
