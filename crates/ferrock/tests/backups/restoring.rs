//! Restoring: modes, logs, directories of logs, databases that are open.

use crate::world::*;
use ferrock::backup::{BackupEngine, CreateBackupOptions, RestoreMode, RestoreOptions};
use ferrock::{Db, ErrorKind};
use ferrock_vfs::{FileSystem, read_file};
use std::path::Path;
use std::sync::Arc;

fn restore_as(mode: RestoreMode) -> RestoreOptions {
    RestoreOptions { mode, ..RestoreOptions::default() }
}

/// Names that were renamed into place or appended to, by a restore.
fn restored_names(world: &World, engine: &BackupEngine, id: u32, options: &RestoreOptions) -> Vec<String> {
    world.files.set_tracing(true);
    engine.restore_db_from_backup(id, TARGET, TARGET, options).unwrap();
    let trace = world.files.trace();
    world.files.set_tracing(false);
    let renamed = trace.iter().filter_map(|line| line.strip_prefix("rename ")?.split_once(' '));
    renamed.map(|(_, to)| to.to_owned()).collect()
}

#[test]
fn files_that_the_target_has_stay_as_far_as_the_mode_trusts_them() {
    let world = World::new();
    let engine = world.engine();
    world.write(0..100, "one");
    world.flush();
    let first = world.back_up(&engine);
    let expected = world.contents();
    world.write(100..200, "two");
    world.flush();
    let second = world.back_up(&engine);
    let everything = world.contents();
    engine.restore_db_from_backup(second, TARGET, TARGET, &RestoreOptions::default()).unwrap();
    let is_data = |name: &String| name.ends_with(".sst") || name.ends_with(".blob");
    let data = |id| engine.backup_files(id).unwrap().iter().filter(|file| is_data(&file.relative_filename)).count();

    // Back to the first: nothing of it has to be copied but what is no table.
    for (mode, copied) in [
        (RestoreMode::PurgeAllFiles, data(first)),
        (RestoreMode::VerifyChecksum, 0),
        // Blob files do not say which run of a database wrote them.
        (RestoreMode::KeepLatestDbSessionIdFiles, 2),
    ] {
        let names = restored_names(&world, &engine, first, &restore_as(mode));
        assert_eq!(names.iter().filter(|name| is_data(name)).count(), copied, "{mode:?}: {names:?}");
        assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected, "{mode:?}");
    }

    // Damage of a table's data: seen by its checksum alone.
    let table = world.files.children(Path::new(TARGET)).unwrap().into_iter().find(|name| name.ends_with(".sst"));
    let path = Path::new(TARGET).join(table.unwrap());
    let flip = || change_file(&world.files, &path, |bytes| bytes[5] ^= 1);
    flip();
    let names = restored_names(&world, &engine, first, &restore_as(RestoreMode::VerifyChecksum));
    assert_eq!(names.iter().filter(|name| is_data(name)).count(), 1, "{names:?}");
    assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected);
    // A table that was cut, one of another database, and no table at all are replaced in every mode.
    for change in [
        |bytes: &mut Vec<u8>| bytes.truncate(100),
        |bytes: &mut Vec<u8>| bytes.fill(0),
        |bytes: &mut Vec<u8>| bytes.clear(),
    ] {
        for mode in [RestoreMode::VerifyChecksum, RestoreMode::KeepLatestDbSessionIdFiles] {
            change_file(&world.files, &path, change);
            engine.restore_db_from_backup(first, TARGET, TARGET, &restore_as(mode)).unwrap();
            assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected, "{mode:?}");
        }
    }
    let mode = restore_as(RestoreMode::KeepLatestDbSessionIdFiles);
    assert_eq!(engine.restore_db_from_latest_backup(TARGET, TARGET, &mode).unwrap(), second);
    assert_eq!(contents_at(&world.files, TARGET).unwrap(), everything);
}

