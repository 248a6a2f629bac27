//! Keeps background reads and writes from crowding out foreground ones.
//!
//! ```text
//! request(bytes, priority) -> piece -> piece -> ... -> return
//!                             at most single_burst_bytes, and no more than the bucket holds
//! ```
//!
//! [`TokenBucket`] refills at a fixed rate and holds at most what flows in one refill period (a tenth of a second by
//! default), so a burst never exceeds that. Larger requests are granted in pieces, so that others are served in
//! between: those of higher priority first, those of one priority in turn (`queue.rs`). Time and waiting come from a
//! [`Clock`], so that tests control them.
//!
//! A limiter says which [`IoKind`] it limits ([`LimiterMode`]): a file asks it for no other. Where requests of a
//! priority were passed over `fairness` times, the oldest of them is served next. RocksDB draws lots instead, and
//! always serves requests of users first; the count needs no random numbers, and starves no compaction.
//!
//! An *auto-tuned* bucket has the lowest rate that its requests need, between a twentieth of a largest one and that, by
//! RocksDB's rules: it begins at half. After every hundred refill periods it looks in how many of them a request had to
//! wait: in none, the rate falls to the lowest; in less than half of them, by 5 %; in more than 90 %, it rises by 5 %.
//!
//! Tried and lost: filling the bucket once a period, as RocksDB does. Waiting threads then wake together, and tokens
//! that come between two refills make nothing faster.

mod queue;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ferrock_base::clock::Clock;
use ferrock_base::{Error, Result};
use parking_lot::Mutex;
use queue::{Ticket, WaitQueue};

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

/// The direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoKind {
    /// Bytes come from a file.
    Read,
    /// Bytes go to a file.
    Write,
}

/// What a limiter limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LimiterMode {
    /// Reads.
    ReadsOnly,
    /// Writes.
    #[default]
    WritesOnly,
    /// Reads and writes, which share the bytes.
    AllIo,
}

impl LimiterMode {
    /// Whether it limits requests of a kind.
    #[must_use]
    pub fn limits(self, kind: IoKind) -> bool {
        match self {
            Self::ReadsOnly => kind == IoKind::Read,
            Self::WritesOnly => kind == IoKind::Write,
            Self::AllIo => true,
        }
    }
}

/// Makes callers wait so that bytes flow at a bounded rate.
pub trait RateLimiter: Send + Sync + fmt::Debug {
    /// Returns once `bytes` may be transferred.
    fn request(&self, bytes: u64, priority: IoPriority);

    /// As [`request`](Self::request); how often it found too few bytes and waited, as far as the limiter tells
    /// (default: never).
    fn request_counted(&self, bytes: u64, priority: IoPriority) -> u64 {
        self.request(bytes, priority);
        0
    }

    /// Whether requests of a kind are to be made at all (default: writes). The answer never changes: it is asked when a
    /// file is opened.
    fn limits(&self, kind: IoKind) -> bool {
        kind == IoKind::Write
    }
}

/// Keeps a limiter for requests of one kind, if it limits them.
pub(crate) fn limiter_of(limiter: Option<Arc<dyn RateLimiter>>, kind: IoKind) -> Option<Arc<dyn RateLimiter>> {
    limiter.filter(|limiter| limiter.limits(kind))
}

/// How a [`TokenBucket`] limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucketOptions {
    /// Bytes a second, at least 1; of an auto-tuned bucket the most.
    pub bytes_per_second: u64,
    /// The bucket holds what flows in this time (default 100 ms). Longer ones allow larger bursts.
    pub refill_period: Duration,
    /// How often a request may be passed over for one of a higher priority: from 1 on (default 10). Numbers above 100
    /// count as 100.
    pub fairness: u32,
    /// What is limited (default: writes).
    pub mode: LimiterMode,
    /// The rate follows what is asked for, up to `bytes_per_second`.
    pub auto_tuned: bool,
    /// The most that one grant has; 0 (default): what the bucket holds.
    pub single_burst_bytes: u64,
}

