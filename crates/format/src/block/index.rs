//! An index block in memory.
//!
//! One index block is searched thousands of times, so it is decoded when it is loaded. It takes one of two forms:
//!
//! - **flat**, for the bytewise order when it costs at most half as much again as the block (a byte or two per data
//!   block): common prefix once, a contiguous eight-byte head per entry, the rest of key and value behind; the block's
//!   own bytes are dropped.
//! - **restarts** otherwise (separators that share much under long restart intervals, other orders): the block as it
//!   is, with a contiguous array of heads of the restart keys where that is affordable.
//!
//! Loading walks every entry once, so a malformed one is found before the index is used.

use super::entry::{bad_entry, checked_range, decode_header, decode_index_header};
use super::flat_decode::{Decoded, flat_budget};
use super::index_search::{FlatIndex, FlatIndexBuilder, RestartHeads};
use super::key_buffer::KeyBuffer;
use super::layout::BlockLayout;
use super::row_bounds::RowBounds;
use crate::handle::BlockHandle;
use crate::trailer::BLOCK_TRAILER_SIZE;
use ferrock_base::coding::{get_varint32, get_varint64, unzigzag};
use ferrock_base::internal_key::{TRAILER_SIZE, user_key};
use ferrock_base::{Error, InternalComparator, Result};

/// The encoding of index blocks, from the table's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexFormat {
    /// Keys are user keys; otherwise internal keys.
    pub key_is_user_key: bool,
    /// Values are handles encoded as differences.
    pub value_is_delta_encoded: bool,
    /// Values end in the first internal key of their data block (index type 3).
    pub has_first_key: bool,
}

impl IndexFormat {
    /// The user key of a stored key.
    #[inline]
    pub(super) fn user_key<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        if self.key_is_user_key { key } else { user_key(key) }
    }
}

/// The search among entries (`index_block_search_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexSearch {
    /// Bisection.
    #[default]
    Binary,
    /// Interpolation between the keys.
    Interpolation,
    /// Interpolation in blocks whose writer found their keys evenly spread.
    Auto,
}

/// An index entry: where its block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    /// The block.
    pub handle: BlockHandle,
    /// The first internal key in it, for index type 3.
    pub first_key: Option<&'a [u8]>,
}

#[derive(Debug)]
pub(super) enum Form {
    Flat(FlatIndex),
    /// The same, searched by interpolation.
    Interpolated(FlatIndex),
    Restarts {
        bytes: Vec<u8>,
        heads: Option<RestartHeads>,
    },
}

/// A decoded index block: data-block index, partition, top level, or index of filter partitions.
#[derive(Debug)]
pub struct IndexBlock {
    pub(super) format: IndexFormat,
    pub(super) layout: BlockLayout,
    pub(super) form: Form,
    entry_count: usize,
    rows: Option<Box<RowsOfBlocks>>,
}

/// Row bounds, with the ordinals of the entries that they belong to.
#[derive(Debug)]
struct RowsOfBlocks {
    bounds: RowBounds,
    /// Ordinal of the entry at every restart; empty where that is the number of the restart.
    restart_ordinals: Vec<u32>,
}

