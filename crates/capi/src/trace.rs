//! Traces of operations, and replaying them.

use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::family_handle::{family, rocksdb_column_family_handle_t};
use crate::handle::{borrow, borrow_mut, give};
use crate::memory::{array, new_bytes, path, put};
use crate::sst_file_writer::rocksdb_envoptions_t;
use ferrock::replay::{FrameReader, ReplayOptions, Replayer, TraceReader};
use ferrock::{ColumnFamily, Db, Error, ErrorKind, Result, TraceOptions};
use ferrock_vfs::{FileSystem, default_file_system};
use std::ffi::{c_char, c_uchar};
use std::path::PathBuf;
use std::sync::Arc;

/// What is written down.
#[derive(Default)]
pub struct rocksdb_trace_options_t {
    options: TraceOptions,
}

/// The frames of a trace.
pub struct rocksdb_trace_reader_t {
    /// `None` once it is closed.
    frames: Option<FrameReader>,
}

impl rocksdb_trace_reader_t {
    fn frames(&mut self) -> Result<&mut FrameReader> {
        self.frames.as_mut().ok_or_else(|| Error::invalid_argument("the trace reader is closed"))
    }
}

/// How a trace is replayed.
#[derive(Default)]
pub struct rocksdb_replay_options_t {
    options: ReplayOptions,
}

/// A trace, and the database that is to be asked.
pub struct rocksdb_replayer_t {
    db: Db,
    families: Vec<ColumnFamily>,
    file_system: Arc<dyn FileSystem>,
    path: PathBuf,
    prepared: Option<Replayer>,
}

/// The files of an environment; those of the machine for a null pointer.
///
/// # Safety
/// The contract.
unsafe fn files_of(env: *const rocksdb_env_t) -> Arc<dyn FileSystem> {
    // SAFETY: as for this function.
    unsafe { env.as_ref() }.and_then(rocksdb_env_t::file_system).unwrap_or_else(default_file_system)
}

c_setters! {
    for rocksdb_trace_options_t:
    /// Bytes from which on nothing more is written.
    fn rocksdb_trace_options_set_max_trace_file_size(u64) => options.max_trace_file_size;
    /// One of so many operations is written.
    fn rocksdb_trace_options_set_sampling_frequency(u64) => options.sampling_frequency;
    /// Kinds of operations that are left out.
    fn rocksdb_trace_options_set_filter(u64) => options.filter;
    /// Whether batches are written down in the order of their sequence numbers.
    fn rocksdb_trace_options_set_preserve_write_order(c_uchar) => options.preserve_write_order;
}

c_getters! {
    for rocksdb_trace_options_t:
    /// Bytes from which on nothing more is written.
    fn rocksdb_trace_options_get_max_trace_file_size() -> u64 => options.max_trace_file_size;
    /// One of so many operations is written.
    fn rocksdb_trace_options_get_sampling_frequency() -> u64 => options.sampling_frequency;
    /// Kinds of operations that are left out.
    fn rocksdb_trace_options_get_filter() -> u64 => options.filter;
    /// Whether batches are written down in the order of their sequence numbers.
    fn rocksdb_trace_options_get_preserve_write_order() -> c_uchar => options.preserve_write_order;
}

c_setters! {
    for rocksdb_replay_options_t:
    /// How many times as fast as it was traced.
    fn rocksdb_replay_options_set_fast_forward(f64) => options.fast_forward;
}

c_getters! {
    for rocksdb_replay_options_t:
    /// How many times as fast as it was traced.
    fn rocksdb_replay_options_get_fast_forward() -> f64 => options.fast_forward;
}

c_functions! {
    /// RocksDB's defaults: everything is written down.
    fn rocksdb_trace_options_create() -> *mut rocksdb_trace_options_t {
        give(rocksdb_trace_options_t::default())
    }

    /// RocksDB's defaults: one thread, as fast as it was traced.
    fn rocksdb_replay_options_create() -> *mut rocksdb_replay_options_t {
        give(rocksdb_replay_options_t::default())
    }

    /// How many threads ask the database.
    fn rocksdb_replay_options_set_num_threads(options: *mut rocksdb_replay_options_t, num_threads: u32) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.threads = num_threads as usize;
        }
    }

    /// How many threads ask the database.
    fn rocksdb_replay_options_get_num_threads(options: *mut rocksdb_replay_options_t) -> u32 {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| u32::try_from(options.options.threads).unwrap_or(u32::MAX))
    }
}

c_functions! {
    /// When the trace began, in microseconds since the epoch; 0 before the first frame was read.
    fn rocksdb_replayer_get_header_timestamp(replayer: *const rocksdb_replayer_t) -> u64 {
        // SAFETY: the contract.
        let prepared = unsafe { replayer.as_ref() }.and_then(|replayer| replayer.prepared.as_ref());
        prepared.map_or(0, Replayer::start_us)
    }
}

