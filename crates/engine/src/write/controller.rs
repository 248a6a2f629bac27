//! Slows writers down, or stops them, while flush and compaction are behind.
//!
//! ```text
//!            soft limit                    hard limit
//! debt  ---------|------------------------------|------>
//! way to stop    0             0.5              1          of the family that is farthest
//! writers   free | rate x (1 - way to stop)^2   | stopped      of files of level 0: rate x (what is left of the way)
//! ```
//!
//! A stall condition of any column family holds for all writers. While *delayed*, writers share a number of bytes a
//! second: a token bucket, refilled every 250 microseconds. They get less of the rate the nearer they are to a stop;
//! what memtables hold counts as debt before it is flushed. So writers slow down as the debt grows, and debt and
//! writes come to rest where compactions keep up, with no need to stop. The rate itself follows slowly, on each
//! evaluation, where that is not about half of the way: it is a guess of what the machine can do (`delayed_write_rate`
//! is the first one).
//!
//! On the way to a stop writers are slowed down before a family asks for it, because of what looms: *recovering*,
//! which nobody is told of. So is how a delay ends. When no family asks for one any more, the rate doubles every
//! second until it is the largest, and only then is there no bound. Writers that were free at once would fill all
//! memtables before the first of them is flushed and counted as debt, and come from there to a stop: under lasting
//! overload they would run and stand in turns (`docs/compaction.md` has figures).
//!
//! A rate that rises wakes the writer that sleeps by the old one, and makes what writers owe cheaper. One that falls
//! makes nothing dearer: at the lowest rate, what a writer owed for one millisecond would be seconds.
//!
//! Tried and lost: a share of a rate that does not follow (with `delayed_write_rate` at 128 MB/s where 5 can be borne,
//! writers ran and stood in turns); a rate that follows as RocksDB's, by 0.6 or 0.8 on each evaluation, without the
//! share (5 of 100 seconds without a put). And 64 MB/s in place of RocksDB's 16 MB/s as the default of
//! `delayed_write_rate`: the three parts of `lsm_at_scale LIBRARY DIRECTORY universal 16000000` (dev/interop) took 258
//! seconds until their compactions were done, and 254 with 16 MB/s.

use crate::metrics::WaitCause;
use ferrock_base::clock::{Alarm, Clock};
use ferrock_options::WriteStallCondition;
use ferrock_tree::compaction::picker::stall::{DelayTrend, StallCause, next_delayed_rate, rate_on_the_way};
use ferrock_vfs::{IoPriority, RateLimiter, TokenBucket};
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
    /// A delay is over, and its rate rises. No column family asks for this.
    Recovering,
    /// Slowed down.
    Delayed,
    /// Not at all.
    Stopped,
}

impl StallCondition {
    /// As a listener is told of it.
    pub(crate) fn told(self) -> WriteStallCondition {
        match self {
            Self::Normal | Self::Recovering => WriteStallCondition::Normal,
            Self::Delayed => WriteStallCondition::Delayed,
            Self::Stopped => WriteStallCondition::Stopped,
        }
    }
}

/// How far the jobs of a column family are behind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FamilyDebt {
    pub(crate) condition: StallCondition,
    /// Why, where it is not normal.
    pub(crate) cause: Option<StallCause>,
    /// What compactions must rewrite.
    pub(crate) bytes: u64,
    /// Close to a stop.
    pub(crate) is_near_stop: bool,
    /// The part of the way to a stop that is behind the writers, once what they wrote is flushed.
    pub(crate) way_to_stop: f64,
    /// Writes that can wait have to.
    pub(crate) is_behind: bool,
}

/// RocksDB's bound of writes of low priority.
const LOW_PRI_BYTES_PER_SECOND: u64 = 1 << 20;
/// A delay that ends leaves the rate this much higher.
const RECOVERY_FACTOR: f64 = 1.4;
/// A sleep while the rate rises is no longer than this: it would be by a rate that is over.
const MAX_RECOVERING_SLEEP_US: u64 = 200_000;
/// Nor is any other than this.
const MAX_SLEEP_US: u64 = 60_000_000;
/// A rate that is so much higher than before wakes a writer that sleeps by the old one.
const WAKING_FACTOR: f64 = 1.2;
/// The bucket is refilled this often, so that a delay is a sleep of about so long, unless a write is worth more. In
/// RocksDB it is a millisecond. A sleep ends some 60 us late, and a writer that sleeps for a fourth of a millisecond
/// four times as often gets the same rate.
const REFILL_US: u64 = 250;

