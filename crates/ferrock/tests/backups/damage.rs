//! Damaged directories: the error names the file, nothing panics, and sound backups are not touched by it.

use crate::world::*;
use ferrock::ErrorKind;
use ferrock::backup::{BackupEngine, CreateBackupOptions, RestoreOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem, write_file_synced};
use std::path::Path;

struct Backups {
    world: World,
    expected: Vec<Contents>,
}

/// Three backups that share tables.
fn backups() -> Backups {
    let world = World::new();
    let engine = world.engine();
    let mut expected = Vec::new();
    for round in 0..3 {
        world.write(round * 30..round * 30 + 40, ["one", "two", "three"][round]);
        world.flush();
        world.write(round * 30..round * 30 + 3, "logged");
        world.back_up(&engine);
        expected.push(world.contents());
    }
    Backups { world, expected }
}

/// A copy that can be damaged.
fn copy_of(files: &MemoryFileSystem) -> MemoryFileSystem {
    files.crash_clone(ferrock_vfs::CrashPolicy::KeepAll)
}

fn open(files: &MemoryFileSystem) -> BackupEngine {
    BackupEngine::open(engine_options(files)).unwrap()
}

#[test]
fn a_changed_byte_of_any_file_is_found_by_its_checksum() {
    let backups = backups();
    let engine = open(&backups.world.files);
    for file in files_named(&engine) {
        let files = copy_of(&backups.world.files);
        change_file(&files, &path_of(&file), |bytes| {
            let at = bytes.len() / 2;
            bytes[at] ^= 0x10;
        });
        let engine = open(&files);
        assert!(engine.corrupted_backups().is_empty(), "{file}: its size is right");
        for id in 1..=3 {
            let has_it = engine.backup_files(id).unwrap().iter().any(|named| named.relative_filename == file);
            engine.verify_backup(id, false).unwrap();
            let verified = engine.verify_backup(id, true);
            assert_eq!(verified.is_err(), has_it, "backup {id}, {file}: {verified:?}");
            let restored = engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default());
            if has_it {
                for error in [verified.unwrap_err(), restored.unwrap_err()] {
                    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                    assert!(error.to_string().contains(&file), "{error}");
                }
                assert!(contents_at(&files, TARGET).is_err(), "what was restored in part is no database");
            } else {
                restored.unwrap();
                assert_eq!(contents_at(&files, TARGET).unwrap(), backups.expected[id as usize - 1]);
            }
        }
    }
}

#[test]
fn files_that_are_cut_or_missing_break_the_backups_that_name_them() {
    let backups = backups();
    let engine = open(&backups.world.files);
    for file in files_named(&engine) {
        for is_removed in [false, true] {
            // A private file does not say its size where the first schema says none: it is found by its checksum.
            if !is_removed && file.starts_with("private/") {
                continue;
            }
            let files = copy_of(&backups.world.files);
            let before = open(&files);
            match is_removed {
                true => files.remove_file(&path_of(&file)).unwrap(),
                false => change_file(&files, &path_of(&file), |bytes| bytes.truncate(bytes.len() - 1)),
            }
            let engine = open(&files);
            let broken = engine.corrupted_backups();
            for id in 1..=3 {
                let has_it = before.backup_files(id).unwrap().iter().any(|named| named.relative_filename == file);
                assert_eq!(broken.iter().any(|(broken, _)| *broken == id), has_it, "{file}: {broken:?}");
                // An engine that was open before finds it when it verifies.
                assert_eq!(before.verify_backup(id, false).is_err(), has_it, "{file}");
                let refused = before.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default());
                assert_eq!(refused.is_err(), has_it, "{file}");
                if has_it {
                    assert!(engine.backup_info(id).is_err() && engine.verify_backup(id, true).is_err());
                    assert!(engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).is_err());
                } else {
                    assert_eq!(restored(&engine, &files, id), backups.expected[id as usize - 1]);
                }
            }
            assert!(broken.iter().all(|(_, error)| error.contains(&file)), "{broken:?}");
            // Broken backups keep what they name, and can be deleted.
            engine.garbage_collect().unwrap();
            for (id, _) in broken {
                engine.delete_backup(id).unwrap();
            }
            assert_eq!(files_of_backups(&files), files_named(&engine));
        }
    }
}

#[test]
fn a_shared_file_that_was_lost_is_copied_again() {
    let backups = backups();
    let World { files, db, .. } = &backups.world;
    let engine = open(files);
    for file in engine.backup_files(3).unwrap() {
        if !file.relative_filename.ends_with(".sst") {
            continue;
        }
        files.remove_file(&path_of(&file.relative_filename)).unwrap();
        engine.create_backup(db, &CreateBackupOptions::default()).unwrap();
        let later = open(files);
        assert!(later.corrupted_backups().is_empty(), "{:?}", later.corrupted_backups());
        change_file(files, &path_of(&file.relative_filename), |bytes| bytes.truncate(10));
        engine.create_backup(db, &CreateBackupOptions::default()).unwrap();
        let later = open(files);
        assert!(later.corrupted_backups().is_empty(), "{:?}", later.corrupted_backups());
    }
    let later = open(files);
    for id in 1..=3 {
        assert_eq!(restored(&later, files, id), backups.expected[id as usize - 1]);
    }
}

