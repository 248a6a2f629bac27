//! What a thread does to files is in its sums, as its level says, and in no other thread's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]
#![cfg(unix)]

use std::path::Path;

use ferrock_base::stripe::ThreadWord;
use ferrock_vfs::{
    FileSystem, IoMetric, IoStatsContext, MemoryFileSystem, PosixFileSystem, RandomAccessOptions, ReadClass,
    ReadContext, ReadLabel, SequentialOptions, WritableOptions, read_owned,
};

const BYTES: usize = 300_000;

/// Writes a file in three appends, syncs it, and reads all of it at once, by a range and in sequence.
fn write_and_read(files: &dyn FileSystem, path: &Path, options: &WritableOptions) {
    let mut writer = files.create_writable(path, options).expect("created");
    for _ in 0..3 {
        writer.append(&[7; BYTES / 3]).expect("appended");
    }
    writer.sync().expect("synced");
    writer.close().expect("closed");
    let reader = files.open_random_access(path, &RandomAccessOptions::default()).expect("opened");
    let mut buffer = vec![0; BYTES];
    assert_eq!(reader.read_at(0, &mut buffer, ReadLabel::whole(ReadClass::Other, BYTES)).expect("read"), BYTES);
    assert_eq!(read_owned(&*reader, 0, BYTES, &ReadContext::default()).expect("read").len(), BYTES);
    let mut reader = files.open_sequential(path, &SequentialOptions::default()).expect("opened");
    assert_eq!(reader.read(&mut buffer).expect("read"), BYTES);
}

fn sums_at(level: u8, work: impl FnOnce()) -> IoStatsContext {
    ThreadWord::set_level(level);
    IoStatsContext::reset_thread();
    work();
    ThreadWord::set_level(1);
    IoStatsContext::of_thread()
}

fn above_zero(sums: &IoStatsContext) -> Vec<IoMetric> {
    IoMetric::ALL.into_iter().filter(|metric| sums.get(*metric) > 0).collect()
}

#[test]
fn each_level_has_the_sums_of_those_before_it_and_its_own() {
    use IoMetric::{
        AllocateNanos, BytesRead, BytesWritten, CpuReadNanos, CpuWriteNanos, FsyncNanos, OpenNanos, PrepareWriteNanos,
        ReadNanos, WriteNanos,
    };
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("file");
    let options = WritableOptions { preallocate_bytes: 1 << 20, ..WritableOptions::default() };
    let files = PosixFileSystem::new();
    let run = |level| sums_at(level, || write_and_read(&files, &path, &options));
    let counts = vec![BytesWritten, BytesRead];
    let times = [&counts[..], &[OpenNanos, WriteNanos, ReadNanos, FsyncNanos, PrepareWriteNanos]].concat();
    let all = [&times[..], &[CpuWriteNanos, CpuReadNanos]].concat();
    for (level, expected) in [(0, &vec![]), (1, &vec![]), (2, &counts), (3, &counts), (4, &times), (5, &all), (6, &all)]
    {
        let sums = run(level);
        // A file system may have no way to reserve space; the call takes time all the same where it is made.
        let seen: Vec<IoMetric> = above_zero(&sums).into_iter().filter(|metric| *metric != AllocateNanos).collect();
        let mut expected = expected.clone();
        expected.sort_by_key(|metric| *metric as u8);
        assert_eq!(seen, expected, "level {level}");
        if level >= 2 {
            assert_eq!((sums.get(BytesWritten), sums.get(BytesRead)), (BYTES as u64, 3 * BYTES as u64));
        }
        if level >= 4 {
            assert!(sums.get(PrepareWriteNanos) >= sums.get(AllocateNanos), "the one contains the other");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn space_and_early_write_back_take_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let options =
        WritableOptions { preallocate_bytes: 1 << 20, bytes_per_sync: 64 << 10, ..WritableOptions::default() };
    let work = || write_and_read(&PosixFileSystem::new(), &dir.path().join("file"), &options);
    let sums = sums_at(4, work);
    assert!(sums.get(IoMetric::AllocateNanos) > 0 && sums.get(IoMetric::RangeSyncNanos) > 0, "{sums:?}");
}

#[test]
fn bytes_of_mapped_appends_and_of_files_in_memory_are_counted() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = WritableOptions { mapped_append: true, preallocate_bytes: 1 << 20, ..WritableOptions::default() };
    let mapped = sums_at(2, || write_and_read(&PosixFileSystem::new(), &dir.path().join("file"), &options));
    let work = || write_and_read(&MemoryFileSystem::new(), Path::new("/file"), &WritableOptions::default());
    for sums in [mapped, sums_at(6, work)] {
        let bytes = (sums.get(IoMetric::BytesWritten), sums.get(IoMetric::BytesRead));
        assert_eq!(bytes, (BYTES as u64, 3 * BYTES as u64));
    }
}

#[test]
fn another_thread_has_sums_of_its_own() {
    let work = || write_and_read(&MemoryFileSystem::new(), Path::new("/file"), &WritableOptions::default());
    let sums = sums_at(2, || {
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(above_zero(&sums_at(1, work)), [], "its level is its own"));
            scope.spawn(|| assert_eq!(above_zero(&sums_at(2, work)).len(), 2));
        });
    });
    assert_eq!(above_zero(&sums), []);
}

#[test]
fn the_report_has_every_name_or_those_above_zero() {
    let sums = IoStatsContext::default();
    assert_eq!(sums.report(true), "");
    let report = sums.report(false);
    assert_eq!(report.matches(" = 0").count(), IoMetric::ALL.len());
    assert!(IoMetric::ALL.iter().all(|metric| report.contains(metric.name())));
}
