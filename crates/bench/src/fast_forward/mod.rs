//! `fast-forward`: measures the cost of reads of large partitions, in requests and bytes. A port of ScyllaDB's
//! perf-fast-forward to RocksDB's tables: its groups and columns, on keys of a partition and a row.
//!
//! ```text
//! arguments.rs   the command line                      session.rs    data sets, groups, cases, one after the other
//! dataset.rs     which keys and values                 populate.rs   writing them
//! groups.rs      which cases                           plan.rs       what a run of a case does
//! engine.rs      what is asked of an engine            ferrock.rs    Ferrock's answer
//! measure.rs     one run, its rows checked             report.rs     columns, rows, JSON
//! layout.rs      where everything lies in a table      model.rs      what reads must cost
//! cost.rs        ranges -> requests                    check.rs      measured against allowed
//! outside.rs     what the system counted               page.rs       the page in docs/benchmarks
//! wide.rs        Ferrock's answer through its tables of wide partitions
//! ```
//!
//! The driver knows engines by [`Engine`] alone, so another one can be measured on the same files.

mod arguments;
mod check;
mod cost;
mod dataset;
mod engine;
mod ferrock;
mod groups;
mod layout;
mod measure;
mod model;
mod outside;
mod page;
mod plan;
mod populate;
mod report;
mod session;
mod wide;

pub use arguments::Arguments;
pub use dataset::Key;
pub use engine::{Bounds, CacheCounters, ClassCounters, Counters, Cursor, Database, Engine, Opening, Visit};
pub use ferrock::Ferrock;
pub use wide::FerrockWide;

use arguments::Format;
use ferrock_base::random::Random;
use ferrock_console::failure::{Failure, Result};
use ferrock_vfs::{FileSystem, default_file_system};
use groups::Group;
use populate::directory_of;
use serde_json::json;
use session::Session;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the benchmark on Ferrock, by the interface that the arguments name.
///
/// # Errors
/// As [`run`].
pub fn run_ferrock(arguments: &Arguments) -> Result<()> {
    match arguments.api {
        arguments::Api::Db => run(arguments, &Ferrock),
        arguments::Api::Wide => run(arguments, &FerrockWide),
    }
}

/// Runs the benchmark on an engine. Everything is printed.
///
/// # Errors
/// [`Failure::Data`] when rows are wrong, or reads more than they may be.
pub fn run(arguments: &Arguments, engine: &dyn Engine) -> Result<()> {
    if arguments.list {
        return list();
    }
    let file_system = default_file_system();
    let (root, is_ours) = match &arguments.dir {
        Some(directory) => (directory.clone(), false),
        None => {
            let unique = Random::from_entropy().next_u64();
            let name = format!("ferrock-fast-forward-{}-{unique:016x}", std::process::id());
            (std::env::temp_dir().join(name), true)
        }
    };
    file_system.create_dir_all(&root)?;
    let mut session = Session::new(arguments, engine, root.clone());
    let result = session.run().and_then(|()| finish(&session, arguments, engine));
    session.output.finish();
    if is_ours {
        let removed = remove(&*file_system, &root);
        result?;
        return removed;
    }
    result
}

fn finish(session: &Session<'_>, arguments: &Arguments, engine: &dyn Engine) -> Result<()> {
    let document = json!({
        "name": arguments.name,
        "engine": engine.name(),
        "rows": arguments.rows,
        "versions": {"fast-forward": env!("CARGO_PKG_VERSION"), "engine": engine.name()},
        "open": session.openings,
        "results": session.groups,
        "objections": session.objections,
    });
    if arguments.output_format == Format::Json {
        session.output.finish();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{document:#}").and_then(|()| out.flush())?;
    }
    if let Some(directory) = &arguments.out {
        page::write(directory, &document, arguments.compare.as_deref(), &arguments.command())?;
    }
    if session.objections.is_empty() { Ok(()) } else { Err(Failure::Data(session.objections.join("\n"))) }
}

fn list() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for group in Group::ALL {
        writeln!(out, "{}\n    {}", group.name(), group.description())?;
        writeln!(out, "    parameters: {}", group.parameters().join(", "))?;
    }
    Ok(())
}

/// Removes a directory of data sets that this process made.
fn remove(file_system: &dyn FileSystem, root: &Path) -> Result<()> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for kind in dataset::Kind::ALL {
        directories.extend((1..=32).map(|tables| directory_of(root, kind, tables)));
    }
    for directory in directories {
        if file_system.exists(&directory)? {
            for name in file_system.children(&directory)? {
                file_system.remove_file(&directory.join(name))?;
            }
            file_system.remove_dir(&directory)?;
            file_system.remove_file(&directory.with_extension("json"))?;
        }
    }
    file_system.remove_dir(root)?;
    Ok(())
}
