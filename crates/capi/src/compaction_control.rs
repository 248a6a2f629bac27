//! Compactions of named files, cancelling, aborting, waiting.

use crate::column_family::free_texts;
use crate::db::rocksdb_t;
use crate::event_listener::rocksdb_compactionjobinfo_t;
use crate::family_handle::{family, rocksdb_column_family_handle_t};
use crate::handle::{borrow, borrow_or, give};
use crate::memory::{array, new_array, new_path, path, put};
use crate::option_values::temperature_of;
use crate::options::{DISABLE_COMPRESSION, compression_of};
use ferrock::options::Temperature;
use ferrock::{Canceller, ColumnFamily, CompactionOptions, Error, Result, WaitForCompactOptions};
use std::ffi::{c_char, c_int, c_uchar};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to compact named files.
pub struct rocksdb_compaction_options_t {
    options: CompactionOptions,
    /// As C says it.
    compression: c_int,
    /// As C says it.
    temperature: c_int,
}

impl rocksdb_compaction_options_t {
    const fn new() -> Self {
        let options = CompactionOptions {
            compression: None,
            output_file_size_limit: u64::MAX,
            max_subcompactions: 0,
            canceled: None,
            allow_trivial_move: false,
            output_temperature_override: Temperature::Unknown,
        };
        Self { options, compression: DISABLE_COMPRESSION[0], temperature: 0 }
    }

    /// # Errors
    /// `Not implemented` and `Invalid argument` naming the option.
    fn to_compact(&self) -> Result<CompactionOptions> {
        let mut options = self.options.clone();
        options.output_temperature_override = temperature_of("output_temperature_override", self.temperature)?;
        if !DISABLE_COMPRESSION.contains(&self.compression) {
            options.compression = Some(compression_of("compression", self.compression)?);
        }
        Ok(options)
    }
}

static DEFAULT_OPTIONS: rocksdb_compaction_options_t = rocksdb_compaction_options_t::new();

/// How to wait for compactions.
#[derive(Default)]
pub struct rocksdb_wait_for_compact_options_t {
    options: WaitForCompactOptions,
}

/// A flag that ends calls which have it in their options, as a C caller holds it.
pub(crate) fn new_flag() -> *mut c_uchar {
    Arc::into_raw(Arc::new(AtomicBool::new(false))).cast_mut().cast()
}

/// Ends a caller's hold of a flag.
///
/// # Safety
/// The flag is one of [`new_flag`], or null, and the caller does not use it again.
pub(crate) unsafe fn end_flag(flag: *mut c_uchar) {
    if !flag.is_null() {
        // SAFETY: as for this function.
        drop(unsafe { Arc::from_raw(flag.cast_const().cast::<AtomicBool>()) });
    }
}

/// Sets a flag; other than 0 ends the calls.
///
/// # Safety
/// The flag is one of [`new_flag`], or null.
pub(crate) unsafe fn set_flag(flag: *mut c_uchar, value: c_uchar) {
    // SAFETY: as for this function.
    if let Some(flag) = unsafe { flag.cast_const().cast::<AtomicBool>().as_ref() } {
        flag.store(value != 0, Ordering::Release);
    }
}

/// A share of a flag for options that get it; `None` for null.
///
/// # Safety
/// The flag is one of [`new_flag`], or null.
pub(crate) unsafe fn share_flag(flag: *mut c_uchar) -> Option<Arc<AtomicBool>> {
    let flag = flag.cast_const().cast::<AtomicBool>();
    if flag.is_null() {
        return None;
    }
    // SAFETY: as for this function: the count is raised for the share that is taken.
    unsafe {
        Arc::increment_strong_count(flag);
        Some(Arc::from_raw(flag))
    }
}

/// The files to compact, and where to.
struct Order {
    names: *const *const c_char,
    num_names: usize,
    output_level: c_int,
    output_path_id: c_int,
}

/// Compacts, and gives the names of the outputs.
///
/// # Safety
/// The contract.
unsafe fn compact_files(
    db: &rocksdb_t,
    family: &ColumnFamily,
    options: *const rocksdb_compaction_options_t,
    order: &Order,
    info: *mut rocksdb_compactionjobinfo_t,
    (names_out, num_names_out): (*mut *mut *mut c_char, *mut usize),
) -> Result<()> {
    // SAFETY: as for this function.
    let options = unsafe { borrow_or(options, &DEFAULT_OPTIONS) }.to_compact()?;
    // SAFETY: as for this function.
    let names = unsafe { array(order.names, order.num_names) }.iter().map(|name| unsafe { path(*name) });
    let names = names.collect::<Result<Vec<_>>>()?;
    let Ok(output_level) = usize::try_from(order.output_level) else {
        return Err(Error::invalid_argument("Output level cannot be negative."));
    };
    let output_path_id = u32::try_from(order.output_path_id).ok();
    let made = if info.is_null() {
        db.db.compact_files_cf(family, &names, output_level, output_path_id, &options)?
    } else {
        let (made, told) = db.db.compact_files_with_info_cf(family, &names, output_level, output_path_id, &options)?;
        // SAFETY: as for this function.
        if let Some(info) = unsafe { info.as_mut() } {
            *info = rocksdb_compactionjobinfo_t::new(&told);
        }
        made
    };
    // SAFETY: as for this function.
    unsafe {
        put(num_names_out, made.len());
        if !names_out.is_null() {
            let texts: Vec<*mut c_char> = made.iter().map(|name| new_path(name)).collect();
            put(names_out, new_array(&texts));
        }
    }
    Ok(())
}

