//! A disk that is full at every kind of operation: the error says what to do, reads go on, nothing acknowledged is
//! lost, and when there is space again `resume` leads back to writing.

use crate::rig::Rig;
use ferrock::{Error, ErrorKind, WriteBatch, WriteOptions};
use ferrock_vfs::{Fault, FaultRule, OperationKind};

/// Writes, flushes and compacts until something fails.
fn provoke(rig: &mut Rig, db: &ferrock::Db) -> Error {
    for round in 0..10 {
        for _ in 0..40 {
            if let Err(error) = rig.put(db) {
                return error;
            }
        }
        if let Err(error) = db.flush().and_then(|()| db.wait_for_background_work()) {
            return error;
        }
        if round % 3 == 2
            && let Err(error) = db.compact_range(None, None)
        {
            return error;
        }
    }
    panic!("nothing failed");
}

fn stall_and_resume(operation: OperationKind, path: &str, fault: Fault) {
    let what = format!("{operation:?} {path} {fault:?}");
    let mut rig = Rig::new();
    // A small MANIFEST is replaced often, so that CURRENT is renamed.
    rig.options.max_manifest_file_size = 1000;
    rig.options.max_manifest_space_amp_pct = 0;
    let db = rig.open();
    rig.put_many(&db, 100);
    db.flush().unwrap();
    rig.put_many(&db, 20);
    let rule = rig.faulty.add_rule(FaultRule::new(operation, path, fault));
    let error = provoke(&mut rig, &db);
    assert!(rig.faulty.fired(rule).unwrap() > 0, "{what}");
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{what}: {error}");
    assert!(error.to_string().contains("free space"), "{what}: {error}");

    let standing = db.background_error().unwrap_or_else(|| panic!("{what}: no background error"));
    assert_eq!(standing.kind(), ErrorKind::NoSpace, "{what}: {standing}");
    assert_eq!(db.property("background-errors").unwrap().parse::<u64>().unwrap().min(1), 1);
    let refused = rig.put(&db).unwrap_err();
    assert!(refused.to_string().contains("resume or reopen"), "{what}: {refused}");
    rig.verify(&db, &what);
    rig.verify_after_crash(&what);
    // The cause is still there: the state stays, or (resume writes no record to the log) the next write brings it back.
    let still = db.resume().and_then(|()| rig.put(&db)).unwrap_err();
    assert_eq!(still.kind(), ErrorKind::NoSpace, "{what}: {still}");
    assert!(rig.put(&db).is_err(), "{what}: writes before the cause is gone");
    rig.verify(&db, &what);
    rig.verify_after_crash(&what);

    rig.faulty.clear_rules();
    db.resume().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(db.background_error().is_none(), "{what}");
    rig.put_many(&db, 120);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
    rig.verify(&db, &format!("{what}, resumed"));
    rig.verify_after_crash(&format!("{what}, resumed"));
    db.close().unwrap();
    rig.verify(&rig.open(), &format!("{what}, reopened"));
}

#[test]
fn at_the_log() {
    stall_and_resume(OperationKind::Append, "*.log", Fault::NoSpace);
    stall_and_resume(OperationKind::Append, "*.log", Fault::ShortWrite { kept_bytes: 17 });
    stall_and_resume(OperationKind::Sync, "*.log", Fault::NoSpace);
    stall_and_resume(OperationKind::Create, "*.log", Fault::NoSpace);
}

#[test]
fn at_a_table() {
    stall_and_resume(OperationKind::Create, "*.sst", Fault::NoSpace);
    stall_and_resume(OperationKind::Append, "*.sst", Fault::NoSpace);
    stall_and_resume(OperationKind::Append, "*.sst", Fault::ShortWrite { kept_bytes: 100 });
    stall_and_resume(OperationKind::Sync, "*.sst", Fault::NoSpace);
}

#[test]
fn at_the_manifest() {
    stall_and_resume(OperationKind::Append, "MANIFEST-*", Fault::NoSpace);
    stall_and_resume(OperationKind::Append, "MANIFEST-*", Fault::ShortWrite { kept_bytes: 9 });
    stall_and_resume(OperationKind::Sync, "MANIFEST-*", Fault::NoSpace);
    stall_and_resume(OperationKind::Create, "MANIFEST-*", Fault::NoSpace);
}

