//! Disks that lie: bits that change on the way, writes that are lost, reads that come short; and background errors of
//! the kinds that `resume` cures and that it does not.

use crate::rig::{DIRECTORY, Rig};
use ferrock::{Db, Error, ErrorKind, ReadOptions, WriteOptions};
use ferrock_vfs::{Fault, FaultRule, OperationKind, Trigger};
use parking_lot::Mutex;
use std::sync::Arc;

/// Every value read is right, or the read fails with an error that names a table.
fn read_all(rig: &Rig, db: &Db) -> Vec<Error> {
    let mut errors = Vec::new();
    for family in db.column_families() {
        let options = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        for (key, value) in &rig.acknowledged {
            match db.get_cf(&family, &options, key) {
                Ok(got) => assert_eq!(got.as_deref(), Some(&value[..]), "a wrong value"),
                Err(error) => errors.push(error),
            }
        }
        let mut iter = db.iter_cf(&family, &options);
        iter.seek_to_first();
        while iter.valid() {
            assert_eq!(rig.acknowledged.get(iter.key()).map(|value| &value[..]), Some(iter.value()), "a wrong value");
            iter.next();
        }
        errors.extend(iter.status().err());
    }
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains(".sst"), "{error}");
    }
    errors
}

fn flushed_rig() -> (Rig, Db) {
    let mut rig = Rig::new();
    rig.options.components.block_cache = Some(ferrock_table::TableBlockCache::new(ferrock_cache::CacheOptions {
        capacity_bytes: 1 << 10,
        shard_bits: Some(0),
        ..ferrock_cache::CacheOptions::default()
    }));
    let db = rig.open();
    rig.put_many(&db, 60);
    for family in db.column_families() {
        db.flush_cf(&family, &ferrock::FlushOptions::default()).unwrap();
    }
    (rig, db)
}

#[test]
fn a_bit_that_flips_on_reading_is_detected_and_passes() {
    let (rig, db) = flushed_rig();
    for seed in 0..40 {
        rig.faulty.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::BitFlip { seed }));
        let errors = read_all(&rig, &db);
        assert!(!errors.is_empty(), "seed {seed}: no flip was detected");
        assert!(errors.iter().all(|error| error.offset().is_some()), "{}", errors[0]);
        rig.faulty.clear_rules();
    }
    // What was damaged on the way was not kept.
    assert!(read_all(&rig, &db).is_empty());
    rig.verify(&db, "after the flips");
}

#[test]
fn a_short_read_is_detected() {
    let (rig, db) = flushed_rig();
    for kept_bytes in [0, 1, 100] {
        rig.faulty.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::ShortRead { kept_bytes }));
        assert!(!read_all(&rig, &db).is_empty());
        rig.faulty.clear_rules();
    }
    rig.verify(&db, "after short reads");
}

#[test]
fn a_read_error_is_reported_and_passes() {
    let (rig, db) = flushed_rig();
    rig.faulty.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::Io));
    let (key, _) = rig.acknowledged.first_key_value().unwrap();
    let error = db.get(key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains(".sst"), "{error}");
    rig.faulty.clear_rules();
    rig.verify(&db, "after read errors");
    assert!(db.background_error().is_none(), "a read error does not stop writes");
}

#[test]
fn a_table_that_lost_a_write_does_not_replace_the_memtable() {
    for nth in [1, 3, 5] {
        let mut rig = Rig::new();
        let db = rig.open();
        rig.put_many(&db, 30);
        let torn = FaultRule::new(OperationKind::Append, "*.sst", Fault::TornWrite { kept_bytes: 5 });
        let id = rig.faulty.add_rule(torn.when(Trigger::Nth(nth)));
        let flushed = db.flush();
        if rig.faulty.fired(id) == Some(0) {
            continue;
        }
        let error = flushed.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "append {nth}: {error}");
        assert!(error.to_string().contains(".sst"), "{error}");
        rig.verify(&db, "after a lost write");
        let refused = rig.put(&db).unwrap_err();
        assert!(refused.to_string().contains("reopened"), "corruption is not resumed from: {refused}");
        assert!(db.resume().is_err());
        rig.faulty.clear_rules();
        drop(db);
        let db = rig.open();
        rig.verify(&db, "reopened after a lost write");
        rig.put_many(&db, 5);
        rig.verify(&db, "written on");
    }
}

