//! A flush, and a drop, is one record of the MANIFEST: whatever it lets go of, it vouches for.
//!
//! The newest sequence numbers of a log need not be in any table. The log behind it says that they were written, so a
//! crash (or a full disk) between "the log is not needed" and "everything up to here is accounted for" would make
//! recovery take that log for one that misses records, and synced writes in it for lost.

use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, FlushOptions, WriteOptions};
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATH: &str = "/data/db";
const SYNCED: usize = 40;

/// The last writes of the log that is let go.
#[derive(Clone, Copy, Debug)]
enum Last {
    Put,
    /// A put and a single delete that meet in the flush: their numbers are in no table.
    PutAndSingleDelete,
    /// Takes a number and writes nothing.
    EmptyRange,
    /// Records of a family that is gone.
    DroppedFamily,
    /// Nothing that a flush would write a table for.
    EmptyRangeAlone,
}

const ALL: [Last; 5] =
    [Last::Put, Last::PutAndSingleDelete, Last::EmptyRange, Last::DroppedFamily, Last::EmptyRangeAlone];

fn new_file_system() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    files.sync_dir(Path::new("/")).unwrap();
    files
}

fn open(files: Arc<dyn FileSystem>, mode: WalRecoveryMode) -> Result<Db, ferrock::Error> {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.wal_recovery_mode = mode;
    options.components.file_system = Some(files);
    let names = Db::list_column_families(PATH, &options).unwrap_or_else(|_| vec!["default".to_owned()]);
    let families = names.into_iter().map(|name| (name, ColumnFamilyOptions::default())).collect();
    Db::open_cf(PATH, options, families).map(|(db, _)| db)
}

fn write_last(db: &Db, last: Last) {
    if !matches!(last, Last::EmptyRangeAlone) {
        db.put(b"old", b"value").unwrap();
    }
    match last {
        Last::Put => {}
        Last::PutAndSingleDelete => {
            db.put(b"queue", b"job").unwrap();
            db.single_delete(b"queue").unwrap();
        }
        Last::EmptyRange | Last::EmptyRangeAlone => db.delete_range(b"x", b"x").unwrap(),
        Last::DroppedFamily => {
            let family = db.create_column_family("short-lived", ColumnFamilyOptions::default()).unwrap();
            db.put_cf(&family, b"key", b"value", &WriteOptions::default()).unwrap();
            db.drop_column_family(&family).unwrap();
        }
    }
}

fn write_synced(db: &Db) {
    let family = db.default_column_family().unwrap();
    for index in 0..SYNCED {
        db.put_cf(&family, format!("synced{index}").as_bytes(), b"value", &WriteOptions::synced()).unwrap();
    }
}

fn check(what: &str, files: &MemoryFileSystem) {
    for mode in WalRecoveryMode::ALL {
        let clone = files.crash_clone(CrashPolicy::KeepAll);
        let db = open(Arc::new(clone), mode).unwrap_or_else(|error| panic!("{what}, {mode:?}: {error}"));
        let is_there = |index: &usize| db.get(format!("synced{index}").as_bytes()).unwrap().is_some();
        let found = (0..SYNCED).filter(is_there).count();
        assert_eq!(found, SYNCED, "{what}, {mode:?}: synced writes that are there");
    }
}

/// Clones of the files before each operation, as kind and hostile disks would leave them.
type Clones = Arc<Mutex<Vec<(String, CrashPolicy, MemoryFileSystem)>>>;

fn take_clones(files: &MemoryFileSystem, line: &str, clones: &Clones) {
    for policy in [CrashPolicy::KeepAll, CrashPolicy::KeepNothingUnsynced] {
        clones.lock().unwrap().push((line.to_owned(), policy, files.crash_clone(policy)));
    }
}

