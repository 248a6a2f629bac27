//! Tables come out byte for byte as RocksDB 11.8.1 writes them.
//!
//! `data/same-bytes.tsv` has a row for each combination of options: where RocksDB's properties block began, the CRC32C
//! of everything before it (data blocks, filters, indexes, with trailers), and what its properties say. The rows were
//! made by writing [`entries`] to a database through RocksDB's C functions and flushing it; `versions` were written
//! with a snapshot held after each, so that nothing was dropped. Format versions up to 5 only: the checksums of later
//! ones differ from file to file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, check_all_ways, scan};
use ferrock_base::InternalComparator;
use ferrock_base::ValueType;
use ferrock_base::checksum::crc32c;
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::SequenceNumber;
use ferrock_format::filter::FilterPolicy;
use ferrock_format::metaindex;
use ferrock_table::options::PartitionFromLevel;
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBuilderParams, TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions, read_file};
use std::path::Path;
use std::sync::Arc;

/// What RocksDB was given.
fn entries(has_versions: bool) -> Entries {
    let mut entries = Vec::new();
    for i in 0..3000u64 {
        // Seven in fifty are versions of one key.
        let number = if has_versions && (20..27).contains(&(i % 50)) { i - i % 50 + 20 } else { i };
        let key = format!("group{:05}-{number:06}", number / 7);
        let value = (i * 2_654_435_761 % 1_000_003).to_string().repeat(1 + i as usize % 5);
        entries.push((make_internal_key(key.as_bytes(), SequenceNumber(i + 1), ValueType::Value), value.into_bytes()));
    }
    let order = InternalComparator::default();
    entries.sort_by(|a, b| order.compare(&a.0, &b.0));
    entries
}

struct Row<'a> {
    name: &'a str,
    has_versions: bool,
    options: BlockBasedTableOptions,
    filter_policy: FilterPolicy,
    prefix_extractor: Option<PrefixExtractor>,
    /// Where the properties begin, and the CRC32C of all before.
    blocks: (usize, u32),
    properties: Vec<u64>,
}

fn rows() -> Vec<Row<'static>> {
    let lines = include_str!("data/same-bytes.tsv").lines();
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let mut options = BlockBasedTableOptions { optimize_filters_for_memory: false, ..Default::default() };
            let mut filter_policy = FilterPolicy::None;
            for option in fields[2].split_terminator(';') {
                let (name, value) = option.split_once('=').unwrap();
                if name == "filter_policy" {
                    filter_policy = FilterPolicy::parse(value).unwrap();
                } else {
                    assert!(options.set(name, value).unwrap(), "{name}");
                }
            }
            // RocksDB partitions whatever the size.
            options.partition_from_level = PartitionFromLevel::Level(0);
            let prefix_extractor = fields[3].split_once(':').map(|(kind, length)| match (kind, length.parse()) {
                ("fixed", Ok(length)) => PrefixExtractor::Fixed(length),
                ("capped", Ok(length)) => PrefixExtractor::Capped(length),
                _ => panic!("{line}"),
            });
            Row {
                name: fields[0],
                has_versions: fields[1] == "versions",
                options,
                filter_policy,
                prefix_extractor,
                blocks: (fields[4].parse().unwrap(), u32::from_str_radix(fields[5], 16).unwrap()),
                properties: fields[6..].iter().map(|field| field.parse().unwrap()).collect(),
            }
        })
        .collect()
}

