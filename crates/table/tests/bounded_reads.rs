//! What scans within bounds read: rows equal a naive scan's, and no request lies outside of the blocks that can hold
//! them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Comparator, InternalComparator, InternalIterator, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_cache::{BlockCache, CacheOptions};
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, BlockTableIter, LimitReads, ScanBounds, TableBuilderParams,
    TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, ReadClass, WritableOptions};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Shape {
    reverse: bool,
    partitioned: bool,
    block_size: usize,
    metadata_block_size: u64,
    format_version: u32,
    index_restart: u32,
    /// 0: through the page cache.
    direct_unit: usize,
    cache_bytes: usize,
    max_readahead: usize,
    readahead: usize,
    sized_by_bounds: bool,
    row_bounds: bool,
    filter: bool,
    partition_cut: bool,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let layout = (any::<bool>(), any::<bool>(), 64usize..700, 40u64..400, 2u32..7, prop_oneof![Just(1u32), Just(16)]);
    let reading = (
        prop_oneof![Just(0usize), Just(512), Just(4096)],
        prop_oneof![Just(0usize), Just(3000), Just(1 << 20)],
        prop_oneof![4 => Just(256usize << 10), 1 => Just(0), 1 => Just(2000)],
        prop_oneof![4 => Just(0usize), 1 => Just(900)],
        prop_oneof![4 => Just(true), 1 => Just(false)],
        any::<(bool, bool, bool)>(),
    );
    (layout, reading).prop_map(|(layout, reading)| Shape {
        reverse: layout.0,
        partitioned: layout.1,
        block_size: layout.2,
        metadata_block_size: layout.3,
        format_version: layout.4,
        index_restart: layout.5,
        direct_unit: reading.0,
        cache_bytes: reading.1,
        max_readahead: reading.2,
        readahead: reading.3,
        sized_by_bounds: reading.4,
        row_bounds: reading.5.0,
        filter: reading.5.1,
        partition_cut: reading.5.2,
    })
}

/// A block as the index shows it.
#[derive(Clone, Debug)]
struct Block {
    separator: Vec<u8>,
    range: Range<u64>,
}

struct Table {
    shape: Shape,
    file_system: MemoryFileSystem,
    reader: Arc<BlockTable>,
    order: Comparator,
    /// User keys, sorted; those with several versions as often.
    keys: Vec<Vec<u8>>,
    blocks: Vec<Block>,
    separators_are_exact: bool,
}

impl Table {
    fn new(shape: &Shape, mut keys: Vec<(Vec<u8>, u64)>, extractor: Option<PrefixExtractor>) -> Self {
        let order = if shape.reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
        keys.sort_by(|a, b| order.compare(&a.0, &b.0).then(b.1.cmp(&a.1)));
        keys.dedup();
        let options = Arc::new(BlockBasedTableOptions {
            index_type: if shape.partitioned { IndexType::TwoLevelIndexSearch } else { IndexType::BinarySearch },
            block_size: shape.block_size as u64,
            metadata_block_size: shape.metadata_block_size,
            format_version: shape.format_version,
            index_block_restart_interval: shape.index_restart as i32,
            cache_index_and_filter_blocks: true,
            max_auto_readahead_size: shape.max_readahead,
            partition_from_level: PartitionFromLevel::Level(0),
            row_bounds: shape.row_bounds,
            partition_cut: shape.partition_cut,
            partition_filters: shape.partitioned,
            ..BlockBasedTableOptions::default()
        });
        let file_system = MemoryFileSystem::new();
        let path = Path::new("/000009.sst");
        let mut params = TableBuilderParams::new(InternalComparator::new(order.clone()));
        params.options = options.clone();
        params.prefix_extractor = extractor.clone();
        if shape.filter {
            params.filter_policy = FilterPolicy::bloom(10.0);
        }
        let file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        for (key, sequence) in &keys {
            let internal = make_internal_key(key, SequenceNumber(*sequence), ValueType::Value);
            builder.add(&internal, &[b'v'; 23]).unwrap();
        }
        builder.finish().unwrap();
        file_system.set_direct_unit(shape.direct_unit.max(512));
        let read = RandomAccessOptions { direct: shape.direct_unit > 0, ..RandomAccessOptions::default() };
        let file = file_system.open_random_access(path, &read).unwrap();
        let shared: Arc<dyn FileSystem> = Arc::new(file_system.clone());
        let mut params = TableReaderParams::new(file, shared, InternalComparator::new(order.clone()));
        params.options = options;
        params.prefix_extractor = extractor;
        params.cache = (shape.cache_bytes > 0).then(|| {
            let capacity_bytes = shape.cache_bytes;
            BlockCache::new(CacheOptions { capacity_bytes, shard_bits: Some(0), ..CacheOptions::default() })
        });
        let reader = BlockTable::open(params).unwrap();
        let mut blocks = Vec::new();
        reader
            .contents()
            .visit_index(&mut |separator, entry| {
                let range = entry.handle.offset..entry.handle.end_with_trailer().unwrap();
                blocks.push(Block { separator: separator.to_vec(), range });
                true
            })
            .unwrap();
        let is_user_key = reader.properties().index_key_is_user_key != 0;
        let keys = keys.into_iter().map(|(key, _)| key).collect();
        let separators_are_exact = is_user_key && !shape.reverse;
        Self { shape: shape.clone(), file_system, reader, order, keys, blocks, separators_are_exact }
    }

