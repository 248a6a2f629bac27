//! What is known of an arm's tables, from their properties.

use crate::Result;
use ferrock::Db;
use std::collections::BTreeMap;

/// Bytes of the tables and of their parts, and what they hold.
pub(super) fn of(db: &Db) -> Result<BTreeMap<&'static str, f64>> {
    let mut facts = BTreeMap::new();
    let mut add = |name, amount: u64| *facts.entry(name).or_insert(0.0) += amount as f64;
    for file in db.live_files() {
        let properties = db.table_properties(&file)?;
        add("files", 1);
        add("table_bytes", file.size_bytes);
        add("data_bytes", properties.data_size);
        add("uncompressed_data_bytes", properties.uncompressed_data_size.max(properties.data_size));
        add("index_bytes", properties.index_size);
        add("filter_bytes", properties.filter_size);
        add("entries", properties.num_entries);
        add("data_blocks", properties.num_data_blocks);
        add("index_partitions", properties.index_partitions);
    }
    Ok(facts)
}
