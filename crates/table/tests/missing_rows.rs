//! Data reads of lookups of rows that are not there: what each option of the table saves, counted at the file.
//!
//! The set is a scaled one of large partitions: keys are a partition and a row of four bytes each, rows are odd, values
//! have 100 bytes, blocks 1 KiB, index partitions 4 KiB. What a lookup must read is worked out from the keys of every
//! block.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, get_all};
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{
    Comparator, InternalComparator, InternalIterator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType,
};
use ferrock_cache::{BlockCache, CacheOptions};
use ferrock_format::block::DataBlockIter;
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{IndexType, LargePartitions};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, PARTITION_CUT_FROM_PROPERTY, PARTITION_CUT_PROPERTY,
    ROW_BOUNDS_PROPERTY, TableBlockCache, TableBuilderParams, TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessFile, RandomAccessOptions, ReadLabel, WritableOptions};
use std::path::Path;
use std::sync::{Arc, Mutex};

const PATH: &str = "/000011.sst";
const PARTITIONS: [u32; 3] = [1, 2, 4];
const ROWS: u32 = 3000;

/// Notes every read.
#[derive(Debug)]
struct Noted {
    file: Arc<dyn RandomAccessFile>,
    reads: Arc<Mutex<Vec<(u64, usize)>>>,
}

impl RandomAccessFile for Noted {
    fn read_at(&self, offset: u64, buffer: &mut [u8], label: ReadLabel) -> ferrock_base::Result<usize> {
        self.reads.lock().unwrap().push((offset, buffer.len()));
        self.file.read_at(offset, buffer, label)
    }

    fn size(&self) -> u64 {
        self.file.size()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

fn key(partition: u32, row: u32) -> Vec<u8> {
    let word = |number: u32| (number ^ 1 << 31).to_be_bytes();
    [word(partition), word(row)].concat()
}

struct Setup {
    options: BlockBasedTableOptions,
    comparator: Comparator,
    filter_policy: FilterPolicy,
    cache: Option<Arc<TableBlockCache>>,
    /// A row of so many versions that it fills blocks: index keys are internal keys then.
    has_versions: bool,
    partitions: Vec<(u32, u32)>,
}

impl Setup {
    fn new(row_bounds: bool, partition_cut: bool) -> Self {
        let options = BlockBasedTableOptions {
            row_bounds,
            partition_cut,
            block_size: 1024,
            metadata_block_size: 4096,
            index_type: IndexType::TwoLevelIndexSearch,
            ..BlockBasedTableOptions::default()
        };
        let partitions = PARTITIONS.map(|partition| (partition, ROWS)).to_vec();
        let (comparator, filter_policy) = (Comparator::Bytewise, FilterPolicy::None);
        Self { options, comparator, filter_policy, cache: None, has_versions: false, partitions }
    }

    fn build(self) -> Table {
        let comparator = InternalComparator::new(self.comparator);
        let extractor = PrefixExtractor::Fixed(4);
        let mut entries: Entries = Vec::new();
        for &(partition, rows) in &self.partitions {
            for row in 0..rows {
                let key = key(partition, 2 * row + 1);
                let versions = if self.has_versions && row == rows / 2 { 20 } else { 1 };
                for sequence in 1..=versions {
                    let key = make_internal_key(&key, SequenceNumber(sequence), ValueType::Value);
                    entries.push((key, vec![b'v'; 100]));
                }
            }
        }
        entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
        let mut params = TableBuilderParams::new(comparator.clone());
        params.options = Arc::new(self.options);
        params.filter_policy = self.filter_policy;
        params.prefix_extractor = Some(extractor.clone());
        let mut builder = BlockTableBuilder::new(params.clone(), file).unwrap();
        for (key, value) in &entries {
            builder.add(key, value).unwrap();
        }
        builder.finish().unwrap();
        let file = file_system.open_random_access(Path::new(PATH), &RandomAccessOptions::default()).unwrap();
        let reads = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::new(Noted { file, reads: reads.clone() });
        let mut open = TableReaderParams::new(noted, file_system, comparator);
        open.prefix_extractor = Some(extractor);
        open.options = params.options;
        // Another reader looks at the blocks, so that the one that is counted has read nothing yet.
        let blocks = blocks_of(&BlockTable::open(open.clone()).unwrap());
        open.cache = self.cache;
        let reader = BlockTable::open(open).unwrap();
        reads.lock().unwrap().clear();
        Table { blocks, reader, reads }
    }
}

/// The user keys of every block.
fn blocks_of(reader: &BlockTable) -> Vec<Vec<Vec<u8>>> {
    let mut blocks = Vec::new();
    reader
        .contents()
        .visit_rows(&mut |rows| {
            blocks.push(rows.handle);
            true
        })
        .unwrap();
    let blocks = blocks.into_iter().map(|handle| {
        let block = reader.contents().read_data_block(handle).unwrap();
        let mut iter = DataBlockIter::new(&block, reader.comparator().clone(), None);
        let mut keys = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            keys.push(user_key(iter.key()).to_vec());
            iter.next();
        }
        keys
    });
    blocks.collect()
}

struct Table {
    reader: Arc<BlockTable>,
    reads: Arc<Mutex<Vec<(u64, usize)>>>,
    /// User keys of the blocks.
    blocks: Vec<Vec<Vec<u8>>>,
}

impl Table {
    /// Reads of data and of anything else by a lookup of a key that is absent.
    fn reads_of_absent(&self, key: &[u8]) -> (usize, usize) {
        self.reads.lock().unwrap().clear();
        let lookup = LookupKey::new(key, MAX_SEQUENCE_NUMBER);
        assert!(get_all(&self.reader, &lookup, &TableReadOptions::default()).unwrap().is_empty());
        self.reads_so_far()
    }

