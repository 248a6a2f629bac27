//! Compactions in other processes, on the side of the database: a service made of callbacks.
//!
//! ```text
//! schedule(state, info, input) -> a response, which is handed over; null is a failure
//! wait(state, id, &result, &length) -> a status; the result is from `malloc`, and handed over
//! on_installation(state, id, status), cancel_awaiting_jobs(state)
//! ```
//!
//! Without `schedule` or `wait` the database compacts by itself. A status that is none of RocksDB's four is a failure.

use crate::callback::{Destructor, State};
use crate::handle::{give, take};
use crate::memory::{bytes, put, text};
use crate::options::{rocksdb_options_t, set};
use ferrock::options::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus, CompactionServiceScheduleResponse,
};
use ferrock::{Error, Result};
use ferrock_base::byte_text::{from_bytes, to_bytes};
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::Arc;

/// state, the job, its input -> a response that is handed over, or null
type Schedule = unsafe extern "C" fn(
    *mut c_void,
    *const rocksdb_compactionservice_jobinfo_t,
    *const c_char,
    usize,
) -> *mut rocksdb_compactionservice_scheduleresponse_t;

/// state, id of the job, the result from `malloc`, its length -> a status
type Wait = unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut c_char, *mut usize) -> c_int;

/// state
type CancelAwaitingJobs = unsafe extern "C" fn(*mut c_void);

/// state, id of the job, a status
type OnInstallation = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);

/// The statuses by their numbers in C.
const STATUSES: [CompactionServiceJobStatus; 4] = [
    CompactionServiceJobStatus::Success,
    CompactionServiceJobStatus::Failure,
    CompactionServiceJobStatus::Aborted,
    CompactionServiceJobStatus::UseLocal,
];

/// RocksDB's number of failure, told of a response that is not there.
const FAILURE: c_int = 1;

/// RocksDB's reasons by their numbers, as the LOG names them.
const REASONS: [&str; 22] = [
    "Unknown",
    "LevelL0FilesNum",
    "LevelMaxLevelSize",
    "UniversalSizeAmplification",
    "UniversalSizeRatio",
    "UniversalSortedRunNum",
    "FIFOMaxSize",
    "FIFOReduceNumFiles",
    "FIFOTtl",
    "ManualCompaction",
    "FilesMarkedForCompaction",
    "BottommostFiles",
    "Ttl",
    "Flush",
    "ExternalSstIngestion",
    "PeriodicCompaction",
    "ChangeTemperature",
    "ForcedBlobGC",
    "RoundRobinTtl",
    "RefitLevel",
    "ReadTriggered",
    "NumOfReasons",
];

/// RocksDB's number of the priority that threads of compactions have.
const PRIORITY_LOW: c_int = 1;

fn status_of(number: c_int) -> Option<CompactionServiceJobStatus> {
    usize::try_from(number).ok().and_then(|index| STATUSES.get(index)).copied()
}

fn number_of(status: CompactionServiceJobStatus) -> c_int {
    STATUSES.iter().position(|known| *known == status).map_or(FAILURE, |index| index as c_int)
}

/// A text without the zero bytes that would end it in C.
fn c_text(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}

/// An answer to a job that was offered.
pub struct rocksdb_compactionservice_scheduleresponse_t {
    status: CompactionServiceJobStatus,
    scheduled_job_id: CString,
}

/// What a service is told of a job; lives while its callback runs.
pub struct rocksdb_compactionservice_jobinfo_t {
    info: CompactionServiceJobInfo,
    /// Directory, identity, session, family: the bytes that stand for them, with a zero behind.
    texts: [Vec<u8>; 4],
}

impl rocksdb_compactionservice_jobinfo_t {
    fn new(info: &CompactionServiceJobInfo) -> Self {
        let directory = info.db_name.as_os_str().as_bytes();
        let texts = [directory, info.db_id.as_bytes(), info.db_session_id.as_bytes(), &to_bytes(&info.column_family)];
        Self { info: info.clone(), texts: texts.map(|text| [text, b"\0"].concat()) }
    }
}

/// A service of the caller's, until options own it.
pub struct rocksdb_compactionservice_t(Arc<CallbackService>);

struct CallbackService {
    state: State,
    name: String,
    schedule: Option<Schedule>,
    wait: Option<Wait>,
    cancel_awaiting_jobs: Option<CancelAwaitingJobs>,
    on_installation: Option<OnInstallation>,
}

impl CompactionService for CallbackService {
    fn name(&self) -> &str {
        &self.name
    }

