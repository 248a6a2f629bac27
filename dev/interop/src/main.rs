//! Ferrock held against the real RocksDB. `README.md` says what for; `--help` says how.
#![warn(missing_docs)]
#![allow(
    clippy::disallowed_methods,
    reason = "a tool for developers: it owns no database, and reads the clock, the tree and other processes as they are"
)]

mod alike;
mod answers;
mod archive;
mod backups;
mod c_engine;
mod check;
mod counts;
mod engine;
mod fast_forward;
mod ferrock_engine;
mod fetch;
mod file_pick;
mod golden;
mod history;
mod ingestion;
mod model;
mod properties;
mod random;
mod remote;
mod repairs;
mod report;
mod rewritings;
mod runner;
mod secondaries;
mod seeds;
mod settings;
mod tables;
mod traces;
mod ttl;
mod updates;
mod wide;
mod worker;

use clap::{Parser, Subcommand};
use ferrock_console::failure::Failure;
use seeds::Suite;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Ferrock and the real RocksDB, on the same directories.
#[derive(Parser)]
#[command(name = "interop", version, about, long_about = None)]
struct Arguments {
    /// Where libraries and databases go [default: `interop` in cargo's target directory].
    #[arg(long, global = true, value_name = "DIR")]
    work_directory: Option<PathBuf>,
    /// Use this library instead of fetching RocksDB 11.8.1.
    #[arg(long, global = true, value_name = "PATH")]
    rocksdb_library: Option<PathBuf>,
    /// Print results as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Get RocksDB 11.8.1 (Maven: mvn, unzip) and 7.8.3 (Debian: apt-get), unless they are there.
    Fetch,
    /// Random histories in which Ferrock and RocksDB take turns on one directory.
    Histories(HistoriesArguments),
    /// Golden databases, rewritten by Ferrock and read by RocksDB.
    Golden {
        /// Only databases whose names contain this.
        #[arg(default_value = "")]
        filter: String,
    },
    /// Tables of every combination of options, written by each and read by the other.
    Tables(TablesArguments),
    /// Golden databases of table forms, rewritten by Ferrock and by RocksDB 11.8.1: the same entries and properties.
    Rewritings {
        /// Only databases whose names contain this.
        #[arg(default_value = "")]
        filter: String,
    },
    /// `ferrock fast-forward` on RocksDB 11.8.1: the same driver and files, RocksDB's reads.
    FastForward(ferrock_bench::fast_forward::Arguments),
    /// Point lookups in a database of five levels, for an instruction counter.
    FilePick(file_pick::Arguments),
    /// Tables of wide partitions: RocksDB 11.8.1 sees the keys and values that Ferrock wrote, and Ferrock its tables.
    Wide {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..11", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
    },
    /// Directories of backups to which Ferrock and RocksDB 11.8.1 add in turns, and which both verify and restore.
    Backups {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..11", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
    },
    /// Databases whose entries expire, written and compacted by both in turns.
    Ttls {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..11", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
    },
    /// Tables from outside: written and taken in by Ferrock and by RocksDB 11.8.1, in turns on one directory.
    Ingestions {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..11", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
    },
    /// The same calls of the C interface to RocksDB 11.8.1 and to Ferrock's library, and their answers compared.
    Answers(AnswersArguments),
    /// One history under many sets of options, by RocksDB 11.8.1 and Ferrock's library, which must answer alike.
    Alike(AlikeArguments),
    /// What statistics and properties of RocksDB 11.8.1 and of Ferrock's library say after one history, compared.
    Counts {
        /// Write the page of what differs, docs/statistics-beside-rocksdb.md.
        #[arg(long)]
        write: bool,
        /// Ferrock's library, built from crates/capi [default: the one beside this program].
        #[arg(long, value_name = "PATH")]
        ferrock_library: Option<PathBuf>,
    },
    /// Archives and logs that RocksDB 11.8.1 and Ferrock's library wrote in turns, and the updates that both read.
    Updates {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..7", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
        /// Ferrock's library, built from crates/capi [default: the one beside this program].
        #[arg(long, value_name = "PATH")]
        ferrock_library: Option<PathBuf>,
    },
    /// Traces by RocksDB 11.8.1 and by Ferrock's library of one history, compared, and replayed by both.
    Traces {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..7", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
        /// Ferrock's library, built from crates/capi [default: the one beside this program].
        #[arg(long, value_name = "PATH")]
        ferrock_library: Option<PathBuf>,
    },
    /// Databases that one of RocksDB 11.8.1 and Ferrock's library made, lost a part of, and repaired, read by both.
    Repairs {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..47", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
        /// Ferrock's library, built from crates/capi [default: the one beside this program].
        #[arg(long, value_name = "PATH")]
        ferrock_library: Option<PathBuf>,
    },
    /// Secondary instances of Ferrock's library and of RocksDB 11.8.1 over databases that either writes.
    Secondaries {
        /// Seeds: one, or FIRST..LAST, both included.
        #[arg(long, default_value = "0..11", value_parser = parse_seeds)]
        seeds: RangeInclusive<u64>,
        /// Ferrock's library, built from crates/capi [default: the one beside this program].
        #[arg(long, value_name = "PATH")]
        ferrock_library: Option<PathBuf>,
    },
    /// Histories, answers, histories under many options, counts, tables, golden databases, rewritings, wide tables,
    /// backups, updates, traces, ingestions, entries that expire, repairs and secondary instances.
    All(HistoriesArguments),
    #[command(hide = true)]
    UpdatesCase(updates::Case),
    #[command(hide = true)]
    TracesCase(traces::Case),
    #[command(hide = true)]
    RepairsCase(repairs::Case),
    #[command(hide = true)]
    SecondariesCase(secondaries::Case),
    #[command(hide = true)]
    AlikeCase(alike::Case),
    #[command(hide = true)]
    AnswersCase {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
    #[command(hide = true)]
    CountsCase {
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
    #[command(hide = true)]
    TtlCase {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
    #[command(hide = true)]
    IngestionCase {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
    #[command(hide = true)]
    TablesCase {
        #[arg(long)]
        release: String,
        #[arg(long, value_parser = settings::TableKind::parse)]
        kind: settings::TableKind,
        #[arg(long)]
        library: PathBuf,
        #[arg(long)]
        rows: String,
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        directory: PathBuf,
    },
    #[command(hide = true)]
    Worker {
        #[arg(long)]
        release: String,
        #[arg(long)]
        library: PathBuf,
        #[arg(long)]
        ferrock_library: Option<PathBuf>,
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        directory: PathBuf,
        #[arg(long, default_value_t = 0)]
        from_turn: usize,
    },
    #[command(hide = true)]
    BackupsCase {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
    #[command(hide = true)]
    WideCase {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
    #[command(hide = true)]
    GoldenRewrite {
        #[arg(long)]
        directory: PathBuf,
    },
    #[command(hide = true)]
    GoldenRewriteRocksdb {
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
    #[command(hide = true)]
    GoldenRead {
        #[arg(long)]
        directory: PathBuf,
        #[arg(long)]
        library: PathBuf,
    },
}

#[derive(clap::Args)]
struct HistoriesArguments {
    /// Seeds of the histories: one, or FIRST..LAST, both included.
    #[arg(long, default_value = "1..24", value_parser = parse_seeds)]
    seeds: RangeInclusive<u64>,
    /// One more history, of a seed drawn now and printed.
    #[arg(long)]
    random: bool,
    /// Only with this release of RocksDB: 11.8.1 or 7.8.3.
    #[arg(long, value_parser = settings::Release::parse)]
    release: Option<settings::Release>,
    /// Ferrock plays every other of its turns through this library, built from crates/capi.
    #[arg(long, value_name = "PATH")]
    ferrock_library: Option<PathBuf>,
}

#[derive(clap::Args)]
struct AnswersArguments {
    /// Seeds: one, or FIRST..LAST, both included.
    #[arg(long, default_value = "1..160", value_parser = parse_seeds)]
    seeds: RangeInclusive<u64>,
    /// Ferrock's library, built from crates/capi [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    ferrock_library: Option<PathBuf>,
}

#[derive(clap::Args)]
struct AlikeArguments {
    /// Seeds: one, or FIRST..LAST, both included.
    #[arg(long, default_value = "1..16", value_parser = parse_seeds)]
    seeds: RangeInclusive<u64>,
    /// Play the file that a failure printed, and print all answers.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Ferrock's library, built from crates/capi [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    ferrock_library: Option<PathBuf>,
}

#[derive(clap::Args, Default)]
struct TablesArguments {
    /// Databases of random values instead, of these seeds: one, or FIRST..LAST, both included.
    #[arg(long, value_parser = parse_seeds)]
    seeds: Option<RangeInclusive<u64>>,
    /// Only with this release of RocksDB: 11.8.1 or 7.8.3.
    #[arg(long, value_parser = settings::Release::parse)]
    release: Option<settings::Release>,
    /// Only tables of this kind: block or plain.
    #[arg(long, value_parser = settings::TableKind::parse)]
    kind: Option<settings::TableKind>,
    /// Only the database of this number, as a failure names it.
    #[arg(long, conflicts_with = "seeds", requires_all = ["release", "kind"])]
    only: Option<usize>,
}

fn parse_seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str| text.trim_start_matches('=').parse().map_err(|_| format!("`{text}` is not a seed"));
    match text.split_once("..") {
        Some((first, last)) => Ok(number(first)?..=number(last)?),
        None => number(text).map(|seed| seed..=seed),
    }
}

/// cargo's target directory, from where this program lies in it; the workspace's own otherwise.
fn default_work_directory() -> PathBuf {
    let in_target = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.parent()?.to_owned()));
    let target = in_target.filter(|directory| directory.join("CACHEDIR.TAG").exists());
    target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")).join("interop")
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// True when all is well; an error when nothing could be found out.
fn run(arguments: Arguments) -> Result<bool, String> {
    let directory = arguments.work_directory.unwrap_or_else(default_work_directory);
    let (json, library) = (arguments.json, arguments.rocksdb_library.as_deref());
    match arguments.task {
        Task::Fetch => {
            let fetched = fetch::fetch(&directory, library)?;
            report::fetched(&fetched, json);
            Ok(true)
        }
        Task::Histories(arguments) => histories(&directory, library, &arguments, json),
        Task::Golden { filter } => golden_databases(&directory, library, &filter, json),
        Task::All(arguments) => {
            let histories = histories(&directory, library, &arguments, json)?;
            let asked = AnswersArguments { seeds: 1..=160, ferrock_library: arguments.ferrock_library.clone() };
            let answers = answers_of_both(&directory, library, &asked, json)?;
            let asked =
                AlikeArguments { seeds: 1..=16, replay: None, ferrock_library: arguments.ferrock_library.clone() };
            let alike = alike_under_options(&directory, library, &asked, json)?;
            let counts = counts_of_both(&directory, library, arguments.ferrock_library.as_deref(), false, json)?;
            let tables = all_tables(&directory, library, &TablesArguments::default(), json)?;
            let rewritings = rewritings(&directory, library, "", json)?;
            let wide = of_seeds(&wide::SUITE, &directory, library, 0..=11, json)?;
            let backups = of_seeds(&backups::SUITE, &directory, library, 0..=11, json)?;
            let ingestions = of_seeds(&ingestion::SUITE, &directory, library, 0..=11, json)?;
            let ttls = of_seeds(&ttl::SUITE, &directory, library, 0..=11, json)?;
            let golden = golden_databases(&directory, library, "", json)?;
            let updates = of_both(UPDATES, &directory, library, arguments.ferrock_library.as_deref(), 0..=7, json)?;
            let traces = of_both(TRACES, &directory, library, arguments.ferrock_library.as_deref(), 0..=7, json)?;
            let repairs = of_both(REPAIRS, &directory, library, arguments.ferrock_library.as_deref(), 0..=47, json)?;
            let secondaries =
                of_both(SECONDARIES, &directory, library, arguments.ferrock_library.as_deref(), 0..=11, json)?;
            let copies = updates && backups && ingestions && traces && ttls && repairs && secondaries;
            Ok(copies && golden && rewritings && tables && counts && answers && alike && histories && wide)
        }
        Task::Worker { release, library, ferrock_library, seed, directory, from_turn } => {
            let release = settings::Release::parse(&release)?;
            worker::play(worker::Job { release, library, ferrock_library, seed, directory, from_turn })
        }
        Task::FastForward(arguments) => fast_forward(&directory, library, &arguments),
        Task::FilePick(arguments) => file_pick(&directory, library, &arguments),
        Task::Rewritings { filter } => rewritings(&directory, library, &filter, json),
        Task::GoldenRewriteRocksdb { directory, library } => {
            Ok(report::said(rewritings::rewrite_by_rocksdb(&directory, &library)))
        }
        Task::Tables(arguments) => all_tables(&directory, library, &arguments, json),
        Task::TablesCase { release, kind, library, rows, seed, directory } => {
            let release = settings::Release::parse(&release)?;
            let rows = tables::rows_from_text(kind, release, &rows)?;
            Ok(report::said(tables::case::play(tables::case::Job { release, kind, library, rows, seed, directory })))
        }
        Task::Alike(arguments) => alike_under_options(&directory, library, &arguments, json),
        Task::Counts { write, ferrock_library } => {
            counts_of_both(&directory, library, ferrock_library.as_deref(), write, json)
        }
        Task::CountsCase { directory, library } => Ok(report::said(counts::play(&directory, &library))),
        Task::Updates { seeds, ferrock_library } => {
            of_both(UPDATES, &directory, library, ferrock_library.as_deref(), seeds, json)
        }
        Task::UpdatesCase(case) => Ok(report::said(updates::play(&case))),
        Task::Traces { seeds, ferrock_library } => {
            of_both(TRACES, &directory, library, ferrock_library.as_deref(), seeds, json)
        }
        Task::TracesCase(case) => Ok(report::said(traces::play(&case))),
        Task::Repairs { seeds, ferrock_library } => {
            of_both(REPAIRS, &directory, library, ferrock_library.as_deref(), seeds, json)
        }
        Task::RepairsCase(case) => Ok(report::said(repairs::play(&case))),
        Task::Secondaries { seeds, ferrock_library } => {
            of_both(SECONDARIES, &directory, library, ferrock_library.as_deref(), seeds, json)
        }
        Task::SecondariesCase(case) => Ok(report::said(secondaries::play(&case))),
        Task::AlikeCase(case) => Ok(report::said(alike::play_case(&case))),
        Task::Answers(arguments) => answers_of_both(&directory, library, &arguments, json),
        Task::AnswersCase { seed, directory, library } => {
            let outcome = answers::player::play(seed, &directory, &library);
            Ok(report::said(outcome.map(|()| serde_json::json!({"done": true}))))
        }
        Task::Backups { seeds } => of_seeds(&backups::SUITE, &directory, library, seeds, json),
        Task::BackupsCase { seed, directory, library } => Ok(report::said(backups::play(seed, &directory, &library))),
        Task::Wide { seeds } => of_seeds(&wide::SUITE, &directory, library, seeds, json),
        Task::Ingestions { seeds } => of_seeds(&ingestion::SUITE, &directory, library, seeds, json),
        Task::Ttls { seeds } => of_seeds(&ttl::SUITE, &directory, library, seeds, json),
        Task::TtlCase { seed, directory, library } => Ok(report::said(ttl::play(seed, &directory, &library))),
        Task::IngestionCase { seed, directory, library } => {
            Ok(report::said(ingestion::play(seed, &directory, &library)))
        }
        Task::WideCase { seed, directory, library } => Ok(report::said(wide::play(seed, &directory, &library))),
        Task::GoldenRewrite { directory } => Ok(report::said(golden::rewrite(&directory))),
        Task::GoldenRead { directory, library } => Ok(report::said(golden::read(&directory, &library))),
    }
}

/// Fewer histories than this need not cover everything.
const COVERING_SEEDS: usize = 12;

fn histories(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    arguments: &HistoriesArguments,
    json: bool,
) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let mut seeds: Vec<u64> = arguments.seeds.clone().collect();
    if arguments.random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seed = random::Random::new(now.as_nanos() as u64).next() % 1_000_000_000;
        eprintln!("random seed: {seed} (`interop histories --seeds {seed}` plays it again)");
        seeds.push(seed);
    }
    let releases = [settings::Release::Current, settings::Release::Old];
    let releases = releases.into_iter().filter(|release| arguments.release.is_none_or(|only| only == *release));
    let mut jobs = Vec::new();
    let mut missing = Vec::new();
    for release in releases {
        let job = |seed: &u64| runner::HistoryJob {
            release,
            library: fetched.library(release).to_owned(),
            ferrock_library: arguments.ferrock_library.clone(),
            seed: *seed,
        };
        let of_release: Vec<_> = seeds.iter().map(job).collect();
        if of_release.len() >= COVERING_SEEDS {
            let coverage = runner::Coverage::of(&of_release);
            missing.extend(coverage.missing(release).iter().map(|what| format!("{}: {what}", release.name())));
        }
        jobs.extend(of_release);
    }
    let start = std::time::Instant::now();
    let scratch = directory.join("histories");
    let results = runner::in_parallel("histories", &jobs, |job| runner::run_history(job, &scratch));
    if jobs.len() >= COVERING_SEEDS && results.iter().all(|result| result.remote_blob_files == 0) {
        missing.push("no worker of a compaction writes blob files".to_owned());
    }
    Ok(report::histories(&results, &missing, start.elapsed(), json))
}

/// Ferrock's library beside this program.
fn own_library() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let library = program.with_file_name("libferrock_capi.so");
    let is_there = library.exists().then_some(library.clone());
    is_there.ok_or_else(|| format!("{} is missing: cargo build -p ferrock-capi", library.display()))
}

fn answers_of_both(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    arguments: &AnswersArguments,
    json: bool,
) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let ferrock = arguments.ferrock_library.clone().map_or_else(own_library, Ok)?;
    let start = std::time::Instant::now();
    let libraries = answers::Libraries { rocksdb: &fetched.current, ferrock: &ferrock };
    let results = answers::run(&libraries, &directory.join("answers"), arguments.seeds.clone());
    Ok(report::answers(&results, start.elapsed(), json))
}

fn counts_of_both(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    ferrock_library: Option<&Path>,
    writes_page: bool,
    json: bool,
) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let ferrock = ferrock_library.map_or_else(own_library, |library| Ok(library.to_owned()))?;
    let counts = counts::run(&fetched.current, &ferrock, &directory.join("counts"))?;
    if writes_page {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/statistics-beside-rocksdb.md");
        std::fs::write(&page, counts::page(&counts)).map_err(|error| format!("{}: {error}", page.display()))?;
    }
    Ok(report::counts(&counts, json))
}

