//! The listener: callbacks of the caller's, attached to each database that is opened with it.
//!
//! A callback gets a handle of its database that lives while it runs, and does not keep the database open. An event of
//! a database that is being opened waits until there is such a handle.

use super::compaction::{rocksdb_compactionjobinfo_t, rocksdb_subcompactionjobinfo_t};
use super::flush::rocksdb_flushjobinfo_t;
use super::ingestion::rocksdb_externalfileingestioninfo_t;
use super::memtable::{rocksdb_memtableinfo_t, rocksdb_writestallinfo_t};
use crate::callback::{Destructor, State};
use crate::error::save;
use crate::handle::give;
use ferrock::{
    BackgroundErrorReason, CompactionJobInfo, Error, EventListener, ExternalFileIngestionInfo, FlushJobInfo,
    MemTableInfo, SubcompactionJobInfo, WaitCause, WriteStallInfo,
};
use std::ffi::{c_char, c_void};
use std::sync::{Arc, OnceLock};

/// state, database (a `rocksdb_t`), info
type OnJob<T> = unsafe extern "C" fn(*mut c_void, *mut c_void, *const T);

/// Calls with a handle of the database, a `rocksdb_t` that lives through the call, if there is still a database.
pub(crate) type WithHandle = Box<dyn Fn(&mut dyn FnMut(*mut c_void)) + Send + Sync>;

/// state, info
type OnInfo<T> = unsafe extern "C" fn(*mut c_void, *const T);

/// state, reason, what stands for the error
type OnBackgroundError = unsafe extern "C" fn(*mut c_void, u32, *mut rocksdb_status_ptr_t);

/// A background error, which a callback may reset; lives while its callback runs.
pub struct rocksdb_status_ptr_t {
    error: Option<Error>,
}

/// The callbacks, which any number of databases share.
pub(crate) struct CallbackListener {
    state: State,
    on_flush_begin: Option<OnJob<rocksdb_flushjobinfo_t>>,
    on_flush_completed: Option<OnJob<rocksdb_flushjobinfo_t>>,
    on_compaction_begin: Option<OnJob<rocksdb_compactionjobinfo_t>>,
    on_compaction_completed: Option<OnJob<rocksdb_compactionjobinfo_t>>,
    on_subcompaction_begin: Option<OnInfo<rocksdb_subcompactionjobinfo_t>>,
    on_subcompaction_completed: Option<OnInfo<rocksdb_subcompactionjobinfo_t>>,
    on_external_file_ingested: Option<OnJob<rocksdb_externalfileingestioninfo_t>>,
    on_background_error: Option<OnBackgroundError>,
    on_stall_conditions_changed: Option<OnInfo<rocksdb_writestallinfo_t>>,
    on_memtable_sealed: Option<OnInfo<rocksdb_memtableinfo_t>>,
}

/// A listener of the caller's, until options own it.
pub struct rocksdb_eventlistener_t(Arc<CallbackListener>);

impl rocksdb_eventlistener_t {
    pub(super) fn into_shared(self) -> Arc<CallbackListener> {
        self.0
    }
}

/// A listener of one database.
pub(crate) struct Attached {
    listener: Arc<CallbackListener>,
    /// `None` inside: the open failed.
    db: OnceLock<Option<WithHandle>>,
}

impl Attached {
    pub(crate) fn new(listener: &Arc<CallbackListener>) -> Arc<Self> {
        Arc::new(Self { listener: Arc::clone(listener), db: OnceLock::new() })
    }

    /// The open ended.
    pub(crate) fn attach(&self, db: Option<WithHandle>) {
        // It is attached once.
        let _ = self.db.set(db);
    }

    fn call<T>(&self, callback: Option<OnJob<T>>, info: impl FnOnce() -> T) {
        let Some(callback) = callback else { return };
        let Some(with_handle) = self.db.wait() else { return };
        let (state, info) = (self.listener.state.pointer(), info());
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        with_handle(&mut |db| unsafe { callback(state, db, &raw const info) });
    }

    fn tell<T>(&self, callback: Option<OnInfo<T>>, info: impl FnOnce() -> T) {
        let Some(callback) = callback else { return };
        let info = info();
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        unsafe { callback(self.listener.state.pointer(), &raw const info) };
    }
}

