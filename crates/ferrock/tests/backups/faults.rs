//! An error of every operation: the call fails, nothing that was there is lost, and the next call succeeds.

use crate::world::*;
use ferrock::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, MemoryFileSystem, OperationKind, Trigger};
use std::sync::Arc;

const FAULTS: [Fault; 3] = [Fault::Io, Fault::NoSpace, Fault::ShortWrite { kept_bytes: 3 }];

fn faulty(files: &MemoryFileSystem) -> (FaultInjectionFileSystem, BackupEngineOptions) {
    let faults = FaultInjectionFileSystem::new(Arc::new(files.clone()));
    let mut options = engine_options(files);
    options.backup_file_system = Arc::new(faults.clone());
    options.db_file_system = Arc::new(faults.clone());
    (faults, options)
}

/// Runs `call` with a fault of its first, second, .. operation, until it meets none.
fn with_every_fault(faults: &FaultInjectionFileSystem, fault: Fault, mut call: impl FnMut(u64) -> bool) -> u64 {
    for number in 1.. {
        let rule = faults.add_rule(FaultRule::new(OperationKind::Any, "*", fault).when(Trigger::Nth(number)));
        let is_done = call(number);
        let fired = faults.remove_rule(rule).unwrap();
        assert!(is_done || fired > 0, "operation {number} failed without a fault");
        if fired == 0 {
            return number;
        }
    }
    unreachable!()
}

#[test]
fn a_backup_that_fails_leaves_the_others_and_the_next_succeeds() {
    for fault in FAULTS {
        let world = World::new();
        world.write(0..40, "value");
        world.flush();
        let first = world.back_up(&world.engine());
        let expected = world.contents();
        world.write(40..80, "later");
        world.flush();
        let (faults, options) = faulty(&world.files);
        let mut failed = 0;
        let operations = with_every_fault(&faults, fault, |number| {
            let created = BackupEngine::open(options.clone())
                .and_then(|engine| engine.create_backup(&world.db, &CreateBackupOptions::default()));
            failed += u64::from(created.is_err());
            let engine = world.engine();
            assert!(engine.corrupted_backups().is_empty(), "{number}: {created:?}: {:?}", engine.corrupted_backups());
            engine.verify_backup(first, true).unwrap();
            if let Ok(id) = &created {
                engine.verify_backup(*id, true).unwrap();
            }
            // What is there and was not reported is removed: the caller may believe the error.
            for info in engine.backup_infos() {
                if info.backup_id != first {
                    assert!(created.is_ok(), "{number}: backup {} of {created:?}", info.backup_id);
                    engine.delete_backup(info.backup_id).unwrap();
                }
            }
            created.is_ok()
        });
        assert!(failed > 30 && operations > failed, "{fault:?}: {failed} of {operations}");
        let engine = world.engine();
        let id = world.back_up(&engine);
        assert_eq!(files_of_backups(&world.files), files_named(&engine));
        assert_eq!(restored(&engine, &world.files, first), expected);
        assert_eq!(restored(&engine, &world.files, id), world.contents());
    }
}

#[test]
fn a_removal_that_fails_is_made_again() {
    for fault in FAULTS {
        let world = World::new();
        world.write(0..40, "value");
        world.flush();
        let first = world.back_up(&world.engine());
        world.write(40..60, "later");
        world.flush();
        let (faults, options) = faulty(&world.files);
        let mut failed = 0;
        with_every_fault(&faults, fault, |_| {
            let id = world.back_up(&world.engine());
            let removed = BackupEngine::open(options.clone()).and_then(|engine| engine.delete_backup(id));
            failed += u64::from(removed.is_err());
            let engine = world.engine();
            assert!(engine.corrupted_backups().is_empty(), "{removed:?}: {:?}", engine.corrupted_backups());
            engine.verify_backup(first, true).unwrap();
            let is_there = engine.backup_info(id).is_ok();
            assert_eq!(engine.delete_backup(id).is_ok(), is_there);
            engine.garbage_collect().unwrap();
            assert_eq!(files_of_backups(&world.files), files_named(&engine));
            removed.is_ok()
        });
        assert!(failed > 5, "{fault:?}: {failed}");
    }
}

#[test]
fn a_restore_that_fails_is_no_database_and_is_made_again() {
    for fault in FAULTS {
        let world = World::new();
        world.write(0..40, "value");
        world.flush();
        world.write(0..4, "logged");
        let id = world.back_up(&world.engine());
        let expected = world.contents();
        let (faults, options) = faulty(&world.files);
        let mut failed = 0;
        with_every_fault(&faults, fault, |number| {
            let restored = BackupEngine::open(options.clone())
                .and_then(|engine| engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()));
            failed += u64::from(restored.is_err());
            // Either the database is there as a whole, or there is none.
            match contents_at(&world.files, TARGET) {
                Ok(found) => assert_eq!(found, expected, "{number}: {restored:?}"),
                Err(error) => assert!(restored.is_err(), "{number}: {error}"),
            }
            restored.is_ok()
        });
        assert!(failed > 30, "{fault:?}: {failed}");
        let engine = world.engine();
        engine.verify_backup(id, true).unwrap();
        engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap();
        assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected);
    }
}
