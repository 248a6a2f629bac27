//! Measures the cost of checking values, so that it can be subtracted from the figures.
//!
//! A look at the clock takes longer than a check, so single checks cannot be timed. After a run its checks are done
//! over again on values made beforehand, some thousand of them in turn, until that took long enough to be measured.

use crate::keys::Keys;
use crate::stats::Stats;
use crate::values::ValuePool;
use ferrock_base::clock::Clock;
use std::hint::black_box;

/// The cost of checking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) checked: u64,
    pub(crate) ns_per_value: f64,
    /// Share of the time that the threads spent.
    pub(crate) share: f64,
}

const SAMPLE_BYTES: usize = 1 << 20;
const MEASURED_US: u64 = 5000;

/// Times the checks of a run; `None` when it did none.
pub(crate) fn measure(stats: &Stats, keys: &Keys, values: &ValuePool, clock: &dyn Clock) -> Option<Cost> {
    if stats.checked() == 0 {
        return None;
    }
    let count = (SAMPLE_BYTES / values.size().max(1)).clamp(1, 1000);
    let sample: Vec<(Vec<u8>, Vec<u8>)> = (0..count as u64)
        .map(|number| {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            keys.make(number, &mut key);
            values.make(&key, &mut value);
            (key, value)
        })
        .collect();
    let started = clock.monotonic_us();
    let mut rounds = 0_u64;
    let mut spent = 0;
    while spent < MEASURED_US {
        for (key, value) in &sample {
            black_box(values.check(black_box(key), black_box(value)));
        }
        rounds += 1;
        spent = clock.monotonic_us() - started;
    }
    let ns_per_value = spent as f64 * 1000.0 / (rounds * count as u64) as f64;
    let share = ns_per_value * stats.checked() as f64 / (stats.spent().as_nanos().max(1) as f64);
    Some(Cost { checked: stats.checked(), ns_per_value, share })
}

impl Cost {
    /// The line below the figures.
    pub(crate) fn line(&self) -> String {
        format!(
            "  verified: {} values checked, {:.0} ns each, {:.1} % of the time",
            self.checked,
            self.ns_per_value,
            self.share * 100.0
        )
    }
}
