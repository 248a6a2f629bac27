//! What a copy of a running database is made of: RocksDB's `GetLiveFilesStorageInfo`.
//!
//! ```text
//! flush       what no log has, and what the caller wants in tables
//! OPTIONS     those that wait to be written are written
//! installs -- held for a look, so that no change of the tree comes in between --------------------+
//!   MANIFEST  its bytes up to the last record, the versions that they describe                    |
//!   logs      each that is still needed, with the bytes that it has                               |
//!   blobs     files of memtables that the logs refer to, with the bytes that they have            |
//!             +-----------------------------------------------------------------------------------+
//! ```
//!
//! Invariants:
//! - The files, each cut to the size that is told, are what a crash of the process at that look would have left: the
//!   copy has everything that was acknowledged before the call, and of what came meanwhile a prefix.
//! - A file whose [`is_final`](LiveFileStorageInfo::is_final) is true never changes again, so a hard link of it is a
//!   copy. The others may grow.
//! - The database is not closed meanwhile: a look behind the end of the log would find none.
//! - No file is written or removed while `installs` is held; only sizes of blob files that grow are asked for.
//!
//! Logs behind a flush as RocksDB lists them, from a listing of the directory after the look, were not copied: the size
//! of a log there includes space that was reserved, and a copy would bring it along.

use super::{DbCore, flush, options_file};
use crate::column_family::FamilyMap;
use crate::options::Temperature;
use ferrock_base::{FileNumber, Result};
use ferrock_format::current_file::encode_current;
use ferrock_format::file_name::{self, FileKind};
use ferrock_options::FlushReason;
use ferrock_tree::version::Version;
use ferrock_tree::version::version_set::ManifestToCopy;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a list of files is to be.
///
/// ```
/// let options = ferrock_engine::LiveFilesStorageOptions::default();
/// assert_eq!(options.wal_size_for_flush, 0, "everything is flushed first");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveFilesStorageOptions {
    /// Bytes of logs from which on the memtables are flushed first: 0 always, `u64::MAX` never. Writes that went to no
    /// log are flushed at every value but `u64::MAX`.
    pub wal_size_for_flush: u64,
    /// Tell the checksums of whole files, where the database records them.
    pub include_checksum_info: bool,
}

/// A file that a copy of the database needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFileStorageInfo {
    /// Its name in its directory.
    pub relative_filename: String,
    /// The directory that it is in.
    pub directory: PathBuf,
    /// The number in its name; 0 for CURRENT.
    pub file_number: FileNumber,
    /// What it is.
    pub kind: FileKind,
    /// Bytes that the copy has.
    pub size_bytes: u64,
    /// The file may have more bytes than the copy has.
    pub trim_to_size: bool,
    /// The file never changes again.
    pub is_final: bool,
    /// What the copy holds, in place of what the file holds.
    pub replacement_contents: Option<Vec<u8>>,
    /// How often it is expected to be read.
    pub temperature: Temperature,
    /// Checksum of the whole file, where one was recorded and asked for.
    pub file_checksum: Vec<u8>,
    /// What made the checksum; empty without one.
    pub file_checksum_func_name: String,
}

impl LiveFileStorageInfo {
    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.relative_filename)
    }

    fn new(directory: &Path, name: String, kind: FileKind, number: FileNumber, size_bytes: u64) -> Self {
        Self {
            relative_filename: name,
            directory: directory.to_path_buf(),
            file_number: number,
            kind,
            size_bytes,
            trim_to_size: false,
            is_final: false,
            replacement_contents: None,
            temperature: Temperature::Unknown,
            file_checksum: Vec::new(),
            file_checksum_func_name: String::new(),
        }
    }

    fn growing(self) -> Self {
        Self { trim_to_size: true, ..self }
    }

    fn finished(self) -> Self {
        Self { is_final: true, ..self }
    }
}

/// See [`Db::live_files_storage_info`](super::Db::live_files_storage_info).
pub(super) fn live_files_storage_info(
    core: &DbCore,
    options: &LiveFilesStorageOptions,
) -> Result<Vec<LiveFileStorageInfo>> {
    core.jobs.check_open()?;
    if is_flush_wanted(core, options.wal_size_for_flush) {
        flush::flush_all(core, FlushReason::GetLiveFiles)?;
    }
    // Closing takes the log that is being written away, and waits for this.
    let _open = core.jobs.hold_open()?;
    options_file::write_what_waits(core)?;
    core.writes.logs().flush()?;
    let mut list = Vec::new();
    let manifest = {
        // A job that installs now would add tables that this MANIFEST does not have, and let go of logs that it needs.
        let _installs = core.installs.lock();
        let manifest = core.versions.manifest_to_copy()?;
        add_tables(core, &core.families.load(), &manifest, options, &mut list);
        add_logs(core, &manifest, &mut list)?;
        add_blobs_of_memtables(core, &manifest, &mut list)?;
        manifest
    };
    let database = core.files.database();
    let name = file_name::manifest(manifest.number);
    let file = LiveFileStorageInfo::new(database, name, FileKind::Manifest, manifest.number, manifest.size_bytes);
    list.push(file.growing());
    add_current(database, manifest.number, &mut list);
    add_options(core, &mut list)?;
    list.sort_by_key(|file| order_of(file.kind));
    Ok(list)
}

