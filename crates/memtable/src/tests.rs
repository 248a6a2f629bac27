//! Whole memtables against naive models, one thread and many.

use crate::{MemTable, MemTableIter, MemTableKind, MemTableOptions};
use ferrock_base::comparator::{Comparator, CustomComparator, InternalComparator};
use ferrock_base::internal_key::{LookupKey, make_internal_key, user_key};
use ferrock_base::iterator::{InternalIterator, VecIterator};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::random::Random;
use ferrock_base::{ErrorKind, SequenceNumber, ValueType};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

mod checks;

struct ByLength;

impl CustomComparator for ByLength {
    fn name(&self) -> &str {
        "test.ByLength"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }
}

fn options(comparator: Comparator) -> MemTableOptions {
    MemTableOptions { comparator: InternalComparator::new(comparator), arena_block_bytes: 8192, ..Default::default() }
}

fn comparators() -> impl Strategy<Value = Comparator> {
    prop_oneof![
        Just(Comparator::Bytewise),
        Just(Comparator::ReverseBytewise),
        Just(Comparator::Custom(Arc::new(ByLength)))
    ]
}

/// Every structure; tables small enough that prefixes share lists, and lists that pass their thresholds.
fn kinds() -> impl Strategy<Value = MemTableKind> {
    prop_oneof![
        Just(MemTableKind::SkipList),
        Just(MemTableKind::Vector),
        (1usize..6, 1usize..5, 2u32..6).prop_map(|(bucket_count, height, branching)| MemTableKind::HashSkipList {
            bucket_count,
            height,
            branching
        }),
        (1usize..6, 0usize..12)
            .prop_map(|(bucket_count, threshold)| MemTableKind::HashLinkList { bucket_count, threshold }),
    ]
}

fn extractors() -> impl Strategy<Value = Option<PrefixExtractor>> {
    prop_oneof![
        1 => Just(None),
        4 => (0usize..4).prop_map(|length| Some(PrefixExtractor::Fixed(length))),
        2 => (0usize..4).prop_map(|length| Some(PrefixExtractor::Capped(length))),
        1 => Just(Some(PrefixExtractor::Noop)),
    ]
}

fn types() -> impl Strategy<Value = ValueType> {
    prop_oneof![Just(ValueType::Value), Just(ValueType::Deletion), Just(ValueType::Merge)]
}

fn show(iter: &MemTableIter) -> Option<(Vec<u8>, Vec<u8>)> {
    iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()))
}

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Next,
    Prev,
    Seek(Vec<u8>, u64),
    SeekForPrev(Vec<u8>, u64),
}

fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(0u8..3, 0..4),
        prop::collection::vec(0u8..2, 7..10),
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 100..300),
    ]
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        4 => Just(Move::Next),
        4 => Just(Move::Prev),
        2 => (keys(), 0u64..200).prop_map(|(key, sequence)| Move::Seek(key, sequence)),
        2 => (keys(), 0u64..200).prop_map(|(key, sequence)| Move::SeekForPrev(key, sequence)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn iterates_like_a_sorted_list(
        comparator in comparators(),
        kind in kinds(),
        prefix_extractor in extractors(),
        entries in prop::collection::vec((keys(), types(), prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..120),
        moves in prop::collection::vec(moves(), 0..60),
        read_at in prop::collection::vec(0usize..120, 0..4),
        hint_prefixes in extractors(),
    ) {
        let refuses_duplicates = kind != MemTableKind::Vector;
        let table = Arc::new(MemTable::new(MemTableOptions { kind, prefix_extractor, hint_prefixes, ..options(comparator.clone()) }));
        let internal = InternalComparator::new(comparator);
        let mut model = Vec::new();
        let mut data_size = 0;
        let mut deletes = 0;
        for (index, (key, kind, value, concurrent)) in entries.iter().enumerate() {
            let sequence = SequenceNumber(index as u64 + 1);
            if *concurrent {
                table.add_concurrent(sequence, *kind, key, value).unwrap();
            } else {
                table.add(sequence, *kind, key, value).unwrap();
            }
            if refuses_duplicates {
                prop_assert_eq!(table.add(sequence, *kind, key, b"again").unwrap_err().kind(), ErrorKind::TryAgain);
            }
            if read_at.contains(&index) {
                let mut iter = table.iter();
                iter.seek_to_first();
                prop_assert_eq!(std::iter::from_fn(|| { let is_on = iter.valid(); iter.next(); is_on.then_some(()) }).count(), index + 1);
            }
            model.push((make_internal_key(key, sequence, *kind), value.clone()));
            data_size += key.len() + 8 + value.len();
            deletes += u64::from(*kind == ValueType::Deletion);
        }
        model.sort_by(|a, b| internal.compare(&a.0, &b.0));
        prop_assert_eq!(table.num_entries(), entries.len() as u64);
        prop_assert_eq!(table.num_deletes(), deletes);
        prop_assert_eq!(table.data_size_bytes(), data_size as u64);
        prop_assert_eq!(table.smallest_sequence(), (!entries.is_empty()).then_some(SequenceNumber(1)));
        prop_assert_eq!(table.largest_sequence(), (!entries.is_empty()).then_some(SequenceNumber(entries.len() as u64)));
        prop_assert_eq!(table.smallest_key(), model.first().map(|entry| &entry.0[..]));
        prop_assert_eq!(table.largest_key(), model.last().map(|entry| &entry.0[..]));
        prop_assert!(table.approximate_memory_bytes() <= table.allocated_memory_bytes());
        prop_assert!(table.approximate_memory_bytes() >= data_size);

        table.check_towers();
        let mut iter = table.iter();
        prop_assert!(!iter.valid());
        iter.seek_to_first();
        for entry in &model {
            prop_assert_eq!(show(&iter), Some(entry.clone()));
            iter.next();
        }
        prop_assert!(!iter.valid());
        iter.seek_to_last();
        for entry in model.iter().rev() {
            prop_assert_eq!(show(&iter), Some(entry.clone()));
            iter.prev();
        }
        prop_assert!(!iter.valid());

        let mut naive = VecIterator::new(internal, Arc::new(model));
        for step in moves {
            match &step {
                Move::First => { iter.seek_to_first(); naive.seek_to_first(); }
                Move::Last => { iter.seek_to_last(); naive.seek_to_last(); }
                Move::Next => { iter.next(); naive.next(); }
                Move::Prev => { iter.prev(); naive.prev(); }
                Move::Seek(key, sequence) => {
                    let target = make_internal_key(key, SequenceNumber(*sequence), ValueType::FOR_SEEK);
                    iter.seek(&target);
                    naive.seek(&target);
                }
                Move::SeekForPrev(key, sequence) => {
                    let target = make_internal_key(key, SequenceNumber(*sequence), ValueType::FOR_SEEK_FOR_PREV);
                    iter.seek_for_prev(&target);
                    naive.seek_for_prev(&target);
                }
            }
            prop_assert_eq!(iter.valid(), naive.valid());
            prop_assert_eq!((iter.key(), iter.value()), (naive.key(), naive.value()));
        }
    }

    #[test]
    fn a_prefix_is_read_like_a_part_of_a_sorted_list(
        comparator in prop_oneof![Just(Comparator::Bytewise), Just(Comparator::ReverseBytewise)],
        kind in kinds(),
        extractor in extractors(),
        entries in prop::collection::vec((prop::collection::vec(0u8..3, 0..5), types()), 0..150),
        scans in prop::collection::vec((prop::collection::vec(0u8..3, 0..5), prop::collection::vec(moves(), 1..20)), 1..6),
        bloom in prop_oneof![Just(0usize), Just(4096)],
    ) {
        let options = MemTableOptions {
            kind, prefix_extractor: extractor.clone(), prefix_bloom_bits: bloom, ..options(comparator.clone())
        };
        let table = Arc::new(MemTable::new(options));
        let internal = InternalComparator::new(comparator);
        let mut model = Vec::new();
        for (index, (key, kind)) in entries.iter().enumerate() {
            let sequence = SequenceNumber(index as u64 + 1);
            table.add(sequence, *kind, key, &[index as u8]).unwrap();
            model.push((make_internal_key(key, sequence, *kind), vec![index as u8]));
        }
        model.sort_by(|a, b| internal.compare(&a.0, &b.0));
        let mut iter = table.iter();
        for (key, moves) in scans {
            let prefix = extractor.as_ref().and_then(|extractor| extractor.prefix(&key)).map(<[u8]>::to_vec);
            let wanted = |entry: &[u8]| match (&extractor, &prefix) {
                (Some(extractor), Some(prefix)) => extractor.prefix(user_key(entry)) == Some(&prefix[..]),
                _ => true,
            };
            let part: Vec<_> = model.iter().filter(|entry| wanted(&entry.0)).cloned().collect();
            let mut naive = VecIterator::new(internal.clone(), Arc::new(part));
            iter.limit_to_prefix(extractor.as_ref().zip(prefix.as_deref()));
            for step in moves {
                if matches!(step, Move::Next | Move::Prev) && !naive.valid() {
                    continue;
                }
                // Other entries may appear, and are passed over.
                match &step {
                    Move::First => { iter.seek_to_first(); naive.seek_to_first(); }
                    Move::Last => { iter.seek_to_last(); naive.seek_to_last(); }
                    Move::Next => { iter.next(); naive.next(); }
                    Move::Prev => { iter.prev(); naive.prev(); }
                    Move::Seek(key, sequence) => {
                        let target = make_internal_key(key, SequenceNumber(*sequence), ValueType::FOR_SEEK);
                        iter.seek(&target);
                        naive.seek(&target);
                    }
                    Move::SeekForPrev(key, sequence) => {
                        let target = make_internal_key(key, SequenceNumber(*sequence), ValueType::FOR_SEEK_FOR_PREV);
                        iter.seek_for_prev(&target);
                        naive.seek_for_prev(&target);
                    }
                }
                while iter.valid() && !wanted(iter.key()) {
                    if matches!(step, Move::Last | Move::Prev | Move::SeekForPrev(..)) { iter.prev() } else { iter.next() }
                }
                if !naive.valid() {
                    prop_assert!(!iter.valid());
                    break;
                }
                prop_assert_eq!((iter.key(), iter.value()), (naive.key(), naive.value()));
            }
        }
    }

    #[test]
    fn get_shows_the_visible_versions_newest_first(
        comparator in comparators(),
        entries in prop::collection::vec((prop::collection::vec(0u8..3, 0..3), types()), 0..80),
        bloom in any::<bool>(),
        prefix in any::<bool>(),
        structure in kinds(),
        limit in 1usize..4,
    ) {
        let prefix_extractor = prefix.then_some(PrefixExtractor::Fixed(1));
        let prefix_bloom_bits = if bloom { 4096 } else { 0 };
        let table = MemTable::new(MemTableOptions {
            prefix_extractor, prefix_bloom_bits, whole_key_filtering: bloom, kind: structure, ..options(comparator)
        });
        for (index, (key, kind)) in entries.iter().enumerate() {
            table.add(SequenceNumber(index as u64 + 1), *kind, key, &[index as u8]).unwrap();
        }
        for probe in 0u8..40 {
            let key: Vec<u8> = [probe % 4, probe / 4 % 4, 1][..usize::from(probe % 3)].to_vec();
            for upper in [0, entries.len() as u64 / 2, entries.len() as u64] {
                let expected: Vec<(u64, ValueType, u8)> = entries.iter().enumerate().rev()
                    .filter(|(index, entry)| entry.0 == key && (*index as u64) < upper)
                    .map(|(index, entry)| (index as u64 + 1, entry.1, index as u8))
                    .take(limit)
                    .collect();
                let mut seen = Vec::new();
                table.get(&LookupKey::new(&key, SequenceNumber(upper)), |sequence, kind, value| {
                    seen.push((sequence.0, kind, value[0]));
                    seen.len() < limit
                }).unwrap();
                prop_assert_eq!(seen, expected);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What is seen at the newest number, and at each number that is kept, is the same as without writing over values;
    /// and where nothing is kept, values that fit take no new entries.
    #[test]
    fn values_written_over_are_seen_where_they_should_be(
        kind in kinds(),
        extractor in extractors(),
        locks in 1usize..4,
        steps in prop::collection::vec((prop::collection::vec(0u8..3, 0..3), 0usize..200, 0u8..20), 1..80),
    ) {
        let make = |in_place_locks| Arc::new(MemTable::new(MemTableOptions {
            kind: kind.clone(), prefix_extractor: extractor.clone(), in_place_locks, ..options(Comparator::Bytewise)
        }));
        let (over, plain) = (make(locks), make(0));
        let mut kept = vec![0];
        for (index, (key, length, what)) in steps.iter().enumerate() {
            let sequence = SequenceNumber(index as u64 + 1);
            let value = vec![index as u8; *length];
            for table in [&over, &plain] {
                match what {
                    0 => table.add(sequence, ValueType::Deletion, key, b"").unwrap(),
                    1 => table.add(sequence, ValueType::Merge, key, &value).unwrap(),
                    2 => table.add(sequence, ValueType::RangeDeletion, key, &[3]).unwrap(),
                    _ => {
                        let kept = SequenceNumber(kept[kept.len() - 1]);
                        table.add_in_place(sequence, key, &value, kept).unwrap();
                    }
                }
            }
            if *what == 19 {
                kept.push(sequence.0);
            }
            let mut reads = kept.clone();
            reads.push(sequence.0);
            for upper in reads {
                for probe in 0u8..13 {
                    let key: Vec<u8> = [probe % 3, probe / 3 % 3][..usize::from(probe.div_ceil(9) + 1).min(2)].to_vec();
                    let newest = |table: &MemTable| {
                        let mut seen = None;
                        let deleted = table.max_covering_tombstone(&key, SequenceNumber(upper)).map_or(0, |found| found.0);
                        table.get(&LookupKey::new(&key, SequenceNumber(upper)), |sequence, kind, value| {
                            seen = (sequence.0 > deleted).then(|| (kind, value.to_vec()));
                            false
                        }).unwrap();
                        seen
                    };
                    prop_assert_eq!(newest(&over), newest(&plain), "{:?} at {}", key, upper);
                }
            }
        }
        let mut iter = over.iter();
        iter.seek_to_first();
        while iter.valid() {
            let mut seen = None;
            let key = user_key(iter.key());
            over.get(&LookupKey::new(key, SequenceNumber(u64::from(u32::MAX))), |_, _, value| {
                seen.get_or_insert(value.to_vec());
                false
            }).unwrap();
            prop_assert_eq!(seen.as_deref(), Some(iter.value()));
            let key = key.to_vec();
            while iter.valid() && user_key(iter.key()) == key {
                iter.next();
            }
        }
        prop_assert!(over.num_entries() <= plain.num_entries());
    }
}

#[test]
fn values_that_fit_take_no_new_entries() {
    let table = Arc::new(MemTable::new(MemTableOptions { in_place_locks: 10, ..options(Comparator::Bytewise) }));
    for (index, length) in [200u64, 130, 127, 0, 3].into_iter().enumerate() {
        let sequence = SequenceNumber(index as u64 + 1);
        table.add_in_place(sequence, b"k", &vec![length as u8; length as usize], SequenceNumber(0)).unwrap();
    }
    // The last is longer than the one before.
    assert_eq!(table.num_entries(), 2);
    let mut iter = table.iter();
    iter.seek_to_first();
    assert_eq!(
        (iter.value(), iter.key()),
        (&[3; 3][..], &make_internal_key(b"k", SequenceNumber(5), ValueType::Value)[..])
    );
    iter.next();
    assert_eq!(
        (iter.value(), iter.key()),
        (&[][..], &make_internal_key(b"k", SequenceNumber(1), ValueType::Value)[..])
    );
}

#[test]
fn a_prefix_that_the_filter_lacks_is_not_sought() {
    let prefix_extractor = Some(PrefixExtractor::Fixed(1));
    let options = MemTableOptions { prefix_extractor, prefix_bloom_bits: 4096, ..options(Comparator::Bytewise) };
    let table = Arc::new(MemTable::new(options));
    for (index, key) in [b"a1", b"c1", b"d1"].iter().enumerate() {
        table.add(SequenceNumber(index as u64 + 1), ValueType::Value, *key, b"").unwrap();
    }
    let mut iter = table.iter();
    let target = make_internal_key(b"b", SequenceNumber(9), ValueType::FOR_SEEK);
    iter.limit_to_prefix(Some((&PrefixExtractor::Fixed(1), b"b")));
    iter.seek(&target);
    assert!(!iter.valid());
    iter.limit_to_prefix(Some((&PrefixExtractor::Fixed(1), b"c")));
    iter.seek(&target);
    assert_eq!(user_key(iter.key()), b"c1");
    // The filter says nothing of what another extractor calls a prefix.
    iter.limit_to_prefix(Some((&PrefixExtractor::Capped(1), b"b")));
    iter.seek(&target);
    assert_eq!(user_key(iter.key()), b"c1");
    iter.limit_to_prefix(None);
    iter.seek_to_last();
    assert_eq!(user_key(iter.key()), b"d1");
}

#[test]
fn entries_larger_than_an_arena_block() {
    let table = Arc::new(MemTable::new(options(Comparator::Bytewise)));
    let key = |index: u8| [vec![index; 70_000], vec![index]].concat();
    for index in [3u8, 1, 2, 0] {
        table.add(SequenceNumber(u64::from(index)), ValueType::Value, &key(index), &vec![index; 1 << 20]).unwrap();
    }
    let mut iter = table.iter();
    iter.seek_to_first();
    for index in 0u8..4 {
        assert_eq!(iter.key(), make_internal_key(&key(index), SequenceNumber(u64::from(index)), ValueType::Value));
        assert!(iter.value().len() == 1 << 20 && iter.value().iter().all(|&byte| byte == index));
        iter.next();
    }
    assert!(!iter.valid());
    assert!(table.allocated_memory_bytes() >= 4 * ((1 << 20) + 70_000));
}

#[test]
fn refused_entries_leave_no_trace() {
    let table = MemTable::new(options(Comparator::Bytewise));
    let refused = table.add(SequenceNumber(1), ValueType::Noop, b"k", b"");
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let refused = table.add(SequenceNumber(1 << 56), ValueType::Value, b"k", b"");
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(table.is_empty() && table.smallest_sequence().is_none());
    let mut iter = Arc::new(table).iter();
    iter.seek(b"short");
    assert!(!iter.valid());
}

#[test]
fn range_deletions_are_kept_apart() {
    let table = Arc::new(MemTable::new(options(Comparator::Bytewise)));
    assert!(table.range_tombstones().is_none());
    table.add(SequenceNumber(5), ValueType::RangeDeletion, b"b", b"d").unwrap();
    table.add_concurrent(SequenceNumber(7), ValueType::RangeDeletion, b"c", b"f").unwrap();
    assert_eq!((table.num_entries(), table.num_range_deletes(), table.num_deletes()), (2, 2, 0));
    assert_eq!(table.max_covering_tombstone(b"c", SequenceNumber(6)), Some(SequenceNumber(5)));
    assert_eq!(table.max_covering_tombstone(b"c", SequenceNumber(7)), Some(SequenceNumber(7)));
    assert_eq!(table.max_covering_tombstone(b"f", SequenceNumber(9)), None);
    assert_eq!(table.range_tombstones().unwrap().len(), 3);
    assert!(Arc::ptr_eq(&table.range_tombstones().unwrap(), &table.range_tombstones().unwrap()));
    let mut iter = table.iter();
    iter.seek_to_first();
    assert!(!iter.valid());
}

#[test]
fn ranks_are_estimated() {
    let hash = MemTableKind::HashSkipList { bucket_count: 100, height: 4, branching: 4 };
    for (kind, expected) in
        [(MemTableKind::SkipList, 2_500..=20_000), (MemTableKind::Vector, 10_000..=10_000), (hash, 10_000..=10_000)]
    {
        let prefix_extractor = Some(PrefixExtractor::Fixed(7));
        let table = MemTable::new(MemTableOptions { kind, prefix_extractor, ..options(Comparator::Bytewise) });
        for index in 0..20_000u64 {
            table.add(SequenceNumber(index + 1), ValueType::Value, &index.to_be_bytes(), b"").unwrap();
        }
        let key = |index: u64| make_internal_key(&index.to_be_bytes(), SequenceNumber(99_999), ValueType::FOR_SEEK);
        let estimate = table.approximate_entries_between(&key(5_000), &key(15_000));
        assert!(expected.contains(&estimate), "{estimate}");
    }
}

#[test]
fn many_threads_insert_while_others_read() {
    let kinds = [
        (MemTableKind::SkipList, 6_000u64),
        (MemTableKind::HashSkipList { bucket_count: 50, height: 4, branching: 4 }, 1_500),
        (MemTableKind::HashLinkList { bucket_count: 50, threshold: 20 }, 1_500),
        (MemTableKind::Vector, 1_500),
    ];
    for (kind, each) in kinds {
        const WRITERS: u64 = 4;
        let table = Arc::new(MemTable::new(MemTableOptions {
            prefix_bloom_bits: 1 << 18,
            whole_key_filtering: true,
            prefix_extractor: Some(PrefixExtractor::Fixed(7)),
            kind,
            ..options(Comparator::Bytewise)
        }));
        let written: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
        let done = AtomicBool::new(false);
        let key = |writer: u64, index: u64| format!("{:08}", (index * 7919 + writer * 31) % 5_000);
        let sequence = |writer: u64, index: u64| index * WRITERS + writer + 1;
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (table, written) = (&table, &written);
                    scope.spawn(move || {
                        for index in 0..each {
                            let number = sequence(writer, index);
                            let value = number.to_le_bytes();
                            let key = key(writer, index);
                            table
                                .add_concurrent(SequenceNumber(number), ValueType::Value, key.as_bytes(), &value)
                                .unwrap();
                            written[writer as usize].store(index + 1, Ordering::Release);
                        }
                    })
                })
                .collect();
            for reader in 0..2u64 {
                let (table, written, done) = (&table, &written, &done);
                scope.spawn(move || {
                    let mut random = Random::new(reader);
                    while !done.load(Ordering::Acquire) {
                        let writer = random.below(WRITERS);
                        let count = written[writer as usize].load(Ordering::Acquire);
                        if count > 0 {
                            let index = random.below(count);
                            let number = sequence(writer, index);
                            let lookup = LookupKey::new(key(writer, index).as_bytes(), SequenceNumber(number));
                            let mut found = None;
                            table
                                .get(&lookup, |sequence, _, value| {
                                    found = Some((sequence.0, value.to_vec()));
                                    false
                                })
                                .unwrap();
                            assert_eq!(found, Some((number, number.to_le_bytes().to_vec())));
                        }
                        let mut iter = table.iter();
                        let start =
                            make_internal_key(key(writer, count).as_bytes(), SequenceNumber(9), ValueType::Value);
                        iter.seek(&start);
                        let mut last = start;
                        for _ in 0..20 {
                            if !iter.valid() {
                                break;
                            }
                            assert!(table.comparator().compare(&last, iter.key()).is_le());
                            last = iter.key().to_vec();
                            iter.next();
                        }
                    }
                });
            }
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::Release);
        });
        assert_eq!(table.num_entries(), WRITERS * each);
        let mut iter = table.iter();
        iter.seek_to_first();
        let (mut count, mut last): (u64, Vec<u8>) = (0, Vec::new());
        while iter.valid() {
            assert!(last.is_empty() || table.comparator().compare(&last, iter.key()).is_lt());
            last = iter.key().to_vec();
            count += 1;
            iter.next();
        }
        assert_eq!(count, WRITERS * each);
        table.check_towers();
    }
}
