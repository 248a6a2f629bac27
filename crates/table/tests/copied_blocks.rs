//! Blocks that come out of a merge as they went in are copied, and the table has the bytes that it has without that.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, scan};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::random::Random;
use ferrock_base::thread::StdSpawner;
use ferrock_base::{InternalComparator, InternalIterator, SequenceNumber, ValueType};
use ferrock_cache::CacheOptions;
use ferrock_format::compression::CompressionType;
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, BlockTableIter, StoredBlocks, TableBlockCache,
    TableBuilderParams, TableReadOptions, TableReaderParams, TableSummary,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions, read_file};
use std::path::Path;
use std::sync::Arc;

const KINDS: [CompressionType; 6] = [
    CompressionType::Snappy,
    CompressionType::Zlib,
    CompressionType::BZip2,
    CompressionType::Lz4,
    CompressionType::Lz4Hc,
    CompressionType::Zstd,
];

/// What jobs read tables with.
fn of_a_job() -> TableReadOptions {
    TableReadOptions { fill_cache: false, readahead_bytes: 64 << 10, ..TableReadOptions::default() }
}

fn params(kind: CompressionType, threads: u32) -> TableBuilderParams {
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.compression = kind;
    params.compression_options.parallel_threads = threads;
    params.spawner = Some(StdSpawner::shared());
    params.options = Arc::new(BlockBasedTableOptions { block_size: 1000, ..BlockBasedTableOptions::default() });
    params
}

fn key(number: u64, sequence: u64) -> Vec<u8> {
    make_internal_key(format!("key{number:06}").as_bytes(), SequenceNumber(sequence), ValueType::Value)
}

/// Values of 0 to 120 bytes; every third hundred of them does not compress.
fn entries(seed: u64, numbers: impl Iterator<Item = u64>, sequence: u64) -> Entries {
    let mut random = Random::new(seed);
    let value = |number: u64, random: &mut Random| {
        let letters = if number / 100 % 3 == 1 { 256 } else { 4 };
        (0..random.below(120)).map(|_| random.below(letters) as u8).collect::<Vec<u8>>()
    };
    numbers.map(|number| (key(number, sequence), value(number, &mut random))).collect()
}

