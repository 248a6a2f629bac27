//! What a sync of a log writes, as the system counts it: in a process that writes nothing else.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use ferrock_vfs::{FileSystem as _, PosixFileSystem, WritableOptions, WritePurpose};

/// Bytes of files that this process has made dirty.
fn written_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("write_bytes: ")).unwrap().parse().unwrap()
}

/// Three records of 200 bytes a sync: the page in which they lie, and not what else of the log is in memory. A file
/// system in memory writes nothing, so that this can fail on a device alone.
#[test]
fn a_sync_writes_the_pages_that_were_appended_to() {
    const SYNCS: u64 = 400;
    let dir = tempfile::tempdir().unwrap();
    let options = WritableOptions { mapped_append: true, ..WritableOptions::for_purpose(WritePurpose::Log) };
    let create = |name: &str| PosixFileSystem::new().create_writable(&dir.path().join(name), &options).unwrap();

    // From the first record on, and in a log that is not mapped any more.
    let mut file = create("000003.log");
    let before = written_bytes();
    for _ in 0..SYNCS {
        file.append(&[7; 200]).unwrap();
        file.sync().unwrap();
    }
    let each = (written_bytes() - before) / SYNCS;
    assert!(each <= 2 * 4096, "{each} bytes a sync of a new log");
    drop(file);

    let mut file = create("000004.log");
    let mut sync = |bytes: usize| {
        for _ in 0..3 {
            file.append(&vec![7; bytes]).unwrap();
        }
        file.sync().unwrap();
    };
    // So that steps of pages are as long as they become.
    sync(200_000);
    (0..100).for_each(|_| sync(200));
    let before = written_bytes();
    (0..SYNCS).for_each(|_| sync(200));
    let each = (written_bytes() - before) / SYNCS;
    assert!(each <= 3 * 4096, "{each} bytes a sync");
}
