//! The reader returns what the builder wrote: over the options, and against a model.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, check_all_ways, get_all, open_by_itself, scan};
use ferrock_base::checksum::ChecksumType;
use ferrock_base::comparator::CustomComparator;
use ferrock_base::internal_key::{make_internal_key, split_timestamp};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::{
    Comparator, Error, ErrorKind, InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType,
};
use ferrock_format::compression::{CompressionOptions, CompressionType};
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{FlushBlockPolicy, IndexBlockSearchType, IndexShorteningMode};
use ferrock_table::{
    BlockBasedTableOptions, BlockTableBuilder, TableBuilderParams, TableReadOptions, TableReaderParams, TableSummary,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/000007.sst";

fn build(
    file_system: &Arc<dyn FileSystem>,
    params: TableBuilderParams,
    entries: &Entries,
    tombstones: &Entries,
) -> TableSummary {
    let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for (key, value) in entries {
        builder.add(key, value).unwrap();
    }
    for (start, end) in tombstones {
        builder.add_range_tombstone(start, end).unwrap();
    }
    let summary = builder.finish().unwrap();
    assert_eq!(file_system.file_size(Path::new(PATH)).unwrap(), summary.file_size);
    summary
}

fn numbered(count: usize) -> Entries {
    (0..count)
        .map(|index| {
            let key = format!("key{index:06}");
            let value = format!("value of {index} {}", "x".repeat(index % 60));
            (make_internal_key(key.as_bytes(), SequenceNumber(index as u64 + 1), ValueType::Value), value.into_bytes())
        })
        .collect()
}

#[derive(Clone, Debug)]
struct Case {
    entries: Entries,
    tombstones: Entries,
    params: TableBuilderParams,
}

fn options_strategy() -> impl Strategy<Value = BlockBasedTableOptions> {
    let form = (2u32..=7, prop::sample::select(ChecksumType::ALL.to_vec()), 1u64..600, 0i32..=100);
    let restarts = (1i32..20, 1i32..20, any::<bool>(), any::<bool>());
    let rest = (0usize..3, any::<bool>(), any::<bool>(), any::<bool>());
    (form, restarts, rest).prop_map(|(form, restarts, rest)| BlockBasedTableOptions {
        format_version: form.0,
        checksum: form.1,
        block_size: form.2,
        block_size_deviation: form.3,
        block_restart_interval: restarts.0,
        index_block_restart_interval: restarts.1,
        use_delta_encoding: restarts.2,
        enable_index_compression: restarts.3,
        index_shortening: IndexShorteningMode::ALL[rest.0].0,
        whole_key_filtering: rest.1,
        verify_compression: rest.2,
        flush_block_policy_factory: if rest.3 { FlushBlockPolicy::BySize } else { FlushBlockPolicy::EveryKey },
        ..BlockBasedTableOptions::default()
    })
}

fn case_strategy() -> impl Strategy<Value = Case> {
    let key = prop_oneof![
        prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b', 255]), 0..6),
        "[a-c]{0,3}key[0-9]{1,4}".prop_map(String::into_bytes),
    ];
    let types =
        prop::sample::select(vec![ValueType::Value, ValueType::Deletion, ValueType::Merge, ValueType::SingleDeletion]);
    let value = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        (0usize..300).prop_map(|length| b"abcd".iter().copied().cycle().take(length).collect()),
    ];
    let entries = prop::collection::vec((key.clone(), 1u64..4, types, value), 0..120);
    let tombstones = prop::collection::vec((key.clone(), key, 1u64..9), 0..4);
    let codecs = vec![
        CompressionType::NoCompression,
        CompressionType::Snappy,
        CompressionType::Zlib,
        CompressionType::BZip2,
        CompressionType::Lz4,
        CompressionType::Lz4Hc,
        CompressionType::Zstd,
    ];
    let filter =
        prop::sample::select(vec![FilterPolicy::None, FilterPolicy::bloom(10.0), FilterPolicy::ribbon(8.0, 0)]);
    let extractor = prop::sample::select(vec![None, Some(PrefixExtractor::Fixed(3)), Some(PrefixExtractor::Capped(2))]);
    let compression = (prop::sample::select(codecs), prop::sample::select(vec![0u32, 0, 500]), any::<bool>());
    (entries, tombstones, options_strategy(), compression, filter, extractor, any::<bool>()).prop_map(
        |(entries, tombstones, options, compression, filter, extractor, reverse)| {
            let order = if reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
            let comparator = InternalComparator::new(order);
            let mut entries: Entries = entries
                .into_iter()
                .map(|(key, sequence, kind, value)| (make_internal_key(&key, SequenceNumber(sequence), kind), value))
                .collect();
            entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
            entries.dedup_by(|a, b| a.0 == b.0);
            let tombstones = tombstones
                .into_iter()
                .map(|(a, b, sequence)| (make_internal_key(&a, SequenceNumber(sequence), ValueType::RangeDeletion), b))
                .collect();
            let mut params = TableBuilderParams::new(comparator);
            params.options = Arc::new(options);
            params.compression = compression.0;
            params.compression_options = CompressionOptions {
                max_dict_bytes: compression.1,
                max_dict_buffer_bytes: if compression.2 { 2000 } else { 0 },
                ..CompressionOptions::default()
            };
            params.filter_policy = filter;
            params.prefix_extractor = extractor;
            Case { entries, tombstones, params }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn tables_read_back_as_written(case in case_strategy()) {
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let comparator = case.params.comparator.clone();
        let summary = build(&file_system, case.params.clone(), &case.entries, &case.tombstones);
        let reader = open_by_itself(&file_system, Path::new(PATH), None, |_| {}).unwrap();
        prop_assert_eq!(&scan(&reader, TableReadOptions::default()).unwrap(), &case.entries);
        check_all_ways(&reader, &case.entries);
        prop_assert_eq!(&summary.first_key, &case.entries.first().map(|(key, _)| key.clone()));
        prop_assert_eq!(&summary.last_key, &case.entries.last().map(|(key, _)| key.clone()));

        let properties = reader.properties();
        prop_assert_eq!(properties.num_entries, (case.entries.len() + case.tombstones.len()) as u64);
        prop_assert_eq!(properties.num_range_deletions, case.tombstones.len() as u64);
        let tombstones: Vec<RangeTombstone> = case.tombstones.iter().map(|(start, end)| RangeTombstone {
            start: ferrock_base::internal_key::user_key(start).to_vec(),
            end: end.clone(),
            sequence: ferrock_base::internal_key::sequence(start),
        }).collect();
        let expected = FragmentedRangeTombstones::new(comparator.user().clone(), tombstones);
        let fragments = reader.range_tombstones();
        prop_assert_eq!(fragments.map_or(0, |fragments| fragments.len()), expected.len());
        if let Some(fragments) = fragments {
            prop_assert!(fragments.iter().eq(expected.iter()));
        }
        if case.params.filter_policy != FilterPolicy::None && case.params.options.whole_key_filtering && !case.entries.is_empty() {
            prop_assert!(reader.has_filter());
        }
    }
}

#[test]
fn properties_say_what_the_table_is() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.compression = CompressionType::Lz4;
    params.filter_policy = FilterPolicy::bloom(10.0);
    params.db_id = "the-database".to_owned();
    params.db_session_id = "KQCYQT8SG0R3ITYK3IWK".to_owned();
    params.file_number = 7;
    params.column_family_name = b"default".to_vec();
    params.user_collected.insert(b"mine".to_vec(), b"kept".to_vec());
    let summary = build(&file_system, params, &numbered(3000), &Vec::new());
    assert_ne!(summary.unique_id, [0; 16]);
    let expected_id = summary.unique_id;
    let reader = open_by_itself(&file_system, Path::new(PATH), None, |params| {
        params.expected_unique_id = Some(expected_id);
        params.tail_size = Some(summary.tail_size);
    })
    .unwrap();
    let written = &*summary.properties;
    let mut read = (**reader.properties()).clone();
    read.uncompressed_data_size = written.uncompressed_data_size;
    assert_eq!(&read, written);
    assert_eq!((read.compression_name.as_str(), read.format_version), ("BuiltinV2;04;", 7));
    assert_eq!((read.key_smallest_seqno, read.key_largest_seqno), (Some(1), Some(3000)));
    assert_eq!(read.user_collected[&b"mine"[..]], b"kept");
    assert!(read.data_size < read.uncompressed_data_size && read.num_data_blocks > 20);
    let wrong = open_by_itself(&file_system, Path::new(PATH), None, |params| params.expected_unique_id = Some([1; 16]));
    assert!(wrong.unwrap_err().is_corruption());
    let wrong = open_by_itself(&file_system, Path::new(PATH), None, |params| params.file_size += 1);
    assert!(wrong.unwrap_err().is_corruption());
}

#[test]
fn a_user_key_over_two_blocks_is_found_whole() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    for format_version in 2..=7 {
        let mut params = TableBuilderParams::new(InternalComparator::default());
        let options = BlockBasedTableOptions { format_version, block_size: 64, ..BlockBasedTableOptions::default() };
        params.options = Arc::new(options);
        let mut entries: Entries = (1..50u64)
            .rev()
            .map(|sequence| (make_internal_key(b"same", SequenceNumber(sequence), ValueType::Merge), vec![b'v'; 20]))
            .collect();
        entries.push((make_internal_key(b"tail", SequenceNumber(1), ValueType::Value), b"v".to_vec()));
        let summary = build(&file_system, params, &entries, &Vec::new());
        assert_eq!(summary.properties.index_key_is_user_key, 0);
        let reader = open_by_itself(&file_system, Path::new(PATH), None, |_| {}).unwrap();
        let key = LookupKey::new(b"same", SequenceNumber(30));
        assert_eq!(get_all(&reader, &key, &TableReadOptions::default()).unwrap(), &entries[19..49]);
        check_all_ways(&reader, &entries);
    }
}

