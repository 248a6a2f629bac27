//! A compaction service whose worker is this process, and which may lie.
#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock::options::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus, CompactionServiceScheduleResponse,
    Components, DbPath,
};
use ferrock::{
    ColumnFamilyOptions, CompactionServiceOptionsOverride, OpenAndCompactOptions, failed_compaction_result,
    open_and_compact,
};
use ferrock_base::FileNumber;
use ferrock_format::blob_file::{BLOB_FILE_FOOTER_SIZE, BlobFileFooter, BlobRecordHeader};
use ferrock_format::compaction_service::{CompactionServiceInput, CompactionServiceResult};
use ferrock_format::file_name;
use ferrock_format::version_edit::BlobFileAddition;
use ferrock_vfs::{FileSystem, read_file, write_file_synced};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a worker does with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduct {
    /// What it should.
    Honest,
    /// As RocksDB's: knows nothing of Ferrock's own names, in input and result.
    AsRocksDb,
    /// The service does not take the job.
    NotTaken,
    /// The service takes it and then leaves it to the database.
    UseLocal,
    /// The worker fails.
    Failure,
    /// The job is cancelled.
    Aborted,
    /// A table is cut.
    Truncated,
    /// A bit of a table is another.
    Flipped,
    /// A table is not there.
    Missing,
    /// A table is left out of the result.
    LeftOut,
    /// The result is that of another job.
    OtherJob,
    /// The result is cut.
    CutResult,
    /// The tables are in another order, or a key is beyond those of the inputs.
    WrongBounds,
    /// An input of the database is said to be an output.
    InputAsOutput,
    /// The worker reads fewer inputs.
    FewerInputs,
    /// The result does not say what was done with blob files.
    BlobsUnsaid,
    /// A blob file is not there.
    BlobMissing,
    /// A blob file is cut.
    BlobCut,
    /// A bit of a blob file is another.
    BlobFlipped,
    /// A blob file is left out of the result.
    BlobLeftOut,
    /// A blob file has records that nothing refers to.
    BlobPadded,
    /// A blob file has another number.
    BlobNumber,
    /// More references were read than there are records.
    GarbageInvented,
    /// Fewer references were read than were written.
    GarbageHidden,
}

/// Every conduct that leaves the database right, `Honest` most often. Garbage that a worker hides is noticed only where
/// the outputs refer to the same files; else they are never empty.
pub const ALL: &[Conduct] = &[
    Conduct::Honest,
    Conduct::AsRocksDb,
    Conduct::NotTaken,
    Conduct::Honest,
    Conduct::UseLocal,
    Conduct::Truncated,
    Conduct::Honest,
    Conduct::Failure,
    Conduct::Flipped,
    Conduct::Missing,
    Conduct::LeftOut,
    Conduct::Honest,
    Conduct::OtherJob,
    Conduct::CutResult,
    Conduct::WrongBounds,
    Conduct::InputAsOutput,
    Conduct::FewerInputs,
    Conduct::BlobsUnsaid,
    Conduct::BlobMissing,
    Conduct::Honest,
    Conduct::BlobCut,
    Conduct::BlobFlipped,
    Conduct::BlobLeftOut,
    Conduct::Honest,
    Conduct::BlobPadded,
    Conduct::BlobNumber,
    Conduct::GarbageInvented,
];

impl Conduct {
    /// As good as honest where there are no blob files.
    pub fn is_of_blobs(self) -> bool {
        matches!(
            self,
            Self::BlobsUnsaid
                | Self::BlobMissing
                | Self::BlobCut
                | Self::BlobFlipped
                | Self::BlobLeftOut
                | Self::BlobPadded
                | Self::BlobNumber
                | Self::GarbageInvented
                | Self::GarbageHidden
        )
    }
}

struct Job {
    db: PathBuf,
    family: String,
    input: Vec<u8>,
    output: PathBuf,
    conduct: Conduct,
}

#[derive(Default)]
struct State {
    next: u64,
    jobs: BTreeMap<String, Job>,
    families: BTreeMap<String, ColumnFamilyOptions>,
    /// Of families without options of their own.
    others: ColumnFamilyOptions,
    /// What became of jobs, with what their workers did.
    ended: Vec<(Conduct, CompactionServiceJobStatus)>,
    errors: Vec<String>,
}

/// Runs each job on the thread that waits for it, over the same files.
pub struct InProcess {
    file_system: Arc<dyn FileSystem>,
    db_paths: Vec<DbPath>,
    conducts: Vec<Conduct>,
    state: Mutex<State>,
}

impl InProcess {
    /// Jobs are conducted in turns.
    pub fn new(file_system: Arc<dyn FileSystem>, conducts: &[Conduct]) -> Arc<Self> {
        Self::with_paths(file_system, conducts, Vec::new())
    }

