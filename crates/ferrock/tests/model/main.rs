//! The model test: random operations against the engine and against sorted maps, compared at every step.
//!
//! ```text
//! choices.rs    options that an open may have, as `name=value` texts
//! operations.rs what can happen, and how proptest makes it up
//! model.rs      a column family as a sorted map
//! keys.rs       the keys, and which of them are only ever removed by single delete
//! orders.rs     key orders, those that take different bytes for equal and those of fixed width among them
//! files.rs      files in memory or in a directory
//! database.rs   performs operations on both and compares
//! values.rs     what writes have for values
//! reads.rs      iterators
//! ways.rs       gets, futures, scans of many ranges, on this thread and on others
//! starved.rs    databases for scans with a limit over caches that keep nothing
//! few_files.rs  databases of many tables in processes that may open few files
//! reduce.rs     makes a failing case small
//! watchdog.rs   a case that hangs is a failure with a list of operations, too
//! ```
//!
//! `FERROCK_MODEL_OPS=n` sets how many operations are performed, `FERROCK_MODEL_DATABASES=n` how many databases are
//! read in every way, `FERROCK_MODEL_SEED=n` (or `random`) from which seed.
//! A failure is shrunk and printed with its seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test measures its own time and has its own threads")]

mod choices;
mod database;
mod few_files;
mod files;
mod filters;
mod keys;
mod model;
mod operations;
mod orders;
mod reads;
mod reduce;
mod starved;
mod values;
mod watchdog;
mod ways;
mod whole_files;
#[path = "../common/workers.rs"]
mod workers;

use database::{Database, ModelStats, Pace};
use operations::Case;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::time::Instant;
use watchdog::Watchdog;

/// Operations that the whole file performs when nothing else is asked for, over all its tests.
const DEFAULT_OPERATIONS: u64 = 640_000;
/// Operations of one case: one database from its creation to its end.
const CASE_OPERATIONS: usize = 2000;
/// Databases that are read in every way when nothing else is asked for.
const DEFAULT_DATABASES: u64 = 60;
/// Operations of one of them.
const READ_CASE_OPERATIONS: usize = 400;
/// Operations of one for scans with a limit.
const STARVED_CASE_OPERATIONS: usize = 120;
/// Operations of one in a process that may open few files.
const FEW_FILES_CASE_OPERATIONS: usize = 150;
const DEFAULT_SEED: u64 = 0x0fe7_70c4;
/// Not optimised, strategies of operations take more than the thread of a test has.
const STACK_BYTES: usize = 16 << 20;

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn wanted_operations() -> u64 {
    environment("FERROCK_MODEL_OPS").map_or(DEFAULT_OPERATIONS, |text| text.replace('_', "").parse().unwrap())
}

fn seed() -> u64 {
    match environment("FERROCK_MODEL_SEED").as_deref() {
        None => DEFAULT_SEED,
        Some("random") => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            since.as_nanos() as u64
        }
        Some(text) => text.parse().unwrap(),
    }
}

fn test_rng(seed: u64, shard: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&shard.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

fn wanted_databases() -> u64 {
    environment("FERROCK_MODEL_DATABASES").map_or(DEFAULT_DATABASES, |text| text.replace('_', "").parse().unwrap())
}

/// A shard of half of the operations.
fn run_shard(name: &str, shard: u64, pace: Pace) {
    let cases = (wanted_operations() / 2).div_ceil(CASE_OPERATIONS as u64).max(1);
    run_cases(name, shard, cases, pace, operations::case(CASE_OPERATIONS));
}

fn run_cases(name: &str, shard: u64, cases: u64, pace: Pace, strategy: impl Strategy<Value = Case>) {
    let seed = seed();
    let config = Config {
        cases: u32::try_from(cases).unwrap(),
        failure_persistence: None,
        // `reduce` does it, in chunks.
        max_shrink_iters: 0,
        ..Config::default()
    };
    let stats = Mutex::new(ModelStats::default());
    let watchdog = Watchdog::start(name, seed);
    let attempt = |case: &Case, stats: &mut ModelStats| {
        watchdog.begin(case);
        let run = AssertUnwindSafe(|| Database::run(case, pace, stats, &watchdog));
        std::panic::catch_unwind(run).unwrap_or_else(|panic| Err(format!("panicked: {}", panic_text(&*panic)))).err()
    };
    let started = Instant::now();
    let mut runner = TestRunner::new_with_rng(config, test_rng(seed, shard));
    let outcome = runner.run(&strategy, |case: Case| {
        let mut own = ModelStats::default();
        let failure = attempt(&case, &mut own);
        stats.lock().unwrap().add(&own);
        failure.map_or(Ok(()), |reason| Err(TestCaseError::fail(reason)))
    });
    let stats = stats.into_inner().unwrap();
    println!("{name}: seed {seed}: {stats}; {:.0?}", started.elapsed());
    match outcome {
        Ok(()) => assert!(stats.cases >= cases, "{} databases of {cases}", stats.cases),
        Err(TestError::Fail(reason, case)) => {
            eprintln!("{name}: FERROCK_MODEL_SEED={seed}: {reason}\nlooking for a smaller case");
            let fails = |case: &Case| attempt(case, &mut ModelStats::default());
            let (case, reason) = reduce::reduce(case, reason.to_string(), fails);
            panic!("{name}: FERROCK_MODEL_SEED={seed}: {reason}\nsmallest case found:\n{case}")
        }
        Err(TestError::Abort(reason)) => panic!("{name}: FERROCK_MODEL_SEED={seed}: aborted: {reason}"),
    }
    watchdog.stop();
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn on_a_large_stack(test: impl FnOnce() + Send) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let ended = std::thread::scope(|scope| thread.spawn_scoped(scope, test).unwrap().join());
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// After every operation that started background work, the work is waited for: a failure repeats.
#[test]
fn settled_database_agrees_with_its_model() {
    on_a_large_stack(|| run_shard("settled", 0, Pace::Settled));
}

/// Flushes and compactions run beside the operations.
#[test]
fn busy_database_agrees_with_its_model() {
    on_a_large_stack(|| run_shard("busy", 1, Pace::Busy));
}

/// Versions of few keys in many files, over caches that hold nothing, read in every way that there is.
#[test]
fn random_databases_are_read_in_every_way() {
    on_a_large_stack(|| {
        run_cases("reads", 2, wanted_databases(), Pace::Settled, operations::read_case(READ_CASE_OPERATIONS));
    });
}

/// Scans with a limit over index partitions that stay nowhere show what is there, and end.
#[test]
fn random_databases_are_scanned_to_a_limit_over_starved_caches() {
    on_a_large_stack(|| {
        let strategy = starved::starved_case(STARVED_CASE_OPERATIONS);
        run_cases("starved", 3, wanted_databases(), Pace::Settled, strategy);
    });
}

/// A process that may have fewer files open than a database has tables meets no error.
#[test]
fn random_databases_of_many_tables_need_few_descriptors() {
    on_a_large_stack(|| {
        let strategy = few_files::few_files_case(FEW_FILES_CASE_OPERATIONS);
        run_cases("few files", 4, wanted_databases().div_ceil(3), Pace::Settled, strategy);
    });
}
