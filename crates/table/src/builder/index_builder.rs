//! Collects separators and handles; writes the index at the end.
//!
//! ```text
//! kBinarySearch              one block: separator -> handle
//! kBinarySearchWithFirstKey  one block: separator -> handle, first internal key of the block
//! kHashSearch                metadata and prefixes of the hash, then one block with a restart for every entry
//! kTwoLevelIndexSearch       partitions, then the top level: last separator of a partition -> its handle;
//!                            of one partition, with partition_from_level = kAutomatic, as kBinarySearch if the filter
//!                            is not partitioned
//! ```
//!
//! Whether index keys are user keys or internal keys is known only when the last block is there: one user key that
//! continues in the next block makes the whole index need internal keys, all partitions and the top level. So entries
//! are kept and encoded once, at the end. Partition ends are decided earlier, by the estimated size of the partition,
//! because filter partitions may have to end with them.

use super::block_cut::block_limits;
use super::block_writer::BlockWriter;
use super::hash_prefixes::HashPrefixes;
use super::partition_cut::BlockEnd;
use super::row_bounds::RowBoundsLog;
use super::strings::Strings;
use crate::options::{BlockBasedTableOptions, IndexShorteningMode, IndexType, PartitionFromLevel};
use ferrock_base::coding::{put_varint32, put_varint64, varint_len, zigzag};
use ferrock_base::internal_key::{TRAILER_SIZE, append_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{InternalComparator, MAX_SEQUENCE_NUMBER, Result, ValueType};
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions, separator_between};
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;

/// First format version whose index keys may be user keys.
const FIRST_USER_KEY_VERSION: u32 = 3;
/// First format version whose index values may be differences.
const FIRST_DELTA_VERSION: u32 = 4;

/// How the entries of an index block are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexEncoding {
    pub(super) restart_interval: usize,
    pub(super) value_is_delta_encoded: bool,
    pub(super) key_is_user_key: bool,
    /// How unevenly keys may be spread for the hint that they are not; negative for no hint.
    pub(super) uniform_cv_threshold: f64,
    /// A key behind a gap between blocks is written whole, also if values are not delta-encoded.
    pub(super) gap_ends_sharing: bool,
}

impl IndexEncoding {
    /// True for the top level, the index of partitions.
    pub(super) fn of_top_level(self) -> Self {
        Self { uniform_cv_threshold: -1.0, gap_ends_sharing: false, ..self }
    }
}

/// Encodes index entries one behind the other.
#[derive(Debug)]
pub(super) struct IndexEncoder {
    encoding: IndexEncoding,
    block: BlockBuilder,
    full: Vec<u8>,
    delta: Vec<u8>,
    previous: Option<BlockHandle>,
}

impl IndexEncoder {
    pub(super) fn new(encoding: IndexEncoding) -> Self {
        let mut block = BlockBuilder::new(BlockBuilderOptions {
            restart_interval: encoding.restart_interval,
            use_delta_encoding: true,
            use_value_delta_encoding: encoding.value_is_delta_encoded,
        });
        if encoding.uniform_cv_threshold >= 0.0 {
            let ignored_bytes = if encoding.key_is_user_key { 0 } else { TRAILER_SIZE };
            block = block.with_uniform_hint(encoding.uniform_cv_threshold, ignored_bytes);
        }
        Self { encoding, block, full: Vec::new(), delta: Vec::new(), previous: None }
    }

    /// Adds an entry by its internal key.
    pub(super) fn add(&mut self, separator: &[u8], handle: BlockHandle, first_key: Option<&[u8]>) {
        self.full.clear();
        self.delta.clear();
        handle.encode_to(&mut self.full);
        // A difference says that the block follows the one before without a gap.
        let before = self.previous.filter(|before| before.end_with_trailer() == Some(handle.offset));
        if let Some(before) = before {
            put_varint64(&mut self.delta, zigzag((handle.size as i64).wrapping_sub(before.size as i64)));
        }
        if let Some(first_key) = first_key {
            for value in [&mut self.full, &mut self.delta] {
                put_varint32(value, first_key.len() as u32);
                value.extend_from_slice(first_key);
            }
        }
        if self.encoding.gap_ends_sharing && self.previous.is_some() && before.is_none() {
            self.block.share_nothing();
        }
        let key = if self.encoding.key_is_user_key { user_key(separator) } else { separator };
        self.block.add_index(key, &self.full, before.map(|_| &self.delta[..]));
        self.previous = Some(handle);
    }

