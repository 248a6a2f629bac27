//! Clocks that tests can control.

mod ticks;
mod utc;

pub use utc::Utc;

use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use ticks::Ticks;

/// Tells the time, and waits.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Microseconds since an arbitrary start; never goes back.
    fn monotonic_us(&self) -> u64;
    /// As [`monotonic_us`](Self::monotonic_us) in nanoseconds, as finely as the clock knows them.
    fn monotonic_ns(&self) -> u64 {
        self.monotonic_us().saturating_mul(1000)
    }
    /// A moment that only [`elapsed_us`](Self::elapsed_us) of the same clock understands. What measures often takes
    /// this, which costs less than [`monotonic_us`](Self::monotonic_us) where the processor has a counter for it.
    fn moment(&self) -> Moment {
        Moment(self.monotonic_us())
    }
    /// Microseconds since a moment.
    fn elapsed_us(&self, since: Moment) -> u64 {
        self.monotonic_us().saturating_sub(since.0)
    }
    /// Microseconds since 1970.
    fn unix_us(&self) -> u64;
    /// Seconds since 1970.
    fn unix_seconds(&self) -> u64 {
        self.unix_us() / 1_000_000
    }
    /// Blocks the thread for `duration`.
    fn sleep(&self, duration: Duration);
    /// Blocks the thread for `duration`, or until `alarm` rings. Returns at once if it rang since it was armed.
    fn sleep_unless(&self, alarm: &Arc<Alarm>, duration: Duration) {
        if !*alarm.is_rung.lock() {
            self.sleep(duration);
        }
    }
    /// As [`sleep_unless`](Self::sleep_unless), of a thread that waits for something to do: a clock whose sleeps take
    /// no time does not pass this one, or the thread would have no end of moments to work at.
    fn idle(&self, alarm: &Arc<Alarm>, duration: Duration) {
        self.sleep_unless(alarm, duration);
    }
}

/// When something began, in units of the clock that told it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment(u64);

/// Wakes a thread before its sleep by a clock is over.
///
/// A thread arms the alarm, checks whether it has to sleep, and sleeps. Another thread that ends the reason to sleep in
/// between rings the alarm, and the sleep returns at once.
#[derive(Debug, Default)]
pub struct Alarm {
    is_rung: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    /// Clears earlier rings.
    pub fn arm(&self) {
        *self.is_rung.lock() = false;
    }

    /// Wakes the sleeping thread, also one that is only about to sleep.
    pub fn ring(&self) {
        *self.is_rung.lock() = true;
        self.changed.notify_all();
    }
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    ticks: Option<Ticks>,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the machine's clock enters the engine")]
    fn default() -> Self {
        Self { start: Instant::now(), ticks: Ticks::new() }
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
    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
    fn moment(&self) -> Moment {
        Moment(self.ticks.as_ref().map_or_else(|| self.monotonic_us(), Ticks::now))
    }
    fn elapsed_us(&self, since: Moment) -> u64 {
        match &self.ticks {
            Some(ticks) => ticks.elapsed_us(since.0),
            None => self.monotonic_us().saturating_sub(since.0),
        }
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
    #[expect(clippy::disallowed_methods, reason = "this is where the machine's clock enters the engine")]
    fn sleep_unless(&self, alarm: &Arc<Alarm>, duration: Duration) {
        let Some(until) = Instant::now().checked_add(duration) else { return self.sleep(duration) };
        let mut is_rung = alarm.is_rung.lock();
        while !*is_rung && !alarm.changed.wait_until(&mut is_rung, until).timed_out() {}
    }
}

/// A clock that only [`advance`](Self::advance) moves; sleeping threads wake when it passes their time.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_us: Mutex<u64>,
    moved: Condvar,
    /// The alarms of threads that sleep until one rings or their time has come, which is with them.
    alarms: Mutex<Vec<(Arc<Alarm>, u64)>>,
    sleepers: AtomicUsize,
    /// A sleep moves the clock, and takes no time.
    passes_sleeps: bool,
}

impl ManualClock {
    /// Starts at `unix_us`.
    #[must_use]
    pub fn new(unix_us: u64) -> Self {
        Self { now_us: Mutex::new(unix_us), ..Self::default() }
    }

    /// The same, but a thread that sleeps moves the clock by its sleep and goes on at once: for tests in which a writer
    /// may be delayed, and no other thread moves the clock.
    #[must_use]
    pub fn passing_sleeps(unix_us: u64) -> Self {
        Self { passes_sleeps: true, ..Self::new(unix_us) }
    }

    /// Moves time forward.
    pub fn advance(&self, duration: Duration) {
        *self.now_us.lock() += u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.moved.notify_all();
        for (alarm, _) in self.alarms.lock().iter() {
            // A thread that holds this lock has read the time and does not wait yet.
            let guard = alarm.is_rung.lock();
            alarm.changed.notify_all();
            drop(guard);
        }
    }

