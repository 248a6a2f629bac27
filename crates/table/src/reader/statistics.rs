//! Sizes and shapes of a table's blocks, counted by reading every one of them.
//!
//! ```text
//! data        blocks, entries                      hash index   blocks that have one, how full it is, what falls back
//! index       top level | partition partition ...  filter       top level | partition partition ...
//! ```
//!
//! The table's properties have some of these sums, but of a partitioned index or filter only what the writer put there:
//! no smallest and largest partition, and nothing of a hash index. *Stored* bytes are those of the file, with trailers.

use super::contents::TableContents;
use super::index_reader::handles;
use super::read_options::TableReadOptions;
use super::readahead::Readahead;
use crate::blocks::BlockRole;
use ferrock_base::internal_key::user_key;
use ferrock_base::{InternalIterator, Result};
use ferrock_format::block::{DataBlock, DataBlockIter, MAX_HASH_INDEX_BLOCK_SIZE, MAX_HASH_INDEX_RESTARTS};
use ferrock_format::filter::FilterKind;
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use ferrock_vfs::ReadContext;
use std::borrow::Cow;

/// Bytes read at a time.
const READAHEAD_BYTES: usize = 256 << 10;

/// A number of blocks and their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSizes {
    /// Blocks.
    pub count: u64,
    /// Their bytes in the file, with trailers.
    pub stored_bytes: u64,
    /// Their bytes before compression, without trailers.
    pub uncompressed_bytes: u64,
    /// The smallest, uncompressed.
    pub smallest_bytes: u64,
    /// The largest, uncompressed.
    pub largest_bytes: u64,
}

impl BlockSizes {
    fn add(&mut self, handle: BlockHandle, uncompressed: usize) {
        let bytes = uncompressed as u64;
        self.smallest_bytes = if self.count == 0 { bytes } else { self.smallest_bytes.min(bytes) };
        self.largest_bytes = self.largest_bytes.max(bytes);
        self.count += 1;
        self.stored_bytes += handle.size + BLOCK_TRAILER_SIZE as u64;
        self.uncompressed_bytes += bytes;
    }

    /// Takes in the blocks of another table.
    pub fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            let smallest = other.smallest_bytes;
            self.smallest_bytes = if self.count == 0 { smallest } else { self.smallest_bytes.min(smallest) };
        }
        self.largest_bytes = self.largest_bytes.max(other.largest_bytes);
        self.count += other.count;
        self.stored_bytes += other.stored_bytes;
        self.uncompressed_bytes += other.uncompressed_bytes;
    }
}

/// The data blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataStatistics {
    /// The blocks.
    pub blocks: BlockSizes,
    /// Entries in them.
    pub entries: u64,
    /// Restarts in them.
    pub restarts: u64,
}

/// The index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Tables whose index is partitioned.
    pub partitioned_tables: u64,
    /// Top levels; none where the index is one block.
    pub top_level: BlockSizes,
    /// Partitions, or the one block that is the whole index.
    pub partitions: BlockSizes,
    /// Entries of all partitions.
    pub entries: u64,
    /// Fewest entries of a partition.
    pub fewest_entries: u64,
    /// Most entries of a partition.
    pub most_entries: u64,
}

impl IndexStatistics {
    fn add_entries(&mut self, entries: usize) {
        let entries = entries as u64;
        // Called after the block itself was counted.
        self.fewest_entries = if self.partitions.count == 1 { entries } else { self.fewest_entries.min(entries) };
        self.most_entries = self.most_entries.max(entries);
        self.entries += entries;
    }

    fn merge(&mut self, other: &Self) {
        if other.partitions.count > 0 {
            let fewest = other.fewest_entries;
            self.fewest_entries = if self.partitions.count == 0 { fewest } else { self.fewest_entries.min(fewest) };
        }
        self.most_entries = self.most_entries.max(other.most_entries);
        self.entries += other.entries;
        self.partitioned_tables += other.partitioned_tables;
        self.top_level.merge(&other.top_level);
        self.partitions.merge(&other.partitions);
    }
}

/// Filters or filter partitions by implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterFormats {
    /// Legacy Bloom.
    pub legacy_bloom: u64,
    /// FastLocalBloom.
    pub fast_local_bloom: u64,
    /// Standard128Ribbon.
    pub ribbon: u64,
    /// Malformed, unknown or empty: they answer the same to every key.
    pub constant: u64,
}

