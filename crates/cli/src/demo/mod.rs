//! `ferrock demo`: shows the engine's crash safety on the user's machine.
//!
//! ```text
//! load half (child) -> SIGKILL -> recover -> verify -> load the rest -> compact -> verify -> figures
//! ```
//!
//! The child reports over a pipe, outside the database, how many keys were acknowledged. The parent kills it without
//! warning, opens the database again and checks: every acknowledged key is there, every batch is there whole or not at
//! all, and nothing is there that was never written.
//!
//! ```text
//! mod.rs         arguments, the course of the demo       workload.rs   which keys and values, and loading them
//! writer.rs      the child process                       child.rs      starting it, listening to it, killing it
//! verify.rs      checking the database        workspace.rs  the temporary directory
//! cost.rs        levels, bytes and time                  report.rs     the figures as tables and JSON
//! ```

mod child;
mod cost;
mod report;
mod verify;
mod workload;
mod workspace;
mod writer;

use crate::failure::{Failure, Outcome, Result};
use crate::output;
use clap::Args;
use cost::{Cost, LevelSummary};
use ferrock::{Db, DbOptions};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_vfs::FileSystem;
use report::{DemoReport, Phase};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use verify::Verification;
use workload::Workload;
use workspace::Workspace;
pub(crate) use writer::{WriterArgs, run as run_writer};

