//! Managers of the space of tables and blob files.

use crate::env::rocksdb_env_t;
use crate::handle::give;
use crate::options::rocksdb_options_t;
use ferrock::options::{SstFileManager, SstFileManagerOptions};
use std::sync::Arc;

/// Counts, bounds and removes the files of every database that is opened with it.
pub struct rocksdb_sst_file_manager_t {
    manager: Arc<SstFileManager>,
}

/// What the manager says; the neutral value for null.
///
/// # Safety
/// The manager is null or lives.
unsafe fn ask<R: crate::error::Neutral>(
    manager: *const rocksdb_sst_file_manager_t,
    question: impl FnOnce(&SstFileManager) -> R,
) -> R {
    // SAFETY: as for this function.
    unsafe { manager.as_ref() }.map_or(R::NEUTRAL, |manager| question(&manager.manager))
}

c_functions! {
    /// A manager without a bound and without a rate. Files are removed where their database has them, whatever the
    /// environment.
    fn rocksdb_sst_file_manager_create(env: *mut rocksdb_env_t) -> *mut rocksdb_sst_file_manager_t {
        let _ = env;
        give(rocksdb_sst_file_manager_t { manager: SstFileManager::new(SstFileManagerOptions::default()) })
    }

    /// Bounds the bytes of all files; 0: no bound.
    fn rocksdb_sst_file_manager_set_max_allowed_space_usage(
        sfm: *mut rocksdb_sst_file_manager_t,
        max_allowed_space: u64,
    ) {
        // SAFETY: the contract.
        unsafe { ask(sfm, |manager| manager.set_max_allowed_space_usage(max_allowed_space)) }
    }

    /// Bytes that stay free beside what a compaction may need.
    fn rocksdb_sst_file_manager_set_compaction_buffer_size(
        sfm: *mut rocksdb_sst_file_manager_t,
        compaction_buffer_size: u64,
    ) {
        // SAFETY: the contract.
        unsafe { ask(sfm, |manager| manager.set_compaction_buffer_size(compaction_buffer_size)) }
    }

    /// True when the bound is reached.
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached(sfm: *mut rocksdb_sst_file_manager_t) -> bool {
        // SAFETY: the contract.
        unsafe { ask(sfm, SstFileManager::is_max_allowed_space_reached) }
    }

    /// True when the bound is reached, or running compactions may reach it.
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(
        sfm: *mut rocksdb_sst_file_manager_t,
    ) -> bool {
        // SAFETY: the contract.
        unsafe { ask(sfm, SstFileManager::is_max_allowed_space_reached_including_compactions) }
    }

    /// Bytes of all files.
    fn rocksdb_sst_file_manager_get_total_size(sfm: *mut rocksdb_sst_file_manager_t) -> u64 {
        // SAFETY: the contract.
        unsafe { ask(sfm, SstFileManager::total_size) }
    }

    /// Bytes of files that are removed a second; 0 or less: each at once.
    fn rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(sfm: *mut rocksdb_sst_file_manager_t) -> i64 {
        // SAFETY: the contract.
        unsafe { ask(sfm, SstFileManager::delete_rate_bytes_per_second) }
    }

    /// Changes that rate.
    fn rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(
        sfm: *mut rocksdb_sst_file_manager_t,
        delete_rate: i64,
    ) {
        // SAFETY: the contract.
        unsafe { ask(sfm, |manager| manager.set_delete_rate_bytes_per_second(delete_rate)) }
    }

    /// The part of all files that may wait to be removed; beyond it they are removed at once.
    fn rocksdb_sst_file_manager_get_max_trash_db_ratio(sfm: *mut rocksdb_sst_file_manager_t) -> f64 {
        // SAFETY: the contract.
        unsafe { ask(sfm, SstFileManager::max_trash_db_ratio) }
    }

    /// Changes that part.
    fn rocksdb_sst_file_manager_set_max_trash_db_ratio(sfm: *mut rocksdb_sst_file_manager_t, ratio: f64) {
        // SAFETY: the contract.
        unsafe { ask(sfm, |manager| manager.set_max_trash_db_ratio(ratio)) }
    }

    /// Bytes of files that wait to be removed.
    fn rocksdb_sst_file_manager_get_total_trash_size(sfm: *mut rocksdb_sst_file_manager_t) -> u64 {
        // SAFETY: the contract.
        unsafe { ask(sfm, SstFileManager::total_trash_size) }
    }

    /// The manager of the files; null takes it away. The options share it.
    fn rocksdb_options_set_sst_file_manager(opt: *mut rocksdb_options_t, sfm: *mut rocksdb_sst_file_manager_t) {
        // SAFETY: the contract.
        let manager = unsafe { sfm.as_ref() }.map(|sfm| Arc::clone(&sfm.manager));
        // SAFETY: the contract.
        if let Some(options) = unsafe { opt.as_mut() } {
            options.db.components.sst_file_manager = manager;
        }
    }
}

c_destructors! {
    /// Ends a handle of a manager; what uses the manager keeps it.
    fn rocksdb_sst_file_manager_destroy(rocksdb_sst_file_manager_t);
}
