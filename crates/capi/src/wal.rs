//! The logs of a database, and the batches that they hold.

use crate::db::rocksdb_t;
use crate::handle::{borrow, give, take};
use crate::memory::put;
use crate::write_batch::rocksdb_writebatch_t;
use ferrock::{Error, ErrorKind, SequenceNumber, WalBatch, WalFile, WalIterator, WalKind, WalReadOptions};
use std::ffi::{CString, c_char, c_int, c_uchar};
use std::os::unix::ffi::OsStringExt;

/// `rocksdb_wal_file_type_archived_log` and `rocksdb_wal_file_type_alive_log`.
const ARCHIVED: c_int = 0;
const ALIVE: c_int = 1;

/// A log.
pub struct rocksdb_wal_file_t {
    file: WalFile,
    /// The path below the directory of the logs, with the slash that RocksDB's begins with.
    path: CString,
}

impl rocksdb_wal_file_t {
    fn new(file: WalFile) -> Self {
        let mut path = b"/".to_vec();
        path.extend(file.path().into_os_string().into_vec());
        Self { file, path: CString::new(path).unwrap_or_default() }
    }
}

/// The logs of a moment.
pub struct rocksdb_wal_files_t {
    files: Vec<rocksdb_wal_file_t>,
}

/// How logs are read.
#[derive(Default)]
pub struct rocksdb_wal_readoptions_t {
    options: WalReadOptions,
}

/// An iterator over the batches of logs, with the batch that it is on.
pub struct rocksdb_wal_iterator_t {
    iterator: WalIterator,
    current: Option<WalBatch>,
    error: Option<Error>,
}

impl rocksdb_wal_iterator_t {
    fn step(&mut self) {
        match self.iterator.next_batch() {
            Ok(batch) => self.current = batch,
            Err(error) => (self.current, self.error) = (None, Some(error)),
        }
    }
}

/// What is told of a log; 0 or null for a null pointer.
///
/// # Safety
/// The contract.
unsafe fn tell<R>(file: *const rocksdb_wal_file_t, default: R, told: impl FnOnce(&rocksdb_wal_file_t) -> R) -> R {
    // SAFETY: as for this function.
    unsafe { file.as_ref() }.map_or(default, told)
}

c_setters! {
    for rocksdb_wal_readoptions_t:
    /// Whether the checksums of records are compared.
    fn rocksdb_wal_readoptions_set_verify_checksums(c_uchar) => options.verify_checksums;
}

c_getters! {
    for rocksdb_wal_readoptions_t:
    /// Whether the checksums of records are compared.
    fn rocksdb_wal_readoptions_get_verify_checksums() -> c_uchar => options.verify_checksums;
}

