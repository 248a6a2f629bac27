//! Logs in a directory of their own: written, read, removed there, and never left unread.

use super::{count, fill, names, options_in};
use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, Error, ErrorKind};
use ferrock_vfs::{CrashPolicy, MemoryFileSystem};
use ferrock_vfs::{FileSystem, read_file, write_file_synced};
use std::path::Path;
use std::sync::Arc;

const DB: &str = "/data/db";
const LOGS: &str = "/logs/of/db";

fn new_file_system() -> Arc<MemoryFileSystem> {
    Arc::new(MemoryFileSystem::new())
}

fn with_wal_dir(file_system: &Arc<MemoryFileSystem>, directory: &str) -> DbOptions {
    let mut options = options_in(file_system);
    options.wal_dir = directory.to_owned();
    options
}

/// A database with 100 keys in its log alone.
fn with_unflushed_keys(directory: &str) -> Arc<MemoryFileSystem> {
    let file_system = new_file_system();
    fill(&Db::open(DB, with_wal_dir(&file_system, directory)).unwrap(), 0..100);
    file_system
}

/// Every way to open the database without saying where its logs are.
fn open_in_every_way(file_system: &Arc<MemoryFileSystem>, check: impl Fn(&str, Result<Db, Error>)) {
    let options = || options_in(file_system);
    let families = || vec![("default".to_owned(), ColumnFamilyOptions::default())];
    check("open_read_only of families", Db::open_read_only(DB, options(), Some(families())).map(|(db, _)| db));
    check("open_read_only", Db::open_read_only(DB, options(), None).map(|(db, _)| db));
    check("open", Db::open(DB, options()));
    check("open_cf", Db::open_cf(DB, options(), families()).map(|(db, _)| db));
    check("open_with_latest_options", Db::open_with_latest_options(DB, options()).map(|(db, _)| db));
}

fn listing(file_system: &MemoryFileSystem) -> Vec<String> {
    let mut all = Vec::new();
    for directory in [DB, LOGS] {
        let names = file_system.children(Path::new(directory)).unwrap_or_default();
        all.extend(names.into_iter().filter(|name| !name.starts_with("LO")).map(|name| format!("{directory}/{name}")));
    }
    all.sort();
    all
}

fn copy(file_system: &MemoryFileSystem, from: &str, to: &str) {
    file_system.create_dir_all(Path::new(to)).unwrap();
    for name in file_system.children(Path::new(from)).unwrap() {
        if name != "LOCK" && !name.starts_with("LOG") {
            let content = read_file(file_system, &Path::new(from).join(&name)).unwrap();
            write_file_synced(file_system, &Path::new(to).join(&name), &content).unwrap();
        }
    }
}

fn remove_logs(file_system: &MemoryFileSystem, directory: &str) {
    for name in names(file_system, directory, ".log") {
        file_system.remove_file(&Path::new(directory).join(name)).unwrap();
    }
}

#[test]
fn logs_lie_in_wal_dir_and_go_from_there() {
    let file_system = with_unflushed_keys(LOGS);
    assert_eq!(names(&file_system, DB, ".log"), [""; 0]);
    assert_eq!(names(&file_system, LOGS, ".log").len(), 1);
    let mut options = options_in(&file_system);
    options.wal_dir = LOGS.to_owned();
    let db = Db::open(DB, options).unwrap();
    assert_eq!(count(&db), 100);
    for round in 1..4 {
        fill(&db, 100 * round..100 * (round + 1));
        db.flush().unwrap();
    }
    drop(db);
    assert_eq!(names(&file_system, LOGS, ".log").len(), 1);
    assert_eq!(names(&file_system, DB, ".log"), [""; 0]);
    let (db, _) = Db::open_with_latest_options(DB, options_in(&file_system)).unwrap();
    assert_eq!(count(&db), 400);
    drop(db);
    let (db, _) = Db::open_read_only(DB, options_in(&file_system), None).unwrap();
    assert_eq!(count(&db), 400);
}

