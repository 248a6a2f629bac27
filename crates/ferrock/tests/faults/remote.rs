//! Failures while the outputs of a compaction that ran elsewhere are installed: each operation on tables, blob files,
//! directories and the MANIFEST fails once, from the moment when the worker has answered.

use crate::common::books::{check_books, read_books};
use crate::rig::{DIRECTORY, Rig};
use crate::workers::{Conduct, InProcess};
use ferrock::Db;
use ferrock::options::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus, CompactionServiceScheduleResponse,
};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FaultRuleId, FileSystem, MemoryFileSystem, OperationKind, Trigger,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A service whose worker knows no faults. Its first answer arms a rule.
struct Arming {
    worker: Arc<InProcess>,
    faulty: FaultInjectionFileSystem,
    rule: Mutex<Option<FaultRule>>,
    armed: Mutex<Option<FaultRuleId>>,
}

impl Arming {
    fn new(rig: &Rig, rule: FaultRule) -> Arc<Self> {
        let worker = InProcess::new(Arc::new(rig.memory.clone()), &[Conduct::Honest]);
        for (name, options) in rig.own_families() {
            worker.set_family(&name, &options);
        }
        Arc::new(Self { worker, faulty: rig.faulty.clone(), rule: Mutex::new(Some(rule)), armed: Mutex::default() })
    }

    /// Whether the rule struck.
    fn has_struck(&self) -> bool {
        let armed = self.armed.lock().expect("a worker had a job");
        self.faulty.fired(armed).is_some_and(|times| times > 0)
    }
}

impl CompactionService for Arming {
    fn name(&self) -> &str {
        "test.Arming"
    }
    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        self.worker.schedule(info, input)
    }
    fn wait(&self, id: &str) -> (CompactionServiceJobStatus, Vec<u8>) {
        let answer = self.worker.wait(id);
        if let Some(rule) = self.rule.lock().take() {
            *self.armed.lock() = Some(self.faulty.add_rule(rule));
        }
        answer
    }
    fn on_installation(&self, id: &str, status: CompactionServiceJobStatus) {
        self.worker.on_installation(id, status);
    }
}

/// Tables and blob files in the directory that are not live.
fn strays(files: &MemoryFileSystem, db: &Db) -> BTreeSet<String> {
    let blobs = read_books(files, Path::new(DIRECTORY)).blobs.into_keys().map(|number| format!("{number:06}.blob"));
    let live: BTreeSet<String> = db.live_files().iter().map(ferrock::LiveFile::name).chain(blobs).collect();
    let is_output = |name: &String| [".sst", ".blob", ".dbtmp"].iter().any(|ending| name.ends_with(ending));
    let names = files.children(Path::new(DIRECTORY)).unwrap();
    names.into_iter().filter(|name| is_output(name) && !live.contains(name)).collect()
}

/// A database with two tables on level 0 and one compaction of them, of which an operation fails.
struct Case {
    rig: Rig,
    db: Db,
    service: Arc<Arming>,
    result: ferrock::Result<()>,
}

impl Case {
    fn run(operation: OperationKind, path: &str, nth: u64) -> Self {
        Self::run_on(Rig::new(), operation, path, nth)
    }

    /// Values are in blob files, and all of them are written anew.
    fn run_with_blobs(operation: OperationKind, path: &str, nth: u64) -> Self {
        let mut rig = Rig::new();
        rig.adjust = |family| {
            family.enable_blob_files = true;
            family.blob_file_size = 8000;
            family.enable_blob_garbage_collection = true;
            family.blob_garbage_collection_age_cutoff = 1.0;
        };
        Self::run_on(rig, operation, path, nth)
    }

    fn run_on(mut rig: Rig, operation: OperationKind, path: &str, nth: u64) -> Self {
        let rule = FaultRule::new(operation, path, Fault::Io).when(Trigger::Nth(nth));
        let service = Arming::new(&rig, rule);
        rig.options.components.compaction_service = Some(Arc::clone(&service) as _);
        let db = rig.open();
        for _ in 0..2 {
            rig.put_many(&db, 20);
            db.flush().unwrap();
        }
        let result = db.compact_range(None, None);
        Self { rig, db, service, result }
    }

    fn what(&self, operation: OperationKind, path: &str, nth: u64) -> String {
        format!("{operation:?} {nth} of {path}: {:?}", self.result)
    }
}

