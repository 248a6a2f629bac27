//! A thread of a benchmark: its shared and its own state.

use crate::failure::{Failure, Result};
use crate::keys::Keys;
use crate::reports::{self, Reported};
use crate::settings::Settings;
use crate::stats::{Operation, Stats};
use crate::values::ValuePool;
use crate::workloads::Graph;
use ferrock::statistics::PerfContext;
use ferrock::{Db, ReadOptions, WriteOptions};
use ferrock_base::clock::Clock;
use ferrock_base::random::Random;
use ferrock_vfs::{IoPriority, RateLimiter, TokenBucket};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// State shared by the threads of a run.
pub(crate) struct Shared<'a> {
    pub(crate) name: &'static str,
    pub(crate) db: &'a Db,
    pub(crate) settings: &'a Settings,
    pub(crate) keys: Keys,
    pub(crate) values: &'a ValuePool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) write_limiter: Option<TokenBucket>,
    pub(crate) read_limiter: Option<TokenBucket>,
    pub(crate) write_options: WriteOptions,
    pub(crate) read_options: ReadOptions,
    /// A thread failed: the others need not go on.
    pub(crate) stop: AtomicBool,
    /// Readers that still run, for the writer beside them.
    pub(crate) readers: AtomicUsize,
    /// The graph of LinkBench's threads.
    pub(crate) graph: Option<Graph>,
    pub(crate) shows_progress: bool,
    /// Operations since the last line of the file that is reported to.
    pub(crate) reported: Option<Reported>,
}

/// Keys that a thread reads between two requests to the read limiter.
const READS_PER_REQUEST: u64 = 256;

/// A thread.
pub(crate) struct Worker<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) index: usize,
    pub(crate) random: Random,
    pub(crate) stats: Stats,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    reads: u64,
    next_report: u64,
    /// Operations done and microseconds gone at the last report.
    reported: (u64, u64),
}

