//! Turns that come once in a period, whichever thread asks first.
//!
//! The period is given with every call, for options change while a database is open: a shorter one than what has
//! passed is due at once.

use std::sync::atomic::{AtomicU64, Ordering};

/// When the last turn began, in monotonic microseconds.
#[derive(Debug)]
pub(crate) struct Turns(AtomicU64);

impl Turns {
    /// The first turn is due one period after `now_us`.
    pub(crate) fn new(now_us: u64) -> Self {
        Self(AtomicU64::new(now_us))
    }

    /// True for one caller in each period of `period_us`, whose turn it is then. Zero: never.
    pub(crate) fn begin(&self, now_us: u64, period_us: u64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        period_us > 0
            && now_us.saturating_sub(last) >= period_us
            && self.0.compare_exchange(last, now_us, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Microseconds until the next turn is due.
    pub(crate) fn until_us(&self, now_us: u64, period_us: u64) -> u64 {
        self.0.load(Ordering::Relaxed).saturating_add(period_us).saturating_sub(now_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_has_the_turn_in_each_period() {
        let turns = Turns::new(1_000);
        assert!(!turns.begin(1_009, 10));
        assert!(turns.begin(1_010, 10));
        assert!(!turns.begin(1_010, 10), "another caller at the same time");
        assert!(!turns.begin(1_019, 10));
        assert_eq!([1_010, 1_019, 1_500].map(|now_us| turns.until_us(now_us, 10)), [10, 1, 0]);
        assert!(turns.begin(1_500, 10));
        assert!(!turns.begin(u64::MAX, 0), "no period: never");
    }
}
