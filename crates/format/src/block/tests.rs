//! Blocks against a sorted vector, against known bytes, and damaged.

use super::*;
use crate::handle::BlockHandle;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{Comparator, InternalComparator, InternalIterator, SequenceNumber, ValueType};
use proptest::prelude::*;

mod protection;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn build(entries: &Entries, restart_interval: usize, use_delta_encoding: bool) -> Vec<u8> {
    let options = BlockBuilderOptions { restart_interval, use_delta_encoding, use_value_delta_encoding: false };
    let mut builder = BlockBuilder::new(options);
    for (key, value) in entries {
        let bound = builder.size_estimate_after(key, value);
        builder.add(key, value);
        assert!(builder.size_estimate() <= bound);
    }
    let estimate = builder.size_estimate();
    let block = builder.finish().to_vec();
    assert_eq!(block.len(), estimate);
    block
}

/// The same entries with values behind the keys, as a writer of newer releases lays them out.
fn build_separated(entries: &Entries, restart_interval: usize) -> Vec<u8> {
    let (mut keys, mut values, mut restarts, mut last) = (Vec::new(), Vec::new(), vec![0u32], Vec::<u8>::new());
    for (index, (key, value)) in entries.iter().enumerate() {
        let at_restart = index % restart_interval == 0;
        if at_restart && index > 0 {
            restarts.push(keys.len() as u32);
        }
        let shared = if at_restart { 0 } else { key.iter().zip(&last).take_while(|(a, b)| a == b).count() };
        for field in [shared, key.len() - shared, value.len()] {
            ferrock_base::coding::put_varint32(&mut keys, field as u32);
        }
        if at_restart {
            ferrock_base::coding::put_varint32(&mut keys, values.len() as u32);
        }
        keys.extend_from_slice(&key[shared..]);
        values.extend_from_slice(value);
        last.clone_from(key);
    }
    let values_offset = keys.len() as u32;
    keys.extend_from_slice(&values);
    for restart in &restarts {
        keys.extend_from_slice(&restart.to_le_bytes());
    }
    keys.extend_from_slice(&values_offset.to_le_bytes());
    keys.extend_from_slice(&(restarts.len() as u32 | 1 << 28).to_le_bytes());
    keys
}

/// The block with a hash index, built as the format page says.
fn with_hash_index(entries: &Entries, restart_interval: usize, bucket_count: u16) -> Vec<u8> {
    let mut block = build(entries, restart_interval, true);
    let packed = block.split_off(block.len() - 4);
    let mut buckets = vec![255u8; usize::from(bucket_count)];
    for (index, (key, _)) in entries.iter().enumerate() {
        let hash = ferrock_base::hash::hash32(ferrock_base::internal_key::user_key(key), 397);
        let bucket = &mut buckets[hash as usize % usize::from(bucket_count)];
        let interval = (index / restart_interval) as u8;
        *bucket = if *bucket == 255 || *bucket == interval { interval } else { 254 };
    }
    block.extend_from_slice(&buckets);
    block.extend_from_slice(&bucket_count.to_le_bytes());
    let packed = u32::from_le_bytes(packed.try_into().unwrap()) | 1 << 31;
    block.extend_from_slice(&packed.to_le_bytes());
    block
}

fn entries_strategy() -> impl Strategy<Value = Entries> {
    let user_key = prop_oneof![
        prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b', 255]), 0..6),
        // Around the eight and sixteen bytes that are compared at once.
        prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 6..26),
        prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 90..130),
    ];
    // Lengths of one, two, and three bytes.
    let value = prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..12),
        2 => prop::collection::vec(any::<u8>(), 126..300),
        1 => (16_380usize..16_390).prop_map(|length| vec![7; length]),
    ];
    let entry = (user_key, 1u64..5, value);
    prop::collection::vec(entry, 0..40).prop_map(|list| {
        let comparator = InternalComparator::default();
        let mut entries: Entries = list
            .into_iter()
            .map(|(key, sequence, value)| (make_internal_key(&key, SequenceNumber(sequence), ValueType::Value), value))
            .collect();
        entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
        entries.dedup_by(|a, b| a.0 == b.0);
        // One of those: a block with a hash index has at most 64 KiB.
        let long = entries.iter_mut().filter(|(_, value)| value.len() > 300);
        long.skip(1).for_each(|(_, value)| value.truncate(300));
        entries
    })
}

