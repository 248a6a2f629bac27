//! What a copy of a running database is made of, and keeping its files until it is made.

use crate::db::rocksdb_t;
use crate::handle::{borrow, borrow_or, give};
use crate::memory::put;
use ferrock::{FileKind, LiveFileStorageInfo, LiveFilesStorageOptions};
use std::ffi::{CString, c_char, c_int, c_uchar};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null;

/// What a list of files is to be.
#[derive(Default)]
pub struct rocksdb_livefiles_storage_info_options_t {
    options: LiveFilesStorageOptions,
    /// A copy has the logs that make its families one state, whatever this says.
    atomic_flush: bool,
}

/// The files of a copy.
pub struct rocksdb_livefiles_storage_info_t {
    files: Vec<StorageInfo>,
}

/// A file of a copy, with its texts as C has them.
struct StorageInfo {
    info: LiveFileStorageInfo,
    relative_filename: CString,
    directory: CString,
    checksum: CString,
    checksum_function: CString,
}

/// What RocksDB says of a file without a checksum.
const UNKNOWN_CHECKSUM_FUNCTION: &str = "Unknown";

impl StorageInfo {
    fn new(info: LiveFileStorageInfo, with_checksum: bool) -> Self {
        let text = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
        let function = &info.file_checksum_func_name[..];
        let function = if with_checksum && function.is_empty() { UNKNOWN_CHECKSUM_FUNCTION } else { function };
        Self {
            relative_filename: text(info.relative_filename.as_bytes()),
            directory: text(info.directory.as_os_str().as_bytes()),
            // A checksum with a zero byte ends there: the function tells no length.
            checksum: text(info.file_checksum.split(|byte| *byte == 0).next().unwrap_or_default()),
            checksum_function: text(function.as_bytes()),
            info,
        }
    }
}

/// RocksDB's number of a kind of file.
fn number_of(kind: FileKind) -> c_int {
    match kind {
        FileKind::Log => 0,
        FileKind::Lock => 1,
        FileKind::Table => 2,
        FileKind::Manifest => 3,
        FileKind::Current => 4,
        FileKind::InfoLog => 6,
        FileKind::MetaDb => 7,
        FileKind::Identity => 8,
        FileKind::Options => 9,
        FileKind::Blob => 10,
        _ => 5,
    }
}

/// A file of a list; `None` behind the last.
///
/// # Safety
/// The contract.
unsafe fn file<'a>(files: *const rocksdb_livefiles_storage_info_t, index: usize) -> Option<&'a StorageInfo> {
    // SAFETY: as for this function.
    unsafe { files.as_ref() }?.files.get(index)
}

c_fallible! {
    /// Keeps every file of the database, until `rocksdb_enable_file_deletions` was called as often.
    fn rocksdb_disable_file_deletions(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.disable_file_deletions()
    }

    /// Takes back one `rocksdb_disable_file_deletions`; the last one removes what stayed.
    fn rocksdb_enable_file_deletions(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.enable_file_deletions()
    }

    /// The files that a copy of the database is made of, now. They stay only while deletions are disabled.
    fn rocksdb_get_livefiles_storage_info(
        db: *mut rocksdb_t,
        options: *const rocksdb_livefiles_storage_info_options_t,
    ) -> *mut rocksdb_livefiles_storage_info_t {
        let default = rocksdb_livefiles_storage_info_options_t::default();
        // SAFETY: the contract.
        let (db, options) = unsafe { (borrow(db, "database")?, borrow_or(options, &default)) };
        let files = db.db.live_files_storage_info(&options.options)?;
        let with_checksum = options.options.include_checksum_info;
        let files = files.into_iter().map(|info| StorageInfo::new(info, with_checksum)).collect();
        Ok(give(rocksdb_livefiles_storage_info_t { files }))
    }
}