    pub(super) fn finish(&mut self) -> &[u8] {
        self.block.finish()
    }

    fn reset(&mut self) {
        self.block.reset();
        self.previous = None;
    }
}

/// What only partitioned indexes need.
#[derive(Debug)]
struct Partitioning {
    size: usize,
    /// Fill at which a partition may be cut early.
    early_cut_size: usize,
    /// The open partition, for its size.
    open: IndexEncoder,
    /// Number of entries up to the end of each complete partition.
    ends: Vec<usize>,
    /// A filter partition is full and waits for the index partition to end.
    cut_requested: bool,
    /// A partition ended, and the filter has not followed.
    was_cut: bool,
    /// A single partition is written as a whole index.
    unites_one: bool,
    /// A partition ended for another reason than a large partition of keys.
    had_own_end: bool,
    /// Bytes of the partitions that ended because of a large partition of keys.
    set_apart_bytes: usize,
}

impl Partitioning {
    fn new(options: &BlockBasedTableOptions, encoding: IndexEncoding) -> Self {
        let (size, early_cut_size) = block_limits(options.metadata_block_size, options.block_size_deviation);
        let open = IndexEncoder::new(encoding);
        let unites_one = options.partition_from_level == PartitionFromLevel::Automatic;
        Self {
            size,
            early_cut_size,
            open,
            ends: Vec::new(),
            cut_requested: false,
            was_cut: false,
            unites_one,
            had_own_end: false,
            set_apart_bytes: 0,
        }
    }

    /// True for an index that is one partition but for cuts around large partitions of keys.
    fn is_one(&self) -> bool {
        !self.had_own_end && self.set_apart_bytes + self.open.block.size_estimate() <= self.size
    }

    /// True when the partition is to end before an entry for a block that ends in `last`.
    fn is_full(&self, last: &[u8], handle: BlockHandle) -> bool {
        let block = &self.open.block;
        if block.is_empty() {
            return false;
        }
        let size = block.size_estimate();
        let length = varint_len(handle.offset) + varint_len(handle.size);
        self.cut_requested
            || size >= self.size
            || size > self.early_cut_size && block.size_estimate_after(last, &[0; 20][..length]) > self.size
    }
}

/// Collects what the index is made of.
#[derive(Debug)]
pub(super) struct IndexBuilder {
    index_type: IndexType,
    shortening: IndexShorteningMode,
    encoding: IndexEncoding,
    /// As internal keys.
    separators: Strings,
    handles: Vec<BlockHandle>,
    /// First internal keys of the blocks, where the index holds them.
    first_keys: Strings,
    /// How many blocks have begun.
    begun_blocks: usize,
    partitioning: Option<Partitioning>,
    hash_prefixes: Option<HashPrefixes>,
    rows: Option<RowBoundsLog>,
    separator: Vec<u8>,
}