/// The filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterStatistics {
    /// Tables that have a filter.
    pub tables: u64,
    /// Tables whose filter is partitioned.
    pub partitioned_tables: u64,
    /// Top levels; none where the filter is one block.
    pub top_level: BlockSizes,
    /// Partitions, or the one block that is the whole filter.
    pub partitions: BlockSizes,
    /// What the partitions are.
    pub formats: FilterFormats,
}

/// The hash indexes of data blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashIndexStatistics {
    /// Blocks that have one.
    pub blocks: u64,
    /// Blocks without one that have more restarts than a bucket can name.
    pub blocks_with_too_many_restarts: u64,
    /// Blocks without one that are larger than a block with one may be.
    pub blocks_too_large: u64,
    /// Other blocks without one: the writer did not build it, or had given it up for the table.
    pub other_blocks_without: u64,
    /// Bytes of the indexes.
    pub bytes: u64,
    /// Buckets.
    pub buckets: u64,
    /// Buckets that name one restart interval.
    pub single_buckets: u64,
    /// Buckets where keys of several restart intervals met.
    pub collided_buckets: u64,
    /// User keys in the blocks that have an index.
    pub keys: u64,
    /// User keys whose lookup falls back to bisection, because their bucket has a collision.
    pub keys_falling_back: u64,
}

impl HashIndexStatistics {
    /// Keys per bucket.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        ratio(self.keys, self.buckets)
    }

    /// Share of the lookups of present keys that fall back to bisection.
    #[must_use]
    pub fn fallback_ratio(&self) -> f64 {
        ratio(self.keys_falling_back, self.keys)
    }

    fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.blocks, other.blocks),
            (&mut self.blocks_with_too_many_restarts, other.blocks_with_too_many_restarts),
            (&mut self.blocks_too_large, other.blocks_too_large),
            (&mut self.other_blocks_without, other.other_blocks_without),
            (&mut self.bytes, other.bytes),
            (&mut self.buckets, other.buckets),
            (&mut self.single_buckets, other.single_buckets),
            (&mut self.collided_buckets, other.collided_buckets),
            (&mut self.keys, other.keys),
            (&mut self.keys_falling_back, other.keys_falling_back),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What a table, or several, consist of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStatistics {
    /// Tables.
    pub tables: u64,
    /// Bytes of their files.
    pub file_bytes: u64,
    /// Data blocks.
    pub data: DataStatistics,
    /// Indexes.
    pub index: IndexStatistics,
    /// Filters.
    pub filter: FilterStatistics,
    /// Hash indexes of data blocks.
    pub hash_index: HashIndexStatistics,
}

impl TableStatistics {
    /// Takes in those of another table.
    pub fn merge(&mut self, other: &Self) {
        self.tables += other.tables;
        self.file_bytes += other.file_bytes;
        self.data.blocks.merge(&other.data.blocks);
        self.data.entries += other.data.entries;
        self.data.restarts += other.data.restarts;
        self.index.merge(&other.index);
        self.filter.tables += other.filter.tables;
        self.filter.partitioned_tables += other.filter.partitioned_tables;
        self.filter.top_level.merge(&other.filter.top_level);
        self.filter.partitions.merge(&other.filter.partitions);
        let (formats, more) = (&mut self.filter.formats, &other.filter.formats);
        formats.legacy_bloom += more.legacy_bloom;
        formats.fast_local_bloom += more.fast_local_bloom;
        formats.ribbon += more.ribbon;
        formats.constant += more.constant;
        self.hash_index.merge(&other.hash_index);
    }

    fn add_data_block(&mut self, handle: BlockHandle, block: &DataBlock) {
        let (layout, bytes) = (block.layout(), block.bytes().len());
        self.data.blocks.add(handle, bytes);
        self.data.restarts += layout.restart_count() as u64;
        let hash = &mut self.hash_index;
        match block.hash_index_buckets() {
            Some(buckets) => {
                hash.blocks += 1;
                hash.bytes += buckets.total as u64 + 2;
                hash.buckets += buckets.total as u64;
                hash.single_buckets += buckets.single as u64;
                hash.collided_buckets += buckets.collided as u64;
            }
            None if layout.restart_count() > MAX_HASH_INDEX_RESTARTS => hash.blocks_with_too_many_restarts += 1,
            None if bytes > MAX_HASH_INDEX_BLOCK_SIZE => hash.blocks_too_large += 1,
            None => hash.other_blocks_without += 1,
        }
    }
}