#[test]
fn another_database_is_replaced_and_files_of_other_programs_stay() {
    let world = World::new();
    let engine = world.engine();
    world.write(0..50, "value");
    let id = world.back_up(&engine);
    let (other, families) = open_at(TARGET, db_options(&world.files)).unwrap();
    for number in 0..10_u8 {
        other.put_cf(&families[0], &[b'o', number], b"other", &ferrock::WriteOptions::default()).unwrap();
        other.flush_cfs(&families, &ferrock::FlushOptions::default()).unwrap();
    }
    let error = engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert_eq!(contents_of(&other, &families)[0].len(), 10, "nothing was touched");
    other.close().unwrap();
    drop(families);
    ferrock_vfs::write_file_synced(&world.files, &Path::new(TARGET).join("notes.txt"), b"mine").unwrap();
    for mode in [RestoreMode::KeepLatestDbSessionIdFiles, RestoreMode::VerifyChecksum, RestoreMode::PurgeAllFiles] {
        engine.restore_db_from_backup(id, TARGET, TARGET, &restore_as(mode)).unwrap();
        assert_eq!(contents_at(&world.files, TARGET).unwrap(), world.contents(), "{mode:?}");
    }
    assert_eq!(read_file(&world.files, &Path::new(TARGET).join("notes.txt")).unwrap(), b"mine");
    let error = engine.restore_db_from_backup(9, TARGET, TARGET, &RestoreOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(contents_at(&world.files, TARGET).unwrap(), world.contents(), "the target is as it was");
}

#[test]
fn a_database_with_a_directory_of_logs_is_restored_beside_its_origin() {
    let world = World::with(|options| "/data/logs".clone_into(&mut options.wal_dir));
    let engine = world.engine();
    world.write(0..50, "value");
    let id = world.back_up(&engine);
    let expected = world.contents();
    world.write(50..60, "later");
    // In one directory: OPTIONS no longer names the logs of the origin, which would be refused.
    assert_eq!(restored(&engine, &world.files, id), expected);
    // In two: an open that forgets the second is refused, one that names it finds everything.
    let logs = "/data/target logs";
    engine.restore_db_from_backup(id, TARGET, logs, &RestoreOptions::default()).unwrap();
    assert!(world.files.children(Path::new(logs)).unwrap().iter().any(|name| name.ends_with(".log")));
    let error = contents_at(&world.files, TARGET).unwrap_err();
    assert!(error.to_string().contains(logs), "{error}");
    let mut options = db_options(&world.files);
    logs.clone_into(&mut options.wal_dir);
    let (db, families) = open_at(TARGET, options).unwrap();
    assert_eq!(contents_of(&db, &families), expected);
    drop((db, families));
    // Another database is no place for logs, and what logs are not stays in theirs.
    let error = engine.restore_db_from_backup(id, "/data/new", TARGET, &RestoreOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    for name in ["000099.log", "000098.dbtmp", "OPTIONS-000007", "archive/000001.log"] {
        world.files.create_dir_all(&Path::new(logs).join("archive")).unwrap();
        ferrock_vfs::write_file_synced(&world.files, &Path::new(logs).join(name), b"").unwrap();
    }
    engine.restore_db_from_backup(id, TARGET, logs, &RestoreOptions::default()).unwrap();
    let left = world.files.children(Path::new(logs)).unwrap();
    assert!(left.contains(&"OPTIONS-000007".to_owned()) && !left.contains(&"000099.log".to_owned()), "{left:?}");
    assert!(!left.contains(&"000098.dbtmp".to_owned()), "{left:?}");
    assert!(world.files.children(&Path::new(logs).join("archive")).unwrap().is_empty());
}

#[test]
fn directories_that_are_made_survive_a_power_failure() {
    let world = World::new();
    world.write(0..20, "value");
    let mut options = engine_options(&world.files);
    options.backup_dir = "/data/some/where/backups".into();
    let engine = BackupEngine::open(options.clone()).unwrap();
    let id = world.back_up(&engine);
    let target = "/data/any/where/target";
    engine.restore_db_from_backup(id, target, target, &RestoreOptions::default()).unwrap();
    let files = world.files.crash_clone(ferrock_vfs::CrashPolicy::KeepNothingUnsynced);
    assert_eq!(contents_at(&files, target).unwrap(), world.contents());
    options.backup_file_system = Arc::new(files.clone());
    options.db_file_system = Arc::new(files);
    BackupEngine::open_read_only(options).unwrap().verify_backup(id, true).unwrap();
}

#[test]
fn logs_that_are_kept_bring_back_what_came_after_the_backup() {
    let world = World::new();
    let mut options = engine_options(&world.files);
    options.backup_log_files = false;
    let engine = BackupEngine::open(options).unwrap();
    world.write(0..50, "before");
    let id = world.back_up(&engine);
    world.write(50..90, "after");
    let World { files, db, families } = world;
    let expected = contents_of(&db, &families);
    db.close().unwrap();
    drop(families);
    // Tables are lost, logs are not.
    for name in files.children(Path::new(DB)).unwrap() {
        if name.ends_with(".sst") || name.ends_with(".blob") {
            files.remove_file(&Path::new(DB).join(&name)).unwrap();
        }
    }
    let keep = RestoreOptions { keep_log_files: true, ..RestoreOptions::default() };
    engine.restore_db_from_backup(id, DB, DB, &keep).unwrap();
    assert_eq!(contents_at(&files, DB).unwrap(), expected);
}

/// The backup has the beginning of a log that the archive has as a whole.
#[test]
fn logs_that_are_kept_are_not_cut_to_those_of_the_backup() {
    let world = World::with(|options| options.wal_ttl_seconds = 1_000_000);
    let engine = world.engine();
    world.write(0..50, "before");
    let id = world.back_up(&engine);
    world.write(50..90, "after");
    world.flush();
    let World { files, db, families } = world;
    let expected = contents_of(&db, &families);
    db.close().unwrap();
    drop(families);
    let keep = RestoreOptions { keep_log_files: true, ..RestoreOptions::default() };
    engine.restore_db_from_backup(id, DB, DB, &keep).unwrap();
    assert_eq!(contents_at(&files, DB).unwrap(), expected);
}

#[test]
fn a_restored_database_goes_on_and_is_backed_up_beside_its_origin() {
    let world = World::new();
    let engine = world.engine();
    world.write(0..100, "value");
    world.flush();
    let first = world.back_up(&engine);
    engine.restore_db_from_backup(first, TARGET, TARGET, &RestoreOptions::default()).unwrap();
    // Both go on with the same numbers of files, and different contents.
    let (other, families) = open_at(TARGET, db_options(&world.files)).unwrap();
    for (db, families, word) in [(&world.db, &world.families, "ours"), (&other, &families, "theirs")] {
        for family in families {
            db.put_cf(family, b"which", word.as_bytes(), &ferrock::WriteOptions::default()).unwrap();
        }
        db.flush_cfs(families, &ferrock::FlushOptions::default()).unwrap();
    }
    let second = world.back_up(&engine);
    let third = engine.create_backup(&other, &Default::default()).unwrap();
    let expected: [(u32, Contents); 2] = [(second, world.contents()), (third, contents_of(&other, &families))];
    assert_ne!(expected[0].1, expected[1].1);
    Db::close(other).unwrap();
    drop(families);
    for (id, expected) in expected {
        assert_eq!(restored(&engine, &world.files, id), expected);
    }
}

#[test]
fn a_backup_without_some_files_is_restored_where_they_are() {
    let world = World::new();
    world.write(0..60, "value");
    world.flush();
    let refused = CreateBackupOptions { exclude_files: Some(Arc::new(|_| true)), ..Default::default() };
    let error = world.engine().create_backup(&world.db, &refused).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let mut options = engine_options(&world.files);
    options.schema_version = 2;
    let engine = BackupEngine::open(options.clone()).unwrap();
    let tables =
        CreateBackupOptions { exclude_files: Some(Arc::new(|name| name.ends_with(".sst"))), ..Default::default() };
    let id = engine.create_backup(&world.db, &tables).unwrap();
    assert!(files_of_backups(&world.files).iter().all(|name| !name.ends_with(".sst")));
    let engine = BackupEngine::open(options).unwrap();
    engine.verify_backup(id, true).unwrap();
    let error = engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains(".sst") && error.kind() == ErrorKind::InvalidArgument, "{error}");
    // Where the tables are: in a database of the same run, or in the directory since another backup.
    let expected = world.contents();
    let full = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    assert_eq!(restored(&engine, &world.files, id), expected);
    engine.delete_backup(full).unwrap();
    let error = engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected, "nothing was touched");
    let mode = restore_as(RestoreMode::KeepLatestDbSessionIdFiles);
    engine.restore_db_from_backup(id, TARGET, TARGET, &mode).unwrap();
    assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected);
}

