//! Each file operation of an open and of a catch-up fails once. What fails says so and leaves the view as it was; a
//! later catch-up has the newest state.

use crate::states::{FAMILIES, KINDS, Kind, State, assert_same, batch, descriptors, read};
use ferrock::options::{ColumnFamilyOptions, DbOptions};
use ferrock::{Db, WriteOptions};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, MemoryFileSystem, OperationKind, Trigger};
use std::sync::Arc;

const PATH: &str = "/db";
const SEED: u64 = 3;

struct Writer {
    db: Db,
    families: Vec<(String, u32)>,
    state: State,
    number: u64,
}

impl Writer {
    fn new(files: &MemoryFileSystem, family: &ColumnFamilyOptions) -> Self {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.components.file_system = Some(Arc::new(files.clone()));
        let (db, handles) = Db::open_cf(PATH, options, descriptors(family, &FAMILIES)).unwrap();
        let families = handles.iter().map(|family| (family.name().to_owned(), family.id())).collect();
        Self { db, families, state: State::new(), number: 0 }
    }

    fn write(&mut self, batches: u64) {
        for _ in 0..batches {
            self.number += 1;
            let batch = batch(SEED, self.number, &self.families, &mut self.state);
            self.db.write(batch, &WriteOptions::default()).unwrap();
        }
    }
}

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.enable_blob_files = true;
    family.min_blob_size = 100;
    family
}

fn open(kind: Kind, files: &Arc<FaultInjectionFileSystem>) -> ferrock::Result<Db> {
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::clone(files) as Arc<dyn ferrock_vfs::FileSystem>);
    kind.open(PATH, format!("/{kind:?}"), options, Some(descriptors(&family(), &FAMILIES))).map(|(db, _)| db)
}

/// Runs with a rule that fails the operation `nth` of all. The second is true when there were fewer.
fn failing<R>(files: &FaultInjectionFileSystem, nth: u64, fault: Fault, run: impl FnOnce() -> R) -> (R, bool) {
    let rule = files.add_rule(FaultRule::new(OperationKind::Any, "*", fault).when(Trigger::Nth(nth)));
    let outcome = run();
    let fired = files.remove_rule(rule);
    (outcome, fired == Some(0))
}

#[test]
fn an_open_that_fails_can_be_repeated() {
    KINDS.into_iter().for_each(repeat_opens);
}

fn repeat_opens(kind: Kind) {
    let memory = MemoryFileSystem::new();
    let mut writer = Writer::new(&memory, &family());
    writer.write(40);
    writer.db.flush().unwrap();
    writer.write(20);
    kind.publish(&writer.db);
    for fault in [Fault::Io, Fault::NotFound] {
        for nth in 1.. {
            let files = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
            let (opened, is_past) = failing(&files, nth, fault, || open(kind, &files));
            if let Ok(db) = opened {
                assert_same(&read(&db).unwrap(), &writer.state, &format!("{fault:?}, operation {nth}"));
            }
            let db = open(kind, &files).unwrap();
            assert_same(&read(&db).unwrap(), &writer.state, &format!("{fault:?}, behind operation {nth}"));
            if is_past {
                assert!(nth > 30, "few operations were met: {nth}");
                break;
            }
        }
    }
}

#[test]
fn a_catch_up_that_fails_leaves_the_view_and_a_later_one_succeeds() {
    KINDS.into_iter().for_each(repeat_catch_ups);
}

fn repeat_catch_ups(kind: Kind) {
    let mut failures = 0;
    for fault in [Fault::Io, Fault::NotFound, Fault::ShortRead { kept_bytes: 3 }] {
        // What comes to logs alone, and what changes tables.
        for is_flushed in [false, true] {
            // A MANIFEST that grows has more operations each time.
            let memory = MemoryFileSystem::new();
            let mut writer = Writer::new(&memory, &family());
            for nth in 1.. {
                let files = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
                let db = open(kind, &files).unwrap();
                let before = writer.state.clone();
                writer.write(6);
                if is_flushed {
                    writer.db.flush().unwrap();
                    writer.write(3);
                }
                kind.publish(&writer.db);
                let what = format!("{fault:?}, operation {nth}, flushed: {is_flushed}");
                let (outcome, is_past) = failing(&files, nth, fault, || db.try_catch_up_with_primary());
                failures += u64::from(outcome.is_err());
                match outcome {
                    // A file that ends early is one that is being written.
                    Ok(()) if matches!(fault, Fault::ShortRead { .. }) => {}
                    Ok(()) => assert_same(&read(&db).unwrap(), &writer.state, &what),
                    Err(_) => assert_same(&read(&db).unwrap(), &before, &what),
                }
                db.try_catch_up_with_primary().unwrap_or_else(|error| panic!("behind {what}: {error}"));
                assert_same(&read(&db).unwrap(), &writer.state, &format!("behind {what}"));
                if is_past {
                    break;
                }
            }
        }
    }
    assert!(failures > 20, "{failures} catch-ups failed");
}
