//! The contract between the engine and a file system.
//!
//! There are three read calls: [`RandomAccessFile::read_at`] fills a buffer, [`FileSystem::read_stream`] submits a set
//! and hands out completions, [`FileSystem::start_read`] begins a read that is awaited later, by a thread or by a task.
//! [`read_range`](crate::read_range), [`read_owned`](crate::read_owned) and [`read_ranges`](crate::read_ranges) are
//! made of them.
//!
//! Durability, which every implementation honours and the in-memory one enforces:
//!
//! - bytes are durable once [`WritableFile::sync`] returned after they were appended;
//! - a directory entry (a file created, renamed, linked or removed) is durable once [`FileSystem::sync_dir`] of its
//!   directory returned afterwards;
//! - a rename replaces its target atomically: after a crash the name means the old file or the new one.
//!
//! A failed `sync` leaves the file in an unknown state; the writer must not go on appending to it.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use ferrock_base::Result;

use crate::counters::IoCounters;
use crate::file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
use crate::options::{RandomAccessOptions, SequentialOptions, WritableOptions};
use crate::ranges::{self, PendingRead, ReadContext, ReadLayer, ReadStream};

/// A file as the listing of a directory tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name in the directory.
    pub name: String,
    /// Bytes in it.
    pub size_bytes: u64,
    /// When it was last written, in seconds since 1970.
    pub modified_unix_seconds: u64,
}

/// A tree of files. All methods may be called from any thread.
///
/// Errors name the path. A missing file is an `Io` error for which `Error::is_not_found` holds.
pub trait FileSystem: Send + Sync + Debug {
    /// Opens an existing file for reads at any offset. The size is taken now; a file that grows later is read up to
    /// its old size through a mapping and without bound otherwise.
    ///
    /// # Errors
    /// `Io`, with [`Error::is_not_found`](ferrock_base::Error::is_not_found) when no file has this name.
    fn open_random_access(&self, path: &Path, options: &RandomAccessOptions) -> Result<Arc<dyn RandomAccessFile>>;

    /// Opens an existing file for one pass from the start.
    ///
    /// # Errors
    /// `Io`, with [`Error::is_not_found`](ferrock_base::Error::is_not_found) when no file has this name.
    fn open_sequential(&self, path: &Path, options: &SequentialOptions) -> Result<Box<dyn SequentialFile>>;

    /// Creates a file for appending; an existing one is truncated.
    ///
    /// # Errors
    /// `Io` when the file cannot be created (its directory is missing, a permission), `NoSpace` when the device is
    /// full.
    fn create_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>>;

    /// Opens an existing file for appending at its end.
    ///
    /// # Errors
    /// `Io` when the file does not exist or cannot be opened for writing.
    fn reopen_writable(&self, path: &Path, options: &WritableOptions) -> Result<Box<dyn WritableFile>>;

    /// Removes a file's name. Open handles keep working.
    ///
    /// # Errors
    /// `Io`, with [`Error::is_not_found`](ferrock_base::Error::is_not_found) when no file has this name.
    fn remove_file(&self, path: &Path) -> Result<()>;

    /// Renames a file or directory; a file at `to` is replaced atomically.
    ///
    /// # Errors
    /// `Io` when `from` does not exist, and when the directory of `to` cannot be written. Both names then stay as they
    /// were.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Gives the file a second name. Fails when `to` exists.
    ///
    /// # Errors
    /// `Io` when `to` exists, `from` does not, or the two are on different devices.
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()>;

    /// True when a file or directory has this name.
    ///
    /// # Errors
    /// `Io` when the name cannot be looked up (a permission); a missing parent directory is `Ok(false)`.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// Bytes in the file.
    ///
    /// # Errors
    /// `Io`, with [`Error::is_not_found`](ferrock_base::Error::is_not_found) when no file has this name.
    fn file_size(&self, path: &Path) -> Result<u64>;

    /// When the file was last written, in seconds since 1970.
    ///
    /// # Errors
    /// `Io`, with [`Error::is_not_found`](ferrock_base::Error::is_not_found) when no file has this name.
    fn modified_unix_seconds(&self, path: &Path) -> Result<u64>;

