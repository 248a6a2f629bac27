//! Which tables are partitioned: by level where the option names one, else by size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBuilderParams, TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use std::path::Path;
use std::sync::Arc;

/// Number of a flush's output, as the builder is told it.
const FLUSH: i32 = -1;
const UNKNOWN: i32 = i32::MAX;

struct Written {
    index_partitions: u64,
    index_type: u32,
    has_partitioned_filter: bool,
    has_whole_filter: bool,
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn write(policy: PartitionFromLevel, level: i32, keys: u32, decoupled: bool) -> Written {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = Path::new("/table.sst");
    let options = Arc::new(BlockBasedTableOptions {
        index_type: IndexType::TwoLevelIndexSearch,
        partition_filters: true,
        decouple_partitioned_filters: decoupled,
        partition_from_level: policy,
        metadata_block_size: 1000,
        block_size: 1000,
        ..Default::default()
    });
    let extractor = Some(PrefixExtractor::Fixed(6));
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.options = options.clone();
    params.filter_policy = FilterPolicy::bloom(10.0);
    params.filter_level = level;
    params.prefix_extractor.clone_from(&extractor);
    let file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for number in 0..keys {
        builder.add(&make_internal_key(&key(2 * number), SequenceNumber(7), ValueType::Value), &[7; 20]).unwrap();
    }
    let properties = builder.finish().unwrap().properties;
    let bytes = ferrock_vfs::read_file(&*file_system, path).unwrap();
    let names = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());

    let file = file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
    let mut params = TableReaderParams::new(file, file_system.clone(), InternalComparator::default());
    params.options = options;
    params.prefix_extractor = extractor;
    let reader = BlockTable::open(params).unwrap();
    let read = TableReadOptions::default();
    for number in 0..keys {
        for (number, is_there) in [(2 * number, true), (2 * number + 1, false)] {
            let mut found = false;
            let lookup = LookupKey::new(&key(number), MAX_SEQUENCE_NUMBER);
            reader.get(&read, &lookup, &mut |_, _, _| std::mem::replace(&mut found, true)).unwrap();
            assert_eq!(found, is_there, "{number}");
        }
        assert!(reader.prefix_may_match(&read, &key(number * 2)).unwrap());
    }
    assert!(!reader.prefix_may_match(&read, b"absent").unwrap());
    reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown).unwrap();
    Written {
        index_partitions: properties.index_partitions,
        index_type: properties.index_type.unwrap(),
        has_partitioned_filter: names("partitionedfilter."),
        has_whole_filter: names("fullfilter."),
    }
}

fn is_partitioned(written: &Written) -> bool {
    assert_eq!(written.index_partitions > 0, written.index_type == 2);
    assert_eq!(written.index_partitions > 0, written.has_partitioned_filter);
    assert_ne!(written.has_partitioned_filter, written.has_whole_filter);
    written.index_partitions > 0
}

#[test]
fn an_explicit_level_decides_whatever_the_size() {
    for decoupled in [true, false] {
        for keys in [10, 8000] {
            for (from, level, wanted) in [
                (0, FLUSH, true),
                (0, 6, true),
                (1, FLUSH, false),
                (1, 0, false),
                (1, 1, true),
                (2, 1, false),
                (2, 2, true),
                (2, UNKNOWN, true),
            ] {
                let written = write(PartitionFromLevel::Level(from), level, keys, decoupled);
                assert_eq!(is_partitioned(&written), wanted, "from {from}, level {level}, {keys} keys");
            }
        }
    }
}

#[test]
fn by_default_what_fits_one_partition_is_whole() {
    for decoupled in [true, false] {
        for level in [FLUSH, 1, UNKNOWN] {
            assert!(!is_partitioned(&write(PartitionFromLevel::Automatic, level, 10, decoupled)));
            let large = write(PartitionFromLevel::Automatic, level, 8000, decoupled);
            assert!(is_partitioned(&large) && large.index_partitions > 1);
        }
    }
    // An index of one partition beside a filter of several: RocksDB knows partitioned filters only beside such an
    // index.
    let between = write(PartitionFromLevel::Automatic, FLUSH, 1000, true);
    assert_eq!((between.index_partitions, between.index_type), (1, 2));
    assert!(between.has_partitioned_filter);
}
