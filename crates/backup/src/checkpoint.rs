//! A checkpoint: the database of a moment as a directory that opens by itself.
//!
//! ```text
//! hold files --> list --> COPY.tmp/ --rename--> COPY/ --> sync of the directory above
//!                          |  tables, blob files    hard links where both are on one file system, else copies
//!                          |  logs, MANIFEST        copies of so many bytes as count
//!                          |  OPTIONS               a copy that names no directory of logs
//!                          |  CURRENT               written, last; then the directory is synced
//! ```
//!
//! Invariants:
//! - A directory of that name is a whole, durable checkpoint, or there is none: all of it is synced before it gets its
//!   name. A crash before leaves the directory with `.tmp` behind its name, which the next attempt removes.
//! - What a link shares with the database never changes. Of what may grow, every byte is copied.
//! - The database is only read: writers, flushes and compactions go on, and what they replace stays until the copy is
//!   complete.
//!
//! Hard links of logs that are written no more, as RocksDB makes them, are not made: a recovery of the origin may cut
//! such a log, and would cut that of the copy with it.

use crate::copying::{Copier, CopyCounts, CopyProgress};
use crate::places::options_of_copy;
use ferrock_base::{Error, Result, SequenceNumber};
use ferrock_engine::{Db, FileKind, LiveFileStorageInfo, LiveFilesStorageOptions};
use ferrock_format::file_name;
use ferrock_statistics::Ticker;
use ferrock_vfs::{FileSystem, RateLimiter, WritableOptions, read_file};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes checkpoints of a database.
///
/// ```
/// use ferrock::backup::Checkpoint;
///
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(&path, options)?;
/// db.put(b"key", b"value")?;
/// // Logs below 64 MiB are copied in place of a flush.
/// let report = Checkpoint::new(&db).log_size_for_flush(64 << 20).create(&copy)?;
/// assert_eq!(report.sequence, db.latest_sequence_number());
/// # Ok(())
/// # }
/// ```
pub struct Checkpoint<'a> {
    pub(crate) db: &'a Db,
    log_size_for_flush: u64,
    hard_links: bool,
    copier: Copier,
    progress: Option<&'a mut dyn FnMut(CopyProgress)>,
}

/// What a checkpoint is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// The checkpoint has every write up to this one, and maybe later ones.
    pub sequence: SequenceNumber,
    /// Files that are hard links.
    pub files_linked: u64,
    /// Bytes of them.
    pub bytes_linked: u64,
    /// Files that were copied or written.
    pub files_copied: u64,
    /// Bytes of them.
    pub bytes_copied: u64,
}

impl fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint")
            .field("db", self.db)
            .field("log_size_for_flush", &self.log_size_for_flush)
            .field("hard_links", &self.hard_links)
            .finish_non_exhaustive()
    }
}

impl<'a> Checkpoint<'a> {
    /// Checkpoints of `db`: everything is flushed first, and files are linked where that is possible.
    #[must_use]
    pub fn new(db: &'a Db) -> Self {
        let counts = CopyCounts::of(db, Ticker::CheckpointReadBytes, Ticker::CheckpointWriteBytes);
        let copier = Copier { counts, ..Copier::default() };
        Self { db, log_size_for_flush: 0, hard_links: true, copier, progress: None }
    }

    /// Bytes of logs from which on the memtables are flushed first: 0, the default, always; `u64::MAX` never. Smaller
    /// logs are copied. Writes that went to no log are flushed at every value but `u64::MAX`.
    #[must_use]
    pub fn log_size_for_flush(mut self, bytes: u64) -> Self {
        self.log_size_for_flush = bytes;
        self
    }

    /// False: every file is copied, also on the same file system. The copy then shares no block of the device with the
    /// database.
    #[must_use]
    pub fn hard_links(mut self, are_used: bool) -> Self {
        self.hard_links = are_used;
        self
    }

    /// Copies at most as fast as `limiter` allows. Links cost nothing.
    #[must_use]
    pub fn rate_limiter(mut self, limiter: Arc<dyn RateLimiter>) -> Self {
        self.copier.rate_limiter = Some(limiter);
        self
    }