fn check_like_vector(block: Vec<u8>, entries: &Entries, targets: &[Vec<u8>], comparator: &InternalComparator) {
    let block = DataBlock::new(block).unwrap();
    let mut iter = DataBlockIter::new(&block, comparator.clone(), None);
    iter.seek_to_first();
    for (key, value) in entries {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.next();
    }
    assert!(!iter.valid());
    iter.seek_to_first();
    for (key, value) in entries.iter().skip(1) {
        assert_eq!(iter.step_within_block(), &key[..]);
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
    }
    assert!(iter.step_within_block().is_empty());
    assert_eq!(iter.key(), entries.last().map_or(&[][..], |(key, _)| key), "the last entry is not left");
    iter.seek_to_last();
    for (key, value) in entries.iter().rev() {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.prev();
    }
    assert!(!iter.valid());
    iter.status().unwrap();
    let keys = entries.iter().map(|(key, _)| key.clone());
    for target in keys.chain(targets.iter().cloned()) {
        let bound = entries.partition_point(|(key, _)| comparator.compare(key, &target).is_lt());
        iter.seek(&target);
        assert_eq!(iter.valid().then(|| iter.key()), entries.get(bound).map(|(key, _)| &key[..]));
        // Back, on, back, back: the cached entries must stay right.
        if iter.valid() {
            let mut position = Some(bound);
            for step in [-1isize, 1, -1, -1, -1, 1, 1, -1] {
                if step < 0 {
                    iter.prev()
                } else {
                    iter.next()
                };
                position = position.and_then(|at| at.checked_add_signed(step)).filter(|&at| at < entries.len());
                let expected = position.map(|at| (&entries[at].0[..], &entries[at].1[..]));
                assert_eq!(iter.valid().then(|| (iter.key(), iter.value())), expected);
                if position.is_none() {
                    break;
                }
            }
        }
        iter.seek_for_prev(&target);
        let before = entries.partition_point(|(key, _)| comparator.compare(key, &target).is_le()).checked_sub(1);
        assert_eq!(iter.valid().then(|| iter.key()), before.map(|index| &entries[index].0[..]));
        iter.seek_for_get(&target);
        let user = ferrock_base::internal_key::user_key;
        let expected = entries.get(bound).filter(|(key, _)| user(key) == user(&target));
        match expected {
            Some((key, _)) => assert_eq!(iter.key(), &key[..]),
            None => assert!(!iter.valid() || user(iter.key()) != user(&target)),
        }
        if bound == entries.len() {
            assert!(!iter.valid(), "the search must go on in the next block");
        }
    }
}

fn targets_strategy() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let user_key = prop_oneof![
        prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b', 255]), 0..7),
        prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 6..26),
    ];
    prop::collection::vec(
        (user_key, 0u64..6)
            .prop_map(|(key, sequence)| make_internal_key(&key, SequenceNumber(sequence), ValueType::FOR_SEEK)),
        0..10,
    )
}

