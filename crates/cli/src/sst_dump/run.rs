//! File after file: what was asked for, as text as it comes, or as one JSON object at the end.

use crate::arguments::{Command, Request};
use crate::table_file::{Found, blocks_of, find};
use crate::{Failure, Result, details, json, raw, recompress, sequential};
use ferrock::Error;
use ferrock_console::failure::{NOT_DONE, exit_code_of};
use ferrock_console::tables::open_table;
use ferrock_console::text::digits;
use ferrock_table::{BlockTable, Table, TableStatistics};
use ferrock_vfs::IoActivity;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The sums of `--show_summary`.
#[derive(Debug, Default)]
struct Summary {
    files: u64,
    data_blocks: u64,
    data_bytes: u64,
    index_bytes: u64,
    filter_bytes: u64,
}

struct Session<'a> {
    request: &'a Request,
    out: &'a mut dyn Write,
    is_json: bool,
    valid: Vec<PathBuf>,
    entries_read: u64,
    summary: Summary,
    statistics: TableStatistics,
    /// The worst exit code so far of tables that opened.
    code: u8,
    /// The worst exit code so far of files that did not open as tables.
    unopened_code: u8,
    bar: ProgressBar,
}

/// Does what the command line asks for; returns the exit code.
pub(crate) fn run(request: &Request, out: &mut dyn Write) -> Result<u8> {
    let found = find(&request.files)?;
    let mut session = Session {
        request,
        is_json: request.is_set("json"),
        out,
        valid: Vec::new(),
        entries_read: 0,
        summary: Summary::default(),
        statistics: TableStatistics::default(),
        code: 0,
        unopened_code: 0,
        bar: progress(request, found.files.len()),
    };
    let mut rows = Vec::new();
    for path in &found.files {
        if session.is_full() {
            break;
        }
        rows.push(session.file(path)?);
        session.bar.inc(1);
    }
    session.bar.finish_and_clear();
    session.finish(&found, rows)?;
    Ok(session.code)
}

/// A bar over the files, or no bar if standard error is not a terminal or the text goes to the same one.
fn progress(request: &Request, files: usize) -> ProgressBar {
    let prints = matches!(request.command, Command::Scan) || std::io::stdout().is_terminal();
    if files < 2 || prints || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(files as u64).with_message("tables");
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {human_pos} / {human_len}  {eta}");
    style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style.progress_chars("=> ")))
}

