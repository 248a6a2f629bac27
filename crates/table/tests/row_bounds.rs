//! Row bounds, partition cuts and padding: their guarantees hold for any keys, and a lookup reads only the blocks that
//! they do not exclude.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, check_all_ways, get_all, scan};
use ferrock_base::checksum::ChecksumType;
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{Comparator, InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_format::block::decode_row_bounds_directory;
use ferrock_format::filter::FilterPolicy;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex;
use ferrock_format::trailer::{self, BLOCK_TRAILER_SIZE};
use ferrock_table::options::{IndexShorteningMode, IndexType, LargePartitions, PartitionFromLevel};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, MAX_BLOCK_ENTRIES_PROPERTY, PARTITION_CUT_FROM_PROPERTY,
    PARTITION_CUT_PROPERTY, TableBuilderParams, TableReadOptions, TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/000009.sst";

struct Table {
    reader: Arc<BlockTable>,
    file: Vec<u8>,
}

fn build(params: &TableBuilderParams, entries: &Entries) -> Table {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params.clone(), file).unwrap();
    for (key, value) in entries {
        builder.add(key, value).unwrap();
    }
    builder.finish().unwrap();
    let file = file_system.open_random_access(Path::new(PATH), &RandomAccessOptions::default()).unwrap();
    let bytes =
        ferrock_vfs::read_owned(&*file, 0, usize::try_from(file.size()).unwrap(), &ferrock_vfs::ReadContext::default())
            .unwrap();
    let mut open = TableReaderParams::new(file, file_system, params.comparator.clone());
    open.prefix_extractor.clone_from(&params.prefix_extractor);
    Table { reader: BlockTable::open(open).unwrap(), file: bytes }
}

/// Handle, separator and bound of every block.
type Rows = Vec<(BlockHandle, Vec<u8>, Option<(Vec<u8>, bool)>)>;

fn rows(reader: &BlockTable) -> Rows {
    let mut rows = Vec::new();
    reader
        .contents()
        .visit_rows(&mut |row| {
            let bound = row.bound.map(|(bound, is_exact)| (bound.to_vec(), is_exact));
            rows.push((row.handle, row.separator.to_vec(), bound));
            true
        })
        .unwrap();
    rows
}

/// The user keys of a block.
fn keys_of(reader: &BlockTable, handle: BlockHandle) -> Vec<Vec<u8>> {
    let block = reader.contents().read_data_block(handle).unwrap();
    let mut iter = ferrock_format::block::DataBlockIter::new(&block, reader.comparator().clone(), None);
    let mut keys = Vec::new();
    use ferrock_base::InternalIterator;
    iter.seek_to_first();
    while iter.valid() {
        keys.push(user_key(iter.key()).to_vec());
        iter.next();
    }
    keys
}

/// Bounds bound, separators separate, `exact` means it.
fn check_rows(table: &Table, comparator: &Comparator, has_row_bounds: bool) {
    let mut before: Option<Vec<u8>> = None;
    let mut most_entries = 0;
    for (handle, separator, known) in rows(&table.reader) {
        let keys = keys_of(&table.reader, handle);
        most_entries = most_entries.max(keys.len());
        let (first, last) = (keys.first().unwrap(), keys.last().unwrap());
        assert_eq!(known.is_some(), has_row_bounds);
        if let Some((bound, is_exact)) = known {
            assert!(comparator.compare(&bound, first).is_le());
            match &before {
                None => assert_eq!(&bound, first),
                Some(last) if last == first => assert_eq!(&bound, first),
                Some(last) => assert!(comparator.compare(last, &bound).is_lt()),
            }
            assert_eq!(is_exact, &separator == last);
        }
        assert!(comparator.compare(last, &separator).is_le());
        before = Some(last.clone());
    }
    let told = table.reader.properties().user_collected.get(MAX_BLOCK_ENTRIES_PROPERTY).cloned();
    let has_blocks = has_row_bounds && most_entries > 0;
    assert_eq!(told, has_blocks.then(|| most_entries.to_string().into_bytes()), "entries of the fullest block");
}