    /// Cuts (or extends with zeros) the file to `length_bytes`. Not durable until the file is synced.
    ///
    /// # Errors
    /// `Io` when the file does not exist or cannot be written, `NoSpace` when it cannot be extended.
    fn truncate(&self, path: &Path, length_bytes: u64) -> Result<()>;

    /// Names that the file has.
    ///
    /// # Errors
    /// `Io`, with [`Error::is_not_found`](ferrock_base::Error::is_not_found) when no file has this name;
    /// `Not supported` where files have no count.
    fn link_count(&self, path: &Path) -> Result<u64> {
        Err(ferrock_base::Error::not_supported("this file system does not count the names of a file").in_file(path))
    }

    /// Names in a directory, without `.` and `..`, sorted. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// `Io` when the directory does not exist or cannot be read.
    fn children(&self, dir: &Path) -> Result<Vec<String>>;

    /// The files of a directory, in any order, where one request tells all of them; `None` where each is asked about
    /// by itself. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// As of [`children`](Self::children).
    fn list_files(&self, dir: &Path) -> Result<Option<Vec<FileEntry>>> {
        let _ = dir;
        Ok(None)
    }

    /// Creates a directory and its missing parents; an existing one is fine.
    ///
    /// # Errors
    /// `Io` when a file has the name of the directory or of a parent, and when a parent cannot be written.
    fn create_dir_all(&self, dir: &Path) -> Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `Io` when the directory does not exist or is not empty.
    fn remove_dir(&self, dir: &Path) -> Result<()>;

    /// Makes the entries of a directory durable.
    ///
    /// # Errors
    /// `Io` when the directory does not exist or the device refuses. New, renamed and removed names may then be lost in
    /// a crash.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// Locks `path` (created when missing) until the guard is dropped. Fails with `Busy` when another process, or
    /// another opener in this process, holds it; the message names the holder where it is known.
    ///
    /// # Errors
    /// `Busy` when the lock is held; `Io` when the file cannot be created.
    fn lock_file(&self, path: &Path) -> Result<Box<dyn FileLock>>;

    /// Bytes an unprivileged writer can still put on the device that holds `path`.
    ///
    /// # Errors
    /// `Io` when the device cannot be asked.
    fn free_space(&self, path: &Path) -> Result<u64>;

    /// True when nothing can be written below `dir` because of how it is mounted.
    ///
    /// # Errors
    /// `Io` when the directory does not exist or cannot be asked.
    fn is_read_only(&self, dir: &Path) -> Result<bool>;

    /// A set of reads that are submitted together and handed out as they complete, to the thread that submits them. The
    /// files belong to this file system.
    fn read_stream(&self, context: &ReadContext) -> Box<dyn ReadStream + '_> {
        ranges::read_stream(self.read_layer(), self.counters(), context)
    }

    /// Begins to read a range. The returned value waits for the read, or is polled as a future by any executor, or
    /// abandons the read when dropped.
    fn start_read(
        &self,
        file: &Arc<dyn RandomAccessFile>,
        offset: u64,
        length: usize,
        context: &ReadContext,
    ) -> PendingRead {
        PendingRead::start(self.read_layer(), file, offset, length, context)
    }

    /// The memory, clock and counters of range reads; without a layer, such reads are neither pooled nor timed.
    fn read_layer(&self) -> Option<&ReadLayer> {
        None
    }

    /// True if a file appears under its name when it is synced or closed, whole, and replaces another one then; one
    /// that is dropped before never appears. Where this holds, no file needs another name while it is written.
    fn creates_whole_files(&self) -> bool {
        false
    }

    /// The counters of all requests to this file system and its files.
    fn counters(&self) -> &IoCounters;

    /// How many files the process may have open at once; `None` without a bound.
    fn open_file_limit(&self) -> Option<u64> {
        None
    }

    /// A copy of all files as they are now, if that takes no more than a moment; bytes in the buffers of writers are
    /// not in it. Later changes of either are not seen by the other.
    fn copy_of_now(&self) -> Option<Arc<dyn FileSystem>> {
        None
    }

    /// How sets of reads are performed: `pread`, `io_uring`, `memory`.
    fn io_backend(&self) -> &str;
}
