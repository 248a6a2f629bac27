//! Options of reads and compactions that are neither numbers nor built: timestamps and filters of tables.

use crate::callback::{Destructor, State};
use crate::kept::HasKept;
use crate::memory::put;
use crate::not_built::error;
use crate::operation_options::{rocksdb_compactoptions_t, rocksdb_readoptions_t};
use std::ffi::{c_char, c_uchar, c_void};

/// Notes an option that asks for what is not built.
///
/// # Safety
/// The contract.
unsafe fn ask<T: HasKept>(options: *mut T, option: &'static str, is_set: bool) {
    // SAFETY: as for this function.
    if let Some(options) = unsafe { options.as_mut() } {
        options.kept_mut().ask(option, is_set.then_some("(set)"));
    }
}

c_functions! {
    /// Reads as of a timestamp. Not built: reads with it report it.
    fn rocksdb_readoptions_set_timestamp(options: *mut rocksdb_readoptions_t, timestamp: *const c_char, _length: usize) {
        // SAFETY: the contract.
        unsafe { ask(options, "timestamp", !timestamp.is_null()) };
    }

    /// Iterates over timestamps. Not built: reads with it report it.
    fn rocksdb_readoptions_set_iter_start_ts(
        options: *mut rocksdb_readoptions_t,
        timestamp: *const c_char,
        _length: usize,
    ) {
        // SAFETY: the contract.
        unsafe { ask(options, "iter_start_ts", !timestamp.is_null()) };
    }

    /// Chooses tables by a callback. Not built: reads with it report it. The state is destroyed here.
    fn rocksdb_readoptions_set_table_filter(
        options: *mut rocksdb_readoptions_t,
        state: *mut c_void,
        destructor: Destructor,
        filter: *const c_void,
    ) {
        drop(State::new(state, destructor));
        // SAFETY: the contract.
        unsafe { ask(options, "table_filter", !filter.is_null()) };
    }

    /// Goes back to all tables.
    fn rocksdb_readoptions_clear_table_filter(options: *mut rocksdb_readoptions_t) {
        // SAFETY: the contract.
        unsafe { ask(options, "table_filter", false) };
    }

    /// Whether a callback chooses tables.
    fn rocksdb_readoptions_has_table_filter(options: *const rocksdb_readoptions_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.kept().get("table_filter", 0))
    }

    /// Goes back to the index that tables have.
    fn rocksdb_readoptions_clear_table_index_factory(_options: *mut rocksdb_readoptions_t) {}

    /// The name of another index: null, for there is none.
    fn rocksdb_readoptions_get_table_index_factory_name(
        _options: *const rocksdb_readoptions_t,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        unsafe { put(length, 0) };
        std::ptr::null()
    }

    /// The oldest timestamp to keep. Not built: a compaction with it does nothing.
    fn rocksdb_compactoptions_set_full_history_ts_low(
        options: *mut rocksdb_compactoptions_t,
        timestamp: *mut c_char,
        _length: usize,
    ) {
        // SAFETY: the contract.
        unsafe { ask(options, "full_history_ts_low", !timestamp.is_null()) };
    }
}

c_fallible! {
    /// Another index by its name: none is built.
    fn rocksdb_readoptions_set_table_index_factory_from_string(
        _options: *mut rocksdb_readoptions_t,
        _value: *const c_char,
        _length: usize,
    ) {
        Err(error("rocksdb_readoptions_set_table_index_factory_from_string"))
    }
}
