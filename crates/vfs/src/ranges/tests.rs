//! Range reads on the simulated device: the requests that it gets, and the bytes that are returned.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferrock_base::ErrorKind;
use ferrock_base::clock::ManualClock;

use super::*;
use crate::file::RandomAccessFile;
use crate::file_system::FileSystem;
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
    let read = read_range(&*file, 1028, 1028, &context).unwrap();
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
        let read = read_range(&*file, 4000, 4000, &ReadContext::default()).unwrap();
        assert_eq!(read.bytes(), &bytes[4000..]);
        assert_eq!(read.device_range().end, 5000);
        assert!(read_range(&*file, 5000, 10, &ReadContext::default()).unwrap().is_empty());
        assert!(read_range(&*file, u64::MAX, usize::MAX, &ReadContext::default()).unwrap().is_empty());
        assert_eq!(requests(&file_system).len(), 1, "nothing is asked for behind the end");
    }
}

#[test]
fn near_ranges_share_a_request() {
    let bytes = contents(1 << 20);
    let (file_system, file) = device(&bytes, 512);
    let ranges = [(9000, 100), (0, 1028), (1028, 1028), (20_000, 1), (2056, 1028), (0, 1028), (300_000, 0)];
    let mut reads: Vec<_> = ranges.iter().map(|&(offset, length)| RangeRead::new(&file, offset, length)).collect();
    read_ranges(&file_system, &mut reads, &ReadContext::for_class(ReadClass::Data));
    for (read, (offset, length)) in reads.iter().zip(ranges) {
        assert_eq!(read.result.as_ref().unwrap().bytes(), &bytes[offset as usize..offset as usize + length]);
    }
    assert_eq!(requests(&file_system), [(0, 3584), (8704, 512), (19_968, 512)]);
    let context = ReadContext { gap_bytes: 16 << 10, ..ReadContext::for_class(ReadClass::Index) };
    read_ranges(&file_system, &mut reads, &context);
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
    let read = read_range(&*file, 700, 300_000, &context).unwrap();
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
    assert_eq!(read_range(&*file, 0, 10, &context).unwrap().len(), 10);
    clock.advance(Duration::from_millis(500));
    let error = read_range(&*file, 0, 10, &context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("000007.sst"), "{error}");
    let mut reads = [RangeRead::new(&file, 0, 10), RangeRead::new(&file, 5000, 10)];
    read_ranges(&file_system, &mut reads, &context);
    assert!(reads.iter().all(|read| read.result.as_ref().unwrap_err().kind() == ErrorKind::TimedOut));
    assert_eq!(requests(&file_system).len(), 1);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// Checks the requests of a batch against the definition of the plan, independently of its algorithm.
    fn check_requests(
        requests: &[(u64, u64)],
        ranges: &[(u64, usize)],
        file_bytes: u64,
        (unit, gap, max): (u64, u64, u64),
    ) -> Result<(), TestCaseError> {
        let mut sorted = requests.to_vec();
        sorted.sort_unstable();
        let max = (max - max % unit).max(unit);
        for &(offset, length) in &sorted {
            prop_assert!(offset % unit == 0 && length % unit == 0 && length > 0 && length <= max);
        }
        for pair in sorted.windows(2) {
            let end = pair[0].0 + pair[0].1;
            prop_assert!(end <= pair[1].0, "a unit is read twice: {:?}", pair);
            prop_assert!(end < pair[1].0 || pair[0].1 == max, "two requests where one would do: {:?}", pair);
        }
        let in_range = |unit_start: u64| {
            ranges.iter().any(|&(offset, length)| {
                let end = (offset + length as u64).min(file_bytes);
                offset < end && offset < unit_start + unit && unit_start < end
            })
        };
        let is_read = |unit_start: u64| sorted.iter().any(|&(at, length)| at <= unit_start && unit_start < at + length);
        let mut unwanted = 0;
        for unit_start in (0..file_bytes.next_multiple_of(unit)).step_by(unit as usize) {
            let (wanted, read) = (in_range(unit_start), is_read(unit_start));
            prop_assert!(read || !wanted, "the unit at {unit_start} is missing");
            unwanted = if read && !wanted { unwanted + unit } else { 0 };
            prop_assert!(unwanted <= gap, "{unwanted} bytes at {unit_start} are read in vain");
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn batches_return_the_bytes_and_read_no_unit_twice(
            file_bytes in 1usize..120_000,
            ranges in prop::collection::vec((0u64..130_000, 0usize..20_000), 0..12),
            small in prop::collection::vec((0u64..20_000, 0usize..1500), 0..12),
            unit in prop::sample::select(vec![512usize, 4096]),
            gap in prop::sample::select(vec![0u64, 1, 600, 5000, 16 << 10]),
            max in prop::sample::select(vec![1usize, 4096, 10_000, 256 << 10]),
        ) {
            let bytes = contents(file_bytes);
            let (file_system, file) = device(&bytes, unit);
            let ranges = [ranges, small].concat();
            let mut reads: Vec<_> = ranges.iter().map(|&(offset, length)| RangeRead::new(&file, offset, length)).collect();
            let context = ReadContext { gap_bytes: gap, max_request_bytes: max, ..ReadContext::default() };
            read_ranges(&file_system, &mut reads, &context);
            for (read, &(offset, length)) in reads.iter().zip(&ranges) {
                let got = read.result.as_ref().unwrap();
                let start = (offset as usize).min(file_bytes);
                let expected = &bytes[start..(start + length).min(file_bytes)];
                prop_assert_eq!(got.bytes(), expected);
                let whole = got.device_range();
                if !got.is_empty() {
                    let all = got.slice(whole.start, (whole.end - whole.start) as usize).unwrap();
                    prop_assert_eq!(all.bytes(), &bytes[whole.start as usize..whole.end as usize]);
                }
            }
            check_requests(&requests(&file_system), &ranges, file_bytes as u64, (unit as u64, gap, max as u64))?;
            drop(reads);
            prop_assert_eq!(file_system.read_layer().unwrap().pool().usage().in_use_bytes, 0);
        }
    }
}

mod faults {
    use super::*;
    use crate::fault::{Fault, FaultInjectionFileSystem, FaultRule, OperationKind, Trigger};

    fn faulty(bytes: &[u8]) -> (FaultInjectionFileSystem, MemoryFileSystem, Arc<dyn RandomAccessFile>) {
        let memory = MemoryFileSystem::new();
        write(&memory, bytes);
        let file_system = FaultInjectionFileSystem::new(Arc::new(memory.clone()));
        let file = open(&file_system, true);
        memory.set_read_logging(true);
        (file_system, memory, file)
    }

    fn strike(file_system: &FaultInjectionFileSystem, fault: Fault, trigger: Trigger) {
        file_system.clear_rules();
        file_system.add_rule(FaultRule::new(OperationKind::Read, "*.sst", fault).when(trigger));
    }

    #[test]
    fn an_error_in_a_batch_concerns_its_ranges_alone() {
        let bytes = contents(200_000);
        let (file_system, memory, file) = faulty(&bytes);
        let places = [(0u64, 1000usize), (50_000, 1000), (100_000, 1000), (150_000, 1000)];
        for struck in 1..=4u64 {
            strike(&file_system, Fault::Io, Trigger::Nth(struck));
            let mut reads = places.map(|(offset, length)| RangeRead::new(&file, offset, length));
            read_ranges(&file_system, &mut reads, &ReadContext::default());
            for (index, (read, (offset, length))) in reads.iter().zip(places).enumerate() {
                match &read.result {
                    Ok(read) => assert_eq!(read.bytes(), &bytes[offset as usize..offset as usize + length]),
                    Err(error) => {
                        assert_eq!(index as u64 + 1, struck, "{error}");
                        assert!(error.to_string().contains("000007.sst"), "{error}");
                    }
                }
            }
            assert_eq!(reads.iter().filter(|read| read.result.is_err()).count(), 1);
        }
        assert_eq!(memory.read_layer().unwrap().pool().usage().in_use_bytes, 0);
    }

    #[test]
    fn ranges_of_one_request_are_told_apart_when_it_fails() {
        let bytes = contents(20_000);
        let (file_system, memory, file) = faulty(&bytes);
        let read_three = || {
            let places = [(0u64, 1000usize), (1000, 1000), (2000, 1000)];
            let mut reads = places.map(|(offset, length)| RangeRead::new(&file, offset, length));
            read_ranges(&file_system, &mut reads, &ReadContext::default());
            reads.map(|read| read.result.map(|read| read.bytes().to_vec()))
        };
        // The common request fails, and then the request for the second range alone.
        file_system.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::Io).when(Trigger::Nth(1)));
        file_system.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::Io).when(Trigger::Nth(2)));
        let results = read_three();
        assert_eq!(results[0].as_ref().unwrap(), &bytes[..1000]);
        assert!(results[1].is_err());
        assert_eq!(results[2].as_ref().unwrap(), &bytes[2000..3000]);
        assert_eq!(requests(&memory), [(0, 1024), (1536, 1536)], "what failed reached no device");
        // A short read: the bytes read are used, the missing ones are read again.
        strike(&file_system, Fault::ShortRead { kept_bytes: 1500 }, Trigger::Nth(1));
        for (index, result) in read_three().into_iter().enumerate() {
            assert_eq!(result.unwrap(), &bytes[index * 1000..(index + 1) * 1000]);
        }
        assert_eq!(requests(&memory), [(0, 1536), (512, 1536), (1536, 1536)]);
    }

    #[test]
    fn a_split_range_that_fails_in_the_middle_has_no_bytes() {
        let bytes = contents(100_000);
        let (file_system, _, file) = faulty(&bytes);
        let context = ReadContext { max_request_bytes: 10_240, ..ReadContext::default() };
        strike(&file_system, Fault::Io, Trigger::Nth(3));
        let mut reads = [RangeRead::new(&file, 100, 50_000), RangeRead::new(&file, 90_000, 10)];
        read_ranges(&file_system, &mut reads, &context);
        assert!(reads[0].result.is_err() && reads[1].result.is_ok());
        strike(&file_system, Fault::ShortRead { kept_bytes: 5000 }, Trigger::Nth(3));
        read_ranges(&file_system, &mut reads, &context);
        let read = reads[0].result.as_ref().unwrap();
        assert_eq!((read.len(), read.bytes()), (25_380, &bytes[100..25_480]), "a hole ends what is given out");
    }

    #[test]
    fn slow_reads_are_waited_for_or_given_up() {
        let bytes = contents(100_000);
        let (file_system, memory, file) = faulty(&bytes);
        strike(&file_system, Fault::Delay(Duration::from_millis(30)), Trigger::Always);
        let layer = memory.read_layer().unwrap();
        assert_eq!(layer.thread_count(), 0, "no threads before the first read");
        let context = ReadContext::for_class(ReadClass::Data);
        let pending: Vec<_> =
            (0..20u64).map(|index| file_system.start_read(&file, index * 4000, 4000, &context)).collect();
        for (index, pending) in pending.into_iter().enumerate() {
            if index % 3 == 0 {
                drop(pending);
                continue;
            }
            assert_eq!(pending.wait().unwrap().bytes(), &bytes[index * 4000..(index + 1) * 4000]);
        }
        let counted = memory.counters().snapshot();
        assert_eq!((counted.windows_discarded, counted.discarded_bytes), (7, 28_000));
        // All may be there before the first is asked for.
        assert!(counted.windows_waited <= 13, "{counted:?}");
        assert!(layer.thread_count() <= 8);
        let timed = ReadContext { io_timeout: Duration::from_millis(3), ..context };
        let error = file_system.start_read(&file, 0, 100, &timed).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert_eq!(read_range(&*file, 0, 100, &timed).unwrap_err().kind(), ErrorKind::TimedOut);
        let limit = Duration::from_secs(60);
        let started = ferrock_base::clock::SystemClock::shared();
        while layer.thread_count() > 0 || layer.pool().usage().in_use_bytes > 0 {
            assert!(started.monotonic_us() < limit.as_micros() as u64, "threads stay, or memory leaks: {layer:?}");
            started.sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn without_room_reads_ahead_wait_and_reads_fail_one_by_one() {
        let bytes = contents(100_000);
        let memory = MemoryFileSystem::new();
        write(&memory, &bytes);
        let file = open(&memory, true);
        let pool = memory.read_layer().unwrap().pool();
        pool.set_limits(PoolLimits { total_bytes: 32 << 10, read_ahead_bytes: 16 << 10, idle_bytes: 0 });
        let context = ReadContext::default();
        let first = memory.start_read(&file, 0, 16_000, &context);
        let second = memory.start_read(&file, 16_000, 16_000, &context);
        assert!(first.is_ready() && !second.is_ready(), "the second would be too much");
        let mut reads = [(0u64, 100usize), (20_000, 8000), (50_000, 30_000)]
            .map(|(offset, length)| RangeRead::new(&file, offset, length));
        read_ranges(&memory, &mut reads, &context);
        let kinds = reads.map(|read| read.result.map(|read| read.len()).map_err(|error| error.kind()));
        assert_eq!(kinds, [Ok(100), Ok(8000), Err(ErrorKind::MemoryLimit)]);
        assert_eq!(first.wait().unwrap().bytes(), &bytes[..16_000]);
        assert_eq!(second.wait().unwrap().bytes(), &bytes[16_000..32_000]);
        assert_eq!(pool.usage().in_use_bytes, 0);
        assert_eq!(memory.counters().snapshot().windows_waited, 1);
    }
}
