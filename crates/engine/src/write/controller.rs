//! Slows writers down, or stops them, while flush and compaction are behind.
//!
//! A stall condition of any column family holds for all writers. While *delayed*,
//! writers share `rate` bytes a second: a token bucket, refilled every millisecond. On
//! each re-evaluation the rate follows the debt: it falls when the debt did not shrink
//! and rises when it did, so that writers glide instead of stopping.

use ferrock_base::clock::{Alarm, Clock};
use ferrock_tree::compaction::picker::stall::{DelayTrend, next_delayed_rate};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// How a column family wants writers treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StallCondition {
    /// At full speed.
    #[default]
    Normal,
    /// Slowed down.
    Delayed,
    /// Not at all.
    Stopped,
}

/// A delay that ends leaves the rate this much higher.
const RECOVERY_FACTOR: f64 = 1.4;
/// The bucket is refilled this often.
const REFILL_US: u64 = 1000;

#[derive(Debug)]
struct State {
    max_rate: u64,
    rate: u64,
    /// Debt at the last evaluation, by column family.
    debts: HashMap<u32, (StallCondition, u64)>,
    credit_bytes: u64,
    next_refill_us: u64,
}

/// Shared by the writers of a database. See the [module](self).
#[derive(Debug)]
pub(crate) struct WriteController {
    /// The most severe condition of all column families, as a number: the only thing that the fast path looks at.
    condition: AtomicU8,
    /// Rings when the condition changed: a writer that sleeps its delay looks again.
    relief: Arc<Alarm>,
    /// The database is being closed: no writer waits.
    is_over: AtomicBool,
    state: Mutex<State>,
}

impl WriteController {
    pub(crate) fn new(max_rate: u64) -> Self {
        let max_rate = if max_rate == 0 { 16 << 20 } else { max_rate };
        Self {
            condition: AtomicU8::new(0),
            relief: Arc::default(),
            is_over: AtomicBool::new(false),
            state: Mutex::new(State {
                max_rate,
                rate: max_rate,
                debts: HashMap::new(),
                credit_bytes: 0,
                next_refill_us: 0,
            }),
        }
    }

    /// The most severe condition of all column families.
    #[inline]
    pub(crate) fn condition(&self) -> StallCondition {
        match self.condition.load(Ordering::Acquire) {
            0 => StallCondition::Normal,
            1 => StallCondition::Delayed,
            _ => StallCondition::Stopped,
        }
    }

    /// Changes the rate that a delay begins with and never exceeds.
    pub(crate) fn set_max_rate(&self, max_rate: u64) {
        let mut state = self.state.lock();
        state.max_rate = if max_rate == 0 { 16 << 20 } else { max_rate };
        state.rate = state.rate.min(state.max_rate);
    }

    /// Bytes a second that writers get while delayed.
    pub(crate) fn delayed_rate(&self) -> u64 {
        self.state.lock().rate
    }

    /// Takes the condition of a column family, with its debt in bytes and whether it is close to a stop.
    pub(crate) fn update(&self, column_family: u32, condition: StallCondition, debt_bytes: u64, near_stop: bool) {
        let mut state = self.state.lock();
        let (before, debt_before) = state.debts.insert(column_family, (condition, debt_bytes)).unwrap_or_default();
        if condition == StallCondition::Delayed {
            let trend = DelayTrend {
                is_near_stop: before == StallCondition::Stopped || near_stop,
                is_debt_growing: debt_bytes >= debt_before,
            };
            if before == StallCondition::Normal {
                (state.credit_bytes, state.next_refill_us) = (0, 0);
            }
            // The first delay begins at the rate that the last one left.
            if before != StallCondition::Normal || near_stop {
                state.rate = next_delayed_rate(state.rate, state.max_rate, trend);
            }
        } else if condition == StallCondition::Normal && before != StallCondition::Normal {
            state.rate = ((state.rate as f64 * RECOVERY_FACTOR) as u64).min(state.max_rate);
        }
        self.publish(&state);
    }

    /// Forgets a dropped column family.
    pub(crate) fn remove(&self, column_family: u32) {
        let mut state = self.state.lock();
        state.debts.remove(&column_family);
        self.publish(&state);
    }

