//! `ferrock plan`: what a database of any size will cost, by simulation.
//!
//! ```text
//! mod.rs   arguments -> requests, one for each size        report.rs   table, JSON, plot
//! ```

mod report;

use crate::failure::{Failure, Outcome, Result};
use crate::output::parse_bytes;
use clap::{Args, ValueEnum};
use ferrock::DbOptions;
use ferrock::options::{self, ColumnFamilyOptions, FilterPolicy, IndexType};
use ferrock_base::clock::SystemClock;
use ferrock_plan::{Entry, Order, Phase, Plan, Rates, Request};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrock plan --data 2TB                     two terabytes of keys and values, default options
  ferrock plan --data 100TB --value-size 100 --cache 60GB --bloom-bits 10 --partitioned
                                              what must stay in memory, and what reads cost
  ferrock plan --data 1PB --workload overwrite --options 'num_levels=8;target_file_size_base=256MB'
                                              try other options before there is anything to change
  ferrock plan --data 500GB --style universal --plot universal.svg
                                              how the figures grow with the data
  ferrock plan --data 20GB --workload overwrite --put-rate 30MB --job-rate 120MB --jobs 2
                                              with a clock: does compaction keep up with 30 MB/s?
  ferrock plan --data 10TB --json | jq .write_amplification

Data is bytes of live keys and values; KB, MB, GB, TB and PB are powers of 1000, KiB to PiB of 1024.

Workloads:
  load         each key once, in random order           (db_bench filluniquerandom)
  sequential   each key once, in the order of keys      (fillseq)
  overwrite    random keys, as often as there are keys, and then --overwrites times as many
               (fillrandom,overwrite); a part of the keys is never put
  mixed        sequential, then --overwrites times as many random keys

Figures:
  write amplification   bytes written to tables for each byte of keys and values put; the log adds one
  space amplification   bytes of tables beside those that a full compaction would leave
  read                  data blocks that a lookup looks into, and blocks that it reads from files

Larger trees than --files files are simulated as smaller ones that are alike; the table says how. docs/plan.md says what
is modelled and how it was checked.

Exit codes: 0 planned, 2 the plot could not be written, 64 the command line or an option is wrong.";

/// Arguments of `ferrock plan`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    /// Bytes of live keys and values, as 500GB or 2TiB.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, required_unless_present = "keys")]
    data: Option<u64>,
    /// Number of keys, in the place of --data.
    #[arg(long, value_name = "N", conflicts_with = "data")]
    keys: Option<u64>,
    /// Bytes of a key.
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    key_size: usize,
    /// Bytes of a value.
    #[arg(long, value_name = "BYTES", default_value = "100", value_parser = parse_bytes)]
    value_size: u64,
    /// Bytes of the block cache.
    #[arg(long, value_name = "BYTES", default_value = "32MiB", value_parser = parse_bytes)]
    cache: u64,
    /// Style of compaction.
    #[arg(long, value_enum, default_value_t = Style::Leveled)]
    style: Style,
    /// What is put.
    #[arg(long, value_enum, default_value_t = Workload::Load)]
    workload: Workload,
    /// Random puts of `overwrite` and `mixed` after the first ones, as a multiple of the number of keys.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    overwrites: f64,
    /// Skew of random puts: the exponent of a zipf distribution over keys that lie anywhere; 0: all keys are alike.
    #[arg(long, value_name = "EXPONENT", default_value_t = 0.0)]
    zipf: f64,
    /// Options of the database and its tables, as RocksDB writes them: `name=value;name={name=value;...}`.
    #[arg(long, value_name = "TEXT", default_value = "")]
    options: String,
    /// Bits for each key in Bloom filters; 0: what --options say.
    #[arg(long, value_name = "BITS", default_value_t = 0.0)]
    bloom_bits: f64,
    /// Partition index and filter, and keep all but their top levels in the cache.
    #[arg(long)]
    partitioned: bool,
    /// Share of bytes that compression leaves of data blocks.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    compression_ratio: f64,
    /// Jobs in the background at once; 0: what --options say.
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: i32,
    /// Bytes of keys and values put a second; by default writers wait for every compaction.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    put_rate: Option<u64>,
    /// Bytes that one job writes a second.
    #[arg(long, value_name = "BYTES", default_value = "100MB", value_parser = parse_bytes)]
    job_rate: u64,
    /// Files that are simulated at most.
    #[arg(long, value_name = "N", default_value_t = 4000)]
    files: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Plan eight sizes up to the one given, and draw the figures into this SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    Leveled,
    Universal,
    Fifo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Workload {
    Load,
    Sequential,
    Overwrite,
    Mixed,
}

/// Plans of larger sizes than this factor apart are drawn.
const SIZES_IN_PLOT: u32 = 8;
/// Each of them is this many times larger than the one before.
const STEP_IN_PLOT: f64 = 3.162_277_66;
/// Plans for the plot simulate fewer files: there are eight of them.
const FILES_IN_PLOT: u64 = 1500;

