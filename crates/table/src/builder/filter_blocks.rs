//! Fills the filter of a table, whole or in partitions.
//!
//! ```text
//! whole        [payload]
//! partitioned  [payload]* [index: key -> handle of a payload]
//!
//! coupled      a partition ends where an index partition ends; its key is that separator. A full one asks for the end.
//! decoupled    a partition ends when it is full; its key is its last user key with sequence number 0 and type 0.
//! ```
//!
//! With `partition_from_level = kAutomatic` a single partition is written as a whole filter.
//!
//! Prefix lookups must not fall between partitions, so neighbours share: a partition that ends gets the prefix of the
//! next key, and the next one begins with the prefix of the key before.

use super::TableBuilderParams;
use super::block_writer::BlockWriter;
use super::index_builder::{IndexBuilder, IndexEncoder, IndexEncoding};
use crate::charging::Charge;
use crate::options::{IndexType, PartitionFromLevel};
use ferrock_base::internal_key::append_internal_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Error, Result, ValueType};
use ferrock_cache::EntryRole;
use ferrock_format::filter::{COMPATIBILITY_NAME, FilterBuilder};
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex;

/// The memory of the hashes is charged for after each this many.
const ENTRIES_BETWEEN_CHARGES: u64 = 1024;

/// The filter of one table, as it fills.
#[derive(Debug)]
pub(super) struct FilterBlocks {
    builder: FilterBuilder,
    extractor: Option<PrefixExtractor>,
    whole_key_filtering: bool,
    partitions: Option<FilterPartitions>,
    /// The error of a partition.
    error: Option<Error>,
    charge: Option<Charge>,
}

#[derive(Debug)]
struct FilterPartitions {
    is_decoupled: bool,
    /// Entries at which a partition is full.
    keys_per_partition: u64,
    /// Internal keys that end the partitions, with the payloads.
    complete: Vec<(Vec<u8>, Vec<u8>)>,
    complete_entries: u64,
    complete_bytes: u64,
    /// A single partition is written as a whole filter.
    unites_one: bool,
}

/// A filter in the file.
pub(super) struct WrittenFilter {
    pub(super) metaindex_name: String,
    pub(super) handle: BlockHandle,
    /// Payloads, and the index of partitions.
    pub(super) size: u64,
    pub(super) entries: u64,
    pub(super) is_partitioned: bool,
}

impl FilterBlocks {
    /// `None` for a table without filter. A filter hashes bytes, so that it says nothing where keys of other bytes may
    /// be equal.
    pub(super) fn new(params: &TableBuilderParams) -> Option<Self> {
        if !params.build_filter || params.comparator.user().can_keys_with_different_bytes_be_equal() {
            return None;
        }
        let options = &params.options;
        let mut builder = params.filter_policy.builder(options.format_version, params.filter_level)?;
        if options.detect_filter_construct_corruption {
            builder = builder.with_checks();
        }
        // Filter partitions end with index partitions; without a partitioned index the option has no effect.
        let is_partitioned = options.partition_filters && options.index_type == IndexType::TwoLevelIndexSearch;
        let partitions = is_partitioned.then(|| {
            let deviation = options.block_size_deviation.clamp(0, 100) as u64;
            let size = u64::div_ceil(options.metadata_block_size.saturating_mul(100 - deviation), 100).max(1);
            let mut keys_per_partition = entries_that_fit(&builder, size);
            if keys_per_partition > 1 && params.prefix_extractor.is_some() {
                // One entry is reserved: the prefix of the next key is added when the partition ends.
                keys_per_partition -= 1;
            }
            FilterPartitions {
                is_decoupled: options.decouple_partitioned_filters,
                keys_per_partition,
                complete: Vec::new(),
                complete_entries: 0,
                complete_bytes: 0,
                unites_one: options.partition_from_level == PartitionFromLevel::Automatic,
            }
        });
        Some(Self {
            builder,
            extractor: params.prefix_extractor.clone(),
            whole_key_filtering: options.whole_key_filtering,
            partitions,
            error: None,
            charge: Charge::begin(params.charging.as_ref(), EntryRole::FilterConstruction),
        })
    }

