//! The count of open files, for a file system on which few may be open.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::file::FileLock;

/// `EMFILE`, for which the standard library has no kind.
const TOO_MANY_OPEN_FILES: i32 = 24;

/// How many files are open, and how many may be.
#[derive(Debug)]
pub struct Descriptors {
    /// `u64::MAX` without a limit.
    limit: AtomicU64,
    open: AtomicU64,
}

impl Default for Descriptors {
    fn default() -> Self {
        Self { limit: AtomicU64::new(u64::MAX), open: AtomicU64::new(0) }
    }
}

impl Descriptors {
    pub fn set_limit(&self, limit: Option<u64>) {
        self.limit.store(limit.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit < u64::MAX)
    }

    pub fn open_files(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }
}

/// The descriptor of an open file; free again when dropped.
#[derive(Debug)]
pub struct Descriptor(Arc<Descriptors>);

impl Descriptor {
    /// Fails with `EMFILE` when as many files are open as may be.
    pub fn take(of: &Arc<Descriptors>) -> io::Result<Self> {
        let limit = of.limit.load(Ordering::Relaxed);
        let one_more = |open: u64| (open < limit).then(|| open + 1);
        of.open
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .map_err(|_| io::Error::from_raw_os_error(TOO_MANY_OPEN_FILES))?;
        Ok(Self(Arc::clone(of)))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A lock that holds a descriptor.
#[derive(Debug)]
pub struct CountedLock {
    inner: Box<dyn FileLock>,
    _descriptor: Descriptor,
}

impl CountedLock {
    pub fn new(inner: Box<dyn FileLock>, descriptor: Descriptor) -> Self {
        Self { inner, _descriptor: descriptor }
    }
}

impl FileLock for CountedLock {
    fn path(&self) -> &Path {
        self.inner.path()
    }
}
