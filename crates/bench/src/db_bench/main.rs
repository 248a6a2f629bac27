//! `db_bench`: measures the engine through its public API, with the flags and the output of RocksDB's program of that
//! name, so that the two can be laid side by side.
//!
//! ```text
//! flags/        command line -> values           session.rs   database, list of benchmarks, threads
//! settings.rs   values -> how it runs            worker.rs    one thread
//! options.rs    values -> options of the engine  workloads/   what a thread does
//! benchmarks.rs --benchmarks -> a plan           stats.rs     what it counted, as RocksDB's lines
//! keys.rs       number -> key                    values.rs    key -> value, and the check of one
//! output.rs     what is printed                  verify_cost.rs   what the checks cost
//! experiments/  published experiments: arms side by side, table, page, plot
//! ```
//!
//! Exit codes: 0 all is well, 1 a value was wrong, 2 the work could not be done, 64 the command line is wrong or
//! requests an unsupported feature.
#![warn(missing_docs)]

mod benchmarks;
mod experiments;
mod failure;
mod flags;
mod keys;
mod options;
mod output;
mod reports;
mod session;
mod settings;
mod stats;
mod values;
mod verify_cost;
mod worker;
mod workloads;
mod wrap;

use failure::Failure;
use flags::Parsed;
use output::Output;
use std::io::Write;
use std::process::ExitCode;

const USAGE: u8 = 64;

fn main() -> ExitCode {
    let values = match ferrock_console::text::arguments().and_then(flags::parse) {
        Ok(Parsed::Run(values)) => values,
        Ok(Parsed::Help) => return print(&flags::help()),
        Ok(Parsed::Version) => return print(&format!("db_bench {} (Ferrock)\n", env!("CARGO_PKG_VERSION"))),
        Err(message) => return complain(&Failure::Usage(message)),
    };
    let run = || {
        let settings = settings::Settings::new(&values).map_err(Failure::Usage)?;
        if !settings.experiment.is_empty() {
            return experiments::run(&values, &settings);
        }
        let engine = options::build(&values).map_err(Failure::Usage)?;
        let output = Output::new(settings.json);
        session::Session::new(settings, engine, output).run()
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => complain(&failure),
    }
}

fn print(text: &str) -> ExitCode {
    // A pipe that the reader closed is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn complain(failure: &Failure) -> ExitCode {
    let (message, code) = match failure {
        Failure::Usage(message) => (format!("{message}\nTry `db_bench --help`."), USAGE),
        Failure::Wrong(message) => (message.clone(), 1),
        Failure::Engine(error) if error.is_corruption() => (error.to_string(), 1),
        Failure::Engine(error) if error.kind() == ferrock::ErrorKind::NotSupported => (error.to_string(), USAGE),
        Failure::Engine(error) => (error.to_string(), 2),
        // `db_bench | head` is not an error.
        Failure::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Failure::Output(error) => (format!("standard output: {error}"), 2),
    };
    // An error here has no reader when standard error is closed.
    let _ = writeln!(std::io::stderr(), "db_bench: {message}");
    ExitCode::from(code)
}
