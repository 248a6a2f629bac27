//! A crash at every operation: of the process, which leaves what the operating system was given, and of the power,
//! which leaves of what was not synced whatever the policy says.

use crate::world::*;
use ferrock::backup::{BackupEngine, RestoreMode, RestoreOptions};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What backups hold, and which of them must be there.
#[derive(Clone, Default)]
struct History {
    contents: BTreeMap<u32, Contents>,
    certain: BTreeSet<u32>,
}

struct Point {
    line: String,
    operation: u64,
    policy: CrashPolicy,
    files: MemoryFileSystem,
    before: History,
    after: History,
}

fn power_loss(operation: u64) -> CrashPolicy {
    match operation % 4 {
        0 => CrashPolicy::KeepNothingUnsynced,
        1 => CrashPolicy::KeepSubset { seed: operation },
        2 => CrashPolicy::Torn { seed: operation, granularity_bytes: 1 },
        _ => CrashPolicy::Torn { seed: operation, granularity_bytes: 512 },
    }
}

type Shared = Arc<Mutex<History>>;

/// Runs `work` and takes clones before every operation.
fn collect(files: &MemoryFileSystem, history: &Shared, work: impl FnOnce()) -> Vec<Point> {
    let points: Arc<Mutex<Vec<Point>>> = Arc::default();
    let (handle, seen, taken) = (files.clone(), Arc::clone(history), Arc::clone(&points));
    files.set_operation_hook(Some(Arc::new(move |operation, line| {
        for policy in [CrashPolicy::KeepAll, power_loss(operation)] {
            let before = seen.lock().unwrap().clone();
            let files = handle.crash_clone(policy);
            let after = seen.lock().unwrap().clone();
            taken.lock().unwrap().push(Point { line: line.to_owned(), operation, policy, files, before, after });
        }
    })));
    work();
    files.set_operation_hook(None);
    std::mem::take(&mut *points.lock().unwrap())
}

impl Point {
    fn describe(&self) -> String {
        format!("operation {} ({}), {:?}", self.operation, self.line, self.policy)
    }

    /// Backups that were there are whole, one that was being made is whole or absent, and the next write cleans up.
    fn check(&self) {
        let what = self.describe();
        let engine = BackupEngine::open(engine_options(&self.files)).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(engine.corrupted_backups().is_empty(), "{what}: {:?}", engine.corrupted_backups());
        let found: BTreeSet<u32> = engine.backup_infos().iter().map(|info| info.backup_id).collect();
        let certain: BTreeSet<u32> = self.before.certain.intersection(&self.after.certain).copied().collect();
        assert!(certain.is_subset(&found), "{what}: {certain:?} of {found:?}");
        for id in &found {
            engine.verify_backup(*id, true).unwrap_or_else(|error| panic!("{what}: {error}"));
            let expected = self.after.contents.get(id).unwrap_or_else(|| panic!("{what}: backup {id}"));
            assert_eq!(&restored(&engine, &self.files, *id), expected, "{what}: backup {id}");
        }
        engine.garbage_collect().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(files_of_backups(&self.files), files_named(&engine), "{what}");
        let again = BackupEngine::open(engine_options(&self.files)).unwrap();
        assert_eq!(again.backup_infos().len(), found.len(), "{what}");
    }
}

#[test]
fn a_crash_leaves_older_backups_whole_and_a_new_one_whole_or_absent() {
    let world = World::new();
    let history = Shared::default();
    world.write(0..30, "zero");
    world.flush();
    let mut engine_options = engine_options(&world.files);
    engine_options.io_buffer_size = 2000;
    let engine = BackupEngine::open(engine_options).unwrap();
    let create = |word: &str, at: usize| {
        world.write(at..at + 30, word);
        world.flush();
        let id = engine.backup_infos().last().map_or(0, |info| info.backup_id) + 1;
        world.write(at..at + 3, "logged");
        history.lock().unwrap().contents.insert(id, world.contents());
        let points = collect(&world.files, &history, || assert_eq!(world.back_up(&engine), id));
        history.lock().unwrap().certain.insert(id);
        points
    };
    let remove = |ids: &[u32], work: &dyn Fn()| {
        history.lock().unwrap().certain.retain(|id| !ids.contains(id));
        let points = collect(&world.files, &history, work);
        history.lock().unwrap().contents.retain(|id, _| !ids.contains(id));
        points
    };
    let mut points = create("one", 0);
    points.extend(create("two", 20));
    points.extend(create("three", 40));
    points.extend(remove(&[2], &|| drop(engine.delete_backup(2).unwrap())));
    points.extend(create("four", 40));
    points.extend(remove(&[1, 3], &|| drop(engine.purge_old_backups(1).unwrap())));
    points.iter().for_each(Point::check);
    let losses = points.iter().filter(|point| point.policy != CrashPolicy::KeepAll).count();
    assert!(losses > 150 && points.len() == 2 * losses, "{losses} of {}", points.len());
}