    /// Adds a user key; `previous` is the one before it in the table.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8], previous: &[u8], index: &mut IndexBuilder) {
        if self.partitions.is_some() && self.partition_ends(index) {
            self.cut(Some(key), previous, index.last_separator());
        }
        let prefix = self.extractor.as_ref().and_then(|extractor| extractor.prefix(key));
        match (prefix, self.whole_key_filtering) {
            (Some(prefix), true) => self.builder.add_key_and_alt(key, prefix),
            (Some(prefix), false) => self.builder.add_key(prefix),
            (None, true) => self.builder.add_key(key),
            (None, false) => {}
        }
        if self.charge.is_some() && self.builder.num_entries().is_multiple_of(ENTRIES_BETWEEN_CHARGES) {
            self.charge_more(0);
        }
    }

    /// Charges what is held and `more`; false when the cache has no room for it.
    fn charge_more(&mut self, more: usize) -> bool {
        let complete = self.partitions.as_ref().map_or(0, |partitions| partitions.complete_bytes);
        let held = self.builder.memory_bytes() + usize::try_from(complete).unwrap_or(usize::MAX);
        self.charge.as_mut().is_none_or(|charge| charge.set(held.saturating_add(more)).is_ok())
    }

    /// The payload of what was added. A Ribbon filter whose equations have no room in the cache becomes a Bloom filter.
    fn finish_builder(&mut self) -> Result<Vec<u8>> {
        let equations = self.builder.construction_bytes();
        let payload = if self.charge_more(equations) { self.builder.finish() } else { self.builder.finish_as_bloom() };
        self.charge_more(0);
        payload
    }

    /// Whether the open partition ends before the next key.
    fn partition_ends(&self, index: &mut IndexBuilder) -> bool {
        let Some(partitions) = &self.partitions else { return false };
        let is_full = self.builder.num_entries() >= partitions.keys_per_partition;
        if partitions.is_decoupled {
            return is_full;
        }
        if is_full {
            index.request_cut();
        }
        index.take_cut()
    }

    /// Completes the open partition before `next`, or for good.
    fn cut(&mut self, next: Option<&[u8]>, previous: &[u8], separator: &[u8]) {
        let prefix_of = |key| self.extractor.as_ref().and_then(|extractor| extractor.prefix(key));
        if let Some(prefix) = next.and_then(prefix_of) {
            if self.whole_key_filtering {
                // Added as an alternative hash, it is dropped if a prefix of the same key was added last.
                self.builder.add_key_and_alt(prefix, prefix);
            } else {
                self.builder.add_key(prefix);
            }
        }
        let entries = self.builder.num_entries();
        let payload = self.finish_builder().unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            Vec::new()
        });
        let Some(partitions) = &mut self.partitions else { return };
        partitions.complete_entries += entries;
        partitions.complete_bytes += payload.len() as u64;
        let mut key = Vec::new();
        if partitions.is_decoupled {
            append_internal_key(&mut key, previous, SequenceNumber(0), ValueType::Deletion);
        } else {
            key.extend_from_slice(separator);
        }
        partitions.complete.push((key, payload));
        if next.is_some()
            && let Some(prefix) = self.extractor.as_ref().and_then(|extractor| extractor.prefix(previous))
        {
            self.builder.add_key(prefix);
        }
    }

    /// What a thousand keys add to the size of a whole filter, at most.
    pub(super) fn bytes_per_1000_keys(&self) -> u64 {
        const MANY_KEYS: u64 = 100_000;
        let entries_per_key = 1 + u64::from(self.extractor.is_some());
        // Ribbon filters grow in steps, and become Bloom filters where the cache has no room for their equations.
        self.builder.size_of(MANY_KEYS) * entries_per_key * 3 / (2 * MANY_KEYS / 1000) + 1
    }

    /// What a key adds besides where partitions are small, each of which is rounded up.
    pub(super) fn waste_per_key(&self) -> u64 {
        /// A line of a Bloom filter and its metadata.
        const WASTED_BYTES: u64 = 128;
        self.partitions.as_ref().map_or(0, |partitions| 2 * WASTED_BYTES / partitions.keys_per_partition.max(1))
    }

    pub(super) fn estimated_size(&self) -> u64 {
        self.builder.estimated_size() + self.partitions.as_ref().map_or(0, |partitions| partitions.complete_bytes)
    }

    /// Writes the filter; `None` when no key went into it. `last` is the last user key of the table.
    pub(super) fn write(
        &mut self,
        writer: &mut BlockWriter,
        last: &[u8],
        index: &IndexBuilder,
    ) -> Result<Option<WrittenFilter>> {
        let complete_entries = self.partitions.as_ref().map_or(0, |partitions| partitions.complete_entries);
        let entries = complete_entries + self.builder.num_entries();
        if entries == 0 {
            return Ok(None);
        }
        if self.partitions.is_some() && !self.builder.is_empty() {
            self.cut(None, last, index.last_separator());
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let whole = match &mut self.partitions {
            None => Some(self.finish_builder()?),
            Some(FilterPartitions { unites_one: true, complete, .. }) if complete.len() == 1 => {
                complete.pop().map(|(_, payload)| payload)
            }
            Some(_) => None,
        };
        if let Some(payload) = whole {
            let metaindex_name = format!("{}{COMPATIBILITY_NAME}", metaindex::FULL_FILTER_PREFIX);
            let handle = writer.write_raw(&payload)?;
            return Ok(Some(WrittenFilter {
                metaindex_name,
                handle,
                size: payload.len() as u64,
                entries,
                is_partitioned: false,
            }));
        }
        let complete = self.partitions.as_ref().map_or(&[][..], |partitions| &partitions.complete);
        let (handle, size) = write_partitions(complete, index.encoding(), writer)?;
        let metaindex_name = format!("{}{COMPATIBILITY_NAME}", metaindex::PARTITIONED_FILTER_PREFIX);
        Ok(Some(WrittenFilter { metaindex_name, handle, size, entries, is_partitioned: true }))
    }
}

fn write_partitions(
    partitions: &[(Vec<u8>, Vec<u8>)],
    encoding: IndexEncoding,
    writer: &mut BlockWriter,
) -> Result<(BlockHandle, u64)> {
    let mut top = IndexEncoder::new(encoding.of_top_level());
    let mut size = 0;
    for (key, payload) in partitions {
        top.add(key, writer.write_partition(payload, false, None)?, None);
        size += payload.len() as u64;
    }
    let block = top.finish();
    size += block.len() as u64;
    Ok((writer.write_raw(block)?, size))
}

/// Entries of a partition of `size` bytes. One that is too small for any takes the smallest size that is not.
fn entries_that_fit(builder: &FilterBuilder, size: u64) -> u64 {
    let entries = builder.entries_that_fit(size);
    if entries > 0 {
        return entries;
    }
    let mut larger = (size + 4).max(16);
    while larger <= 100_000 {
        let entries = builder.entries_that_fit(larger);
        if entries > 0 {
            return entries;
        }
        larger += larger / 4;
    }
    size
}