proptest! {
    #[test]
    fn data_blocks_behave_like_a_sorted_vector(
        entries in entries_strategy(),
        targets in targets_strategy(),
        interval in 1usize..20,
        delta in any::<bool>(),
        buckets in 1u16..60,
    ) {
        let comparator = InternalComparator::default();
        check_like_vector(build(&entries, interval, delta), &entries, &targets, &comparator);
        check_like_vector(build_separated(&entries, interval), &entries, &targets, &comparator);
        check_like_vector(with_hash_index(&entries, interval, buckets), &entries, &targets, &comparator);
        let reverse = InternalComparator::new(Comparator::ReverseBytewise);
        let mut entries = entries;
        entries.sort_by(|a, b| reverse.compare(&a.0, &b.0));
        check_like_vector(build(&entries, interval, delta), &entries, &targets, &reverse);
    }

    #[test]
    fn a_global_sequence_number_replaces_every_stored_one(entries in entries_strategy(), interval in 1usize..20) {
        let mut stored = entries;
        stored.dedup_by(|a, b| ferrock_base::internal_key::user_key(&a.0) == ferrock_base::internal_key::user_key(&b.0));
        for (key, _) in &mut stored {
            let length = key.len();
            key[length - 7..].fill(0);
        }
        let block = DataBlock::new(build(&stored, interval, true)).unwrap();
        let shown: Entries = stored
            .iter()
            .map(|(key, value)| {
                let user = ferrock_base::internal_key::user_key(key);
                (make_internal_key(user, SequenceNumber(77), ValueType::Value), value.clone())
            })
            .collect();
        let comparator = InternalComparator::default();
        let mut iter = DataBlockIter::new(&block, comparator, Some(SequenceNumber(77)));
        iter.seek_to_first();
        for (key, _) in &shown {
            prop_assert_eq!(iter.key(), &key[..]);
            iter.next();
        }
        iter.seek_to_last();
        for (key, _) in shown.iter().rev() {
            prop_assert_eq!(iter.key(), &key[..]);
            iter.prev();
        }
        for (index, (key, _)) in shown.iter().enumerate() {
            iter.seek(key);
            prop_assert_eq!(iter.key(), &key[..]);
            iter.prev();
            prop_assert_eq!(iter.valid(), index > 0);
            // One version older than the global sequence number: behind the entry.
            iter.seek(&make_internal_key(ferrock_base::internal_key::user_key(key), SequenceNumber(76), ValueType::FOR_SEEK));
            prop_assert_eq!(iter.valid().then(|| iter.key().to_vec()), shown.get(index + 1).map(|(key, _)| key.clone()));
        }
    }

    #[test]
    fn random_bytes_are_never_trusted(bytes in prop::collection::vec(any::<u8>(), 0..200), restarts in 0u32..4, flags in 0u32..8) {
        let mut block = bytes;
        block.extend_from_slice(&(restarts | flags << 28 | (flags >> 2) << 31).to_le_bytes());
        exercise(block);
    }

    #[test]
    fn damaged_blocks_are_never_trusted(
        entries in entries_strategy(),
        interval in 1usize..6,
        form in 0..3,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut block = match form {
            0 => build(&entries, interval, true),
            1 => build_separated(&entries, interval),
            _ => with_hash_index(&entries, interval, 7),
        };
        let at = at.index(block.len());
        block[at] = byte;
        exercise(block);
    }
}

/// Walks a block every way; the answers may be anything, but they must come.
fn exercise(bytes: Vec<u8>) {
    let comparator = InternalComparator::default();
    let limit = 2 * bytes.len() + 4;
    if let Ok(block) = DataBlock::new(bytes.clone()) {
        for global in [None, Some(SequenceNumber(9))] {
            let mut iter = DataBlockIter::new(&block, comparator.clone(), global);
            for target in [&b""[..], b"a\xff\xff\xff\xff\xff\xff\xff\xff", b"ab\x18\x01\0\0\0\0\0\0"] {
                iter.seek(target);
                for _ in 0..4 {
                    iter.prev();
                }
                iter.seek_for_get(target);
                iter.seek_for_prev(target);
            }
            iter.seek_to_first();
            let mut steps = 0;
            while iter.valid() {
                assert!(iter.key().len() >= 8 && iter.value().len() <= block.bytes().len());
                iter.next();
                steps += 1;
                assert!(steps < limit);
            }
            iter.seek_to_first();
            while !iter.step_within_block().is_empty() {
                steps += 1;
                assert!(steps < 2 * limit);
            }
            iter.seek_to_last();
            while iter.valid() {
                iter.prev();
                steps += 1;
                assert!(steps < 3 * limit);
            }
            if let Err(error) = iter.status() {
                assert!(error.is_corruption() && error.offset().is_some_and(|at| at <= block.bytes().len() as u64));
            }
        }
    }
    if let Ok(meta) = MetaBlock::new(&bytes) {
        let _ = meta.entries();
    }
    for bits in 0..8 {
        let format = IndexFormat {
            key_is_user_key: bits & 1 != 0,
            value_is_delta_encoded: bits & 2 != 0,
            has_first_key: bits & 4 != 0,
        };
        for order in [Comparator::Bytewise, Comparator::ReverseBytewise] {
            let comparator = InternalComparator::new(order);
            if let Ok(index) = IndexBlock::new(bytes.clone(), format, &comparator) {
                let index =
                    index.with_search(if bits % 3 == 0 { IndexSearch::Interpolation } else { IndexSearch::Auto });
                let mut cursor = IndexCursor::new();
                cursor.seek(&index, &comparator, b"ab\x18\x01\0\0\0\0\0\0");
                cursor.prev(&index);
                cursor.seek_to_first(&index);
                let mut steps = 0;
                while cursor.valid() {
                    let _ = cursor.entry(&index);
                    cursor.next(&index);
                    steps += 1;
                    assert!(steps < limit);
                }
                assert_eq!(steps, index.len());
                cursor.seek_to_last(&index);
                while cursor.valid() {
                    cursor.prev(&index);
                    steps += 1;
                    assert!(steps < 2 * limit);
                }
            }
        }
    }
}

