//! What the process holds in memory, as the system sees it, and giving back what its allocator keeps.
//!
//! ```text
//! /proc/self/statm     size resident shared text lib data dirty      in pages; anonymous = resident - shared
//! ```
//!
//! glibc keeps freed memory in as many arenas as threads have allocated from: after a burst of writes by four threads a
//! process held 243 MB of which 94 MB were in use, and 140 MB with its free pages returned twice a second.

use std::fs;

/// Bytes of memory of the process that are no pages of files; `None` where the system does not say.
#[must_use]
pub fn anonymous_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
}

/// Asks the allocator to return free pages to the system. It takes milliseconds, in which threads that share an arena
/// with it wait. Does nothing where the allocator is not glibc's.
pub fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: the function is glibc's, takes a number, and may be called by any thread at any time. In a process
        // that replaces the allocator it is still there and finds little.
        unsafe { malloc_trim(0) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_allocated_is_seen_and_returned() {
        // Other tests of the process allocate and free meanwhile, up to 128 MiB at once: one round without is enough.
        let is_seen = || {
            let before = anonymous_bytes().unwrap();
            let blocks: Vec<Vec<u8>> = (0..16_384).map(|_| vec![1; 16 << 10]).collect();
            let held = anonymous_bytes().unwrap();
            drop(blocks);
            return_free_memory();
            let after = anonymous_bytes().unwrap();
            let is_returned = std::env::var_os("FERROCK_ASAN").is_some() || after + (120 << 20) <= held;
            held >= before + (160 << 20) && is_returned
        };
        assert!((0..10).any(|_| is_seen()));
    }
}