c_functions! {
    /// Options of a list of files, at their defaults.
    fn rocksdb_livefiles_storage_info_options_create() -> *mut rocksdb_livefiles_storage_info_options_t {
        give(rocksdb_livefiles_storage_info_options_t::default())
    }

    /// How many files there are.
    fn rocksdb_livefiles_storage_info_count(info: *const rocksdb_livefiles_storage_info_t) -> usize {
        // SAFETY: the contract.
        unsafe { info.as_ref() }.map_or(0, |info| info.files.len())
    }

    /// The name of a file in its directory; null behind the last.
    fn rocksdb_livefiles_storage_info_relative_filename(
        info: *const rocksdb_livefiles_storage_info_t,
        index: usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(null(), |file| file.relative_filename.as_ptr())
    }

    /// The directory of a file; null behind the last.
    fn rocksdb_livefiles_storage_info_directory(
        info: *const rocksdb_livefiles_storage_info_t,
        index: usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(null(), |file| file.directory.as_ptr())
    }

    /// The number in the name of a file.
    fn rocksdb_livefiles_storage_info_file_number(info: *const rocksdb_livefiles_storage_info_t, index: usize) -> u64 {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(0, |file| file.info.file_number.0)
    }

    /// What a file is: 0 log, 2 table, 3 MANIFEST, 4 CURRENT, 9 OPTIONS, 10 blob file.
    fn rocksdb_livefiles_storage_info_file_type(info: *const rocksdb_livefiles_storage_info_t, index: usize) -> c_int {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(0, |file| number_of(file.info.kind))
    }

    /// The bytes of a file that a copy has.
    fn rocksdb_livefiles_storage_info_size(info: *const rocksdb_livefiles_storage_info_t, index: usize) -> u64 {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(0, |file| file.info.size_bytes)
    }

    /// How often a file is expected to be read.
    fn rocksdb_livefiles_storage_info_temperature(
        info: *const rocksdb_livefiles_storage_info_t,
        index: usize,
    ) -> c_int {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(0, |file| c_int::from(file.info.temperature as u8))
    }

    /// The checksum of a file; empty where none is known.
    fn rocksdb_livefiles_storage_info_file_checksum(
        info: *const rocksdb_livefiles_storage_info_t,
        index: usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(null(), |file| file.checksum.as_ptr())
    }

    /// What made the checksum.
    fn rocksdb_livefiles_storage_info_file_checksum_func_name(
        info: *const rocksdb_livefiles_storage_info_t,
        index: usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(null(), |file| file.checksum_function.as_ptr())
    }

    /// What a copy holds in place of the bytes of the file; null where it is those.
    fn rocksdb_livefiles_storage_info_replacement_contents(
        info: *const rocksdb_livefiles_storage_info_t,
        index: usize,
        size: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        let contents = unsafe { file(info, index) }.and_then(|file| file.info.replacement_contents.as_deref());
        // SAFETY: the contract.
        unsafe { put(size, contents.map_or(0, <[u8]>::len)) };
        contents.map_or(null(), |contents| contents.as_ptr().cast())
    }

    /// True when the file may have more bytes than the copy.
    fn rocksdb_livefiles_storage_info_trim_to_size(
        info: *const rocksdb_livefiles_storage_info_t,
        index: usize,
    ) -> c_uchar {
        // SAFETY: the contract.
        unsafe { file(info, index) }.map_or(0, |file| file.info.trim_to_size.into())
    }
}

c_setters! {
    for rocksdb_livefiles_storage_info_options_t:
    /// Whether checksums of files are told.
    fn rocksdb_livefiles_storage_info_options_set_include_checksum_info(c_uchar) => options.include_checksum_info;
    /// Bytes of logs from which on memtables are flushed first.
    fn rocksdb_livefiles_storage_info_options_set_wal_size_for_flush(u64) => options.wal_size_for_flush;
    /// Without effect: the families of a copy are one state by its logs.
    fn rocksdb_livefiles_storage_info_options_set_atomic_flush(c_uchar) => atomic_flush;
}

c_getters! {
    for rocksdb_livefiles_storage_info_options_t:
    /// What was set.
    fn rocksdb_livefiles_storage_info_options_get_include_checksum_info() -> c_uchar => options.include_checksum_info;
    /// What was set.
    fn rocksdb_livefiles_storage_info_options_get_wal_size_for_flush() -> u64 => options.wal_size_for_flush;
    /// What was set.
    fn rocksdb_livefiles_storage_info_options_get_atomic_flush() -> c_uchar => atomic_flush;
}

c_destructors! {
    /// Ends options of a list of files; null is allowed.
    fn rocksdb_livefiles_storage_info_options_destroy(rocksdb_livefiles_storage_info_options_t);
    /// Ends a list of files; null is allowed.
    fn rocksdb_livefiles_storage_info_destroy(rocksdb_livefiles_storage_info_t);
}