    /// Ends the copy with an error and leaves nothing, once another thread sets `stop`.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.copier.stop = Some(stop);
        self
    }

    /// Is told how far the copy is, at every file and every megabyte.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(CopyProgress)) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Makes a checkpoint in `directory`, which must not exist; the directories above it are made.
    ///
    /// # Errors
    /// `InvalidArgument` when the directory exists, or the unfinished copy beside it has files that no copy makes;
    /// `NotSupported` when the database is open for reading only; `Incomplete` when stopped; those of
    /// [`Db::live_files_storage_info`] and of the file system. Nothing is left then, unless removing failed as well.
    pub fn create(mut self, directory: impl AsRef<Path>) -> Result<CheckpointReport> {
        let directory = directory.as_ref();
        let files = self.db.file_system();
        let unfinished = begin_unfinished(&*files, directory)?;
        let hold = self.db.hold_files()?;
        let sequence = self.db.latest_sequence_number();
        let options =
            LiveFilesStorageOptions { wal_size_for_flush: self.log_size_for_flush, include_checksum_info: false };
        let list = self.db.live_files_storage_info(&options)?;
        files.create_dir_all(&unfinished)?;
        let filled = self.fill(&*files, &list, &unfinished);
        drop(hold);
        let report = end_unfinished(&*files, &unfinished, directory, filled)?;
        Ok(CheckpointReport { sequence, ..report })
    }

    pub(crate) fn fill(
        &mut self,
        files: &dyn FileSystem,
        list: &[LiveFileStorageInfo],
        directory: &Path,
    ) -> Result<CheckpointReport> {
        let mut report = CheckpointReport::default();
        let bytes = list.iter().map(|file| file.size_bytes).sum();
        let mut done = CopyProgress { files: list.len() as u64, bytes, ..CopyProgress::default() };
        let mut may_link = self.hard_links;
        for file in list {
            self.copier.check()?;
            let target = directory.join(&file.relative_filename);
            // Two file systems, or one without links: the first failure tells, and the copy shows any other cause.
            let is_linked = file.is_final && may_link && files.hard_link(&file.path(), &target).is_ok();
            may_link &= is_linked || !file.is_final;
            if is_linked {
                report.files_linked += 1;
                report.bytes_linked += file.size_bytes;
                done.bytes_done += file.size_bytes;
            } else {
                report.files_copied += 1;
                report.bytes_copied += self.copy(files, file, &target, &mut done)?;
            }
            done.files_done += 1;
            self.tell(done);
        }
        Ok(report)
    }

    fn copy(
        &mut self,
        files: &dyn FileSystem,
        file: &LiveFileStorageInfo,
        target: &Path,
        done: &mut CopyProgress,
    ) -> Result<u64> {
        if let Some(contents) = contents_of(files, file)? {
            self.copier.write(files, target, &contents)?;
            done.bytes_done += file.size_bytes;
            return Ok(contents.len() as u64);
        }
        let options = WritableOptions { temperature: file.temperature, ..WritableOptions::default() };
        let (copier, before) = (self.copier.clone(), *done);
        let mut progress = self.progress.as_deref_mut();
        copier.copy((files, &file.path()), (files, target), Some(file.size_bytes), &options, &mut |piece| {
            done.bytes_done += piece.len() as u64;
            if let Some(progress) = &mut progress {
                progress(CopyProgress { bytes_done: done.bytes_done, ..before });
            }
        })
    }

    fn tell(&mut self, done: CopyProgress) {
        if let Some(progress) = &mut self.progress {
            progress(done);
        }
    }
}

/// What is written in place of the bytes of a file.
fn contents_of(files: &dyn FileSystem, file: &LiveFileStorageInfo) -> Result<Option<Vec<u8>>> {
    if file.kind == FileKind::Options {
        return read_file(files, &file.path()).map(|text| Some(options_of_copy(&text, None)));
    }
    Ok(file.replacement_contents.clone())
}

/// Finds the directory that is filled before it gets its name, and removes what an earlier attempt left of it.
pub(crate) fn begin_unfinished(files: &dyn FileSystem, directory: &Path) -> Result<PathBuf> {
    check_is_free(files, directory)?;
    let unfinished = unfinished_name(directory)?;
    remove_unfinished(files, &unfinished)?;
    Ok(unfinished)
}

/// Gives a directory that was filled its name, durably; removes one that could not be filled.
pub(crate) fn end_unfinished<T>(
    files: &dyn FileSystem,
    unfinished: &Path,
    directory: &Path,
    filled: Result<T>,
) -> Result<T> {
    let named = filled.and_then(|filled| {
        files.sync_dir(unfinished)?;
        files.rename(unfinished, directory)?;
        Ok(filled)
    });
    match named {
        Ok(filled) => files.sync_dir(parent_of(directory)).map(|()| filled),
        Err(error) => {
            // The first error is the one to report.
            let _ = remove_unfinished(files, unfinished);
            Err(error)
        }
    }
}

/// The directory above, which is the current one for a name alone.
fn parent_of(directory: &Path) -> &Path {
    directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn check_is_free(files: &dyn FileSystem, directory: &Path) -> Result<()> {
    if files.exists(directory)? {
        let what = "a checkpoint: the directory exists; name one that does not, or remove it";
        return Err(Error::invalid_argument(what).in_file(directory));
    }
    Ok(())
}

/// The directory that is filled before it gets its name.
fn unfinished_name(directory: &Path) -> Result<PathBuf> {
    let mut name = directory.file_name().map(std::ffi::OsStr::to_owned).ok_or_else(|| {
        Error::invalid_argument("a checkpoint: the path names no directory that can be made").in_file(directory)
    })?;
    name.push(".tmp");
    Ok(directory.with_file_name(name))
}

/// Removes what an attempt that crashed has left.
fn remove_unfinished(files: &dyn FileSystem, directory: &Path) -> Result<()> {
    if !files.exists(directory)? {
        return Ok(());
    }
    let names = files.children(directory)?;
    if let Some(name) = names.iter().find(|name| file_name::parse(name).is_none()) {
        let what = format!("a checkpoint fills this directory first, and it has {name}, which no checkpoint makes");
        return Err(Error::invalid_argument(what).in_file(directory));
    }
    for name in &names {
        files.remove_file(&directory.join(name))?;
    }
    files.remove_dir(directory)
}