/// RocksDB sets the hint so; its readers, and ours, look at it for bytewise keys only.
#[test]
fn the_uniform_hint_does_not_ask_for_the_comparator() {
    for user in [Comparator::Bytewise, Comparator::ReverseBytewise] {
        let comparator = InternalComparator::new(user);
        let mut params = TableBuilderParams::new(comparator.clone());
        let options = BlockBasedTableOptions { uniform_cv_threshold: 0.3, block_size: 100, ..Default::default() };
        params.options = Arc::new(options);
        let entry = |number: u64| {
            (make_internal_key(&(number * 1000).to_be_bytes(), SequenceNumber(1), ValueType::Value), vec![b'v'; 30])
        };
        let mut entries: Entries = (0..500).map(entry).collect();
        entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let summary = build(&file_system, params, &entries, &Vec::new());
        assert_eq!(summary.properties.num_uniform_blocks, Some(1));
        for search in [IndexBlockSearchType::Auto, IndexBlockSearchType::Interpolation] {
            let options = BlockBasedTableOptions { index_block_search_type: search, ..Default::default() };
            let open = |params: &mut TableReaderParams| params.options = Arc::new(options);
            check_all_ways(&open_by_itself(&file_system, Path::new(PATH), None, open).unwrap(), &entries);
        }
    }
}

