//! Engines that exclude each other.

use crate::stores::*;
use crate::world::World;
use ferrock::ErrorKind;
use ferrock::backup::object_store::ObjectStoreExt;
use ferrock::backup::object_store::path::Path as Key;
use ferrock::backup::{CreateBackupOptions, ObjectStoreFileSystem, ObjectStoreOptions};
use ferrock_vfs::FileSystem;
use std::path::Path;
use std::sync::{Arc, Mutex};

#[test]
fn engines_of_other_programs_are_busy_while_one_writes() {
    let world = World::new();
    world.write(0..50, "value");
    let store = in_memory();
    let others = [engine_in(&world, &store), engine_in(&world, &store)];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&seen);
    let create = CreateBackupOptions {
        progress: Some(Arc::new(move |_| {
            let errors = others.iter().map(|other| other.garbage_collect().unwrap_err());
            telling.lock().unwrap().extend(errors);
        })),
        ..Default::default()
    };
    let engine = engine_in(&world, &store);
    engine.create_backup(&world.db, &create).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 2);
    for error in &*seen {
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(error.to_string().contains(LOCK), "{error}");
    }
    assert!(!is_locked(&store));
}

#[test]
fn engines_of_one_file_system_are_busy_as_well() {
    let store = in_memory();
    for excludes_writers in [true, false] {
        let options = ObjectStoreOptions { excludes_writers, ..small() };
        let files = ObjectStoreFileSystem::new(Arc::clone(&store), options).unwrap();
        let path = Path::new("backups/db/BACKUP_LOCK");
        let lock = files.lock_file(path).unwrap();
        assert_eq!(lock.path(), path);
        assert_eq!(files.lock_file(path).unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(is_locked(&store), excludes_writers);
        let other = files_in(&store).lock_file(path);
        assert_eq!(other.is_err(), excludes_writers);
        drop((lock, other));
        drop(files.lock_file(path).unwrap());
        assert!(!is_locked(&store));
    }
}

#[test]
fn the_lock_of_a_program_that_was_killed_has_to_be_removed() {
    let world = World::new();
    world.write(0..50, "value");
    let store = in_memory();
    smol::block_on(store.put(&Key::from(LOCK), "ferrock 0123456789abcdef\n".into())).unwrap();
    let engine = engine_in(&world, &store);
    let error = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("remove the object") && error.to_string().contains(LOCK), "{error}");
    assert!(objects(&store).is_empty());
    files_in(&store).remove_file(Path::new(LOCK)).unwrap();
    engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
}

/// The first request of a lock is its put, and the last of a call its removal.
#[test]
fn an_engine_takes_its_own_lock_again() {
    let world = World::new();
    world.write(0..50, "value");
    let whole = Watched::new(&in_memory());
    let engine = engine_in(&world, &whole.shared());
    let opening = whole.requests().len();
    engine.garbage_collect().unwrap();
    let (locking, unlocking) = (opening + 1, whole.requests().len());
    assert_eq!(whole.requests()[locking - 1], format!("put {LOCK}"));
    for (number, failure) in [(unlocking, Failure::Refused), (locking, Failure::AnswerLost)] {
        let inner = in_memory();
        let store = Watched::failing(&inner, number, failure);
        let engine = engine_in(&world, &store.shared());
        let collected = engine.garbage_collect();
        assert_eq!(collected.is_ok(), number == unlocking, "{collected:?}");
        assert!(is_locked(&inner));
        assert_eq!(engine_in(&world, &inner).garbage_collect().unwrap_err().kind(), ErrorKind::Busy);
        engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
        assert!(!is_locked(&inner));
    }
}
