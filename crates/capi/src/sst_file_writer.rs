//! Writing tables outside of a database, and how files are written then.

use crate::comparator::rocksdb_comparator_t;
use crate::handle::{borrow_mut, give};
use crate::kept::{HasKept, Kept, kept_options};
use crate::memory::{bytes, null_handle, path, put};
use crate::options::rocksdb_options_t;
use crate::rate_limiter::rocksdb_ratelimiter_t;
use ferrock::{Result, SstFileWriter};
use std::ffi::{c_char, c_uchar};

/// How files are written. A writer of tables goes by `bytes_per_sync`, `strict_bytes_per_sync`, `use_direct_writes` and
/// `writable_file_max_buffer_size` where they are set; of the rest only getters know.
#[derive(Default)]
pub struct rocksdb_envoptions_t {
    kept: Kept,
}

impl HasKept for rocksdb_envoptions_t {
    fn kept(&self) -> &Kept {
        &self.kept
    }
    fn kept_mut(&mut self) -> &mut Kept {
        &mut self.kept
    }
}

kept_options! {
    for rocksdb_envoptions_t:
    hint use_mmap_reads: c_uchar = 0, rocksdb_envoptions_set_use_mmap_reads / rocksdb_envoptions_get_use_mmap_reads;
    hint use_mmap_writes: c_uchar = 0,
        rocksdb_envoptions_set_use_mmap_writes
        / rocksdb_envoptions_get_use_mmap_writes;
    hint use_direct_reads: c_uchar = 0,
        rocksdb_envoptions_set_use_direct_reads
        / rocksdb_envoptions_get_use_direct_reads;
    hint use_direct_writes: c_uchar = 0,
        rocksdb_envoptions_set_use_direct_writes
        / rocksdb_envoptions_get_use_direct_writes;
    hint allow_fallocate: c_uchar = 1,
        rocksdb_envoptions_set_allow_fallocate
        / rocksdb_envoptions_get_allow_fallocate;
    hint fd_cloexec: c_uchar = 1, rocksdb_envoptions_set_fd_cloexec / rocksdb_envoptions_get_fd_cloexec;
    hint bytes_per_sync: u64 = 0, rocksdb_envoptions_set_bytes_per_sync / rocksdb_envoptions_get_bytes_per_sync;
    hint strict_bytes_per_sync: c_uchar = 0,
        rocksdb_envoptions_set_strict_bytes_per_sync
        / rocksdb_envoptions_get_strict_bytes_per_sync;
    hint fallocate_with_keep_size: c_uchar = 1,
        rocksdb_envoptions_set_fallocate_with_keep_size
        / rocksdb_envoptions_get_fallocate_with_keep_size;
    hint compaction_readahead_size: usize = 2097152,
        rocksdb_envoptions_set_compaction_readahead_size
        / rocksdb_envoptions_get_compaction_readahead_size;
    hint writable_file_max_buffer_size: usize = 1048576,
        rocksdb_envoptions_set_writable_file_max_buffer_size
        / rocksdb_envoptions_get_writable_file_max_buffer_size;
}

c_functions! {
    /// RocksDB's defaults.
    fn rocksdb_envoptions_create() -> *mut rocksdb_envoptions_t {
        give(rocksdb_envoptions_t::default())
    }

    /// A writer of one table does not wait for a limiter; one is ignored.
    fn rocksdb_envoptions_set_rate_limiter(opt: *mut rocksdb_envoptions_t, rate_limiter: *mut rocksdb_ratelimiter_t) {
        let _ = (opt, rate_limiter);
    }
}

c_destructors! {
    /// Ends options.
    fn rocksdb_envoptions_destroy(rocksdb_envoptions_t);
}

/// A writer of tables, or why there is none.
pub struct rocksdb_sstfilewriter_t {
    writer: Result<SstFileWriter>,
}

impl rocksdb_sstfilewriter_t {
    fn writer(&mut self) -> Result<&mut SstFileWriter> {
        self.writer.as_mut().map_err(|error| error.clone())
    }
}

/// A writer by options, and in the order of `comparator` if there is one.
///
/// # Safety
/// The contract.
unsafe fn create(
    env: *const rocksdb_envoptions_t,
    options: *const rocksdb_options_t,
    comparator: *const rocksdb_comparator_t,
) -> Result<SstFileWriter> {
    // SAFETY: as for this function.
    let (env, options, comparator) = unsafe { (env.as_ref(), options.as_ref(), comparator.as_ref()) };
    let options = options.ok_or_else(|| null_handle("options"))?;
    let (mut db, mut family) = (options.db_to_open()?, options.family_to_open()?);
    if let Some(comparator) = comparator {
        family.comparator = comparator.comparator()?;
    }
    if let Some(env) = env {
        db.bytes_per_sync = env.kept.get("bytes_per_sync", db.bytes_per_sync);
        let is_strict = c_uchar::from(db.strict_bytes_per_sync);
        db.strict_bytes_per_sync = env.kept.get("strict_bytes_per_sync", is_strict) != 0;
        let buffer_bytes: usize = env.kept.get("writable_file_max_buffer_size", 1 << 20);
        db.writable_file_max_buffer_size = buffer_bytes as u64;
        db.use_direct_io_for_flush_and_compaction = env.kept.get::<c_uchar>("use_direct_writes", 0) != 0;
    }
    Ok(SstFileWriter::new(&db, family))
}