impl TokenBucketOptions {
    /// The defaults, at a rate.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        Self {
            bytes_per_second,
            refill_period: DEFAULT_REFILL_PERIOD,
            fairness: DEFAULT_FAIRNESS,
            mode: LimiterMode::WritesOnly,
            auto_tuned: false,
            single_burst_bytes: 0,
        }
    }

    /// Finds every value out of its bounds.
    ///
    /// # Errors
    /// `InvalidArgument` naming each value and its bound.
    pub fn validate(&self) -> Result<()> {
        let mut wrong = Vec::new();
        if self.bytes_per_second == 0 {
            wrong.push("bytes_per_second is 0, and must be at least 1".to_owned());
        }
        if self.refill_period.as_micros() == 0 || self.refill_period > MAX_REFILL_PERIOD {
            let period = self.refill_period.as_micros();
            wrong.push(format!("refill_period is {period} microseconds, and must be from 1 to 3600000000 (an hour)"));
        }
        if self.fairness == 0 {
            wrong.push("fairness is 0, and must be at least 1".to_owned());
        }
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("rate limiter: {}", wrong.join("; "))))
    }
}

#[derive(Debug)]
struct BucketState {
    refill_period_us: u64,
    bytes_per_second: u64,
    single_burst_bytes: u64,
    /// Tokens in byte-microseconds: one byte is a million of them, so that refilling never rounds.
    available: u128,
    refilled_at_us: u64,
    waiting: WaitQueue,
    granted_bytes: [u64; 4],
    requests: [u64; 4],
    tuning: Option<Tuning>,
}

/// What an auto-tuned bucket has seen since its rate changed.
#[derive(Debug)]
struct Tuning {
    interval_us: u64,
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
    fairness: u32,
    mode: LimiterMode,
    clock: Arc<dyn Clock>,
}

const DEFAULT_REFILL_PERIOD: Duration = Duration::from_millis(100);
const MAX_REFILL_PERIOD: Duration = Duration::from_secs(3600);
/// Where requests of a priority were passed over this often, the oldest of them is next, so that none starves.
const DEFAULT_FAIRNESS: u32 = 10;
const MAX_FAIRNESS: u32 = 100;
const BYTE: u128 = 1_000_000;
/// The shortest sleep of a thread whose turn has not come: another thread is about to wake up.
const MIN_TURN_WAIT_US: u64 = 50;
/// Refill periods after which an auto-tuned bucket is tuned.
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
        let interval = now_us.saturating_sub(self.since_us) / self.interval_us;
        if self.last_drained != Some(interval) {
            self.last_drained = Some(interval);
            self.drained += 1;
        }
    }

    /// The next rate after `rate`, when it is time for one.
    fn next_rate(&mut self, rate: u64, now_us: u64) -> Option<u64> {
        let intervals = now_us.saturating_sub(self.since_us) / self.interval_us;
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
    /// What the bucket holds.
    fn capacity_bytes(&self) -> u64 {
        let bytes = u128::from(self.bytes_per_second) * u128::from(self.refill_period_us) / BYTE;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(1)
    }

    /// The largest piece that is granted at once.
    fn burst_bytes(&self) -> u64 {
        let capacity = self.capacity_bytes();
        if self.single_burst_bytes == 0 { capacity } else { capacity.min(self.single_burst_bytes) }
    }

    /// Takes a rate over from now on.
    fn set_rate(&mut self, bytes_per_second: u64) {
        self.bytes_per_second = bytes_per_second.max(1);
        self.available = self.available.min(u128::from(self.capacity_bytes()) * BYTE);
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
        self.available = (self.available + refill).min(u128::from(self.capacity_bytes()) * BYTE);
    }

    /// Takes the tokens of a piece that waits, or returns how long (in microseconds) to wait before the next attempt.
    fn take(&mut self, ticket: &Ticket, fairness: u32) -> std::result::Result<(), u64> {
        let needed = u128::from(ticket.bytes()) * BYTE;
        let is_next = self.waiting.is_next(ticket, fairness);
        if !is_next || self.available < needed {
            let ahead = if is_next { 0 } else { u128::from(self.waiting.bytes_ahead(ticket)) * BYTE };
            let missing = (needed + ahead).saturating_sub(self.available);
            let wait_us = u64::try_from(missing.div_ceil(u128::from(self.bytes_per_second))).unwrap_or(u64::MAX);
            // Its turn may come sooner: the rate may rise.
            let turn_us = wait_us.min(self.refill_period_us).max(MIN_TURN_WAIT_US);
            return Err(if is_next { wait_us.max(1) } else { turn_us });
        }
        self.available -= needed;
        self.waiting.grant(ticket);
        self.granted_bytes[ticket.rank()] += ticket.bytes();
        Ok(())
    }
}