/// A partition of as many blocks as the table says ends on a cut, by its own last key.
fn check_partition_cut(table: &Table, extractor: &PrefixExtractor) {
    let properties = &table.reader.properties().user_collected;
    let from = properties.get(PARTITION_CUT_FROM_PROPERTY).map(|value| String::from_utf8(value.clone()).unwrap());
    let min_blocks: usize = match (properties.contains_key(PARTITION_CUT_PROPERTY), from) {
        (false, None) => return,
        (is_two, from) => {
            assert!(!is_two || from.is_none());
            from.map_or(2, |from| from.split(' ').next().unwrap().parse().unwrap())
        }
    };
    let blocks: Vec<(Vec<u8>, Vec<Vec<u8>>)> =
        rows(&table.reader).into_iter().map(|row| (row.1, keys_of(&table.reader, row.0))).collect();
    let mut spanned = 1;
    for pair in blocks.windows(2) {
        let (last, first) = (pair[0].1.last().unwrap(), pair[1].1.first().unwrap());
        let prefix = extractor.prefix(last);
        if prefix != extractor.prefix(first) {
            assert_eq!(&pair[0].0, last, "an exact separator between two prefixes");
            spanned = 1;
            continue;
        }
        // Between two keys without a prefix there may be one with a prefix.
        if prefix.is_some() {
            assert_eq!(extractor.prefix(&pair[0].0), prefix, "separators within a prefix have it");
        }
        spanned += 1;
        if extractor.prefix(pair[1].1.last().unwrap()) != prefix {
            // Keys without a prefix are no partition, but another one may begin behind them.
            let ends_on_cut_or_is_small = prefix.is_none() || spanned < min_blocks;
            assert!(ends_on_cut_or_is_small, "{prefix:?} spans {spanned} blocks and shares the last one");
            spanned = 1;
        }
    }
}

fn key_strategy() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop::sample::select(vec![0u8, 1, b'a', b'b', 0xfe, 0xff]);
    prop_oneof![
        prop::collection::vec(byte(), 0..7),
        (0usize..194, prop::collection::vec(byte(), 0..6))
            .prop_map(|(length, tail)| [vec![b'x'; length], tail].concat()),
        // Partitions of many rows.
        (0u8..4, any::<u16>()).prop_map(|(partition, row)| [&[b'p', partition][..], &row.to_be_bytes()].concat()),
        // The same with components that have end marks.
        (0usize..4, any::<u16>(), any::<bool>()).prop_map(|(length, row, is_descending)| {
            let (byte, end) = if is_descending { (b'q', [0xff, 0xfe]) } else { (b'p', [0, 1]) };
            [&vec![byte; length][..], &end, &row.to_be_bytes()].concat()
        }),
    ]
}

/// Some of the prefixes that keys have.
fn large_strategy() -> impl Strategy<Value = LargePartitions> {
    let byte = || prop::sample::select(vec![0u8, 1, b'a', b'x', 0xff]);
    let prefix = prop_oneof![
        prop::collection::vec(byte(), 2..5),
        (0u8..4, prop::option::of(0u8..3))
            .prop_map(|(partition, row)| [b'p', partition].into_iter().chain(row).collect()),
    ];
    prop::collection::vec(prefix, 0..4).prop_map(LargePartitions::new)
}

#[derive(Clone, Debug)]
struct Case {
    entries: Entries,
    absent: Vec<Vec<u8>>,
    params: TableBuilderParams,
}

