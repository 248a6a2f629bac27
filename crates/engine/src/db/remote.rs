//! Compactions that another process runs: what the database says to its [`CompactionService`], and what it makes of the
//! answer.
//!
//! | the service, or its worker | the database |
//! |---|---|
//! | does not take the job; does not finish it; says `UseLocal` | compacts by itself |
//! | brings a result that fails a check | says why in the LOG, compacts by itself |
//! | says `Aborted` | ends a manual compaction with `Aborted`; runs an automatic one by itself |
//! | brings tables | installs them |
//!
//! No answer of a service is a background error: what the database cannot do itself either, it notices when it tries.
//! (In RocksDB, `Failure` is one.) Closing cancels: the flag that the database closes is set before waits are
//! cancelled, and looked at after a job was scheduled, so none is missed.

use super::DbCore;
use super::job_env::JobPlace;
use crate::jobs::{ScheduledCompaction, StoppedBy};
use crate::metrics::Counters;
use crate::metrics::running::JobProgress;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::compaction_service::{BlobJob, CompactionServiceResult};
use ferrock_format::file_name::{self, FileKind};
use ferrock_options::{CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus};
use ferrock_statistics::Ticker;
use ferrock_tree::blob::BlobCollection;
use ferrock_tree::compaction::choice::CompactionChoice;
use ferrock_tree::job::remote::{blob_numbers_wanted, import, job_digest, job_input, reason_for_local};
use ferrock_tree::job::{JobContext, JobOutput};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A job that the service took. Unless it is [installed](Self::installed), the service hears that it was not.
pub(super) struct RemoteJob {
    service: Arc<dyn CompactionService>,
    id: String,
    is_installed: bool,
}

impl RemoteJob {
    /// The database has the outputs.
    pub(super) fn installed(mut self) {
        self.is_installed = true;
    }
}

impl Drop for RemoteJob {
    fn drop(&mut self) {
        let status = match self.is_installed {
            true => CompactionServiceJobStatus::Success,
            false => CompactionServiceJobStatus::UseLocal,
        };
        self.service.on_installation(&self.id, status);
    }
}

/// The numbers that a worker may give to blob files. Those that no file has got are given back in the end.
struct BlobNumbers<'a> {
    core: &'a DbCore,
    job: BlobJob,
    used: BTreeSet<FileNumber>,
}

impl<'a> BlobNumbers<'a> {
    /// `None` for a compaction that has nothing to do with blob files.
    fn reserve(
        core: &'a DbCore,
        context: &JobContext,
        choice: &CompactionChoice,
        collection: BlobCollection,
    ) -> Result<Option<Self>> {
        let wanted = blob_numbers_wanted(context, choice, collection)?;
        Ok(wanted.map(|(numbers, collect_below)| {
            let first_number = core.files.reserve_many(numbers, || core.versions.new_file_numbers(numbers));
            Self { core, job: BlobJob { first_number, numbers, collect_below }, used: BTreeSet::new() }
        }))
    }
}

impl Drop for BlobNumbers<'_> {
    fn drop(&mut self) {
        let numbers = (0..self.job.numbers).map(|index| FileNumber(self.job.first_number.0 + index));
        self.core.files.release(numbers.filter(|number| !self.used.contains(number)));
    }
}

