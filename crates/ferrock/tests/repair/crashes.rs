//! A crash at every file operation of a repair: the database can be repaired again, and holds the same then.

use super::world::{PATH, add_family_of_logs, assert_same, contents_at, examine, filled, repair};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn policies(operation: u64) -> [CrashPolicy; 3] {
    [
        CrashPolicy::KeepAll,
        CrashPolicy::KeepNothingUnsynced,
        CrashPolicy::Torn { seed: operation, granularity_bytes: 512 },
    ]
}

fn clones(files: &MemoryFileSystem) -> Vec<(String, MemoryFileSystem)> {
    let taken: Arc<Mutex<Vec<(String, MemoryFileSystem)>>> = Arc::default();
    let (handle, list) = (files.clone(), Arc::clone(&taken));
    files.set_operation_hook(Some(Arc::new(move |operation, line| {
        let clones = policies(operation).map(|policy| (format!("{line}, {policy:?}"), handle.crash_clone(policy)));
        list.lock().unwrap().extend(clones);
    })));
    repair(files).unwrap();
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
        let points = clones(&files);
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
