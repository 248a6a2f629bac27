//! Options of databases and column families that name what is not built.

use super::files::rocksdb_file_checksum_gen_factory_t;
use super::not_built;
use super::other::rocksdb_cuckoo_table_options_t;
use crate::options::rocksdb_options_t;

not_built! {
    fn rocksdb_options_set_cuckoo_table_factory(
        opt: *mut rocksdb_options_t, table_options: *mut rocksdb_cuckoo_table_options_t,
    ) = refuse;
    fn rocksdb_options_set_file_checksum_gen_factory(
        options: *mut rocksdb_options_t, file_checksum_gen_factory: *mut rocksdb_file_checksum_gen_factory_t,
    ) = refuse;
}