c_fallible! {
    /// Compacts tables of the default column family into a level; the names of what that makes are to be freed with
    /// `rocksdb_compact_files_output_file_names_destroy`.
    fn rocksdb_compact_files(
        db: *mut rocksdb_t,
        options: *const rocksdb_compaction_options_t,
        input_file_names: *const *const c_char,
        num_input_file_names: usize,
        output_level: c_int,
        output_path_id: c_int,
        output_file_names: *mut *mut *mut c_char,
        num_output_file_names: *mut usize,
        compaction_job_info: *mut rocksdb_compactionjobinfo_t,
    ) {
        // SAFETY: the contract.
        let db = unsafe { borrow(db, "database")? };
        let order =
            Order { names: input_file_names, num_names: num_input_file_names, output_level, output_path_id };
        let outputs = (output_file_names, num_output_file_names);
        // SAFETY: the contract.
        unsafe { compact_files(db, &db.default, options, &order, compaction_job_info, outputs) }
    }

    /// Compacts tables of a column family; null: of the default one.
    fn rocksdb_compact_files_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *const rocksdb_compaction_options_t,
        input_file_names: *const *const c_char,
        num_input_file_names: usize,
        output_level: c_int,
        output_path_id: c_int,
        output_file_names: *mut *mut *mut c_char,
        num_output_file_names: *mut usize,
        compaction_job_info: *mut rocksdb_compactionjobinfo_t,
    ) {
        // SAFETY: the contract.
        let db = unsafe { borrow(db, "database")? };
        // SAFETY: the contract.
        let family = if column_family.is_null() { &db.default } else { unsafe { family(column_family)? } };
        let order =
            Order { names: input_file_names, num_names: num_input_file_names, output_level, output_path_id };
        let outputs = (output_file_names, num_output_file_names);
        // SAFETY: the contract.
        unsafe { compact_files(db, family, options, &order, compaction_job_info, outputs) }
    }

    /// Waits until no flush and no compaction runs or is due. With `close_db` the handle is still to be closed.
    fn rocksdb_wait_for_compact(db: *mut rocksdb_t, options: *mut rocksdb_wait_for_compact_options_t) {
        // SAFETY: the contract.
        let (db, options) = unsafe { (borrow(db, "database")?, options.as_ref()) };
        db.db.wait_for_compact(&options.map_or_else(WaitForCompactOptions::default, |options| options.options))
    }
}

