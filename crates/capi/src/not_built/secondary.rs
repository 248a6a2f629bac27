//! Databases that follow another.

use super::not_built;
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::options::rocksdb_options_t;
use std::ffi::{c_char, c_int};

not_built! {
    fn rocksdb_open_as_secondary(
        options: *const rocksdb_options_t, name: *const c_char, secondary_path: *const c_char,
    ) -> *mut rocksdb_t = error;
    fn rocksdb_open_as_secondary_column_families(
        options: *const rocksdb_options_t, name: *const c_char, secondary_path: *const c_char,
        num_column_families: c_int, column_family_names: *const *const c_char,
        column_family_options: *const *const rocksdb_options_t,
        column_family_handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_t = error;
    fn rocksdb_try_catch_up_with_primary(db: *mut rocksdb_t) = error;
}