    pub fn with_paths(file_system: Arc<dyn FileSystem>, conducts: &[Conduct], db_paths: Vec<DbPath>) -> Arc<Self> {
        Arc::new(Self { file_system, db_paths, conducts: conducts.to_vec(), state: Mutex::default() })
    }

    /// The components of a family, which the worker needs.
    pub fn set_family(&self, name: &str, options: &ColumnFamilyOptions) {
        self.state.lock().families.insert(name.to_owned(), options.clone());
    }

    /// The components of all families that are not set by name.
    pub fn set_all_families(&self, options: &ColumnFamilyOptions) {
        self.state.lock().others = options.clone();
    }

    /// Jobs that ended, each with what its worker did.
    pub fn ended(&self) -> Vec<(Conduct, CompactionServiceJobStatus)> {
        self.state.lock().ended.clone()
    }

    /// Errors of workers that were to run their jobs as they should.
    pub fn errors(&self) -> Vec<String> {
        self.state.lock().errors.clone()
    }

    fn overrides(&self, family: &str) -> CompactionServiceOptionsOverride {
        let state = self.state.lock();
        let options = state.families.get(family).unwrap_or(&state.others).clone();
        drop(state);
        CompactionServiceOptionsOverride {
            components: Components { file_system: Some(Arc::clone(&self.file_system)), ..Components::default() },
            comparator: Some(options.comparator.clone()),
            merge_operator: options.merge_operator.clone(),
            compaction_filter: options.compaction_filter.clone(),
            compaction_filter_factory: options.compaction_filter_factory.clone(),
            prefix_extractor: options.prefix_extractor.clone(),
            sst_partitioner_factory: options.sst_partitioner_factory.clone(),
            table_properties_collector_factories: options.table_properties_collector_factories.clone(),
            table: None,
            db_paths: self.db_paths.clone(),
            cf_paths: options.cf_paths.clone(),
            options: String::new(),
        }
    }

    fn run(&self, job: &Job) -> (CompactionServiceJobStatus, Vec<u8>) {
        let mut input = CompactionServiceInput::decode(&job.input).unwrap();
        match job.conduct {
            Conduct::AsRocksDb => input.details = None,
            Conduct::FewerInputs => drop(input.input_files.pop()),
            _ => {}
        }
        let bytes = if input.encode() == job.input { job.input.clone() } else { input.encode() };
        let overrides = self.overrides(&job.family);
        let options = OpenAndCompactOptions::default();
        let result = match open_and_compact(&options, &job.db, &job.output, &bytes, &overrides) {
            Ok(result) => CompactionServiceResult::decode(&result).unwrap(),
            Err(error) => {
                self.state.lock().errors.push(error.to_string());
                return (CompactionServiceJobStatus::Success, failed_compaction_result(&error));
            }
        };
        (CompactionServiceJobStatus::Success, self.tamper(job, result))
    }

    /// Spoils the result, or its tables.
    fn tamper(&self, job: &Job, mut result: CompactionServiceResult) -> Vec<u8> {
        if job.conduct.is_of_blobs() {
            self.tamper_with_blobs(job, &mut result);
            return result.encode();
        }
        let first = result.output_files.first().map(|file| job.output.join(&file.file_name));
        match (job.conduct, first) {
            (Conduct::AsRocksDb, _) => result.job_digest = None,
            (Conduct::OtherJob, _) => result.job_digest = result.job_digest.map(|digest| digest ^ 1),
            // The worker says that this is the job.
            (Conduct::FewerInputs, _) => result.job_digest = None,
            (Conduct::CutResult, _) => {
                let bytes = result.encode();
                return bytes[..bytes.len() * 2 / 3].to_vec();
            }
            (Conduct::Truncated, Some(path)) => {
                let bytes = read_file(&*self.file_system, &path).unwrap();
                self.rewrite(&path, &bytes[..bytes.len() / 2]);
            }
            (Conduct::Flipped, Some(path)) => {
                let mut bytes = read_file(&*self.file_system, &path).unwrap();
                bytes[0] ^= 0x10;
                self.rewrite(&path, &bytes);
            }
            (Conduct::Missing, Some(path)) => self.file_system.remove_file(&path).unwrap(),
            (Conduct::LeftOut, Some(_)) => drop(result.output_files.pop()),
            (Conduct::WrongBounds, Some(_)) => match result.output_files.len() {
                // Of the same length: some comparators stand no other.
                1 if result.output_files[0].largest.len() > 8 => result.output_files[0].largest[0] = 0xFF,
                1 => result.output_files[0].largest.insert(0, 0xFF),
                _ => result.output_files.reverse(),
            },
            (Conduct::InputAsOutput, Some(_)) => {
                let input = CompactionServiceInput::decode(&job.input).unwrap();
                result.output_path = job.db.to_str().unwrap().to_owned();
                result.output_files[0].file_name = input.input_files[0].clone();
            }
            _ => {}
        }
        result.encode()
    }

