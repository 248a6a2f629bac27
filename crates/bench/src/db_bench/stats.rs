//! The counts of a thread, and the lines that RocksDB prints of them.
//!
//! ```text
//! micros/op   the time that all threads spent, by their operations
//! ops/sec     operations by the time from the first thread's start to the last one's end
//! ```

use ferrock_base::clock::Clock;
use ferrock_bench::median::median;
use ferrock_console::histogram::Histogram;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// The kinds of operations that histograms keep apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
    Delete,
    Seek,
    Merge,
    Update,
    Other,
}

impl Operation {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::Delete, "delete"),
        (Self::Seek, "seek"),
        (Self::Merge, "merge"),
        (Self::Update, "update"),
        (Self::Other, "op"),
    ];
}

/// Counts of one thread, or of several put together.
#[derive(Clone, Debug)]
pub(crate) struct Stats {
    clock: Arc<dyn Clock>,
    started_us: u64,
    finished_us: u64,
    last_us: u64,
    /// Time of all threads.
    spent_us: u64,
    done: u64,
    bytes: u64,
    checked: u64,
    histograms: Option<Vec<Histogram>>,
    messages: String,
}

impl Stats {
    /// A thread begins.
    pub(crate) fn start(clock: Arc<dyn Clock>, has_histograms: bool) -> Self {
        let now = clock.monotonic_us();
        let histograms = has_histograms.then(|| vec![Histogram::default(); Operation::ALL.len()]);
        Self {
            clock,
            started_us: now,
            finished_us: now,
            last_us: now,
            spent_us: 0,
            done: 0,
            bytes: 0,
            checked: 0,
            histograms,
            messages: String::new(),
        }
    }

    /// Operations ended.
    #[inline]
    pub(crate) fn finished(&mut self, count: u64, operation: Operation) {
        self.done += count;
        if let Some(histograms) = &mut self.histograms {
            let now = self.clock.monotonic_us();
            if let Some(histogram) = histograms.get_mut(operation as usize) {
                histogram.add(now - self.last_us);
            }
            self.last_us = now;
        }
    }

    /// What came before does not count for the next operation: a writer was held back by its rate.
    pub(crate) fn begin_operation(&mut self) {
        if self.histograms.is_some() {
            self.last_us = self.clock.monotonic_us();
        }
    }

    #[inline]
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    #[inline]
    pub(crate) fn add_check(&mut self) {
        self.checked += 1;
    }

    /// Microseconds since the thread began.
    pub(crate) fn gone_us(&self) -> u64 {
        self.clock.monotonic_us() - self.started_us
    }

    /// Adds text that is printed behind the figures.
    pub(crate) fn add_message(&mut self, message: &str) {
        if !message.is_empty() {
            if !self.messages.is_empty() {
                self.messages.push(' ');
            }
            self.messages.push_str(message);
        }
    }

    /// The thread ends.
    pub(crate) fn stop(&mut self) {
        self.finished_us = self.clock.monotonic_us();
        self.spent_us = self.finished_us - self.started_us;
    }

    /// Puts another thread's counts to these.
    pub(crate) fn merge(&mut self, other: &Self) {
        if let (Some(own), Some(more)) = (&mut self.histograms, &other.histograms) {
            own.iter_mut().zip(more).for_each(|(own, more)| own.merge(more));
        }
        self.done += other.done;
        self.bytes += other.bytes;
        self.checked += other.checked;
        self.spent_us += other.spent_us;
        self.started_us = self.started_us.min(other.started_us);
        self.finished_us = self.finished_us.max(other.finished_us);
        if self.messages.is_empty() {
            self.messages.clone_from(&other.messages);
        }
    }

    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    pub(crate) fn checked(&self) -> u64 {
        self.checked
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn message(&self) -> &str {
        &self.messages
    }

    pub(crate) fn spent(&self) -> Duration {
        Duration::from_micros(self.spent_us)
    }

    /// Seconds from the first start to the last end; never 0, so that it can be divided by.
    pub(crate) fn elapsed_seconds(&self) -> f64 {
        (self.finished_us - self.started_us).max(1) as f64 * 1e-6
    }

    pub(crate) fn ops_per_second(&self) -> f64 {
        self.done.max(1) as f64 / self.elapsed_seconds()
    }

    pub(crate) fn micros_per_op(&self) -> f64 {
        self.spent_us as f64 / self.done.max(1) as f64
    }

    pub(crate) fn mib_per_second(&self) -> f64 {
        self.bytes as f64 / 1_048_576.0 / self.elapsed_seconds()
    }

    /// The distributions of the operations that there were.
    pub(crate) fn distributions(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        let names = Operation::ALL.iter().map(|(_, name)| *name);
        names.zip(self.histograms.iter().flatten()).filter(|(_, histogram)| histogram.count() > 0)
    }

    /// The times of all operations; `None` without a histogram.
    pub(crate) fn all_times(&self) -> Option<Histogram> {
        let mut all = Histogram::default();
        self.histograms.as_ref()?.iter().for_each(|histogram| all.merge(histogram));
        Some(all)
    }

    /// RocksDB's line.
    pub(crate) fn line(&self, name: &str) -> String {
        let mut extra = String::new();
        if self.bytes > 0 {
            let _ = write!(extra, " {:6.1} MB/s", self.mib_per_second());
        }
        if !self.messages.is_empty() {
            let _ = write!(extra, " {}", self.messages);
        }
        format!(
            "{name:<12} : {:11.3} micros/op {} ops/sec {:.3} seconds {} operations;{extra}",
            self.micros_per_op(),
            self.ops_per_second() as u64,
            self.elapsed_seconds(),
            self.done.max(1)
        )
    }
}

/// Counts of the runs of one benchmark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats {
    ops_per_second: Vec<f64>,
    mib_per_second: Vec<f64>,
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// Half the width of the 95 % confidence interval of the mean.
fn margin(numbers: &[f64]) -> f64 {
    if numbers.len() < 2 {
        return 0.0;
    }
    let (mean, count) = (mean(numbers), numbers.len() as f64);
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (count - 1.0);
    1.96 * variance.sqrt() / count.sqrt()
}

impl Repeats {
    /// Takes in a run.
    pub(crate) fn add(&mut self, stats: &Stats) {
        self.ops_per_second.push(stats.ops_per_second());
        self.mib_per_second.push(if stats.bytes > 0 { stats.mib_per_second() } else { 0.0 });
    }