impl IndexBlock {
    /// Decodes an uncompressed index block.
    ///
    /// # Errors
    /// `Corruption` when an entry is malformed or out of bounds; `NotSupported` for a block whose values are apart from
    /// its keys.
    pub fn new(bytes: Vec<u8>, format: IndexFormat, comparator: &InternalComparator) -> Result<Self> {
        let layout = BlockLayout::parse(&bytes)?;
        if layout.has_separate_values {
            return Err(Error::not_supported("index block with separate values"));
        }
        let bytewise = comparator.user().is_bytewise();
        let mut wanted = bytewise;
        if bytewise {
            match FlatIndex::decode(&bytes, &layout, format)? {
                Decoded::Flat(flat, entry_count) => {
                    return Ok(Self { format, layout, form: Form::Flat(flat), entry_count, rows: None });
                }
                Decoded::TooLarge => wanted = false,
                Decoded::OutOfOrder => {}
            }
        }
        let mut flat = FlatIndexBuilder::new(flat_budget(&bytes));
        let mut walker = IndexWalker::default();
        let mut entry_count = 0;
        let mut prefix: Option<Vec<u8>> = None;
        let mut restarts_met = 0;
        while walker.step(&bytes, &layout, format)? {
            entry_count += 1;
            walker.meet_restart(&bytes, &layout, &mut restarts_met)?;
            let key = format.user_key(walker.key.as_slice());
            match &mut prefix {
                None => prefix = Some(key.to_vec()),
                // A key that shares the whole prefix with its predecessor cannot shorten it.
                Some(prefix) if walker.shared < prefix.len() => {
                    let common = prefix.iter().zip(key).take_while(|(a, b)| a == b).count();
                    prefix.truncate(common);
                }
                Some(_) => {}
            }
        }
        // A restart inside an entry would make searches and backward steps read other entries than this walk did.
        if entry_count > 0 && restarts_met != layout.restart_count {
            return Err(bad_entry("a restart is not at an entry", layout.restart(&bytes, restarts_met)));
        }
        let prefix = prefix.unwrap_or_default();
        if wanted {
            let mut walker = IndexWalker::default();
            flat.begin(&prefix, entry_count, format);
            while wanted && walker.step(&bytes, &layout, format)? {
                let first_key = format.has_first_key.then(|| walker.first_key(&bytes));
                wanted = flat.add(walker.key.as_slice(), format, walker.handle, first_key);
            }
        }
        let form = if wanted {
            Form::Flat(flat.finish())
        } else {
            let heads = if bytewise { RestartHeads::build(&bytes, &layout, format, &prefix) } else { None };
            Form::Restarts { bytes, heads }
        };
        Ok(Self { format, layout, form, entry_count, rows: None })
    }

    /// Chooses how entries are found. Only bytewise keys are numbers to interpolate between; others are bisected.
    #[must_use]
    pub fn with_search(mut self, search: IndexSearch) -> Self {
        let interpolates = match search {
            IndexSearch::Binary => false,
            IndexSearch::Interpolation => true,
            IndexSearch::Auto => self.layout.is_uniform(),
        };
        self.form = match self.form {
            Form::Flat(flat) if interpolates => Form::Interpolated(flat),
            Form::Restarts { bytes, heads: Some(mut heads) } => {
                heads.interpolates = interpolates;
                Form::Restarts { bytes, heads: Some(heads) }
            }
            form => form,
        };
        self
    }

    /// Adds the row bounds of its data blocks, which must be as many as there are entries.
    ///
    /// # Errors
    /// `Corruption` when their numbers differ, and for a malformed entry.
    pub fn with_row_bounds(mut self, bounds: RowBounds) -> Result<Self> {
        if bounds.len() != self.entry_count {
            let (blocks, entries) = (bounds.len(), self.entry_count);
            return Err(Error::corruption(format!("row bounds of {blocks} blocks beside an index of {entries}")));
        }
        let mut restart_ordinals = Vec::new();
        if let Form::Restarts { bytes, .. } = &self.form
            && self.layout.restart_count < self.entry_count
        {
            let (mut walker, mut ordinal, mut met) = (IndexWalker::default(), 0u32, 0);
            while walker.step(bytes, &self.layout, self.format)? {
                if met < self.layout.restart_count && walker.at == self.layout.restart(bytes, met) {
                    restart_ordinals.push(ordinal);
                    met += 1;
                }
                ordinal += 1;
            }
        }
        self.rows = Some(Box::new(RowsOfBlocks { bounds, restart_ordinals }));
        Ok(self)
    }

    /// The row bounds that were added.
    #[inline]
    #[must_use]
    pub fn row_bounds(&self) -> Option<&RowBounds> {
        self.rows.as_ref().map(|rows| &rows.bounds)
    }

    /// Ordinal of the entry at a restart, for an index of restarts with row bounds.
    pub(super) fn restart_ordinal(&self, restart: usize) -> Option<usize> {
        match &self.rows.as_ref()?.restart_ordinals {
            ordinals if ordinals.is_empty() => Some(restart),
            ordinals => ordinals.get(restart).map(|&ordinal| ordinal as usize),
        }
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entry_count
    }

    /// True for the index of a table without data blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entry_count == 0
    }

    /// How keys and values are encoded.
    #[must_use]
    pub fn format(&self) -> IndexFormat {
        self.format
    }

    /// Bytes held, for cache charging.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let form = match &self.form {
            Form::Flat(flat) | Form::Interpolated(flat) => flat.memory_bytes(),
            Form::Restarts { bytes, heads } => bytes.capacity() + heads.as_ref().map_or(0, RestartHeads::memory_bytes),
        };
        let rows = self
            .rows
            .as_ref()
            .map_or(0, |rows| rows.bounds.memory_bytes() + rows.restart_ordinals.capacity() * size_of::<u32>());
        form + rows + size_of::<Self>()
    }
}

