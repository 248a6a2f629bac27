//! Filters, blocks and ways to read.

use super::{OfFamily, Sink};
use crate::explain_config::figures::{Figures, filter_bits};
use crate::explain_config::subject::Subject;
use crate::output::bytes;
use ferrock::Comparator;
use ferrock::options::{CompactionStyle, DataBlockIndexType, IndexType, TableFactory};

/// Sorted runs from which on lookups without filters are dear.
const MANY_RUNS: f64 = 5.0;
/// Bytes of a block that are many for one entry.
const LARGE_BLOCK: u64 = 64 << 10;

pub(super) fn of_database(sink: &mut Sink<'_>, subject: &Subject, _: &Figures) {
    if subject.db.compaction_readahead_size == 0 {
        sink.add(
            "no-compaction-readahead",
            "compaction_readahead_size",
            "compaction_readahead_size = 0".to_owned(),
            "compactions read block by block, which disks and remote storage are slow at",
            "compaction_readahead_size = 2097152, the default",
        );
    }
}

pub(super) fn of_family(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    if of.options.table_factory == TableFactory::BlockBased {
        filters(sink, of);
        indexes(sink, of);
    }
}

fn filters(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let (options, table) = (of.options, &of.options.table);
    let has_filters = filter_bits(options) > 0.0;
    let runs = of.figures.tree.as_ref().map_or(0.0, |tree| tree.runs.0);
    if !has_filters && runs >= MANY_RUNS && options.compaction_style != CompactionStyle::Fifo {
        sink.add(
            "filters-absent",
            "filter_policy",
            format!(
                "filter_policy = {} with about {runs:.0} sorted runs, of {MANY_RUNS:.0} and more",
                options.filter_policy
            ),
            "each lookup of a single key looks into a data block of most runs",
            "filter_policy = bloomfilter:10:false, unless only ranges are read",
        );
    }
    if has_filters && !table.whole_key_filtering && options.prefix_extractor.is_none() {
        sink.add(
            "filter-of-nothing",
            "whole_key_filtering",
            "whole_key_filtering = false without a prefix_extractor".to_owned(),
            "filters hold neither keys nor prefixes, so that every lookup passes them",
            "whole_key_filtering = true, or a prefix_extractor",
        );
    }
    if options.prefix_extractor.is_some() && !has_filters && options.memtable_prefix_bloom_size_ratio == 0.0 {
        sink.add(
            "prefix-without-filter",
            "prefix_extractor",
            "a prefix_extractor with neither filter_policy nor memtable_prefix_bloom_size_ratio".to_owned(),
            "nothing goes by prefixes: scans of one prefix ask every run",
            "filter_policy = bloomfilter:10:false, memtable_prefix_bloom_size_ratio = 0.1",
        );
    }
    if table.partition_filters && table.index_type != IndexType::TwoLevelIndexSearch {
        sink.add(
            "partitions-without-index",
            "partition_filters",
            "partition_filters = true without index_type = kTwoLevelIndexSearch".to_owned(),
            "filters are not partitioned",
            "index_type = kTwoLevelIndexSearch",
        );
    }
}

fn indexes(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let (options, table) = (of.options, &of.options.table);
    if table.index_type == IndexType::HashSearch && options.prefix_extractor.is_none() {
        sink.add(
            "hash-index-without-prefix",
            "index_type",
            "index_type = kHashSearch without a prefix_extractor".to_owned(),
            "there is nothing to hash: a program that sets this is refused, and a file gets kBinarySearch",
            "a prefix_extractor, or index_type = kBinarySearch",
        );
    }
    // What a file names and this program does not have is kept as a text.
    let foreign = options.passthrough.get(&[], "comparator");
    let is_bytewise =
        foreign.is_none() && matches!(options.comparator, Comparator::Bytewise | Comparator::ReverseBytewise);
    let is_hashed = table.data_block_index_type == DataBlockIndexType::BinaryAndHash;
    if is_hashed && !is_bytewise {
        let name = foreign.unwrap_or_else(|| options.comparator.name().to_owned());
        sink.add(
            "hash-index-with-comparator",
            "data_block_index_type",
            format!("data_block_index_type = kDataBlockBinaryAndHash with the comparator {name}"),
            "hashes are of bytes: where the comparator takes different bytes for the same key, none are written",
            "data_block_index_type = kDataBlockBinarySearch, or a bytewise comparator",
        );
    }
    if table.block_size > LARGE_BLOCK {
        sink.add(
            "large-blocks",
            "block_size",
            format!("block_size = {}, above {}", bytes(table.block_size), bytes(LARGE_BLOCK)),
            "the lookup of one key reads and decompresses a whole block",
            "block_size = 16384 to 65536, unless only ranges are read",
        );
    }
    if table.block_size < 1024 {
        sink.add(
            "small-blocks",
            "block_size",
            format!("block_size = {}, below 1.0 KiB", bytes(table.block_size)),
            "indexes become as large as the data, and blocks compress badly",
            "block_size = 4096 or more",
        );
    }
    let interval = table.index_block_restart_interval;
    if table.block_restart_interval > 256 || interval > 256 {
        sink.add(
            "long-restart-interval",
            "block_restart_interval",
            format!(
                "block_restart_interval = {}, index_block_restart_interval = {interval}: above 256",
                table.block_restart_interval
            ),
            "a lookup decodes hundreds of entries, one after the other",
            "block_restart_interval = 16, index_block_restart_interval = 1, the defaults",
        );
    }
}
