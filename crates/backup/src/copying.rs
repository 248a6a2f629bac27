//! Bytes from one file system to another: as fast as a rate limiter allows, with progress, until it is stopped.
//!
//! A copy of a file is synced before [`Copier::copy`] returns (unless the caller wants none of it), so that syncing
//! its directory makes it durable. A source that is shorter than it has to be is an error: it is no copy.

use ferrock_base::{Error, ErrorKind, Result};
use ferrock_engine::Db;
use ferrock_statistics::{Statistics, Ticker};
use ferrock_vfs::{FileSystem, IoPriority, RateLimiter, SequentialOptions, WritableOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes read and written at once.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// How far a copy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyProgress {
    /// Files that are in the copy.
    pub files_done: u64,
    /// Files of the copy.
    pub files: u64,
    /// Bytes that are in the copy, linked ones among them.
    pub bytes_done: u64,
    /// Bytes of the copy.
    pub bytes: u64,
}

/// Copies files. See the [module](self).
#[derive(Clone, Default)]
pub(crate) struct Copier {
    pub(crate) rate_limiter: Option<Arc<dyn RateLimiter>>,
    /// Set by another thread to end the copy.
    pub(crate) stop: Option<Arc<AtomicBool>>,
    /// Copies are left to the operating system: after a power failure they may be gone.
    pub(crate) leaves_unsynced: bool,
    /// Bytes read and written at once; 0: [`CHUNK_BYTES`].
    pub(crate) chunk_bytes: usize,
    /// Where bytes are counted.
    pub(crate) counts: Option<CopyCounts>,
}

/// Counts copied bytes in the statistics of the database that is copied.
#[derive(Clone)]
pub(crate) struct CopyCounts {
    statistics: Arc<Statistics>,
    read: Ticker,
    written: Ticker,
}

impl CopyCounts {
    /// `None` for a database without statistics.
    pub(crate) fn of(db: &Db, read: Ticker, written: Ticker) -> Option<Self> {
        db.statistics().map(|statistics| Self { statistics, read, written })
    }
}

impl Copier {
    /// # Errors
    /// `Incomplete` when the copy was stopped.
    pub(crate) fn check(&self) -> Result<()> {
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::new(ErrorKind::Incomplete, "the copy was stopped"));
        }
        Ok(())
    }

    /// Copies the first `length_bytes` of a file, or all of it, and syncs the copy. `visit` sees every piece as it is
    /// copied, in order. Returns the bytes of the copy.
    ///
    /// # Errors
    /// Those of the file systems; `Corruption` when the file is shorter; `Incomplete` when stopped. What was written
    /// is left for the caller to remove.
    pub(crate) fn copy(
        &self,
        (from_files, from): (&dyn FileSystem, &Path),
        (to_files, to): (&dyn FileSystem, &Path),
        length_bytes: Option<u64>,
        options: &WritableOptions,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<u64> {
        let mut source = from_files.open_sequential(from, &SequentialOptions::default())?;
        let mut target = to_files.create_writable(to, options)?;
        let mut left = length_bytes.unwrap_or(u64::MAX);
        let mut buffer = vec![0; if self.chunk_bytes == 0 { CHUNK_BYTES } else { self.chunk_bytes }];
        while left > 0 {
            self.check()?;
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let read = source.read(&mut buffer[..wanted])?;
            if read == 0 {
                break;
            }
            if let Some(limiter) = &self.rate_limiter {
                limiter.request(read as u64, IoPriority::Low);
            }
            target.append(&buffer[..read])?;
            if let Some(counts) = &self.counts {
                counts.statistics.add(counts.read, read as u64);
                counts.statistics.add(counts.written, read as u64);
            }
            visit(&buffer[..read]);
            left -= read as u64;
        }
        if let Some(length) = length_bytes.filter(|_| left > 0) {
            let what = format!("{} bytes of {length}: the file is shorter than the database says", length - left);
            return Err(Error::corruption(what).in_file(from));
        }
        if !self.leaves_unsynced {
            target.sync()?;
        }
        target.close()?;
        Ok(target.size())
    }

    /// Writes a small file and syncs it.
    pub(crate) fn write(&self, files: &dyn FileSystem, path: &Path, contents: &[u8]) -> Result<()> {
        self.check()?;
        let mut file = files.create_writable(path, &WritableOptions::default())?;
        file.append(contents)?;
        if let Some(counts) = &self.counts {
            counts.statistics.add(counts.written, contents.len() as u64);
        }
        if !self.leaves_unsynced {
            file.sync()?;
        }
        file.close()
    }
}
