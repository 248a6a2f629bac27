//! A crash at every file operation of a repair: the database can be repaired again, and holds the same then; a copy is
//! whole, or no open and no repair takes it for one.

use super::world::{
    PATH, add_family_of_logs, assert_same, contents_at, db_options, descriptors, examine, filled, repair,
};
use ferrock::Db;
use ferrock::repair::{Repair, RepairReport};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

const COPY: &str = "/data/copy";

fn policies(operation: u64) -> [CrashPolicy; 3] {
    [
        CrashPolicy::KeepAll,
        CrashPolicy::KeepNothingUnsynced,
        CrashPolicy::Torn { seed: operation, granularity_bytes: 512 },
    ]
}

/// What a crash before each operation of `repair` leaves.
fn clones(files: &MemoryFileSystem, repair: impl FnOnce()) -> Vec<(String, MemoryFileSystem)> {
    let taken: Arc<Mutex<Vec<(String, MemoryFileSystem)>>> = Arc::default();
    let (handle, list) = (files.clone(), Arc::clone(&taken));
    files.set_operation_hook(Some(Arc::new(move |operation, line| {
        let clones = policies(operation).map(|policy| (format!("{line}, {policy:?}"), handle.crash_clone(policy)));
        list.lock().unwrap().extend(clones);
    })));
    repair();
    files.set_operation_hook(None);
    std::mem::take(&mut *taken.lock().unwrap())
}

#[test]
fn a_crash_leaves_a_database_that_a_repair_brings_to_the_same_state() {
    for case in 0..4 {
        let (files, _) = filled(20 + case);
        let whole = (case == 3).then(|| add_family_of_logs(&files));
        let mut names = files.children(Path::new(PATH)).unwrap();
        names.sort();
        for name in &names {
            let path = Path::new(PATH).join(name);
            match case {
                // The MANIFEST is lost: tables are merged.
                0 if name.starts_with("MANIFEST") => files.remove_file(&path).unwrap(),
                // A block of each third table, and a byte of a log, are damaged.
                1 if name.ends_with(".sst") || name.ends_with(".log") => {
                    let mut bytes = read_file(&files, &path).unwrap();
                    let place = bytes.len() / 3;
                    if let Some(byte) = bytes.get_mut(place) {
                        *byte ^= 0x40;
                    }
                    write_file_synced(&files, &path, &bytes).unwrap();
                }
                // Blob files lose their ends.
                2 if name.ends_with(".blob") => {
                    let bytes = read_file(&files, &path).unwrap();
                    write_file_synced(&files, &path, &bytes[..bytes.len() - 40]).unwrap();
                }
                // CURRENT is lost, and with it nothing.
                3 if name == "CURRENT" => files.remove_file(&path).unwrap(),
                _ => {}
            }
        }
        files.sync_dir(Path::new(PATH)).unwrap();
        let said = examine(&files);
        let points = clones(&files, || _ = repair(&files).unwrap());
        let expected = contents_at(&files, PATH).unwrap();
        assert!(points.len() > 30, "{} points", points.len());
        if let Some(whole) = whole {
            assert_same(&expected, &whole, "without a CURRENT");
        }
        for (line, crashed) in points {
            let again = examine(&crashed);
            assert_eq!(again.repair.entries_lost == 0, said.repair.entries_lost == 0 || !again.is_damaged(), "{line}");
            repair(&crashed).unwrap_or_else(|error| panic!("case {case}, crash before {line}: {error}"));
            let found = contents_at(&crashed, PATH).unwrap_or_else(|error| panic!("case {case}, {line}: {error}"));
            assert_same(&found, &expected, &format!("case {case}, crash before {line}"));
        }
    }
}

/// Names and bytes of all files of the database.
fn bytes_of(files: &MemoryFileSystem) -> BTreeMap<String, Vec<u8>> {
    let names = files.children(Path::new(PATH)).unwrap();
    names
        .into_iter()
        .filter_map(|name| Some((name.clone(), read_file(files, &Path::new(PATH).join(name)).ok()?)))
        .collect()
}

fn into_copy(files: &MemoryFileSystem) -> ferrock::Result<RepairReport> {
    Repair::new(db_options(files)).families(descriptors()).into_copy(COPY).run(PATH)
}

#[test]
fn a_crash_leaves_the_source_of_a_copy_and_a_copy_that_is_whole_or_none() {
    let (mut whole, mut unfinished) = (0, 0);
    for case in 0..3 {
        let (files, _) = filled(30 + case);
        for name in bytes_of(&files).into_keys() {
            let path = Path::new(PATH).join(&name);
            match case {
                0 if name.starts_with("MANIFEST") => files.remove_file(&path).unwrap(),
                1 if name.ends_with(".sst") => {
                    let mut bytes = read_file(&files, &path).unwrap();
                    bytes[10] ^= 0x40;
                    write_file_synced(&files, &path, &bytes).unwrap();
                }
                2 if name.ends_with(".blob") => {
                    let bytes = read_file(&files, &path).unwrap();
                    write_file_synced(&files, &path, &bytes[..bytes.len() - 40]).unwrap();
                }
                _ => {}
            }
        }
        files.sync_dir(Path::new(PATH)).unwrap();
        // What was not synced before is no business of a repair.
        let files = files.crash_clone(CrashPolicy::KeepNothingUnsynced);
        let source = bytes_of(&files);
        let mut points = clones(&files, || _ = into_copy(&files).unwrap());
        let expected = contents_at(&files, COPY).unwrap();
        assert_eq!(bytes_of(&files), source);
        // Behind the last operation it is durable.
        points.extend(policies(0).map(|policy| (format!("the end, {policy:?}"), files.crash_clone(policy))));
        for (point, (line, crashed)) in points.into_iter().enumerate() {
            let what = format!("case {case}, crash before {line}");
            assert_eq!(bytes_of(&crashed), source, "{what}");
            if crashed.exists(&Path::new(COPY).join("CURRENT")).unwrap() {
                whole += 1;
                assert_same(&contents_at(&crashed, COPY).unwrap(), &expected, &what);
                assert!(!line.starts_with("the end") || into_copy(&crashed).is_err(), "{what}");
                continue;
            }
            assert!(!line.starts_with("the end"), "{what}: the copy is not durable");
            unfinished += 1;
            let exists = crashed.exists(Path::new(COPY)).unwrap();
            assert!(contents_at(&crashed, COPY).is_err(), "{what}");
            let mut creating = db_options(&crashed);
            creating.create_if_missing = true;
            let has_files =
                exists && crashed.children(Path::new(COPY)).unwrap().iter().any(|name| name.ends_with(".sst"));
            let is_created = Db::open(COPY, creating);
            assert!(!has_files || is_created.is_err(), "{what}: a database was made over an unfinished copy");
            // To run it again takes its time.
            if exists && is_created.is_err() && point % 5 == 0 {
                let error = into_copy(&crashed).unwrap_err();
                assert!(error.to_string().contains("no CURRENT"), "{what}: {error}");
                for name in crashed.children(Path::new(COPY)).unwrap() {
                    crashed.remove_file(&Path::new(COPY).join(name)).unwrap();
                }
                crashed.remove_dir(Path::new(COPY)).unwrap();
                into_copy(&crashed).unwrap();
                assert_same(&contents_at(&crashed, COPY).unwrap(), &expected, &what);
            }
        }
    }
    assert!(whole > 0 && unfinished > 100, "{whole} whole, {unfinished} unfinished");
}
