//! The blocks of an open table: its index, its filter, and the loader that finds and reads them and the data blocks.
//!
//! A block that was read for a lookup or a scan is put where others find it: partitions of a reader without a cache
//! into the slot in which the reader keeps them, all other blocks into the cache.

use super::block_loader::{BlockLoader, short_read};
use super::direction::Direction;
use super::filter_reader::{FilterAnswer, FilterReader};
use super::index_fetcher::IndexFetcher;
use super::index_position::IndexPosition;
use super::index_reader::IndexReader;
use super::lookup::LookupCounts;
use super::read_options::{ReadTier, TableReadOptions};
use super::resident::{LoadedBlock, LoadedBlocks, NeededBlock};
use super::resident_index::ResidentIndex;
use crate::blocks::{BlockRef, BlockRole};
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{ErrorKind, LookupKey, MAX_SEQUENCE_NUMBER, Result, SeekTarget, ValueType};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The blocks of an open table.
#[derive(Debug)]
pub(crate) struct TableBlocks {
    loader: BlockLoader,
    index: IndexReader,
    filter: Option<FilterReader>,
}

/// What a scan asks the filter for.
#[derive(Clone, Copy)]
pub(super) enum Question<'k> {
    /// The prefix of a user key.
    Prefix(&'k [u8]),
    /// A user key.
    Key(&'k [u8]),
}

impl TableBlocks {
    pub(super) fn new(loader: BlockLoader, index: IndexReader, filter: Option<FilterReader>) -> Self {
        Self { loader, index, filter }
    }

    #[inline]
    pub(crate) fn loader(&self) -> &BlockLoader {
        &self.loader
    }

    /// The index, of which only what is in memory is asked.
    #[inline]
    pub(crate) fn resident_index(&self) -> ResidentIndex<'_> {
        ResidentIndex { index: &self.index, loader: &self.loader }
    }

    /// The index, whose blocks are loaded when they are needed.
    #[inline]
    pub(crate) fn index_fetcher<'a, 'o>(&'a self, options: &'o TableReadOptions) -> IndexFetcher<'a, 'o> {
        IndexFetcher { resident: self.resident_index(), options, scan: None }
    }

    /// The filter that lookups ask.
    #[inline]
    pub(crate) fn filter(&self) -> Option<&FilterReader> {
        self.filter.as_ref()
    }

    /// Shows `visit` the index at every data block, in order. Ends early when it returns false.
    pub(super) fn visit_data_blocks(
        &self,
        options: &TableReadOptions,
        visit: &mut dyn FnMut(&IndexPosition<'_>) -> Result<bool>,
    ) -> Result<()> {
        let index = self.index_fetcher(options);
        let mut position = IndexPosition::default();
        index.place(&mut position, SeekTarget::First)?;
        while position.valid() && visit(&position)? {
            index.step(&mut position, Direction::Forward)?;
        }
        Ok(())
    }

    /// Bytes to read for a block: with its trailer, and an index partition with its row bounds.
    pub(super) fn needed_length(&self, needed: NeededBlock) -> Result<usize> {
        let length = match needed.role {
            BlockRole::Index => self.loader.index_extent(needed.handle),
            _ => self.loader.stored_length(needed.handle),
        };
        length.map_err(|error| self.loader.in_file(error))
    }

    /// Reads a block that a lookup needs.
    #[cold]
    pub(super) fn load_needed(&self, options: &TableReadOptions, needed: NeededBlock) -> Result<LoadedBlock> {
        let NeededBlock { handle, role } = needed;
        let block = match self.kept_slot(needed) {
            None => self.loader.load_missing(handle, role, options, || self.loader.read_for(handle, role, options))?,
            Some(slot) => {
                let context = options.read_context(role.read_class());
                let block = BlockRef::standalone(self.loader.read_in(handle, role, &context, true)?);
                slot.get_or_init(|| block).clone()
            }
        };
        Ok(LoadedBlock { offset: handle.offset, block })
    }

    /// Checks and decodes the bytes that were read, and puts the block where this table has blocks of its kind.
    pub(super) fn finish_read(
        &self,
        options: &TableReadOptions,
        needed: NeededBlock,
        stored: Result<&[u8]>,
    ) -> Result<BlockRef> {
        let NeededBlock { handle, role } = needed;
        if role == BlockRole::Data {
            self.loader.note_block_read();
        }
        let stored = stored?;
        self.loader.count_batched_read(handle, role, options, stored.len());
        let length = self.needed_length(needed)?;
        if stored.len() < length {
            return Err(self.loader.in_file(short_read(handle.offset, length, stored.len())));
        }
        let slot = self.kept_slot(needed);
        let verify = options.verify_checksums || slot.is_some();
        let block = match role {
            BlockRole::Index => self.loader.decode_index_extent(stored.to_vec(), handle, verify)?,
            _ => self.loader.decode_stored(Cow::Borrowed(stored), handle, role, verify)?,
        };
        match slot {
            Some(slot) => Ok(slot.get_or_init(|| BlockRef::standalone(block)).clone()),
            None => {
                let kept = self.loader.cache().keep(handle, role, block, options);
                kept.map_err(|error| self.loader.in_file(error))
            }
        }
    }

    /// The block, if another lookup decoded it from the same read meanwhile. No cache access is counted: the miss of
    /// this lookup was counted when it began to read.
    pub(super) fn made_meanwhile(&self, needed: NeededBlock) -> Option<BlockRef> {
        let block = match self.kept_slot(needed) {
            Some(slot) => slot.get().cloned(),
            None => self.loader.cache().peek(needed.handle, needed.role),
        }?;
        if needed.role == BlockRole::Data {
            self.loader.note_block_read();
        }
        Some(block)
    }

    /// The root of the index, if it is not in memory; nothing is counted.
    #[inline]
    pub(super) fn missing_root(&self) -> Option<NeededBlock> {
        self.index.root().missing(&self.loader)
    }

    /// True when a block that was read is found by the next lookup: in the cache, or with the table.
    pub(super) fn keeps(&self, options: &TableReadOptions, needed: NeededBlock) -> bool {
        options.fills_cache_with(needed.role) || self.kept_slot(needed).is_some()
    }

    /// The slot in which the table itself keeps the block.
    fn kept_slot(&self, needed: NeededBlock) -> Option<&OnceLock<BlockRef>> {
        let kept = match needed.role {
            BlockRole::Index => self.index.partitions(),
            BlockRole::Filter => self.filter.as_ref().and_then(FilterReader::partitions),
            BlockRole::Data | BlockRole::IndexTop | BlockRole::FilterIndex => None,
        };
        kept.and_then(|partitions| partitions.slot(needed.handle))
    }

    /// What a filter that the table keeps says of a key, with the outcome of a lookup that it ends recorded; `None` for
    /// any other filter.
    #[inline]
    pub(super) fn kept_filter_answer(&self, user_key: &[u8], counts: &impl LookupCounts) -> Option<bool> {
        let filter = self.filter.as_ref()?;
        let may_match = filter.kept_answer(user_key)?;
        counts.note_filter(self.loader.cache().level(), true, may_match);
        if !may_match {
            filter.note_lookup(false);
        }
        Some(may_match)
    }

    /// What the filter says to a lookup, with the outcome of a lookup that it ends recorded.
    #[inline]
    pub(super) fn ask_filter(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        loaded: &LoadedBlocks,
        counts: &impl LookupCounts,
        was_asked: &mut bool,
    ) -> Result<FilterAnswer> {
        let Some(filter) = &self.filter else { return Ok(FilterAnswer::MayMatch) };
        let answer = filter.ask_key(&self.loader, key.user_key(), key.internal_key(), loaded, was_asked);
        if *was_asked && let Ok(answer) = &answer {
            let (level, is_absent) = (self.loader.cache().level(), matches!(answer, FilterAnswer::Absent));
            counts.note_filter(level, filter.is_of_keys(), !is_absent);
        }
        match answer.map_err(|error| self.loader.in_file(error))? {
            FilterAnswer::Absent => {
                filter.note_lookup(false);
                Ok(FilterAnswer::Absent)
            }
            // A filter that may not be read cannot exclude the key.
            FilterAnswer::Needs(_) if options.read_tier == ReadTier::BlockCacheOnly => Ok(FilterAnswer::MayMatch),
            answer => Ok(answer),
        }
    }

    /// Tells the filter, and where the lookup counts, whether a key that the filter let pass was there.
    #[inline]
    pub(super) fn note_outcome(&self, was_found: bool, passed_filter: bool, counts: &impl LookupCounts) {
        let Some(filter) = &self.filter else { return };
        filter.note_lookup(was_found);
        if was_found && passed_filter {
            counts.note_true_positive(self.loader.cache().level(), filter.is_of_keys());
        }
    }

    /// Tells the filter whether a key that it let pass was there.
    #[inline]
    pub(super) fn note_lookup(&self, was_found: bool) {
        if let Some(filter) = &self.filter {
            filter.note_lookup(was_found);
        }
    }

    /// What the filter says to a scan, which does not report the outcome. What it needs is read, but for a scan that
    /// pauses. A filter that may not be read, or that the cache has no room for, excludes nothing.
    pub(super) fn ask_for_scan(&self, options: &TableReadOptions, question: Question<'_>) -> Result<FilterAnswer> {
        let Some(filter) = &self.filter else { return Ok(FilterAnswer::MayMatch) };
        let mut loaded = LoadedBlocks::default();
        loop {
            let answer = match question {
                Question::Prefix(key) => filter.ask_prefix(&self.loader, key, &loaded),
                Question::Key(key) => {
                    let first = make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
                    filter.ask_key(&self.loader, key, &first, &loaded, &mut false)
                }
            };
            let needed = match answer.map_err(|error| self.loader.in_file(error))? {
                FilterAnswer::Needs(_) if options.read_tier == ReadTier::BlockCacheOnly => {
                    return Ok(FilterAnswer::MayMatch);
                }
                FilterAnswer::Needs(needed) if !options.pauses => needed,
                answer => return Ok(answer),
            };
            match self.load_needed(options, needed) {
                Ok(block) => loaded.add(block),
                Err(error) if error.kind() == ErrorKind::MemoryLimit => return Ok(FilterAnswer::MayMatch),
                Err(error) => return Err(error),
            }
        }
    }

    /// Memory of the blocks that are not in the cache.
    pub(super) fn memory_bytes(&self) -> usize {
        let filter = self.filter.as_ref().map_or(0, FilterReader::memory_bytes);
        self.index.memory_bytes() + self.loader.memory_bytes() + filter
    }
}
