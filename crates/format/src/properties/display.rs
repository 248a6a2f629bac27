//! Properties as text, in RocksDB's words, and sums over tables.

use super::{TableProperties, UNKNOWN_COLUMN_FAMILY_ID, decode_seqno_time_map};
use crate::unique_id::UniqueId;
use std::fmt::{self, Write};

impl TableProperties {
    /// Adds the counters and sizes of another table, for the properties `aggregated-table-properties` and
    /// `aggregated-table-properties-at-levelN`. Names and times stay as they are.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.data_size, other.data_size),
            (&mut self.uncompressed_data_size, other.uncompressed_data_size),
            (&mut self.index_size, other.index_size),
            (&mut self.index_partitions, other.index_partitions),
            (&mut self.top_level_index_size, other.top_level_index_size),
            (&mut self.index_key_is_user_key, other.index_key_is_user_key),
            (&mut self.index_value_is_delta_encoded, other.index_value_is_delta_encoded),
            (&mut self.filter_size, other.filter_size),
            (&mut self.raw_key_size, other.raw_key_size),
            (&mut self.raw_value_size, other.raw_value_size),
            (&mut self.num_data_blocks, other.num_data_blocks),
            (&mut self.num_data_blocks_compression_rejected, other.num_data_blocks_compression_rejected),
            (&mut self.num_data_blocks_compression_bypassed, other.num_data_blocks_compression_bypassed),
            (&mut self.num_entries, other.num_entries),
            (&mut self.num_filter_entries, other.num_filter_entries),
            (&mut self.num_deletions, other.num_deletions),
            (&mut self.num_merge_operands, other.num_merge_operands),
            (&mut self.num_range_deletions, other.num_range_deletions),
            (&mut self.slow_compression_estimated_data_size, other.slow_compression_estimated_data_size),
            (&mut self.fast_compression_estimated_data_size, other.fast_compression_estimated_data_size),
        ];
        for (sum, more) in pairs {
            *sum = sum.wrapping_add(more);
        }
        if let Some(more) = other.num_uniform_blocks {
            self.num_uniform_blocks = Some(self.num_uniform_blocks.unwrap_or(0).wrapping_add(more));
        }
    }

    /// The sums as named numbers, sorted by name (the map form of `aggregated-table-properties`).
    #[must_use]
    pub fn aggregated_values(&self) -> [(&'static str, u64); 19] {
        [
            ("data_size", self.data_size),
            ("fast_compression_estimated_data_size", self.fast_compression_estimated_data_size),
            ("filter_size", self.filter_size),
            ("index_partitions", self.index_partitions),
            ("index_size", self.index_size),
            ("num_data_blocks", self.num_data_blocks),
            ("num_data_blocks_compression_bypassed", self.num_data_blocks_compression_bypassed),
            ("num_data_blocks_compression_rejected", self.num_data_blocks_compression_rejected),
            ("num_deletions", self.num_deletions),
            ("num_entries", self.num_entries),
            ("num_filter_entries", self.num_filter_entries),
            ("num_merge_operands", self.num_merge_operands),
            ("num_range_deletions", self.num_range_deletions),
            ("num_uniform_blocks", self.num_uniform_blocks.unwrap_or(0)),
            ("raw_key_size", self.raw_key_size),
            ("raw_value_size", self.raw_value_size),
            ("slow_compression_estimated_data_size", self.slow_compression_estimated_data_size),
            ("top_level_index_size", self.top_level_index_size),
            ("uncompressed_data_size", self.uncompressed_data_size),
        ]
    }

    /// Every property as text; RocksDB's own delimiters are `"; "` and `"="`, which [`Display`](fmt::Display) uses.
    #[must_use]
    pub fn to_text(&self, property_delimiter: &str, value_delimiter: &str) -> String {
        let mut text = Text { out: String::with_capacity(1024), property_delimiter, value_delimiter };
        self.write_counts(&mut text);
        self.write_names(&mut text);
        self.write_times_and_ids(&mut text);
        text.out
    }

    fn write_counts(&self, text: &mut Text<'_>) {
        let average = |sum: u64| if self.num_entries == 0 { 0.0 } else { sum as f64 / self.num_entries as f64 };
        text.put("# data blocks", self.num_data_blocks);
        text.put("# data blocks compression rejected", self.num_data_blocks_compression_rejected);
        text.put("# data blocks compression bypassed", self.num_data_blocks_compression_bypassed);
        text.put("# uniform blocks", self.num_uniform_blocks.unwrap_or(0));
        text.put("# entries", self.num_entries);
        text.put("# deletions", self.num_deletions);
        text.put("# merge operands", self.num_merge_operands);
        text.put("# range deletions", self.num_range_deletions);
        text.put("raw key size", self.raw_key_size);
        text.put("raw average key size", format_args!("{:.6}", average(self.raw_key_size)));
        text.put("raw value size", self.raw_value_size);
        text.put("raw average value size", format_args!("{:.6}", average(self.raw_value_size)));
        text.put("data block size", self.data_size);
        text.put("data uncompressed size", self.uncompressed_data_size);
        let name = format!(
            "index block size (user-key? {}, delta-value? {})",
            self.index_key_is_user_key, self.index_value_is_delta_encoded
        );
        text.put(&name, self.index_size);
        if self.index_partitions != 0 {
            text.put("# index partitions", self.index_partitions);
            text.put("top-level index size", self.top_level_index_size);
        }
        text.put("filter block size", self.filter_size);
        text.put("# entries for filter", self.num_filter_entries);
        let estimate = self.data_size.wrapping_add(self.index_size).wrapping_add(self.filter_size);
        text.put("(estimated) table size", estimate);
    }

    fn write_names(&self, text: &mut Text<'_>) {
        text.put("filter policy name", or_na(&self.filter_policy_name));
        text.put("prefix extractor name", or_na(&self.prefix_extractor_name));
        if self.column_family_id == UNKNOWN_COLUMN_FAMILY_ID {
            text.put("column family ID", "N/A");
        } else {
            text.put("column family ID", self.column_family_id);
        }
        text.put("column family name", or_na(&String::from_utf8_lossy(&self.column_family_name)));
        text.put("comparator name", or_na(&self.comparator_name));
        text.put("user defined timestamps persisted", self.user_defined_timestamps_persisted);
        text.put("largest sequence number in file", self.key_largest_seqno.unwrap_or(u64::MAX));
        text.put("smallest sequence number in file", self.key_smallest_seqno.unwrap_or(u64::MAX));
        text.put("merge operator name", or_na(&self.merge_operator_name));
        text.put("property collectors names", or_na(&self.property_collectors_names));
        text.put("SST file compression algo", or_na(&self.compression_name));
        text.put("SST file compression options", or_na(&self.compression_options));
    }

    fn write_times_and_ids(&self, text: &mut Text<'_>) {
        text.put("creation time", self.creation_time);
        text.put("time stamp of earliest key", self.oldest_key_time);
        text.put("time stamp of newest key", self.newest_key_time.unwrap_or(0));
        text.put("file creation time", self.file_creation_time);
        text.put("slow compression estimated data size", self.slow_compression_estimated_data_size);
        text.put("fast compression estimated data size", self.fast_compression_estimated_data_size);
        text.put("DB identity", &self.db_id);
        text.put("DB session identity", &self.db_session_id);
        text.put("DB host id", &self.db_host_id);
        text.put("original file number", self.original_file_number);
        match UniqueId::from_properties(self) {
            Ok(id) => text.put("unique ID", id.to_public().to_human_string()),
            Err(_) => text.put("unique ID", "N/A"),
        }
        text.put("Sequence number to time mapping", self.seqno_to_time_text());
    }

    /// The map from sequence numbers to times, as `1->1700000000,`; `N/A` if it cannot be read.
    #[must_use]
    pub fn seqno_to_time_text(&self) -> String {
        let mut map = String::new();
        match decode_seqno_time_map(&self.seqno_to_time_map) {
            Ok(pairs) => pairs.iter().for_each(|pair| {
                // Writing to a String cannot fail.
                let _ = write!(map, "{}->{},", pair.seqno.0, pair.time);
            }),
            Err(_) => map.push_str("N/A"),
        }
        map
    }
}

impl fmt::Display for TableProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text("; ", "="))
    }
}

fn or_na(name: &str) -> &str {
    if name.is_empty() { "N/A" } else { name }
}

struct Text<'a> {
    out: String,
    property_delimiter: &'a str,
    value_delimiter: &'a str,
}

impl Text<'_> {
    fn put(&mut self, name: &str, value: impl fmt::Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{name}{}{value}{}", self.value_delimiter, self.property_delimiter);
    }
}