#[derive(Debug)]
struct State {
    max_rate: u64,
    rate: u64,
    /// The last evaluation, by column family.
    debts: HashMap<u32, FamilyDebt>,
    /// Column families that delay writers, that stop them, and that are behind.
    delayed: usize,
    stopped: usize,
    behind: usize,
    credit_bytes: u64,
    next_refill_us: u64,
    /// Since then the rate rises.
    recovering_since_us: Option<u64>,
    /// Column families on their way to a stop, with how far they are.
    ways_to_stop: HashMap<u32, f64>,
    /// The largest of these; 0 without any.
    way_to_stop: f64,
}

impl State {
    /// The rate, as far as it has risen by now.
    fn risen_rate(&self, now_us: u64) -> u64 {
        let Some(since) = self.recovering_since_us else { return self.rate };
        let seconds = now_us.saturating_sub(since) as f64 / 1e6;
        ((self.rate as f64 * seconds.min(40.0).exp2()) as u64).min(self.max_rate)
    }

    /// What writers get now.
    fn rate_at(&self, now_us: u64) -> u64 {
        rate_on_the_way(self.risen_rate(now_us), self.way_to_stop)
    }

    fn note_way(&mut self, column_family: u32, way_to_stop: f64) {
        if way_to_stop > 0.0 {
            self.ways_to_stop.insert(column_family, way_to_stop);
        } else if self.ways_to_stop.remove(&column_family).is_none() {
            return;
        }
        self.way_to_stop = self.ways_to_stop.values().copied().fold(0.0, f64::max);
    }

    /// The rate rose from `before`: what writers owe costs less time.
    fn rescale(&mut self, before: u64, now_us: u64) {
        let (owed_us, rate) = (self.next_refill_us.saturating_sub(now_us), self.rate_at(now_us));
        if owed_us > 0 && rate > before {
            let scaled = u128::from(owed_us) * u128::from(before) / u128::from(rate);
            self.next_refill_us = now_us + u64::try_from(scaled).unwrap_or(owed_us);
        }
    }

    /// A column family goes from one condition to another.
    fn count(&mut self, before: FamilyDebt, after: FamilyDebt) {
        for (debt, step) in [(before, -1_isize), (after, 1)] {
            self.behind = self.behind.saturating_add_signed(if debt.is_behind { step } else { 0 });
            let count = match debt.condition {
                StallCondition::Normal | StallCondition::Recovering => continue,
                StallCondition::Delayed => &mut self.delayed,
                StallCondition::Stopped => &mut self.stopped,
            };
            *count = count.saturating_add_signed(step);
        }
    }
}

/// Shared by the writers of a database. See the [module](self).
#[derive(Debug)]
pub(crate) struct WriteController {
    /// The most severe condition of all column families, as a number: the only thing that the fast path looks at.
    condition: AtomicU8,
    /// Compaction of some family is behind: writes of low priority wait.
    is_behind: AtomicBool,
    /// Rings when the condition changed: a writer that sleeps its delay looks again.
    relief: Arc<Alarm>,
    /// The database is being closed: no writer waits.
    is_over: AtomicBool,
    state: Mutex<State>,
    /// What writes of low priority share while compaction is behind.
    low_pri: TokenBucket,
    clock: Arc<dyn Clock>,
}

impl WriteController {
    pub(crate) fn new(max_rate: u64, clock: Arc<dyn Clock>) -> Self {
        let max_rate = if max_rate == 0 { 16 << 20 } else { max_rate };
        Self {
            condition: AtomicU8::new(0),
            is_behind: AtomicBool::new(false),
            relief: Arc::default(),
            is_over: AtomicBool::new(false),
            state: Mutex::new(State {
                max_rate,
                rate: max_rate,
                debts: HashMap::new(),
                delayed: 0,
                stopped: 0,
                behind: 0,
                credit_bytes: 0,
                next_refill_us: 0,
                recovering_since_us: None,
                ways_to_stop: HashMap::new(),
                way_to_stop: 0.0,
            }),
            low_pri: TokenBucket::new(LOW_PRI_BYTES_PER_SECOND, Arc::clone(&clock)),
            clock,
        }
    }

