//! The `ferrock` command-line tool: a thin layer over the public API of the engine.
//!
//! ```text
//! main.rs     arguments -> subcommand -> exit code        output.rs   tables, JSON, progress, units: shared by all
//! demo/       load, kill -9, recover, verify, compact     digest/     the content of a database, as hashes
//! compact_worker.rs  compactions for a database of another process
//! backup.rs   backups: making, listing, verifying, removing, restoring
//! doctor.rs   what is damaged, and its repair
//! checkpoint.rs  a copy in a directory of its own     explain_config/  what an option set means
//! import/     rows of CSV files, JSON lines and dumps, by tables that are ingested
//! inspect.rs  a page to look at a database            top/        the same in a terminal
//! plan/       what a database will cost, by simulation      traces.rs  what was asked of one, told and asked again
//! fast-forward: the cost of bounded reads; in the library, as another program measures another engine with it
//! compare: Ferrock beside another library of RocksDB's C interface; in the library of measurements
//! ```
//!
//! Exit codes are part of the interface: 0 all is well, 1 the data is not what it must
//! be, 2 the work could not be done (a database that does not open, a full disk), 3
//! there are warnings (`explain-config --strict`), 64 the command line is wrong. Results
//! go to standard output, everything else to standard error, so that `--json` can be
//! piped.
#![warn(missing_docs)]

mod backup;
mod checkpoint;
mod compact_worker;
mod demo;
mod digest;
mod doctor;
mod explain_config;
mod failure;
mod hex;
mod import;
mod inspect;
mod output;
mod plan;
mod top;
mod traces;

use clap::{Parser, Subcommand};
use failure::{Failure, Outcome};
use ferrock_base::allocation::CountingAllocator;
use ferrock_bench::{compare, fast_forward};
use std::process::ExitCode;

/// `fast-forward` reports what reads allocate.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const EXAMPLES: &str = "\
Examples:
  ferrock demo                            load a million keys, kill -9, recover, verify, compact
  ferrock demo --keys 100000 --json       the same, smaller, for a program to read
  ferrock digest /var/lib/app/db          what a database holds: counts and SHA-256 per column family
  ferrock digest before | diff - <(ferrock digest after)
                                          did a migration keep everything?
  ferrock compact-worker --db /var/lib/app/db --jobs /var/lib/app/jobs
                                          run compactions for a database that another process has open
  ferrock backup /var/lib/app/db /backups add a backup to a directory, as RocksDB's BackupEngine does
  ferrock checkpoint /var/lib/app/db /var/lib/app/copy
                                          a copy that opens by itself, of hard links where that is possible
  ferrock restore /backups /var/lib/app/db
                                          restore the newest one
  ferrock doctor /var/lib/app/db          what is damaged, and what each way to mend it would lose
  ferrock repair /var/lib/app/db          salvage what is intact
  ferrock import /var/lib/app/db users.csv --key id --value name
                                          rows of a file of any size, sorted with bounded memory
  ferrock inspect /var/lib/app/db         look at levels, files, memory, options and LOG in a browser
  ferrock top http://127.0.0.1:8080/      the same in a terminal, of a process that serves its numbers
  ferrock explain-config /var/lib/app/db --data 500GB --memory 16GB
                                          what do its options mean, and which are likely mistakes?
  ferrock trace /var/tmp/monday.trace     what was asked of a database, by kind and family
  ferrock replay /var/tmp/monday.trace /var/lib/app/copy --speed max
                                          ask it again, of a copy
  ferrock plan --data 100TB --cache 60GB  what would that cost to write, to read and to hold open?
  ferrock fast-forward --dir /mnt/nvme/ff how many reads does a row in the middle of a million rows take?
  ferrock compare --rocksdb-lib librocksdb.so
                                          how fast is this beside RocksDB, here, with every value checked?

Exit codes:
  0   all is well
  1   the data is not what it must be (damage found, a key lost)
  2   the work could not be done (the database does not open, no space, no permission)
  3   explain-config --strict: there are warnings
  64  the command line is wrong

`ferrock help COMMAND` explains a command, with examples.";

