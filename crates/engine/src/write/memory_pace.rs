//! Slows writers down while a flush runs and the memory that they may fill meanwhile gets short.
//!
//! ```text
//! memory   |== waits for the flush ==|== filled since ==|........ left ........|
//!          0                                       3/4 of it: begin            the stop
//! rate     left / time until the flush ends
//! time     what the flush has, at the speed of the fastest of the last four, less what has passed;
//!          at least an eighth of what has passed
//! ```
//!
//! Memory is that of all memtables, where a write buffer manager stops writers, and that of a family, which stops them
//! at `max_write_buffer_number` memtables. Without this, writers run at full speed into the stop, and stand until the
//! flush is done. With it they get what is left, spread over the time until then: as much in all, and no long pause.
//!
//! A writer that would not have come to the stop before the end of the flush is slower than the rate and is not held
//! up. The guess of the end is on the early side: then writers get more, at worst as much as without this, as they do
//! during the first flush, of which nothing is known. One that takes longer than was thought makes the rate fall with
//! what is left, and not to nothing at once.
//!
//! Invariants: while no flush runs, a write costs one load here. No sleep is longer than [`MAX_SLEEP_US`], and the end
//! of a flush ends it. No listener is told, and no write is refused for it.
//!
//! Tried and lost, on paper: the speed of the last flush times the square of what is left of the way, as for debt. A
//! writer at nine tenths of the speed of flushes never stops, and would have been slowed down to a twentieth of it at
//! the end of each memtable.

use crate::metrics::WaitCause;
use ferrock_base::clock::{Alarm, Clock};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// A sleep is no longer: then a writer looks again how much is left.
const MAX_SLEEP_US: u64 = 50_000;
/// What is worth less is not slept at once, but owed.
const MIN_SLEEP_US: u64 = 250;
/// No flush is thought to end sooner.
const LEAST_LEFT_US: u64 = 1000;
/// So many flushes tell how fast one is.
const MEASURED_FLUSHES: usize = 4;

/// Memory that writers may fill until they are stopped, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) used: u64,
    /// Here writers stop.
    pub(crate) limit: u64,
}

impl Room {
    /// What is left, once three fourths are used.
    fn left(self) -> Option<u64> {
        let left = self.limit.saturating_sub(self.used);
        (left <= self.limit / 4).then_some(left)
    }
}

/// A flush that runs.
#[derive(Debug)]
struct Flush {
    number: u64,
    families: Vec<u32>,
    bytes: u64,
    began_us: u64,
}

#[derive(Debug, Default)]
struct State {
    running: Vec<Flush>,
    begun: u64,
    /// Bytes and microseconds of the last flushes.
    measured: VecDeque<(u64, u64)>,
    /// Until then the writes of before are paid for.
    paid_until_us: u64,
}

impl State {
    /// Microseconds until a flush ends.
    fn left_us(&self, flush: &Flush, now_us: u64) -> u64 {
        let passed_us = now_us.saturating_sub(flush.began_us);
        let at_speed = |&(bytes, us): &(u64, u64)| {
            u64::try_from(u128::from(flush.bytes) * u128::from(us) / u128::from(bytes.max(1))).unwrap_or(u64::MAX)
        };
        let whole_us = self.measured.iter().map(at_speed).min().unwrap_or(0);
        whole_us.saturating_sub(passed_us).max(passed_us / 8).max(LEAST_LEFT_US)
    }
}

/// Shared by the writers and the flushes of a database. See the [module](self).
#[derive(Debug)]
pub(crate) struct MemoryPace {
    /// Flushes that run: the only thing that a write looks at while there is none.
    running: AtomicUsize,
    /// Bytes of the last group while a flush ran. The leader of the next one does not know its group yet.
    last_group_bytes: AtomicU64,
    state: Mutex<State>,
    /// Rings when a flush ends.
    relief: Arc<Alarm>,
    clock: Arc<dyn Clock>,
}