/// Holds the first thread that creates a table until it is let go.
fn hold_first_table(files: &MemoryFileSystem, clones: Option<Clones>) -> (Receiver<()>, Sender<()>) {
    let (arrived, wait_for_arrival) = channel();
    let (let_go, wait_for_release) = channel();
    let gate = Mutex::new(Some((arrived, wait_for_release)));
    let handle = files.clone();
    files.set_operation_hook(Some(Arc::new(move |_, line| {
        let is_table = line.starts_with("create ") && line.ends_with(".sst");
        // The lock is given up before the wait.
        let held = if is_table { gate.lock().unwrap().take() } else { None };
        if let Some((arrived, released)) = held {
            arrived.send(()).unwrap();
            released.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        if gate.lock().unwrap().is_none()
            && let Some(clones) = &clones
            && !line.contains("LOG")
        {
            take_clones(&handle, line, clones);
        }
    })));
    (wait_for_arrival, let_go)
}

/// Writes what is let go, begins its flush, and writes synced records to the next log meanwhile. False when the
/// database takes no writes any more.
fn flush_beside_synced_writes(db: &Db, last: Last, files: &MemoryFileSystem, clones: Option<Clones>) -> bool {
    write_last(db, last);
    let family = db.default_column_family().unwrap();
    if matches!(last, Last::EmptyRangeAlone) {
        // Nothing is flushed: the log is let go of when it is switched away from.
        if db.flush_cf(&family, &FlushOptions::default()).is_err() {
            return false;
        }
        write_synced(db);
        if let Some(clones) = clones {
            let handle = files.clone();
            files.set_operation_hook(Some(Arc::new(move |_, line| take_clones(&handle, line, &clones))));
        }
        let _ = db.flush_cf(&family, &FlushOptions::default());
        return true;
    }
    let (arrived, let_go) = hold_first_table(files, clones.clone());
    db.flush_cf(&family, &FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
    arrived.recv_timeout(Duration::from_secs(60)).unwrap();
    write_synced(db);
    // Those of before are without all of the writes.
    clones.inspect(|clones| clones.lock().unwrap().clear());
    let_go.send(()).unwrap();
    true
}

#[test]
fn a_crash_anywhere_in_a_flush_loses_no_synced_write() {
    for last in ALL {
        let files = new_file_system();
        let clones = Clones::default();
        let db = open(Arc::new(files.clone()), WalRecoveryMode::PointInTimeRecovery).unwrap();
        flush_beside_synced_writes(&db, last, &files, Some(Arc::clone(&clones)));
        db.wait_for_background_work().unwrap();
        files.set_operation_hook(None);
        let clones = std::mem::take(&mut *clones.lock().unwrap());
        assert!(clones.iter().any(|(line, ..)| line.starts_with("append MANIFEST")));
        for (line, policy, clone) in clones {
            check(&format!("{last:?}: crash before `{line}`, {policy:?}"), &clone);
        }
    }
}

#[test]
fn no_space_for_the_record_of_a_flush_loses_no_synced_write() {
    for last in ALL {
        for nth in 1..=3 {
            let files = new_file_system();
            let faults = FaultInjectionFileSystem::new(Arc::new(files.clone()));
            let db = open(Arc::new(faults.clone()), WalRecoveryMode::PointInTimeRecovery).unwrap();
            if matches!(last, Last::DroppedFamily) {
                // Creating and dropping the family has records of its own.
                write_last(&db, last);
            }
            let rule = FaultRule::new(OperationKind::Append, "MANIFEST-*", Fault::NoSpace).when(Trigger::Nth(nth));
            faults.add_rule(rule);
            let rest = if matches!(last, Last::DroppedFamily) { Last::EmptyRange } else { last };
            let is_written = flush_beside_synced_writes(&db, rest, &files, None);
            let _ = db.wait_for_background_work();
            files.set_operation_hook(None);
            faults.clear_rules();
            let _ = db.close();
            if !is_written {
                continue;
            }
            check(&format!("{last:?}: append {nth} to the MANIFEST finds no space"), &files);
        }
    }
}

#[test]
fn a_crash_anywhere_in_a_drop_loses_no_synced_write_of_other_families() {
    let files = new_file_system();
    let clones = Clones::default();
    let db = open(Arc::new(files.clone()), WalRecoveryMode::PointInTimeRecovery).unwrap();
    let pinning = db.create_column_family("pinning", ColumnFamilyOptions::default()).unwrap();
    db.put(b"old", b"value").unwrap();
    // The newest number of the first log is of the family that keeps it.
    db.put_cf(&pinning, b"key", b"value", &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    write_synced(&db);
    let (handle, taken) = (files.clone(), Arc::clone(&clones));
    files.set_operation_hook(Some(Arc::new(move |_, line| take_clones(&handle, line, &taken))));
    db.drop_column_family(&pinning).unwrap();
    files.set_operation_hook(None);
    let clones = std::mem::take(&mut *clones.lock().unwrap());
    assert!(clones.iter().any(|(line, ..)| line.starts_with("append MANIFEST")));
    assert!(clones.iter().any(|(line, ..)| line.starts_with("remove") && line.ends_with(".log")), "the log goes");
    for (line, policy, clone) in clones {
        check(&format!("crash before `{line}`, {policy:?}"), &clone);
    }
}
