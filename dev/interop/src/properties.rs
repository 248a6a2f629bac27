//! What tables say of themselves, read and compared: the properties that describe index, filter and compression, and
//! the counts of entries.
//!
//! A *size* depends on the output of a compressor, and two compressors of one format differ in it; everything else
//! follows from entries and options alone.

use crate::engine::Outcome;
use ferrock::DbOptions;
use ferrock_format::properties::{TableProperties, decode_seqno_time_map};
use std::path::Path;

/// A table of a database.
pub struct Table {
    pub family: String,
    pub level: usize,
    pub number: u64,
    pub properties: std::sync::Arc<TableProperties>,
}

/// A property, and whether it depends on a compressor.
pub struct Property {
    pub name: &'static str,
    pub value: String,
    pub is_size: bool,
}

/// The tables of the database in a directory: family by family, from level 0 down, in the order of their numbers.
pub fn tables(directory: &Path) -> Outcome<Vec<Table>> {
    let text = |error: ferrock::Error| error.to_string();
    let file_system = ferrock_vfs::default_file_system();
    let loaded = ferrock::options::load_latest(&*file_system, directory).map_err(text)?;
    let loaded = loaded.ok_or_else(|| format!("{} has no OPTIONS file", directory.display()))?;
    let options = DbOptions { ..loaded.db };
    let (db, families) = ferrock::Db::open_read_only(directory, options, Some(loaded.column_families)).map_err(text)?;
    let mut tables = Vec::new();
    for file in db.live_files() {
        let properties = db.table_properties(&file).map_err(text)?;
        tables.push(Table { family: file.column_family.clone(), level: file.level, number: file.number.0, properties });
    }
    drop(families);
    db.close().map_err(text)?;
    tables.sort_by(|a, b| (&a.family, a.level, a.number).cmp(&(&b.family, b.level, b.number)));
    Ok(tables)
}

/// What must be equal in two tables of the same entries and options.
pub fn compared(properties: &TableProperties) -> Vec<Property> {
    let p = properties;
    let optional = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let flag = |value: Option<bool>| value.map_or("-".to_owned(), |value| value.to_string());
    let exact = [
        ("format_version", p.format_version.to_string()),
        ("num_entries", p.num_entries.to_string()),
        ("num_deletions", p.num_deletions.to_string()),
        ("num_merge_operands", p.num_merge_operands.to_string()),
        ("num_range_deletions", p.num_range_deletions.to_string()),
        ("raw_key_size", p.raw_key_size.to_string()),
        ("raw_value_size", p.raw_value_size.to_string()),
        ("num_data_blocks", p.num_data_blocks.to_string()),
        ("index_type", optional(p.index_type.map(u64::from))),
        ("index_key_is_user_key", p.index_key_is_user_key.to_string()),
        ("index_value_is_delta_encoded", p.index_value_is_delta_encoded.to_string()),
        ("udi_is_primary_index", p.udi_is_primary_index.to_string()),
        ("num_uniform_blocks", optional(p.num_uniform_blocks)),
        ("data_block_restart_interval", p.data_block_restart_interval.to_string()),
        ("index_block_restart_interval", p.index_block_restart_interval.to_string()),
        ("separate_key_value_in_data_block", p.separate_key_value_in_data_block.to_string()),
        ("filter_policy_name", p.filter_policy_name.clone()),
        ("filter_size", p.filter_size.to_string()),
        ("num_filter_entries", p.num_filter_entries.to_string()),
        ("whole_key_filtering", flag(p.whole_key_filtering)),
        ("prefix_filtering", flag(p.prefix_filtering)),
        ("decoupled_partitioned_filters", p.decoupled_partitioned_filters.to_string()),
        ("prefix_extractor_name", p.prefix_extractor_name.clone()),
        ("compression_name", p.compression_name.clone()),
        ("compression_options", p.compression_options.clone()),
        ("comparator_name", p.comparator_name.clone()),
        ("merge_operator_name", p.merge_operator_name.clone()),
        ("property_collectors_names", p.property_collectors_names.clone()),
        ("column_family_id", p.column_family_id.to_string()),
        ("column_family_name", p.column_family_name.escape_ascii().to_string()),
        ("key_smallest_seqno", optional(p.key_smallest_seqno)),
        ("key_largest_seqno", optional(p.key_largest_seqno)),
        ("seqno_to_time_map, pairs", seqno_times(p)),
        (
            "user_collected",
            p.user_collected.keys().map(|name| name.escape_ascii().to_string()).collect::<Vec<_>>().join(" "),
        ),
    ];
    let plain = [
        ("fixed_key_length", p.fixed_key_length.to_string()),
        ("plain table's own", of_plain_table(p)),
        ("plain table's names", names_of_plain_table(p)),
    ];
    let sizes = [
        ("data_size", p.data_size.to_string()),
        ("num_data_blocks_compression_rejected", p.num_data_blocks_compression_rejected.to_string()),
        ("num_data_blocks_compression_bypassed", p.num_data_blocks_compression_bypassed.to_string()),
        ("index_size", p.index_size.to_string()),
        ("index_partitions", p.index_partitions.to_string()),
        ("top_level_index_size", p.top_level_index_size.to_string()),
        ("tail_start_offset", optional(p.tail_start_offset)),
    ];
    let exact = exact.into_iter().chain(plain).map(|(name, value)| Property { name, value, is_size: false });
    exact.chain(sizes.into_iter().map(|(name, value)| Property { name, value, is_size: true })).collect()
}