#[test]
fn options_change_the_bytes() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let entries = numbered(4000);
    let size = |change: &dyn Fn(&mut TableBuilderParams)| {
        let mut params = TableBuilderParams::new(InternalComparator::default());
        change(&mut params);
        let summary = build(&file_system, params, &entries, &Vec::new());
        (summary.file_size, summary.properties)
    };
    let options = |change: &dyn Fn(&mut BlockBasedTableOptions)| {
        size(&|params| {
            let mut options = BlockBasedTableOptions::default();
            change(&mut options);
            params.options = Arc::new(options);
        })
    };
    let compression = |kind: CompressionType, level: i32| {
        size(&|params| {
            params.compression = kind;
            params.compression_options.level = level;
        })
        .0
    };
    let plain = size(&|_| {});
    let default_level = CompressionOptions::default().level;
    let lz4 = compression(CompressionType::Lz4, default_level);
    assert!(lz4 < plain.0);
    assert!(compression(CompressionType::Lz4Hc, default_level) < lz4);
    assert!(compression(CompressionType::Zstd, 19) < compression(CompressionType::Zstd, 1));
    assert!(compression(CompressionType::Zlib, 9) < compression(CompressionType::Zlib, 1));
    assert!(options(&|options| options.use_delta_encoding = false).0 > plain.0);
    assert!(options(&|options| options.block_restart_interval = 1).0 > plain.0);
    assert!(options(&|options| options.index_block_restart_interval = 16).1.index_size < plain.1.index_size);
    assert!(options(&|options| options.block_size = 1024).1.num_data_blocks > 3 * plain.1.num_data_blocks);
    assert!(options(&|options| options.block_size_deviation = 0).1.num_data_blocks < plain.1.num_data_blocks + 1);
    let long = options(&|options| options.index_shortening = IndexShorteningMode::NoShortening).1.index_size;
    assert!(long >= plain.1.index_size);
    let every = options(&|options| options.flush_block_policy_factory = FlushBlockPolicy::EveryKey);
    assert_eq!(every.1.num_data_blocks, 4000);
    let raw_index = size(&|params| {
        params.compression = CompressionType::Zstd;
        params.options =
            Arc::new(BlockBasedTableOptions { enable_index_compression: false, ..BlockBasedTableOptions::default() });
    });
    assert!(raw_index.0 > compression(CompressionType::Zstd, default_level));
    let with_filter = size(&|params| params.filter_policy = FilterPolicy::bloom(10.0));
    assert!(with_filter.1.num_filter_entries == 4000 && with_filter.1.filter_size >= 5000);
    let left_out = size(&|params| {
        params.filter_policy = FilterPolicy::bloom(10.0);
        params.build_filter = false;
    });
    assert_eq!(left_out.1.filter_size, 0);
    let with_dictionary = |max_dict_bytes: u32| {
        size(&|params| {
            params.compression = CompressionType::Zstd;
            params.options = Arc::new(BlockBasedTableOptions { block_size: 512, ..BlockBasedTableOptions::default() });
            params.compression_options.max_dict_bytes = max_dict_bytes;
        })
        .0
    };
    assert!(with_dictionary(4096) < with_dictionary(0));
}