/// The bytes of a table.
fn build(params: TableBuilderParams, mut add: impl FnMut(&mut BlockTableBuilder)) -> (Vec<u8>, TableSummary) {
    let memory = MemoryFileSystem::new();
    let path = Path::new("/000007.sst");
    let file = memory.create_writable(path, &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    add(&mut builder);
    let summary = builder.finish().unwrap();
    (read_file(&memory, path).unwrap(), summary)
}

fn table(params: TableBuilderParams, entries: &Entries) -> Vec<u8> {
    build(params, |builder| entries.iter().for_each(|(key, value)| builder.add(key, value).unwrap())).0
}

fn open(bytes: &[u8], mmap: bool, cache: Option<Arc<TableBlockCache>>) -> Arc<BlockTable> {
    let memory = MemoryFileSystem::new();
    let path = Path::new("/000007.sst");
    memory.create_writable(path, &WritableOptions::default()).unwrap().append(bytes).unwrap();
    let file = memory.open_random_access(path, &RandomAccessOptions { mmap, ..Default::default() }).unwrap();
    assert_eq!(file.mapping().is_some(), mmap);
    let params = TableReaderParams::new(file, Arc::new(memory), InternalComparator::default());
    BlockTable::open(TableReaderParams { cache, ..params }).unwrap()
}

/// Merges tables, the newest first, as a compaction does: of each user key the newest entry, if `changes` leaves it;
/// what it makes of a value is written.
fn merge(
    tables: &[Arc<BlockTable>],
    copies: bool,
    mut params: TableBuilderParams,
    change: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>>,
) -> (Vec<u8>, TableSummary) {
    let new = if copies { StoredBlocks::new } else { StoredBlocks::without_copies };
    let stored = new(params.compression, &params.compression_options, params.options.format_version);
    let mut inputs: Vec<BlockTableIter> = tables.iter().map(|table| table.iter(of_a_job())).collect();
    for input in &mut inputs {
        if let Some(stored) = &stored {
            input.keep_stored(&stored.add_input());
        }
        input.seek_to_first();
    }
    params.stored_blocks = stored;
    build(params, |builder| {
        let (order, mut last) = (InternalComparator::default(), Vec::new());
        while let Some(next) =
            inputs.iter_mut().filter(|input| input.valid()).min_by(|a, b| order.compare(a.key(), b.key()))
        {
            let (user, _) = next.key().split_at(next.key().len() - 8);
            if user != last
                && let Some(value) = change(next.key(), next.value())
            {
                builder.add(next.key(), &value).unwrap();
            }
            last = user.to_vec();
            next.next();
        }
        inputs.iter().for_each(|input| input.status().unwrap());
    })
}

fn unchanged(_: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    Some(value.to_vec())
}

/// Merges with and without copies; both make the same table. Says how many blocks were copied, of how many.
fn both(
    tables: &[Arc<BlockTable>],
    params: &TableBuilderParams,
    change: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>> + Copy,
) -> (u64, u64) {
    let (expected, anew) = merge(tables, false, params.clone(), change);
    assert_eq!(anew.copied.blocks, 0);
    let mut copied = None;
    for threads in [1, 0, 2, 4] {
        let mut params = params.clone();
        params.compression_options.parallel_threads = threads;
        let (bytes, summary) = merge(tables, true, params, change);
        assert!(bytes == expected, "{threads} threads: another table");
        assert_eq!(summary.num_verified_blocks, anew.num_verified_blocks);
        assert_eq!(*copied.get_or_insert(summary.copied), summary.copied, "{threads} threads");
    }
    (copied.unwrap().blocks, anew.properties.num_data_blocks)
}

#[test]
fn a_table_that_nothing_interleaves_is_copied_as_a_whole() {
    for kind in KINDS {
        for (format_version, verify_compression) in [(2, false), (5, true), (7, false)] {
            let mut params = params(kind, 1);
            let options = Arc::make_mut(&mut params.options);
            (options.format_version, options.verify_compression) = (format_version, verify_compression);
            let source = table(params.clone(), &entries(3, 0..2000, 9));
            for mmap in [false, true] {
                let source = open(&source, mmap, None);
                let rejected = source.properties().num_data_blocks_compression_rejected;
                assert!(rejected > 10 && rejected + 30 < source.properties().num_data_blocks, "{rejected}");
                let (copied, blocks) = both(&[source], &params, unchanged);
                assert_eq!(copied, blocks, "{kind:?}, version {format_version}, mmap {mmap}");
            }
        }
    }
}

#[test]
fn what_was_copied_counts_as_stored_bytes() {
    let params = params(CompressionType::Lz4, 1);
    let source = open(&table(params.clone(), &entries(3, 0..2000, 9)), false, None);
    let (_, summary) = merge(&[source], true, params, unchanged);
    let trailers = 5 * summary.properties.num_data_blocks;
    assert_eq!(summary.copied.bytes + trailers, summary.properties.data_size);
}

#[test]
fn another_form_is_compressed_anew() {
    let source_of = |params: &TableBuilderParams| open(&table(params.clone(), &entries(3, 0..1000, 9)), false, None);
    let own = params(CompressionType::Zstd, 1);
    let changes: [fn(&mut TableBuilderParams); 7] = [
        |params| params.compression = CompressionType::Lz4,
        |params| params.compression = CompressionType::NoCompression,
        |params| params.compression_options.level = 1,
        |params| params.compression_options.max_compressed_bytes_per_kb = 1024,
        |params| params.compression_options.checksum = true,
        |params| params.compression_options.max_dict_bytes = 4096,
        |params| Arc::make_mut(&mut params.options).format_version = 5,
    ];
    assert!(both(&[source_of(&own)], &own, unchanged).0 > 0);
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = own.clone();
        change(&mut other);
        assert_eq!(both(&[source_of(&own)], &other, unchanged).0, 0, "change {number} of the output");
        assert_eq!(both(&[source_of(&other)], &own, unchanged).0, 0, "change {number} of the input");
    }
    // Of two inputs the one that has the form is copied.
    let mut other = own.clone();
    other.compression_options.level = 1;
    let tables = [source_of(&own), open(&table(other, &entries(4, 1000..2000, 9)), false, None)];
    let (copied, blocks) = both(&tables, &own, unchanged);
    assert!(copied > blocks / 3 && copied < blocks * 2 / 3, "{copied} of {blocks}");
}

#[test]
fn another_dictionary_is_no_payload_of_this_table() {
    let mut params = params(CompressionType::Zstd, 1);
    params.compression_options.max_dict_bytes = 4096;
    let source = open(&table(params.clone(), &entries(3, 0..1000, 9)), false, None);
    assert_eq!(both(&[source], &params, unchanged).0, 0);
}