fn alike_under_options(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    arguments: &AlikeArguments,
    json: bool,
) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let ferrock = arguments.ferrock_library.clone().map_or_else(own_library, Ok)?;
    let scratch = directory.join("alike");
    let places = alike::Places { rocksdb: &fetched.current, ferrock: &ferrock, scratch: &scratch };
    if let Some(file) = &arguments.replay {
        return alike::replay(&places, file);
    }
    let start = std::time::Instant::now();
    let results = alike::run(&places, arguments.seeds.clone());
    Ok(report::alike(&results, start.elapsed(), json))
}

/// The seeds of a suite; true when none failed.
fn of_seeds(
    suite: &Suite,
    directory: &Path,
    rocksdb_library: Option<&Path>,
    seeds: RangeInclusive<u64>,
    json: bool,
) -> Result<bool, String> {
    Ok(suite.run(&fetch::fetch(directory, rocksdb_library)?, directory, seeds, json))
}

/// The suites whose parts load either library, each in a process of its own.
type SuiteOfBoth = fn(&fetch::Fetched, &Path, &Path, RangeInclusive<u64>, bool) -> bool;

const UPDATES: (&Suite, SuiteOfBoth) = (&updates::SUITE, updates::run);
const TRACES: (&Suite, SuiteOfBoth) = (&traces::SUITE, traces::run);
const REPAIRS: (&Suite, SuiteOfBoth) = (&repairs::SUITE, repairs::run);
const SECONDARIES: (&Suite, SuiteOfBoth) = (&secondaries::SUITE, secondaries::run);

