//! Filters of tables never exclude present keys: every implementation, whole or in partitions, by keys, prefixes or
//! both, in both orders, at the edges of partitions and for prefixes that span several of them.
//!
//! Cases are drawn from seeds. A failure names its seed; `FERROCK_FILTER_SEEDS=n` runs n of them instead of 150.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{Entries, get_all, open_by_itself};
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::random::Random;
use ferrock_base::{
    Comparator, ErrorKind, InternalComparator, InternalIterator, LookupKey, MAX_SEQUENCE_NUMBER, SequenceNumber,
    ValueType,
};
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{IndexShorteningMode, IndexType};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, ReadTier, ScanBounds, TableBuilderParams, TableReadOptions,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/000007.sst";

/// The parameters of a case.
#[derive(Debug)]
struct Case {
    format_version: u32,
    policy: FilterPolicy,
    filter_level: i32,
    extractor: Option<PrefixExtractor>,
    whole_keys: bool,
    is_reverse: bool,
    /// Of partitions; `None` for a whole filter.
    partitions: Option<Partitions>,
    keys: BTreeSet<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
struct Partitions {
    is_decoupled: bool,
    bytes: u64,
    shortening: IndexShorteningMode,
}

fn pick<T: Clone>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize].clone()
}

fn draw(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let bits = pick(&mut random, &[1.0, 4.5, 10.0, 16.0]);
    // Legacy Bloom below version 5; a Ribbon policy gives Ribbon, or Bloom below its level.
    let (format_version, policy) = pick(
        &mut random,
        &[
            (4, FilterPolicy::bloom(bits)),
            (5, FilterPolicy::bloom(bits)),
            (7, FilterPolicy::bloom(bits)),
            (7, FilterPolicy::ribbon(bits, -1)),
            (5, FilterPolicy::ribbon(bits, 3)),
        ],
    );
    let extractors = [
        None,
        Some(PrefixExtractor::Fixed(1)),
        Some(PrefixExtractor::Fixed(3)),
        Some(PrefixExtractor::Capped(2)),
        Some(PrefixExtractor::Noop),
        Some(PrefixExtractor::built_in("ferrock.Components.2").unwrap().unwrap()),
        Some(PrefixExtractor::built_in("ferrock.Components.1.d").unwrap().unwrap()),
    ];
    let extractor = pick(&mut random, &extractors);
    let partitions = (!random.one_in(4)).then(|| Partitions {
        is_decoupled: random.one_in(2),
        bytes: pick(&mut random, &[1, 70, 200, 1000]),
        shortening: pick(&mut random, IndexShorteningMode::ALL).0,
    });
    let count = pick(&mut random, &[1, 30, 400, 2500]);
    let style = random.below(3);
    let keys = (0..count)
        .map(|number| match style {
            // Few prefixes, each over many partitions.
            0 => format!("{:03}-{:05}", number * 5 / count, random.below(100_000)).into_bytes(),
            // Most prefixes of one or two keys.
            1 => format!("{:05}{}", random.below(20_000), random.below(10)).into_bytes(),
            // Short and binary: many out of the domain of the extractor, bytes at the ends of their range.
            _ => (0..random.below(6)).map(|_| pick(&mut random, &[0u8, 1, b'a', 0xfe, 0xff])).collect(),
        })
        .collect();
    Case {
        format_version,
        policy,
        filter_level: pick(&mut random, &[-1, 0, 2, 3, 6]),
        whole_keys: extractor.is_none() || random.one_in(2),
        extractor,
        is_reverse: random.one_in(3),
        partitions,
        keys,
    }
}