    /// How many threads sleep by this clock now, or are about to wake.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.sleepers.load(Ordering::Acquire)
    }

    /// How many of those that sleep with an alarm will sleep on: it has not rung, and their time has not come.
    #[must_use]
    pub fn asleep(&self) -> usize {
        let now = self.monotonic_us();
        self.alarms.lock().iter().filter(|(alarm, until)| now < *until && !*alarm.is_rung.lock()).count()
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
        if self.passes_sleeps {
            return self.advance(duration);
        }
        let mut now = self.now_us.lock();
        let until = now.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
        self.sleepers.fetch_add(1, Ordering::AcqRel);
        while *now < until {
            self.moved.wait(&mut now);
        }
        self.sleepers.fetch_sub(1, Ordering::AcqRel);
    }
    fn sleep_unless(&self, alarm: &Arc<Alarm>, duration: Duration) {
        if self.passes_sleeps {
            if !*alarm.is_rung.lock() {
                self.advance(duration);
            }
            return;
        }
        self.idle(alarm, duration);
    }
    fn idle(&self, alarm: &Arc<Alarm>, duration: Duration) {
        let until = self.monotonic_us().saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
        self.alarms.lock().push((Arc::clone(alarm), until));
        self.sleepers.fetch_add(1, Ordering::AcqRel);
        let mut is_rung = alarm.is_rung.lock();
        while !*is_rung && self.monotonic_us() < until {
            alarm.changed.wait(&mut is_rung);
        }
        drop(is_rung);
        self.sleepers.fetch_sub(1, Ordering::AcqRel);
        let mut alarms = self.alarms.lock();
        if let Some(own) = alarms.iter().position(|(other, _)| Arc::ptr_eq(other, alarm)) {
            alarms.swap_remove(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps(clock: Arc<dyn Clock>, duration: Duration) -> (Arc<Alarm>, std::sync::mpsc::Receiver<()>) {
        let alarm = Arc::new(Alarm::default());
        let (own, (done, receiver)) = (Arc::clone(&alarm), std::sync::mpsc::channel());
        #[expect(clippy::disallowed_methods, reason = "a test of what blocks a thread")]
        std::thread::spawn(move || {
            clock.sleep_unless(&own, duration);
            let _ = done.send(());
        });
        (alarm, receiver)
    }

    #[test]
    fn a_sleeper_wakes_when_its_alarm_rings_and_when_its_time_has_come() {
        let clock = Arc::new(ManualClock::new(5));
        let waits = |count: usize| {
            while clock.sleepers() != count {
                std::thread::yield_now();
            }
        };
        let (_alarm, done) = sleeps(Arc::clone(&clock) as Arc<dyn Clock>, Duration::from_secs(1));
        waits(1);
        clock.advance(Duration::from_millis(999));
        assert!(done.try_recv().is_err());
        assert_eq!(clock.asleep(), 1);
        clock.advance(Duration::from_millis(1));
        assert_eq!(clock.asleep(), 0, "whether it has woken or not");
        assert!(done.recv().is_ok());
        waits(0);
        for shared in [Arc::clone(&clock) as Arc<dyn Clock>, SystemClock::shared()] {
            let (alarm, done) = sleeps(shared, Duration::from_secs(3600));
            alarm.ring();
            assert!(done.recv().is_ok());
        }
        let alarm = Arc::new(Alarm::default());
        SystemClock::default().sleep_unless(&alarm, Duration::from_millis(1));
    }

    #[test]
    fn an_idle_thread_waits_also_where_sleeps_are_passed() {
        let clock = Arc::new(ManualClock::passing_sleeps(5));
        let alarm = Arc::new(Alarm::default());
        let (own, idle) = (Arc::clone(&alarm), Arc::clone(&clock));
        #[expect(clippy::disallowed_methods, reason = "a test of what blocks a thread")]
        let thread = std::thread::spawn(move || idle.idle(&own, Duration::from_secs(1)));
        while clock.sleepers() != 1 {
            std::thread::yield_now();
        }
        assert_eq!(clock.monotonic_us(), 5);
        alarm.ring();
        assert!(thread.join().is_ok());
        assert_eq!((clock.monotonic_us(), clock.sleepers()), (5, 0));
    }

    #[test]
    fn a_sleep_passes_at_once_where_sleeps_are_passed() {
        let (clock, alarm) = (ManualClock::passing_sleeps(5), Arc::new(Alarm::default()));
        clock.sleep(Duration::from_secs(1));
        clock.sleep_unless(&alarm, Duration::from_secs(2));
        assert_eq!(clock.monotonic_us(), 3_000_005);
        alarm.ring();
        clock.sleep_unless(&alarm, Duration::from_secs(2));
        assert_eq!(clock.monotonic_us(), 3_000_005, "a thread whose alarm rang does not sleep");
    }
}