    /// The most severe condition of all column families.
    #[inline]
    pub(crate) fn condition(&self) -> StallCondition {
        match self.condition.load(Ordering::Acquire) {
            0 => StallCondition::Normal,
            1 => StallCondition::Recovering,
            2 => StallCondition::Delayed,
            _ => StallCondition::Stopped,
        }
    }

    /// Why writers wait now: the cause of the family that is nearest to a stop among those that hold them back most.
    pub(crate) fn wait_cause(&self) -> WaitCause {
        let worst = self.condition();
        let state = self.state.lock();
        let families = state.debts.values().filter(|debt| debt.condition == worst);
        let farthest = families.max_by(|a, b| a.way_to_stop.total_cmp(&b.way_to_stop));
        farthest.and_then(|debt| debt.cause).map_or(WaitCause::LoomingDebt, WaitCause::from)
    }

    /// Bytes a second that writers get now because a family delays them; 0 when none does.
    pub(crate) fn actual_delayed_rate(&self) -> u64 {
        if self.condition() == StallCondition::Delayed { self.delayed_rate() } else { 0 }
    }

    /// Changes the rate that a delay begins with and never exceeds.
    pub(crate) fn set_max_rate(&self, max_rate: u64) {
        let mut state = self.state.lock();
        state.max_rate = if max_rate == 0 { 16 << 20 } else { max_rate };
        state.rate = state.rate.min(state.max_rate);
    }

    /// Bytes a second that writers get while delayed.
    pub(crate) fn delayed_rate(&self) -> u64 {
        let state = self.state.lock();
        rate_on_the_way(state.rate, state.way_to_stop)
    }

    /// Takes how far the jobs of a column family are behind. Returns how far they were until now.
    pub(crate) fn update(&self, column_family: u32, debt: FamilyDebt) -> FamilyDebt {
        let mut state = self.state.lock();
        let before = state.debts.insert(column_family, debt).unwrap_or_default();
        state.count(before, debt);
        let now_us = self.clock.monotonic_us();
        let rate_before = state.rate_at(now_us);
        state.note_way(column_family, debt.way_to_stop);
        if debt.condition != StallCondition::Normal {
            state.rate = state.risen_rate(now_us);
            state.recovering_since_us = None;
        }
        if debt.condition == StallCondition::Delayed {
            let trend = DelayTrend {
                is_near_stop: before.condition == StallCondition::Stopped || debt.is_near_stop,
                is_debt_growing: if debt.way_to_stop > 0.0 {
                    debt.way_to_stop >= before.way_to_stop
                } else {
                    debt.bytes >= before.bytes
                },
                way_to_stop: debt.way_to_stop,
            };
            if before.condition == StallCondition::Normal {
                (state.credit_bytes, state.next_refill_us) = (0, 0);
            }
            // The first delay begins at the rate that the last one left.
            if before.condition != StallCondition::Normal || debt.is_near_stop {
                state.rate = next_delayed_rate(state.rate, state.max_rate, trend);
            }
        } else if debt.condition == StallCondition::Normal && before.condition != StallCondition::Normal {
            state.rate = ((state.rate as f64 * RECOVERY_FACTOR) as u64).min(state.max_rate);
        }
        state.rescale(rate_before, now_us);
        let is_much_higher = state.rate_at(now_us) as f64 > rate_before as f64 * WAKING_FACTOR;
        self.publish(&mut state);
        if is_much_higher {
            self.relief.ring();
        }
        before
    }

    /// True while compaction of some column family is behind, whether or not writers are slowed down by it.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    /// Forgets a dropped column family.
    pub(crate) fn remove(&self, column_family: u32) {
        let mut state = self.state.lock();
        if let Some(before) = state.debts.remove(&column_family) {
            state.count(before, FamilyDebt::default());
        }
        state.note_way(column_family, 0.0);
        self.publish(&mut state);
    }

