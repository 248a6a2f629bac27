//! Options of databases and column families that name what is not built.

use super::not_built;
use super::other::rocksdb_cuckoo_table_options_t;
use crate::options::rocksdb_options_t;

not_built! {
    fn rocksdb_options_set_cuckoo_table_factory(
        opt: *mut rocksdb_options_t, table_options: *mut rocksdb_cuckoo_table_options_t,
    ) = refuse;
}