    fn less(&self, a: &[u8], b: &[u8]) -> bool {
        self.order.compare(a, b) == Ordering::Less
    }

    fn naive(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Vec<Vec<u8>> {
        let within = |key: &&Vec<u8>| {
            lower.is_none_or(|lower| !self.less(key, lower)) && upper.is_none_or(|upper| self.less(key, upper))
        };
        self.keys.iter().filter(within).cloned().collect()
    }

    /// The bytes of the blocks that a scan may need: from the first one that can hold `lower` to the last one that can
    /// hold a key before `upper`. Found by looking at every separator.
    fn needed(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Option<Range<u64>> {
        let first =
            self.blocks.iter().position(|block| lower.is_none_or(|lower| !self.less(&block.separator, lower)))?;
        let ends = |block: &Block| {
            upper.is_some_and(|upper| {
                let mut end = block.separator.clone();
                if self.separators_are_exact {
                    end.push(0);
                }
                !self.less(&end, upper)
            })
        };
        let last = self.blocks.iter().position(ends).unwrap_or(self.blocks.len() - 1);
        (first <= last).then(|| self.blocks[first].range.start..self.blocks[last].range.end)
    }

    fn aligned(&self, range: &Range<u64>) -> Range<u64> {
        let unit = self.shape.direct_unit.max(1) as u64;
        range.start / unit * unit..range.end.next_multiple_of(unit)
    }

    fn options(&self) -> TableReadOptions {
        TableReadOptions {
            readahead_bytes: self.shape.readahead,
            auto_readahead_size: self.shape.sized_by_bounds,
            ..TableReadOptions::default()
        }
    }

    /// Data requests since the log was started.
    fn data_reads(&self) -> Vec<Range<u64>> {
        let log = self.file_system.take_read_log();
        let data = log.into_iter().filter(|read| read.class == ReadClass::Data);
        data.map(|read| read.offset..read.offset + read.length).collect()
    }
}

fn seek_key(key: &[u8]) -> Vec<u8> {
    make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)
}

/// From `start`, or else from the lower bound.
fn scan_forward(
    table: &Table,
    iter: &mut BlockTableIter,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
    start: Option<&[u8]>,
) -> Vec<Vec<u8>> {
    match start.or(lower) {
        Some(lower) => iter.seek(&seek_key(lower)),
        None => iter.seek_to_first(),
    }
    let mut found = Vec::new();
    while iter.valid() && upper.is_none_or(|upper| table.less(user_key(iter.key()), upper)) {
        found.push(user_key(iter.key()).to_vec());
        iter.next();
    }
    iter.status().unwrap();
    found
}

/// From `start`, which is included, or else from before the upper bound.
fn scan_backward(
    table: &Table,
    iter: &mut BlockTableIter,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
    start: Option<&[u8]>,
) -> Vec<Vec<u8>> {
    match upper {
        _ if let Some(start) = start => {
            iter.seek_for_prev(&make_internal_key(start, SequenceNumber(0), ValueType::FOR_SEEK_FOR_PREV));
        }
        Some(upper) => iter.seek_for_prev(&seek_key(upper)),
        None => iter.seek_to_last(),
    }
    let mut found = Vec::new();
    while iter.valid() && lower.is_none_or(|lower| !table.less(user_key(iter.key()), lower)) {
        found.push(user_key(iter.key()).to_vec());
        iter.prev();
    }
    iter.status().unwrap();
    found.reverse();
    found
}

/// Keys over few bytes, so that they share prefixes, are prefixes of each other, and end in zero.
fn keys() -> impl Strategy<Value = Vec<(Vec<u8>, u64)>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(b'b'), Just(0xff)];
    let key = prop::collection::vec(byte, 1..7);
    prop::collection::vec((key, 1u64..4), 1..160)
}

