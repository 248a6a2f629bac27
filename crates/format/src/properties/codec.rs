//! Properties to and from sorted (name, value) pairs. One table per encoding lists every field, so that reading and
//! writing cannot disagree.

use super::{TableProperties, names};
use ferrock_base::coding::{get_varint64, put_varint64};
use ferrock_base::{Error, Result};

/// A varint property: `get` returns `None` when the field is not written.
struct VarintField {
    name: &'static str,
    get: fn(&TableProperties) -> Option<u64>,
    set: fn(&mut TableProperties, u64),
}

/// A raw-bytes property; an absent one is not written.
struct BytesField {
    name: &'static str,
    get: fn(&TableProperties) -> Option<&[u8]>,
    set: fn(&mut TableProperties, &[u8]),
}

macro_rules! always {
    ($name:ident, $field:ident) => {
        VarintField { name: names::$name, get: |p| Some(p.$field), set: |p, value| p.$field = value }
    };
}
macro_rules! if_positive {
    ($name:ident, $field:ident) => {
        VarintField {
            name: names::$name,
            get: |p| (p.$field > 0).then_some(p.$field),
            set: |p, value| p.$field = value,
        }
    };
}
macro_rules! if_known {
    ($name:ident, $field:ident) => {
        VarintField { name: names::$name, get: |p| p.$field, set: |p, value| p.$field = Some(value) }
    };
}
macro_rules! text {
    ($name:ident, $field:ident) => {
        BytesField {
            name: names::$name,
            get: |p| (!p.$field.is_empty()).then_some(p.$field.as_bytes()),
            set: |p, value| p.$field = String::from_utf8_lossy(value).into_owned(),
        }
    };
}
macro_rules! bytes {
    ($name:ident, $field:ident) => {
        BytesField {
            name: names::$name,
            get: |p| (!p.$field.is_empty()).then_some(&p.$field[..]),
            set: |p, value| p.$field = value.to_vec(),
        }
    };
}
macro_rules! optional_bytes {
    ($name:ident, $field:ident) => {
        BytesField { name: names::$name, get: |p| p.$field.as_deref(), set: |p, value| p.$field = Some(value.to_vec()) }
    };
}

const VARINTS: &[VarintField] = &[
    always!(ORIGINAL_FILE_NUMBER, original_file_number),
    always!(RAW_KEY_SIZE, raw_key_size),
    always!(RAW_VALUE_SIZE, raw_value_size),
    always!(DATA_SIZE, data_size),
    always!(INDEX_SIZE, index_size),
    if_positive!(INDEX_PARTITIONS, index_partitions),
    if_positive!(TOP_LEVEL_INDEX_SIZE, top_level_index_size),
    always!(INDEX_KEY_IS_USER_KEY, index_key_is_user_key),
    always!(INDEX_VALUE_IS_DELTA_ENCODED, index_value_is_delta_encoded),
    if_positive!(UDI_IS_PRIMARY_INDEX, udi_is_primary_index),
    always!(NUM_ENTRIES, num_entries),
    always!(NUM_FILTER_ENTRIES, num_filter_entries),
    always!(NUM_DELETIONS, num_deletions),
    always!(NUM_MERGE_OPERANDS, num_merge_operands),
    always!(NUM_RANGE_DELETIONS, num_range_deletions),
    always!(NUM_DATA_BLOCKS, num_data_blocks),
    if_positive!(NUM_DATA_BLOCKS_COMPRESSION_REJECTED, num_data_blocks_compression_rejected),
    if_positive!(NUM_DATA_BLOCKS_COMPRESSION_BYPASSED, num_data_blocks_compression_bypassed),
    if_known!(NUM_UNIFORM_BLOCKS, num_uniform_blocks),
    always!(FILTER_SIZE, filter_size),
    always!(FORMAT_VERSION, format_version),
    always!(FIXED_KEY_LENGTH, fixed_key_length),
    always!(COLUMN_FAMILY_ID, column_family_id),
    always!(CREATION_TIME, creation_time),
    always!(OLDEST_KEY_TIME, oldest_key_time),
    if_known!(NEWEST_KEY_TIME, newest_key_time),
    if_positive!(FILE_CREATION_TIME, file_creation_time),
    if_positive!(SLOW_COMPRESSION_ESTIMATED_DATA_SIZE, slow_compression_estimated_data_size),
    if_positive!(FAST_COMPRESSION_ESTIMATED_DATA_SIZE, fast_compression_estimated_data_size),
    if_known!(TAIL_START_OFFSET, tail_start_offset),
    VarintField {
        name: names::USER_DEFINED_TIMESTAMPS_PERSISTED,
        get: |p| (!p.user_defined_timestamps_persisted).then_some(0),
        set: |p, value| p.user_defined_timestamps_persisted = value != 0,
    },
    if_known!(KEY_LARGEST_SEQNO, key_largest_seqno),
    if_known!(KEY_SMALLEST_SEQNO, key_smallest_seqno),
    if_positive!(DATA_BLOCK_RESTART_INTERVAL, data_block_restart_interval),
    if_positive!(INDEX_BLOCK_RESTART_INTERVAL, index_block_restart_interval),
    if_positive!(SEPARATE_KEY_VALUE_IN_DATA_BLOCK, separate_key_value_in_data_block),
];

