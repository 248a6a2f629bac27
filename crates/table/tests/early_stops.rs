//! Scans with bounds that stop long before them, again and again: few bytes are read in vain, in few requests, and
//! scans that begin to use their ranges get them at once again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, InternalIterator, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, ScanBounds, TableBuilderParams, TableReadOptions,
    TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, ReadClass, WritableOptions};
use std::path::Path;
use std::sync::Arc;

const ROWS: u32 = 20_000;

struct Table {
    file_system: MemoryFileSystem,
    reader: Arc<BlockTable>,
}

/// 20,000 rows of 400 bytes in blocks of 4 KiB, without a cache.
fn table() -> Table {
    let (file_system, path) = (MemoryFileSystem::new(), Path::new("/000007.sst"));
    let (order, options) = (InternalComparator::default(), Arc::new(BlockBasedTableOptions::default()));
    let mut params = TableBuilderParams::new(order.clone());
    params.options = Arc::clone(&options);
    let mut builder =
        BlockTableBuilder::new(params, file_system.create_writable(path, &WritableOptions::default()).unwrap())
            .unwrap();
    for row in 0..ROWS {
        builder.add(&make_internal_key(&name(row), SequenceNumber(1), ValueType::Value), &[b'v'; 390]).unwrap();
    }
    builder.finish().unwrap();
    let file = file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
    let mut params = TableReaderParams::new(file, Arc::new(file_system.clone()), order);
    params.options = options;
    Table { reader: BlockTable::open(params).unwrap(), file_system }
}

fn name(row: u32) -> Vec<u8> {
    format!("{row:08}").into_bytes()
}

impl Table {
    /// Reads `used` rows of each of `scans` ranges of `range` rows; requests and bytes of a scan.
    fn scan(&self, scans: u32, used: u32, range: u32) -> (f64, f64) {
        let counted = || self.file_system.counters().snapshot().class(ReadClass::Data);
        let before = counted();
        for scan in 0..scans {
            let from = scan * 7919 % (ROWS - range);
            let bounds = Arc::new(ScanBounds::new(Some(name(from)), Some(name(from + range))));
            let mut iter = self.reader.iter_within(TableReadOptions::default(), bounds);
            iter.seek(&make_internal_key(&name(from), MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK));
            for _ in 0..used - 1 {
                assert!(iter.valid());
                iter.next();
            }
            iter.status().unwrap();
        }
        let after = counted();
        let each = |all: u64| all as f64 / f64::from(scans);
        (each(after.requests - before.requests), each(after.device_bytes - before.device_bytes))
    }
}

#[test]
fn a_quarter_is_read_in_vain_and_no_more_requests_are_made() {
    for (used, range) in [(20, 10_000), (200, 2000), (500, 2000)] {
        let table = table();
        table.scan(20, used, range);
        let (requests, bytes) = table.scan(400, used, range);
        let used_bytes = f64::from(used) * 410.0 + 4096.0;
        assert!(requests < 1.6, "{used} of {range} rows: {requests} requests");
        assert!(bytes < 2.0 * used_bytes, "{used} of {range} rows: {bytes} bytes for {used_bytes}");
    }
}

#[test]
fn ranges_that_are_used_are_read_at_once_again() {
    let table = table();
    table.scan(200, 20, 2000);
    table.scan(30, 1000, 1000);
    let (requests, bytes) = table.scan(100, 1000, 1000);
    assert!(requests <= 4.0 && bytes < 450_000.0, "{requests} requests of {bytes} bytes");
}