#[test]
fn a_block_with_other_bytes_of_the_same_length_is_compressed_anew() {
    for seed in 0..6 {
        let params = params(KINDS[seed as usize], 1);
        let source = open(&table(params.clone(), &entries(seed, 0..3000, 9)), false, None);
        // One byte of one value in about a hundred.
        let change = |key: &[u8], value: &[u8]| {
            let mut value = value.to_vec();
            if ferrock_base::hash::hash128(key, seed).0.is_multiple_of(100)
                && let Some(byte) = value.last_mut()
            {
                *byte ^= 1;
            }
            Some(value)
        };
        let (copied, blocks) = both(&[source], &params, change);
        assert!(copied > blocks / 4 && copied < blocks, "{copied} of {blocks}");
    }
}

#[test]
fn merges_make_the_same_tables() {
    for seed in 0..30u64 {
        let mut random = Random::new(seed);
        let mut params = params(KINDS[random.below(6) as usize], 1);
        let options = Arc::make_mut(&mut params.options);
        options.block_size = [1, 200, 1000, 4096][random.below(4) as usize];
        options.block_size_deviation = [0, 10][random.below(2) as usize];
        options.verify_compression = random.below(2) == 0;
        let step = 1 + random.below(40);
        let old = table(params.clone(), &entries(seed, 0..3000, 5));
        let new = table(params.clone(), &entries(seed + 100, (random.below(1000)..2000).step_by(step as usize), 9));
        let tables = [open(&new, false, None), open(&old, false, None)];
        // Now and then a stretch of keys is dropped.
        let drops = random.below(2) == 0;
        let change = |key: &[u8], value: &[u8]| {
            (!drops || !ferrock_base::hash::hash128(&key[..8], seed).0.is_multiple_of(20)).then(|| value.to_vec())
        };
        let (copied, _) = both(&tables, &params, change);
        assert!(copied > 0 || drops, "seed {seed}");
    }
}

#[test]
fn what_rocksdb_compressed_is_copied() {
    for (name, format_version, kind) in [
        ("fv3-xxh3-lz4hc", 3, CompressionType::Lz4Hc),
        ("fv4-xxhash-lz4", 4, CompressionType::Lz4),
        ("fv5-xxhash64-zstd", 5, CompressionType::Zstd),
        ("fv6-crc32c-bzip2", 6, CompressionType::BZip2),
        ("fv7-crc32c-snappy", 7, CompressionType::Snappy),
        ("fv7-xxh3-lz4hc", 7, CompressionType::Lz4Hc),
    ] {
        let path = format!("{}/tests/data/r11_9-fmt-{name}-000017.sst", env!("CARGO_MANIFEST_DIR"));
        let source = open(&std::fs::read(path).unwrap(), false, None);
        // Its properties do not say of what size blocks were to be.
        let mut most = 0;
        for (block_size, block_restart_interval) in
            [(512, 16), (1024, 16), (2048, 16), (4096, 16), (512, 1), (1024, 1), (2048, 1), (4096, 1), (1024, 4)]
        {
            for use_delta_encoding in [false, true] {
                let options =
                    BlockBasedTableOptions { format_version, block_size, ..BlockBasedTableOptions::default() };
                let mut params = params(kind, 1);
                params.options =
                    Arc::new(BlockBasedTableOptions { block_restart_interval, use_delta_encoding, ..options });
                let (bytes, summary) = merge(&[Arc::clone(&source)], true, params, unchanged);
                let again = open(&bytes, false, None);
                assert!(scan(&again, of_a_job()).unwrap() == scan(&source, of_a_job()).unwrap());
                most = most.max(summary.copied.blocks);
            }
        }
        assert!(most > 0, "{name}: {most}");
    }
}