    fn schedule(&self, info: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        let Some(schedule) = self.schedule else {
            return CompactionServiceScheduleResponse::not_taken(CompactionServiceJobStatus::UseLocal);
        };
        let info = rocksdb_compactionservice_jobinfo_t::new(info);
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        let response = unsafe { schedule(self.state.pointer(), &raw const info, input.as_ptr().cast(), input.len()) };
        // SAFETY: the contract: the response is handed over.
        match unsafe { take(response) } {
            Some(response) => CompactionServiceScheduleResponse {
                scheduled_job_id: from_bytes(response.scheduled_job_id.to_bytes()).into_owned(),
                status: response.status,
            },
            None => CompactionServiceScheduleResponse::not_taken(CompactionServiceJobStatus::Failure),
        }
    }

    fn wait(&self, scheduled_job_id: &str) -> (CompactionServiceJobStatus, Vec<u8>) {
        let Some(wait) = self.wait else { return (CompactionServiceJobStatus::UseLocal, Vec::new()) };
        let id = id_of(scheduled_job_id);
        let (mut result, mut length) = (null_mut(), 0);
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        let status = unsafe { wait(self.state.pointer(), id.as_ptr(), &raw mut result, &raw mut length) };
        // SAFETY: the contract: the callback said where the result is and how long.
        let copy = unsafe { bytes(result, length) }.to_vec();
        // SAFETY: the contract: the result is null or came from `malloc`, and is handed over.
        unsafe { libc::free(result.cast()) };
        (status_of(status).unwrap_or(CompactionServiceJobStatus::Failure), copy)
    }

    fn cancel_awaiting_jobs(&self) {
        if let Some(cancel) = self.cancel_awaiting_jobs {
            // SAFETY: the contract about callbacks.
            unsafe { cancel(self.state.pointer()) };
        }
    }

    fn on_installation(&self, scheduled_job_id: &str, status: CompactionServiceJobStatus) {
        if let Some(on_installation) = self.on_installation {
            let id = id_of(scheduled_job_id);
            // SAFETY: the contract about callbacks; the id lives through the call.
            unsafe { on_installation(self.state.pointer(), id.as_ptr(), number_of(status)) };
        }
    }
}

/// The id as the service gave it.
fn id_of(scheduled_job_id: &str) -> CString {
    CString::new(to_bytes(scheduled_job_id).into_owned()).unwrap_or_else(|_| c_text(scheduled_job_id))
}

/// # Errors
/// `Invalid argument` for a number that is no status.
fn response(scheduled_job_id: CString, status: c_int) -> Result<*mut rocksdb_compactionservice_scheduleresponse_t> {
    match status_of(status) {
        Some(status) => Ok(give(rocksdb_compactionservice_scheduleresponse_t { status, scheduled_job_id })),
        None => Err(Error::invalid_argument("Invalid status value. Must be 0-3.")),
    }
}

c_fallible! {
    /// An answer to a job, which the callback `schedule` hands over. The id is copied; null is an empty one.
    fn rocksdb_compactionservice_scheduleresponse_create(
        scheduled_job_id: *const c_char,
        status: c_int,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t {
        let id = match scheduled_job_id.is_null() {
            true => CString::default(),
            // SAFETY: the contract: the id is a text.
            false => unsafe { CStr::from_ptr(scheduled_job_id) }.to_owned(),
        };
        response(id, status)
    }

    /// The same without an id, for a job that was not taken.
    fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        status: c_int,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t {
        response(CString::default(), status)
    }
}

c_functions! {
    /// The status of an answer; of a null one, failure.
    fn rocksdb_compactionservice_scheduleresponse_getstatus(
        response: *const rocksdb_compactionservice_scheduleresponse_t,
    ) -> c_int {
        // SAFETY: the contract.
        unsafe { response.as_ref() }.map_or(FAILURE, |response| number_of(response.status))
    }

    /// The id in an answer, which lives as long as that; an empty text of a null one.
    fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: *const rocksdb_compactionservice_scheduleresponse_t,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        let id = unsafe { response.as_ref() }.map_or(c"", |response| response.scheduled_job_id.as_c_str());
        // SAFETY: the contract: the length can be written.
        unsafe { put(length, id.count_bytes()) };
        id.as_ptr()
    }
}

c_destructors! {
    /// Ends an answer that was not handed over.
    fn rocksdb_compactionservice_scheduleresponse_t_destroy(rocksdb_compactionservice_scheduleresponse_t);
}

/// Functions that tell a text of a job, which lives as long as what the callback was told.
macro_rules! job_texts {
    ($( $(#[doc = $doc:literal])+ fn $name:ident = $index:literal; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(info: *const rocksdb_compactionservice_jobinfo_t, length: *mut usize) -> *const c_char {
                // SAFETY: the contract.
                let text = unsafe { info.as_ref() }.map_or(&b"\0"[..], |info| &info.texts[$index]);
                // SAFETY: the contract: the length can be written.
                unsafe { put(length, text.len() - 1) };
                text.as_ptr().cast()
            }
        )*}
    };
}