#[test]
fn a_compaction_that_reads_damage_stops_writes_and_keeps_the_inputs() {
    let (mut rig, db) = flushed_rig();
    rig.put_many(&db, 30);
    db.flush().unwrap();
    rig.faulty.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::BitFlip { seed: 3 }));
    let error = db.compact_range(None, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    rig.faulty.clear_rules();
    assert!(db.resume().unwrap_err().is_corruption());
    assert!(rig.put(&db).unwrap_err().to_string().contains("reopened"));
    rig.verify(&db, "after a damaged compaction");
    drop(db);
    let db = rig.open();
    rig.verify(&db, "reopened");
    db.compact_range(None, None).unwrap();
    rig.verify(&db, "compacted");
}

#[derive(Default)]
struct Heard {
    errors: Mutex<Vec<String>>,
    recoveries: Mutex<u32>,
}

impl ferrock::EventListener for Heard {
    fn on_background_error(&self, _reason: ferrock::BackgroundErrorReason, error: &mut Option<Error>) {
        self.errors.lock().extend(error.as_ref().map(ToString::to_string));
    }
    fn on_error_recovery_completed(&self, _old_error: &Error) {
        *self.recoveries.lock() += 1;
    }
}

#[test]
fn listeners_hear_of_background_errors_and_of_their_end() {
    let heard = Arc::new(Heard::default());
    let mut rig = Rig::new();
    rig.options.components.listeners.push(Arc::clone(&heard) as Arc<dyn ferrock::EventListener>);
    let db = rig.open();
    rig.put_many(&db, 5);
    rig.faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::PermissionDenied));
    let error = db.flush().unwrap_err();
    assert!(error.to_string().contains("not permitted: check the owner and mode"), "{error}");
    // The listeners are told after the waiters.
    while heard.errors.lock().is_empty() {
        std::thread::yield_now();
    }
    rig.faulty.clear_rules();
    db.resume().unwrap();
    assert_eq!(*heard.recoveries.lock(), 1);
    rig.put_many(&db, 5);
    rig.verify(&db, "resumed");
}

#[test]
fn missing_rights_are_named() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 5);
    db.close().unwrap();
    for (operation, path) in [
        (OperationKind::Lock, "LOCK"),
        (OperationKind::Open, "CURRENT"),
        (OperationKind::Open, "MANIFEST-*"),
        (OperationKind::Open, "*.log"),
        (OperationKind::Create, "*.log"),
        (OperationKind::List, "db"),
    ] {
        rig.faulty.add_rule(FaultRule::new(operation, path, Fault::PermissionDenied));
        let error = rig.try_open().unwrap_err();
        assert!(error.to_string().contains("check the owner and mode"), "{operation:?} {path}: {error}");
        rig.faulty.clear_rules();
        rig.verify_after_crash(path);
    }
    rig.verify(&rig.open(), "with rights again");
}

#[test]
fn a_log_that_lost_a_write_recovers_to_what_precedes_it() {
    let mut rig = Rig::new();
    let db = rig.open();
    rig.put_many(&db, 10);
    let torn = FaultRule::new(OperationKind::Append, "*.log", Fault::TornWrite { kept_bytes: 300 });
    rig.faulty.add_rule(torn.when(Trigger::Nth(1)));
    let before = rig.acknowledged.clone();
    // The disk says yes and lies.
    rig.put_with(&db, &WriteOptions::synced()).unwrap();
    rig.put_with(&db, &WriteOptions::synced()).unwrap();
    drop(db);
    rig.faulty.clear_rules();
    let (db, _) = Db::open_cf(DIRECTORY, rig.options.clone(), Rig::families()).unwrap();
    rig.acknowledged = before;
    rig.verify(&db, "after a lost log write");
    rig.put_many(&db, 3);
    drop(db);
    rig.verify(&rig.open(), "written on");
}
