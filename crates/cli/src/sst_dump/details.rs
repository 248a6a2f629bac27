//! Properties and statistics of a table, as text.

use crate::{Failure, Result};
use ferrock_base::internal_key::{sequence, trailer, user_key};
use ferrock_base::{ValueType, internal_key::TRAILER_SIZE};
use ferrock_console::failure::BAD_DATA;
use ferrock_console::text::digits;
use ferrock_format::properties::names;
use ferrock_table::reader::BlockSizes;
use ferrock_table::{BlockTable, Table, TableStatistics};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;

const LINE: &str = "------------------------------";

/// `--parse_internal_key`: returns the exit code.
pub(crate) fn print_internal_key(key: &[u8], out: &mut dyn Write) -> Result<u8> {
    if key.len() < TRAILER_SIZE {
        return Err(Failure::Data(format!("Corrupted Key: {} bytes; the trailer alone has {TRAILER_SIZE}", key.len())));
    }
    let value_type = trailer(key) as u8;
    let text = format!("'{}' seq:{}, type:{value_type}", digits(user_key(key)), sequence(key).0);
    writeln!(out, "key={text}")?;
    if ValueType::from_u8(value_type).is_some() {
        return Ok(0);
    }
    out.flush()?;
    let _ = writeln!(std::io::stderr(), "Corrupted Key: {text}");
    Ok(BAD_DATA)
}

/// `--show_properties`.
pub(crate) fn print_properties(table: &Table, out: &mut dyn Write) -> Result<()> {
    // RocksDB's text of them ends in the delimiter.
    write!(out, "Table Properties:\n{LINE}\n  {}", table.properties().to_text("\n  ", ": "))?;
    let collected = collected(table)?;
    writeln!(out, "Raw user collected properties\n{LINE}")?;
    for (name, value) in &collected {
        writeln!(out, "  # {}: 0x{}", String::from_utf8_lossy(name), digits(value))?;
    }
    let readable: Vec<_> = collected.iter().filter_map(|(name, value)| Some((name, readable(name, value)?))).collect();
    if !readable.is_empty() {
        writeln!(out, "Readable user collected properties\n{LINE}")?;
        for (name, value) in readable {
            writeln!(out, "  # {}: {value}", String::from_utf8_lossy(name))?;
        }
    }
    Ok(())
}

/// The properties that sst_dump shows as collected.
pub(crate) fn collected(table: &Table) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    match table.as_block() {
        Some(blocks) => Ok(blocks.contents().user_collected_properties()?),
        None => Ok(table.properties().user_collected.clone()),
    }
}

/// The value of a property that RocksDB does not define, when it is text.
pub(crate) fn readable<'a>(name: &[u8], value: &'a [u8]) -> Option<&'a str> {
    let is_rocksdbs = names::ALL.iter().any(|known| known.as_bytes() == name);
    let text = std::str::from_utf8(value).ok().filter(|text| !text.is_empty())?;
    (!is_rocksdbs && !text.chars().any(char::is_control)).then_some(text)
}

/// `--list_meta_blocks`.
pub(crate) fn print_meta_blocks(reader: &BlockTable, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "Meta Blocks:\n{LINE}")?;
    for (name, handle) in reader.contents().meta_blocks()? {
        writeln!(out, "  {}: {} {}", String::from_utf8_lossy(&name), handle.offset, handle.size)?;
    }
    Ok(())
}

fn row(out: &mut dyn Write, name: &str, value: impl Display) -> Result<()> {
    Ok(writeln!(out, "  {name}: {value}")?)
}

fn sizes(out: &mut dyn Write, what: &str, blocks: &BlockSizes) -> Result<()> {
    row(out, &format!("# {what}"), blocks.count)?;
    row(out, &format!("{what} size, stored"), blocks.stored_bytes)?;
    row(out, &format!("{what} size, uncompressed"), blocks.uncompressed_bytes)?;
    if blocks.count > 1 {
        let average = blocks.uncompressed_bytes as f64 / blocks.count as f64;
        let (least, most) = (blocks.smallest_bytes, blocks.largest_bytes);
        row(out, &format!("{what} size, min / avg / max"), format_args!("{least} / {average:.1} / {most}"))?;
    }
    Ok(())
}

