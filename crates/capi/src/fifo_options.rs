//! Options of FIFO compaction.

use crate::handle::give;
use crate::options::rocksdb_options_t;
use ferrock::options::CompactionOptionsFifo;
use std::ffi::c_uchar;

/// What a family of style FIFO drops, and when.
#[derive(Default)]
pub struct rocksdb_fifo_compaction_options_t {
    options: CompactionOptionsFifo,
}

macro_rules! fifo_options {
    ($( $field:ident : $set:ident, $get:ident ($ty:ty); )*) => {$(
        c_setters! {
            for rocksdb_fifo_compaction_options_t:
            #[doc = "Sets one of the options."]
            fn $set($ty) => options.$field;
        }
        c_getters! {
            for rocksdb_fifo_compaction_options_t:
            #[doc = "What it is set to."]
            fn $get() -> $ty => options.$field;
        }
    )*};
}

fifo_options! {
    allow_compaction: rocksdb_fifo_compaction_options_set_allow_compaction,
        rocksdb_fifo_compaction_options_get_allow_compaction(c_uchar);
    max_table_files_size: rocksdb_fifo_compaction_options_set_max_table_files_size,
        rocksdb_fifo_compaction_options_get_max_table_files_size(u64);
    max_data_files_size: rocksdb_fifo_compaction_options_set_max_data_files_size,
        rocksdb_fifo_compaction_options_get_max_data_files_size(u64);
    use_kv_ratio_compaction: rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction,
        rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction(c_uchar);
    age_for_warm: rocksdb_fifo_compaction_options_set_age_for_warm,
        rocksdb_fifo_compaction_options_get_age_for_warm(u64);
    allow_trivial_copy_when_change_temperature:
        rocksdb_fifo_compaction_options_set_allow_trivial_copy_when_change_temperature,
        rocksdb_fifo_compaction_options_get_allow_trivial_copy_when_change_temperature(c_uchar);
    trivial_copy_buffer_size: rocksdb_fifo_compaction_options_set_trivial_copy_buffer_size,
        rocksdb_fifo_compaction_options_get_trivial_copy_buffer_size(u64);
}

c_functions! {
    /// Options at their defaults.
    fn rocksdb_fifo_compaction_options_create() -> *mut rocksdb_fifo_compaction_options_t {
        give(rocksdb_fifo_compaction_options_t::default())
    }

    /// Takes the options over; a family of another style keeps them and does nothing with them.
    fn rocksdb_options_set_fifo_compaction_options(
        opt: *mut rocksdb_options_t,
        fifo: *mut rocksdb_fifo_compaction_options_t,
    ) {
        // SAFETY: the contract.
        if let (Some(options), Some(fifo)) = unsafe { (opt.as_mut(), fifo.as_ref()) } {
            options.family.settings.compaction_options_fifo = fifo.options.clone();
        }
    }
}

c_destructors! {
    /// Frees the options.
    fn rocksdb_fifo_compaction_options_destroy(rocksdb_fifo_compaction_options_t);
}