/// Fails each operation in turn, and counts the results that were refused.
fn fail_each(operations: &[OperationKind], path: &str, run: fn(OperationKind, &str, u64) -> Case) -> usize {
    let mut refused = 0;
    for &operation in operations {
        for nth in 1.. {
            let case = run(operation, path, nth);
            let what = case.what(operation, path, nth);
            if !case.service.has_struck() {
                break;
            }
            assert!(nth < 200, "{what}: the rule strikes for ever");
            case.result.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
            case.rig.verify(&case.db, &what);
            case.db.wait_for_background_work().unwrap();
            assert!(case.db.live_files().iter().all(|file| file.level > 0), "{what}: it was not compacted");
            let ended = case.service.worker.ended();
            refused += ended.iter().filter(|(_, status)| *status != CompactionServiceJobStatus::Success).count();
            // A file whose removal failed may stay until the next removal. Of a blob file the footer is read before.
            let is_removal = operation == OperationKind::Remove
                || path == "*.blob" && matches!(operation, OperationKind::Open | OperationKind::Read);
            if !is_removal {
                assert_eq!(strays(&case.rig.memory, &case.db), BTreeSet::new(), "{what}");
            }
            check_books(&what, &case.rig.memory, Path::new(DIRECTORY), &BTreeSet::new());
            case.rig.verify_after_crash(&what);
            drop(case.db);
            let db = case.rig.open();
            case.rig.verify(&db, &format!("{what}, reopened"));
            db.wait_for_background_work().unwrap();
            assert_eq!(strays(&case.rig.memory, &db), BTreeSet::new(), "{what}, reopened");
        }
    }
    refused
}

const OPERATIONS: &[OperationKind] = &[
    OperationKind::Link,
    OperationKind::Create,
    OperationKind::Sync,
    OperationKind::Open,
    OperationKind::Read,
    OperationKind::Metadata,
    OperationKind::Remove,
];

#[test]
fn a_failure_of_the_installation_leaves_nothing_and_the_database_compacts_by_itself() {
    let refused = fail_each(OPERATIONS, "*.sst", Case::run);
    assert!(refused >= 5, "{refused} results were refused");
}

#[test]
fn a_failure_of_the_installation_of_blob_files_leaves_nothing() {
    for path in ["*.sst", "*.blob"] {
        let refused = fail_each(OPERATIONS, path, Case::run_with_blobs);
        assert!(refused >= 5, "{path}: {refused} results were refused");
    }
}

#[test]
fn a_directory_that_cannot_be_synced_holds_no_outputs() {
    fail_syncs(Case::run);
    fail_syncs(Case::run_with_blobs);
}

fn fail_syncs(run: fn(OperationKind, &str, u64) -> Case) {
    for nth in 1..20 {
        let case = run(OperationKind::SyncDir, "*", nth);
        let what = case.what(OperationKind::SyncDir, "*", nth);
        if !case.service.has_struck() {
            assert!(nth > 1, "no directory is synced");
            return;
        }
        case.rig.verify(&case.db, &what);
        case.rig.verify_after_crash(&what);
        if case.result.is_ok() {
            case.db.wait_for_background_work().unwrap();
            assert_eq!(strays(&case.rig.memory, &case.db), BTreeSet::new(), "{what}");
        }
        drop(case.db);
        case.rig.verify(&case.rig.open(), &format!("{what}, reopened"));
    }
    panic!("the rule strikes for ever");
}

/// The edit may have reached the disk: writes stop, and the outputs stay until the MANIFEST is written anew.
#[test]
fn an_edit_that_is_not_written_loses_nothing() {
    let runs: [fn(OperationKind, &str, u64) -> Case; 2] = [Case::run, Case::run_with_blobs];
    for (operation, run) in
        [OperationKind::Append, OperationKind::Sync].iter().flat_map(|kind| runs.map(|run| (*kind, run)))
    {
        let mut case = run(operation, "MANIFEST-*", 1);
        let what = case.what(operation, "MANIFEST-*", 1);
        assert!(case.service.has_struck() && case.result.is_err(), "{what}");
        case.rig.verify(&case.db, &what);
        case.rig.verify_after_crash(&what);
        case.db.resume().unwrap();
        case.rig.put_many(&case.db, 5);
        case.db.compact_range(None, None).unwrap();
        case.rig.verify(&case.db, &format!("{what}, resumed"));
        case.rig.verify_after_crash(&format!("{what}, resumed"));
        drop(case.db);
        let db = case.rig.open();
        case.rig.verify(&db, &format!("{what}, reopened"));
        db.wait_for_background_work().unwrap();
        assert_eq!(strays(&case.rig.memory, &db), BTreeSet::new(), "{what}, reopened");
    }
}
