//! `manifest_dump`: replays a MANIFEST and prints the resulting state, and with `--verbose` every edit too. No other
//! file but CURRENT is read, so it works on a directory that does not open.

use super::manifest_text::{blob_file, edit as edit_text, internal_key};
use crate::arguments::Request;
use crate::database::directory;
use crate::log_file::LogFile;
use crate::{Failure, Result};
use ferrock::{Comparator, Error};
use ferrock_base::internal_key::user_key;
use ferrock_format::file_name::{self, CURRENT};
use ferrock_format::log::{LogEvent, LogReader};
use ferrock_format::version_edit::{BlobFileAddition, ColumnFamilyChange, NewFile, VersionEdit};
use ferrock_vfs::{default_file_system, read_file};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Levels that RocksDB's tool prints, however many there are.
const PRINTED_LEVELS: u32 = 64;

#[derive(Debug, Default)]
struct BlobFile {
    addition: BlobFileAddition,
    garbage_count: u64,
    garbage_bytes: u64,
}

/// The state of a column family after the MANIFEST.
#[derive(Debug, Default)]
struct Family {
    name: String,
    comparator: String,
    log_number: u64,
    /// By level and number.
    files: BTreeMap<(u32, u64), NewFile>,
    blob_files: BTreeMap<u64, BlobFile>,
}

/// The state after a MANIFEST.
#[derive(Debug, Default)]
struct Replay {
    families: BTreeMap<u32, Family>,
    /// Families that ever were: RocksDB numbers its versions on from there.
    created: u64,
    next_file_number: u64,
    last_sequence: u64,
    prev_log_number: u64,
    max_column_family: u32,
    min_log_number_to_keep: u64,
}

pub(super) fn run(request: &Request, out: &mut dyn Write) -> Result<()> {
    let path = match request.get("path") {
        Some(path) => path.into(),
        None => current(&directory(request)?)?,
    };
    print(&path, request.is_set("verbose"), request.texts().is_key_hex, out)
}

/// Prints what a MANIFEST holds.
pub(super) fn print(path: &Path, is_verbose: bool, is_hex: bool, out: &mut dyn Write) -> Result<()> {
    let source = LogFile::open(path)?;
    if is_verbose {
        writeln!(out, "Processing Manifest file {}", path.display())?;
    }
    let mut replay = Replay { created: 1, ..Replay::default() };
    replay.families.insert(0, Family { name: "default".to_owned(), ..Family::default() });
    let mut reader = LogReader::manifest(source);
    let mut scratch = Vec::new();
    let mut damage = None;
    loop {
        match reader.read_record(&mut scratch).map_err(|error| error.in_file(path))? {
            LogEvent::Record { physical_offset, data } => {
                let at = |error: Error| error.at_offset(physical_offset).in_file(path);
                let edit = VersionEdit::decode(data).map_err(at)?;
                if is_verbose {
                    out.write_all(&edit_text(&edit, is_hex))?;
                }
                replay.apply(edit).map_err(at)?;
            }
            LogEvent::Corruption { offset, bytes_dropped, what } => {
                damage = Some(format!(
                    "Corruption: {}: {what}, at offset {offset} ({bytes_dropped} bytes dropped)",
                    path.display()
                ));
                break;
            }
            LogEvent::OldRecord { .. } | LogEvent::End => break,
        }
    }
    replay.print(out, is_hex)?;
    if is_verbose {
        writeln!(out, "Processing Manifest file {} done", path.display())?;
    }
    damage.map_or(Ok(()), |damage| Err(Failure::Data(damage)))
}

/// The file that CURRENT names.
pub(super) fn current(directory: &Path) -> Result<PathBuf> {
    let current = directory.join(CURRENT);
    let content = read_file(&*default_file_system(), &current)?;
    let number = ferrock_format::current_file::decode_current(&content).map_err(|error| error.in_file(&current))?;
    Ok(directory.join(file_name::manifest(number)))
}

impl Replay {
    fn apply(&mut self, edit: VersionEdit) -> ferrock::Result<()> {
        let id = edit.column_family;
        match &edit.column_family_change {
            Some(ColumnFamilyChange::Add(name)) => {
                self.families.insert(id, Family { name: name.clone(), ..Family::default() });
                self.created += 1;
            }
            Some(ColumnFamilyChange::Drop) => {
                self.families.remove(&id);
            }
            None => {}
        }
        self.next_file_number = edit.next_file_number.map_or(self.next_file_number, |number| number.0);
        self.last_sequence = edit.last_sequence.map_or(self.last_sequence, |sequence| sequence.0);
        self.prev_log_number = edit.prev_log_number.map_or(self.prev_log_number, |number| number.0);
        self.max_column_family = self.max_column_family.max(edit.max_column_family.unwrap_or(0)).max(id);
        self.min_log_number_to_keep =
            self.min_log_number_to_keep.max(edit.min_log_number_to_keep.map_or(0, |number| number.0));
        if matches!(edit.column_family_change, Some(ColumnFamilyChange::Drop)) {
            return Ok(());
        }
        let Some(family) = self.families.get_mut(&id) else {
            return Err(Error::corruption(format!("an edit is for column family {id}, which does not exist")));
        };
        family.apply(edit)
    }

