//! What the process holds in memory, as the system sees it, and giving back what its allocator keeps.
//!
//! ```text
//! /proc/self/statm     size resident shared text lib data dirty      in pages; anonymous = resident - shared
//! ```
//!
//! glibc keeps freed memory in as many arenas as threads have allocated from: after a burst of writes by four threads a
//! process held 243 MB of which 94 MB were in use, and 140 MB with its free pages returned twice a second. Under loads
//! that go on for minutes the free part grows without a burst: what lives long (indexes of tables) is allocated between
//! what lives for a job, and keeps it from being joined to larger pieces.

use ferrock_base::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use std::fs;
use std::sync::LazyLock;

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

/// Shortest and longest time between two returns.
const PAUSE_US: u64 = 1_000_000;
const LONGEST_PAUSE_US: u64 = 64_000_000;
/// A return that brings less than this, or less than this part of what the process holds (one in so many), is not worth
/// repeating soon: each page that is taken again costs a fault.
const WORTHWHILE_BYTES: u64 = 2 << 20;
const WORTHWHILE_PART: u64 = 64;

/// When the free pages of the process's allocator are returned: a second after the last time, and later each time that
/// brought little, up to a minute. A process has one allocator and so one of these, whatever the number of databases.
///
/// ```
/// use ferrock_vfs::process_memory::FreePages;
/// FreePages::of_process().return_if_due();
/// ```
#[derive(Debug)]
pub struct FreePages {
    clock: SystemClock,
    state: Mutex<Returns>,
}

#[derive(Debug)]
struct Returns {
    next_us: u64,
    pause_us: u64,
}

impl Returns {
    /// What a return at `now_us` brought decides when the next one is due.
    fn note(&mut self, now_us: u64, held_before: u64, held_after: u64) {
        let brought = held_before.saturating_sub(held_after);
        let is_worthwhile = brought >= WORTHWHILE_BYTES.max(held_before / WORTHWHILE_PART);
        self.pause_us = if is_worthwhile { PAUSE_US } else { (self.pause_us * 2).min(LONGEST_PAUSE_US) };
        self.next_us = now_us.saturating_add(self.pause_us);
    }
}

impl FreePages {
    fn new() -> Self {
        Self { clock: SystemClock::default(), state: Mutex::new(Returns { next_us: 0, pause_us: PAUSE_US }) }
    }

    /// Those of this process.
    #[must_use]
    pub fn of_process() -> &'static Self {
        static OF_PROCESS: LazyLock<FreePages> = LazyLock::new(FreePages::new);
        &OF_PROCESS
    }

    /// Whether a return is due. False while a thread is at one.
    #[must_use]
    pub fn are_due(&self) -> bool {
        self.are_due_at(self.clock.monotonic_us())
    }

    fn are_due_at(&self, now_us: u64) -> bool {
        self.state.try_lock().is_some_and(|state| now_us >= state.next_us)
    }

    /// Returns the free pages if that is due, which takes milliseconds: for a thread that nothing waits for.
    pub fn return_if_due(&self) {
        self.return_if_due_at(self.clock.monotonic_us());
    }

    fn return_if_due_at(&self, now_us: u64) {
        let Some(mut state) = self.state.try_lock() else { return };
        if now_us < state.next_us {
            return;
        }
        let before = anonymous_bytes().unwrap_or(0);
        return_free_memory();
        state.note(now_us, before, anonymous_bytes().unwrap_or(0));
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

    #[test]
    fn returns_come_each_second_while_they_bring_something_and_ever_less_often_while_they_do_not() {
        let pages = FreePages::new();
        assert!(pages.are_due_at(0));
        let mut state = pages.state.lock();
        assert!(!pages.are_due_at(0), "a thread is at it");
        state.note(5_000_000, 300 << 20, 250 << 20);
        assert_eq!(state.next_us, 6_000_000);
        let mut now_us = 6_000_000;
        for pause_s in [2, 4, 8, 16, 32, 64, 64] {
            // A 64th of what is held is the least that counts.
            state.note(now_us, 300 << 20, 296 << 20);
            assert_eq!(state.next_us, now_us + pause_s * 1_000_000);
            now_us = state.next_us;
        }
        state.note(now_us, 300 << 20, 295 << 20);
        assert_eq!(state.next_us, now_us + 1_000_000);
        drop(state);
        assert!(!pages.are_due_at(now_us + 999_999) && pages.are_due_at(now_us + 1_000_000));
        pages.return_if_due_at(now_us);
        assert_eq!(pages.state.lock().next_us, now_us + 1_000_000, "not before it is due");
    }
}