#[test]
fn an_open_that_would_not_read_the_logs_is_refused_and_changes_nothing() {
    let file_system = with_unflushed_keys(LOGS);
    let before = listing(&file_system);
    open_in_every_way(&file_system, |how, opened| {
        if matches!(how, "open_read_only" | "open_with_latest_options") {
            return assert_eq!(count(&opened.unwrap()), 100, "{how}");
        }
        let error = opened.expect_err(how);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{how}: {error}");
        assert!(error.message().contains("set wal_dir to /logs/of/db"), "{how}: {error}");
        assert_eq!(listing(&file_system), before, "{how}");
    });
    let file_system = with_unflushed_keys(LOGS);
    let error = Db::open(DB, with_wal_dir(&file_system, "/elsewhere")).unwrap_err();
    assert!(error.message().contains("lie in /logs/of/db"), "{error}");
}

#[test]
fn a_database_that_gets_a_wal_dir_keeps_what_its_own_directory_has() {
    let file_system = with_unflushed_keys("");
    let error = Db::open(DB, with_wal_dir(&file_system, LOGS)).unwrap_err();
    assert!(error.message().contains("lie in /data/db"), "{error}");
    // An empty log is none: after a flush the directory may change, there and back.
    let db = Db::open(DB, options_in(&file_system)).unwrap();
    db.flush().unwrap();
    drop(db);
    let db = Db::open(DB, with_wal_dir(&file_system, LOGS)).unwrap();
    assert_eq!(count(&db), 100);
    drop(db);
    assert_eq!(names(&file_system, DB, ".log"), [""; 0]);
    let db = Db::open(DB, options_in(&file_system)).unwrap();
    assert_eq!(count(&db), 100);
    drop(db);
    assert_eq!(names(&file_system, DB, ".log").len(), 1);
}

#[test]
fn a_log_directory_that_is_gone_or_empty_is_refused() {
    for is_there in [true, false] {
        let file_system = with_unflushed_keys(LOGS);
        remove_logs(&file_system, LOGS);
        if !is_there {
            file_system.remove_dir(Path::new(LOGS)).unwrap();
        }
        let before = listing(&file_system);
        let check = |how: &str, opened: Result<Db, Error>| {
            let error = opened.expect_err(how);
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{how}: {error}");
            assert!(error.message().contains("wal_dir not found: /logs/of/db, which OPTIONS-"), "{how}: {error}");
            assert_eq!(listing(&file_system), before, "{how}");
        };
        open_in_every_way(&file_system, check);
        check("named", Db::open(DB, with_wal_dir(&file_system, LOGS)));
        let mut salvage = with_wal_dir(&file_system, LOGS);
        salvage.wal_recovery_mode = WalRecoveryMode::SkipAnyCorruptedRecords;
        let db = Db::open(DB, salvage).unwrap();
        assert_eq!(count(&db), 0);
        assert!(db.option_notes()[0].contains("wal_dir not found"), "{:?}", db.option_notes());
    }
}

#[test]
fn logs_beside_the_tables_that_were_never_read_stay() {
    // RocksDB opens with whatever wal_dir it is given, and leaves the logs of the time before and after apart.
    let file_system = with_unflushed_keys(LOGS);
    let log = names(&file_system, LOGS, ".log").pop().unwrap();
    let content = read_file(&*file_system, &Path::new(LOGS).join(log)).unwrap();
    write_file_synced(&*file_system, &Path::new(DB).join("000900.log"), &content).unwrap();
    write_file_synced(&*file_system, &Path::new(DB).join("000901.log"), b"").unwrap();
    for round in 0..3 {
        let db = Db::open(DB, with_wal_dir(&file_system, LOGS)).unwrap();
        assert_eq!(count(&db), 100);
        if round == 0 {
            assert!(db.option_notes().iter().any(|note| note.contains("are not read")), "{:?}", db.option_notes());
        }
        fill(&db, 0..100);
        db.flush().unwrap();
        drop(db);
        assert!(names(&file_system, DB, ".log").contains(&"000900.log".to_owned()));
    }
    assert_eq!(names(&file_system, DB, ".log"), ["000900.log"], "what holds nothing goes");
}

