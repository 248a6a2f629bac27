//! What `resume` promises: a change that failed is gone for good or was never in doubt, and what is acknowledged
//! afterwards does not hang on what a failed write left on the disk.

use crate::rig::{DIRECTORY, Rig, family_options};
use ferrock::{ColumnFamily, Db, DbOptions, ReadOptions, WriteBatch, WriteOptions};
use ferrock_vfs::{CrashPolicy, Fault, FaultRule, MemoryFileSystem, OperationKind, Trigger};
use std::sync::Arc;

fn open_clone(rig: &Rig, policy: CrashPolicy) -> (Db, Vec<ColumnFamily>) {
    open_files(rig, rig.memory.crash_clone(policy))
}

fn open_files(rig: &Rig, files: MemoryFileSystem) -> (Db, Vec<ColumnFamily>) {
    let mut options: DbOptions = rig.options.clone();
    options.create_if_missing = false;
    options.components.file_system = Some(Arc::new(files));
    let names = Db::list_column_families(DIRECTORY, &options).unwrap();
    let families = names.into_iter().map(|name| (name, family_options())).collect();
    Db::open_cf(DIRECTORY, options, families).unwrap()
}

fn fail_once(rig: &Rig, operation: OperationKind, path: &str) {
    rig.faulty.add_rule(FaultRule::new(operation, path, Fault::Io).when(Trigger::Nth(1)));
}

#[test]
fn a_failed_write_stays_gone_after_resume_with_empty_memtables_and_a_crash() {
    let mut rig = Rig::new();
    let db = rig.open();
    let family = db.default_column_family().unwrap();
    db.put_cf(&family, b"balance", b"100", &WriteOptions::synced()).unwrap();
    for family in db.column_families() {
        db.flush_cf(&family, &ferrock::FlushOptions::default()).unwrap();
    }
    fail_once(&rig, OperationKind::Sync, "*.log");
    db.put_cf(&family, b"balance", b"0", &WriteOptions::synced()).unwrap_err();
    db.resume().unwrap();
    let balance = |db: &Db| db.get(b"balance").unwrap().map(|value| value.to_vec());
    assert_eq!(balance(&db).as_deref(), Some(&b"100"[..]));
    let (crashed, _) = open_clone(&rig, CrashPolicy::KeepAll);
    assert_eq!(balance(&crashed).as_deref(), Some(&b"100"[..]), "right after resume");
    rig.put_many(&db, 10);
    for policy in [CrashPolicy::KeepAll, CrashPolicy::KeepNothingUnsynced] {
        let (crashed, _) = open_clone(&rig, policy);
        assert_eq!(balance(&crashed).as_deref(), Some(&b"100"[..]), "{policy:?}");
        let (later, value) = rig.acknowledged.first_key_value().unwrap();
        assert_eq!(crashed.get(later).unwrap().as_deref(), Some(&value[..]), "{policy:?}");
    }
}

#[test]
fn a_crash_within_resume_does_not_halve_a_failed_batch() {
    let rig = Rig::new();
    let db = rig.open();
    let second = db.column_family("second").unwrap();
    let mut before = WriteBatch::new();
    before.put(b"a", b"1").unwrap();
    before.put_cf(second.id(), b"b", b"1").unwrap();
    db.write(before, &WriteOptions::synced()).unwrap();
    fail_once(&rig, OperationKind::Sync, "*.log");
    let mut failed = WriteBatch::new();
    failed.put(b"a", b"2").unwrap();
    failed.put_cf(second.id(), b"b", b"2").unwrap();
    db.write(failed, &WriteOptions::synced()).unwrap_err();
    let clones: Arc<std::sync::Mutex<Vec<(String, MemoryFileSystem)>>> = Arc::default();
    let (taken, memory) = (Arc::clone(&clones), rig.memory.clone());
    rig.memory.set_operation_hook(Some(Arc::new(move |_, line: &str| {
        taken.lock().unwrap().push((line.to_owned(), memory.crash_clone(CrashPolicy::KeepAll)));
    })));
    db.resume().unwrap();
    rig.memory.set_operation_hook(None);
    let clones = std::mem::take(&mut *clones.lock().unwrap());
    assert!(clones.len() > 10);
    for (line, files) in clones {
        let (crashed, handles) = open_files(&rig, files);
        let of = |family: &ColumnFamily, key: &[u8]| {
            crashed.get_cf(family, &ReadOptions::default(), key).unwrap().map(|value| value.to_vec())
        };
        assert_eq!(of(&handles[0], b"a"), of(&handles[1], b"b"), "half of a batch, before {line}");
    }
}

