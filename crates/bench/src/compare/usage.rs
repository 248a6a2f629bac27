//! What a cell costs, as the system counts it.
//!
//! ```text
//! CPU time of the process   all threads, background work included
//! /proc/self/io             read_bytes from the device, write_bytes into the system's pages of files
//! /proc/self/status         VmHWM, the most memory that the process held
//! /proc/stat                CPU time of the machine, to tell what other processes took meanwhile
//! ```

use crate::machine::{field, text};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds.
fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time, from an arbitrary start.
#[inline]
pub(super) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Counters of the process and of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    at_ns: u64,
    cpu_ns: u64,
    /// `None` where the system does not tell.
    bytes: Option<(u64, u64)>,
    machine_cpu_ns: Option<u64>,
}

/// What was used between two moments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) cpu_ns: u64,
    pub(super) read_bytes: Option<u64>,
    pub(super) written_bytes: Option<u64>,
    /// CPUs that other processes used meanwhile, on average.
    pub(super) other_cpus: Option<f64>,
}

impl Usage {
    pub(super) fn now() -> Self {
        let bytes = text("/proc/self/io").and_then(|text| {
            let count = |name: &str| field(&text, name)?.parse().ok();
            Some((count("read_bytes")?, count("write_bytes")?))
        });
        Self {
            at_ns: now_ns(),
            cpu_ns: nanoseconds(clock_gettime(ClockId::ProcessCPUTime)),
            bytes,
            machine_cpu_ns: text("/proc/stat").and_then(|text| machine_cpu_ns(&text)),
        }
    }

    pub(super) fn since(&self, before: &Self) -> Used {
        let cpu_ns = self.cpu_ns.saturating_sub(before.cpu_ns);
        let bytes = self.bytes.zip(before.bytes);
        let machine = self.machine_cpu_ns.zip(before.machine_cpu_ns);
        let other_cpus = machine.map(|(now, before_that)| {
            let others = now.saturating_sub(before_that).saturating_sub(cpu_ns) as f64;
            others / (self.at_ns - before.at_ns).max(1) as f64
        });
        Used {
            cpu_ns,
            read_bytes: bytes.map(|(now, before)| now.0.saturating_sub(before.0)),
            written_bytes: bytes.map(|(now, before)| now.1.saturating_sub(before.1)),
            other_cpus,
        }
    }
}

/// The CPU time of all processes, and what a host took, from `/proc/stat`.
fn machine_cpu_ns(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guests are contained in user.
    let [user, nice, system, _idle, _iowait, irq, soft_irq, steal] = *ticks.first_chunk()?;
    let busy = user + nice + system + irq + soft_irq + steal;
    Some(busy * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
}

/// The most memory that the process held so far.
pub(super) fn peak_resident_bytes() -> Option<u64> {
    let line = field(&text("/proc/self/status")?, "VmHWM")?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc() {
        let second = machine_cpu_ns("cpu  50 0 25 1000 9 5 5 15 7 0\ncpu0 1 1 1 1 1 1 1 1\n");
        assert_eq!(second, Some(100 * (1_000_000_000 / rustix::param::clock_ticks_per_second())));
        assert_eq!((machine_cpu_ns("cpu  1 2"), machine_cpu_ns("")), (None, None));
        let before = Usage::now();
        assert!(peak_resident_bytes() > Some(1 << 20) && Usage::now().since(&before).cpu_ns > 0);
    }
}
