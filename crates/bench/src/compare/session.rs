//! The process that starts the others: loads a database for each column, runs the cells in turns, and gathers what they
//! print.

use super::arguments::{Arguments, CellArguments, Column};
use super::report::{Bad, CellResult};
use super::workload::{LOAD, Start, Workload};
use crate::output::Output;
use crate::plot::digits;
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::random::Random;
use ferrock_console::failure::{Failure, Result};
use ferrock_vfs::{FileSystem, WritableOptions, copy_file, default_file_system, read_file};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The hidden subcommand of the processes.
pub const CELL_COMMAND: &str = "compare-cell";
/// How often a running process is looked at.
const POLL: Duration = Duration::from_millis(5);

/// The column of a process, its number of keys, its round.
type Place = (Column, u64, u32);

pub(super) struct Session<'a> {
    arguments: &'a Arguments,
    libraries: [PathBuf; 2],
    root: PathBuf,
    file_system: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    output: Output,
    /// The release that wrote the databases of the other library, once a number of keys is measured.
    pub(super) other_version: Option<String>,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.output.finish();
        // What cannot be removed stays, and the results are there all the same.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl<'a> Session<'a> {
    pub(super) fn new(arguments: &'a Arguments) -> Result<Self> {
        let libraries = [arguments.rocksdb_library()?, arguments.ferrock_library()?];
        let unique = Random::from_entropy().next_u64();
        let name = format!("ferrock-compare-{}-{unique:016x}", std::process::id());
        let file_system = default_file_system();
        let root = arguments.dir.clone().unwrap_or_else(std::env::temp_dir).join(name);
        file_system.create_dir_all(&root)?;
        let (clock, output) = (SystemClock::shared(), Output::new(false));
        let cells = 1 + arguments.chosen().len() * arguments.rounds() as usize;
        output.bar().set_length((arguments.numbers().len() * arguments.columns().len() * cells) as u64);
        Ok(Self { arguments, libraries, root, file_system, clock, output, other_version: None })
    }

    fn base(&self, column: Column) -> PathBuf {
        self.root.join(format!("base-{}", column.name()))
    }

    /// Runs all cells over a number of keys, on databases that are loaded once and removed at the end. A column whose
    /// database cannot be loaded ends the run.
    ///
    /// # Errors
    /// `NotDone` when a library or a directory cannot be used.
    pub(super) fn run(&mut self, num: u64) -> Result<Vec<CellResult>> {
        let (rounds, columns) = (self.arguments.rounds(), self.arguments.columns());
        let keys = digits(num as f64);
        if self.arguments.one_load {
            self.load(Column::Ferrock, num)?;
        }
        for column in columns.iter().copied() {
            self.output.working(&format!("loading {keys} keys, {}", column.name()));
            if !self.arguments.one_load {
                self.load(column, num)?;
            } else if column != Column::Ferrock {
                self.file_system.create_dir_all(&self.base(column))?;
                self.copy(&self.base(Column::Ferrock), &self.base(column))?;
            }
            self.output.bar().inc(1);
        }
        let mut results = Vec::new();
        for workload in self.arguments.chosen() {
            for round in 0..rounds {
                for column in columns.iter().copied() {
                    let name = workload.name;
                    self.output.working(&format!("{keys} keys, {name}, round {}, {}", round + 1, column.name()));
                    let outcome = self.cell(&workload, (column, num, round))?;
                    results.push(CellResult { workload: name, column, round, outcome });
                    self.output.bar().inc(1);
                }
            }
        }
        self.other_version = self.other_version.take().or_else(|| self.version_of_base());
        columns.iter().try_for_each(|column| removed(&self.base(*column)))?;
        Ok(results)
    }

    /// Removes the bar of progress: lines of the result follow.
    pub(super) fn finish(&self) {
        self.output.finish();
    }

    /// What the OPTIONS file of the other library's database says of the release that wrote it.
    fn version_of_base(&self) -> Option<String> {
        let directory = self.base(Column::Rocksdb);
        let names = self.file_system.children(&directory).ok()?;
        let newest = names.iter().filter(|name| name.starts_with("OPTIONS-")).max()?;
        let text = String::from_utf8(read_file(&*self.file_system, &directory.join(newest)).ok()?).ok()?;
        let version = text.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="))?.to_owned();
        // Ferrock writes the release whose files its own are like.
        let is_ferrock = text.to_lowercase().contains("ferrock");
        match (is_ferrock, self.arguments.one_load) {
            (false, _) => Some(format!("RocksDB {version}")),
            (true, false) => Some("another Ferrock".to_owned()),
            // The copy may still have the OPTIONS file of the load.
            (true, true) => None,
        }
    }

    fn load(&self, column: Column, num: u64) -> Result<()> {
        let directory = self.base(column);
        self.file_system.create_dir_all(&directory)?;
        let what = format!("{}, load of {} keys", column.name(), digits(num as f64));
        match self.process(&LOAD, (column, num, 0), &directory)? {
            Ok(_) => Ok(()),
            Err(Bad::NotDone(message)) => Err(Failure::NotDone(format!("{what}: {message}"))),
            Err(bad) => Err(Failure::Data(format!("{what}: {bad}"))),
        }
    }

    /// A cell in the directory that it starts from.
    fn cell(&self, workload: &Workload, place: Place) -> Result<std::result::Result<Value, Bad>> {
        let (column, ..) = place;
        // What the cell before left to write is no cost of this one.
        rustix::fs::sync();
        if workload.start == Start::Base {
            return self.process(workload, place, &self.base(column));
        }
        let directory = self.root.join("cell");
        self.file_system.create_dir_all(&directory)?;
        if workload.start == Start::Copy {
            self.copy(&self.base(column), &directory)?;
        }
        let outcome = self.process(workload, place, &directory);
        removed(&directory)?;
        outcome
    }

    /// Copies a database; tables, which do not change, are linked.
    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        for name in self.file_system.children(from)? {
            let (source, copy) = (from.join(&name), to.join(&name));
            if name.ends_with(".sst") {
                self.file_system.hard_link(&source, &copy)?;
            } else {
                let files = &*self.file_system;
                copy_file((files, &source), (files, &copy), None, &WritableOptions::default())?;
            }
        }
        Ok(())
    }

    fn process(
        &self,
        workload: &Workload,
        (column, num, round): Place,
        directory: &Path,
    ) -> Result<std::result::Result<Value, Bad>> {
        let cell = CellArguments {
            column,
            library: self.libraries.get(column as usize).cloned(),
            directory: directory.to_owned(),
            workload: workload.name.to_owned(),
            round,
            shape: self.arguments.shape(num),
            fault: self.arguments.fault.filter(|(at, _)| *at == column && *workload != LOAD).map(|(_, fault)| fault),
        };
        let program = std::env::current_exe().map_err(|error| not_done("the path of this program", &error))?;
        let mut command = Command::new(program);
        command.arg(CELL_COMMAND).args(cell.words()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Reaped(command.spawn().map_err(|error| not_done("starting a process", &error))?);
        let status = self.wait(&mut child.0)?;
        let (printed, said) = (read_all(child.0.stdout.take()), read_all(child.0.stderr.take()));
        let said = said.trim().trim_start_matches("ferrock: ").to_owned();
        Ok(match status {
            None => Err(Bad::Hung(self.arguments.timeout)),
            Some(status) => verdict(status, &printed, said),
        })
    }

    /// Until a process ends; `None` when that takes too long.
    fn wait(&self, child: &mut Child) -> Result<Option<ExitStatus>> {
        let limit_us = (self.arguments.timeout * 1e6) as u64;
        let start_us = self.clock.monotonic_us();
        loop {
            if let Some(status) = child.try_wait().map_err(|error| not_done("waiting for a process", &error))? {
                return Ok(Some(status));
            }
            if self.clock.monotonic_us() - start_us > limit_us {
                // It may have ended meanwhile, which is no error.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            self.clock.sleep(POLL);
        }
    }
}

/// Removes a directory and everything in it.
fn removed(directory: &Path) -> Result<()> {
    std::fs::remove_dir_all(directory).map_err(|error| Failure::NotDone(format!("{}: {error}", directory.display())))
}

fn not_done(what: &str, error: &std::io::Error) -> Failure {
    Failure::NotDone(format!("{what}: {error}"))
}

/// What an ended process says of its cell.
fn verdict(status: ExitStatus, printed: &str, said: String) -> std::result::Result<Value, Bad> {
    match status.code() {
        Some(0) => serde_json::from_str(printed).map_err(|error| Bad::Crashed(format!("printed no result: {error}"))),
        Some(1) => Err(Bad::Wrong(said)),
        Some(2) => Err(Bad::NotDone(said)),
        _ => Err(Bad::Crashed(if said.is_empty() { status.to_string() } else { format!("{status}: {said}") })),
    }
}

/// What a process that has ended wrote. It is little, so that it fits into the pipe.
fn read_all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What cannot be read is missing from a message at worst; a result that is cut off does not parse.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A process that is killed when this is dropped.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        // Both fail if it has ended already, which is no error.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl CellArguments {
    /// The command line behind the subcommand.
    fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("--column={}", self.column.name()),
            format!("--directory={}", self.directory.display()),
            format!("--workload={}", self.workload),
            format!("--round={}", self.round),
        ];
        words.extend(self.library.as_ref().map(|library| format!("--library={}", library.display())));
        words.extend(self.fault.map(|fault| format!("--fault={}", fault.name())));
        words.extend(self.shape.words());
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn how_a_process_ended_says_what_came_of_the_cell() {
        let (exit, signal) = (|code: i32| ExitStatus::from_raw(code << 8), ExitStatus::from_raw(6));
        assert_eq!(
            verdict(exit(0), "{\"operations\": 3}", String::new()).map(|value| value["operations"].clone()),
            Ok(3.into())
        );
        assert_eq!(verdict(exit(1), "", "key 1".to_owned()), Err(Bad::Wrong("key 1".to_owned())));
        assert_eq!(verdict(exit(2), "", "no space".to_owned()), Err(Bad::NotDone("no space".to_owned())));
        for (status, printed) in [(signal, ""), (exit(101), ""), (exit(0), "{\"operations\""), (exit(0), "")] {
            assert!(matches!(verdict(status, printed, String::new()), Err(Bad::Crashed(_))), "{status}");
        }
    }
}
