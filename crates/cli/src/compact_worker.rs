//! `ferrock compact-worker`: runs compactions for a database that another process has open.
//!
//! Either one job, whose input is a file, or those of a directory of jobs, which `JobDirectoryService` fills. The
//! database is not locked, and nothing in its directory is written.

use crate::failure::{Failure, Outcome, Result};
use crate::output;
use clap::Args;
use ferrock::{
    CompactionServiceOptionsOverride, JobDirectory, OpenAndCompactOptions, failed_compaction_result, open_and_compact,
};
use ferrock_base::clock::SystemClock;
use ferrock_vfs::{read_file, write_file_synced};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ferrock compact-worker --db DIR --jobs JOBS             do the jobs that appear in JOBS, until killed
  ferrock compact-worker --db DIR --jobs JOBS --once      do those that are there, then end
  ferrock compact-worker --db DIR --job FILE --output OUT --result RESULT
                                                          do the one whose input is in FILE
  ferrock compact-worker --db DIR --jobs JOBS --options 'max_subcompactions=4'
                                                          other options than the database's own

A job directory is filled by a database with `JobDirectoryService`; the input of a single job is what any
`CompactionService` is given. Merge operators, comparators and compaction filters must be built in ones: jobs
that need others are refused, and the database does them.

Exit codes: 0 every job was done, 1 an input of a job is damaged, 2 a job was not done, 64 the command line is
wrong.";

/// Arguments of `ferrock compact-worker`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WorkerArgs {
    /// Directory of the database.
    #[arg(long, value_name = "DIR")]
    db: PathBuf,
    /// Directory of jobs to watch.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["job", "output"], required_unless_present = "job")]
    jobs: Option<PathBuf>,
    /// With `--jobs`: end when there is no job that can be begun.
    #[arg(long, requires = "jobs")]
    once: bool,
    /// With `--jobs`: milliseconds between two looks at the directory.
    #[arg(long, value_name = "MS", default_value_t = 20, requires = "jobs")]
    poll_ms: u64,
    /// File with the input of a single job.
    #[arg(long, value_name = "FILE", requires = "output")]
    job: Option<PathBuf>,
    /// Directory for the tables of the single job. It is created, and must have no tables.
    #[arg(long, value_name = "DIR", requires = "job")]
    output: Option<PathBuf>,
    /// File for the result of the single job; by default `result` in the output directory.
    #[arg(long, value_name = "FILE", requires = "job")]
    result: Option<PathBuf>,
    /// Options over those of the database's OPTIONS file, as `name=value;`.
    #[arg(long, value_name = "TEXT", default_value = "")]
    options: String,
    /// Print a line of JSON for each job.
    #[arg(long)]
    json: bool,
}

/// Runs `ferrock compact-worker`.
pub(crate) fn run(args: &WorkerArgs) -> Result<Outcome> {
    let overrides = CompactionServiceOptionsOverride { options: args.options.clone(), ..Default::default() };
    match (&args.jobs, &args.job, &args.output) {
        (Some(jobs), ..) => watch(args, jobs, &overrides),
        (None, Some(job), Some(output)) => run_job(args, job, output, &overrides),
        _ => Err(Failure::Usage("either --jobs, or --job and --output".to_owned())),
    }
}

fn run_job(
    args: &WorkerArgs,
    job: &Path,
    output: &Path,
    overrides: &CompactionServiceOptionsOverride,
) -> Result<Outcome> {
    let file_system = ferrock_vfs::default_file_system();
    let input = read_file(&*file_system, job)?;
    let done = open_and_compact(&OpenAndCompactOptions::default(), &args.db, output, &input, overrides);
    let (result, error) = match done {
        Ok(result) => (result, None),
        Err(error) => (failed_compaction_result(&error), Some(error)),
    };
    let path = args.result.clone().unwrap_or_else(|| output.join("result"));
    write_file_synced(&*file_system, &path, &result)?;
    report(args, &job.display().to_string(), error.as_ref())
}

fn watch(args: &WorkerArgs, jobs: &Path, overrides: &CompactionServiceOptionsOverride) -> Result<Outcome> {
    let directory = JobDirectory::new(ferrock_vfs::default_file_system(), jobs);
    let mut worst = Outcome::Good;
    loop {
        match directory.run_one(&args.db, overrides)? {
            Some(job) => match report(args, &job.id, job.error.as_ref())? {
                Outcome::Good => {}
                outcome if worst == Outcome::Good => worst = outcome,
                _ => {}
            },
            None if args.once => return Ok(worst),
            None => SystemClock::shared().sleep(Duration::from_millis(args.poll_ms)),
        }
    }
}

fn report(args: &WorkerArgs, job: &str, error: Option<&ferrock::Error>) -> Result<Outcome> {
    if args.json {
        output::say_json(&json!({ "job": job, "error": error.map(ToString::to_string) }))?;
    } else {
        let outcome = error.map_or_else(|| "done".to_owned(), ToString::to_string);
        output::say(&format!("{job}: {outcome}"))?;
    }
    Ok(match error {
        None => Outcome::Good,
        Some(error) if error.is_corruption() => Outcome::BadData,
        Some(_) => Outcome::NotDone,
    })
}