#[test]
fn separated_values_by_example() {
    let bytes = b"\x00\x0e\x04\x00key000\x01\0\0\0\0\0\0\0\x05\x09\x041\x01\0\0\0\0\0\0\0\x00\x0e\x04\x08key002\x01\0\0\0\0\0\0\0\
        val0val1val2\0\0\0\0\x1e\0\0\0\x30\0\0\0\x02\0\0\x10";
    let entries: Entries = (0..3u8)
        .map(|index| {
            let key = [b"key00", &[b'0' + index][..]].concat();
            (make_internal_key(&key, SequenceNumber(0), ValueType::Value), [b"val", &[b'0' + index][..]].concat())
        })
        .collect();
    assert_eq!(build_separated(&entries, 2), bytes);
    check_like_vector(bytes.to_vec(), &entries, &[], &InternalComparator::default());
    let plain = b"\x00\x0e\x04key000\x01\0\0\0\0\0\0\0val0\x05\x09\x041\x01\0\0\0\0\0\0\0val1\x00\x0e\x04key002\x01\0\0\0\0\0\0\0val2\
        \0\0\0\0\x25\0\0\0\x02\0\0\0";
    assert_eq!(build(&entries, 2, true), plain);
}

/// RocksDB 11.8.1 counts the place of the values where a restart stores one: `block_align` cut a block of 64 bytes
/// here.
#[test]
fn a_restart_of_separated_values_counts_their_place() {
    let options =
        BlockBuilderOptions { restart_interval: 1, use_delta_encoding: true, use_value_delta_encoding: false };
    let mut builder = BlockBuilder::new(options).with_separate_values();
    builder.add(&[b'k'; 15], b"");
    assert_eq!(builder.size_estimate(), 31);
    assert_eq!(builder.size_estimate_after(&[b'k'; 13], b""), 31 + 13 + 4 + 1 + 1 + 4 + 1);
    builder.add(&[b'k'; 16], &[b'v'; 200]);
    let before = builder.size_estimate();
    assert_eq!(
        builder.size_estimate_after(&[b'l'; 13], b""),
        before + 13 + 4 + 1 + 1 + 4 + 2,
        "an offset of two bytes"
    );
}

#[test]
fn the_uniform_hint_is_for_evenly_spread_keys() {
    let hint = |keys: &[&str], threshold: f64| {
        let options =
            BlockBuilderOptions { restart_interval: 1, use_delta_encoding: true, use_value_delta_encoding: true };
        let mut builder = BlockBuilder::new(options).with_uniform_hint(threshold, 0);
        keys.iter().for_each(|key| builder.add_index(key.as_bytes(), &[0, 1], None));
        let was_uniform = {
            let layout = BlockLayout::parse(builder.finish()).unwrap();
            layout.is_uniform()
        };
        assert_eq!(builder.was_uniform(), was_uniform);
        was_uniform
    };
    assert!(hint(&["key1", "key2", "key3", "key4"], 0.01));
    assert!(!hint(&["key1", "key2"], 10.0), "two say nothing");
    assert!(!hint(&["key1", "key2", "key9"], 0.5));
    // Gaps of 1 and 7: a mean of 4, a deviation of 3.
    assert!(hint(&["key1", "key2", "key9"], 0.76) && !hint(&["key1", "key2", "key9"], 0.74));
}