/// The index as it lies in the file.
#[derive(Debug)]
pub(super) struct WrittenIndex {
    /// The only block, or the top level.
    pub(super) root: BlockHandle,
    pub(super) meta_blocks: Vec<(&'static str, BlockHandle)>,
    /// Uncompressed bytes of all blocks, and one trailer.
    pub(super) size: u64,
    pub(super) partitions: u64,
    pub(super) top_level_size: u64,
    /// Blocks with the hint that their keys are evenly spread.
    pub(super) uniform_blocks: u64,
    /// Bytes of row bounds.
    pub(super) row_bounds_size: Option<u64>,
}

impl IndexBuilder {
    pub(super) fn new(options: &BlockBasedTableOptions, prefix_extractor: Option<&PrefixExtractor>) -> Self {
        let hash_prefixes = match (options.index_type, prefix_extractor) {
            (IndexType::HashSearch, Some(extractor)) => Some(HashPrefixes::new(extractor.clone())),
            _ => None,
        };
        let restart_interval = match options.index_type {
            // The hash index stores restart numbers, which equal block numbers.
            IndexType::HashSearch => 1,
            _ => usize::try_from(options.index_block_restart_interval).unwrap_or(1),
        };
        let encoding = IndexEncoding {
            restart_interval,
            // A delta-encoded handle cannot express padding between blocks.
            value_is_delta_encoded: options.format_version >= FIRST_DELTA_VERSION && !options.block_align,
            key_is_user_key: options.format_version >= FIRST_USER_KEY_VERSION,
            // Computed for every comparator: the spread is that of key bytes as numbers, and readers use it for
            // bytewise keys only.
            uniform_cv_threshold: options.uniform_cv_threshold,
            gap_ends_sharing: options.super_block_alignment_size > 0 && !options.block_align,
        };
        let is_partitioned = options.index_type == IndexType::TwoLevelIndexSearch;
        Self {
            // Without prefixes there is nothing to hash.
            index_type: if options.index_type == IndexType::HashSearch && hash_prefixes.is_none() {
                IndexType::BinarySearch
            } else {
                options.index_type
            },
            shortening: options.index_shortening,
            encoding,
            separators: Strings::default(),
            handles: Vec::new(),
            first_keys: Strings::default(),
            begun_blocks: 0,
            partitioning: is_partitioned.then(|| Partitioning::new(options, encoding)),
            hash_prefixes,
            rows: options.row_bounds.then(|| RowBoundsLog::new(prefix_extractor)),
            separator: Vec::new(),
        }
    }

    /// The index type as the property has it.
    pub(super) fn index_type(&self) -> IndexType {
        self.index_type
    }

    /// Estimated bytes of the index's keys and values, from the blocks so far.
    pub(super) fn encoding(&self) -> IndexEncoding {
        self.encoding
    }

    /// Notes the first key of the table.
    pub(super) fn begin(&mut self, comparator: &InternalComparator, internal_key: &[u8]) {
        if let Some(rows) = &mut self.rows {
            rows.begin(comparator, internal_key);
        }
    }

    /// Notes a key of the open data block.
    #[inline]
    pub(super) fn add_key(&mut self, internal_key: &[u8]) {
        match self.index_type {
            IndexType::BinarySearchWithFirstKey if self.begun_blocks == self.separators.len() => {
                self.begun_blocks += 1;
                self.first_keys.push(internal_key);
            }
            IndexType::HashSearch => {
                if let Some(prefixes) = &mut self.hash_prefixes {
                    prefixes.add_key(user_key(internal_key), self.separators.len());
                }
            }
            _ => {}
        }
    }

    /// Ends a block whose last key is `last`; `next` is the first key of the following one, if there is one. `handle`
    /// may be a guess, which [`set_handle`](Self::set_handle) then corrects.
    pub(super) fn end_block(
        &mut self,
        comparator: &InternalComparator,
        last: &[u8],
        next: Option<&[u8]>,
        handle: BlockHandle,
        end: BlockEnd,
    ) {
        let count = self.separators.len();
        if let Some(partitioning) = self.partitioning.as_mut().filter(|_| next.is_some())
            && partitioning.is_full(last, handle)
        {
            partitioning.ends.push(count);
            partitioning.open.reset();
            partitioning.cut_requested = false;
            partitioning.was_cut = true;
            partitioning.had_own_end = true;
        }
        let needs_internal_keys = next.is_some_and(|next| comparator.compare_user_keys(last, next).is_eq());
        let ends_prefix = self.rows.as_ref().is_some_and(|rows| rows.ends_prefix(last, next));
        self.set_separator(comparator, last, next, end.is_exact || ends_prefix);
        if let Some(rows) = &mut self.rows {
            rows.end_block(comparator, &self.separator, last, next, ends_prefix);
        }
        self.separators.push(&self.separator);
        self.handles.push(handle);
        let changed = needs_internal_keys && self.encoding.key_is_user_key;
        self.encoding.key_is_user_key &= !needs_internal_keys;
        if let Some(partitioning) = &mut self.partitioning {
            let mut first = count;
            if changed {
                // From now on the size is measured with internal keys, as the index will be written.
                partitioning.open = IndexEncoder::new(self.encoding);
                first = partitioning.ends.last().copied().unwrap_or(0);
            }
            for entry in first..=count {
                partitioning.open.add(self.separators.get(entry), self.handles[entry], None);
            }
            if next.is_none() {
                partitioning.was_cut = true;
            }
        }
        if let Some(first) = end.large_since {
            self.set_apart(first, end.ends_large && next.is_some());
        }
    }