impl MemoryPace {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            running: AtomicUsize::new(0),
            last_group_bytes: AtomicU64::new(0),
            state: Mutex::default(),
            relief: Arc::default(),
            clock,
        }
    }

    /// A flush of memtables of so many bytes begins. It ends with what this returns.
    pub(crate) fn begin(&self, families: Vec<u32>, bytes: u64) -> Flushing<'_> {
        let mut state = self.state.lock();
        state.begun += 1;
        let number = state.begun;
        state.running.push(Flush { number, families, bytes, began_us: self.clock.monotonic_us() });
        self.running.store(state.running.len(), Ordering::Release);
        Flushing { pace: self, number, is_done: false }
    }

    fn end(&self, number: u64, is_done: bool) {
        let mut state = self.state.lock();
        let Some(at) = state.running.iter().position(|flush| flush.number == number) else { return };
        let flush = state.running.swap_remove(at);
        self.running.store(state.running.len(), Ordering::Release);
        if is_done && flush.bytes > 0 {
            let taken_us = self.clock.monotonic_us().saturating_sub(flush.began_us);
            state.measured.push_back((flush.bytes, taken_us));
            if state.measured.len() > MEASURED_FLUSHES {
                state.measured.pop_front();
            }
        }
        state.paid_until_us = 0;
        drop(state);
        self.last_group_bytes.store(0, Ordering::Relaxed);
        self.relief.ring();
    }

    /// True while a flush runs.
    #[inline]
    pub(crate) fn is_flushing(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    /// A group of so many bytes is written.
    #[inline]
    pub(crate) fn note_group(&self, bytes: usize) {
        if self.is_flushing() {
            self.last_group_bytes.store(bytes as u64, Ordering::Relaxed);
        }
    }

    /// How long the leader of a group has to sleep whose own batch has `bytes`, and for what memory. `of_all` is the
    /// room of all memtables where there is a bound of that; `of_family` that of a family.
    pub(crate) fn delay(
        &self,
        bytes: u64,
        of_all: Option<Room>,
        of_family: impl Fn(u32) -> Option<Room>,
    ) -> Option<(Duration, WaitCause)> {
        let now_us = self.clock.monotonic_us();
        let bytes = bytes.max(self.last_group_bytes.load(Ordering::Relaxed));
        let mut state = self.state.lock();
        if state.measured.is_empty() {
            return None;
        }
        let mut slowest: Option<(f64, WaitCause)> = None;
        let mut consider = |left: Option<u64>, left_us: u64, cause| {
            let Some(left) = left else { return };
            // Bytes a microsecond.
            let rate = left.max(1) as f64 / left_us as f64;
            if slowest.is_none_or(|(slow, _)| rate < slow) {
                slowest = Some((rate, cause));
            }
        };
        // The first flush that ends frees memory of all memtables; that of a family, its own alone.
        if let Some(left_us) = state.running.iter().map(|flush| state.left_us(flush, now_us)).min() {
            consider(of_all.and_then(Room::left), left_us, WaitCause::WriteBufferManager);
        }
        for flush in &state.running {
            let left = flush.families.iter().filter_map(|family| of_family(*family)?.left()).min();
            consider(left, state.left_us(flush, now_us), WaitCause::Memtables);
        }
        let Some((rate, cause)) = slowest else {
            state.paid_until_us = 0;
            return None;
        };
        let worth_us = (bytes as f64 / rate).min(MAX_SLEEP_US as f64) as u64;
        state.paid_until_us = (state.paid_until_us.max(now_us) + worth_us).min(now_us + MAX_SLEEP_US);
        let owed_us = state.paid_until_us - now_us;
        (owed_us >= MIN_SLEEP_US).then(|| (Duration::from_micros(owed_us), cause))
    }

    /// Sleeps a delay; less when a flush ends. One thread sleeps at a time: the one that leads the write queue.
    pub(crate) fn sleep(&self, delay: Duration) {
        self.relief.arm();
        if self.is_flushing() {
            self.clock.sleep_unless(&self.relief, delay);
        }
    }
}

/// A flush that runs, until this is dropped.
#[derive(Debug)]
pub(crate) struct Flushing<'a> {
    pace: &'a MemoryPace,
    number: u64,
    is_done: bool,
}