/// Reads index entries one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexWalker {
    pub(super) at: usize,
    pub(super) next_at: usize,
    pub(super) key: KeyBuffer,
    pub(super) handle: BlockHandle,
    first_key: std::ops::Range<usize>,
    /// Bytes the current key shares with the one before it.
    shared: usize,
}

impl IndexWalker {
    /// Prepares to read the entry at a restart.
    pub(super) fn go_to(&mut self, at: usize) {
        self.next_at = at;
        self.at = at;
        self.key.clear();
        self.handle = BlockHandle::NULL;
    }

    pub(super) fn first_key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.first_key.clone()).unwrap_or(&[])
    }

    /// Counts the restart that the current entry is at, if it is at one.
    #[inline]
    pub(super) fn meet_restart(&self, bytes: &[u8], layout: &BlockLayout, met: &mut usize) -> Result<()> {
        if self.at == layout.restart(bytes, *met) {
            if self.shared != 0 {
                return Err(bad_entry("shares a key across a restart", self.at));
            }
            *met += 1;
        }
        Ok(())
    }

    /// Reads the next entry; false at the end.
    pub(super) fn step(&mut self, bytes: &[u8], layout: &BlockLayout, format: IndexFormat) -> Result<bool> {
        let at = self.next_at;
        self.at = at;
        let Some(entries) = bytes.get(..layout.entries_end).filter(|entries| at < entries.len()) else {
            return Ok(false);
        };
        let delta = format.value_is_delta_encoded;
        let header = if delta { decode_index_header(entries, at) } else { decode_header(entries, at) };
        let header = header.ok_or_else(|| bad_entry("malformed lengths", at))?;
        let key = checked_range(header.end, header.non_shared, entries.len(), "the key reaches beyond the entries")?;
        if header.shared > self.key.as_slice().len() {
            return Err(bad_entry("shares more than the key before it has", at));
        }
        self.shared = header.shared;
        let value_at = key.end;
        self.key.replace_tail(header.shared, &entries[key]);
        if !format.key_is_user_key && self.key.as_slice().len() < TRAILER_SIZE {
            return Err(bad_entry("a key shorter than its trailer", at));
        }
        let value = if delta {
            value_at..entries.len()
        } else {
            checked_range(value_at, header.value_length, entries.len(), "the value reaches beyond the entries")?
        };
        let used = self.read_value(entries, value.clone(), format, !delta || header.shared == 0)?;
        self.next_at = if delta { used } else { value.end };
        Ok(true)
    }

    /// Reads handle and first key from `value`; returns where they end.
    fn read_value(
        &mut self,
        entries: &[u8],
        value: std::ops::Range<usize>,
        format: IndexFormat,
        is_full: bool,
    ) -> Result<usize> {
        let at = value.start;
        let input = &entries[value.clone()];
        let mut used;
        if is_full {
            (self.handle, used) = BlockHandle::decode(input).map_err(|error| error.at_offset(at as u64))?;
        } else {
            let (difference, length) = get_varint64(input).ok_or_else(|| bad_entry("malformed size difference", at))?;
            used = length;
            let offset = self.handle.end_with_trailer();
            let size = self.handle.size.checked_add_signed(unzigzag(difference));
            let (Some(offset), Some(size)) = (offset, size) else {
                return Err(bad_entry("the handle is out of bounds", at));
            };
            self.handle = BlockHandle { offset, size };
        }
        if self
            .handle
            .size
            .checked_add(BLOCK_TRAILER_SIZE as u64)
            .and_then(|size| size.checked_add(self.handle.offset))
            .is_none()
        {
            return Err(bad_entry("the handle is out of bounds", at));
        }
        self.first_key = 0..0;
        if format.has_first_key {
            let (length, bytes) = get_varint32(&input[used..]).ok_or_else(|| bad_entry("malformed first key", at))?;
            let start = at + used + bytes;
            self.first_key = checked_range(start, length as usize, value.end, "the first key is out of bounds")?;
            if self.first_key.len() < TRAILER_SIZE {
                return Err(bad_entry("a first key shorter than its trailer", at));
            }
            used = self.first_key.end - at;
        }
        Ok(at + used)
    }
}