    fn print(&self, out: &mut dyn Write, is_hex: bool) -> Result<()> {
        for (index, (id, family)) in self.families.iter().enumerate() {
            writeln!(out, "--------------- Column family \"{}\"  (ID {id}) --------------", family.name)?;
            family.print(out, self.created + index as u64, is_hex)?;
        }
        writeln!(
            out,
            "next_file_number {} last_sequence {}  prev_log_number {} max_column_family {} min_log_number_to_keep {}",
            // As after recovery: the next MANIFEST has taken the number.
            self.next_file_number.saturating_add(1),
            self.last_sequence,
            self.prev_log_number,
            self.max_column_family,
            self.min_log_number_to_keep
        )?;
        Ok(())
    }
}

impl Family {
    fn apply(&mut self, edit: VersionEdit) -> ferrock::Result<()> {
        if let Some(comparator) = edit.comparator {
            self.comparator = comparator;
        }
        self.log_number = self.log_number.max(edit.log_number.map_or(0, |number| number.0));
        for file in &edit.deleted_files {
            if self.files.remove(&(file.level, file.number.0)).is_none() {
                return Err(Error::corruption(format!(
                    "an edit removes table {} from level {}, where it is not",
                    file.number, file.level
                )));
            }
        }
        for file in edit.new_files {
            self.files.insert((file.level, file.number.0), file);
        }
        for addition in edit.blob_file_additions {
            self.blob_files.insert(addition.number.0, BlobFile { addition, ..BlobFile::default() });
        }
        for garbage in &edit.blob_file_garbages {
            let Some(file) = self.blob_files.get_mut(&garbage.number.0) else {
                return Err(Error::corruption(format!(
                    "an edit is for blob file {}, which does not exist",
                    garbage.number
                )));
            };
            file.garbage_count = file.garbage_count.saturating_add(garbage.garbage_blob_count);
            file.garbage_bytes = file.garbage_bytes.saturating_add(garbage.garbage_blob_bytes);
        }
        Ok(())
    }

    /// The files of a level in the order of RocksDB: level 0 from the newest, the others by key.
    fn level(&self, level: u32, comparator: Option<&Comparator>) -> Vec<&NewFile> {
        let mut files: Vec<&NewFile> = self.files.range((level, 0)..=(level, u64::MAX)).map(|(_, file)| file).collect();
        if level == 0 {
            files.sort_by_key(|file| {
                std::cmp::Reverse((file.epoch_number, file.largest_seqno, file.smallest_seqno, file.number))
            });
        } else if let Some(comparator) = comparator {
            files.sort_by(|a, b| comparator.compare(user_key(&a.smallest), user_key(&b.smallest)));
        }
        files
    }

    fn print(&self, out: &mut dyn Write, version: u64, is_hex: bool) -> Result<()> {
        let comparator = Comparator::built_in(&self.comparator).ok();
        writeln!(out, "log number: {}", self.log_number)?;
        match &comparator {
            Some(comparator) => writeln!(out, "comparator: {}", comparator.name())?,
            None => writeln!(out, "comparator: <{}>, but the comparator object is not available.", self.comparator)?,
        }
        for level in 0..PRINTED_LEVELS {
            writeln!(out, "--- level {level} --- version# {version} ---")?;
            for file in self.level(level, comparator.as_ref()) {
                let range = format!("[{} .. {}][", file.smallest_seqno.0, file.largest_seqno.0);
                write!(out, " {}:{}{range}", file.number.0, file.size_bytes)?;
                out.write_all(&internal_key(&file.smallest, is_hex))?;
                out.write_all(b" .. ")?;
                out.write_all(&internal_key(&file.largest, is_hex))?;
                write!(out, "]")?;
                if let Some(number) = file.oldest_blob_file_number {
                    write!(out, " blob_file:{}", number.0)?;
                }
                writeln!(out)?;
            }
        }
        self.print_blob_files(out, version)
    }

    fn print_blob_files(&self, out: &mut dyn Write, version: u64) -> Result<()> {
        let mut linked: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for file in self.files.values() {
            if let Some(number) = file.oldest_blob_file_number {
                linked.entry(number.0).or_default().push(file.number.0);
            }
        }
        let is_needed = |number: &u64, file: &BlobFile| {
            file.garbage_count < file.addition.total_blob_count || linked.contains_key(number)
        };
        // What nothing refers to any more, and nothing before it either, is gone.
        let first = linked.keys().next().copied();
        let files = self
            .blob_files
            .iter()
            .filter(|(number, file)| is_needed(number, file) && first.is_some_and(|first| **number >= first));
        for (index, (number, file)) in files.enumerate() {
            if index == 0 {
                writeln!(out, "--- blob files --- version# {version} ---")?;
            }
            let tables = linked.get(number).cloned().unwrap_or_default();
            let tables: String = tables.iter().map(|table| format!("{table} ")).collect();
            writeln!(
                out,
                "{} linked_ssts: {{ {tables}}} garbage_blob_count: {} garbage_blob_bytes: {}",
                blob_file(&file.addition),
                file.garbage_count,
                file.garbage_bytes
            )?;
        }
        Ok(())
    }
}
