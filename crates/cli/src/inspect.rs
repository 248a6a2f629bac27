//! `ferrock inspect`: a page to look at a database, over the crate `ferrock-inspect`.
//!
//! The directory is opened read-only, without its LOCK, and opened again when it has changed. A database that does not
//! open is served, too: the page says why, and shows the options and the LOG.

use crate::failure::{Failure, Outcome, Result};
use crate::output;
use clap::Args;
use ferrock_base::clock::SystemClock;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ferrock inspect DIR                          print a URL, and serve the page there until Ctrl-C
  ferrock inspect DIR --listen 127.0.0.1:8080  at a port of choice
  ssh -L 8080:127.0.0.1:8080 HOST ferrock inspect DIR --listen 127.0.0.1:8080
                                               a database of another machine, at http://127.0.0.1:8080/
  ferrock inspect DIR --once --json            the numbers as JSON, without a page
  curl -s URL/metrics                          the page that Prometheus scrapes

The database may be closed, or open in another process: it is only read, and opened again when it has changed.
Rates, stalls and latencies are counted by the process that writes; a Rust program shows its own with
`db.serve_inspector(\"127.0.0.1:0\")` of the crate ferrock-inspect.

There is no password. Every process that reaches the address can read keys and the LOG, so keep it a loopback one.

Exit codes: 0 the numbers were printed, 2 the database does not open, or the address cannot be used, 64 the command
line is wrong. A page is served until the process is ended.";

/// Arguments of `ferrock inspect`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InspectArgs {
    /// Directory of the database (written by Ferrock or RocksDB). Nothing in it is changed.
    dir: PathBuf,
    /// Address and port to serve at; port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Print the numbers once and end, in place of serving.
    #[arg(long, requires = "json", conflicts_with = "listen")]
    once: bool,
    /// With `--once`: print JSON, also when the database does not open.
    #[arg(long, requires = "once")]
    json: bool,
}

/// Runs `ferrock inspect`.
pub(crate) fn run(args: &InspectArgs) -> Result<Outcome> {
    if args.once {
        return print_once(args);
    }
    if !ferrock_vfs::default_file_system().exists(&args.dir)? {
        return Err(Failure::NotDone(format!("{}: there is no such directory", args.dir.display())));
    }
    let inspector = ferrock_inspect::serve_directory(&args.dir, &args.listen)?;
    if let Some(error) = inspector.error() {
        output::complain(&format!("{error}; the page shows what can be read"));
    }
    if !inspector.address().ip().is_loopback() {
        output::note("Every machine that reaches this address can read keys and the LOG: there is no password.");
    }
    output::say(&inspector.url())?;
    output::note("Serving until Ctrl-C.");
    let clock = SystemClock::shared();
    loop {
        clock.sleep(Duration::from_secs(3600));
    }
}

fn print_once(args: &InspectArgs) -> Result<Outcome> {
    match ferrock_inspect::metrics_of_directory(&args.dir) {
        Ok(numbers) => {
            output::say_json(&numbers)?;
            Ok(Outcome::Good)
        }
        Err(error) => {
            output::complain(&error.to_string());
            output::say_json(&ferrock_inspect::error_json(&error))?;
            Ok(Outcome::NotDone)
        }
    }
}
