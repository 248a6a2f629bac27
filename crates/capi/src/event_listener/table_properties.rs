//! Getters of the properties of a table.

use super::Text;
use ferrock_format::properties::TableProperties;
use std::ffi::{c_char, c_uchar};
use std::sync::Arc;

/// RocksDB's number for a sequence number that is not known.
const UNKNOWN_SEQNO: u64 = u64::MAX;

/// The properties of a table.
pub struct rocksdb_table_properties_t {
    properties: Arc<TableProperties>,
    texts: Texts,
    user_collected: Vec<(Text, Text)>,
}

struct Texts {
    db_id: Text,
    db_session_id: Text,
    db_host_id: Text,
    column_family_name: Text,
    filter_policy_name: Text,
    comparator_name: Text,
    merge_operator_name: Text,
    prefix_extractor_name: Text,
    property_collectors_names: Text,
    compression_name: Text,
    compression_options: Text,
    seqno_to_time_mapping: Text,
}

impl rocksdb_table_properties_t {
    pub(crate) fn new(properties: &Arc<TableProperties>) -> Self {
        let text = |text: &str| Text::new(text.as_bytes());
        let texts = Texts {
            db_id: text(&properties.db_id),
            db_session_id: text(&properties.db_session_id),
            db_host_id: text(&properties.db_host_id),
            column_family_name: Text::new(&properties.column_family_name),
            filter_policy_name: text(&properties.filter_policy_name),
            comparator_name: text(&properties.comparator_name),
            merge_operator_name: text(&properties.merge_operator_name),
            prefix_extractor_name: text(&properties.prefix_extractor_name),
            property_collectors_names: text(&properties.property_collectors_names),
            compression_name: text(&properties.compression_name),
            compression_options: text(&properties.compression_options),
            seqno_to_time_mapping: Text::new(&properties.seqno_to_time_map),
        };
        let pairs = properties.user_collected.iter();
        let user_collected = pairs.map(|(key, value)| (Text::new(key), Text::new(value))).collect();
        Self { properties: Arc::clone(properties), texts, user_collected }
    }
}

info_texts! {
    for rocksdb_table_properties_t:
    /// The database that made the table.
    fn rocksdb_table_properties_db_id = |props| &props.texts.db_id;
    /// The time that it was open.
    fn rocksdb_table_properties_db_session_id = |props| &props.texts.db_session_id;
    /// The machine.
    fn rocksdb_table_properties_db_host_id = |props| &props.texts.db_host_id;
    /// The column family.
    fn rocksdb_table_properties_column_family_name = |props| &props.texts.column_family_name;
    /// The filter; empty without one.
    fn rocksdb_table_properties_filter_policy_name = |props| &props.texts.filter_policy_name;
    /// The comparator.
    fn rocksdb_table_properties_comparator_name = |props| &props.texts.comparator_name;
    /// The merge operator; `nullptr` without one.
    fn rocksdb_table_properties_merge_operator_name = |props| &props.texts.merge_operator_name;
    /// The prefix extractor; `nullptr` without one.
    fn rocksdb_table_properties_prefix_extractor_name = |props| &props.texts.prefix_extractor_name;
    /// The collectors of properties.
    fn rocksdb_table_properties_property_collectors_names = |props| &props.texts.property_collectors_names;
    /// The compression.
    fn rocksdb_table_properties_compression_name = |props| &props.texts.compression_name;
    /// The options of the compression.
    fn rocksdb_table_properties_compression_options = |props| &props.texts.compression_options;
    /// When sequence numbers were written.
    fn rocksdb_table_properties_seqno_to_time_mapping = |props| &props.texts.seqno_to_time_mapping;
}

info_text_elements! {
    for rocksdb_table_properties_t:
    /// The name of a property that a collector made.
    fn rocksdb_table_properties_user_collected_properties_key_at = |props, pos| {
        props.user_collected.get(pos).map(|(key, _)| key)
    };
    /// Its value.
    fn rocksdb_table_properties_user_collected_properties_value_at = |props, pos| {
        props.user_collected.get(pos).map(|(_, value)| value)
    };
    /// The name of a property as a collector prints it: there are none.
    fn rocksdb_table_properties_readable_properties_key_at = |_props, _pos| None;
    /// Its value: there are none.
    fn rocksdb_table_properties_readable_properties_value_at = |_props, _pos| None;
}

