//! The functions of a shared library with RocksDB's C interface, found at run time.
//!
//! The table below repeats the declarations of RocksDB's `c.h` that callers use: the names without their prefix
//! `rocksdb_`, opaque pointers as [`Object`]. Nothing is compiled against RocksDB, so one binary drives any release of
//! it, and Ferrock's own library of the same interface.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::path::Path;

/// A pointer to something that only the library knows.
pub type Object = *mut c_void;

/// Where a function leaves its error message.
pub type ErrorSlot = *mut *mut c_char;

macro_rules! functions {
    (
        needed { $($name:ident: ($($argument:ty),*) $(-> $result:ty)?;)* }
        newer { $($new:ident: ($($new_argument:ty),*) $(-> $new_result:ty)?;)* }
    ) => {
        /// The functions of a library. Those that not every release has are options.
        #[allow(missing_docs, non_snake_case, reason = "named and documented in RocksDB's c.h")]
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub $new: Option<unsafe extern "C" fn($($new_argument),*) $(-> $new_result)?>,)*
        }

        impl Functions {
            fn find(library: &libloading::Library) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        let symbol = concat!("rocksdb_", stringify!($name), "\0");
                        // SAFETY: the type is the one that RocksDB's c.h declares for this name, in every release
                        // since 7.8, and the library is never unloaded.
                        let found = unsafe { library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>(symbol.as_bytes()) };
                        *found.map_err(|error| error.to_string())?
                    },)*
                    $($new: {
                        let symbol = concat!("rocksdb_", stringify!($new), "\0");
                        // SAFETY: as above.
                        let found = unsafe { library.get::<unsafe extern "C" fn($($new_argument),*) $(-> $new_result)?>(symbol.as_bytes()) };
                        found.ok().map(|function| *function)
                    },)*
                })
            }
        }
    };
}

