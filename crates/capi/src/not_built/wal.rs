//! Filters of what recovery reads from logs.

use super::{not_built, unbuilt_types};
use crate::callback::Destructor;
use crate::options::rocksdb_options_t;
use std::ffi::c_void;

unbuilt_types! {
    rocksdb_walfilter_t,
}

not_built! {
    fn rocksdb_options_set_wal_filter(options: *mut rocksdb_options_t, walfilter: *mut rocksdb_walfilter_t) = refuse;
    fn rocksdb_options_clear_wal_filter(options: *mut rocksdb_options_t) = refuse;
    fn rocksdb_walfilter_create(
        state: *mut c_void, destructor: Destructor, column_family_log_number_map: *const c_void,
        log_record_found: *const c_void, name: *const c_void,
    ) -> *mut rocksdb_walfilter_t = handle(state, destructor);
    fn rocksdb_walfilter_destroy(walfilter: *mut rocksdb_walfilter_t) = destroy;
}
