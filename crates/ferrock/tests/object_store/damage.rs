//! Objects that changed, were cut, or are missing.

use crate::stores::*;
use crate::world::{TARGET, World, contents_at};
use ferrock::ErrorKind;
use ferrock::backup::{CreateBackupOptions, RestoreOptions};

#[test]
fn damage_of_every_object_is_found_and_named() {
    let world = World::new();
    world.write(0..100, "value");
    world.flush();
    world.write(100..120, "logged");
    let store = in_memory();
    let engine = engine_in(&world, &store);
    let first = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let expected = world.contents();
    for name in files_of_backups(&store) {
        let whole = objects(&store).remove(&name).unwrap();
        if whole.is_empty() {
            continue;
        }
        change_object(&store, &name, |bytes| bytes[whole.len() / 2] ^= 4);
        engine.verify_backup(first, false).unwrap();
        let error = engine.verify_backup(first, true).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains(&name), "{name}: {error}");
        let error = engine_in(&world, &store)
            .restore_db_from_backup(first, TARGET, TARGET, &RestoreOptions::default())
            .unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains(&name), "{name}: {error}");
        change_object(&store, &name, |bytes| bytes.truncate(whole.len() - 1));
        let error = engine.verify_backup(first, false).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains(&name), "{name}: {error}");
        remove_object(&store, &name);
        let error = engine.verify_backup(first, false).unwrap_err();
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains(&name), "{name}: {error}");
        let broken = engine_in(&world, &store).corrupted_backups();
        assert!(broken.len() == 1 && broken[0].1.contains(&name), "{name}: {broken:?}");
        smol::block_on(async {
            let key = ferrock::backup::object_store::path::Path::from(format!("{PREFIX}/{name}"));
            ferrock::backup::object_store::ObjectStoreExt::put(&*store, &key, whole.into()).await.unwrap();
        });
        engine.verify_backup(first, true).unwrap();
    }
    engine.restore_db_from_backup(first, TARGET, TARGET, &RestoreOptions::default()).unwrap();
    assert_eq!(contents_at(&world.files, TARGET).unwrap(), expected);
}

#[test]
fn the_next_backup_mends_a_shared_file_that_is_gone() {
    let world = World::new();
    world.write(0..100, "value");
    world.flush();
    let store = in_memory();
    let engine = engine_in(&world, &store);
    let first = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let lost = files_of_backups(&store).into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let whole = objects(&store).remove(&lost).unwrap();
    remove_object(&store, &lost);
    assert!(engine.verify_backup(first, false).is_err());
    engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    assert_eq!(objects(&store)[&lost], whole);
    engine.verify_backup(first, true).unwrap();
}

#[test]
fn a_description_that_cannot_be_read_keeps_shared_files() {
    let world = World::new();
    world.write(0..100, "value");
    world.flush();
    let store = in_memory();
    let engine = engine_in(&world, &store);
    engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap();
    let before = files_of_backups(&store);
    change_object(&store, "meta/1", |bytes| bytes.truncate(5));
    let engine = engine_in(&world, &store);
    assert_eq!(engine.corrupted_backups().len(), 1);
    assert_eq!(engine.garbage_collect().unwrap().kept_for, [1]);
    assert_eq!(files_of_backups(&store), before);
    engine.delete_backup(1).unwrap();
    engine.verify_backup(2, true).unwrap();
    assert!(files_of_backups(&store).iter().all(|name| !name.starts_with("private/1/")));
}