info_numbers! {
    for rocksdb_table_properties_t:
    /// Properties that collectors made.
    fn rocksdb_table_properties_user_collected_properties_count -> usize = |props| props.user_collected.len();
    /// Properties as collectors print them: none.
    fn rocksdb_table_properties_readable_properties_count -> usize = |_props| 0;
    /// The number of the file when it was made.
    fn rocksdb_table_properties_orig_file_number -> u64 = |props| props.properties.original_file_number;
    /// Bytes of the data blocks.
    fn rocksdb_table_properties_data_size -> u64 = |props| props.properties.data_size;
    /// The same before compression; known only of a table that was just made.
    fn rocksdb_table_properties_uncompressed_data_size -> u64 = |props| props.properties.uncompressed_data_size;
    /// Bytes of the index.
    fn rocksdb_table_properties_index_size -> u64 = |props| props.properties.index_size;
    /// Partitions of the index.
    fn rocksdb_table_properties_index_partitions -> u64 = |props| props.properties.index_partitions;
    /// Bytes of its top level.
    fn rocksdb_table_properties_top_level_index_size -> u64 = |props| props.properties.top_level_index_size;
    /// Whether the index has user keys.
    fn rocksdb_table_properties_index_key_is_user_key -> u64 = |props| props.properties.index_key_is_user_key;
    /// Whether the values of the index are differences.
    fn rocksdb_table_properties_index_value_is_delta_encoded -> u64 = |props| {
        props.properties.index_value_is_delta_encoded
    };
    /// Whether an index of the user comes first.
    fn rocksdb_table_properties_udi_is_primary_index -> u64 = |props| props.properties.udi_is_primary_index;
    /// Bytes of the filter.
    fn rocksdb_table_properties_filter_size -> u64 = |props| props.properties.filter_size;
    /// Bytes of the keys.
    fn rocksdb_table_properties_raw_key_size -> u64 = |props| props.properties.raw_key_size;
    /// Bytes of the values.
    fn rocksdb_table_properties_raw_value_size -> u64 = |props| props.properties.raw_value_size;
    /// Data blocks.
    fn rocksdb_table_properties_num_data_blocks -> u64 = |props| props.properties.num_data_blocks;
    /// Of these, those that compression would have made no smaller.
    fn rocksdb_table_properties_num_data_blocks_compression_rejected -> u64 = |props| {
        props.properties.num_data_blocks_compression_rejected
    };
    /// Of these, those that were not compressed.
    fn rocksdb_table_properties_num_data_blocks_compression_bypassed -> u64 = |props| {
        props.properties.num_data_blocks_compression_bypassed
    };
    /// Index blocks of evenly spread keys.
    fn rocksdb_table_properties_num_uniform_blocks -> u64 = |props| props.properties.num_uniform_blocks.unwrap_or(0);
    /// Entries.
    fn rocksdb_table_properties_num_entries -> u64 = |props| props.properties.num_entries;
    /// Entries of the filter.
    fn rocksdb_table_properties_num_filter_entries -> u64 = |props| props.properties.num_filter_entries;
    /// Deletions.
    fn rocksdb_table_properties_num_deletions -> u64 = |props| props.properties.num_deletions;
    /// Merge operands.
    fn rocksdb_table_properties_num_merge_operands -> u64 = |props| props.properties.num_merge_operands;
    /// Range deletions.
    fn rocksdb_table_properties_num_range_deletions -> u64 = |props| props.properties.num_range_deletions;
    /// The version of the format.
    fn rocksdb_table_properties_format_version -> u64 = |props| props.properties.format_version;
    /// The length of all keys; 0 where they differ.
    fn rocksdb_table_properties_fixed_key_len -> u64 = |props| props.properties.fixed_key_length;
    /// The number of the column family.
    fn rocksdb_table_properties_column_family_id -> u64 = |props| props.properties.column_family_id;
    /// When the oldest data came, in seconds since 1970.
    fn rocksdb_table_properties_creation_time -> u64 = |props| props.properties.creation_time;
    /// When the oldest key came.
    fn rocksdb_table_properties_oldest_key_time -> u64 = |props| props.properties.oldest_key_time;
    /// When the newest key came.
    fn rocksdb_table_properties_newest_key_time -> u64 = |props| props.properties.newest_key_time.unwrap_or(0);
    /// When the file was made.
    fn rocksdb_table_properties_file_creation_time -> u64 = |props| props.properties.file_creation_time;
    /// Bytes with a slower compression, by a sample.
    fn rocksdb_table_properties_slow_compression_estimated_data_size -> u64 = |props| {
        props.properties.slow_compression_estimated_data_size
    };
    /// Bytes with a faster compression, by a sample.
    fn rocksdb_table_properties_fast_compression_estimated_data_size -> u64 = |props| {
        props.properties.fast_compression_estimated_data_size
    };
    /// Where the global sequence number of an ingested file is in it: not told, 0.
    fn rocksdb_table_properties_external_sst_file_global_seqno_offset -> u64 = |_props| 0;
    /// Where the blocks begin that are no data blocks.
    fn rocksdb_table_properties_tail_start_offset -> u64 = |props| props.properties.tail_start_offset.unwrap_or(0);
    /// Whether timestamps were written.
    fn rocksdb_table_properties_user_defined_timestamps_persisted -> u64 = |props| {
        props.properties.user_defined_timestamps_persisted.into()
    };
    /// The largest sequence number.
    fn rocksdb_table_properties_key_largest_seqno -> u64 = |props| {
        props.properties.key_largest_seqno.unwrap_or(UNKNOWN_SEQNO)
    };
    /// The smallest sequence number.
    fn rocksdb_table_properties_key_smallest_seqno -> u64 = |props| {
        props.properties.key_smallest_seqno.unwrap_or(UNKNOWN_SEQNO)
    };
    /// Whether the largest sequence number is known.
    fn rocksdb_table_properties_has_key_largest_seqno -> c_uchar = |props| {
        props.properties.key_largest_seqno.is_some().into()
    };
    /// Whether the smallest sequence number is known.
    fn rocksdb_table_properties_has_key_smallest_seqno -> c_uchar = |props| {
        props.properties.key_smallest_seqno.is_some().into()
    };
    /// Entries between restarts of data blocks.
    fn rocksdb_table_properties_data_block_restart_interval -> u64 = |props| {
        props.properties.data_block_restart_interval
    };
    /// Entries between restarts of index blocks.
    fn rocksdb_table_properties_index_block_restart_interval -> u64 = |props| {
        props.properties.index_block_restart_interval
    };
    /// Whether data blocks have keys and values apart.
    fn rocksdb_table_properties_separate_key_value_in_data_block -> u64 = |props| {
        props.properties.separate_key_value_in_data_block
    };
}
