//! A listener that keeps all it is told, and a database in memory that it listens to.

use crate::common::options_on;
use ferrock::{
    BackgroundErrorReason, BackgroundErrorRecoveryInfo, BackgroundJobPressure, BlobFileCreationInfo,
    ColumnFamilyHandleInfo, ColumnFamilyOptions, CompactionJobInfo, Db, DbOptions, Error, ErrorKind, EventListener,
    FileCreationBriefInfo, FileDeletionInfo, FileOperationInfo, FileOperationType, FlushJobInfo, IoErrorInfo,
    ManualFlushInfo, MemTableInfo, SubcompactionJobInfo, TableFileCreationInfo, WriteStallInfo,
};
use ferrock_vfs::{FaultInjectionFileSystem, FileSystem, MemoryFileSystem};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub const DIRECTORY: &str = "/db";

/// What was told.
#[derive(Clone, Debug)]
pub enum Told {
    FlushBegin(FlushJobInfo),
    FlushCompleted(FlushJobInfo),
    ManualFlushScheduled(Vec<ManualFlushInfo>),
    CompactionBegin(CompactionJobInfo),
    CompactionPreCommit(CompactionJobInfo),
    CompactionCompleted(CompactionJobInfo),
    SubcompactionBegin(SubcompactionJobInfo),
    SubcompactionCompleted(SubcompactionJobInfo),
    TableFileCreationStarted(FileCreationBriefInfo),
    TableFileCreated(TableFileCreationInfo),
    TableFileDeleted(FileDeletionInfo),
    BlobFileCreationStarted(FileCreationBriefInfo),
    BlobFileCreated(BlobFileCreationInfo),
    BlobFileDeleted(FileDeletionInfo),
    MemTableSealed(MemTableInfo),
    HandleDeletionStarted(ColumnFamilyHandleInfo),
    BackgroundError(BackgroundErrorReason, ErrorKind),
    RecoveryBegin(BackgroundErrorReason, ErrorKind),
    RecoveryCompleted(ErrorKind),
    RecoveryEnd(BackgroundErrorRecoveryInfo),
    #[allow(dead_code, reason = "printed")]
    Stall(WriteStallInfo),
    Pressure(BackgroundJobPressure),
    ShutdownBegin,
    File(FileOperationInfo),
    IoError(IoErrorInfo),
}

impl Told {
    /// The name of the kind.
    pub fn name(&self) -> String {
        let text = format!("{self:?}");
        text.split(['(', ' ', '{']).next().unwrap().to_owned()
    }
}

/// Keeps what it is told.
#[derive(Default)]
pub struct Recorder {
    told: Mutex<Vec<Told>>,
    /// Wants operations on files.
    pub wants_files: AtomicBool,
    /// Background errors count for nothing.
    pub suppresses: AtomicBool,
    /// No recovery without a call.
    pub vetoes: AtomicBool,
}

impl Recorder {
    fn add(&self, told: Told) {
        self.told.lock().unwrap().push(told);
    }

    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// What was told since the last call.
    pub fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }

    pub fn count(&self, name: &str) -> usize {
        self.told.lock().unwrap().iter().filter(|told| told.name() == name).count()
    }
}