#[test]
fn wrong_use_is_an_error_that_stays() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let create = || {
        let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
        BlockTableBuilder::new(TableBuilderParams::new(InternalComparator::default()), file).unwrap()
    };
    let key = |key: &[u8]| make_internal_key(key, SequenceNumber(1), ValueType::Value);
    let mut builder = create();
    builder.add(&key(b"b"), b"").unwrap();
    assert!(builder.add(&key(b"a"), b"").is_err());
    assert!(builder.add(&key(b"c"), b"").is_err());
    assert!(builder.finish().is_err());
    let mut builder = create();
    builder.add(&key(b"b"), b"").unwrap();
    assert!(builder.add(&key(b"b"), b"").is_err());
    assert!(create().add(b"short", b"").is_err());
    assert!(create().add(&make_internal_key(b"k", SequenceNumber(1), ValueType::LogData), b"").is_err());
    assert!(create().add_range_tombstone(&key(b"a"), b"b").is_err());
    let options = BlockBasedTableOptions { format_version: 1, ..BlockBasedTableOptions::default() };
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.options = Arc::new(options);
    let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    assert!(BlockTableBuilder::new(params, file).is_err());
}

#[test]
fn lookups_see_no_newer_versions() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let entries: Entries = [(9, ValueType::Deletion), (5, ValueType::Merge), (2, ValueType::Value)]
        .into_iter()
        .map(|(sequence, kind)| (make_internal_key(b"k", SequenceNumber(sequence), kind), vec![sequence as u8]))
        .collect();
    build(&file_system, TableBuilderParams::new(InternalComparator::default()), &entries, &Vec::new());
    let reader = open_by_itself(&file_system, Path::new(PATH), None, |_| {}).unwrap();
    for (upper, skipped) in [(1u64, 3usize), (2, 2), (4, 2), (5, 1), (8, 1), (9, 0)] {
        let key = LookupKey::new(b"k", SequenceNumber(upper));
        assert_eq!(get_all(&reader, &key, &TableReadOptions::default()).unwrap(), &entries[skipped..]);
    }
    let mut seen = 0;
    let key = LookupKey::new(b"k", MAX_SEQUENCE_NUMBER);
    reader
        .get(&TableReadOptions::default(), &key, &mut |_, _, _| {
            seen += 1;
            false
        })
        .unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn an_external_table_shows_its_global_sequence_number() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.is_external = true;
    let entries: Entries = (0..500u32)
        .map(|index| {
            let key = format!("key{index:05}");
            (make_internal_key(key.as_bytes(), SequenceNumber(0), ValueType::Value), key.into_bytes())
        })
        .collect();
    let tombstones = vec![(make_internal_key(b"a", SequenceNumber(0), ValueType::RangeDeletion), b"b".to_vec())];
    build(&file_system, params, &entries, &tombstones);
    let reader = open_by_itself(&file_system, Path::new(PATH), None, |params| {
        params.largest_sequence = Some(SequenceNumber(77))
    })
    .unwrap();
    let shown: Entries = entries
        .iter()
        .map(|(key, value)| {
            let user = ferrock_base::internal_key::user_key(key);
            (make_internal_key(user, SequenceNumber(77), ValueType::Value), value.clone())
        })
        .collect();
    assert_eq!(scan(&reader, TableReadOptions::default()).unwrap(), shown);
    check_all_ways(&reader, &shown);
    assert_eq!(
        reader.range_tombstones().unwrap().max_covering_sequence(b"a", MAX_SEQUENCE_NUMBER),
        Some(SequenceNumber(77))
    );
    // An entry written before the lookup's sequence number only.
    let key = LookupKey::new(b"key00001", SequenceNumber(76));
    assert!(get_all(&reader, &key, &TableReadOptions::default()).unwrap().is_empty());
}