/// The seeds of such a suite; true when none failed.
fn of_both(
    (suite, run): (&Suite, SuiteOfBoth),
    directory: &Path,
    rocksdb_library: Option<&Path>,
    ferrock_library: Option<&Path>,
    seeds: RangeInclusive<u64>,
    json: bool,
) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let ferrock = ferrock_library.map_or_else(own_library, |library| Ok(library.to_owned()))?;
    Ok(run(&fetched, &ferrock, &directory.join(suite.name), seeds, json))
}

fn all_tables(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    arguments: &TablesArguments,
    json: bool,
) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let mut jobs = Vec::new();
    for release in [settings::Release::Current, settings::Release::Old] {
        if arguments.release.is_some_and(|only| only != release) {
            continue;
        }
        for kind in [settings::TableKind::Block, settings::TableKind::Plain] {
            if arguments.kind.is_none_or(|only| only == kind) {
                jobs.extend(match &arguments.seeds {
                    Some(seeds) => tables::random(kind, release, seeds.clone()),
                    None => tables::pairwise(kind, release),
                });
            }
        }
    }
    // With all rows every pair must be there, else they are only counted.
    let is_whole = arguments.seeds.is_none() && arguments.only.is_none();
    if let Some(number) = arguments.only {
        let count = jobs.len();
        let only = jobs.into_iter().nth(number).ok_or_else(|| format!("there are {count} databases, from 0"))?;
        jobs = vec![only];
    }
    let start = std::time::Instant::now();
    let results = tables::run(&fetched, &directory.join("tables"), &jobs);
    Ok(report::tables(&jobs, &results, is_whole, start.elapsed(), json))
}

