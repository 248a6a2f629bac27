//! Compactions that go to worker processes by way of a directory.
//!
//! ```text
//! JOBS/ID/input         what the database asks for; renamed into place when it is complete
//! JOBS/ID/worker.lock   locked by the worker that has the job; the lock goes with its process
//! JOBS/ID/started       a worker has begun
//! JOBS/ID/output/       its tables
//! JOBS/ID/result        what came of it; renamed into place when it is complete
//! ```
//!
//! [`JobDirectoryService`] is the database's side, `ferrock compact-worker` the other. Any number of workers may look
//! at one directory, on every machine that sees the files of the database under the same path. A job that was started
//! and whose lock is free has lost its worker; the database then compacts by itself. So it does when a job was not done
//! within a time. The database removes the directory of a job when it is over; a worker that has the job all the same
//! notices at its next thousand entries.
//!
//! A directory of jobs belongs to one database.

use crate::db::{CompactionServiceOptionsOverride, OpenAndCompactOptions, failed_compaction_result, open_and_compact};
use ferrock_base::clock::Clock;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_options::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus, CompactionServiceScheduleResponse,
};
use ferrock_vfs::{FileSystem, read_file, write_file_atomically, write_file_synced};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const INPUT: &str = "input";
const LOCK: &str = "worker.lock";
const STARTED: &str = "started";
const OUTPUT: &str = "output";
const RESULT: &str = "result";

/// Hands compactions to the workers of a directory.
///
/// ```no_run
/// # extern crate ferrock_engine as ferrock;
/// use ferrock::options::Components;
/// let components = Components::default();
/// let service = ferrock::JobDirectoryService::new(&components, "/var/lib/app/jobs")?;
/// let mut options = ferrock::DbOptions::default();
/// options.components.compaction_service = Some(std::sync::Arc::new(service));
/// # Ok::<(), ferrock::Error>(())
/// ```
pub struct JobDirectoryService {
    files: JobDirectory,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    poll: Duration,
    least_input_bytes: u64,
    /// Jobs that wait and are not cancelled.
    awaited: Mutex<BTreeSet<String>>,
}

impl fmt::Debug for JobDirectoryService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobDirectoryService")
            .field("directory", &self.files.path)
            .field("timeout", &self.timeout)
            .field("least_input_bytes", &self.least_input_bytes)
            .finish_non_exhaustive()
    }
}

impl JobDirectoryService {
    /// Makes the directory, or removes the jobs that are in it: those of a process that ended. The file system and the
    /// clock are those of `components`.
    ///
    /// # Errors
    /// Those of files.
    pub fn new(components: &crate::options::Components, directory: impl AsRef<Path>) -> Result<Self> {
        let file_system = components.file_system.clone().unwrap_or_else(ferrock_vfs::default_file_system);
        let files = JobDirectory::new(file_system, directory);
        files.file_system.create_dir_all(&files.path)?;
        for id in files.ids()? {
            files.remove(&id);
        }
        Ok(Self {
            files,
            clock: components.clock(),
            timeout: Duration::from_secs(600),
            poll: Duration::from_millis(20),
            least_input_bytes: 0,
            awaited: Mutex::default(),
        })
    }

    /// The database compacts by itself what was not done within `timeout` (default 10 minutes).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long a wait sleeps between two looks at the directory (default 20 ms).
    #[must_use]
    pub fn with_poll_interval(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// Compactions of fewer bytes stay with the database (default 0).
    #[must_use]
    pub fn with_least_input_bytes(mut self, bytes: u64) -> Self {
        self.least_input_bytes = bytes;
        self
    }

    fn is_cancelled(&self, id: &str) -> bool {
        !self.awaited.lock().contains(id)
    }
}

impl CompactionService for JobDirectoryService {
    fn name(&self) -> &str {
        "ferrock.JobDirectory"
    }

    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        if info.input_bytes < self.least_input_bytes {
            return CompactionServiceScheduleResponse::not_taken(CompactionServiceJobStatus::UseLocal);
        }
        let id = format!("{}-{:06}", info.db_session_id, info.job_id);
        self.awaited.lock().insert(id.clone());
        if self.files.add(&id, input).is_err() {
            self.awaited.lock().remove(&id);
            self.files.remove(&id);
            return CompactionServiceScheduleResponse::not_taken(CompactionServiceJobStatus::Failure);
        }
        CompactionServiceScheduleResponse { scheduled_job_id: id, status: CompactionServiceJobStatus::Success }
    }

    fn wait(&self, id: &str) -> (CompactionServiceJobStatus, Vec<u8>) {
        let begun_us = self.clock.monotonic_us();
        loop {
            let was_lost = self.files.has_lost_its_worker(id);
            if let Ok(result) = read_file(&*self.files.file_system, &self.files.of(id, RESULT)) {
                return (CompactionServiceJobStatus::Success, result);
            }
            if self.is_cancelled(id) {
                return (CompactionServiceJobStatus::Aborted, Vec::new());
            }
            let waited = Duration::from_micros(self.clock.monotonic_us().saturating_sub(begun_us));
            if was_lost || waited >= self.timeout {
                let what = if was_lost { "its worker ended" } else { "no worker did it in time" };
                let error = Error::new(ErrorKind::TimedOut, what);
                return (CompactionServiceJobStatus::UseLocal, failed_compaction_result(&error));
            }
            self.clock.sleep(self.poll);
        }
    }

