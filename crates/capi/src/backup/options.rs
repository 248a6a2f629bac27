//! Options of an engine, of one backup, and of restoring.

use crate::callback::State;
use crate::env::rocksdb_env_t;
use crate::handle::give;
use crate::kept::{HasKept, Kept, kept_options};
use crate::memory::{self, put};
use crate::rate_limiter::rocksdb_ratelimiter_t;
use ferrock::backup::{BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions, ShareFilesNaming};
use ferrock::options::RateLimiter;
use ferrock::{Error, Result};
use ferrock_vfs::FileSystem;
use std::ffi::{OsStr, c_char, c_int, c_uchar, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

/// Where backups are and how they are made.
pub struct rocksdb_backup_engine_options_t {
    backup_dir: Vec<u8>,
    file_system: Option<Arc<dyn FileSystem>>,
    share_table_files: c_uchar,
    share_files_with_checksum: c_uchar,
    share_files_with_checksum_naming: c_int,
    sync: c_uchar,
    destroy_old_data: c_uchar,
    backup_log_files: c_uchar,
    backup_rate_limit: u64,
    backup_rate_limiter: Option<Arc<dyn RateLimiter>>,
    restore_rate_limit: u64,
    restore_rate_limiter: Option<Arc<dyn RateLimiter>>,
    max_background_operations: c_int,
    callback_trigger_interval_size: u64,
    max_valid_backups_to_open: c_int,
    io_buffer_size: u64,
    schema_version: c_int,
    current_temperatures_override_manifest: c_uchar,
}

impl rocksdb_backup_engine_options_t {
    /// RocksDB's defaults.
    pub(super) fn new(backup_dir: &[u8]) -> Self {
        Self {
            backup_dir: backup_dir.to_vec(),
            file_system: None,
            share_table_files: 1,
            share_files_with_checksum: 1,
            share_files_with_checksum_naming: ShareFilesNaming::default().bits().cast_signed(),
            sync: 1,
            destroy_old_data: 0,
            backup_log_files: 1,
            backup_rate_limit: 0,
            backup_rate_limiter: None,
            restore_rate_limit: 0,
            restore_rate_limiter: None,
            max_background_operations: 1,
            callback_trigger_interval_size: 4 << 20,
            max_valid_backups_to_open: c_int::MAX,
            io_buffer_size: 0,
            schema_version: 1,
            current_temperatures_override_manifest: 0,
        }
    }

    /// What an engine is opened with, whose databases are in `db_file_system` (`None`: the machine).
    ///
    /// # Errors
    /// `Invalid argument` for values out of their bounds.
    pub(super) fn engine_options(&self, db_file_system: Option<Arc<dyn FileSystem>>) -> Result<BackupEngineOptions> {
        let mut options = BackupEngineOptions::new(OsStr::from_bytes(&self.backup_dir));
        if let Some(files) = db_file_system {
            options.backup_file_system = Arc::clone(&files);
            options.db_file_system = files;
        }
        if let Some(files) = &self.file_system {
            options.backup_file_system = Arc::clone(files);
        }
        options.share_table_files = self.share_table_files != 0;
        options.share_files_with_checksum = self.share_files_with_checksum != 0;
        let naming = self.share_files_with_checksum_naming.cast_unsigned();
        options.share_files_with_checksum_naming = ShareFilesNaming::from_bits(naming)?;
        options.sync = self.sync != 0;
        options.destroy_old_data = self.destroy_old_data != 0;
        options.backup_log_files = self.backup_log_files != 0;
        options.backup_rate_limit = self.backup_rate_limit;
        options.backup_rate_limiter.clone_from(&self.backup_rate_limiter);
        options.restore_rate_limit = self.restore_rate_limit;
        options.restore_rate_limiter.clone_from(&self.restore_rate_limiter);
        // RocksDB makes one thread of none and of a negative number.
        options.max_background_operations = self.max_background_operations.max(1).unsigned_abs();
        options.callback_trigger_interval_size = self.callback_trigger_interval_size;
        options.max_valid_backups_to_open = self.max_valid_backups_to_open.max(0).unsigned_abs();
        options.io_buffer_size = usize::try_from(self.io_buffer_size).unwrap_or(usize::MAX);
        options.schema_version = self.schema_version.max(0).unsigned_abs();
        options.current_temperatures_override_manifest = self.current_temperatures_override_manifest != 0;
        Ok(options)
    }
}

c_functions! {
    /// Options with RocksDB's defaults for a directory.
    fn rocksdb_backup_engine_options_create(backup_dir: *const c_char) -> *mut rocksdb_backup_engine_options_t {
        // SAFETY: the contract.
        let path = unsafe { memory::path(backup_dir) }.map(|path| path.as_os_str().as_bytes()).unwrap_or_default();
        give(rocksdb_backup_engine_options_t::new(path))
    }

    /// Where the directory is; null: where the databases are.
    fn rocksdb_backup_engine_options_set_env(
        options: *mut rocksdb_backup_engine_options_t,
        env: *mut rocksdb_env_t,
    ) {
        // SAFETY: the contract.
        let (options, env) = unsafe { (options.as_mut(), env.as_ref()) };
        if let Some(options) = options {
            let machine = ferrock_vfs::default_file_system;
            options.file_system = env.map(|env| env.file_system().unwrap_or_else(machine));
        }
    }

    /// What limits backups, in place of a rate; null takes it away. The options share it.
    fn rocksdb_backup_engine_options_set_backup_rate_limiter(
        options: *mut rocksdb_backup_engine_options_t,
        limiter: *mut rocksdb_ratelimiter_t,
    ) {
        // SAFETY: the contract.
        let (options, limiter) = unsafe { (options.as_mut(), limiter.as_ref()) };
        if let Some(options) = options {
            options.backup_rate_limiter = limiter.map(rocksdb_ratelimiter_t::limiter);
        }
    }

    /// What limits restoring, in place of a rate; null takes it away. The options share it.
    fn rocksdb_backup_engine_options_set_restore_rate_limiter(
        options: *mut rocksdb_backup_engine_options_t,
        limiter: *mut rocksdb_ratelimiter_t,
    ) {
        // SAFETY: the contract.
        let (options, limiter) = unsafe { (options.as_mut(), limiter.as_ref()) };
        if let Some(options) = options {
            options.restore_rate_limiter = limiter.map(rocksdb_ratelimiter_t::limiter);
        }
    }

    /// The directory.
    fn rocksdb_backup_engine_options_set_backup_dir(opt: *mut rocksdb_backup_engine_options_t, v: *const c_char) {
        // SAFETY: the contract.
        let (options, path) = unsafe { (opt.as_mut(), memory::path(v)) };
        if let (Some(options), Ok(path)) = (options, path) {
            options.backup_dir = path.as_os_str().to_owned().into_vec();
        }
    }

    /// The directory, with its length. The bytes are the options', until they are changed.
    fn rocksdb_backup_engine_options_get_backup_dir(
        opt: *mut rocksdb_backup_engine_options_t,
        size: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        let directory = unsafe { opt.as_ref() }.map_or(&[][..], |options| &options.backup_dir);
        // SAFETY: the contract.
        unsafe { put(size, directory.len()) };
        directory.as_ptr().cast()
    }
}

c_destructors! {
    /// Ends a handle of options.
    fn rocksdb_backup_engine_options_destroy(rocksdb_backup_engine_options_t);
    /// Ends a handle of options.
    fn rocksdb_create_backup_options_destroy(rocksdb_create_backup_options_t);
    /// Ends a handle of options.
    fn rocksdb_restore_options_destroy(rocksdb_restore_options_t);
}

/// Setters and getters of fields, as C has them.
macro_rules! fields {
    (for $handle:ty: $( $(#[doc = $doc:literal])+ $field:ident : $ty:ty = $set:ident / $get:ident; )*) => {
        c_functions! {$(
            $(#[doc = $doc])+
            fn $set(options: *mut $handle, value: $ty) {
                // SAFETY: the contract.
                if let Some(options) = unsafe { options.as_mut() } {
                    options.$field = value;
                }
            }

            $(#[doc = $doc])+
            fn $get(options: *mut $handle) -> $ty {
                // SAFETY: the contract.
                unsafe { options.as_ref() }.map_or(0, |options| options.$field)
            }
        )*}
    };
}

fields! {
    for rocksdb_backup_engine_options_t:
    /// Bytes read and written at once; 0: as many as are good.
    io_buffer_size: u64 =
        rocksdb_backup_engine_options_set_io_buffer_size / rocksdb_backup_engine_options_get_io_buffer_size;
    /// Bytes a second that backups write; 0: no bound.
    backup_rate_limit: u64 =
        rocksdb_backup_engine_options_set_backup_rate_limit / rocksdb_backup_engine_options_get_backup_rate_limit;
    /// Bytes a second that restoring writes; 0: no bound.
    restore_rate_limit: u64 =
        rocksdb_backup_engine_options_set_restore_rate_limit / rocksdb_backup_engine_options_get_restore_rate_limit;
    /// Threads that copy and read.
    max_background_operations: c_int =
        rocksdb_backup_engine_options_set_max_background_operations
        / rocksdb_backup_engine_options_get_max_background_operations;
    /// Whether backups share tables and blob files.
    share_table_files: c_uchar =
        rocksdb_backup_engine_options_set_share_table_files / rocksdb_backup_engine_options_get_share_table_files;
    /// Whether shared files are told apart by more than their numbers.
    share_files_with_checksum: c_uchar =
        rocksdb_backup_engine_options_set_share_files_with_checksum
        / rocksdb_backup_engine_options_get_share_files_with_checksum;
    /// How shared files are named, as RocksDB numbers it.
    share_files_with_checksum_naming: c_int =
        rocksdb_backup_engine_options_set_share_files_with_checksum_naming
        / rocksdb_backup_engine_options_get_share_files_with_checksum_naming;
    /// Whether what was written is durable when a function returns.
    sync: c_uchar = rocksdb_backup_engine_options_set_sync / rocksdb_backup_engine_options_get_sync;
    /// Whether opening removes all backups.
    destroy_old_data: c_uchar =
        rocksdb_backup_engine_options_set_destroy_old_data / rocksdb_backup_engine_options_get_destroy_old_data;
    /// Whether logs are part of a backup.
    backup_log_files: c_uchar =
        rocksdb_backup_engine_options_set_backup_log_files / rocksdb_backup_engine_options_get_backup_log_files;
    /// Bytes between two calls of a progress callback.
    callback_trigger_interval_size: u64 =
        rocksdb_backup_engine_options_set_callback_trigger_interval_size
        / rocksdb_backup_engine_options_get_callback_trigger_interval_size;
    /// How many backups an engine that only reads looks at. Engines of this interface write.
    max_valid_backups_to_open: c_int =
        rocksdb_backup_engine_options_set_max_valid_backups_to_open
        / rocksdb_backup_engine_options_get_max_valid_backups_to_open;
    /// The version of descriptions.
    schema_version: c_int =
        rocksdb_backup_engine_options_set_schema_version / rocksdb_backup_engine_options_get_schema_version;
    /// Whether the places of files count more than what the MANIFEST says of them: opening refuses it.
    current_temperatures_override_manifest: c_uchar =
        rocksdb_backup_engine_options_set_current_temperatures_override_manifest
        / rocksdb_backup_engine_options_get_current_temperatures_override_manifest;
}

/// Tells that a backup goes on.
type ProgressCallback = Option<unsafe extern "C" fn(*mut c_void)>;
/// Says whether a file is left out.
type ExcludeCallback = Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_uchar>;

/// How one backup is made.
#[derive(Default)]
pub struct rocksdb_create_backup_options_t {
    flush_before_backup: c_uchar,
    atomic_flush: c_uchar,
    options: CreateBackupOptions,
    kept: Kept,
}

impl HasKept for rocksdb_create_backup_options_t {
    fn kept(&self) -> &Kept {
        &self.kept
    }
    fn kept_mut(&mut self) -> &mut Kept {
        &mut self.kept
    }
}

impl rocksdb_create_backup_options_t {
    /// What a backup is made with.
    pub(super) fn create_options(&self) -> CreateBackupOptions {
        CreateBackupOptions {
            flush_before_backup: self.flush_before_backup != 0,
            atomic_flush: self.atomic_flush != 0,
            ..self.options.clone()
        }
    }
}

c_functions! {
    /// Options with the defaults.
    fn rocksdb_create_backup_options_create() -> *mut rocksdb_create_backup_options_t {
        give(rocksdb_create_backup_options_t::default())
    }

    /// Is called with its state while a backup is made, by any thread, one at a time; null takes it away.
    fn rocksdb_create_backup_options_set_progress_callback(
        options: *mut rocksdb_create_backup_options_t,
        state: *mut c_void,
        callback: ProgressCallback,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            let state = State::new(state, None);
            options.options.progress = callback.map(|callback| {
                // SAFETY: the contract: the callback takes this state.
                Arc::new(move |_| unsafe { callback(state.pointer()) }) as ferrock::backup::ProgressCallback
            });
        }
    }

    /// Is called with its state and the name of a file below the directory, which is no text: nonzero leaves the file
    /// out of the backup. Null takes it away.
    fn rocksdb_create_backup_options_set_exclude_files_callback(
        options: *mut rocksdb_create_backup_options_t,
        state: *mut c_void,
        callback: ExcludeCallback,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            let state = State::new(state, None);
            options.options.exclude_files = callback.map(|callback| {
                // SAFETY: the contract: the callback takes this state, and a name with its length.
                Arc::new(move |name: &str| unsafe {
                    callback(state.pointer(), name.as_ptr().cast(), name.len()) != 0
                }) as ferrock::backup::ExcludeFilesCallback
            });
        }
    }

    /// Options with the defaults.
    fn rocksdb_restore_options_create() -> *mut rocksdb_restore_options_t {
        give(rocksdb_restore_options_t { keep_log_files: 0, mode: PURGE_ALL_FILES })
    }
}

fields! {
    for rocksdb_create_backup_options_t:
    /// Whether memtables are flushed first.
    flush_before_backup: c_uchar =
        rocksdb_create_backup_options_set_flush_before_backup / rocksdb_create_backup_options_get_flush_before_backup;
    /// Whether families are flushed as one.
    atomic_flush: c_uchar =
        rocksdb_create_backup_options_set_atomic_flush / rocksdb_create_backup_options_get_atomic_flush;
}

kept_options! {
    for rocksdb_create_backup_options_t:
    hint decrease_background_thread_cpu_priority: c_uchar = 0,
        rocksdb_create_backup_options_set_decrease_background_thread_cpu_priority
        / rocksdb_create_backup_options_get_decrease_background_thread_cpu_priority;
    hint background_thread_cpu_priority: c_int = 2,
        rocksdb_create_backup_options_set_background_thread_cpu_priority
        / rocksdb_create_backup_options_get_background_thread_cpu_priority;
}

const KEEP_LATEST_RUN: c_int = 1;
const VERIFY_CHECKSUM: c_int = 2;
const PURGE_ALL_FILES: c_int = 0xFFFF;

/// How a database is restored.
pub struct rocksdb_restore_options_t {
    keep_log_files: c_int,
    mode: c_int,
}

impl rocksdb_restore_options_t {
    /// # Errors
    /// `Invalid argument` for a mode that is none.
    pub(super) fn restore_options(&self) -> Result<RestoreOptions> {
        let mode = match self.mode {
            KEEP_LATEST_RUN => RestoreMode::KeepLatestDbSessionIdFiles,
            VERIFY_CHECKSUM => RestoreMode::VerifyChecksum,
            PURGE_ALL_FILES => RestoreMode::PurgeAllFiles,
            mode => {
                let what =
                    format!("restore mode {mode}: it is 1 (keep files of the same run), 2 (verify) or 65535 (purge)");
                return Err(Error::invalid_argument(what));
            }
        };
        Ok(RestoreOptions {
            keep_log_files: self.keep_log_files != 0,
            mode,
            progress: None,
            alternate_dirs: Vec::new(),
        })
    }
}

fields! {
    for rocksdb_restore_options_t:
    /// Which files of the target stay.
    mode: c_int = rocksdb_restore_options_set_mode / rocksdb_restore_options_get_mode;
}

c_functions! {
    /// Whether logs of the target stay.
    fn rocksdb_restore_options_set_keep_log_files(opt: *mut rocksdb_restore_options_t, v: c_int) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { opt.as_mut() } {
            options.keep_log_files = v;
        }
    }

    /// Whether logs of the target stay.
    fn rocksdb_restore_options_get_keep_log_files(opt: *mut rocksdb_restore_options_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { opt.as_ref() }.map_or(0, |options| (options.keep_log_files != 0).into())
    }
}