impl Case {
    fn comparator(&self) -> InternalComparator {
        InternalComparator::new(if self.is_reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise })
    }

    /// One or a few versions of each key, in the table's order.
    fn entries(&self) -> Entries {
        let mut entries = Vec::new();
        for (index, key) in self.keys.iter().enumerate() {
            for version in 0..=u64::from(index % 7 == 0) * 3 {
                let kind = if index % 5 == 0 { ValueType::Deletion } else { ValueType::Value };
                entries.push((make_internal_key(key, SequenceNumber(10 + version), kind), b"value".to_vec()));
            }
        }
        let comparator = self.comparator();
        entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
        entries
    }

    fn build(&self) -> Arc<BlockTable> {
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let mut params = TableBuilderParams::new(self.comparator());
        let mut options = BlockBasedTableOptions {
            format_version: self.format_version,
            block_size: 60,
            whole_key_filtering: self.whole_keys,
            ..BlockBasedTableOptions::default()
        };
        if let Some(partitions) = self.partitions {
            options.index_type = IndexType::TwoLevelIndexSearch;
            options.partition_filters = true;
            options.decouple_partitioned_filters = partitions.is_decoupled;
            options.metadata_block_size = partitions.bytes;
            options.index_shortening = partitions.shortening;
        }
        params.options = Arc::new(options);
        params.filter_policy = self.policy;
        params.filter_level = self.filter_level;
        params.prefix_extractor = self.extractor.clone();
        let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
        let mut builder = BlockTableBuilder::new(params, file).unwrap();
        for (key, value) in self.entries() {
            builder.add(&key, &value).unwrap();
        }
        builder.finish().unwrap();
        open_by_itself(&file_system, Path::new(PATH), None, |_| {}).unwrap()
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        self.extractor.as_ref().and_then(|extractor| extractor.prefix(key))
    }

    /// Keys to ask for: those that are there, and between, before and behind them.
    fn questions(&self) -> BTreeSet<Vec<u8>> {
        let mut questions = self.keys.clone();
        for key in self.keys.iter().step_by(1 + self.keys.len() / 300) {
            let with = |tail: &[u8]| [&key[..], tail].concat();
            questions.extend([with(&[0]), with(&[0xff]), with(&[0xff; 4]), with(b"m")]);
            for length in 0..key.len() {
                questions.insert(key[..length].to_vec());
                questions.insert([&key[..length], &[key[length].wrapping_add(1)]].concat());
                questions.insert([&key[..length], &[key[length].wrapping_sub(1), 0xff]].concat());
            }
        }
        questions
    }
}

/// Counts keys that filters excluded, so that a filter that always says *maybe* does not pass the test.
#[derive(Debug, Default)]
struct Tally {
    absent_keys: u64,
    denied_keys: u64,
    absent_prefixes: u64,
    denied_prefixes: u64,
    most_partitions: u64,
    formats: [u64; 3],
}

fn check(case: &Case, tally: &mut Tally) {
    let reader = case.build();
    let entries = case.entries();
    let comparator = case.comparator();
    let options = TableReadOptions::default();
    let in_memory = TableReadOptions { read_tier: ReadTier::BlockCacheOnly, ..options };
    let present: BTreeSet<&[u8]> = case.keys.iter().filter_map(|key| case.prefix(key)).collect();
    let questions = case.questions();
    let lookups: Vec<LookupKey> = questions.iter().map(|key| LookupKey::new(key, MAX_SEQUENCE_NUMBER)).collect();
    let mut singles = Vec::new();
    for (key, lookup) in questions.iter().zip(&lookups) {
        let expected: Entries = entries.iter().filter(|(entry, _)| user_key(entry) == key).cloned().collect();
        let found = get_all(&reader, lookup, &options).unwrap();
        assert_eq!(found, expected, "get of {key:x?}");
        // Index and filter are in memory now, data blocks are not: what passes the filter cannot be read.
        let passes = match reader.get(&in_memory, lookup, &mut |_, _, _| true) {
            Ok(()) => false,
            Err(error) if error.kind() == ErrorKind::Incomplete => true,
            Err(error) => panic!("{error}"),
        };
        if expected.is_empty() && case.whole_keys {
            tally.absent_keys += 1;
            tally.denied_keys += u64::from(!passes);
        }
        assert!(passes || expected.is_empty(), "the filter denies {key:x?}");
        singles.push(found);
    }
    let keys: Vec<&LookupKey> = lookups.iter().collect();
    let mut batch: Vec<Entries> = vec![Vec::new(); keys.len()];
    let results = reader.multi_get(&options, &keys, &mut |index, key, value, _| {
        batch[index].push((key.encode(), value.to_vec()));
        true
    });
    assert!(results.iter().all(Result::is_ok));
    assert!(batch == singles, "a batch finds what single lookups find");

    let (mut iter, mut prefix_iter) = (reader.iter(options), reader.iter(options));
    for key in &questions {
        let target = make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        let bound = entries.partition_point(|(entry, _)| comparator.compare(entry, &target).is_lt());
        let next = entries.get(bound).map(|(entry, _)| &entry[..]);
        iter.seek(&target);
        assert_eq!(iter.valid().then(|| iter.key()), next, "a seek to {key:x?}");
        let Some(prefix) = case.prefix(key) else { continue };
        let may_match = reader.prefix_may_match(&options, key).unwrap();
        if present.contains(prefix) {
            assert!(may_match, "the filter denies the prefix of {key:x?}");
        } else {
            tally.absent_prefixes += 1;
            tally.denied_prefixes += u64::from(!may_match);
        }
        if let Some(extractor) = &case.extractor {
            let bounds = ScanBounds::default().within_prefix(extractor, comparator.user(), prefix);
            prefix_iter.set_bounds(Arc::new(bounds));
        }
        prefix_iter.seek(&target);
        if let Some(next) = next.filter(|next| case.prefix(user_key(next)) == Some(prefix)) {
            assert_eq!(prefix_iter.valid().then(|| prefix_iter.key()), Some(next), "a prefix seek to {key:x?}");
        }
    }
    let filter = reader.contents().statistics().unwrap().filter;
    assert_eq!(filter.formats.constant, 0, "{filter:?}");
    let formats = [filter.formats.legacy_bloom, filter.formats.fast_local_bloom, filter.formats.ribbon];
    for (sum, count) in tally.formats.iter_mut().zip(formats) {
        *sum += count;
    }
    tally.most_partitions = tally.most_partitions.max(filter.partitions.count);
}