/// Operations between two looks at the clock, where a report is due after some seconds.
const OPERATIONS_PER_LOOK: u64 = 1000;

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>, index: usize, seed: u64) -> Self {
        let stats = Stats::start(Arc::clone(&shared.clock), shared.settings.histogram);
        // Seeds that differ by one give unrelated numbers.
        let random = Random::new(seed.wrapping_add(index as u64));
        let settings = shared.settings;
        let next_report = match (settings.stats_interval, settings.stats_interval_seconds) {
            (0, 0) if shared.shows_progress && index == 0 => 100,
            (0, 0) => u64::MAX,
            (0, _) => OPERATIONS_PER_LOOK,
            (interval, _) => interval,
        };
        Self {
            shared,
            index,
            random,
            stats,
            key: Vec::new(),
            value: Vec::new(),
            reads: 0,
            next_report,
            reported: (0, 0),
        }
    }

    /// Does its share of a benchmark, and stops the others when it fails.
    pub(crate) fn run(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let perf_level = self.shared.settings.perf_level;
        if let Some(level) = perf_level {
            level.set_of_thread();
            PerfContext::reset_thread();
        }
        let outcome = work(self);
        self.stats.stop();
        if perf_level.is_some() && self.index == 0 {
            let counted = PerfContext::of_thread().report(true);
            self.stats.add_message(&format!("PERF_CONTEXT:\n{counted}"));
        }
        if outcome.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// How many operations, or until when.
    pub(crate) fn pace(&self, operations: u64, is_timed: bool) -> Pace<'a> {
        let settings = self.shared.settings;
        let duration_us = if is_timed { settings.duration_us } else { 0 };
        let now = self.shared.clock.monotonic_us();
        Pace {
            shared: self.shared,
            limit: operations,
            end_us: (duration_us > 0).then(|| now.saturating_add(duration_us)),
            begun: 0,
            next_check: settings.ops_between_duration_checks,
        }
    }

    /// A random number below the number of keys.
    #[inline]
    pub(crate) fn random_number(&mut self) -> u64 {
        self.random.below(self.shared.settings.num)
    }

    /// Counts operations that ended.
    #[inline]
    pub(crate) fn finished(&mut self, count: u64, operation: Operation) {
        self.stats.finished(count, operation);
        if let Some(reported) = &self.shared.reported {
            reported.add(count);
        }
        if self.stats.done() >= self.next_report {
            self.report();
        }
    }

    #[cold]
    fn report(&mut self) {
        let settings = self.shared.settings;
        if settings.stats_interval > 0 || settings.stats_interval_seconds > 0 {
            return self.report_interval();
        }
        let step = match self.next_report {
            ..1000 => 100,
            1000..5000 => 500,
            5000..10_000 => 1000,
            10_000..50_000 => 5000,
            50_000..100_000 => 10_000,
            100_000..500_000 => 50_000,
            _ => 100_000,
        };
        self.next_report += step;
        // A closed terminal is no error.
        let _ = write!(std::io::stderr(), "... finished {} ops{:30}\r", self.stats.done(), "");
    }

    /// RocksDB's line: operations, rates and seconds, of the interval and of all so far.
    fn report_interval(&mut self) {
        let settings = self.shared.settings;
        let step = if settings.stats_interval > 0 { settings.stats_interval } else { OPERATIONS_PER_LOOK };
        self.next_report = self.stats.done() + step;
        let (done, gone_us) = (self.stats.done(), self.stats.gone_us());
        let (last_done, last_us) = self.reported;
        if settings.stats_interval_seconds > 0
            && gone_us - last_us < settings.stats_interval_seconds.saturating_mul(1_000_000)
        {
            return;
        }
        self.reported = (done, gone_us);
        let seconds = |us: u64| us.max(1) as f64 * 1e-6;
        let (now_done, now_seconds) = (done - last_done, seconds(gone_us - last_us));
        let statistics = match settings.stats_per_interval && self.index == 0 {
            true => self.shared.db.property("rocksdb.stats").unwrap_or_default(),
            false => String::new(),
        };
        let jobs = match settings.jobs_per_interval && self.index == 0 {
            true => reports::running_jobs(self.shared.db),
            false => String::new(),
        };
        let _ = writeln!(
            std::io::stderr(),
            "{} ... thread {}: ({now_done},{done}) ops and ({:.1},{:.1}) ops/second in ({now_seconds:.6},{:.6}) seconds\n{statistics}{jobs}",
            self.shared.name,
            self.index,
            now_done as f64 / now_seconds,
            done as f64 / seconds(gone_us),
            seconds(gone_us)
        );
    }

    /// Waits for its turn to write so many bytes.
    #[inline]
    pub(crate) fn limit_write(&mut self, bytes: usize) {
        if let Some(limiter) = &self.shared.write_limiter {
            limiter.request(bytes as u64, IoPriority::High);
            self.stats.begin_operation();
        }
    }

    /// Waits for its turn to read so many keys.
    #[inline]
    pub(crate) fn limit_reads(&mut self, count: u64) {
        if let Some(limiter) = &self.shared.read_limiter {
            self.reads += count;
            if self.reads >= READS_PER_REQUEST {
                limiter.request(self.reads, IoPriority::High);
                self.reads = 0;
                self.stats.begin_operation();
            }
        }
    }

    /// Checks a value against its key.
    #[inline]
    pub(crate) fn check(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if !self.shared.settings.verify {
            return Ok(());
        }
        self.stats.add_check();
        if self.shared.values.check(key, value) { Ok(()) } else { Err(self.wrong_value(key, value)) }
    }

    #[cold]
    fn wrong_value(&self, key: &[u8], value: &[u8]) -> Failure {
        Failure::Wrong(format!(
            "{}: the value of key {} is wrong ({} bytes, beginning with {:?}). If the database was filled with another \
             --compression_ratio or --merge_operator, or by another program, say --noverify.",
            self.shared.name,
            hexadecimal(key),
            value.len(),
            value[..value.len().min(24)].escape_ascii().to_string()
        ))
    }

    /// The failure of a run whose database gave a wrong answer.
    #[cold]
    pub(crate) fn wrong(&self, what: &str, key: &[u8]) -> Failure {
        Failure::Wrong(format!("{}: {what}: key {}", self.shared.name, hexadecimal(key)))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
}

/// Counts operations, or looks at the clock.
pub(crate) struct Pace<'a> {
    shared: &'a Shared<'a>,
    limit: u64,
    end_us: Option<u64>,
    begun: u64,
    next_check: u64,
}

impl Pace<'_> {
    /// True when `count` more operations are to be done.
    #[inline]
    pub(crate) fn next(&mut self, count: u64) -> bool {
        if self.shared.stop.load(Ordering::Relaxed) {
            return false;
        }
        let Some(end_us) = self.end_us else {
            let goes_on = self.begun < self.limit;
            self.begun += count;
            return goes_on;
        };
        self.begun += count;
        if self.begun < self.next_check {
            return true;
        }
        self.next_check = self.begun + self.shared.settings.ops_between_duration_checks;
        self.shared.clock.monotonic_us() < end_us
    }
}
