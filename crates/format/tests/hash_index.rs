//! Lookups by the hash index of a block agree with binary search, on random blocks: collisions, keys of many versions
//! across restart intervals, every kind of entry, all ratios, one entry and more restarts than a bucket can name.
//!
//! `FERROCK_HASH_INDEX_SEEDS=n` runs n seeds instead of 400.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::random::Random;
use ferrock_base::{Comparator, InternalComparator, InternalIterator, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_format::block::{
    BlockBuilder, BlockBuilderOptions, DataBlock, DataBlockIter, MAX_HASH_INDEX_BLOCK_SIZE, MAX_HASH_INDEX_RESTARTS,
};

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

const TYPES: [ValueType; 5] =
    [ValueType::Value, ValueType::Deletion, ValueType::Merge, ValueType::SingleDeletion, ValueType::BlobIndex];

#[derive(Debug, Default)]
struct Tally {
    blocks: usize,
    blocks_without: usize,
    keys: usize,
    falling_back: usize,
    absent: usize,
}

fn draw_entries(random: &mut Random, comparator: &InternalComparator) -> Entries {
    let count = [1, 2, 10, 60, 250, 700][random.below(6) as usize];
    let versions = [1, 1, 3, 40][random.below(4) as usize];
    let space = 1 + count * [1, 3, 100][random.below(3) as usize];
    let value_length = random.below(60);
    let mut entries = Entries::new();
    while (entries.len() as u64) < count {
        let number = random.below(space);
        let key = match random.below(3) {
            0 => format!("key{number:06}").into_bytes(),
            1 => number.to_be_bytes()[8 - (1 + random.below(8) as usize)..].to_vec(),
            _ => format!("{number}").into_bytes(),
        };
        for _ in 0..=random.below(versions) {
            let sequence = SequenceNumber(1 + random.below(1 << 20));
            let kind = TYPES[random.below(TYPES.len() as u64) as usize];
            let value = vec![b'v'; random.below(value_length + 1) as usize];
            entries.push((make_internal_key(&key, sequence, kind), value));
        }
    }
    entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
    // Two entries of one key have different sequence numbers.
    entries
        .dedup_by(|a, b| a.0[..a.0.len() - 8] == b.0[..b.0.len() - 8] && a.0[a.0.len() - 7..] == b.0[b.0.len() - 7..]);
    entries
}

fn user_keys(entries: &Entries) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = entries.iter().map(|(key, _)| user_key(key).to_vec()).collect();
    keys.dedup();
    keys
}

/// Keys and sequence numbers to look up: all that are there, older and newer than each, and neighbours that are not.
fn targets(entries: &Entries, random: &mut Random) -> Vec<Vec<u8>> {
    let mut targets = Vec::new();
    for (key, _) in entries {
        let sequence = ferrock_base::internal_key::sequence(key).0;
        let user = user_key(key);
        targets.push(key.clone());
        for sequence in [sequence.saturating_sub(1), sequence, sequence + 1, MAX_SEQUENCE_NUMBER.0, 0] {
            targets.push(make_internal_key(user, SequenceNumber(sequence), ValueType::FOR_SEEK));
        }
        let neighbours = [[user, &[0]].concat(), [user, b"x"].concat(), user[..user.len() - 1].to_vec()];
        for neighbour in neighbours {
            targets.push(make_internal_key(&neighbour, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK));
        }
    }
    for _ in 0..50 {
        let key = format!("key{:06}", random.below(1_000_000));
        targets.push(make_internal_key(key.as_bytes(), MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK));
    }
    targets.push(make_internal_key(b"", MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK));
    targets.push(make_internal_key(&[0xff; 9], SequenceNumber(0), ValueType::FOR_SEEK));
    targets
}

fn check(block: &DataBlock, entries: &Entries, targets: &[Vec<u8>], comparator: &InternalComparator) {
    let mut hashed = DataBlockIter::new(block, comparator.clone(), None);
    let mut searched = DataBlockIter::new(block, comparator.clone(), None);
    for target in targets {
        let bound = entries.partition_point(|(key, _)| comparator.compare(key, target).is_lt());
        searched.seek(target);
        let wanted = entries.get(bound).map(|(key, value)| (&key[..], &value[..]));
        assert_eq!(searched.valid().then(|| (searched.key(), searched.value())), wanted, "binary search");
        hashed.seek_for_get(target);
        hashed.status().unwrap();
        match wanted.filter(|(key, _)| user_key(key) == user_key(target)) {
            Some(entry) => {
                assert_eq!(hashed.valid().then(|| (hashed.key(), hashed.value())), Some(entry));
                // Older versions follow, across restarts, as from a binary search.
                for _ in 0..3 {
                    hashed.next();
                    searched.next();
                    assert_eq!(hashed.valid().then(|| hashed.key()), searched.valid().then(|| searched.key()));
                }
            }
            None => {
                assert!(!hashed.valid() || user_key(hashed.key()) != user_key(target), "an entry that is not wanted");
                // Where the key may be in the next block, the search must go on there.
                assert!(bound < entries.len() || !hashed.valid());
            }
        }
    }
}

