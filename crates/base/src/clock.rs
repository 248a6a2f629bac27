//! Time, as something a test can own.

use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Tells time and waits.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Microseconds since an arbitrary start; never goes back.
    fn monotonic_us(&self) -> u64;
    /// Microseconds since 1970.
    fn unix_us(&self) -> u64;
    /// Seconds since 1970.
    fn unix_seconds(&self) -> u64 {
        self.unix_us() / 1_000_000
    }
    /// Blocks the thread for `duration`.
    fn sleep(&self, duration: Duration);
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the machine's clock enters the engine")]
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl SystemClock {
    /// A shared handle.
    #[must_use]
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Self::default())
    }
}

impl Clock for SystemClock {
    fn monotonic_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
    #[expect(clippy::disallowed_methods, reason = "this is where the machine's clock enters the engine")]
    fn unix_us(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }
    #[expect(clippy::disallowed_methods, reason = "this is where waiting enters the engine")]
    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A clock that moves only when told; sleepers wake when it passes their time.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_us: Mutex<u64>,
    moved: Condvar,
}

impl ManualClock {
    /// Starts at `unix_us`.
    #[must_use]
    pub fn new(unix_us: u64) -> Self {
        Self { now_us: Mutex::new(unix_us), moved: Condvar::new() }
    }

    /// Moves time forward.
    pub fn advance(&self, duration: Duration) {
        *self.now_us.lock() += u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.moved.notify_all();
    }
}

impl Clock for ManualClock {
    fn monotonic_us(&self) -> u64 {
        *self.now_us.lock()
    }
    fn unix_us(&self) -> u64 {
        *self.now_us.lock()
    }
    fn sleep(&self, duration: Duration) {
        let mut now = self.now_us.lock();
        let until = now.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
        while *now < until {
            self.moved.wait(&mut now);
        }
    }
}
