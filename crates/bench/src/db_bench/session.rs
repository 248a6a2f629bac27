//! A run of the program: the database, the list of benchmarks, the threads of each.

use crate::benchmarks::{self, Benchmark, Planned, Work};
use crate::failure::{Failure, Result};
use crate::keys::Keys;
use crate::options::{EngineOptions, texts};
use crate::output::Output;
use crate::reports::Reported;
use crate::settings::Settings;
use crate::stats::{Repeats, Stats};
use crate::values::{Merging, ValuePool};
use crate::verify_cost;
use crate::worker::{Shared, Worker};
use crate::workloads;
use crate::workloads::Graph;
use ferrock::options::{IoPriority, TableBlockCache};
use ferrock::{Db, ReadOptions, StatsHistoryEntry, WriteOptions};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_vfs::{FileSystem, TokenBucket};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// A run of the program.
pub(crate) struct Session {
    settings: Settings,
    engine: EngineOptions,
    values: ValuePool,
    keys: Keys,
    clock: Arc<dyn Clock>,
    output: Output,
    db: Option<Db>,
    seed: u64,
    results: Vec<Value>,
}

impl Session {
    /// Prepares a run; nothing is opened yet.
    pub(crate) fn new(settings: Settings, engine: EngineOptions, output: Output) -> Self {
        let clock = SystemClock::shared();
        let seed = if settings.seed == 0 { clock.unix_us() } else { settings.seed };
        let merging = Merging::of(&settings.merge_operator);
        Self {
            values: ValuePool::new(settings.value_size, settings.compression_ratio, merging),
            keys: Keys::new(&settings),
            settings,
            engine,
            clock,
            output,
            db: None,
            seed,
            results: Vec::new(),
        }
    }

    /// How the next runs are made.
    pub(crate) fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// The block cache.
    pub(crate) fn block_cache(&self) -> Option<&TableBlockCache> {
        self.engine.db.components.block_cache.as_deref()
    }

    /// The files that the database is in.
    pub(crate) fn file_system(&self) -> Option<&dyn FileSystem> {
        self.engine.db.components.file_system.as_deref()
    }

    /// Closes the database; otherwise its drop does.
    pub(crate) fn close(mut self) -> Result<()> {
        Ok(self.db.take().map_or(Ok(()), Db::close)?)
    }

    /// Runs everything.
    pub(crate) fn run(mut self) -> Result<()> {
        let plan = benchmarks::parse_list(&self.settings.benchmarks).map_err(Failure::Usage)?;
        self.check(&plan)?;
        if self.settings.seed == 0 {
            self.output.say(&format!("Set seed to {} because --seed was 0", self.seed))?;
        }
        self.output.header(&self.settings, &self.engine)?;
        if !self.settings.use_existing_db {
            Db::destroy(&self.settings.directory, &self.engine.db)?;
        }
        self.open()?;
        for note in self.database()?.option_notes() {
            self.output.say(&format!("NOTE: {note}"))?;
        }
        for planned in &plan {
            self.run_planned(planned)?;
        }
        if self.settings.statistics {
            let statistics = self.database()?.property("rocksdb.options-statistics").unwrap_or_default();
            self.output.say(&format!("STATISTICS:\n{}", statistics.trim_end()))?;
            let io = self.database()?.property("ferrock.io").unwrap_or_default();
            self.output.say(&io)?;
        }
        if let Some(db) = self.db.take() {
            db.close()?;
        }
        if self.settings.json {
            let options: serde_json::Map<String, Value> = texts(&self.engine)
                .into_iter()
                .flat_map(|(_, pairs)| pairs)
                .map(|(name, text)| (name, text.into()))
                .collect();
            let document = json!({
                "seed": self.seed, "db": self.settings.directory.display().to_string(), "options": options,
                "results": self.results,
            });
            self.output.json(&document)?;
        }
        Ok(())
    }

    fn check(&self, plan: &[Planned]) -> Result<()> {
        let merging = plan.iter().find(|planned| planned.benchmark.work.merges());
        if let Some(planned) = merging.filter(|_| self.engine.family.merge_operator.is_none()) {
            let name = planned.benchmark.name;
            return Err(Failure::Usage(format!("{name} needs --merge_operator: put, uint64add, stringappend or max")));
        }
        if self.settings.verify && self.keys.is_ambiguous(self.settings.num) {
            self.output.note(&format!(
                "--key_size={} makes fewer than --num={} different keys: some are written more than once",
                self.settings.key_size, self.settings.num
            ));
        }
        Ok(())
    }