/// Ferrock: an LSM key-value engine in pure Rust that reads and writes RocksDB's own files.
#[derive(Debug, Parser)]
#[command(name = "ferrock", version, about, after_help = EXAMPLES, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load a temporary database, kill it, recover, verify, compact, and show what it cost.
    Demo(demo::DemoArgs),
    /// Print count, bytes and SHA-256 of everything a database holds, without writing to it.
    Digest(digest::DigestArgs),
    /// Say file by file what is damaged, and what each way to mend it would lose, without writing to it.
    Doctor(doctor::DoctorArgs),
    /// Salvage what is intact of a damaged database, in place or into a copy.
    Repair(doctor::RepairArgs),
    /// Copy a database to a directory that opens by itself.
    Checkpoint(checkpoint::CheckpointArgs),
    /// Import rows of CSV files, JSON lines or dumps, sorted with bounded memory, in one step.
    Import(Box<import::ImportArgs>),
    /// Add a backup of a database to a directory of backups.
    Backup(backup::BackupArgs),
    /// List, verify or remove the backups of a directory.
    Backups(backup::BackupsArgs),
    /// Restore a database from a directory of backups.
    Restore(backup::RestoreArgs),
    /// Run compactions for a database that another process has open.
    CompactWorker(compact_worker::WorkerArgs),
    /// Say what an option set means: memory, levels, amplification, stalls, losses, and likely mistakes.
    ExplainConfig(Box<explain_config::ExplainArgs>),
    /// Look at a database in a browser: levels, files, memory, stalls, caches, options, LOG.
    Inspect(inspect::InspectArgs),
    /// Follow a database in the terminal: reads, writes, latencies, stalls, memory, caches, levels, jobs.
    Top(top::TopArgs),
    /// Say what a trace has: operations by kind and column family, or one by one.
    Trace(traces::TraceArgs),
    /// Ask a database what a trace says, at the times of the trace or faster.
    Replay(traces::ReplayArgs),
    /// Plan a database of any size: write, read and space amplification, files and memory, by simulation.
    Plan(Box<plan::PlanArgs>),
    /// Measure what reads of large partitions cost, in requests and bytes.
    FastForward(Box<fast_forward::Arguments>),
    /// Compare speed and costs with RocksDB, or another library of its C interface, on the same work.
    Compare(Box<compare::Arguments>),
    /// A process of `compare`.
    #[command(hide = true, name = compare::CELL_COMMAND)]
    CompareCell(Box<compare::CellArguments>),
    /// The process that `demo` kills.
    #[command(hide = true)]
    DemoWriter(demo::WriterArgs),
    /// The process that watches over the terminal of `top`.
    #[command(hide = true, name = top::guard::COMMAND)]
    TopGuard,
}

/// sysexits' EX_USAGE; 2, clap's own choice, means here that the work could not be done.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A pipe that the reader closed is no error.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let result = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Digest(args) => digest::run(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Repair(args) => doctor::repair(&args),
        Command::Checkpoint(args) => checkpoint::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Backup(args) => backup::backup(&args),
        Command::Backups(args) => backup::backups(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::CompactWorker(args) => compact_worker::run(&args),
        Command::ExplainConfig(args) => explain_config::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Trace(args) => traces::trace(&args),
        Command::Replay(args) => traces::replay(&args),
        Command::Plan(args) => plan::run(&args),
        Command::FastForward(args) => fast_forward::run_ferrock(&args).map(|()| Outcome::Good).map_err(Failure::from),
        Command::Compare(args) => compare::run(&args).map(|()| Outcome::Good).map_err(Failure::from),
        Command::CompareCell(args) => compare::run_cell(&args).map(|()| Outcome::Good).map_err(Failure::from),
        Command::DemoWriter(args) => demo::run_writer(&args),
        Command::TopGuard => {
            top::guard::run().map(|()| Outcome::Good).map_err(|error| Failure::Io("the terminal", error))
        }
    };
    match result {
        Ok(outcome) => outcome.into(),
        // `ferrock digest db | head -1` is not an error.
        Err(Failure::Io(_, error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            match failure {
                Failure::Usage(_) => ExitCode::from(USAGE),
                Failure::Data(_) => Outcome::BadData.into(),
                _ => Outcome::NotDone.into(),
            }
        }
    }
}
