//! `ferrock import`: rows of CSV files, JSON lines or dumps of `ldb`, sorted with bounded memory, become tables, and
//! the tables become part of a database in one step.
//!
//! ```text
//! arguments.rs   the command line
//! source.rs      bytes of files or of standard input, with lines and columns
//! csv.rs, lines.rs                          rows
//! sort.rs        rows --> sorted in memory --> runs
//! runs.rs        files of sorted rows, and many of them merged into one order
//! tables.rs      the merged order, in pieces --> threads --> tables
//! work.rs        the directory of runs and tables
//! memory.rs      who holds how many bytes of what `--memory` allows
//! ```
//!
//! Invariants:
//! - The database is changed by one ingestion alone, behind the last row: before it nothing, after it everything.
//! - What is held of rows, in whatever stage, is counted and at most `--memory`.
//! - Of rows with the same key the last one is taken: files in the order of the command line, rows in their order.
//! - The work directory has a name, and files, that nothing else makes. It goes when the import ends, and what a killed
//!   one left goes with the next.

mod arguments;
mod csv;
mod lines;
mod memory;
mod runs;
mod sort;
mod source;
mod tables;
mod work;

pub(crate) use arguments::ImportArgs;

use crate::backup::{failure, open};
use crate::failure::{Failure, Outcome, Result};
use crate::output;
use arguments::Format;
use ferrock::options::load_latest;
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, IngestExternalFileOptions};
use ferrock_format::file_name;
use ferrock_vfs::FileSystem;
use indicatif::ProgressBar;
use memory::Memory;
use serde_json::json;
use sort::Sorter;
use source::{Rows, Source, Step};
use std::path::PathBuf;
use std::sync::Arc;
use tables::TableOptions;
use work::WorkDirectory;

/// What an import has done.
#[derive(Debug, Default)]
struct Counts {
    bytes: u64,
    rows: u64,
    bad_rows: u64,
}

/// The database, as far as it is there.
struct Target {
    opened: Option<(Db, Option<ColumnFamily>)>,
    options: TableOptions,
}

/// Runs `ferrock import`.
pub(crate) fn run(args: &ImportArgs) -> Result<Outcome> {
    let files = ferrock_vfs::default_file_system();
    let formats = args.formats()?;
    let target = open_target(args, &files)?;
    let work = WorkDirectory::begin(&files, &args.work_directory()?)?;
    let memory = Memory::new(args.memory);
    let mut sorter = Sorter::new(&work, &memory, target.options.family.comparator.clone());
    let counts = read_all(args, &files, &formats, &memory, &mut sorter)?;
    let (runs, mut duplicates) = sorter.finish()?;
    let num_runs = runs.len();
    let bar = output::byte_progress("Tables");
    bar.set_length(runs.iter().map(|run| run.bytes).sum());
    let mut merge = runs::merge_all(&work, &memory, &target.options.family.comparator, runs)?;
    let tables = tables::write_all(&work, &memory, &target.options, args.threads, &mut merge, &bar)?;
    bar.finish_and_clear();
    duplicates += merge.duplicates;
    let paths: Vec<PathBuf> = tables.iter().map(|table| table.file_path.clone()).collect();
    take_in(args, target, &paths)?;
    let keys: u64 = tables.iter().map(|table| table.num_entries).sum();
    let table_bytes: u64 = tables.iter().map(|table| table.file_size).sum();
    if args.json {
        output::say_json(&json!({
            "rows": counts.rows,
            "keys": keys,
            "duplicates": duplicates,
            "bad_lines": counts.bad_rows,
            "bytes_read": counts.bytes,
            "runs": num_runs,
            "tables": tables.len(),
            "table_bytes": table_bytes,
            "memory_bytes": args.memory,
            "peak_memory_bytes": memory.peak(),
        }))?;
    } else {
        output::say(&format!(
            "{} keys in {} tables ({}) are in {}, family {}: {} rows were read, {} had a key that came again, {} were \
             skipped",
            output::number(keys),
            tables.len(),
            output::bytes(table_bytes),
            args.db.display(),
            args.family,
            output::number(counts.rows),
            output::number(duplicates),
            output::number(counts.bad_rows),
        ))?;
    }
    Ok(Outcome::Good)
}

/// Opens the database, which nothing else has open then, and finds out how its tables are written.
fn open_target(args: &ImportArgs, files: &Arc<dyn FileSystem>) -> Result<Target> {
    let new = || TableOptions { db: DbOptions::default(), family: ColumnFamilyOptions::default(), of: None };
    if args.create && !files.exists(&args.db.join(file_name::CURRENT))? {
        return Ok(Target { opened: None, options: new() });
    }
    let (db, families) = open(&args.db)?;
    let Some(family) = families.into_iter().find(|family| family.name() == args.family) else {
        if !args.create {
            return Err(Failure::NotDone(format!(
                "{}: there is no column family {}: name another one with --family, or create it with --create",
                args.db.display(),
                args.family
            )));
        }
        return Ok(Target { opened: Some((db, None)), options: new() });
    };
    // The open has written the file of the options that are in force.
    let loaded = load_latest(&**files, &args.db).map_err(failure)?.unwrap_or_default();
    let options = TableOptions { db: loaded.db, family: (*family.options()).clone(), of: Some(family.clone()) };
    Ok(Target { opened: Some((db, Some(family))), options })
}