/// Merges a table of those of 4000 rows that are not `is_new` with one of the others. Gives blocks: copied, of the
/// output, of the output if no block ended early, and of the input.
fn aligned(options: BlockBasedTableOptions, is_new: impl Fn(u64) -> bool) -> [u64; 4] {
    let mut params = params(CompressionType::Lz4, 1);
    params.options = Arc::new(options);
    let value = |number: u64| number.to_le_bytes().repeat(10);
    let old: Entries =
        (0..4000).filter(|&number| !is_new(number)).map(|number| (key(number, 5), value(number))).collect();
    let new: Entries = (0..4000).filter(|&number| is_new(number)).map(|number| (key(number, 9), value(7))).collect();
    let tables = [&new, &old].map(|entries| open(&table(params.clone(), entries), false, None));
    let (copied, blocks) = both(&tables, &params, unchanged);
    let expected: Entries = (0..4000)
        .map(|number| if is_new(number) { (key(number, 9), value(7)) } else { (key(number, 5), value(number)) })
        .collect();
    let (bytes, _) = merge(&tables, true, params.clone(), unchanged);
    assert!(scan(&open(&bytes, false, None), TableReadOptions::default()).unwrap() == expected);
    let by_size = open(&table(params, &expected), false, None);
    [copied, blocks, by_size.properties().num_data_blocks, tables[1].properties().num_data_blocks]
}

#[test]
fn blocks_are_copied_again_behind_what_came_in_between() {
    let options = BlockBasedTableOptions { block_size: 1000, ..BlockBasedTableOptions::default() };
    // They move all that is behind them.
    let [copied, blocks, by_size, input] = aligned(options.clone(), |number| number % 401 == 7);
    assert!(copied > input * 9 / 10 && blocks > by_size, "{copied} copied, {blocks} blocks, {by_size}, {input}");
    assert!(blocks <= by_size + 11, "one more for each new row: {blocks}, {by_size}");
    // In every block.
    let [copied, blocks, by_size, _] = aligned(options.clone(), |number| number % 5 == 2);
    assert!(copied == 0 && blocks <= by_size + 4, "{copied} copied, {blocks} blocks, {by_size}");
    // In every other block.
    let [_, blocks, by_size, _] = aligned(options.clone(), |number| number % 20 == 2);
    assert!(blocks <= by_size + by_size / 10, "{blocks} blocks, {by_size}");
    // Aligned blocks, and blocks of one entry, end where they do.
    for options in [
        BlockBasedTableOptions { block_align: true, block_size: 1024, ..BlockBasedTableOptions::default() },
        BlockBasedTableOptions { block_size: 1, ..BlockBasedTableOptions::default() },
    ] {
        let is_aligned = options.block_align;
        let [_, blocks, by_size, _] = aligned(options, |number| number % 401 == 7);
        assert_eq!(blocks, by_size, "{is_aligned}");
    }
}

#[test]
fn blocks_of_the_cache_are_read_again() {
    let params = params(CompressionType::Lz4, 1);
    let cache = TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..Default::default() });
    let bytes = table(params.clone(), &entries(3, 0..1000, 9));
    let source = open(&bytes, false, Some(cache));
    let (copied, blocks) = both(&[Arc::clone(&source)], &params, unchanged);
    assert_eq!(copied, blocks, "nothing was cached");
    scan(&source, TableReadOptions::default()).unwrap();
    assert_eq!(both(&[Arc::clone(&source)], &params, unchanged).0, blocks, "all of it is cached");
    let only_new = |key: &[u8], value: &[u8]| (key > &b"key000500"[..]).then(|| value.to_vec());
    let uncached = both(&[open(&bytes, false, None)], &params, only_new);
    assert_eq!(both(&[source], &params, only_new), uncached);
}

#[test]
fn memory_is_bounded() {
    let mut params = params(CompressionType::Lz4, 1);
    params.options = Arc::default();
    for (value_bytes, inputs) in [(100, 1), (100, 40), (100 << 10, 3), (100 << 10, 40), (3 << 20, 4)] {
        let rows = if value_bytes > 1000 { 10 } else { 1000 };
        let entries: Entries = (0..rows).map(|number| (key(number, 9), vec![b'v'; value_bytes])).collect();
        let source = open(&table(params.clone(), &entries), false, None);
        let stored = StoredBlocks::new(params.compression, &params.compression_options, 7).unwrap();
        assert_eq!(source.contents().footer().format_version, 7);
        let mut most = 0;
        let mut iters: Vec<_> = (0..inputs).map(|_| source.iter(of_a_job())).collect();
        for iter in &mut iters {
            iter.keep_stored(&stored.add_input());
            iter.seek_to_first();
            while iter.valid() {
                most = most.max(stored.memory_bytes());
                iter.next();
            }
        }
        let blocks = inputs * 3 * (value_bytes.max(4096) * 5 / 2);
        assert_eq!(most > 0, value_bytes < 2 << 20, "a block with its payload is within the bound");
        assert!(most <= blocks.min(4 << 20), "{inputs} inputs, values of {value_bytes}: {most}");
    }
}
