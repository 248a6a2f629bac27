//! Directories of logs and tables.

use crate::handle::give;
use crate::memory::{array, path, put, text};
use crate::operation_options::rocksdb_compactoptions_t;
use crate::options::{rocksdb_options_t, set};
use ferrock::options::DbPath;
use std::ffi::{c_char, c_int};
use std::path::Path;

/// A directory of tables. One without a name is refused when it is opened with.
pub struct rocksdb_dbpath_t {
    path: DbPath,
}

c_functions! {
    /// A directory of tables, and the bytes that it should hold.
    fn rocksdb_dbpath_create(path_text: *const c_char, target_size: u64) -> *mut rocksdb_dbpath_t {
        // SAFETY: the contract.
        let path = unsafe { path(path_text) }.unwrap_or(Path::new(""));
        give(rocksdb_dbpath_t { path: DbPath::new(path, target_size) })
    }

    /// Directories of tables, of families that have none of their own; copied.
    fn rocksdb_options_set_db_paths(
        options: *mut rocksdb_options_t,
        path_values: *mut *const rocksdb_dbpath_t,
        num_paths: usize,
    ) {
        // SAFETY: the contract.
        let paths = unsafe { paths(path_values, num_paths) };
        // SAFETY: the contract.
        unsafe {
            set(options, "db_paths", |options| {
                options.db.db_paths = paths;
                Ok(())
            });
        }
    }

    /// Directories of a family's tables; copied.
    fn rocksdb_options_set_cf_paths(
        options: *mut rocksdb_options_t,
        path_values: *mut *const rocksdb_dbpath_t,
        num_paths: usize,
    ) {
        // SAFETY: the contract.
        let paths = unsafe { paths(path_values, num_paths) };
        // SAFETY: the contract.
        unsafe {
            set(options, "cf_paths", |options| {
                options.family.cf_paths = paths;
                Ok(())
            });
        }
    }

    /// The directory of the log; empty: that of the database.
    fn rocksdb_options_set_wal_dir(options: *mut rocksdb_options_t, directory: *const c_char) {
        // SAFETY: the contract.
        let directory = if directory.is_null() { Ok("") } else { unsafe { text(directory, "wal_dir") } };
        // SAFETY: the contract.
        unsafe {
            set(options, "wal_dir", |options| directory.map(|directory| options.db.wal_dir = directory.to_owned()));
        }
    }

    /// What was set, without a zero at its end; it lives as long as it is not set again.
    fn rocksdb_options_get_wal_dir(options: *mut rocksdb_options_t, size: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let directory = unsafe { options.as_ref() }.map(|options| &options.db.settings.wal_dir);
        // SAFETY: the contract.
        unsafe { put(size, directory.map_or(0, |directory| directory.len())) };
        directory.map_or(std::ptr::null(), |directory| directory.as_ptr().cast())
    }

    /// The directory that the result goes to, as a place among `cf_paths` or `db_paths`.
    fn rocksdb_compactoptions_set_target_path_id(options: *mut rocksdb_compactoptions_t, path_id: c_int) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            // A negative number is behind every directory, and refused.
            options.options.target_path_id = u32::try_from(path_id).unwrap_or(u32::MAX);
        }
    }

    /// What was set.
    fn rocksdb_compactoptions_get_target_path_id(options: *mut rocksdb_compactoptions_t) -> c_int {
        // SAFETY: the contract.
        let id = unsafe { options.as_ref() }.map_or(0, |options| options.options.target_path_id);
        c_int::try_from(id).unwrap_or(-1)
    }
}

c_destructors! {
    /// Ends a directory; options that it was set in keep it.
    fn rocksdb_dbpath_destroy(rocksdb_dbpath_t);
}

/// The directories of an array; a null one has no name.
///
/// # Safety
/// The array has `count` handles.
unsafe fn paths(handles: *mut *const rocksdb_dbpath_t, count: usize) -> Vec<DbPath> {
    // SAFETY: as for this function.
    let handles = unsafe { array(handles.cast_const(), count) };
    // SAFETY: as for this function.
    let path = |handle: &*const rocksdb_dbpath_t| unsafe { handle.as_ref() }.map(|handle| handle.path.clone());
    handles.iter().map(|handle| path(handle).unwrap_or_else(|| DbPath::new("", 0))).collect()
}