/// Has a worker run the compaction; `None`: the database is to do it.
///
/// # Errors
/// `ShutdownInProgress` when the database is closing; `SpaceLimit` when the tables reach the bound of space; `Aborted`
/// for a manual compaction that was cancelled.
pub(super) fn run(
    core: &DbCore,
    scheduled: &ScheduledCompaction,
    context: &JobContext,
    collection: BlobCollection,
    progress: Option<&JobProgress<'_>>,
) -> Result<Option<(RemoteJob, JobOutput)>> {
    let Some(service) = context.db.components.compaction_service.clone() else { return Ok(None) };
    let (choice, log) = (&scheduled.choice, core.events.log());
    let say = |what: &str| log.info(|| format!("[{}] compaction {}: {what}", scheduled.data.name, scheduled.job_id));
    if reason_for_local(&context.family.options, choice).is_some() {
        return Ok(None);
    }
    core.jobs.check_not_closing()?;
    let mut numbers = BlobNumbers::reserve(core, context, choice, collection)?;
    let blob_job = numbers.as_ref().map(|numbers| numbers.job);
    let input = job_input(context, choice, scheduled.is_manual, newest_options_file(core)?, blob_job).encode();
    let response = service.schedule(&job_info(core, scheduled), &input);
    if response.status != CompactionServiceJobStatus::Success {
        say(&format!("{} does not take the job: {:?}", service.name(), response.status));
        return local(scheduled, response.status);
    }
    say(&format!("{} takes the job as {:?}", service.name(), response.scheduled_job_id));
    if core.jobs.check_not_closing().is_err() {
        service.cancel_awaiting_jobs();
    }
    let (status, result) = service.wait(&response.scheduled_job_id);
    let job = RemoteJob { service, id: response.scheduled_job_id, is_installed: false };
    core.jobs.check_not_closing()?;
    if status != CompactionServiceJobStatus::Success {
        let reason = CompactionServiceResult::decode(&result).ok().and_then(|result| result.error);
        let reason = reason.map_or_else(String::new, |error| format!(": {error}"));
        log.warn(|| format!("[{}] remote compaction {:?}: {status:?}{reason}", scheduled.data.name, job.id));
        return local(scheduled, status);
    }
    let outcome = CompactionServiceResult::decode(&result).and_then(|result| {
        let place = JobPlace::of_compaction(core, StoppedBy::Abort, None, progress);
        let output = import(context, choice, &place, &result, job_digest(&input), blob_job.as_ref())?;
        if let Some(numbers) = &mut numbers {
            numbers.used.extend(&output.written.blobs);
        }
        Ok((output, result))
    });
    match outcome {
        Ok((output, result)) => {
            let counters = core.metrics.counters();
            Counters::add(&counters.remote_compactions, 1);
            Counters::add(&counters.remote_compact_read_bytes, result.bytes_read);
            Counters::add(&counters.remote_compact_write_bytes, result.bytes_written);
            if let Some(recorder) = core.metrics.recorder() {
                recorder.add(Ticker::RemoteCompactReadBytes, result.bytes_read);
                recorder.add(Ticker::RemoteCompactWriteBytes, result.bytes_written);
            }
            Ok(Some((job, output)))
        }
        // What the database writes itself takes no less space.
        Err(error) if matches!(error.kind(), ErrorKind::ShutdownInProgress | ErrorKind::SpaceLimit) => Err(error),
        Err(error) => {
            Counters::add(&core.metrics.counters().remote_compactions_refused, 1);
            log.warn(|| {
                let (family, id) = (&scheduled.data.name, &job.id);
                format!("[{family}] remote compaction {id:?}: its result is not used, the database compacts: {error}")
            });
            Ok(None)
        }
    }
}

/// What follows when the service does not bring tables.
fn local(
    scheduled: &ScheduledCompaction,
    status: CompactionServiceJobStatus,
) -> Result<Option<(RemoteJob, JobOutput)>> {
    match status {
        CompactionServiceJobStatus::Aborted if scheduled.is_manual => {
            Err(Error::new(ErrorKind::Aborted, "the compaction service cancelled the compaction"))
        }
        _ => Ok(None),
    }
}

fn job_info(core: &DbCore, scheduled: &ScheduledCompaction) -> CompactionServiceJobInfo {
    let choice = &scheduled.choice;
    CompactionServiceJobInfo {
        db_name: core.files.database().to_path_buf(),
        db_id: core.identity.db_id.clone(),
        db_session_id: core.identity.session_id.clone(),
        column_family_id: scheduled.data.id,
        column_family: scheduled.data.name.clone(),
        job_id: scheduled.job_id,
        compaction_reason: choice.reason.name(),
        is_full_compaction: choice.is_full(),
        is_manual_compaction: scheduled.is_manual,
        is_bottommost_level: choice.is_bottommost,
        base_input_level: choice.start_level,
        output_level: choice.output_level,
        input_bytes: choice.input_size_bytes(),
    }
}

/// The file that describes the options as they are; 0 where there is none.
fn newest_options_file(core: &DbCore) -> Result<FileNumber> {
    let names = core.env.file_system.children(core.files.database())?;
    let options = names.iter().filter_map(|name| file_name::parse(name)).filter(|name| name.kind == FileKind::Options);
    Ok(options.map(|name| name.number).max().unwrap_or_default())
}

/// Ends what waits for workers: the database is closing.
pub(super) fn cancel(core: &DbCore) {
    if let Some(service) = &core.options.load().components.compaction_service {
        service.cancel_awaiting_jobs();
    }
}