c_functions! {
    /// Frees the names of outputs.
    fn rocksdb_compact_files_output_file_names_destroy(names: *mut *mut c_char, count: usize) {
        // SAFETY: the contract: array and texts are as `rocksdb_compact_files` made them.
        unsafe { free_texts(names, count) };
    }

    /// Options of compacting named files, at their defaults.
    fn rocksdb_compaction_options_create() -> *mut rocksdb_compaction_options_t {
        give(rocksdb_compaction_options_t::new())
    }

    /// A flag that ends calls which have it in their options.
    fn rocksdb_compaction_options_canceled_create() -> *mut c_uchar {
        new_flag()
    }

    /// Ends a flag; options and calls that have it keep it.
    fn rocksdb_compaction_options_canceled_destroy(canceled: *mut c_uchar) {
        // SAFETY: the contract: the flag is one of `rocksdb_compaction_options_canceled_create`, and this its end.
        unsafe { end_flag(canceled) };
    }

    /// Sets a flag; other than 0 ends the calls.
    fn rocksdb_compaction_options_canceled_set(canceled: *mut c_uchar, value: c_uchar) {
        // SAFETY: the contract: the flag is one of `rocksdb_compaction_options_canceled_create`.
        unsafe { set_flag(canceled, value) };
    }

    /// The flag that ends calls with the options; null: none.
    fn rocksdb_compaction_options_set_canceled(options: *mut rocksdb_compaction_options_t, canceled: *mut c_uchar) {
        // SAFETY: the contract: the flag is one of `rocksdb_compaction_options_canceled_create` or null.
        let (options, flag) = unsafe { (options.as_mut(), share_flag(canceled)) };
        if let Some(options) = options {
            options.options.canceled = flag.map(Canceller::of_flag);
        }
    }

    /// How outputs are compressed; 255: as the column family's options say.
    fn rocksdb_compaction_options_set_compression(options: *mut rocksdb_compaction_options_t, value: c_int) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.compression = value;
        }
    }

    /// What was set.
    fn rocksdb_compaction_options_get_compression(options: *mut rocksdb_compaction_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.compression)
    }

    /// Ends all flushes and compactions for good; with `wait` returns when none runs.
    fn rocksdb_cancel_all_background_work(db: *mut rocksdb_t, wait: c_uchar) {
        // SAFETY: the contract.
        if let Some(db) = unsafe { db.as_ref() } {
            // What goes wrong is in the LOG; RocksDB tells it nowhere else either.
            let _ = db.db.cancel_all_background_work(wait != 0);
        }
    }

    /// Ends all compactions, and starts none until as many calls of `rocksdb_resume_all_compactions` took it back.
    fn rocksdb_abort_all_compactions(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        if let Some(db) = unsafe { db.as_ref() } {
            db.db.abort_all_compactions();
        }
    }

    /// Takes back one `rocksdb_abort_all_compactions`.
    fn rocksdb_resume_all_compactions(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        if let Some(db) = unsafe { db.as_ref() } {
            let _ = db.db.resume_all_compactions();
        }
    }

    /// Ends manual compactions, and refuses others until as many calls of `rocksdb_enable_manual_compaction` took it
    /// back. One that came before counts, too.
    fn rocksdb_disable_manual_compaction(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        if let Some(db) = unsafe { db.as_ref() } {
            let came_before = |ahead: u32| ahead.checked_sub(1);
            if db.enabled_ahead.fetch_update(Ordering::AcqRel, Ordering::Acquire, came_before).is_err() {
                db.db.disable_manual_compaction();
            }
        }
    }

    /// Takes back one `rocksdb_disable_manual_compaction`.
    fn rocksdb_enable_manual_compaction(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        if let Some(db) = unsafe { db.as_ref() } {
            // RocksDB counts below zero.
            if db.db.enable_manual_compaction().is_err() {
                db.enabled_ahead.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Options of waiting, at their defaults.
    fn rocksdb_wait_for_compact_options_create() -> *mut rocksdb_wait_for_compact_options_t {
        give(rocksdb_wait_for_compact_options_t::default())
    }
}

c_setters! {
    for rocksdb_compaction_options_t:
    /// Bytes after which an output is finished.
    fn rocksdb_compaction_options_set_output_file_size_limit(u64) => options.output_file_size_limit;
    /// Threads that the compaction may use; 0: as the database's options say.
    fn rocksdb_compaction_options_set_max_subcompactions(u32) => options.max_subcompactions;
    /// Whether files that overlap nothing are recorded on the output level, and not read.
    fn rocksdb_compaction_options_set_allow_trivial_move(c_uchar) => options.allow_trivial_move;
    /// The temperature of the outputs; 0: as the family's options say.
    fn rocksdb_compaction_options_set_output_temperature_override(c_int) => temperature;
}

c_getters! {
    for rocksdb_compaction_options_t:
    /// What was set.
    fn rocksdb_compaction_options_get_output_file_size_limit() -> u64 => options.output_file_size_limit;
    /// What was set.
    fn rocksdb_compaction_options_get_max_subcompactions() -> u32 => options.max_subcompactions;
    /// What was set.
    fn rocksdb_compaction_options_get_allow_trivial_move() -> c_uchar => options.allow_trivial_move;
    /// What was set.
    fn rocksdb_compaction_options_get_output_temperature_override() -> c_int => temperature;
}

c_setters! {
    for rocksdb_wait_for_compact_options_t:
    /// Whether a pause ends the wait.
    fn rocksdb_wait_for_compact_options_set_abort_on_pause(c_uchar) => options.abort_on_pause;
    /// Whether memtables are flushed first.
    fn rocksdb_wait_for_compact_options_set_flush(c_uchar) => options.flush;
    /// Whether the removal of obsolete files is waited for, too.
    fn rocksdb_wait_for_compact_options_set_wait_for_purge(c_uchar) => options.wait_for_purge;
    /// Whether the database is closed then.
    fn rocksdb_wait_for_compact_options_set_close_db(c_uchar) => options.close_db;
    /// Microseconds after which the wait ends; 0: none.
    fn rocksdb_wait_for_compact_options_set_timeout(u64) => options.timeout;
}

c_getters! {
    for rocksdb_wait_for_compact_options_t:
    /// What was set.
    fn rocksdb_wait_for_compact_options_get_abort_on_pause() -> c_uchar => options.abort_on_pause;
    /// What was set.
    fn rocksdb_wait_for_compact_options_get_flush() -> c_uchar => options.flush;
    /// What was set.
    fn rocksdb_wait_for_compact_options_get_wait_for_purge() -> c_uchar => options.wait_for_purge;
    /// What was set.
    fn rocksdb_wait_for_compact_options_get_close_db() -> c_uchar => options.close_db;
    /// What was set.
    fn rocksdb_wait_for_compact_options_get_timeout() -> u64 => options.timeout;
}

c_destructors! {
    /// Ends options of compacting named files.
    fn rocksdb_compaction_options_destroy(rocksdb_compaction_options_t);
    /// Ends options of waiting.
    fn rocksdb_wait_for_compact_options_destroy(rocksdb_wait_for_compact_options_t);
}
