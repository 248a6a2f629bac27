//! `sst_dump`: looks into table files, with the commands, the flags and the output of RocksDB's tool of that name.
//!
//! ```text
//! arguments.rs   command line -> Request, by one table of flags     table_file.rs   finding tables
//! run.rs         file after file, in text or in JSON                sequential.rs   check, scan
//! raw.rs         everything a table consists of                     recompress.rs   sizes under other compressions
//! details.rs     properties, metaindex, statistics as text          json.rs         the same as JSON
//! ```
//!
//! Nothing is written but by `raw`, whose output goes beside the table. Exit codes: 0 all is well, 1 a table is
//! damaged, 2 the work could not be done, 64 the command line is wrong or requests an unsupported feature.
#![warn(missing_docs)]

mod arguments;
mod details;
mod json;
mod raw;
mod recompress;
mod run;
mod sequential;
mod table_file;

pub(crate) use ferrock_console::failure::{Failure, Result};

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let parsed = ferrock_console::text::arguments().map_err(Failure::Usage).and_then(|given| arguments::parse(&given));
    let outcome = parsed.and_then(|parsed| match parsed {
        arguments::Parsed::Help => {
            out.write_all(arguments::help().as_bytes())?;
            Ok(0)
        }
        arguments::Parsed::Version => {
            writeln!(out, "sst_dump {} (Ferrock)", env!("CARGO_PKG_VERSION"))?;
            Ok(0)
        }
        arguments::Parsed::InternalKey(key) => details::print_internal_key(&key, &mut out),
        arguments::Parsed::Request(request) => run::run(&request, &mut out),
    });
    // Output before a failure is kept.
    match outcome.and_then(|code| out.flush().map(|()| code).map_err(Failure::Output)) {
        Ok(code) => ExitCode::from(code),
        // `sst_dump ... | head` is not an error.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // Flushes the text before the error, if both go to one terminal.
            let _ = out.flush();
            failure.complain("sst_dump")
        }
    }
}
