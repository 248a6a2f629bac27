//! Keeps background writes from crowding out foreground ones.
//!
//! [`TokenBucket`] refills at a fixed rate and holds at most a tenth of a second's worth, so a burst never exceeds
//! that. Larger requests are granted in pieces, so that requests of higher priority are served in between. Time and
//! waiting come from a [`Clock`], so that tests control them.
//!
//! An *auto-tuned* bucket has the lowest rate that its requests need, between a twentieth of a largest one and that, by
//! RocksDB's rules: it begins at half. About every ten seconds it looks in how many tenths of a second a request had to
//! wait: in none, the rate falls to the lowest; in less than half of them, by 5 %; in more than 90 %, it rises by 5 %.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ferrock_base::clock::Clock;
use parking_lot::Mutex;

/// How urgent a request is. Requests of a higher priority are served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IoPriority {
    /// Compaction.
    Low,
    /// Compaction that delays other work.
    Mid,
    /// Flush.
    High,
    /// The user's own reads and writes.
    #[default]
    User,
}

/// Makes callers wait so that bytes flow at a bounded rate.
pub trait RateLimiter: Send + Sync + fmt::Debug {
    /// Returns once `bytes` may be transferred.
    fn request(&self, bytes: u64, priority: IoPriority);
}

#[derive(Debug)]
struct BucketState {
    bytes_per_second: u64,
    /// Tokens in byte-microseconds: one byte is a million of them, so that refilling never rounds.
    available: u128,
    refilled_at_us: u64,
    waiting: [usize; 4],
    granted_bytes: [u64; 4],
    tuning: Option<Tuning>,
}

/// What an auto-tuned bucket has seen since its rate changed.
#[derive(Debug)]
struct Tuning {
    max_bytes_per_second: u64,
    since_us: u64,
    /// Intervals in which a request had to wait, and the last of them.
    drained: u64,
    last_drained: Option<u64>,
}

/// A [`RateLimiter`] that refills a bucket at a fixed rate.
#[derive(Debug)]
pub struct TokenBucket {
    state: Mutex<BucketState>,
    clock: Arc<dyn Clock>,
}

/// A request that was passed over this often is served whatever its priority, so that none starves.
const MAX_PASSED_OVER: u32 = 10;
const BYTE: u128 = 1_000_000;
/// What the waits of an auto-tuned bucket are counted by, and after how many of them it is tuned.
const INTERVAL_US: u64 = 100_000;
const INTERVALS_PER_TUNING: u64 = 100;
/// The largest rate is this many times the lowest.
const TUNED_RANGE: u64 = 20;
/// Parts of a hundred of the intervals with a wait, below which the rate falls and above which it rises, and by how
/// much.
const LOW_PERCENT: u64 = 50;
const HIGH_PERCENT: u64 = 90;
const STEP_PERCENT: u64 = 5;

impl Tuning {
    fn note_wait(&mut self, now_us: u64) {
        let interval = now_us.saturating_sub(self.since_us) / INTERVAL_US;
        if self.last_drained != Some(interval) {
            self.last_drained = Some(interval);
            self.drained += 1;
        }
    }

    /// The next rate after `rate`, when it is time for one.
    fn next_rate(&mut self, rate: u64, now_us: u64) -> Option<u64> {
        let intervals = now_us.saturating_sub(self.since_us) / INTERVAL_US;
        if intervals < INTERVALS_PER_TUNING {
            return None;
        }
        let percent = self.drained * 100 / intervals;
        (self.since_us, self.drained, self.last_drained) = (now_us, 0, None);
        let lowest = (self.max_bytes_per_second / TUNED_RANGE).max(1);
        let scaled =
            |part: u64, of: u64| u64::try_from(u128::from(rate) * u128::from(part) / u128::from(of)).unwrap_or(rate);
        Some(match percent {
            0 => lowest,
            1..LOW_PERCENT => scaled(100, 100 + STEP_PERCENT).max(lowest),
            _ if percent > HIGH_PERCENT => scaled(100 + STEP_PERCENT, 100).max(rate + 1).min(self.max_bytes_per_second),
            _ => rate,
        })
    }
}

impl BucketState {
    fn burst_bytes(&self) -> u64 {
        (self.bytes_per_second / 10).max(1)
    }

    /// Takes a rate over from now on.
    fn set_rate(&mut self, bytes_per_second: u64) {
        self.bytes_per_second = bytes_per_second.max(1);
        self.available = self.available.min(u128::from(self.burst_bytes()) * BYTE);
    }

    fn tune(&mut self, now_us: u64) {
        let rate = self.bytes_per_second;
        if let Some(next) = self.tuning.as_mut().and_then(|tuning| tuning.next_rate(rate, now_us)) {
            self.set_rate(next);
        }
    }

