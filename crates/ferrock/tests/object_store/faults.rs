//! An error of every request: the source is whole, earlier backups are, and the next call clears up.

use crate::stores::*;
use crate::world::{TARGET, World, contents_at, files_named, restored};
use ferrock::backup::object_store::ObjectStore;
use ferrock::backup::{BackupEngine, CreateBackupOptions, RestoreOptions};
use ferrock_vfs::FileSystem;
use std::path::Path;
use std::sync::Arc;

const FAILURES: [Failure; 5] =
    [Failure::Refused, Failure::AnswerLost, Failure::AnswerLostAndMore, Failure::Killed, Failure::KilledBehind];

/// Runs `call` with a failure of the first, second, .. request, until all are made. Returns how many there are.
fn with_every_failure(
    store: &Arc<dyn ObjectStore>,
    failure: Failure,
    mut call: impl FnMut(usize, Arc<dyn ObjectStore>) -> bool,
) -> usize {
    for number in 1.. {
        let failing = Watched::failing(store, number, failure);
        let is_done = call(number, failing.shared());
        let made = failing.requests();
        assert!(is_done || made.len() >= number, "request {number} failed without a failure");
        if made.len() < number {
            return number - 1;
        }
        // What a program that is gone cannot remove.
        if is_locked(store) {
            let is_of_lock = made[number - 1] == format!("put {LOCK}") || number == made.len();
            let is_one = matches!(failure, Failure::Refused | Failure::AnswerLost);
            assert!(is_of_lock || !is_one, "{failure:?} of request {number}, {}: locked", made[number - 1]);
            files_in(store).remove_file(Path::new(LOCK)).unwrap();
        }
    }
    unreachable!()
}

fn a_backup_that_fails(store: &Arc<dyn ObjectStore>, failure: Failure) {
    let world = World::new();
    world.write(0..40, "value");
    world.flush();
    let first = engine_in(&world, store).create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let expected = world.contents();
    world.write(40..80, "later");
    world.flush();
    let everything = world.contents();
    let mut failed = 0;
    let requests = with_every_failure(store, failure, |number, failing| {
        let created = BackupEngine::open(options_for(&world, files_in(&failing)))
            .and_then(|engine| engine.create_backup(&world.db, &CreateBackupOptions::default()));
        failed += usize::from(created.is_err());
        let engine = engine_in(&world, store);
        let broken = engine.corrupted_backups();
        assert!(broken.is_empty(), "{failure:?} {number}: {created:?}: {broken:?}");
        engine.verify_backup(first, true).unwrap();
        for info in engine.backup_infos() {
            let id = info.backup_id;
            engine.verify_backup(id, true).unwrap();
            if id != first {
                if is_locked(store) {
                    files_in(store).remove_file(Path::new(LOCK)).unwrap();
                }
                // The program does not know that its description is there, and could not remove it.
                let is_unknown = matches!(failure, Failure::KilledBehind | Failure::AnswerLostAndMore);
                assert!(created.is_ok() || is_unknown, "{failure:?} {number}: {created:?}");
                assert_eq!(restored(&engine, &world.files, id), everything);
                engine.delete_backup(id).unwrap();
            }
        }
        created.is_ok()
    });
    assert!(failed > 30 && requests >= failed, "{failure:?}: {failed} of {requests}");
    assert_eq!(world.contents(), everything);
    let engine = engine_in(&world, store);
    let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    assert_eq!(files_of_backups(store), files_named(&engine));
    assert_eq!(restored(&engine, &world.files, first), expected);
    assert_eq!(restored(&engine, &world.files, id), everything);
}

#[test]
fn a_backup_that_fails_leaves_the_others_and_the_next_succeeds() {
    for failure in FAILURES {
        a_backup_that_fails(&in_memory(), failure);
    }
}

#[test]
fn a_backup_to_a_directory_that_fails_leaves_the_others() {
    for failure in [Failure::AnswerLost, Failure::Killed] {
        let directory = tempfile::tempdir().unwrap();
        a_backup_that_fails(&in_directory(&directory), failure);
    }
}

