//! The same output as JSON.

use crate::Result;
use crate::details::{collected, readable};
use crate::recompress::Recompressed;
use ferrock_console::text::digits;
use ferrock_table::reader::BlockSizes;
use ferrock_table::{BlockTable, Table, TableStatistics};
use serde_json::{Map, Value, json};

/// The properties, by the names of their text form.
pub(crate) fn properties(table: &Table) -> Result<Value> {
    let mut rows = Map::new();
    // No value has a line break, and no name a tab.
    for line in table.properties().to_text("\n", "\t").lines() {
        let Some((name, value)) = line.split_once('\t') else { continue };
        let number = value.parse::<u64>().map(Value::from);
        rows.insert(name.to_owned(), number.unwrap_or_else(|_| Value::from(value)));
    }
    let mut collected_rows = Map::new();
    for (name, value) in collected(table)? {
        let text = readable(&name, &value);
        collected_rows
            .insert(String::from_utf8_lossy(&name).into_owned(), json!({"hex": digits(&value), "text": text}));
    }
    rows.insert("user_collected".to_owned(), Value::Object(collected_rows));
    Ok(Value::Object(rows))
}

/// The meta blocks.
pub(crate) fn meta_blocks(reader: &BlockTable) -> Result<Value> {
    let blocks = reader.contents().meta_blocks()?.into_iter();
    let rows = blocks.map(
        |(name, handle)| json!({"name": String::from_utf8_lossy(&name), "offset": handle.offset, "size": handle.size}),
    );
    Ok(rows.collect())
}

fn sizes(blocks: &BlockSizes) -> Value {
    json!({
        "count": blocks.count,
        "stored_bytes": blocks.stored_bytes,
        "uncompressed_bytes": blocks.uncompressed_bytes,
        "smallest_bytes": blocks.smallest_bytes,
        "largest_bytes": blocks.largest_bytes,
    })
}

/// The statistics.
pub(crate) fn statistics(statistics: &TableStatistics) -> Value {
    let (index, filter, hash) = (&statistics.index, &statistics.filter, &statistics.hash_index);
    json!({
        "tables": statistics.tables,
        "file_bytes": statistics.file_bytes,
        "data": {
            "blocks": sizes(&statistics.data.blocks),
            "entries": statistics.data.entries,
            "restarts": statistics.data.restarts,
        },
        "index": {
            "partitioned_tables": index.partitioned_tables,
            "top_level": sizes(&index.top_level),
            "partitions": sizes(&index.partitions),
            "entries": index.entries,
            "fewest_entries": index.fewest_entries,
            "most_entries": index.most_entries,
        },
        "filter": {
            "tables": filter.tables,
            "partitioned_tables": filter.partitioned_tables,
            "top_level": sizes(&filter.top_level),
            "partitions": sizes(&filter.partitions),
            "formats": {
                "legacy_bloom": filter.formats.legacy_bloom,
                "fast_local_bloom": filter.formats.fast_local_bloom,
                "ribbon": filter.formats.ribbon,
                "constant": filter.formats.constant,
            },
        },
        "hash_index": {
            "blocks": hash.blocks,
            "blocks_with_too_many_restarts": hash.blocks_with_too_many_restarts,
            "blocks_too_large": hash.blocks_too_large,
            "other_blocks_without": hash.other_blocks_without,
            "bytes": hash.bytes,
            "buckets": hash.buckets,
            "single_buckets": hash.single_buckets,
            "collided_buckets": hash.collided_buckets,
            "keys": hash.keys,
            "keys_falling_back": hash.keys_falling_back,
            "fill_ratio": hash.fill_ratio(),
            "fallback_ratio": hash.fallback_ratio(),
        },
    })
}

/// A row of `recompress`.
pub(crate) fn recompressed(row: &Recompressed) -> Value {
    json!({
        "compression": row.compression.option_name(),
        "level": row.level,
        "file_bytes": row.file_size,
        "data_blocks": row.blocks,
        "compressed": row.compressed(),
        "bypassed": row.bypassed,
        "rejected": row.rejected,
        "micros": row.micros,
    })
}
