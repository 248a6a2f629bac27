//! Files whose reads wait for a rate limiter.
//!
//! The wrapper only names the limiter: the functions of [`ranges`](crate::ranges) ask it, for what they are about to
//! request from the device (with the bytes of alignment and gaps), where the context of the read has a priority. So a
//! ring may read the file itself, and what lies in a cache or a mapping is free. Requests are not cut at the limiter's
//! burst: the limiter grants a long one in pieces, and the device then gets it whole.
//!
//! What a thread would wait for where it must not, it leaves to another one: a read that is polled by a task, or that
//! is started ahead of need, waits for the limiter on a thread of the file system.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use ferrock_base::Result;

use crate::file::RandomAccessFile;
use crate::ranges::{Descriptor, ReadContext, ReadLabel, ReadLayer};
use crate::rate_limiter::{IoKind, RateLimiter, limiter_of};

/// The file, whose reads ask `limiter` from now on; the same file without a limiter of reads.
#[must_use]
pub fn limited(file: Arc<dyn RandomAccessFile>, limiter: Option<&Arc<dyn RateLimiter>>) -> Arc<dyn RandomAccessFile> {
    match limiter_of(limiter.cloned(), IoKind::Read) {
        Some(limiter) => Arc::new(LimitedFile { file, limiter }),
        None => file,
    }
}

/// True where a read must wait for the limiter of its file.
#[inline]
pub(crate) fn is_limited(file: &dyn RandomAccessFile, context: &ReadContext) -> bool {
    context.rate_limiter_priority.is_some() && file.rate_limiter().is_some()
}

/// Returns once the file's limiter allows `bytes` to be read.
#[inline]
pub(crate) fn wait_for_limiter(file: &dyn RandomAccessFile, context: &ReadContext, bytes: u64) {
    if let Some(priority) = context.rate_limiter_priority
        && let Some(limiter) = file.rate_limiter()
    {
        limiter.request(bytes, priority);
    }
}

#[derive(Debug)]
struct LimitedFile {
    file: Arc<dyn RandomAccessFile>,
    limiter: Arc<dyn RateLimiter>,
}

impl RandomAccessFile for LimitedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize> {
        self.file.read_at(offset, buffer, label)
    }

    fn reads_at_once(&self) -> bool {
        self.file.reads_at_once()
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        self.file.read_layer()
    }

    fn mapping(&self) -> Option<&Bytes> {
        self.file.mapping()
    }

    fn size(&self) -> u64 {
        self.file.size()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }

    fn prefetch(&self, offset: u64, length_bytes: u64) {
        self.file.prefetch(offset, length_bytes);
    }

    fn prefetches(&self) -> bool {
        self.file.prefetches()
    }

    fn direct_alignment(&self) -> Option<usize> {
        self.file.direct_alignment()
    }

    fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        self.file.read_cached(offset, buffer)
    }

    fn descriptor(&self) -> Option<Descriptor> {
        self.file.descriptor()
    }

    fn rate_limiter(&self) -> Option<&dyn RateLimiter> {
        Some(&*self.limiter)
    }
}

#[cfg(test)]
mod tests;
