//! Tables: a page of all of them, the properties of one, and the sizes of its blocks.

use crate::request::{Query, Refusal};
use ferrock::{Db, LiveFile};
use ferrock_base::FileNumber;
use ferrock_format::properties::TableProperties;
use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;

/// Rows that an answer has at most, and without `limit`.
pub(crate) const MAX_ROWS: u64 = 1000;
const DEFAULT_ROWS: u64 = 100;
/// Data blocks that a histogram is of at most.
const MAX_BLOCKS: u64 = 1 << 20;
/// Bytes of a key that are shown; its length is told beside it.
const SHOWN_KEY_BYTES: usize = 256;

/// `?cf=..&level=..&offset=..&limit=..`: families in the order of their ids, levels from 0 on, and in a level the order
/// of the tree.
pub(crate) fn page(db: &Db, query: &Query) -> Result<Value, Refusal> {
    query.check_names(&["cf", "level", "offset", "limit"])?;
    let (family, level) = (query.text("cf"), query.number("level")?);
    let offset = query.number("offset")?.unwrap_or(0);
    let limit = query.number("limit")?.unwrap_or(DEFAULT_ROWS);
    if limit > MAX_ROWS {
        return Err(Refusal::bad(format!("limit must be at most {MAX_ROWS}, not {limit}; ask for more by offset")));
    }
    if let Some(name) = family.filter(|name| db.column_family(name).is_none()) {
        return Err(Refusal::new("404 Not Found", format!("there is no column family {name:?}")));
    }
    let is_asked = |file: &LiveFile| {
        family.is_none_or(|name| file.column_family == name) && level.is_none_or(|level| file.level as u64 == level)
    };
    let files: Vec<LiveFile> = db.live_files().into_iter().filter(is_asked).collect();
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(files.len());
    let rows = files[start..].iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(json!({
        "total": files.len(),
        "offset": offset,
        "limit": limit,
        "files": rows.map(file).collect::<Vec<_>>(),
    }))
}

/// `?number=N`.
pub(crate) fn one(db: &Db, query: &Query) -> Result<Value, Refusal> {
    let found = asked(db, query)?;
    let mut value = file(&found);
    value["path"] = json!(found.directory.join(found.name()).display().to_string());
    match db.table_properties(&found) {
        Ok(table) => {
            value["properties"] = properties(&table);
            value["error"] = Value::Null;
        }
        Err(error) => {
            value["properties"] = Value::Null;
            value["error"] = crate::numbers::error(&error);
        }
    }
    Ok(value)
}

/// `?number=N`: data blocks by their bytes in the file, in buckets from one power of two to the next.
pub(crate) fn blocks(db: &Db, query: &Query) -> Result<Value, Refusal> {
    let found = asked(db, query)?;
    let (histogram, error) = match db.data_block_histogram(&found, MAX_BLOCKS) {
        Ok(histogram) => (histogram, Value::Null),
        Err(error) => (None, crate::numbers::error(&error)),
    };
    // A plain table is not of blocks.
    let of = histogram.unwrap_or_default();
    let bucket = |(bytes, blocks): (RangeInclusive<u64>, u64)| json!({ "from_bytes": bytes.start(), "to_bytes": bytes.end(), "blocks": blocks });
    Ok(json!({
        "number": found.number.0,
        "blocks": of.blocks,
        "stored_bytes": of.stored_bytes,
        "smallest_bytes": of.smallest_bytes,
        "largest_bytes": of.largest_bytes,
        "is_of_all": of.is_of_all,
        "histogram": of.buckets().map(bucket).collect::<Vec<_>>(),
        "error": error,
    }))
}

/// The live table that `number` names.
fn asked(db: &Db, query: &Query) -> Result<LiveFile, Refusal> {
    query.check_names(&["number"])?;
    let number =
        query.number("number")?.ok_or_else(|| Refusal::bad("number is needed: that in the name of the table"))?;
    let found = db.live_files().into_iter().find(|file| file.number == FileNumber(number));
    found.ok_or_else(|| {
        Refusal::new("404 Not Found", format!("table {number} is not live; a compaction may have ended"))
    })
}

fn file(file: &LiveFile) -> Value {
    json!({
        "cf": file.column_family,
        "level": file.level,
        "number": file.number.0,
        "size_bytes": file.size_bytes,
        "smallest_key": escaped(&file.smallest_user_key),
        "smallest_key_bytes": file.smallest_user_key.len(),
        "largest_key": escaped(&file.largest_user_key),
        "largest_key_bytes": file.largest_user_key.len(),
        "smallest_sequence": file.smallest_sequence.0,
        "largest_sequence": file.largest_sequence.0,
        "entries": file.num_entries,
        "deletions": file.num_deletions,
        "is_compacting": file.being_compacted,
        "temperature": format!("{:?}", file.temperature).to_lowercase(),
        "oldest_blob_file": file.oldest_blob_file.map(|number| number.0),
        "created_unix_seconds": file.file_creation_time_secs,
        "oldest_data_unix_seconds": file.oldest_ancestor_time_secs,
        "epoch_number": file.epoch_number,
    })
}

fn properties(table: &TableProperties) -> Value {
    let collected = table.user_collected.iter().take(100);
    let collected: Map<String, Value> = collected.map(|(name, value)| (escaped(name), json!(escaped(value)))).collect();
    json!({
        "raw_key_bytes": table.raw_key_size,
        "raw_value_bytes": table.raw_value_size,
        "data_bytes": table.data_size,
        "index_bytes": table.index_size,
        "filter_bytes": table.filter_size,
        "index_partitions": table.index_partitions,
        "data_blocks": table.num_data_blocks,
        "average_block_bytes": table.data_size.checked_div(table.num_data_blocks),
        "entries": table.num_entries,
        "deletions": table.num_deletions,
        "merge_operands": table.num_merge_operands,
        "range_deletions": table.num_range_deletions,
        "filter_entries": table.num_filter_entries,
        "format_version": table.format_version,
        "comparator": table.comparator_name,
        "merge_operator": table.merge_operator_name,
        "prefix_extractor": table.prefix_extractor_name,
        "filter_policy": table.filter_policy_name,
        "compression": table.compression_name,
        "compression_options": table.compression_options,
        "creation_unix_seconds": table.creation_time,
        "file_creation_unix_seconds": table.file_creation_time,
        "db_id": table.db_id,
        "db_session_id": table.db_session_id,
        "collected": collected,
    })
}

/// The first 256 bytes, escaped as the other tools do.
fn escaped(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(SHOWN_KEY_BYTES)].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_as_text_that_names_their_bytes() {
        assert_eq!(escaped(b"user:1 \\ \x00\xff"), "user:1 \\\\ \\x00\\xff");
        assert_eq!(escaped(&[b'a'; 1000]).len(), SHOWN_KEY_BYTES);
    }
}