#[test]
fn descriptions_that_are_none_leave_everything_where_it_is() {
    let backups = backups();
    let texts: [&[u8]; 6] = [
        b"",
        b"\0\0\0\0",
        b"garbage\n",
        b"schema_version 7\n1\n2\n0\n",
        b"1\n2\n1\nprivate/../../../etc/CURRENT crc32 1\n",
        b"1\n2\n99999999999999999999\n",
    ];
    for text in texts {
        let files = copy_of(&backups.world.files);
        write_file_synced(&files, &path_of("meta/2"), text).unwrap();
        let engine = open(&files);
        let broken = engine.corrupted_backups();
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(broken[0].0 == 2 && broken[0].1.contains("meta/2"), "{broken:?}");
        for error in [engine.backup_info(2).unwrap_err(), engine.verify_backup(2, true).unwrap_err()] {
            assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported), "{error}");
        }
        // What it names is not known, so nothing shared goes.
        let before = files_of_backups(&files);
        let shared = |names: &[String]| names.iter().filter(|name| name.starts_with("shared")).count();
        let report = engine.delete_backup(3).unwrap();
        assert_eq!(report.kept_for, [2]);
        assert_eq!(shared(&before), shared(&files_of_backups(&files)));
        assert_eq!(restored(&engine, &files, 1), backups.expected[0]);
        // With its text back it is whole.
        let sound = ferrock_vfs::read_file(&backups.world.files, &path_of("meta/2")).unwrap();
        let text = ferrock_vfs::read_file(&files, &path_of("meta/2")).unwrap();
        write_file_synced(&files, &path_of("meta/2"), &sound).unwrap();
        assert_eq!(restored(&open(&files), &files, 2), backups.expected[1]);
        write_file_synced(&files, &path_of("meta/2"), &text).unwrap();
        open(&files).delete_backup(2).unwrap();
        let engine = open(&files);
        engine.garbage_collect().unwrap();
        assert_eq!(files_of_backups(&files), files_named(&engine));
    }
}

#[test]
fn any_byte_of_a_description_may_change() {
    let backups = backups();
    let length = backups.world.files.file_size(&path_of("meta/3")).unwrap() as usize;
    for at in 0..length {
        let files = copy_of(&backups.world.files);
        change_file(&files, &path_of("meta/3"), |bytes| bytes[at] ^= 1 << (at % 7));
        let engine = open(&files);
        engine.verify_backup(2, at % 16 == 0).unwrap();
        if engine.corrupted_backups().is_empty() {
            // The time, the sequence number or a checksum: all that nothing else says.
            let verified = engine.verify_backup(3, true);
            let restored = engine.restore_db_from_backup(3, TARGET, TARGET, &RestoreOptions::default());
            assert_eq!(verified.is_ok(), restored.is_ok(), "{at}: {verified:?}, {restored:?}");
            if restored.is_ok() {
                assert_eq!(contents_at(&files, TARGET).unwrap(), backups.expected[2], "{at}");
            }
        }
        engine.garbage_collect().unwrap();
        open(&files).verify_backup(1, false).unwrap();
    }
}

#[test]
fn a_file_of_another_content_under_the_same_number_is_refused() {
    // Without checksums in names, a database that went back to an earlier state has other tables of the same numbers.
    let world = World::new();
    let mut options = engine_options(&world.files);
    options.share_files_with_checksum = false;
    let engine = BackupEngine::open(options).unwrap();
    world.write(0..40, "value");
    world.flush();
    world.back_up(&engine);
    let name = files_of_backups(&world.files).into_iter().find(|name| name.starts_with("shared/")).unwrap();
    change_file(&world.files, &path_of(&name), |bytes| bytes.push(0));
    let error = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains(&name), "{error}");
}

#[test]
fn a_damaged_table_of_the_database_ends_the_backup() {
    let backups = backups();
    let World { files, db, .. } = &backups.world;
    let table = files.children(Path::new(DB)).unwrap().into_iter().rfind(|name| name.ends_with(".sst")).unwrap();
    change_file(files, &Path::new(DB).join(&table), |bytes| bytes.truncate(50));
    let before = files_of_backups(files);
    let engine = open(files);
    let error = engine.create_backup(db, &CreateBackupOptions::default()).unwrap_err();
    assert!(error.to_string().contains(&table), "{error}");
    assert_eq!((files_of_backups(files), engine.backup_infos().len()), (before, 3));
}

/// A description that cannot be read is the business of its backup alone.
#[test]
fn a_description_that_cannot_be_read_stands_in_the_way_of_no_other() {
    let backups = backups();
    let files = copy_of(&backups.world.files);
    files.remove_file(&path_of("meta/2")).unwrap();
    files.create_dir_all(&path_of("meta/2")).unwrap();
    let engine = open(&files);
    assert_eq!(engine.corrupted_backups().iter().map(|(id, _)| *id).collect::<Vec<_>>(), [2]);
    assert_eq!(restored(&engine, &files, 1), backups.expected[0]);
    assert_eq!(restored(&engine, &files, 3), backups.expected[2]);
    assert_eq!(engine.garbage_collect().unwrap().kept_for, [2]);
}