job_texts! {
    /// The directory of the database.
    fn rocksdb_compactionservice_jobinfo_t_get_db_name = 0;
    /// The identity of the database.
    fn rocksdb_compactionservice_jobinfo_t_get_db_id = 1;
    /// The identity of the time that it is open.
    fn rocksdb_compactionservice_jobinfo_t_get_db_session_id = 2;
    /// The name of the column family.
    fn rocksdb_compactionservice_jobinfo_t_get_cf_name = 3;
}

/// Functions that tell a number of a job; 0 of a null one.
macro_rules! job_numbers {
    ($( $(#[doc = $doc:literal])+ fn $name:ident -> $ty:ty = |$info:ident| $number:expr; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $name(info: *const rocksdb_compactionservice_jobinfo_t) -> $ty {
                // SAFETY: the contract.
                let Some(rocksdb_compactionservice_jobinfo_t { info: $info, .. }) = (unsafe { info.as_ref() }) else {
                    return Default::default();
                };
                $number
            }
        )*}
    };
}

job_numbers! {
    /// The number of the column family.
    fn rocksdb_compactionservice_jobinfo_t_get_cf_id -> u32 = |info| info.column_family_id;
    /// The number of the job, within the session.
    fn rocksdb_compactionservice_jobinfo_t_get_job_id -> u64 = |info| info.job_id;
    /// The priority of the thread: always that of compactions.
    fn rocksdb_compactionservice_jobinfo_t_get_priority -> c_int = |_info| PRIORITY_LOW;
    /// Why the compaction was chosen, as a number of RocksDB's.
    fn rocksdb_compactionservice_jobinfo_t_get_compaction_reason -> c_int = |info| {
        REASONS.iter().position(|name| *name == info.compaction_reason).unwrap_or(0) as c_int
    };
    /// The level of the first inputs.
    fn rocksdb_compactionservice_jobinfo_t_get_base_input_level -> c_int = |info| {
        c_int::try_from(info.base_input_level).unwrap_or(c_int::MAX)
    };
    /// The level of the outputs.
    fn rocksdb_compactionservice_jobinfo_t_get_output_level -> c_int = |info| {
        c_int::try_from(info.output_level).unwrap_or(c_int::MAX)
    };
    /// Whether every table of the family is an input.
    fn rocksdb_compactionservice_jobinfo_t_is_full_compaction -> c_uchar = |info| info.is_full_compaction.into();
    /// Whether a caller asked for the compaction.
    fn rocksdb_compactionservice_jobinfo_t_is_manual_compaction -> c_uchar = |info| {
        info.is_manual_compaction.into()
    };
    /// Whether no deeper level holds data of the range.
    fn rocksdb_compactionservice_jobinfo_t_is_bottommost_level -> c_uchar = |info| info.is_bottommost_level.into();
}

c_functions! {
    /// A service made of callbacks, which has to be given to options, its only end. The name is copied; null stands for
    /// `CompactionService`.
    fn rocksdb_compactionservice_create(
        state: *mut c_void,
        destructor: Destructor,
        schedule: Option<Schedule>,
        name: *const c_char,
        wait: Option<Wait>,
        cancel_awaiting_jobs: Option<CancelAwaitingJobs>,
        on_installation: Option<OnInstallation>,
    ) -> *mut rocksdb_compactionservice_t {
        let state = State::new(state, destructor);
        // SAFETY: the contract: the name is a text or null.
        let name = unsafe { text(name, "name") }.unwrap_or("CompactionService").to_owned();
        let service = CallbackService { state, name, schedule, wait, cancel_awaiting_jobs, on_installation };
        give(rocksdb_compactionservice_t(Arc::new(service)))
    }

    /// What runs compactions elsewhere; the options own the service from now on. Null changes nothing.
    fn rocksdb_options_set_compaction_service(
        options: *mut rocksdb_options_t,
        service: *mut rocksdb_compactionservice_t,
    ) {
        // SAFETY: the contract: the service is handed over.
        let Some(service) = (unsafe { take(service) }) else { return };
        // SAFETY: the contract.
        unsafe {
            set(options, "compaction_service", |options| {
                options.db.components.compaction_service = Some(service.0 as Arc<dyn CompactionService>);
                Ok(())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_rocksdbs_numbers() {
        for (index, status) in STATUSES.into_iter().enumerate() {
            assert_eq!(number_of(status), index as c_int);
            assert_eq!(status_of(index as c_int), Some(status));
        }
        assert_eq!([status_of(-1), status_of(4), status_of(c_int::MAX)], [None; 3]);
        assert_eq!(number_of(CompactionServiceJobStatus::Failure), FAILURE);
    }

    #[test]
    fn a_text_ends_at_its_first_zero() {
        assert_eq!(c_text("a\0b").as_c_str(), c"a");
        assert_eq!(id_of("a-1").as_c_str(), c"a-1");
    }
}