#[test]
fn what_a_killed_backup_left_goes_with_the_next_write_of_any_kind() {
    let world = World::new();
    world.write(0..40, "value");
    world.flush();
    for way in 0..3 {
        let store = in_memory();
        let engine = engine_in(&world, &store);
        let first = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
        let second = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
        let before = files_of_backups(&store);
        world.write(40..80, ["a", "b", "c"][way]);
        world.flush();
        // Killed just before the description.
        let counted = Watched::new(&store);
        engine_in(&world, &counted.shared()).create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
        let number = counted.requests().iter().position(|request| request.ends_with(" backups/db/meta/3")).unwrap() + 1;
        engine_in(&world, &store).delete_backup(3).unwrap();
        let failing = Watched::failing(&store, number, Failure::Killed).shared();
        engine_in(&world, &failing).create_backup(&world.db, &CreateBackupOptions::default()).unwrap_err();
        assert!(files_of_backups(&store).len() > before.len(), "it left files");
        files_in(&store).remove_file(Path::new(LOCK)).unwrap();
        let engine = engine_in(&world, &store);
        match way {
            0 => _ = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap(),
            1 => _ = engine.purge_old_backups(1).unwrap(),
            _ => _ = engine.delete_backup(first).unwrap(),
        }
        assert_eq!(files_of_backups(&store), files_named(&engine), "{way}");
        engine.verify_backup(second, true).unwrap();
    }
}

#[test]
fn a_removal_that_fails_is_made_again() {
    for failure in FAILURES {
        let store = in_memory();
        let world = World::new();
        world.write(0..40, "value");
        world.flush();
        let first = engine_in(&world, &store).create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
        world.write(40..60, "later");
        world.flush();
        let mut failed = 0;
        with_every_failure(&store, failure, |number, failing| {
            let id = engine_in(&world, &store).create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
            let removed =
                BackupEngine::open(options_for(&world, files_in(&failing))).and_then(|engine| engine.delete_backup(id));
            failed += usize::from(removed.is_err());
            if is_locked(&store) {
                files_in(&store).remove_file(Path::new(LOCK)).unwrap();
            }
            let engine = engine_in(&world, &store);
            let broken = engine.corrupted_backups();
            assert!(broken.is_empty(), "{failure:?} {number}: {removed:?}: {broken:?}");
            engine.verify_backup(first, true).unwrap();
            let is_there = engine.backup_info(id).is_ok();
            assert!(!is_there || removed.is_err(), "{failure:?} {number}");
            assert_eq!(engine.delete_backup(id).is_ok(), is_there);
            engine.garbage_collect().unwrap();
            assert_eq!(files_of_backups(&store), files_named(&engine));
            removed.is_ok()
        });
        assert!(failed > 5, "{failure:?}: {failed}");
    }
}

#[test]
fn a_restore_that_fails_is_no_database_and_is_made_again() {
    for failure in [Failure::Refused, Failure::Killed] {
        let store = in_memory();
        let world = World::new();
        world.write(0..40, "value");
        world.flush();
        world.write(0..4, "logged");
        let engine = engine_in(&world, &store);
        let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
        let expected = world.contents();
        let restore =
            |engine: BackupEngine| engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default());
        let mut failed = 0;
        with_every_failure(&store, failure, |number, failing| {
            let restored = BackupEngine::open(options_for(&world, files_in(&failing))).and_then(restore);
            failed += usize::from(restored.is_err());
            match contents_at(&world.files, TARGET) {
                Ok(found) => assert_eq!(found, expected, "{number}: {restored:?}"),
                Err(error) => assert!(restored.is_err(), "{number}: {error}"),
            }
            restored.is_ok()
        });
        assert!(failed > 20, "{failure:?}: {failed}");
        engine.verify_backup(id, true).unwrap();
        engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap();
        assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected);
    }
}
