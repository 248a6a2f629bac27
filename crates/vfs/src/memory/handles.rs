//! Open files of the in-memory file system. They hold the file itself, so that it outlives its name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use ferrock_base::{Error, Result};

use super::node::FileNode;
use super::{MemoryFileSystem, name};
use crate::file::{FileLock, RandomAccessFile, SequentialFile, WritableFile};
use crate::options::{RandomAccessOptions, WritableOptions};
use crate::ranges::{ReadClass, ReadLabel, ReadLayer};
use crate::rate_limiter::{IoKind, IoPriority, RateLimiter, limiter_of};

#[derive(Debug)]
pub(super) struct MemoryRandomAccessFile {
    file_system: MemoryFileSystem,
    node: Arc<FileNode>,
    /// The bytes when it was opened, for a mapped file.
    mapping: Option<Bytes>,
    path: PathBuf,
    size: u64,
    alignment: Option<usize>,
}

impl MemoryRandomAccessFile {
    pub(super) fn new(
        file_system: MemoryFileSystem,
        node: Arc<FileNode>,
        path: PathBuf,
        options: &RandomAccessOptions,
    ) -> Self {
        let mapping = options.mmap.then(|| Bytes::from_owner(SharedBytes(node.data())));
        let size = node.size();
        let alignment = options.direct.then(|| file_system.shared.direct_unit.load(Ordering::Relaxed));
        Self { file_system, node, mapping, path, size, alignment }
    }
}

/// The bytes of a file as the owner of what is read of them.
struct SharedBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl RandomAccessFile for MemoryRandomAccessFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize> {
        let read = self.node.read_at(offset, buffer);
        let counters = self.file_system.shared.layer.counters();
        if self.mapping.is_some() {
            counters.mapped_read(read as u64);
            return Ok(read);
        }
        counters.read(read as u64, 1);
        // The span of units that a device would read.
        let unit = self.alignment.unwrap_or(1) as u64;
        let start = offset - offset % unit;
        let device_bytes = (offset - start + buffer.len() as u64).next_multiple_of(unit);
        counters.device_request(label, device_bytes);
        self.file_system.log_read(&self.path, start, device_bytes, label.class);
        Ok(read)
    }

    fn reads_at_once(&self) -> bool {
        true
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        Some(&self.file_system.shared.layer)
    }

    fn mapping(&self) -> Option<&Bytes> {
        self.mapping.as_ref()
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn prefetch(&self, offset: u64, length_bytes: u64) {
        self.file_system.log_prefetch(&self.path, offset..offset.saturating_add(length_bytes));
    }

    fn prefetches(&self) -> bool {
        self.alignment.is_none() && self.mapping.is_none() && self.file_system.prefetches()
    }

    fn direct_alignment(&self) -> Option<usize> {
        self.alignment
    }
}

#[derive(Debug)]
pub(super) struct MemorySequentialFile {
    file_system: MemoryFileSystem,
    node: Arc<FileNode>,
    path: PathBuf,
    position: u64,
}

impl MemorySequentialFile {
    pub(super) fn new(file_system: MemoryFileSystem, node: Arc<FileNode>, path: PathBuf) -> Self {
        Self { file_system, node, path, position: 0 }
    }
}

impl SequentialFile for MemorySequentialFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.node.read_at(self.position, buffer);
        self.position += read as u64;
        let counters = self.file_system.shared.layer.counters();
        counters.read(read as u64, 1);
        counters.device_request(ReadLabel::whole(ReadClass::Other, read), read as u64);
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.position = self.position.saturating_add(count);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A file being appended to. Bytes wait in `buffer` as they would in a process, where a crash of the process loses
/// them: they reach the file by `flush`, or at once when unbuffered or mapped.
#[derive(Debug)]
pub(super) struct MemoryWritableFile {
    file_system: MemoryFileSystem,
    node: Arc<FileNode>,
    path: PathBuf,
    options: WritableOptions,
    buffer: Vec<u8>,
    /// Where each buffered append ends, so that a crash can keep them one by one.
    ends: Vec<usize>,
    limiter: Option<(Arc<dyn RateLimiter>, IoPriority)>,
    flushed_size: u64,
    closed: bool,
}

impl MemoryWritableFile {
    pub(super) fn new(
        file_system: MemoryFileSystem,
        node: Arc<FileNode>,
        path: PathBuf,
        options: &WritableOptions,
    ) -> Self {
        let flushed_size = node.size();
        let (buffer, ends) = Default::default();
        Self { file_system, node, path, options: *options, buffer, ends, limiter: None, flushed_size, closed: false }
    }

    fn check_open(&self) -> Result<()> {
        if self.closed {
            return Err(Error::invalid_argument("the file is closed").in_file(&self.path));
        }
        Ok(())
    }

    fn flush_buffer(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        if let Some((limiter, priority)) = &self.limiter {
            limiter.request(self.buffer.len() as u64, *priority);
        }
        let mut start = 0;
        for end in self.ends.drain(..) {
            self.node.append(&self.buffer[start..end]);
            start = end;
        }
        let shared = &self.file_system.shared;
        self.node.touch(shared.unix_seconds.load(Ordering::Relaxed));
        shared.layer.counters().write(self.options.purpose, self.buffer.len() as u64);
        self.flushed_size += self.buffer.len() as u64;
        self.buffer.clear();
    }
}

impl WritableFile for MemoryWritableFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.check_open()?;
        if data.is_empty() {
            return Ok(());
        }
        self.file_system.begin(&self.path, "append", || format!("append {} {}", name(&self.path), data.len()))?;
        self.file_system.shared.layer.counters().append(self.options.purpose, data.len() as u64);
        self.buffer.extend_from_slice(data);
        self.ends.push(self.buffer.len());
        let mapped = self.options.mapped_append && !self.options.direct;
        if mapped || self.buffer.len() > self.options.buffer_bytes {
            self.flush_buffer();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.check_open()?;
        self.flush_buffer();
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.file_system.begin(&self.path, "sync", || format!("sync {}", name(&self.path)))?;
        self.file_system.shared.layer.counters().sync(self.options.purpose);
        self.node.sync();
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if !self.closed {
            self.flush_buffer();
            self.node.trim();
            self.closed = true;
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        self.flushed_size + self.buffer.len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority) {
        self.limiter = limiter_of(limiter, IoKind::Write).map(|limiter| (limiter, priority));
    }

    fn append_backend(&self) -> &'static str {
        "memory"
    }
}

impl Drop for MemoryWritableFile {
    fn drop(&mut self) {
        // Cannot fail: it writes to memory.
        let _ = self.close();
    }
}

#[derive(Debug)]
pub(super) struct MemoryFileLock {
    node: Arc<FileNode>,
    path: PathBuf,
}

impl MemoryFileLock {
    pub(super) fn new(node: Arc<FileNode>, path: PathBuf) -> Self {
        Self { node, path }
    }
}

impl FileLock for MemoryFileLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryFileLock {
    fn drop(&mut self) {
        self.node.unlock();
    }
}