    /// Makes the separator behind `last`.
    fn set_separator(&mut self, comparator: &InternalComparator, last: &[u8], next: Option<&[u8]>, is_exact: bool) {
        self.separator.clear();
        self.separator.extend_from_slice(last);
        if is_exact || self.shortening == IndexShorteningMode::NoShortening {
            return;
        }
        let Some(next) = next else {
            // With row bounds, the separator has to tell which keys lie behind the last row.
            if self.shortening == IndexShorteningMode::ShortenSeparatorsAndSuccessor && self.rows.is_none() {
                comparator.find_short_successor(&mut self.separator);
            }
            return;
        };
        let (last, next_user_key) = (user_key(last), user_key(next));
        match self.rows.as_ref().and_then(|_| separator_between(comparator.user(), last, next_user_key)) {
            None => comparator.find_shortest_separator(&mut self.separator, next),
            Some(shorter) if shorter != last => {
                self.separator.clear();
                append_internal_key(&mut self.separator, &shorter, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
            }
            Some(_) => {}
        }
    }

    /// Gives the blocks of a large partition of keys index partitions of their own: from the block `first`, once they
    /// would fill a quarter of one, to the latest if the partition of keys ends with it.
    fn set_apart(&mut self, first: usize, ends: bool) {
        let count = self.separators.len();
        let Some(partitioning) = &mut self.partitioning else { return };
        let start = partitioning.ends.last().copied().unwrap_or(0);
        let size = partitioning.open.block.size_estimate();
        let own = size * (count - first.max(start)) / (count - start).max(1);
        let is_worth_it = first < start || own * 4 >= partitioning.size;
        if first > start && is_worth_it {
            partitioning.ends.push(first);
            partitioning.set_apart_bytes += size - own;
            partitioning.open = IndexEncoder::new(self.encoding);
            for entry in first..count {
                partitioning.open.add(self.separators.get(entry), self.handles[entry], None);
            }
        }
        if ends && is_worth_it {
            partitioning.ends.push(count);
            partitioning.set_apart_bytes += partitioning.open.block.size_estimate();
            partitioning.open.reset();
            partitioning.cut_requested = false;
            partitioning.was_cut = true;
        }
    }

    /// Replaces the guessed handle of a block by the actual one.
    pub(super) fn set_handle(&mut self, block: usize, handle: BlockHandle) {
        if let Some(place) = self.handles.get_mut(block) {
            *place = handle;
        }
    }

    /// Asks for the open partition to end with the open block: a filter partition is full.
    pub(super) fn request_cut(&mut self) {
        if let Some(partitioning) = &mut self.partitioning {
            partitioning.cut_requested = true;
        }
    }

    /// True once after a partition ended.
    pub(super) fn take_cut(&mut self) -> bool {
        self.partitioning.as_mut().is_some_and(|partitioning| std::mem::take(&mut partitioning.was_cut))
    }

    /// The latest separator, as an internal key.
    pub(super) fn last_separator(&self) -> &[u8] {
        self.separators.len().checked_sub(1).map_or(&[], |last| self.separators.get(last))
    }

    pub(super) fn estimated_size(&self) -> u64 {
        let rows = self.rows.as_ref().map_or(0, RowBoundsLog::estimated_size);
        (self.separators.bytes() + self.first_keys.bytes() + self.handles.len() * 12) as u64 + rows
    }

    /// Records that the filter is partitioned: RocksDB then treats the index as partitioned, too.
    pub(super) fn keep_partitions(&mut self) {
        if let Some(partitioning) = &mut self.partitioning {
            partitioning.unites_one = false;
        }
    }

    /// Writes the blocks of the index.
    pub(super) fn write(&mut self, writer: &mut BlockWriter, may_compress: bool) -> Result<WrittenIndex> {
        let mut written = WrittenIndex {
            root: BlockHandle::NULL,
            meta_blocks: Vec::new(),
            size: BLOCK_TRAILER_SIZE as u64,
            partitions: 0,
            top_level_size: 0,
            uniform_blocks: 0,
            row_bounds_size: None,
        };
        if let Some(prefixes) = &mut self.hash_prefixes {
            let (metadata, prefixes) = prefixes.finish();
            for (name, block) in
                [(metaindex::HASH_INDEX_METADATA, metadata), (metaindex::HASH_INDEX_PREFIXES, prefixes)]
            {
                written.meta_blocks.push((name, writer.write_index(block, may_compress)?));
                written.size += block.len() as u64;
            }
        }
        let mut encoder = IndexEncoder::new(self.encoding);
        let count = self.handles.len();
        if self.partitioning.as_ref().is_some_and(|partitioning| partitioning.unites_one && partitioning.is_one()) {
            self.partitioning = None;
            self.index_type = IndexType::BinarySearch;
        }
        let mut ends = self.partitioning.as_mut().map(|partitioning| std::mem::take(&mut partitioning.ends));
        let Some(ends) = &mut ends else {
            let root = self.write_block(&mut encoder, 0..count, writer, may_compress, &mut written)?;
            written.root = root;
            self.write_directory(writer, &mut written)?;
            return Ok(written);
        };
        if count > 0 {
            ends.push(count);
        }
        // Top levels are written without the hint.
        let mut top = IndexEncoder::new(self.encoding.of_top_level());
        let mut start = 0;
        for &end in ends.iter() {
            encoder.reset();
            let handle = self.write_block(&mut encoder, start..end, writer, may_compress, &mut written)?;
            top.add(self.separators.get(end - 1), handle, None);
            start = end;
        }
        written.partitions = ends.len() as u64;
        let block = top.finish();
        written.top_level_size = block.len() as u64;
        written.size += block.len() as u64;
        written.root = writer.write_index(block, may_compress)?;
        self.write_directory(writer, &mut written)?;
        Ok(written)
    }

    /// Writes the directory of the row bounds; a table without data blocks has none.
    fn write_directory(&mut self, writer: &mut BlockWriter, written: &mut WrittenIndex) -> Result<()> {
        if let Some(rows) = self.rows.as_mut().filter(|_| !self.handles.is_empty()) {
            let (handle, size) = rows.write_directory(writer)?;
            written.meta_blocks.push((metaindex::ROW_BOUNDS, handle));
            written.row_bounds_size = Some(size);
        }
        Ok(())
    }

    fn write_block(
        &mut self,
        encoder: &mut IndexEncoder,
        entries: std::ops::Range<usize>,
        writer: &mut BlockWriter,
        may_compress: bool,
        written: &mut WrittenIndex,
    ) -> Result<BlockHandle> {
        let has_first_key = self.index_type == IndexType::BinarySearchWithFirstKey;
        for entry in entries.clone() {
            let first_key = has_first_key.then(|| self.first_keys.get(entry));
            encoder.add(self.separators.get(entry), self.handles[entry], first_key);
        }
        let block = encoder.finish();
        written.size += block.len() as u64;
        let side = self.rows.as_ref().filter(|_| !entries.is_empty()).map(|rows| rows.encode(entries));
        let handle = if self.partitioning.is_some() {
            writer.write_partition(block, may_compress, side.as_deref())?
        } else {
            writer.write_index(block, may_compress)?
        };
        if let (Some(rows), Some(side)) = (&mut self.rows, side) {
            rows.write_side(&side, writer)?;
        }
        written.uniform_blocks += u64::from(encoder.block.was_uniform());
        Ok(handle)
    }
}