functions! {
    needed {
        free: (Object);
        options_create: () -> Object;
        options_destroy: (Object);
        options_set_db_paths: (Object, *const Object, usize);
        dbpath_create: (*const c_char, u64) -> Object;
        dbpath_destroy: (Object);
        get_options_from_string: (Object, *const c_char, Object, ErrorSlot);
        load_latest_options: (*const c_char, Object, c_uchar, Object, *mut Object, *mut usize, *mut *mut *mut c_char,
            *mut *mut Object, ErrorSlot);
        load_latest_options_destroy: (Object, *mut *mut c_char, *mut Object, usize);
        cache_create_lru: (usize) -> Object;
        cache_destroy: (Object);
        open_column_families: (Object, *const c_char, c_int, *const *const c_char, *const Object, *mut Object, ErrorSlot)
            -> Object;
        open_for_read_only_column_families: (Object, *const c_char, c_int, *const *const c_char, *const Object,
            *mut Object, c_uchar, ErrorSlot) -> Object;
        column_family_handle_destroy: (Object);
        close: (Object);
        writeoptions_create: () -> Object;
        writeoptions_destroy: (Object);
        writeoptions_set_sync: (Object, c_uchar);
        writeoptions_disable_WAL: (Object, c_int);
        writebatch_create: () -> Object;
        writebatch_destroy: (Object);
        writebatch_put_cf: (Object, Object, *const c_char, usize, *const c_char, usize);
        writebatch_merge_cf: (Object, Object, *const c_char, usize, *const c_char, usize);
        writebatch_delete_cf: (Object, Object, *const c_char, usize);
        writebatch_delete_range_cf: (Object, Object, *const c_char, usize, *const c_char, usize);
        write: (Object, Object, Object, ErrorSlot);
        singledelete_cf: (Object, Object, Object, *const c_char, usize, ErrorSlot);
        flush_wal: (Object, c_uchar, ErrorSlot);
        flushoptions_create: () -> Object;
        flushoptions_destroy: (Object);
        flush_cf: (Object, Object, Object, ErrorSlot);
        compact_range_cf: (Object, Object, *const c_char, usize, *const c_char, usize);
        compactoptions_create: () -> Object;
        compactoptions_destroy: (Object);
        create_snapshot: (Object) -> Object;
        release_snapshot: (Object, Object);
        readoptions_create: () -> Object;
        readoptions_destroy: (Object);
        readoptions_set_snapshot: (Object, Object);
        readoptions_set_total_order_seek: (Object, c_uchar);
        readoptions_set_prefix_same_as_start: (Object, c_uchar);
        readoptions_set_verify_checksums: (Object, c_uchar);
        readoptions_set_iterate_lower_bound: (Object, *const c_char, usize);
        readoptions_set_iterate_upper_bound: (Object, *const c_char, usize);
        property_value_cf: (Object, Object, *const c_char) -> *mut c_char;
        put_cf: (Object, Object, Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        get_pinned_cf: (Object, Object, Object, *const c_char, usize, ErrorSlot) -> Object;
        pinnableslice_value: (Object, *mut usize) -> *const c_char;
        pinnableslice_destroy: (Object);
        multi_get_cf: (Object, Object, *const Object, usize, *const *const c_char, *const usize, *mut *mut c_char,
            *mut usize, *mut *mut c_char);
        create_iterator_cf: (Object, Object, Object) -> Object;
        iter_destroy: (Object);
        iter_valid: (Object) -> c_uchar;
        iter_seek_to_first: (Object);
        iter_seek_to_last: (Object);
        iter_seek: (Object, *const c_char, usize);
        iter_seek_for_prev: (Object, *const c_char, usize);
        iter_next: (Object);
        iter_prev: (Object);
        iter_key: (Object, *mut usize) -> *const c_char;
        iter_value: (Object, *mut usize) -> *const c_char;
        iter_get_error: (Object, ErrorSlot);
    }
    newer {
        open_column_families_with_ttl: (Object, *const c_char, c_int, *const *const c_char, *const Object, *mut Object,
            *const c_int, ErrorSlot) -> Object;
        create_default_env: () -> Object;
        env_destroy: (Object);
        writebatch_singledelete_cf: (Object, Object, *const c_char, usize);
        writebatch_create_from: (*const c_char, usize) -> Object;
        column_family_handle_get_id: (Object) -> u32;
        create_column_family: (Object, Object, *const c_char, ErrorSlot) -> Object;
        drop_column_family: (Object, Object, ErrorSlot);
        set_options_cf: (Object, Object, c_int, *const *const c_char, *const *const c_char, ErrorSlot);
        delete_file_in_range_cf: (Object, Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        suggest_compact_range_cf: (Object, Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        readoptions_set_tailing: (Object, c_uchar);
        readoptions_set_auto_prefix_mode: (Object, c_uchar);
        compactoptions_set_bottommost_level_compaction: (Object, c_uchar);
        compact_range_cf_opt: (Object, Object, Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        batched_multi_get_cf: (Object, Object, Object, usize, *const *const c_char, *const usize, *mut Object,
            *mut *mut c_char, c_uchar);
        wait_for_compact: (Object, Object, ErrorSlot);
        wait_for_compact_options_create: () -> Object;
        wait_for_compact_options_destroy: (Object);
        verify_checksum: (Object, Object, ErrorSlot);
        approximate_sizes_cf: (Object, Object, c_int, *const *const c_char, *const usize, *const *const c_char,
            *const usize, *mut u64, ErrorSlot);
        block_based_options_create: () -> Object;
        block_based_options_destroy: (Object);
        block_based_options_set_block_cache: (Object, Object);
        block_based_options_set_filter_policy: (Object, Object);
        block_based_options_set_cache_index_and_filter_blocks: (Object, c_uchar);
        block_based_options_set_pin_top_level_index_and_filter: (Object, c_uchar);
        block_based_options_set_unpartitioned_pinning_tier: (Object, c_int);
        filterpolicy_create_bloom_full: (f64) -> Object;
        cache_set_capacity: (Object, usize);
        options_set_block_based_table_factory: (Object, Object);
        options_enable_statistics: (Object);
        options_set_statistics_level: (Object, c_int);
        options_statistics_get_string: (Object) -> *mut c_char;
        readoptions_set_fill_cache: (Object, c_uchar);
        checkpoint_object_create: (Object, ErrorSlot) -> Object;
        checkpoint_object_destroy: (Object);
        checkpoint_create: (Object, *const c_char, u64, ErrorSlot);
        backup_engine_options_create: (*const c_char) -> Object;
        backup_engine_options_destroy: (Object);
        backup_engine_options_set_share_table_files: (Object, c_uchar);
        backup_engine_options_set_share_files_with_checksum: (Object, c_uchar);
        backup_engine_options_set_share_files_with_checksum_naming: (Object, c_int);
        backup_engine_options_set_backup_log_files: (Object, c_uchar);
        backup_engine_options_set_schema_version: (Object, c_int);
        backup_engine_open_opts: (Object, Object, ErrorSlot) -> Object;
        backup_engine_close: (Object);
        create_backup_options_create: () -> Object;
        create_backup_options_destroy: (Object);
        create_backup_options_set_flush_before_backup: (Object, c_uchar);
        backup_engine_create_new_backup_with_metadata: (Object, Object, Object, *const c_char, usize, *mut u32,
            ErrorSlot);
        backup_engine_get_backup_info: (Object) -> Object;
        backup_engine_info_destroy: (Object);
        backup_engine_info_count: (Object) -> c_int;
        backup_engine_info_backup_id: (Object, c_int) -> u32;
        backup_engine_info_number_files: (Object, c_int) -> u32;
        backup_engine_info_size: (Object, c_int) -> u64;
        backup_engine_info_app_metadata: (Object, c_int, *mut usize) -> *const c_char;
        backup_engine_verify_backup: (Object, u32, ErrorSlot);
        restore_options_create: () -> Object;
        restore_options_destroy: (Object);
        restore_options_set_mode: (Object, c_int);
        backup_engine_restore_db_from_backup: (Object, *const c_char, *const c_char, Object, u32, ErrorSlot);
        backup_engine_purge_old_backups: (Object, u32, ErrorSlot);
        get_updates_since: (Object, u64, Object, ErrorSlot) -> Object;
        wal_iter_next: (Object);
        wal_iter_valid: (Object) -> c_uchar;
        wal_iter_status: (Object, ErrorSlot);
        wal_iter_get_batch: (Object, *mut u64) -> Object;
        wal_iter_destroy: (Object);
        repair_db: (Object, *const c_char, ErrorSlot);
        open_as_secondary_column_families: (Object, *const c_char, *const c_char, c_int, *const *const c_char,
            *const Object, *mut Object, ErrorSlot) -> Object;
        try_catch_up_with_primary: (Object, ErrorSlot);
        start_trace: (Object, Object, Object, Object, *const c_char, ErrorSlot);
        end_trace: (Object, ErrorSlot);
        trace_options_create: () -> Object;
        trace_options_destroy: (Object);
        trace_options_set_preserve_write_order: (Object, c_uchar);
        new_default_replayer: (Object, *const Object, usize, Object, Object, *const c_char, ErrorSlot) -> Object;
        replayer_prepare: (Object, ErrorSlot);
        replayer_replay: (Object, Object, ErrorSlot);
        replayer_destroy: (Object);
        replay_options_create: () -> Object;
        replay_options_destroy: (Object);
        replay_options_set_fast_forward: (Object, f64);
        replay_options_set_num_threads: (Object, u32);
        writebatch_data: (Object, *mut usize) -> *const c_char;
        merge_cf: (Object, Object, Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        delete_cf: (Object, Object, Object, *const c_char, usize, ErrorSlot);
        envoptions_create: () -> Object;
        envoptions_destroy: (Object);
        sstfilewriter_create: (Object, Object) -> Object;
        sstfilewriter_destroy: (Object);
        sstfilewriter_open: (Object, *const c_char, ErrorSlot);
        sstfilewriter_put: (Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        sstfilewriter_merge: (Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        sstfilewriter_delete: (Object, *const c_char, usize, ErrorSlot);
        sstfilewriter_delete_range: (Object, *const c_char, usize, *const c_char, usize, ErrorSlot);
        sstfilewriter_finish: (Object, ErrorSlot);
        ingestexternalfileoptions_create: () -> Object;
        ingestexternalfileoptions_destroy: (Object);
        ingestexternalfileoptions_set_move_files: (Object, c_uchar);
        ingestexternalfileoptions_set_write_global_seqno: (Object, c_uchar);
        checkpoint_export_column_family: (Object, Object, *const c_char, ErrorSlot) -> Object;
        create_column_family_with_import: (Object, Object, *const c_char, Object, Object, ErrorSlot) -> Object;
        export_import_files_metadata_create: () -> Object;
        export_import_files_metadata_destroy: (Object);
        export_import_files_metadata_get_files: (Object) -> Object;
        export_import_files_metadata_set_db_comparator_name: (Object, *const c_char);
        export_import_files_metadata_set_files: (Object, Object);
        import_column_family_options_create: () -> Object;
        import_column_family_options_destroy: (Object);
        import_column_family_options_set_move_files: (Object, c_uchar);
        livefiles_create: () -> Object;
        livefiles_destroy: (Object);
        livefiles_add: (Object, Object);
        livefiles_count: (Object) -> c_int;
        livefiles_name: (Object, c_int) -> *const c_char;
        livefiles_directory: (Object, c_int) -> *const c_char;
        livefiles_level: (Object, c_int) -> c_int;
        livefiles_size: (Object, c_int) -> usize;
        livefiles_smallest_seqno: (Object, c_int) -> u64;
        livefiles_largest_seqno: (Object, c_int) -> u64;
        livefile_create: () -> Object;
        livefile_set_name: (Object, *const c_char);
        livefile_set_directory: (Object, *const c_char);
        livefile_set_level: (Object, c_int);
        livefile_set_size: (Object, usize);
        livefile_set_smallest_seqno: (Object, u64);
        livefile_set_largest_seqno: (Object, u64);
        ingest_external_file_cf: (Object, Object, *const *const c_char, usize, Object, ErrorSlot);
    }
}

impl Functions {
    /// Loads a library for the rest of the process: RocksDB keeps threads and statics that outlive every database.
    ///
    /// # Errors
    /// A message for the user: the file is no library that this process can load, or has not all functions that are
    /// needed.
    pub fn load(path: &Path) -> Result<&'static Self, String> {
        // SAFETY: running the library's initialisers is what the caller asks for; RocksDB's have no requirements.
        let library = unsafe { libloading::Library::new(path) };
        let library = library.map_err(|error| format!("cannot load {}: {error}", path.display()))?;
        let library = Box::leak(Box::new(library));
        let functions = Self::find(library)
            .map_err(|error| format!("{} has not RocksDB's C interface: {error}", path.display()))?;
        Ok(Box::leak(Box::new(functions)))
    }

    /// Calls something that may leave an error message.
    ///
    /// # Errors
    /// That message.
    pub fn checked<R>(&self, call: impl FnOnce(ErrorSlot) -> R) -> Result<R, String> {
        let mut message: *mut c_char = std::ptr::null_mut();
        let result = call(&mut message);
        // SAFETY: functions of the library, which alone write through the slot, leave null or a text of theirs.
        if message.is_null() { Ok(result) } else { Err(unsafe { self.take_text(message) }) }
    }

    /// A text that the library allocated; it is freed.
    ///
    /// # Safety
    /// The library gave the text to its caller, it ends with a zero, and it is not used any more.
    pub unsafe fn take_text(&self, text: *mut c_char) -> String {
        // SAFETY: as for this function.
        unsafe {
            let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
            (self.free)(text.cast());
            owned
        }
    }
}

/// A text for the library.
///
/// # Errors
/// A message for the user: the text has a zero byte.
pub fn c_text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{}` has a zero byte", text.escape_debug()))
}
