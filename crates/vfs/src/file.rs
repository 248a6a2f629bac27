//! The contracts of open files. Durability: see [`FileSystem`](crate::FileSystem).

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use ferrock_base::Result;

use crate::ranges::{Descriptor, ReadLabel, ReadLayer};
use crate::rate_limiter::{IoPriority, RateLimiter};

/// A file read at any offset, by many threads at once.
pub trait RandomAccessFile: Send + Sync + Debug {
    /// Reads at `offset` until `buffer` is full or the file ends, and returns the bytes read; counted by a label. Past
    /// the end: `Ok(0)`. One request if the range is aligned.
    ///
    /// # Errors
    /// `Io` naming the file when the device fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize>;

    /// True if reads are so fast that starting them ahead does not pay.
    fn reads_at_once(&self) -> bool {
        false
    }

    /// The layer that the file system shares with its files for range reads.
    fn read_layer(&self) -> Option<&ReadLayer> {
        None
    }

    /// The bytes of a mapped file, which are read where they lie; `None` for a file that is not mapped.
    fn mapping(&self) -> Option<&Bytes> {
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

    /// True if [`prefetch`](Self::prefetch) has an effect, so that a sequential reader needs only small buffers.
    fn prefetches(&self) -> bool {
        false
    }

    /// The unit, a power of two, to which offset, length and buffer address should be aligned for reads without a
    /// bounce buffer; `None` for files not opened `direct`.
    fn direct_alignment(&self) -> Option<usize> {
        None
    }

    /// Reads at `offset` what the page cache has there, without a wait for the device. Gives how many bytes came, which
    /// may be fewer than the file has, or `None` where the cache cannot be asked: also in wrappers that change what a
    /// read returns.
    fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        let _ = (offset, buffer);
        None
    }

    /// The descriptor by which a ring may read this file itself. Wrappers that change what a read returns answer
    /// `None`, and are then read through [`read_at`](Self::read_at).
    fn descriptor(&self) -> Option<Descriptor> {
        None
    }

    /// The limiter that a read waits for whose context has a priority; `None` without one. See
    /// [`limited`](crate::limited).
    fn rate_limiter(&self) -> Option<&dyn RateLimiter> {
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

    /// Asks `limiter` before bytes are handed to the system, at `priority`; `None`, or a limiter of reads, removes it.
    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority);

    /// How bytes reach the file now: `buffered`, `direct`, `mapped`, `memory`. It may change while the file is open.
    fn append_backend(&self) -> &'static str;
}

/// Holds a lock until it is dropped.
pub trait FileLock: Send + Sync + Debug {
    /// The locked path.
    fn path(&self) -> &Path;
}
