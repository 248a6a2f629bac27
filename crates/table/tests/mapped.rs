//! Tables that are read through a mapping of their file: what is not compressed is neither copied nor cached.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{get_all, scan, scan_backward};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, InternalIterator, LookupKey, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_cache::CacheOptions;
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::IndexType;
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, ReadTier, TableBlockCache, TableBuilderParams,
    TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{
    FileSystem, PosixFileSystem, RandomAccessFile, RandomAccessOptions, WritableOptions, read_file, write_file_synced,
};
use std::path::PathBuf;
use std::sync::Arc;

const ROWS: u32 = 3000;

struct Mapped {
    _directory: tempfile::TempDir,
    path: PathBuf,
    options: Arc<BlockBasedTableOptions>,
}

fn name(row: u32) -> Vec<u8> {
    format!("{row:08}").into_bytes()
}

fn value(row: u32) -> Vec<u8> {
    format!("value {row} ").repeat(8).into_bytes()
}

impl Mapped {
    fn new(compression: CompressionType, change: impl FnOnce(&mut BlockBasedTableOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("000007.sst");
        let mut options = BlockBasedTableOptions::default();
        change(&mut options);
        let options = Arc::new(options);
        let mut params = TableBuilderParams::new(InternalComparator::default());
        params.options = Arc::clone(&options);
        params.compression = compression;
        params.filter_policy = FilterPolicy::bloom(10.0);
        let file = PosixFileSystem::new().create_writable(&path, &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        for row in 0..ROWS {
            builder.add(&make_internal_key(&name(row), SequenceNumber(1), ValueType::Value), &value(row)).unwrap();
        }
        builder.finish().unwrap();
        Self { _directory: directory, path, options }
    }

    fn open(&self, mmap: bool, cache: Option<&Arc<TableBlockCache>>) -> ferrock_base::Result<Arc<BlockTable>> {
        self.open_file(self.file(mmap), cache)
    }

    fn file(&self, mmap: bool) -> Arc<dyn RandomAccessFile> {
        let options = RandomAccessOptions { mmap, ..RandomAccessOptions::default() };
        PosixFileSystem::new().open_random_access(&self.path, &options).unwrap()
    }

    fn open_file(
        &self,
        file: Arc<dyn RandomAccessFile>,
        cache: Option<&Arc<TableBlockCache>>,
    ) -> ferrock_base::Result<Arc<BlockTable>> {
        let file_system = Arc::new(PosixFileSystem::new());
        let mut params = TableReaderParams::new(file, file_system, InternalComparator::default());
        params.options = Arc::clone(&self.options);
        params.cache = cache.cloned();
        BlockTable::open(params)
    }
}

fn cache() -> Arc<TableBlockCache> {
    TableBlockCache::new(CacheOptions { capacity_bytes: 64 << 20, ..CacheOptions::default() })
}

fn key(row: u32) -> LookupKey {
    LookupKey::new(&name(row), MAX_SEQUENCE_NUMBER)
}

fn partitioned(options: &mut BlockBasedTableOptions) {
    options.index_type = IndexType::TwoLevelIndexSearch;
    options.partition_filters = true;
    options.metadata_block_size = 512;
    options.cache_index_and_filter_blocks = true;
}

/// Every way to read gives the same as without a mapping, whatever is compressed and wherever metadata is.
#[test]
fn a_mapped_table_reads_as_any_other() {
    for compression in [CompressionType::NoCompression, CompressionType::Lz4] {
        for is_partitioned in [false, true] {
            let table = Mapped::new(compression, |options| {
                if is_partitioned {
                    partitioned(options);
                }
            });
            for cache in [None, Some(cache())] {
                let (plain, mapped) = (table.open(false, None).unwrap(), table.open(true, cache.as_ref()).unwrap());
                let expected = scan(&plain, TableReadOptions::default()).unwrap();
                assert_eq!(expected.len(), ROWS as usize);
                assert_eq!(scan(&mapped, TableReadOptions::default()).unwrap(), expected);
                assert_eq!(scan_backward(&mapped).unwrap(), expected);
                for row in (0..ROWS + 40).step_by(7) {
                    let options = TableReadOptions::default();
                    let found = get_all(&mapped, &key(row), &options).unwrap();
                    assert_eq!(found, get_all(&plain, &key(row), &options).unwrap(), "row {row}");
                    assert_eq!(found.len(), usize::from(row < ROWS));
                }
            }
        }
    }
}

/// Values lie in the file, and the cache holds neither data blocks nor filters: a tier without reads finds all.
#[test]
fn values_are_not_copied_and_blocks_not_cached() {
    let table = Mapped::new(CompressionType::NoCompression, partitioned);
    let cache = cache();
    let file = table.file(true);
    let reader = table.open_file(Arc::clone(&file), Some(&cache)).unwrap();
    let file = file.mapping().unwrap().as_ptr_range();
    let mut iter = reader.iter(TableReadOptions::default());
    iter.seek_to_first();
    let before = cache.usage();
    while iter.valid() {
        let pin = iter.value_pin().unwrap();
        assert!(file.contains(&iter.value().as_ptr()) && file.contains(&pin.value().as_ptr()));
        iter.next();
    }
    iter.status().unwrap();
    let index_bytes = cache.usage() - before;
    assert!(index_bytes < 64 << 10, "{index_bytes} bytes were cached of a table of {} values", ROWS);
    let memory = TableReadOptions { read_tier: ReadTier::BlockCacheOnly, ..TableReadOptions::default() };
    assert_eq!(get_all(&reader, &key(1234), &memory).unwrap().len(), 1);
    drop(iter);
    let filled = cache.usage();
    for row in 0..ROWS {
        assert_eq!(get_all(&reader, &key(row), &TableReadOptions::default()).unwrap().len(), 1);
    }
    assert_eq!(cache.usage(), filled);
}

/// What has to be decompressed goes through the cache.
#[test]
fn compressed_blocks_are_cached() {
    let table = Mapped::new(CompressionType::Lz4, |_| {});
    let cache = cache();
    let reader = table.open(true, Some(&cache)).unwrap();
    let before = cache.usage();
    scan(&reader, TableReadOptions::default()).unwrap();
    assert!(cache.usage() > before + ROWS as usize * 100);
}

/// A damaged block is an error that names the file and the place, also for a reader that has read all others.
#[test]
fn damage_is_found_when_a_block_is_first_needed() {
    let table = Mapped::new(CompressionType::NoCompression, |_| {});
    let mut bytes = read_file(&PosixFileSystem::new(), &table.path).unwrap();
    let at = bytes.windows(12).position(|window| window == b"value 1500 v").unwrap();
    bytes[at] ^= 1;
    write_file_synced(&PosixFileSystem::new(), &table.path, &bytes).unwrap();
    let reader = table.open(true, None).unwrap();
    assert_eq!(get_all(&reader, &key(3), &TableReadOptions::default()).unwrap().len(), 1);
    for _ in 0..2 {
        let error = get_all(&reader, &key(1500), &TableReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("checksum") && error.contains("000007.sst"), "{error}");
        let error = scan(&reader, TableReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
    }
    assert_eq!(get_all(&reader, &key(2999), &TableReadOptions::default()).unwrap().len(), 1);
}

/// A file that became shorter before it is opened is refused by its size.
#[test]
fn a_file_that_was_cut_before_it_is_opened_is_refused() {
    let table = Mapped::new(CompressionType::NoCompression, |_| {});
    let bytes = read_file(&PosixFileSystem::new(), &table.path).unwrap();
    write_file_synced(&PosixFileSystem::new(), &table.path, &bytes[..bytes.len() - 100]).unwrap();
    assert!(table.open(true, None).is_err());
}
