//! Getters of what is told of a file from outside.

use super::Text;
use super::table_properties::rocksdb_table_properties_t;
use ferrock::ExternalFileIngestionInfo;
use std::ffi::c_char;

/// A file that was taken in.
pub struct rocksdb_externalfileingestioninfo_t {
    name: Text,
    external_path: Text,
    internal_path: Text,
    global_seqno: u64,
    properties: rocksdb_table_properties_t,
}

impl rocksdb_externalfileingestioninfo_t {
    pub(super) fn new(info: &ExternalFileIngestionInfo) -> Self {
        Self {
            name: Text::of_name(&info.column_family),
            external_path: Text::of_path(&info.external_file_path),
            internal_path: Text::of_path(&info.internal_file_path),
            global_seqno: info.global_seqno.0,
            properties: rocksdb_table_properties_t::new(&info.table_properties),
        }
    }
}

info_texts! {
    for rocksdb_externalfileingestioninfo_t:
    /// The name of the column family.
    fn rocksdb_externalfileingestioninfo_cf_name = |info| &info.name;
    /// The file as it was given.
    fn rocksdb_externalfileingestioninfo_external_file_path = |info| &info.external_path;
    /// The file in the database.
    fn rocksdb_externalfileingestioninfo_internal_file_path = |info| &info.internal_path;
}

info_numbers! {
    for rocksdb_externalfileingestioninfo_t:
    /// The sequence number of its entries; 0: those that it says itself.
    fn rocksdb_externalfileingestioninfo_global_seqno -> u64 = |info| info.global_seqno;
}

info_parts! {
    for rocksdb_externalfileingestioninfo_t:
    /// Its properties.
    fn rocksdb_externalfileingestioninfo_table_properties -> rocksdb_table_properties_t = |info| &info.properties;
}