    fn publish(&self, state: &mut State) {
        let mut worst = match (state.stopped, state.delayed) {
            (0, 0) => StallCondition::Normal,
            (0, _) => StallCondition::Delayed,
            _ => StallCondition::Stopped,
        };
        let is_behind = worst != StallCondition::Normal || state.behind > 0;
        self.is_behind.store(is_behind, Ordering::Relaxed);
        if worst == StallCondition::Normal && self.condition() != StallCondition::Normal && state.rate < state.max_rate
        {
            state.recovering_since_us.get_or_insert_with(|| self.clock.monotonic_us());
            worst = StallCondition::Recovering;
        }
        if worst == StallCondition::Normal && state.way_to_stop > 0.0 {
            worst = StallCondition::Recovering;
        }
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
    pub(crate) fn sleep(&self, delay: Duration) {
        self.relief.arm();
        if self.bounds_rate() && !self.is_over() {
            self.clock.sleep_unless(&self.relief, delay);
        }
    }

    fn bounds_rate(&self) -> bool {
        matches!(self.condition(), StallCondition::Delayed | StallCondition::Recovering)
    }

    /// Has a write of low priority wait for its share.
    pub(crate) fn wait_for_low_pri(&self, bytes: u64) {
        self.low_pri.request(bytes, IoPriority::High);
    }

    /// How long a writer of `bytes` has to sleep while the rate is bounded.
    pub(crate) fn delay(&self, bytes: u64) -> Duration {
        if !self.bounds_rate() || self.is_over() {
            return Duration::ZERO;
        }
        let now = self.clock.monotonic_us();
        let mut state = self.state.lock();
        let rate = state.rate_at(now);
        let is_recovering = state.recovering_since_us.is_some();
        if is_recovering && state.risen_rate(now) >= state.max_rate {
            state.rate = state.max_rate;
            state.recovering_since_us = None;
            self.publish(&mut state);
            if !self.bounds_rate() {
                return Duration::ZERO;
            }
        }
        if state.credit_bytes >= bytes {
            state.credit_bytes -= bytes;
            return Duration::ZERO;
        }
        let credit_limit = rate;
        let rate = u128::from(rate.max(1));
        if now >= state.next_refill_us {
            // A delay begins with one interval's worth; later no writer saves up more than a second's.
            let since = if state.next_refill_us == 0 { 0 } else { now - state.next_refill_us };
            let elapsed = u128::from(since.min(1_000_000) + REFILL_US);
            let refill = (elapsed * rate / 1_000_000) as u64;
            state.credit_bytes = (state.credit_bytes + refill).min(credit_limit);
            state.next_refill_us = now + REFILL_US;
            if state.credit_bytes >= bytes {
                state.credit_bytes -= bytes;
                return Duration::ZERO;
            }
        }
        let most_us = if is_recovering { MAX_RECOVERING_SLEEP_US } else { MAX_SLEEP_US };
        let missing = u128::from(bytes - state.credit_bytes);
        state.credit_bytes = 0;
        let missing_us = u64::try_from(missing * 1_000_000 / rate).unwrap_or(u64::MAX).min(most_us);
        // What the bytes are worth behind the interval that is paid for, and no less than one interval from now on. An
        // interval on top of the one that is paid for would let writers through at half of the rate.
        state.next_refill_us = state.next_refill_us.max(now) + missing_us;
        Duration::from_micros((state.next_refill_us - now).max(REFILL_US))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;

    fn controller(max_rate: u64) -> (WriteController, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(1_000_000));
        (WriteController::new(max_rate, Arc::<ManualClock>::clone(&clock)), clock)
    }

    /// Bytes that writers of 4 KiB get through in half a second.
    fn written(controller: &WriteController, clock: &ManualClock) -> u64 {
        let (mut bytes, until) = (0, clock.monotonic_us() + 500_000);
        while clock.monotonic_us() < until && bytes < 1 << 30 {
            clock.advance(controller.delay(4096));
            bytes += 4096;
        }
        bytes
    }

    #[test]
    fn a_delay_ends_gradually() {
        let (controller, clock) = controller(16 << 20);
        for bytes in 1..12 {
            controller.update(0, debt(StallCondition::Delayed, bytes));
        }
        let delayed = written(&controller, &clock);
        controller.update(0, debt(StallCondition::Normal, 0));
        assert_eq!(controller.condition(), StallCondition::Recovering);
        let mut before = delayed;
        let mut halves = 0;
        loop {
            let now = written(&controller, &clock);
            if controller.condition() == StallCondition::Normal {
                break;
            }
            assert!((before..before * 2).contains(&now), "{before} bytes, then {now}");
            (before, halves) = (now, halves + 1);
        }
        assert!((4..10).contains(&halves), "{halves} half seconds from {delayed} bytes to {before}");
        // A delay in between goes on where the rate is by then.
        for bytes in 1..12 {
            controller.update(0, debt(StallCondition::Delayed, bytes));
        }
        let low = controller.delayed_rate();
        controller.update(0, debt(StallCondition::Normal, 0));
        clock.advance(Duration::from_secs(1));
        controller.update(0, debt(StallCondition::Delayed, 1));
        let risen = controller.delayed_rate() as f64 / low as f64;
        assert!((2.7..2.9).contains(&risen), "1.4 times and doubled: {risen}");
        controller.update(0, debt(StallCondition::Stopped, 1));
        assert_eq!(controller.condition(), StallCondition::Stopped);
    }

    #[test]
    fn writes_of_low_priority_share_a_bound_of_their_own() {
        let (controller, _) = controller(1 << 20);
        assert!(!controller.is_behind());
        controller.update(3, FamilyDebt { is_behind: true, ..FamilyDebt::default() });
        assert!(controller.is_behind() && controller.condition() == StallCondition::Normal);
        controller.remove(3);
        assert!(!controller.is_behind());
    }

    fn debt(condition: StallCondition, bytes: u64) -> FamilyDebt {
        FamilyDebt { condition, bytes, ..FamilyDebt::default() }
    }

    #[test]
    fn writers_wait_for_the_worst_family() {
        use StallCause::{Level0Files, Memtables, PendingCompactionBytes};
        let (controller, _) = controller(16 << 20);
        let held_back =
            |condition, cause, way_to_stop| FamilyDebt { cause: Some(cause), way_to_stop, ..debt(condition, 1) };
        assert_eq!(controller.wait_cause(), WaitCause::LoomingDebt, "no family holds writers back");
        controller.update(0, held_back(StallCondition::Delayed, Level0Files, 0.2));
        controller.update(1, held_back(StallCondition::Delayed, PendingCompactionBytes, 0.5));
        assert_eq!(controller.wait_cause(), WaitCause::PendingCompactionBytes);
        assert!(controller.actual_delayed_rate() > 0);
        controller.update(2, held_back(StallCondition::Stopped, Memtables, 0.0));
        assert_eq!((controller.wait_cause(), controller.actual_delayed_rate()), (WaitCause::Memtables, 0));
        (0..3).for_each(|family| controller.remove(family));
        assert_eq!(controller.wait_cause(), WaitCause::LoomingDebt);
    }

    #[test]
    fn a_delayed_writer_gets_its_rate() {
        let (controller, clock) = controller(1 << 20);
        assert_eq!(controller.delay(1 << 30), Duration::ZERO);
        controller.update(0, debt(StallCondition::Delayed, 100));
        let mut slept = Duration::ZERO;
        for _ in 0..64 {
            let wait = controller.delay(64 << 10);
            clock.advance(wait);
            slept += wait;
        }
        assert!((3.5..4.5).contains(&slept.as_secs_f64()), "4 MiB at 1 MiB/s took {slept:?}");
    }

    #[test]
    fn writes_of_every_size_get_the_rate() {
        for rate in [100_000, 1 << 20, 16 << 20, 200 << 20] {
            for bytes in [50, 500, 4000, 70_000] {
                let (controller, clock) = controller(rate);
                controller.update(0, debt(StallCondition::Delayed, 100));
                let (begin, mut written, mut longest) = (clock.monotonic_us(), 0, Duration::ZERO);
                while clock.monotonic_us() < begin + 20_000_000 && written < 20 * rate {
                    let wait = controller.delay(bytes);
                    // The write itself takes a microsecond; a sleep ends a little late.
                    clock.advance(wait + Duration::from_micros(if wait > Duration::ZERO { 60 } else { 1 }));
                    (written, longest) = (written + bytes, longest.max(wait));
                }
                let taken_us = (clock.monotonic_us() - begin) as f64;
                let share = written as f64 / taken_us * 1e6 / rate as f64;
                let is_bounded_by_rate = bytes > rate / 1_000_000;
                assert!(share < 1.05, "{rate} bytes a second by {bytes}: {share} of it");
                assert!(share > 0.95 || !is_bounded_by_rate, "{rate} bytes a second by {bytes}: {share} of it");
                let worth = Duration::from_micros(REFILL_US + bytes * 1_000_000 / rate);
                assert!(longest <= worth, "{rate} bytes a second by {bytes}: {longest:?} for what is worth {worth:?}");
            }
        }
    }

    fn on_the_way(condition: StallCondition, way_to_stop: f64) -> FamilyDebt {
        FamilyDebt { condition, way_to_stop, ..FamilyDebt::default() }
    }

    #[test]
    fn what_is_left_of_the_rate_shrinks_on_the_way_to_a_stop() {
        let (controller, clock) = controller(16 << 20);
        let whole = 8 << 20; // in half a second
        // What looms slows writers down before any family asks for it, and nobody is told.
        controller.update(0, on_the_way(StallCondition::Normal, 0.25));
        assert_eq!(
            (controller.condition(), controller.condition().told()),
            (StallCondition::Recovering, WriteStallCondition::Normal)
        );
        let near = |got: u64, share: f64| (got as f64 / (f64::from(whole) * share) - 1.0).abs() < 0.05;
        let got = written(&controller, &clock);
        assert!(near(got, 0.5625), "{got}");
        // The family that is farthest counts.
        controller.update(1, on_the_way(StallCondition::Delayed, 0.5));
        let got = written(&controller, &clock);
        assert!(near(got, 0.25), "{got}");
        controller.update(1, on_the_way(StallCondition::Delayed, 1.0));
        // The rate itself falls by a fifth, too.
        assert!(controller.delayed_rate() >= (16 << 20) / 400, "some is left: {}", controller.delayed_rate());
        controller.remove(1);
        let got = written(&controller, &clock);
        assert!(got > 0);
        controller.update(0, FamilyDebt::default());
        for _ in 0..20 {
            written(&controller, &clock);
        }
        assert_eq!(controller.condition(), StallCondition::Normal);
    }

    /// A writer that sleeps by a low rate gets the higher one: it is woken, and what it owes costs less.
    #[test]
    fn a_rate_that_rises_shortens_what_is_owed() {
        let (controller, clock) = controller(1 << 20);
        controller.update(0, on_the_way(StallCondition::Delayed, 0.7));
        let long = controller.delay(1 << 20);
        assert!((9.0..13.0).contains(&long.as_secs_f64()), "{long:?}");
        controller.relief.arm();
        controller.update(0, on_the_way(StallCondition::Delayed, 0.05));
        clock.sleep_unless(&controller.relief, long);
        assert!(clock.monotonic_us() < 2_000_000, "woken at {}", clock.monotonic_us());
        let next = controller.delay(1000);
        assert!((0.8..1.5).contains(&next.as_secs_f64()), "{next:?}");
        // A rate that falls makes nothing dearer that was paid for.
        clock.advance(next);
        let owed = controller.delay(100_000);
        controller.update(0, on_the_way(StallCondition::Delayed, 1.0));
        let after = Duration::from_micros(controller.state.lock().next_refill_us - clock.monotonic_us());
        assert!(after <= owed, "{owed:?}, {after:?}");
    }

    #[test]
    fn the_rate_follows_the_debt() {
        let (controller, _) = controller(1 << 20);
        controller.update(0, debt(StallCondition::Delayed, 100));
        controller.update(0, debt(StallCondition::Delayed, 120));
        assert_eq!(controller.delayed_rate(), (0.8 * f64::from(1 << 20)) as u64);
        controller.update(0, debt(StallCondition::Delayed, 90));
        assert!(controller.delayed_rate().abs_diff(1 << 20) <= 1, "0.8 and 1.25 cancel out");
        controller.update(1, debt(StallCondition::Stopped, 0));
        assert_eq!(controller.condition(), StallCondition::Stopped);
        controller.remove(1);
        assert_eq!(controller.condition(), StallCondition::Delayed);
        controller.update(0, debt(StallCondition::Normal, 0));
        assert_eq!(controller.condition(), StallCondition::Normal);
    }
}