    /// The open database.
    pub(crate) fn database(&self) -> Result<&Db> {
        self.db.as_ref().ok_or_else(|| Failure::Usage("the database is not open".to_owned()))
    }

    /// Opens the database.
    pub(crate) fn open(&mut self) -> Result<()> {
        let families = vec![("default".to_owned(), self.engine.family.clone())];
        let (path, options) = (&self.settings.directory, self.engine.db.clone());
        let begun_us = self.clock.monotonic_us();
        let (db, _) = if self.settings.readonly {
            Db::open_read_only(path, options, Some(families))?
        } else {
            Db::open_cf(path, options, families)?
        };
        self.db = Some(db);
        if self.settings.times_open {
            let us = self.clock.monotonic_us().saturating_sub(begun_us);
            self.output.say(&format!("OpenDb:     {:.6} milliseconds", us as f64 / 1000.0))?;
        }
        Ok(())
    }

    /// Begins with an empty database.
    pub(crate) fn renew(&mut self) -> Result<()> {
        if let Some(db) = self.db.take() {
            db.close()?;
        }
        Db::destroy(&self.settings.directory, &self.engine.db)?;
        self.open()
    }

    fn run_planned(&mut self, planned: &Planned) -> Result<()> {
        let benchmark = planned.benchmark;
        let told = match benchmark.work {
            Work::Property(property) => Some(self.database()?.property(property).unwrap_or_default()),
            Work::StatsHistory => Some(history_text(self.database()?)?),
            _ => None,
        };
        if let Some(text) = told {
            self.results.push(json!({"name": benchmark.name, "text": text}));
            return self.output.say(&format!("\n{}", text.trim_end()));
        }
        if benchmark.is_fresh && self.settings.use_existing_db {
            return self.output.say(&format!("{:<12} : skipped (--use_existing_db is true)", benchmark.name));
        }
        self.output.say(&format!("DB path: [{}]", self.settings.directory.display()))?;
        if planned.warmups > 0 {
            self.output.say(&format!("Warming up benchmark by running {} times", planned.warmups))?;
        }
        for run in 0..planned.warmups {
            self.run_once(benchmark, run)?;
        }
        if planned.repeats > 1 {
            self.output.say(&format!("Running benchmark for {} times", planned.repeats))?;
        }
        let mut repeats = Repeats::default();
        let mut runs = Vec::new();
        for run in 0..planned.repeats {
            let stats = self.run_once(benchmark, planned.warmups + run)?;
            self.output.say(&stats.line(benchmark.name))?;
            for (operation, histogram) in stats.distributions() {
                self.output.say(&format!("Microseconds per {operation}:\n{histogram}"))?;
            }
            // Those of LinkBench are other values.
            let is_timed = !matches!(benchmark.work, Work::LinkBench | Work::LinkCheck);
            let cost = is_timed.then(|| verify_cost::measure(&stats, &self.keys, &self.values, &*self.clock)).flatten();
            if let Some(cost) = &cost {
                self.output.say(&cost.line())?;
            }
            runs.push(run_json(&stats, cost.as_ref()));
            repeats.add(&stats);
            if repeats.count() > 1 {
                self.output.say(&repeats.line(benchmark.name))?;
            }
        }
        if repeats.count() > 1 {
            self.output.say(&repeats.final_lines(benchmark.name))?;
        }
        self.results.push(json!({
            "name": benchmark.name, "threads": self.settings.threads, "runs": runs,
            "median_ops_per_second": repeats.median_ops_per_second(),
        }));
        Ok(())
    }