/// Like `ferrock fast-forward`, false is for data or costs that are not what they must be.
fn file_pick(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    arguments: &file_pick::Arguments,
) -> Result<bool, String> {
    if arguments.is_for_ferrock() && arguments.is_filled() {
        return arguments.read(&ferrock_engine::FerrockEngine);
    }
    let library = match rocksdb_library {
        Some(library) => library.to_owned(),
        None => fetch::fetch(directory, None)?.current,
    };
    let rocksdb = c_engine::CEngine::load(&library)?;
    if !arguments.is_filled() {
        arguments.fill(&rocksdb)?;
    }
    if arguments.is_for_ferrock() { arguments.read(&ferrock_engine::FerrockEngine) } else { arguments.read(&rocksdb) }
}

fn fast_forward(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    arguments: &ferrock_bench::fast_forward::Arguments,
) -> Result<bool, String> {
    if arguments.wants_wide() {
        return Err("--api wide is an interface of Ferrock's: `ferrock fast-forward --api wide`".to_owned());
    }
    let library = match rocksdb_library {
        Some(library) => library.to_owned(),
        None => fetch::fetch(directory, None)?.current,
    };
    let engine = fast_forward::RocksDb::load(&library, "RocksDB 11.8.1")?;
    match ferrock_bench::fast_forward::run(arguments, &engine) {
        Ok(()) => Ok(true),
        Err(Failure::Data(message)) => {
            eprintln!("{message}");
            Ok(false)
        }
        Err(Failure::Usage(message) | Failure::NotDone(message)) => Err(message),
        Err(Failure::Engine(error)) => Err(error.to_string()),
        Err(Failure::Output(error)) => Err(error.to_string()),
    }
}

fn rewritings(directory: &Path, rocksdb_library: Option<&Path>, filter: &str, json: bool) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let start = std::time::Instant::now();
    let results = rewritings::run(&fetched, &directory.join("rewritings"), filter)?;
    if results.is_empty() {
        return Err(format!("no golden database of a table form is called *{filter}*"));
    }
    Ok(report::rewritings(&results, start.elapsed(), json))
}

fn golden_databases(
    directory: &Path,
    rocksdb_library: Option<&Path>,
    filter: &str,
    json: bool,
) -> Result<bool, String> {
    let fetched = fetch::fetch(directory, rocksdb_library)?;
    let start = std::time::Instant::now();
    let results = golden::run(&fetched, &directory.join("golden"), filter)?;
    if results.is_empty() {
        return Err(format!("no golden database is called *{filter}*"));
    }
    Ok(report::golden(&results, start.elapsed(), json))
}
