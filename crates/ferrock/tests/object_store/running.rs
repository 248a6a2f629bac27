//! What goes on while a backup is made or restored.

use crate::stores::*;
use crate::world::{TARGET, World, contents_at, restored};
use ferrock::ErrorKind;
use ferrock::backup::{BackupEngine, CreateBackupOptions, ObjectStoreFileSystem, ObjectStoreOptions, RestoreOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn progress_is_told_and_a_stop_leaves_nothing() {
    let world = World::new();
    world.write(0..400, "value");
    world.flush();
    let store = in_memory();
    let mut options = options_for(&world, files_in(&store));
    options.callback_trigger_interval_size = 1000;
    options.io_buffer_size = 512;
    options.max_background_operations = 2;
    let engine = Arc::new(BackupEngine::open(options).unwrap());
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let progress = Arc::new(move |progress| seen.lock().unwrap().push(progress));
    let create = CreateBackupOptions { progress: Some(Arc::clone(&progress) as _), ..Default::default() };
    let id = engine.create_backup(&world.db, &create).unwrap();
    let created = std::mem::take(&mut *told.lock().unwrap());
    let restore = RestoreOptions { progress: Some(progress), ..Default::default() };
    engine.restore_db_from_backup(id, TARGET, TARGET, &restore).unwrap();
    let restored_progress = std::mem::take(&mut *told.lock().unwrap());
    let info = engine.backup_info(id).unwrap();
    let last = created.last().unwrap();
    assert_eq!((last.files_done, last.files), (u64::from(info.number_files), u64::from(info.number_files)));
    assert_eq!((last.bytes_done, last.bytes), (info.size, info.size));
    assert!(created.len() > 5 && created.windows(2).all(|pair| pair[0].bytes_done <= pair[1].bytes_done));
    assert_eq!(restored_progress.last().unwrap().files_done, u64::from(info.number_files));

    let before = files_of_backups(&store);
    world.write(400..500, "more");
    world.flush();
    let stopping = Arc::clone(&engine);
    let create = CreateBackupOptions { progress: Some(Arc::new(move |_| stopping.stop_backup())), ..create };
    let error = engine.create_backup(&world.db, &create).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    assert_eq!(files_of_backups(&store), before, "nothing of it is left");
    assert!(!is_locked(&store));
    let engine = engine_in(&world, &store);
    let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    assert_eq!((id, restored(&engine, &world.files, id)), (2, world.contents()));
}

#[test]
fn limiters_are_asked_for_every_byte() {
    #[derive(Debug, Default)]
    struct Counting(AtomicU64);
    impl ferrock_vfs::RateLimiter for Counting {
        fn request(&self, bytes: u64, _: ferrock_vfs::IoPriority) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    let world = World::new();
    world.write(0..100, "value");
    world.flush();
    let (backing, restoring) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
    let mut options = options_for(&world, files_in(&in_memory()));
    options.backup_rate_limiter = Some(Arc::clone(&backing) as _);
    options.restore_rate_limiter = Some(Arc::clone(&restoring) as _);
    let engine = BackupEngine::open(options).unwrap();
    let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let size = engine.backup_info(id).unwrap().size;
    // CURRENT is written and not copied.
    assert_eq!(backing.0.load(Ordering::Relaxed), size - 16);
    restored(&engine, &world.files, id);
    // OPTIONS is rewritten and not copied.
    let files = engine.backup_files(id).unwrap();
    let options = files.iter().find(|file| file.relative_filename.contains("OPTIONS")).unwrap().size;
    assert_eq!(restoring.0.load(Ordering::Relaxed), size - options);
}

#[test]
fn a_store_that_needs_tokio_is_waited_for_by_its_runtime() {
    let world = World::new();
    world.write(0..100, "value");
    world.flush();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = runtime.handle().clone();
    let options = ObjectStoreOptions { block_on: Some(Arc::new(move |request| handle.block_on(request))), ..small() };
    let store = Watched::needing_tokio(&in_memory()).shared();
    let mut options = options_for(&world, ObjectStoreFileSystem::new(store, options).unwrap());
    options.max_background_operations = 4;
    let engine = BackupEngine::open(options).unwrap();
    let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    engine.verify_backup(id, true).unwrap();
    engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap();
    assert_eq!(contents_at(&world.files, TARGET).unwrap(), world.contents());
    engine.purge_old_backups(0).unwrap();
}

#[test]
fn a_function_that_does_not_wait_is_an_error() {
    let world = World::new();
    let options = ObjectStoreOptions { block_on: Some(Arc::new(|_| {})), ..ObjectStoreOptions::default() };
    let files = ObjectStoreFileSystem::new(in_memory(), options).unwrap();
    let error = BackupEngine::open(options_for(&world, files)).unwrap_err();
    assert!(error.to_string().contains("block_on"), "{error}");
}
