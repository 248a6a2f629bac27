//! The properties block: metadata of a table.
//!
//! A plain key/value block with one restart, keys strictly ascending, never compressed:
//!
//! ```text
//! value encodings   varint64   most counters and sizes
//!                   raw bytes  names, identities, timestamps, the seqno-to-time map
//!                   fixed32    index type, external file version      fixed64   global sequence number
//!                   '1' / '0'  filtering flags
//! ```
//!
//! Fields that every writer stores are plain numbers, 0 when a file lacks them; fields whose absence means something,
//! or that only newer writers store, are `Option`s. Unknown names stay in
//! [`user_collected`](TableProperties::user_collected), so that rewriting a table loses nothing.
//!
//! A malformed varint is skipped (readers have always done so); keys out of order, and malformed fixed-width values,
//! are corruption.

mod codec;
mod compression_name;
mod display;
pub mod names;
mod seqno_time_map;
#[cfg(test)]
mod tests;

pub use compression_name::CompressionName;
pub use seqno_time_map::{SeqnoTimePair, decode_seqno_time_map, encode_seqno_time_map};

use ferrock_base::ValueType;
use std::collections::BTreeMap;

/// [`TableProperties::column_family_id`] of a file that belongs to no column family yet.
pub const UNKNOWN_COLUMN_FAMILY_ID: u64 = 0x7fff_ffff;

/// The properties of one table, or the sum over several ([`add`](Self::add)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableProperties {
    /// File number at creation; with the two identities it forms the [unique id](crate::unique_id).
    pub original_file_number: u64,
    /// Sum of internal-key lengths, tombstones included.
    pub raw_key_size: u64,
    /// Sum of value lengths.
    pub raw_value_size: u64,
    /// Bytes of the data-block area: offset behind the last data block with its trailer and padding.
    pub data_size: u64,
    /// Uncompressed bytes of the data blocks. Not stored: known only while the table is built.
    pub uncompressed_data_size: u64,
    /// Uncompressed index bytes plus a trailer.
    pub index_size: u64,
    /// Index partitions; 0 unless the index is partitioned.
    pub index_partitions: u64,
    /// Uncompressed bytes of the top-level index.
    pub top_level_index_size: u64,
    /// Not 0: index keys are user keys.
    pub index_key_is_user_key: u64,
    /// Not 0: index values are delta-encoded.
    pub index_value_is_delta_encoded: u64,
    /// Not 0: a user-defined index was primary for the writer. Informational.
    pub udi_is_primary_index: u64,
    /// Data entries plus range tombstones.
    pub num_entries: u64,
    /// Entries in the filter.
    pub num_filter_entries: u64,
    /// Deletions of every kind, range tombstones included.
    pub num_deletions: u64,
    /// Merge operands.
    pub num_merge_operands: u64,
    /// Range tombstones.
    pub num_range_deletions: u64,
    /// Data blocks. Some writers store 0 in tables with a dictionary: never a count to rely on.
    pub num_data_blocks: u64,
    /// Data blocks stored raw because compression saved too little.
    pub num_data_blocks_compression_rejected: u64,
    /// Data blocks stored raw without trying.
    pub num_data_blocks_compression_bypassed: u64,
    /// Index blocks with the uniform-keys hint.
    pub num_uniform_blocks: Option<u64>,
    /// Filter payload bytes, partition index included.
    pub filter_size: u64,
    /// The footer's format_version; old writers stored 0.
    pub format_version: u64,
    /// Length of every key in a PlainTable of fixed-length keys, else 0.
    pub fixed_key_length: u64,
    /// Column family, [`UNKNOWN_COLUMN_FAMILY_ID`] if none.
    pub column_family_id: u64,
    /// Column family name; empty if unknown.
    pub column_family_name: Vec<u8>,
    /// Unix seconds of the oldest ancestor; 0 unknown.
    pub creation_time: u64,
    /// Unix seconds of the oldest key; 0 unknown.
    pub oldest_key_time: u64,
    /// Unix seconds of the newest key; 0 unknown.
    pub newest_key_time: Option<u64>,
    /// Unix seconds at which this file was made; 0 unknown.
    pub file_creation_time: u64,
    /// Sampled size under a slow compression; 0 if not sampled.
    pub slow_compression_estimated_data_size: u64,
    /// Sampled size under a fast compression; 0 if not sampled.
    pub fast_compression_estimated_data_size: u64,
    /// End of the data blocks: the rest of the file is read at once at open.
    pub tail_start_offset: Option<u64>,
    /// False if user-defined timestamps were stripped from the keys.
    pub user_defined_timestamps_persisted: bool,
    /// Identity of the database that made the file.
    pub db_id: String,
    /// Session of that database.
    pub db_session_id: String,
    /// Host that made the file.
    pub db_host_id: String,
    /// Filter policy, informational; empty if none.
    pub filter_policy_name: String,
    /// Comparator name.
    pub comparator_name: String,
    /// Merge operator name, `nullptr` if none.
    pub merge_operator_name: String,
    /// Prefix extractor id, `nullptr` if none.
    pub prefix_extractor_name: String,
    /// Collectors, as `[a,b]`.
    pub property_collectors_names: String,
    /// The compression property as stored; [`CompressionName`] parses it.
    pub compression_name: String,
    /// Compression options, as text.
    pub compression_options: String,
    /// Sequence numbers and the times they were written, as stored; [`decode_seqno_time_map`] parses it.
    pub seqno_to_time_map: Vec<u8>,
    /// Largest sequence number of points and tombstones, where the writer recorded it.
    pub key_largest_seqno: Option<u64>,
    /// Smallest sequence number of points and tombstones, where the writer recorded it.
    pub key_smallest_seqno: Option<u64>,
    /// Entries between restarts of data blocks; 0 unknown. Needed to read blocks with separated values.
    pub data_block_restart_interval: u64,
    /// Entries between restarts of index blocks; 0 unknown.
    pub index_block_restart_interval: u64,
    /// Not 0: data blocks store keys and values apart. Readers use the block's own footer instead.
    pub separate_key_value_in_data_block: u64,
    /// Present if the file holds embedded blobs, which a reader must understand or refuse.
    pub embedded_blob_stats: Option<Vec<u8>>,
    /// Smallest user-defined timestamp.
    pub timestamp_min: Option<Vec<u8>>,
    /// Largest user-defined timestamp.
    pub timestamp_max: Option<Vec<u8>>,
    /// Index type: 0 binary search, 1 hash search, 2 partitioned, 3 binary search with first key.
    pub index_type: Option<u32>,
    /// False: whole keys are not in the filter. Absent counts as true.
    pub whole_key_filtering: Option<bool>,
    /// False: prefixes are not in the filter. Absent counts as true.
    pub prefix_filtering: Option<bool>,
    /// True: filter partitions were cut independently of index partitions.
    pub decoupled_partitioned_filters: bool,
    /// Present in externally built files: 1 or 2.
    pub external_sst_file_version: Option<u32>,
    /// Global sequence number of an externally built file of version 2.
    pub external_sst_file_global_seqno: Option<u64>,
    /// Everything else, name to value.
    pub user_collected: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Default for TableProperties {
    fn default() -> Self {
        Self {
            original_file_number: 0,
            raw_key_size: 0,
            raw_value_size: 0,
            data_size: 0,
            uncompressed_data_size: 0,
            index_size: 0,
            index_partitions: 0,
            top_level_index_size: 0,
            index_key_is_user_key: 0,
            index_value_is_delta_encoded: 0,
            udi_is_primary_index: 0,
            num_entries: 0,
            num_filter_entries: 0,
            num_deletions: 0,
            num_merge_operands: 0,
            num_range_deletions: 0,
            num_data_blocks: 0,
            num_data_blocks_compression_rejected: 0,
            num_data_blocks_compression_bypassed: 0,
            num_uniform_blocks: None,
            filter_size: 0,
            format_version: 0,
            fixed_key_length: 0,
            column_family_id: UNKNOWN_COLUMN_FAMILY_ID,
            column_family_name: Vec::new(),
            creation_time: 0,
            oldest_key_time: 0,
            newest_key_time: None,
            file_creation_time: 0,
            slow_compression_estimated_data_size: 0,
            fast_compression_estimated_data_size: 0,
            tail_start_offset: None,
            user_defined_timestamps_persisted: true,
            db_id: String::new(),
            db_session_id: String::new(),
            db_host_id: String::new(),
            filter_policy_name: String::new(),
            comparator_name: String::new(),
            merge_operator_name: String::new(),
            prefix_extractor_name: String::new(),
            property_collectors_names: String::new(),
            compression_name: String::new(),
            compression_options: String::new(),
            seqno_to_time_map: Vec::new(),
            key_largest_seqno: None,
            key_smallest_seqno: None,
            data_block_restart_interval: 0,
            index_block_restart_interval: 0,
            separate_key_value_in_data_block: 0,
            embedded_blob_stats: None,
            timestamp_min: None,
            timestamp_max: None,
            index_type: None,
            whole_key_filtering: None,
            prefix_filtering: None,
            decoupled_partitioned_filters: false,
            external_sst_file_version: None,
            external_sst_file_global_seqno: None,
            user_collected: BTreeMap::new(),
        }
    }
}

