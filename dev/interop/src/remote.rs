//! A compaction service whose workers are threads of this process: `open_and_compact` runs each job over the files of
//! the database, into a directory of its own. Failures of workers are kept: the database would make up for them.

use ferrock::options::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus, CompactionServiceScheduleResponse, DbPath,
};
use ferrock::{CompactionServiceOptionsOverride, OpenAndCompactOptions, open_and_compact};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Blob files of jobs that were installed, in this process.
static BLOB_FILES: AtomicU64 = AtomicU64::new(0);

/// How many blob files workers wrote that were installed since the last call.
pub fn take_blob_files() -> u64 {
    BLOB_FILES.swap(0, Ordering::Relaxed)
}

#[derive(Default)]
struct Jobs {
    next: u64,
    /// Directory of the database and input, by id.
    waiting: BTreeMap<String, (PathBuf, Vec<u8>)>,
    /// Where the outputs of jobs are until they are installed.
    outputs: BTreeMap<String, TempDir>,
    failures: Vec<String>,
}

/// See the [module](self).
pub struct LocalWorkers {
    db_paths: Vec<DbPath>,
    jobs: Mutex<Jobs>,
}

impl LocalWorkers {
    pub fn new(db_paths: Vec<DbPath>) -> Self {
        Self { db_paths, jobs: Mutex::default() }
    }

    /// What workers failed at.
    pub fn failures(&self) -> Vec<String> {
        self.with(|jobs| jobs.failures.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Jobs) -> T) -> T {
        let mut jobs = self.jobs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        change(&mut jobs)
    }

    fn run(&self, id: &str) -> Result<Vec<u8>, String> {
        let (db, input) = self.with(|jobs| jobs.waiting.remove(id)).ok_or("there is no such job")?;
        // Beside the tables, where a file is linked and not copied.
        let beside = db.parent().unwrap_or(&db);
        let output =
            tempfile::Builder::new().prefix("remote-").tempdir_in(beside).map_err(|error| error.to_string())?;
        let overrides = CompactionServiceOptionsOverride { db_paths: self.db_paths.clone(), ..Default::default() };
        let options = OpenAndCompactOptions::default();
        let result = open_and_compact(&options, &db, output.path().join("out"), &input, &overrides);
        self.with(|jobs| jobs.outputs.insert(id.to_owned(), output));
        result.map_err(|error| error.to_string())
    }
}

impl CompactionService for LocalWorkers {
    fn name(&self) -> &str {
        "interop.LocalWorkers"
    }

    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        let scheduled_job_id = self.with(|jobs| {
            jobs.next += 1;
            let id = jobs.next.to_string();
            jobs.waiting.insert(id.clone(), (info.db_name.clone(), input.to_vec()));
            id
        });
        CompactionServiceScheduleResponse { scheduled_job_id, status: CompactionServiceJobStatus::Success }
    }

    fn wait(&self, id: &str) -> (CompactionServiceJobStatus, Vec<u8>) {
        match self.run(id) {
            Ok(result) => (CompactionServiceJobStatus::Success, result),
            Err(failure) => {
                self.with(|jobs| jobs.failures.push(failure));
                (CompactionServiceJobStatus::Failure, Vec::new())
            }
        }
    }

    fn on_installation(&self, id: &str, status: CompactionServiceJobStatus) {
        let Some(output) = self.with(|jobs| jobs.outputs.remove(id)) else { return };
        if status == CompactionServiceJobStatus::Success {
            let files = std::fs::read_dir(output.path().join("out")).into_iter().flatten().flatten();
            let blobs = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "blob"));
            BLOB_FILES.fetch_add(blobs.count() as u64, Ordering::Relaxed);
        }
    }
}
