//! Files that consult the rules before each operation.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ferrock_base::Result;
use ferrock_base::random::Random;

use super::descriptors::Descriptor;
use super::rule::{Fault, OperationKind};
use super::{Rules, fault_error};
use crate::file::{RandomAccessFile, SequentialFile, WritableFile};
use crate::ranges::{ReadLabel, ReadLayer};
use crate::rate_limiter::{IoPriority, RateLimiter};

fn flip_bit(data: &mut [u8], seed: u64) {
    let bit = Random::new(seed).below(data.len() as u64 * 8);
    if let Some(byte) = data.get_mut((bit / 8) as usize) {
        *byte ^= 1 << (bit % 8);
    }
}

/// Performs a read by `read`, with the given fault, if any.
fn faulty_read(
    rules: &Rules,
    path: &Path,
    buffer: &mut [u8],
    read: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> Result<usize> {
    match rules.consult(OperationKind::Read, &[path]) {
        None => read(buffer),
        Some(Fault::ShortRead { kept_bytes }) => {
            let kept = kept_bytes.min(buffer.len());
            read(&mut buffer[..kept])
        }
        Some(Fault::BitFlip { seed }) => {
            let count = read(buffer)?;
            flip_bit(&mut buffer[..count], seed);
            Ok(count)
        }
        Some(fault) => Err(fault_error(fault, "read", path)),
    }
}

#[derive(Debug)]
pub(super) struct FaultyRandomAccessFile {
    inner: Arc<dyn RandomAccessFile>,
    rules: Arc<Rules>,
    _descriptor: Descriptor,
}

impl FaultyRandomAccessFile {
    pub(super) fn new(inner: Arc<dyn RandomAccessFile>, rules: Arc<Rules>, descriptor: Descriptor) -> Self {
        Self { inner, rules, _descriptor: descriptor }
    }
}

impl RandomAccessFile for FaultyRandomAccessFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> Result<usize> {
        let read = |buffer: &mut [u8]| self.inner.read_at(offset, buffer, label);
        faulty_read(&self.rules, self.inner.path(), buffer, read).map_err(|error| error.at_offset(offset))
    }

    fn reads_at_once(&self) -> bool {
        self.inner.reads_at_once() && !self.rules.any.load(Ordering::Acquire)
    }

    fn read_layer(&self) -> Option<&ReadLayer> {
        self.inner.read_layer()
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn prefetch(&self, offset: u64, length_bytes: u64) {
        self.inner.prefetch(offset, length_bytes);
    }

    fn prefetches(&self) -> bool {
        self.inner.prefetches()
    }

    fn direct_alignment(&self) -> Option<usize> {
        self.inner.direct_alignment()
    }
}

#[derive(Debug)]
pub(super) struct FaultySequentialFile {
    inner: Box<dyn SequentialFile>,
    rules: Arc<Rules>,
    _descriptor: Descriptor,
}

impl FaultySequentialFile {
    pub(super) fn new(inner: Box<dyn SequentialFile>, rules: Arc<Rules>, descriptor: Descriptor) -> Self {
        Self { inner, rules, _descriptor: descriptor }
    }
}

impl SequentialFile for FaultySequentialFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let path = self.inner.path().to_path_buf();
        faulty_read(&self.rules, &path, buffer, |buffer| self.inner.read(buffer))
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.inner.skip(count)
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[derive(Debug)]
pub(super) struct FaultyWritableFile {
    inner: Box<dyn WritableFile>,
    rules: Arc<Rules>,
    /// `None` once the file is closed.
    descriptor: Option<Descriptor>,
}

impl FaultyWritableFile {
    pub(super) fn new(inner: Box<dyn WritableFile>, rules: Arc<Rules>, descriptor: Descriptor) -> Self {
        Self { inner, rules, descriptor: Some(descriptor) }
    }
}

impl WritableFile for FaultyWritableFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        let Some(fault) = self.rules.consult(OperationKind::Append, &[self.inner.path()]) else {
            return self.inner.append(data);
        };
        match fault {
            Fault::ShortWrite { kept_bytes } | Fault::TornWrite { kept_bytes } => {
                self.inner.append(&data[..kept_bytes.min(data.len())])?;
            }
            Fault::BitFlip { seed } => {
                let mut flipped = data.to_vec();
                flip_bit(&mut flipped, seed);
                self.inner.append(&flipped)?;
            }
            _ => {}
        }
        match fault {
            Fault::TornWrite { .. } | Fault::BitFlip { .. } => Ok(()),
            _ => Err(fault_error(fault, "append", self.inner.path())),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.rules.check(OperationKind::Flush, "flush", &[self.inner.path()])?;
        self.inner.flush()
    }

    fn sync(&mut self) -> Result<()> {
        self.rules.check(OperationKind::Sync, "sync", &[self.inner.path()])?;
        self.inner.sync()
    }

    fn close(&mut self) -> Result<()> {
        self.rules.check(OperationKind::Close, "close", &[self.inner.path()])?;
        let outcome = self.inner.close();
        self.descriptor = None;
        outcome
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn set_rate_limiter(&mut self, limiter: Option<Arc<dyn RateLimiter>>, priority: IoPriority) {
        self.inner.set_rate_limiter(limiter, priority);
    }

    fn append_backend(&self) -> &'static str {
        self.inner.append_backend()
    }
}
