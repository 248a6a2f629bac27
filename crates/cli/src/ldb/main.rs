//! `ldb`: looks into a database and changes it, with the commands, the flags and the output of RocksDB's tool of that
//! name.
//!
//! ```text
//! arguments.rs   command line -> Request, by one table of flags     database.rs   opening, for reading or for writing
//! text.rs        bytes <-> plain or hexadecimal text                commands/     one file per group of commands
//! log_file.rs    logs and MANIFESTs, block by block
//! ```
//!
//! Commands that read open the database read-only and write nothing. Exit codes: 0 all is well, 1 the key is not there or
//! the data is damaged, 2 the work could not be done, 64 the command line is wrong or asks for what is not here.
#![warn(missing_docs)]

mod arguments;
mod commands;
mod database;
mod log_file;
mod text;

use std::io::Write;
use std::process::ExitCode;

/// Why a command did not come to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong, or asks for what is not here.
    Usage(String),
    /// There is no such key, or the data is damaged.
    Data(String),
    /// The work could not be done.
    NotDone(String),
    /// The engine or a file refused.
    Engine(ferrock::Error),
    /// Standard output is gone.
    Output(std::io::Error),
}

impl From<ferrock::Error> for Failure {
    fn from(error: ferrock::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Exit code of a wrong command line: sysexits' EX_USAGE.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let outcome = arguments::parse(&arguments).and_then(|request| match request {
        arguments::Parsed::Help => out.write_all(arguments::help().as_bytes()).map_err(Failure::Output),
        arguments::Parsed::Version => {
            writeln!(out, "ldb {} (Ferrock)", env!("CARGO_PKG_VERSION")).map_err(Failure::Output)
        }
        arguments::Parsed::Request(request) => commands::run(&request, &mut out),
    });
    // What was printed before a failure counts.
    let outcome = outcome.and(out.flush().map_err(Failure::Output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // `ldb scan | head` is not an error.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => complain(&failure),
    }
}

fn complain(failure: &Failure) -> ExitCode {
    let (message, code) = match failure {
        Failure::Usage(message) => (format!("{message}\nTry `ldb --help`."), USAGE),
        Failure::Data(message) => (message.clone(), 1),
        Failure::NotDone(message) => (message.clone(), 2),
        Failure::Engine(error) if error.is_corruption() => (error.to_string(), 1),
        Failure::Engine(error) => (error.to_string(), 2),
        Failure::Output(error) => (format!("standard output: {error}"), 2),
    };
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(std::io::stderr(), "Failed: {message}");
    ExitCode::from(code)
}