#[test]
fn a_failed_drop_of_a_family_stops_writes_until_the_manifest_is_certain() {
    for operation in [OperationKind::Sync, OperationKind::Append] {
        let rig = Rig::new();
        let db = rig.open();
        let users = db.create_column_family("users", family_options()).unwrap();
        fail_once(&rig, operation, "MANIFEST-*");
        db.drop_column_family(&users).unwrap_err();
        assert!(db.background_error().is_some(), "{operation:?}");
        let synced = WriteOptions::synced();
        assert!(
            db.put_cf(&users, b"k", b"v", &synced).is_err(),
            "{operation:?}: acknowledged, and lost with the family"
        );
        db.resume().unwrap();
        db.put_cf(&users, b"k", b"v", &synced).unwrap();
        for policy in [CrashPolicy::KeepAll, CrashPolicy::KeepNothingUnsynced] {
            let (crashed, handles) = open_clone(&rig, policy);
            let users = handles.iter().find(|family| family.name() == "users").expect("the family is gone");
            assert!(
                crashed.get_cf(users, &ReadOptions::default(), b"k").unwrap().is_some(),
                "{operation:?} {policy:?}"
            );
        }
        db.drop_column_family(&users).unwrap();
        assert!(open_clone(&rig, CrashPolicy::KeepNothingUnsynced).0.column_family("users").is_none());
    }
}

#[test]
fn a_failed_creation_of_a_family_stops_writes_until_the_manifest_is_certain() {
    let mut rig = Rig::new();
    let db = rig.open();
    fail_once(&rig, OperationKind::Sync, "MANIFEST-*");
    db.create_column_family("users", family_options()).unwrap_err();
    assert!(db.column_family("users").is_none());
    assert!(rig.put(&db).is_err());
    db.resume().unwrap();
    rig.put_many(&db, 5);
    let (crashed, handles) = open_clone(&rig, CrashPolicy::KeepAll);
    assert_eq!(handles.len(), 2, "what resume declared gone is there");
    drop(crashed);
    db.create_column_family("users", family_options()).unwrap();
}

#[test]
fn a_drop_is_durable_although_the_logs_it_released_could_not_be_recorded() {
    let rig = Rig::new();
    let db = rig.open();
    let users = db.create_column_family("users", family_options()).unwrap();
    db.put_cf(&users, b"k", b"v", &WriteOptions::synced()).unwrap();
    for family in db.column_families().iter().take(2) {
        db.put_cf(family, b"k", b"v", &WriteOptions::synced()).unwrap();
        db.flush_cf(family, &ferrock::FlushOptions::default()).unwrap();
    }
    rig.faulty.add_rule(FaultRule::new(OperationKind::Sync, "MANIFEST-*", Fault::Io).when(Trigger::Nth(2)));
    let dropped = db.drop_column_family(&users);
    assert!(dropped.is_ok() || db.column_family("users").is_some(), "{dropped:?}");
    assert!(open_clone(&rig, CrashPolicy::KeepNothingUnsynced).0.column_family("users").is_none());
}

#[test]
fn a_sync_by_hand_does_not_vouch_for_a_log_that_failed_before_resume_succeeded() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 2);
    rig.put_with(&db, &WriteOptions::default()).unwrap();
    fail_once(&rig, OperationKind::Append, "*.log");
    rig.put_with(&db, &WriteOptions::default()).unwrap_err();
    fail_once(&rig, OperationKind::Create, "*.sst");
    db.resume().unwrap_err();
    // The new log is whole; what the failed one holds is on no disk.
    assert!(db.sync_wal().is_err());
    db.resume().unwrap();
    db.sync_wal().unwrap();
    rig.verify_after_crash("synced");
}
