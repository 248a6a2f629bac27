//! A failed sync: the kernel may have dropped the pages, so a later sync that succeeds proves nothing. Nothing is
//! written to that file any more, and nothing is acknowledged until `resume`.

use crate::rig::Rig;
use ferrock::{ErrorKind, WriteOptions};
use ferrock_vfs::{Fault, FaultRule, OperationKind, Trigger};

#[test]
fn a_failed_sync_of_the_log_sticks() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 20);
    // Once only: the next sync of the file would succeed, as Linux's does.
    let rule = FaultRule::new(OperationKind::Sync, "*.log", Fault::Io).when(Trigger::Nth(1));
    rig.faulty.add_rule(rule);
    let error = rig.put(&db).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    for _ in 0..3 {
        assert!(db.sync_wal().is_err(), "a later sync pretends that all is well");
        assert!(rig.put_with(&db, &WriteOptions::default()).is_err(), "writes go on after a failed sync");
        assert!(rig.put(&db).is_err());
    }
    assert!(db.background_error().is_some());
    rig.verify(&db, "after a failed sync");
    rig.verify_after_crash("after a failed sync");
    db.resume().unwrap();
    rig.put_many(&db, 20);
    db.sync_wal().unwrap();
    rig.verify(&db, "resumed");
    rig.verify_after_crash("resumed");
}

#[test]
fn a_failed_sync_by_hand_stops_writes_too() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 5);
    let unsynced = WriteOptions::default();
    rig.put_with(&db, &unsynced).unwrap();
    rig.faulty.add_rule(FaultRule::new(OperationKind::Sync, "*.log", Fault::Io).when(Trigger::Nth(1)));
    db.sync_wal().unwrap_err();
    assert!(db.sync_wal().is_err());
    assert!(rig.put_with(&db, &unsynced).is_err());
    rig.verify(&db, "after sync_wal failed");
    db.resume().unwrap();
    rig.put_with(&db, &unsynced).unwrap();
    db.sync_wal().unwrap();
    rig.verify_after_crash("resumed after sync_wal failed");
}

#[test]
fn a_failed_sync_of_a_closed_log_stops_the_flush_and_resume_replaces_it() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 5);
    rig.put_with(&db, &WriteOptions::default()).unwrap();
    // With two families a flush syncs the logs that were switched away from.
    rig.faulty.add_rule(FaultRule::new(OperationKind::Sync, "*.log", Fault::Io).when(Trigger::Nth(1)));
    let error = db.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(rig.put(&db).is_err());
    rig.verify(&db, "after the flush failed");
    db.resume().unwrap();
    rig.put_many(&db, 5);
    db.flush().unwrap();
    rig.verify(&db, "resumed");
    rig.verify_after_crash("resumed");
}

#[test]
fn a_failed_sync_of_manifest_or_table_is_not_trusted() {
    for path in ["MANIFEST-*", "*.sst"] {
        let mut rig = Rig::new();
        let db = rig.open();
        rig.put_many(&db, 40);
        rig.faulty.add_rule(FaultRule::new(OperationKind::Sync, path, Fault::Io).when(Trigger::Nth(1)));
        let error = db.flush().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{path}: {error}");
        assert!(rig.put(&db).is_err(), "{path}");
        rig.verify(&db, path);
        rig.verify_after_crash(path);
        db.resume().unwrap();
        rig.put_many(&db, 40);
        rig.verify(&db, path);
        rig.verify_after_crash(path);
        db.close().unwrap();
        rig.verify(&rig.open(), path);
    }
}
