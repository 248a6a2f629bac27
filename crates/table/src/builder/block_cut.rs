//! When a data block ends, and the form that it begins with.

use super::TableBuilderParams;
use super::partition_cut::{BlockEnd, PartitionCut};
use crate::options::{DataBlockIndexType, FlushBlockPolicy};
use ferrock_base::internal_key::user_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions};
use ferrock_format::compression::CompressionType;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;

/// The rules by which data blocks end.
#[derive(Debug)]
pub(super) struct BlockCut {
    block_size: usize,
    /// Fill at which a block may be cut early.
    early_cut_size: usize,
    deviation_percent: i32,
    ends_at_every_key: bool,
    /// Blocks end with their trailer within their size.
    fits_blocks: bool,
    partitions: Option<PartitionCut>,
    /// True if one of the two above is set.
    is_special: bool,
}

/// The block that an entry may end, and the table that it belongs to.
#[derive(Clone, Copy)]
pub(super) struct OpenBlock<'b> {
    pub(super) block: &'b BlockBuilder,
    /// User key of its last entry.
    pub(super) last: &'b [u8],
    /// Blocks before it.
    pub(super) number: u64,
    pub(super) index_bytes: u64,
}

impl BlockCut {
    pub(super) fn new(params: &TableBuilderParams) -> Self {
        let options = &params.options;
        let (block_size, early_cut_size) = block_limits(options.block_size, options.block_size_deviation);
        let fits_blocks =
            options.block_align || options.pad_to_sector > 0 && params.compression == CompressionType::NoCompression;
        let extractor = params.prefix_extractor.as_ref().filter(|_| options.partition_cut);
        let partitions = PartitionCut::new(extractor, params.comparator.user(), options);
        Self {
            block_size,
            early_cut_size,
            deviation_percent: options.block_size_deviation,
            ends_at_every_key: options.flush_block_policy_factory == FlushBlockPolicy::EveryKey,
            fits_blocks,
            is_special: fits_blocks || partitions.is_some(),
            partitions,
        }
    }

    /// Begins the table with this user key.
    pub(super) fn begin_table(&mut self, first: &[u8], index_bytes: u64) {
        if let Some(partitions) = &mut self.partitions {
            partitions.begin(first);
            self.begin_block(index_bytes);
        }
    }

    /// Sets the size of the block that begins, where it depends on the partition.
    #[inline]
    pub(super) fn begin_block(&mut self, index_bytes: u64) {
        if let Some(bytes) = self.partitions.as_ref().and_then(|partitions| partitions.block_bytes(index_bytes)) {
            (self.block_size, self.early_cut_size) = block_limits(bytes, self.deviation_percent);
        }
    }

    /// True when [`ends_before`](Self::ends_before) decides about block ends, not [`is_full`](Self::is_full).
    #[inline]
    pub(super) fn is_special(&self) -> bool {
        self.is_special
    }

    /// True when the open block is to end before this entry.
    #[inline(always)]
    pub(super) fn is_full(&self, block: &BlockBuilder, internal_key: &[u8], value: &[u8]) -> bool {
        let size = block.size_estimate();
        size >= self.block_size
            || self.ends_at_every_key
            || size > self.early_cut_size && block.size_estimate_after(internal_key, value) > self.block_size
    }

    /// The same when blocks are aligned or partitions are cut. Kept out of line, to keep the common path short.
    #[cold]
    #[inline(never)]
    pub(super) fn ends_before(&mut self, open: OpenBlock<'_>, internal_key: &[u8], value: &[u8]) -> bool {
        let is_full = if self.fits_blocks {
            open.block.size_estimate() >= self.block_size
                || self.overflows_when_aligned(open.block, internal_key, value)
        } else {
            self.is_full(open.block, internal_key, value)
        };
        let Some(partitions) = &mut self.partitions else { return is_full };
        partitions.decide(open.last, user_key(internal_key), is_full, open.number, open.index_bytes)
    }

    /// An aligned block ends before it would need another page.
    fn overflows_when_aligned(&self, block: &BlockBuilder, internal_key: &[u8], value: &[u8]) -> bool {
        self.ends_at_every_key
            || self.early_cut_size != usize::MAX
                && block.size_estimate_after(internal_key, value) + BLOCK_TRAILER_SIZE > self.block_size
    }

    /// Whether blocks may end before they are full, for what is behind them: where no other rules say where they end.
    pub(super) fn may_end_early(&self) -> bool {
        !self.is_special && !self.ends_at_every_key
    }

    /// How the block that ends now ends; `is_last`: it is the last one of the table.
    pub(super) fn block_end(&self, is_last: bool) -> BlockEnd {
        match &self.partitions {
            Some(partitions) if is_last => partitions.table_end(),
            Some(partitions) => partitions.block_end(),
            None => BlockEnd::default(),
        }
    }

    /// The guarantee that the table keeps: a partition by this extractor with rows in so many blocks ends on a cut.
    pub(super) fn kept_guarantee(&self) -> Option<(&PrefixExtractor, u64)> {
        self.partitions.as_ref().map(PartitionCut::kept_guarantee)
    }
}

/// Bytes at which a block is full, and the fill at which it may be cut early.
pub(super) fn block_limits(size: u64, deviation_percent: i32) -> (usize, usize) {
    let deviation = deviation_percent.clamp(0, 100) as u64;
    let early_cut = u64::div_ceil(size.saturating_mul(100 - deviation), 100);
    let to_usize = |size| usize::try_from(size).unwrap_or(usize::MAX);
    (to_usize(size), if deviation == 0 { usize::MAX } else { to_usize(early_cut) })
}

/// An empty data block in the form that the options say.
pub(super) fn data_block_builder(params: &TableBuilderParams) -> BlockBuilder {
    let options = &params.options;
    let mut builder = BlockBuilder::new(BlockBuilderOptions {
        restart_interval: usize::try_from(options.block_restart_interval).unwrap_or(1),
        use_delta_encoding: options.use_delta_encoding,
        use_value_delta_encoding: false,
    });
    if options.separate_key_value_in_data_block {
        builder = builder.with_separate_values();
    }
    // A filter hashes bytes, so it cannot match keys that compare equal but differ in bytes.
    if options.data_block_index_type == DataBlockIndexType::BinaryAndHash
        && !params.comparator.user().can_keys_with_different_bytes_be_equal()
    {
        return builder.with_hash_index(options.data_block_hash_table_util_ratio);
    }
    builder
}