/// Keys ascending, then timestamps descending.
struct WithTimestamps;

impl CustomComparator for WithTimestamps {
    fn name(&self) -> &str {
        "test.BytewiseComparator.u64ts"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let ((a, at), (b, bt)) = (split_timestamp(a, 8), split_timestamp(b, 8));
        a.cmp(b).then_with(|| bt.cmp(at))
    }
    fn timestamp_size(&self) -> usize {
        8
    }
}

#[test]
fn an_order_with_timestamps_is_refused_by_builder_and_reader() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let order = InternalComparator::new(Comparator::Custom(Arc::new(WithTimestamps)));
    let is_refused = |error: &Error| {
        error.kind() == ErrorKind::NotSupported && error.message().contains("user-defined timestamps of 8 bytes")
    };
    let file = file_system.create_writable(Path::new("/refused.sst"), &WritableOptions::default()).unwrap();
    let error = BlockTableBuilder::new(TableBuilderParams::new(order.clone()), file).unwrap_err();
    assert!(is_refused(&error), "{error}");
    let entries = vec![(make_internal_key(b"k", SequenceNumber(1), ValueType::Value), b"v".to_vec())];
    build(&file_system, TableBuilderParams::new(InternalComparator::default()), &entries, &Entries::new());
    let opened = open_by_itself(&file_system, Path::new(PATH), None, |params| params.comparator = order);
    let error = opened.unwrap_err();
    assert!(is_refused(&error), "{error}");
}