impl EventListener for Recorder {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        self.add(Told::FlushBegin(info.clone()));
    }
    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.add(Told::FlushCompleted(info.clone()));
    }
    fn on_manual_flush_scheduled(&self, infos: &[ManualFlushInfo]) {
        self.add(Told::ManualFlushScheduled(infos.to_vec()));
    }
    fn on_compaction_begin(&self, info: &CompactionJobInfo) {
        self.add(Told::CompactionBegin(info.clone()));
    }
    fn on_compaction_pre_commit(&self, info: &CompactionJobInfo) {
        self.add(Told::CompactionPreCommit(info.clone()));
    }
    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        self.add(Told::CompactionCompleted(info.clone()));
    }
    fn on_subcompaction_begin(&self, info: &SubcompactionJobInfo) {
        self.add(Told::SubcompactionBegin(info.clone()));
    }
    fn on_subcompaction_completed(&self, info: &SubcompactionJobInfo) {
        self.add(Told::SubcompactionCompleted(info.clone()));
    }
    fn on_table_file_creation_started(&self, info: &FileCreationBriefInfo) {
        self.add(Told::TableFileCreationStarted(info.clone()));
    }
    fn on_table_file_created(&self, info: &TableFileCreationInfo) {
        self.add(Told::TableFileCreated(info.clone()));
    }
    fn on_table_file_deleted(&self, info: &FileDeletionInfo) {
        self.add(Told::TableFileDeleted(info.clone()));
    }
    fn on_blob_file_creation_started(&self, info: &FileCreationBriefInfo) {
        self.add(Told::BlobFileCreationStarted(info.clone()));
    }
    fn on_blob_file_created(&self, info: &BlobFileCreationInfo) {
        self.add(Told::BlobFileCreated(info.clone()));
    }
    fn on_blob_file_deleted(&self, info: &FileDeletionInfo) {
        self.add(Told::BlobFileDeleted(info.clone()));
    }
    fn on_memtable_sealed(&self, info: &MemTableInfo) {
        self.add(Told::MemTableSealed(info.clone()));
    }
    fn on_column_family_handle_deletion_started(&self, info: &ColumnFamilyHandleInfo) {
        self.add(Told::HandleDeletionStarted(info.clone()));
    }
    fn on_background_error(&self, reason: BackgroundErrorReason, error: &mut Option<Error>) {
        if let Some(error) = error {
            self.add(Told::BackgroundError(reason, error.kind()));
        }
        if self.suppresses.load(Ordering::SeqCst) {
            *error = None;
        }
    }
    fn on_error_recovery_begin(&self, reason: BackgroundErrorReason, error: &Error, auto_recovery: &mut bool) {
        self.add(Told::RecoveryBegin(reason, error.kind()));
        *auto_recovery &= !self.vetoes.load(Ordering::SeqCst);
    }
    fn on_error_recovery_completed(&self, old_error: &Error) {
        self.add(Told::RecoveryCompleted(old_error.kind()));
    }
    fn on_error_recovery_end(&self, info: &BackgroundErrorRecoveryInfo) {
        self.add(Told::RecoveryEnd(info.clone()));
    }
    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        self.add(Told::Stall(info.clone()));
    }
    fn on_background_job_pressure_changed(&self, pressure: &BackgroundJobPressure) {
        self.add(Told::Pressure(*pressure));
    }
    fn on_db_shutdown_begin(&self) {
        self.add(Told::ShutdownBegin);
    }
    fn should_be_notified_on_file_io(&self) -> bool {
        self.wants_files.load(Ordering::SeqCst)
    }
    fn on_file_read_finish(&self, info: &FileOperationInfo) {
        assert_eq!(info.operation, FileOperationType::Read);
        self.add(Told::File(info.clone()));
    }
    fn on_file_write_finish(&self, info: &FileOperationInfo) {
        assert_eq!(info.operation, FileOperationType::Append);
        self.add(Told::File(info.clone()));
    }
    fn on_file_flush_finish(&self, info: &FileOperationInfo) {
        assert_eq!(info.operation, FileOperationType::Flush);
        self.add(Told::File(info.clone()));
    }
    fn on_file_sync_finish(&self, info: &FileOperationInfo) {
        assert_eq!(info.operation, FileOperationType::Sync);
        self.add(Told::File(info.clone()));
    }
    fn on_file_truncate_finish(&self, info: &FileOperationInfo) {
        assert_eq!(info.operation, FileOperationType::Truncate);
        self.add(Told::File(info.clone()));
    }
    fn on_file_close_finish(&self, info: &FileOperationInfo) {
        assert_eq!(info.operation, FileOperationType::Close);
        self.add(Told::File(info.clone()));
    }
    fn on_io_error(&self, info: &IoErrorInfo) {
        self.add(Told::IoError(info.clone()));
    }
}

/// Options with a listener, over a file system that fails on command.
pub struct Bench {
    pub recorder: Arc<Recorder>,
    pub faulty: FaultInjectionFileSystem,
    pub options: DbOptions,
    pub family: ColumnFamilyOptions,
}

impl Bench {
    pub fn new() -> Self {
        let recorder = Arc::new(Recorder::default());
        let faulty = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
        let mut options = options_on(Arc::new(faulty.clone()) as Arc<dyn FileSystem>);
        options.max_bgerror_resume_count = 0;
        options.components.listeners.push(Arc::clone(&recorder) as Arc<dyn EventListener>);
        let mut family = ColumnFamilyOptions::default();
        family.compression = ferrock::options::CompressionType::NoCompression;
        family.disable_auto_compactions = true;
        Self { recorder, faulty, options, family }
    }

    pub fn open(&self) -> Db {
        let families = vec![("default".to_owned(), self.family.clone())];
        Db::open_cf(DIRECTORY, self.options.clone(), families).unwrap().0
    }
}

/// The only one of a kind.
macro_rules! only {
    ($told:expr, $kind:ident) => {{
        let mut found = $told.iter().filter_map(|told| match told {
            $crate::recorder::Told::$kind(info) => Some(info.clone()),
            _ => None,
        });
        let first = found.next().expect(concat!("nothing was told of ", stringify!($kind)));
        assert!(found.next().is_none(), concat!(stringify!($kind), " was told twice"));
        first
    }};
}
pub(crate) use only;

/// All of a kind.
macro_rules! all {
    ($told:expr, $kind:ident) => {
        $told
            .iter()
            .filter_map(|told| match told {
                $crate::recorder::Told::$kind(info) => Some(info.clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
}
pub(crate) use all;

/// The names of what was told, without some.
pub fn names(told: &[Told], without: &[&str]) -> Vec<String> {
    told.iter().map(Told::name).filter(|name| !without.contains(&&name[..])).collect()
}
