//! Tables that RocksDB 7.8 and 11.9 wrote: every format version, checksum, codec, index, filter and block form.
//!
//! `data/expected.tsv` says what is in each: counts, sizes and bounds as RocksDB itself recorded them, and for versions
//! that its 7.8 `sst_dump` can read, a digest of every entry as that tool printed it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, check_all_ways, check_cache_only, comparator_of, open_by_itself, scan};
use ferrock_base::internal_key::{sequence, user_key};
use ferrock_base::{Comparator, SequenceNumber};
use ferrock_cache::{BlockCache, CacheOptions};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBlockCache, TableBuilderParams, TableReadOptions,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, PosixFileSystem, WritableOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Expected {
    path: PathBuf,
    largest_sequence: u64,
    entries: u64,
    range_tombstones: u64,
    raw_key_bytes: usize,
    raw_value_bytes: usize,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    digest: Option<u64>,
}

fn unhex(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    (0..text.len() / 2).map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap()).collect()
}

fn expected() -> Vec<Expected> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let list = std::fs::read_to_string(dir.join("expected.tsv")).unwrap();
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let field: Vec<&str> = line.split('\t').collect();
        Expected {
            path: dir.join(field[0]),
            largest_sequence: field[1].parse().unwrap(),
            entries: field[2].parse().unwrap(),
            range_tombstones: field[3].parse().unwrap(),
            raw_key_bytes: field[4].parse().unwrap(),
            raw_value_bytes: field[5].parse().unwrap(),
            smallest: unhex(field[6]),
            largest: unhex(field[7]),
            digest: u64::from_str_radix(field[10], 16).ok(),
        }
    })
    .collect()
}

fn digest(entries: &Entries) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for (key, value) in entries {
        add(&(key.len() as u32).to_le_bytes());
        add(key);
        add(&(value.len() as u32).to_le_bytes());
        add(value);
    }
    hash
}

fn check(expected: &Expected, reader: &Arc<BlockTable>) -> Entries {
    let entries = scan(reader, TableReadOptions::default()).unwrap();
    let name = expected.path.display();
    assert_eq!(entries.len() as u64 + expected.range_tombstones, expected.entries, "{name}");
    assert_eq!(reader.properties().num_range_deletions, expected.range_tombstones, "{name}");
    if let Some(digest_of_sst_dump) = expected.digest {
        assert_eq!(digest(&entries), digest_of_sst_dump, "{name}");
    }
    if expected.range_tombstones == 0 {
        let key_bytes: usize = entries.iter().map(|(key, _)| key.len()).sum();
        let value_bytes: usize = entries.iter().map(|(_, value)| value.len()).sum();
        assert_eq!((key_bytes, value_bytes), (expected.raw_key_bytes, expected.raw_value_bytes), "{name}");
        assert_eq!(user_key(&entries.first().unwrap().0), expected.smallest, "{name}");
        assert_eq!(user_key(&entries.last().unwrap().0), expected.largest, "{name}");
    } else {
        let tombstones = reader.range_tombstones().unwrap();
        let comparator = comparator_of(reader.properties());
        let first = tombstones.get(0).unwrap();
        assert!(comparator.user().compare(first.start, &expected.smallest).is_ge(), "{name}");
        assert!(
            tombstones.iter().all(|piece| comparator.user().compare(piece.end, &expected.largest).is_le()),
            "{name}"
        );
    }
    let newest = entries.iter().map(|(key, _)| sequence(key).0).max().unwrap_or(0);
    assert!(newest <= expected.largest_sequence, "{name}");
    entries
}

#[test]
fn every_table_reads_every_way() {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    let cache: Arc<TableBlockCache> =
        BlockCache::new(CacheOptions { capacity_bytes: 64 << 20, ..CacheOptions::default() });
    for expected in expected() {
        let own = |params: &mut ferrock_table::TableReaderParams| {
            params.largest_sequence = Some(SequenceNumber(expected.largest_sequence));
        };
        let reader = open_by_itself(&file_system, &expected.path, None, own).unwrap();
        let entries = check(&expected, &reader);
        check_all_ways(&reader, &entries);

        // Everything through the cache, index and filter too; then without any read.
        let cached = open_by_itself(&file_system, &expected.path, Some(cache.clone()), |params| {
            params.largest_sequence = Some(SequenceNumber(expected.largest_sequence));
            params.options = Arc::new(BlockBasedTableOptions {
                cache_index_and_filter_blocks: true,
                pin_top_level_index_and_filter: false,
                ..BlockBasedTableOptions::default()
            });
        })
        .unwrap();
        assert_eq!(check(&expected, &cached), entries);
        check_all_ways(&cached, &entries);
        check_cache_only(&cached, &entries);
        assert!(cached.memory_bytes() <= reader.memory_bytes());
    }
    assert!(cache.usage() > 0);
}