/// What blocks are called of which none, all, or some belong to partitioned tables.
fn parts(names: [&str; 3], tables: u64, partitioned: u64) -> &str {
    let [whole, partitions, mixed] = names;
    if partitioned == 0 {
        whole
    } else if partitioned == tables {
        partitions
    } else {
        mixed
    }
}

/// `--show_statistics`.
pub(crate) fn print_statistics(title: &str, statistics: &TableStatistics, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{title}:\n{LINE}")?;
    if statistics.tables != 1 {
        row(out, "# tables", statistics.tables)?;
    }
    row(out, "file size", statistics.file_bytes)?;
    sizes(out, "data blocks", &statistics.data.blocks)?;
    row(out, "# entries in data blocks", statistics.data.entries)?;
    row(out, "# restarts in data blocks", statistics.data.restarts)?;
    print_index(statistics, out)?;
    print_filter(statistics, out)?;
    print_hash_index(statistics, out)
}

fn print_index(statistics: &TableStatistics, out: &mut dyn Write) -> Result<()> {
    let index = &statistics.index;
    row(out, "# tables with a partitioned index", index.partitioned_tables)?;
    let stored = index.top_level.stored_bytes + index.partitions.stored_bytes;
    row(out, "index size, top level and partitions, stored", stored)?;
    if index.top_level.count > 0 {
        sizes(out, "index top levels", &index.top_level)?;
    }
    let what = parts(
        ["index blocks", "index partitions", "index blocks and partitions"],
        statistics.tables,
        index.partitioned_tables,
    );
    sizes(out, what, &index.partitions)?;
    let average = index.entries as f64 / index.partitions.count.max(1) as f64;
    let (least, most) = (index.fewest_entries, index.most_entries);
    row(out, "entries of one of them, min / avg / max", format_args!("{least} / {average:.1} / {most}"))
}

fn print_filter(statistics: &TableStatistics, out: &mut dyn Write) -> Result<()> {
    let filter = &statistics.filter;
    row(out, "# tables with a filter", filter.tables)?;
    if filter.tables == 0 {
        return Ok(());
    }
    row(out, "# tables with a partitioned filter", filter.partitioned_tables)?;
    let stored = filter.top_level.stored_bytes + filter.partitions.stored_bytes;
    row(out, "filter size, top level and partitions, stored", stored)?;
    if filter.top_level.count > 0 {
        sizes(out, "filter top levels", &filter.top_level)?;
    }
    let what = parts(
        ["filter blocks", "filter partitions", "filter blocks and partitions"],
        filter.tables,
        filter.partitioned_tables,
    );
    sizes(out, what, &filter.partitions)?;
    let formats = [
        ("LegacyBloom", filter.formats.legacy_bloom),
        ("FastLocalBloom", filter.formats.fast_local_bloom),
        ("Ribbon", filter.formats.ribbon),
        ("constant", filter.formats.constant),
    ];
    let formats = formats.iter().filter(|(_, count)| *count > 0);
    let formats: Vec<String> = formats.map(|(name, count)| format!("{name} {count}")).collect();
    row(out, "formats of them", formats.join(", "))
}

fn print_hash_index(statistics: &TableStatistics, out: &mut dyn Write) -> Result<()> {
    let hash = &statistics.hash_index;
    row(out, "# data blocks with a hash index", hash.blocks)?;
    row(out, "# data blocks with too many restarts for a hash index", hash.blocks_with_too_many_restarts)?;
    row(out, "# data blocks too large for a hash index", hash.blocks_too_large)?;
    row(out, "# other data blocks without a hash index", hash.other_blocks_without)?;
    if hash.blocks == 0 {
        return Ok(());
    }
    row(out, "hash index size", hash.bytes)?;
    let (single, collided) = (hash.single_buckets, hash.collided_buckets);
    let empty = hash.buckets.saturating_sub(single + collided);
    let parts =
        format_args!("{} ({single} of one interval, {collided} collided, {empty} empty)", hash.buckets).to_string();
    row(out, "# hash index buckets", parts)?;
    row(out, "# user keys in blocks with a hash index", hash.keys)?;
    row(out, "hash index fill, keys per bucket", format_args!("{:.4}", hash.fill_ratio()))?;
    row(out, "# user keys whose lookup falls back to binary search", hash.keys_falling_back)?;
    row(out, "hash index fallback ratio", format_args!("{:.4}", hash.fallback_ratio()))
}
