//! Ranges that row bounds show to be empty, at either end of a scan: no data is read for them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, InternalIterator, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, BlockTableIter, ScanBounds, TableBuilderParams,
    TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, ReadClass, WritableOptions};
use std::path::Path;
use std::sync::Arc;

struct Table {
    file_system: MemoryFileSystem,
    reader: Arc<BlockTable>,
}

/// Rows `100`, `110`, ... `990`, a few in a block, without a cache.
fn table(row_bounds: bool, partitioned: bool) -> Table {
    let (file_system, path) = (MemoryFileSystem::new(), Path::new("/000007.sst"));
    let order = InternalComparator::default();
    let options = Arc::new(BlockBasedTableOptions {
        row_bounds,
        index_type: if partitioned { IndexType::TwoLevelIndexSearch } else { IndexType::BinarySearch },
        partition_from_level: PartitionFromLevel::Level(0),
        metadata_block_size: 40,
        block_size: 60,
        max_auto_readahead_size: 0,
        ..BlockBasedTableOptions::default()
    });
    let mut params = TableBuilderParams::new(order.clone());
    params.options = Arc::clone(&options);
    let mut builder =
        BlockTableBuilder::new(params, file_system.create_writable(path, &WritableOptions::default()).unwrap())
            .unwrap();
    for row in (100..1000).step_by(10) {
        let key = make_internal_key(row.to_string().as_bytes(), SequenceNumber(1), ValueType::Value);
        builder.add(&key, b"0123456789").unwrap();
    }
    builder.finish().unwrap();
    let file = file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
    let mut params = TableReaderParams::new(file, Arc::new(file_system.clone()), order);
    params.options = options;
    Table { reader: BlockTable::open(params).unwrap(), file_system }
}

impl Table {
    fn iter(&self, lower: Option<&str>, upper: Option<&str>) -> BlockTableIter {
        let owned = |key: Option<&str>| key.map(|key| key.as_bytes().to_vec());
        self.reader.iter_within(TableReadOptions::default(), Arc::new(ScanBounds::new(owned(lower), owned(upper))))
    }

    /// The row that an iterator is placed at, and the data reads for it.
    fn placed(&self, mut iter: BlockTableIter, place: impl FnOnce(&mut BlockTableIter)) -> (Option<String>, u64) {
        let reads = || self.file_system.counters().snapshot().class(ReadClass::Data).requests;
        let before = reads();
        place(&mut iter);
        iter.status().unwrap();
        let row = iter.valid().then(|| String::from_utf8(user_key(iter.key()).to_vec()).unwrap());
        (row, reads() - before)
    }

    /// The first and the last row of each block.
    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut handles = Vec::new();
        self.reader
            .contents()
            .visit_rows(&mut |row| {
                handles.push(row.handle);
                true
            })
            .unwrap();
        let rows = |handle| {
            let block = self.reader.contents().read_data_block(handle).unwrap();
            let mut iter = ferrock_format::block::DataBlockIter::new(&block, InternalComparator::default(), None);
            let mut rows: Vec<u32> = Vec::new();
            iter.seek_to_first();
            while iter.valid() {
                rows.push(std::str::from_utf8(user_key(iter.key())).unwrap().parse().unwrap());
                iter.next();
            }
            (rows[0], *rows.last().unwrap())
        };
        handles.into_iter().map(rows).collect()
    }
}

fn target(key: u32) -> Vec<u8> {
    make_internal_key(key.to_string().as_bytes(), MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)
}

fn target_back(key: u32) -> Vec<u8> {
    make_internal_key(key.to_string().as_bytes(), SequenceNumber(0), ValueType::FOR_SEEK_FOR_PREV)
}

#[test]
fn nothing_before_the_upper_bound_is_no_read() {
    for partitioned in [false, true] {
        for row_bounds in [false, true] {
            let table = table(row_bounds, partitioned);
            let first = |upper: &str| table.placed(table.iter(None, Some(upper)), InternalIterator::seek_to_first);
            // Bounds may end before the first row: the file may begin with a range tombstone.
            for upper in ["0", "099", "100"] {
                let (row, reads) = first(upper);
                assert_eq!((row.is_none(), reads), (row_bounds, u64::from(!row_bounds)), "{upper}");
            }
            assert_eq!(first("1000"), (Some("100".to_owned()), 1));
            for pair in table.blocks().windows(2) {
                let (last, next) = (pair[0].1, pair[1].0);
                let upper = next.to_string();
                // From the gap behind a block up to the next row.
                let within = table.iter(None, Some(&upper));
                let (row, reads) = table.placed(within, |iter| iter.seek(&target(last + 5)));
                assert!(row.is_none() || !row_bounds && row == Some(upper.clone()));
                assert!(reads == 0 || !row_bounds, "{reads} reads from {last} to {next}");
                // A scan over the end of the block stops there; with partitions also where the next one begins.
                let mut iter = table.iter(None, Some(&upper));
                iter.seek(&target(last));
                assert!(iter.valid());
                let (row, reads) = table.placed(iter, InternalIterator::next);
                assert!(row.is_none() || !row_bounds && row == Some(upper));
                assert!(reads == 0 || !row_bounds, "{reads} reads behind {last}");
            }
        }
    }
}

#[test]
fn a_scan_back_from_a_gap_begins_before_it() {
    for partitioned in [false, true] {
        for row_bounds in [false, true] {
            let table = table(row_bounds, partitioned);
            let before = |key| table.placed(table.iter(None, None), |iter| iter.seek_for_prev(&target_back(key)));
            let mut spared = 0;
            for pair in table.blocks().windows(2) {
                let (last, next) = (pair[0].1, pair[1].0);
                let (row, reads) = before(next - 1);
                assert_eq!(row, Some(last.to_string()));
                assert!(reads == 1 || !row_bounds && reads == 2, "{reads} reads before {next}");
                spared += u64::from(reads == 1);
                assert_eq!(before(next), (Some(next.to_string()), 1));
            }
            assert!(spared > 5);
            assert_eq!(before(0), (None, u64::from(!row_bounds)), "nothing lies before the first row");
        }
    }
}