    /// Runs so far.
    pub(crate) fn count(&self) -> usize {
        self.ops_per_second.len()
    }

    pub(crate) fn median_ops_per_second(&self) -> f64 {
        median(&self.ops_per_second)
    }

    fn averages(&self) -> String {
        let mut text =
            format!("{:.0} (\u{b1} {:.0}) ops/sec", mean(&self.ops_per_second), margin(&self.ops_per_second));
        if mean(&self.mib_per_second) > 0.0 {
            let _ = write!(
                text,
                "; {:6.1} (\u{b1} {:.1}) MB/sec",
                mean(&self.mib_per_second),
                margin(&self.mib_per_second)
            );
        }
        text
    }

    /// The line after each run but the first.
    pub(crate) fn line(&self, name: &str) -> String {
        format!("{name} [AVG {} runs] : {}", self.count(), self.averages())
    }

    /// The lines after the last run.
    pub(crate) fn final_lines(&self, name: &str) -> String {
        let mut text = format!("{name} [AVG    {} runs] : {}\n", self.count(), self.averages());
        let _ = write!(text, "{name} [MEDIAN {} runs] : {:.0} ops/sec", self.count(), median(&self.ops_per_second));
        let rate = median(&self.mib_per_second);
        if rate > 0.0 {
            let _ = write!(text, "; {rate:6.1} MB/sec");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;

    fn thread(clock: &Arc<ManualClock>, operations: u64, step_us: u64, has_histograms: bool) -> Stats {
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(clock);
        let mut stats = Stats::start(shared, has_histograms);
        for _ in 0..operations {
            clock.advance(Duration::from_micros(step_us));
            stats.finished(1, Operation::Read);
            stats.add_bytes(1 << 20);
        }
        stats.stop();
        stats
    }

    #[test]
    fn the_line_is_that_of_rocksdb() {
        let clock = Arc::new(ManualClock::new(0));
        let mut stats = thread(&clock, 10, 50_000, false);
        assert_eq!(
            stats.line("readrandom"),
            "readrandom   :   50000.000 micros/op 20 ops/sec 0.500 seconds 10 operations;   20.0 MB/s"
        );
        stats.add_message("(9 of 10 found)");
        assert!(stats.line("x").ends_with("10 operations;   20.0 MB/s (9 of 10 found)"), "{}", stats.line("x"));
        let idle = thread(&clock, 0, 1, false);
        assert!(idle.line("x").ends_with("1 operations;"), "{}", idle.line("x"));
        // Another thread, later by half a second: twice the operations in twice the time.
        stats.merge(&thread(&clock, 10, 50_000, false));
        assert!(stats.line("x").contains("   50000.000 micros/op 20 ops/sec 1.000 seconds 20 operations;"));
    }

    #[test]
    fn histograms_know_the_operations_apart() {
        let clock = Arc::new(ManualClock::new(0));
        let stats = thread(&clock, 3, 7, true);
        let all: Vec<_> =
            stats.distributions().map(|(name, histogram)| (name, histogram.count(), histogram.max())).collect();
        assert_eq!(all, [("read", 3, 7)]);
        assert!(Operation::ALL.iter().enumerate().all(|(index, (operation, _))| *operation as usize == index));
    }

    #[test]
    fn averages_and_medians_as_rocksdb_prints_them() {
        let mut repeats =
            Repeats { ops_per_second: vec![257_941.0, 206_711.0, 221_830.0], mib_per_second: vec![28.5, 22.9, 24.5] };
        assert_eq!(
            repeats.final_lines("fillseq"),
            "fillseq [AVG    3 runs] : 228827 (\u{b1} 29786) ops/sec;   25.3 (\u{b1} 3.3) MB/sec\n\
             fillseq [MEDIAN 3 runs] : 221830 ops/sec;   24.5 MB/sec"
        );
        repeats.ops_per_second.pop();
        repeats.mib_per_second = vec![0.0, 0.0];
        assert_eq!(repeats.line("fillseq"), "fillseq [AVG 2 runs] : 232326 (\u{b1} 50205) ops/sec");
    }
}
