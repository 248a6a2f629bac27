//! The bytes of a plain table's file: the one place that says how they come into memory.

use bytes::Bytes;
use ferrock_base::{Error, Result};
use ferrock_format::plain_table::MAX_FILE_SIZE;
use ferrock_vfs::{RandomAccessFile, ReadClass, ReadLabel};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// All bytes of a file: in memory of their own, or where a mapping has them.
pub(super) struct FileBytes {
    bytes: Bytes,
    is_mapped: bool,
}

impl std::fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

impl FileBytes {
    /// Maps a file that was opened mapped, and reads any other as a whole.
    ///
    /// # Errors
    /// `NotSupported` for a file that is longer than a plain table can be; `Corruption` for one that ends early; the
    /// error of the read.
    pub(super) fn read(file: &dyn RandomAccessFile) -> Result<Self> {
        let size = file.size();
        if size > MAX_FILE_SIZE {
            let message = format!("a plain table of {size} bytes: the format has room for {MAX_FILE_SIZE}");
            return Err(Error::not_supported(message));
        }
        if let Some(bytes) = file.mapping() {
            return Ok(Self { bytes: bytes.clone(), is_mapped: true });
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        let label = ReadLabel::whole(ReadClass::Other, bytes.len());
        let read = file.read_at(0, &mut bytes, label)?;
        if read < bytes.len() {
            return Err(Error::corruption(format!("the file ends after {read} of {size} bytes")));
        }
        Ok(Self { bytes: Bytes::from(bytes), is_mapped: false })
    }

    /// Memory that the bytes take.
    pub(super) fn memory_bytes(&self) -> usize {
        if self.is_mapped { 0 } else { self.bytes.len() }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A value of a plain table, kept in place.
#[derive(Clone, Debug)]
pub struct PlainPin {
    pub(super) bytes: Arc<FileBytes>,
    pub(super) place: Range<usize>,
}

impl PlainPin {
    /// The value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.bytes.get(self.place.clone()).unwrap_or(&[])
    }
}

/// Where a value lies that a lookup visits.
#[derive(Clone, Copy, Debug)]
pub struct PlainValue<'a> {
    pub(super) bytes: &'a Arc<FileBytes>,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl PlainValue<'_> {
    /// Keeps the value readable after the lookup.
    #[inline]
    #[must_use]
    pub fn pin(self) -> PlainPin {
        PlainPin { bytes: Arc::clone(self.bytes), place: self.start..self.end }
    }
}