impl TableProperties {
    /// Counts an entry that a writer adds, range tombstones included.
    #[inline]
    pub fn count_entry(&mut self, internal_key: &[u8], value: &[u8], value_type: ValueType) {
        self.num_entries += 1;
        self.raw_key_size += internal_key.len() as u64;
        self.raw_value_size += value.len() as u64;
        match value_type {
            ValueType::Merge => self.num_merge_operands += 1,
            ValueType::RangeDeletion => {
                self.num_deletions += 1;
                self.num_range_deletions += 1;
            }
            kind if kind.is_point_tombstone() => self.num_deletions += 1,
            _ => {}
        }
    }

    /// Entries that delete one key.
    #[must_use]
    pub fn num_point_deletions(&self) -> u64 {
        self.num_deletions.saturating_sub(self.num_range_deletions)
    }

    /// Where a table writer starts: the fields that every current writer stores are present.
    #[must_use]
    pub fn for_new_table() -> Self {
        Self {
            num_uniform_blocks: Some(0),
            newest_key_time: Some(0),
            tail_start_offset: Some(0),
            index_type: Some(0),
            whole_key_filtering: Some(true),
            prefix_filtering: Some(false),
            merge_operator_name: "nullptr".to_owned(),
            prefix_extractor_name: "nullptr".to_owned(),
            property_collectors_names: "[]".to_owned(),
            ..Self::default()
        }
    }

    /// Whether whole keys may be looked up in the filter.
    #[must_use]
    pub fn filter_has_whole_keys(&self) -> bool {
        self.whole_key_filtering != Some(false)
    }

    /// Whether prefixes may be looked up in the filter.
    #[must_use]
    pub fn filter_has_prefixes(&self) -> bool {
        self.prefix_filtering != Some(false)
    }
}
