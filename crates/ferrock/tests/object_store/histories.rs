//! Backups of a database that changes, against a model and against the same in a directory.

use crate::stores::*;
use crate::world::{BACKUPS, Contents, TARGET, World, contents_at, engine_options, files_named};
use ferrock::backup::object_store::ObjectStore;
use ferrock::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions};
use ferrock_base::clock::ManualClock;
use ferrock_vfs::{FileSystem, read_file};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const MODES: [RestoreMode; 3] =
    [RestoreMode::PurgeAllFiles, RestoreMode::VerifyChecksum, RestoreMode::KeepLatestDbSessionIdFiles];

fn restored(engine: &BackupEngine, world: &World, id: u32, mode: RestoreMode) -> Contents {
    let options = RestoreOptions { mode, ..RestoreOptions::default() };
    engine.restore_db_from_backup(id, TARGET, TARGET, &options).unwrap();
    contents_at(&world.files, TARGET).unwrap()
}

/// The files of the directory of backups in memory, by their names.
fn directory_of(world: &World) -> BTreeMap<String, Vec<u8>> {
    fn collect(world: &World, directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for name in world.files.children(directory).unwrap() {
            let path = directory.join(name);
            if world.files.children(&path).is_ok() {
                collect(world, &path, found);
            } else {
                let name = path.strip_prefix(BACKUPS).unwrap().to_str().unwrap().to_owned();
                found.insert(name, read_file(&world.files, &path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(world, Path::new(BACKUPS), &mut found);
    found.remove("BACKUP_LOCK");
    found
}

/// The same calls of an engine in `store` and of one in a directory.
fn history(store: &Arc<dyn ObjectStore>, change: impl Fn(&mut BackupEngineOptions)) {
    let world = World::new();
    let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
    let with = |mut options: BackupEngineOptions| {
        options.clock = Arc::clone(&clock) as _;
        options.max_background_operations = 3;
        change(&mut options);
        options
    };
    let open = || BackupEngine::open(with(options_for(&world, files_in(store)))).unwrap();
    let engine = open();
    let twin = BackupEngine::open(with(engine_options(&world.files))).unwrap();
    let same = |engine: &BackupEngine| {
        assert_eq!(engine.backup_infos(), twin.backup_infos());
        for info in engine.backup_infos() {
            let id = info.backup_id;
            assert_eq!(engine.backup_files(id).unwrap(), twin.backup_files(id).unwrap());
        }
        let (in_store, in_directory) = (objects(store), directory_of(&world));
        assert_eq!(in_store.keys().collect::<Vec<_>>(), in_directory.keys().collect::<Vec<_>>());
        for (name, bytes) in &in_store {
            assert!(in_directory[name] == *bytes, "{name} differs");
        }
    };
    let mut model: BTreeMap<u32, Contents> = BTreeMap::new();
    for round in 0..6 {
        world.write(round * 40..round * 40 + 90, ["one", "two", "three", "four", "five", "six"][round]);
        if round % 2 == 0 {
            world.flush();
        }
        if round == 4 {
            for family in &world.families {
                world.db.compact_range_cf(family, None, None, &ferrock::CompactRangeOptions::default()).unwrap();
            }
        }
        clock.advance(std::time::Duration::from_secs(60));
        let options = CreateBackupOptions { app_metadata: vec![round as u8; round], ..Default::default() };
        let id = engine.create_backup(&world.db, &options).unwrap();
        assert_eq!(twin.create_backup(&world.db, &options).unwrap(), id);
        model.insert(id, world.contents());
        same(&engine);
    }
    let check = |engine: &BackupEngine, model: &BTreeMap<u32, Contents>| {
        let ids: Vec<u32> = engine.backup_infos().iter().map(|info| info.backup_id).collect();
        assert_eq!(ids, model.keys().copied().collect::<Vec<_>>());
        assert_eq!(files_of_backups(store), files_named(engine));
        for (id, expected) in model {
            engine.verify_backup(*id, true).unwrap();
            for mode in MODES {
                assert_eq!(&restored(engine, &world, *id, mode), expected, "backup {id}, {mode:?}");
            }
        }
    };
    check(&engine, &model);
    let (other, other_twin) = (open(), &twin);
    check(&other, &model);
    for id in [3, 6] {
        assert_eq!(other.delete_backup(id).unwrap(), other_twin.delete_backup(id).unwrap());
        model.remove(&id);
    }
    same(&other);
    assert_eq!(other.purge_old_backups(2).unwrap(), other_twin.purge_old_backups(2).unwrap());
    model = model.split_off(&4);
    same(&other);
    check(&other, &model);
    // The engine that was opened first sees what the other one did, and gives no number twice.
    let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    assert_eq!((id, twin.create_backup(&world.db, &CreateBackupOptions::default()).unwrap()), (7, 7));
    model.insert(id, world.contents());
    same(&engine);
    check(&engine, &model);
    assert!(!is_locked(store));
}

#[test]
fn a_store_in_memory_has_the_files_of_a_directory() {
    history(&in_memory(), |_| {});
}

#[test]
fn a_store_without_sharing_logs_or_syncs_has_the_files_of_a_directory() {
    history(&in_memory(), |options| options.share_table_files = false);
    history(&in_memory(), |options| {
        options.backup_log_files = false;
        options.sync = false;
        options.schema_version = 2;
    });
}

#[test]
fn a_store_in_a_directory_is_a_directory_of_backups() {
    let directory = tempfile::tempdir().unwrap();
    let store = in_directory(&directory);
    history(&store, |_| {});
    // Without the store, and with it again.
    let world = World::new();
    world.write(0..50, "value");
    world.flush();
    let mut options = BackupEngineOptions::new(directory.path().join(PREFIX));
    options.db_file_system = Arc::new(world.files.clone());
    let engine = BackupEngine::open(options.clone()).unwrap();
    assert_eq!(engine.backup_infos(), engine_in(&world, &store).backup_infos());
    for info in engine.backup_infos() {
        engine.verify_backup(info.backup_id, true).unwrap();
        let from_directory = restored(&engine, &world, info.backup_id, RestoreMode::PurgeAllFiles);
        let from_store = restored(&engine_in(&world, &store), &world, info.backup_id, RestoreMode::PurgeAllFiles);
        assert_eq!(from_directory, from_store);
    }
    let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let engine = engine_in(&world, &store);
    engine.verify_backup(id, true).unwrap();
    assert_eq!(restored(&engine, &world, id, RestoreMode::PurgeAllFiles), world.contents());
    let id = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    assert_eq!(BackupEngine::open(options).unwrap().latest_backup_info().unwrap().backup_id, id);
}

#[test]
fn an_unchanged_database_is_not_uploaded_again() {
    let world = World::new();
    world.write(0..200, "value");
    world.flush();
    let inner = in_memory();
    let store = Watched::new(&inner);
    let engine = engine_in(&world, &store.shared());
    engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let first = store.requests();
    assert!(first.iter().any(|request| request.starts_with("begin backups/db/shared_checksum/")), "{first:?}");
    let of_meta = first.iter().position(|request| request.ends_with(" backups/db/meta/1")).unwrap();
    let last = first.iter().rposition(|request| request.contains(" backups/db/private/")).unwrap();
    assert!(of_meta > last, "the description comes last: {first:?}");
    assert!(first.iter().all(|request| !request.starts_with("copy")), "nothing is renamed: {first:?}");
    engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let second = &store.requests()[first.len()..];
    assert!(second.iter().all(|request| !request.starts_with("begin backups/db/shared_checksum/")), "{second:?}");
    // Of a set of backups, opening asks for each description and for lists, and not for each file.
    let before = store.requests().len();
    let engine = engine_in(&world, &store.shared());
    let opening = &store.requests()[before..];
    let files = opening.iter().filter(|request| request.contains("shared_checksum") || request.contains("private"));
    assert_eq!(files.filter(|request| !request.starts_with("list")).count(), 0, "{opening:?}");
    assert_eq!(engine.backup_infos().len(), 2);
}

#[test]
fn a_store_without_backups_has_none_to_read() {
    let world = World::new();
    let store = in_memory();
    let error = BackupEngine::open_read_only(options_for(&world, files_in(&store))).unwrap_err();
    assert_eq!(error.kind(), ferrock::ErrorKind::NotFound, "{error}");
    let engine = engine_in(&world, &store);
    assert!(engine.backup_infos().is_empty() && objects(&store).is_empty());
    engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let reader = BackupEngine::open_read_only(options_for(&world, files_in(&store))).unwrap();
    assert_eq!(restored(&reader, &world, 1, RestoreMode::PurgeAllFiles), world.contents());
    let mut options = options_for(&world, files_in(&store));
    options.destroy_old_data = true;
    assert!(BackupEngine::open(options).unwrap().backup_infos().is_empty());
    assert!(objects(&store).is_empty());
}
