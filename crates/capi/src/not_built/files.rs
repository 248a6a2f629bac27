//! Checksums of whole files.

use super::{not_built, unbuilt_types};
use crate::db::rocksdb_t;
use crate::operation_options::rocksdb_readoptions_t;

unbuilt_types! {
    rocksdb_file_checksum_gen_factory_t,
}

not_built! {
    fn rocksdb_verify_file_checksums(db: *mut rocksdb_t) = error;
    fn rocksdb_verify_file_checksums_with_options(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) = error;
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> *mut rocksdb_file_checksum_gen_factory_t = handle;
    fn rocksdb_file_checksum_gen_factory_destroy(factory: *mut rocksdb_file_checksum_gen_factory_t) = destroy;
}