/// What only plain tables have: the encoding and the stored filter.
fn of_plain_table(properties: &TableProperties) -> String {
    let own = properties.user_collected.iter().filter(|(name, _)| name.starts_with(b"rocksdb.plain."));
    own.map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii())).collect::<Vec<_>>().join(" ")
}

/// The names of all properties of a plain table, but for that of the host, which Ferrock leaves out.
fn names_of_plain_table(properties: &TableProperties) -> String {
    if of_plain_table(properties).is_empty() {
        return String::new();
    }
    let entries = properties.entries();
    let names = entries.iter().map(|(name, _)| name.escape_ascii().to_string());
    names.filter(|name| name != "rocksdb.creating.host.identity").collect::<Vec<_>>().join(" ")
}

/// The number of pairs; their times are those of writing.
fn seqno_times(properties: &TableProperties) -> String {
    match decode_seqno_time_map(&properties.seqno_to_time_map) {
        Ok(pairs) => pairs.len().to_string(),
        Err(error) => error.to_string(),
    }
}

/// True for a number of data blocks that is larger by at most a sixteenth, and one: a compaction of Ferrock ends a
/// block early where the blocks behind it can then be copied from an input, which RocksDB does not.
pub fn follows_early_ends(ours: &TableProperties, theirs: &TableProperties, property: &Property) -> bool {
    let least = theirs.num_data_blocks;
    property.name == "num_data_blocks"
        && ours.compression_name != "NoCompression"
        && (least..=least + least / 16 + 1).contains(&ours.num_data_blocks)
}

/// How two lists of tables differ, as texts. `is_left_out` is asked of a property that differs, with our table and
/// theirs.
pub fn differences(
    ours: &[Table],
    theirs: &[Table],
    mut is_left_out: impl FnMut(&Table, &Table, &Property) -> bool,
) -> Vec<String> {
    let shape = |tables: &[Table]| tables.iter().map(|table| (table.family.clone(), table.level)).collect::<Vec<_>>();
    if shape(ours) != shape(theirs) {
        return vec![format!("tables, as (family, level): {:?}, wanted {:?}", shape(ours), shape(theirs))];
    }
    let mut differences = Vec::new();
    for (ours, theirs) in ours.iter().zip(theirs) {
        for (our, their) in compared(&ours.properties).into_iter().zip(compared(&theirs.properties)) {
            if our.value != their.value && !is_left_out(ours, theirs, &our) {
                let place = format!("{} level {} table {}", ours.family, ours.level, ours.number);
                differences.push(format!("{place}: {} = {}, wanted {}", our.name, our.value, their.value));
            }
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_more_blocks_may_end_early() {
        let table = |num_data_blocks: u64, compression: &str| TableProperties {
            num_data_blocks,
            compression_name: compression.to_owned(),
            ..TableProperties::default()
        };
        let property = |name| Property { name, value: String::new(), is_size: false };
        let may_differ = |ours, theirs, compression, name| {
            follows_early_ends(&table(ours, compression), &table(theirs, "LZ4"), &property(name))
        };
        assert!(may_differ(1567, 1564, "LZ4", "num_data_blocks"));
        assert!(may_differ(107, 100, "LZ4", "num_data_blocks") && !may_differ(108, 100, "LZ4", "num_data_blocks"));
        assert!(!may_differ(99, 100, "LZ4", "num_data_blocks"), "none are fewer");
        assert!(!may_differ(101, 100, "NoCompression", "num_data_blocks"), "nothing is copied");
        assert!(!may_differ(101, 100, "LZ4", "num_entries"));
    }
}
