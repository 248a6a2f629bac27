//! Range reads on the imagined device: what is asked of it, and what comes back.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferrock_base::ErrorKind;
use ferrock_base::clock::ManualClock;

use super::*;
use crate::file_system::{FileSystem, RandomAccessFile};
use crate::memory::MemoryFileSystem;
use crate::options::{RandomAccessOptions, WritableOptions};

const FILE: &str = "/000007.sst";

fn contents(length: usize) -> Vec<u8> {
    (0..length as u32).map(|index| (index.wrapping_mul(0x9E37_79B9) >> 13) as u8).collect()
}

fn write(file_system: &dyn FileSystem, bytes: &[u8]) {
    let mut file = file_system.create_writable(Path::new(FILE), &WritableOptions::default()).unwrap();
    file.append(bytes).unwrap();
    file.close().unwrap();
}

fn open(file_system: &dyn FileSystem, direct: bool) -> Arc<dyn RandomAccessFile> {
    file_system.open_random_access(Path::new(FILE), &RandomAccessOptions { direct, ..Default::default() }).unwrap()
}

fn device(bytes: &[u8], unit: usize) -> (MemoryFileSystem, Arc<dyn RandomAccessFile>) {
    let file_system = MemoryFileSystem::new();
    file_system.set_direct_unit(unit);
    write(&file_system, bytes);
    let file = open(&file_system, true);
    file_system.set_read_logging(true);
    (file_system, file)
}

fn requests(file_system: &MemoryFileSystem) -> Vec<(u64, u64)> {
    file_system.take_read_log().iter().map(|read| (read.offset, read.length)).collect()
}

#[test]
fn a_range_is_one_aligned_request() {
    let bytes = contents(100_000);
    let (file_system, file) = device(&bytes, 512);
    let context = ReadContext::for_class(ReadClass::Data);
    let read = file.read_range(1028, 1028, &context).unwrap();
    assert_eq!(read.bytes(), &bytes[1028..2056]);
    assert_eq!((read.offset(), read.len(), read.device_range()), (1028, 1028, 1024..2560));
    assert_eq!(read.slice(1024, 1536).unwrap().bytes(), &bytes[1024..2560], "the boundary units are there");
    assert!(read.slice(1023, 1).is_none() && read.slice(2000, 561).is_none() && read.slice(u64::MAX, 2).is_none());
    assert_eq!(requests(&file_system), [(1024, 1536)]);
    let counted = file_system.counters().snapshot();
    let expected = crate::ClassSnapshot { requests: 1, asked_bytes: 1028, device_bytes: 1536 };
    assert_eq!(counted.class(ReadClass::Data), expected);
    assert_eq!(counted.class(ReadClass::Index).requests, 0);
}

#[test]
fn the_end_of_the_file_cuts_a_range() {
    let bytes = contents(5000);
    for unit in [512, 4096] {
        let (file_system, file) = device(&bytes, unit);
        let read = file.read_range(4000, 4000, &ReadContext::default()).unwrap();
        assert_eq!(read.bytes(), &bytes[4000..]);
        assert_eq!(read.device_range().end, 5000);
        assert!(file.read_range(5000, 10, &ReadContext::default()).unwrap().is_empty());
        assert!(file.read_range(u64::MAX, usize::MAX, &ReadContext::default()).unwrap().is_empty());
        assert_eq!(requests(&file_system).len(), 1, "nothing is asked for behind the end");
    }
}

#[test]
fn near_ranges_share_a_request() {
    let bytes = contents(1 << 20);
    let (file_system, file) = device(&bytes, 512);
    let ranges = [(9000, 100), (0, 1028), (1028, 1028), (20_000, 1), (2056, 1028), (0, 1028), (300_000, 0)];
    let mut reads: Vec<_> = ranges.iter().map(|&(offset, length)| RangeRead::new(&*file, offset, length)).collect();
    file_system.read_ranges(&mut reads, &ReadContext::for_class(ReadClass::Data));
    for (read, (offset, length)) in reads.iter().zip(ranges) {
        assert_eq!(read.result.as_ref().unwrap().bytes(), &bytes[offset as usize..offset as usize + length]);
    }
    assert_eq!(requests(&file_system), [(0, 3584), (8704, 512), (19_968, 512)]);
    let context = ReadContext { gap_bytes: 16 << 10, ..ReadContext::for_class(ReadClass::Index) };
    file_system.read_ranges(&mut reads, &context);
    assert_eq!(requests(&file_system), [(0, 20_480)]);
    let counted = file_system.counters().snapshot();
    assert_eq!(counted.class(ReadClass::Data).requests, 3);
    assert_eq!(counted.class(ReadClass::Index).asked_bytes, 4 * 1028 + 101);
    assert_eq!(counted.class(ReadClass::Index).device_bytes, 20_480);
}

#[test]
fn long_requests_are_split_at_units() {
    let bytes = contents(1 << 20);
    let (file_system, file) = device(&bytes, 512);
    let context = ReadContext { max_request_bytes: 100_000, ..ReadContext::default() };
    let read = file.read_range(700, 300_000, &context).unwrap();
    assert_eq!(read.bytes(), &bytes[700..300_700]);
    assert_eq!(requests(&file_system), [(512, 99_840), (100_352, 99_840), (200_192, 99_840), (300_032, 1024)]);
}

#[test]
fn a_passed_deadline_asks_nothing_of_the_device() {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let file_system = MemoryFileSystem::with_clock(clock.clone());
    write(&file_system, &contents(10_000));
    let file = open(&file_system, true);
    file_system.set_read_logging(true);
    let context = ReadContext { deadline_us: 1_500_000, ..ReadContext::default() };
    assert_eq!(file.read_range(0, 10, &context).unwrap().len(), 10);
    clock.advance(Duration::from_millis(500));
    let error = file.read_range(0, 10, &context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("000007.sst"), "{error}");
    let mut reads = [RangeRead::new(&*file, 0, 10), RangeRead::new(&*file, 5000, 10)];
    file_system.read_ranges(&mut reads, &context);
    assert!(reads.iter().all(|read| read.result.as_ref().unwrap_err().kind() == ErrorKind::TimedOut));
    assert_eq!(requests(&file_system).len(), 1);
}