impl Flushing<'_> {
    /// The memtables are in tables: how long that took is a measure for the next flush.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Flushing<'_> {
    fn drop(&mut self) {
        self.pace.end(self.number, self.is_done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;

    const MB: u64 = 1 << 20;

    fn pace() -> (MemoryPace, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(1_000_000));
        (MemoryPace::new(Arc::<ManualClock>::clone(&clock)), clock)
    }

    /// Has flushes of 8 MiB, two in a second, measured.
    fn measured() -> (MemoryPace, Arc<ManualClock>) {
        let (pace, clock) = pace();
        let flushing = pace.begin(vec![0], 8 * MB);
        clock.advance(Duration::from_millis(500));
        flushing.done();
        (pace, clock)
    }

    /// What a writer comes to during a flush of 8 MiB that takes `flush_ms`.
    #[derive(Debug, Default)]
    struct Ran {
        written: u64,
        /// Milliseconds of the flush that were left when the memory was full.
        stopped_ms: u64,
        longest_sleep_us: u64,
        slept_us: u64,
        bytes_of_halves: [u64; 2],
    }

    /// A writer of values of 1000 bytes, each of which takes `put_us` where it is free, into two memtables of 8 MiB.
    fn run(pace: &MemoryPace, clock: &ManualClock, flush_ms: u64, put_us: u64) -> Ran {
        let begin = clock.monotonic_us();
        let end = begin + flush_ms * 1000;
        let flushing = pace.begin(vec![0], 8 * MB);
        let mut ran = Ran::default();
        while clock.monotonic_us() < end {
            let room = Room { used: 8 * MB + ran.written, limit: 16 * MB };
            if room.used >= room.limit {
                ran.stopped_ms = (end - clock.monotonic_us()) / 1000;
                break;
            }
            if let Some((delay, cause)) = pace.delay(1000, None, |_| Some(room)) {
                assert_eq!(cause, WaitCause::Memtables);
                let delay = delay.min(Duration::from_micros(end - clock.monotonic_us()));
                clock.advance(delay);
                ran.longest_sleep_us = ran.longest_sleep_us.max(delay.as_micros() as u64);
                ran.slept_us += delay.as_micros() as u64;
            }
            clock.advance(Duration::from_micros(put_us));
            ran.written += 1000;
            ran.bytes_of_halves[usize::from(clock.monotonic_us() > begin + flush_ms * 500)] += 1000;
        }
        drop(flushing);
        ran
    }

    #[test]
    fn writers_that_would_stop_get_what_is_left_until_the_flush_ends() {
        let (pace, clock) = measured();
        let ran = run(&pace, &clock, 500, 4);
        assert_eq!(ran.stopped_ms, 0, "{ran:?}");
        assert!(ran.longest_sleep_us < 2000, "no cliff: {ran:?}");
        // Nearly all of the memory is used by the end of the flush, and the second half had its share.
        assert!(ran.written > 8 * MB * 9 / 10, "{ran:?}");
        assert!(ran.bytes_of_halves[1] > MB, "{ran:?}");
    }

    #[test]
    fn what_would_not_stop_is_not_held_up() {
        let (pace, clock) = measured();
        // 8 MiB in half a second are 16.8 bytes a microsecond; this one writes 15.6.
        let ran = run(&pace, &clock, 500, 64);
        assert!(ran.stopped_ms == 0 && ran.slept_us < 10_000, "{ran:?}");
        // One that begins with little used is not looked at, however fast it is.
        let flushing = pace.begin(vec![0], 8 * MB);
        for _ in 0..1000 {
            assert_eq!(pace.delay(1000, None, |_| Some(Room { used: 11 * MB, limit: 16 * MB })), None);
        }
        drop(flushing);
        assert!(!pace.is_flushing());
        assert_eq!(pace.delay(1000, None, |_| Some(Room { used: 16 * MB, limit: 16 * MB })), None);
    }

    #[test]
    fn a_flush_that_takes_longer_makes_the_rate_fall_step_by_step() {
        let (pace, clock) = measured();
        let ran = run(&pace, &clock, 800, 4);
        assert_eq!(ran.stopped_ms, 0, "{ran:?}");
        assert!(ran.longest_sleep_us <= MAX_SLEEP_US && ran.bytes_of_halves[1] > 100_000, "{ran:?}");
        // Of the first one nothing is known.
        let (pace, clock) = self::pace();
        let ran = run(&pace, &clock, 500, 4);
        assert!(ran.stopped_ms > 400 && ran.slept_us == 0, "{ran:?}");
    }

    #[test]
    fn the_memory_that_is_shortest_counts() {
        let (pace, clock) = measured();
        let first = pace.begin(vec![0, 1], 8 * MB);
        clock.advance(Duration::from_millis(250));
        let second = pace.begin(vec![2], 8 * MB);
        let room = |left: u64| Some(Room { used: 16 * MB - left, limit: 16 * MB });
        let sleep = |of_all: Option<Room>, of_two: Option<Room>| {
            pace.state.lock().paid_until_us = 0;
            pace.delay(MB / 4, of_all, |family| if family == 2 { of_two } else { None })
        };
        let near = |slept: Option<(Duration, WaitCause)>, ms: u64, cause| {
            let (delay, by) = slept.expect("a delay");
            assert!(by == cause && delay.as_millis().abs_diff(u128::from(ms)) <= 1, "{delay:?} {by:?}, not {ms}");
        };
        // All memtables have 4 MiB for 250 ms, and the family 4 MiB for 500.
        near(sleep(room(4 * MB), None), 15, WaitCause::WriteBufferManager);
        near(sleep(room(4 * MB), room(4 * MB)), 31, WaitCause::Memtables);
        near(sleep(room(MB), room(4 * MB)), 50, WaitCause::WriteBufferManager);
        assert_eq!(sleep(room(5 * MB), room(5 * MB)), None);
        drop((first, second));
    }

    /// What failed is no measure; the best of the last four is.
    #[test]
    fn the_fastest_of_the_last_flushes_tells_how_long_one_takes() {
        let (pace, clock) = measured();
        let left_us = || {
            let state = pace.state.lock();
            state.left_us(&Flush { number: 0, families: vec![], bytes: MB, began_us: clock.monotonic_us() }, {
                clock.monotonic_us()
            })
        };
        assert_eq!(left_us(), 62_500);
        let failed = pace.begin(vec![0], 800 * MB);
        drop(failed);
        assert_eq!(left_us(), 62_500);
        for (count, expected) in [(3, 62_500), (1, 1_000_000)] {
            for _ in 0..count {
                let slow = pace.begin(vec![0], MB);
                clock.advance(Duration::from_secs(1));
                slow.done();
            }
            assert_eq!(left_us(), expected);
        }
    }
}