impl TokenBucket {
    /// A full bucket that refills at `bytes_per_second` (at least 1) of the clock's time, for writes.
    #[must_use]
    pub fn new(bytes_per_second: u64, clock: Arc<dyn Clock>) -> Self {
        Self::build(&TokenBucketOptions::new(bytes_per_second), clock)
    }

    /// A bucket that finds out which rate its requests need, up to `max_bytes_per_second` (at least 1), for writes.
    #[must_use]
    pub fn auto_tuned(max_bytes_per_second: u64, clock: Arc<dyn Clock>) -> Self {
        Self::build(&TokenBucketOptions { auto_tuned: true, ..TokenBucketOptions::new(max_bytes_per_second) }, clock)
    }

    /// A full bucket.
    ///
    /// # Errors
    /// Those of [`TokenBucketOptions::validate`].
    pub fn with_options(options: &TokenBucketOptions, clock: Arc<dyn Clock>) -> Result<Self> {
        options.validate()?;
        Ok(Self::build(options, clock))
    }

    fn build(options: &TokenBucketOptions, clock: Arc<dyn Clock>) -> Self {
        let max_bytes_per_second = options.bytes_per_second.max(1);
        let interval_us = u64::try_from(options.refill_period.as_micros()).unwrap_or(u64::MAX).max(1);
        let since_us = clock.monotonic_us();
        let tuning = Tuning { interval_us, max_bytes_per_second, since_us, drained: 0, last_drained: None };
        let rate = if options.auto_tuned { max_bytes_per_second / 2 } else { max_bytes_per_second };
        let mut state = BucketState {
            refill_period_us: interval_us,
            bytes_per_second: rate.max(1),
            single_burst_bytes: options.single_burst_bytes,
            available: 0,
            refilled_at_us: since_us,
            waiting: WaitQueue::default(),
            granted_bytes: [0; 4],
            requests: [0; 4],
            tuning: options.auto_tuned.then_some(tuning),
        };
        state.available = u128::from(state.capacity_bytes()) * BYTE;
        let fairness = options.fairness.clamp(1, MAX_FAIRNESS);
        Self { state: Mutex::new(state), fairness, mode: options.mode, clock }
    }

    /// Changes the most that one grant has; 0: what the bucket holds. Waiting requests see it at their next attempt.
    pub fn set_single_burst_bytes(&self, single_burst_bytes: u64) {
        self.state.lock().single_burst_bytes = single_burst_bytes;
    }

    /// The most that one grant has now.
    #[must_use]
    pub fn single_burst_bytes(&self) -> u64 {
        self.state.lock().burst_bytes()
    }

    /// How often bytes were asked for so far at one priority.
    #[must_use]
    pub fn requests(&self, priority: IoPriority) -> u64 {
        self.state.lock().requests[priority as usize]
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

    /// The bytes that were granted, and how often it waited for them.
    fn request_piece(&self, left: u64, priority: IoPriority) -> (u64, u64) {
        let mut waiting: Option<Ticket> = None;
        let mut waits = 0;
        loop {
            let mut state = self.state.lock();
            let now_us = self.clock.monotonic_us();
            state.refill(now_us);
            state.tune(now_us);
            let burst_bytes = state.burst_bytes();
            let mut ticket = waiting.unwrap_or_else(|| state.waiting.join(priority, left.min(burst_bytes)));
            state.waiting.shrink(&mut ticket, burst_bytes);
            waiting = Some(ticket);
            let wait_us = match state.take(&ticket, self.fairness) {
                Ok(()) => return (ticket.bytes(), waits),
                Err(wait_us) => wait_us,
            };
            if let Some(tuning) = &mut state.tuning {
                tuning.note_wait(now_us);
            }
            drop(state);
            waits += 1;
            self.clock.sleep(Duration::from_micros(wait_us));
        }
    }
}

impl RateLimiter for TokenBucket {
    fn request(&self, bytes: u64, priority: IoPriority) {
        self.request_counted(bytes, priority);
    }

    fn request_counted(&self, bytes: u64, priority: IoPriority) -> u64 {
        let (mut left, mut all_waits) = (bytes, 0);
        if left > 0 {
            self.state.lock().requests[priority as usize] += 1;
        }
        while left > 0 {
            let (granted, waits) = self.request_piece(left, priority);
            left -= granted;
            all_waits += waits;
        }
        all_waits
    }

    fn limits(&self, kind: IoKind) -> bool {
        self.mode.limits(kind)
    }
}

#[cfg(test)]
mod tests;