#[test]
fn what_a_crash_has_left_goes_with_the_next_backup() {
    let world = World::new();
    let history = Shared::default();
    world.write(0..30, "zero");
    world.flush();
    let engine = world.engine();
    let points = collect(&world.files, &history, || assert_eq!(world.back_up(&engine), 1));
    for point in points {
        // The database is as the crash left it, too.
        let (db, families) = open_at(DB, db_options(&point.files)).unwrap();
        let engine = BackupEngine::open(engine_options(&point.files)).unwrap();
        let id = engine.create_backup(&db, &Default::default()).unwrap();
        assert!(id <= 2, "{}", point.describe());
        assert_eq!(files_of_backups(&point.files), files_named(&engine), "{}", point.describe());
        assert_eq!(restored(&engine, &point.files, id), contents_of(&db, &families), "{}", point.describe());
    }
}

#[test]
fn a_restore_that_was_cut_short_is_no_database_and_can_be_made_again() {
    let world = World::new();
    let engine = world.engine();
    world.write(0..60, "value");
    world.flush();
    world.write(0..5, "logged");
    let id = world.back_up(&engine);
    let expected = world.contents();
    for logs in [TARGET, "/data/target-logs"] {
        for (mode, has_another) in [
            (RestoreMode::PurgeAllFiles, false),
            (RestoreMode::PurgeAllFiles, true),
            (RestoreMode::VerifyChecksum, true),
            (RestoreMode::KeepLatestDbSessionIdFiles, true),
        ] {
            let files = world.files.crash_clone(CrashPolicy::KeepAll);
            let engine = BackupEngine::open(engine_options(&files)).unwrap();
            let other = has_another.then(|| another_database(&files, &engine, id, logs));
            let options = RestoreOptions { mode, ..RestoreOptions::default() };
            let points = collect(&files, &Shared::default(), || {
                engine.restore_db_from_backup(id, TARGET, logs, &options).unwrap();
            });
            assert!(points.len() > 30, "{}", points.len());
            for point in points {
                let what = format!("{mode:?}, {}", point.describe());
                let opened = open_as_new(&point.files.crash_clone(CrashPolicy::KeepAll), logs);
                match opened {
                    // Before CURRENT went, or when there was nothing.
                    Ok(found) if Some(&found) == other.as_ref() => {}
                    Ok(found) if other.is_none() && found.iter().all(BTreeMap::is_empty) => {
                        let names = point.files.children(Path::new(TARGET)).unwrap_or_default();
                        assert!(
                            names.iter().all(|name| name == "LOCK" || name.ends_with(".dbtmp")),
                            "{what}: {names:?}"
                        );
                    }
                    Ok(found) => assert_eq!(found, expected, "{what}"),
                    Err(_) => {}
                }
                let engine = BackupEngine::open(engine_options(&point.files)).unwrap();
                engine.restore_db_from_backup(id, TARGET, logs, &options).unwrap();
                assert_eq!(open_as_new(&point.files, logs).unwrap(), expected, "{what}");
                let names = point.files.children(Path::new(TARGET)).unwrap();
                assert!(names.iter().all(|name| !name.ends_with(".dbtmp")), "{what}: {names:?}");
            }
        }
    }
}

/// Puts a later state of the restored database there, all of it durable.
fn another_database(files: &MemoryFileSystem, engine: &BackupEngine, id: u32, logs: &str) -> Contents {
    engine.restore_db_from_backup(id, TARGET, logs, &RestoreOptions::default()).unwrap();
    let mut options = db_options(files);
    logs.clone_into(&mut options.wal_dir);
    let (db, families) = open_at(TARGET, options).unwrap();
    for family in &families {
        db.put_cf(family, b"other", b"database", &ferrock::WriteOptions::synced()).unwrap();
    }
    db.flush_cfs(&families, &ferrock::FlushOptions::default()).unwrap();
    db.put_cf(&families[0], b"logged", b"database", &ferrock::WriteOptions::synced()).unwrap();
    let contents = contents_of(&db, &families);
    db.close().unwrap();
    contents
}

/// Opens the target as a program would that makes its database when there is none.
fn open_as_new(files: &MemoryFileSystem, logs: &str) -> ferrock::Result<Contents> {
    let mut options = db_options(files);
    logs.clone_into(&mut options.wal_dir);
    let (db, families) = open_at(TARGET, options)?;
    let contents = contents_of(&db, &families);
    db.close()?;
    Ok(contents)
}