impl TableContents<'_> {
    /// Reads every data block, index and filter block of the table past the cache, checks them, and counts.
    ///
    /// # Errors
    /// `Corruption` naming file and offset of the first block that is wrong; `Io` when the file cannot be read.
    pub fn statistics(&self) -> Result<TableStatistics> {
        let mut statistics =
            TableStatistics { tables: 1, file_bytes: self.description().file_size(), ..TableStatistics::default() };
        self.count(&mut statistics).map_err(|error| self.blocks().loader().in_file(error))?;
        Ok(statistics)
    }

    fn count(&self, statistics: &mut TableStatistics) -> Result<()> {
        self.count_index(&mut statistics.index)?;
        self.count_filter(&mut statistics.filter)?;
        let mut readahead = Readahead::fixed(READAHEAD_BYTES);
        let options = TableReadOptions { fill_cache: false, ..TableReadOptions::default() };
        self.blocks().visit_data_blocks(&options, &mut |position| {
            let handle = position.entry()?.handle;
            let block = readahead.data_block(self.blocks().loader(), handle, true)?;
            let block = block.data()?;
            statistics.add_data_block(handle, block);
            self.count_keys(block, statistics).map_err(|error| error.offset_by(handle.offset))?;
            Ok(true)
        })
    }

    fn count_keys(&self, block: &DataBlock, statistics: &mut TableStatistics) -> Result<()> {
        let has_hash_index = block.layout().has_hash_index();
        let decoder = self.blocks().loader().decoder();
        let mut iter = DataBlockIter::new(block, decoder.comparator().clone(), decoder.global_sequence());
        let mut previous: Option<Vec<u8>> = None;
        iter.seek_to_first();
        while iter.valid() {
            statistics.data.entries += 1;
            let key = user_key(iter.key());
            if has_hash_index && previous.as_deref() != Some(key) {
                statistics.hash_index.keys += 1;
                statistics.hash_index.keys_falling_back += u64::from(block.hash_index_falls_back(key));
                let kept = previous.get_or_insert_default();
                kept.clear();
                kept.extend_from_slice(key);
            }
            iter.next();
        }
        iter.status()
    }

    fn count_index(&self, index: &mut IndexStatistics) -> Result<()> {
        let (loader, root) = (self.blocks().loader(), self.description().index());
        let mut partitions = vec![root];
        if loader.cache().index_is_partitioned() {
            let top = self.uncompressed(root, BlockRole::Index)?;
            index.partitioned_tables = 1;
            index.top_level.add(root, top.len());
            let top = loader.read(root, BlockRole::Index, true)?;
            partitions = handles(&top)?;
        }
        for handle in partitions {
            let bytes = self.uncompressed(handle, BlockRole::Index)?;
            index.partitions.add(handle, bytes.len());
            let block = loader.decoder().index_block(bytes);
            index.add_entries(block.map_err(|error| error.at_offset(handle.offset))?.len());
        }
        Ok(())
    }

    fn count_filter(&self, filter: &mut FilterStatistics) -> Result<()> {
        let mut partitions = Vec::new();
        if let Some(handle) = self.description().meta().full_filter {
            partitions.push(handle);
        } else if let Some(handle) = self.description().meta().partitioned_filter {
            filter.partitioned_tables = 1;
            filter.top_level.add(handle, self.uncompressed(handle, BlockRole::FilterIndex)?.len());
            let top = self.blocks().loader().read(handle, BlockRole::FilterIndex, true)?;
            partitions = handles(&top)?;
            // Partitions without keys have no block; neighbours may share one.
            partitions.retain(|handle| handle.size > 0);
            partitions.dedup();
        } else {
            return Ok(());
        }
        filter.tables = 1;
        for handle in partitions {
            let payload = self.uncompressed(handle, BlockRole::Filter)?;
            filter.partitions.add(handle, payload.len());
            let formats = &mut filter.formats;
            *match FilterKind::parse(&payload) {
                FilterKind::LegacyBloom(_) => &mut formats.legacy_bloom,
                FilterKind::FastLocalBloom(_) => &mut formats.fast_local_bloom,
                FilterKind::Ribbon(_) => &mut formats.ribbon,
                FilterKind::AlwaysTrue | FilterKind::AlwaysFalse => &mut formats.constant,
            } += 1;
        }
        Ok(())
    }

    /// The bytes of a block before they are decoded.
    fn uncompressed(&self, handle: BlockHandle, role: BlockRole) -> Result<Vec<u8>> {
        let loader = self.blocks().loader();
        let (payload, compression) = loader.read_stored(handle, &ReadContext::default(), true)?;
        loader.decoder().uncompressed(Cow::Owned(payload), compression, handle, role)
    }
}
