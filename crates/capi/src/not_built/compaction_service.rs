//! Compaction in other processes: what its options cannot say yet.

use super::collectors::rocksdb_table_properties_collector_factory_t;
use super::not_built;
use super::other::rocksdb_cuckoo_table_options_t;
use crate::event_listener::rocksdb_eventlistener_t;
use crate::open_and_compact::rocksdb_compaction_service_options_override_t;

not_built! {
    fn rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        table_options: *mut rocksdb_cuckoo_table_options_t,
    ) = refuse;
    fn rocksdb_compaction_service_options_override_add_event_listener(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        event_listener: *mut rocksdb_eventlistener_t,
    ) = refuse(event_listener);
    fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_table_properties_collector_factory_t,
    ) = refuse;
}
