//! Memory beside the blocks that counts against the block cache's capacity, by what it is for.
//!
//! After RocksDB's `cache_usage_options`. OPTIONS files do not hold them.

use crate::blocks::TableBlockCache;
use ferrock_base::Result;
use ferrock_cache::{EntryRole, Reservation};
use std::sync::Arc;

/// Reservations grow in these steps.
const STEP_BYTES: usize = 32 << 10;

/// Whether memory of one kind is charged to the block cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChargeDecision {
    /// As RocksDB's default for the kind.
    #[default]
    Fallback,
    /// Charged.
    Enabled,
    /// Not charged.
    Disabled,
}

/// Memory beside blocks that is charged to the block cache. A strict limit then bounds that memory, too, except what an
/// open table reads later: see [`block_based_table_reader`](Self::block_based_table_reader).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsageOptions {
    /// Data blocks that wait while samples for a dictionary are collected. When the cache has no room for more, the
    /// dictionary is made of the blocks buffered so far. Fallback: charged.
    pub compression_dictionary_building_buffer: ChargeDecision,
    /// Hashes and equations of a filter that is being built. When the cache has no room for a Ribbon filter's
    /// equations, a Bloom filter is built. Fallback: not charged.
    pub filter_construction: ChargeDecision,
    /// Memory that open tables hold themselves: whole indexes and filters and top levels that are not in the cache,
    /// dictionaries, range tombstones. When the cache has no room, the table is not opened. Fallback: not charged.
    ///
    /// The charge is taken once, when the table is opened. Index and filter partitions are not in it: they are blocks
    /// of the cache.
    pub block_based_table_reader: ChargeDecision,
    /// The cache of values in blob files, where it is another one than the block cache: its usage as a whole. When the
    /// block cache has no room, a value is handed out without being kept. Fallback: not charged.
    pub blob_cache: ChargeDecision,
}

impl CacheUsageOptions {
    /// Whether a role is charged.
    #[must_use]
    pub fn is_charged(&self, role: EntryRole) -> bool {
        let (decision, fallback) = match role {
            EntryRole::CompressionDictionaryBuildingBuffer => (self.compression_dictionary_building_buffer, true),
            EntryRole::FilterConstruction => (self.filter_construction, false),
            EntryRole::BlockBasedTableReader => (self.block_based_table_reader, false),
            EntryRole::BlobCache => (self.blob_cache, false),
            _ => return false,
        };
        match decision {
            ChargeDecision::Fallback => fallback,
            ChargeDecision::Enabled => true,
            ChargeDecision::Disabled => false,
        }
    }

    /// The names of the roles that are explicitly charged.
    #[must_use]
    pub fn enabled(&self) -> Vec<&'static str> {
        let all = [
            (self.compression_dictionary_building_buffer, EntryRole::CompressionDictionaryBuildingBuffer),
            (self.filter_construction, EntryRole::FilterConstruction),
            (self.block_based_table_reader, EntryRole::BlockBasedTableReader),
            (self.blob_cache, EntryRole::BlobCache),
        ];
        let enabled = all.into_iter().filter(|(decision, _)| *decision == ChargeDecision::Enabled);
        enabled.map(|(_, role)| role.name()).collect()
    }
}

/// The cache that a builder charges its memory to.
#[derive(Clone, Debug)]
pub struct Charging {
    /// The cache.
    pub cache: Arc<TableBlockCache>,
    /// What is charged.
    pub usage: CacheUsageOptions,
}

/// Memory of one kind, with what is reserved for it.
#[derive(Debug)]
pub(crate) struct Charge(Reservation);

impl Charge {
    /// `None` when the role is not charged.
    pub(crate) fn begin(charging: Option<&Charging>, role: EntryRole) -> Option<Self> {
        let charging = charging.filter(|charging| charging.usage.is_charged(role))?;
        Some(Self(charging.cache.reservation(role)))
    }

    /// Reserves for `bytes`, rounded up. If the cache refuses, the reservation stays unchanged.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<()> {
        let wanted = bytes.div_ceil(STEP_BYTES) * STEP_BYTES;
        if wanted == self.0.bytes() { Ok(()) } else { self.0.resize(wanted) }
    }
}