proptest! {
    #[test]
    fn separated_values_are_laid_out_as_the_page_says(entries in entries_strategy(), interval in 1usize..20) {
        let options = BlockBuilderOptions { restart_interval: interval, ..BlockBuilderOptions::default() };
        let mut builder = BlockBuilder::new(options).with_separate_values();
        for _ in 0..2 {
            for (key, value) in &entries {
                builder.add(key, value);
            }
            let estimate = builder.size_estimate();
            let block = builder.finish();
            prop_assert_eq!(block.len(), estimate);
            prop_assert_eq!(block, build_separated(&entries, interval));
            builder.reset();
        }
    }
}

proptest! {
    /// What the builder makes is what the page says, byte for byte, and lookups with it find what bisection finds.
    #[test]
    fn a_hash_index_finds_what_bisection_finds(
        entries in entries_strategy(),
        interval in 1usize..9,
        ratio in prop_oneof![Just(0.0), 0.1f64..1.0],
        targets in targets_strategy(),
    ) {
        let options = BlockBuilderOptions { restart_interval: interval, ..BlockBuilderOptions::default() };
        let mut builder = BlockBuilder::new(options).with_hash_index(ratio);
        for (key, value) in &entries {
            builder.add(key, value);
        }
        let estimate = builder.size_estimate();
        let block = builder.finish().to_vec();
        prop_assert_eq!(block.len(), estimate);
        let bucket_per_key = 1.0 / if ratio > 0.0 { ratio } else { 0.75 };
        let mut sum = 0.0;
        entries.iter().for_each(|_| sum += bucket_per_key);
        prop_assert_eq!(&block, &with_hash_index(&entries, interval, sum as u16 | 1));
        builder.reset();
        prop_assert_eq!(builder.finish().len(), 8 + 3);
        check_like_vector(block, &entries, &targets, &InternalComparator::default());
    }
}

#[test]
fn blocks_too_large_for_a_hash_index_go_without() {
    let build = |entries: usize, value: usize| {
        let options = BlockBuilderOptions { restart_interval: 1, ..BlockBuilderOptions::default() };
        let mut builder = BlockBuilder::new(options).with_hash_index(1.0);
        for index in 0..entries {
            let key = make_internal_key(format!("{index:05}").as_bytes(), SequenceNumber(1), ValueType::Value);
            builder.add(&key, &vec![7; if index == 0 { value } else { 0 }]);
        }
        let estimate = builder.size_estimate();
        let block = builder.finish().to_vec();
        assert!(block.len() <= estimate);
        (BlockLayout::parse(&block).unwrap().has_hash_index(), block.len())
    };
    // Restart 253 is the last that a bucket can name.
    assert!(build(254, 0).0);
    assert!(!build(255, 0).0);
    // 64 KiB with the index is the largest block that has one.
    let one = build(1, 60_000).1 - 60_000;
    assert_eq!(build(1, 65_536 - one), (true, 65_536));
    assert!(!build(1, 65_537 - one).0);
    let mut builder = BlockBuilder::new(BlockBuilderOptions { restart_interval: 1, ..BlockBuilderOptions::default() })
        .with_hash_index(0.75);
    for index in 0..400 {
        let key = format!("{index:05}");
        builder.add(&make_internal_key(key.as_bytes(), SequenceNumber(1), ValueType::Value), b"");
    }
    builder.reset();
    builder.add(&make_internal_key(b"next", SequenceNumber(1), ValueType::Value), b"");
    assert!(!BlockLayout::parse(builder.finish()).unwrap().has_hash_index(), "once without, always without");
}

#[test]
fn a_hash_index_by_example() {
    let entries: Entries = (0..6u8)
        .map(|index| {
            let key = [b"key00", &[b'0' + index][..]].concat();
            (make_internal_key(&key, SequenceNumber(0), ValueType::Value), b"val0".to_vec())
        })
        .collect();
    let block = with_hash_index(&entries, 2, 7);
    assert!(block.ends_with(b"\0\0\0\0\x25\0\0\0\x4a\0\0\0\xfe\xff\x00\xfe\xff\xff\x02\x07\0\x03\0\0\x80"));
}

/// A sorted list of separators with their blocks, as index entries.
type IndexEntries = Vec<(Vec<u8>, BlockHandle, Vec<u8>)>;