#[test]
fn a_copy_reads_its_own_logs() {
    // All files beside each other in another place; the OPTIONS file still names the first.
    let file_system = with_unflushed_keys(LOGS);
    copy(&file_system, DB, "/copy");
    copy(&file_system, LOGS, "/copy");
    let mut options = options_in(&file_system);
    let error = Db::open_with_latest_options("/copy", options.clone()).unwrap_err();
    assert!(error.message().contains("both hold logs"), "{error}");
    assert!(Db::open("/copy", options.clone()).unwrap_err().message().contains("both hold logs"));
    options.wal_dir = "/copy".to_owned();
    let db = Db::open("/copy", options.clone()).unwrap();
    assert_eq!(count(&db), 100);
    drop(db);
    assert_eq!(names(&file_system, LOGS, ".log").len(), 1, "the logs of the first stay");

    // The first is gone.
    let file_system = with_unflushed_keys(LOGS);
    copy(&file_system, DB, "/copy");
    copy(&file_system, LOGS, "/copy");
    remove_logs(&file_system, LOGS);
    let (db, _) = Db::open_with_latest_options("/copy", options_in(&file_system)).unwrap();
    assert_eq!(count(&db), 100);
}

#[test]
fn a_database_that_was_renamed_needs_no_options() {
    // Older releases of RocksDB write the database's own directory as wal_dir.
    let file_system = with_unflushed_keys("");
    let options = names(&file_system, DB, "").into_iter().find(|name| name.starts_with("OPTIONS-")).unwrap();
    let options = Path::new(DB).join(options);
    let text = String::from_utf8(read_file(&*file_system, &options).unwrap()).unwrap();
    for old_home in ["/home/of/old", "/living"] {
        let text = text.replace("wal_dir=", &format!("wal_dir={old_home}"));
        write_file_synced(&*file_system, &options, text.as_bytes()).unwrap();
        copy(&file_system, DB, "/living");
        let (db, _) = Db::open_read_only(DB, options_in(&file_system), None).unwrap();
        assert_eq!(count(&db), 100, "{old_home}");
        let (db, _) = Db::open_read_only(
            DB,
            options_in(&file_system),
            Some(vec![("default".to_owned(), ColumnFamilyOptions::default())]),
        )
        .unwrap();
        assert_eq!(count(&db), 100, "{old_home}");
    }
}

#[test]
fn the_logs_of_another_database_are_never_taken() {
    let file_system = with_unflushed_keys(LOGS);
    let error = Db::open("/other", with_wal_dir(&file_system, LOGS)).unwrap_err();
    assert!(error.message().contains("While creating a new Db, wal_dir contains existing log file"), "{error}");
    drop(Db::open("/third", options_in(&file_system)).unwrap());
    let error = Db::open(DB, with_wal_dir(&file_system, "/third")).unwrap_err();
    assert!(error.message().contains("wal_dir is the directory of another database"), "{error}");
}

#[test]
fn destroying_removes_logs_where_the_options_say() {
    let file_system = with_unflushed_keys(LOGS);
    Db::destroy(DB, &with_wal_dir(&file_system, LOGS)).unwrap();
    assert!(!file_system.exists(Path::new(LOGS)).unwrap() && !file_system.exists(Path::new(DB)).unwrap());
    let file_system = with_unflushed_keys(LOGS);
    Db::destroy(DB, &options_in(&file_system)).unwrap();
    assert_eq!(names(&file_system, LOGS, ".log").len(), 1);
}

#[test]
fn a_power_failure_leaves_a_directory_that_opens() {
    let file_system = new_file_system();
    let db = Db::open(DB, with_wal_dir(&file_system, LOGS)).unwrap();
    for round in 1..4 {
        fill(&db, 100 * (round - 1)..100 * round);
        db.flush().unwrap();
        // The flush removed a log; the name of the next one must not be lost with that.
        for seed in 0..40 {
            let after = Arc::new(file_system.crash_clone(CrashPolicy::KeepSubset { seed }));
            let opened = Db::open(DB, with_wal_dir(&after, LOGS));
            assert_eq!(count(&opened.unwrap_or_else(|error| panic!("seed {seed}: {error}"))), 100 * round as usize);
        }
    }
}