c_fallible! {
    /// Writes what is asked of the database to a new file from now on. The file is in the environment's files; of how
    /// files are written nothing is looked at.
    fn rocksdb_start_trace(
        db: *mut rocksdb_t,
        env: *mut rocksdb_env_t,
        env_options: *const rocksdb_envoptions_t,
        options: *const rocksdb_trace_options_t,
        trace_path: *const c_char,
    ) {
        let _ = env_options;
        // SAFETY: the contract.
        let (db, options, path) =
            unsafe { (borrow(db, "database")?, borrow(options, "trace options")?, path(trace_path)?) };
        // SAFETY: the contract.
        let file_system = Some(unsafe { files_of(env) });
        db.db.start_trace(path, TraceOptions { file_system, ..options.options.clone() })
    }

    /// Ends the trace that is on.
    fn rocksdb_end_trace(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database") }?.db.end_trace()
    }

    /// Opens a trace, whatever is in it.
    fn rocksdb_trace_reader_create(
        env: *mut rocksdb_env_t,
        env_options: *const rocksdb_envoptions_t,
        trace_path: *const c_char,
    ) -> *mut rocksdb_trace_reader_t {
        let _ = env_options;
        // SAFETY: the contract.
        let (files, path) = unsafe { (files_of(env), path(trace_path)?) };
        Ok(give(rocksdb_trace_reader_t { frames: Some(FrameReader::open_in(files, path)?) }))
    }

    /// The next frame, which is the caller's, and its size; null without an error at the end.
    fn rocksdb_trace_reader_read(reader: *mut rocksdb_trace_reader_t, size: *mut usize) -> *mut c_char {
        // SAFETY: the contract.
        unsafe { put(size, 0) };
        // SAFETY: the contract.
        let frame = unsafe { borrow_mut(reader, "trace reader") }?.frames()?.next_frame()?;
        // SAFETY: the contract.
        unsafe { put(size, frame.map_or(0, <[u8]>::len)) };
        Ok(frame.map_or(std::ptr::null_mut(), new_bytes))
    }

    /// Begins with the first frame again.
    fn rocksdb_trace_reader_reset(reader: *mut rocksdb_trace_reader_t) {
        // SAFETY: the contract.
        unsafe { borrow_mut(reader, "trace reader") }?.frames()?.rewind()
    }

    /// Closes the file.
    fn rocksdb_trace_reader_close(reader: *mut rocksdb_trace_reader_t) {
        // SAFETY: the contract.
        unsafe { borrow_mut(reader, "trace reader") }?.frames = None;
        Ok(())
    }

    /// What asks a database for the operations of a trace: keys of the default family, and of these.
    fn rocksdb_new_default_replayer(
        db: *mut rocksdb_t,
        column_families: *mut *mut rocksdb_column_family_handle_t,
        num_column_families: usize,
        env: *mut rocksdb_env_t,
        env_options: *const rocksdb_envoptions_t,
        trace_path: *const c_char,
    ) -> *mut rocksdb_replayer_t {
        let _ = env_options;
        // SAFETY: the contract.
        let (db, files, path) = unsafe { (&borrow(db, "database")?.db, files_of(env), path(trace_path)?) };
        let mut families: Vec<ColumnFamily> = db.column_family("default").into_iter().collect();
        // SAFETY: the contract.
        for handle in unsafe { array(column_families, num_column_families) } {
            // SAFETY: the contract.
            families.push(unsafe { family(*handle) }?.clone());
        }
        // A file that is not there is refused at once, as RocksDB does; what is in it is looked at by prepare.
        FrameReader::open_in(Arc::clone(&files), path)?;
        let (db, path) = (db.clone(), path.to_path_buf());
        Ok(give(rocksdb_replayer_t { db, families, file_system: files, path, prepared: None }))
    }

    /// Reads the first frame of the trace. To be called before each replay.
    fn rocksdb_replayer_prepare(replayer: *mut rocksdb_replayer_t) {
        // SAFETY: the contract.
        let replayer = unsafe { borrow_mut(replayer, "replayer") }?;
        let reader = TraceReader::open_in(Arc::clone(&replayer.file_system), &replayer.path)?;
        replayer.prepared = Some(Replayer::with_families(&replayer.db, replayer.families.clone(), reader));
        Ok(())
    }

    /// Asks the database for what is left of the trace. With several threads an operation that fails is an error, too.
    fn rocksdb_replayer_replay(replayer: *mut rocksdb_replayer_t, options: *const rocksdb_replay_options_t) {
        // SAFETY: the contract.
        let (replayer, options) =
            unsafe { (borrow_mut(replayer, "replayer")?, borrow(options, "replay options")?.options) };
        let prepared = replayer.prepared.as_mut();
        let prepared = prepared.ok_or_else(|| Error::new(ErrorKind::Incomplete, "Not prepared!"))?;
        prepared.replay(&options).map(drop)
    }
}

c_destructors! {
    /// Ends options.
    fn rocksdb_trace_options_destroy(rocksdb_trace_options_t);
    /// Ends a reader.
    fn rocksdb_trace_reader_destroy(rocksdb_trace_reader_t);
    /// Ends options.
    fn rocksdb_replay_options_destroy(rocksdb_replay_options_t);
    /// Ends a replayer.
    fn rocksdb_replayer_destroy(rocksdb_replayer_t);
}
