//! A listener may call the database: no lock is held while it is called.

use crate::common::threads::wait_until;
use crate::recorder::Bench;
use ferrock::{
    BackgroundErrorReason, BackgroundErrorRecoveryInfo, BackgroundJobPressure, BlobFileCreationInfo,
    ColumnFamilyHandleInfo, ColumnFamilyOptions, CompactionJobInfo, Db, Error, EventListener, FileCreationBriefInfo,
    FileDeletionInfo, FlushJobInfo, FlushOptions, ManualFlushInfo, MemTableInfo, SubcompactionJobInfo,
    TableFileCreationInfo, WeakDb, WriteOptions, WriteStallInfo,
};
use ferrock_vfs::{Fault, FaultRule, OperationKind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Reads, writes and asks for properties, whatever it is told.
#[derive(Default)]
struct Caller {
    db: OnceLock<WeakDb>,
    calls: Mutex<BTreeMap<&'static str, u64>>,
    /// From `on_flush_completed`: whether the key of the flush was read from a table.
    saw_flushed: Mutex<Vec<bool>>,
}

impl Caller {
    fn call(&self, what: &'static str) {
        let Some(db) = self.db.get().and_then(WeakDb::upgrade) else { return };
        let writes = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
        let family = db.default_column_family().unwrap();
        // An error stops writes, and the end of the database ends them.
        let _ = db.put_cf(&family, format!("of {what}").as_bytes(), b"value", &writes);
        let _ = db.get(b"key");
        let mut iter = db.iter(&Default::default());
        iter.seek_to_first();
        drop(iter);
        let _ = db.live_files();
        let _ = db.property("stats");
        let _ = db.background_error();
        let _ = db.snapshot();
        let _ = db.set_options_cf(&family, &[("max_write_buffer_number", "4")]);
        *self.calls.lock().unwrap().entry(what).or_default() += 1;
    }
}

impl EventListener for Caller {
    fn on_flush_begin(&self, _: &FlushJobInfo) {
        self.call("flush_begin");
    }
    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.call("flush_completed");
        if let Some(db) = self.db.get().and_then(WeakDb::upgrade) {
            let live = db.live_files();
            self.saw_flushed.lock().unwrap().push(live.iter().any(|file| Some(file.number) == info.file_number));
        }
    }
    fn on_manual_flush_scheduled(&self, _: &[ManualFlushInfo]) {
        self.call("manual_flush_scheduled");
    }
    fn on_compaction_begin(&self, _: &CompactionJobInfo) {
        self.call("compaction_begin");
    }
    fn on_compaction_pre_commit(&self, _: &CompactionJobInfo) {
        self.call("compaction_pre_commit");
    }
    fn on_compaction_completed(&self, _: &CompactionJobInfo) {
        self.call("compaction_completed");
    }
    fn on_subcompaction_begin(&self, _: &SubcompactionJobInfo) {
        self.call("subcompaction_begin");
    }
    fn on_subcompaction_completed(&self, _: &SubcompactionJobInfo) {
        self.call("subcompaction_completed");
    }
    fn on_table_file_creation_started(&self, _: &FileCreationBriefInfo) {
        self.call("table_file_creation_started");
    }
    fn on_table_file_created(&self, _: &TableFileCreationInfo) {
        self.call("table_file_created");
    }
    fn on_table_file_deleted(&self, _: &FileDeletionInfo) {
        self.call("table_file_deleted");
    }
    fn on_blob_file_creation_started(&self, _: &FileCreationBriefInfo) {
        self.call("blob_file_creation_started");
    }
    fn on_blob_file_created(&self, _: &BlobFileCreationInfo) {
        self.call("blob_file_created");
    }
    fn on_blob_file_deleted(&self, _: &FileDeletionInfo) {
        self.call("blob_file_deleted");
    }
    fn on_memtable_sealed(&self, _: &MemTableInfo) {
        self.call("memtable_sealed");
    }
    fn on_column_family_handle_deletion_started(&self, _: &ColumnFamilyHandleInfo) {
        self.call("column_family_handle_deletion_started");
    }
    fn on_background_error(&self, _: BackgroundErrorReason, _: &mut Option<Error>) {
        self.call("background_error");
    }
    fn on_error_recovery_begin(&self, _: BackgroundErrorReason, _: &Error, _: &mut bool) {
        self.call("error_recovery_begin");
    }
    fn on_error_recovery_completed(&self, _: &Error) {
        self.call("error_recovery_completed");
    }
    fn on_error_recovery_end(&self, _: &BackgroundErrorRecoveryInfo) {
        self.call("error_recovery_end");
    }
    fn on_stall_conditions_changed(&self, _: &WriteStallInfo) {
        self.call("stall_conditions_changed");
    }
    fn on_background_job_pressure_changed(&self, _: &BackgroundJobPressure) {
        self.call("background_job_pressure_changed");
    }
    fn on_db_shutdown_begin(&self) {
        self.call("db_shutdown_begin");
    }
}