    fn publish(&self, state: &State) {
        let worst = state.debts.values().map(|(condition, _)| *condition).max().unwrap_or_default();
        if self.condition.swap(worst as u8, Ordering::AcqRel) != worst as u8 {
            self.relief.ring();
        }
    }

    /// Ends the sleep of a delayed writer: there is another reason to look again.
    pub(crate) fn wake_sleeper(&self) {
        self.relief.ring();
    }

    /// From now on no writer waits: the database is being closed.
    pub(crate) fn end_delays(&self) {
        self.is_over.store(true, Ordering::Release);
        self.relief.ring();
    }

    /// True when the database is being closed: a stop may never end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Sleeps a delay; less when writers are not delayed any more. One thread sleeps at a time: the one that leads the
    /// write queue.
    pub(crate) fn sleep(&self, clock: &dyn Clock, delay: Duration) {
        self.relief.arm();
        if self.condition() == StallCondition::Delayed && !self.is_over() {
            clock.sleep_unless(&self.relief, delay);
        }
    }

    /// How long a delayed writer of `bytes` has to sleep.
    pub(crate) fn delay(&self, clock: &dyn Clock, bytes: u64) -> Duration {
        if self.condition() != StallCondition::Delayed || self.is_over() {
            return Duration::ZERO;
        }
        let now = clock.monotonic_us();
        let mut state = self.state.lock();
        if state.credit_bytes >= bytes {
            state.credit_bytes -= bytes;
            return Duration::ZERO;
        }
        let rate = u128::from(state.rate.max(1));
        if now >= state.next_refill_us {
            // A delay begins with one interval's worth; later no writer saves up more than a second's.
            let since = if state.next_refill_us == 0 { 0 } else { now - state.next_refill_us };
            let elapsed = u128::from(since.min(1_000_000) + REFILL_US);
            let refill = (elapsed * rate / 1_000_000) as u64;
            state.credit_bytes = (state.credit_bytes + refill).min(state.rate);
            state.next_refill_us = now + REFILL_US;
            if state.credit_bytes >= bytes {
                state.credit_bytes -= bytes;
                return Duration::ZERO;
            }
        }
        let missing = u128::from(bytes - state.credit_bytes);
        state.credit_bytes = 0;
        let wait_us = u64::try_from(missing * 1_000_000 / rate).unwrap_or(u64::MAX).clamp(REFILL_US, 60_000_000);
        state.next_refill_us = state.next_refill_us.max(now) + wait_us;
        Duration::from_micros(state.next_refill_us - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;

    #[test]
    fn a_delayed_writer_gets_its_rate() {
        let clock = ManualClock::new(1_000_000);
        let controller = WriteController::new(1 << 20);
        assert_eq!(controller.delay(&clock, 1 << 30), Duration::ZERO);
        controller.update(0, StallCondition::Delayed, 100, false);
        let mut slept = Duration::ZERO;
        for _ in 0..64 {
            let wait = controller.delay(&clock, 64 << 10);
            clock.advance(wait);
            slept += wait;
        }
        assert!((3.5..4.5).contains(&slept.as_secs_f64()), "4 MiB at 1 MiB/s took {slept:?}");
    }

    #[test]
    fn the_rate_follows_the_debt() {
        let controller = WriteController::new(1 << 20);
        controller.update(0, StallCondition::Delayed, 100, false);
        controller.update(0, StallCondition::Delayed, 120, false);
        assert_eq!(controller.delayed_rate(), (0.8 * f64::from(1 << 20)) as u64);
        controller.update(0, StallCondition::Delayed, 90, false);
        assert!(controller.delayed_rate().abs_diff(1 << 20) <= 1, "0.8 and 1.25 cancel out");
        controller.update(1, StallCondition::Stopped, 0, false);
        assert_eq!(controller.condition(), StallCondition::Stopped);
        controller.remove(1);
        assert_eq!(controller.condition(), StallCondition::Delayed);
        controller.update(0, StallCondition::Normal, 0, false);
        assert_eq!(controller.condition(), StallCondition::Normal);
    }
}