fn read_all(
    args: &ImportArgs,
    files: &Arc<dyn FileSystem>,
    formats: &[Format],
    memory: &Memory,
    sorter: &mut Sorter<'_>,
) -> Result<Counts> {
    let bar = output::byte_progress("Reading");
    bar.set_length(args.input_bytes(files)?);
    let mut counts = Counts::default();
    for (path, format) in args.inputs().iter().zip(formats) {
        let source = Source::open(files, path, memory.longest_row_bytes())?;
        let mut rows: Box<dyn Rows> = match format {
            Format::Csv => Box::new(csv::CsvRows::new(source, &args.csv_options()?)?),
            Format::Jsonl => Box::new(lines::JsonRows::new(source, &args.json_options())),
            Format::Dump => Box::new(lines::DumpRows::new(source, args.texts())),
        };
        read_rows(args, rows.as_mut(), sorter, &mut counts, &bar)?;
        counts.bytes += rows.bytes();
    }
    bar.finish_and_clear();
    Ok(counts)
}

fn read_rows(
    args: &ImportArgs,
    rows: &mut dyn Rows,
    sorter: &mut Sorter<'_>,
    counts: &mut Counts,
    bar: &ProgressBar,
) -> Result<()> {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    let mut told = 0;
    loop {
        match rows.next(&mut key, &mut value)? {
            Step::Row => {
                counts.rows += 1;
                sorter.add(&key, &value)?;
            }
            Step::Bad(bad) if args.skip_bad_lines => {
                if counts.bad_rows < 10 {
                    output::note(&format!("skipped: {bad}"));
                }
                counts.bad_rows += 1;
            }
            Step::Bad(bad) => {
                return Err(Failure::Data(format!(
                    "{bad}. Nothing was imported (--skip-bad-lines passes over such lines)"
                )));
            }
            Step::End => return Ok(()),
        }
        if rows.bytes() - told >= 1 << 20 {
            bar.inc(rows.bytes() - told);
            told = rows.bytes();
        }
    }
}

/// What the last step made before the tables were taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Nothing,
    Family,
    Database,
}

/// The one change of the database. A family or a database that was made for it goes again when it fails.
fn take_in(args: &ImportArgs, target: Target, tables: &[PathBuf]) -> Result<()> {
    let (db, family, made) = match target.opened {
        Some((db, Some(family))) => (db, family, Made::Nothing),
        Some((db, None)) => {
            let family = db.create_column_family(&args.family, ColumnFamilyOptions::default()).map_err(failure)?;
            (db, family, Made::Family)
        }
        None => {
            let (db, family) = create(args)?;
            (db, family, Made::Database)
        }
    };
    drop(target.options);
    let options =
        IngestExternalFileOptions { move_files: true, fill_cache: false, ..IngestExternalFileOptions::default() };
    let taken = if tables.is_empty() { Ok(()) } else { db.ingest_external_file_cf(&family, tables, &options) };
    let Err(error) = taken else {
        drop(family);
        return db.close().map_err(failure);
    };
    match undo(args, db, family, made) {
        Ok(()) => Err(failure(error)),
        Err(undone) => Err(failure(error.context(&format!("what was made for it stays ({undone})")))),
    }
}

fn undo(args: &ImportArgs, db: Db, family: ColumnFamily, made: Made) -> ferrock::Result<()> {
    if made == Made::Family {
        db.drop_column_family(&family)?;
    }
    drop(family);
    db.close()?;
    if made == Made::Database { Db::destroy(&args.db, &DbOptions::default()) } else { Ok(()) }
}

fn create(args: &ImportArgs) -> Result<(Db, ColumnFamily)> {
    let mut options = DbOptions::default();
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    let mut names = vec!["default".to_owned()];
    if args.family != "default" {
        names.push(args.family.clone());
    }
    let families = names.into_iter().map(|name| (name, ColumnFamilyOptions::default())).collect();
    let (db, mut families) = Db::open_cf(&args.db, options, families).map_err(failure)?;
    match families.pop() {
        Some(family) => Ok((db, family)),
        None => Err(Failure::NotDone("a new database has no column family".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ImportArgs,
    }

    #[test]
    fn what_was_made_goes_again_when_the_tables_are_not_taken_in() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let words = ["import", &path.display().to_string(), "rows.csv", "--create", "--family", "new"];
        let args = Line::parse_from(words).args;
        let files = ferrock_vfs::default_file_system();
        let tables = [directory.path().join("no such table.sst")];
        let fail = || take_in(&args, open_target(&args, &files).unwrap(), &tables).unwrap_err();
        let Failure::Engine(error) = fail() else { panic!("an error of the engine") };
        assert!(error.is_not_found(), "{error}");
        assert!(!files.exists(&path.join(file_name::CURRENT)).unwrap(), "the database is gone");
        // A database that was there stays, and has no more families than before.
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        let db = Db::open(&path, options).unwrap();
        db.put(b"a", b"1").unwrap();
        db.close().unwrap();
        fail();
        assert_eq!(Db::list_column_families(&path, &DbOptions::default()).unwrap(), ["default"]);
        let db = Db::open(&path, DbOptions::default()).unwrap();
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    }
}