    /// Spoils what the result says of blob files, or these.
    fn tamper_with_blobs(&self, job: &Job, result: &mut CompactionServiceResult) {
        if job.conduct == Conduct::BlobsUnsaid {
            result.blobs = None;
        }
        let Some(blobs) = &mut result.blobs else { return };
        match job.conduct {
            Conduct::GarbageInvented => blobs.read.iter_mut().for_each(|read| read.count += 1_000_000),
            Conduct::GarbageHidden => blobs.read.clear(),
            _ => {}
        }
        let Some(first) = blobs.files.first().map(|file| file.number) else { return };
        let path = job.output.join(file_name::blob(first));
        match job.conduct {
            Conduct::BlobMissing => self.file_system.remove_file(&path).unwrap(),
            Conduct::BlobCut => {
                let bytes = read_file(&*self.file_system, &path).unwrap();
                self.rewrite(&path, &bytes[..bytes.len() - 40]);
            }
            Conduct::BlobFlipped => {
                let mut bytes = read_file(&*self.file_system, &path).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x10;
                self.rewrite(&path, &bytes);
            }
            Conduct::BlobLeftOut => drop(blobs.files.remove(0)),
            Conduct::BlobPadded => self.pad(&path, &mut blobs.files[0]),
            Conduct::BlobNumber => {
                let other = FileNumber(first.0 + 1_000_000);
                self.file_system.rename(&path, &job.output.join(file_name::blob(other))).unwrap();
                blobs.files[0].number = other;
            }
            _ => {}
        }
    }

    /// Adds a record that nothing refers to, as the result then says.
    fn pad(&self, path: &Path, file: &mut BlobFileAddition) {
        let mut bytes = read_file(&*self.file_system, path).unwrap();
        bytes.truncate(bytes.len() - BLOB_FILE_FOOTER_SIZE);
        let before = bytes.len();
        bytes.extend(BlobRecordHeader::new(b"key", b"value").encode());
        bytes.extend(b"keyvalue");
        file.total_blob_count += 1;
        file.total_blob_bytes += (bytes.len() - before) as u64;
        let footer = BlobFileFooter { blob_count: file.total_blob_count, expiration_range: (0, 0) };
        bytes.extend(footer.encode());
        self.rewrite(path, &bytes);
    }

    fn rewrite(&self, path: &Path, bytes: &[u8]) {
        self.file_system.remove_file(path).unwrap();
        write_file_synced(&*self.file_system, path, bytes).unwrap();
    }
}

impl CompactionService for InProcess {
    fn name(&self) -> &str {
        "test.InProcess"
    }

    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        let mut state = self.state.lock();
        state.next += 1;
        let conduct = self.conducts[state.next as usize % self.conducts.len()];
        if conduct == Conduct::NotTaken {
            return CompactionServiceScheduleResponse::not_taken(CompactionServiceJobStatus::Failure);
        }
        let id = format!("{}-{}", info.db_session_id, info.job_id.wrapping_mul(1000) + state.next);
        let output = info.db_name.with_file_name("remote").join(&id);
        let job = Job {
            db: info.db_name.clone(),
            family: info.column_family.clone(),
            input: input.to_vec(),
            output,
            conduct,
        };
        state.jobs.insert(id.clone(), job);
        CompactionServiceScheduleResponse { scheduled_job_id: id, status: CompactionServiceJobStatus::Success }
    }

    fn wait(&self, id: &str) -> (CompactionServiceJobStatus, Vec<u8>) {
        let job = {
            let state = self.state.lock();
            let job = &state.jobs[id];
            Job {
                db: job.db.clone(),
                family: job.family.clone(),
                input: job.input.clone(),
                output: job.output.clone(),
                ..*job
            }
        };
        match job.conduct {
            Conduct::UseLocal => (CompactionServiceJobStatus::UseLocal, Vec::new()),
            Conduct::Failure => (CompactionServiceJobStatus::Failure, Vec::new()),
            Conduct::Aborted => (CompactionServiceJobStatus::Aborted, Vec::new()),
            _ => self.run(&job),
        }
    }

    fn on_installation(&self, id: &str, status: CompactionServiceJobStatus) {
        let job = self.state.lock().jobs.remove(id).unwrap();
        for name in self.file_system.children(&job.output).unwrap_or_default() {
            // A file system of faults may refuse.
            let _ = self.file_system.remove_file(&job.output.join(name));
        }
        let _ = self.file_system.remove_dir(&job.output);
        self.state.lock().ended.push((job.conduct, status));
    }
}
