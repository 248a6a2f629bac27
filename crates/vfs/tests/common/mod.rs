//! Helpers of the integration tests.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::path::Path;
use std::time::{Duration, Instant};

use ferrock_vfs::{FileSystem, PosixFileSystem};

/// Bytes that differ everywhere and contain few zeros.
pub fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state as u8).max(1)
        })
        .collect()
}

/// Whether this machine allows io_uring; where it does not, tests say so on their output.
pub fn io_uring_works() -> bool {
    let works = PosixFileSystem::with_backend(Some("io_uring")).io_backend() == "io_uring";
    if !works {
        println!("this machine allows no io_uring: the pread backend is tested alone");
    }
    works
}

/// Takes a file's pages out of the page cache, so that buffered reads of it wait for the device.
pub fn forget_pages(path: &Path) {
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

/// Calls `begin` on a thread and returns its result after that thread has exited.
pub fn on_a_thread_that_ends<T: Send>(begin: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(begin).join().unwrap())
}

/// Waits for a condition that the kernel or another thread brings about and that nothing signals.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}: it does not come");
        // Only how often the condition is looked at depends on this time.
        std::thread::sleep(Duration::from_millis(1));
    }
}