/// The options a table says it was written with, as far as properties and footer tell.
fn rewriting_params(
    reader: &BlockTable,
    footer: &ferrock_format::footer::Footer,
    block_size: u64,
) -> TableBuilderParams {
    let properties = reader.properties();
    let mut params = TableBuilderParams::new(comparator_of(properties));
    params.options = Arc::new(BlockBasedTableOptions {
        format_version: footer.format_version,
        checksum: footer.checksum_type,
        block_size,
        ..BlockBasedTableOptions::default()
    });
    params.compression = CompressionType::NoCompression;
    params.db_id.clone_from(&properties.db_id);
    params.db_session_id.clone_from(&properties.db_session_id);
    params.db_host_id.clone_from(&properties.db_host_id);
    params.file_number = properties.original_file_number;
    params.column_family_id = properties.column_family_id;
    params.column_family_name.clone_from(&properties.column_family_name);
    params.creation_time = properties.creation_time;
    params.oldest_key_time = properties.oldest_key_time;
    params.newest_key_time = properties.newest_key_time.unwrap_or(0);
    params.file_creation_time = properties.file_creation_time;
    if !properties.filter_policy_name.is_empty() {
        params.filter_policy = FilterPolicy::bloom(10.0);
    }
    params
}

#[test]
fn the_builder_writes_the_same_blocks() {
    // Uncompressed tables with default restarts: block cuts, entries, index and size must come out byte for byte.
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    let memory: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let wanted =
        [("r7_8-fmt-fv2-xxhash64-none", 512u64, 16i32, true), ("r11_9-fmt-fv6-xxhash64-none", 1024, 16, false)];
    let mut seen = 0;
    for expected in expected() {
        let name = expected.path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some((_, block_size, restart, delta)) = wanted.iter().find(|(prefix, ..)| name.starts_with(prefix)) else {
            continue;
        };
        let reader = open_by_itself(&file_system, &expected.path, None, |_| {}).unwrap();
        let original = std::fs::read(&expected.path).unwrap();
        let footer = ferrock_format::footer::Footer::decode(&original, original.len() as u64).unwrap();
        let mut params = rewriting_params(&reader, &footer, *block_size);
        let options = Arc::make_mut(&mut params.options);
        options.block_restart_interval = *restart;
        options.use_delta_encoding = *delta;
        let path = Path::new("/rewritten.sst");
        let file = memory.create_writable(path, &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        for (key, value) in scan(&reader, TableReadOptions::default()).unwrap() {
            builder.add(&key, &value).unwrap();
        }
        let summary = builder.finish().unwrap();
        let (ours, theirs) = (&summary.properties, reader.properties());
        assert_eq!(ours.num_data_blocks, theirs.num_data_blocks, "{name}");
        assert_eq!(ours.data_size, theirs.data_size, "{name}");
        assert_eq!(ours.index_size, theirs.index_size, "{name}");
        assert_eq!(ours.num_filter_entries, theirs.num_filter_entries, "{name}");
        if footer.format_version >= 6 {
            // The same release: every property by name and value.
            assert_eq!(ours.entries(), theirs.entries(), "{name}");
        }
        let rewritten = ferrock_vfs::read_file(&*memory, path).unwrap();
        if footer.base_context_checksum == 0 {
            let end = usize::try_from(ours.data_size).unwrap();
            assert!(rewritten[..end] == original[..end], "{name}: data blocks differ");
        }
        seen += 1;
    }
    assert_eq!(seen, wanted.len());
}

#[test]
fn a_table_opens_only_with_its_order() {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    let expected = expected();
    let bytewise = expected.iter().find(|expected| expected.path.ends_with("r11_9-edge-keys-000010.sst")).unwrap();
    let error = open_by_itself(&file_system, &bytewise.path, None, |params| {
        params.comparator = ferrock_base::InternalComparator::new(Comparator::ReverseBytewise);
    });
    assert!(error.unwrap_err().message().contains("sorted by leveldb.BytewiseComparator"));
}