#[test]
fn lookups_agree_with_binary_search() {
    let seeds = std::env::var("FERROCK_HASH_INDEX_SEEDS").map_or(400, |text| text.parse().unwrap());
    let mut tally = Tally::default();
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let order = if random.one_in(4) { Comparator::ReverseBytewise } else { Comparator::Bytewise };
        let comparator = InternalComparator::new(order);
        let util_ratio = 0.5 + random.below(11) as f64 / 20.0;
        let restart_interval = [1, 1, 2, 16, 30][random.below(5) as usize];
        let options = BlockBuilderOptions { restart_interval, ..BlockBuilderOptions::default() };
        let mut builder = BlockBuilder::new(options).with_hash_index(util_ratio);
        if random.one_in(4) {
            builder = builder.with_separate_values();
        }
        let mut had_too_many = false;
        // Several blocks from one builder: what one leaves behind must not reach the next.
        for _ in 0..3 {
            let entries = draw_entries(&mut random, &comparator);
            builder.reset();
            for (key, value) in &entries {
                builder.add(key, value);
            }
            let block = DataBlock::new(builder.finish().to_vec()).unwrap();
            let restarts = entries.len().div_ceil(restart_interval);
            assert_eq!(block.layout().restart_count(), restarts, "seed {seed}");
            had_too_many |= restarts > MAX_HASH_INDEX_RESTARTS;
            let fits = block.bytes().len() <= MAX_HASH_INDEX_BLOCK_SIZE;
            assert!(fits, "seed {seed}: no block here is that large");
            assert_eq!(block.layout().has_hash_index(), !had_too_many, "seed {seed}: {restarts} restarts");
            let targets = targets(&entries, &mut random);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                check(&block, &entries, &targets, &comparator);
            }));
            assert!(outcome.is_ok(), "seed {seed}, ratio {util_ratio}, interval {restart_interval}");
            if let Some(buckets) = block.hash_index_buckets() {
                let keys = user_keys(&entries);
                // A truncated running sum, made odd.
                let wanted = (entries.len() as f64 / util_ratio) as usize;
                assert!(buckets.total.abs_diff(wanted) <= 2, "seed {seed}: {buckets:?} for {} entries", entries.len());
                tally.blocks += 1;
                tally.keys += keys.len();
                tally.falling_back += keys.iter().filter(|key| block.hash_index_falls_back(key)).count();
                tally.absent += targets.len() - entries.len();
            } else {
                tally.blocks_without += 1;
            }
        }
    }
    println!("{tally:?}");
    assert!(tally.blocks > 300 && tally.blocks_without > 20 && tally.absent > 100_000, "{tally:?}");
    assert!(tally.falling_back * 10 > tally.keys && tally.falling_back * 10 < tally.keys * 9, "{tally:?}");
}

/// Exactly as many restarts as a bucket can name, one more, and the blocks after that.
#[test]
fn the_last_restart_that_fits() {
    let comparator = InternalComparator::default();
    let entries = |count: usize| -> Entries {
        let entry = |number| {
            let key = format!("k{number:05}");
            (make_internal_key(key.as_bytes(), SequenceNumber(7), ValueType::Value), b"v".to_vec())
        };
        (0..count).map(entry).collect()
    };
    let options = BlockBuilderOptions { restart_interval: 1, ..BlockBuilderOptions::default() };
    let mut builder = BlockBuilder::new(options).with_hash_index(0.75);
    let mut random = Random::new(1);
    for (count, has_index) in [(1, true), (253, true), (254, true), (255, false), (10, false)] {
        let entries = entries(count);
        builder.reset();
        for (key, value) in &entries {
            builder.add(key, value);
        }
        let block = DataBlock::new(builder.finish().to_vec()).unwrap();
        assert_eq!(block.layout().has_hash_index(), has_index, "{count}");
        check(&block, &entries, &targets(&entries, &mut random), &comparator);
    }
}

/// Blocks as large as one with a hash index may be, and larger.
#[test]
fn the_largest_block_that_fits() {
    let comparator = InternalComparator::default();
    let mut random = Random::new(2);
    let (mut with, mut without) = (0, 0);
    for value_length in (60_000..66_000).step_by(97) {
        let entries: Entries = (0..20u64)
            .map(|number| {
                let key = format!("k{number:05}");
                let length = if number == 9 { value_length } else { 3 };
                (make_internal_key(key.as_bytes(), SequenceNumber(7), ValueType::Value), vec![b'v'; length])
            })
            .collect();
        let mut builder = BlockBuilder::new(BlockBuilderOptions::default()).with_hash_index(0.75);
        for (key, value) in &entries {
            builder.add(key, value);
        }
        let block = DataBlock::new(builder.finish().to_vec()).unwrap();
        if block.layout().has_hash_index() {
            with += 1;
            assert!(block.bytes().len() <= MAX_HASH_INDEX_BLOCK_SIZE);
        } else {
            without += 1;
            assert!(block.bytes().len() + 29 > MAX_HASH_INDEX_BLOCK_SIZE, "{}", block.bytes().len());
        }
        check(&block, &entries, &targets(&entries, &mut random), &comparator);
    }
    assert!(with > 10 && without > 3, "{with}, {without}");
}