/// Runs `ferrock plan`.
pub(crate) fn run(args: &PlanArgs) -> Result<Outcome> {
    let request = args.request()?;
    let clock = SystemClock::shared();
    let began_us = clock.monotonic_us();
    let plan = simulate(&request, "planning")?;
    let seconds = clock.monotonic_us().saturating_sub(began_us) as f64 / 1e6;
    let mut series = Vec::new();
    if let Some(path) = &args.plot {
        for step in (1..SIZES_IN_PLOT).rev() {
            let smaller = smaller(&request, STEP_IN_PLOT.powi(step as i32));
            series.extend(smaller.map(|request| simulate(&request, "planning smaller sizes")).transpose()?);
        }
        series.push(plan.clone());
        let text = report::draw(&series).map_err(|error| Failure::Io("plot", error))?;
        ferrock_vfs::write_file_synced(&*ferrock_vfs::default_file_system(), path, text.as_bytes())
            .map_err(|error| Failure::NotDone(format!("cannot write the plot {}: {error}", path.display())))?;
        series.pop();
    }
    if args.json {
        crate::output::say_json(&report::to_json(&request, &plan, &series, seconds))?;
    } else {
        report::print(&request, &plan, seconds)?;
    }
    Ok(Outcome::Good)
}

fn simulate(request: &Request, what: &'static str) -> Result<Plan> {
    let bar = progress(what);
    let plan = request.run(&mut |share| bar.set_position((share * 1000.0) as u64));
    bar.finish_and_clear();
    plan.map_err(|error| match error.kind() {
        ferrock::ErrorKind::InvalidArgument | ferrock::ErrorKind::NotSupported => Failure::Usage(error.to_string()),
        _ => Failure::Engine(error),
    })
}

/// Hidden if standard error is not a terminal.
fn progress(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:<28} [{bar:40}] {percent:>3} %  {elapsed}");
    let bar = ProgressBar::new(1000).with_message(what);
    style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style.progress_chars("=> ")))
}

/// The same for less data; `None` where nothing would be left.
fn smaller(request: &Request, divisor: f64) -> Option<Request> {
    let scaled = |count: u64| (count as f64 / divisor) as u64;
    let keys = scaled(request.keys);
    let phases = request.phases.iter().map(|phase| Phase { puts: scaled(phase.puts).max(1), ..*phase }).collect();
    let mut smaller = Request { keys, phases, most_files: request.most_files.min(FILES_IN_PLOT), ..request.clone() };
    let fifo = &mut smaller.family.settings.compaction_options_fifo;
    fifo.max_table_files_size = scaled(fifo.max_table_files_size).max(1);
    (keys > 1000).then_some(smaller)
}

impl PlanArgs {
    fn request(&self) -> Result<Request> {
        let value_size = usize::try_from(self.value_size).map_err(|_| usage("--value-size is too large"))?;
        let entry = Entry { key_size: self.key_size, value_size };
        let keys = match (self.keys, self.data) {
            (Some(keys), _) => keys,
            (None, Some(data)) => data / entry.bytes().max(1),
            (None, None) => return Err(usage("give --data or --keys")),
        };
        if keys == 0 {
            return Err(usage("--data is less than one key and its value: give more, or smaller ones"));
        }
        if !(0.0..=1000.0).contains(&self.overwrites) {
            return Err(usage("--overwrites must be from 0 to 1000"));
        }
        if self.job_rate == 0 || self.put_rate == Some(0) {
            return Err(usage("--put-rate and --job-rate must be above 0"));
        }
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        let style = match self.style {
            Style::Leveled => "kCompactionStyleLevel",
            Style::Universal => "kCompactionStyleUniversal",
            Style::Fifo => "kCompactionStyleFIFO",
        };
        let text = format!("compaction_style={style};{}", self.options);
        options::apply_text(&mut db, &mut family, &text)
            .map_err(|error| usage(&format!("--options: {}", error.message())))?;
        if self.bloom_bits > 0.0 {
            family.filter_policy = FilterPolicy::bloom(self.bloom_bits);
        }
        if self.partitioned {
            family.table.index_type = IndexType::TwoLevelIndexSearch;
            family.table.partition_filters = true;
            family.table.cache_index_and_filter_blocks = true;
        }
        if self.jobs > 0 {
            db.max_background_jobs = self.jobs;
        }
        if self.style == Style::Fifo && !self.options.contains("compaction_options_fifo") {
            // What is to be there is what the queue holds.
            family.settings.compaction_options_fifo.max_table_files_size = keys.saturating_mul(entry.bytes());
        }
        Ok(Request {
            keys,
            entry,
            phases: self.phases(keys),
            zipf: self.zipf,
            db,
            family,
            compression_ratio: self.compression_ratio,
            cache_bytes: self.cache,
            rates: Rates {
                put_bytes_per_sec: self.put_rate.map(|rate| rate as f64),
                job_bytes_per_sec: self.job_rate as f64,
            },
            most_files: self.files,
        })
    }

    fn phases(&self, keys: u64) -> Vec<Phase> {
        let phase = |order, puts| Phase { order, puts };
        let over = phase(Order::Random, (keys as f64 * self.overwrites) as u64);
        let mut phases = match self.workload {
            Workload::Load => vec![phase(Order::Once, keys)],
            Workload::Sequential => vec![phase(Order::Sequential, keys)],
            Workload::Overwrite => vec![phase(Order::Random, keys), over],
            Workload::Mixed => vec![phase(Order::Sequential, keys), over],
        };
        phases.retain(|phase| phase.puts > 0);
        phases
    }
}

fn usage(message: &str) -> Failure {
    Failure::Usage(message.to_owned())
}