const BYTES: &[BytesField] = &[
    text!(CREATING_DB_IDENTITY, db_id),
    text!(CREATING_SESSION_IDENTITY, db_session_id),
    text!(CREATING_HOST_IDENTITY, db_host_id),
    text!(FILTER_POLICY, filter_policy_name),
    text!(COMPARATOR, comparator_name),
    text!(MERGE_OPERATOR, merge_operator_name),
    text!(PREFIX_EXTRACTOR_NAME, prefix_extractor_name),
    text!(PROPERTY_COLLECTORS, property_collectors_names),
    text!(COMPRESSION, compression_name),
    text!(COMPRESSION_OPTIONS, compression_options),
    bytes!(COLUMN_FAMILY_NAME, column_family_name),
    bytes!(SEQNO_TIME_MAP, seqno_to_time_map),
    optional_bytes!(EMBEDDED_BLOB_STATS, embedded_blob_stats),
    optional_bytes!(TIMESTAMP_MIN, timestamp_min),
    optional_bytes!(TIMESTAMP_MAX, timestamp_max),
];

impl TableProperties {
    /// Decodes the entries of a properties block, in their order.
    ///
    /// # Errors
    /// `Corruption` for names out of order, and those of [`set`](Self::set).
    pub fn decode_entries<'a>(entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Result<Self> {
        let mut properties = Self::default();
        let mut previous: Option<&[u8]> = None;
        for (name, value) in entries {
            if previous.is_some_and(|previous| previous >= name) {
                return Err(Error::corruption(format!("property {} is out of order", String::from_utf8_lossy(name))));
            }
            previous = Some(name);
            properties.set(name, value)?;
        }
        Ok(properties)
    }

    /// Decodes one property. [`decode_entries`](Self::decode_entries) also checks their order; use this one where the
    /// names do not outlive a step of an iterator.
    ///
    /// # Errors
    /// `Corruption` for a number of fixed length whose value has another length.
    pub fn set(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        if let Some(field) = VARINTS.iter().find(|field| field.name.as_bytes() == name) {
            if let Some((number, _)) = get_varint64(value) {
                (field.set)(self, number);
            }
            return Ok(());
        }
        if let Some(field) = BYTES.iter().find(|field| field.name.as_bytes() == name) {
            (field.set)(self, value);
            return Ok(());
        }
        match std::str::from_utf8(name) {
            Ok(names::INDEX_TYPE) => self.index_type = Some(u32::from_le_bytes(fixed(name, value)?)),
            Ok(names::WHOLE_KEY_FILTERING) => self.whole_key_filtering = Some(value != b"0"),
            Ok(names::PREFIX_FILTERING) => self.prefix_filtering = Some(value != b"0"),
            Ok(names::DECOUPLED_PARTITIONED_FILTERS) => self.decoupled_partitioned_filters = value == b"1",
            Ok(names::EXTERNAL_SST_FILE_VERSION) => {
                self.external_sst_file_version = Some(u32::from_le_bytes(fixed(name, value)?));
            }
            Ok(names::EXTERNAL_SST_FILE_GLOBAL_SEQNO) => {
                self.external_sst_file_global_seqno = Some(u64::from_le_bytes(fixed(name, value)?));
            }
            _ => {
                self.user_collected.insert(name.to_vec(), value.to_vec());
            }
        }
        Ok(())
    }

    /// The entries of a properties block, sorted by name.
    ///
    /// A user-collected property under a name of [`names`] is dropped in favour of the field.
    #[must_use]
    pub fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut entries = self.user_collected.clone();
        entries.retain(|name, _| !names::ALL.iter().any(|known| known.as_bytes() == name));
        let mut put = |name: &str, value: Vec<u8>| entries.insert(name.as_bytes().to_vec(), value);
        for field in VARINTS {
            if let Some(number) = (field.get)(self) {
                let mut value = Vec::new();
                put_varint64(&mut value, number);
                put(field.name, value);
            }
        }
        for field in BYTES {
            if let Some(value) = (field.get)(self) {
                put(field.name, value.to_vec());
            }
        }
        let flag = |set: bool| if set { b"1".to_vec() } else { b"0".to_vec() };
        if let Some(index_type) = self.index_type {
            put(names::INDEX_TYPE, index_type.to_le_bytes().to_vec());
        }
        if let Some(set) = self.whole_key_filtering {
            put(names::WHOLE_KEY_FILTERING, flag(set));
        }
        if let Some(set) = self.prefix_filtering {
            put(names::PREFIX_FILTERING, flag(set));
        }
        if self.decoupled_partitioned_filters {
            put(names::DECOUPLED_PARTITIONED_FILTERS, flag(true));
        }
        if let Some(version) = self.external_sst_file_version {
            put(names::EXTERNAL_SST_FILE_VERSION, version.to_le_bytes().to_vec());
        }
        if let Some(seqno) = self.external_sst_file_global_seqno {
            put(names::EXTERNAL_SST_FILE_GLOBAL_SEQNO, seqno.to_le_bytes().to_vec());
        }
        entries.into_iter().collect()
    }
}

fn fixed<const N: usize>(name: &[u8], value: &[u8]) -> Result<[u8; N]> {
    value.try_into().map_err(|_| {
        let name = String::from_utf8_lossy(name);
        Error::corruption(format!("property {name} has {} bytes instead of {N}", value.len()))
    })
}