/// The order of the list: what is large and final first, what makes it a database last.
fn order_of(kind: FileKind) -> u8 {
    match kind {
        FileKind::Table | FileKind::Blob => 0,
        FileKind::Log => 1,
        FileKind::Manifest => 2,
        FileKind::Options => 3,
        _ => 4,
    }
}

fn is_flush_wanted(core: &DbCore, wal_size_for_flush: u64) -> bool {
    wal_size_for_flush != u64::MAX
        && (core.writes.has_unlogged_writes() || core.writes.logs().size().bytes >= wal_size_for_flush)
}

fn add_tables(
    core: &DbCore,
    families: &FamilyMap,
    manifest: &ManifestToCopy,
    options: &LiveFilesStorageOptions,
    list: &mut Vec<LiveFileStorageInfo>,
) {
    for (id, version) in &manifest.versions {
        // A family that is being dropped is not among those that a handle finds.
        let data = families.get(*id).or_else(|| families.iter_with_leaving().find(|data| data.id == *id));
        let paths = data.map(|data| data.table_cache.paths());
        let directory = |path_id| paths.map_or(core.files.database(), |paths| paths.directory(path_id));
        add_version(version, directory, options.include_checksum_info, list);
    }
}

fn add_version<'a>(
    version: &Version,
    directory: impl Fn(u32) -> &'a Path,
    with_checksums: bool,
    list: &mut Vec<LiveFileStorageInfo>,
) {
    for (_, file) in version.files() {
        let name = file_name::table(file.number);
        let table =
            LiveFileStorageInfo::new(directory(file.path_id), name, FileKind::Table, file.number, file.size_bytes);
        let checksum = file.recorded_checksum().filter(|_| with_checksums);
        let (file_checksum_func_name, file_checksum) =
            checksum.map(|checksum| (checksum.function_name, checksum.value)).unwrap_or_default();
        list.push(LiveFileStorageInfo {
            temperature: file.temperature,
            file_checksum,
            file_checksum_func_name,
            ..table.finished()
        });
    }
    for (number, file) in version.blob_files() {
        let name = file_name::blob(*number);
        let blob = LiveFileStorageInfo::new(directory(0), name, FileKind::Blob, *number, file.file_size_bytes());
        let addition = Some(&file.addition).filter(|_| with_checksums);
        list.push(LiveFileStorageInfo {
            file_checksum: addition.map(|addition| addition.checksum_value.clone()).unwrap_or_default(),
            file_checksum_func_name: addition.map(|addition| addition.checksum_method.clone()).unwrap_or_default(),
            ..blob.finished()
        });
    }
}

fn add_logs(core: &DbCore, manifest: &ManifestToCopy, list: &mut Vec<LiveFileStorageInfo>) -> Result<()> {
    let needed = core.writes.logs().live()?.into_iter().filter(|log| log.number >= manifest.oldest_needed_log);
    for log in needed {
        let (directory, name) = (core.files.places().log_directory(), file_name::log(log.number));
        let file = LiveFileStorageInfo::new(directory, name, FileKind::Log, log.number, log.size_bytes);
        // Also one that is written no more may have space that was reserved behind its records.
        list.push(file.growing());
    }
    Ok(())
}

/// Values that logs refer to: the operating system has them before the log has the reference.
fn add_blobs_of_memtables(core: &DbCore, manifest: &ManifestToCopy, list: &mut Vec<LiveFileStorageInfo>) -> Result<()> {
    let known: BTreeSet<FileNumber> =
        manifest.versions.iter().flat_map(|(_, version)| version.blob_files().keys().copied()).collect();
    for number in core.files.kept().into_iter().filter(|number| !known.contains(number)) {
        let name = file_name::blob(number);
        for directory in core.files.places().table_directories() {
            match core.env.file_system.file_size(&directory.join(&name)) {
                // A number whose file was not made yet has no value that a log refers to.
                Err(error) if error.is_not_found() => {}
                size => {
                    let file =
                        LiveFileStorageInfo::new(&directory, name.clone(), FileKind::Blob, number, size?).growing();
                    list.push(file);
                }
            }
        }
    }
    Ok(())
}

fn add_current(database: &Path, manifest: FileNumber, list: &mut Vec<LiveFileStorageInfo>) {
    let content = encode_current(manifest);
    let name = file_name::CURRENT.to_owned();
    let file = LiveFileStorageInfo::new(database, name, FileKind::Current, FileNumber(0), content.len() as u64);
    list.push(LiveFileStorageInfo { replacement_contents: Some(content), ..file });
}

/// The newest OPTIONS file.
fn add_options(core: &DbCore, list: &mut Vec<LiveFileStorageInfo>) -> Result<()> {
    let database = core.files.database();
    let names = core.env.file_system.children(database)?;
    let parsed = names.iter().filter_map(|name| Some((file_name::parse(name)?, name)));
    let newest = parsed.filter(|(parsed, _)| parsed.kind == FileKind::Options).max_by_key(|(parsed, _)| parsed.number);
    let Some((parsed, name)) = newest else { return Ok(()) };
    let size_bytes = core.env.file_system.file_size(&database.join(name))?;
    list.push(LiveFileStorageInfo::new(database, name.clone(), FileKind::Options, parsed.number, size_bytes));
    Ok(())
}
