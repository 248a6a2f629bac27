//! `ferrock compare`: Ferrock beside another library of RocksDB's C interface, such as RocksDB, on the same work.
//!
//! ```text
//! session.rs     for each number of keys: loads a database for each column, which all workloads that only read share;
//!                starts a process for each cell, in turns:
//!
//!                    round 1: rocksdb  ferrock  native      round 2: rocksdb  ferrock  native      ...
//!
//! cell.rs        what such a process does              workload.rs   what there is to do
//! worker.rs      a thread of it: timed calls           data.rs       keys, values, what a read may see
//! target.rs      a database, by C or by Rust           usage.rs      CPU, memory and bytes, from the system
//! fault.rs       a database that does something wrong  trouble.rs    what ends a cell
//! report.rs      medians, ratios, tables, JSON         page.rs       the same as a page with plots
//! sweep.rs       the same over several numbers of keys curves.rs     the plots of that
//! arguments.rs   the command lines
//! ```
//!
//! Why it is so: both engines keep threads, caches and freed memory that outlive a database, so cells share no process.
//! On a machine with other work a ratio of medians that were taken minutes apart says little, so cells of a pair are
//! neighbours in time and ratios are of pairs. Checks, keys and values take about as long as a fast read: the clock
//! stands while they are made.

mod arguments;
mod cell;
mod curves;
mod data;
mod fault;
mod page;
mod report;
mod session;
mod sweep;
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
use report::{Bad, CellResult, Report};
use session::Session;
use std::io::Write;
use std::path::Path;
use sweep::Sweep;

/// Compares. Everything is printed at the end; files are written after each number of keys, so that a run that is
/// interrupted leaves those that it finished.
///
/// # Errors
/// [`Failure::Data`] when a value was wrong or a process died, [`Failure::NotDone`] when the work could not be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.list {
        return list();
    }
    let numbers = arguments.numbers();
    if arguments.svg.is_some() && numbers.len() < 2 {
        return Err(Failure::Usage("--svg plots over several numbers of keys, such as --num 100k,1M,10M".to_owned()));
    }
    let mut session = Session::new(arguments)?;
    let mut results = Vec::new();
    let mut end = Ok(());
    for num in numbers {
        let done = session.run(num).and_then(|of_number| {
            results.push((num, of_number));
            write_files(&sweep_of(arguments, &results, &session), arguments)
        });
        // What was measured before is told all the same.
        if done.is_err() {
            end = done;
            break;
        }
    }
    if results.is_empty() {
        return end;
    }
    session.finish();
    let sweep = sweep_of(arguments, &results, &session);
    print(&sweep, arguments)?;
    end?;
    let wrong = sweep.troubles(|bad| !matches!(bad, Bad::NotDone(_)));
    if !wrong.is_empty() {
        return Err(Failure::Data(wrong.join("\n")));
    }
    let not_done = sweep.troubles(|_| true);
    if not_done.is_empty() { Ok(()) } else { Err(Failure::NotDone(not_done.join("\n"))) }
}

/// The numbers of keys that were measured so far.
fn sweep_of<'a>(arguments: &'a Arguments, results: &'a [(u64, Vec<CellResult>)], session: &Session<'_>) -> Sweep<'a> {
    let report = |(num, results): &'a (u64, Vec<CellResult>)| {
        Report::new(arguments, *num, results, session.other_version.clone())
    };
    Sweep { reports: results.iter().map(report).collect() }
}

/// Writes the files that are asked for.
fn write_files(sweep: &Sweep<'_>, arguments: &Arguments) -> Result<()> {
    let write = |path: &Path, text: String| write_file_synced(&*default_file_system(), path, text.as_bytes());
    if let Some(path) = arguments.json.as_deref().filter(|path| !is_standard_output(path)) {
        write(path, json(sweep))?;
    }
    if let Some(path) = &arguments.html {
        write(path, page::page(sweep))?;
    }
    if let Some(path) = &arguments.svg {
        write(path, curves::standalone(&sweep.plots()))?;
    }
    Ok(())
}

fn json(sweep: &Sweep<'_>) -> String {
    format!("{:#}\n", sweep.to_json())
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

fn print(sweep: &Sweep<'_>, arguments: &Arguments) -> Result<()> {
    let is_json = arguments.json.as_deref().is_some_and(is_standard_output);
    let text = if is_json { json(sweep) } else { format!("{}\n", sweep.to_text()) };
    let mut out = std::io::stdout().lock();
    Ok(write!(out, "{text}").and_then(|()| out.flush())?)
}

fn list() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for workload in workload::WORKLOADS {
        let suite = if workload.is_quick { "quick, full" } else { "full" };
        writeln!(out, "{:18} {suite:12} {}", workload.name, workload.what)?;
    }
    Ok(())
}
