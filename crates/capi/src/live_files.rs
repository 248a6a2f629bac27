//! The tables of a database.

use crate::db::rocksdb_t;
use crate::handle::{give, take};
use ferrock_format::file_name;
use std::ffi::{CString, c_char, c_int};

/// The tables of a moment.
pub struct rocksdb_livefiles_t {
    files: Vec<File>,
}

struct File {
    name: CString,
    level: c_int,
    size_bytes: usize,
}

c_functions! {
    /// The tables of all column families, now.
    fn rocksdb_livefiles(db: *mut rocksdb_t) -> *const rocksdb_livefiles_t {
        // SAFETY: the contract.
        let Some(db) = (unsafe { db.as_ref() }) else { return std::ptr::null() };
        let files = db.db.live_files().into_iter().map(|file| File {
            // RocksDB's names begin with the slash that parts them from the directory.
            name: CString::new(format!("/{}", file_name::table(file.number))).unwrap_or_default(),
            level: c_int::try_from(file.level).unwrap_or(c_int::MAX),
            size_bytes: usize::try_from(file.size_bytes).unwrap_or(usize::MAX),
        });
        give(rocksdb_livefiles_t { files: files.collect() })
    }

    /// How many tables there are.
    fn rocksdb_livefiles_count(files: *const rocksdb_livefiles_t) -> c_int {
        // SAFETY: the contract.
        let count = unsafe { files.as_ref() }.map_or(0, |files| files.files.len());
        c_int::try_from(count).unwrap_or(c_int::MAX)
    }

    /// The name of a table; null behind the last.
    fn rocksdb_livefiles_name(files: *const rocksdb_livefiles_t, index: c_int) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(std::ptr::null(), |file| file.name.as_ptr())
    }

    /// The level of a table.
    fn rocksdb_livefiles_level(files: *const rocksdb_livefiles_t, index: c_int) -> c_int {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.level)
    }

    /// The bytes of a table.
    fn rocksdb_livefiles_size(files: *const rocksdb_livefiles_t, index: c_int) -> usize {
        // SAFETY: the contract.
        unsafe { file(files, index) }.map_or(0, |file| file.size_bytes)
    }

    /// Ends a list of tables.
    fn rocksdb_livefiles_destroy(files: *const rocksdb_livefiles_t) {
        // SAFETY: the contract: the handle is not used again.
        drop(unsafe { take(files.cast_mut()) });
    }
}

/// # Safety
/// The contract.
unsafe fn file<'a>(files: *const rocksdb_livefiles_t, index: c_int) -> Option<&'a File> {
    // SAFETY: as for this function.
    unsafe { files.as_ref() }?.files.get(usize::try_from(index).ok()?)
}
