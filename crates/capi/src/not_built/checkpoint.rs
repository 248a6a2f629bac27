//! Column families exported from and imported into databases.

use super::{not_built, unbuilt_types};
use crate::checkpoint::rocksdb_checkpoint_t;
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::kept::kept_options;
use crate::live_files::rocksdb_livefiles_t;
use crate::options::rocksdb_options_t;
use std::ffi::{c_char, c_uchar};

unbuilt_types! {
    rocksdb_export_import_files_metadata_t, rocksdb_import_column_family_options_t,
}

kept_options! {
    for rocksdb_import_column_family_options_t:
    asks move_files: c_uchar = 0,
        rocksdb_import_column_family_options_set_move_files
        / rocksdb_import_column_family_options_get_move_files;
}

not_built! {
    fn rocksdb_checkpoint_export_column_family(
        checkpoint: *mut rocksdb_checkpoint_t, column_family: *mut rocksdb_column_family_handle_t,
        export_dir: *const c_char,
    ) -> *mut rocksdb_export_import_files_metadata_t = error;
    fn rocksdb_create_column_family_with_import(
        db: *mut rocksdb_t, column_family_options: *mut rocksdb_options_t, column_family_name: *const c_char,
        import_options: *mut rocksdb_import_column_family_options_t,
        metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut rocksdb_column_family_handle_t = error;
    fn rocksdb_import_column_family_options_create() -> *mut rocksdb_import_column_family_options_t = handle;
    fn rocksdb_import_column_family_options_destroy(
        import_column_family_options: *mut rocksdb_import_column_family_options_t,
    ) = destroy;
    fn rocksdb_export_import_files_metadata_create() -> *mut rocksdb_export_import_files_metadata_t = handle;
    fn rocksdb_export_import_files_metadata_get_db_comparator_name(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut c_char = neutral;
    fn rocksdb_export_import_files_metadata_set_db_comparator_name(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t, argument1: *const c_char,
    ) = neutral;
    fn rocksdb_export_import_files_metadata_get_files(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut rocksdb_livefiles_t = neutral;
    fn rocksdb_export_import_files_metadata_set_files(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
        livefiles: *mut rocksdb_livefiles_t,
    ) = neutral;
    fn rocksdb_export_import_files_metadata_destroy(
        export_import_files_metadata: *mut rocksdb_export_import_files_metadata_t,
    ) = destroy;
}
