//! The content of an arm's tables, counted by reading every block of them.

use crate::failure::Result;
use ferrock::Db;
use ferrock_base::InternalComparator;
use ferrock_format::file_name;
use ferrock_table::{Table, TableReaderParams, TableStatistics};
use ferrock_vfs::{RandomAccessOptions, default_file_system};
use std::collections::BTreeMap;

/// Counts the blocks of the live tables, past the block cache.
fn statistics(db: &Db) -> Result<TableStatistics> {
    let mut all = TableStatistics::default();
    let file_system = default_file_system();
    for live in db.live_files() {
        let path = db.path().join(file_name::table(live.number));
        let file = file_system.open_random_access(&path, &RandomAccessOptions::default())?;
        let params = TableReaderParams::new(file, file_system.clone(), InternalComparator::default());
        let table = Table::open(params)?;
        if let Table::Block(table) = &table {
            all.merge(&table.contents().statistics()?);
        } else {
            // No blocks: entries and bytes of the file.
            all.tables += 1;
            all.file_bytes += live.size_bytes;
            all.data.entries += table.properties().num_entries;
        }
    }
    Ok(all)
}

/// Bytes of the tables and of their parts, and numbers of their entries. No compaction may run meanwhile.
pub(super) fn of(db: &Db) -> Result<BTreeMap<&'static str, f64>> {
    db.wait_for_background_work()?;
    let all = statistics(db)?;
    let count = |count: u64| count as f64;
    let reader_bytes = db.property("rocksdb.estimate-table-readers-mem").and_then(|bytes| bytes.parse().ok());
    let partitions = |is_partitioned: bool, partitions: u64| if is_partitioned { count(partitions) } else { 0.0 };
    let mut facts = BTreeMap::from([
        ("files", count(all.tables)),
        ("table_bytes", count(all.file_bytes)),
        ("reader_bytes", reader_bytes.unwrap_or(0.0)),
        ("entries", count(all.data.entries)),
        ("data_blocks", count(all.data.blocks.count)),
        ("data_bytes", count(all.data.blocks.stored_bytes)),
        ("uncompressed_data_bytes", count(all.data.blocks.uncompressed_bytes)),
        ("index_bytes", count(all.index.partitions.stored_bytes + all.index.top_level.stored_bytes)),
        ("filter_bytes", count(all.filter.partitions.stored_bytes + all.filter.top_level.stored_bytes)),
        ("index_partitions", partitions(all.index.partitioned_tables > 0, all.index.partitions.count)),
        ("filter_partitions", partitions(all.filter.partitioned_tables > 0, all.filter.partitions.count)),
    ]);
    let hash = &all.hash_index;
    if hash.keys > 0 {
        facts.insert("hash_index_bytes", count(hash.bytes));
        facts.insert("hash_index_blocks", count(hash.blocks));
        facts.insert("fallback_percent", hash.fallback_ratio() * 100.0);
    }
    Ok(facts)
}
