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

use super::entry::bad_entry;
use super::entry_sums::{EntrySums, piece_sum};
use super::flat_decode::{Decoded, flat_budget};
use super::index_format::IndexFormat;
use super::index_search::{FlatIndex, FlatIndexBuilder, RestartHeads};
use super::index_walker::IndexWalker;
use super::layout::BlockLayout;
use super::row_bounds::RowBounds;
use crate::handle::BlockHandle;
use ferrock_base::{Error, InternalComparator, Result};

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
    /// Of the entries, or of the restart intervals.
    sums: Option<Box<EntrySums>>,
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
                    return Ok(Self { format, layout, form: Form::Flat(flat), entry_count, rows: None, sums: None });
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
        Ok(Self { format, layout, form, entry_count, rows: None, sums: None })
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

    /// Keeps checksums of the entries, which cursors compare from now on. Row bounds have none.
    #[must_use]
    pub fn protected(mut self) -> Self {
        let pieces = match &self.form {
            Form::Flat(_) | Form::Interpolated(_) => self.entry_count,
            Form::Restarts { .. } => self.layout.restart_count,
        };
        self.sums = Some(Box::new(EntrySums::new((0..pieces).map(|index| self.sum(index)))));
        self
    }

    /// True when there are checksums.
    #[inline]
    pub(super) fn is_protected(&self) -> bool {
        self.sums.is_some()
    }

    /// False when there are checksums, and that of an entry of a flat index, or of a restart interval, is another one
    /// now.
    #[inline(always)]
    pub(super) fn piece_holds(&self, index: usize) -> bool {
        self.sums.is_none() || self.summed_piece_holds(index)
    }

    #[cold]
    #[inline(never)]
    fn summed_piece_holds(&self, index: usize) -> bool {
        self.sums.as_ref().is_none_or(|sums| sums.holds(index, || self.sum(index)))
    }

    #[inline(never)]
    fn sum(&self, index: usize) -> u64 {
        match &self.form {
            Form::Flat(flat) | Form::Interpolated(flat) => flat.entry_sum(index),
            Form::Restarts { bytes, .. } => {
                let piece = self.layout.restart(bytes, index)..self.layout.restart(bytes, index + 1);
                piece_sum(bytes, index, piece)
            }
        }
    }

    /// Turns over the bit that `choose` chooses of a number of bits, as if it had changed in memory.
    #[cfg(test)]
    pub(super) fn flip_bit(&mut self, choose: impl FnOnce(usize) -> usize) {
        match &mut self.form {
            Form::Flat(flat) | Form::Interpolated(flat) => flat.flip_bit(choose),
            Form::Restarts { bytes, .. } => {
                let bit = choose(8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
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
        let sums = self.sums.as_ref().map_or(0, |sums| sums.memory_bytes() + size_of::<EntrySums>());
        form + rows + sums + size_of::<Self>()
    }
}