const EXAMPLES: &str = "\
Examples:
  ferrock demo                            a million keys of 16 bytes with values of 100 bytes
  ferrock demo --keys 20000               small and quick
  ferrock demo --dir /mnt/nvme/demo       on the device that matters (by default the system's temporary directory)
  ferrock demo --keep                     leave the database behind, to look at it: ferrock digest DIR/db
  ferrock demo --json                     all figures for a program

Exit codes: 0 every promise was kept, 1 a key was lost, wrong or never written, 2 the demo could not run,
64 the command line is wrong.";

/// Arguments of `ferrock demo`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Keys to load.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    keys: u64,
    /// Bytes of each value.
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    value_size: u32,
    /// Where to work: a directory that is empty or does not exist yet.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Leave the database behind.
    #[arg(long)]
    keep: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    /// Which keys and values to make; the same number makes the same ones.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Runs `ferrock demo`.
pub(crate) fn run(args: &DemoArgs) -> Result<Outcome> {
    let file_system = ferrock_vfs::default_file_system();
    let mut workspace = Workspace::create(Arc::clone(&file_system), args.dir.as_deref())?;
    let workload = Workload { keys: args.keys, value_size_bytes: args.value_size as usize, seed: args.seed };
    let demo = Demo { workload, file_system, database: workspace.database(), clock: SystemClock::default() };
    output::note(&format!(
        "{} keys of {} bytes with values of {} bytes, in {}",
        output::number(workload.keys),
        workload::KEY_SIZE_BYTES,
        workload.value_size_bytes,
        demo.database.display()
    ));
    let report = demo.play()?;
    if args.json {
        output::say_json(&report.to_json())?;
    } else {
        report.print()?;
    }
    if args.keep || !report.is_good() {
        workspace.keep();
        output::note(&format!("The database is left in {}", demo.database.display()));
    } else {
        workspace.remove()?;
    }
    Ok(if report.is_good() { Outcome::Good } else { Outcome::BadData })
}

struct Demo {
    workload: Workload,
    file_system: Arc<dyn FileSystem>,
    database: PathBuf,
    clock: SystemClock,
}

impl Demo {
    fn play(&self) -> Result<DemoReport> {
        let workload = &self.workload;
        let (killed, load_time) = self.timed(|| child::load_and_kill(&self.database, workload))?;
        let logs_bytes = cost::log_files_bytes(&*self.file_system, &self.database)?;
        let before = self.file_system.counters().snapshot();
        let (db, recovery_time) = self.timed(|| self.open())?;
        let (crash, verify_time) =
            self.timed(|| verify::after_crash(&db, workload, killed.acknowledged_keys).map_err(Failure::from))?;
        let mut phases = vec![
            Phase::new("load, then kill -9", load_time, killed.acknowledged_keys),
            Phase::new("recover", recovery_time, crash.found),
            Phase::new("verify after the kill", verify_time, crash.reads()),
        ];
        let mut report = DemoReport {
            workload: *workload,
            acknowledged_keys: killed.acknowledged_keys,
            recovered_logs_bytes: logs_bytes,
            io_backend: self.file_system.io_backend().to_owned(),
            after_kill: crash,
            ..DemoReport::default()
        };
        if report.after_kill.is_good() {
            let mut cost = killed.cost;
            self.finish(&db, &mut report, &mut phases, &mut cost)?;
            cost.add(&Cost::of(&db, &before, &self.file_system.counters().snapshot()));
            report.cost = cost;
        }
        report.phases = phases;
        db.close()?;
        Ok(report)
    }

    /// From the recovered database to the compacted and verified one.
    fn finish(&self, db: &Db, report: &mut DemoReport, phases: &mut Vec<Phase>, cost: &mut Cost) -> Result<()> {
        let workload = &self.workload;
        let present = report.after_kill.found;
        let bar = output::progress("load the rest", workload.keys - present);
        let ((), time) = self.timed(|| {
            let result = workload.load(db, present..workload.keys, |written| {
                bar.set_position(written - present);
                Ok(())
            });
            bar.finish_and_clear();
            // Entries still in memory would be missing from the figures of the levels.
            result.and_then(|()| Ok(db.flush()?))
        })?;
        phases.push(Phase::new("load the rest", time, workload.keys - present));
        cost.reads_per_get_before = self.sample_reads(db)?;
        report.levels_before = LevelSummary::of(db)?;
        let written = || self.file_system.counters().snapshot().append_bytes();
        let written_before = written();
        let ((), time) = self.timed(|| Ok(db.compact_range(None, None)?))?;
        cost.compact_range_bytes = written().saturating_sub(written_before);
        phases.push(Phase::new("compact everything", time, workload.keys));
        report.levels_after = LevelSummary::of(db)?;
        cost.reads_per_get_after = self.sample_reads(db)?;
        let (verification, time) = self.timed(|| Ok(verify::complete(db, workload)?))?;
        phases.push(Phase::new("verify all", time, verification.reads()));
        report.at_the_end = verification;
        let ((), time) = self.timed(|| Ok(db.verify_checksum()?))?;
        phases.push(Phase::new("verify checksums", time, 0));
        Ok(())
    }

    fn open(&self) -> Result<Db> {
        let mut options = self.workload.db_options();
        options.create_if_missing = false;
        options.components.file_system = Some(Arc::clone(&self.file_system));
        Ok(open(&self.database, options, &self.workload)?)
    }

    /// Requests to files that a lookup of a random key costs on average.
    fn sample_reads(&self, db: &Db) -> ferrock::Result<f64> {
        let count = self.workload.keys.min(20_000);
        let before = self.file_system.counters().snapshot();
        verify::random_gets(db, &self.workload, count)?;
        let after = self.file_system.counters().snapshot();
        let reads = |io: &ferrock_vfs::IoSnapshot| io.read_requests + io.mapped_read_requests;
        Ok(reads(&after).saturating_sub(reads(&before)) as f64 / count as f64)
    }

    fn timed<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
        let start = self.clock.monotonic_us();
        let done = work()?;
        Ok((done, Duration::from_micros(self.clock.monotonic_us().saturating_sub(start))))
    }
}

/// Opens the demo's database, in the parent as in the child.
fn open(path: &std::path::Path, options: DbOptions, workload: &Workload) -> ferrock::Result<Db> {
    let families = vec![("default".to_owned(), workload.column_family_options())];
    Db::open_cf(path, options, families).map(|(db, _)| db)
}

impl Verification {
    /// Keys read: each once by lookup, each once by iterator.
    fn reads(&self) -> u64 {
        self.looked_up + self.found
    }
}