/// Tables that a backup was made without are found in other directories, in order; damage there is found, too.
#[test]
fn files_that_were_left_out_come_from_other_directories() {
    let world = World::new();
    world.write(0..60, "value");
    world.flush();
    let mut options = engine_options(&world.files);
    options.schema_version = 2;
    let engine = BackupEngine::open(options.clone()).unwrap();
    let tables =
        CreateBackupOptions { exclude_files: Some(Arc::new(|name| name.ends_with(".sst"))), ..Default::default() };
    let id = engine.create_backup(&world.db, &tables).unwrap();
    let expected = world.contents();
    // Another directory, on other files, has all; a third one nothing.
    let elsewhere = ferrock_vfs::MemoryFileSystem::new();
    elsewhere.create_dir_all(Path::new("/")).unwrap();
    let (mut full, mut empty) = (options.clone(), options.clone());
    full.backup_dir = "/full".into();
    full.backup_file_system = Arc::new(elsewhere.clone());
    empty.backup_dir = "/empty".into();
    empty.backup_file_system = Arc::new(elsewhere.clone());
    let full = Arc::new(BackupEngine::open(full).unwrap());
    full.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let empty = Arc::new(BackupEngine::open(empty).unwrap());
    let own = Arc::new(BackupEngine::open_read_only(options).unwrap());
    let mut restore = RestoreOptions { alternate_dirs: vec![Arc::clone(&empty)], ..RestoreOptions::default() };
    let error = engine.restore_db_from_backup(id, TARGET, TARGET, &restore).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    restore.alternate_dirs.extend([own, Arc::clone(&full)]);
    for mode in [RestoreMode::PurgeAllFiles, RestoreMode::VerifyChecksum, RestoreMode::KeepLatestDbSessionIdFiles] {
        restore.mode = mode;
        engine.restore_db_from_backup(id, TARGET, TARGET, &restore).unwrap();
        assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected, "{mode:?}");
    }
    // No other engine may remove what is being read.
    let held = elsewhere.lock_file(Path::new("/full/BACKUP_LOCK")).unwrap();
    let error = engine.restore_db_from_backup(id, TARGET, TARGET, &restore).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    drop(held);
    restore.mode = RestoreMode::PurgeAllFiles;
    let names = elsewhere.children(Path::new("/full/shared_checksum")).unwrap();
    let table = Path::new("/full/shared_checksum").join(names.iter().find(|name| name.ends_with(".sst")).unwrap());
    let mut damaged = read_file(&elsewhere, &table).unwrap();
    damaged[20] ^= 1;
    elsewhere.remove_file(&table).unwrap();
    ferrock_vfs::write_file_synced(&elsewhere, &table, &damaged).unwrap();
    let error = engine.restore_db_from_backup(id, TARGET, TARGET, &restore).unwrap_err();
    assert!(error.is_corruption(), "{error}");
    elsewhere.remove_file(&table).unwrap();
    ferrock_vfs::write_file_synced(&elsewhere, &table, &damaged[1..]).unwrap();
    let error = engine.restore_db_from_backup(id, TARGET, TARGET, &restore).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("/full"), "{error}");
}

/// Another engine may be about to remove the backup.
#[test]
fn a_directory_that_is_written_to_is_not_restored_from() {
    let world = World::new();
    world.write(0..20, "one");
    let engine = world.engine();
    let id = world.back_up(&engine);
    let lock = Path::new(BACKUPS).join("BACKUP_LOCK");
    let held = world.files.lock_file(&lock).unwrap();
    let readers = [BackupEngine::open_read_only(engine_options(&world.files)).unwrap(), engine];
    for engine in &readers {
        let error = engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(!world.files.exists(&Path::new(TARGET).join("CURRENT")).unwrap());
    }
    drop(held);
    assert_eq!(restored(&readers[1], &world.files, id), world.contents());
    // One that only reads makes no BACKUP_LOCK.
    world.files.remove_file(&lock).unwrap();
    assert_eq!(restored(&readers[0], &world.files, id), world.contents());
    assert!(!world.files.exists(&lock).unwrap());
}