    fn cancel_awaiting_jobs(&self) {
        self.awaited.lock().clear();
    }

    fn on_installation(&self, id: &str, _: CompactionServiceJobStatus) {
        self.awaited.lock().remove(id);
        self.files.remove(id);
    }
}

/// A directory of jobs, as its workers see it.
#[derive(Clone)]
pub struct JobDirectory {
    file_system: Arc<dyn FileSystem>,
    path: PathBuf,
}

impl fmt::Debug for JobDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobDirectory").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a worker made of a job.
#[derive(Clone, Debug)]
pub struct FinishedJob {
    /// The job.
    pub id: String,
    /// Why it failed, if it did. The database hears of it and compacts by itself.
    pub error: Option<Error>,
}

impl JobDirectory {
    /// The directory at `path`, which need not exist yet.
    pub fn new(file_system: Arc<dyn FileSystem>, path: impl AsRef<Path>) -> Self {
        Self { file_system, path: path.as_ref().to_path_buf() }
    }

    /// Does the first job that no worker has; `None` where there is none. `overrides` are those of the database.
    ///
    /// # Errors
    /// Those of reading the directory. What is wrong with the job itself is in [`FinishedJob::error`].
    pub fn run_one(
        &self,
        db_path: impl AsRef<Path>,
        overrides: &CompactionServiceOptionsOverride,
    ) -> Result<Option<FinishedJob>> {
        for id in self.ids()? {
            let exists = |name: &str| self.file_system.exists(&self.of(&id, name)).unwrap_or(false);
            if !exists(INPUT) || exists(STARTED) || exists(RESULT) {
                continue;
            }
            // Another worker has it, or the database looks whether one does.
            let Ok(_lock) = self.file_system.lock_file(&self.of(&id, LOCK)) else { continue };
            // Between the first look and the lock the job may have been done, or be over.
            let Ok(input) = read_file(&*self.file_system, &self.of(&id, INPUT)) else { continue };
            if exists(STARTED) || write_file_synced(&*self.file_system, &self.of(&id, STARTED), b"").is_err() {
                continue;
            }
            let error = self.run(&id, db_path.as_ref(), &input, overrides).err();
            return Ok(Some(FinishedJob { id, error }));
        }
        Ok(None)
    }

    fn run(&self, id: &str, db_path: &Path, input: &[u8], overrides: &CompactionServiceOptionsOverride) -> Result<()> {
        let (file_system, input_path) = (Arc::clone(&self.file_system), self.of(id, INPUT));
        let is_over = move || !file_system.exists(&input_path).unwrap_or(false);
        let options = OpenAndCompactOptions { canceled: Some(Arc::new(is_over)), ..OpenAndCompactOptions::default() };
        let done = open_and_compact(&options, db_path, self.of(id, OUTPUT), input, overrides);
        let (result, outcome) = match done {
            Ok(result) => (result, Ok(())),
            Err(error) => (failed_compaction_result(&error), Err(error)),
        };
        let temporary = self.of(id, "result.tmp");
        write_file_atomically(&*self.file_system, &self.of(id, RESULT), &temporary, &result)?;
        outcome
    }

    fn of(&self, id: &str, name: &str) -> PathBuf {
        self.path.join(id).join(name)
    }

    /// The jobs, oldest first within a session.
    fn ids(&self) -> Result<Vec<String>> {
        let mut ids = match self.file_system.children(&self.path) {
            Err(error) if error.is_not_found() => Vec::new(),
            listed => listed?,
        };
        ids.sort();
        Ok(ids)
    }

    fn add(&self, id: &str, input: &[u8]) -> Result<()> {
        self.file_system.create_dir_all(&self.path.join(id))?;
        write_file_atomically(&*self.file_system, &self.of(id, INPUT), &self.of(id, "input.tmp"), input)
    }

    fn has_lost_its_worker(&self, id: &str) -> bool {
        let has_started = self.file_system.exists(&self.of(id, STARTED)).unwrap_or(false);
        has_started && self.file_system.lock_file(&self.of(id, LOCK)).is_ok()
    }

    /// Removes what can be removed of a job: a worker that has it may still write.
    fn remove(&self, id: &str) {
        let directory = self.path.join(id);
        let output = directory.join(OUTPUT);
        // The input first: without it no worker begins, and one that has begun ends.
        let _ = self.file_system.remove_file(&directory.join(INPUT));
        for directory in [&output, &directory] {
            for name in self.file_system.children(directory).unwrap_or_default() {
                let _ = self.file_system.remove_file(&directory.join(name));
            }
            let _ = self.file_system.remove_dir(directory);
        }
    }
}