fn build_index(entries: &IndexEntries, format: IndexFormat, restart_interval: usize) -> Vec<u8> {
    let options = BlockBuilderOptions {
        restart_interval,
        use_delta_encoding: true,
        use_value_delta_encoding: format.value_is_delta_encoded,
    };
    let mut builder = BlockBuilder::new(options);
    let mut previous: Option<BlockHandle> = None;
    for (key, handle, first_key) in entries {
        let (mut full, mut delta) = (Vec::new(), Vec::new());
        handle.encode_to(&mut full);
        let contiguous = previous.filter(|previous| previous.end_with_trailer() == Some(handle.offset));
        if let Some(previous) = contiguous {
            let difference = handle.size as i64 - previous.size as i64;
            ferrock_base::coding::put_varint64(&mut delta, ferrock_base::coding::zigzag(difference));
        }
        if format.has_first_key {
            for value in [&mut full, &mut delta] {
                ferrock_base::coding::put_varint32(value, first_key.len() as u32);
                value.extend_from_slice(first_key);
            }
        }
        builder.add_index(key, &full, contiguous.map(|_| &delta[..]));
        previous = Some(*handle);
    }
    builder.finish().to_vec()
}

fn check_index(entries: &IndexEntries, format: IndexFormat, interval: usize, comparator: &InternalComparator) {
    for search in [IndexSearch::Binary, IndexSearch::Interpolation] {
        check_index_search(entries, format, interval, comparator, search);
    }
}

