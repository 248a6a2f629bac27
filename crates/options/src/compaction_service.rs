//! Compactions in other processes: the service that brings jobs to workers and results back.
//!
//! ```text
//! database                      service                         worker
//! schedule(info, input) ------> takes the job; its id --------> open_and_compact(input)
//! wait(id) -------------------> waits ------------------------> result
//! verifies, installs
//! on_installation(id, status)-> removes the job's directory
//! ```

use std::path::PathBuf;

/// What becomes of a compaction at a step of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompactionServiceJobStatus {
    /// The step was done.
    Success,
    /// It failed. The database compacts by itself.
    Failure,
    /// The job was cancelled. A manual compaction ends with `Aborted`; an automatic one is done by the database, which
    /// would choose it again at once.
    Aborted,
    /// The database is to compact by itself.
    UseLocal,
}

/// A compaction, for a service that decides whether and where it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionServiceJobInfo {
    /// Directory of the database.
    pub db_name: PathBuf,
    /// Identity of the database.
    pub db_id: String,
    /// Identity of this time that it is open.
    pub db_session_id: String,
    /// Number of the column family.
    pub column_family_id: u32,
    /// Its name.
    pub column_family: String,
    /// Distinguishes compactions of the session.
    pub job_id: u64,
    /// Why it was chosen, as the LOG says it.
    pub compaction_reason: &'static str,
    /// It takes in every table of the family.
    pub is_full_compaction: bool,
    /// A caller asked for it.
    pub is_manual_compaction: bool,
    /// No deeper level holds data of its range.
    pub is_bottommost_level: bool,
    /// The level of its first inputs.
    pub base_input_level: usize,
    /// The level of its outputs.
    pub output_level: usize,
    /// Bytes of its inputs.
    pub input_bytes: u64,
}

/// The answer to [`CompactionService::schedule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionServiceScheduleResponse {
    /// The service's name for the job, unique over databases and sessions.
    pub scheduled_job_id: String,
    /// Other than `Success`: the job was not taken.
    pub status: CompactionServiceJobStatus,
}

impl CompactionServiceScheduleResponse {
    /// The job was not taken.
    #[must_use]
    pub fn not_taken(status: CompactionServiceJobStatus) -> Self {
        Self { scheduled_job_id: String::new(), status }
    }
}

/// Brings compactions to other processes. Called from the threads of the background jobs, and from callers of
/// `compact_range`, at the same time.
///
/// A worker gets the bytes of the input, calls `open_and_compact` with them in a directory of the job's own, and the
/// bytes that this returns are the result. See `docs/remote-compaction.md`.
pub trait CompactionService: Send + Sync {
    /// Its name, for the LOG.
    fn name(&self) -> &str;

    /// Takes a job, or does not. Called with no lock held.
    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse;

    /// Waits for a job's result, the second value. It must end when the job cannot end any more: the files that the
    /// job reads stay until then.
    fn wait(&self, scheduled_job_id: &str) -> (CompactionServiceJobStatus, Vec<u8>);

    /// Ends every wait with `Aborted`: the database is closing.
    fn cancel_awaiting_jobs(&self) {}

    /// The job is over for the database, which has taken the outputs (`Success`) or will not; what is left of it in the
    /// directory of its outputs can go. Called once for each wait.
    fn on_installation(&self, scheduled_job_id: &str, status: CompactionServiceJobStatus) {
        let _ = (scheduled_job_id, status);
    }
}
