//! A view of bytes read from a file.
//!
//! ```text
//!   memory_offset                                                   in the file
//!   |.........|###########################|.......|
//!             valid.start    |<- view ->|  valid.end      device_range() is `valid`, bytes() is the view
//! ```

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::pool::PooledMemory;

/// Where the bytes lie.
enum Storage {
    Pooled(PooledMemory),
    Owned(Vec<u8>),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Pooled(memory) => memory.bytes(),
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Bytes read from a file, without a copy. Clones and slices share the memory, which returns to its pool with the last
/// of them: a small slice of a long read keeps all of it allocated.
#[derive(Clone)]
pub struct ReadBuffer {
    storage: Arc<Storage>,
    /// File offset of the first byte of the storage.
    memory_offset: u64,
    /// The part of the storage that holds bytes of the file.
    valid: Range<usize>,
    /// The part of the storage that was asked for; within `valid`.
    view: Range<usize>,
    is_shared: bool,
}

impl fmt::Debug for ReadBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReadBuffer")
            .field("offset", &self.offset())
            .field("length", &self.view.len())
            .field("device_range", &self.device_range())
            .finish()
    }
}

impl ReadBuffer {
    /// A buffer of bytes that were read by other means.
    #[must_use]
    pub fn from_vec(offset: u64, bytes: Vec<u8>) -> Self {
        let whole = 0..bytes.len();
        let storage = Arc::new(Storage::Owned(bytes));
        Self { storage, memory_offset: offset, valid: whole.clone(), view: whole, is_shared: false }
    }

    /// The valid bytes of pooled memory whose first byte lies at `memory_offset` of the file.
    pub(crate) fn from_pool(memory_offset: u64, memory: PooledMemory, valid: Range<usize>) -> Self {
        debug_assert!(valid.end <= memory.bytes().len());
        let storage = Arc::new(Storage::Pooled(memory));
        Self { storage, memory_offset, view: valid.clone(), valid, is_shared: false }
    }

    /// The same buffer, with [`is_shared`](Self::is_shared) set.
    pub(crate) fn shared_if(self, is_shared: bool) -> Self {
        Self { is_shared, ..self }
    }

    /// File offset of the first byte.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.memory_offset + self.view.start as u64
    }

    /// The bytes that were asked for; fewer only at the end of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.storage.bytes()[self.view.clone()]
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// The range of the file that is in memory: the bytes, and those that alignment and neighbouring ranges added.
    /// [`slice`](Self::slice) returns any part of it.
    #[must_use]
    pub fn device_range(&self) -> Range<u64> {
        self.memory_offset + self.valid.start as u64..self.memory_offset + self.valid.end as u64
    }

    /// True if other reads were served by the same request, maybe with the same bytes.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Another range of the same memory; `None` if not all of it was read.
    #[must_use]
    pub fn slice(&self, file_offset: u64, length: usize) -> Option<Self> {
        let start = usize::try_from(file_offset.checked_sub(self.memory_offset)?).ok()?;
        let end = start.checked_add(length)?;
        let within = self.valid.start <= start && end <= self.valid.end;
        within.then(|| Self { view: start..end, ..self.clone() })
    }

    /// The same memory with another view: the part of a range that was read.
    pub(crate) fn cut_to(mut self, file_offset: u64, length: usize) -> Self {
        let start = usize::try_from(file_offset.saturating_sub(self.memory_offset)).unwrap_or(usize::MAX);
        let start = start.clamp(self.valid.start, self.valid.end);
        self.view = start..start.saturating_add(length).min(self.valid.end);
        self
    }
}

impl AsRef<[u8]> for ReadBuffer {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}
