//! The processor's counter of ticks, for durations that are measured often.
//!
//! ```text
//! us = (ticks now - ticks then) * scale / 2^64         scale: from ticks and time since the clock was made
//! ```
//!
//! The counter takes one instruction, and a duration one multiplication; what the system's clock costs beside it is
//! in `docs/statistics.md`. It is used where the processor says that it ticks at one rate whatever the processor does
//! (x86-64: *invariant TSC*). The rate is measured against the system's clock once the clock is [`SETTLED_NS`] old;
//! until then each duration is the share of the time since the clock was made that it has of the ticks since then. A
//! counter that jumps, as it may when a virtual machine moves, makes one duration wrong; only durations that are told
//! are measured by it, none that anything waits for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Age at which the rate is good to one part in 100,000: two reads of the system's clock are known to less than 1 us.
const SETTLED_NS: u64 = 100_000_000;

/// A counter, and the time by it.
#[derive(Debug)]
pub(super) struct Ticks {
    begun_ticks: u64,
    begun: Instant,
    /// Microseconds of a tick, in 2^-64; 0 while the rate is not known.
    scale: AtomicU64,
}

impl Ticks {
    /// Begins now; `None` where the processor has no such counter.
    #[expect(clippy::disallowed_methods, reason = "the counter is measured against the machine's clock")]
    pub(super) fn new() -> Option<Self> {
        // The question takes 50 us in a virtual machine, and so comes before the two reads, which belong together.
        counter::is_steady().then(|| {
            let (begun_ticks, begun) = (counter::read(), Instant::now());
            Self { begun_ticks, begun, scale: AtomicU64::new(0) }
        })
    }

    /// The counter.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        counter::read()
    }

    /// Microseconds since `then`, as [`now`](Self::now) told it.
    #[inline]
    pub(super) fn elapsed_us(&self, then: u64) -> u64 {
        let ticks = counter::read().saturating_sub(then);
        match self.scale.load(Ordering::Relaxed) {
            0 => scaled(ticks, self.measure_scale()),
            scale => scaled(ticks, scale),
        }
    }

    #[cold]
    fn measure_scale(&self) -> u64 {
        let ticks = counter::read().saturating_sub(self.begun_ticks).max(1);
        let ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let scale = scale_of(ns, ticks);
        if ns >= SETTLED_NS {
            self.scale.store(scale, Ordering::Relaxed);
        }
        scale
    }
}

fn scale_of(ns: u64, ticks: u64) -> u64 {
    u64::try_from((u128::from(ns) << 64) / (u128::from(ticks) * 1000)).unwrap_or(u64::MAX)
}

#[inline]
fn scaled(ticks: u64, scale: u64) -> u64 {
    ((u128::from(ticks) * u128::from(scale)) >> 64) as u64
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// Bit 8 of EDX of leaf 0x8000_0007: the counter ticks at one rate in all states of the processor.
    pub(super) fn is_steady() -> bool {
        const HIGHEST_LEAF: u32 = 0x8000_0000;
        const POWER: u32 = 0x8000_0007;
        __cpuid(HIGHEST_LEAF).eax >= POWER && __cpuid(POWER).edx & (1 << 8) != 0
    }

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: the instruction reads a register and touches no memory; every x86-64 processor has it.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod counter {
    pub(super) fn is_steady() -> bool {
        false
    }

    #[inline]
    pub(super) fn read() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the counter is compared with the machine's clock")]
    fn durations_are_those_of_the_systems_clock() {
        let Some(ticks) = Ticks::new() else { return };
        // Before and after the rate is settled.
        for (us, count) in [(1_000, 5), (120_000, 3), (20_000, 3)] {
            let close = (0..count).any(|_| {
                let (then, begun) = (ticks.now(), Instant::now());
                std::thread::sleep(Duration::from_micros(us));
                let (by_ticks, by_clock) = (ticks.elapsed_us(then), begun.elapsed().as_micros() as u64);
                by_ticks.abs_diff(by_clock) <= by_clock / 500 + 20
            });
            assert!(close, "{us} us");
        }
        assert_ne!(ticks.scale.load(Ordering::Relaxed), 0, "the rate is settled");
        assert_eq!(ticks.elapsed_us(u64::MAX), 0, "a counter that jumped back");
    }

    #[test]
    fn scales_do_not_overflow() {
        for (ns, ticks) in [(1, 1), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX), (100_000_000, 300_000_000)] {
            let _ = scaled(u64::MAX, scale_of(ns, ticks));
        }
        let scale = scale_of(1_000_000_000, 3_000_000_000);
        assert_eq!((scaled(3_000, scale), scaled(3_000_000_001, scale)), (0, 1_000_000));
    }
}
