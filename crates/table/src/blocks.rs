//! Decoded blocks, and the ways to hold one: in the shared cache, or owned by the code that loaded it.

use bytes::Bytes;
use ferrock_base::pages::Pages;
use ferrock_base::{Error, Result};
use ferrock_cache::{BlockCache, EntryRole, Handle};
use ferrock_format::block::{DataBlock, IndexBlock};
use ferrock_format::filter::FilterKind;
use ferrock_vfs::ReadClass;
use std::ops::{Deref, Range};

/// The cache that tables share.
pub type TableBlockCache = BlockCache<CachedBlock>;

/// Filters from this size on, those of 100,000 keys at 10 bits, lie in pages of their own, which go back to the system
/// with them. In the heap a table that is replaced leaves a hole, of which a merge of many tables makes one of many
/// megabytes that nothing fills: with filters of 250 KB the inserts of `lsm_at_scale LIBRARY DIR leveled 16000000`
/// (dev/interop) took 214 MB of memory, and take 180.
const PAGES_FROM_BYTES: usize = 128 << 10;

/// A filter payload with its parsed metadata.
#[derive(Debug)]
pub struct FilterBlock {
    payload: Bytes,
    kind: FilterKind,
    /// Memory that the payload takes; 0 for that of a mapped file.
    allocated: usize,
}

impl FilterBlock {
    /// Takes over a filter payload.
    #[must_use]
    pub fn new(payload: Vec<u8>) -> Self {
        let kind = FilterKind::parse(&payload);
        if payload.len() < PAGES_FROM_BYTES {
            return Self { allocated: payload.capacity(), payload: Bytes::from(payload), kind };
        }
        let mut pages = Pages::new(payload.len());
        pages.copy_from_slice(&payload);
        Self { allocated: pages.len(), payload: Bytes::from_owner(pages), kind }
    }

    /// The same over a payload that lies in the mapping of a file and takes no memory of its own.
    #[must_use]
    pub fn mapped(payload: Bytes) -> Self {
        let kind = FilterKind::parse(&payload);
        Self { allocated: 0, payload, kind }
    }

    /// False only when the key (or prefix) was certainly not added.
    #[inline]
    #[must_use]
    pub fn may_match(&self, key: &[u8]) -> bool {
        self.kind.may_match(&self.payload, key)
    }
}

/// A block as it lies in the cache: verified, uncompressed, its layout checked.
#[derive(Debug)]
pub enum CachedBlock {
    /// A data block.
    Data(DataBlock),
    /// An index block, an index partition, a top-level index, or the index of filter partitions.
    Index(IndexBlock),
    /// A filter, or a partition of one.
    Filter(FilterBlock),
    /// A value of a blob file.
    Blob(Box<[u8]>),
}

impl CachedBlock {
    /// Bytes that the cache charges for the block.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Data(block) => block.memory_bytes(),
            Self::Index(block) => block.memory_bytes(),
            Self::Filter(block) => block.allocated + size_of::<Self>(),
            Self::Blob(value) => value.len() + size_of::<Self>(),
        }
    }

    /// True when the bytes lie in the mapping of a file.
    pub(crate) fn is_mapped(&self) -> bool {
        match self {
            Self::Data(block) => block.is_mapped(),
            Self::Index(_) | Self::Blob(_) => false,
            Self::Filter(block) => block.allocated == 0,
        }
    }

    /// The data block; another kind under this handle is corruption.
    #[inline]
    pub(crate) fn data(&self) -> Result<&DataBlock> {
        match self {
            Self::Data(block) => Ok(block),
            _ => Err(wrong_kind("data")),
        }
    }

    #[inline]
    pub(crate) fn index(&self) -> Result<&IndexBlock> {
        match self {
            Self::Index(block) => Ok(block),
            _ => Err(wrong_kind("index")),
        }
    }

    #[inline]
    pub(crate) fn filter(&self) -> Result<&FilterBlock> {
        match self {
            Self::Filter(block) => Ok(block),
            _ => Err(wrong_kind("filter")),
        }
    }
}

/// Two handles of the file name one block for different uses.
#[cold]
fn wrong_kind(expected: &str) -> Error {
    Error::corruption(format!("the block at this handle is not a {expected} block"))
}

/// What a block is for: decides how its bytes are decoded and how the cache treats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockRole {
    Data,
    /// An index block or partition.
    Index,
    /// The top level of a partitioned index.
    IndexTop,
    /// The index of filter partitions: never compressed.
    FilterIndex,
    Filter,
}

impl BlockRole {
    pub(crate) fn entry_role(self) -> EntryRole {
        match self {
            Self::Data => EntryRole::DataBlock,
            Self::Index => EntryRole::IndexBlock,
            Self::IndexTop => EntryRole::IndexMetaBlock,
            Self::FilterIndex => EntryRole::FilterMetaBlock,
            Self::Filter => EntryRole::FilterBlock,
        }
    }

    /// The class under which the file layer counts a read of the block.
    pub(crate) fn read_class(self) -> ReadClass {
        match self {
            Self::Data => ReadClass::Data,
            Self::Index | Self::IndexTop => ReadClass::Index,
            Self::Filter | Self::FilterIndex => ReadClass::Filter,
        }
    }
}

/// Keeps a block alive: in the cache, or on its own.
pub(crate) type BlockRef = Handle<CachedBlock>;

/// A block either borrowed from the reader, which keeps it, or held by a reference of its own.
#[derive(Debug)]
pub(crate) enum BlockGuard<'a> {
    Borrowed(&'a BlockRef),
    Held(BlockRef),
}

impl BlockGuard<'_> {
    /// The same block without the borrow; costs one reference count.
    pub(crate) fn into_held(self) -> BlockRef {
        match self {
            Self::Borrowed(block) => block.clone(),
            Self::Held(block) => block,
        }
    }
}

impl Deref for BlockGuard<'_> {
    type Target = CachedBlock;

    #[inline]
    fn deref(&self) -> &CachedBlock {
        match self {
            Self::Borrowed(block) => block,
            Self::Held(block) => block,
        }
    }
}

/// The block of the value that a lookup visits, and the value's position in it.
#[derive(Debug)]
pub struct PinnedBlock<'a> {
    pub(crate) block: &'a BlockRef,
    pub(crate) value: Range<usize>,
}

impl PinnedBlock<'_> {
    /// Keeps the value readable after the lookup: one reference count, no copy.
    #[must_use]
    pub fn pin(&self) -> BlockPin {
        BlockPin { block: self.block.clone(), value: self.value.clone() }
    }
}

/// A value kept in place in its block, or a value of a blob file.
#[derive(Clone, Debug)]
pub struct BlockPin {
    block: BlockRef,
    value: Range<usize>,
}

impl BlockPin {
    /// A value of a blob file; of another kind of block there is nothing.
    #[must_use]
    pub fn of_blob(block: Handle<CachedBlock>) -> Self {
        let length = if let CachedBlock::Blob(value) = &*block { value.len() } else { 0 };
        Self { block, value: 0..length }
    }

    /// The value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> &[u8] {
        match &*self.block {
            CachedBlock::Data(block) => block.bytes().get(self.value.clone()).unwrap_or(&[]),
            CachedBlock::Blob(value) => value.get(self.value.clone()).unwrap_or(&[]),
            CachedBlock::Index(_) | CachedBlock::Filter(_) => &[],
        }
    }
}

impl Deref for BlockPin {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.value()
    }
}
