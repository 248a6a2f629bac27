//! Failures while the outputs of a compaction that ran elsewhere are installed: each operation on tables, directories
//! and the MANIFEST fails once, from the moment when the worker has answered.

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
        for (name, options) in Rig::families() {
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

/// Tables in the directory that are not live.
fn strays(files: &MemoryFileSystem, db: &Db) -> BTreeSet<String> {
    let live: BTreeSet<String> = db.live_files().iter().map(ferrock::LiveFile::name).collect();
    let names = files.children(Path::new(DIRECTORY)).unwrap();
    names.into_iter().filter(|name| name.ends_with(".sst") && !live.contains(name)).collect()
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
        let mut rig = Rig::new();
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

#[test]
fn a_failure_of_the_installation_leaves_nothing_and_the_database_compacts_by_itself() {
    let mut refused = 0;
    for operation in [
        OperationKind::Link,
        OperationKind::Create,
        OperationKind::Sync,
        OperationKind::Open,
        OperationKind::Read,
        OperationKind::Metadata,
        OperationKind::Remove,
    ] {
        for nth in 1.. {
            let case = Case::run(operation, "*.sst", nth);
            let what = case.what(operation, "*.sst", nth);
            if !case.service.has_struck() {
                break;
            }
            assert!(nth < 100, "{what}: the rule strikes for ever");
            case.result.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
            case.rig.verify(&case.db, &what);
            case.db.wait_for_background_work().unwrap();
            assert!(case.db.live_files().iter().all(|file| file.level > 0), "{what}: it was not compacted");
            let ended = case.service.worker.ended();
            refused += ended.iter().filter(|(_, status)| *status != CompactionServiceJobStatus::Success).count();
            // A file whose removal failed may stay until the next removal.
            if operation != OperationKind::Remove {
                assert_eq!(strays(&case.rig.memory, &case.db), BTreeSet::new(), "{what}");
            }
            case.rig.verify_after_crash(&what);
            drop(case.db);
            let db = case.rig.open();
            case.rig.verify(&db, &format!("{what}, reopened"));
            db.wait_for_background_work().unwrap();
            assert_eq!(strays(&case.rig.memory, &db), BTreeSet::new(), "{what}, reopened");
        }
    }
    assert!(refused >= 5, "{refused} results were refused");
}

#[test]
fn a_directory_that_cannot_be_synced_holds_no_outputs() {
    for nth in 1..20 {
        let case = Case::run(OperationKind::SyncDir, "*", nth);
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
    for operation in [OperationKind::Append, OperationKind::Sync] {
        let mut case = Case::run(operation, "MANIFEST-*", 1);
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
