//! `dump_live_files`: everything that a database is made of, file by file.
//!
//! ```text
//! MANIFEST -> family: tables, level by level; blob files -> logs, those of the archive first
//! ```
//!
//! The database is not opened: files are those that the MANIFEST in use names. One that is damaged is told of, and the
//! next ones are printed all the same; then the exit code says that there was one.

use super::{blob_text, dump_wal, manifest_dump};
use crate::arguments::Request;
use crate::database::directory;
use crate::{Failure, Result};
use ferrock::DbOptions;
use ferrock::options::load_latest;
use ferrock::repair::{FamilyFiles, Surgery};
use ferrock_base::InternalIterator;
use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_console::tables::{EntryText, open_table, print_entry};
use ferrock_format::file_name::{self, FileKind};
use ferrock_table::TableReadOptions;
use ferrock_vfs::{FileSystem, default_file_system};
use std::io::Write;
use std::path::{Path, PathBuf};

const DOUBLE: &str = "==============================";
const SINGLE: &str = "------------------------------";

/// Goes on behind damage; the first one is what the command ends with.
#[derive(Default)]
struct Damage(Option<Failure>);

impl Damage {
    fn note(&mut self, path: &Path, result: Result<()>) -> Result<()> {
        match result {
            Err(Failure::Output(error)) => Err(Failure::Output(error)),
            Err(failure) => {
                let text = match &failure {
                    Failure::Engine(error) => error.to_string(),
                    Failure::Usage(text) | Failure::Data(text) | Failure::NotDone(text) => text.clone(),
                    Failure::Output(error) => error.to_string(),
                };
                // An error here has no reader when standard error is closed.
                let _ = writeln!(std::io::stderr(), "{}: {text}", path.display());
                self.0.get_or_insert(failure);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

pub(super) fn dump_live_files(request: &Request, out: &mut dyn Write) -> Result<()> {
    let directory = directory(request)?;
    let mut damage = Damage::default();
    let manifest = manifest_dump::current(&directory)?;
    writeln!(out, "Manifest File\n{DOUBLE}\n{}", manifest.display())?;
    damage.note(&manifest, manifest_dump::print(&manifest, false, false, out))?;
    writeln!(out)?;
    for family in Surgery::open_read_only(&directory, DbOptions::default())?.files() {
        print_family(request, &family, &mut damage, out)?;
    }
    writeln!(out, "\nWrite Ahead Log Files\n{DOUBLE}")?;
    for path in logs(&directory)? {
        writeln!(out, "{}", path.display())?;
        let columns = dump_wal::Columns { header: true, values: true, is_committed: true };
        damage.note(&path, dump_wal::print(&path, columns, out))?;
    }
    damage.0.map_or(Ok(()), Err)
}

fn print_family(request: &Request, family: &FamilyFiles, damage: &mut Damage, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "Column family name: {}\n{DOUBLE}\n\nSST Files\n{DOUBLE}", family.name)?;
    let text = EntryText { is_hex: false, decodes_blob_index: request.is_set("decode_blob_index") };
    for table in &family.tables {
        writeln!(out, "{} level:{}\n{SINGLE}", table.path.display(), table.level)?;
        damage.note(&table.path, print_table(&table.path, text, out))?;
        writeln!(out)?;
    }
    writeln!(out, "Blob Files\n{DOUBLE}")?;
    for blob in &family.blob_files {
        writeln!(out, "{}\n{SINGLE}", blob.path.display())?;
        let is_raw = request.is_set("dump_uncompressed_blobs");
        damage.note(&blob.path, blob_text::print(&blob.path, is_raw, out))?;
        writeln!(out)?;
    }
    Ok(())
}

fn print_table(path: &Path, text: EntryText, out: &mut dyn Write) -> Result<()> {
    let table = open_table(path)?;
    let format = if table.as_block().is_some() { "block-based" } else { "plain table" };
    writeln!(out, "Process {}\nSst file format: {format}", path.display())?;
    let options = TableReadOptions { fill_cache: false, total_order_seek: true, ..TableReadOptions::default() };
    let mut entries = table.iter(options);
    entries.seek_to_first();
    while entries.valid() {
        let key = ParsedInternalKey::parse(entries.key()).map_err(|error| error.in_file(path))?;
        print_entry(text, key, entries.value(), out)?;
        entries.next();
    }
    entries.status()?;
    writeln!(out, "\nTable Properties:\n{SINGLE}\n  {}", table.properties().to_text("\n  ", ": ").trim_end())?;
    Ok(())
}

/// The logs that have records, those of the archive first.
fn logs(directory: &Path) -> Result<Vec<PathBuf>> {
    let files = default_file_system();
    let loaded = load_latest(&*files, directory)?.unwrap_or_default();
    let place = match &loaded.db.wal_dir[..] {
        "" => directory.to_path_buf(),
        named => PathBuf::from(named),
    };
    let mut logs = logs_in(&*files, &place.join(file_name::ARCHIVE_DIRECTORY));
    logs.extend(logs_in(&*files, &place));
    Ok(logs)
}

/// A directory that is not there has none.
fn logs_in(files: &dyn FileSystem, directory: &Path) -> Vec<PathBuf> {
    let names = files.children(directory).unwrap_or_default();
    let parsed = names.iter().filter_map(|name| Some((file_name::parse(name)?, name)));
    let mut logs: Vec<_> = parsed.filter(|(parsed, _)| parsed.kind == FileKind::Log).collect();
    logs.sort_by_key(|(parsed, _)| parsed.number);
    let paths = logs.into_iter().map(|(_, name)| directory.join(name));
    paths.filter(|path| files.file_size(path).is_ok_and(|size| size > 0)).collect()
}