fn check_index_search(
    entries: &IndexEntries,
    format: IndexFormat,
    interval: usize,
    comparator: &InternalComparator,
    search: IndexSearch,
) {
    let bytes = build_index(entries, format, interval);
    let raw_size = bytes.len();
    let index = IndexBlock::new(bytes, format, comparator).unwrap().with_search(search);
    assert!(index.memory_bytes() <= raw_size + raw_size / 2 + 64 + 8 + size_of::<IndexBlock>() + 200);
    assert_eq!(index.len(), entries.len());
    let expected = |at: Option<usize>| at.and_then(|at| entries.get(at)).map(|(key, handle, _)| (key.clone(), *handle));
    let mut key = Vec::new();
    let mut seen = |cursor: &IndexCursor| {
        cursor.status().unwrap();
        cursor.valid().then(|| {
            cursor.key_into(&index, &mut key);
            (key.clone(), cursor.entry(&index).handle)
        })
    };
    let mut cursor = IndexCursor::new();
    cursor.seek_to_first(&index);
    for at in 0..=entries.len() {
        assert_eq!(seen(&cursor), expected(Some(at)));
        if format.has_first_key && at < entries.len() {
            assert_eq!(cursor.entry(&index).first_key, Some(&entries[at].2[..]));
        }
        cursor.next(&index);
    }
    cursor.seek_to_last(&index);
    for at in (0..entries.len()).rev() {
        assert_eq!(seen(&cursor), expected(Some(at)));
        cursor.prev(&index);
    }
    assert!(!cursor.valid());
    let order = |key: &[u8], target: &[u8]| {
        if format.key_is_user_key {
            comparator.user().compare(key, ferrock_base::internal_key::user_key(target))
        } else {
            comparator.compare(key, target)
        }
    };
    for (key, _, _) in entries {
        let user = if format.key_is_user_key { &key[..] } else { ferrock_base::internal_key::user_key(key) };
        let mut longer = user.to_vec();
        longer.push(0);
        for user in [user, &longer, &user[..user.len() / 2], b"", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"] {
            for sequence in [0, 2, 3, 100] {
                let target = make_internal_key(user, SequenceNumber(sequence), ValueType::FOR_SEEK);
                cursor.seek(&index, comparator, &target);
                let bound = entries.partition_point(|(key, _, _)| order(key, &target).is_lt());
                assert_eq!(seen(&cursor), expected(Some(bound)));
                cursor.prev(&index);
                if bound < entries.len() {
                    assert_eq!(seen(&cursor), expected(bound.checked_sub(1)));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn index_blocks_behave_like_a_sorted_vector(
        keys in prop::collection::btree_set(
            prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b', 255]), 0..14), 0..40),
        prefix in prop::sample::select(vec!["", "key", "user-key-"]),
        sizes in prop::collection::vec((0u64..5000, 0u64..3), 40),
        interval in 1usize..20,
        bits in 0..8,
        reverse in any::<bool>(),
    ) {
        let format = IndexFormat {
            key_is_user_key: bits & 1 != 0,
            value_is_delta_encoded: bits & 2 != 0,
            has_first_key: bits & 4 != 0,
        };
        let comparator = InternalComparator::new(if reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise });
        let mut offset = 0;
        let mut entries: IndexEntries = Vec::new();
        let mut keys: Vec<Vec<u8>> = keys.into_iter().collect();
        if reverse {
            keys.reverse();
        }
        for (key, (size, gap)) in keys.iter().zip(sizes) {
            let user = [prefix.as_bytes(), key].concat();
            let first = make_internal_key(&user, SequenceNumber(5), ValueType::Value);
            offset += gap / 2;
            let handle = BlockHandle::new(offset, size);
            offset += size + 5;
            if format.key_is_user_key {
                entries.push((user, handle, first));
            } else {
                // Two versions of one user key may be separators.
                entries.push((make_internal_key(&user, SequenceNumber(3), ValueType::Value), handle, first.clone()));
                let handle = BlockHandle::new(offset, size);
                offset += size + 5;
                entries.push((make_internal_key(&user, SequenceNumber(2), ValueType::Value), handle, first));
            }
        }
        check_index(&entries, format, interval, &comparator);
    }
}

#[test]
fn index_entries_by_example() {
    let first = |key: &[u8]| make_internal_key(key, SequenceNumber(0), ValueType::Value);
    let entries = vec![
        (b"key002".to_vec(), BlockHandle::new(0, 70), first(b"key000")),
        (b"key005".to_vec(), BlockHandle::new(75, 70), first(b"key003")),
    ];
    let format = |value_is_delta_encoded, has_first_key| IndexFormat {
        key_is_user_key: true,
        value_is_delta_encoded,
        has_first_key,
    };
    assert_eq!(build_index(&entries, format(true, false), 2), b"\x00\x06key002\x00\x46\x05\x015\x00\0\0\0\0\x01\0\0\0");
    assert_eq!(
        build_index(&entries, format(false, false), 1),
        b"\x00\x06\x02key002\x00\x46\x00\x06\x02key005\x4b\x46\0\0\0\0\x0b\0\0\0\x02\0\0\0"
    );
    assert_eq!(
        build_index(&entries, format(true, true), 2),
        b"\x00\x06key002\x00\x46\x0ekey000\x01\0\0\0\0\0\0\0\x05\x015\x00\x0ekey003\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0"
    );
}

#[test]
fn the_empty_block_has_one_restart() {
    let block = BlockBuilder::new(BlockBuilderOptions::default()).finish().to_vec();
    assert_eq!(block, [0, 0, 0, 0, 1, 0, 0, 0]);
    let block = DataBlock::new(block).unwrap();
    let mut iter = DataBlockIter::new(&block, InternalComparator::default(), None);
    iter.seek_to_last();
    assert!(!iter.valid() && iter.status().is_ok());
}

#[test]
fn types_that_no_data_block_holds_are_corruption() {
    for byte in 0..=255u8 {
        let mut key = b"k\0\0\0\0\0\0\0\0".to_vec();
        key[1] = byte;
        let block = DataBlock::new(build(&vec![(key, b"v".to_vec())], 16, true)).unwrap();
        let mut iter = DataBlockIter::new(&block, InternalComparator::default(), None);
        iter.seek_to_first();
        let good = ValueType::from_u8(byte).is_some_and(ValueType::is_point_entry);
        assert_eq!((iter.valid(), iter.status().is_ok()), (good, good), "type {byte:#x}");
    }
}

#[test]
fn an_index_restart_must_be_at_an_entry() {
    let good = b"\x00\x06\x02key002\x00\x46\x00\x06\x02key005\x4b\x46\0\0\0\0\x0b\0\0\0\x02\0\0\0";
    let format = IndexFormat { key_is_user_key: true, value_is_delta_encoded: false, has_first_key: false };
    let second_restart = good.len() - 8;
    for offset in 1..22u8 {
        let mut block = good.to_vec();
        block[second_restart] = offset;
        let index = IndexBlock::new(block, format, &InternalComparator::default());
        assert_eq!(index.is_ok(), offset == 11, "{offset}");
        assert!(index.err().is_none_or(|error| error.is_corruption() && error.offset().is_some()));
    }
}
