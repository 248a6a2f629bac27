//! What an engine tells of its backups.

use super::engine::rocksdb_backup_engine_t;
use crate::handle::{give, take};
use crate::memory::put;
use ferrock::backup::BackupInfo;
use std::ffi::{c_char, c_int};

/// The good backups of a moment, oldest first.
pub struct rocksdb_backup_engine_info_t {
    infos: Vec<BackupInfo>,
}

/// # Safety
/// The contract.
unsafe fn info<'a>(infos: *const rocksdb_backup_engine_info_t, index: c_int) -> Option<&'a BackupInfo> {
    // SAFETY: as for this function.
    unsafe { infos.as_ref() }?.infos.get(usize::try_from(index).ok()?)
}

c_functions! {
    /// What is told of every good backup.
    fn rocksdb_backup_engine_get_backup_info(
        be: *mut rocksdb_backup_engine_t,
    ) -> *const rocksdb_backup_engine_info_t {
        // SAFETY: the contract.
        let infos = unsafe { be.as_ref() }.map(|be| be.engine.backup_infos()).unwrap_or_default();
        give(rocksdb_backup_engine_info_t { infos }).cast_const()
    }

    /// How many there are.
    fn rocksdb_backup_engine_info_count(info: *const rocksdb_backup_engine_info_t) -> c_int {
        // SAFETY: the contract.
        unsafe { info.as_ref() }.map_or(0, |info| c_int::try_from(info.infos.len()).unwrap_or(c_int::MAX))
    }

    /// When one was made, in seconds since 1970; 0 behind the last.
    fn rocksdb_backup_engine_info_timestamp(info: *const rocksdb_backup_engine_info_t, index: c_int) -> i64 {
        // SAFETY: the contract.
        unsafe { self::info(info, index) }.map_or(0, |info| info.timestamp)
    }

    /// The number of one; 0 behind the last.
    fn rocksdb_backup_engine_info_backup_id(info: *const rocksdb_backup_engine_info_t, index: c_int) -> u32 {
        // SAFETY: the contract.
        unsafe { self::info(info, index) }.map_or(0, |info| info.backup_id)
    }

    /// Bytes of the files of one; 0 behind the last.
    fn rocksdb_backup_engine_info_size(info: *const rocksdb_backup_engine_info_t, index: c_int) -> u64 {
        // SAFETY: the contract.
        unsafe { self::info(info, index) }.map_or(0, |info| info.size)
    }

    /// How many files one has; 0 behind the last.
    fn rocksdb_backup_engine_info_number_files(info: *const rocksdb_backup_engine_info_t, index: c_int) -> u32 {
        // SAFETY: the contract.
        unsafe { self::info(info, index) }.map_or(0, |info| info.number_files)
    }

    /// Bytes that a program added to one, with their length. They are the infos'.
    fn rocksdb_backup_engine_info_app_metadata(
        info: *const rocksdb_backup_engine_info_t,
        index: c_int,
        len: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        let metadata = unsafe { self::info(info, index) }.map_or(&[][..], |info| &info.app_metadata);
        // SAFETY: the contract.
        unsafe { put(len, metadata.len()) };
        metadata.as_ptr().cast()
    }

    /// Ends what was told.
    fn rocksdb_backup_engine_info_destroy(info: *const rocksdb_backup_engine_info_t) {
        // SAFETY: the contract: the handle is one of its kind, and this is its end.
        drop(unsafe { take(info.cast_mut()) });
    }
}