c_functions! {
    /// Options with RocksDB's defaults.
    fn rocksdb_wal_readoptions_create() -> *mut rocksdb_wal_readoptions_t {
        give(rocksdb_wal_readoptions_t::default())
    }

    /// Goes to the next batch. Behind the newest one the iterator is not valid, without an error, and goes on here
    /// when more was written.
    fn rocksdb_wal_iter_next(iter: *mut rocksdb_wal_iterator_t) {
        // SAFETY: the contract.
        if let Some(iter) = unsafe { iter.as_mut() } {
            iter.step();
        }
    }

    /// Whether the iterator is on a batch.
    fn rocksdb_wal_iter_valid(wal_iterator: *const rocksdb_wal_iterator_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { wal_iterator.as_ref() }.is_some_and(|iter| iter.current.is_some()).into()
    }

    /// A copy of the batch that the iterator is on, which is the caller's, and its sequence number; null and 0 where it
    /// is on none.
    fn rocksdb_wal_iter_get_batch(iter: *const rocksdb_wal_iterator_t, seq: *mut u64) -> *mut rocksdb_writebatch_t {
        // SAFETY: the contract.
        let current = unsafe { iter.as_ref() }.and_then(|iter| iter.current.as_ref());
        // SAFETY: the contract.
        unsafe { put(seq, current.map_or(0, |current| current.sequence.0)) };
        current.map_or(std::ptr::null_mut(), |current| give(rocksdb_writebatch_t::of(current.batch.clone())))
    }

    /// Ends an iterator.
    fn rocksdb_wal_iter_destroy(iter: *const rocksdb_wal_iterator_t) {
        // SAFETY: the contract: the pointer came from `give`, which made it mutable.
        drop(unsafe { take(iter.cast_mut()) });
    }

    /// The path of a log below the directory of the logs, with a slash before it.
    fn rocksdb_wal_file_path_name(file: *const rocksdb_wal_file_t) -> *const c_char {
        // SAFETY: the contract.
        unsafe { tell(file, std::ptr::null(), |file| file.path.as_ptr()) }
    }

    /// The number of a log.
    fn rocksdb_wal_file_log_number(file: *const rocksdb_wal_file_t) -> u64 {
        // SAFETY: the contract.
        unsafe { tell(file, 0, |file| file.file.number.0) }
    }

    /// Whether a log is archived.
    fn rocksdb_wal_file_type(file: *const rocksdb_wal_file_t) -> c_int {
        // SAFETY: the contract.
        unsafe { tell(file, ARCHIVED, |file| if file.file.kind == WalKind::Alive { ALIVE } else { ARCHIVED }) }
    }

    /// The sequence number of the first batch of a log.
    fn rocksdb_wal_file_start_sequence(file: *const rocksdb_wal_file_t) -> u64 {
        // SAFETY: the contract.
        unsafe { tell(file, 0, |file| file.file.start_sequence.0) }
    }

    /// The bytes of a log.
    fn rocksdb_wal_file_size_file_bytes(file: *const rocksdb_wal_file_t) -> u64 {
        // SAFETY: the contract.
        unsafe { tell(file, 0, |file| file.file.size_bytes) }
    }

    /// How many logs there are.
    fn rocksdb_wal_files_count(files: *const rocksdb_wal_files_t) -> usize {
        // SAFETY: the contract.
        unsafe { files.as_ref() }.map_or(0, |files| files.files.len())
    }

    /// A log of a list, which stays the list's; null behind the last.
    fn rocksdb_wal_files_get_wal_file(files: *const rocksdb_wal_files_t, index: usize) -> *const rocksdb_wal_file_t {
        // SAFETY: the contract.
        let file = unsafe { files.as_ref() }.and_then(|files| files.files.get(index));
        file.map_or(std::ptr::null(), std::ptr::from_ref)
    }

}

c_fallible! {
    /// The batches from the one on that has a sequence number, or from the next one that is in a log; null and an
    /// error where that was not written yet.
    fn rocksdb_get_updates_since(
        db: *mut rocksdb_t,
        seq_number: u64,
        options: *const rocksdb_wal_readoptions_t,
    ) -> *mut rocksdb_wal_iterator_t {
        // SAFETY: the contract.
        let (db, options) = unsafe { (&borrow(db, "database")?.db, options.as_ref()) };
        if seq_number > db.latest_sequence_number().0 {
            return Err(Error::new(ErrorKind::NotFound, "Requested sequence not yet written in the db"));
        }
        let options = options.map_or_else(WalReadOptions::default, |options| options.options);
        let options = WalReadOptions { from_first_available: true, ..options };
        let iterator = db.updates_since(SequenceNumber(seq_number), options)?;
        let mut iterator = rocksdb_wal_iterator_t { iterator, current: None, error: None };
        iterator.step();
        Ok(give(iterator))
    }

    /// What ended the iterator.
    fn rocksdb_wal_iter_status(iter: *const rocksdb_wal_iterator_t) {
        // SAFETY: the contract.
        unsafe { borrow(iter, "iterator") }?.error.clone().map_or(Ok(()), Err)
    }

    /// The logs that have a batch, archived ones first.
    fn rocksdb_get_sorted_wal_files(db: *mut rocksdb_t) -> *mut rocksdb_wal_files_t {
        // SAFETY: the contract.
        let files = unsafe { borrow(db, "database") }?.db.sorted_wal_files()?;
        Ok(give(rocksdb_wal_files_t { files: files.into_iter().map(rocksdb_wal_file_t::new).collect() }))
    }

    /// The log that writes go to.
    fn rocksdb_get_current_wal_file(db: *mut rocksdb_t) -> *mut rocksdb_wal_file_t {
        // SAFETY: the contract.
        let file = unsafe { borrow(db, "database") }?.db.current_wal_file()?;
        Ok(give(rocksdb_wal_file_t::new(file)))
    }
}

c_destructors! {
    /// Ends options.
    fn rocksdb_wal_readoptions_destroy(rocksdb_wal_readoptions_t);
    /// Ends a log that `rocksdb_get_current_wal_file` gave.
    fn rocksdb_wal_file_destroy(rocksdb_wal_file_t);
    /// Ends a list.
    fn rocksdb_wal_files_destroy(rocksdb_wal_files_t);
}
