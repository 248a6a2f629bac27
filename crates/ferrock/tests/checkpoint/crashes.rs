//! A crash, and a failure, at every file operation of a copy.

use super::{COPY, PATH, contents_at, memory, options};
use ferrock::backup::Checkpoint;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, WriteOptions};
use ferrock_vfs::Trigger;
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind,
};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A database with tables, blob files, files of a memtable, and a log that holds something.
fn filled(files: Arc<dyn FileSystem>) -> Db {
    let mut family = ColumnFamilyOptions::default();
    (family.enable_blob_files, family.min_blob_size) = (true, 50);
    let mut direct = family.clone();
    direct.enable_blob_direct_write = true;
    let mut options = DbOptions::default();
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    options.allow_concurrent_memtable_write = false;
    options.components.file_system = Some(files);
    let descriptors = vec![("default".to_owned(), family), ("direct".to_owned(), direct)];
    let (db, families) = Db::open_cf(PATH, options, descriptors).unwrap();
    for round in 0..3_u8 {
        for number in 0..10_u8 {
            let value = vec![round; usize::from(number) * 20];
            families.iter().for_each(|f| db.put_cf(f, &[number], &value, &WriteOptions::default()).unwrap());
        }
        if round < 2 {
            db.flush_cfs(&families, &ferrock::FlushOptions::default()).unwrap();
        }
    }
    db.sync_wal().unwrap();
    db
}

fn policies(operation: u64) -> [CrashPolicy; 5] {
    [
        CrashPolicy::KeepAll,
        CrashPolicy::KeepNothingUnsynced,
        CrashPolicy::KeepSubset { seed: operation },
        CrashPolicy::Torn { seed: operation, granularity_bytes: 1 },
        CrashPolicy::Torn { seed: operation, granularity_bytes: 512 },
    ]
}

/// Clones at every operation of a copy, and one of each kind behind it.
fn clones(log_size_for_flush: u64, hard_links: bool) -> (Vec<(String, MemoryFileSystem)>, Vec<MemoryFileSystem>) {
    let files = memory();
    let db = filled(Arc::new(files.clone()));
    db.wait_for_background_work().unwrap();
    let taken: Arc<Mutex<Vec<(String, MemoryFileSystem)>>> = Arc::default();
    let (handle, list) = (files.clone(), Arc::clone(&taken));
    files.set_operation_hook(Some(Arc::new(move |operation, line| {
        if !line.starts_with("append LOG") {
            let clones = policies(operation).map(|policy| (format!("{line}, {policy:?}"), handle.crash_clone(policy)));
            list.lock().unwrap().extend(clones);
        }
    })));
    Checkpoint::new(&db).log_size_for_flush(log_size_for_flush).hard_links(hard_links).create(COPY).unwrap();
    files.set_operation_hook(None);
    let after = policies(1).map(|policy| files.crash_clone(policy)).into();
    (std::mem::take(&mut *taken.lock().unwrap()), after)
}

#[test]
fn a_crash_leaves_the_database_and_no_copy_or_a_whole_one() {
    for (log_size_for_flush, hard_links) in [(0, true), (u64::MAX, true), (u64::MAX, false)] {
        let (points, after) = clones(log_size_for_flush, hard_links);
        assert!(points.len() > 50, "{} points", points.len());
        let expected = contents_at(&after[0], PATH, DbOptions::default()).unwrap();
        let (mut whole, mut absent) = (0, 0);
        for (line, files) in points {
            let contents = contents_at(&files, PATH, DbOptions::default());
            assert_eq!(contents.unwrap(), expected, "the database, crash before {line}");
            if files.exists(Path::new(COPY)).unwrap() {
                whole += 1;
                let copied = contents_at(&files, COPY, DbOptions::default());
                assert_eq!(copied.unwrap(), expected, "the copy, crash before {line}");
            } else {
                absent += 1;
                let mut base = DbOptions::default();
                base.components.file_system = Some(Arc::new(files.clone()));
                let (db, _) = Db::open_with_latest_options(PATH, base).unwrap();
                Checkpoint::new(&db).create(COPY).unwrap_or_else(|error| panic!("again, crash before {line}: {error}"));
                drop(db);
                assert_eq!(contents_at(&files, COPY, DbOptions::default()).unwrap(), expected, "again, {line}");
            }
        }
        assert!(whole > 0 && absent > 0, "{whole}, {absent}");
        for files in after {
            assert_eq!(contents_at(&files, COPY, DbOptions::default()).unwrap(), expected, "it is durable");
        }
    }
}

#[test]
fn a_failure_leaves_nothing_and_the_next_copy_succeeds() {
    let everywhere = ["/data/copy*/*", "/data/copy*", "/data"];
    let kinds = [
        OperationKind::Create,
        OperationKind::Append,
        OperationKind::Sync,
        OperationKind::Close,
        OperationKind::SyncDir,
        OperationKind::Link,
        OperationKind::Rename,
        OperationKind::CreateDir,
        OperationKind::Metadata,
    ];
    let mut cases: Vec<_> = kinds.iter().flat_map(|kind| everywhere.map(|pattern| (*kind, pattern))).collect();
    cases.extend([(OperationKind::Open, "/data/db/*"), (OperationKind::Read, "/data/db/*")]);
    let mut failed = 0;
    for (kind, pattern) in cases {
        for nth in 1..12 {
            let memory = memory();
            let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
            let db = filled(Arc::clone(&faults) as Arc<dyn FileSystem>);
            let rule = FaultRule::new(kind, pattern, Fault::Io).when(Trigger::Nth(nth));
            let rule = faults.add_rule(rule.on_thread(std::thread::current().id()));
            let created = Checkpoint::new(&db).log_size_for_flush(u64::MAX).create(COPY);
            faults.remove_rule(rule);
            let is_there = memory.exists(Path::new(COPY)).unwrap();
            match created {
                // The directory above could not be synced: the copy has its name, and is whole.
                Err(_) if is_there => assert_eq!(kind, OperationKind::SyncDir),
                Err(error) => {
                    failed += 1;
                    assert!(!memory.exists(Path::new("/data/copy.tmp")).unwrap(), "{kind:?} {nth}: {error}");
                    Checkpoint::new(&db).create(COPY).unwrap();
                }
                Ok(_) => assert!(is_there),
            }
            db.put(b"later", b"value").unwrap();
            drop(db);
            let mut expected = contents_at(&memory, PATH, options(&memory)).unwrap();
            expected.get_mut("default").unwrap().remove(&b"later"[..]);
            assert_eq!(contents_at(&memory, COPY, DbOptions::default()).unwrap(), expected, "{kind:?} {nth}");
        }
    }
    assert!(failed > 20, "{failed} copies failed");
}