#[test]
fn every_combination_of_options_gives_the_bytes_of_rocksdb() {
    let memory = MemoryFileSystem::new();
    let path = Path::new("/table.sst");
    let file_system: Arc<dyn FileSystem> = Arc::new(memory);
    let all = [entries(false), entries(true)];
    let mut failures = Vec::new();
    for row in rows() {
        let entries = &all[usize::from(row.has_versions)];
        // With it, sizes of filters hang on the allocator.
        assert!(!row.options.optimize_filters_for_memory);
        let mut params = TableBuilderParams::new(InternalComparator::default());
        params.options = Arc::new(row.options.clone());
        params.filter_policy = row.filter_policy;
        params.filter_level = -1;
        params.prefix_extractor.clone_from(&row.prefix_extractor);
        let file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        for (key, value) in entries {
            builder.add(key, value).unwrap();
        }
        let ours = builder.finish().unwrap().properties;
        let properties = vec![
            ours.data_size,
            ours.num_data_blocks,
            ours.index_size,
            ours.index_partitions,
            ours.top_level_index_size,
            ours.filter_size,
            ours.num_filter_entries,
            ours.index_key_is_user_key,
            ours.index_value_is_delta_encoded,
            ours.num_uniform_blocks.unwrap_or(0),
        ];
        let bytes = read_file(&*file_system, path).unwrap();
        if let Ok(directory) = std::env::var("FERROCK_KEEP_TABLES") {
            std::fs::write(Path::new(&directory).join(row.name), &bytes).unwrap();
        }
        let reader = {
            let file = file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
            let mut params = TableReaderParams::new(file, Arc::clone(&file_system), InternalComparator::default());
            params.prefix_extractor.clone_from(&row.prefix_extractor);
            BlockTable::open(params).unwrap()
        };
        assert_eq!(&scan(&reader, TableReadOptions::default()).unwrap(), entries, "{}", row.name);
        check_all_ways(&reader, entries);
        let end = properties_offset(&bytes);
        let blocks = (end, crc32c(&bytes[..end]));
        if properties != row.properties || blocks != row.blocks {
            failures
                .push(format!("{}: {blocks:x?} {properties:?}, not {:x?} {:?}", row.name, row.blocks, row.properties));
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

/// Every prefix and every key answers "maybe" from both sides of every partition edge, also where a prefix goes on in
/// the next partition, and where a lookup lands behind the last key of one; most of what is not there answers "no".
#[test]
fn partition_edges_hide_no_key_and_no_prefix() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = Path::new("/table.sst");
    let entries = entries(false);
    for (decoupled, whole, policy) in [
        (true, true, FilterPolicy::bloom(16.0)),
        (true, false, FilterPolicy::bloom(16.0)),
        (false, true, FilterPolicy::bloom(16.0)),
        (false, false, FilterPolicy::ribbon(16.0, -1)),
        (true, false, FilterPolicy::ribbon(16.0, -1)),
    ] {
        let extractor = Some(PrefixExtractor::Fixed(10));
        let mut params = TableBuilderParams::new(InternalComparator::default());
        params.options = Arc::new(BlockBasedTableOptions {
            index_type: ferrock_table::options::IndexType::TwoLevelIndexSearch,
            partition_filters: true,
            decouple_partitioned_filters: decoupled,
            whole_key_filtering: whole,
            metadata_block_size: 1,
            block_size: 100,
            ..Default::default()
        });
        params.filter_policy = policy;
        params.prefix_extractor.clone_from(&extractor);
        let file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        entries.iter().for_each(|(key, value)| builder.add(key, value).unwrap());
        let properties = builder.finish().unwrap().properties;
        assert!(properties.index_partitions > 100, "{}", properties.index_partitions);
        let file = file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
        let mut params = TableReaderParams::new(file, Arc::clone(&file_system), InternalComparator::default());
        params.prefix_extractor.clone_from(&extractor);
        let reader = BlockTable::open(params).unwrap();
        check_all_ways(&reader, &entries);
        let options = TableReadOptions::default();
        let (mut absent, mut maybe) = (0, 0);
        for (key, _) in &entries {
            let key = user_key(key);
            // Before every key of the prefix, at this key, and between it and the next.
            for target in [&key[..10], key, &[key, b"0"].concat()] {
                assert!(reader.prefix_may_match(&options, target).unwrap(), "{}", target.escape_ascii());
            }
            absent += 1;
            let other = [&key[..9], b"x", &key[10..]].concat();
            maybe += usize::from(reader.prefix_may_match(&options, &other).unwrap());
        }
        assert!(maybe * 20 < absent, "{maybe} of {absent}");
    }
}

fn properties_offset(bytes: &[u8]) -> usize {
    use ferrock_format::block::MetaBlock;
    let footer = ferrock_format::footer::Footer::decode(bytes, bytes.len() as u64).unwrap();
    let start = footer.metaindex.offset as usize;
    let block = MetaBlock::new(&bytes[start..start + footer.metaindex.size as usize]).unwrap();
    let entries = block.entries().unwrap();
    let (_, handle) = entries.iter().find(|(name, _)| name == metaindex::PROPERTIES.as_bytes()).unwrap();
    ferrock_format::handle::BlockHandle::decode(handle).unwrap().0.offset as usize
}
