//! Filter partitions that do not stay in the cache are read only where that pays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_cache::{BlockCache, CacheOptions, EntryRole};
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::IndexType;
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBlockCache, TableBuilderParams, TableReadOptions,
    TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use std::path::Path;
use std::sync::Arc;

const KEYS: u32 = 20_000;
/// Far less than the index and filter partitions, enough for some.
const SCARCE_BYTES: usize = 16 << 10;
const AMPLE_BYTES: usize = 64 << 20;

/// Present keys are even, absent ones odd: absent keys lie between present ones.
fn key(number: u32) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

struct Table {
    reader: Arc<BlockTable>,
    cache: Arc<TableBlockCache>,
    file_system: Arc<dyn FileSystem>,
    /// Makes the order of keys repeatable and unlike theirs.
    next: u32,
}

impl Table {
    fn open(capacity_bytes: usize, cache_index_and_filter_blocks: bool) -> Self {
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let path = Path::new("/table.sst");
        let options = Arc::new(BlockBasedTableOptions {
            index_type: IndexType::TwoLevelIndexSearch,
            partition_filters: true,
            metadata_block_size: 1000,
            block_size: 1000,
            cache_index_and_filter_blocks,
            ..Default::default()
        });
        let mut params = TableBuilderParams::new(InternalComparator::default());
        params.options = options.clone();
        params.filter_policy = FilterPolicy::bloom(10.0);
        let file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        for number in 0..KEYS {
            let key = make_internal_key(&key(2 * number), SequenceNumber(7), ValueType::Value);
            builder.add(&key, &number.to_be_bytes().repeat(10)).unwrap();
        }
        builder.finish().unwrap();
        let cache: Arc<TableBlockCache> =
            BlockCache::new(CacheOptions { capacity_bytes, shard_bits: Some(0), ..CacheOptions::default() });
        let file = file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
        let mut params = TableReaderParams::new(file, file_system.clone(), InternalComparator::default());
        params.options = options;
        params.cache = Some(Arc::clone(&cache));
        Self { reader: BlockTable::open(params).unwrap(), cache, file_system, next: 1 }
    }

    /// With `cache_index_and_filter_blocks` and without: partitions are in the cache either way.
    fn both(capacity_bytes: usize) -> [Self; 2] {
        [true, false].map(|in_cache| Self::open(capacity_bytes, in_cache))
    }

    fn draw(&mut self) -> u32 {
        self.next = (self.next * 7919) % 19_997;
        self.next
    }

    fn get(&self, number: u32) -> Option<Vec<u8>> {
        let lookup = LookupKey::new(&key(number), MAX_SEQUENCE_NUMBER);
        let mut found = None;
        let mut visit = |_: ferrock_base::ParsedInternalKey<'_>, value: &[u8], _: &ferrock_table::PinnedBlock<'_>| {
            found = Some(value.to_vec());
            true
        };
        self.reader.get(&TableReadOptions::default(), &lookup, &mut visit).unwrap();
        found
    }

    fn get_present(&mut self, count: usize) {
        for _ in 0..count {
            let number = self.draw();
            assert_eq!(self.get(2 * number), Some(number.to_be_bytes().repeat(10)));
        }
    }

    fn get_absent(&mut self, count: usize) {
        for _ in 0..count {
            let number = self.draw();
            assert_eq!(self.get(2 * number + 1), None);
        }
    }

    fn misses(&self, role: EntryRole) -> u64 {
        self.cache.stats().role(role).misses
    }

    fn file_reads(&self) -> u64 {
        self.file_system.counters().snapshot().read_requests
    }
}

#[test]
fn where_every_key_is_found_no_filter_is_read() {
    for mut table in Table::both(SCARCE_BYTES) {
        table.get_present(300);
        let (filters, reads) = (table.misses(EntryRole::FilterBlock), table.file_reads());
        assert!(filters > 0, "at first filters are read");
        table.get_present(1000);
        assert_eq!(table.misses(EntryRole::FilterBlock), filters);
        let reads = table.file_reads() - reads;
        assert!((1000..2000).contains(&reads), "data blocks, and some index partitions: {reads}");
    }
}

#[test]
fn where_no_key_is_found_nothing_but_filters_is_read() {
    for mut table in Table::both(SCARCE_BYTES) {
        // Also after another kind of load.
        table.get_present(300);
        table.get_absent(300);
        let (data, index, reads) =
            (table.misses(EntryRole::DataBlock), table.misses(EntryRole::IndexBlock), table.file_reads());
        table.get_absent(1000);
        let data = table.misses(EntryRole::DataBlock) - data;
        assert!(data <= 25, "about one percent, the filter's false positives: {data}");
        assert!(table.misses(EntryRole::IndexBlock) - index <= 25);
        assert!(table.file_reads() - reads <= 1000 + 2 * 25);
    }
}

#[test]
fn where_there_is_room_filters_come_to_stay() {
    for mut table in Table::both(AMPLE_BYTES) {
        for _ in 0..3000 {
            table.get_present(9);
            table.get_absent(1);
        }
        let (filters, data) = (table.misses(EntryRole::FilterBlock), table.misses(EntryRole::DataBlock));
        table.get_absent(500);
        assert_eq!(table.misses(EntryRole::FilterBlock), filters, "every partition is in the cache by now");
        assert_eq!(table.misses(EntryRole::DataBlock), data);
    }
}

#[test]
fn batches_learn_as_single_lookups_do() {
    for mut table in Table::both(SCARCE_BYTES) {
        let mut get_batch = |count: u32, odd: u32| {
            let lookups: Vec<LookupKey> =
                (0..count).map(|_| LookupKey::new(&key(2 * table.draw() + odd), MAX_SEQUENCE_NUMBER)).collect();
            let keys: Vec<&LookupKey> = lookups.iter().collect();
            let before = table.misses(EntryRole::FilterBlock);
            let mut found = vec![false; keys.len()];
            let results = table.reader.multi_get(&TableReadOptions::default(), &keys, &mut |index, _, _, _| {
                found[index] = true;
                true
            });
            assert!(results.iter().all(Result::is_ok));
            assert!(found.iter().all(|&found| found == (odd == 0)));
            table.misses(EntryRole::FilterBlock) - before
        };
        for _ in 0..20 {
            get_batch(32, 0);
        }
        assert_eq!((0..20).map(|_| get_batch(32, 0)).sum::<u64>(), 0);
        for _ in 0..20 {
            get_batch(32, 1);
        }
        assert!((0..20).map(|_| get_batch(32, 1)).sum::<u64>() > 200);
    }
}