/// A bound: a key, a key and a zero byte, a prefix of a key, or none.
fn bound(table: &Table, choice: (u16, u8)) -> Option<Vec<u8>> {
    let key = &table.keys[usize::from(choice.0) % table.keys.len()];
    match choice.1 % 5 {
        0 => None,
        1 => Some([key, &[0][..]].concat()),
        2 => Some(key[..key.len() - 1].to_vec()),
        _ => Some(key.clone()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn scans_show_their_rows_and_read_nothing_else(
        shape in shapes(),
        keys in keys(),
        has_prefixes in any::<bool>(),
        scans in prop::collection::vec(((any::<u16>(), any::<u8>()), (any::<u16>(), any::<u8>()), any::<bool>(), any::<bool>(), 0u64..20, any::<(u16, u8)>()), 1..12),
    ) {
        let table = Table::new(&shape, keys, has_prefixes.then_some(PrefixExtractor::Fixed(2)));
        let mut iter = table.reader.iter(table.options());
        for (lower, upper, backward, is_new, limit, start) in scans {
            let (mut lower, mut upper) = (bound(&table, lower), bound(&table, upper));
            if let (Some(low), Some(high)) = (&lower, &upper)
                && table.less(high, low)
            {
                std::mem::swap(&mut lower, &mut upper);
            }
            let limit_reads = if start.1 % 2 == 0 { LimitReads::FewestBytes } else { LimitReads::FewestRequests };
            let bounds = ScanBounds::new(lower.clone(), upper.clone()).with_limit_hint(limit);
            let bounds = Arc::new(bounds.with_limit_reads(limit_reads));
            if is_new {
                iter = table.reader.iter_within(table.options(), bounds);
            } else {
                iter.set_bounds(bounds);
            }
            table.file_system.set_read_logging(true);
            let (low, high) = (lower.as_deref(), upper.as_deref());
            // A key within the bounds, from which the scan starts.
            let start = bound(&table, start).filter(|start| {
                low.is_none_or(|low| !table.less(start, low)) && high.is_none_or(|high| table.less(start, high))
            });
            let start = start.as_deref();
            let scan = if backward { scan_backward } else { scan_forward };
            let found = scan(&table, &mut iter, low, high, start);
            let mut wanted = table.naive(low, high);
            wanted.retain(|key| {
                start.is_none_or(|start| if backward { !table.less(start, key) } else { !table.less(key, start) })
            });
            prop_assert_eq!(found, wanted, "{:?} .. {:?} from {:?}", lower, upper, start);
            let (low, high) = if backward { (low, high) } else { (start.or(low), high) };
            let reads = table.data_reads();
            let is_empty = low.is_some() && low == high;
            let needed = table.needed(low, high).filter(|_| !is_empty);
            let Some(needed) = needed else {
                prop_assert_eq!(reads, vec![], "nothing is read for a range that is empty");
                continue;
            };
            let allowed = table.aligned(&needed);
            for read in &reads {
                prop_assert!(allowed.start <= read.start && read.end <= allowed.end, "{read:?} outside of {allowed:?}");
            }
            for (index, read) in reads.iter().enumerate() {
                let again = reads[..index].iter().any(|other| other.start < read.end && read.start < other.end);
                prop_assert!(!again, "read twice: {reads:?}");
            }
            // The end is known where the whole index is in memory; then the scan is one request.
            let is_known = !shape.partitioned || shape.cache_bytes == 1 << 20;
            let end_is_bound = if backward { low.is_some() } else { high.is_some() };
            let is_short = allowed.end - allowed.start <= 2000;
            if is_known && end_is_bound && is_short && shape.sized_by_bounds && shape.max_readahead > 0
                && shape.readahead == 0 && limit == 0 && shape.cache_bytes == 0
            {
                prop_assert!(reads.len() <= 1, "{reads:?}");
            }
        }
    }

    #[test]
    fn a_prefix_bounds_what_is_read(shape in shapes(), keys in keys(), start in any::<u16>(), backward in any::<bool>()) {
        let shape = Shape { reverse: false, ..shape };
        let table = Table::new(&shape, keys, Some(PrefixExtractor::Fixed(2)));
        let start = table.keys[usize::from(start) % table.keys.len()].clone();
        let Some(prefix) = start.get(..2).map(<[u8]>::to_vec) else { return Ok(()) };
        let bounds = ScanBounds::default().within_prefix(&PrefixExtractor::Fixed(2), &table.order, &prefix);
        let mut iter = table.reader.iter_within(table.options(), Arc::new(bounds));
        table.file_system.set_read_logging(true);
        let shares = |key: &[u8]| key.get(..2) == Some(&prefix[..]);
        let mut found = Vec::new();
        if backward {
            iter.seek_for_prev(&make_internal_key(&start, SequenceNumber(0), ValueType::FOR_SEEK_FOR_PREV));
        } else {
            iter.seek(&seek_key(&start));
        }
        while iter.valid() && shares(user_key(iter.key())) {
            found.push(user_key(iter.key()).to_vec());
            if backward { iter.prev() } else { iter.next() }
        }
        iter.status().unwrap();
        let mut wanted: Vec<Vec<u8>> = table.keys.iter().filter(|key| shares(key)).cloned().collect();
        wanted.retain(|key| if backward { *key <= start } else { *key >= start });
        if backward {
            wanted.reverse();
        }
        prop_assert_eq!(found, wanted);
        let mut successor = prefix.clone();
        while successor.pop_if(|byte| *byte == 0xff).is_some() {}
        let upper = successor.last_mut().map(|byte| *byte += 1).is_some().then_some(successor);
        let (low, high) = if backward { (&prefix[..], Some([&start[..], &[0]].concat())) } else { (&start[..], upper) };
        let allowed = table.aligned(&table.needed(Some(low), high.as_deref()).unwrap());
        for read in table.data_reads() {
            // Going back, the search for the start may end in a block behind it.
            let end = if backward { u64::MAX } else { allowed.end };
            prop_assert!(allowed.start <= read.start && read.end <= end, "{read:?} outside of {allowed:?}");
        }
    }
}
