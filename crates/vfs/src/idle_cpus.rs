//! Processors that have nothing to do, as the system sees them.
//!
//! ```text
//! /proc/loadavg     0.92 1.88 2.10 3/234 12345      3: threads of the machine that run or could run now
//! ```
//!
//! A look at one moment: a thread that waits for a device is not counted, though it may run in the next, and two
//! threads that look at once see the same idle processor. It takes about 50 microseconds, so it is for what
//! takes milliseconds.

use std::fs;

/// Processors that this process may use and no thread runs on, the caller's not counted; 0 where the system does not
/// say.
#[must_use]
pub fn idle_cpus() -> usize {
    let Some(running) = fs::read_to_string("/proc/loadavg").ok().as_deref().and_then(running_threads) else { return 0 };
    std::thread::available_parallelism().map_or(1, usize::from).saturating_sub(running)
}

/// The threads that run, of the text of the file. The caller is one of them: some sandboxes, which do not count, say 0.
fn running_threads(text: &str) -> Option<usize> {
    let running = text.split_ascii_whitespace().nth(3)?.split('/').next()?.parse().ok();
    running.filter(|&running| running > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn the_threads_that_run_are_read() {
        assert_eq!(running_threads("0.92 1.88 2.10 3/234 12345\n"), Some(3));
        for text in
            ["", "0.00 0.00 0.00 0/0 0", "0.92", "0.92 1.88 2.10", "0.92 1.88 2.10 x/234 12345", "0.92 1.88 2.10 /"]
        {
            assert_eq!(running_threads(text), None, "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn busy_threads_leave_no_processor() {
        let (stop, cpus) = (AtomicBool::new(false), std::thread::available_parallelism().map_or(1, usize::from));
        std::thread::scope(|scope| {
            for _ in 0..2 * cpus {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            while idle_cpus() > 0 {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