fn case_strategy() -> impl Strategy<Value = Case> {
    let entries = prop::collection::vec((key_strategy(), 1u64..5, 0usize..60), 1..250);
    let absent = prop::collection::vec(key_strategy(), 0..40);
    let own =
        (any::<bool>(), any::<bool>(), prop::sample::select(vec![0u64, 512]), prop::sample::select(vec![0u64, 512]));
    let dense =
        (prop::sample::select(vec![0u64, 40, 300]), prop::sample::select(vec![0u64, 100, 10 << 20]), large_strategy());
    let form = (2u32..=7, 1u64..700, 1i32..20, 60u64..400, 0usize..3, prop::sample::select(vec![0usize, 2, 3]));
    let filter = (any::<bool>(), any::<bool>(), any::<bool>());
    let extractor = prop::sample::select(vec![
        None,
        Some(PrefixExtractor::Fixed(2)),
        Some(PrefixExtractor::Fixed(3)),
        Some(PrefixExtractor::Capped(4)),
        Some(PrefixExtractor::Noop),
        Some(PrefixExtractor::built_in("ferrock.Components.a").unwrap().unwrap()),
        Some(PrefixExtractor::built_in("ferrock.Components.1.d").unwrap().unwrap()),
    ]);
    (entries, absent, (own, dense), form, filter, extractor, any::<bool>()).prop_map(
        |(entries, absent, (own, dense), form, filter, extractor, reverse)| {
            let order = if reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
            let comparator = InternalComparator::new(order);
            let mut entries: Entries = entries
                .into_iter()
                .map(|(key, sequence, length)| {
                    (make_internal_key(&key, SequenceNumber(sequence), ValueType::Value), vec![b'v'; length])
                })
                .collect();
            entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
            entries.dedup_by(|a, b| a.0 == b.0);
            let mut params = TableBuilderParams::new(comparator);
            params.options = Arc::new(BlockBasedTableOptions {
                row_bounds: own.0,
                partition_cut: own.1,
                pad_to_sector: own.2,
                avoid_straddle: own.3,
                dense_block_size: dense.0,
                dense_index_limit: dense.1,
                large_partitions: dense.2,
                format_version: form.0,
                block_size: form.1,
                index_block_restart_interval: form.2,
                metadata_block_size: form.3,
                index_shortening: IndexShorteningMode::ALL[form.4].0,
                index_type: IndexType::ALL[form.5].0,
                partition_filters: filter.0,
                decouple_partitioned_filters: filter.1,
                partition_from_level: if filter.2 {
                    PartitionFromLevel::Level(0)
                } else {
                    PartitionFromLevel::Automatic
                },
                ..BlockBasedTableOptions::default()
            });
            if filter.0 {
                params.filter_policy = FilterPolicy::bloom(10.0);
            }
            params.prefix_extractor = extractor;
            Case { entries, absent, params }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_keys_are_found_and_bounded(case in case_strategy()) {
        let table = build(&case.params, &case.entries);
        let (options, comparator) = (&case.params.options, case.params.comparator.user());
        prop_assert_eq!(&scan(&table.reader, TableReadOptions::default()).unwrap(), &case.entries);
        check_all_ways(&table.reader, &case.entries);
        check_rows(&table, comparator, options.row_bounds);
        if let Some(extractor) = &case.params.prefix_extractor {
            check_partition_cut(&table, extractor);
        }
        // Keys of all kinds, between the rows and elsewhere, at all sequence numbers.
        let read = TableReadOptions::default();
        for key in case.absent.iter().cloned().chain(case.entries.iter().flat_map(|(key, _)| neighbours(user_key(key)))) {
            for sequence in [SequenceNumber(0), SequenceNumber(2), MAX_SEQUENCE_NUMBER] {
                let lookup = LookupKey::new(&key, sequence);
                let start = case.entries.partition_point(|(other, _)| {
                    case.params.comparator.compare(other, lookup.internal_key()).is_lt()
                });
                let expected: Entries =
                    case.entries[start..].iter().take_while(|(other, _)| user_key(other) == key).cloned().collect();
                prop_assert_eq!(get_all(&table.reader, &lookup, &read).unwrap(), expected);
            }
        }
        table.reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown).unwrap();
        if options.pad_to_sector > 0 {
            prop_assert!(rows(&table.reader).iter().all(|row| row.0.offset % options.pad_to_sector == 0));
        } else if options.avoid_straddle > 0 {
            for (handle, ..) in rows(&table.reader) {
                let bytes = handle.size + BLOCK_TRAILER_SIZE as u64;
                let sectors = (handle.offset + bytes).div_ceil(512) - handle.offset / 512;
                prop_assert_eq!(sectors, bytes.div_ceil(512));
            }
        }
        prop_assert!(!table.file.is_empty());
    }
}

/// The key without its last byte, one more, one less, longer by a zero.
fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = vec![[key, &[0]].concat()];
    if let Some((last, rest)) = key.split_last() {
        keys.push(rest.to_vec());
        keys.push([rest, &[last.wrapping_add(1)]].concat());
        keys.push([rest, &[last.wrapping_sub(1)]].concat());
    }
    keys
}

