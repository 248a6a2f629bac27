//! `ferrock compare`: Ferrock beside another library of RocksDB's C interface, such as RocksDB, on the same work.
//!
//! ```text
//! session.rs     loads a database for each column, starts a process for each cell, in turns:
//!
//!                    round 1: rocksdb  ferrock  native      round 2: rocksdb  ferrock  native      ...
//!
//! cell.rs        what such a process does              workload.rs   what there is to do
//! worker.rs      a thread of it: timed calls           data.rs       keys, values, what a read may see
//! target.rs      a database, by C or by Rust           usage.rs      CPU, memory and bytes, from the system
//! fault.rs       a database that does something wrong  trouble.rs    what ends a cell
//! report.rs      medians, ratios, tables, JSON         page.rs       the same as a page with plots
//! arguments.rs   the command lines
//! ```
//!
//! Why it is so: both engines keep threads, caches and freed memory that outlive a database, so cells share no process.
//! On a machine with other work a ratio of medians that were taken minutes apart says little, so cells of a pair are
//! neighbours in time and ratios are of pairs. Checks, keys and values take about as long as a fast read: the clock
//! stands while they are made.

mod arguments;
mod cell;
mod data;
mod fault;
mod page;
mod report;
mod session;
mod target;
mod trouble;
mod usage;
mod worker;
mod workload;

pub use arguments::{Arguments, CellArguments};
pub use cell::run_cell;
pub use session::CELL_COMMAND;

use ferrock_console::failure::{Failure, Result};
use ferrock_vfs::{default_file_system, write_file_synced};
use report::{Bad, Report};
use session::Session;
use std::io::Write;
use std::path::Path;

/// Compares. Everything is printed.
///
/// # Errors
/// [`Failure::Data`] when a value was wrong or a process died, [`Failure::NotDone`] when the work could not be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.list {
        return list();
    }
    let mut session = Session::new(arguments)?;
    session.run()?;
    let report = Report::new(arguments, &session.results, session.other_version());
    print(&report, arguments)?;
    let wrong = report.troubles(|bad| !matches!(bad, Bad::NotDone(_)));
    if !wrong.is_empty() {
        return Err(Failure::Data(wrong.join("\n")));
    }
    let not_done = report.troubles(|_| true);
    if not_done.is_empty() { Ok(()) } else { Err(Failure::NotDone(not_done.join("\n"))) }
}

fn print(report: &Report<'_>, arguments: &Arguments) -> Result<()> {
    let say = |text: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush())
    };
    let write = |path: &Path, text: &str| write_file_synced(&*default_file_system(), path, text.as_bytes());
    let json = || format!("{:#}\n", report.to_json());
    match &arguments.json {
        Some(path) if path == Path::new("-") => say(json().trim_end())?,
        Some(path) => {
            write(path, &json())?;
            say(&report.to_text())?;
        }
        None => say(&report.to_text())?,
    }
    if let Some(path) = &arguments.html {
        write(path, &page::page(report))?;
    }
    Ok(())
}

fn list() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for workload in workload::WORKLOADS {
        let suite = if workload.is_quick { "quick, full" } else { "full" };
        writeln!(out, "{:18} {suite:12} {}", workload.name, workload.what)?;
    }
    Ok(())
}