impl Session<'_> {
    /// True when `--read_num` entries are read.
    fn is_full(&self) -> bool {
        self.entries_read >= self.request.range.most
    }

    fn say(&mut self, line: &str) -> Result<()> {
        if !self.is_json {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// Tells what is wrong with a table, and goes on.
    fn complain(&mut self, message: &str, error: &Error) -> Result<()> {
        self.code = worse(self.code, exit_code_of(error));
        self.tell(message)
    }

    fn tell(&mut self, message: &str) -> Result<()> {
        self.out.flush()?;
        self.bar.suspend(|| {
            // An error here has no reader when standard error is closed.
            let _ = writeln!(std::io::stderr(), "{message}");
        });
        Ok(())
    }

    /// One table; returns its part of the JSON.
    fn file(&mut self, path: &Path) -> Result<Value> {
        let mut row = Map::new();
        let name = path.display().to_string();
        self.say(&format!("Process {name}"))?;
        let opened = open_table(path);
        let result = match &opened {
            Ok(reader) => {
                let format = if reader.as_block().is_some() { "block-based" } else { "plain table" };
                self.say(&format!("Sst file format: {format}"))?;
                self.valid.push(path.to_path_buf());
                self.table(path, reader, &mut row)
            }
            Err(error) => Err(Failure::Engine(error.clone())),
        };
        row.insert("file".to_owned(), Value::from(name.clone()));
        match result {
            Ok(()) => {
                row.entry("status").or_insert(Value::from("OK"));
            }
            Err(Failure::Engine(error)) => {
                if opened.is_ok() {
                    self.complain(&format!("{name}: {error}"), &error)?;
                } else {
                    self.unopened_code = worse(self.unopened_code, exit_code_of(&error));
                    self.tell(&format!("{name}: {error}"))?;
                }
                fail(&mut row, &error);
            }
            Err(other) => return Err(other),
        }
        Ok(Value::Object(row))
    }

    fn table(&mut self, path: &Path, reader: &Table, row: &mut Map<String, Value>) -> Result<()> {
        match self.request.command {
            Command::Check | Command::Scan => self.read(reader, row)?,
            Command::Verify => match reader.verify_checksums(0, IoActivity::Unknown) {
                Ok(()) => self.say("The file is ok")?,
                Err(error) => {
                    self.complain(&format!("{} is corrupted: {error}", path.display()), &error)?;
                    fail(row, &error);
                }
            },
            Command::Raw => {
                let to = raw::output_path(path);
                let damage = raw::write(
                    blocks_of(reader, "a raw dump")?,
                    &to,
                    self.request.is_set("show_sequence_number_type"),
                )?;
                self.say(&format!("raw dump written to file {}", to.display()))?;
                if let Some(error) = damage {
                    self.complain(&format!("{}: {error}", path.display()), &error)?;
                }
            }
            Command::Recompress => self.recompress(blocks_of(reader, "recompression")?, row)?,
            Command::Identify | Command::None => {}
        }
        self.show(reader, row)
    }

    fn read(&mut self, reader: &Table, row: &mut Map<String, Value>) -> Result<()> {
        if self.valid.len() == 1 {
            let range = &self.request.range;
            let key = |key: &Option<Vec<u8>>| key.as_deref().map(digits).unwrap_or_default();
            let from = if range.prefix.is_some() { key(&range.prefix) } else { key(&range.from) };
            self.say(&format!("from [{from}] to [{}]", key(&range.to)))?;
        }
        let most = self.request.range.most - self.entries_read;
        let counted = sequential::read(self.request, reader, most, self.out)?;
        self.entries_read += counted.entries;
        row.insert("entries_read".to_owned(), Value::from(counted.entries));
        if let Some(error) = counted.error {
            self.complain(&format!("{}: {error}", reader.file_path().display()), &error)?;
            fail(row, &error);
        }
        Ok(())
    }

    fn recompress(&mut self, reader: &Arc<BlockTable>, row: &mut Map<String, Value>) -> Result<()> {
        let request = &self.request.recompression;
        self.say(&format!("Block Size: {}", request.table.block_size))?;
        let mut rows = Vec::new();
        for compression in &request.types {
            self.say(&format!("Compression: {:<24}", compression.option_name()))?;
            for level in request.levels.0..=request.levels.1 {
                let measured = recompress::measure(reader, request, *compression, level)?;
                self.say(&measured.line())?;
                rows.push(json::recompressed(&measured));
            }
            self.out.flush()?;
        }
        row.insert("recompressed".to_owned(), Value::Array(rows));
        Ok(())
    }

    /// What the `--show...` and `--list...` flags ask for.
    fn show(&mut self, reader: &Table, row: &mut Map<String, Value>) -> Result<()> {
        let properties = reader.properties();
        let summary = &mut self.summary;
        summary.files += 1;
        summary.data_blocks += properties.num_data_blocks;
        summary.data_bytes += properties.data_size;
        summary.index_bytes += properties.index_size;
        summary.filter_bytes += properties.filter_size;
        let (request, is_json) = (self.request, self.is_json);
        if request.is_set("show_properties") {
            if is_json {
                row.insert("properties".to_owned(), json::properties(reader)?);
            } else {
                details::print_properties(reader, self.out)?;
            }
        }
        if request.is_set("list_meta_blocks") {
            if is_json {
                row.insert("meta_blocks".to_owned(), json::meta_blocks(blocks_of(reader, "the list of blocks")?)?);
            } else {
                details::print_meta_blocks(blocks_of(reader, "the list of blocks")?, self.out)?;
            }
        }
        if request.is_set("show_statistics") {
            let statistics = blocks_of(reader, "statistics")?.contents().statistics()?;
            self.statistics.merge(&statistics);
            if is_json {
                row.insert("statistics".to_owned(), json::statistics(&statistics));
            } else {
                details::print_statistics("Table Statistics", &statistics, self.out)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, found: &Found, files: Vec<Value>) -> Result<()> {
        let has_statistics = self.request.is_set("show_statistics");
        if self.is_json {
            let mut all = Map::new();
            all.insert("files".to_owned(), Value::Array(files));
            if self.request.is_set("show_summary") {
                all.insert("summary".to_owned(), self.summary_json());
                if has_statistics {
                    all.insert("statistics".to_owned(), json::statistics(&self.statistics));
                }
            }
            all.insert("valid".to_owned(), Value::from(self.valid.len()));
            writeln!(self.out, "{:#}", Value::Object(all))?;
        } else if self.request.is_set("show_summary") {
            let summary = &self.summary;
            writeln!(self.out, "total number of files: {}", summary.files)?;
            writeln!(self.out, "total number of data blocks: {}", summary.data_blocks)?;
            writeln!(self.out, "total data block size: {}", summary.data_bytes)?;
            writeln!(self.out, "total index block size: {}", summary.index_bytes)?;
            writeln!(self.out, "total filter block size: {}", summary.filter_bytes)?;
            if has_statistics {
                details::print_statistics("Statistics of all tables", &self.statistics, self.out)?;
            }
        }
        self.identify(found)
    }

    fn summary_json(&self) -> Value {
        json!({
            "files": self.summary.files,
            "data_blocks": self.summary.data_blocks,
            "data_bytes": self.summary.data_bytes,
            "index_bytes": self.summary.index_bytes,
            "filter_bytes": self.summary.filter_bytes,
        })
    }

    fn identify(&mut self, found: &Found) -> Result<()> {
        let is_identify = self.request.command == Command::Identify;
        let named: Vec<String> = self.request.files.iter().map(|path| path.display().to_string()).collect();
        if self.valid.is_empty() {
            self.code = if self.unopened_code == 0 { NOT_DONE } else { self.unopened_code };
            if found.directory.is_some() {
                self.say("------------------------------")?;
            }
            self.out.flush()?;
            let message = match &found.directory {
                Some(directory) => format!("No valid SST files found in {}", directory.display()),
                None => format!("{} is not a valid SST file", named.join(", ")),
            };
            // An error here has no reader when standard error is closed.
            let _ = writeln!(std::io::stderr(), "{message}");
            return Ok(());
        }
        if !is_identify {
            self.code = worse(self.code, self.unopened_code);
            return Ok(());
        }
        // That some files are none is an answer; that a table is damaged stays what it is.
        if self.is_json {
            return Ok(());
        }
        if found.directory.is_none() && named.len() == 1 {
            writeln!(self.out, "{} is a valid SST file", named[0])?;
            return Ok(());
        }
        let place = found.directory.as_ref().map(|directory| format!(" found in {}", directory.display()));
        writeln!(self.out, "------------------------------")?;
        writeln!(self.out, "List of valid SST files{}:", place.unwrap_or_default())?;
        for path in &self.valid {
            writeln!(self.out, "{}", path.display())?;
        }
        writeln!(self.out, "Number of valid SST files: {}", self.valid.len())?;
        Ok(())
    }
}

/// Of two exit codes the one that counts: damage more than what could not be done, that more than nothing.
fn worse(left: u8, right: u8) -> u8 {
    match (left, right) {
        (0, code) | (code, 0) => code,
        _ => left.min(right),
    }
}

fn fail(row: &mut Map<String, Value>, error: &Error) {
    row.insert("status".to_owned(), Value::from(error.kind().name()));
    row.insert("message".to_owned(), Value::from(error.to_string()));
}