    fn reads_so_far(&self) -> (usize, usize) {
        let data_end = self.reader.properties().data_size;
        let reads = std::mem::take(&mut *self.reads.lock().unwrap());
        let data = reads.iter().filter(|read| read.0 < data_end).count();
        (data, reads.len() - data)
    }

    fn data_reads(&self, partition: u32, row: u32) -> usize {
        let (data, others) = self.reads_of_absent(&key(partition, row));
        assert_eq!(others, 0, "index and filter are in memory");
        data
    }

    /// True when the key lies between two rows of one block.
    fn is_inside_a_block(&self, key: &[u8]) -> bool {
        let order = self.reader.comparator().user();
        self.blocks.iter().any(|keys| {
            order.compare(keys.first().unwrap(), key).is_lt() && order.compare(key, keys.last().unwrap()).is_lt()
        })
    }

    /// A missing row within partition 2: inside a block, and in a gap between two.
    fn missing_rows(&self) -> (u32, u32) {
        let find =
            |inside: bool| (1..ROWS).map(|row| 2 * row).find(|&row| self.is_inside_a_block(&key(2, row)) == inside);
        (find(true).unwrap(), find(false).unwrap())
    }

    /// Reads every index partition once.
    fn warm_up(&self) {
        for partition in PARTITIONS {
            for row in 0..ROWS {
                let lookup = LookupKey::new(&key(partition, 2 * row + 1), MAX_SEQUENCE_NUMBER);
                assert!(!get_all(&self.reader, &lookup, &TableReadOptions::default()).unwrap().is_empty());
            }
        }
    }
}

/// The table of missing rows: before the first row of a partition, inside a block, in a gap, behind the last row.
fn missing_rows(table: &Table) -> [usize; 4] {
    table.warm_up();
    let (inside, gap) = table.missing_rows();
    [0, inside, gap, 2 * ROWS].map(|row| table.data_reads(2, row))
}

#[test]
fn each_option_saves_the_reads_that_it_is_for() {
    assert_eq!(missing_rows(&Setup::new(false, false).build()), [1, 1, 1, 1], "plain");
    assert_eq!(missing_rows(&Setup::new(false, true).build()), [1, 1, 1, 0], "partition cut");
    assert_eq!(missing_rows(&Setup::new(true, true).build()), [0, 1, 0, 0], "row bounds, with partition cut");
    let mut filtered = Setup::new(false, false);
    filtered.filter_policy = FilterPolicy::bloom(20.0);
    assert_eq!(missing_rows(&filtered.build()), [0, 0, 0, 0], "row filter");
}

#[test]
fn a_missing_partition_and_keys_beyond_the_table_read_nothing() {
    let mut setup = Setup::new(true, true);
    let table = Setup { filter_policy: FilterPolicy::bloom(20.0), ..setup }.build();
    table.warm_up();
    // Partition 3 by the prefix filter.
    assert_eq!((table.data_reads(3, 5), table.data_reads(0, 0), table.data_reads(9, 0)), (0, 0, 0));
    setup = Setup::new(true, true);
    let table = setup.build();
    table.warm_up();
    // And without a filter, as it lies in a gap.
    assert_eq!((table.data_reads(3, 5), table.data_reads(0, 0), table.data_reads(9, 0)), (0, 0, 0));
}

/// Every missing row: one read inside a block, none in any gap.
fn check_every_missing_row(setup: Setup) {
    let table = setup.build();
    table.warm_up();
    let (mut inside, mut gaps) = (0, 0);
    for partition in PARTITIONS {
        for row in 0..=ROWS {
            let missing = key(partition, 2 * row);
            let expected = usize::from(table.is_inside_a_block(&missing));
            assert_eq!(table.reads_of_absent(&missing), (expected, 0), "{partition} {}", 2 * row);
            (inside, gaps) = (inside + expected, gaps + 1 - expected);
        }
    }
    // Rows are nine to a block.
    assert!(inside > 7 * gaps && gaps > 900, "{inside} inside, {gaps} in gaps");
    // The same in one batch.
    let lookups: Vec<LookupKey> = (0..ROWS).map(|row| LookupKey::new(&key(2, 2 * row), MAX_SEQUENCE_NUMBER)).collect();
    let (in_gaps, in_blocks): (Vec<&LookupKey>, Vec<&LookupKey>) =
        lookups.iter().partition(|lookup| !table.is_inside_a_block(lookup.user_key()));
    for (lookups, reads_any) in [(in_gaps, false), (in_blocks, true)] {
        table.reads_so_far();
        let results = table.reader.multi_get(&TableReadOptions::default(), &lookups, &mut |_, _, _, _| panic!("found"));
        assert!(results.iter().all(Result::is_ok));
        assert_eq!(table.reads_so_far().0 > 0, reads_any);
    }
}

#[test]
fn row_bounds_answer_for_every_gap() {
    check_every_missing_row(Setup::new(true, true));
    check_every_missing_row(Setup::new(true, false));
}

#[test]
fn row_bounds_answer_for_every_form_of_the_index() {
    for comparator in [Comparator::Bytewise, Comparator::ReverseBytewise] {
        for interval in [1, 16] {
            for has_versions in [false, true] {
                for index_type in [IndexType::TwoLevelIndexSearch, IndexType::BinarySearch] {
                    let mut setup = Setup::new(true, true);
                    setup.comparator = comparator.clone();
                    setup.options.index_block_restart_interval = interval;
                    setup.options.index_type = index_type;
                    setup.has_versions = has_versions;
                    check_every_missing_row(setup);
                }
            }
        }
    }
}

#[test]
fn a_cold_lookup_reads_no_more_often_than_without() {
    let cold = |row_bounds, row| {
        let table = Setup::new(row_bounds, true).build();
        get_all(&table.reader, &LookupKey::new(&key(2, row), MAX_SEQUENCE_NUMBER), &TableReadOptions::default())
            .unwrap();
        table.reads_so_far()
    };
    assert_eq!((cold(false, 1555), cold(true, 1555)), ((1, 1), (1, 1)), "a row: index partition and block");
    assert_eq!((cold(false, 0), cold(true, 0)), ((1, 1), (0, 1)), "before the first row");
}

/// Evicted together, loaded together.
#[test]
fn row_bounds_come_and_go_with_their_index_partition() {
    let lookups = |capacity_bytes: usize| {
        let mut setup = Setup::new(true, true);
        setup.options.cache_index_and_filter_blocks = true;
        setup.cache =
            Some(BlockCache::new(CacheOptions { capacity_bytes, shard_bits: Some(0), ..CacheOptions::default() }));
        let table = setup.build();
        let (_, gap) = table.missing_rows();
        let mut index_reads = 0;
        for partition in PARTITIONS.repeat(20) {
            for row in [0, gap, 2 * ROWS] {
                let (data, index) = table.reads_of_absent(&key(partition, row));
                assert_eq!(data, 0);
                index_reads += index;
            }
        }
        index_reads
    };
    let (ample, scarce) = (lookups(4 << 20), lookups(8 << 10));
    assert!(ample < 10 && scarce > 3 * ample, "{ample}, {scarce}");
}

#[test]
fn row_bounds_take_a_few_bytes_for_each_block() {
    let per_block = |interval, rows| {
        let mut setup = Setup::new(true, true);
        setup.options.index_block_restart_interval = interval;
        setup.partitions = vec![(1, rows), (2, rows)];
        let properties = setup.build().reader.properties().clone();
        let bytes: f64 = std::str::from_utf8(&properties.user_collected[ROW_BOUNDS_PROPERTY]).unwrap().parse().unwrap();
        println!(
            "restart interval {interval}, {rows} rows in each of 2 partitions: {:.2} bytes per block, {:.3} of the data, \
             {:.2} of the index",
            bytes / properties.num_data_blocks as f64,
            bytes / properties.data_size as f64,
            bytes / properties.index_size as f64
        );
        bytes / properties.num_data_blocks as f64
    };
    for (interval, rows) in [(1, ROWS), (16, ROWS), (1, 50_000), (16, 50_000)] {
        let bytes = per_block(interval, rows);
        assert!((3.0..6.0).contains(&bytes), "{bytes:.2} bytes per block");
    }
}

#[test]
fn partition_cuts_keep_to_their_tenth() {
    let blocks = |partition_cut, partitions: &[(u32, u32)]| {
        let mut setup = Setup::new(false, partition_cut);
        setup.partitions = partitions.to_vec();
        let properties = setup.build().reader.properties().clone();
        let promise = |name: &[u8]| properties.user_collected.get(name).cloned();
        let of_two = promise(PARTITION_CUT_PROPERTY).map(|_| b'2');
        let promise = of_two.or_else(|| promise(PARTITION_CUT_FROM_PROPERTY).map(|value| value[0]));
        (properties.num_data_blocks, promise.map(char::from))
    };
    // A few blocks each: a cut at every end would make half as many again.
    let many: Vec<(u32, u32)> = (0..500).map(|partition| (partition, 20)).collect();
    let (plain, cut) = (blocks(false, &many), blocks(true, &many));
    assert!(cut.1 == Some('4') && cut.0 <= plain.0 + plain.0 / 10 + 8, "{plain:?}, {cut:?}");
    let large: Vec<(u32, u32)> = (0..50).map(|partition| (partition, 200)).collect();
    let (plain, cut) = (blocks(false, &large), blocks(true, &large));
    assert!(cut.1 == Some('2') && cut.0 > plain.0 && cut.0 <= plain.0 + plain.0 / 10 + 8, "{plain:?}, {cut:?}");
    // Small partitions go on sharing blocks.
    let small: Vec<(u32, u32)> = (0..2000).map(|partition| (partition, 3)).collect();
    let (plain, cut) = (blocks(false, &small), blocks(true, &small));
    assert_eq!((plain.0, Some('2')), cut);
    assert_eq!(plain.1, None);
}

/// Small partitions that lie over the end of a block do not cost the large ones between them their cuts.
#[test]
fn large_partitions_among_small_ones_are_known_to_end() {
    let reads = |partition_cut| {
        let mut setup = Setup::new(false, partition_cut);
        setup.partitions =
            (0..2000).map(|partition| (partition, if partition % 400 == 100 { 400 } else { 4 })).collect();
        let table = setup.build();
        // Behind the last row, with the index of the row before in memory.
        let behind = |partition: u32, rows: u32| {
            table.reads_of_absent(&key(partition, 2 * rows - 2));
            table.reads_of_absent(&key(partition, 5000)).0
        };
        let large: usize = (0..5).map(|number| behind(number * 400 + 100, 400)).sum();
        let small: usize = (0..5).map(|number| behind(number * 400 + 150, 4)).sum();
        (large, small)
    };
    assert_eq!(reads(false).0, 5);
    assert_eq!(reads(true).0, 0);
    assert!(reads(true).1 > 0, "what is not promised is read");
}

#[test]
fn blocks_are_dense_inside_large_partitions() {
    let build = |change: &dyn Fn(&mut BlockBasedTableOptions)| {
        let mut setup = Setup::new(true, true);
        setup.options.block_size = 4096;
        setup.partitions = (0..300).map(|partition| (partition, if partition == 150 { 3000 } else { 3 })).collect();
        change(&mut setup.options);
        let reader = setup.build().reader;
        let mut sizes = Vec::new();
        reader
            .contents()
            .visit_rows(&mut |row| {
                sizes.push(row.handle.size);
                true
            })
            .unwrap();
        sizes
    };
    let plain = build(&|_| ());
    assert!(plain.iter().filter(|&&size| size > 3500).count() + 10 > plain.len(), "{plain:?}");
    let declared = LargePartitions::new([key(150, 0)[..4].to_vec()]);
    let dense = build(&|options| {
        options.dense_block_size = 1024;
        options.large_partitions = declared.clone();
    });
    let of_sizes =
        |sizes: &[u64], range: std::ops::Range<u64>| sizes.iter().filter(|size| range.contains(size)).count();
    // The 3000 rows take about 330 KiB, the others 100.
    assert!((300..400).contains(&of_sizes(&dense, 900..1100)), "{dense:?}");
    assert!((20..30).contains(&of_sizes(&dense, 3500..4200)), "{dense:?}");
    assert!(of_sizes(&dense, 0..900) <= 10 && of_sizes(&dense, 4200..u64::MAX) == 0);
    // Larger and larger with each four hundred bytes of index.
    let scaled = build(&|options| {
        options.dense_block_size = 1024;
        options.dense_index_limit = 400;
        options.large_partitions = declared.clone();
    });
    let first = scaled.iter().position(|size| (1000..1050).contains(size)).unwrap();
    let inside = &scaled[first..scaled.iter().rposition(|&size| size > 8000).unwrap()];
    assert!(inside.windows(2).all(|pair| pair[1] * 10 > pair[0] * 9), "{inside:?}");
    assert!(of_sizes(&scaled, 900..1100) > 5 && of_sizes(&scaled, 1900..2100) > 5, "{scaled:?}");
    assert!(of_sizes(&scaled, 7500..8200) > 1 && scaled.len() < dense.len() / 2, "{scaled:?}");
}

/// The index of a large partition lies in index partitions of its own.
#[test]
fn large_partitions_have_index_partitions_of_their_own() {
    let partitions = |partition_cut, coupled| {
        let mut setup = Setup::new(false, partition_cut);
        let single = |partitions: std::ops::Range<u32>| partitions.map(|partition| (partition, 1));
        setup.partitions = single(0..2100).chain([(2100, 5000)]).chain(single(2101..4200)).collect();
        setup.options.partition_filters = coupled;
        setup.options.decouple_partitioned_filters = false;
        if coupled {
            setup.filter_policy = FilterPolicy::bloom(10.0);
        }
        setup.build().reader.properties().index_partitions
    };
    for coupled in [false, true] {
        let (plain, cut) = (partitions(false, coupled), partitions(true, coupled));
        assert!(cut > plain && cut <= plain + 2, "{plain}, {cut}");
    }
}