#[test]
fn at_current() {
    stall_and_resume(OperationKind::Rename, "CURRENT", Fault::NoSpace);
    stall_and_resume(OperationKind::Create, "*.dbtmp", Fault::NoSpace);
    stall_and_resume(OperationKind::Sync, "*.dbtmp", Fault::NoSpace);
    stall_and_resume(OperationKind::SyncDir, "db", Fault::NoSpace);
}

#[test]
fn at_everything() {
    stall_and_resume(OperationKind::Append, "*", Fault::NoSpace);
    stall_and_resume(OperationKind::Create, "*", Fault::NoSpace);
}

#[test]
fn at_the_options_file_a_change_fails_and_writes_go_on() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 10);
    rig.faulty.add_rule(FaultRule::new(OperationKind::Append, "OPTIONS-*", Fault::NoSpace));
    let error = db.set_db_options(&[("delayed_write_rate", "1048576")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    rig.put_many(&db, 10);
    rig.faulty.clear_rules();
    db.set_db_options(&[("delayed_write_rate", "2097152")]).unwrap();
    rig.verify(&db, "after options");
    db.close().unwrap();
    rig.verify(&rig.open(), "reopened");
}

#[test]
fn at_open_nothing_is_lost_and_the_next_open_works() {
    for (operation, path) in [
        (OperationKind::Create, "*.log"),
        (OperationKind::Append, "*.sst"),
        (OperationKind::Append, "MANIFEST-*"),
        (OperationKind::Sync, "MANIFEST-*"),
        (OperationKind::Rename, "CURRENT"),
        (OperationKind::Append, "OPTIONS-*"),
        (OperationKind::Append, "*"),
        (OperationKind::Create, "*"),
    ] {
        let what = format!("opening, {operation:?} {path}");
        let mut rig = Rig::new();
        let db = rig.open();
        rig.put_many(&db, 30);
        db.flush().unwrap();
        rig.put_many(&db, 30);
        db.close().unwrap();
        rig.faulty.add_rule(FaultRule::new(operation, path, Fault::NoSpace));
        for _ in 0..3 {
            let error = rig.try_open().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{what}: {error}");
            assert!(error.to_string().contains("free space"), "{what}: {error}");
        }
        rig.verify_after_crash(&what);
        rig.faulty.clear_rules();
        rig.verify(&rig.open(), &what);
    }
}

#[test]
fn a_family_that_cannot_be_created_is_not_there() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 10);
    rig.faulty.add_rule(FaultRule::new(OperationKind::Append, "MANIFEST-*", Fault::NoSpace));
    let error = db.create_column_family("third", crate::rig::family_options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert!(db.column_family("third").is_none());
    rig.faulty.clear_rules();
    db.resume().unwrap();
    rig.put_many(&db, 10);
    let third = db.create_column_family("third", crate::rig::family_options()).unwrap();
    db.put_cf(&third, b"k", b"v", &WriteOptions::synced()).unwrap();
    rig.verify(&db, "after the family");
    drop((db, third));
    let mut families = Rig::families();
    families.push(("third".to_owned(), crate::rig::family_options()));
    let (db, handles) = ferrock::Db::open_cf(crate::rig::DIRECTORY, rig.options.clone(), families).unwrap();
    assert_eq!(db.get_cf(&handles[2], &ferrock::ReadOptions::default(), b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn a_write_that_failed_is_not_visible() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 5);
    for (operation, fault) in [(OperationKind::Append, Fault::NoSpace), (OperationKind::Sync, Fault::NoSpace)] {
        rig.faulty.add_rule(FaultRule::new(operation, "*.log", fault));
        let mut batch = WriteBatch::new();
        batch.put(b"never", b"acknowledged").unwrap();
        db.write(batch, &WriteOptions::synced()).unwrap_err();
        assert!(db.get(b"never").unwrap().is_none());
        rig.faulty.clear_rules();
        db.resume().unwrap();
        assert!(db.get(b"never").unwrap().is_none(), "{operation:?}: it came back");
        rig.put_many(&db, 5);
        db.flush().unwrap();
        assert!(db.get(b"never").unwrap().is_none(), "{operation:?}: it came back");
    }
    db.close().unwrap();
    let db = rig.open();
    assert!(db.get(b"never").unwrap().is_none(), "it came back with the log");
    rig.verify(&db, "reopened");
}