    /// Runs a benchmark once; runs of different numbers draw different keys.
    pub(crate) fn run_once(&mut self, benchmark: &'static Benchmark, run: u32) -> Result<Stats> {
        if benchmark.is_fresh {
            self.renew()?;
        }
        let settings = &self.settings;
        let sync = settings.sync || matches!(benchmark.work, Work::Write { sync: true, .. });
        let limiter = |rate: u64| (rate > 0).then(|| TokenBucket::new(rate, Arc::clone(&self.clock)));
        let is_alone = matches!(
            benchmark.work,
            Work::LinkLoad
                | Work::LinkCheck
                | Work::Compact
                | Work::CompactLevel(_)
                | Work::ResetStats
                | Work::Flush
                | Work::WaitForCompaction
                | Work::VerifyChecksum
                | Work::Property(_)
                | Work::StatsHistory
        );
        let has_writer = matches!(benchmark.work, Work::Beside { .. });
        let counted = if is_alone { 1 } else { settings.threads };
        let shared = Shared {
            name: benchmark.name,
            db: self.database()?,
            settings,
            keys: self.keys,
            values: &self.values,
            clock: Arc::clone(&self.clock),
            write_limiter: limiter(settings.write_rate_limit),
            read_limiter: limiter(settings.read_rate_limit),
            write_options: WriteOptions {
                sync,
                disable_wal: settings.disable_wal,
                rate_limiter_priority: settings.rate_limit_auto_wal_flush.then_some(IoPriority::User),
                ..WriteOptions::default()
            },
            read_options: ReadOptions {
                verify_checksums: settings.verify_checksum,
                total_order_seek: settings.total_order_seek,
                auto_prefix_mode: settings.auto_prefix_mode,
                prefix_same_as_start: settings.prefix_same_as_start,
                readahead_size: settings.readahead_size,
                async_io: settings.async_io,
                adaptive_readahead: settings.adaptive_readahead,
                auto_readahead_size: settings.auto_readahead_size,
                rate_limiter_priority: settings.rate_limit_user_ops.then_some(IoPriority::User),
                ..ReadOptions::default()
            },
            stop: AtomicBool::new(false),
            readers: AtomicUsize::new(settings.threads),
            graph: match benchmark.work {
                Work::LinkLoad | Work::LinkBench | Work::LinkCheck => Some(Graph::new(settings.num, self.database()?)?),
                _ => None,
            },
            shows_progress: settings.progress && std::io::stderr().is_terminal(),
            reported: settings.reports.is_some().then(Reported::default),
        };
        // Each run of a list draws other numbers, the same ones under the same seed.
        let position = (self.results.len() as u64) << 32 | u64::from(run) << 16;
        let seed = self.seed.wrapping_add(position);
        let run = || run_threads(&shared, benchmark.work, counted, counted + usize::from(has_writer), seed);
        match (&settings.reports, &shared.reported) {
            (Some(reports), Some(reported)) => reports.while_running(reported, &*self.clock, run),
            _ => run(),
        }
    }
}

/// Runs the threads, and puts the counts of the first `counted` together.
fn run_threads(shared: &Shared<'_>, work: Work, counted: usize, threads: usize, seed: u64) -> Result<Stats> {
    let outcomes: Vec<Result<Stats>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|index| {
                scope.spawn(move || {
                    let mut worker = Worker::new(shared, index, seed);
                    worker.run(|worker| workloads::dispatch(worker, work)).map(|()| worker.stats)
                })
            })
            .collect();
        let panicked = |_| Err(Failure::Wrong(format!("{}: a thread panicked", shared.name)));
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(panicked)).collect()
    });
    let mut total: Option<Stats> = None;
    for (index, outcome) in outcomes.into_iter().enumerate() {
        let stats = outcome?;
        match &mut total {
            None => total = Some(stats),
            Some(total) if index < counted => total.merge(&stats),
            Some(_) => {}
        }
    }
    total.ok_or_else(|| Failure::Usage("no threads".to_owned()))
}

fn run_json(stats: &Stats, cost: Option<&verify_cost::Cost>) -> Value {
    let histograms = stats.distributions().map(|(operation, histogram)| {
        let text = |percent| histogram.percentile(percent);
        let figures = json!({
            "count": histogram.count(), "average_us": histogram.average(), "min_us": histogram.min(),
            "max_us": histogram.max(), "p50_us": text(50.0), "p75_us": text(75.0), "p99_us": text(99.0),
            "p99.9_us": text(99.9), "p99.99_us": text(99.99),
        });
        (operation.to_owned(), figures)
    });
    json!({
        "micros_per_op": stats.micros_per_op(),
        "ops_per_second": stats.ops_per_second(),
        "seconds": stats.elapsed_seconds(),
        "operations": stats.done(),
        "bytes": stats.bytes(),
        "message": stats.message(),
        "values_checked": stats.checked(),
        "verify_ns_per_value": cost.map(|cost| cost.ns_per_value),
        "histograms": histograms.collect::<serde_json::Map<_, _>>(),
    })
}

/// A head for each snapshot, and a line for each ticker that grew.
fn history_text(db: &Db) -> Result<String> {
    let mut text = String::new();
    for snapshot in db.stats_history(0, u64::MAX)? {
        let StatsHistoryEntry { unix_seconds, increases, .. } = snapshot?;
        text.push_str(&format!("------ {unix_seconds} ------\n"));
        increases.iter().for_each(|(ticker, by)| text.push_str(&format!(" {unix_seconds}   {ticker}  {by}\n")));
    }
    Ok(text)
}