    fn refill(&mut self, now_us: u64) {
        let elapsed_us = now_us.saturating_sub(self.refilled_at_us);
        self.refilled_at_us = self.refilled_at_us.max(now_us);
        let refill = u128::from(elapsed_us) * u128::from(self.bytes_per_second);
        self.available = (self.available + refill).min(u128::from(self.burst_bytes()) * BYTE);
    }

    /// Takes the tokens, or returns how long (in microseconds) to wait before the next attempt.
    fn take(&mut self, bytes: u64, priority: IoPriority, passed_over: u32) -> Result<(), u64> {
        let needed = u128::from(bytes) * BYTE;
        let rank = priority as usize;
        let outranked = passed_over < MAX_PASSED_OVER && self.waiting[rank + 1..].iter().any(|&count| count > 0);
        if self.available < needed || outranked {
            // Requests of higher priority will take the available tokens first, so this one needs as many new ones.
            let missing = if outranked { needed } else { needed - self.available };
            let wait_us = missing.div_ceil(u128::from(self.bytes_per_second));
            return Err(u64::try_from(wait_us).unwrap_or(u64::MAX).max(1));
        }
        self.available -= needed;
        self.granted_bytes[rank] += bytes;
        Ok(())
    }
}

impl TokenBucket {
    /// A full bucket that refills at `bytes_per_second` (at least 1) of the clock's time.
    #[must_use]
    pub fn new(bytes_per_second: u64, clock: Arc<dyn Clock>) -> Self {
        let mut state = BucketState {
            bytes_per_second: bytes_per_second.max(1),
            available: 0,
            refilled_at_us: clock.monotonic_us(),
            waiting: [0; 4],
            granted_bytes: [0; 4],
            tuning: None,
        };
        state.available = u128::from(state.burst_bytes()) * BYTE;
        Self { state: Mutex::new(state), clock }
    }

    /// A bucket that finds out which rate its requests need, up to `max_bytes_per_second` (at least 1).
    #[must_use]
    pub fn auto_tuned(max_bytes_per_second: u64, clock: Arc<dyn Clock>) -> Self {
        let max_bytes_per_second = max_bytes_per_second.max(1);
        let since_us = clock.monotonic_us();
        let bucket = Self::new(max_bytes_per_second / 2, clock);
        bucket.state.lock().tuning = Some(Tuning { max_bytes_per_second, since_us, drained: 0, last_drained: None });
        bucket
    }

    /// Changes the rate (at least 1), or the largest one of an auto-tuned bucket; waiting requests see it at their next
    /// attempt.
    pub fn set_bytes_per_second(&self, bytes_per_second: u64) {
        let mut state = self.state.lock();
        state.refill(self.clock.monotonic_us());
        match &mut state.tuning {
            None => state.set_rate(bytes_per_second),
            Some(tuning) => {
                tuning.max_bytes_per_second = bytes_per_second.max(1);
                state.set_rate(bytes_per_second / 2);
            }
        }
    }

    /// The rate of now.
    #[must_use]
    pub fn bytes_per_second(&self) -> u64 {
        self.state.lock().bytes_per_second
    }

    /// Bytes granted so far at one priority.
    #[must_use]
    pub fn granted_bytes(&self, priority: IoPriority) -> u64 {
        self.state.lock().granted_bytes[priority as usize]
    }

    fn request_piece(&self, left: u64, priority: IoPriority) -> u64 {
        let mut passed_over = 0;
        let mut counted = false;
        loop {
            let mut state = self.state.lock();
            let now_us = self.clock.monotonic_us();
            state.refill(now_us);
            state.tune(now_us);
            let piece = left.min(state.burst_bytes());
            let outcome = state.take(piece, priority, passed_over);
            if outcome.is_err()
                && let Some(tuning) = &mut state.tuning
            {
                tuning.note_wait(now_us);
            }
            if outcome.is_err() != counted {
                counted = !counted;
                let waiting = &mut state.waiting[priority as usize];
                *waiting = if counted { *waiting + 1 } else { *waiting - 1 };
            }
            drop(state);
            match outcome {
                Ok(()) => return piece,
                Err(wait_us) => self.clock.sleep(Duration::from_micros(wait_us)),
            }
            passed_over += 1;
        }
    }
}

impl RateLimiter for TokenBucket {
    fn request(&self, bytes: u64, priority: IoPriority) {
        let mut left = bytes;
        while left > 0 {
            left -= self.request_piece(left, priority);
        }
    }
}

#[cfg(test)]
mod tests;
