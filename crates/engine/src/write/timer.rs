//! Where the time of a write group goes: log or memtable.
//!
//! Reading the clock three times would cost a small write a tenth of its time, so small
//! groups are sampled: one in [`SAMPLE`], counted that many times. Groups that sync or are
//! large are all timed.

use crate::metrics::Counters;
use ferrock_base::clock::Clock;
use ferrock_statistics::{PerfLaps, PerfMetric};
use std::sync::atomic::AtomicU64;

/// Of so many small groups one is timed.
const SAMPLE: u64 = 64;
/// From this size on the clock costs nothing in comparison.
const LARGE_GROUP_BYTES: usize = 4 << 10;

/// Times the parts of one group, or does nothing.
pub(crate) struct GroupTimer<'a> {
    /// The clock, and what it said when the last part ended.
    running: Option<(&'a dyn Clock, u64)>,
    weight: u64,
    /// Those of the thread.
    laps: &'a mut PerfLaps,
}

impl<'a> GroupTimer<'a> {
    /// `group_number` counts the groups of the database.
    #[inline]
    pub(crate) fn start(
        clock: &'a dyn Clock,
        group_number: u64,
        group_bytes: usize,
        syncs: bool,
        laps: &'a mut PerfLaps,
    ) -> Self {
        let weight = if syncs || group_bytes >= LARGE_GROUP_BYTES { 1 } else { SAMPLE };
        let is_timed = group_number.is_multiple_of(weight);
        Self { running: is_timed.then(|| (clock, clock.monotonic_us())), weight, laps }
    }

    /// What the thread did until now was to come to a part.
    #[inline(always)]
    pub(crate) fn begin_part(&mut self) {
        self.laps.lap(PerfMetric::WritePreAndPostProcessTime);
    }

    /// Ends a part and adds its time to `counter`, and to a sum of the thread.
    #[inline(always)]
    pub(crate) fn lap(&mut self, counter: &AtomicU64, metric: PerfMetric) {
        self.laps.lap(metric);
        if let Some((clock, last_us)) = &mut self.running {
            let now_us = clock.monotonic_us();
            Counters::add(counter, now_us.saturating_sub(*last_us) * self.weight);
            *last_us = now_us;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;
    use std::time::Duration;

    #[test]
    fn small_groups_are_sampled_and_large_ones_counted_in_full() {
        let clock = ManualClock::new(5);
        let counter = AtomicU64::new(0);
        let time = |group_number, bytes, syncs| {
            let mut laps = PerfLaps::begin();
            let mut timer = GroupTimer::start(&clock, group_number, bytes, syncs, &mut laps);
            clock.advance(Duration::from_micros(3));
            timer.lap(&counter, PerfMetric::WriteWalTime);
            Counters::get(&counter)
        };
        assert_eq!(time(1, 100, false), 0);
        assert_eq!(time(64, 100, false), 192);
        assert_eq!(time(65, 100, true), 195);
        assert_eq!(time(66, LARGE_GROUP_BYTES, false), 198);
        let before = Counters::get(&counter);
        let mut total = 0;
        for number in 0..640 {
            total = time(number, 1, false) - before;
        }
        assert_eq!(total, 640 * 3);
    }
}
