//! The contracts between the engine and a file system.
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
use crate::options::{RandomAccessOptions, SequentialOptions, WritableOptions};
use crate::ranges::{
    self, AsyncRead, PendingRead, RangeRead, ReadBuffer, ReadClass, ReadContext, ReadLabel, ReadLayer,
};
use crate::rate_limiter::{IoPriority, RateLimiter};
use crate::read_stream::{ReadStream, ReadsInTurn};

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

    /// Names in a directory, without `.` and `..`, sorted. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// `Io` when the directory does not exist or cannot be read.
    fn children(&self, dir: &Path) -> Result<Vec<String>>;

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

    /// Performs every request and sets its `result`; waits for all. Requests may complete in any order.
    fn read_batch(&self, reads: &mut [ReadRequest<'_>]) {
        for read in reads {
            read.perform();
        }
    }

    /// Reads every range and sets its `result`; waits for all. Ranges of one file that are near each other share
    /// requests, as the context says; all requests go out together. Each range has its own error.
    fn read_ranges(&self, reads: &mut [RangeRead<'_>], context: &ReadContext) {
        ranges::read_ranges(self, reads, context);
    }

    /// Begins to read a range. The returned value waits for the read, or abandons it when dropped.
    fn start_read(
        &self,
        file: &Arc<dyn RandomAccessFile>,
        offset: u64,
        length: usize,
        context: &ReadContext,
    ) -> PendingRead {
        ranges::start_read(self.read_layer(), file, offset, length, context)
    }

    /// Begins to read a range, as a future: any executor can poll it, and its waker is called when the bytes are there.
    fn start_async(
        &self,
        file: &Arc<dyn RandomAccessFile>,
        offset: u64,
        length: usize,
        context: &ReadContext,
    ) -> AsyncRead {
        ranges::start_async(self.read_layer(), file, offset, length, context)
    }

    /// The memory, clock and counters of range reads; without a layer, such reads are neither pooled nor timed.
    fn read_layer(&self) -> Option<&ReadLayer> {
        None
    }

    /// A stream of reads that are handed out as they complete. The files belong to this file system.
    fn read_stream(&self, context: &ReadContext) -> Box<dyn ReadStream + '_> {
        Box::new(ReadsInTurn::new(self.counters(), context))
    }

    /// The counters of all requests to this file system and its files.
    fn counters(&self) -> &IoCounters;

    /// How many files the process may have open at once; `None` without a bound.
    fn open_file_limit(&self) -> Option<u64> {
        None
    }

    /// How read batches are performed: `pread`, `io_uring`, `memory`.
    fn io_backend(&self) -> &str;
}

/// One read of a [`FileSystem::read_batch`].
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// The file to read, opened from the same file system.
    pub file: &'a dyn RandomAccessFile,
    /// Where to start.
    pub offset: u64,
    /// Where the bytes go; its length is how many are wanted.
    pub buffer: &'a mut [u8],
    /// How the request is counted.
    pub label: ReadLabel,
    /// Bytes read; fewer than the buffer holds only at the end of the file. Zero before the batch is performed.
    pub result: Result<usize>,
}

impl<'a> ReadRequest<'a> {
    /// A request that has not been performed.
    pub fn new(file: &'a dyn RandomAccessFile, offset: u64, buffer: &'a mut [u8]) -> Self {
        let label = ReadLabel::whole(ReadClass::Other, buffer.len());
        Self::labelled(file, offset, buffer, label)
    }

    /// As [`new`](Self::new), counted by a label.
    pub fn labelled(file: &'a dyn RandomAccessFile, offset: u64, buffer: &'a mut [u8], label: ReadLabel) -> Self {
        Self { file, offset, buffer, label, result: Ok(0) }
    }

    /// Performs the request alone.
    pub(crate) fn perform(&mut self) {
        self.result = self.file.read_at_as(self.offset, self.buffer, self.label);
    }
}

/// A file read at any offset, by many threads at once.
pub trait RandomAccessFile: Send + Sync + Debug {
    /// Reads at `offset` until `buffer` is full or the file ends, and returns the bytes read. Past the end: `Ok(0)`.
    ///
    /// # Errors
    /// `Io` naming the file when the device fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize>;