fn fill(db: &Db) {
    for number in 0..20_u8 {
        db.put(&[number], &[number; 1000]).unwrap();
    }
}

#[test]
fn every_event_lets_its_listener_call_the_database() {
    let mut bench = Bench::new();
    let caller = Arc::new(Caller::default());
    bench.options.components.listeners.push(Arc::clone(&caller) as Arc<dyn EventListener>);
    bench.options.max_bgerror_resume_count = i32::MAX;
    bench.options.bgerror_resume_retry_interval = 1000;
    bench.family.enable_blob_files = true;
    bench.family.min_blob_size = 500;
    bench.family.enable_blob_garbage_collection = true;
    bench.family.blob_garbage_collection_age_cutoff = 1.0;
    // A slowdown cannot come before a compaction, nor where there are none: with the default trigger of four files it
    // came by chance.
    bench.family.disable_auto_compactions = false;
    bench.family.level0_file_num_compaction_trigger = 2;
    bench.family.level0_slowdown_writes_trigger = 2;
    bench.family.write_buffer_size = 64 << 10;
    let db = bench.open();
    caller.db.set(db.downgrade()).ok();
    fill(&db);
    db.flush().unwrap();
    fill(&db);
    db.flush().unwrap();
    fill(&db);
    db.compact_range(None, None).unwrap();
    let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    db.put_cf(&other, b"key", b"value", &WriteOptions::default()).unwrap();
    db.flush_cf(&other, &FlushOptions::default()).unwrap();
    db.drop_column_family(&other).unwrap();
    drop(other);
    // A memtable that a write finds full.
    for number in 0..200_u32 {
        db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
    }
    // A failed append is told by the thread of the write.
    for path in ["*.sst", "*.log"] {
        bench.faulty.add_rule(FaultRule::new(OperationKind::Append, path, Fault::NoSpace));
        let _ = db.put(b"key", b"value").and_then(|()| db.flush());
        bench.faulty.clear_rules();
        wait_until("writes are accepted again", || db.background_error().is_none());
    }
    fill(&db);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    let calls = caller.calls.lock().unwrap();
    for what in [
        "flush_begin",
        "flush_completed",
        "manual_flush_scheduled",
        "compaction_begin",
        "compaction_pre_commit",
        "compaction_completed",
        "subcompaction_begin",
        "subcompaction_completed",
        "table_file_creation_started",
        "table_file_created",
        "table_file_deleted",
        "blob_file_creation_started",
        "blob_file_created",
        "blob_file_deleted",
        "memtable_sealed",
        "column_family_handle_deletion_started",
        "background_error",
        "error_recovery_begin",
        "error_recovery_completed",
        "error_recovery_end",
        "stall_conditions_changed",
        "background_job_pressure_changed",
        "db_shutdown_begin",
    ] {
        assert!(calls.contains_key(what), "{what} was not called: {calls:?}");
    }
    assert!(caller.saw_flushed.lock().unwrap().iter().any(|seen| *seen));
}
