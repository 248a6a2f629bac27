//! Where the system reads ahead, a scan with a readahead holds a small window and asks for the rest.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, InternalIterator, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, ScanBounds, TableBuilderParams, TableReadOptions,
    TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, ReadClass, WritableOptions};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const ROWS: u32 = 20_000;
/// Of a row with its share of the block.
const ROW_BYTES: u64 = 410;
const READAHEAD: u64 = 2 << 20;
const WINDOW: u64 = 128 << 10;
const BLOCK: u64 = 8 << 10;

struct Scan {
    rows: u32,
    reads: Vec<Range<u64>>,
    prefetches: Vec<Range<u64>>,
}

/// Scans rows of a table of 8 MB in blocks of 4 KiB.
fn scan(direct: bool, prefetching: bool, readahead: u64, rows: Range<u32>, backward: bool) -> Scan {
    let (files, path) = (MemoryFileSystem::new(), Path::new("/000007.sst"));
    let (order, options) = (InternalComparator::default(), Arc::new(BlockBasedTableOptions::default()));
    let mut params = TableBuilderParams::new(order.clone());
    params.options = Arc::clone(&options);
    let file = files.create_writable(path, &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for row in 0..ROWS {
        builder.add(&make_internal_key(&name(row), SequenceNumber(1), ValueType::Value), &[b'v'; 390]).unwrap();
    }
    builder.finish().unwrap();
    files.set_prefetching(prefetching);
    let file = files.open_random_access(path, &RandomAccessOptions { direct, ..Default::default() }).unwrap();
    let mut params = TableReaderParams::new(file, Arc::new(files.clone()), order);
    params.options = options;
    let table = BlockTable::open(params).unwrap();
    let bounds = Arc::new(ScanBounds::new(Some(name(rows.start)), Some(name(rows.end))));
    let options = TableReadOptions { readahead_bytes: readahead as usize, fill_cache: false, ..Default::default() };
    let mut iter = table.iter_within(options, bounds);
    files.set_read_logging(true);
    let mut found = 0;
    if backward {
        iter.seek_for_prev(&make_internal_key(&name(rows.end - 1), SequenceNumber(0), ValueType::Deletion));
    } else {
        iter.seek(&make_internal_key(&name(rows.start), MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK));
    }
    while iter.valid() && *user_key(iter.key()) < *name(rows.end) {
        found += 1;
        if backward {
            iter.prev();
        } else {
            iter.next();
        }
    }
    iter.status().unwrap();
    let log = files.take_read_log();
    let data = log.iter().filter(|read| read.class == ReadClass::Data);
    Scan {
        rows: found,
        reads: data.map(|read| read.offset..read.offset + read.length).collect(),
        prefetches: files.take_prefetches().into_iter().map(|(_, range)| range).collect(),
    }
}

fn name(row: u32) -> Vec<u8> {
    format!("{row:08}").into_bytes()
}

fn largest(reads: &[Range<u64>]) -> u64 {
    reads.iter().map(|read| read.end - read.start).max().unwrap()
}

#[test]
fn what_is_ahead_lies_with_the_system_and_is_asked_for_once() {
    let scan = scan(false, true, READAHEAD, 0..ROWS, false);
    assert_eq!(scan.rows, ROWS);
    assert!(largest(&scan.reads) <= WINDOW + BLOCK, "{:?}", scan.reads);
    assert_eq!(scan.prefetches[0], 0..READAHEAD);
    for (before, after) in scan.prefetches.iter().zip(&scan.prefetches[1..]) {
        assert_eq!(before.end, after.start, "asked for twice, or not at all: {:?}", scan.prefetches);
    }
    let end = scan.reads.last().unwrap().end;
    let asked = scan.prefetches.last().unwrap().end;
    assert_eq!(asked, end, "all that is read, and no more");
    assert!(scan.prefetches.len() as u64 <= 2 * end / READAHEAD + 1, "{:?}", scan.prefetches);
}

#[test]
fn nothing_beyond_the_bounds_is_asked_for() {
    for rows in [10_000..10_400, 300..12_000, 19_000..19_001] {
        let scan = scan(false, true, READAHEAD, rows.clone(), false);
        assert_eq!(scan.rows, rows.end - rows.start);
        let (from, to) = (u64::from(rows.start) * ROW_BYTES, u64::from(rows.end) * ROW_BYTES);
        for range in scan.reads.iter().chain(&scan.prefetches) {
            assert!(range.start + to / 20 + BLOCK >= from && range.end <= to + to / 20 + BLOCK, "{rows:?}: {range:?}");
        }
        let end = scan.reads.iter().map(|read| read.end).max();
        assert_eq!(scan.prefetches.iter().map(|asked| asked.end).max(), end, "{rows:?}");
    }
}

#[test]
fn a_scan_reads_ahead_itself_where_the_system_does_not() {
    for (direct, prefetching, backward) in [(true, true, false), (false, false, false), (false, true, true)] {
        let scan = scan(direct, prefetching, READAHEAD, 0..ROWS, backward);
        assert_eq!((scan.rows, scan.prefetches.len()), (ROWS, 0));
        let wanted = if backward { WINDOW } else { READAHEAD };
        assert!(largest(&scan.reads) >= wanted, "{direct} {prefetching} {backward}: {:?}", scan.reads);
    }
    let small = scan(false, true, WINDOW, 0..ROWS, false);
    assert_eq!((small.rows, small.prefetches.len()), (ROWS, 0), "a small readahead is read as it is");
}