#[test]
fn what_is_there_is_never_denied() {
    let seeds = std::env::var("FERROCK_FILTER_SEEDS").map_or(150, |text| text.parse().unwrap());
    let mut tally = Tally::default();
    for seed in 0..seeds {
        let case = draw(seed);
        let check = std::panic::AssertUnwindSafe(|| check(&case, &mut tally));
        if let Err(panic) = std::panic::catch_unwind(check) {
            let Case { format_version, policy, filter_level, extractor, whole_keys, is_reverse, partitions, keys } =
                &case;
            eprintln!(
                "seed {seed}: version {format_version}, {policy}, level {filter_level}, {extractor:?}, whole keys: \
                 {whole_keys}, reverse: {is_reverse}, {partitions:?}, {} keys",
                keys.len()
            );
            std::panic::resume_unwind(panic);
        }
    }
    println!("{tally:?}");
    // Filters of one bit per key are among them.
    assert!(tally.denied_keys * 2 > tally.absent_keys && tally.absent_keys > 10_000, "{tally:?}");
    assert!(tally.denied_prefixes * 3 > tally.absent_prefixes && tally.absent_prefixes > 1000, "{tally:?}");
    assert!(tally.most_partitions > 100 && tally.formats.iter().all(|count| *count > 10), "{tally:?}");
}

/// The tricky case by itself: one prefix over three and more partitions, its neighbours in the partitions at its ends.
#[test]
fn a_prefix_that_spans_partitions() {
    for (is_decoupled, is_reverse, whole_keys) in [
        (false, false, true),
        (true, false, true),
        (false, true, true),
        (false, false, false),
        (false, true, false),
        (true, true, false),
        (true, false, false),
    ] {
        let mut keys: BTreeSet<Vec<u8>> = (0..400).map(|number| format!("mid{number:04}").into_bytes()).collect();
        keys.extend((0..10).map(|number| format!("aft{number:04}").into_bytes()));
        keys.extend((0..10).map(|number| format!("til{number:04}").into_bytes()));
        let case = Case {
            format_version: 7,
            policy: FilterPolicy::bloom(20.0),
            filter_level: 0,
            extractor: Some(PrefixExtractor::Fixed(3)),
            whole_keys,
            is_reverse,
            partitions: Some(Partitions {
                is_decoupled,
                bytes: 70,
                shortening: IndexShorteningMode::ShortenSeparatorsAndSuccessor,
            }),
            keys,
        };
        let reader = case.build();
        // Three prefixes alone fill no partition; a coupled one ends with its index partition all the same.
        let has_many = whole_keys || !is_decoupled;
        assert_eq!(reader.contents().statistics().unwrap().filter.partitions.count > 4, has_many);
        let options = TableReadOptions::default();
        for number in 0..=4000 {
            let key = format!("mid{number:04}x");
            assert!(reader.prefix_may_match(&options, key.as_bytes()).unwrap(), "{key}");
        }
        for key in ["mid", "mid\x00", "mid\u{7f}", "midzzzz", "aft", "aftzzz", "til", "til\u{7f}\u{7f}"] {
            assert!(reader.prefix_may_match(&options, key.as_bytes()).unwrap(), "{key}");
        }
        let absent = ["abc", "bcd", "mie", "mic", "mid".strip_suffix('d').unwrap(), "zzz"];
        let denied = absent.iter().filter(|key| !reader.prefix_may_match(&options, key.as_bytes()).unwrap()).count();
        // "mi" has no prefix, about which nothing is known; the others are denied but for chance.
        assert!((3..=5).contains(&denied), "{denied}");
        let mut tally = Tally::default();
        check(&case, &mut tally);
    }
}
