//! The power goes, or the process dies, at every operation of a history with an archive: nothing that the database has
//! is lost to it, nothing that it lost is read, and after the death of the process every batch is there.

use crate::follower::{Follower, flush_all, keeping_on, open};
use ferrock::{ErrorKind, FlushOptions, WriteBatch, WriteOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::{Arc, Mutex};

struct Point {
    line: String,
    policy: CrashPolicy,
    files: MemoryFileSystem,
}

fn collect(seed: u64) -> Vec<Point> {
    let memory = MemoryFileSystem::new();
    memory.create_dir_all(Path::new("/db")).unwrap();
    memory.sync_dir(Path::new("/")).unwrap();
    let mut options = keeping_on(Arc::new(memory.clone()), 1_000_000);
    options.avoid_flush_during_recovery = seed % 2 == 1;
    let (db, families) = open(options.clone()).unwrap();
    let points: Arc<Mutex<Vec<Point>>> = Arc::default();
    let (handle, taken) = (memory.clone(), Arc::clone(&points));
    memory.set_operation_hook(Some(Arc::new(move |operation, line| {
        if line.starts_with("append LOG") {
            return;
        }
        let loss = match operation % 3 {
            0 => CrashPolicy::KeepNothingUnsynced,
            1 => CrashPolicy::KeepSubset { seed: operation },
            _ => CrashPolicy::Torn { seed: operation, granularity_bytes: 512 },
        };
        for policy in [CrashPolicy::KeepAll, loss] {
            let files = handle.crash_clone(policy);
            taken.lock().unwrap().push(Point { line: line.to_owned(), policy, files });
        }
    })));
    let mut random = Random::new(seed);
    let mut open_db = Some((db, families));
    for step in 0..40u32 {
        let (db, families) = open_db.as_ref().unwrap();
        match random.next_u64() % 8 {
            0 => flush_all(db),
            1 => {
                db.flush_cf(&families[(random.next_u64() % 3) as usize], &FlushOptions::default()).unwrap();
            }
            2 if step.is_multiple_of(4) => {
                drop(open_db.take());
                open_db = Some(open(options.clone()).unwrap());
            }
            _ => {
                let mut batch = WriteBatch::new();
                for part in 0..1 + random.next_u64() % 4 {
                    let key = format!("{}", random.next_u64() % 9);
                    batch.put_cf((random.next_u64() % 3) as u32, key.as_bytes(), &[part as u8; 20]).unwrap();
                }
                let sync = random.next_u64().is_multiple_of(3);
                db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
            }
        }
    }
    memory.set_operation_hook(None);
    drop(open_db);
    std::mem::take(&mut *points.lock().unwrap())
}

#[test]
fn after_a_crash_the_logs_tell_what_the_database_has() {
    let (mut whole, mut missing, mut moves) = (0, 0, 0);
    for seed in 0..4 {
        for point in collect(seed) {
            let what = format!("seed {seed}: {:?} before {}", point.policy, point.line);
            let (db, families) = match open(keeping_on(Arc::new(point.files.clone()), 1_000_000)) {
                Ok(opened) => opened,
                // A torn MANIFEST is refused; ../crash/points.rs has the rule.
                Err(error)
                    if matches!(point.policy, CrashPolicy::Torn { .. }) && error.to_string().contains("MANIFEST") =>
                {
                    continue;
                }
                Err(error) => panic!("{what}: {error}"),
            };
            moves += usize::from(point.line.starts_with("rename") && point.line.contains(".log"));
            let mut follower = Follower::new();
            match follower.follow(&db) {
                Ok(_) => {
                    whole += 1;
                    follower.assert_equals(&db, &families);
                }
                Err(error) => {
                    assert_ne!(point.policy, CrashPolicy::KeepAll, "{what}: {error}");
                    // What was flushed before its log was synced is in a table, and in no log.
                    assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corruption), "{what}: {error}");
                    assert!(follower.taken < db.latest_sequence_number(), "{what}");
                    missing += 1;
                }
            }
            // What is written now is read on, also by a second open.
            let from = db.latest_sequence_number();
            db.put(b"later", b"value").unwrap();
            drop((db, families));
            let (db, _) = open(keeping_on(Arc::new(point.files), 1_000_000)).unwrap();
            let mut updates = db.updates_since(from.plus(1), ferrock::WalReadOptions::default()).unwrap();
            assert_eq!(updates.next_batch().unwrap().unwrap().sequence, from.plus(1), "{what}");
            assert!(updates.next_batch().unwrap().is_none());
        }
    }
    assert!(whole > 200 && moves > 10, "{whole} {missing} {moves}");
}
