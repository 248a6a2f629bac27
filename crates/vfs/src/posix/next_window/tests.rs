use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ferrock_base::thread::{Job, Join, Spawner};
use ferrock_base::{Error, ErrorKind, Result};

use super::super::PosixFileSystem;
use super::super::tests::{mapped_options, mapping_is_possible, pattern};
use super::WindowThread;
use crate::{FileSystem as _, WritableOptions};

/// How many windows that were made ahead were stored into.
pub(super) static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Lets the thread that stores go on before each step, for up to half a millisecond: what does not wait for this thread
/// meets its zeros.
pub(super) fn dawdle() {
    static STEP: AtomicU64 = AtomicU64::new(0);
    let step = STEP.fetch_add(1, Ordering::Relaxed);
    std::thread::sleep(Duration::from_micros(step * 7919 % 500));
}

/// Appends of all sizes, some that no window holds, syncs, ends without a close, and ways out of the mapping at any
/// moment.
fn append_and_check(dir: &Path, shared: &PosixFileSystem, contents: &[u8], round: u64) {
    let path = dir.join(format!("{round:06}.log"));
    let mut state = round * 7919 + 1;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let reserved = 1 << (22 + round % 3);
    let options = WritableOptions { preallocate_bytes: reserved, ..mapped_options() };
    // Some files outlive their file system.
    let own = (round % 3 == 2).then(PosixFileSystem::new);
    let mut file = own.as_ref().unwrap_or(shared).create_writable(&path, &options).unwrap();
    drop(own);
    let mut expected = Vec::new();
    let total = (12 << 20) + random(40 << 20) as usize;
    while expected.len() < total {
        let bytes = match random(300) {
            0..10 => 60_000 + random(20_000),
            10 if random(4) == 0 => random(1 << 20),
            // No window holds so many.
            11 if expected.len() > 10 << 20 && random(4) == 0 => reserved,
            _ => random(5000),
        };
        let from = random(1 << 20) as usize;
        let data = &contents[from..from + bytes as usize];
        file.append(data).unwrap();
        expected.extend_from_slice(data);
        if random(3000) == 0 {
            file.sync().unwrap();
        }
        if round % 4 == 3 && expected.len() > total - (1 << 20) && random(100) == 0 {
            // Out of the mapping, wherever the other thread is.
            for _ in 0..20 {
                file.append(b"one record").unwrap();
                expected.extend_from_slice(b"one record");
                file.sync().unwrap();
            }
        }
        if random(1000) == 0 {
            file.flush().unwrap();
            let seen = std::fs::read(&path).unwrap();
            assert!(seen[..expected.len()] == expected, "round {round}, {} bytes", expected.len());
        }
    }
    if round.is_multiple_of(2) {
        file.close().unwrap();
    }
    // Cuts the file as a close does.
    drop(file);
    // For a thread that the file did not wait for.
    std::thread::sleep(Duration::from_millis(20));
    let seen = std::fs::read(&path).unwrap();
    assert_eq!(seen.len(), expected.len(), "round {round}");
    assert!(seen == expected, "round {round}");
    std::fs::remove_file(&path).unwrap();
}

/// Large logs, whose windows another thread makes ahead, or does not come to: it [dawdles](dawdle).
#[test]
fn large_logs_hold_what_was_appended() {
    let dir = tempfile::tempdir().unwrap();
    let file_system = PosixFileSystem::new();
    let contents = pattern(18 << 20);
    std::thread::scope(|scope| {
        for first in 0..3 {
            let (dir, file_system, contents) = (dir.path(), &file_system, &contents);
            scope.spawn(move || (0..4).for_each(|nth| append_and_check(dir, file_system, contents, first * 4 + nth)));
        }
    });
    if mapping_is_possible(dir.path()) {
        assert!(TAKEN.load(Ordering::Relaxed) > 0, "windows are made ahead");
    }
}

/// A spawner that has no thread.
#[derive(Debug)]
struct NoThread;

impl Spawner for NoThread {
    fn spawn(&self, _name: &str, _job: Job) -> Result<Box<dyn Join>> {
        Err(Error::new(ErrorKind::Aborted, "no thread"))
    }
}

#[test]
fn without_a_thread_nothing_is_requested() {
    let file = tempfile::tempfile().unwrap();
    let thread = WindowThread::with_spawner(Arc::new(NoThread));
    for _ in 0..3 {
        assert!(thread.request(&file, 0, 0, 1 << 20, None).is_none());
    }
    assert!(thread.0.queue().is_empty());
    assert_eq!(file.metadata().unwrap().len(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_dropped_request_is_not_made_to_its_end() {
    use std::os::unix::fs::MetadataExt as _;
    const BYTES: u64 = 64 << 20;
    let file = tempfile::tempfile().unwrap();
    file.set_len(BYTES).unwrap();
    let thread = WindowThread::default();
    let next = thread.request(&file, 0, 0, BYTES, None).unwrap();
    let written = || file.metadata().unwrap().blocks() * 512;
    while written() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(next);
    let at_drop = written();
    assert!(at_drop < BYTES / 2, "{at_drop} bytes");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(written(), at_drop, "the drop waited for what the thread had begun");
}
