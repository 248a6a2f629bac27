//! Where index and filter blocks of a table live, by its options, its level and its size.
//!
//! ```text
//! tier                  pinned are those of
//! kNone                 no table
//! kFlushedAndSimilar    tables of level 0 that a flush may have made, by their size
//! kAll                  every table
//! kFallback             what the older options say: pin_top_level_index_and_filter for the top level,
//!                       pin_l0_filter_and_index_blocks_in_cache for the rest
//! ```
//!
//! Whole indexes, whole filters and top levels are with the open table, or in the cache with
//! `cache_index_and_filter_blocks`. Partitions are in the cache in any case, as in RocksDB: they exist so that an index
//! or filter need not be in memory as a whole, and kept with the open table they would be bounded by no limit. Only a
//! reader without a cache keeps them itself.
//!
//! Pinned blocks are in the block cache and charged to it; a pinned top level is with the open table. A block that does
//! not fit into a cache with a strict limit is not cached: it is read each time it is needed.

use super::params::TableReaderParams;
use crate::options::PinningTier;
use ferrock_cache::EntryRole;

/// Where a block lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Residence {
    /// In the reader's own memory; partitions only where there is no cache.
    Kept,
    /// In the cache, from where it may be evicted.
    InCache,
    /// In the cache, for as long as the table is open.
    Pinned,
}

/// Residences of all index and filter blocks of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) unpartitioned: Residence,
    pub(crate) top_level: Residence,
    pub(crate) partitions: Residence,
    /// True if partitions are read when the table is opened, not on demand.
    pub(crate) loads_partitions: bool,
    /// True if a whole index that is kept is decoded on demand: where what a reader takes is charged, it is known when
    /// the table is opened.
    pub(crate) decodes_index_late: bool,
}

impl Placement {
    pub(crate) fn new(params: &TableReaderParams, has_cache: bool) -> Self {
        let options = &params.options;
        let may_be_flushed = params.level == 0 && params.file_size <= params.max_pinned_l0_file_size;
        let is_pinned = |tier: PinningTier, fallback: PinningTier| match tier {
            PinningTier::Fallback => is_in_tier(fallback, may_be_flushed),
            tier => is_in_tier(tier, may_be_flushed),
        };
        let tier_if = |condition: bool, tier| if condition { tier } else { PinningTier::None };
        let metadata = options.metadata_cache_options;
        let of_the_level = tier_if(options.pin_l0_filter_and_index_blocks_in_cache, PinningTier::FlushedAndSimilar);
        let of_the_top = tier_if(options.pin_top_level_index_and_filter, PinningTier::All);
        let pins_partitions = is_pinned(metadata.partition_pinning, of_the_level);
        let place = |in_cache, is_pinned| match (in_cache && has_cache, is_pinned) {
            (false, _) => Residence::Kept,
            (true, false) => Residence::InCache,
            (true, true) => Residence::Pinned,
        };
        let in_cache = options.cache_index_and_filter_blocks;
        Self {
            unpartitioned: place(in_cache, is_pinned(metadata.unpartitioned_pinning, of_the_level)),
            top_level: match is_pinned(metadata.top_level_index_pinning, of_the_top) {
                true => Residence::Kept,
                false => place(in_cache, false),
            },
            partitions: place(true, pins_partitions),
            loads_partitions: pins_partitions,
            decodes_index_late: !params.cache_usage.is_charged(EntryRole::BlockBasedTableReader),
        }
    }
}

fn is_in_tier(tier: PinningTier, may_be_flushed: bool) -> bool {
    match tier {
        PinningTier::Fallback | PinningTier::None => false,
        PinningTier::FlushedAndSimilar => may_be_flushed,
        PinningTier::All => true,
    }
}