c_functions! {
    /// A writer of tables in the form that options give those of the last level. What is wrong with them the first
    /// open reports.
    fn rocksdb_sstfilewriter_create(
        env: *const rocksdb_envoptions_t,
        io_options: *const rocksdb_options_t,
    ) -> *mut rocksdb_sstfilewriter_t {
        // SAFETY: the contract.
        give(rocksdb_sstfilewriter_t { writer: unsafe { create(env, io_options, std::ptr::null()) } })
    }

    /// As `rocksdb_sstfilewriter_create`, with keys in another order than that of the options, unless it is null.
    fn rocksdb_sstfilewriter_create_with_comparator(
        env: *const rocksdb_envoptions_t,
        io_options: *const rocksdb_options_t,
        comparator: *const rocksdb_comparator_t,
    ) -> *mut rocksdb_sstfilewriter_t {
        // SAFETY: the contract.
        give(rocksdb_sstfilewriter_t { writer: unsafe { create(env, io_options, comparator) } })
    }

    /// Bytes of the table that were written so far.
    fn rocksdb_sstfilewriter_file_size(writer: *mut rocksdb_sstfilewriter_t, file_size: *mut u64) {
        // SAFETY: the contract.
        let size = unsafe { writer.as_ref() }.and_then(|writer| writer.writer.as_ref().ok());
        // SAFETY: the contract: the size can be written.
        unsafe { put(file_size, size.map_or(0, SstFileWriter::file_size)) };
    }
}

c_destructors! {
    /// Ends a writer, and removes a table that is not finished.
    fn rocksdb_sstfilewriter_destroy(rocksdb_sstfilewriter_t);
}

/// The writer of a handle, and bytes for it.
///
/// # Safety
/// The contract.
unsafe fn parts<'a>(
    writer: *mut rocksdb_sstfilewriter_t,
    key: (*const c_char, usize),
    value: (*const c_char, usize),
) -> Result<(&'a mut SstFileWriter, &'a [u8], &'a [u8])> {
    // SAFETY: as for this function.
    unsafe { Ok((borrow_mut(writer, "writer")?.writer()?, bytes(key.0, key.1), bytes(value.0, value.1))) }
}

c_fallible! {
    /// Begins a table.
    fn rocksdb_sstfilewriter_open(writer: *mut rocksdb_sstfilewriter_t, name: *const c_char) {
        // SAFETY: the contract.
        let (writer, path) = unsafe { (borrow_mut(writer, "writer")?.writer()?, path(name)?) };
        writer.open(path)
    }

    /// Adds a key with its value.
    fn rocksdb_sstfilewriter_add(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        val: *const c_char,
        vallen: usize,
    ) {
        // SAFETY: the contract.
        let (writer, key, value) = unsafe { parts(writer, (key, keylen), (val, vallen))? };
        writer.put(key, value)
    }

    /// Adds a key with its value.
    fn rocksdb_sstfilewriter_put(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        val: *const c_char,
        vallen: usize,
    ) {
        // SAFETY: the contract.
        let (writer, key, value) = unsafe { parts(writer, (key, keylen), (val, vallen))? };
        writer.put(key, value)
    }

    /// Adds a key with an operand.
    fn rocksdb_sstfilewriter_merge(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        val: *const c_char,
        vallen: usize,
    ) {
        // SAFETY: the contract.
        let (writer, key, value) = unsafe { parts(writer, (key, keylen), (val, vallen))? };
        writer.merge(key, value)
    }

    /// Adds the deletion of a key.
    fn rocksdb_sstfilewriter_delete(writer: *mut rocksdb_sstfilewriter_t, key: *const c_char, keylen: usize) {
        // SAFETY: the contract.
        let (writer, key, _) = unsafe { parts(writer, (key, keylen), (std::ptr::null(), 0))? };
        writer.delete(key)
    }

    /// Adds the deletion of a range of keys.
    fn rocksdb_sstfilewriter_delete_range(
        writer: *mut rocksdb_sstfilewriter_t,
        begin_key: *const c_char,
        begin_keylen: usize,
        end_key: *const c_char,
        end_keylen: usize,
    ) {
        // SAFETY: the contract.
        let (writer, begin, end) = unsafe { parts(writer, (begin_key, begin_keylen), (end_key, end_keylen))? };
        writer.delete_range(begin, end)
    }

    /// Completes the table and makes it durable.
    fn rocksdb_sstfilewriter_finish(writer: *mut rocksdb_sstfilewriter_t) {
        // SAFETY: the contract.
        unsafe { borrow_mut(writer, "writer")? }.writer()?.finish().map(drop)
    }
}
