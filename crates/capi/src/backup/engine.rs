//! Opening an engine, and what it does.

use super::options::{rocksdb_backup_engine_options_t, rocksdb_create_backup_options_t, rocksdb_restore_options_t};
use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::handle::{borrow, give};
use crate::memory::{self, optional_bytes, put};
use crate::options::rocksdb_options_t;
use ferrock::Result;
use ferrock::backup::{BackupEngine, CreateBackupOptions, RestoreOptions};
use std::ffi::{c_char, c_uchar};
use std::os::unix::ffi::OsStrExt;

/// A directory of backups.
pub struct rocksdb_backup_engine_t {
    pub(super) engine: BackupEngine,
}

fn open(
    options: &rocksdb_backup_engine_options_t,
    files: Option<std::sync::Arc<dyn ferrock_vfs::FileSystem>>,
) -> Result<*mut rocksdb_backup_engine_t> {
    let engine = BackupEngine::open(options.engine_options(files)?)?;
    Ok(give(rocksdb_backup_engine_t { engine }))
}

/// # Safety
/// The contract: null stands for the defaults.
unsafe fn create_options(options: *const rocksdb_create_backup_options_t) -> CreateBackupOptions {
    // SAFETY: as for this function.
    unsafe { options.as_ref() }.map(rocksdb_create_backup_options_t::create_options).unwrap_or_default()
}

/// # Safety
/// The contract: null stands for the defaults.
unsafe fn restore_options(options: *const rocksdb_restore_options_t) -> Result<RestoreOptions> {
    // SAFETY: as for this function.
    match unsafe { options.as_ref() } {
        Some(options) => options.restore_options(),
        None => Ok(RestoreOptions::default()),
    }
}

c_fallible! {
    /// Opens a directory of backups with the defaults, where the options have their databases.
    fn rocksdb_backup_engine_open(
        options: *const rocksdb_options_t,
        path: *const c_char,
    ) -> *mut rocksdb_backup_engine_t {
        // SAFETY: the contract.
        let (options, path) = unsafe { (borrow(options, "options")?, memory::path(path)?) };
        let backup = rocksdb_backup_engine_options_t::new(path.as_os_str().as_bytes());
        open(&backup, options.db.components.file_system.clone())
    }

    /// Opens a directory of backups of databases in an environment.
    fn rocksdb_backup_engine_open_opts(
        options: *const rocksdb_backup_engine_options_t,
        env: *mut rocksdb_env_t,
    ) -> *mut rocksdb_backup_engine_t {
        // SAFETY: the contract.
        let (options, env) = unsafe { (borrow(options, "backup options")?, borrow(env, "environment")?) };
        open(options, env.file_system())
    }

    /// Makes a backup.
    fn rocksdb_backup_engine_create_new_backup(be: *mut rocksdb_backup_engine_t, db: *mut rocksdb_t) {
        // SAFETY: the contract.
        let (be, db) = unsafe { (borrow(be, "backup engine")?, borrow(db, "database")?) };
        be.engine.create_backup(&db.db, &CreateBackupOptions::default()).map(|_| ())
    }

    /// Makes a backup, and may flush first.
    fn rocksdb_backup_engine_create_new_backup_flush(
        be: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        flush_before_backup: c_uchar,
    ) {
        // SAFETY: the contract.
        let (be, db) = unsafe { (borrow(be, "backup engine")?, borrow(db, "database")?) };
        let options =
            CreateBackupOptions { flush_before_backup: flush_before_backup != 0, ..CreateBackupOptions::default() };
        be.engine.create_backup(&db.db, &options).map(|_| ())
    }

    /// Makes a backup with options, and tells its number.
    fn rocksdb_backup_engine_create_new_backup_with_options(
        be: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_create_backup_options_t,
        backup_id: *mut u32,
    ) {
        // SAFETY: the contract.
        let (be, db) = unsafe { (borrow(be, "backup engine")?, borrow(db, "database")?) };
        // SAFETY: the contract.
        let id = be.engine.create_backup(&db.db, &unsafe { create_options(options) })?;
        // SAFETY: the contract.
        unsafe { put(backup_id, id) };
        Ok(())
    }

    /// Makes a backup with options and bytes of the program, and tells its number.
    fn rocksdb_backup_engine_create_new_backup_with_metadata(
        be: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_create_backup_options_t,
        app_metadata: *const c_char,
        app_metadata_len: usize,
        backup_id: *mut u32,
    ) {
        // SAFETY: the contract.
        let (be, db) = unsafe { (borrow(be, "backup engine")?, borrow(db, "database")?) };
        // SAFETY: the contract.
        let (mut options, metadata) =
            unsafe { (create_options(options), optional_bytes(app_metadata, app_metadata_len)) };
        options.app_metadata = metadata.unwrap_or_default().to_vec();
        let id = be.engine.create_backup(&db.db, &options)?;
        // SAFETY: the contract.
        unsafe { put(backup_id, id) };
        Ok(())
    }

    /// Removes the oldest backups but for so many.
    fn rocksdb_backup_engine_purge_old_backups(be: *mut rocksdb_backup_engine_t, num_backups_to_keep: u32) {
        // SAFETY: the contract.
        let be = unsafe { borrow(be, "backup engine")? };
        be.engine.purge_old_backups(num_backups_to_keep).map(|_| ())
    }

    /// Checks that the files of a backup are there, with the sizes that they had.
    fn rocksdb_backup_engine_verify_backup(be: *mut rocksdb_backup_engine_t, backup_id: u32) {
        // SAFETY: the contract.
        unsafe { borrow(be, "backup engine")? }.engine.verify_backup(backup_id, false)
    }

    /// Restores the newest backup that is good.
    fn rocksdb_backup_engine_restore_db_from_latest_backup(
        be: *mut rocksdb_backup_engine_t,
        db_dir: *const c_char,
        wal_dir: *const c_char,
        restore_options: *const rocksdb_restore_options_t,
    ) {
        // SAFETY: the contract.
        let (be, db, logs) =
            unsafe { (borrow(be, "backup engine")?, memory::path(db_dir)?, memory::path(wal_dir)?) };
        // SAFETY: the contract.
        let options = unsafe { self::restore_options(restore_options)? };
        be.engine.restore_db_from_latest_backup(db, logs, &options).map(|_| ())
    }

    /// Restores a backup.
    fn rocksdb_backup_engine_restore_db_from_backup(
        be: *mut rocksdb_backup_engine_t,
        db_dir: *const c_char,
        wal_dir: *const c_char,
        restore_options: *const rocksdb_restore_options_t,
        backup_id: u32,
    ) {
        // SAFETY: the contract.
        let (be, db, logs) =
            unsafe { (borrow(be, "backup engine")?, memory::path(db_dir)?, memory::path(wal_dir)?) };
        // SAFETY: the contract.
        let options = unsafe { self::restore_options(restore_options)? };
        be.engine.restore_db_from_backup(backup_id, db, logs, &options)
    }
}

c_functions! {
    /// Ends the backup that another thread makes, and all later ones of the engine.
    fn rocksdb_backup_engine_stop_backup(be: *mut rocksdb_backup_engine_t) {
        // SAFETY: the contract.
        if let Some(be) = unsafe { be.as_ref() } {
            be.engine.stop_backup();
        }
    }
}

c_destructors! {
    /// Ends a handle of an engine.
    fn rocksdb_backup_engine_close(rocksdb_backup_engine_t);
}