/// A table of two-level index and format version 5, whose checksums do not depend on the file.
fn plain_table() -> (TableBuilderParams, Entries) {
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.options = Arc::new(BlockBasedTableOptions {
        row_bounds: true,
        format_version: 5,
        block_size: 200,
        metadata_block_size: 200,
        index_type: IndexType::TwoLevelIndexSearch,
        ..BlockBasedTableOptions::default()
    });
    let entries = (0..500u32)
        .map(|row| (make_internal_key(&(2 * row).to_be_bytes(), SequenceNumber(1), ValueType::Value), vec![b'v'; 20]));
    (params, entries.collect())
}

fn reopen(file: &[u8]) -> ferrock_base::Result<Arc<BlockTable>> {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut written = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    written.append(file).unwrap();
    written.close().unwrap();
    let file = file_system.open_random_access(Path::new(PATH), &RandomAccessOptions::default()).unwrap();
    BlockTable::open(TableReaderParams::new(file, file_system, InternalComparator::default()))
}

fn range(handle: BlockHandle) -> std::ops::Range<usize> {
    let start = usize::try_from(handle.offset).unwrap();
    start..start + usize::try_from(handle.size).unwrap()
}

fn directory_of(table: &Table) -> BlockHandle {
    let blocks = table.reader.contents().meta_blocks().unwrap();
    blocks.into_iter().find(|(name, _)| name == metaindex::ROW_BOUNDS.as_bytes()).unwrap().1
}

/// Puts the right checksum behind a changed block.
fn repair(file: &mut [u8], handle: BlockHandle) {
    let place = range(handle);
    let trailer = trailer::encode(ChecksumType::Xxh3, &file[place.clone()], 0, 0, handle.offset);
    file[place.end..place.end + BLOCK_TRAILER_SIZE].copy_from_slice(&trailer);
}

#[test]
fn damage_is_found_and_named() {
    let (params, entries) = plain_table();
    let table = build(&params, &entries);
    let directory = directory_of(&table);
    let sides = decode_row_bounds_directory(&table.file[range(directory)]).unwrap().unwrap();
    assert_eq!(sides.len() as u64, table.reader.properties().index_partitions);
    let side = sides[1];
    for at in range(side).step_by(3) {
        let mut file = table.file.clone();
        file[at] ^= 0x10;
        let reader = reopen(&file).unwrap();
        assert!(reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown).unwrap_err().is_corruption());
        let error = scan(&reader, TableReadOptions::default()).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains(PATH), "{error}");
        assert!(
            error.offset().is_some_and(|offset| range(side).contains(&usize::try_from(offset).unwrap())),
            "{error}"
        );
        // The same with the right checksum: refused, or another bound, but never a panic.
        repair(&mut file, side);
        let reader = reopen(&file).unwrap();
        let _ = scan(&reader, TableReadOptions::default());
        for (key, _) in &entries {
            let _ = get_all(&reader, &LookupKey::new(user_key(key), MAX_SEQUENCE_NUMBER), &TableReadOptions::default());
        }
    }
    for at in range(directory) {
        let mut file = table.file.clone();
        file[at] ^= 0x01;
        assert!(reopen(&file).unwrap_err().is_corruption());
        repair(&mut file, directory);
        // A side block elsewhere is not read; one of another size is none.
        match reopen(&file).and_then(|reader| scan(&reader, TableReadOptions::default())) {
            Ok(scanned) => assert_eq!(scanned, entries),
            Err(error) => assert!(error.is_corruption(), "{error}"),
        }
    }
}

#[test]
fn a_later_version_is_left_alone() {
    let (params, entries) = plain_table();
    let table = build(&params, &entries);
    let mut file = table.file.clone();
    let directory = directory_of(&table);
    file[range(directory).start] = 2;
    repair(&mut file, directory);
    let reader = reopen(&file).unwrap();
    assert!(rows(&reader).iter().all(|row| row.2.is_none()) && rows(&table.reader).iter().all(|row| row.2.is_some()));
    check_all_ways(&reader, &entries);
    reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown).unwrap();
}
