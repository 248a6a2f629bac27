//! Databases that forget by age, and repair.

use super::not_built;
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::options::rocksdb_options_t;
use std::ffi::{c_char, c_int};

not_built! {
    fn rocksdb_open_with_ttl(
        options: *const rocksdb_options_t, name: *const c_char, ttl: c_int,
    ) -> *mut rocksdb_t = error;
    fn rocksdb_repair_db(options: *const rocksdb_options_t, name: *const c_char) = error;
    fn rocksdb_open_column_families_with_ttl(
        options: *const rocksdb_options_t, name: *const c_char, num_column_families: c_int,
        column_family_names: *const *const c_char, column_family_options: *const *const rocksdb_options_t,
        column_family_handles: *mut *mut rocksdb_column_family_handle_t, ttls: *const c_int,
    ) -> *mut rocksdb_t = error;
    fn rocksdb_create_column_family_with_ttl(
        db: *mut rocksdb_t, column_family_options: *const rocksdb_options_t, column_family_name: *const c_char,
        ttl: c_int,
    ) -> *mut rocksdb_column_family_handle_t = error;
}