impl EventListener for Attached {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        self.call(self.listener.on_flush_begin, || rocksdb_flushjobinfo_t::new(info));
    }

    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.call(self.listener.on_flush_completed, || rocksdb_flushjobinfo_t::new(info));
    }

    fn on_compaction_begin(&self, info: &CompactionJobInfo) {
        self.call(self.listener.on_compaction_begin, || rocksdb_compactionjobinfo_t::new(info));
    }

    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        self.call(self.listener.on_compaction_completed, || rocksdb_compactionjobinfo_t::new(info));
    }

    fn on_subcompaction_begin(&self, info: &SubcompactionJobInfo) {
        self.tell(self.listener.on_subcompaction_begin, || rocksdb_subcompactionjobinfo_t::new(info));
    }

    fn on_subcompaction_completed(&self, info: &SubcompactionJobInfo) {
        self.tell(self.listener.on_subcompaction_completed, || rocksdb_subcompactionjobinfo_t::new(info));
    }

    fn on_external_file_ingested(&self, info: &ExternalFileIngestionInfo) {
        self.call(self.listener.on_external_file_ingested, || rocksdb_externalfileingestioninfo_t::new(info));
    }

    fn on_background_error(&self, reason: BackgroundErrorReason, error: &mut Option<Error>) {
        let Some(callback) = self.listener.on_background_error else { return };
        let mut status = rocksdb_status_ptr_t { error: error.take() };
        // SAFETY: the contract about callbacks; everything handed over lives through the call.
        unsafe { callback(self.listener.state.pointer(), reason.number(), &raw mut status) };
        *error = status.error;
    }

    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        // RocksDB tells of conditions of families alone.
        if info.cause == WaitCause::WriteBufferManager {
            return;
        }
        self.tell(self.listener.on_stall_conditions_changed, || rocksdb_writestallinfo_t::new(info));
    }

    fn on_memtable_sealed(&self, info: &MemTableInfo) {
        self.tell(self.listener.on_memtable_sealed, || rocksdb_memtableinfo_t::new(info));
    }
}

/// A listener made of callbacks, which has to be given to options or destroyed. Callbacks that are null are not called.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
pub unsafe extern "C" fn rocksdb_eventlistener_create(
    state: *mut c_void,
    destructor: Destructor,
    on_flush_begin: Option<OnJob<rocksdb_flushjobinfo_t>>,
    on_flush_completed: Option<OnJob<rocksdb_flushjobinfo_t>>,
    on_compaction_begin: Option<OnJob<rocksdb_compactionjobinfo_t>>,
    on_compaction_completed: Option<OnJob<rocksdb_compactionjobinfo_t>>,
    on_subcompaction_begin: Option<OnInfo<rocksdb_subcompactionjobinfo_t>>,
    on_subcompaction_completed: Option<OnInfo<rocksdb_subcompactionjobinfo_t>>,
    on_external_file_ingested: Option<OnJob<rocksdb_externalfileingestioninfo_t>>,
    on_background_error: Option<OnBackgroundError>,
    on_stall_conditions_changed: Option<OnInfo<rocksdb_writestallinfo_t>>,
    on_memtable_sealed: Option<OnInfo<rocksdb_memtableinfo_t>>,
) -> *mut rocksdb_eventlistener_t {
    crate::error::guard(|| {
        give(rocksdb_eventlistener_t(Arc::new(CallbackListener {
            state: State::new(state, destructor),
            on_flush_begin,
            on_flush_completed,
            on_compaction_begin,
            on_compaction_completed,
            on_subcompaction_begin,
            on_subcompaction_completed,
            on_external_file_ingested,
            on_background_error,
            on_stall_conditions_changed,
            on_memtable_sealed,
        })))
    })
}

c_destructors! {
    /// Ends a listener that no options own.
    fn rocksdb_eventlistener_destroy(rocksdb_eventlistener_t);
}

c_functions! {
    /// Has the error count for nothing, where that is possible.
    fn rocksdb_reset_status(status_ptr: *mut rocksdb_status_ptr_t) {
        // SAFETY: the contract.
        if let Some(status) = unsafe { status_ptr.as_mut() } {
            status.error = None;
        }
    }

    /// The error, if it was not reset.
    fn rocksdb_status_ptr_get_error(status: *mut rocksdb_status_ptr_t, errptr: *mut *mut c_char) {
        // SAFETY: the contract.
        if let Some(error) = unsafe { status.as_ref() }.and_then(|status| status.error.as_ref()) {
            // SAFETY: the contract about `errptr`.
            unsafe { save(errptr, error) };
        }
    }
}