    /// As [`read_at`](Self::read_at), counted by a label. One request if the range is aligned.
    ///
    /// # Errors
    /// Those of [`read_at`](Self::read_at).
    fn read_at_as(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize> {
        let _ = label;
        self.read_at(offset, buffer)
    }

    /// Reads a range into memory of the file system's pool, without a copy; shorter only at the end of the file.
    /// Requests are as long as the context allows, one after the other.
    ///
    /// # Errors
    /// `Io` naming the file when the device fails; `TimedOut` when a request takes longer than the context allows.
    fn read_range(&self, offset: u64, length: usize, context: &ReadContext) -> Result<ReadBuffer> {
        ranges::read_range(self, offset, length, context)
    }

    /// As [`read_range`](Self::read_range), into a vector of its own and by one request: for bytes that are kept. Only
    /// direct and timed reads are copied.
    ///
    /// # Errors
    /// Those of [`read_range`](Self::read_range).
    fn read_owned(&self, offset: u64, length: usize, context: &ReadContext) -> Result<Vec<u8>> {
        ranges::read_owned(self, offset, length, context)
    }

    /// True if reads are so fast that starting them ahead does not pay.
    fn reads_at_once(&self) -> bool {
        false
    }

    /// The layer that the file system shares with its files for range reads.
    fn read_layer(&self) -> Option<&ReadLayer> {
        None
    }

    /// Reads `length_bytes` at `offset` into memory of its own; shorter only at the end of the file. A long direct read
    /// takes one request and no bounce buffer this way, whatever its alignment.
    ///
    /// # Errors
    /// Those of [`read_at`](Self::read_at).
    fn read_vec(&self, offset: u64, length_bytes: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length_bytes];
        let read = self.read_at(offset, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// The bytes themselves, when the file is mapped and the range lies within it; not counted as a copy.
    fn mapped(&self, offset: u64, length_bytes: usize) -> Option<&[u8]> {
        let _ = (offset, length_bytes);
        None
    }

    /// Bytes in the file when it was opened.
    fn size(&self) -> u64;

    /// The path it was opened by.
    fn path(&self) -> &Path;

    /// Asks the system to bring the range into its cache. A hint: it never fails and never waits.
    fn prefetch(&self, offset: u64, length_bytes: u64) {
        let _ = (offset, length_bytes);
    }

    /// The unit to which offset, length and buffer address should be aligned for reads without a bounce buffer;
    /// `None` for files not opened `direct`.
    fn direct_alignment(&self) -> Option<usize> {
        None
    }

    /// The descriptor on which a batch backend may read this file itself. Wrappers that change what a read returns
    /// answer `None`, and are then read through [`read_at`](Self::read_at).
    fn raw_fd(&self) -> Option<i32> {
        None
    }
}

/// A file read once, front to back.
pub trait SequentialFile: Send + Debug {
    /// Reads the next bytes; fewer than the buffer holds only at the end of the file, where it returns `Ok(0)`.
    ///
    /// # Errors
    /// `Io` naming the file when the device fails.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;

    /// Passes over `count` bytes; passing the end is not an error.
    ///
    /// # Errors
    /// `Io` naming the file when the device fails.
    fn skip(&mut self, count: u64) -> Result<()>;

    /// The path it was opened by.
    fn path(&self) -> &Path;
}

/// A file that is appended to, by one thread at a time. Dropping it closes it, ignoring errors.
pub trait WritableFile: Send + Debug {
    /// Adds bytes at the end. They may wait in user space until [`flush`](Self::flush). On an error, none or some of
    /// the bytes may have been added.
    ///
    /// # Errors
    /// `Io` or `NoSpace` naming the file. After a failed `sync`, its error on every call.
    fn append(&mut self, data: &[u8]) -> Result<()>;

    /// Hands buffered bytes to the operating system: they then survive the process, and readers see them.
    ///
    /// # Errors
    /// `Io` or `NoSpace` naming the file. After a failed `sync`, its error on every call.
    fn flush(&mut self) -> Result<()>;

    /// Flushes, then makes every appended byte and the file's size durable.
    ///
    /// # Errors
    /// `Io` or `NoSpace` naming the file. The error stays: the system may have dropped the pages, so that a later sync
    /// which succeeds would prove nothing.
    fn sync(&mut self) -> Result<()>;

    /// Flushes, gives back reserved space (the file ends where the appended bytes end) and closes. Not durable without
    /// a `sync`. A second call does nothing.
    ///
    /// # Errors
    /// `Io` or `NoSpace` naming the file when bytes that were still buffered cannot be written.
    fn close(&mut self) -> Result<()>;

    /// Appended bytes, with those the file had when it was reopened. Reserved space does not count.
    fn size(&self) -> u64;

    /// The path it was opened by.
    fn path(&self) -> &Path;

    /// Asks `limiter` before bytes are handed to the system, at `priority`; `None` removes it.
    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority);

    /// How bytes reach the file now: `buffered`, `direct`, `mapped`, `memory`. It may change while the file is open.
    fn append_backend(&self) -> &'static str;
}

/// Holds a lock until it is dropped.
pub trait FileLock: Send + Sync + Debug {
    /// The locked path.
    fn path(&self) -> &Path;
}
