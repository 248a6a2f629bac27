//! `ldb`: looks into a database and changes it, with the commands, the flags and the output of RocksDB's tool of that
//! name.
//!
//! ```text
//! arguments.rs   command line -> Request, by one table of flags     database.rs   opening, for reading or for writing
//! text.rs        bytes <-> plain or hexadecimal text                commands/     one file per group of commands
//! log_file.rs    logs and MANIFESTs, block by block
//! ```
//!
//! Commands that read open the database read-only and write nothing. Exit codes: 0 all is well, 1 the key is not there
//! or the data is damaged, 2 the work could not be done, 64 the command line is wrong or requests an unsupported
//! feature.
#![warn(missing_docs)]

mod arguments;
mod commands;
mod database;
mod log_file;
mod text;

pub(crate) use ferrock_console::failure::{Failure, Result};

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let parsed = ferrock_console::text::arguments().map_err(Failure::Usage).and_then(|given| arguments::parse(&given));
    let outcome = parsed.and_then(|request| match request {
        arguments::Parsed::Help => out.write_all(arguments::help().as_bytes()).map_err(Failure::Output),
        arguments::Parsed::Version => {
            writeln!(out, "ldb {} (Ferrock)", env!("CARGO_PKG_VERSION")).map_err(Failure::Output)
        }
        arguments::Parsed::Request(request) => commands::run(&request, &mut out),
    });
    // Output before a failure is kept.
    let outcome = outcome.and(out.flush().map_err(Failure::Output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // `ldb scan | head` is not an error.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => failure.complain("ldb"),
    }
}
