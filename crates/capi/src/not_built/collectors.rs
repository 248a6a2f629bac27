//! Collectors of table properties, made of callbacks.

use super::{not_built, unbuilt_types};
use crate::options::rocksdb_options_t;

unbuilt_types! {
    rocksdb_table_properties_collector_factory_t,
}

not_built! {
    fn rocksdb_table_properties_collector_factory_destroy(
        factory: *mut rocksdb_table_properties_collector_factory_t,
    ) = destroy;
    fn rocksdb_options_add_table_properties_collector_factory(
        options: *mut rocksdb_options_t,
        table_properties_collector_factory: *mut rocksdb_table_properties_collector_factory_t,
    ) = refuse;
}
